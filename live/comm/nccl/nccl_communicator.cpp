// NCCL's communicators do not block: a call that needs other processes returns at once and is asked again, so that the death of
// another process never leaves a thread inside NCCL. A watchdog looks for errors NCCL found meanwhile, and ends the run on all
// processes through the store.
//
// Each group has a communicator of its own, made when the group is first used, by an identifier that its first member leaves in
// the store. ncclCommSplit would need all ranks to come for every group, also those that are not in it, which an order of
// requests that each rank knows only for itself cannot give. Nothing is shared between communicators: one may be aborted alone.
#include "live/comm/nccl/nccl_communicator.h"

#include "live/comm/agreement.h"
#include "live/comm/cuda/event_pool.h"
#include "live/kernels/cuda/gpu_queue.h"
#include "sim/error.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <nccl.h>
#include <thread>

namespace live::cuda {
namespace {

ncclDataType_t typeOf(DType type)
{
    switch (type) {
    case DType::f32:
        return ncclFloat32;
    case DType::f64:
        return ncclFloat64;
    case DType::bf16:
        return ncclBfloat16;
    case DType::i32:
        return ncclInt32;
    case DType::i64:
        return ncclInt64;
    }
    return ncclFloat32;
}

/// NCCL's part in a run. One lock around all of it: NCCL takes one thread at a time for each communicator of a GPU.
class NcclCommunicator final : public Communicator {
public:
    NcclCommunicator(WorkerPool& pool, Store& store, int gpu) : m_pool(pool), m_store(store), m_gpu(gpu)
    {
        makeCurrent(gpu);
        m_nothing = allocateMemory(sizeof(float));
        if (!m_nothing)
            throw sim::Error("GPU " + std::to_string(gpu) + " has no memory left for communication.");
        int version = 0;
        ncclGetVersion(&version);
        m_name = "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
                 std::to_string(version % 100);
        m_onAbort = store.onAbort([this](const std::string& why) { requestAbort(why); });
        m_watchdog = std::thread([this] { watch(); });
    }
    ~NcclCommunicator() override
    {
        m_onAbort.reset();
        {
            const std::lock_guard lock(m_wakeMutex);
            m_ending = true;
        }
        m_wake.notify_all();
        m_watchdog.join();
        const std::lock_guard lock(m_mutex);
        for (auto& [id, group] : m_groups) {
            // Destroying waits for the other members, which may have failed.
            if (m_aborting)
                abortGroup(group);
            else if (group.communicator && finalized(group.communicator) && settled(group.communicator))
                ncclCommDestroy(group.communicator);
            else
                abortGroup(group);
            if (group.stream)
                destroyStream(group.stream);
        }
        releaseMemory(m_nothing);
    }
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;

    std::string name() const override { return m_name; }

    void issue(const CommRequest& request, Completion& completion) override
    {
        try {
            checkRequest(request);
            auto* const queue = dynamic_cast<GpuQueue*>(request.queue);
            if (!queue)
                throw sim::Error("Communication on GPUs needs the request's queue: " + request.what);
            const std::lock_guard lock(m_mutex);
            throwIfAborted();
            makeCurrent(m_gpu);
            Group& group = groupOf(request);
            completion.issuedNs = queue->mark();
            const SharedEvent reached = m_events.take(m_gpu);
            recordEvent(reached.get(), queue->stream());
            waitForEvent(group.stream, reached.get());
            completion.readyNs = queue->markOn(group.stream); // waiting for the others is inside NCCL's kernel
            put(request, group);
            const SharedEvent done = m_events.take(m_gpu);
            recordEvent(done.get(), group.stream);
            completion.doneNs = queue->markOn(group.stream);
            completion.onResume = [done, queue] {
                makeCurrent(queue->gpu());
                waitForEvent(queue->stream(), done.get());
            };
        } catch (...) {
            completion.fail(m_pool, std::current_exception());
            return;
        }
        completion.finish(m_pool);
    }

    void abort(const std::string& why) override
    {
        m_store.abort(why); // calls requestAbort() here and on all other processes
    }

private:
    struct Group {
        ncclComm_t communicator = nullptr;
        Stream stream = nullptr;
        std::string name;
    };

