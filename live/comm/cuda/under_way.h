// Requests that are done when a GPU has come past their event, which the host asks. Sends are, whose tensors it still reads: no
// stream waits for them. (Were one to wait, the next forward pass would wait until the receiver has taken the last one's result:
// schedules that run ahead would lose what they are for, and those in which both ends send first would hang.)
#pragma once

#include "live/comm/communicator.h"
#include "live/comm/cuda/event_pool.h"

#include <exception>
#include <mutex>
#include <vector>

namespace live::cuda {

/// Any thread.
class UnderWay {
public:
    explicit UnderWay(WorkerPool& pool) : m_pool(pool) {}
    /// done: recorded after what the request asks for, on that GPU. The completion is finished by finishPassed() or fail().
    void add(Completion&, int gpu, SharedEvent done);
    /// Whether there was one.
    bool finishPassed();
    void fail(const std::string& why);

private:
    struct Request {
        Completion* completion;
        int gpu;
        SharedEvent done;
        std::exception_ptr failure; ///< of its GPU
    };
    WorkerPool& m_pool;
    std::mutex m_mutex;
    std::vector<Request> m_requests; ///< in the order of issue
};

} // namespace live::cuda
