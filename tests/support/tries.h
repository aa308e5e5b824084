// How many cases of a property a test tries: all of them in an optimised build, one in eleven in a debug one, which takes ten
// times as long. There every path is still taken, only fewer numbers go through it.
#pragma once

#include <algorithm>

namespace test {

#ifdef NDEBUG
constexpr int kOneIn = 1;
#else
constexpr int kOneIn = 11; // a prime: lists within lists are not cut along one of them
#endif

/// Of `all` cases, or of what `all` cases are expected to bring.
constexpr int tries(int all)
{
    return std::max(1, all / kOneIn);
}

/// Tells of a list's cases, one after another, which are tried.
class Tried {
public:
    bool next() { return m_asked++ % kOneIn == 0; }

private:
    int m_asked = 0;
};

} // namespace test
