#include "app/views/grid/grid_painter.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/grid/grid_caption.h"
#include "app/views/grid/grid_overlays.h"
#include "app/views/grid/grid_rulers.h"
#include "sim/index.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

using sim::asIndex;

constexpr float kSeamedCell = 6;
constexpr float kProgressBar = 3;                      ///< height of what tells how far an action has come, lens Now
constexpr float kNarrowestText = 12, kLowestText = 10; ///< cells below are colour alone; numbers have nothing below their line
constexpr float kAroundName = 12;                      ///< pixels, or what two cells beside each other say reads as one
constexpr float kRoomyCell = 56;                       ///< from here on a text keeps away from the edges
constexpr float kDimmedByFocus = 0.72F, kDimmedBySelection = 0.5F;
constexpr float kDimmedNow = 0.4F; ///< what all do at the time cursor is to be seen beside a focus

struct Range {
    int begin = 0, end = 0;
};

class GridPainter {
public:
    GridPainter(Canvas& canvas, const GridScene& scene)
        : m_canvas(canvas), m_scene(scene), m_layout(scene.layout), m_theme(scene.theme), m_transform(scene.transform),
          m_columns(visible(true)), m_rows(visible(false)), m_cellWidth(scene.layout.cellWidth() * scene.transform.zoom),
          m_cellHeight(scene.layout.cellHeight() * scene.transform.zoom),
          m_hasText(m_cellWidth >= kNarrowestText && m_cellHeight >= kLowestText),
          m_widest(widestNumber(canvas, countText(scene.layout.ranks() - 1), FontFace::small)),
          m_bright(scene.theme, scene.reading, 0), m_dimmed(scene.theme, scene.reading, dimmed(scene))
    {
    }

    GridTargets paint()
    {
        m_canvas.fillRect(m_canvas.area(), m_theme.canvas);
        m_canvas.pushClip(m_scene.cellsArea);
        boxes();
        if (m_scene.motion != nullptr)
            movingCells();
        else
            cells();
        lit();
        paintOverlays(m_canvas, m_scene);
        m_canvas.popClip();
        paintRulers(m_canvas, m_scene, m_targets);
        paintCaption(m_canvas, m_scene);
        return std::move(m_targets);
    }

private:
    static float dimmed(const GridScene& scene)
    {
        if (scene.groups.empty() && !scene.severalSelected())
            return 0;
        return scene.reading.lens == GridLens::now ? kDimmedNow : scene.groups.empty() ? kDimmedBySelection : kDimmedByFocus;
    }
    Range visible(bool across) const;
    void boxes();
    void boxTitle(int level, int place, Rect box);
    void cells();
    void movingCells();
    void cellContent(int rank, Rect, const LensColors&);
    void cellDoing(int rank, Rect, Color textColor);
    void cellText(int rank, Rect, Color);
    int columnsOfNumber(float cellWidth);
    void cellNode(int rank, Rect);
    void lit();
    std::string sharedGroups(int rank) const;
    /// Texts that the edge of the cells' area would cut are left out.
    bool inSight(Rect text) const
    {
        const Rect area = m_scene.cellsArea;
        return text.left >= area.left && text.right <= area.right && text.top >= area.top && text.bottom <= area.bottom;
    }
    std::uint8_t toneOf(int column, int row) const
    {
        return m_scene.tones[asIndex(row) * asIndex(m_layout.columns()) + asIndex(column)];
    }
    bool isVisible(int rank) const
    {
        const int c = m_layout.column(rank), r = m_layout.row(rank);
        return c >= m_columns.begin && c < m_columns.end && r >= m_rows.begin && r < m_rows.end;
    }

    Canvas& m_canvas;
    const GridScene& m_scene;
    const GridLayout& m_layout;
    const Theme& m_theme;
    const GridTransform& m_transform;
    Range m_columns, m_rows; ///< on screen
    float m_cellWidth, m_cellHeight;
    bool m_hasText;
    std::string m_widest;                           ///< number of a rank
    std::pair<float, int> m_columnsOfNumber{-1, 1}; ///< width of cells, and what columnsOfNumber() said of it
    LensColors m_bright, m_dimmed;
    GridTargets m_targets;
};

