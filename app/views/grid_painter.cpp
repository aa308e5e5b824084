#include "app/views/grid_painter.h"

#include "app/views/color.h"
#include "app/views/grid_rulers.h"
#include "app/views/labels.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kMargin = 12;
constexpr float kSeamedCell = 6;
constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;

/// Fills and text colours of all heat values.
struct HeatColors {
    std::array<Color, 256> fill{}, text{};
    HeatColors(const Theme& theme, float dim)
    {
        for (std::size_t i = 1; i <= GridHeat::kOver; ++i) {
            const Color full = i == GridHeat::kOver
                                   ? theme.error
                                   : theme.heatAt(static_cast<double>(i - 1) / static_cast<double>(GridHeat::kFull - 1));
            fill[i] = mix(full, theme.canvas, dim);
            constexpr double kReadable = 4.5;
            text[i] = dim > 0 && contrast(theme.mutedText, fill[i]) >= kReadable ? theme.mutedText : readableOn(fill[i]);
        }
    }
};

struct Range {
    int begin = 0, end = 0;
};

class Painter {
public:
    Painter(Canvas& canvas, const GridScene& scene)
        : m_canvas(canvas), m_scene(scene), m_layout(scene.layout), m_theme(scene.theme), m_transform(scene.transform),
          m_columns(visible(true)), m_rows(visible(false)), m_cellWidth(scene.layout.cellWidth() * scene.transform.zoom),
          m_cellHeight(scene.layout.cellHeight() * scene.transform.zoom),
          m_seam(scene.layout.levels().front().gap == 0 && std::min(m_cellWidth, m_cellHeight) >= kSeamedCell ? 1.0F : 0.0F)
    {
    }

    void paint()
    {
        m_canvas.fillRect(m_canvas.area(), m_theme.canvas);
        m_canvas.pushClip(m_scene.cellsArea);
        boxes();
        cells();
        focus();
        m_canvas.popClip();
        paintRulers(m_canvas, m_scene);
        caption();
        legend();
    }

private:
    Range visible(bool across) const;
    void boxes();
    void boxTitle(int level, int rank, Rect box);
    void cells();
    void cellText(int rank, Rect, Color);
    void cellNode(int rank, Rect);
    void focus();
    void outline(const LitGroup&);
    void caption();
    void memoryScale(float right);
    void legend();
    /// Texts that the edge of the cells' area would cut are left out.
    bool inSight(Rect text) const
    {
        const Rect area = m_scene.cellsArea;
        return text.left >= area.left && text.right <= area.right && text.top >= area.top && text.bottom <= area.bottom;
    }
    Rect cellRect(int rank) const
    {
        Rect cell = m_transform.rect(m_layout.cell(rank));
        return snapped({cell.left, cell.top, cell.right - m_seam, cell.bottom - m_seam});
    }
    static Rect snapped(Rect r)
    {
        const float left = std::floor(r.left + 0.5F), top = std::floor(r.top + 0.5F);
        return {left, top, std::max(left + 1, std::floor(r.right + 0.5F)), std::max(top + 1, std::floor(r.bottom + 0.5F))};
    }

    Canvas& m_canvas;
    const GridScene& m_scene;
    const GridLayout& m_layout;
    const Theme& m_theme;
    const GridTransform& m_transform;
    Range m_columns, m_rows; ///< on screen
    float m_cellWidth, m_cellHeight;
    float m_seam; ///< cells laid out without a gap are drawn apart once they are large enough
};

