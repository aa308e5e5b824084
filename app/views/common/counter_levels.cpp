#include "app/views/common/counter_levels.h"

#include <algorithm>

namespace app {
namespace {

constexpr std::size_t kBlock = 32;

} // namespace

CounterLevels::CounterLevels(const sim::Counter& counter) : m_counter(&counter)
{
    for (std::size_t below = counter.value.size(); below > kBlock; below = m_levels.back().size()) {
        const Points* blocks = m_levels.empty() ? nullptr : &m_levels.back();
        Points level;
        for (std::size_t i = 0; i < below; i += kBlock) {
            const auto pointAt = [&](std::size_t k) { return blocks ? (*blocks)[k] : static_cast<std::uint32_t>(k); };
            std::uint32_t best = pointAt(i);
            for (std::size_t k = i + 1; k < std::min(i + kBlock, below); ++k)
                best = value(pointAt(k)) > value(best) ? pointAt(k) : best;
            level.push_back(best);
        }
        m_levels.push_back(std::move(level));
    }
    if (!counter.value.empty())
        m_peak = *std::max_element(counter.value.begin(), counter.value.end());
}

std::int64_t CounterLevels::peakNs() const
{
    const auto& values = m_counter->value;
    const auto at = std::find(values.begin(), values.end(), m_peak) - values.begin();
    return at < static_cast<std::ptrdiff_t>(values.size()) ? m_counter->timeNs[static_cast<std::size_t>(at)] : 0;
}

std::int64_t CounterLevels::highest(std::int64_t beginNs, std::int64_t endNs) const
{
    const auto point = highestPoint(beginNs, endNs);
    return point ? std::max<std::int64_t>(value(*point), 0) : 0;
}

std::optional<std::size_t> CounterLevels::highestPoint(std::int64_t beginNs, std::int64_t endNs) const
{
    const auto& times = m_counter->timeNs;
    // Of several points at the first instant each counts; else the one that holds there.
    auto first = std::lower_bound(times.begin(), times.end(), beginNs);
    if (first != times.begin() && (first == times.end() || *first != beginNs))
        --first;
    const auto end = std::lower_bound(first, times.end(), endNs);
    if (first == end)
        return std::nullopt;
    return highestOf(static_cast<std::size_t>(first - times.begin()), static_cast<std::size_t>(end - times.begin()));
}

/// Points [first, last): single ones up to a block's edge, then blocks, at each level.
std::size_t CounterLevels::highestOf(std::size_t first, std::size_t last) const
{
    std::size_t best = 0;
    bool any = false;
    const auto consider = [&](std::size_t point) {
        if (!any || value(point) > value(best) || (value(point) == value(best) && point < best))
            best = point;
        any = true;
    };
    for (std::size_t level = 0;; ++level) {
        const auto pointAt = [&](std::size_t i) { return level == 0 ? i : std::size_t{m_levels[level - 1][i]}; };
        const bool top = level == m_levels.size();
        while (first < last && (top || first % kBlock != 0))
            consider(pointAt(first++));
        while (first < last && last % kBlock != 0)
            consider(pointAt(--last));
        if (first >= last)
            return best;
        first /= kBlock;
        last /= kBlock;
    }
}

} // namespace app
