#include "app/views/traffic/traffic_matrix.h"

#include "app/views/common/color.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "sim/index.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

using sim::asIndex;

constexpr float kLargestMatrixCell = 96, kSeamedMatrixCell = 6;
constexpr float kWidestMatrixCell = 2.2F; ///< times its height: wide cells have room for their bytes

class MatrixPainter {
public:
    MatrixPainter(Canvas& canvas, const TrafficScene& scene, TrafficLevel level, Rect area)
        : m_canvas(canvas), m_scene(scene), m_theme(scene.theme), m_level(level), m_picture(scene.model.picture(level)),
          m_scale(ByteScale::of(m_picture, scene.selection)), m_small(canvas.textHeight(FontFace::small)), m_area(area)
    {
    }

    TrafficMatrixFrame paint()
    {
        layOut();
        if (m_frame.cells.width() < 8 || m_frame.cells.height() < 8)
            return m_frame;
        axes();
        cells();
        outlines();
        paintByteScale(m_canvas, m_scene, m_scale, m_frame.scale);
        if (m_frame.details.width() > 0)
            paintDetails(m_canvas, m_scene, m_frame.details, m_picture);
        return m_frame;
    }

private:
    void layOut();
    void axes();
    void cells();
    void cellTexts();
    void outlines();
    void nodes();
    int count() const { return m_picture.parts.count(); }
    const std::string& number(int part) const { return m_picture.parts.parts[asIndex(part)].number; }
    /// Every how many parts a label has room.
    int labelStep(float each, float needed) const
    {
        int step = 1;
        while (static_cast<float>(step) * each < needed)
            step *= 2;
        return step;
    }
    Color colorOf(std::uint8_t heat) const { return m_theme.heatAt(static_cast<double>(heat) / 255); }
    std::uint8_t heatOf(std::int64_t bytes) const
    {
        return bytes <= 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(std::lround(255 * m_scale.share(bytes)));
    }

    Canvas& m_canvas;
    const TrafficScene& m_scene;
    const Theme& m_theme;
    TrafficLevel m_level;
    const TrafficModel::Picture& m_picture;
    ByteScale m_scale;
    float m_small;
    Rect m_area;
    TrafficMatrixFrame m_frame;
    float m_labelWidth = 0;
};

void MatrixPainter::layOut()
{
    constexpr float kScaleHeight = 24, kPanelGap = 24, kWidestPanel = 420;
    for (int part = 0; part < count(); ++part)
        m_labelWidth = std::max(m_labelWidth, m_canvas.textWidth(number(part), FontFace::small));
    const float rowLabels = std::max(m_labelWidth, m_canvas.textWidth("sends ↓", FontFace::small));
    const float left = std::ceil(m_area.left + kMargin + rowLabels + 6), top = m_area.top + 2 * m_small + 12;
    const float bottom = m_area.bottom - 10, right = m_area.right - kMargin;
    const auto parts = static_cast<float>(count());

    // A panel stands beside the matrix where the matrix, as high as it can be, leaves room; else the scale goes below.
    const float highest = std::min(kLargestMatrixCell, (bottom - top) / parts);
    const float beside = right - left - kPanelGap - kDetailsWidth;
    const bool hasPanel = beside >= std::min(highest * parts, 160.0F);
    const float height =
        std::max(hasPanel ? highest : std::min(kLargestMatrixCell, (bottom - top - kScaleHeight - 6) / parts), 0.0F);
    const float room = (hasPanel ? beside : right - left) / parts;
    float cellWidth = std::clamp(room, std::min(height, room), height * kWidestMatrixCell),
          cellHeight = std::min(height, cellWidth);
    if (cellWidth >= 2 && cellHeight >= 2) {
        cellWidth = std::floor(cellWidth);
        cellHeight = std::floor(cellHeight);
    }
    m_frame.parts = count();
    m_frame.cellWidth = cellWidth;
    m_frame.cellHeight = cellHeight;
    m_frame.cells = {left, top, std::floor(left + cellWidth * parts), std::floor(top + cellHeight * parts)};
    m_frame.labels = {m_area.left, top, left, m_frame.cells.bottom};
    if (hasPanel) {
        const float panelLeft = m_frame.cells.right + kPanelGap;
        const float panelRight = std::min(right, panelLeft + kWidestPanel);
        m_frame.scale = {panelLeft, top, panelRight, top + kScaleHeight};
        m_frame.details = {panelLeft, top + kScaleHeight + 14, panelRight, bottom};
    } else {
        m_frame.scale = {left, m_frame.cells.bottom + 6, std::min(right, std::max(m_frame.cells.right, left + 200)),
                         m_frame.cells.bottom + 6 + kScaleHeight};
    }
}

