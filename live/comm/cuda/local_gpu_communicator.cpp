// Members meet on the host, as on the CPU; the last one to come puts the work on a stream: wait for what each member had put on
// its queue before, one kernel, and an event that each member's queue waits for when its coroutine goes on. No kernel waits for
// another rank's, so nothing can hang however many ranks share the GPU.
#include "live/comm/cuda/local_gpu_communicator.h"

#include "live/comm/agreement.h"
#include "live/comm/cuda/event_pool.h"
#include "live/comm/cuda/member_kernels.h"
#include "live/comm/cuda/under_way.h"
#include "live/comm/gpu_streams.h"
#include "live/kernels/cuda/gpu_queue.h"
#include "sim/error.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>

namespace live::cuda {
namespace {

struct Arrival {
    const CommRequest* request = nullptr;
    Completion* completion = nullptr;
    GpuQueue* queue = nullptr;
    SharedEvent reached; ///< the queue has done what was put on it before the request
};
using Arrivals = std::vector<Arrival>; ///< by member; of a transfer: the sender, the receiver

class LocalGpuCommunicator final : public Communicator {
public:
    explicit LocalGpuCommunicator(WorkerPool& pool) : m_pool(pool), m_sends(pool) {}
    ~LocalGpuCommunicator() override
    {
        for (const auto& [gpu, streams] : m_streams)
            for (Stream stream : streams)
                if (stream)
                    destroyStream(stream);
    }
    LocalGpuCommunicator(const LocalGpuCommunicator&) = delete;
    LocalGpuCommunicator& operator=(const LocalGpuCommunicator&) = delete;

    std::string name() const override { return "in this process, on the GPU"; }

    void issue(const CommRequest& request, Completion& completion) override
    {
        Arrivals complete;
        const bool isPair = isTransfer(request.kind); // a request may be gone once its completion is finished
        try {
            checkRequest(request);
            auto* const queue = dynamic_cast<GpuQueue*>(request.queue);
            if (!queue)
                throw sim::Error("Communication on GPUs needs the request's queue: " + request.what);
            makeCurrent(queue->gpu());
            completion.issuedNs = queue->mark();
            Arrival arrival{&request, &completion, queue, m_events.take(queue->gpu())};
            recordEvent(arrival.reached.get(), queue->stream());
            const std::lock_guard lock(m_mutex);
            if (!m_why.empty())
                throw sim::Error(m_why);
            complete = isPair ? meetPeer(std::move(arrival)) : meetGroup(std::move(arrival));
            // Under the lock: work of two groups that share a stream must not mix.
            if (!complete.empty()) {
                const SharedEvent done = execute(complete);
                if (isPair) // no queue waits for a send
                    m_sends.add(*complete[0].completion, complete[0].queue->gpu(), done);
            }
        } catch (...) {
            const std::exception_ptr failure = std::current_exception();
            if (complete.empty())
                completion.fail(m_pool, failure);
            for (const Arrival& arrival : complete)
                arrival.completion->fail(m_pool, failure);
            return;
        }
        for (std::size_t i = isPair ? 1 : 0; i < complete.size(); ++i)
            complete[i].completion->finish(m_pool);
    }

    bool poll() override { return m_sends.finishPassed(); }

    void abort(const std::string& why) override
    {
        std::vector<Completion*> pending;
        {
            const std::lock_guard lock(m_mutex);
            if (!m_why.empty())
                return;
            m_why = why;
            for (const auto& [id, meetings] : m_meetings)
                for (const Arrivals& meeting : meetings)
                    for (const Arrival& arrival : meeting)
                        if (arrival.request)
                            pending.push_back(arrival.completion);
            for (const auto& [channel, waiting] : m_channels)
                for (const Arrival& arrival : waiting)
                    pending.push_back(arrival.completion);
            m_meetings.clear();
            m_channels.clear();
        }
        for (Completion* completion : pending)
            completion->fail(m_pool, std::make_exception_ptr(sim::Error(why)));
        m_sends.fail(why);
    }

private:
    /// Members issue in the same order, so the first meeting this member has not come to is its own.
    Arrivals meetGroup(Arrival arrival)
    {
        const CommGroup& group = *arrival.request->group;
        const auto member = static_cast<std::size_t>(arrival.request->member);
        std::deque<Arrivals>& meetings = m_meetings[group.id];
        auto meeting = std::find_if(meetings.begin(), meetings.end(), [&](const Arrivals& m) { return !m[member].request; });
        if (meeting == meetings.end()) {
            meetings.emplace_back(group.ranks.size());
            meeting = std::prev(meetings.end());
        }
        (*meeting)[member] = std::move(arrival);
        if (std::any_of(meeting->begin(), meeting->end(), [](const Arrival& a) { return !a.request; }))
            return {};
        Arrivals complete = std::move(*meeting);
        meetings.erase(meeting);
        return complete;
    }

