// Recomputation by single operators (RecomputeModule::operators). Private to sim/model.
#pragma once

#include "sim/model/operators.h"
#include "sim/model/tensors.h"

#include <vector>

namespace sim {

/// Of a layer's tensors, in their order: whose product runs again.
std::vector<bool> productsRunAgain(const std::vector<Tensor>&);
/// Gives each operator of a layer its rerunShare and rerunBytes. `activationBytes`: of a tensor between two blocks.
void assignOperatorPolicy(OperatorList&, const Sharding&, const std::vector<Tensor>&, std::int64_t activationBytes);

} // namespace sim
