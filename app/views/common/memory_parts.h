// What memory is made of, in the order and colours that every picture stacks it: bars, legend, labels.
#pragma once

#include "app/views/common/theme.h"
#include "sim/analysis/explain/explain.h"
#include "sim/simulate/metrics.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace app {

struct MemoryPart {
    const char* name;
    std::int64_t bytes = 0;
    Color color;
    sim::MetricId id{};
};
using MemoryParts = std::array<MemoryPart, 5>;

/// From the bottom, or the left: what stays before what comes and goes.
MemoryParts memoryParts(const sim::MemoryBreakdown&, const Theme&);
/// "parameters 3.21 GiB, gradients …": those that are not empty.
std::string memoryPartsText(const sim::MemoryBreakdown&);
std::int64_t capacityBytes(double memoryGib);

/// Height of a line of the legend.
inline constexpr float kMemoryLegendLine = 14;
/// In how many lines the legend of what `used` has goes into that width.
int memoryLegendLines(Canvas&, const sim::MemoryBreakdown& used, float width);
/// A swatch and its name for each part that `used` has, from the left; in as many lines as it takes.
void paintMemoryLegend(Canvas&, const Theme&, const sim::MemoryBreakdown& used, Rect);

/// Its colour where the GPU has no room for it; paintHatch comes over that.
Color withoutRoom(const MemoryPart&, const Theme&);

/// Slanted lines, `gap` pixels apart.
void paintHatch(Canvas&, Rect, Color, float gap = 6);

/// Parts from left to right, each with its name or its bytes where they fit. What lies beyond `limitBytes` does not fit the GPU
/// and is hatched; 0: no limit.
void paintMemoryBar(Canvas&, const Theme&, const sim::MemoryBreakdown&, Rect bar, double bytesPerPixel,
                    std::int64_t limitBytes = 0);

/// Values of a scale that starts at 0, in round numbers of bytes, at least `leastPixels` apart.
std::vector<std::int64_t> memoryTicks(double bytesPerPixel, float pixels, float leastPixels);
/// Of a tick: the unit of the largest one, without needless digits ("20 GiB", "0.5 GiB").
std::string memoryTickText(std::int64_t bytes, std::int64_t largest);
/// How much a scale shows, with some room: the limit too, unless what is held is less than `leastShare` of it.
double memoryScale(std::int64_t mostBytes, std::int64_t limitBytes, double room, double leastShare);

} // namespace app
