#include "app/views/traffic/traffic_diagram.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "sim/index.h"
#include "sim/mesh/placement.h"
#include "sim/simulate/purpose_name.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace app {
namespace {

using sim::asIndex;

constexpr float kThinnest = 1.5F, kThickest = 7;
constexpr float kDimmed = 0.16F; ///< alpha of what is not in focus

Point middle(Rect rect)
{
    return {(rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2};
}

class DiagramPainter {
public:
    DiagramPainter(Canvas& canvas, const TrafficScene& scene, const TrafficDiagramFrame& frame)
        : m_canvas(canvas), m_scene(scene), m_theme(scene.theme), m_frame(frame),
          m_picture(scene.model.picture(frame.level, frame.mostParts)), m_parts(m_picture.parts),
          m_small(canvas.textHeight(FontFace::small)), m_moves(isMoving(scene))
    {
        m_inside.resize(asIndex(m_parts.count()));
        for (const sim::TrafficMatrix::Cell& cell : m_picture.matrix.cells)
            for (const sim::Dimension p : sim::kDimensions)
                m_inside[asIndex(cell.from)][p] += frame.level == TrafficLevel::ranks || cell.from == cell.to ? cell.bytes[p] : 0;
        for (const sim::BytesByDimension& bytes : m_inside)
            m_mostInside = std::max(m_mostInside, shownBytes(bytes, scene.selection));
        m_numberWidth = canvas.textWidth(countText(scene.model.traffic().worldSize() - 1), FontFace::small);
        const auto rank = scene.selection.focusRank();
        if (rank && *rank < scene.model.traffic().worldSize())
            m_focus = rank;
    }

    void paint()
    {
        if (!m_moves)
            caption();
        rails();
        for (const auto& strand : m_frame.strands)
            arc(strand);
        if (!m_moves)
            labels();
        for (int part = 0; part < m_parts.count(); ++part)
            box(part);
        gpus();
        flows();
        if (m_canvas.wantsNodes())
            linkNodes();
        if (m_moves)
            paintTrafficMotion(m_canvas, m_scene, m_frame);
        if (m_frame.details.width() > 0 && (!m_moves || m_scene.hovered || m_focus))
            paintDetails(m_canvas, m_scene, m_frame.details, m_picture);
    }

private:
    void caption();
    void rails();
    void arc(const TrafficDiagramFrame::Strand&);
    void labels();
    void box(int part);
    void gpus();
    void gpu(const TrafficDiagramFrame::Gpu&, const sim::BytesByDimension&, std::int64_t most);
    void stack(Rect, const sim::BytesByDimension&, std::int64_t most);
    void flows();
    void flow(const TrafficDiagramFrame::Gpu& from, const TrafficDiagramFrame::Gpu& to, sim::Dimension);
    void stroke(const std::vector<Point>&, sim::Dimension, float thickness, float alpha);
    void arrowHead(const std::vector<Point>&, Color);
    void linkNodes();
    bool isDimmed(TrafficPair pair) const
    {
        return m_scene.hovered ? m_scene.hovered != pair : m_focus && pair.from != m_parts.partOf[asIndex(*m_focus)];
    }
    /// Light hues need an edge to stand out.
    Color edgeOf(sim::Dimension purpose) const { return mix(m_scene.fill(purpose), m_theme.text, 0.45F); }

    Canvas& m_canvas;
    const TrafficScene& m_scene;
    const Theme& m_theme;
    const TrafficDiagramFrame& m_frame;
    const TrafficModel::Picture& m_picture;
    const TrafficParts& m_parts;
    float m_small;
    bool m_moves;                                ///< bytes of the whole step step back behind what is under way
    std::vector<sim::BytesByDimension> m_inside; ///< [part] sent within it; of a rank all that it sends
    std::int64_t m_mostInside = 1;
    float m_numberWidth = 0;    ///< of the largest rank: all GPUs have their number or none has
    float m_bytesWidth = 0;     ///< likewise, of the widest
    std::optional<int> m_focus; ///< its flows are drawn from GPU to GPU
};

void DiagramPainter::caption()
{
    if (m_frame.boxes.size() < 2)
        return;
    const int sharers = sim::gpusPerNic(m_scene.model.simulation().scenario().cluster);
    const std::string rails = m_frame.gpus.empty() || m_frame.gpuRows > 1 ? ""
                              : sharers > 1 ? " · every " + std::to_string(sharers) + " columns share a card"
                                            : " · columns are rails";
    const auto drawn = static_cast<std::int64_t>(m_frame.strands.size());
    const std::string arcs = m_frame.hiddenStrands == 0
                                 ? "arcs: sent up on the left, down on the right, as wide as their bytes"
                                 : "the " + countText(drawn) + " largest links of " +
                                       countText(drawn + static_cast<std::int64_t>(m_frame.hiddenStrands)) +
                                       ": up on the left, down on the right";
    textInside(m_canvas, m_frame.caption,
               fitting(m_canvas, {arcs + rails, arcs, "arcs: up left, down right"}, m_frame.caption.width(), FontFace::small),
               m_theme.mutedText, FontFace::small);
}

/// Faint lines down the columns: network card i serves GPU i of every node, or as many neighbours as share one.
void DiagramPainter::rails()
{
    if (m_frame.gpus.empty() || m_frame.gpuRows > 1 || m_frame.boxes.size() < 2)
        return;
    const Color color = mix(m_theme.canvas, m_theme.text, 0.22F);
    for (const auto& gpu : m_frame.gpus) {
        if (gpu.part > 0)
            break; // the first box has them all
        const float x = std::floor(middle(gpu.rect).x);
        m_canvas.line({x, m_frame.boxes.front().bottom}, {x, m_frame.boxes.back().top}, color, 1, LineStyle::dotted);
    }
}

void DiagramPainter::stroke(const std::vector<Point>& curve, sim::Dimension purpose, float thickness, float alpha)
{
    m_canvas.polyline(curve, withAlpha(edgeOf(purpose), alpha), thickness + 1.5F);
    m_canvas.polyline(curve, withAlpha(m_scene.fill(purpose), alpha), thickness);
}

void DiagramPainter::arrowHead(const std::vector<Point>& curve, Color color)
{
    const Point tip = curve.back(), before = curve[curve.size() - 3];
    const float length = std::max(0.01F, std::hypot(tip.x - before.x, tip.y - before.y));
    const Point along{(tip.x - before.x) / length, (tip.y - before.y) / length};
    constexpr float kLong = 8, kHalf = 4;
    const Point base{tip.x - along.x * kLong, tip.y - along.y * kLong};
    const Point aside{along.y * kHalf, -along.x * kHalf};
    m_canvas.fillConvex({tip, {base.x - aside.x, base.y - aside.y}, {base.x + aside.x, base.y + aside.y}}, color);
}

void DiagramPainter::arc(const TrafficDiagramFrame::Strand& strand)
{
    const auto most = static_cast<double>(m_frame.strands.front().bytes);
    const auto share = static_cast<float>(std::sqrt(static_cast<double>(strand.bytes) / most));
    const bool dimmed = m_moves || isDimmed(strand.pair);
    stroke(strand.curve, strand.purpose, kThinnest + (kThickest - kThinnest) * share, dimmed ? kDimmed : 0.92F);
    if (!dimmed)
        arrowHead(strand.curve, edgeOf(strand.purpose));
}

/// Bytes beside the arcs, where no other words are and arcs are few enough for it.
void DiagramPainter::labels()
{
    if (m_frame.strands.size() > 3 * m_frame.boxes.size())
        return;
    std::vector<Rect> taken;
    for (const auto& strand : m_frame.strands) {
        if (isDimmed(strand.pair))
            continue;
        const Point apex = strand.curve[strand.curve.size() / 2];
        const bool right = strand.pair.from < strand.pair.to;
        const float room = right ? m_frame.drawn.right - apex.x - 8 : apex.x - 8 - m_frame.drawn.left;
        const std::string bytes = bytesText(static_cast<double>(strand.bytes));
        const std::string text = fitting(
            m_canvas, {sim::purposeName(m_scene.model.simulation(), strand.purpose) + " " + bytes, bytes}, room, FontFace::small);
        const float width = m_canvas.textWidth(text, FontFace::small);
        const float left = std::floor(right ? apex.x + 8 : apex.x - 8 - width), top = std::floor(apex.y - m_small / 2);
        const Rect rect{left, top, left + width, top + m_small};
        if (text.empty() || std::any_of(taken.begin(), taken.end(), [&](Rect r) { return intersected(r, rect).width() > 0; }))
            continue;
        m_canvas.fillRect({rect.left - 2, rect.top, rect.right + 2, rect.bottom}, withAlpha(m_theme.canvas, 0.8F));
        m_canvas.text({left, top}, text, m_theme.text, FontFace::small);
        taken.push_back(rect);
    }
}

/// Purposes side by side, `most` bytes as long as the rectangle.
void DiagramPainter::stack(Rect rect, const sim::BytesByDimension& bytes, std::int64_t most)
{
    float x = rect.left;
    for (const sim::Dimension purpose : sim::kDimensions) {
        if (!m_scene.shows(purpose))
            continue;
        const float length = rect.width() * static_cast<float>(bytes[purpose]) / static_cast<float>(most);
        if (length > 0)
            m_canvas.fillRect({x, rect.top, x + length, rect.bottom}, m_scene.fill(purpose));
        x += length;
    }
}

/// The box, its name, and where GPUs are not drawn one by one a bar of what is sent within it.
void DiagramPainter::box(int part)
{
    const Rect rect = m_frame.boxes[asIndex(part)];
    const auto& named = m_parts.parts[asIndex(part)];
    const sim::BytesByDimension& bytes = m_inside[asIndex(part)];
    const std::int64_t shown = shownBytes(bytes, m_scene.selection);
    const std::string inside = shown > 0 && !m_moves ? bytesText(static_cast<double>(shown)) +
                                                           (m_frame.level == TrafficLevel::ranks ? " sent" : " within")
                                                     : "";
    const bool focused = m_focus && m_parts.partOf[asIndex(*m_focus)] == part;
    m_canvas.fillRect(rect, mix(m_theme.canvas, m_theme.text, 0.045F));
    m_canvas.strokeRect(rect, focused ? m_theme.selection : mix(m_theme.border, m_theme.mutedText, 0.55F));
    const float bar = m_moves || !m_frame.gpus.empty() || rect.height() < m_small + 2 ? 0.0F : rect.height() < 24 ? 2.0F : 4.0F;
    if (bar > 0)
        stack({rect.left + 4, rect.bottom - bar - 1, rect.right - 4, rect.bottom - 1}, bytes, m_mostInside);
    const float bottom = m_frame.titleHeight > 0 ? rect.top + 2 + m_small : rect.bottom - (bar > 0 ? bar + 1 : 0);
    const Rect line{rect.left + 5, m_frame.titleHeight > 0 ? rect.top + 2 : rect.top, rect.right - 5, bottom};
    const float used = textInside(m_canvas, line, fitting(m_canvas, {named.name, named.number}, line.width(), FontFace::small),
                                  m_theme.text, FontFace::small);
    if (m_frame.titleHeight > 0 || m_frame.gpus.empty())
        textInside(m_canvas, {line.left + used + 10, line.top, line.right, line.bottom}, inside, m_theme.mutedText,
                   FontFace::small, Align::right);
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = kTrafficRowNodes + static_cast<std::uint64_t>(part),
                       .role = "node",
                       .name = named.name + (inside.empty() ? "" : ", " + inside),
                       .rect = rect,
                       .selected = focused});
}

