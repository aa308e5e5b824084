// Edits: what one gesture in the form does to a scenario document. A change of one number may carry others with it (dp gives way
// when tp grows on the same GPUs; nodes follow the world size), and the name of the edit says so: "tp 4 → 8, dp 4 → 2".
#pragma once

#include "app/session/scenario_state.h"
#include "sim/schedule/schedule.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace app {

/// Pointers of the keys that code speaks of; the form has all of scenario_keys.h.
struct Control {
    static constexpr std::string_view tp = "/layout/tp", cp = "/layout/cp", pp = "/layout/pp", dp = "/layout/dp",
                                      ep = "/layout/ep", nodes = "/cluster/nodes", virtualStages = "/schedule/virtual_stages",
                                      microBatchSize = "/training/micro_batch_size",
                                      globalBatchSize = "/training/global_batch_size",
                                      sequenceLength = "/training/sequence_length";
};

struct Assignment {
    std::string pointer;
    std::optional<std::string> json; ///< nothing: erase the key
};

/// One undoable step.
struct Edit {
    std::vector<Assignment> assignments;
    std::string text;
    /// Moves of one slider drag share a gesture and become one step; 0 never merges.
    int gesture = 0;
    /// Takes the place of the whole text; assignments are not looked at then.
    std::optional<std::string> document = std::nullopt;
};

/// How the layout gives way when one of its sizes changes.
enum class LayoutRule {
    keepGpus, ///< dp absorbs changes of tp, cp and pp; the world keeps its size
    resize    ///< the world grows and shrinks
};

/// Gives any key of the form a value (JSON text), or takes it away, with all that has to follow it.
Edit makeEdit(const ScenarioState&, std::string_view pointer, const std::optional<std::string>& json, LayoutRule);

/// Of a whole number: what the document says, else what the last legal scenario had (a base or a default), else 1.
int controlValue(const sim::ScenarioDocument&, const sim::Scenario* lastLegal, std::string_view pointer);
/// Under keepGpus, false where no whole dp keeps the world size; makeEdit then changes the one number alone.
bool keepsGpus(const sim::ScenarioDocument&, const sim::Scenario* lastLegal, std::string_view pointer, int value);
/// A size of the layout or another whole number. In both rules nodes follow the world size where the job filled its cluster or
/// no longer fits it.
Edit makeEdit(const sim::ScenarioDocument&, const sim::Scenario* lastLegal, std::string_view pointer, int value, LayoutRule);

/// Adds a perturbation ("slow_gpu") that can be seen.
Edit makePerturbationEdit(const ScenarioState&, std::string_view kind);
/// Takes one away.
Edit makeRemovalEdit(const ScenarioState&, std::size_t perturbation);

/// Chooses a schedule family; virtual stages move into its range with it.
Edit makeScheduleEdit(const sim::ScenarioDocument&, const sim::Scenario* lastLegal, std::string_view kind);
/// Makes a schedule of the present pipeline and batch the scenario's own, action by action.
Edit makeOrderEdit(const sim::ScenarioDocument&, const sim::Scenario* lastLegal, const sim::Schedule&);
/// Asks for a synthesised schedule of so many chunks a rank in so much memory of a GPU.
Edit makeSynthesisEdit(const sim::ScenarioDocument&, int virtualStages, double memoryGib);
/// Why a schedule cannot be kept as a custom one; empty if it can.
std::string whyNotCustom(const sim::Schedule&);
/// Replaces the model, its overrides included.
Edit makeModelEdit(const sim::ScenarioDocument&, const sim::Catalogue&, std::string_view id);
/// Replaces the cluster with enough nodes for the layout.
Edit makeClusterEdit(const sim::ScenarioDocument&, const sim::Scenario* lastLegal, const sim::Catalogue&, std::string_view id);
/// Of a cluster in the catalogue.
int gpusPerNode(const sim::Catalogue&, std::string_view clusterId);
/// Sets one key; `before` and `after` are what a person reads.
Edit makeKeyEdit(std::string pointer, std::string json, std::string_view name, std::string_view before, std::string_view after);
/// A list of layers a stage is as long as there are stages: with another number of them the balanced default takes its place.
void letLayersFollow(Edit&, const sim::ScenarioDocument&);

/// A string as JSON text.
std::string quoted(std::string_view);
void apply(sim::ScenarioDocument&, const Edit&);

} // namespace app