Range Painter::visible(bool across) const
{
    const int count = across ? m_layout.columns() : m_layout.rows();
    const Rect area = m_scene.cellsArea;
    const auto starts = [&](int i) { return across ? m_transform.x(m_layout.columnLeft(i)) : m_transform.y(m_layout.rowTop(i)); };
    const float length = (across ? m_layout.cellWidth() : m_layout.cellHeight()) * m_transform.zoom;
    const auto firstWhere = [&](auto reached) { // `reached` holds from some place on
        int low = 0, high = count;
        while (low < high) {
            const int middle = (low + high) / 2;
            if (reached(starts(middle)))
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    };
    return {firstWhere([&](float at) { return at + length > (across ? area.left : area.top); }),
            firstWhere([&](float at) { return at >= (across ? area.right : area.bottom); })};
}

/// Outer boxes first; a node's edge is stronger than an axis's.
void Painter::boxes()
{
    const auto& levels = m_layout.levels();
    for (int l = static_cast<int>(levels.size()) - 2; l >= 0; --l) {
        const GridLevel& level = levels[static_cast<std::size_t>(l)];
        const bool drawn = level.padding > 0;
        const bool named = level.title > 0 || levels[static_cast<std::size_t>(l) + 1].numbered;
        if (!drawn && !named)
            continue;
        const Color fill =
            mix(m_theme.canvas, m_theme.text, 0.028F * static_cast<float>(static_cast<int>(levels.size()) - 1 - l));
        const Color edge = level.isNode ? mix(m_theme.border, m_theme.mutedText, 0.55F) : m_theme.border;
        for (int rank = 0; rank < m_layout.ranks(); rank += m_layout.boxRanks(l)) {
            const Rect box = snapped(m_transform.rect(m_layout.box(l, rank)));
            const Rect area = m_scene.cellsArea;
            if (box.right <= area.left || box.left >= area.right || box.bottom <= area.top || box.top >= area.bottom)
                continue;
            if (drawn) {
                m_canvas.fillRect(box, fill);
                if (level.isNode || l + 2 == static_cast<int>(levels.size()))
                    m_canvas.strokeRect(box, edge);
            }
            if (named)
                boxTitle(l, rank, box);
        }
    }
}

void Painter::boxTitle(int l, int rank, Rect box)
{
    const auto& levels = m_layout.levels();
    const GridLevel& level = levels[static_cast<std::size_t>(l)];
    const bool numbered = levels[static_cast<std::size_t>(l) + 1].numbered;
    const std::string name = numbered ? m_layout.boxName(l, rank) : "";
    const std::string node = level.isNode ? "node " + countText(m_scene.simulation.placement().node(rank)) : "";
    const float margin = std::max(level.padding * m_transform.zoom, 1.0F);
    const float room = (level.padding + level.title) * m_transform.zoom, height = m_canvas.textHeight(FontFace::small);
    // While a part of the box is in sight, so is its name.
    const float left = std::max(box.left + margin, m_scene.cellsArea.left + 2), top = box.top + (level.padding > 3 ? 4.0F : 1.0F);
    const float width = std::min(box.right, m_scene.cellsArea.right) - 1 - left;
    const std::string number = name.substr(name.find(' ') + 1);
    const std::string text = fitting(m_canvas,
                                     name.empty()   ? std::vector<std::string>{node}
                                     : node.empty() ? std::vector<std::string>{name, number}
                                                    : std::vector<std::string>{name + " · " + node, name, number},
                                     width, FontFace::small);
    if (!text.empty() && room >= height - 1 && inSight({left, top, left + width, top + height}))
        m_canvas.text({left, top}, text, m_theme.mutedText, FontFace::small);
}

void Painter::cells()
{
    const HeatColors colors(m_theme, m_scene.groups.empty() ? 0.0F : 0.72F);
    const bool hasText = m_cellWidth >= 12 && m_cellHeight >= 13;
    const bool wantsNodes = m_canvas.wantsNodes();
    // Where cells are smaller than a pixel or so, one block shows the fullest of several.
    const int stepX = std::max(1, static_cast<int>(std::ceil(1.0F / std::max(m_cellWidth, 1e-3F) - 0.01F)));
    const int stepY = std::max(1, static_cast<int>(std::ceil(1.0F / std::max(m_cellHeight, 1e-3F) - 0.01F)));
    const auto columns = static_cast<std::size_t>(m_layout.columns());

    std::vector<std::pair<float, float>> edges; // left and right of each block of columns
    for (int c = m_columns.begin; c < m_columns.end; c += stepX) {
        const int last = std::min(c + stepX, m_columns.end) - 1;
        const float left = m_transform.x(m_layout.columnLeft(c));
        const float right = m_transform.x(m_layout.columnLeft(last)) + m_cellWidth - m_seam;
        const Rect snappedRect = snapped({left, 0, right, 1});
        edges.emplace_back(snappedRect.left, snappedRect.right);
    }
    for (int r = m_rows.begin; r < m_rows.end; r += stepY) {
        const int lastRow = std::min(r + stepY, m_rows.end) - 1;
        const Rect band =
            snapped({0, m_transform.y(m_layout.rowTop(r)), 1, m_transform.y(m_layout.rowTop(lastRow)) + m_cellHeight - m_seam});
        Rect run{};
        std::uint8_t runHeat = GridHeat::kEmpty;
        const auto flush = [&] {
            if (runHeat != GridHeat::kEmpty)
                m_canvas.fillRect(run, colors.fill[runHeat]);
        };
        for (std::size_t i = 0; i < edges.size(); ++i) {
            const int c = m_columns.begin + static_cast<int>(i) * stepX;
            std::uint8_t heat = GridHeat::kEmpty;
            for (int rr = r; rr <= lastRow; ++rr)
                for (int cc = c; cc < std::min(c + stepX, m_columns.end); ++cc)
                    heat =
                        std::max(heat, m_scene.heat.cells[static_cast<std::size_t>(rr) * columns + static_cast<std::size_t>(cc)]);
            if (heat == runHeat && edges[i].first <= run.right) { // cells that touch and look the same
                run.right = edges[i].second;
            } else {
                flush();
                run = {edges[i].first, band.top, edges[i].second, band.bottom};
                runHeat = heat;
            }
            if (heat == GridHeat::kEmpty || (!hasText && !wantsNodes))
                continue;
            const int rank = m_layout.rankAt(c, r);
            const Rect cell{edges[i].first, band.top, edges[i].second, band.bottom};
            if (wantsNodes && rank >= 0)
                cellNode(rank, cell);
        }
        flush();
    }
    if (!hasText)
        return;
    for (int r = m_rows.begin; r < m_rows.end; ++r)
        for (int c = m_columns.begin; c < m_columns.end; ++c)
            if (const int rank = m_layout.rankAt(c, r); rank >= 0) {
                const auto heat = m_scene.heat.cells[static_cast<std::size_t>(r) * columns + static_cast<std::size_t>(c)];
                cellText(rank, cellRect(rank), colors.text[heat]);
            }
}

/// The rank's number; below it, as room allows, its memory and its GPU.
void Painter::cellText(int rank, Rect cell, Color color)
{
    const float line = m_canvas.textHeight(FontFace::small);
    const float middle = std::floor((cell.left + cell.right) / 2);
    const auto write = [&](float top, const std::vector<std::string>& texts, FontFace face) {
        const std::string text = fitting(m_canvas, texts, cell.width() - 2, face);
        const float half = m_canvas.textWidth(text, face) / 2;
        if (!text.empty() && inSight({middle - half, top, middle + half, top + m_canvas.textHeight(face)}))
            m_canvas.text({middle, top}, text, color, face, Align::center);
        return !text.empty();
    };
    const std::string number = std::to_string(rank);
    if (cell.height() < 3 * line + 10) {
        const auto topOf = [&](FontFace face) { return std::floor((cell.top + cell.bottom - m_canvas.textHeight(face)) / 2); };
        if (cell.height() < 24 || !write(topOf(FontFace::bold), {number}, FontFace::bold))
            write(topOf(FontFace::small), {number}, FontFace::small);
        return;
    }
    const sim::Simulation& simulation = m_scene.simulation;
    const float top = cell.top + std::floor((cell.height() - 3 * line - 4) / 2);
    write(top, {"rank " + number, number}, FontFace::bold);
    write(top + line + 4, {bytesText(static_cast<double>(m_scene.bytesOf(rank)))}, FontFace::small);
    if (m_scene.now) {
        write(top + 2 * line + 4, {(*m_scene.now)[static_cast<std::size_t>(rank)].doing}, FontFace::small);
        return;
    }
    const std::string gpu = std::to_string(simulation.placement().gpuOfNode(rank));
    write(top + 2 * line + 4, {"GPU " + gpu, gpu}, FontFace::small);
}

void Painter::cellNode(int rank, Rect cell)
{
    m_canvas.node({.id = static_cast<std::uint64_t>(rank),
                   .role = "cell",
                   .name = "rank " + countText(rank) + ", " + coordinatesText(m_scene.simulation.mesh(), rank) + ", " +
                           bytesText(static_cast<double>(m_scene.bytesOf(rank))),
                   .rect = cell,
                   .selected = m_scene.selection.selectedRank == rank});
}

/// Members keep their full colour, the rest has been dimmed; each group has its own line.
void Painter::focus()
{
    const Selection& selection = m_scene.selection;
    const std::optional<int> focusRank = selection.focusRank();
    if (focusRank && *focusRank < m_layout.ranks()) {
        const HeatColors colors(m_theme, 0);
        const bool tiny = std::min(m_cellWidth, m_cellHeight) < 7;
        const auto columns = static_cast<std::size_t>(m_layout.columns());
        for (const LitGroup& group : m_scene.groups)
            for (const int rank : group.members) {
                const int c = m_layout.column(rank), r = m_layout.row(rank);
                if (c < m_columns.begin || c >= m_columns.end || r < m_rows.begin || r >= m_rows.end)
                    continue;
                const auto heat = m_scene.heat.cells[static_cast<std::size_t>(r) * columns + static_cast<std::size_t>(c)];
                const Rect cell = cellRect(rank);
                m_canvas.fillRect(cell, tiny ? m_theme.accent : colors.fill[heat]);
                if (!tiny && m_cellWidth >= 12 && m_cellHeight >= 13)
                    cellText(rank, cell, colors.text[heat]);
            }
        for (const LitGroup& group : m_scene.groups)
            outline(group);
    }
    for (const std::optional<int>& rank : {selection.selectedRank, focusRank})
        if (rank && *rank >= 0 && *rank < m_layout.ranks()) {
            const Rect cell = cellRect(*rank);
            m_canvas.strokeRect(cell.inset(-2), m_theme.canvas, 1);
            m_canvas.strokeRect(cell, m_theme.selection, m_cellWidth < 7 ? 2.0F : 3.0F);
        }
}

/// One line around members that fill a rectangle, else one around each.
void Painter::outline(const LitGroup& group)
{
    const Outline style = outlineOf(group.kind);
    Range columns{m_layout.columns(), 0}, rows{m_layout.rows(), 0};
    for (const int rank : group.members) {
        const int c = m_layout.column(rank), r = m_layout.row(rank);
        columns = {std::min(columns.begin, c), std::max(columns.end, c + 1)};
        rows = {std::min(rows.begin, r), std::max(rows.end, r + 1)};
    }
    const auto places = static_cast<std::size_t>(columns.end - columns.begin) * static_cast<std::size_t>(rows.end - rows.begin);
    if (places == group.members.size()) {
        const Rect first = snapped(m_transform.rect(m_layout.cell(m_layout.rankAt(columns.begin, rows.begin))));
        const Rect last = snapped(m_transform.rect(m_layout.cell(m_layout.rankAt(columns.end - 1, rows.end - 1))));
        strokeOutline(m_canvas, Rect{first.left, first.top, last.right, last.bottom}.inset(-2), m_theme.selection, style);
        return;
    }
    if (std::min(m_cellWidth, m_cellHeight) < 7)
        return; // filled cells have to do
    for (const int rank : group.members)
        strokeOutline(m_canvas, cellRect(rank).inset(-1), m_theme.selection, style);
}

/// What the axes multiply to, and the scale of the colours.
void Painter::caption()
{
    const Rect line = m_scene.frame.caption;
    if (line.height() <= 0)
        return;
    const sim::Simulation& simulation = m_scene.simulation;
    const sim::RankGrid& grid = simulation.mesh().dense();
    std::string product;
    for (int axis = 0; axis < grid.axisCount(); ++axis)
        if (grid.axis(axis).size > 1)
            product += (product.empty() ? "" : " × ") + grid.axis(axis).name + " " + countText(grid.axis(axis).size);
    const std::string ranks = countText(grid.size()) + (grid.size() == 1 ? " rank" : " ranks");
    product = product.empty() ? ranks : product + " = " + ranks;
    const int perNode = simulation.scenario().cluster.gpusPerNode;
    const int nodes = (grid.size() + perNode - 1) / std::max(perNode, 1);
    const std::string onNodes = "  ·  " + (nodes == 1 ? "one node of " : countText(nodes) + " nodes of ") +
                                std::to_string(perNode) + (perNode == 1 ? " GPU" : " GPUs");
    const float scaleWidth = line.width() >= 460 ? 240.0F : 0.0F;
    const std::string text = fitting(m_canvas, {product + onNodes, product, ranks}, line.width() - scaleWidth, FontFace::bold);
    textInside(m_canvas, line, text, m_theme.text, FontFace::bold);
    if (scaleWidth > 0)
        memoryScale(line.right);
}

void Painter::memoryScale(float right)
{
    const Rect line = m_scene.frame.caption;
    const GridHeat& heat = m_scene.heat;
    const std::string most = bytesText(static_cast<double>(heat.capacityBytes));
    const float middle = std::floor((line.top + line.bottom) / 2);
    const float mostWidth = m_canvas.textWidth(most, FontFace::small);
    const Rect bar{right - mostWidth - 8 - 96, middle - 5, right - mostWidth - 8, middle + 5};
    textInside(m_canvas, {bar.right + 8, line.top, right + 1, line.bottom}, most, m_theme.mutedText, FontFace::small);
    constexpr int kSteps = 48;
    for (int i = 0; i < kSteps; ++i)
        m_canvas.fillRect({bar.left + static_cast<float>(2 * i), bar.top, bar.left + static_cast<float>(2 * i + 2), bar.bottom},
                          m_theme.heatAt((i + 0.5) / kSteps));
    const auto mark = [&](std::int64_t bytes) {
        const double share = heat.capacityBytes > 0 ? static_cast<double>(bytes) / static_cast<double>(heat.capacityBytes) : 0;
        const float x = bar.left + std::floor(bar.width() * static_cast<float>(std::min(share, 1.0)));
        m_canvas.fillRect({x - 1, bar.top - 3, x + 1, bar.bottom + 3}, share > 1 ? m_theme.error : m_theme.text);
    };
    mark(heat.leastBytes);
    mark(heat.mostBytes);
    const std::string text = fitting(m_canvas,
                                     {m_scene.now    ? "memory now"
                                      : heat.anyOver ? "does not fit"
                                                     : "peak memory",
                                      "memory"},
                                     bar.left - 8 - (right - 240), FontFace::small);
    textInside(m_canvas, {right - 240, line.top, bar.left - 8, line.bottom}, text,
               heat.anyOver ? m_theme.error : m_theme.mutedText, FontFace::small, Align::right);
}

void Painter::legend()
{
    const Rect area = m_scene.frame.legend;
    if (area.height() <= 0)
        return;
    m_canvas.line({area.left - kMargin, area.top}, {area.right + kMargin, area.top}, m_theme.border);
    const bool twoLines = area.height() >= 40;
    const float lineHeight = twoLines ? area.height() / 2 - 2 : area.height();
    const Rect first{area.left, area.top + 2, area.right, area.top + lineHeight};
    const auto rank = m_scene.selection.focusRank();
    if (!rank || *rank >= m_layout.ranks()) {
        textInside(m_canvas, area,
                   fitting(m_canvas, {"Point at a rank to see its process groups; click to keep it.", "Point at a rank."},
                           area.width(), FontFace::small),
                   m_theme.mutedText, FontFace::small);
        return;
    }
    const sim::Simulation& simulation = m_scene.simulation;
    const std::string bold = "Rank " + countText(*rank);
    float x = area.left;
    if (twoLines) {
        const float used = textInside(m_canvas, first, bold, m_theme.text, FontFace::bold);
        const std::string where = coordinatesText(simulation.mesh(), *rank);
        const std::string memory = bytesText(static_cast<double>(m_scene.bytesOf(*rank))) + (m_scene.now ? " now" : " at peak");
        const Rect rest{first.left + used + 12, first.top, first.right, first.bottom};
        textInside(m_canvas, rest, fitting(m_canvas, {where + "  ·  " + memory, where}, rest.width(), FontFace::small),
                   m_theme.mutedText, FontFace::small);
    }
    const float top = twoLines ? first.bottom : area.top + 2, bottom = area.bottom - (twoLines ? 4.0F : 0.0F);
    // Long texts if all fit, else short ones.
    constexpr float kSwatch = 22, kSpace = 20;
    for (const bool withMembers : {true, false}) {
        float width = -kSpace;
        for (const LitGroup& group : m_scene.groups)
            width +=
                kSwatch + 8 + kSpace + m_canvas.textWidth(group.name(), FontFace::bold) + 6 +
                m_canvas.textWidth(withMembers ? group.membersText() : std::to_string(group.members.size()), FontFace::small);
        if (width > area.width() && withMembers)
            continue;
        for (const LitGroup& group : m_scene.groups) {
            const std::string members = withMembers ? group.membersText() : std::to_string(group.members.size());
            const float nameWidth = m_canvas.textWidth(group.name(), FontFace::bold);
            const float membersWidth = m_canvas.textWidth(members, FontFace::small);
            if (x + kSwatch + 8 + nameWidth + 6 + membersWidth > area.right)
                break;
            const float middle = std::floor((top + bottom) / 2);
            Outline sample = outlineOf(group.kind);
            sample.inset = 0;
            strokeOutline(m_canvas, {x + 1, middle - 6, x + kSwatch - 1, middle + 6}, m_theme.selection, sample);
            x += kSwatch + 8;
            textInside(m_canvas, {x, top, x + nameWidth + 1, bottom}, group.name(), m_theme.text, FontFace::bold);
            x += nameWidth + 6;
            textInside(m_canvas, {x, top, x + membersWidth + 1, bottom}, members, m_theme.mutedText, FontFace::small);
            x += membersWidth + kSpace;
        }
        break;
    }
}

} // namespace

