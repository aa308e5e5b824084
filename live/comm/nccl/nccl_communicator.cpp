// NCCL's communicators do not block: a call that needs other processes returns at once and is asked again, so that the death of
// another process never leaves a thread inside NCCL. A watchdog looks for errors NCCL found meanwhile, and for a set-up that
// takes too long, and ends the run on all processes through the store.
//
// Each group has a communicator of its own, by an identifier that its first member leaves in the store. (ncclCommSplit would need
// all ranks to come for every group, also those that are not in it.) All are made, and their connections opened by a first
// exchange, before the first step and by all ranks in the order of the groups' numbers: whoever waits then waits for one whose
// number is no larger, so nothing waits in a circle. Made where they are first used, 0 could wait for 1 in the group in which 0
// sends while 1 waits for 0 in the one in which 1 sends.
//
// They are aborted in one group. Aborting returns when all kernels of a communicator have ended, and only those that run see that
// they are to: one that waits on its stream for another group's kernel ends after that one. So all that run must be told first.
// (NCCL's issue 1013, "ncclCommAbort stuck".)
//
// Each communicator has a stream of its own. The rank's queue waits for what it receives and sums, never for a send.
//
// A stream takes some thousand operations, then whoever puts one there is blocked. A process of one rank may be: the other
// processes go on. Of several ranks on one thread the blocked one keeps the thread from a rank that another process, and in the
// end the blocked stream, waits for. So where a process has several, a rank goes on when what it asked for is done, not when it
// has been put on a stream: what its queue holds waits for nobody then. And a group's stream is given a few operations at a
// time; what comes before there is room is held and put there by poll(), the ranks free meanwhile.
//
// Where ranks share a GPU (shared_gpu.h) NCCL's members are processes. Requests of members that share one meet on the host, as in
// local_gpu_communicator.cpp, and the last to come makes one operation of them all: what they do among themselves, what NCCL does
// between processes, and what hands its result on, one after the other on the group's stream.
#include "live/comm/nccl/nccl_communicator.h"

#include "live/comm/agreement.h"
#include "live/comm/cuda/event_pool.h"
#include "live/comm/cuda/local_gpu_communicator.h"
#include "live/comm/cuda/under_way.h"
#include "live/comm/gpu_streams.h"
#include "live/comm/last_resort.h"
#include "live/comm/nccl/abort_watch.h"
#include "live/comm/nccl/gpu_limits.h"
#include "live/comm/nccl/group_calls.h"
#include "live/comm/nccl/nccl_calls.h"
#include "live/comm/nccl/shared_gpu.h"
#include "live/kernels/cuda/gpu_queue.h"
#include "live/kernels/versions.h"
#include "sim/error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <set>
#include <thread>
#include <utility>

