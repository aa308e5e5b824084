// The highest value of a counter over any stretch of time, whatever the zoom.
#pragma once

#include "sim/trace/trace.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace app {

/// The highest points of blocks of 32, 1024, … points. Reads the counter's columns when asked: they must stay where they are.
class CounterLevels {
public:
    explicit CounterLevels(const sim::Counter&);
    /// Highest value that held at some time in [beginNs, endNs); 0 before the first point. O(log points).
    std::int64_t highest(std::int64_t beginNs, std::int64_t endNs) const;
    /// The point that has it; nothing before the first one.
    std::optional<std::size_t> highestPoint(std::int64_t beginNs, std::int64_t endNs) const;
    /// highest() of each stretch between two edges, which ascend: those at the end of one are near at hand for the next.
    std::vector<std::int64_t> highestBetween(std::span<const std::int64_t> edgesNs) const;
    std::int64_t peak() const { return m_peak; }
    std::int64_t peakNs() const; ///< when the highest value was reached first. O(points)

private:
    using Points = std::vector<std::uint32_t>;
    std::size_t notBefore(std::int64_t timeNs, std::size_t from) const;
    std::optional<std::size_t> highestPoint(std::int64_t beginNs, std::int64_t endNs, std::size_t first) const;
    std::size_t highestOf(std::size_t first, std::size_t last) const;
    std::int64_t value(std::size_t point) const { return m_counter->value[point]; }
    const sim::Counter* m_counter;
    std::vector<Points> m_levels; ///< the highest point of each block
    std::int64_t m_peak = 0;
};

} // namespace app
