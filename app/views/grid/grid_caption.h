// The texts around the rank grid: what the colours mean, above at the right; about the rank in focus, below.
#pragma once

#include "app/views/grid/grid_painter.h"

namespace app {

/// Longest first: "tp 2 × dp 2 = 4 ranks  ·  one node of 8 GPUs", without the nodes, where they are known, "4 ranks"; of a grid
/// that nobody knows "4 ranks  ·  grid not known".
std::vector<std::string> worldTexts(const sim::Simulation&, const KnownGrid&);
/// Room that the meaning of the colours wants at the right of the lenses' line; 0 if the line is too short for it.
float meaningWidth(const GridFrame&);

/// All about a rank, in lines; `live` may be nullptr.
std::string rankTip(const sim::Simulation&, const GridReading&, const std::vector<RankNow>* live, int rank);

void paintCaption(Canvas&, const GridScene&);

} // namespace app
