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

/// The same two, begun and waited for apart: the rank computes meanwhile. One at a time. Lives as long as the rank, as the
/// communicator may write into it until the run has ended.
class RowsUnderWay {
public:
    void startGather(RankContext&, const Shape&, Tensor local, std::string_view name);
    Task<AllRows> gathered();
    void startSum(RankContext&, const Shape&, Array partial, std::string_view name);
    Task<Array> summed();

private:
    Task<> wait();

    Tensor m_local;
    Array m_partial, m_result;
    std::unique_ptr<Communication> m_transfer; ///< none where tp needs none
};

} // namespace live
