// How busy a track was, by op class, over any stretch of time: what a timeline shows where a pixel covers more than one span.
#pragma once

#include "sim/trace/trace.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sim {

/// Nanoseconds a track was busy, by OpClass. Idle = length of the range − sum.
using BusyByClass = std::array<std::int64_t, kOpClassCount>;

/// Running totals of busy time at every 16th span (a mipmap summed up, so that every zoom reads the same level) and an index from
/// time to span: exact for any range, whatever the zoom, about 6.5 bytes a span
/// (and 20 a piece where spans overlap). Every instant counts once: where spans of the
/// track overlap, for the one that began last and still runs (the one drawn on top).
/// Reads the track's columns when asked: the track must stay as it is, where it is, for as long as the mipmap is used (moving the
/// vector that holds it is fine). Queries may run in several threads at once.
class BusyMipmap {
public:
    /// O(spans). The track's spans are in order of start.
    explicit BusyMipmap(const Track&, const std::vector<SpanKind>&);

    /// O(log spans) at worst, O(1) where spans are spread evenly. Nothing if endNs <= beginNs.
    BusyByClass busyNs(std::int64_t beginNs, std::int64_t endNs) const;

    /// Busy time of columns side by side: column i covers [edgesNs[i], edgesNs[i + 1]). Edges ascend; out.size() == edges - 1.
    /// A fifth of the cost of busyNs for each.
    void columns(std::span<const std::int64_t> edgesNs, std::span<BusyByClass> out) const;

    std::size_t memoryBytes() const; ///< its own, without the track

private:
    class Walk;
    std::size_t classOf(std::size_t span) const { return m_classOfKind[m_kind[span]]; }
    BusyByClass busyUntil(std::int64_t timeNs) const;
    /// Spans that start at or before the time.
    std::size_t startedBy(std::int64_t timeNs) const;
    void flatten(const Track&);

    static constexpr std::size_t kBlock = 16; ///< spans between two running totals

    std::span<const std::int64_t> m_startNs, m_durationNs; ///< the track's, or m_flat's
    std::span<const std::uint32_t> m_kind;
    std::vector<std::uint8_t> m_classOfKind;
    std::vector<BusyByClass> m_totals;        ///< [block]: busy time of all spans before the block
    std::vector<std::uint32_t> m_firstOfSlot; ///< [slot of time]: spans that start before it
    std::int64_t m_firstNs = 0;               ///< start of slot 0
    int m_slotShift = 0;                      ///< a slot is 2^shift ns, aligned to absolute time
    std::unique_ptr<Track> m_flat;            ///< only where spans overlap: the track with every instant once
};

} // namespace sim
