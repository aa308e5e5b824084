// The path as people teach it, walked with a job's own model and cluster: does a layer fit a GPU, the model a GPU, a node, how
// many nodes make one copy; then as many copies as there are GPUs for; and where each dimension's traffic goes. Every number is
// of the engine: what is asked of a gate is laid out and simulated.
#pragma once

#include "sim/planner/planner.h"

#include <optional>
#include <string>
#include <vector>

namespace sim {

struct GuideGate {
    std::string question; ///< "Does one layer fit a GPU?"
    bool yes = false;
    double needGib = 0, haveGib = 0; ///< of a GPU
    std::string numbers;             ///< what takes it
    std::string then;                ///< what follows from the answer
};

/// What one dimension sends.
struct GuideTraffic {
    Dimension dimension = Dimension::tp;
    int size = 1;
    std::string name;          ///< "tp 8"; of experts that are cut "ep 1, etp 8"
    double gbPerGpu = 0;       ///< that a GPU of a middle stage sends in a step
    double outsideShare = 0;   ///< of it, beyond the innermost tier
    std::string tier;          ///< name of the outermost that it crosses
    double tierGBs = 0;        ///< of that, a GPU while all send, one direction
    double exposedSeconds = 0; ///< of the step, that kernels wait for it
};

struct PlanGuide {
    int gpus = 0;
    std::vector<GuideGate> gates;      ///< in the order walked
    std::vector<GuideTraffic> traffic; ///< of the dimensions above 1, the most sent first
    /// Where the path leads: as a search's layouts, and simulated as the job is; nothing where it leads nowhere.
    std::optional<PlannedLayout> layout;
    std::string end; ///< where it does not: why
};

/// Model, cluster, batch and GPUs are the request's. Throws Error as plan() does; ends with Cancelled.
PlanGuide planGuide(const PlanRequest&, const Catalogue&);

/// The request's job laid out by these settings alone: nothing of its own layout and schedule is left. With those of a guide's
/// layout it simulates to that one's numbers.
ScenarioDocument guideDocument(const PlanRequest&, const std::vector<PlanSetting>&);

} // namespace sim