namespace live::cuda {
namespace {

using nccl::Comm, nccl::Result;

/// A member's request that waits for those of its process, or goes on at once.
struct Arrival {
    const CommRequest* request = nullptr;
    Completion* completion = nullptr;
    GpuQueue* queue = nullptr;
    SharedEvent reached; ///< the queue has done what was put on it before the request
};
using Arrivals = std::vector<Arrival>; ///< of the group's members of this process, in their order

/// NCCL's part in a run. One lock around all of it: NCCL takes one thread at a time for each communicator of a GPU.
class NcclCommunicator final : public Communicator {
public:
    NcclCommunicator(WorkerPool& pool, Store& store, int gpu, std::vector<int> processOf, std::chrono::milliseconds setUpWithin)
        : m_pool(pool), m_underWay(pool), m_store(store), m_gpu(gpu), m_processOf(std::move(processOf)),
          m_inside(makeLocalGpuCommunicator(pool)),
          m_watch(setUpWithin, {[this](const std::string& why) { abortAll(why); }, [this] { lookForErrors(); }})
    {
        requireVersion("NCCL", nccl::version(), nccl::builtVersion());
        m_name = "NCCL " + versionText(nccl::version());
        // Rings and trees are connected when a communicator is made, not within its first sum. What the user says wins.
        setenv("NCCL_RUNTIME_CONNECT", "0", 0); // NOLINT(concurrency-mt-unsafe): before any thread of NCCL's
        // Sums made in the switches are in another order again, and nobody has measured them here: run --nvls asks for them.
        setenv("NCCL_NVLS_ENABLE", "0", 0); // NOLINT(concurrency-mt-unsafe)
        m_onAbort = store.onAbort([this](const std::string& why) { m_watch.request(why); });
    }
    ~NcclCommunicator() override
    {
        m_onAbort.reset();
        m_watch.end();
        const std::lock_guard lock(m_mutex);
        // Destroying waits for the other members, which may have failed.
        const bool hasFailed = m_watch.isRequested() || !allFinalized();
        const LastResort ends = endsInTime(m_watch.reason(), hasFailed ? kAbortedWithin : StoreOptions{}.waitTimeout);
        if (hasFailed)
            abortGroups();
        for (auto& [id, group] : m_groups)
            if (group.communicator)
                nccl::destroy(group.communicator);
        for (auto& [id, group] : m_groups) {
            if (group.stream)
                destroyStream(group.stream);
            releaseMemory(group.nothing);
            for (void* block : group.scratch)
                releaseMemory(block);
        }
    }
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;

    std::string name() const override { return m_name; }

    void prepare(const std::vector<GroupUse>& uses) override
    {
        std::map<int, GroupUse> outside; // by group: what the members of this process do in it together
        std::set<int> ranks, inside;
        for (const GroupUse& use : uses) {
            const int rank = use.group->ranks[static_cast<std::size_t>(use.member)];
            ranks.insert(rank);
            if (placesOf(*use.group, m_processOf, m_store.process()).isInside()) {
                if (use.group->size() > 1)
                    inside.insert(use.group->id);
                continue;
            }
            GroupUse& all = outside.try_emplace(use.group->id, use).first->second;
            all.kinds.insert(use.kinds.begin(), use.kinds.end());
        }
        m_ranks = ranks.size();
        checkHardwareQueues(gpuStreams(ranks.size(), outside.size(), inside.size()), ranks.size());
        makeCurrent(m_gpu);
        if (!outside.empty())
            m_store.set(blocksKey(m_store.process()),
                        std::to_string(blocksEach(gpuProperties(m_gpu).processors, outside.size())));
        std::vector<Stream> streams;
        for (const auto& [id, use] : outside) {
            const std::lock_guard lock(m_mutex);
            const GroupPlaces places = placesOf(*use.group, m_processOf, m_store.process());
            m_watch.setsUp("group " + use.group->name + " of processes " + listOf(places.processes));
            make(use, places);
            const Group& group = m_groups.at(id);
            callsOf(group).open(use.kinds);
            streams.push_back(group.stream);
        }
        // Without the lock: where a peer has died since its calls were taken, the watchdog ends the kernels that wait for it.
        m_watch.setsUp("the first exchange of " + std::to_string(streams.size()) + " groups");
        for (const Stream stream : streams)
            synchronizeStream(stream);
        m_watch.setsUp("");
        throwIfAborted();
    }

