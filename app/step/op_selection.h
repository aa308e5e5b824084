// The selection of all views, as what a table of ops asks for.
#pragma once

#include "app/step/class_names.h"
#include "app/step/selection.h"
#include "sim/analysis/op_table.h"
#include "sim/simulate/simulation.h"

namespace app {

/// Its ranks (each by the rank that it is like), its range and its classes. `simulation`: what the trace is of; nullptr: more is
/// not known of it.
sim::OpSelection opSelection(const sim::Simulation* simulation, const sim::Trace&, const Selection&);
/// As sim::opTable(), but classes are called as everywhere on screen.
sim::OpTable shownOpTable(const sim::Trace&, const ClassNames&, sim::OpGrouping, const sim::OpSelection&);

} // namespace app
