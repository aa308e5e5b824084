#include "app/views/traffic_diagram.h"

#include "app/views/color.h"
#include "app/views/labels.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kMargin = 12, kLowestBox = 16, kHighestBox = 58, kThinnest = 1.5F, kThickest = 9, kNearPixels = 6;
constexpr std::size_t kMostLinks = 160; ///< drawn; more are a carpet

std::size_t at(int index)
{
    return static_cast<std::size_t>(index);
}

Point middle(Rect rect)
{
    return {(rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2};
}

/// Half an ellipse from one height to another, `reach` to the right (or left, if negative) of x.
std::vector<Point> arc(float x, float fromY, float toY, float reach)
{
    constexpr int kPieces = 28;
    std::vector<Point> points;
    for (int i = 0; i <= kPieces; ++i) {
        const float angle = 3.14159265F * static_cast<float>(i) / kPieces;
        points.push_back({x + reach * std::sin(angle), (fromY + toY) / 2 + (fromY - toY) / 2 * std::cos(angle)});
    }
    return points;
}

float distance(Point p, Point a, Point b)
{
    const float x = b.x - a.x, y = b.y - a.y, length = x * x + y * y;
    const float t = length > 0 ? std::clamp(((p.x - a.x) * x + (p.y - a.y) * y) / length, 0.0F, 1.0F) : 0.0F;
    return std::hypot(p.x - a.x - t * x, p.y - a.y - t * y);
}

class Painter {
public:
    Painter(Canvas& canvas, const TrafficScene& scene, Rect area)
        : m_canvas(canvas), m_scene(scene), m_theme(scene.theme),
          m_small(canvas.textHeight(FontFace::small)), m_area{area.left + kMargin, area.top + 4, area.right - kMargin,
                                                              area.bottom - 8}
    {
    }

    TrafficDiagramFrame paint()
    {
        m_frame.level = m_scene.model.offers(TrafficLevel::nodes) ? TrafficLevel::nodes : TrafficLevel::ranks;
        m_frame.mostParts =
            std::clamp(static_cast<int>((m_area.height() - m_small - 6) / kLowestBox), 2, TrafficModel::kMostParts);
        if (m_frame.level == TrafficLevel::ranks && !m_scene.model.offers(TrafficLevel::ranks))
            return m_frame;
        m_picture = &m_scene.model.picture(m_frame.level, m_frame.mostParts);
        layOut();
        rails();
        links();
        boxes();
        flows();
        caption();
        if (m_frame.details.width() > 0)
            paintDetails(m_canvas, m_scene, m_frame.details, *m_picture);
        return std::move(m_frame);
    }

private:
    struct Strand { ///< one purpose of a link
        const sim::TrafficMatrix::Cell* cell;
        sim::TrafficPurpose purpose;
        std::int64_t bytes;
        int place; ///< among the strands of its link
    };

    void layOut();
    void layOutGpus();
    void rails();
    void links();
    void strand(const Strand&, std::int64_t most, bool dim);
    void boxes();
    void box(int part);
    void flows();
    void flow(Point from, Point to, sim::TrafficPurpose, bool sameBox);
    void arrowHead(const std::vector<Point>&, Color);
    void caption();
    const TrafficParts& parts() const { return m_picture->parts; }
    /// The rank whose flows are drawn from GPU to GPU.
    std::optional<int> focus() const
    {
        const auto rank = m_scene.selection.focusRank();
        return rank && *rank < m_scene.model.traffic().worldSize() ? rank : std::nullopt;
    }
    const TrafficDiagramFrame::Gpu* gpuOf(int rank) const
    {
        const auto found =
            std::find_if(m_frame.gpus.begin(), m_frame.gpus.end(), [&](const auto& gpu) { return gpu.rank == rank; });
        return found == m_frame.gpus.end() ? nullptr : &*found;
    }
    void stroke(const std::vector<Point>& curve, sim::TrafficPurpose purpose, float thickness, float alpha)
    {
        const Color fill = m_scene.fill(purpose);
        m_canvas.polyline(curve, withAlpha(mix(fill, m_theme.text, 0.45F), alpha), thickness + 1.5F); // light hues need an edge
        m_canvas.polyline(curve, withAlpha(fill, alpha), thickness);
    }

    Canvas& m_canvas;
    const TrafficScene& m_scene;
    const Theme& m_theme;
    float m_small;
    Rect m_area;
    const TrafficModel::Picture* m_picture = nullptr;
    TrafficDiagramFrame m_frame;
    float m_titleHeight = 0; ///< of a box; none where its name stands beside the GPUs
    float m_nameWidth = 0;
    float m_reach = 0; ///< room for arcs on either side
    std::size_t m_hidden = 0;
    std::int64_t m_mostWithin = 1;
};

void Painter::layOut()
{
    constexpr float kPanelGap = 24, kNarrowestDiagram = 380;
    Rect drawn = m_area;
    if (m_area.width() >= kNarrowestDiagram + kPanelGap + kDetailsWidth) {
        drawn.right -= kDetailsWidth + kPanelGap;
        m_frame.details = {drawn.right + kPanelGap, m_area.top, m_area.right, m_area.bottom};
    }
    const int count = parts().count();
    const float captionHeight = m_small + 6;
    const float pitch = std::clamp(std::floor((drawn.height() - captionHeight) / static_cast<float>(count)), 4.0F, kHighestBox);
    const float gap = pitch >= 40 ? 10.0F : pitch >= 24 ? 4.0F : 2.0F;
    for (const auto& part : parts().parts)
        m_nameWidth = std::max(m_nameWidth, m_canvas.textWidth(part.name, FontFace::small));
    m_titleHeight = pitch - gap >= 2 * m_small + 8 ? m_small + 3 : 0;
    const float width = std::floor(std::clamp(drawn.width() * 0.46F, std::min(m_nameWidth + 60, drawn.width() * 0.6F), 460.0F));
    m_reach = (drawn.width() - width) / 2 - 6;
    const float left = std::floor(drawn.left + (drawn.width() - width) / 2);
    for (int part = 0; part < count; ++part) {
        const float top = drawn.top + captionHeight + pitch * static_cast<float>(part);
        m_frame.boxes.push_back({left, top, left + width, top + pitch - gap});
    }
    for (const sim::TrafficMatrix::Cell& cell : m_picture->matrix.cells)
        if (cell.from == cell.to)
            m_mostWithin = std::max(m_mostWithin, shownBytes(cell.bytes, m_scene.selection));
    layOutGpus();
}

/// GPUs of equal place one above the other, if each is wide enough to be pointed at.
void Painter::layOutGpus()
{
    constexpr float kNarrowestGpu = 7;
    if (m_frame.level == TrafficLevel::ranks)
        return;
    std::size_t most = 0;
    for (const auto& part : parts().parts)
        most = std::max(most, part.ranks.size());
    for (int part = 0; part < parts().count(); ++part) {
        const Rect box = m_frame.boxes[at(part)];
        const float left = box.left + 4 + (m_titleHeight > 0 ? 0 : m_nameWidth + 8);
        const float pitch = (box.right - 4 - left) / static_cast<float>(most);
        const float top = box.top + 2 + m_titleHeight, bottom = box.bottom - (box.height() >= 20 ? 8.0F : 3.0F);
        if (pitch < kNarrowestGpu || bottom - top < 5)
            return;
        std::vector<int> ranks = parts().parts[at(part)].ranks;
        const sim::Placement& placement = m_scene.model.simulation().placement();
        std::sort(ranks.begin(), ranks.end(), [&](int a, int b) { return placement.gpu(a) < placement.gpu(b); });
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            const float x = left + pitch * static_cast<float>(i);
            m_frame.gpus.push_back({ranks[i], {std::floor(x), top, std::floor(x + pitch) - 1, bottom}});
        }
    }
}

