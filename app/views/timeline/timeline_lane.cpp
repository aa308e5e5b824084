#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/timeline/lane_reading.h"
#include "app/views/timeline/narrow_spans.h"
#include "app/views/timeline/timeline_painter.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

/// Pixels from which neighbours are kept apart by one: below, the gap would look like idling.
constexpr float kGappedSpan = 8;
constexpr double kShadedSpan = 5; ///< pixels from which odd micro-batches have their shade: rounded, narrower ones beat
constexpr float kTickMark = 4;    ///< pixels, as high as the mark of what has no length
constexpr double kTickApart = 4;  ///< pixels from which such marks stand by themselves
constexpr float kLabelledSpan = 13;
constexpr std::uint64_t kWaitNode = 1ULL << 31; ///< in a node's id: no span, but a transfer that is waited for
constexpr float kChunkBand = 0.25F;             ///< of a span's height: of the last of a rank's chunks

class LanePainter {
public:
    LanePainter(Canvas& canvas, const TimelineScene& scene, const LaneReading& reading, std::uint32_t track, Rect lane, Rect clip)
        : m_canvas(canvas), m_scene(scene), m_reading(reading), m_axis(scene.axis()), m_pixelsPerNs(1 / m_axis.nsPerPixel()),
          m_trackIndex(track), m_track(scene.model().trace().tracks[track]), m_colors(scene.colors()), m_litSpans(scene.lit()),
          m_lane(lane), m_clip(clip)
    {
    }

    void paint()
    {
        if (const ExposedWaits* waits = m_scene.steps ? nullptr : m_scene.model().exposed(m_scene.model().rowOf(m_trackIndex)))
            drawBetween(*waits);
        drawLines();
        for (std::size_t i = 0; i < m_reading.wide.size(); ++i)
            drawSpan(m_reading.wide[i], i + 1 < m_reading.wide.size() ? &m_reading.wide[i + 1] : nullptr);
        drawStacks(m_reading.inside);
        drawStacks(m_reading.dense);
        drawMarks();
    }

private:
    double pixel(std::int64_t ns) const { return (static_cast<double>(ns) - m_axis.beginNs) * m_pixelsPerNs; }

    void drawStacks(const std::vector<ColumnStacks>& all)
    {
        for (const ColumnStacks& stacks : all)
            m_canvas.stacks(stacks);
    }

    float xOf(const LaneTick& tick) const
    {
        return m_lane.left + std::floor(static_cast<float>(tick.column / m_reading.columnsPerPixel));
    }
    /// Closer together, lines would look like work.
    bool standsApart(std::size_t tick) const
    {
        const auto gap = [&](std::size_t before) {
            return m_reading.ticks[before + 1].column - m_reading.ticks[before].column >= kTickApart * m_reading.columnsPerPixel;
        };
        return (tick == 0 || gap(tick - 1)) && (tick + 1 == m_reading.ticks.size() || gap(tick));
    }

    /// Of what has no length: behind all that has some.
    void drawLines()
    {
        for (std::size_t i = 0; i < m_reading.ticks.size(); ++i)
            if (standsApart(i)) {
                const float x = xOf(m_reading.ticks[i]);
                m_canvas.fillRect({x, m_lane.top, x + 1, m_lane.bottom},
                                  m_colors.shown[m_track.kind[m_reading.ticks[i].span]].even);
            }
    }

    /// And over it, at the top: where marks are many, a band of them.
    void drawMarks()
    {
        const float foot = m_lane.top + std::min(kTickMark, m_lane.height() / 2);
        for (std::size_t i = 0; i < m_reading.ticks.size(); ++i) {
            const LaneTick& tick = m_reading.ticks[i];
            const float x = xOf(tick);
            if (!standsApart(i)) {
                m_canvas.fillRect({x, m_lane.top, x + 1, foot}, m_scene.theme.text);
                continue;
            }
            constexpr float kTickHalf = 2.5F;
            m_canvas.fillConvex({{x + 0.5F - kTickHalf, m_lane.top}, {x + 0.5F + kTickHalf, m_lane.top}, {x + 0.5F, foot}},
                                m_scene.theme.text);
            if (m_canvas.wantsNodes())
                m_canvas.node(
                    {.id = (static_cast<std::uint64_t>(m_trackIndex) << 32) | tick.span,
                     .role = "span",
                     .name = m_scene.model().spanLabels(m_trackIndex, tick.span).front(),
                     .rect = {x - 2, m_lane.top, x + 3, m_lane.bottom},
                     .selected = m_scene.selection.selectedSpan == SpanRef{m_trackIndex, static_cast<std::uint32_t>(tick.span)}});
        }
    }

