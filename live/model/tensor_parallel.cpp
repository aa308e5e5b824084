#include "live/model/tensor_parallel.h"

namespace live {

Task<AllRows> gatherRows(RankContext& context, const Shape& shape, Tensor local, std::string_view name)
{
    AllRows all{{}, local};
    if (shape.sequenceParallel) {
        all.owned = context.memory.allocate(local.type, shape.rows, local.columns);
        all.tensor = all.owned;
        co_await context.allGather(Group::tp, local, all.tensor, name);
    }
    co_return all;
}

Task<Array> sumRowsOverTp(RankContext& context, const Shape& shape, Array partial, std::string_view name)
{
    if (!shape.sequenceParallel) {
        if (shape.tp > 1)
            co_await context.allReduce(Group::tp, partial, name);
        co_return partial;
    }
    Array local = context.memory.allocate(partial->type, shape.localRows, partial->columns);
    co_await context.reduceScatter(Group::tp, partial, local, name);
    co_return local;
}

} // namespace live
