// Ranks in one process. The last member to arrive does the work of a collective, in the order of members, with the help of idle
// workers; nobody waits holding a core. The last one's request is complete when issue() returns, so that it goes on at once.
#include "live/comm/agreement.h"
#include "live/comm/communicator.h"
#include "live/comm/reduction.h"
#include "live/record/recorder.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory_resource>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

namespace live {
namespace {

struct Arrival {
    const CommRequest* request = nullptr;
    Completion* completion = nullptr;
};
using Arrivals = std::vector<Arrival>; ///< by member; of a transfer: the sender, the receiver

/// Empty ones of so many members, from this thread's last: of a small sum the allocation is a tenth.
Arrivals& spareArrivals()
{
    thread_local Arrivals spare;
    return spare;
}
Arrivals emptyArrivals(std::size_t members)
{
    Arrivals arrivals = std::exchange(spareArrivals(), {});
    arrivals.assign(members, {});
    return arrivals;
}

std::byte* bytesFrom(const Tensor& tensor, std::int64_t offset)
{
    return tensor.as<std::byte>() + offset;
}

class LocalCommunicator : public Communicator {
public:
    explicit LocalCommunicator(WorkerPool& pool) : m_pool(pool) {}
    std::string name() const override { return "in this process"; }

    void issue(const CommRequest& request, Completion& completion) override
    {
        completion.issuedNs = nowNs();
        Shard& shard = m_shards[static_cast<std::size_t>(request.group->id) % kShards];
        Arrivals complete;
        try {
            checkRequest(request);
            const std::lock_guard lock(shard.mutex);
            if (!shard.why.empty())
                throw sim::Error(shard.why);
            GroupState& group = shard.groups[request.group->id];
            if (isTransfer(request.kind))
                complete = meetPeer(group, request, completion);
            else
                complete = meetGroup(group, request, completion);
            if (!complete.empty())
                m_executing.fetch_add(1, std::memory_order_relaxed);
        } catch (...) {
            completion.readyNs = completion.doneNs = nowNs();
            completion.fail(m_pool, std::current_exception());
            return;
        }
        if (complete.empty())
            return;
        execute(complete);
        m_executing.fetch_sub(1, std::memory_order_release);
        spareArrivals() = std::move(complete);
    }

    void abort(const std::string& why) override
    {
        const std::lock_guard once(m_abortMutex); // who comes second finds all ended, too
        std::vector<Completion*> pending;
        for (Shard& shard : m_shards) {
            const std::lock_guard lock(shard.mutex);
            if (!shard.why.empty())
                continue;
            shard.why = why;
            for (auto& [id, group] : shard.groups) {
                for (const Arrivals& meeting : group.meetings)
                    for (const Arrival& arrival : meeting)
                        if (arrival.completion)
                            pending.push_back(arrival.completion);
                for (const auto& [channel, waiting] : group.channels)
                    for (const Arrival& arrival : waiting)
                        pending.push_back(arrival.completion);
            }
            shard.groups.clear();
        }
        for (Completion* completion : pending) {
            completion->readyNs = completion->doneNs = nowNs();
            completion->fail(m_pool, std::make_exception_ptr(sim::Error(why)));
        }
        while (m_executing.load(std::memory_order_acquire) > 0)
            std::this_thread::yield();
    }

private:
    struct GroupState {
        /// Collectives that not all members have reached, the oldest first. Members arrive in the same order, so they are
        /// completed in this order.
        std::deque<Arrivals> meetings;
        std::vector<std::uint64_t> reached; ///< by member: collectives issued so far
        std::vector<int> arrived;           ///< by meeting, beside `meetings`
        std::uint64_t completed = 0;
        /// Sends or receives (never both) that wait for their other side, by sender * size + receiver.
        std::unordered_map<int, std::deque<Arrival>> channels;
    };
    /// Groups that share a lock. It is held to match arrivals only, never while bytes move.
    struct alignas(64) Shard {
        std::mutex mutex;
        std::unordered_map<int, GroupState> groups;
        std::string why; ///< of an abort; "" while there is none
    };
    static constexpr std::size_t kShards = 64;

    static Arrivals meetGroup(GroupState& group, const CommRequest& request, Completion& completion)
    {
        const auto members = static_cast<std::size_t>(request.group->size());
        const auto member = static_cast<std::size_t>(request.member);
        group.reached.resize(members);
        const auto place = static_cast<std::size_t>(group.reached[member]++ - group.completed);
        if (place == group.meetings.size()) {
            group.meetings.push_back(emptyArrivals(members));
            group.arrived.push_back(0);
        }
        group.meetings[place][member] = {&request, &completion};
        if (++group.arrived[place] < static_cast<int>(members))
            return {};
        Arrivals complete = std::move(group.meetings.front());
        group.meetings.pop_front();
        group.arrived.erase(group.arrived.begin());
        ++group.completed;
        return complete;
    }