    void issue(const CommRequest& request, Completion& completion) override
    {
        Arrivals complete;
        const bool isSend = request.kind == CommKind::send; // a request may be gone once its completion is finished
        try {
            checkRequest(request);
            auto* const queue = dynamic_cast<GpuQueue*>(request.queue);
            if (!queue)
                throw sim::Error("Communication on GPUs needs the request's queue: " + request.what);
            throwIfAborted();
            Group* const group = groupOf(request);
            if (!group)
                return m_inside->issue(request, completion);
            makeCurrent(m_gpu);
            // Not under the lock: what the queue has put aside is started here, which may take as long as a batch of launches.
            completion.issuedNs = queue->mark();
            Arrival arrival{&request, &completion, queue, m_events.take(m_gpu)};
            recordEvent(arrival.reached.get(), queue->stream());
            const std::lock_guard lock(m_mutex);
            throwIfAborted();
            complete = meet(*group, std::move(arrival));
            if (complete.empty())
                return;
            if (!group->held.empty() || !hasRoom(*group)) {
                group->held.push_back(std::move(complete));
                ++m_held;
                return;
            }
            execute(*group, complete);
        } catch (...) {
            const std::exception_ptr failure = std::current_exception();
            if (complete.empty())
                completion.fail(m_pool, failure);
            for (const Arrival& arrival : complete)
                arrival.completion->fail(m_pool, failure);
            return;
        }
        if (isSend || m_ranks > 1) // poll() finishes them
            return;
        for (const Arrival& arrival : complete)
            arrival.completion->finish(m_pool);
    }

    bool completeAfter(Queue& queue, Completion& completion) override
    {
        auto* const ours = dynamic_cast<GpuQueue*>(&queue);
        if (m_ranks <= 1 || !ours)
            return false;
        makeCurrent(m_gpu);
        const SharedEvent reached = m_events.take(m_gpu);
        recordEvent(reached.get(), ours->stream());
        m_underWay.add(completion, m_gpu, reached);
        return true;
    }

    bool poll() override
    {
        if (!m_watch.isRequested()) {
            const bool isDone = m_underWay.finishPassed(), isPut = putHeld();
            return m_inside->poll() || isDone || isPut;
        }
        failAll(m_watch.reason());
        return false;
    }

    void abort(const std::string& why) override
    {
        m_store.abort(why); // the watch is requested to here and on all other processes
        failAll(why);
    }

    /// NCCL's kernels end with whatever was there when they are aborted, and what waits for them goes on.
    void throwIfAborted() override
    {
        if (m_watch.isRequested())
            throw sim::Error(m_watch.reason());
    }

private:
    struct Group {
        Comm communicator = nullptr;
        Stream stream = nullptr;
        void* nothing = nullptr; ///< GroupCalls::nothing
        std::string name;
        GroupPlaces places;
        CommGroup processes;           ///< NCCL's members
        std::deque<Arrivals> meetings; ///< that not all members of this process have come to
        std::deque<Arrivals> held;     ///< that all have come to, and for which the stream has no room yet
        std::deque<SharedEvent> ahead; ///< after each operation on the stream, as far as is known not to have been passed
        std::vector<void*> scratch;    ///< of operations; the last one is the largest
        std::size_t scratchBytes = 0;
    };

    /// Null: all its members are in this process. Without the lock: which groups there are has not changed since prepare().
    Group* groupOf(const CommRequest& request)
    {
        const auto place = m_groups.find(request.group->id);
        if (place != m_groups.end())
            return &place->second;
        if (!placesOf(*request.group, m_processOf, m_store.process()).isInside())
            throw sim::Error("Group " + request.group->name + " was not prepared: " + request.what);
        return nullptr;
    }

    /// All requests of this process that make one operation, once the last has come. Members issue in the same order, so the
    /// first meeting this member has not come to is its own.
    static Arrivals meet(Group& group, Arrival arrival)
    {
        const std::vector<int>& mine = group.places.mine;
        if (mine.size() == 1) {
            Arrivals alone;
            alone.push_back(std::move(arrival));
            return alone;
        }
        const auto place = static_cast<std::size_t>(std::find(mine.begin(), mine.end(), arrival.request->member) - mine.begin());
        auto meeting = std::find_if(group.meetings.begin(), group.meetings.end(),
                                    [&](const Arrivals& known) { return !known[place].request; });
        if (meeting == group.meetings.end()) {
            group.meetings.emplace_back(mine.size());
            meeting = std::prev(group.meetings.end());
        }
        (*meeting)[place] = std::move(arrival);
        if (std::any_of(meeting->begin(), meeting->end(), [](const Arrival& each) { return !each.request; }))
            return {};
        Arrivals complete = std::move(*meeting);
        group.meetings.erase(meeting);
        return complete;
    }