Range GridPainter::visible(bool across) const
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
void GridPainter::boxes()
{
    const auto& levels = m_layout.levels();
    const float appeared = m_scene.motion != nullptr ? m_scene.motion->progress : 1;
    for (int l = static_cast<int>(levels.size()) - 2; l >= 0; --l) {
        const GridLevel& level = levels[asIndex(l)];
        const bool drawn = level.padding > 0;
        const bool named = (level.title > 0 || levels[asIndex(l) + 1].numbered) && m_scene.motion == nullptr;
        if (!drawn && !named)
            continue;
        const Color fill =
            mix(m_theme.canvas, m_theme.text, appeared * 0.028F * static_cast<float>(static_cast<int>(levels.size()) - 1 - l));
        const Color border = level.isNode ? mix(m_theme.border, m_theme.mutedText, 0.55F) : m_theme.border;
        const Color edge = mix(m_theme.canvas, border, appeared);
        for (int i = 0; i < m_layout.boxCount(l); ++i) {
            const int place = m_layout.placeInBox(l, i);
            const Rect box = snapped(m_transform.rect(m_layout.boxOfPlace(l, place)));
            const Rect area = m_scene.cellsArea;
            if (box.right <= area.left || box.left >= area.right || box.bottom <= area.top || box.top >= area.bottom)
                continue;
            if (drawn) {
                m_canvas.fillRect(box, fill);
                if (level.isNode || l + 2 == static_cast<int>(levels.size()))
                    m_canvas.strokeRect(box, edge);
            }
            if (named)
                boxTitle(l, place, box);
        }
    }
}

void GridPainter::boxTitle(int l, int place, Rect box)
{
    const auto& levels = m_layout.levels();
    const GridLevel& level = levels[asIndex(l)];
    const bool numbered = levels[asIndex(l) + 1].numbered;
    const std::string name = numbered ? m_layout.boxName(l, place) : "";
    const std::string node = level.isNode && !m_layout.physical()
                                 ? "node " + countText(m_scene.simulation.placement().node(m_layout.rankOf(place)))
                                 : "";
    if (name.empty() && node.empty())
        return;
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
    const Rect titled{left, top, left + width, top + height};
    if (text.empty() || room < height - 1 || !inSight(titled))
        return;
    m_canvas.text({left, top}, text, m_theme.mutedText, FontFace::small);
    m_targets.push_back({.rect = titled, .level = l, .place = place, .name = name.empty() ? node : name});
}

void GridPainter::cells()
{
    const bool wantsNodes = m_canvas.wantsNodes();
    // Where cells are smaller than a pixel or so, one block shows the strongest of several.
    const int stepX = std::max(1, static_cast<int>(std::ceil(1.0F / std::max(m_cellWidth, 1e-3F) - 0.01F)));
    const int stepY = std::max(1, static_cast<int>(std::ceil(1.0F / std::max(m_cellHeight, 1e-3F) - 0.01F)));
    const float seam = m_layout.levels().front().gap == 0 && std::min(m_cellWidth, m_cellHeight) >= kSeamedCell ? 1.0F : 0.0F;

    std::vector<std::pair<float, float>> edges; // left and right of each block of columns
    for (int c = m_columns.begin; c < m_columns.end; c += stepX) {
        const int last = std::min(c + stepX, m_columns.end) - 1;
        const float left = m_transform.x(m_layout.columnLeft(c));
        const float right = m_transform.x(m_layout.columnLeft(last)) + m_cellWidth - seam;
        const Rect whole = snapped({left, 0, right, 1});
        edges.emplace_back(whole.left, whole.right);
    }
    for (int r = m_rows.begin; r < m_rows.end; r += stepY) {
        const int lastRow = std::min(r + stepY, m_rows.end) - 1;
        const Rect band =
            snapped({0, m_transform.y(m_layout.rowTop(r)), 1, m_transform.y(m_layout.rowTop(lastRow)) + m_cellHeight - seam});
        Rect run{};
        std::uint8_t runTone = GridReading::kNothing;
        const auto flush = [&] {
            if (runTone != GridReading::kNothing)
                m_canvas.fillRect(run, m_dimmed.fill[runTone]);
        };
        for (std::size_t i = 0; i < edges.size(); ++i) {
            const int c = m_columns.begin + static_cast<int>(i) * stepX;
            std::uint8_t tone = GridReading::kNothing;
            for (int rr = r; rr <= lastRow; ++rr)
                for (int cc = c; cc < std::min(c + stepX, m_columns.end); ++cc)
                    tone = std::max(tone, toneOf(cc, rr));
            if (tone == runTone && edges[i].first <= run.right) { // cells that touch and look the same
                run.right = edges[i].second;
            } else {
                flush();
                run = {edges[i].first, band.top, edges[i].second, band.bottom};
                runTone = tone;
            }
            if (tone == GridReading::kNothing || !wantsNodes)
                continue;
            if (const int rank = m_layout.rankAt(c, r); rank >= 0)
                cellNode(rank, {edges[i].first, band.top, edges[i].second, band.bottom});
        }
        flush();
    }
    if (!m_hasText)
        return;
    for (int r = m_rows.begin; r < m_rows.end; ++r)
        for (int c = m_columns.begin; c < m_columns.end; ++c) {
            if (const int rank = m_layout.rankAt(c, r); rank >= 0)
                cellContent(rank, m_scene.cellRect(rank), m_dimmed);
            else if (m_layout.physical()) // a GPU without a rank
                m_canvas.strokeRect(snapped(m_transform.rect({m_layout.columnLeft(c), m_layout.rowTop(r),
                                                              m_layout.columnLeft(c) + m_layout.cellWidth(),
                                                              m_layout.rowTop(r) + m_layout.cellHeight()})),
                                    m_theme.border, 1, LineStyle::dotted);
        }
}

