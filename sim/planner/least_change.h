// The smallest change of a job that does not fit its GPUs with which it does: as few settings as can be, and of those changes the
// fastest. Nothing here estimates: that a smaller change does not fit is proved as a plan is, and the one that is named was
// simulated.
#pragma once

#include "sim/analysis/findings/findings.h"
#include "sim/planner/planner.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sim {

/// Of what may be changed, in the order in which one would rather: recomputation, micro-batch, ZeRO stage, sequence parallelism;
/// then the sizes that say how the model is split; by themselves, how many tokens the loss takes at a time and narrow copies of
/// parameters; by itself or beside one of the first three, what of the optimizer the host holds. Everything else stays, or
/// follows from them. More GPUs come last.
struct ChangedSetting {
    std::string pointer;       ///< "layout.tp"
    std::string before, after; ///< as a person says them: "none", "full, 3 layers of each chunk", "4"
    std::string json;          ///< of `after`
};

struct LeastChange {
    bool fitsAlready = false;
    std::vector<ChangedSetting> settings; ///< in that order; empty: nothing of what may be changed helps
    SuggestedEdit edit;                   ///< the same with what has to follow it; of the request's document
    int gpusBefore = 0, gpus = 0;
    double capacityGib = 0; ///< that a GPU may hold: without what is to stay free, and within the file's cap
    double peakBeforeGib = 0, peakGib = 0;
    bool overfillsHost = false; ///< what it offloads does not fit the host of a node
    double hostCapacityGib = 0, hostBeforeGib = 0, hostGib = 0;
    bool keepsSplit = true;                        ///< nothing of how the model and the batch lie on the GPUs changes
    double stepBeforeSeconds = 0, stepSeconds = 0; ///< of the engine; the step before as if it fitted
    int setsTried = 0;                             ///< of settings
    std::string searched;                          ///< of all that can be changed what was not held: "recompute, tp, pp"
    std::string besideOffload;                     ///< of these one may change with it: "recompute, micro-batch or ZeRO stage"
    bool triesModules = false, triesOffload = false, triesBesideOffload = false, offloadsParts = true;
    /// That no fewer settings are enough, and that none with as many is faster: where this one leaves the split, of those that
    /// do. Without settings: that nothing is.
    bool proved = false;
    bool found() const { return !settings.empty(); }
    bool keepsGpus() const { return gpus == gpusBefore; }
    /// What changes, whether it then fits, and what it costs: a line or two.
    std::string text() const;
    std::string proofText() const; ///< what `proved` says of it, and of how many sets; only where one was found
};

/// Of the request: its document with what it holds, its framework and margin; `gpus` is the most that may be used, 0: sixteen
/// times as many as there are. First of all as many GPUs as there are, then as few settings as can be, then those that leave the
/// model's split as it is, then the fastest; of more GPUs as few of the usual sizes as can be. Throws Error as plan() does, of a
/// job that is not legal as it stands, and Cancelled.
LeastChange leastChange(const PlanRequest&, const Catalogue&);

/// The document with it.
ScenarioDocument withChange(const ScenarioDocument&, const LeastChange&);

} // namespace sim
