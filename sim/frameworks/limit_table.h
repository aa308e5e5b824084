// The table of what frameworks cannot do of what is legal. Private to sim/frameworks.
#pragma once

#include "sim/scenario/scenario.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sim {

enum class Breach : std::uint8_t {
    refused,  ///< the framework stops with an error
    otherwise ///< it has no setting for it, and runs another job
};

struct LayoutLimit {
    std::string_view framework;
    Breach breach;
    bool (*breaks)(const Scenario&);
    std::string (*text)(const Scenario&);
};

/// In the order in which they are told: what the framework refuses first.
std::span<const LayoutLimit> layoutLimits();

/// What Megatron says of a stage of its FSDP in a pipeline, by the stage that the scenario has.
std::string fsdpPipelineText(const Scenario&);
bool isPartlyRecomputed(const Scenario&);
bool isSelective(const Scenario&);
/// Whether Megatron hides experts' transfers beside the passes of another micro-batch (transformer_config.py, __post_init__).
bool hidesExperts(const Scenario&);

} // namespace sim
