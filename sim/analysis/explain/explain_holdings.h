// Why a rank keeps as many bytes of a tensor from step to step as it does. Like explain(), and shown the same way.
#pragma once

#include "sim/analysis/explain/explain.h"
#include "sim/analysis/holdings.h"

#include <string>

namespace sim {

/// All of it: a sum over its groups of layers.
Explanation explainStored(const Holdings&);
/// "layers 0–7": a sum over tensors.
Explanation explainStored(const Holdings&, const HoldingGroup&, const std::string& name);
/// A tensor, or one of its states alone.
Explanation explainStored(const Holdings&, const TensorHolding&, std::int64_t MemoryBreakdown::*state = nullptr);

} // namespace sim
