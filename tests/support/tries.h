// How many cases of a property a test tries. The whole suite shall be over in minutes: one in five, and one in eleven in a debug
// build, which takes ten times as long; all of them with RANKSCOPE_TEST_ALL=1 (`./dev test --all`). Every path is still taken,
// only fewer numbers go through it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace test {

/// Primes: lists within lists are not cut along one of them.
inline int oneIn()
{
#ifdef NDEBUG
    constexpr int kOneIn = 5;
#else
    constexpr int kOneIn = 11;
#endif
    static const int chosen = std::getenv("RANKSCOPE_TEST_ALL") != nullptr ? 1 : kOneIn;
    return chosen;
}

/// Of `all` cases, or of what `all` cases are expected to bring.
inline int tries(int all)
{
    return std::max(1, all / oneIn());
}

/// Which random cases are tried: always the same ones, or those of RANKSCOPE_TEST_SEED=N, which nobody has tuned anything to.
inline unsigned seed(unsigned usual)
{
    const char* const said = std::getenv("RANKSCOPE_TEST_SEED");
    return said == nullptr ? usual : usual + static_cast<unsigned>(std::strtoul(said, nullptr, 10));
}

/// Tells of a list's cases, one after another, which are tried.
class Tried {
public:
    bool next() { return m_asked++ % oneIn() == 0; }

private:
    int m_asked = 0;
};

/// Those of a list that are tried.
template <class T>
std::vector<T> tried(const std::vector<T>& all)
{
    std::vector<T> some;
    Tried which;
    for (const T& one : all)
        if (which.next())
            some.push_back(one);
    return some;
}

} // namespace test
