// Ranks in one process. The last member to arrive does the work of a collective, in the order of members; nobody waits holding a
// core.
#include "live/comm/communicator.h"

#include "live/record/recorder.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace live {
namespace {

struct Arrival {
    const CommRequest* request = nullptr;
    Completion* completion = nullptr;
};

template <class T>
void reduceInto(ReduceOp op, std::size_t count, const std::vector<const T*>& inputs, const std::vector<T*>& outputs)
{
    // Cache-sized pieces, so that inputs are read once and every output is written while the sum is near.
    constexpr std::size_t kPiece = 4096;
    std::vector<T> sum(std::min(count, kPiece));
    for (std::size_t first = 0; first < count; first += kPiece) {
        const std::size_t length = std::min(kPiece, count - first);
        std::copy_n(inputs[0] + first, length, sum.data());
        for (std::size_t member = 1; member < inputs.size(); ++member) {
            const T* const input = inputs[member] + first;
            if (op == ReduceOp::sum)
                for (std::size_t i = 0; i < length; ++i)
                    sum[i] += input[i];
            else
                for (std::size_t i = 0; i < length; ++i)
                    sum[i] = std::max(sum[i], input[i]);
        }
        for (T* output : outputs)
            std::copy_n(sum.data(), length, output + first);
    }
}

template <class F>
void withType(DType type, F&& f)
{
    switch (type) {
    case DType::f32:
        return f(float{});
    case DType::f64:
        return f(double{});
    case DType::i32:
        return f(std::int32_t{});
    case DType::i64:
        return f(std::int64_t{});
    case DType::bf16:
        throw sim::Error("bf16 cannot be summed on the CPU");
    }
}

void allReduce(const std::vector<Arrival>& arrivals)
{
    const CommRequest& first = *arrivals[0].request;
    withType(first.input.type, [&](auto zero) {
        using T = decltype(zero);
        std::vector<const T*> inputs;
        std::vector<T*> outputs;
        for (const Arrival& arrival : arrivals) {
            inputs.push_back(arrival.request->input.as<T>());
            outputs.push_back(arrival.request->output.as<T>());
        }
        reduceInto(first.reduce, static_cast<std::size_t>(first.input.elements()), inputs, outputs);
    });
}

void reduceScatter(const std::vector<Arrival>& arrivals)
{
    const CommRequest& first = *arrivals[0].request;
    withType(first.input.type, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t part = 0; part < arrivals.size(); ++part) {
            const Tensor& output = arrivals[part].request->output;
            std::vector<const T*> inputs;
            for (const Arrival& arrival : arrivals)
                inputs.push_back(arrival.request->input.as<T>() + static_cast<std::int64_t>(part) * output.elements());
            reduceInto(first.reduce, static_cast<std::size_t>(output.elements()), inputs, {output.as<T>()});
        }
    });
}

void copyBytes(const Tensor& from, const Tensor& to)
{
    if (from.data != to.data && from.bytes() > 0)
        std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes()));
}

void allGather(const std::vector<Arrival>& arrivals)
{
    for (const Arrival& to : arrivals) {
        std::int64_t row = 0;
        for (const Arrival& from : arrivals) {
            const Tensor& input = from.request->input;
            copyBytes(input, to.request->output.rowRange(row, input.rows));
            row += input.rows;
        }
    }
}

void allToAll(const std::vector<Arrival>& arrivals)
{
    for (std::size_t to = 0; to < arrivals.size(); ++to) {
        std::int64_t row = 0;
        for (const Arrival& from : arrivals) {
            const std::vector<std::int64_t>& counts = from.request->sendRows;
            std::int64_t first = 0;
            for (std::size_t i = 0; i < to; ++i)
                first += counts[i];
            copyBytes(from.request->input.rowRange(first, counts[to]), arrivals[to].request->output.rowRange(row, counts[to]));
            row += counts[to];
        }
    }
}

class LocalCommunicator : public Communicator {
public:
    explicit LocalCommunicator(WorkerPool& pool) : m_pool(pool) {}
    std::string name() const override { return "in this process"; }

    void issue(const CommRequest& request, Completion& completion) override
    {
        completion.issuedNs = nowNs();
        std::vector<Arrival> complete;
        {
            const std::lock_guard lock(m_mutex);
            if (m_aborted) {
                completion.fail(m_pool, std::make_exception_ptr(sim::Error(m_why)));
                return;
            }
            if (request.kind == CommKind::send || request.kind == CommKind::receive)
                complete = meetPeer(request, completion);
            else
                complete = meetGroup(request, completion);
        }
        if (!complete.empty())
            execute(complete);
    }

