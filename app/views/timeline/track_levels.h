// A track at coarse resolutions, for pictures where a pixel covers many spans: read in order, so that a frame is not spent
// waiting for memory.
#pragma once

#include "sim/trace/busy_mipmap.h"
#include "sim/trace/trace.h"

#include <cstdint>
#include <vector>

namespace app {

/// Bins of equal time, aligned to absolute time: busy time up to each bin's start by class, and the longest span that starts in
/// each.
class TrackLevel {
public:
    std::int64_t binNs() const { return std::int64_t{1} << m_shift; }
    /// Nearest start of a bin to a time, cut to [0, bins].
    std::size_t binAt(double timeNs) const;
    /// Busy nanoseconds before the start of a bin, one value a class. Exact.
    const std::int64_t* busyUntil(std::size_t bin) const { return m_busy.data() + bin * m_classes; }
    std::int64_t longestStartingIn(std::size_t firstBin, std::size_t lastBin) const;

private:
    friend class TrackLevels;
    TrackLevel coarser() const;

    std::size_t m_classes = 0;
    std::vector<std::int64_t> m_busy;    ///< [bin][class]; one row more than bins
    std::vector<std::int64_t> m_longest; ///< [bin]
    std::int64_t m_firstNs = 0;
    int m_shift = 0;
};

/// The finest level has about one bin for 4 spans, each further one bins 4 times as long: about 10 bytes a span in all where a
/// track has three classes.
class TrackLevels {
public:
    TrackLevels(const sim::Track&, const sim::BusyMipmap&);

    /// Classes the track has, ascending: the columns of busyUntil.
    const std::vector<std::size_t>& classes() const { return m_classes; }
    bool overlaps() const { return m_overlaps; } ///< some span starts before the one before it ends
    /// Spans without length, ascending: of no time, no level knows of them.
    const std::vector<std::uint32_t>& instants() const { return m_instants; }
    /// The coarsest level with at least so many bins in that time; nullptr if there is none.
    const TrackLevel* levelFor(double ns, double bins) const;

private:
    TrackLevel finest(const sim::Track&, const sim::BusyMipmap&, std::int64_t endNs) const;

    std::vector<std::size_t> m_classes;
    std::vector<TrackLevel> m_levels; ///< finest first
    std::vector<std::uint32_t> m_instants;
    bool m_overlaps = false;
};

} // namespace app
