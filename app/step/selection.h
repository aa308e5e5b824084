// One selection for all views: ranks x time x op classes, what the pointer is over, and the one time cursor. Shared by reference;
// views write, the shell reads.
#pragma once

#include "sim/trace/trace.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace app {

struct SpanRef {
    std::uint32_t track = 0, span = 0; ///< into the shown sim::Trace
    bool operator==(const SpanRef&) const = default;
};

inline bool exists(const sim::Trace& trace, SpanRef ref)
{
    return ref.track < trace.tracks.size() && ref.span < trace.tracks[ref.track].size();
}

struct TimeRange {
    std::int64_t beginNs = 0, endNs = 0;
    bool operator==(const TimeRange&) const = default;
};

/// A set of op classes, one bit each.
using ClassMask = std::uint16_t;
inline constexpr ClassMask kAllClasses = (1U << static_cast<unsigned>(sim::kOpClassCount)) - 1;
constexpr ClassMask maskOf(sim::OpClass c)
{
    return static_cast<ClassMask>(1U << static_cast<unsigned>(c));
}

/// A part of a tensor along its cut: [begin, end) of its rows or columns.
struct MarkedSlice {
    std::string tensor; ///< by its name on the storage picture
    std::int64_t begin = 0, end = 0;
    bool operator==(const MarkedSlice&) const = default;
};

/// A stretch of time in which a rank computes nothing, and why, in lines.
struct IdleTime {
    int rank = 0;
    TimeRange time;
    std::string why;
    bool operator==(const IdleTime&) const = default;
};

struct Selection {
    std::optional<int> hoveredRank;
    std::optional<int> selectedRank; ///< clicked last; its details are shown
    std::vector<int> ranks;          ///< all that are selected, ascending, the clicked one among them; empty: none
    std::optional<SpanRef> hoveredSpan;
    std::optional<SpanRef> selectedSpan;
    std::optional<IdleTime> idle;    ///< that was clicked or walked to, also through a transfer that is waited for
    std::optional<TimeRange> range;  ///< dragged on the timeline
    ClassMask classes = kAllClasses; ///< what counts; spans of other classes step back
    std::int64_t cursorNs = 0;       ///< the one time cursor
    /// A slice of a tensor is asked for: the storage picture tells whose is whose of none, and drags mark one.
    bool asksForSlice = false;
    std::optional<MarkedSlice> marked;
    /// Ranks are asked for: the grid tells nobody's groups.
    bool asksForRanks = false;

    /// The rank whose groups are lit: what is under the pointer, else what was clicked.
    std::optional<int> focusRank() const { return hoveredRank ? hoveredRank : selectedRank; }
    bool contains(int rank) const { return std::binary_search(ranks.begin(), ranks.end(), rank); }
    bool shows(sim::OpClass c) const { return (classes & maskOf(c)) != 0; }

    /// What does not exist in a world of so many ranks is forgotten.
    void keepBelow(int worldSize)
    {
        ranks.erase(std::lower_bound(ranks.begin(), ranks.end(), worldSize), ranks.end());
        if (hoveredRank && *hoveredRank >= worldSize)
            hoveredRank.reset();
        if (selectedRank && *selectedRank >= worldSize)
            selectedRank = ranks.empty() ? std::nullopt : std::optional(ranks.front());
    }
    /// The same of what does not exist in a trace (nullptr: there is none) of a world of so many ranks.
    void keepWithin(const sim::Trace* trace, int worldSize)
    {
        keepBelow(worldSize);
        for (std::optional<SpanRef>* span : {&hoveredSpan, &selectedSpan})
            if (*span && !(trace && exists(*trace, **span)))
                span->reset();
        const std::int64_t endNs = trace ? trace->endNs : 0;
        if (idle && idle->time.endNs > endNs)
            idle.reset();
        if (range && range->endNs > endNs)
            range.reset();
        cursorNs = std::clamp<std::int64_t>(cursorNs, 0, endNs);
    }
    void selectRank(std::optional<int> rank)
    {
        selectedRank = rank;
        ranks.clear();
        if (rank)
            ranks.push_back(*rank);
    }
    /// Several at once: a process group, a node. `lead` is one of them.
    void selectRanks(std::vector<int> all, int lead)
    {
        std::sort(all.begin(), all.end());
        ranks = std::move(all);
        selectedRank = lead;
    }
    /// What was idle beside another one is forgotten.
    void selectSpan(std::optional<SpanRef> span)
    {
        selectedSpan = span;
        idle.reset();
    }
    /// Adds a rank to the selected ones or takes it out (Ctrl+click).
    void toggleRank(int rank)
    {
        const auto place = std::lower_bound(ranks.begin(), ranks.end(), rank);
        if (place == ranks.end() || *place != rank) {
            ranks.insert(place, rank);
            selectedRank = rank;
            return;
        }
        ranks.erase(place);
        if (selectedRank == rank)
            selectedRank = ranks.empty() ? std::nullopt : std::optional(ranks.front());
    }
    bool isEmpty() const { return ranks.empty() && !selectedRank && !selectedSpan && !idle && !range; }
    /// Esc: what is selected goes first; once nothing is, the time cursor goes back to the begin.
    void clear()
    {
        if (isEmpty())
            cursorNs = 0;
        selectRank(std::nullopt);
        selectSpan(std::nullopt);
        range.reset();
    }
    bool operator==(const Selection&) const = default;
};

} // namespace app