/// While they travel, cells are what they are wherever they are.
void GridPainter::movingCells()
{
    for (int rank = 0; rank < m_layout.ranks(); ++rank) {
        const Rect cell = m_scene.cellRect(rank);
        m_canvas.fillRect(cell, m_dimmed.fill[toneOf(m_layout.column(rank), m_layout.row(rank))]);
        if (cell.width() >= kNarrowestText && cell.height() >= kLowestText)
            cellText(rank, cell, m_dimmed.text[toneOf(m_layout.column(rank), m_layout.row(rank))]);
        if (m_canvas.wantsNodes())
            cellNode(rank, cell);
    }
}

void GridPainter::cellContent(int rank, Rect cell, const LensColors& colors)
{
    const Color text = colors.text[toneOf(m_layout.column(rank), m_layout.row(rank))];
    const bool hasBars = m_scene.reading.lens == GridLens::now && !m_scene.reading.doing.empty();
    if (hasBars)
        cellDoing(rank, cell, text);
    // A bar is of the text's colour: over one a number could not be read.
    if (!hasBars || cell.height() >= m_canvas.textHeight(FontFace::small) + 2 * kProgressBar)
        cellText(rank, cell, text);
}

/// How far the action has come, along the bottom; what is communicated beside it, along the top; a broken edge around who waits.
void GridPainter::cellDoing(int rank, Rect cell, Color textColor)
{
    constexpr float kBar = kProgressBar;
    const std::size_t unit = m_scene.reading.unitOf(m_scene.simulation, rank);
    if (const auto& doing = m_scene.reading.doing[unit]) {
        const Rect bar{cell.left, cell.bottom - kBar, cell.right, cell.bottom};
        m_canvas.fillRect(bar, withAlpha(textColor, 0.25F));
        m_canvas.fillRect({bar.left, bar.top, bar.left + std::round(bar.width() * doing->progress), bar.bottom}, textColor);
    } else {
        m_canvas.strokeRect(cell, m_theme.border, 1, LineStyle::dashed);
    }
    if (const auto& other = m_scene.reading.communicating[unit]; other && m_scene.selection.shows(other->opClass))
        m_canvas.fillRect({cell.left, cell.top, cell.right, cell.top + kBar}, m_theme.fill(other->opClass));
}

/// "tp · pp": what joins a rank to the one in focus.
std::string GridPainter::sharedGroups(int rank) const
{
    std::string shared;
    for (const LitGroup& group : m_scene.groups)
        if (rank != m_scene.focusRank() && std::binary_search(group.members.begin(), group.members.end(), rank))
            shared += (shared.empty() ? "" : " · ") + group.name;
    return shared;
}

/// A number takes so many columns: each of that many says its own.
int GridPainter::columnsOfNumber(float cellWidth)
{
    constexpr int kFarthest = 4;
    if (m_columnsOfNumber.first == cellWidth) // as that of the cell before
        return m_columnsOfNumber.second;
    const float width = m_canvas.textWidth(m_widest, FontFace::small);
    int every = 1;
    while (every < kFarthest && width > static_cast<float>(every) * cellWidth - 2)
        every *= 2;
    m_columnsOfNumber = {cellWidth, every};
    return every;
}

