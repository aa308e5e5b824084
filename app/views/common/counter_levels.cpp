#include "app/views/common/counter_levels.h"

#include <algorithm>
#include <utility>

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
    return highestPoint(beginNs, endNs, notBefore(beginNs, 0));
}

std::vector<std::int64_t> CounterLevels::highestBetween(std::span<const std::int64_t> edgesNs) const
{
    std::vector<std::int64_t> out;
    std::size_t first = 0;
    for (std::size_t i = 1; i < edgesNs.size(); ++i) {
        first = notBefore(edgesNs[i - 1], first);
        const auto point = highestPoint(edgesNs[i - 1], edgesNs[i], first);
        out.push_back(point ? std::max<std::int64_t>(value(*point), 0) : 0);
    }
    return out;
}

/// The first point of those behind `from` that is at this time or later; near by, mostly.
std::size_t CounterLevels::notBefore(std::int64_t timeNs, std::size_t from) const
{
    const auto& times = m_counter->timeNs;
    std::size_t step = 1;
    while (from + step < times.size() && times[from + step] < timeNs)
        from += std::exchange(step, 2 * step);
    const auto end = times.begin() + static_cast<std::ptrdiff_t>(std::min(from + step, times.size()));
    return static_cast<std::size_t>(std::lower_bound(times.begin() + static_cast<std::ptrdiff_t>(from), end, timeNs) -
                                    times.begin());
}

/// `first`: the first point that is not before.
std::optional<std::size_t> CounterLevels::highestPoint(std::int64_t beginNs, std::int64_t endNs, std::size_t first) const
{
    const auto& times = m_counter->timeNs;
    const std::size_t end = notBefore(endNs, first);
    // Of several points at the first instant each counts; else the one that holds there.
    if (first > 0 && (first == times.size() || times[first] != beginNs))
        --first;
    if (first == end)
        return std::nullopt;
    return highestOf(first, end);
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
