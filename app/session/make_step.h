// What the window has made on its worker (app/session/worker.h): steps, in more detail, what an edit brings. Each takes long and
// looks at sim/cancel.h; each throws what the simulator throws.
#pragma once

#include "app/step/shown_step.h"
#include "sim/analysis/findings/findings.h"

#include <functional>
#include <optional>
#include <vector>

namespace app {

using SimulateFunction = std::function<SimulationPtr(const sim::Scenario&, const sim::SimulateOptions&)>;

/// With the memory that a step may have beside the one on screen: half of what the window has.
SimulationPtr simulateBeside(const SimulateFunction&, const sim::Scenario&, bool everyRank = false);
/// The actions of a step. `everyRank`: each one by itself instead of one of each class; same numbers, a row of its own in the
/// trace.
ShownStep makeStep(const SimulateFunction&, const sim::Scenario&, bool everyRank = false);
/// A step to the kernel.
ShownStep makeKernels(const SimulationPtr&);

/// What was found about a simulation.
using FindingList = std::vector<sim::Finding>;
/// An edit of a finding, simulated. Nothing: it could not be.
struct EditResult {
    std::size_t finding = 0, edit = 0;
    std::optional<sim::EditEffect> effect;
};
std::optional<sim::EditEffect> measureEdit(const SimulateFunction&, const sim::Simulation& before, const sim::SuggestedEdit&,
                                           const sim::ScenarioDocument&, const sim::Catalogue&);

} // namespace app
