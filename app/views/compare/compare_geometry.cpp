#include "app/views/compare/compare_geometry.h"

#include "app/views/common/measures.h"

#include <algorithm>
#include <cmath>

namespace app {

CompareFrame::CompareFrame(Rect area, bool hasControls, bool causesOnly)
{
    constexpr float kTop = 8, kControls = 34;
    constexpr float kLowestWithTimelines = 330, kLowestWaterfall = 110, kHighestWaterfall = 176;
    constexpr float kNarrowestWithMemory = 640, kMemoryShare = 0.32F, kWidestMemory = 420;
    constexpr float kMemoryBelow = 128; // the two bars with their words, where there is no room beside
    const Rect inner{area.left + kMargin, area.top + kTop, area.right - kMargin, area.bottom};
    const bool withTimelines = !causesOnly && area.height() >= kLowestWithTimelines;
    const bool beside = inner.width() >= kNarrowestWithMemory;
    const float leastBelow = causesOnly ? kTop + kLowestWaterfall + kMemoryBelow + 10 : kLowestWithTimelines + 2 * kMemoryBelow;
    const bool below = !beside && area.height() >= leastBelow;
    const float waterfallHeight = withTimelines
                                      ? std::floor(std::clamp(area.height() * 0.24F, kLowestWaterfall, kHighestWaterfall))
                                      : inner.height() - 4 - (below ? kMemoryBelow + 6 : 0);
    waterfall = {inner.left, inner.top, inner.right, inner.top + waterfallHeight};
    float top = std::min(waterfall.bottom + 6, area.bottom);
    memory = {inner.left, top, inner.right, top};
    if (beside) {
        const float width = std::floor(std::min(inner.width() * kMemoryShare, kWidestMemory));
        memory = {inner.right - width, inner.top, inner.right, waterfall.bottom};
        waterfall.right = memory.left - 2 * kMargin;
    } else if (below) {
        memory.bottom = memory.top + kMemoryBelow;
        top = memory.bottom + 6;
    }
    controls = {area.left, top, area.right, withTimelines && hasControls ? top + kControls : top};
    timelines = {area.left, controls.bottom, area.right, withTimelines ? area.bottom : controls.bottom};
}

} // namespace app
