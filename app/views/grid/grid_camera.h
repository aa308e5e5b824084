// Which part of the grid is seen: zoom and scroll over a layout, kept within bounds.
#pragma once

#include "app/views/grid/grid_painter.h"

namespace app {

class GridCamera {
public:
    /// The layout must outlive its use here. Keeps what is seen as far as it can.
    void look(const GridLayout&, Rect plot);

    /// What the rulers leave of the plot. Rulers and cells keep together: in the middle of a wide area, near the top of a high
    /// one.
    Rect cellsArea() const;
    GridTransform transform() const;
    int rankUnder(Point) const; ///< -1: none

    // All return true if something changed.
    bool zoomAt(Point, float factor);
    bool scrollBy(float x, float y);
    bool fit();
    /// Frames a rank; again, or without one: everything.
    bool focus(std::optional<int> rank);
    /// Brings a rank into view, in the middle if it was outside.
    void reveal(int rank);

    static constexpr float kEdge = 5; ///< room around all cells, for outlines

private:
    float pictureWidth() const { return m_layout->width() * m_zoom + 2 * kEdge; }
    float pictureHeight() const { return m_layout->height() * m_zoom + 2 * kEdge; }
    float largestZoom() const;
    void clamp();
    void centre(int rank);

    const GridLayout* m_layout = nullptr;
    Rect m_plot{};
    float m_zoom = 1, m_scrollX = 0, m_scrollY = 0; ///< scroll: screen pixels of the picture left of and above the view
    bool m_framed = false;                          ///< the last focus framed a rank: the next one shows all
};

} // namespace app