    void abort(const std::string& why) override
    {
        std::vector<Completion*> pending;
        {
            const std::lock_guard lock(m_mutex);
            if (m_aborted)
                return;
            m_aborted = true;
            m_why = why;
            for (auto& [key, queue] : m_groups)
                for (auto& meeting : queue)
                    for (const Arrival& arrival : meeting.arrivals)
                        if (arrival.completion)
                            pending.push_back(arrival.completion);
            for (auto& [key, queue] : m_peers)
                for (const Arrival& arrival : queue)
                    pending.push_back(arrival.completion);
            m_groups.clear();
            m_peers.clear();
        }
        for (Completion* completion : pending)
            completion->fail(m_pool, std::make_exception_ptr(sim::Error(why)));
    }

private:
    /// One collective that not all members have reached.
    struct Meeting {
        std::vector<Arrival> arrivals; ///< by member
        int arrived = 0;
    };

    std::vector<Arrival> meetGroup(const CommRequest& request, Completion& completion)
    {
        std::deque<Meeting>& queue = m_groups[request.group->id];
        const auto member = static_cast<std::size_t>(request.member);
        auto meeting = std::find_if(queue.begin(), queue.end(), [&](const Meeting& m) { return !m.arrivals[member].request; });
        if (meeting == queue.end()) {
            queue.emplace_back().arrivals.resize(request.group->ranks.size());
            meeting = std::prev(queue.end());
        }
        meeting->arrivals[member] = {&request, &completion};
        if (++meeting->arrived < request.group->size())
            return {};
        std::vector<Arrival> complete = std::move(meeting->arrivals);
        queue.erase(meeting);
        return complete;
    }

    std::vector<Arrival> meetPeer(const CommRequest& request, Completion& completion)
    {
        const bool isSend = request.kind == CommKind::send;
        const int sender = isSend ? request.member : request.peer;
        const auto key = [&](bool send) { return std::tuple(request.group->id, sender, send); };
        std::deque<Arrival>& others = m_peers[key(!isSend)];
        if (others.empty()) {
            m_peers[key(isSend)].push_back({&request, &completion});
            return {};
        }
        const Arrival other = others.front();
        others.pop_front();
        const Arrival self{&request, &completion};
        return isSend ? std::vector{self, other} : std::vector{other, self};
    }

    void execute(const std::vector<Arrival>& arrivals)
    {
        const CommRequest& first = *arrivals[0].request;
        const std::int64_t readyNs = nowNs();
        std::exception_ptr failure;
        try {
            for (const Arrival& arrival : arrivals)
                checkSame(first, *arrival.request);
            switch (first.kind) {
            case CommKind::allReduce:
                allReduce(arrivals);
                break;
            case CommKind::reduceScatter:
                reduceScatter(arrivals);
                break;
            case CommKind::allGather:
                allGather(arrivals);
                break;
            case CommKind::allToAll:
                allToAll(arrivals);
                break;
            case CommKind::send:
            case CommKind::receive:
                copyBytes(arrivals[0].request->input, arrivals[1].request->output);
                break;
            case CommKind::broadcast:
                for (const Arrival& arrival : arrivals)
                    copyBytes(first.input, arrival.request->output);
                break;
            case CommKind::barrier:
                break;
            }
        } catch (...) {
            failure = std::current_exception();
        }
        const std::int64_t doneNs = nowNs();
        for (const Arrival& arrival : arrivals) {
            arrival.completion->readyNs = readyNs;
            arrival.completion->doneNs = doneNs;
            if (failure)
                arrival.completion->fail(m_pool, failure);
            else
                arrival.completion->finish(m_pool);
        }
    }

    static std::string describe(const CommRequest& request)
    {
        return "rank " + std::to_string(request.group->ranks[static_cast<std::size_t>(request.member)]) + ": " +
               commKindName(request.kind) + " " + request.what + " of " + std::to_string(request.input.bytes()) + " bytes";
    }

    static void checkSame(const CommRequest& a, const CommRequest& b)
    {
        const bool peers = a.kind == CommKind::send && b.kind == CommKind::receive;
        const bool fits = peers ? a.input.bytes() == b.output.bytes()
                                : a.kind == b.kind && a.input.type == b.input.type && a.sequence == b.sequence;
        if (&a != &b && (!fits || (peers && a.sequence != b.sequence)))
            throw sim::Error("members of group " + a.group->name + " meet in different communications: " + describe(a) + "; " +
                             describe(b));
    }

    WorkerPool& m_pool;
    std::mutex m_mutex;
    std::map<int, std::deque<Meeting>> m_groups;
    std::map<std::tuple<int, int, bool>, std::deque<Arrival>> m_peers;
    bool m_aborted = false;
    std::string m_why;
};

} // namespace

std::unique_ptr<Communicator> makeLocalCommunicator(WorkerPool& pool)
{
    return std::make_unique<LocalCommunicator>(pool);
}

} // namespace live