    /// Made at the first request. All members come here, in the order of requests, so nobody waits for one that does not come.
    Group& groupOf(const CommRequest& request)
    {
        Group& group = m_groups[request.group->id];
        if (group.communicator)
            return group;
        group.name = request.group->name;
        if (!group.stream)
            group.stream = createStream(true);
        const std::string key = "nccl/" + std::to_string(request.group->id);
        ncclUniqueId id{};
        if (request.member == 0) {
            check(ncclGetUniqueId(&id), nullptr, group);
            m_store.set(key, std::string(id.internal, sizeof id.internal));
        } else {
            const std::string value = m_store.get(key);
            if (value.size() != sizeof id.internal)
                throw sim::Error("The store holds no NCCL identifier for group " + group.name + ".");
            std::memcpy(id.internal, value.data(), value.size());
        }
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        config.splitShare = 0;
        const ncclResult_t result =
            ncclCommInitRankConfig(&group.communicator, request.group->size(), id, request.member, &config);
        check(result, group.communicator, group);
        return group;
    }

    void put(const CommRequest& request, Group& group)
    {
        const ncclComm_t communicator = group.communicator;
        const Tensor &input = request.input, &output = request.output;
        const auto count = [](const Tensor& tensor) { return static_cast<std::size_t>(tensor.elements()); };
        const ncclRedOp_t operation = request.reduce == ReduceOp::sum ? ncclSum : ncclMax;
        const auto run = [&](ncclResult_t result) { check(result, communicator, group); };
        switch (request.kind) {
        case CommKind::allReduce:
            return run(
                ncclAllReduce(input.data, output.data, count(input), typeOf(input.type), operation, communicator, group.stream));
        case CommKind::reduceScatter:
            return run(ncclReduceScatter(input.data, output.data, count(output), typeOf(input.type), operation, communicator,
                                         group.stream));
        case CommKind::allGather:
            if (output.elements() != input.elements() * request.group->size())
                throw sim::Error("NCCL gathers equal parts only: " + request.what + " gives " + std::to_string(input.rows) +
                                 " rows of " + std::to_string(output.rows) + " to " + std::to_string(request.group->size()) +
                                 " members.");
            return run(ncclAllGather(input.data, output.data, count(input), typeOf(input.type), communicator, group.stream));
        case CommKind::broadcast:
            return run(ncclBroadcast(input.data, output.data, count(output), typeOf(output.type), 0, communicator, group.stream));
        case CommKind::send:
            return run(ncclSend(input.data, count(input), typeOf(input.type), request.peer, communicator, group.stream));
        case CommKind::receive:
            return run(ncclRecv(output.data, count(output), typeOf(output.type), request.peer, communicator, group.stream));
        case CommKind::allToAll:
            return allToAll(request, group);
        case CommKind::barrier:
            return run(ncclAllReduce(m_nothing, m_nothing, 1, ncclFloat32, ncclMax, communicator, group.stream));
        }
    }

    void allToAll(const CommRequest& request, Group& group)
    {
        check(ncclGroupStart(), nullptr, group);
        ncclResult_t result = ncclSuccess;
        const auto keep = [&](ncclResult_t next) { result = accepted(result) ? next : result; };
        std::int64_t sent = 0, received = 0;
        for (int member = 0; member < request.group->size(); ++member) {
            const auto place = static_cast<std::size_t>(member);
            if (const std::int64_t rows = request.sendRows[place]; rows > 0) {
                const Tensor part = request.input.rowRange(sent, rows);
                keep(ncclSend(part.data, static_cast<std::size_t>(part.elements()), typeOf(part.type), member, group.communicator,
                              group.stream));
                sent += rows;
            }
            if (const std::int64_t rows = request.receiveRows[place]; rows > 0) {
                const Tensor part = request.output.rowRange(received, rows);
                keep(ncclRecv(part.data, static_cast<std::size_t>(part.elements()), typeOf(part.type), member, group.communicator,
                              group.stream));
                received += rows;
            }
        }
        const ncclResult_t end = ncclGroupEnd(); // always, or the next call joins this group
        check(accepted(result) ? end : result, group.communicator, group);
    }