    static Arrivals meetPeer(GroupState& group, const CommRequest& request, Completion& completion)
    {
        const bool isSend = request.kind == CommKind::send;
        const int sender = isSend ? request.member : request.peer;
        const int receiver = isSend ? request.peer : request.member;
        std::deque<Arrival>& waiting = group.channels[sender * request.group->size() + receiver];
        if (waiting.empty() || waiting.front().request->kind == request.kind) {
            waiting.push_back({&request, &completion});
            return {};
        }
        const Arrival self{&request, &completion};
        const Arrival other = waiting.front();
        waiting.pop_front();
        return isSend ? Arrivals{self, other} : Arrivals{other, self};
    }

    void execute(const Arrivals& arrivals)
    {
        std::int64_t readyNs = 0; // when the last one came: asking the clock takes as long as summing a kilobyte
        for (const Arrival& arrival : arrivals)
            readyNs = std::max(readyNs, arrival.completion->issuedNs);
        const std::int64_t startCpuNs = estimatedCpuNs(readyNs);
        std::exception_ptr failure;
        try {
            if (!plainlyAgree(arrivals))
                checkAgreement(arrivals);
            move(arrivals);
        } catch (...) {
            failure = std::current_exception();
        }
        const std::int64_t doneNs = nowNs();
        const std::int64_t cpuNs = std::max<std::int64_t>(estimatedCpuNs(doneNs) - startCpuNs, 1);
        for (const Arrival& arrival : arrivals) { // each may be gone as soon as it is told
            arrival.completion->readyNs = readyNs;
            arrival.completion->doneNs = doneNs;
            arrival.completion->cpuNs = cpuNs;
            if (failure)
                arrival.completion->fail(m_pool, failure);
            else
                arrival.completion->finish(m_pool);
        }
    }

    /// The common case, without summaries.
    static bool plainlyAgree(const Arrivals& arrivals)
    {
        const CommRequest& first = *arrivals[0].request;
        return first.kind == CommKind::allReduce &&
               std::all_of(arrivals.begin() + 1, arrivals.end(), [&](const Arrival& arrival) {
                   const CommRequest& other = *arrival.request;
                   return other.kind == first.kind && other.reduce == first.reduce && other.input.type == first.input.type &&
                          other.input.elements() == first.input.elements() && other.sequence == first.sequence;
               });
    }

    void move(const Arrivals& arrivals)
    {
        const CommRequest& first = *arrivals[0].request;
        switch (first.kind) {
        case CommKind::allReduce:
            return allReduce(arrivals);
        case CommKind::reduceScatter:
            return reduceScatter(arrivals);
        default:
            return copyPieces(arrivals,
                              [&](const void* from, void* to, std::int64_t bytes) { copyBytes(m_pool, from, to, bytes); });
        }
    }

    void allReduce(const Arrivals& arrivals)
    {
        std::array<std::byte, 512> memory; // of small groups: nothing is allocated
        std::pmr::monotonic_buffer_resource resource(memory.data(), memory.size());
        std::pmr::vector<const void*> inputs(&resource);
        std::pmr::vector<void*> outputs(&resource);
        inputs.reserve(arrivals.size());
        outputs.reserve(arrivals.size());
        for (const Arrival& arrival : arrivals) {
            inputs.push_back(arrival.request->input.data);
            outputs.push_back(arrival.request->output.data);
        }
        const CommRequest& first = *arrivals[0].request;
        reduceInOrder(m_pool, first.input.type, first.reduce, first.input.elements(), inputs, outputs);
    }

    void reduceScatter(const Arrivals& arrivals)
    {
        std::vector<const void*> inputs(arrivals.size());
        for (std::size_t part = 0; part < arrivals.size(); ++part) {
            const CommRequest& request = *arrivals[part].request;
            const std::int64_t offset = static_cast<std::int64_t>(part) * request.output.bytes();
            for (std::size_t member = 0; member < arrivals.size(); ++member)
                inputs[member] = bytesFrom(arrivals[member].request->input, offset);
            void* const output = request.output.data;
            reduceInOrder(m_pool, request.output.type, request.reduce, request.output.elements(), inputs, {&output, 1});
        }
    }

    WorkerPool& m_pool;
    std::array<Shard, kShards> m_shards;
    alignas(64) std::atomic<int> m_executing{0}; ///< workers that move bytes now
    std::mutex m_abortMutex;
};

} // namespace

std::unique_ptr<Communicator> makeLocalCommunicator(WorkerPool& pool)
{
    return std::make_unique<LocalCommunicator>(pool);
}

} // namespace live