GridFrame::GridFrame(Rect area)
{
    const Rect inner{area.left + kMargin, area.top + 6, area.right - kMargin, area.bottom - 4};
    const float captionHeight = area.height() >= 150 ? 24.0F : 0.0F;
    const float legendHeight = area.height() >= 240 ? 44.0F : area.height() >= 150 ? 22.0F : 0.0F;
    caption = {inner.left, inner.top, inner.right, inner.top + captionHeight};
    legend = {inner.left, inner.bottom - legendHeight, inner.right, inner.bottom};
    plot = {inner.left, caption.bottom + 4, inner.right, legend.top - 6};
}

GridHeat makeHeat(const sim::Simulation& simulation, const GridLayout& layout)
{
    GridHeat heat;
    heat.capacityBytes = static_cast<std::int64_t>(simulation.scenario().cluster.gpu.memoryGib * kBytesPerGib);
    std::vector<std::uint8_t> ofClass;
    for (int c = 0; c < simulation.classCount(); ++c) {
        const std::int64_t bytes = simulation.memoryOfClass(c).total();
        heat.leastBytes = c == 0 ? bytes : std::min(heat.leastBytes, bytes);
        heat.mostBytes = std::max(heat.mostBytes, bytes);
        const double share = heat.capacityBytes > 0 ? static_cast<double>(bytes) / static_cast<double>(heat.capacityBytes) : 0;
        ofClass.push_back(share > 1 ? GridHeat::kOver
                                    : static_cast<std::uint8_t>(1 + std::lround(share * (GridHeat::kFull - 1))));
        heat.anyOver = heat.anyOver || share > 1;
    }
    heat.cells.assign(static_cast<std::size_t>(layout.columns()) * static_cast<std::size_t>(layout.rows()), GridHeat::kEmpty);
    for (int rank = 0; rank < layout.ranks(); ++rank)
        heat.cells[static_cast<std::size_t>(layout.row(rank)) * static_cast<std::size_t>(layout.columns()) +
                   static_cast<std::size_t>(layout.column(rank))] = ofClass[static_cast<std::size_t>(simulation.classOf(rank))];
    return heat;
}

