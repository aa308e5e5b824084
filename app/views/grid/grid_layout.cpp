#include "app/views/grid/grid_layout.h"

#include "app/views/common/labels.h"
#include "sim/index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace app {
namespace {

using sim::asIndex;

constexpr float kWidestCell = 132, kHighestCell = 76;
constexpr float kStretchedCell = 24;
constexpr float kWidestShape = 2.2F, kNarrowestShape = 0.8F; ///< width / height of a cell

/// How airy a picture is: as much as the cells' size allows.
struct Density {
    float smallestCell;
    float cellGap;
    float padding, innerPadding; ///< of the outermost boxes and of those inside them
    float gap, gapGrowth;        ///< between boxes; each level outwards is further apart
    float title;
};
constexpr std::array<Density, 6> kDensities{{
    {34, 4, 8, 8, 10, 6, 18},
    {16, 2, 6, 5, 7, 4, 17},
    {7, 1, 4, 2, 4, 3, 16},
    {3, 1, 3, 0, 2, 3, 15},
    {0, 0, 2, 0, 1, 2, 0},
    {0, 0, 0, 0, 0, 0, 0}, // where even the gaps would not fit
}};

/// Its ranks stand in one line, in the timeline's order: stages that follow each other lie beside each other.
bool isShortPipeline(const GridLevel& level, bool isAlone)
{
    constexpr int kShortPipeline = 4, kShortAlone = 8;
    return level.axis == "pp" && level.axisSize <= (isAlone ? kShortAlone : kShortPipeline);
}

/// All ranks are of one axis.
bool areOfOneAxis(const std::vector<GridLevel>& levels)
{
    return std::ranges::all_of(levels, [&](const GridLevel& level) { return level.axis == levels.front().axis; });
}

/// Column counts worth trying for n children: straight ones and those that fill their last row.
std::vector<int> columnChoices(const GridLevel& level, bool isAlone)
{
    const int n = level.size;
    if (level.run != GridLevel::Run::any)
        return {level.run == GridLevel::Run::across ? n : 1};
    if (isShortPipeline(level, isAlone))
        return n > 1 ? std::vector{1, n} : std::vector{1};
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

/// Do both levels belong to one axis and run straight in one direction?
bool runAlike(const GridLevel& a, const GridLevel& b)
{
    return a.axis == b.axis && !a.wrapped() && !b.wrapped() && (a.columns > 1) == (b.columns > 1) && (a.rows > 1) == (b.rows > 1);
}

/// Margins and titles of one density. Children carry names where no ruler can tell them apart: where their level fills several
/// rows, or is the outer part of an axis whose parts run in different ways.
void furnish(std::vector<GridLevel>& levels, const Density& density, bool physical)
{
    const std::size_t depth = levels.size();
    for (std::size_t i = 0; i < depth; ++i) {
        GridLevel& level = levels[i];
        level.gap = i == 0 ? density.cellGap : density.gap + density.gapGrowth * static_cast<float>(i - 1);
        level.padding = i + 1 == depth || level.inTable ? 0 : i + 2 == depth ? density.padding : density.innerPadding;
        level.numbered =
            i > 0 && (level.wrapped() || level.titled || (levels[i - 1].axis == level.axis && !runAlike(levels[i - 1], level)));
        const bool showsNode = level.isNode && !physical && density.cellGap >= 2;
        level.title = 0;
        if (i > 0 && (level.numbered || levels[i - 1].title > 0))
            levels[i - 1].title = density.title;
        if (i + 1 < depth && showsNode)
            level.title = density.title;
    }
}

struct Rating {
    float score = -1;
    float cellWidth = 0, cellHeight = 0;
};

/// How good a picture an arrangement makes, 0 … 1: straight rows and columns are read more easily than what wraps.
float readability(const std::vector<GridLevel>& levels)
{
    constexpr float kWrapsOutside = 0.9F, kWrapsInside = 0.6F, kNodeAsColumn = 0.9F, kTornAxis = 0.6F, kTornPipeline = 0.2F;
    float share = 1;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        const bool outermost = i + 1 == levels.size();
        if (levels[i].wrapped())
            share *= outermost ? kWrapsOutside : kWrapsInside;
        else if (i == 0 && levels[i].rows > 1)
            share *= kNodeAsColumn;
        if (i > 0 && levels[i - 1].axis == levels[i].axis && !runAlike(levels[i - 1], levels[i]))
            share *= isShortPipeline(levels[i], areOfOneAxis(levels)) ? kTornPipeline
                     : outermost && levels[i].wrapped()               ? 1
                                                                      : kTornAxis;
    }
    return share;
}

/// Boxes of nodes that do not say so: what is left out to make room for cells must not make the picture a better one, else a
/// little less height turns it.
bool hidesNodes(const std::vector<GridLevel>& levels, bool physical)
{
    return !physical &&
           std::any_of(levels.begin(), levels.end() - 1, [](const GridLevel& level) { return level.isNode && level.title == 0; });
}

/// What "dp 112–127" takes beside the rows of a grid that is so wide.
float rulerColumnOf(const GridLevel& level, float width)
{
    constexpr float kLetter = 6.3F, kAround = 10, kMostOfWidth = 0.16F; // of the small face
    const std::size_t number = countText(level.axisSize - 1).size();
    const bool holdsSeveral = level.wrapped() || level.stride > level.axisStride;
    const std::size_t letters = level.shown().size() + 1 + (holdsSeveral ? 2 * number + 1 : number);
    return std::clamp(kAround + kLetter * static_cast<float>(letters), GridLayout::kRulerColumn,
                      std::max(GridLayout::kRulerColumn, kMostOfWidth * width));
}

/// Furnishes the levels as airily as the area allows.
Rating rate(std::vector<GridLevel>& levels, float width, float height, bool physical, bool fixed)
{
    const float whole = width;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        if (levels[i].titled)
            continue;
        if (levels[i].rows > 1 && (!levels[i].wrapped() || i + 1 == levels.size()))
            width -= rulerColumnOf(levels[i], whole);
        else if (levels[i].columns > 1 && !levels[i].wrapped())
            height -= GridLayout::kRulerRow;
    }
    constexpr float kHiddenNodes = 0.7F;
    for (const Density& density : kDensities) {
        furnish(levels, density, physical);
        // The room that cells take is linear in their size: length = cells * size + fixed.
        float cellsAcross = 1, cellsDown = 1, fixedAcross = 0, fixedDown = 0;
        for (const GridLevel& level : levels) {
            const auto columns = static_cast<float>(level.columns), rows = static_cast<float>(level.rows);
            cellsAcross *= columns;
            cellsDown *= rows;
            fixedAcross = fixedAcross * columns + level.gap * (columns - 1) + 2 * level.padding;
            fixedDown = fixedDown * rows + level.gap * (rows - 1) + 2 * level.padding + level.title;
        }
        Rating rating;
        rating.cellWidth = (width - fixedAcross) / cellsAcross;
        rating.cellHeight = (height - fixedDown) / cellsDown;
        if (std::min(rating.cellWidth, rating.cellHeight) < density.smallestCell && &density != &kDensities.back())
            continue;
        // What the user wants in one long row is stretched until it can be seen and pointed at.
        const float least = fixed ? kStretchedCell : 0.0F;
        rating.cellWidth = std::min({rating.cellWidth, std::max(rating.cellHeight * kWidestShape, least), kWidestCell});
        rating.cellHeight = std::min({rating.cellHeight, std::max(rating.cellWidth / kNarrowestShape, least), kHighestCell});
        if (rating.cellWidth > 0 && rating.cellHeight > 0)
            rating.score = readability(levels) * (hidesNodes(levels, physical) ? kHiddenNodes : 1.0F) *
                           std::sqrt(rating.cellWidth * rating.cellHeight);
        return rating;
    }
    return {};
}

} // namespace