void MatrixPainter::axes()
{
    const std::array<std::string, kTrafficLevelCount> things{"rank", m_scene.model.boxName(), "pipeline rank"};
    const std::string& thing = things[asIndex(m_level)];
    const Rect cells = m_frame.cells;
    const float titleTop = cells.top - 2 * m_small - 8;
    m_canvas.text({cells.left - 6, titleTop}, "sends ↓", m_theme.mutedText, FontFace::small, Align::right);
    const float room = m_area.right - kMargin - cells.left;
    const std::string title = fitting(m_canvas, {thing + " that receives →", "receives →"}, room, FontFace::small);
    m_canvas.text({cells.left, titleTop}, title, m_theme.mutedText, FontFace::small);

    const auto focus = m_scene.selection.focusRank();
    const int focusPart =
        focus && *focus < static_cast<int>(m_picture.parts.partOf.size()) ? m_picture.parts.partOf[asIndex(*focus)] : -1;
    const auto labelOf = [&](int part) {
        return m_scene.hovered && (m_scene.hovered->from == part || m_scene.hovered->to == part) ? m_theme.text
               : part == focusPart                                                               ? m_theme.accent
                                                                                                 : m_theme.mutedText;
    };
    const int across = labelStep(m_frame.cellWidth, m_labelWidth + 6), down = labelStep(m_frame.cellHeight, m_small);
    for (int part = 0; part < count(); part += across) {
        const Rect cell = m_frame.cell(0, part);
        const float half = m_canvas.textWidth(number(part), FontFace::small) / 2;
        const float middle = across == 1 ? (cell.left + cell.right) / 2 : cell.left + half; // of several the first
        if (middle + half <= m_area.right)
            m_canvas.text({std::floor(middle), cells.top - m_small - 3}, number(part), labelOf(part), FontFace::small,
                          Align::center);
    }
    for (int part = 0; part < count(); part += down) {
        const Rect cell = m_frame.cell(part, 0);
        const float top = down == 1 ? std::floor((cell.top + cell.bottom - m_small) / 2) : cell.top - 1;
        if (top + m_small <= m_area.bottom)
            m_canvas.text({cells.left - 6, top}, number(part), labelOf(part), FontFace::small, Align::right);
    }
}

/// One block a cell, or where cells are smaller than pixels one a pixel, with the most that lies there.
void MatrixPainter::cells()
{
    const Rect all = m_frame.cells;
    m_canvas.fillRect(all, mix(m_theme.canvas, m_theme.text, 0.045F));
    const float seam = std::min(m_frame.cellWidth, m_frame.cellHeight) >= kSeamedMatrixCell ? 1.0F : 0.0F;
    const int columns = std::min(count(), static_cast<int>(all.width())),
              rows = std::min(count(), static_cast<int>(all.height()));
    std::vector<std::uint8_t> row(asIndex(columns));
    auto cell = m_picture.matrix.cells.begin();
    for (int r = 0; r < rows; ++r) {
        std::fill(row.begin(), row.end(), std::uint8_t{0});
        bool isEmpty = true;
        for (; cell != m_picture.matrix.cells.end() && cell->from * rows / count() <= r; ++cell) {
            std::uint8_t& block = row[asIndex(cell->to * columns / count())];
            block = std::max(block, heatOf(shownBytes(cell->bytes, m_scene.selection)));
            isEmpty = isEmpty && block == 0;
        }
        if (isEmpty)
            continue;
        const float top = std::floor(all.top + all.height() * static_cast<float>(r) / static_cast<float>(rows));
        const float bottom = std::floor(all.top + all.height() * static_cast<float>(r + 1) / static_cast<float>(rows)) - seam;
        for (int c = 0; c < columns;) {
            int end = c + 1;
            while (seam == 0 && end < columns && row[asIndex(end)] == row[asIndex(c)])
                ++end;
            if (row[asIndex(c)] > 0)
                m_canvas.fillRect(
                    {std::floor(all.left + all.width() * static_cast<float>(c) / static_cast<float>(columns)), top,
                     std::floor(all.left + all.width() * static_cast<float>(end) / static_cast<float>(columns)) - seam, bottom},
                    colorOf(row[asIndex(c)]));
            c = end;
        }
    }
    cellTexts();
    if (m_canvas.wantsNodes())
        nodes();
}

