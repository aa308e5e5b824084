#include "app/views/grid_layout.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace app {
namespace {

constexpr float kWidestCell = 132, kHighestCell = 76;
constexpr float kWidestShape = 2.2F, kNarrowestShape = 0.8F; ///< width / height of a cell

/// How airy a picture is: as much as the cells' size allows.
struct Density {
    float smallestCell;
    float cellGap;
    float padding, innerPadding; ///< of the outermost boxes and of those inside them
    float gap, gapGrowth;        ///< between boxes; each level outwards is further apart
    float title;
};
constexpr std::array<Density, 5> kDensities{{
    {34, 4, 8, 8, 10, 6, 18},
    {16, 2, 6, 5, 7, 4, 17},
    {7, 1, 4, 2, 4, 3, 16},
    {3, 1, 3, 0, 2, 3, 15},
    {0, 0, 1, 0, 1, 2, 0},
}};

/// Column counts worth trying for n children: straight ones and those that fill their last row.
std::vector<int> columnChoices(int n)
{
    std::vector<int> choices;
    for (int c = 1; c <= n; ++c) {
        if (c > 64 && c < n && n / c > 64)
            continue; // nobody wants thousands of choices for thousands of children
        if (n % c == 0)
            choices.push_back(c);
    }
    if (choices.size() <= 2 && n > 6) // a prime: let the last row be short
        for (int rows = 2; rows * rows <= n * 4 && rows < n; ++rows)
            if (const int c = (n + rows - 1) / rows; c > 1 && std::find(choices.begin(), choices.end(), c) == choices.end())
                choices.push_back(c);
    return choices;
}

/// Room for cells is linear in their size: length = cells * size + fixed.
struct Extent {
    float cells = 1, fixed = 0;
};

struct Candidate {
    float score = -1;
    std::vector<int> columns;
    float cellWidth = 0, cellHeight = 0;
    const Density* density = nullptr;
};

} // namespace

GridLayout::GridLayout(const sim::Mesh& mesh, int gpusPerNode, float width, float height) : m_ranks(mesh.worldSize())
{
    splitAxes(mesh, gpusPerNode);
    arrange(width, height);
    place();
    makeRulers();
}

/// Levels from the mesh's axes above 1; where a node ends inside an axis, two levels.
void GridLayout::splitAxes(const sim::Mesh& mesh, int gpusPerNode)
{
    const sim::RankGrid& grid = mesh.dense();
    for (int a = 0; a < grid.axisCount(); ++a) {
        const int size = grid.axis(a).size, stride = grid.stride(a);
        if (size == 1)
            continue;
        GridLevel level{.axis = grid.axis(a).name, .axisStride = stride, .axisSize = size, .size = size, .stride = stride};
        const int inNode = gpusPerNode > stride && gpusPerNode % stride == 0 ? gpusPerNode / stride : 0;
        if (inNode > 1 && inNode < size && size % inNode == 0) {
            GridLevel inner = level;
            inner.size = inNode;
            inner.isNode = true;
            m_levels.push_back(inner);
            level.size = size / inNode;
            level.stride = stride * inNode;
        } else if (inNode == size) {
            level.isNode = true;
        }
        m_levels.push_back(level);
    }
    if (m_levels.empty())
        m_levels.push_back({.axis = "tp"});
    int ranks = 1;
    for (GridLevel& level : m_levels) {
        ranks *= level.size;
        m_boxRanks.push_back(ranks);
    }
}

