// Where each rank's cell lies: the levels of a plan as nested boxes, laid across or down so that cells come out as large as they
// can. Pure geometry, in logical pixels at zoom 1 from the top left of the whole picture.
#pragma once

#include "app/canvas/canvas.h"
#include "app/views/grid/grid_plan.h"

#include <string>
#include <vector>

namespace app {

/// A label of a ruler: children of one level at one place, or a row of them.
struct RulerLabel {
    float begin = 0, end = 0; ///< along the ruler, zoom 1
    int first = 0, last = 0;  ///< coordinates on the axis
};

struct Ruler {
    int level = 0;
    std::string axis;
    int axisSize = 1;
    std::vector<RulerLabel> labels; ///< ascending places
    int groupSize = 1;              ///< labels that form one run 0, 1, … before they repeat
    float column = 0;               ///< pixels that one at the left takes
};

class GridLayout {
public:
    GridLayout() = default;
    /// Fits rulers and cells into width x height.
    GridLayout(GridPlan, float width, float height);
    GridLayout(const sim::Mesh& mesh, int gpusPerNode, float width, float height)
        : GridLayout(automaticPlan(mesh, gpusPerNode), width, height)
    {
    }

    static constexpr float kRulerRow = 16;    ///< room a ruler takes above
    static constexpr float kRulerColumn = 56; ///< at the left at least: as much as its widest label, where the grid is wide

    const std::vector<GridLevel>& levels() const { return m_levels; }
    int ranks() const { return m_ranks; }
    bool physical() const { return m_physical; }
    int columns() const { return static_cast<int>(m_x.size()); }
    int rows() const { return static_cast<int>(m_y.size()); }
    float cellWidth() const { return m_cellWidth; }
    float cellHeight() const { return m_cellHeight; }
    float width() const { return m_width; } ///< of all cells and boxes, without rulers
    float height() const { return m_height; }
    const std::vector<Ruler>& across() const { return m_across; } ///< rulers above, outermost first
    const std::vector<Ruler>& down() const { return m_down; }     ///< rulers at the left
    float widthOfRulers() const;                                  ///< of those at the left

    int column(int rank) const { return columnOfPlace(placeOf(rank)); }
    int row(int rank) const { return rowOfPlace(placeOf(rank)); }
    int rankAt(int column, int row) const ///< -1 if the place is empty
    {
        return m_rankAt[static_cast<std::size_t>(row) * m_x.size() + static_cast<std::size_t>(column)];
    }
    float columnLeft(int column) const { return m_x[static_cast<std::size_t>(column)]; }
    float rowTop(int row) const { return m_y[static_cast<std::size_t>(row)]; }
    Rect cell(int rank) const { return cellOfPlace(placeOf(rank)); }
    int rankAt(Point) const; ///< -1 between cells
    /// Of a rank on the axis that a level is (a part) of.
    int coordinate(const GridLevel& level, int rank) const { return placeOf(rank) / level.axisStride % level.axisSize; }

    /// A box of a level holds all places that differ in levels 0 … level alone. `place`: any inside it.
    int boxCount(int level) const { return m_places / boxPlaces(level); }
    int boxPlaces(int level) const { return m_boxPlaces[static_cast<std::size_t>(level)]; }
    int placeInBox(int level, int boxIndex) const; ///< the first; boxes are numbered inner levels first
    Rect boxOfPlace(int level, int place) const;
    Rect box(int level, int rank) const { return boxOfPlace(level, placeOf(rank)); }
    /// "dp 2–3": where the box lies on the next axis outwards.
    std::string boxName(int level, int place) const;
    std::vector<int> ranksInBox(int level, int place) const; ///< ascending

    int placeOf(int rank) const { return m_placeOfRank.empty() ? rank : m_placeOfRank[static_cast<std::size_t>(rank)]; }
    int rankOf(int place) const; ///< -1 if it is empty
    int places() const { return m_places; }

    /// Where the axes lie, as a user would have put them.
    AxisSeats seats() const;

private:
    void arrange(float width, float height);
    void place();
    void makeRulers();
    void addRowsRuler(const GridLevel&);
    void lookUp();
    int columnOfPlace(int place) const { return m_columnOfPlace[static_cast<std::size_t>(place)]; }
    int rowOfPlace(int place) const { return m_rowOfPlace[static_cast<std::size_t>(place)]; }
    bool isInside(int column, int row) const;
    Rect cellOfPlace(int place) const;
    int firstPlaceOfBox(int level, int place) const;

    std::vector<GridLevel> m_levels;               ///< innermost first; never empty
    std::vector<int> m_boxPlaces;                  ///< [level]
    std::vector<int> m_placeOfRank, m_rankOfPlace; ///< empty: the same
    std::vector<float> m_boxWidth, m_boxHeight;    ///< [level]
    std::vector<float> m_x, m_y;                   ///< [column], [row]: left and top edges of cells
    std::vector<int> m_placeOfColumn, m_placeOfRow;
    std::vector<int> m_columnOfPlace, m_rowOfPlace, m_rankAt; ///< [place], [place], [row][column]: a frame asks for each cell
    std::vector<Ruler> m_across, m_down;
    int m_ranks = 0, m_places = 0;
    bool m_physical = false, m_fixed = false;
    float m_cellWidth = 0, m_cellHeight = 0, m_width = 0, m_height = 0;
};

} // namespace app