    /// For one more operation.
    bool hasRoom(Group& group) const
    {
        try {
            makeCurrent(m_gpu); // poll() is any worker's, also one that has never used a GPU
            while (!group.ahead.empty() && hasPassed(group.ahead.front().get()))
                group.ahead.pop_front();
        } catch (const sim::Error&) { // the GPU is lost: what is put there says so
            return true;
        }
        return m_ranks <= 1 || group.ahead.size() < kAhead;
    }

    /// Of what is held, what there is room for; whether there was some.
    bool putHeld()
    {
        if (m_held == 0)
            return false;
        const std::lock_guard lock(m_mutex); // not only where it is free: who is told that nothing moved may not ask again
        bool isPut = false;
        for (auto& [id, group] : m_groups)
            while (!group.held.empty() && hasRoom(group)) {
                const Arrivals next = std::move(group.held.front());
                group.held.pop_front();
                --m_held;
                isPut = true;
                try {
                    makeCurrent(m_gpu);
                    execute(group, next);
                } catch (...) {
                    for (const Arrival& arrival : next)
                        arrival.completion->fail(m_pool, std::current_exception());
                }
            }
        return isPut;
    }

    void execute(Group& group, const Arrivals& arrivals)
    {
        for (const Arrival& arrival : arrivals)
            waitForEvent(group.stream, arrival.reached.get());
        for (const Arrival& arrival : arrivals) // waiting for the others is inside NCCL's kernel
            arrival.completion->readyNs = arrival.queue->markOn(group.stream);
        if (arrivals.size() == 1 && group.places.isOneEach())
            callsOf(group).put(*arrivals[0].request);
        else
            putShared(arrivals, group);
        const SharedEvent done = m_events.take(m_gpu);
        recordEvent(done.get(), group.stream);
        for (const Arrival& arrival : arrivals) {
            arrival.completion->doneNs = arrival.queue->markOn(group.stream);
            if (arrival.request->kind == CommKind::send)
                continue;
            arrival.completion->onResume = [done, queue = arrival.queue] {
                makeCurrent(queue->gpu());
                waitForEvent(queue->stream(), done.get());
            };
        }
        if (m_ranks > 1)
            group.ahead.push_back(done);
        for (const Arrival& arrival : arrivals) // it may be done, and the request gone, as soon as it is under way
            if (m_ranks > 1 || arrival.request->kind == CommKind::send)
                m_underWay.add(*arrival.completion, m_gpu, done);
    }

    void putShared(const Arrivals& arrivals, Group& group)
    {
        std::vector<const CommRequest*> requests;
        for (const Arrival& arrival : arrivals)
            requests.push_back(arrival.request);
        SharedOperation operation(group.places, requests, group.communicator, group.stream);
        operation.nothing = group.nothing;
        const GroupCalls ofGroup = callsOf(group);
        operation.check = [&](Result result) { check(result, group.communicator, group); };
        operation.together = [&](const auto& calls) { ofGroup.together(calls); };
        operation.scratch = [&](std::size_t bytes) { return scratchOf(group, bytes); };
        operation.run();
    }

    /// Grown blocks are kept: releasing one waits for the whole GPU, and so for peers that may wait for us.
    void* scratchOf(Group& group, std::size_t bytes)
    {
        if (group.scratchBytes >= bytes)
            return group.scratch.back();
        const std::size_t size = std::max(bytes, 2 * group.scratchBytes);
        void* const block = allocateMemory(size);
        if (!block)
            throw sim::Error("GPU " + std::to_string(m_gpu) + " has no " + std::to_string(size >> 20) +
                             " MiB left for communication of the ranks that share it.");
        group.scratch.push_back(block);
        group.scratchBytes = size;
        return block;
    }