/// Tries every way to lay the levels out and keeps the one with the largest cells; straight rows and columns are worth a little.
void GridLayout::arrange(float width, float height)
{
    const std::size_t depth = m_levels.size();
    std::vector<std::vector<int>> choices;
    for (const GridLevel& level : m_levels)
        choices.push_back(columnChoices(level.size));

    Candidate best;
    std::vector<std::size_t> pick(depth, 0);
    for (bool more = true; more;) {
        float penalty = 1;
        float top = 0, left = 0;
        for (std::size_t i = 0; i < depth; ++i) {
            const GridLevel& level = m_levels[i];
            const int columns = choices[i][pick[i]], rows = (level.size + columns - 1) / columns;
            const bool split = i + 1 < depth && m_levels[i + 1].axis == level.axis;
            if (columns > 1 && rows > 1) {
                penalty *= i + 1 == depth ? 0.9F : 0.72F;
                left += i + 1 == depth ? kRulerColumn : 0;
            } else if (columns > 1)
                top += kRulerRow;
            else if (rows > 1) {
                left += kRulerColumn;
                penalty *= i == 0 ? 0.9F : 1.0F; // a node reads best as a row
            }
            // Both parts of an axis run the same way, or the outer one wraps and carries names.
            if (split && columns > 1 && rows == 1) {
                const int outer = choices[i + 1][pick[i + 1]];
                penalty *= outer == 1 ? 0.8F : 1.0F;
            }
        }
        for (const Density& density : kDensities) {
            Extent across, down;
            for (std::size_t i = 0; i < depth; ++i) {
                const int columns = choices[i][pick[i]], rows = (m_levels[i].size + columns - 1) / columns;
                const bool outermost = i + 1 == depth;
                const float gap = i == 0 ? density.cellGap : density.gap + density.gapGrowth * static_cast<float>(i - 1);
                const float pad = outermost ? 0 : i + 2 == depth ? density.padding : density.innerPadding;
                bool titled = false;
                if (!outermost) {
                    const int outerColumns = choices[i + 1][pick[i + 1]];
                    titled =
                        (outerColumns > 1 && outerColumns < m_levels[i + 1].size) || (m_levels[i].isNode && density.cellGap >= 2);
                }
                across = {across.cells * static_cast<float>(columns),
                          across.fixed * static_cast<float>(columns) + gap * static_cast<float>(columns - 1) + 2 * pad};
                down = {down.cells * static_cast<float>(rows), down.fixed * static_cast<float>(rows) +
                                                                   gap * static_cast<float>(rows - 1) + 2 * pad +
                                                                   (titled ? density.title : 0)};
            }
            float cellWidth = (width - left - across.fixed) / across.cells;
            float cellHeight = (height - top - down.fixed) / down.cells;
            if (std::min(cellWidth, cellHeight) < density.smallestCell && &density != &kDensities.back())
                continue;
            cellWidth = std::min({cellWidth, cellHeight * kWidestShape, kWidestCell});
            cellHeight = std::min({cellHeight, cellWidth / kNarrowestShape, kHighestCell});
            if (cellWidth > 0 && cellHeight > 0) {
                const float score = penalty * std::sqrt(cellWidth * cellHeight);
                if (score > best.score) {
                    best = {score, {}, cellWidth, cellHeight, &density};
                    for (std::size_t i = 0; i < depth; ++i)
                        best.columns.push_back(choices[i][pick[i]]);
                }
            }
            break;
        }
        more = false;
        for (std::size_t i = 0; i < depth && !more; ++i) {
            more = ++pick[i] < choices[i].size();
            if (!more)
                pick[i] = 0;
        }
    }
    if (best.density == nullptr) { // no room at all: a picture for a later, larger area
        best.density = &kDensities.back();
        best.cellWidth = best.cellHeight = 0.01F;
        for (const GridLevel& level : m_levels)
            best.columns.push_back(static_cast<int>(std::ceil(std::sqrt(level.size))));
    }

    const auto whole = [](float size) { return size >= 3 ? std::floor(size) : size; }; // equal cells, no moiré
    m_cellWidth = whole(best.cellWidth);
    m_cellHeight = whole(best.cellHeight);
    for (std::size_t i = 0; i < depth; ++i) {
        GridLevel& level = m_levels[i];
        level.columns = best.columns[i];
        level.rows = (level.size + level.columns - 1) / level.columns;
        level.gap = i == 0 ? best.density->cellGap : best.density->gap + best.density->gapGrowth * static_cast<float>(i - 1);
        level.padding = i + 1 == depth ? 0 : i + 2 == depth ? best.density->padding : best.density->innerPadding;
    }
    for (std::size_t i = 0; i + 1 < depth; ++i) {
        GridLevel& level = m_levels[i];
        m_levels[i + 1].numbered = m_levels[i + 1].wrapped();
        if (m_levels[i + 1].numbered || (level.isNode && best.density->cellGap >= 2))
            level.title = best.density->title;
    }
}

