#include "app/views/timeline/timeline_painter.h"

#include "app/canvas/in_parallel.h"
#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/time_ruler.h"
#include "app/views/timeline/lane_reading.h"
#include "app/views/timeline/timeline_memory.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace app {
namespace {

/// The rows, what lies over them, and the whole trace in small.
class TimelinePainter {
public:
    TimelinePainter(Canvas& canvas, const TimelineScene& scene)
        : m_canvas(canvas), m_scene(scene), m_model(scene.model()), m_theme(scene.theme), m_frame(scene.frame),
          m_axis(scene.axis()), m_idle(mix(m_theme.canvas, m_theme.text, 0.045F))
    {
    }

    void paint()
    {
        m_canvas.fillRect(m_canvas.area(), m_theme.canvas);
        paintHeader(m_canvas, m_scene);
        paintStory(m_canvas, m_scene);
        const std::vector<Tick> ticksInSight = rulerTicks(m_canvas, m_axis);
        paintMarks(m_canvas, m_scene);
        paintRuler(m_canvas, m_scene, ticksInSight);
        paintGutterHeader(m_canvas, m_scene);
        paintRowNames(m_canvas, m_scene);
        rows(ticksInSight);
        pushRows();
        afterEnd(m_frame.rows);
        range(m_frame.rows);
        markLines(m_frame.rows);
        paintLinks(m_canvas, m_scene);
        cursorLine(m_frame.rows);
        zoomBox();
        m_canvas.popClip();
        if (m_frame.memory.height() > 0) {
            paintMemory(m_canvas, m_scene);
            m_canvas.pushClip(m_frame.memory);
            afterEnd(m_frame.memory);
            range(m_frame.memory);
            markLines(m_frame.memory);
            cursorLine(m_frame.memory);
            m_canvas.popClip();
        }
        scrollBar();
        overview();
    }

private:
    void pushRows()
    {
        m_canvas.pushClip(
            {m_frame.rows.left, m_frame.rows.top - kAirOfText, m_frame.rows.right, m_frame.rows.bottom + kAirOfText});
    }
    void rows(const std::vector<Tick>&);
    void row(int line, const std::vector<Tick>&);
    void readLanes();
    void evenLabels();
    void group(int line);
    void sparkline(const TimelineRow&, Rect);
    void afterEnd(Rect area);
    void range(Rect area);
    void markLines(Rect area);
    void cursorLine(Rect area);
    void zoomBox();
    void scrollBar();
    void overview();

