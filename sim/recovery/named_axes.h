// The grid of ranks where ranks are named by their place in it.
#pragma once

#include "sim/recovery/evidence.h"

#include <string_view>

namespace sim {

/// Coordinates in "rank 5 (dp0 pp1 cp0 tp1)"; nothing where the name is another.
std::vector<std::pair<std::string, int>> coordinatesOfName(std::string_view);

/// Takes `said` where it is a grid of the whole world that every rank's own coordinates agree with; else what the coordinates say
/// by themselves, which takes all ranks of the world. Contradictions are said in `problems`. O(ranks · axes).
void nameAxes(RunEvidence&, std::vector<NamedAxis> said);

} // namespace sim