    /// Until the call has been taken (its kernel is on the stream), or the run ends.
    void check(ncclResult_t result, ncclComm_t communicator, const Group& group)
    {
        while (result == ncclInProgress && communicator) {
            throwIfAborted();
            std::this_thread::yield();
            if (ncclCommGetAsyncError(communicator, &result) != ncclSuccess)
                break;
        }
        if (result == ncclSuccess)
            return;
        const std::string why = "NCCL failed in group " + group.name + ": " + ncclGetErrorString(result) + " (" +
                                (communicator ? ncclGetLastError(communicator) : "") + ").";
        requestAbort(why);
        throw sim::Error(why);
    }

    static bool accepted(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }
    static bool finalized(ncclComm_t communicator) { return accepted(ncclCommFinalize(communicator)); }

    /// Whether a communicator comes to rest within a second.
    bool settled(ncclComm_t communicator) const
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        ncclResult_t state = ncclInProgress;
        while (ncclCommGetAsyncError(communicator, &state) == ncclSuccess && state == ncclInProgress) {
            if (m_aborting || std::chrono::steady_clock::now() > deadline)
                return false;
            std::this_thread::yield();
        }
        return state == ncclSuccess;
    }

    static void abortGroup(Group& group)
    {
        if (group.communicator)
            ncclCommAbort(group.communicator); // its kernels end, so that streams go on
        group.communicator = nullptr;
    }

    void throwIfAborted()
    {
        if (m_aborting) {
            const std::lock_guard lock(m_wakeMutex);
            throw sim::Error(m_why);
        }
    }

    /// Any thread; does not block. The watchdog does the rest.
    void requestAbort(const std::string& why)
    {
        {
            const std::lock_guard lock(m_wakeMutex);
            if (m_why.empty())
                m_why = why;
            m_aborting = true;
        }
        m_wake.notify_all();
    }

    void watch()
    {
        constexpr std::chrono::milliseconds kPeriod{50};
        bool aborted = false;
        for (;;) {
            std::string why;
            {
                std::unique_lock lock(m_wakeMutex);
                m_wake.wait_for(lock, kPeriod, [&] { return m_ending || (m_aborting && !aborted); });
                if (m_ending)
                    return;
                why = m_why;
            }
            if (m_aborting && !aborted) {
                aborted = true;
                m_store.abort(why);
                const std::lock_guard lock(m_mutex);
                for (auto& [id, group] : m_groups)
                    abortGroup(group);
            } else if (!aborted) {
                lookForErrors();
            }
        }
    }

    void lookForErrors()
    {
        const std::unique_lock lock(m_mutex, std::try_to_lock); // whoever holds it looks itself
        if (!lock)
            return;
        for (const auto& [id, group] : m_groups) {
            ncclResult_t state = ncclSuccess;
            if (group.communicator && ncclCommGetAsyncError(group.communicator, &state) == ncclSuccess && state != ncclSuccess &&
                state != ncclInProgress) {
                requestAbort("NCCL failed in group " + group.name + ": " + ncclGetErrorString(state) + " (" +
                             ncclGetLastError(group.communicator) + ").");
                return;
            }
        }
    }

    WorkerPool& m_pool;
    Store& m_store;
    const int m_gpu;
    std::string m_name;
    void* m_nothing = nullptr; ///< what a barrier sums
    EventPool m_events;
    std::shared_ptr<void> m_onAbort;

    std::mutex m_mutex; ///< NCCL and m_groups
    std::map<int, Group> m_groups;

    std::mutex m_wakeMutex; ///< m_why, m_ending
    std::condition_variable m_wake;
    std::string m_why; ///< of an abort; "" while there is none
    std::atomic<bool> m_aborting{false};
    bool m_ending = false;
    std::thread m_watchdog;
};

} // namespace

std::unique_ptr<Communicator> makeNcclCommunicator(WorkerPool& pool, Store& store, int gpu)
{
    return std::make_unique<NcclCommunicator>(pool, store, gpu);
}

} // namespace live::cuda
