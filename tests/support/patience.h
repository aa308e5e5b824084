// Waits of tests are for machines that are not slowed down. Under a sanitizer RANKSCOPE_TEST_PATIENCE=10 makes each ten times as
// long.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace test {

inline int patience()
{
    const char* times = std::getenv("RANKSCOPE_TEST_PATIENCE");
    return times ? std::max(1, std::atoi(times)) : 1;
}

} // namespace test