void DiagramPainter::gpus()
{
    std::vector<sim::BytesByDimension> sent;
    std::int64_t most = 1;
    for (const auto& gpu : m_frame.gpus) {
        sent.push_back(m_moves ? sim::BytesByDimension{} : m_scene.model.traffic().sentBy(gpu.rank).byDimension());
        const std::int64_t shown = shownBytes(sent.back(), m_scene.selection);
        most = std::max(most, shown);
        m_bytesWidth = std::max(m_bytesWidth, m_canvas.textWidth(bytesText(static_cast<double>(shown)), FontFace::small));
    }
    for (std::size_t i = 0; i < m_frame.gpus.size(); ++i)
        gpu(m_frame.gpus[i], sent[i], most);
}

/// A GPU with its rank and what that sends in the step: in words and a bar below, or where it is high as a column of its
/// purposes. While the step plays what is sent now is drawn over it.
void DiagramPainter::gpu(const TrafficDiagramFrame::Gpu& gpu, const sim::BytesByDimension& sent, std::int64_t most)
{
    constexpr float kBar = 4, kHigh = 34;
    const Rect rect = gpu.rect;
    m_canvas.fillRect(rect, mix(m_theme.canvas, m_theme.text, 0.1F));
    const std::string number = m_numberWidth <= rect.width() ? countText(gpu.rank) : "",
                      bytes = bytesText(static_cast<double>(shownBytes(sent, m_scene.selection)));
    if (rect.height() >= kHigh) {
        const bool two = !m_moves && rect.height() >= kHigh + m_small && m_bytesWidth + 2 <= rect.width();
        const float top = rect.top + 1 + m_small;
        textInside(m_canvas, {rect.left, rect.top + 1, rect.right, top}, number, m_theme.text, FontFace::small, Align::center);
        if (two)
            textInside(m_canvas, {rect.left, top, rect.right, top + m_small}, bytes, m_theme.mutedText, FontFace::small,
                       Align::center);
        const Rect room{rect.left + 3, top + (two ? m_small : 0) + 3, rect.right - 3, rect.bottom};
        float bottom = room.bottom;
        for (const sim::Dimension purpose : sim::kDimensions) {
            const auto of = static_cast<float>(m_scene.shows(purpose) ? sent[purpose] : 0);
            const float height = room.height() * of / static_cast<float>(most);
            if (height > 0)
                m_canvas.fillRect({room.left, bottom - height, room.right, bottom}, m_scene.fill(purpose));
            bottom -= height;
        }
    } else {
        const bool hasBar = rect.height() >= m_small + kBar + 2;
        if (hasBar)
            stack({rect.left, rect.bottom - kBar, rect.right, rect.bottom}, sent, most);
        textInside(m_canvas, {rect.left, rect.top, rect.right, rect.bottom - (hasBar ? kBar : 0)}, number, m_theme.text,
                   FontFace::small, Align::center);
    }
    const bool focused = m_focus == gpu.rank, selected = m_scene.selection.contains(gpu.rank);
    if (focused || selected)
        m_canvas.strokeRect({rect.left - 1, rect.top - 1, rect.right + 1, rect.bottom + 1}, m_theme.selection, focused ? 2 : 1);
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = static_cast<std::uint64_t>(gpu.rank),
                       .role = "gpu",
                       .name = rankText(m_scene, gpu.rank),
                       .rect = rect,
                       .selected = focused || selected});
}

