// What leads from span to span: dependencies of the span in focus, the critical path; and outlines.
#include "app/views/timeline/timeline_dependencies.h"
#include "app/views/timeline/timeline_painter.h"
#include "app/views/timeline/timeline_steps.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

class LinkPainter {
public:
    LinkPainter(Canvas& canvas, const TimelineScene& scene)
        : m_canvas(canvas), m_scene(scene), m_model(scene.model()), m_theme(scene.theme), m_rows(scene.frame.rows),
          m_axis(scene.axis())
    {
    }
    void paint()
    {
        if (const auto* path = m_scene.criticalPath())
            criticalPath(path->path.steps);
        if (const auto& chain = m_scene.waitInFocus())
            wait(*chain);
        dependencies();
        if (const auto& span = m_scene.selection.hoveredSpan)
            outline(*span, 1);
        if (const auto& span = m_scene.selection.selectedSpan)
            outline(*span, 2);
    }

private:
    float x(std::int64_t ns) const { return m_axis.x(static_cast<double>(ns)); }
    std::int64_t startNs(SpanRef ref) const { return m_model.trace().tracks[ref.track].startNs[ref.span]; }
    void criticalPath(const std::vector<sim::CriticalStep>&);
    void wait(const TimelineWait&);
    void dependencies();
    void arrow(const Dependency&, Color);
    void hop(const Dependency&, Color);
    void outline(SpanRef, float thickness);
    void stroke(const std::vector<Point>& points, Color color) const
    {
        m_canvas.polyline(points, m_theme.canvas, 4);
        m_canvas.polyline(points, color, 2);
    }

    Canvas& m_canvas;
    const TimelineScene& m_scene;
    const TimelineModel& m_model;
    const Theme& m_theme;
    Rect m_rows;
    TimeAxis m_axis;
};

/// A line along the lower edge of its spans, and from each to the next. Where many steps share a pixel, one stands for them.
void LinkPainter::criticalPath(const std::vector<sim::CriticalStep>& steps)
{
    const auto beginNs = static_cast<std::int64_t>(m_axis.beginNs), endNs = static_cast<std::int64_t>(std::ceil(m_axis.endNs));
    auto first = std::lower_bound(steps.begin(), steps.end(), beginNs,
                                  [](const sim::CriticalStep& step, std::int64_t ns) { return step.endNs < ns; });
    if (first != steps.begin())
        --first; // leads into the window
    std::vector<Point> points;
    constexpr float kBeyond = 8; ///< pixels drawn outside the window, where the clip cuts
    const auto clamped = [&](std::int64_t ns) { return std::clamp(x(ns), m_rows.left - kBeyond, m_rows.right + kBeyond); };
    const auto flush = [&] {
        if (points.size() > 1)
            stroke(points, m_theme.selection);
        points.clear();
    };
    for (auto step = first; step != steps.end() && step->beginNs <= endNs; ++step) {
        const Rect lane = m_scene.rows.laneOf(step->track);
        if (lane.height() <= 0) { // its row is filtered out: the line ends here, and goes on where a row is shown again
            flush();
            continue;
        }
        const float y = lane.bottom;
        const float left = clamped(step->beginNs), right = clamped(step->endNs);
        const bool sameLane = !points.empty() && points.back().y == y;
        constexpr float kNear = 0.75F;
        if (sameLane && left - points.back().x < kNear) {
            points.back().x = std::max(points.back().x, right);
            continue;
        }
        if (!points.empty() && !sameLane && right - points.back().x < kNear && right - left < kNear)
            continue;
        points.push_back({left, y});
        points.push_back({right, y});
    }
    flush();
}

/// The gap in outline, and from what ran when it began, along what was waited for in turn, to its end.
void LinkPainter::wait(const TimelineWait& chain)
{
    const auto laneOf = [&](int row) { return m_scene.rows.laneOf(m_model.rows()[static_cast<std::size_t>(row)].work); };
    constexpr float kBeyond = 8; ///< pixels drawn outside the window, where the clip cuts
    const auto clamped = [&](std::int64_t ns) { return std::clamp(x(ns), m_rows.left - kBeyond, m_rows.right + kBeyond); };
    const Rect gap = laneOf(chain.gap.row);
    if (gap.height() <= 0)
        return;
    // Below the names of what was waited for, where the row is high enough for both.
    constexpr float kAboveEdge = 4;
    const float name = m_canvas.textHeight(FontFace::small);
    const auto heightIn = [&](Rect lane) {
        return std::floor(
            std::max((lane.top + lane.bottom) / 2, std::min((lane.top + lane.bottom + name) / 2 + 2, lane.bottom - kAboveEdge)));
    };
    std::vector<Point> points;
    for (auto link = chain.links.rbegin(); link != chain.links.rend(); ++link) {
        const Rect lane = laneOf(link->row);
        if (lane.height() <= 0) // its row is filtered out
            continue;
        const float y = heightIn(lane);
        points.push_back({clamped(link->time.beginNs), y});
        points.push_back({clamped(link->time.endNs), y});
    }
    const Point end = {clamped(chain.gap.time.endNs), heightIn(gap)};
    points.push_back(end);
    stroke(points, m_theme.selection);
    m_canvas.fillConvex({{end.x + 1, end.y}, {end.x - 7, end.y - 4}, {end.x - 7, end.y + 4}}, m_theme.selection);
    m_canvas.strokeRect(
        {clamped(chain.gap.time.beginNs), gap.top, std::max(end.x, clamped(chain.gap.time.beginNs) + 2), gap.bottom},
        m_theme.selection, 1);
}

