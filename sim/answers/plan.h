// plan --json of rankscope-sim, and putting parts of one together.
#pragma once

#include "sim/answers/answers.h"
#include "sim/planner/least_change.h"
#include "sim/planner/phases.h"
#include "sim/planner/planner.h"
#include "sim/planner/robust.h"
#include "sim/planner/sensitivity.h"
#include "sim/planner/sizes.h"

#include <string>
#include <vector>

namespace sim {

/// `settings` of a layout are what it takes to simulate it from the document: what the request holds fixed too. Where no steps
/// of the hardware were measured, `no_ties` says so, and no `tie_with_first` is true.
Answer planAnswer(const PlanAnswer&, const PlanRequest&);
/// `gpus`: of the request that it is of.
Answer leastMemoryAnswer(const LeastMemory&, int gpus);
/// How many layouts were judged and how, and what is proved of the first: lines of text, of an answer or of what was merged.
std::string planProof(const Answer&);
Answer whyAnswer(const PlanWhy&, const PlanRequest&);
/// The plan of the fewest GPUs that meet the deadline, with `deadline`: what was tried on the way; `gpus` 0: none does.
Answer sizeAnswer(const SizeAnswer&, const PlanRequest&);

/// The best of each number of GPUs that was searched, those to which the search did not come, and where the run's tokens are
/// known the numbers that none of the others beats in both, days and GPU hours.
Answer sizesAnswer(const std::vector<PlanAnswer>&, const std::vector<int>& notBegun, const PlanRequest&);

/// A plan for each phase, with `phase`: its sequences, what changes before it and what the last phase's layout would take; and
/// those of the phases that were `asked` for to which the search did not come.
Answer phasesAnswer(const std::vector<PlannedPhase>&, const std::vector<Phase>& asked, const PlanRequest&);
Answer leastChangeAnswer(const LeastChange&);
Answer planSensitivityAnswer(const std::vector<PlanSensitivity>&, const PlanRequest&);
Answer robustAnswer(const RobustChoice&, const PlanRequest&);

/// What a part says, as one word that its answer ends with (`digest`): a file that was damaged or edited is no proof.
std::string partDigest(const Answer&);

/// The answers of all parts of one search as one: throws Error where they are not parts of the same, which says the files that
/// they are of, if these are given.
///
/// What it says is what the search in one piece says, bit for bit, where each was proved: `gpus`, `objective`, `held_fixed`,
/// `covered`, `proved`, `gap`, the first of `best` and, of `rejected`, grids that break a rule. What depends on the order that
/// layouts were looked at in, which a part does by itself, is put together: `seconds`, `evaluated`, `tightened` and `simulated`
/// add up, further places of `best` and `pareto` are of what any part tells, and why each other grid lost is said beside the
/// first of its part. `tie_with_first` is as the search in one piece says it of the same layout, null where parts do not say how
/// sure their steps are (`sure`), as those of earlier versions do not. The parts stand unchanged under `parts`.
Answer mergedPlans(const std::vector<Answer>&, int top, const std::vector<std::string>& files = {});

} // namespace sim
