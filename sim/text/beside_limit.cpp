#include "sim/text/beside_limit.h"

#include <algorithm>

namespace sim {

BesideLimit::BesideLimit(double need, double limit, Unit unit) : m_need(need), m_limit(limit), m_unit(unit)
{
    constexpr int kMost = 14;
    const auto isSeen = [&] { // also beside a limit that is written as it is
        return asShown(need, unit, m_digits) > std::max(limit, asShown(limit, unit, m_digits));
    };
    while (need > limit && m_digits < kMost && !isSeen())
        ++m_digits;
}

} // namespace sim