/// Faint lines down the columns: network card i serves GPU i of every node.
void Painter::rails()
{
    if (m_frame.gpus.empty() || m_frame.boxes.size() < 2)
        return;
    const Color color = mix(m_theme.canvas, m_theme.text, 0.22F);
    const std::size_t columns = parts().parts.front().ranks.size();
    for (std::size_t i = 0; i < columns && i < m_frame.gpus.size(); ++i) {
        const float x = std::floor(middle(m_frame.gpus[i].rect).x);
        m_canvas.line({x, m_frame.boxes.front().bottom}, {x, m_frame.boxes.back().top}, color, 1, LineStyle::dotted);
    }
}

void Painter::links()
{
    std::vector<Strand> strands;
    for (const sim::TrafficMatrix::Cell& cell : m_picture->matrix.cells) {
        if (cell.from == cell.to)
            continue;
        int place = 0;
        for (const sim::TrafficPurpose purpose : kTrafficPurposes)
            if (const std::int64_t bytes = cell.bytes[static_cast<std::size_t>(purpose)]; bytes > 0 && m_scene.shows(purpose))
                strands.push_back({&cell, purpose, bytes, place++});
    }
    std::stable_sort(strands.begin(), strands.end(), [](const Strand& a, const Strand& b) { return a.bytes > b.bytes; });
    m_hidden = strands.size() > kMostLinks ? strands.size() - kMostLinks : 0;
    strands.resize(strands.size() - m_hidden);
    const std::int64_t most = strands.empty() ? 1 : strands.front().bytes;
    const auto rank = focus();
    const int focusPart = rank ? parts().partOf[at(*rank)] : -1;
    for (const Strand& one : strands) {
        const bool hovered = m_scene.hovered == TrafficPair{one.cell->from, one.cell->to};
        const bool dim = m_scene.hovered ? !hovered : focusPart >= 0 && one.cell->from != focusPart;
        strand(one, most, dim);
    }
    if (!m_canvas.wantsNodes())
        return;
    for (const TrafficDiagramFrame::Link& link : m_frame.links) {
        const auto cell = std::find_if(m_picture->matrix.cells.begin(), m_picture->matrix.cells.end(),
                                       [&](const auto& c) { return c.from == link.pair.from && c.to == link.pair.to; });
        const Point top = link.curve[link.curve.size() / 2];
        m_canvas.node({.id = kTrafficPairNodes + static_cast<std::uint64_t>(link.pair.from) * 65536 +
                             static_cast<std::uint64_t>(link.pair.to),
                       .role = "link",
                       .name = pairText(m_scene, parts(), *cell),
                       .rect = {top.x - 4, top.y - 4, top.x + 4, top.y + 4},
                       .selected = m_scene.hovered == link.pair});
    }
}

