// For a call into a library that must come back and may not: where it does not, the process ends.
#pragma once

#include <chrono>
#include <string>
#include <thread>

namespace live {

/// While it lives. Where that is for longer than `atMost` the process says why on its standard error and ends at once, with 1: no
/// destructor runs, as those may wait for what does not come back.
class LastResort {
public:
    LastResort(std::chrono::milliseconds atMost, std::string why);

private:
    std::jthread m_thread;
};

} // namespace live
