#include "app/views/timeline_painter.h"

#include "app/views/color.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kWideSpan = 2.5F; ///< pixels from which a span is drawn by itself
constexpr float kGappedSpan = 8;  ///< pixels from which neighbours are kept apart by one: below, the gap would look like idling
constexpr float kLabelledSpan = 13;
constexpr float kQuantum = 0.125F; ///< pixels of height within which neighbouring columns are one rectangle

class LanePainter {
public:
    LanePainter(Canvas& canvas, const TimelineScene& scene, std::uint32_t track, Rect lane)
        : m_canvas(canvas), m_scene(scene), m_axis(scene.axis()), m_trackIndex(track), m_track(scene.model.trace().tracks[track]),
          m_lane(lane), m_dense(static_cast<std::size_t>(std::ceil(lane.width())), 0)
    {
    }

    void paint()
    {
        sort();
        for (const Wide& span : m_wide)
            drawSpan(span);
        for (std::size_t c = 0; c < m_dense.size();) {
            std::size_t end = c;
            while (end < m_dense.size() && m_dense[end] != 0)
                ++end;
            if (end > c)
                drawDense(c, end);
            c = end + 1;
        }
    }

private:
    struct Wide {
        std::size_t span;
        float left, right;
    };

    /// Walks over what is visible: wide spans one by one, narrow ones a pixel column at a time.
    void sort()
    {
        const auto& starts = m_track.startNs;
        const std::size_t count = m_track.size();
        auto i = static_cast<std::size_t>(
            std::upper_bound(starts.begin(), starts.end(), static_cast<std::int64_t>(std::floor(m_axis.beginNs))) -
            starts.begin());
        i = i > 0 ? i - 1 : 0;
        while (i < count && static_cast<double>(starts[i]) < m_axis.endNs) {
            if (addIfWide(i)) {
                ++i;
                continue;
            }
            const float left = x(i);
            const float column = std::max(0.0F, std::floor(left - m_lane.left));
            markDense(left, end(i));
            const double columnEnd = std::ceil(m_axis.ns(m_lane.left + column + 1));
            const auto next = static_cast<std::size_t>(std::lower_bound(starts.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                                                        starts.end(), static_cast<std::int64_t>(columnEnd)) -
                                                       starts.begin());
            // Only the last that starts in a column can reach far beyond it.
            if (next - 1 > i && !addIfWide(next - 1))
                markDense(x(next - 1), end(next - 1));
            i = next;
        }
    }

    float x(std::size_t span) const { return m_axis.x(static_cast<double>(m_track.startNs[span])); }
    float end(std::size_t span) const { return m_axis.x(static_cast<double>(m_track.startNs[span] + m_track.durationNs[span])); }

    bool addIfWide(std::size_t span)
    {
        const float left = x(span), right = end(span);
        if (right - left < kWideSpan)
            return false;
        if (right > m_lane.left)
            m_wide.push_back({span, left, right});
        return true;
    }

    void markDense(float left, float right)
    {
        const float last = std::floor(std::nextafter(right, left) - m_lane.left);
        for (float column = std::floor(left - m_lane.left); column <= last; ++column)
            if (column >= 0 && column < static_cast<float>(m_dense.size()))
                m_dense[static_cast<std::size_t>(column)] = 1;
    }

    bool dense(float at) const
    {
        const float column = std::floor(at - m_lane.left);
        return column >= 0 && column < static_cast<float>(m_dense.size()) && m_dense[static_cast<std::size_t>(column)] != 0;
    }