GridHeat makeHeat(const std::vector<RankNow>& now, const GridLayout& layout)
{
    GridHeat heat;
    for (std::size_t i = 0; i < now.size(); ++i) {
        heat.leastBytes = i == 0 ? now[i].bytes : std::min(heat.leastBytes, now[i].bytes);
        heat.mostBytes = std::max(heat.mostBytes, now[i].bytes);
        heat.capacityBytes = std::max({heat.capacityBytes, now[i].peakBytes, now[i].bytes});
    }
    heat.cells.assign(static_cast<std::size_t>(layout.columns()) * static_cast<std::size_t>(layout.rows()), GridHeat::kEmpty);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const std::int64_t bytes = now[static_cast<std::size_t>(rank)].bytes;
        const double share = heat.capacityBytes > 0 ? static_cast<double>(bytes) / static_cast<double>(heat.capacityBytes) : 0;
        heat.cells[static_cast<std::size_t>(layout.row(rank)) * static_cast<std::size_t>(layout.columns()) +
                   static_cast<std::size_t>(layout.column(rank))] =
            static_cast<std::uint8_t>(1 + std::lround(share * (GridHeat::kFull - 1)));
    }
    return heat;
}

std::int64_t GridScene::bytesOf(int rank) const
{
    return now ? (*now)[static_cast<std::size_t>(rank)].bytes : simulation.memoryOfClass(simulation.classOf(rank)).total();
}

void paintGrid(Canvas& canvas, const GridScene& scene)
{
    Painter(canvas, scene).paint();
}

} // namespace app
