// What is joined, directly or by others, is one part. Private to sim/recovery.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace sim {

/// Of things by number, each alone at first; a part is known by its lowest.
class JoinedParts {
public:
    explicit JoinedParts(std::size_t count) : m_above(count) { std::iota(m_above.begin(), m_above.end(), std::size_t{0}); }

    std::size_t partOf(std::size_t of)
    {
        while (m_above[of] != of)
            of = m_above[of] = m_above[m_above[of]];
        return of;
    }
    void join(std::size_t a, std::size_t b)
    {
        a = partOf(a);
        b = partOf(b);
        m_above[std::max(a, b)] = std::min(a, b);
    }

private:
    std::vector<std::size_t> m_above;
};

} // namespace sim
