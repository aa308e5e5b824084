// Draws the timeline. Reads only; TimelineView moves things. Each part has a file: header, ruler and marks, gutter, rows and
// their lanes, what leads from span to span, memory.
#pragma once

#include "app/views/range_statistics.h"
#include "app/views/timeline_geometry.h"
#include "app/views/timeline_marks.h"
#include "app/views/timeline_model.h"
#include "app/views/timeline_rows.h"
#include "sim/analysis/critical_path.h"

namespace app {

class SpanSearch;
class TimelineSteps;

/// Something drawn that answers to a click.
struct TimelineTarget {
    enum class Kind : std::uint8_t { opClass, filter, sort, grouping, pin, group, mark };
    Kind kind = Kind::opClass;
    int value = 0; ///< the class, row, group or mark
    Rect rect;
    std::string tip;
};

/// Shares of equal stretches of time, side by side.
using ShareColumns = std::vector<std::array<double, sim::kOpClassCount>>;

/// Spans that are lit while all others step back, ascending.
class SpanSet {
public:
    SpanSet() = default;
    explicit SpanSet(std::vector<SpanRef>);
    bool contains(std::uint32_t track, std::size_t span) const;
    /// f(span) for those of a track in [begin, end).
    template <typename F>
    void forSpans(std::uint32_t track, std::size_t begin, std::size_t end, F f) const
    {
        auto key = std::lower_bound(m_keys.begin(), m_keys.end(), keyOf(track, begin));
        for (; key != m_keys.end() && *key < keyOf(track, end); ++key)
            f(static_cast<std::size_t>(*key & 0xFFFFFFFFU));
    }

private:
    static std::uint64_t keyOf(std::uint32_t track, std::size_t span) { return static_cast<std::uint64_t>(track) << 32U | span; }
    std::vector<std::uint64_t> m_keys;
};

/// What is drawn with, by span kind and by class: pale where the class does not count or other spans are lit.
struct TimelineColors {
    std::vector<KindColors> own, shown; ///< [kind]
    std::array<Color, sim::kOpClassCount> ownFills{}, fills{};
};

struct TimelineScene {
    const TimelineModel& model;
    const TimelineColors& colors;
    const Theme& theme;
    const Selection& selection;
    TimelineFrame frame;
    TimeWindow window;
    const RowArrangement& arrangement;
    const RowWishes& wishes;
    const RowStack& stack;
    float scrollY = 0;
    const ShareColumns& overview;            ///< of the whole trace
    const std::vector<ShareColumns>& strips; ///< [group], of the window; empty where out of sight
    const TimelineMarks& marks;
    std::vector<TimelineTarget>& targets;
    int selectedRows = 0;                   ///< that several selected ranks lie on; 0: not several
    const RangeStatistics* range = nullptr; ///< of the selected range
    const sim::CriticalPath* path = nullptr;
    const SpanSet* lit = nullptr;
    const SpanSearch* search = nullptr;
    std::string found;                    ///< what the search has to say
    std::optional<TimeRange> zoomBox;     ///< dragged, to be zoomed to
    const TimelineSteps* steps = nullptr; ///< only what has started is drawn; nullptr: all

    TimeAxis axis() const { return {window.beginNs, window.endNs, frame.rows.left, frame.rows.right}; }
    double lengthNs() const { return static_cast<double>(model.trace().endNs); }
    int focusRow() const { return selection.focusRank() ? model.rowOfRank(*selection.focusRank()) : -1; }
    float lineTop(int line) const
    {
        return frame.rows.top + stack.rows[static_cast<std::size_t>(line)].top - stack.scrolled(line, scrollY);
    }
    /// Where a line can be seen: the part that stays, or the part that scrolls.
    Rect clipOf(int line) const;
    /// f(line) for every line in sight.
    template <typename F>
    void forLinesInSight(F f) const
    {
        for (int line = 0; line < static_cast<int>(stack.rows.size()); ++line) {
            if (line == stack.pinned)
                line = std::max(line, firstScrolled());
            if (line >= static_cast<int>(stack.rows.size()))
                return;
            const Rect clip = clipOf(line);
            if (const float top = lineTop(line); top < clip.bottom)
                f(line);
            else if (line >= stack.pinned)
                return;
        }
    }
    int firstScrolled() const;
    Rect lane(int line, int lane) const;
    /// Lane of a track on the screen, or the header of its closed group; of no height where its row is not shown.
    Rect laneOf(std::uint32_t track) const;
};

/// Text of so many pixels above and below its letters may lie beyond its row and the rows' edges.
constexpr float kAirOfText = 2;

/// Ids of nodes, apart from those of spans: 2^63 + row, 2^62 + one of these with what it is about.
constexpr std::uint64_t kRowNodes = std::uint64_t{1} << 63;
constexpr std::uint64_t kOtherNodes = std::uint64_t{1} << 62;
enum class TimelineNode : std::uint8_t { memory = 1, story, legend, group, mark, range, path, chip, found };
constexpr std::uint64_t nodeId(TimelineNode node, int value = 0)
{
    return kOtherNodes | static_cast<std::uint64_t>(node) << 40U | static_cast<std::uint64_t>(value);
}

void paintTimeline(Canvas&, const TimelineScene&);

void paintHeader(Canvas&, const TimelineScene&);
/// The colours in use, or what the selected range holds, right-aligned; nothing where it does not fit. Returns the width drawn.
float paintLegend(Canvas&, const TimelineScene&, Rect);
/// What starts now and why; where the rank in focus stands.
void paintStory(Canvas&, const TimelineScene&);
void paintRuler(Canvas&, const TimelineScene&, const std::vector<Tick>&);
/// Ticks where spans that were searched for start, however small they are.
void paintMatches(Canvas&, const TimelineScene&, const TimeAxis&, Rect);
/// Flags with numbers above the ruler, and the time from each to the next.
void paintMarks(Canvas&, const TimelineScene&);
/// How rows are arranged; their names.
void paintGutterHeader(Canvas&, const TimelineScene&);
void paintRowNames(Canvas&, const TimelineScene&);
/// What the spans in focus need and feed, the critical path, the outlines of what is pointed at and selected.
void paintLinks(Canvas&, const TimelineScene&);

/// Spans of one lane: each by itself where it is wide enough, else per pixel column the share of each class, stacked; what is
/// left empty was idle. Text keeps within `clip`.
void paintLane(Canvas&, const TimelineScene&, std::uint32_t track, Rect lane, Rect clip);
/// Shares stacked from below, side by side over the whole area.
void paintShares(Canvas&, const ShareColumns&, Rect area, const std::array<Color, sim::kOpClassCount>& fills);

/// What the path consists of, longest text first.
std::vector<std::string> criticalPathTexts(const TimelineModel&, const sim::CriticalPath&);

} // namespace app