void Painter::strand(const Strand& one, std::int64_t most, bool dim)
{
    const auto [from, to] = TrafficPair{one.cell->from, one.cell->to};
    const bool down = from < to;
    const Rect a = m_frame.boxes[at(from)], b = m_frame.boxes[at(to)];
    const auto share = static_cast<float>(std::sqrt(static_cast<double>(one.bytes) / static_cast<double>(most)));
    const float thickness = kThinnest + (kThickest - kThinnest) * share;
    // Far ends reach further; strands of one link lie beside each other.
    const auto apart = static_cast<float>(std::abs(to - from)), count = static_cast<float>(parts().count());
    const float base = m_reach * (0.24F + 0.5F * std::sqrt(apart / count));
    const float reach = std::clamp(base + static_cast<float>(one.place) * 13.0F, 8.0F, m_reach - kThickest);
    const float leave = middle(a).y + (down ? 2.0F : -2.0F), arrive = middle(b).y + (down ? -2.0F : 2.0F);
    const std::vector<Point> curve = arc(down ? a.right : a.left, leave, arrive, down ? reach : -reach);
    stroke(curve, one.purpose, thickness, dim ? 0.16F : 0.9F);
    if (!dim)
        arrowHead(curve, mix(m_scene.fill(one.purpose), m_theme.text, 0.45F));
    if (std::none_of(m_frame.links.begin(), m_frame.links.end(), [&](const auto& link) {
            return link.pair == TrafficPair{from, to};
        }))
        m_frame.links.push_back({{from, to}, curve});
}

void Painter::arrowHead(const std::vector<Point>& curve, Color color)
{
    const Point tip = curve.back(), before = curve[curve.size() - 3];
    const float length = std::max(0.01F, std::hypot(tip.x - before.x, tip.y - before.y));
    const Point along{(tip.x - before.x) / length, (tip.y - before.y) / length};
    constexpr float kLong = 8, kHalf = 4;
    const Point base{tip.x - along.x * kLong, tip.y - along.y * kLong};
    m_canvas.fillConvex(
        {tip, {base.x - along.y * kHalf, base.y + along.x * kHalf}, {base.x + along.y * kHalf, base.y - along.x * kHalf}}, color);
}

