// The fullest ranks of two steps beside each other: what they hold at their peaks, against what a GPU has.
#pragma once

#include "app/canvas/canvas.h"
#include "app/views/common/theme.h"
#include "app/views/compare/waterfall.h"
#include "sim/analysis/compare.h"

#include <string>

namespace app {

/// `numbers`: those of the two steps can be asked; nullptr: none can.
void paintMemoryPair(Canvas&, const Theme&, const sim::Comparison&, Rect area, DrawnNumbers* numbers = nullptr,
                     const ComparedSteps& = {});
/// Where what is at a place of that area comes from.
Becauses becauseOfMemoryPair(Rect area, Point, const ComparedSteps&);
/// The parts that differ, the largest first: "+3.10 GiB: activations +2.80 GiB, buffers +300 MiB" and shorter.
std::vector<std::string> memoryChangeTexts(const sim::Comparison&);
/// What is at a place of that area; empty for nothing.
std::string describeMemoryPair(const sim::Comparison&, Rect area, Point);

} // namespace app
