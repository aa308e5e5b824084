// Cells on their way from one arrangement to another.
#pragma once

#include "app/views/grid/grid_camera.h"
#include "app/views/grid/grid_painter.h"

#include <functional>
#include <optional>

namespace app {

class GridMover {
public:
    void setAnimated(bool);
    /// Seconds from any moment on.
    void setClock(std::function<double()> clock) { m_clock = std::move(clock); }

    /// From where all cells are now.
    void start(const GridLayout&, const GridTransform&);
    void stop() { m_motion.reset(); }
    /// To be asked once a frame: nullptr when everything has arrived.
    const GridMotion* advance(int ranks);
    bool moving() const { return m_motion.has_value(); }

private:
    static double machineSeconds();

    bool m_animated = true;
    std::function<double()> m_clock = machineSeconds;
    std::optional<GridMotion> m_motion;
    double m_began = 0;
};

} // namespace app
