// A recovered job as a scenario, so that its simulation can be laid beside it.
#pragma once

#include "sim/mesh/mesh.h"
#include "sim/recovery/recover.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace sim {

/// What a trace does not say of a scenario, and why.
struct UnknownKey {
    std::string pointer; ///< "/model"
    std::string why;     ///< "a trace does not name the model; taken from the scenario given"
};

/// Where all ranks were recorded, a host each has as many as the others, one after the other: how many. Else nothing.
std::optional<int> recordedRanksOfANode(const Recovered&);

/// A cluster's JSON with nodes of which only so many GPUs are used, as a scenario has them: these are its nodes, and what joined
/// whole nodes joins these. Nothing changes where its nodes are no larger, or its tiers are not written out.
void fitNodes(nlohmann::ordered_json& cluster, int ranksOfANode);

/// Of a grid that is known but for some axes, which a layout has as data parallel: that nobody knows what these are for, in one
/// sentence. Else empty.
std::string unnamedAxesText(const RecoveredAxes&);
/// Where a mesh, of a layout that scenarioOf() made, has ranks elsewhere than they were recovered, as no layout parts an axis by
/// another: which axis, in one sentence. Else empty. O(ranks).
std::string misplacedAxisText(const RecoveredAxes&, const Mesh&);

/// Throws Error with unknownGrid() where that is not empty: a layout of such a run would be made up.
void requireKnownGrid(const RecoveredAxes&);

/// `base` is a scenario file's JSON that gives what no trace holds: model, cluster, sequences. Layout, schedule and batch are the
/// recovered ones. Unlike a reader's notes, unknown keys are no problems: they are what a person has to say.
nlohmann::ordered_json scenarioOf(const Recovered&, nlohmann::ordered_json base, std::vector<UnknownKey>& unknown);

} // namespace sim
