// Edits: what one gesture in the form does to a scenario document. A change of one number may carry others with it (dp gives way
// when tp grows on the same GPUs; nodes follow the world size), and the name of the edit says so: "tp 4 → 8, dp 4 → 2".
#pragma once

#include "sim/scenario/document.h"
#include "sim/schedule/schedule.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace app {

/// The numbers of a scenario that the form steps through.
enum class Control { tp, cp, pp, dp, ep, nodes, virtualStages, microBatchSize, globalBatchSize, sequenceLength };
inline constexpr std::array kControls{Control::tp,
                                      Control::cp,
                                      Control::pp,
                                      Control::dp,
                                      Control::ep,
                                      Control::nodes,
                                      Control::virtualStages,
                                      Control::microBatchSize,
                                      Control::globalBatchSize,
                                      Control::sequenceLength};
std::string_view controlPointer(Control); ///< "/layout/tp"
std::string_view controlName(Control);    ///< "tp"

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
};

/// How the layout gives way when one of its sizes changes.
enum class LayoutRule {
    keepGpus, ///< dp absorbs changes of tp, cp and pp; the world keeps its size
    resize    ///< the world grows and shrinks
};

/// What the document says, else what the last legal scenario had (a base or a default), else 1.
int controlValue(const sim::ScenarioDocument&, const sim::Scenario* lastLegal, Control);

/// Under keepGpus, false where no whole dp keeps the world size; makeEdit then changes the one number alone.
bool keepsGpus(const sim::ScenarioDocument&, const sim::Scenario* lastLegal, Control, int value);
/// In both rules nodes follow the world size where the job filled its cluster or no longer fits it.
Edit makeEdit(const sim::ScenarioDocument&, const sim::Scenario* lastLegal, Control, int value, LayoutRule);

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
/// Sets one key; `before` and `after` are what a person reads.
Edit makeKeyEdit(std::string pointer, std::string json, std::string_view name, std::string_view before, std::string_view after);

/// A string as JSON text.
std::string quoted(std::string_view);
void apply(sim::ScenarioDocument&, const Edit&);

} // namespace app