/// The rank's number; below it, as room allows, what the lens reads and its GPU.
void GridPainter::cellText(int rank, Rect cell, Color color)
{
    const float line = m_canvas.textHeight(FontFace::small);
    const float middle = std::floor((cell.left + cell.right) / 2);
    const float room = cell.width() - (cell.width() >= kRoomyCell ? 8.0F : 2.0F);
    const auto write = [&](float top, const std::vector<std::string>& texts, FontFace face) {
        const std::string text = fittingEvenly(m_canvas, texts, room, face);
        const float half = m_canvas.textWidth(text, face) / 2;
        if (!text.empty() && inSight({middle - half, top, middle + half, top + m_canvas.textHeight(face)}))
            m_canvas.text({middle, top}, text, color, face, Align::center);
        return !text.empty();
    };
    // As the widest of them fits, so that all say as much; where it does not, every second or fourth column says its own.
    const std::string number = countText(rank);
    const auto numbers = [&](FontFace face) {
        if (m_canvas.textWidth("rank " + m_widest, face) + kAroundName <= cell.width())
            return std::vector{"rank " + number};
        return std::vector{number};
    };
    const int every = columnsOfNumber(cell.width());
    const auto writeNumber = [&](float top, FontFace face) {
        if (every == 1)
            return write(top, {number}, face);
        if (m_layout.column(rank) % every != 0)
            return true;
        const float half = m_canvas.textWidth(number, face) / 2;
        if (2 * half <= static_cast<float>(every) * cell.width() - 2 &&
            inSight({middle - half, top, middle + half, top + m_canvas.textHeight(face)}))
            m_canvas.text({middle, top}, number, color, face, Align::center);
        return true;
    };
    const bool isNow = m_scene.reading.lens == GridLens::now;
    if (cell.height() < 2 * line + 10) {
        const auto topOf = [&](FontFace face) { return std::floor((cell.top + cell.bottom - m_canvas.textHeight(face)) / 2); };
        const bool isBold = cell.height() >= 24 && m_canvas.textWidth(m_widest, FontFace::bold) <= room;
        if (!isNow || cell.height() <= line + 3) {
            writeNumber(topOf(isBold ? FontFace::bold : FontFace::small), isBold ? FontFace::bold : FontFace::small);
            return;
        }
        const auto texts = m_scene.reading.cellTexts(m_scene.reading.unitOf(m_scene.simulation, rank));
        if (cell.height() < 24 || !write(topOf(FontFace::bold), texts, FontFace::bold))
            write(topOf(FontFace::small), texts, FontFace::small);
        return;
    }
    std::vector<std::string> reads = m_scene.reading.cellTexts(m_scene.reading.unitOf(m_scene.simulation, rank));
    const std::string gpu = std::to_string(m_scene.simulation.placement().gpuOfNode(rank));
    const std::vector<std::string> gpuTexts =
        m_scene.reading.namesGpus() ? std::vector{"GPU " + gpu, gpu} : std::vector<std::string>{""};
    const std::string shared = reads.empty() ? sharedGroups(rank) : "";
    const bool gpuFirst = reads.empty() && shared.empty();
    if (reads.empty())
        reads = gpuFirst ? gpuTexts : std::vector<std::string>{shared};
    if (!isNow && fittingEvenly(m_canvas, reads, room, FontFace::small).empty()) { // the number alone, in the middle then
        const FontFace face = m_canvas.textWidth(m_widest, FontFace::bold) <= room ? FontFace::bold : FontFace::small;
        writeNumber(std::floor((cell.top + cell.bottom - m_canvas.textHeight(face)) / 2), face);
        return;
    }
    if (cell.height() < 3 * line + 10 || isNow || gpuFirst) {
        const float top = cell.top + std::floor((cell.height() - 2 * line - 3) / 2);
        write(top - 1, numbers(isNow ? FontFace::small : FontFace::bold), isNow ? FontFace::small : FontFace::bold);
        write(top + line + 3, reads, isNow ? FontFace::bold : FontFace::small);
        return;
    }
    const float top = cell.top + std::floor((cell.height() - 3 * line - 4) / 2);
    write(top, numbers(FontFace::bold), FontFace::bold);
    write(top + line + 4, reads, FontFace::small);
    write(top + 2 * line + 4,
          m_scene.reading.isLive ? std::vector<std::string>{m_scene.reading.didLast[asIndex(rank)]} : gpuTexts, FontFace::small);
}

void GridPainter::cellNode(int rank, Rect cell)
{
    const std::string reads = m_scene.sentenceOf(rank);
    m_canvas.node({.id = static_cast<std::uint64_t>(rank),
                   .role = "cell",
                   .name = "rank " + countText(rank) + ", " + m_scene.reading.placeOf(m_scene.simulation, rank) +
                           (reads.empty() ? "" : ", " + reads),
                   .rect = cell,
                   .selected = m_scene.selection.selectedRank == rank || m_scene.selection.contains(rank)});
}

