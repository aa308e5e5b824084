// The edges of tensor- and sequence-parallel regions: f and g of Megatron-LM (Shoeybi et al. 2019; Korthikanti et al. 2022).
// Outside a region rows are sharded over tp with sequence parallelism, repeated without; inside all rows are there.
#pragma once

#include "live/model/rank_context.h"
#include "live/model/shape.h"

#include <string_view>

namespace live {

/// All rows of a row-sharded tensor (with sequence parallelism), else the tensor itself and no memory.
struct AllRows {
    Array owned;
    Tensor tensor;
};
Task<AllRows> gatherRows(RankContext&, const Shape&, Tensor local, std::string_view name);

/// The sum over tp of a tensor of all rows, with sequence parallelism only this rank's rows of it.
Task<Array> sumRowsOverTp(RankContext&, const Shape&, Array partial, std::string_view name);

} // namespace live