    Arrivals meetPeer(Arrival arrival)
    {
        const CommRequest& request = *arrival.request;
        const bool isSend = request.kind == CommKind::send;
        const int sender = isSend ? request.member : request.peer, receiver = isSend ? request.peer : request.member;
        std::deque<Arrival>& waiting = m_channels[{request.group->id, sender, receiver}];
        if (waiting.empty() || waiting.front().request->kind == request.kind) {
            waiting.push_back(std::move(arrival));
            return {};
        }
        Arrivals both(2);
        both[isSend ? 1 : 0] = std::move(waiting.front());
        both[isSend ? 0 : 1] = std::move(arrival);
        waiting.pop_front();
        return both;
    }

    /// Returns the event after the transfer.
    SharedEvent execute(const Arrivals& arrivals)
    {
        const CommRequest& first = *arrivals[0].request;
        checkAgreement(arrivals);
        const int gpu = arrivals[0].queue->gpu();
        for (const Arrival& arrival : arrivals)
            reach(gpu, arrival.queue->gpu());
        const Stream stream = streamOf(gpu, *first.group);
        for (const Arrival& arrival : arrivals)
            waitForEvent(stream, arrival.reached.get());
        for (const Arrival& arrival : arrivals)
            if (arrival.queue->gpu() == gpu)
                arrival.completion->readyNs = arrival.queue->markOn(stream);
        makeCurrent(gpu);
        move(arrivals, stream);
        const SharedEvent done = m_events.take(gpu);
        recordEvent(done.get(), stream);
        for (const Arrival& arrival : arrivals) {
            Completion& completion = *arrival.completion;
            Stream marked = stream;
            if (const int other = arrival.queue->gpu(); other != gpu) { // marks belong to the queue's GPU
                marked = streamOf(other, *first.group);
                waitForEvent(marked, done.get());
            }
            completion.doneNs = arrival.queue->markOn(marked);
            if (marked != stream)
                completion.readyNs = completion.doneNs;
            if (arrival.request->kind == CommKind::send)
                continue;
            completion.onResume = [done, queue = arrival.queue] {
                makeCurrent(queue->gpu());
                waitForEvent(queue->stream(), done.get());
            };
        }
        return done;
    }

    static void move(const Arrivals& arrivals, Stream stream)
    {
        const CommKind kind = arrivals[0].request->kind;
        if (kind == CommKind::allReduce || kind == CommKind::reduceScatter)
            return reduce(arrivals, stream);
        std::vector<Piece> pieces;
        copyPieces(arrivals, [&](const void* from, void* to, std::int64_t bytes) {
            if (bytes > 0 && from != to)
                pieces.push_back({from, to, bytes});
        });
        copyPiecesOn(stream, pieces);
    }

    static void reduce(const Arrivals& arrivals, Stream stream)
    {
        const CommRequest& first = *arrivals[0].request;
        MemberReduction reduction{.type = first.input.type,
                                  .reduce = first.reduce,
                                  .scatter = first.kind == CommKind::reduceScatter,
                                  .count = first.output.elements()};
        for (const Arrival& arrival : arrivals) {
            reduction.inputs.push_back(arrival.request->input.data);
            reduction.outputs.push_back(arrival.request->output.data);
        }
        if (reduction.count > 0)
            reduceMembersOn(stream, reduction);
    }

    /// Some streams a GPU, so that groups do not wait for each other; urgent, as others wait for what they carry. Taken in turn.
    Stream streamOf(int gpu, const CommGroup& group)
    {
        makeCurrent(gpu);
        const std::size_t turn = m_turns.try_emplace(group.id, m_turns.size() % kStreams).first->second;
        Stream& stream = m_streams[gpu][turn];
        if (!stream)
            stream = createStream(true);
        return stream;
    }

    void reach(int gpu, int other)
    {
        if (gpu == other || !m_reached.emplace(gpu, other).second)
            return;
        if (!allowPeer(gpu, other))
            throw sim::Error("GPU " + std::to_string(gpu) + " cannot reach the memory of GPU " + std::to_string(other) +
                             ": start one process a GPU, which then use NCCL.");
    }

    static constexpr std::size_t kStreams = kStreamsOfLocalGroups;
    WorkerPool& m_pool;
    EventPool m_events;
    UnderWay m_sends;
    std::mutex m_mutex;
    std::unordered_map<int, std::deque<Arrivals>> m_meetings;     ///< by group: collectives not all members have reached
    std::map<std::array<int, 3>, std::deque<Arrival>> m_channels; ///< by group, sender, receiver
    std::map<int, std::array<Stream, kStreams>> m_streams;
    std::map<int, std::size_t> m_turns; ///< by group
    std::set<std::pair<int, int>> m_reached;
    std::string m_why; ///< of an abort; "" while there is none
};

} // namespace

std::unique_ptr<Communicator> makeLocalGpuCommunicator(WorkerPool& pool)
{
    return std::make_unique<LocalGpuCommunicator>(pool);
}

} // namespace live::cuda