void Painter::boxes()
{
    for (int part = 0; part < parts().count(); ++part)
        box(part);
    const ByteScale scale = [&] {
        std::int64_t most = 1;
        for (const auto& gpu : m_frame.gpus)
            most = std::max(most, m_scene.model.traffic().sentBy(gpu.rank).total());
        return ByteScale{1, static_cast<double>(most)};
    }();
    for (const auto& gpu : m_frame.gpus) {
        const sim::TrafficSums sums = m_scene.model.traffic().sentBy(gpu.rank);
        sim::BytesByPurpose bytes{};
        for (const sim::TrafficPurpose purpose : kTrafficPurposes)
            bytes[static_cast<std::size_t>(purpose)] = sums.ofPurpose(purpose);
        const double share = static_cast<double>(shownBytes(bytes, m_scene.selection)) / scale.most; // linear: they are of a kind
        const Color fill = m_theme.heatAt(share);
        m_canvas.fillRect(gpu.rect, fill);
        textInside(m_canvas, gpu.rect, std::to_string(gpu.rank), readableOn(fill), FontFace::small, Align::center);
        const bool focused = focus() == gpu.rank, selected = m_scene.selection.contains(gpu.rank);
        if (focused || selected)
            m_canvas.strokeRect({gpu.rect.left - 1, gpu.rect.top - 1, gpu.rect.right + 1, gpu.rect.bottom + 1}, m_theme.selection,
                                focused ? 2 : 1);
        if (m_canvas.wantsNodes())
            m_canvas.node({.id = static_cast<std::uint64_t>(gpu.rank),
                           .role = "gpu",
                           .name = rankText(m_scene, gpu.rank),
                           .rect = gpu.rect,
                           .selected = focused || selected});
    }
}

/// The box, its name, and a bar of what is sent within it.
void Painter::box(int part)
{
    const Rect rect = m_frame.boxes[at(part)];
    const auto& named = parts().parts[at(part)];
    m_canvas.fillRect(rect, mix(m_theme.canvas, m_theme.text, 0.045F));
    m_canvas.strokeRect(rect, mix(m_theme.border, m_theme.mutedText, 0.55F));
    const auto within = std::lower_bound(m_picture->matrix.cells.begin(), m_picture->matrix.cells.end(), std::pair{part, part},
                                         [](const auto& cell, const auto& key) {
                                             return std::pair{cell.from, cell.to} < key;
                                         });
    const bool has = within != m_picture->matrix.cells.end() && within->from == part && within->to == part;
    const std::int64_t bytes = has ? shownBytes(within->bytes, m_scene.selection) : 0;
    const std::string inside = bytes > 0 ? bytesText(static_cast<double>(bytes)) + " within" : "";
    if (has && bytes > 0 && rect.height() >= 12) {
        const float width = rect.width() - 8, top = rect.bottom - 6;
        float x = rect.left + 4;
        for (const sim::TrafficPurpose purpose : kTrafficPurposes) {
            if (!m_scene.shows(purpose))
                continue;
            const float length =
                width * static_cast<float>(within->bytes[static_cast<std::size_t>(purpose)]) / static_cast<float>(m_mostWithin);
            if (length > 0)
                m_canvas.fillRect({x, top, x + length, top + 4}, m_scene.fill(purpose));
            x += length;
        }
    }
    const Rect line = m_titleHeight > 0
                          ? Rect{rect.left + 5, rect.top + 2, rect.right - 5, rect.top + 2 + m_small}
                          : Rect{rect.left + 5, rect.top, rect.right - 5, rect.bottom - (rect.height() >= 20 ? 6.0F : 0.0F)};
    const float used = textInside(m_canvas, line, fitting(m_canvas, {named.name, named.number}, line.width(), FontFace::small),
                                  m_theme.text, FontFace::small);
    if (m_titleHeight > 0 || m_frame.gpus.empty())
        textInside(m_canvas, {line.left + used + 10, line.top, line.right, line.bottom}, inside, m_theme.mutedText,
                   FontFace::small, Align::right);
    if (m_canvas.wantsNodes())
        m_canvas.node({.id = kTrafficRowNodes + static_cast<std::uint64_t>(part),
                       .role = "node",
                       .name = named.name + (inside.empty() ? "" : ", " + inside),
                       .rect = rect,
                       .selected = focus() && parts().partOf[at(*focus())] == part});
}