    Canvas& m_canvas;
    const TimelineScene& m_scene;
    const TimelineModel& m_model;
    const Theme& m_theme;
    const TimelineFrame& m_frame;
    TimeAxis m_axis;
    Color m_idle;
    struct Lane {
        int line;
        std::uint32_t track;
        Rect area;
        LaneReading reading;
    };
    std::vector<Lane> m_lanes; ///< in sight, line by line
};

/// What there is to be drawn on lanes: most of a frame's work, and each lane's is its own.
void TimelinePainter::readLanes()
{
    std::size_t columns = 0;
    m_scene.rows.forLinesInSight([&](int line) {
        if (m_scene.rows.line(line).isHeader())
            return;
        const Rect clip = m_scene.rows.clipOf(line);
        const TimelineRow& data = m_model.rows()[static_cast<std::size_t>(m_scene.rows.line(line).row)];
        for (std::size_t lane = 0; lane < data.tracks.size(); ++lane) {
            const Rect area = m_scene.rows.lane(line, static_cast<int>(lane));
            if (area.bottom <= clip.top || area.top >= clip.bottom)
                continue;
            m_lanes.push_back({line, data.tracks[lane], area, {}});
            columns += static_cast<std::size_t>(area.width());
        }
    });
    constexpr std::size_t kColumnsOfThread = 8192; // fewer are read before another thread has started
    const LaneLook look{m_scene.colors(), m_scene.lit()};
    inParallel(m_lanes.size(), 1 + columns / kColumnsOfThread,
               [&](std::size_t i) { m_lanes[i].reading = readLane(m_scene, look, m_lanes[i].track, m_lanes[i].area); });
    evenLabels();
}

/// Spans say as much in one row as in the next: the passes of a class, and kernels of a kind, as much as fits the row where they
/// are the shortest, apart from rows far below the middle one.
void TimelinePainter::evenLabels()
{
    const auto groupOf = [&](const Lane& lane, std::uint32_t kind) {
        const bool isPass = m_model.trace().tracks[lane.track].role == sim::TrackRole::actions;
        return std::pair(isPass, isPass ? static_cast<std::uint32_t>(m_model.trace().kinds[kind].opClass) : kind);
    };
    std::map<std::pair<bool, std::uint32_t>, std::vector<float>> widths;
    for (const Lane& lane : m_lanes)
        for (const auto& [kind, width] : lane.reading.labelWidths)
            widths[groupOf(lane, kind)].push_back(width);
    std::map<std::pair<bool, std::uint32_t>, float> common;
    for (auto& [group, all] : widths) {
        std::sort(all.begin(), all.end());
        const float least = all[all.size() / 2] * static_cast<float>(kTypicalWidth);
        common[group] = *std::find_if(all.begin(), all.end(), [&](float width) { return width >= least; });
    }
    for (Lane& lane : m_lanes)
        for (auto& [kind, width] : lane.reading.labelWidths)
            width = std::min(width, common[groupOf(lane, kind)]);
}

void TimelinePainter::rows(const std::vector<Tick>& ticksInSight)
{
    readLanes();
    const float split = m_frame.rows.top + m_scene.rows.stack().pinnedHeight;
    m_scene.rows.forLinesInSight([&](int line) {
        Rect clip = m_scene.rows.clipOf(line);
        clip.top -= m_scene.rows.stack().pinned > 0 && line >= m_scene.rows.stack().pinned ? 0 : kAirOfText;
        clip.bottom += line < m_scene.rows.stack().pinned ? 0 : kAirOfText;
        m_canvas.pushClip(clip);
        if (m_scene.rows.line(line).isHeader())
            group(line);
        else
            row(line, ticksInSight);
        m_canvas.popClip();
    });
    if (m_scene.rows.stack().pinned > 0)
        m_canvas.line({m_frame.gutter.left - 9, split - 3}, {m_frame.rows.right, split - 3}, m_theme.border, 2);
}

void TimelinePainter::row(int line, const std::vector<Tick>& ticksInSight)
{
    const RowPlace& p = m_scene.rows.placeOf(line);
    const TimelineRow& data = m_model.rows()[static_cast<std::size_t>(m_scene.rows.line(line).row)];
    const float top = m_scene.rows.lineTop(line);
    const float endX = std::clamp(m_axis.x(m_scene.lengthNs()), m_frame.rows.left, m_frame.rows.right);
    const Color grid = mix(m_theme.canvas, m_theme.text, 0.11F);
    const int lanes = static_cast<int>(data.tracks.size());
    const float lanesBottom = top + p.lanesBottom(lanes) - p.top;
    const float beginX = std::clamp(m_axis.x(0), m_frame.rows.left, endX);
    m_canvas.fillRect({beginX, top, endX, lanesBottom - (lanes > 1 ? 1.0F : 0.0F)}, m_idle);
    for (const Tick& tick : ticksInSight)
        if (tick.major)
            if (const float x = std::floor(m_axis.x(static_cast<double>(tick.ns))); x >= beginX && x < endX)
                m_canvas.fillRect({x, top, x + 1, top + p.bottom - p.top}, grid);
    const Rect clip = m_scene.rows.clipOf(line);
    for (const Lane& lane : std::ranges::equal_range(m_lanes, line, {}, &Lane::line))
        paintLane(m_canvas, m_scene, lane.reading, lane.track, lane.area, clip);
    if (p.sparklineHeight > 0 && data.memory)
        sparkline(data, {beginX, lanesBottom + 1, endX, lanesBottom + 1 + p.sparklineHeight});
}

/// A group as a whole: the shares of all its rows over the window.
void TimelinePainter::group(int line)
{
    const float top = m_scene.rows.lineTop(line);
    const auto index = static_cast<std::size_t>(m_scene.rows.line(line).group);
    const bool open = m_scene.rows.arrangement().groups[index].open;
    const float endX = std::clamp(m_axis.x(m_scene.lengthNs()), m_frame.rows.left, m_frame.rows.right);
    // Open, the rows below tell more: the strip is only a reminder.
    const float height = m_scene.rows.placeOf(line).bottom - m_scene.rows.placeOf(line).top;
    const Rect area{m_frame.rows.left, top + (open ? height - 6 : 1), m_frame.rows.right, top + height - 1};
    m_canvas.fillRect({area.left, area.top, endX, area.bottom}, m_idle);
    paintShares(m_canvas, m_scene.strip(index), area, m_scene.colors().fills);
}

/// Memory over time: per pixel column the highest value, on one scale for all rows.
void TimelinePainter::sparkline(const TimelineRow& row, Rect area)
{
    paintCounter(m_canvas, m_model.counter(*row.memory), m_axis, area,
                 static_cast<double>(std::max<std::int64_t>(m_model.memoryScaleBytes(), 1)),
                 mix(m_theme.canvas, m_theme.heat[4], m_theme.dark ? 0.45F : 0.4F));
    m_canvas.fillRect({area.left, area.bottom - 1, area.right, area.bottom}, mix(m_theme.canvas, m_theme.heat[5], 0.7F));
}

void TimelinePainter::afterEnd(Rect area)
{
    const float x = m_axis.x(m_scene.lengthNs());
    if (x < area.left || x >= area.right)
        return;
    m_canvas.line({std::floor(x), area.top}, {std::floor(x), area.bottom}, m_theme.mutedText, 1, LineStyle::dashed);
}

void TimelinePainter::range(Rect area)
{
    if (!m_scene.selection.range)
        return;
    const TimeRange& range = *m_scene.selection.range;
    const float left = std::clamp(m_axis.x(static_cast<double>(range.beginNs)), area.left - 1, area.right);
    const float right = std::clamp(m_axis.x(static_cast<double>(range.endNs)), area.left - 1, area.right);
    const Color outside = withAlpha(m_theme.canvas, 0.62F);
    m_canvas.fillRect({area.left, area.top, left, area.bottom}, outside);
    m_canvas.fillRect({right, area.top, area.right, area.bottom}, outside);
    m_canvas.fillRect({left, area.top, left + 1, area.bottom}, m_theme.accent);
    m_canvas.fillRect({right - 1, area.top, right, area.bottom}, m_theme.accent);
}

void TimelinePainter::markLines(Rect area)
{
    const auto draw = [&](std::int64_t ns) {
        if (const float x = std::floor(m_axis.x(static_cast<double>(ns))); x >= area.left && x < area.right)
            m_canvas.line({x, area.top}, {x, area.bottom}, m_theme.text, 1, LineStyle::dotted);
    };
    for (const TimelineMark& mark : m_scene.marks.all()) {
        draw(mark.range.beginNs);
        if (!mark.isInstant())
            draw(mark.range.endNs);
    }
}

void TimelinePainter::cursorLine(Rect area)
{
    if (m_scene.selection.cursorNs <= 0)
        return;
    const float x = std::floor(m_axis.x(static_cast<double>(m_scene.selection.cursorNs)));
    if (x >= area.left && x < area.right)
        m_canvas.fillRect({x, area.top, x + 1, area.bottom}, m_theme.accent);
}

void TimelinePainter::zoomBox()
{
    if (!m_scene.zoomBox)
        return;
    const Rect rows = m_frame.rows;
    const Rect box{m_axis.x(static_cast<double>(m_scene.zoomBox->beginNs)), rows.top,
                   m_axis.x(static_cast<double>(m_scene.zoomBox->endNs)), rows.bottom};
    m_canvas.fillRect(box, withAlpha(m_theme.accent, 0.16F));
    m_canvas.strokeRect(box, m_theme.accent, 1, LineStyle::dashed);
}

void TimelinePainter::scrollBar()
{
    const float fixed = m_scene.rows.stack().pinnedHeight;
    const float content = m_scene.rows.stack().height - fixed, view = m_frame.rows.height() - fixed;
    if (content <= view + 1)
        return;
    Rect track = m_frame.scroll;
    track.top += fixed;
    const float length = std::max(24.0F, track.height() * view / content);
    const float top = track.top + (track.height() - length) * m_scene.rows.scrollY() / (content - view);
    m_canvas.fillRect({track.left + 2, top, track.right - 2, top + length}, mix(m_theme.border, m_theme.mutedText, 0.35F));
}

/// The whole trace in small, all rows together; bright is what the rows above show.
void TimelinePainter::overview()
{
    const Rect area = m_frame.overview;
    if (area.height() <= 0 || m_scene.overview().empty())
        return;
    m_canvas.fillRect(area, m_idle);
    const TimeWindow whole = m_scene.window.now().whole();
    const TimeAxis axis{whole.beginNs, whole.endNs, area.left, area.right};
    const auto x = [&](double ns) { return axis.x(ns); };
    paintShares(m_canvas, m_scene.overview(), {x(0), area.top, x(m_scene.lengthNs()), area.bottom}, m_scene.colors().fills);
    paintMatches(m_canvas, m_scene, axis, area);
    textInside(m_canvas, {m_frame.gutter.left, area.top, m_frame.gutter.right, area.bottom},
               fitting(m_canvas, {"all ranks", "all"}, m_frame.gutter.width(), FontFace::small), m_theme.mutedText,
               FontFace::small);
    for (const TimelineMark& mark : m_scene.marks.all())
        if (const float at = std::floor(x(static_cast<double>(mark.range.beginNs))); at < area.right)
            m_canvas.fillRect({at, area.top, at + 1, area.bottom}, m_theme.text);
    if (const std::int64_t cursorNs = m_scene.selection.cursorNs; cursorNs > 0)
        if (const float at = std::floor(x(static_cast<double>(cursorNs))); at < area.right)
            m_canvas.fillRect({at, area.top, at + 1, area.bottom}, m_theme.accent);
    if (m_scene.window.now().showsAll())
        return;
    const float left = x(m_scene.window.now().beginNs), right = std::max(left + 3, x(m_scene.window.now().endNs));
    const Color outside = withAlpha(m_theme.canvas, 0.7F);
    m_canvas.fillRect({area.left, area.top, left, area.bottom}, outside);
    m_canvas.fillRect({right, area.top, area.right, area.bottom}, outside);
    m_canvas.strokeRect({left - 1, area.top - 1, right + 1, area.bottom + 1}, m_theme.accent, 2);
}

} // namespace

void paintShares(Canvas& canvas, const ShareColumns& columns, Rect area, const std::array<Color, sim::kOpClassCount>& fills)
{
    if (columns.empty() || area.height() <= 0)
        return;
    constexpr float kQuantum = 0.5F;
    ColumnStacks stacks{.area = area,
                        .columnWidth = area.width() / static_cast<float>(columns.size()),
                        .quantum = kQuantum,
                        .colors = {fills.begin(), fills.end()},
                        .tops = {}};
    const double quanta = static_cast<double>(area.height() / kQuantum);
    for (const auto& column : columns) {
        double sum = 0;
        for (const double share : column) {
            sum += share;
            stacks.tops.push_back(static_cast<std::uint16_t>(std::lround(std::min(sum, 1.0) * quanta)));
        }
    }
    canvas.stacks(stacks);
}

void paintTimeline(Canvas& canvas, const TimelineScene& scene)
{
    TimelinePainter(canvas, scene).paint();
}

} // namespace app
