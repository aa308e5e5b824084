// Accelerate's file, alone and beside the settings of what it launches: "" or "accelerate." stands in front of its names.
#pragma once

#include "sim/frameworks/dialects/deepspeed.h"
#include "sim/frameworks/dialects/fsdp.h"

#include <optional>
#include <string>

namespace sim::frameworks {

struct AccelerateAxes {
    int replicate = 1;          ///< whole copies of the model, shards apart
    std::optional<int> shard{}; ///< data-parallel ranks that share one; nothing: not said
    bool areCounted = false;    ///< whether its processes say how many ranks there are
};
/// Its processes and ParallelismConfig: tp, cp, GPUs of the job. Before settleWorld.
AccelerateAxes readAccelerateAxes(Job&, const std::string& prefix);

/// How a job's states are shared among replicas.
struct Sharding {
    FsdpFacts fsdp{};
    std::optional<DeepSpeedFacts> deepSpeed{}; ///< where DeepSpeed does it; its stage is the FSDP facts', too
};
/// What Accelerate's file says of it. After the world is settled.
Sharding readAccelerateSharding(Job&, const std::string& prefix);
/// deepspeed_config.offload_optimizer_device, which DeepSpeed's own file goes before. After what that says.
void readOffloadOfAccelerate(Job&, const std::string& prefix);
/// What of the file says neither layout nor batch.
void harmlessOfAccelerate(Reading&, const std::string& prefix);

} // namespace sim::frameworks
