// Draws the timeline. Reads only; the pointer and commands move things. Each part has a file: header, ruler and marks, gutter,
// rows and their lanes, what leads from span to span, memory.
#pragma once

#include "app/views/timeline/timeline_scene.h"

namespace app {

struct LaneReading;

/// Text of so many pixels above and below its letters may lie beyond its row and the rows' edges.
constexpr float kAirOfText = 2;

/// Over a span's colour, along its top: a later chunk of its rank, or the other direction.
inline constexpr Color kChunkColor = Color::rgb(0x000000, 0.47F);

/// Ids of nodes, apart from those of spans: 2^63 + row, 2^62 + one of these with what it is about.
constexpr std::uint64_t kRowNodes = std::uint64_t{1} << 63;
constexpr std::uint64_t kOtherNodes = std::uint64_t{1} << 62;
enum class TimelineNode : std::uint8_t { memory = 1, story, legend, group, mark, range, path, chip, found, band };
constexpr std::uint64_t nodeId(TimelineNode node, int value = 0)
{
    return kOtherNodes | static_cast<std::uint64_t>(node) << 40U | static_cast<std::uint64_t>(value);
}

void paintTimeline(Canvas&, const TimelineScene&);

void paintHeader(Canvas&, const TimelineScene&);
/// So many lines the colours in use take above the rows.
int legendLines(Canvas&, const TimelineScene&);
/// The colours in use, or what the selected range holds, right-aligned; nothing where it does not fit. Returns the width drawn.
float paintLegend(Canvas&, const TimelineScene&, Rect);
/// While actions are revealed one by one: what starts now and why; where the rank in focus stands.
float storyHeight(Canvas&, const TimelineScene&);
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
void paintLane(Canvas&, const TimelineScene&, const LaneReading&, std::uint32_t track, Rect lane, Rect clip);
/// Shares stacked from below, side by side over the whole area.
void paintShares(Canvas&, const ShareColumns&, Rect area, const std::array<Color, sim::kOpClassCount>& fills);

/// What the path consists of, longest text first.
std::vector<std::string> criticalPathTexts(const TimelineModel&, const sim::CriticalPath&);

} // namespace app