void GridLayout::place()
{
    float width = m_cellWidth, height = m_cellHeight;
    m_x = {0};
    m_y = {0};
    m_rankOfColumn = {0};
    m_rankOfRow = {0};
    for (const GridLevel& level : m_levels) {
        std::vector<float> x, y;
        std::vector<int> rankOfColumn, rankOfRow;
        for (int c = 0; c < level.columns; ++c)
            for (std::size_t i = 0; i < m_x.size(); ++i) {
                x.push_back(level.padding + static_cast<float>(c) * (width + level.gap) + m_x[i]);
                rankOfColumn.push_back(c * level.stride + m_rankOfColumn[i]);
            }
        for (int r = 0; r < level.rows; ++r)
            for (std::size_t i = 0; i < m_y.size(); ++i) {
                y.push_back(level.padding + level.title + static_cast<float>(r) * (height + level.gap) + m_y[i]);
                rankOfRow.push_back(r * level.columns * level.stride + m_rankOfRow[i]);
            }
        m_x = std::move(x);
        m_y = std::move(y);
        m_rankOfColumn = std::move(rankOfColumn);
        m_rankOfRow = std::move(rankOfRow);
        const auto columns = static_cast<float>(level.columns), rows = static_cast<float>(level.rows);
        width = columns * width + (columns - 1) * level.gap + 2 * level.padding;
        height = rows * height + (rows - 1) * level.gap + 2 * level.padding + level.title;
        m_boxWidth.push_back(width);
        m_boxHeight.push_back(height);
    }
    m_width = width;
    m_height = height;
}

int GridLayout::column(int rank) const
{
    int column = 0, scale = 1;
    for (const GridLevel& level : m_levels) {
        column += rank / level.stride % level.size % level.columns * scale;
        scale *= level.columns;
    }
    return column;
}

int GridLayout::row(int rank) const
{
    int row = 0, scale = 1;
    for (const GridLevel& level : m_levels) {
        row += rank / level.stride % level.size / level.columns * scale;
        scale *= level.rows;
    }
    return row;
}

int GridLayout::rankAt(int column, int row) const
{
    const int rank = m_rankOfColumn[static_cast<std::size_t>(column)] + m_rankOfRow[static_cast<std::size_t>(row)];
    int columnsInside = 1, rowsInside = 1;
    for (const GridLevel& level : m_levels) { // the end of a last row may be empty
        const int c = column / columnsInside % level.columns, r = row / rowsInside % level.rows;
        if (r * level.columns + c >= level.size)
            return -1;
        columnsInside *= level.columns;
        rowsInside *= level.rows;
    }
    return rank;
}

Rect GridLayout::cell(int rank) const
{
    const float left = columnLeft(column(rank)), top = rowTop(row(rank));
    return {left, top, left + m_cellWidth, top + m_cellHeight};
}

int GridLayout::rankAt(Point p) const
{
    const auto column = std::upper_bound(m_x.begin(), m_x.end(), p.x) - m_x.begin() - 1;
    const auto row = std::upper_bound(m_y.begin(), m_y.end(), p.y) - m_y.begin() - 1;
    if (column < 0 || row < 0)
        return -1;
    const auto c = static_cast<int>(column), r = static_cast<int>(row);
    // Below three pixels there is no gap to aim at.
    const bool inside = p.x < columnLeft(c) + std::max(m_cellWidth, 3.0F) && p.y < rowTop(r) + std::max(m_cellHeight, 3.0F);
    return inside ? rankAt(c, r) : -1;
}

