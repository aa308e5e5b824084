#include "app/views/grid/grid_camera.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kLargestCell = 200; ///< pixels a cell can be zoomed to
constexpr float kFramedCells = 8;   ///< cells across the view after focusing a rank

} // namespace

void GridCamera::look(const GridLayout& layout, Rect plot)
{
    m_layout = &layout;
    m_plot = plot;
    clamp();
}

Rect GridCamera::cellsArea() const
{
    Rect cells = m_plot;
    cells.left += m_layout->widthOfRulers();
    cells.top += GridLayout::kRulerRow * static_cast<float>(m_layout->across().size());
    constexpr float kMostAbove = 24;
    cells.left += std::floor(std::max(0.0F, cells.width() - pictureWidth()) / 2);
    cells.top += std::min(kMostAbove, std::floor(std::max(0.0F, cells.height() - pictureHeight()) / 2));
    return cells;
}

GridTransform GridCamera::transform() const
{
    const Rect cells = cellsArea();
    return {std::floor(cells.left + kEdge - m_scrollX), std::floor(cells.top + kEdge - m_scrollY), m_zoom};
}

int GridCamera::rankUnder(Point at) const
{
    return m_layout != nullptr && cellsArea().contains(at) ? m_layout->rankAt(transform().back(at)) : -1;
}

float GridCamera::largestZoom() const
{
    return std::max(1.0F, kLargestCell / std::max(0.01F, std::min(m_layout->cellWidth(), m_layout->cellHeight())));
}

void GridCamera::clamp()
{
    const Rect cells = cellsArea();
    m_zoom = std::clamp(m_zoom, 1.0F, largestZoom());
    m_scrollX = std::clamp(m_scrollX, 0.0F, std::max(0.0F, pictureWidth() - cells.width()));
    m_scrollY = std::clamp(m_scrollY, 0.0F, std::max(0.0F, pictureHeight() - cells.height()));
}

bool GridCamera::zoomAt(Point at, float factor)
{
    const Point under = transform().back(at);
    const float before = m_zoom;
    m_zoom = std::clamp(m_zoom * factor, 1.0F, largestZoom());
    const Rect cells = cellsArea();
    m_scrollX = under.x * m_zoom - (at.x - cells.left - kEdge);
    m_scrollY = under.y * m_zoom - (at.y - cells.top - kEdge);
    clamp();
    m_framed = false;
    return m_zoom != before;
}

bool GridCamera::scrollBy(float x, float y)
{
    const float beforeX = m_scrollX, beforeY = m_scrollY;
    m_scrollX += x;
    m_scrollY += y;
    clamp();
    m_framed = false;
    return m_scrollX != beforeX || m_scrollY != beforeY;
}

bool GridCamera::fit()
{
    const bool changed = m_zoom != 1 || m_scrollX != 0 || m_scrollY != 0;
    m_zoom = 1;
    m_scrollX = m_scrollY = 0;
    m_framed = false;
    return changed;
}

bool GridCamera::focus(std::optional<int> rank)
{
    if (!rank || m_framed || *rank >= m_layout->ranks())
        return fit();
    const Rect area = cellsArea();
    m_zoom = std::clamp(area.width() / (kFramedCells * std::max(m_layout->cellWidth(), 0.01F)), 1.0F, largestZoom());
    centre(*rank);
    m_framed = true;
    return true;
}

void GridCamera::reveal(int rank)
{
    const Rect cell = transform().rect(m_layout->cell(rank)), area = cellsArea();
    if (cell.left < area.left || cell.right > area.right || cell.top < area.top || cell.bottom > area.bottom)
        centre(rank);
}

void GridCamera::centre(int rank)
{
    const Rect cell = m_layout->cell(rank), area = cellsArea();
    m_scrollX = (cell.left + cell.right) / 2 * m_zoom + kEdge - area.width() / 2;
    m_scrollY = (cell.top + cell.bottom) / 2 * m_zoom + kEdge - area.height() / 2;
    clamp();
}

} // namespace app
