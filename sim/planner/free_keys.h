// The keys of a scenario that a plan searches. Private to sim/planner.
#pragma once

#include "sim/planner/space.h"

#include <array>
#include <string_view>

namespace sim {

struct FreeKeyFacts {
    std::string_view pointer;
    bool FreeKeys::*isFree;
};
inline constexpr std::array<FreeKeyFacts, 17> kFreeKeys{{{"layout.tp", &FreeKeys::tp},
                                                         {"layout.cp", &FreeKeys::cp},
                                                         {"layout.pp", &FreeKeys::pp},
                                                         {"layout.dp", &FreeKeys::dp},
                                                         {"layout.ep", &FreeKeys::ep},
                                                         {"layout.etp", &FreeKeys::etp},
                                                         {"layout.order", &FreeKeys::order},
                                                         {"layout.placement", &FreeKeys::placement},
                                                         {"training.micro_batch_size", &FreeKeys::microBatch},
                                                         {"training.global_batch_size", &FreeKeys::batch},
                                                         {"layout.sequence_parallel", &FreeKeys::sequenceParallel},
                                                         {"layout.zero_stage", &FreeKeys::zeroStage},
                                                         {"layout.dp_shard", &FreeKeys::dpShard},
                                                         {"schedule.kind", &FreeKeys::kind},
                                                         {"schedule.virtual_stages", &FreeKeys::chunks},
                                                         {"schedule.layers_per_stage", &FreeKeys::layersPerStage},
                                                         {"training.recompute", &FreeKeys::recompute}}};

} // namespace sim
