#include "app/views/grid/grid_motion.h"

#include <algorithm>
#include <chrono>

namespace app {

double GridMover::machineSeconds()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void GridMover::setAnimated(bool animated)
{
    m_animated = animated;
    if (!animated)
        stop();
}

void GridMover::start(const GridLayout& layout, const GridTransform& transform)
{
    stop();
    if (!m_animated)
        return;
    m_motion.emplace();
    for (int rank = 0; rank < layout.ranks(); ++rank)
        m_motion->from.push_back(transform.rect(layout.cell(rank)));
    m_began = m_clock();
}

const GridMotion* GridMover::advance(int ranks)
{
    constexpr double kSeconds = 0.18;
    if (!m_motion)
        return nullptr;
    const double share = std::max(0.0, (m_clock() - m_began) / kSeconds);
    if (!(share < 1) || m_motion->from.size() != static_cast<std::size_t>(ranks)) {
        stop();
        return nullptr;
    }
    m_motion->progress = static_cast<float>(share * share * (3 - 2 * share)); // starts and ends gently
    return &*m_motion;
}

} // namespace app