GridLayout::GridLayout(GridPlan plan, float width, float height)
    : m_levels(std::move(plan.levels)), m_placeOfRank(std::move(plan.placeOfRank)), m_ranks(plan.ranks),
      m_physical(plan.physical), m_fixed(plan.fixed)
{
    int places = 1;
    for (const GridLevel& level : m_levels) {
        places *= level.size;
        m_boxPlaces.push_back(places);
    }
    m_places = places;
    if (!m_placeOfRank.empty()) {
        m_rankOfPlace.assign(asIndex(m_places), -1);
        for (int rank = 0; rank < m_ranks; ++rank)
            m_rankOfPlace[asIndex(placeOf(rank))] = rank;
    }
    arrange(width, height);
    place();
    lookUp();
    makeRulers();
    for (Ruler& ruler : m_down)
        ruler.column = rulerColumnOf(m_levels[asIndex(ruler.level)], width);
}

float GridLayout::widthOfRulers() const
{
    return std::accumulate(m_down.begin(), m_down.end(), 0.0F, [](float sum, const Ruler& ruler) { return sum + ruler.column; });
}

/// Tries every way to lay the levels out and keeps the one with the largest cells; straight rows and columns are worth a little.
void GridLayout::arrange(float width, float height)
{
    const std::size_t depth = m_levels.size();
    std::vector<std::vector<int>> choices;
    for (const GridLevel& level : m_levels)
        choices.push_back(columnChoices(level, areOfOneAxis(m_levels)));
    const auto setColumns = [](GridLevel& level, int columns) {
        level.columns = columns;
        level.rows = (level.size + columns - 1) / columns;
    };

    Rating best;
    std::vector<GridLevel> trial = m_levels, bestLevels = m_levels;
    std::vector<std::size_t> pick(depth, 0);
    for (bool more = true; more;) {
        for (std::size_t i = 0; i < depth; ++i)
            setColumns(trial[i], choices[i][pick[i]]);
        if (const Rating rating = rate(trial, width, height, m_physical, m_fixed); rating.score > best.score) {
            best = rating;
            bestLevels = trial;
        }
        more = false;
        for (std::size_t i = 0; i < depth && !more; ++i) {
            more = ++pick[i] < choices[i].size();
            if (!more)
                pick[i] = 0;
        }
    }
    if (best.score < 0) { // no room at all: a picture for a later, larger area
        best.cellWidth = best.cellHeight = 0.01F;
        for (std::size_t i = 0; i < depth; ++i) {
            const auto square = static_cast<int>(std::ceil(std::sqrt(bestLevels[i].size)));
            setColumns(bestLevels[i], choices[i].size() == 1 ? choices[i].front() : square);
        }
        furnish(bestLevels, kDensities.back(), m_physical);
    }
    m_levels = std::move(bestLevels);
    const auto whole = [](float size) { return size >= 3 ? std::floor(size) : size; }; // equal cells, no moiré
    m_cellWidth = whole(best.cellWidth);
    m_cellHeight = whole(best.cellHeight);
}

