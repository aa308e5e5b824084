// Where each rank's cell lies: the mesh's axes as nested boxes, laid across or down so that cells come out as large as they can.
// Pure geometry, in logical pixels at zoom 1 from the top left of the whole picture.
#pragma once

#include "app/canvas/canvas.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"

#include <string>
#include <vector>

namespace app {

/// One axis of the mesh, or a part of one that a node's edge cuts in two. Its `size` children lie left to right, then down.
struct GridLevel {
    std::string axis; ///< "tp"
    int axisStride = 1, axisSize = 1;
    int size = 1, stride = 1; ///< stride: ranks from one child to the next
    int columns = 1, rows = 1;
    float gap = 0;         ///< between children
    float padding = 0;     ///< inside the box around all children
    float title = 0;       ///< height of the title inside that box
    bool isNode = false;   ///< the box is one node of the cluster
    bool numbered = false; ///< children carry their name as title because no ruler can: they fill several rows

    bool wrapped() const { return columns > 1 && rows > 1; }
};

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
};

class GridLayout {
public:
    GridLayout() = default;
    /// Fits rulers and cells into width x height. `gpusPerNode` 0: nodes are not boxes (ranks are scattered over them).
    GridLayout(const sim::Mesh&, int gpusPerNode, float width, float height);

    static constexpr float kRulerRow = 16, kRulerColumn = 56; ///< room a ruler takes above and at the left

    const std::vector<GridLevel>& levels() const { return m_levels; }
    int ranks() const { return m_ranks; }
    int columns() const { return static_cast<int>(m_x.size()); }
    int rows() const { return static_cast<int>(m_y.size()); }
    float cellWidth() const { return m_cellWidth; }
    float cellHeight() const { return m_cellHeight; }
    float width() const { return m_width; } ///< of all cells and boxes, without rulers
    float height() const { return m_height; }
    const std::vector<Ruler>& across() const { return m_across; } ///< rulers above, outermost first
    const std::vector<Ruler>& down() const { return m_down; }     ///< rulers at the left

    int column(int rank) const;
    int row(int rank) const;
    int rankAt(int column, int row) const; ///< -1 if the place is empty
    float columnLeft(int column) const { return m_x[static_cast<std::size_t>(column)]; }
    float rowTop(int row) const { return m_y[static_cast<std::size_t>(row)]; }
    Rect cell(int rank) const;
    int rankAt(Point) const; ///< -1 between cells

    /// Box `level` around a rank: all ranks that differ from it in levels 0 … level.
    Rect box(int level, int rank) const;
    int boxRanks(int level) const { return m_boxRanks[static_cast<std::size_t>(level)]; }
    /// "dp 2–3": where the box lies on the next axis outwards.
    std::string boxName(int level, int rank) const;

private:
    void splitAxes(const sim::Mesh&, int gpusPerNode);
    void arrange(float width, float height);
    void place();
    void makeRulers();
    void addRowsRuler(const GridLevel&);

    std::vector<GridLevel> m_levels; ///< innermost first; never empty
    std::vector<int> m_boxRanks;
    std::vector<float> m_boxWidth, m_boxHeight; ///< [level]
    std::vector<float> m_x, m_y;                ///< [column], [row]: left and top edges of cells
    std::vector<int> m_rankOfColumn, m_rankOfRow;
    std::vector<Ruler> m_across, m_down;
    int m_ranks = 0;
    float m_cellWidth = 0, m_cellHeight = 0, m_width = 0, m_height = 0;
};

} // namespace app