    void drawSpan(const Wide& wide)
    {
        // To whole pixels; columns shared with narrow spans are left to these.
        float left = std::floor(wide.left + 0.5F), right = std::floor(wide.right + 0.5F);
        if (dense(wide.left))
            left = std::floor(wide.left) + 1;
        if (dense(std::nextafter(wide.right, wide.left)))
            right = std::floor(std::nextafter(wide.right, wide.left));
        left = std::max(left, m_lane.left);
        right = std::min(right, m_lane.right);
        if (right - left >= kGappedSpan)
            right -= 1;
        if (right <= left)
            return;
        const KindColors& colors = m_scene.colors[m_track.kind[wide.span]];
        const bool odd = m_track.microbatch[wide.span] % 2 == 1;
        const Rect rect{left, m_lane.top, right, m_lane.bottom};
        m_canvas.fillRect(rect, odd ? colors.odd : colors.even);
        if (right - left >= kLabelledSpan)
            label(wide.span, rect, colors.text);
        if (m_canvas.wantsNodes())
            m_canvas.node(
                {.id = (static_cast<std::uint64_t>(m_trackIndex) << 32) | wide.span,
                 .role = "span",
                 .name = m_scene.model.spanLabels(m_trackIndex, wide.span).front(),
                 .rect = rect,
                 .selected = m_scene.selection.selectedSpan == SpanRef{m_trackIndex, static_cast<std::uint32_t>(wide.span)}});
    }

    void label(std::size_t span, Rect rect, Color color)
    {
        const float height = m_canvas.textHeight(FontFace::small);
        const float top = std::floor((rect.top + rect.bottom - height) / 2);
        const Rect rows = m_scene.frame.rows;
        if (height > rect.height() + 2 || top < rows.top || top + height > rows.bottom)
            return;
        for (const std::string& text : m_scene.model.spanLabels(m_trackIndex, span)) {
            // Measured with equal digits, so that B1 is not written where B2 beside it has no room.
            std::string widest = text;
            for (char& c : widest)
                c = c >= '0' && c <= '9' ? '0' : c;
            constexpr float kMargin = 2;
            if (m_canvas.textWidth(widest, FontFace::small) + kMargin > rect.width() ||
                m_canvas.textWidth(text, FontFace::small) > rect.width())
                continue;
            m_canvas.text({std::floor((rect.left + rect.right) / 2), top}, text, color, FontFace::small, Align::center);
            return;
        }
    }

    /// Columns [first, last): classes stacked from below in the order of sim::OpClass. Like neighbours become one rectangle.
    void drawDense(std::size_t first, std::size_t last)
    {
        std::vector<std::int64_t> edges;
        for (std::size_t c = first; c <= last; ++c)
            edges.push_back(std::llround(m_axis.ns(m_lane.left + static_cast<float>(c))));
        std::vector<sim::BusyByClass> busy(last - first);
        m_scene.model.busy(m_trackIndex).columns(edges, busy);

        using Heights = std::array<float, sim::kOpClassCount>;
        Heights open{};
        std::size_t openedAt = first;
        const auto flush = [&](std::size_t until) {
            float bottom = m_lane.bottom;
            for (std::size_t c = 0; c < open.size(); ++c) {
                if (open[c] <= 0)
                    continue;
                m_canvas.fillRect({m_lane.left + static_cast<float>(openedAt), bottom - open[c],
                                   std::min(m_lane.left + static_cast<float>(until), m_lane.right), bottom},
                                  m_scene.theme.opClass[c]);
                bottom -= open[c];
            }
        };
        for (std::size_t i = 0; i < busy.size(); ++i) {
            const auto whole = static_cast<float>(std::max<std::int64_t>(edges[i + 1] - edges[i], 1));
            Heights heights{};
            float sum = 0, drawn = 0; // rounding is carried on: the top of the stack is where it should be
            for (std::size_t c = 0; c < heights.size(); ++c) {
                sum += m_lane.height() * static_cast<float>(busy[i][c]) / whole;
                const float top = std::round(sum / kQuantum) * kQuantum;
                heights[c] = top - drawn;
                drawn = top;
            }
            if (heights != open) {
                flush(first + i);
                open = heights;
                openedAt = first + i;
            }
        }
        flush(last);
    }

    Canvas& m_canvas;
    const TimelineScene& m_scene;
    TimeAxis m_axis;
    std::uint32_t m_trackIndex;
    const sim::Track& m_track;
    Rect m_lane;
    std::vector<std::uint8_t> m_dense; ///< [pixel column]
    std::vector<Wide> m_wide;
};

} // namespace

void paintLane(Canvas& canvas, const TimelineScene& scene, std::uint32_t track, Rect lane)
{
    LanePainter(canvas, scene, track, lane).paint();
}

} // namespace app
