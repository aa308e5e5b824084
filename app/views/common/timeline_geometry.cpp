#include "app/views/common/timeline_geometry.h"

#include "app/views/common/labels.h"

#include "app/views/common/measures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace app {
namespace {

constexpr float kHighestLane = 28, kHighestRow = 76;
constexpr float kLowestSparkline = 16, kHighestSparkline = 36;
constexpr float kLowestLane = 15, kHighestManyLane = 22;                 ///< where a row has several lanes
constexpr float kThinLane = 0.6F, kLowestThinLane = 12;                  ///< share of a full lane, and pixels: of communication
constexpr float kHeaderRow = 18, kHighestHeaderRow = 32, kHeaderGap = 3; ///< of a group
constexpr float kBelowPinned = 7;                                        ///< holds the line below pinned rows
constexpr float kMostPinned = 0.6F;                                      ///< of the view

double niceStep(double atLeast)
{
    const double decade = std::pow(10, std::floor(std::log10(std::max(atLeast, 1.0))));
    for (const double factor : {1.0, 2.0, 5.0})
        if (decade * factor >= atLeast)
            return decade * factor;
    return decade * 10;
}

} // namespace

std::string timeText(double ns, double stepNs, double largestNs)
{
    struct Unit {
        double ns;
        const char* name;
    };
    constexpr std::array<Unit, 4> kUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
    if (ns == 0)
        return "0";
    if (std::abs(ns) < stepNs / 2) // all its digits would be zeros
        return durationText(ns);
    const Unit* unit = kUnits.data();
    while (unit->ns > 1 && largestNs < unit->ns)
        ++unit;
    const int decimals = std::max(0, static_cast<int>(std::ceil(std::log10(unit->ns / stepNs) - 1e-9)));
    std::array<char, 64> out{};
    std::snprintf(out.data(), out.size(), "%.*f", decimals, ns / unit->ns);
    return separatedText(out.data()) + " " + unit->name;
}

std::vector<Tick> ticks(const TimeAxis& axis, float majorPixels)
{
    const double step = niceStep(axis.nsPerPixel() * static_cast<double>(majorPixels));
    const double mantissa = step / std::pow(10, std::floor(std::log10(step) + 1e-9));
    const double most = mantissa > 1.5 && mantissa < 3 ? 4 : 5;
    const double minors = std::max(1.0, std::min(most, std::floor(step)));
    const double minor = step / minors;
    std::vector<Tick> out;
    // Counted in whole numbers, a pixel each at most: far from zero adding 1 to a double may change nothing.
    const double first = std::ceil(axis.beginNs / minor);
    const double pixels = static_cast<double>(axis.right - axis.left);
    const auto count = static_cast<int>(std::clamp(std::floor((axis.endNs - first * minor) / minor) + 1, 0.0, pixels + 1));
    for (int k = 0; k < count; ++k) {
        const double i = first + k;
        Tick tick{.ns = std::llround(i * minor), .major = std::fmod(i, minors) == 0};
        if (tick.major)
            tick.label = timeText(static_cast<double>(tick.ns), step, axis.endNs);
        out.push_back(std::move(tick));
    }
    return out;
}

int RowStack::rowAt(float y) const
{
    const auto after = std::upper_bound(rows.begin(), rows.end(), y, [](float at, const RowPlace& row) { return at < row.top; });
    const auto index = static_cast<int>(after - rows.begin()) - 1;
    return index >= 0 && y < rows[static_cast<std::size_t>(index)].bottom ? index : -1;
}

int RowPlace::laneAt(float y, int lanes) const
{
    for (int lane = 0; lane < lanes; ++lane)
        if (y < laneTop(lane + 1))
            return lane;
    return -1;
}

