#include "live/comm/communicator.h"

#include "live/tasks/worker_pool.h"

#include <array>

namespace live {

const char* commKindName(CommKind kind)
{
    constexpr std::array<const char*, 8> kNames = {"all-reduce", "reduce-scatter", "all-gather", "all-to-all",
                                                   "send",       "receive",        "broadcast",  "barrier"};
    return kNames[static_cast<std::size_t>(kind)];
}

void Completion::finish(WorkerPool& pool)
{
    void* waiter = m_state.exchange(doneMark(), std::memory_order_acq_rel);
    if (waiter)
        pool.post(std::coroutine_handle<>::from_address(waiter));
}

void Completion::fail(WorkerPool& pool, std::exception_ptr exception)
{
    m_exception = std::move(exception);
    finish(pool);
}

} // namespace live
