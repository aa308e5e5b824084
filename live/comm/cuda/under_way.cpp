#include "live/comm/cuda/under_way.h"

#include "sim/error.h"

#include <utility>

namespace live::cuda {

void UnderWay::add(Completion& completion, int gpu, SharedEvent done)
{
    const std::lock_guard lock(m_mutex);
    m_requests.push_back({&completion, gpu, std::move(done), {}});
}

bool UnderWay::finishPassed()
{
    std::vector<Request> passed;
    {
        const std::unique_lock lock(m_mutex, std::try_to_lock);
        if (!lock || m_requests.empty())
            return false;
        std::erase_if(m_requests, [&](Request& request) {
            try {
                makeCurrent(request.gpu); // any worker asks, also one that has never used a GPU
                if (!hasPassed(request.done.get()))
                    return false;
            } catch (const sim::Error&) { // the GPU is lost: its rank says so
                request.failure = std::current_exception();
            }
            passed.push_back(std::move(request));
            return true;
        });
    }
    for (const Request& request : passed)
        if (request.failure)
            request.completion->fail(m_pool, request.failure);
        else
            request.completion->finish(m_pool);
    return !passed.empty();
}

void UnderWay::fail(const std::string& why)
{
    std::vector<Request> requests;
    {
        const std::lock_guard lock(m_mutex);
        requests = std::exchange(m_requests, {});
    }
    for (const Request& request : requests)
        request.completion->fail(m_pool, std::make_exception_ptr(sim::Error(why)));
}

} // namespace live::cuda
