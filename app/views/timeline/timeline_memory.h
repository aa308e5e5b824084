// Memory under the timeline: what one rank holds, on the time axis of the spans above.
#pragma once

#include "app/views/timeline/timeline_painter.h"

#include <optional>
#include <string>

namespace app {

/// What a row's memory counter says.
struct MemoryCurve {
    int row = 0;
    std::size_t counter = 0;
    std::int64_t peakBytes = 0, peakNs = 0;
    std::int64_t statesBytes = 0;   ///< held from first to last: weights, gradients, optimizer; 0 where nobody knows
    std::int64_t capacityBytes = 0; ///< of the GPU; 0 where nobody knows
};

/// Of the rank in focus, else of row `otherwise`, else of the first row that has a counter; nothing if the trace counts no
/// memory.
std::optional<MemoryCurve> memoryCurve(const TimelineModel&, const Selection&, int otherwise = -1);

/// Per pixel column the highest value of a counter, `scaleBytes` as high as the area.
void paintCounter(Canvas&, const CounterLevels&, const TimeAxis&, Rect area, double scaleBytes, Color);

/// The curve with its peak, the part that is always there, and the GPU's limit where the scale reaches it.
void paintMemory(Canvas&, const TimelineScene&);

/// What is held at a time, in lines.
std::string memoryText(const TimelineModel&, const MemoryCurve&, std::int64_t beginNs, std::int64_t endNs);

} // namespace app