/// Arrows from the GPU of the rank in focus to those it sends to: below the GPUs within a node, else from edge to edge.
void DiagramPainter::flows()
{
    const auto* from = m_focus ? m_frame.gpuOf(*m_focus) : nullptr;
    if (from == nullptr)
        return;
    std::vector<sim::TrafficFlow> sent;
    m_scene.model.traffic().appendSends(*m_focus, sent);
    constexpr std::ptrdiff_t kMostArrows = 16; // of one kind; of more, all-to-all over many, the receivers are outlined
    for (const sim::TrafficFlow& one : sent) {
        const auto* to = m_frame.gpuOf(one.peer);
        const sim::Dimension purpose = sim::dimensionOf(one.role);
        if (to == nullptr || !m_scene.shows(purpose))
            continue;
        if (std::count_if(sent.begin(), sent.end(), [&](const auto& other) { return other.role == one.role; }) <= kMostArrows)
            flow(*from, *to, purpose);
        else
            m_canvas.strokeRect(to->rect, m_scene.fill(purpose), 2);
    }
}

void DiagramPainter::flow(const TrafficDiagramFrame::Gpu& from, const TrafficDiagramFrame::Gpu& to, sim::Dimension purpose)
{
    const std::vector<Point> curve = m_frame.curveBetween(from, to, purpose);
    stroke(curve, purpose, 2, 1);
    arrowHead(curve, edgeOf(purpose));
}

void DiagramPainter::linkNodes()
{
    std::set<std::pair<int, int>> told;
    for (const auto& strand : m_frame.strands) {
        const auto [from, to] = strand.pair;
        if (!told.insert({from, to}).second)
            continue;
        const auto cell = std::find_if(m_picture.matrix.cells.begin(), m_picture.matrix.cells.end(),
                                       [&](const auto& c) { return c.from == strand.pair.from && c.to == strand.pair.to; });
        const Point apex = strand.curve[strand.curve.size() / 2];
        m_canvas.node({.id = kTrafficPairNodes + static_cast<std::uint64_t>(from) * 65536 + static_cast<std::uint64_t>(to),
                       .role = "link",
                       .name = pairText(m_scene, m_parts, *cell),
                       .rect = {apex.x - 4, apex.y - 4, apex.x + 4, apex.y + 4},
                       .selected = m_scene.hovered == strand.pair});
    }
}

} // namespace

void paintTrafficDiagram(Canvas& canvas, const TrafficScene& scene, const TrafficDiagramFrame& frame)
{
    DiagramPainter(canvas, scene, frame).paint();
}

} // namespace app