/// Arrows from the GPU of the rank in focus to those it sends to.
void Painter::flows()
{
    const auto rank = focus();
    const auto* from = rank ? gpuOf(*rank) : nullptr;
    if (from == nullptr)
        return;
    std::vector<sim::TrafficFlow> sent;
    m_scene.model.traffic().appendSends(*rank, sent);
    for (const sim::TrafficFlow& one : sent) {
        const auto* to = gpuOf(one.peer);
        const sim::TrafficPurpose purpose = sim::trafficPurposeOf(one.role);
        if (to == nullptr || !m_scene.shows(purpose))
            continue;
        flow(middle(from->rect), middle(to->rect), purpose, parts().partOf[at(*rank)] == parts().partOf[at(one.peer)]);
    }
}

void Painter::flow(Point from, Point to, sim::TrafficPurpose purpose, bool sameBox)
{
    // Purposes bend differently, so that two between the same GPUs stay apart.
    const float bend = (sameBox ? 10.0F : 14.0F) + 7.0F * static_cast<float>(purpose);
    const float length = std::max(1.0F, std::hypot(to.x - from.x, to.y - from.y));
    const Point across{(to.y - from.y) / length, -(to.x - from.x) / length};
    std::vector<Point> curve;
    constexpr int kPieces = 16;
    for (int i = 0; i <= kPieces; ++i) {
        const float t = static_cast<float>(i) / kPieces, hump = 4 * t * (1 - t) * bend;
        curve.push_back({from.x + (to.x - from.x) * t + across.x * hump, from.y + (to.y - from.y) * t + across.y * hump});
    }
    stroke(curve, purpose, 2.5F, 1);
    arrowHead(curve, mix(m_scene.fill(purpose), m_theme.text, 0.45F));
}

void Painter::caption()
{
    if (m_frame.boxes.empty())
        return;
    const bool hasRails = !m_frame.gpus.empty() && m_frame.boxes.size() > 1;
    const Rect line{m_area.left, m_area.top, (m_frame.details.width() > 0 ? m_frame.details.left - 24 : m_area.right),
                    m_area.top + m_small};
    const std::string what = hasRails ? "columns are rails" : "";
    std::string wide = "arcs: sent up on the left, down on the right, as wide as their bytes";
    if (m_hidden > 0)
        wide = "the " + std::to_string(kMostLinks) + " largest links of " +
               countText(static_cast<std::int64_t>(kMostLinks + m_hidden)) + ", up on the left, down on the right";
    if (m_frame.boxes.size() < 2)
        wide.clear();
    const std::string both = wide + (wide.empty() || what.empty() ? "" : " · ") + what;
    textInside(m_canvas, line,
               fitting(m_canvas,
                       {both, wide, m_hidden > 0 ? std::to_string(kMostLinks) + " largest links" : "arcs: ↑ left, ↓ right"},
                       line.width(), FontFace::small),
               m_theme.mutedText, FontFace::small);
}

} // namespace

std::optional<int> TrafficDiagramFrame::partAt(Point at) const
{
    const auto found = std::find_if(boxes.begin(), boxes.end(), [&](Rect box) { return box.contains(at); });
    return found == boxes.end() ? std::nullopt : std::optional(static_cast<int>(found - boxes.begin()));
}

std::optional<int> TrafficDiagramFrame::rankAt(Point at) const
{
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.rect.contains(at); });
    return found == gpus.end() ? std::nullopt : std::optional(found->rank);
}

std::optional<TrafficPair> TrafficDiagramFrame::pairAt(Point at) const
{
    float nearest = kNearPixels;
    std::optional<TrafficPair> pair;
    for (const Link& link : links)
        for (std::size_t i = 1; i < link.curve.size(); ++i)
            if (const float d = distance(at, link.curve[i - 1], link.curve[i]); d < nearest) {
                nearest = d;
                pair = link.pair;
            }
    return pair;
}

TrafficDiagramFrame paintTrafficDiagram(Canvas& canvas, const TrafficScene& scene, Rect area)
{
    return Painter(canvas, scene, area).paint();
}

} // namespace app
