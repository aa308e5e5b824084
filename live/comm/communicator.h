// Communication between ranks. A request is issued without waiting and completes later; a coroutine awaits its Completion. The
// runtime does not know whether the other ranks live in this process, in another one, or on other machines.
//
// Rules every implementation keeps: members of a group issue their requests on it in the same order; sums are made in the order
// of members, so that results do not depend on transport, timing or the number of workers; requests of different groups never
// wait for each other. `sequence` is the request's place in the run's one global order, in which every request comes after all
// that it waits for (runtime/comm_plan.h): so nothing can wait in a circle. A rank may issue out of that order what it does not
// wait for at once: a send, a reduction that runs beside the backward pass.
#pragma once

#include "live/kernels/device.h"
#include "live/tensor/tensor.h"

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace live {

class WorkerPool;

enum class CommKind : std::uint8_t {
    allReduce,     ///< output = sum over members of input (same shape; may be the same tensor)
    reduceScatter, ///< input is members equal parts by rows; output the sum of one's own part
    allGather,     ///< output is the members' inputs one below the other
    allToAll,      ///< rows of input go to the members by sendRows; output gets receiveRows from them
    send,          ///< input to `peer`
    receive,       ///< output from `peer`
    broadcast,     ///< member 0's input to every output
    barrier
};
const char* commKindName(CommKind);
/// Between two members, not a collective.
constexpr bool isTransfer(CommKind kind)
{
    return kind == CommKind::send || kind == CommKind::receive;
}
enum class ReduceOp : std::uint8_t { sum, max };

/// Ranks that communicate with each other, in the order of their sums. Sends and receives use a group of two.
struct CommGroup {
    int id = 0;       ///< the same on all members
    std::string name; ///< "tp", "dp_cp": for messages and traces
    std::vector<int> ranks;
    int size() const { return static_cast<int>(ranks.size()); }
};

struct CommRequest {
    CommKind kind = CommKind::barrier;
    ReduceOp reduce = ReduceOp::sum;
    const CommGroup* group = nullptr;                ///< must outlive the run
    int member = 0;                                  ///< the issuing rank's place in it
    int peer = 0;                                    ///< of a send or receive: the other's place
    Tensor input, output;                            ///< contiguous; alive until completion
    std::vector<std::int64_t> sendRows, receiveRows; ///< of an allToAll, by member
    std::int64_t sequence = 0;
    std::string what;       ///< "0F3 attn.out": for the flight record. Short
    Queue* queue = nullptr; ///< what was put on it before is done before; what comes after completion sees the result
};

/// What a rank will do in one of its groups.
struct GroupUse {
    const CommGroup* group = nullptr; ///< must outlive the run
    int member = 0;
    std::set<CommKind> kinds;
};

/// Awaitable once. Times are the steady clock's nanoseconds: issued; all members there (the transfer can begin); done.
class Completion {
public:
    std::int64_t issuedNs = 0, readyNs = 0, doneNs = 0; ///< on a GPU: marks of the request's queue (Queue::resolveMarks)
    /// Processor time of the transfer where a processor made it (0: not measured): on shared cores less than doneNs - readyNs.
    std::int64_t cpuNs = 0;
    /// Set before finish() by an implementation whose transfers run on a GPU's own streams: runs where the waiter goes on, and
    /// makes its queue wait for the transfer. What the rank put on its queue in between runs beside the transfer. Of a send there
    /// is nothing to wait for: it is finished when its tensor may be written again.
    std::function<void()> onResume;

    bool isDone() const { return m_state.load(std::memory_order_acquire) == doneMark(); }

    // For implementations: exactly once, any thread. Resumes the waiter through the pool.
    void finish(WorkerPool&);
    void fail(WorkerPool&, std::exception_ptr);

    // For co_await.
    bool await_ready() const noexcept { return isDone(); }
    bool await_suspend(std::coroutine_handle<> waiter) noexcept
    {
        void* expected = nullptr;
        return m_state.compare_exchange_strong(expected, waiter.address(), std::memory_order_acq_rel);
    }
    void await_resume()
    {
        if (m_exception)
            std::rethrow_exception(m_exception);
        if (onResume)
            onResume();
    }

private:
    /// nullptr: nobody waits; doneMark(): done; else the waiting coroutine.
    static void* doneMark() { return reinterpret_cast<void*>(1); } // NOLINT(performance-no-int-to-ptr): a mark, never followed
    std::atomic<void*> m_state{nullptr};
    std::exception_ptr m_exception;
};

class Communicator {
public:
    virtual ~Communicator() = default;
    virtual std::string name() const = 0; ///< "in this process", "MPI (Open MPI 4.1.4)"
    /// Before the first request, once, with what all ranks of this process will do: what needs other members' help to be set up
    /// is set up now, by all processes in the order of groups' numbers, so that no request ever waits for it. Blocks. Throws
    /// sim::Error.
    virtual void prepare(const std::vector<GroupUse>&) {}
    /// Request and completion must live until it is done.
    virtual void issue(const CommRequest&, Completion&) = 0;
    /// Before the host waits for a queue: where what is on it may wait for another process, which may wait for another rank of
    /// this one, that rank must get its turn meanwhile. True: completes when the queue has done what was put on it. False: just
    /// wait.
    virtual bool completeAfter(Queue&, Completion&) { return false; }
    /// Makes progress where that needs polling; returns whether something moved. Any worker.
    virtual bool poll() { return false; }
    /// Ends all pending and future requests of this process with this message: the run is over. When it returns all have ended
    /// and no thread touches their memory any more: a rank that fails while requests are under way calls it before it frees them.
    /// Kernels of a GPU may yet, until they see that they are to end: giving the GPU's memory back (cudaFree) waits for them.
    virtual void abort(const std::string& why) = 0;
    /// To be asked after results were read and before they count: throws sim::Error where transfers that look as if they were
    /// done may have been cut short, as the run is over. Nothing where a transfer that is cut short fails its request.
    virtual void throwIfAborted() {}
};

/// All ranks in this process, tensors in memory that any worker can read.
std::unique_ptr<Communicator> makeLocalCommunicator(WorkerPool&);

} // namespace live