void MatrixPainter::cellTexts()
{
    constexpr float kNarrowest = 40, kAirOfCell = 2;
    if (m_frame.cellWidth < kNarrowest || m_frame.cellHeight < m_small + 2)
        return;
    float widest = 0; // all cells say it or none does
    std::vector<std::pair<const sim::TrafficMatrix::Cell*, std::int64_t>> shown;
    for (const sim::TrafficMatrix::Cell& cell : m_picture.matrix.cells)
        if (const std::int64_t bytes = shownBytes(cell.bytes, m_scene.selection); bytes > 0) {
            shown.emplace_back(&cell, bytes);
            widest = std::max(widest, m_canvas.textWidth(bytesText(static_cast<double>(bytes)), FontFace::small));
        }
    if (widest > m_frame.cellWidth - 2 * kAirOfCell - 1) // a pixel of it may be lost to rounding
        return;
    for (const auto& [cell, bytes] : shown)
        textInside(m_canvas, m_frame.cell(cell->from, cell->to).inset(kAirOfCell), bytesText(static_cast<double>(bytes)),
                   readableOn(colorOf(heatOf(bytes))), FontFace::small, Align::center);
}

void MatrixPainter::nodes()
{
    constexpr std::size_t kMost = 4096; // a screen reader has no use for more
    std::size_t told = 0;
    for (const sim::TrafficMatrix::Cell& cell : m_picture.matrix.cells) {
        if (shownBytes(cell.bytes, m_scene.selection) <= 0 || ++told > kMost)
            continue;
        m_canvas.node(
            {.id = kTrafficPairNodes + static_cast<std::uint64_t>(cell.from) * 65536 + static_cast<std::uint64_t>(cell.to),
             .role = "cell",
             .name = pairText(m_scene, m_picture.parts, cell),
             .rect = m_frame.cell(cell.from, cell.to),
             .selected = m_scene.hovered == TrafficPair{cell.from, cell.to}});
    }
}

/// Row and column of the rank in focus; of the cell under the pointer its own.
void MatrixPainter::outlines()
{
    const Rect all = m_frame.cells;
    const auto band = [&](int row, int column) {
        const Rect cell = m_frame.cell(row, column);
        m_canvas.strokeRect({all.left - 1, cell.top - 1, all.right + 1, std::max(cell.bottom, cell.top + 1) + 1}, m_theme.accent);
        m_canvas.strokeRect({cell.left - 1, all.top - 1, std::max(cell.right, cell.left + 1) + 1, all.bottom + 1}, m_theme.accent,
                            1, LineStyle::dashed);
    };
    if (m_scene.hovered) {
        const auto [from, to] = *m_scene.hovered;
        band(from, to);
        const Rect cell = m_frame.cell(from, to);
        m_canvas.strokeRect(
            {cell.left - 1, cell.top - 1, std::max(cell.right, cell.left + 3) + 1, std::max(cell.bottom, cell.top + 3) + 1},
            m_theme.selection, 2);
        return;
    }
    const auto focus = m_scene.selection.focusRank();
    if (focus && *focus < static_cast<int>(m_picture.parts.partOf.size()))
        if (const int part = m_picture.parts.partOf[asIndex(*focus)]; !m_picture.parts.isRest(part))
            band(part, part);
}

} // namespace

Rect TrafficMatrixFrame::cell(int from, int to) const
{
    const float seam = std::min(cellWidth, cellHeight) >= kSeamedMatrixCell ? 1.0F : 0.0F;
    const auto row = static_cast<float>(from), column = static_cast<float>(to);
    return {std::floor(cells.left + cellWidth * column), std::floor(cells.top + cellHeight * row),
            std::floor(cells.left + cellWidth * (column + 1)) - seam, std::floor(cells.top + cellHeight * (row + 1)) - seam};
}

std::optional<TrafficPair> TrafficMatrixFrame::pairAt(Point at) const
{
    if (!cells.contains(at))
        return std::nullopt;
    const int last = parts - 1;
    return TrafficPair{std::min(static_cast<int>((at.y - cells.top) / cellHeight), last),
                       std::min(static_cast<int>((at.x - cells.left) / cellWidth), last)};
}

std::optional<int> TrafficMatrixFrame::rowAt(Point at) const
{
    if (at.x < labels.left || at.x >= cells.right || at.y < cells.top || at.y >= cells.bottom)
        return std::nullopt;
    return std::min(static_cast<int>((at.y - cells.top) / cellHeight), parts - 1);
}

TrafficMatrixFrame paintTrafficMatrix(Canvas& canvas, const TrafficScene& scene, TrafficLevel level, Rect area)
{
    return MatrixPainter(canvas, scene, level, area).paint();
}

} // namespace app