    /// All that waits here.
    void failAll(const std::string& why)
    {
        m_underWay.fail(why);
        m_inside->abort(why);
        std::vector<Completion*> pending;
        {
            const std::lock_guard lock(m_mutex);
            for (auto& [id, group] : m_groups)
                for (auto* waiting : {&group.meetings, &group.held})
                    for (const Arrivals& meeting : std::exchange(*waiting, {}))
                        for (const Arrival& arrival : meeting)
                            if (arrival.request)
                                pending.push_back(arrival.completion);
            m_held = 0;
        }
        for (Completion* completion : pending)
            completion->fail(m_pool, std::make_exception_ptr(sim::Error(why)));
    }

    static std::string listOf(const std::vector<int>& numbers)
    {
        std::string list;
        for (const int number : numbers)
            list += (list.empty() ? "" : ", ") + std::to_string(number);
        return list;
    }

    void make(const GroupUse& use, const GroupPlaces& places)
    {
        Group& group = m_groups[use.group->id];
        if (group.communicator)
            return;
        group.name = use.group->name;
        group.places = places;
        group.processes = {.id = use.group->id, .name = use.group->name, .ranks = group.places.processes};
        group.stream = createStream(true);
        group.nothing = allocateMemory(static_cast<std::size_t>(group.processes.size() + 1) * sizeof(float));
        if (!group.nothing)
            throw sim::Error("GPU " + std::to_string(m_gpu) + " has no memory left for communication.");
        const std::string key = "nccl/" + std::to_string(use.group->id);
        nccl::UniqueId id;
        if (group.places.self == 0) {
            check(nccl::makeUniqueId(id), nullptr, group);
            m_store.set(key, std::string(id.bytes.data(), id.bytes.size()));
        } else {
            const std::string value = m_store.get(key);
            if (value.size() != id.bytes.size())
                throw sim::Error("The store holds no NCCL identifier for group " + group.name + ".");
            std::memcpy(id.bytes.data(), value.data(), value.size());
        }
        const Result result = nccl::initRank(group.communicator, group.processes, id, group.places.self, blocksOf(group));
        check(result, group.communicator, group);
    }

    static std::string blocksKey(int process) { return "nccl/blocks/" + std::to_string(process); }

    /// Of the group's kernels: as few as any of its processes can do with, the same on all.
    int blocksOf(const Group& group)
    {
        int least = std::numeric_limits<int>::max();
        for (const int process : group.places.processes) {
            const auto [known, isNew] = m_blocks.try_emplace(process, 0);
            if (isNew)
                known->second = std::atoi(m_store.get(blocksKey(process)).c_str());
            least = std::min(least, known->second);
        }
        return least;
    }

    GroupCalls callsOf(const Group& group)
    {
        return {.communicator = group.communicator,
                .stream = group.stream,
                .members = group.processes.size(),
                .self = group.places.self,
                .nothing = static_cast<float*>(group.nothing),
                .check = [this, &group](Result result, Comm communicator) { check(result, communicator, group); }};
    }

    /// Until the call has been taken (its kernel is on the stream), or the run ends.
    void check(Result result, Comm communicator, const Group& group)
    {
        while (result == Result::inProgress && communicator) {
            throwIfAborted();
            std::this_thread::yield();
            if (nccl::asyncError(communicator, result) != Result::success)
                break;
        }
        if (result == Result::success)
            return;
        const std::string why =
            "NCCL failed in group " + group.name + ": " + nccl::errorText(result) + " (" + nccl::lastError(communicator) + ").";
        m_watch.request(why);
        throw sim::Error(why);
    }

    /// Whether a communicator comes to rest in time.
    bool settled(Comm communicator, std::chrono::steady_clock::time_point deadline) const
    {
        Result state = Result::inProgress;
        while (nccl::asyncError(communicator, state) == Result::success && state == Result::inProgress) {
            if (m_watch.isRequested() || std::chrono::steady_clock::now() > deadline)
                return false;
            std::this_thread::yield();
        }
        return state == Result::success;
    }

