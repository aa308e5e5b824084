// The schedule families. A family is one file that defines how it places stages and orders actions; families.cpp lists them.
#pragma once

#include "sim/schedule/evaluate.h"
#include "sim/schedule/schedule.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct ScheduleRequest {
    std::string kind = "1f1b";
    int ranks = 1;
    int virtualStages = 1;
    int microbatches = 1;
    int microbatchGroup = 0; ///< interleaving group N; 0 = ranks
    /// Runs the forward and the backward of the steady state as one block, so that one hides the other's expert communication;
    /// takes more warm-up forwards (Megatron's overlap_moe_expert_parallel_comm).
    bool overlapExpertComm = false;
    int slices = 1;                         ///< seq-1f1b: parts a sequence is cut into
    std::vector<std::string> customActions; ///< for `custom`

    // What kinds that plan by cost go by (zb-1p, zb-2p, auto); one entry for all parts of the model, or one a part.
    std::vector<PassTimes> times = std::vector<PassTimes>(1);
    std::vector<PassMemory> memory = std::vector<PassMemory>(1);
    double memoryCap = 0; ///< most activations a rank may hold, in units of `memory`; 0 = as much as 1F1B
};

/// What a family promises; `make` may assume that `unmet` returned nothing.
struct ScheduleFamily {
    std::string_view kind;                  ///< the contract's key
    std::string_view title;                 ///< for people: "Interleaved 1F1B"
    std::string_view character;             ///< one line: what it trades for what
    std::string_view source;                ///< paper or code
    int minVirtualStages, maxVirtualStages; ///< 0 = no upper limit
    /// What the request violates, with the numbers and the nearest legal values; nothing when it can be made.
    std::optional<std::string> (*unmet)(const ScheduleRequest&);
    Schedule (*make)(const ScheduleRequest&);
    bool plansByCost = false; ///< looks at times and memory of the request
};

std::span<const ScheduleFamily> scheduleFamilies();
const ScheduleFamily* findScheduleFamily(std::string_view kind);

/// Throws Error: unknown kind (nearest named), not available yet, or a constraint unmet.
Schedule makeSchedule(const ScheduleRequest&);

} // namespace sim
