// The fullest ranks of two steps beside each other: what they hold at their peaks, against what a GPU has.
#pragma once

#include "app/canvas/canvas.h"
#include "app/views/common/theme.h"
#include "sim/analysis/compare.h"

#include <string>

namespace app {

void paintMemoryPair(Canvas&, const Theme&, const sim::Comparison&, Rect area);
/// The parts that differ, the largest first: "+3.10 GiB: activations +2.80 GiB, buffers +300 MiB" and shorter.
std::vector<std::string> memoryChangeTexts(const sim::Comparison&);
/// What is at a place of that area; empty for nothing.
std::string describeMemoryPair(const sim::Comparison&, Rect area, Point);

} // namespace app