    /// To whole pixels; columns shared with narrow spans are left to these, and a pause of less than half a pixel is none:
    /// rounded by itself it would be a pixel here and nothing there.
    void drawSpan(const WideSpan& wide, const WideSpan* next)
    {
        const bool meetsNext = next != nullptr && next->left >= wide.right && next->left - wide.right < 0.5;
        const double end = meetsNext ? next->left : wide.right;
        const double firstColumn = std::floor(wide.left), lastColumn = std::ceil(wide.right) - 1;
        const double from = m_reading.isShared(firstColumn) ? firstColumn + 1 : std::floor(wide.left + 0.5);
        const double to = m_reading.isShared(lastColumn) ? lastColumn : std::floor(end + 0.5);
        const float column = 1 / static_cast<float>(m_reading.columnsPerPixel);
        const float left = m_lane.left + static_cast<float>(std::max(from, 0.0)) * column;
        float right = std::min(
            m_lane.left + static_cast<float>(std::min(to, static_cast<double>(m_reading.columns.size()))) * column, m_lane.right);
        // As wide as it is, so that equal spans look alike; of one that is seen by a pixel that stays.
        if (wide.right - wide.left >= kGappedSpan && right - left > column)
            right -= column;
        if (right <= left)
            return;
        const std::uint32_t kind = m_track.kind[wide.span];
        const bool lit = m_litSpans != nullptr && m_litSpans->contains(m_trackIndex, wide.span);
        const KindColors& colors = (lit ? m_colors.own : m_colors.shown)[kind];
        const bool odd = m_track.microbatch[wide.span] % 2 == 1 && wide.right - wide.left >= kShadedSpan;
        const Rect rect{left, m_lane.top, right, m_lane.bottom};
        m_canvas.fillRect(rect, odd ? colors.odd : colors.even);
        if (const float band = m_scene.model().bandOf(kind); band > 0)
            m_canvas.fillRect({left, rect.top, right, rect.top + std::max(2.0F, std::floor(band * kChunkBand * rect.height()))},
                              kChunkColor);
        if (const float width = m_reading.labelWidth(kind); width >= kLabelledSpan)
            label(wide.span, rect, width, colors.text);
        if (m_canvas.wantsNodes())
            m_canvas.node(
                {.id = (static_cast<std::uint64_t>(m_trackIndex) << 32) | wide.span,
                 .role = "span",
                 .name = m_scene.model().spanLabels(m_trackIndex, wide.span).front(),
                 .rect = rect,
                 .selected = m_scene.selection.selectedSpan == SpanRef{m_trackIndex, static_cast<std::uint32_t>(wide.span)}});
    }

    /// `width`: of the room that spans of its kind have, before it was rounded to pixels, which makes one of equal spans wider
    /// than the next.
    void label(std::size_t span, Rect rect, float width, Color color)
    {
        const float height = m_canvas.textHeight(FontFace::small);
        const float top = std::floor((rect.top + rect.bottom - height) / 2);
        if (height > rect.height() + 2 * kAirOfText || top < m_clip.top - kAirOfText || top + height > m_clip.bottom + kAirOfText)
            return;
        std::vector<std::string> texts = m_scene.model().spanLabels(m_trackIndex, span);
        std::string number;
        if (m_track.role == sim::TrackRole::actions && m_track.microbatch[span] >= 0)
            texts.push_back(number = m_scene.model().trace().microbatchText(m_track.microbatch[span])); // the colour says what
        for (const std::string& text : texts) {
            // Measured as the widest beside it, so that B1 is not written where B2 or B10 has no room.
            std::string widest = text;
            if (const auto at = number.empty() ? std::string::npos : text.find(number); at != std::string::npos)
                widest.replace(at, number.size(), m_scene.model().widestMicrobatch());
            constexpr float kAroundText = 3;
            if (fittingEvenly(m_canvas, {widest}, width - kAroundText, FontFace::small).empty() ||
                m_canvas.textWidth(text, FontFace::small) > rect.width())
                continue;
            m_canvas.text({std::floor((rect.left + rect.right) / 2), top}, text, color, FontFace::small, Align::center);
            return;
        }
    }

    /// Transfers that are waited for between actions: as high as these, named where there is room.
    void drawBetween(const ExposedWaits& waits)
    {
        drawStacks(m_reading.between);
        const sim::Track& track = waits.between();
        const auto beginNs = static_cast<std::int64_t>(m_axis.beginNs);
        auto i = static_cast<std::size_t>(std::lower_bound(track.startNs.begin(), track.startNs.end(), beginNs) -
                                          track.startNs.begin());
        i -= i > 0 ? 1 : 0;
        for (; i < track.size() && static_cast<double>(track.startNs[i]) < m_axis.endNs; ++i) {
            const double left = std::max(pixel(track.startNs[i]), 0.0);
            const double right =
                std::min(pixel(track.startNs[i] + track.durationNs[i]), std::ceil(static_cast<double>(m_lane.width())));
            if ((right - left) * m_reading.columnsPerPixel < NarrowSpans::kWidest)
                continue;
            const sim::OpClass c = ExposedWaits::classOf(track, i);
            const std::string name = m_scene.model().className(c);
            const Rect rect{m_lane.left + static_cast<float>(left), m_lane.top, m_lane.left + static_cast<float>(right),
                            m_lane.bottom};
            const std::string shown =
                fitting(m_canvas, {name, name.substr(0, name.find(' '))}, rect.width() - 4, FontFace::small);
            if (!shown.empty() && m_canvas.textHeight(FontFace::small) <= rect.height() + 2 * kAirOfText)
                textInside(m_canvas, rect, shown, m_scene.theme.label(c), FontFace::small, Align::center);
            if (m_canvas.wantsNodes())
                m_canvas.node({.id = (static_cast<std::uint64_t>(m_trackIndex) << 32) | kWaitNode | i,
                               .role = "transfer",
                               .name = name + " for " + durationText(static_cast<double>(track.durationNs[i])),
                               .rect = rect});
        }
    }

    Canvas& m_canvas;
    const TimelineScene& m_scene;
    const LaneReading& m_reading;
    TimeAxis m_axis;
    double m_pixelsPerNs;
    std::uint32_t m_trackIndex;
    const sim::Track& m_track;
    const TimelineColors& m_colors;
    const SpanSet* m_litSpans; ///< nullptr: all
    Rect m_lane, m_clip;
};

} // namespace

void paintLane(Canvas& canvas, const TimelineScene& scene, const LaneReading& reading, std::uint32_t track, Rect lane, Rect clip)
{
    LanePainter(canvas, scene, reading, track, lane, clip).paint();
}

} // namespace app
