#include "app/views/timeline/narrow_spans.h"

#include <algorithm>

namespace app {
namespace {

constexpr double kAmongNarrow = 6; ///< pixels from which a span between two narrow ones stands alone

} // namespace

bool NarrowSpans::isLonePause(std::size_t span) const
{
    const double pause = pauseBefore(span);
    return pause >= kLonePause && pause > 2 * std::max(pauseBefore(span - 1), pauseBefore(span + 1));
}

bool NarrowSpans::standsAlone(std::size_t span) const
{
    const double width = pixelsOf(span);
    const auto isNarrow = [&](std::size_t neighbour, std::size_t later) {
        return !isParted(later) && pixelsOf(neighbour) < kWidest;
    };
    if (width < kWidest || width >= kAmongNarrow)
        return width >= kAmongNarrow;
    return span == 0 || !isNarrow(span - 1, span) || span + 1 >= m_track.size() || !isNarrow(span + 1, span + 1);
}

} // namespace app