Rect GridLayout::box(int level, int rank) const
{
    const auto l = static_cast<std::size_t>(level);
    const int first = rank - rank % m_boxRanks[l];
    float left = columnLeft(column(first)), top = rowTop(row(first));
    for (std::size_t i = 0; i <= l; ++i) {
        left -= m_levels[i].padding;
        top -= m_levels[i].padding + m_levels[i].title;
    }
    return {left, top, left + m_boxWidth[l], top + m_boxHeight[l]};
}

std::string GridLayout::boxName(int level, int rank) const
{
    const auto next = static_cast<std::size_t>(level) + 1;
    if (next >= m_levels.size())
        return {};
    const GridLevel& outer = m_levels[next];
    const int first =
        rank / outer.axisStride % outer.axisSize / (outer.stride / outer.axisStride) * (outer.stride / outer.axisStride);
    const int last = first + outer.stride / outer.axisStride - 1;
    return outer.axis + " " + std::to_string(first) + (last > first ? "–" + std::to_string(last) : "");
}

/// One ruler for each level that runs straight. The outer part of a split axis is read off the inner part's ruler where both run
/// the same way.
void GridLayout::makeRulers()
{
    for (int l = static_cast<int>(m_levels.size()) - 1; l >= 0; --l) {
        const GridLevel& level = m_levels[static_cast<std::size_t>(l)];
        if (level.size == 1)
            continue;
        if (level.wrapped()) {
            if (l + 1 == static_cast<int>(m_levels.size()))
                addRowsRuler(level);
            continue;
        }
        const bool across = level.columns > 1;
        const auto runsLike = [&](const GridLevel& other) {
            return other.axis == level.axis && other.size > 1 && !other.wrapped() && (other.columns > 1) == across;
        };
        const bool readInside = l > 0 && runsLike(m_levels[static_cast<std::size_t>(l - 1)]);
        if (readInside)
            continue;
        Ruler ruler{.level = l, .axis = level.axis, .axisSize = level.axisSize, .groupSize = level.size};
        if (static_cast<std::size_t>(l) + 1 < m_levels.size() && runsLike(m_levels[static_cast<std::size_t>(l) + 1]))
            ruler.groupSize = level.axisSize;
        const int places = across ? columns() : rows();
        int inside = 1; // places one child takes
        for (int i = 0; i < l; ++i)
            inside *= across ? m_levels[static_cast<std::size_t>(i)].columns : m_levels[static_cast<std::size_t>(i)].rows;
        const int width = level.stride / level.axisStride;
        for (int place = 0; place < places; place += inside) {
            const auto first = static_cast<std::size_t>(place), last = static_cast<std::size_t>(place + inside - 1);
            const int rank = across ? m_rankOfColumn[first] : m_rankOfRow[first];
            const int coordinate = rank / level.axisStride % level.axisSize;
            ruler.labels.push_back({across ? m_x[first] : m_y[first], across ? m_x[last] + m_cellWidth : m_y[last] + m_cellHeight,
                                    coordinate, coordinate + width - 1});
        }
        (across ? m_across : m_down).push_back(std::move(ruler));
    }
}

/// Where the outermost axis fills several rows, each row says which part of it it holds.
void GridLayout::addRowsRuler(const GridLevel& level)
{
    Ruler ruler{
        .level = static_cast<int>(m_levels.size()) - 1, .axis = level.axis, .axisSize = level.axisSize, .groupSize = level.rows};
    const int perChild = level.stride / level.axisStride;
    const int inside = rows() / level.rows;
    for (int r = 0; r < level.rows; ++r) {
        const int first = r * level.columns, last = std::min(first + level.columns, level.size) - 1;
        ruler.labels.push_back(
            {rowTop(r * inside), rowTop((r + 1) * inside - 1) + m_cellHeight, first * perChild, (last + 1) * perChild - 1});
    }
    m_down.push_back(std::move(ruler));
}

} // namespace app
