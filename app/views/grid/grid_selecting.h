// How pointer and keys change which ranks are selected. All return true if the selection changed.
#pragma once

#include "app/step/selection.h"
#include "app/views/grid/grid_layout.h"

#include <optional>
#include <vector>

namespace app {

bool selectOne(Selection&, std::optional<int> rank);
/// `lead` is one of them. None: nothing changes.
bool selectAll(Selection&, std::vector<int> ranks, int lead);
/// The process group of the rank in focus.
bool selectGroup(Selection&, const sim::Mesh&, sim::ProcessGroup);
/// By number, from the selected one on.
bool selectNext(Selection&, int worldSize, int by);
/// To the cell beside, whatever its number: `right` and `down` are -1, 0 or 1. Empty places are skipped.
bool selectBeside(Selection&, const GridLayout&, int right, int down, int steps);

} // namespace app
