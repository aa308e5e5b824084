// What actions, ops and transfers are as spans, for whoever draws or records one.
#pragma once

#include "sim/mesh/dimension.h"
#include "sim/program/program.h"
#include "sim/schedule/schedule.h"
#include "sim/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sim {

OpClass opClassOf(ActionKind);
OpClass opClassOf(const Op&);
OpClass opClassOf(Dimension); ///< of its communication
/// Fused or as single kernels: attention's products and softmax count as attention.
bool isAttention(const OpShape&);
std::optional<ActionKind> actionKindOf(OpClass); ///< the other way round

/// What people read of a span: of a pass its action, "F1", `withStage` "F1 (stage 2)"; else what its op is called.
std::string spanName(const Trace&, std::uint32_t track, std::size_t span, bool withStage = false);

} // namespace sim
