#include "live/comm/cuda/sends_under_way.h"

#include "sim/error.h"

#include <utility>

namespace live::cuda {

void SendsUnderWay::add(Completion& completion, int gpu, SharedEvent done)
{
    const std::lock_guard lock(m_mutex);
    m_sends.push_back({&completion, gpu, std::move(done), {}});
}

bool SendsUnderWay::finishPassed()
{
    std::vector<Send> passed;
    {
        const std::unique_lock lock(m_mutex, std::try_to_lock);
        if (!lock || m_sends.empty())
            return false;
        std::erase_if(m_sends, [&](Send& send) {
            try {
                makeCurrent(send.gpu); // any worker asks, also one that has never used a GPU
                if (!hasPassed(send.done.get()))
                    return false;
            } catch (const sim::Error&) { // the GPU is lost: its rank says so
                send.failure = std::current_exception();
            }
            passed.push_back(std::move(send));
            return true;
        });
    }
    for (const Send& send : passed)
        if (send.failure)
            send.completion->fail(m_pool, send.failure);
        else
            send.completion->finish(m_pool);
    return !passed.empty();
}

void SendsUnderWay::fail(const std::string& why)
{
    std::vector<Send> sends;
    {
        const std::lock_guard lock(m_mutex);
        sends = std::exchange(m_sends, {});
    }
    for (const Send& send : sends)
        send.completion->fail(m_pool, std::make_exception_ptr(sim::Error(why)));
}

} // namespace live::cuda