/// Members of lit groups and selected ranks keep their full colour; the rest has been dimmed.
void GridPainter::lit()
{
    const bool tiny = std::min(m_cellWidth, m_cellHeight) < 7;
    const auto light = [&](int rank) {
        if (rank >= m_layout.ranks() || (m_scene.motion == nullptr && !isVisible(rank)))
            return;
        const Rect cell = m_scene.cellRect(rank);
        const bool accented = tiny && m_scene.reading.lens != GridLens::now; // there colours are op classes
        m_canvas.fillRect(cell, accented ? m_theme.accent : m_bright.fill[toneOf(m_layout.column(rank), m_layout.row(rank))]);
        if (!tiny && m_hasText && m_scene.motion == nullptr)
            cellContent(rank, cell, m_bright);
    };
    if (m_scene.severalSelected())
        for (const int rank : m_scene.selection.ranks)
            light(rank);
    for (const LitGroup& group : m_scene.groups)
        for (const int rank : group.members)
            light(rank);
}

} // namespace

GridFrame::GridFrame(Rect area, bool meaningFirst)
{
    const float forMeaning = meaningFirst ? 120 : 200, forWords = meaningFirst ? 200 : 150;
    const Rect inner{area.left + kMargin, area.top + 6, area.right - kMargin, area.bottom - 4};
    // In a low picture what the colours mean comes before how many ranks there are, which is said above it, too.
    constexpr float kLowestWithLens = 100;
    const float lensHeight = area.height() >= (meaningFirst ? forMeaning : kLowestWithLens) ? 26.0F : 0.0F;
    const float captionHeight = area.height() >= (meaningFirst ? 150.0F : forMeaning) ? 24.0F : 0.0F;
    const float legendHeight = area.height() >= 240 ? 44.0F : area.height() >= forWords ? 22.0F : 0.0F;
    lenses = {inner.left, inner.top, inner.right, inner.top + lensHeight};
    caption = {inner.left, lenses.bottom + (lensHeight > 0 ? 2.0F : 0.0F), inner.right, 0};
    caption.bottom = caption.top + captionHeight;
    legend = {inner.left, inner.bottom - legendHeight, inner.right, inner.bottom};
    plot = {inner.left, caption.bottom + 4, inner.right, legend.top - 6};
}

Rect snapped(Rect r)
{
    const float left = std::floor(r.left + 0.5F), top = std::floor(r.top + 0.5F);
    return {left, top, std::max(left + 1, std::floor(r.right + 0.5F)), std::max(top + 1, std::floor(r.bottom + 0.5F))};
}

Rect GridScene::cellRect(int rank) const
{
    Rect cell = transform.rect(layout.cell(rank));
    // Cells laid out without a gap are drawn apart once they are large enough.
    if (layout.levels().front().gap == 0 && std::min(cell.width(), cell.height()) >= kSeamedCell) {
        cell.right -= 1;
        cell.bottom -= 1;
    }
    if (motion != nullptr) {
        const Rect from = motion->from[asIndex(rank)];
        const auto between = [&](float a, float b) { return a + (b - a) * motion->progress; };
        cell = {between(from.left, cell.left), between(from.top, cell.top), between(from.right, cell.right),
                between(from.bottom, cell.bottom)};
    }
    return snapped(cell);
}

std::optional<int> GridScene::focusRank() const
{
    const std::optional<int> rank = selection.focusRank();
    return rank && *rank >= 0 && *rank < layout.ranks() ? rank : std::nullopt;
}

std::vector<int> ranksOf(const GridTarget& target, const GridLayout& layout)
{
    if (target.place >= 0)
        return layout.ranksInBox(target.level, target.place);
    std::vector<int> ranks;
    const GridLevel& level = layout.levels()[asIndex(target.level)];
    for (int rank = 0; rank < layout.ranks(); ++rank)
        if (const int coordinate = layout.coordinate(level, rank); coordinate >= target.first && coordinate <= target.last)
            ranks.push_back(rank);
    return ranks;
}

GridTargets paintGrid(Canvas& canvas, const GridScene& scene)
{
    GridTargets targets = GridPainter(canvas, scene).paint();
    if (canvas.wantsNodes())
        for (std::size_t i = 0; i < targets.size(); ++i)
            canvas.node({.id = (std::uint64_t{1} << 32U) + i,
                         .role = targets[i].place >= 0 ? "box" : "coordinate",
                         .name = targets[i].name,
                         .rect = targets[i].rect});
    return targets;
}

} // namespace app
