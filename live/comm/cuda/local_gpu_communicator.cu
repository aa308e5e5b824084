// Members meet on the host, as on the CPU; the last one to come puts the work on a stream: wait for what each member had put on
// its queue before, one kernel, and an event that each member's queue waits for when its coroutine goes on. No kernel waits for
// another rank's, so nothing can hang however many ranks share the GPU.
#include "live/comm/cuda/local_gpu_communicator.h"

#include "live/comm/agreement.h"
#include "live/comm/cuda/collectives.h"
#include "live/comm/cuda/event_pool.h"
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

template <class Function>
void withElement(DType type, const Function& f)
{
    switch (type) {
    case DType::f32:
        return f(float{});
    case DType::f64:
        return f(double{});
    case DType::bf16:
        return f(Bfloat16{});
    case DType::i32:
        return f(std::int32_t{});
    case DType::i64:
        return f(std::int64_t{});
    }
}

unsigned blocksFor(std::int64_t threads)
{
    constexpr std::int64_t kThreads = 256, kMaxBlocks = 1024;
    return static_cast<unsigned>(std::clamp<std::int64_t>(ceilDivide(threads, kThreads), 1, kMaxBlocks));
}

/// Copies, kMaxSegments a kernel.
class Copies {
public:
    explicit Copies(Stream stream) : m_stream(stream) {}
    void add(const void* from, void* to, std::int64_t bytes)
    {
        if (bytes == 0 || from == to)
            return;
        m_segments.segment[m_count++] = {from, to, bytes};
        m_longest = std::max(m_longest, bytes);
        if (m_count == kMaxSegments)
            put();
    }
    void put()
    {
        constexpr std::int64_t kBytes = 16;
        if (m_count > 0)
            launch(m_stream, Grid{blocksFor(m_longest / kBytes), static_cast<unsigned>(m_count)}, 256, 0, copySegmentsKernel,
                   m_segments);
        m_count = 0;
        m_longest = 0;
    }

private:
    Stream m_stream;
    Segments m_segments{};
    int m_count = 0;
    std::int64_t m_longest = 0;
};

class LocalGpuCommunicator final : public Communicator {
public:
    explicit LocalGpuCommunicator(WorkerPool& pool) : m_pool(pool) {}
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
        try {
            checkRequest(request);
            auto* const queue = dynamic_cast<GpuQueue*>(request.queue);
            if (!queue)
                throw sim::Error("Communication on GPUs needs the request's queue: " + request.what);
            completion.issuedNs = queue->mark();
            Arrival arrival{&request, &completion, queue, m_events.take(queue->gpu())};
            recordEvent(arrival.reached.get(), queue->stream());
            const std::lock_guard lock(m_mutex);
            if (!m_why.empty())
                throw sim::Error(m_why);
            complete = isTransfer(request.kind) ? meetPeer(std::move(arrival)) : meetGroup(std::move(arrival));
            // Under the lock: work of two groups that share a stream must not mix.
            if (!complete.empty())
                execute(complete);
        } catch (...) {
            const std::exception_ptr failure = std::current_exception();
            if (complete.empty())
                completion.fail(m_pool, failure);
            for (const Arrival& arrival : complete)
                arrival.completion->fail(m_pool, failure);
            return;
        }
        for (const Arrival& arrival : complete)
            arrival.completion->finish(m_pool);
    }

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

    void execute(const Arrivals& arrivals)
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
            completion.onResume = [done, queue = arrival.queue] {
                makeCurrent(queue->gpu());
                waitForEvent(queue->stream(), done.get());
            };
        }
    }

    static void move(const Arrivals& arrivals, Stream stream)
    {
        const CommKind kind = arrivals[0].request->kind;
        if (kind == CommKind::allReduce || kind == CommKind::reduceScatter)
            return reduce(arrivals, stream);
        Copies copies(stream);
        copyPieces(arrivals, [&](const void* from, void* to, std::int64_t bytes) { copies.add(from, to, bytes); });
        copies.put();
    }

    static void reduce(const Arrivals& arrivals, Stream stream)
    {
        const CommRequest& first = *arrivals[0].request;
        if (arrivals.size() > kMaxMembers)
            throw sim::Error("Group " + first.group->name + " has " + std::to_string(arrivals.size()) +
                             " members; sums on one GPU take at most " + std::to_string(kMaxMembers) + ".");
        const bool scatter = first.kind == CommKind::reduceScatter;
        const std::int64_t count = first.output.elements();
        if (count == 0)
            return;
        MemberPointers pointers{};
        pointers.members = static_cast<int>(arrivals.size());
        std::uintptr_t bits = static_cast<std::uintptr_t>(count * bytesOf(first.input.type)); // every part's place
        for (std::size_t i = 0; i < arrivals.size(); ++i) {
            pointers.inputs[i] = arrivals[i].request->input.data;
            pointers.outputs[i] = arrivals[i].request->output.data;
            bits |= reinterpret_cast<std::uintptr_t>(pointers.inputs[i]) | reinterpret_cast<std::uintptr_t>(pointers.outputs[i]);
        }
        withElement(first.input.type, [&]<class T>(T) {
            constexpr int kWide = 16 / static_cast<int>(sizeof(T));
            const auto run = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
                const auto kernel = first.reduce == ReduceOp::sum ? reduceKernel<T, kWidth, ReduceOp::sum>
                                                                  : reduceKernel<T, kWidth, ReduceOp::max>;
                const std::int64_t groups = count / kWidth;
                launch(stream, Grid{blocksFor(groups), scatter ? static_cast<unsigned>(arrivals.size()) : 1U}, 256, 0, kernel,
                       pointers, groups, scatter);
            };
            if (bits % 16 == 0)
                run(std::integral_constant<int, kWide>{});
            else
                run(std::integral_constant<int, 1>{});
        });
    }

    /// Some streams a GPU, so that groups do not wait for each other; urgent, as others wait for what they carry.
    Stream streamOf(int gpu, const CommGroup& group)
    {
        makeCurrent(gpu);
        Stream& stream = m_streams[gpu][static_cast<std::size_t>(group.id) % kStreams];
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

    static constexpr std::size_t kStreams = 8;
    WorkerPool& m_pool;
    EventPool m_events;
    std::mutex m_mutex;
    std::unordered_map<int, std::deque<Arrivals>> m_meetings;     ///< by group: collectives not all members have reached
    std::map<std::array<int, 3>, std::deque<Arrival>> m_channels; ///< by group, sender, receiver
    std::map<int, std::array<Stream, kStreams>> m_streams;
    std::set<std::pair<int, int>> m_reached;
    std::string m_why; ///< of an abort; "" while there is none
};

} // namespace

std::unique_ptr<Communicator> makeLocalGpuCommunicator(WorkerPool& pool)
{
    return std::make_unique<LocalGpuCommunicator>(pool);
}

} // namespace live::cuda