void GridLayout::place()
{
    float width = m_cellWidth, height = m_cellHeight;
    m_x = {0};
    m_y = {0};
    m_placeOfColumn = {0};
    m_placeOfRow = {0};
    for (const GridLevel& level : m_levels) {
        std::vector<float> x, y;
        std::vector<int> placeOfColumn, placeOfRow;
        for (int c = 0; c < level.columns; ++c)
            for (std::size_t i = 0; i < m_x.size(); ++i) {
                x.push_back(level.padding + static_cast<float>(c) * (width + level.gap) + m_x[i]);
                placeOfColumn.push_back(c * level.stride + m_placeOfColumn[i]);
            }
        for (int r = 0; r < level.rows; ++r)
            for (std::size_t i = 0; i < m_y.size(); ++i) {
                y.push_back(level.padding + level.title + static_cast<float>(r) * (height + level.gap) + m_y[i]);
                placeOfRow.push_back(r * level.columns * level.stride + m_placeOfRow[i]);
            }
        m_x = std::move(x);
        m_y = std::move(y);
        m_placeOfColumn = std::move(placeOfColumn);
        m_placeOfRow = std::move(placeOfRow);
        const auto columns = static_cast<float>(level.columns), rows = static_cast<float>(level.rows);
        width = columns * width + (columns - 1) * level.gap + 2 * level.padding;
        height = rows * height + (rows - 1) * level.gap + 2 * level.padding + level.title;
        m_boxWidth.push_back(width);
        m_boxHeight.push_back(height);
    }
    m_width = width;
    m_height = height;
}

/// The end of a last row may hold nothing.
bool GridLayout::isInside(int column, int row) const
{
    for (const GridLevel& level : m_levels) {
        if (row % level.rows * level.columns + column % level.columns >= level.size)
            return false;
        column /= level.columns;
        row /= level.rows;
    }
    return true;
}

void GridLayout::lookUp()
{
    m_columnOfPlace.resize(asIndex(m_places));
    m_rowOfPlace.resize(asIndex(m_places));
    m_rankAt.reserve(m_x.size() * m_y.size());
    for (int row = 0; row < rows(); ++row)
        for (int column = 0; column < columns(); ++column) {
            if (!isInside(column, row)) {
                m_rankAt.push_back(-1);
                continue;
            }
            const int place = m_placeOfColumn[asIndex(column)] + m_placeOfRow[asIndex(row)];
            m_columnOfPlace[asIndex(place)] = column;
            m_rowOfPlace[asIndex(place)] = row;
            m_rankAt.push_back(rankOf(place));
        }
}

int GridLayout::rankOf(int place) const
{
    return m_rankOfPlace.empty() ? place : m_rankOfPlace[asIndex(place)];
}