    bool allFinalized()
    {
        for (const auto& [id, group] : m_groups)
            if (!group.communicator || !isAccepted(nccl::finalize(group.communicator)))
                return false;
        const auto deadline = std::chrono::steady_clock::now() + kFinalizedWithin;
        return std::all_of(m_groups.begin(), m_groups.end(),
                           [&](const auto& each) { return settled(each.second.communicator, deadline); });
    }

    /// NCCL may wait for a peer that does not come, in calls that nothing ends.
    static LastResort endsInTime(const std::string& why, std::chrono::milliseconds atMost)
    {
        return {atMost, why + (why.empty() ? "" : " ") + "NCCL does not end its communicators: this process ends without it."};
    }

    /// Their kernels end, so that streams go on.
    void abortGroups()
    {
        nccl::groupStart();
        for (auto& [id, group] : m_groups)
            if (Comm communicator = std::exchange(group.communicator, nullptr))
                nccl::abort(communicator);
        nccl::groupEnd();
    }

    /// For the watch.
    void abortAll(const std::string& why)
    {
        m_store.abort(why);
        const LastResort ends = endsInTime(why, kAbortedWithin);
        const std::lock_guard lock(m_mutex);
        abortGroups();
    }

    void lookForErrors()
    {
        const std::unique_lock lock(m_mutex, std::try_to_lock); // whoever holds it looks itself
        if (!lock)
            return;
        for (const auto& [id, group] : m_groups) {
            Result state = Result::success;
            if (group.communicator && nccl::asyncError(group.communicator, state) == Result::success && !isAccepted(state)) {
                m_watch.request("NCCL failed in group " + group.name + ": " + nccl::errorText(state) + " (" +
                                nccl::lastError(group.communicator) + ").");
                return;
            }
        }
    }

    static constexpr std::chrono::seconds kAbortedWithin{20};
    /// A peer that is slow to end must not lose what it still waits for; one that failed is told by the store at once.
    static constexpr std::chrono::seconds kFinalizedWithin{60};
    /// Operations on a group's stream at a time, where the process has several ranks: each is some launches, so that no stream
    /// fills.
    static constexpr std::size_t kAhead = 2;

    WorkerPool& m_pool;
    UnderWay m_underWay;
    Store& m_store;
    const int m_gpu;
    const std::vector<int> m_processOf;           ///< [rank]
    const std::unique_ptr<Communicator> m_inside; ///< between ranks of this process
    std::size_t m_ranks = 1;                      ///< of this process
    std::string m_name;
    EventPool m_events;
    std::shared_ptr<void> m_onAbort;

    std::mutex m_mutex; ///< NCCL, and what is in m_groups
    std::map<int, Group> m_groups;
    std::map<int, int> m_blocks;        ///< by process, as it has said
    std::atomic<std::size_t> m_held{0}; ///< in all groups; changed under the mutex

    AbortWatch m_watch; ///< the last member: its thread uses the others
};

} // namespace

std::unique_ptr<Communicator> makeNcclCommunicator(WorkerPool& pool, Store& store, int gpu, std::vector<int> processOf)
{
    // Before the store gives up a process that does not come: it knows of no groups.
    constexpr std::chrono::seconds kSooner{5};
    return makeNcclCommunicator(pool, store, gpu, std::move(processOf), StoreOptions{}.waitTimeout - kSooner);
}

std::unique_ptr<Communicator> makeNcclCommunicator(WorkerPool& pool, Store& store, int gpu, std::vector<int> processOf,
                                                   std::chrono::milliseconds setUpWithin)
{
    return std::make_unique<NcclCommunicator>(pool, store, gpu, std::move(processOf), setUpWithin);
}

} // namespace live::cuda
