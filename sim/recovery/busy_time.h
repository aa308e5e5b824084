// Unions of spans, and how much of a window they fill.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace sim {

/// Spans that may overlap, joined. Built in O(n) of spans by start and O(n log n) of others, asked in O(log n).
class BusyTime {
public:
    using Span = std::pair<std::int64_t, std::int64_t>;
    BusyTime() = default;
    explicit BusyTime(std::vector<Span> spans)
    {
        const auto startsBefore = [](const Span& a, const Span& b) { return a.first < b.first; };
        if (!std::is_sorted(spans.begin(), spans.end(), startsBefore))
            std::sort(spans.begin(), spans.end(), startsBefore);
        for (const auto& [start, end] : spans) {
            if (end <= start)
                continue;
            if (m_spans.empty() || start > m_spans.back().second)
                m_spans.emplace_back(start, end);
            else
                m_spans.back().second = std::max(m_spans.back().second, end);
        }
        m_before.push_back(0);
        for (const auto& [start, end] : m_spans)
            m_before.push_back(m_before.back() + end - start);
    }
    /// Filled from `from` to `to`.
    std::int64_t within(std::int64_t from, std::int64_t to) const { return to <= from ? 0 : until(to) - until(from); }
    bool holds(std::int64_t at) const
    {
        const auto after = firstAfter(at);
        return after != m_spans.begin() && at < std::prev(after)->second;
    }
    const std::vector<Span>& spans() const { return m_spans; }
    /// What is in these spans and not in `other`. O(n + m).
    std::int64_t beyond(const BusyTime& other, std::int64_t from, std::int64_t to) const
    {
        std::int64_t sum = 0;
        auto first = std::lower_bound(m_spans.begin(), m_spans.end(), from,
                                      [](const Span& span, std::int64_t at) { return span.second < at; });
        for (; first != m_spans.end() && first->first < to; ++first) {
            const std::int64_t start = std::max(from, first->first), end = std::min(to, first->second);
            sum += std::max<std::int64_t>(0, end - start) - other.within(start, end);
        }
        return sum;
    }

private:
    std::vector<Span>::const_iterator firstAfter(std::int64_t at) const ///< the first span that begins later
    {
        return std::upper_bound(m_spans.begin(), m_spans.end(), at,
                                [](std::int64_t t, const Span& span) { return t < span.first; });
    }
    std::int64_t until(std::int64_t at) const
    {
        const auto after = firstAfter(at);
        const auto count = static_cast<std::size_t>(after - m_spans.begin());
        if (count == 0)
            return 0;
        return m_before[count - 1] + std::min(at, m_spans[count - 1].second) - m_spans[count - 1].first;
    }
    std::vector<Span> m_spans;
    std::vector<std::int64_t> m_before; ///< filled before span i
};

/// Spans that come in the order of their ends, each instant counted once.
class CoveredTime {
public:
    /// What of [from, to) no earlier span covers. `to` is no less than of any earlier. O(1) in the mean.
    std::int64_t add(std::int64_t from, std::int64_t to)
    {
        if (to <= from)
            return 0;
        std::int64_t first = from, covered = 0;
        for (; !m_spans.empty() && m_spans.back().second >= from; m_spans.pop_back()) {
            covered += m_spans.back().second - std::max(from, m_spans.back().first);
            first = std::min(first, m_spans.back().first);
        }
        m_spans.emplace_back(first, to);
        return to - from - covered;
    }

private:
    std::vector<BusyTime::Span> m_spans; ///< apart from each other, by time
};

} // namespace sim