Rect GridLayout::cellOfPlace(int place) const
{
    const float left = columnLeft(columnOfPlace(place)), top = rowTop(rowOfPlace(place));
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

int GridLayout::firstPlaceOfBox(int level, int place) const
{
    for (int i = 0; i <= level; ++i) {
        const GridLevel& inner = m_levels[asIndex(i)];
        place -= place / inner.stride % inner.size * inner.stride;
    }
    return place;
}

int GridLayout::placeInBox(int level, int boxIndex) const
{
    int place = 0;
    for (std::size_t i = asIndex(level) + 1; i < m_levels.size(); ++i) {
        place += boxIndex % m_levels[i].size * m_levels[i].stride;
        boxIndex /= m_levels[i].size;
    }
    return place;
}

Rect GridLayout::boxOfPlace(int level, int place) const
{
    const auto l = asIndex(level);
    const int first = firstPlaceOfBox(level, place);
    float left = columnLeft(columnOfPlace(first)), top = rowTop(rowOfPlace(first));
    for (std::size_t i = 0; i <= l; ++i) {
        left -= m_levels[i].padding;
        top -= m_levels[i].padding + m_levels[i].title;
    }
    return {left, top, left + m_boxWidth[l], top + m_boxHeight[l]};
}

std::string GridLayout::boxName(int level, int place) const
{
    const auto next = asIndex(level) + 1;
    if (next >= m_levels.size())
        return {};
    const GridLevel& outer = m_levels[next];
    const int width = outer.stride / outer.axisStride;
    const int first = place / outer.axisStride % outer.axisSize / width * width, last = first + width - 1;
    return outer.shown() + " " + countText(first) + (last > first ? "–" + countText(last) : "");
}

std::vector<int> GridLayout::ranksInBox(int level, int place) const
{
    std::vector<int> places{firstPlaceOfBox(level, place)};
    for (int i = 0; i <= level; ++i) {
        const GridLevel& inner = m_levels[asIndex(i)];
        const std::size_t before = places.size();
        for (int child = 1; child < inner.size; ++child)
            for (std::size_t k = 0; k < before; ++k)
                places.push_back(places[k] + child * inner.stride);
    }
    std::vector<int> ranks;
    for (const int p : places)
        if (const int rank = rankOf(p); rank >= 0)
            ranks.push_back(rank);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

AxisSeats GridLayout::seats() const
{
    AxisSeats seats;
    for (std::size_t i = 0; i < m_levels.size(); ++i) {
        const GridLevel& level = m_levels[i];
        if (level.size == 1 || (i + 1 < m_levels.size() && m_levels[i + 1].axis == level.axis))
            continue; // of an axis in two parts the outer one counts
        seats.push_back({level.axis, level.wrapped()     ? AxisPlace::boxes
                                     : level.columns > 1 ? AxisPlace::columns
                                                         : AxisPlace::rows});
    }
    return seats;
}

/// One ruler for each level that runs straight. The outer part of a split axis is read off the inner part's ruler where both run
/// the same way.
void GridLayout::makeRulers()
{
    for (int l = static_cast<int>(m_levels.size()) - 1; l >= 0; --l) {
        const GridLevel& level = m_levels[asIndex(l)];
        if (level.size == 1 || level.titled)
            continue;
        if (level.wrapped()) {
            if (l + 1 == static_cast<int>(m_levels.size()))
                addRowsRuler(level);
            continue;
        }
        const bool across = level.columns > 1;
        const GridLevel* inner = l > 0 ? &m_levels[asIndex(l) - 1] : nullptr;
        const GridLevel* outer = asIndex(l) + 1 < m_levels.size() ? &m_levels[asIndex(l) + 1] : nullptr;
        const bool isOuterPart = inner != nullptr && inner->axis == level.axis,
                   isInnerPart = outer != nullptr && outer->axis == level.axis;
        if (isOuterPart && runAlike(*inner, level))
            continue;
        if (isInnerPart && !runAlike(level, *outer))
            continue; // the boxes carry names
        Ruler ruler{.level = l,
                    .axis = level.shown(),
                    .axisSize = level.axisSize,
                    .groupSize = isInnerPart ? level.axisSize : level.size};
        const int places = across ? columns() : rows();
        int inside = 1; // places one child takes
        for (int i = 0; i < l; ++i)
            inside *= across ? m_levels[asIndex(i)].columns : m_levels[asIndex(i)].rows;
        const int width = level.stride / level.axisStride;
        for (int place = 0; place < places; place += inside) {
            const auto first = asIndex(place), last = asIndex(place + inside - 1);
            const int anyPlace = across ? m_placeOfColumn[first] : m_placeOfRow[first];
            const int coordinate = anyPlace / level.axisStride % level.axisSize;
            ruler.labels.push_back({across ? m_x[first] : m_y[first], across ? m_x[last] + m_cellWidth : m_y[last] + m_cellHeight,
                                    coordinate, coordinate + width - 1});
        }
        (across ? m_across : m_down).push_back(std::move(ruler));
    }
}

/// Where the outermost axis fills several rows, each row says which part of it it holds.
void GridLayout::addRowsRuler(const GridLevel& level)
{
    Ruler ruler{.level = static_cast<int>(m_levels.size()) - 1,
                .axis = level.shown(),
                .axisSize = level.axisSize,
                .groupSize = level.rows};
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
