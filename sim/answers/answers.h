// What the commands of rankscope-sim answer with --json, one function a command: the same for the program, for expressions in
// files, and for whoever embeds the library.
#pragma once

#include "sim/analysis/findings/findings.h"
#include "sim/analysis/step_times.h"
#include "sim/analysis/whole_run.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <vector>

namespace sim {

/// Keys in the order in which they are written.
using Answer = nlohmann::ordered_json;

/// What is wrong with a scenario: file, pointer, message, severity. Of `validate --json` and `batch`.
Answer problemAnswer(const Problem&);
/// simulate --json
Answer stepAnswer(const Simulation&);
/// What is said of the step: "findings" of simulate --json.
void addFindings(Answer&, const std::vector<Finding>&);
/// And what each edit that is offered brings, and how sure that is: "tried". Simulates once for each.
void addFindings(Answer&, const std::vector<Finding>&, const Simulation&, const ScenarioDocument&, const Catalogue&);
/// "run" of simulate --json: tokens, steps, days, GPU hours, and where it is known, "most_energy_kwh" of the GPUs.
Answer runAnswer(const WholeRun&);
/// simulate --json --steps: "step_times".
void addStepTimes(Answer&, const StepTimes&);
/// simulate --json --explain: "because", formula, values and source of each number of stepAnswer's, and "sensitivity", the
/// constants that the step time hangs on. Takes as long as some thirty simulations.
void addBecause(Answer&, const Simulation&);
/// memory --json, in GiB
Answer memoryAnswer(const Simulation&);
/// traffic --json, in bytes. O(flows).
Answer trafficAnswer(const Simulation&);
/// describe --json. `parametersOfRanks`: of each pipeline rank, before any sharding. `document`: has what no scenario takes up
/// and a file keeps, as what was on screen.
Answer describeAnswer(const Scenario&, const std::vector<std::int64_t>& parametersOfRanks,
                      const ScenarioDocument* document = nullptr);
Answer describeAnswer(const Simulation&);
/// groups --rank N --json
Answer rankAnswer(const Mesh&, const Placement&, int rank);

} // namespace sim
