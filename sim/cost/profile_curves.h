// Which curve of a measured profile prices a kernel or a transfer: the names in assets/scenario.schema.json.
#pragma once

#include "sim/program/program.h"

#include <string>

namespace sim {

/// "gated_silu.backward"; empty where there is none (what has no weights has no weight gradient).
std::string kernelCurveName(KernelFamily, KernelPass, const Scenario&);
inline constexpr const char* kSendCurveName = "send";

} // namespace sim
