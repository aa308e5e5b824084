// Sends whose tensors a GPU still reads. A send is done when its event has been passed, which the host asks; no stream waits for
// it. (Were it to wait, the next forward pass would wait until the receiver has taken the last one's result: schedules that run
// ahead would lose what they are for, and those in which both ends send first would hang.)
#pragma once

#include "live/comm/communicator.h"
#include "live/comm/cuda/event_pool.h"

#include <exception>
#include <mutex>
#include <vector>

namespace live::cuda {

/// Any thread.
class SendsUnderWay {
public:
    explicit SendsUnderWay(WorkerPool& pool) : m_pool(pool) {}
    /// done: recorded after the transfer, on that GPU. The completion is finished by finishPassed() or fail().
    void add(Completion&, int gpu, SharedEvent done);
    /// Whether there was one.
    bool finishPassed();
    void fail(const std::string& why);

private:
    struct Send {
        Completion* completion;
        int gpu;
        SharedEvent done;
        std::exception_ptr failure; ///< of its GPU
    };
    WorkerPool& m_pool;
    std::mutex m_mutex;
    std::vector<Send> m_sends; ///< in the order of issue
};

} // namespace live::cuda
