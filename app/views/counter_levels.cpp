#include "app/views/counter_levels.h"

#include <algorithm>

namespace app {
namespace {

constexpr std::size_t kBlock = 32;

} // namespace

CounterLevels::CounterLevels(const sim::Counter& counter) : m_counter(&counter)
{
    const std::vector<std::int64_t>* below = &counter.value;
    while (below->size() > kBlock) {
        std::vector<std::int64_t> level;
        for (std::size_t i = 0; i < below->size(); i += kBlock) {
            const auto first = below->begin() + static_cast<std::ptrdiff_t>(i);
            level.push_back(*std::max_element(first, first + static_cast<std::ptrdiff_t>(std::min(kBlock, below->size() - i))));
        }
        m_levels.push_back(std::move(level));
        below = &m_levels.back();
    }
    if (!below->empty())
        m_peak = *std::max_element(below->begin(), below->end());
}

std::int64_t CounterLevels::peakNs() const
{
    const auto& values = m_counter->value;
    const auto at = std::find(values.begin(), values.end(), m_peak) - values.begin();
    return at < static_cast<std::ptrdiff_t>(values.size()) ? m_counter->timeNs[static_cast<std::size_t>(at)] : 0;
}

std::int64_t CounterLevels::highest(std::int64_t beginNs, std::int64_t endNs) const
{
    const auto& times = m_counter->timeNs;
    const auto holds = std::upper_bound(times.begin(), times.end(), beginNs) - times.begin() - 1;
    const auto end = std::lower_bound(times.begin(), times.end(), endNs) - times.begin();
    const auto first = std::max<std::ptrdiff_t>(holds, 0);
    return first < end ? highestOf(static_cast<std::size_t>(first), static_cast<std::size_t>(end)) : 0;
}

/// Points [first, last): single ones up to a block's edge, then blocks, at each level.
std::int64_t CounterLevels::highestOf(std::size_t first, std::size_t last) const
{
    std::int64_t best = 0;
    const std::vector<std::int64_t>* values = &m_counter->value;
    for (std::size_t level = 0;; ++level) {
        const bool top = level == m_levels.size();
        while (first < last && (top || first % kBlock != 0))
            best = std::max(best, (*values)[first++]);
        while (first < last && last % kBlock != 0)
            best = std::max(best, (*values)[--last]);
        if (first >= last)
            return best;
        first /= kBlock;
        last /= kBlock;
        values = &m_levels[level];
    }
}

} // namespace app
