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

void RowsUnderWay::startGather(RankContext& context, const Shape& shape, Tensor local, std::string_view name)
{
    m_local = local;
    if (!shape.sequenceParallel)
        return;
    m_result = context.memory.allocate(local.type, shape.rows, local.columns);
    m_transfer = std::unique_ptr<Communication>(new Communication(context.allGather(Group::tp, local, m_result, name)));
    m_transfer->start();
}

Task<AllRows> RowsUnderWay::gathered()
{
    co_await wait();
    const Tensor all = m_result ? m_result.tensor() : m_local;
    co_return AllRows{std::move(m_result), all};
}

void RowsUnderWay::startSum(RankContext& context, const Shape& shape, Array partial, std::string_view name)
{
    m_partial = std::move(partial);
    if (shape.tp == 1)
        return;
    if (shape.sequenceParallel) {
        m_result = context.memory.allocate(m_partial->type, shape.localRows, m_partial->columns);
        m_transfer =
            std::unique_ptr<Communication>(new Communication(context.reduceScatter(Group::tp, m_partial, m_result, name)));
    } else {
        m_transfer = std::unique_ptr<Communication>(new Communication(context.allReduce(Group::tp, m_partial, name)));
    }
    m_transfer->start();
}

Task<Array> RowsUnderWay::summed()
{
    co_await wait();
    Array partial = std::move(m_partial);
    Array result = std::move(m_result);
    co_return result ? std::move(result) : std::move(partial);
}

Task<> RowsUnderWay::wait()
{
    if (!m_transfer)
        co_return;
    co_await m_transfer->done();
    m_transfer.reset();
}

} // namespace live