/// Arrows of the span in focus: from what it needs in the colour of outlines, to what it feeds in the accent.
void LinkPainter::dependencies()
{
    const Selection& selection = m_scene.selection;
    const std::optional<SpanRef> span = selection.hoveredSpan ? selection.hoveredSpan : selection.selectedSpan;
    const auto& tracks = m_model.trace().tracks;
    if (!span || span->track >= tracks.size() || span->span >= tracks[span->track].size())
        return;
    for (const Dependency& d : dependenciesOf(m_model, *span)) {
        if (m_scene.steps && !(m_scene.steps->isRevealed(d.from) && m_scene.steps->isRevealed(d.to)))
            continue;
        if (!selection.shows(m_model.opClass(d.from.track, d.from.span)) ||
            !selection.shows(m_model.opClass(d.to.track, d.to.span)))
            continue;
        if (m_scene.rows.laneOf(d.from.track).height() <= 0 || m_scene.rows.laneOf(d.to.track).height() <= 0)
            continue;
        const Color color = d.to == *span ? m_theme.selection : m_theme.accent;
        if (d.transfer)
            arrow(d, color);
        else
            hop(d, color);
        outline(d.from, 1);
        outline(d.to, 1);
    }
}

/// From row to row: a curve that leaves and arrives level.
void LinkPainter::arrow(const Dependency& d, Color color)
{
    const Rect fromLane = m_scene.rows.laneOf(d.from.track), toLane = m_scene.rows.laneOf(d.to.track);
    const float x0 = x(m_model.endNs(d.from)), x1 = x(startNs(d.to));
    const float y0 = (fromLane.top + fromLane.bottom) / 2, y1 = (toLane.top + toLane.bottom) / 2;
    const float reach = std::max(12.0F, std::abs(x1 - x0) / 2);
    std::vector<Point> curve;
    constexpr int kPieces = 20;
    for (int i = 0; i <= kPieces; ++i) { // a cubic Bézier curve
        const float t = static_cast<float>(i) / kPieces, u = 1 - t;
        const float a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, e = t * t * t;
        curve.push_back({a * x0 + b * (x0 + reach) + c * (x1 - reach) + e * x1, (a + b) * y0 + (c + e) * y1});
    }
    stroke(curve, color);
    m_canvas.fillConvex({{x1 + 1, y1}, {x1 - 7, y1 - 4}, {x1 - 7, y1 + 4}}, color);
}

/// Within a row: along its upper edge and down into the span that waits.
void LinkPainter::hop(const Dependency& d, Color color)
{
    const Rect lane = m_scene.rows.laneOf(d.from.track);
    const float from = (x(startNs(d.from)) + x(m_model.endNs(d.from))) / 2;
    const float to = (x(startNs(d.to)) + x(m_model.endNs(d.to))) / 2;
    const float top = std::max(lane.top - 3, m_rows.top + 1), tip = lane.top + 6;
    stroke({{from, lane.top + 3}, {from, top}, {to, top}, {to, tip}}, color);
    m_canvas.fillConvex({{to, tip + 2}, {to - 4, tip - 4}, {to + 4, tip - 4}}, color);
}

void LinkPainter::outline(SpanRef ref, float thickness)
{
    const sim::Trace& trace = m_model.trace();
    if (ref.track >= trace.tracks.size() || ref.span >= trace.tracks[ref.track].size())
        return;
    const Rect lane = m_scene.rows.laneOf(ref.track);
    const float left = std::floor(x(startNs(ref)) + 0.5F), right = std::floor(x(m_model.endNs(ref)) + 0.5F);
    if (lane.height() <= 0 || right < m_rows.left || left > m_rows.right)
        return;
    const float far = 8; // no line along the view's edge where the span goes on
    m_canvas.strokeRect({std::max(left, m_rows.left - far) - 1, lane.top - 1,
                         std::min(std::max(right, left + 2), m_rows.right + far), lane.bottom + 1},
                        m_theme.selection, thickness + 1);
}

} // namespace

void paintLinks(Canvas& canvas, const TimelineScene& scene)
{
    LinkPainter(canvas, scene).paint();
}

} // namespace app