RowStack stackRows(const std::vector<RowNeed>& needs, float height, float lowestRow, int pinned)
{
    RowStack stack;
    if (needs.empty())
        return stack;
    const float whole = height;
    const bool isOfPage = lowestRow < kLowestDenseRow;
    float full = 0, thin = 0, rows = 0;
    bool single = true;
    for (const RowNeed& need : needs) {
        if (need.header) {
            height -= kHeaderRow + kHeaderGap;
            continue;
        }
        rows += 1;
        full += static_cast<float>(need.lanes - need.thinLanes);
        thin += static_cast<float>(need.thinLanes);
        single = single && need.lanes == 1;
    }
    if (pinned > 0)
        height -= kBelowPinned;
    const float pitch = std::floor(std::clamp(height / std::max(rows, 1.0F), lowestRow, kHighestRow));
    const float gap = !single ? (isOfPage ? 2.0F : 8.0F) : pitch < 20 ? 1.0F : pitch < 32 ? 3.0F : 6.0F;
    float laneHeight = std::min(pitch - gap, kHighestLane);
    float thinHeight = 0;
    float sparkline = pitch - gap - laneHeight - 1;
    if (!single) {
        const float room = (height - gap * rows) / (full + thin * kThinLane);
        laneHeight = std::floor(std::clamp(room, isOfPage ? lowestRow : kLowestLane, kHighestManyLane));
        thinHeight = std::max(isOfPage ? 1.0F : kLowestThinLane, std::floor(laneHeight * kThinLane));
        sparkline = (height - gap * rows - laneHeight * full - thinHeight * thin) / rows - 1;
    }
    sparkline = sparkline < kLowestSparkline ? 0 : std::floor(std::min(sparkline, kHighestSparkline));
    const float view = height;
    // Nothing but closed groups: they may take the room there is.
    const float headerRow =
        rows > 0 ? kHeaderRow
                 : std::floor(std::clamp(whole / static_cast<float>(needs.size()) - kHeaderGap, kHeaderRow, kHighestHeaderRow));
    for (const RowNeed& need : needs) {
        RowPlace row{.top = stack.height, .laneHeight = laneHeight};
        if (need.header) {
            row.laneHeight = headerRow;
            row.fullLanes = 1;
            row.bottom = row.top + headerRow;
            stack.height = row.bottom + kHeaderGap;
        } else {
            row.thinHeight = thinHeight;
            row.fullLanes = need.lanes - need.thinLanes;
            row.sparklineHeight = need.sparkline ? sparkline : 0;
            row.bottom = row.lanesBottom(need.lanes) + (row.sparklineHeight > 0 ? row.sparklineHeight + 1 : 0);
            stack.height = row.bottom + gap;
        }
        stack.rows.push_back(row);
        if (static_cast<int>(stack.rows.size()) == pinned) {
            stack.height += kBelowPinned;
            const bool leavesRoom = stack.height <= view * kMostPinned;
            stack.pinned = leavesRoom ? pinned : 0;
            stack.pinnedHeight = leavesRoom ? stack.height : 0;
        }
    }
    return stack;
}

float suitableTimelineHeight(std::size_t rows)
{
    constexpr float kAroundRows = 190; // legend, ruler, memory, overview
    return kAroundRows + static_cast<float>(rows) * kHighestRow;
}

TimelineFrame::TimelineFrame(Rect area, Parts parts)
{
    constexpr float kScrollBar = 12;
    const bool low = area.height() < kLowTimeline, lowBelowStory = area.height() - parts.story < kLowTimeline;
    constexpr float kLegend = 28, kLegendLine = 22; // the first line, and each below it
    constexpr float kLowLegend = 20, kLowestWithLegend = 92;
    const float headerHeight = !parts.legend || (low && !parts.lowLegend) || area.height() < kLowestWithLegend ? 0.0F
                               : low                                                                           ? kLowLegend
                                     : kLegend + kLegendLine * static_cast<float>(parts.legendLines - 1),
                rulerHeight = parts.ruler ? 22.0F : 0.0F, overviewHeight = lowBelowStory || !parts.overview ? 0.0F : 26.0F;
    const float gutterWidth = std::floor(std::clamp(area.width() * 0.16F, 64.0F, 168.0F));
    const float left = area.left + gutterWidth, right = std::max(left + 1, area.right - kScrollBar);
    header = {area.left + kMargin, area.top, area.right - kMargin, area.top + headerHeight};
    story = {header.left, header.bottom, header.right, header.bottom + parts.story};
    constexpr float kMarksHeight = 18;
    marks = {left, story.bottom, right, story.bottom + (parts.marks && !low ? kMarksHeight : 0.0F)};
    ruler = {left, marks.bottom, right, marks.bottom + rulerHeight};
    constexpr float kLowestWithMemory = 260, kMemoryGap = 8;
    const float memoryHeight = parts.memory && area.height() - parts.story >= kLowestWithMemory
                                   ? std::floor(std::clamp(area.height() * 0.17F, 48.0F, 84.0F))
                                   : 0.0F;
    const float memoryBottom = area.bottom - overviewHeight - 6;
    const float rowsBottom = memoryHeight > 0 ? memoryBottom - memoryHeight - kMemoryGap : memoryBottom;
    rows = {left, ruler.bottom + 4, right, std::max(ruler.bottom + 5, rowsBottom)};
    memory = {left, memoryBottom - memoryHeight, right, memoryBottom};
    gutter = {area.left + kMargin, rows.top, left - 8, rows.bottom};
    scroll = {right + 2, rows.top, area.right - 2, rows.bottom};
    overview = {left, area.bottom - overviewHeight, right, area.bottom - (overviewHeight > 0 ? 8.0F : 0.0F)};
}

} // namespace app
