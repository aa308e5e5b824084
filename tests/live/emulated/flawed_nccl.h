// A communicator by NCCL with flaws to choose: those that ours had, and others that are easily made. Without any it is right.
#pragma once

#include "live/comm/agreement.h"
#include "live/comm/communicator.h"
#include "live/comm/cuda/under_way.h"
#include "live/comm/nccl/nccl_calls.h"
#include "live/comm/store.h"
#include "live/kernels/cuda/gpu_queue.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace live::test {

struct Flaws {
    bool madeWhenUsed = false;       ///< a communicator is made by its first request
    bool opensWhenUsed = false;      ///< its connections too: no first exchange
    bool queueWaitsForSends = false; ///< a send is done at once, and the queue waits for it
    bool sendsDoneAtOnce = false;    ///< and nobody waits for it
    bool startsEarly = false;        ///< does not wait for what the queue did before
    bool recordsEarly = false;       ///< the event of the end is recorded before the operation
    bool nobodyWaits = false;        ///< the queue does not wait for what it receives
    bool oneStream = false;          ///< for all groups
    bool oneWordForAll = false;      ///< barriers of all groups sum the same word
};

class FlawedNccl final : public Communicator {
public:
    FlawedNccl(WorkerPool& pool, Store& store, int gpu, const Flaws& flaws)
        : m_pool(pool), m_store(store), m_gpu(gpu), m_flaws(flaws), m_sends(pool)
    {
        cuda::makeCurrent(gpu);
        m_word = cuda::allocateMemory(256);
        m_handler = store.onAbort([this](const std::string& why) { m_why = why; });
    }
    ~FlawedNccl() override
    {
        m_handler.reset();
        cuda::releaseMemory(m_word);
        for (const auto& [id, group] : m_groups)
            cuda::releaseMemory(group.words);
    }
    FlawedNccl(const FlawedNccl&) = delete;
    FlawedNccl& operator=(const FlawedNccl&) = delete;
    std::string name() const override { return "flawed"; }

    void prepare(const std::vector<GroupUse>& uses) override
    {
        if (m_flaws.madeWhenUsed)
            return;
        cuda::makeCurrent(m_gpu);
        for (const GroupUse& use : uses) {
            Group& group = make(*use.group, use.member);
            if (m_flaws.opensWhenUsed)
                continue;
            auto* const words = static_cast<float*>(group.words);
            cuda::clear(group.stream, words, bytesOfWords(*use.group));
            if (use.kinds.contains(CommKind::send))
                check(nccl::send(words, 1, DType::f32, 1, group.comm, group.stream), group);
            if (use.kinds.contains(CommKind::receive))
                check(nccl::receive(words, 1, DType::f32, 0, group.comm, group.stream), group);
            if (use.kinds.contains(CommKind::allToAll)) {
                nccl::groupStart();
                for (int i = 0; i < use.group->size(); ++i) {
                    nccl::send(words, 1, DType::f32, i, group.comm, group.stream);
                    nccl::receive(words + 1 + i, 1, DType::f32, i, group.comm, group.stream);
                }
                check(nccl::groupEnd(), group);
            }
        }
    }

    void issue(const CommRequest& request, Completion& completion) override
    {
        try {
            auto& queue = dynamic_cast<cuda::GpuQueue&>(*request.queue);
            cuda::makeCurrent(m_gpu);
            Group& group = make(*request.group, request.member);
            const cuda::Stream stream = group.stream;
            cuda::SharedEvent reached = m_events.take(m_gpu), done = m_events.take(m_gpu);
            cuda::recordEvent(reached.get(), queue.stream());
            if (!m_flaws.startsEarly)
                cuda::waitForEvent(stream, reached.get());
            if (m_flaws.recordsEarly)
                cuda::recordEvent(done.get(), stream);
            put(request, group);
            if (!m_flaws.recordsEarly)
                cuda::recordEvent(done.get(), stream);
            const bool isSend = request.kind == CommKind::send;
            if (isSend && !m_flaws.queueWaitsForSends && !m_flaws.sendsDoneAtOnce)
                return m_sends.add(completion, m_gpu, done);
            if (!m_flaws.nobodyWaits && !(isSend && m_flaws.sendsDoneAtOnce))
                completion.onResume = [done, &queue] { cuda::waitForEvent(queue.stream(), done.get()); };
        } catch (...) {
            completion.fail(m_pool, std::current_exception());
            return;
        }
        completion.finish(m_pool);
    }

    bool poll() override { return m_sends.finishPassed(); }
    void abort(const std::string& why) override
    {
        m_store.abort(why);
        m_sends.fail(why);
    }

private:
    struct Group {
        nccl::Comm comm = nullptr;
        cuda::Stream stream = nullptr;
        void* words = nullptr;
    };

    static std::size_t bytesOfWords(const CommGroup& group) { return static_cast<std::size_t>(group.size() + 1) * 4; }

    Group& make(const CommGroup& of, int member)
    {
        Group& group = m_groups[of.id];
        if (group.comm)
            return group;
        if (m_flaws.oneStream && !m_oneStream)
            m_oneStream = cuda::createStream(true);
        group.stream = m_flaws.oneStream ? m_oneStream : cuda::createStream(true);
        group.words = cuda::allocateMemory(bytesOfWords(of));
        nccl::UniqueId id;
        const std::string key = "nccl/" + std::to_string(of.id);
        if (member == 0) {
            nccl::makeUniqueId(id);
            m_store.set(key, std::string(id.bytes.data(), id.bytes.size()));
        } else {
            const std::string value = m_store.get(key);
            std::memcpy(id.bytes.data(), value.data(), value.size());
        }
        check(nccl::initRank(group.comm, of, id, member), group);
        return group;
    }

    void check(nccl::Result result, const Group& group)
    {
        while (result == nccl::Result::inProgress && m_why.empty())
            nccl::asyncError(group.comm, result);
        if (result != nccl::Result::success)
            throw sim::Error(m_why.empty() ? "NCCL failed" : m_why);
    }

    void put(const CommRequest& request, Group& group)
    {
        const Tensor &input = request.input, &output = request.output;
        const auto count = [](const Tensor& tensor) { return static_cast<std::size_t>(tensor.elements()); };
        switch (request.kind) {
        case CommKind::allReduce: {
            if (m_flaws.oneWordForAll)
                check(nccl::allReduce(m_word, m_word, 1, DType::f32, ReduceOp::max, group.comm, group.stream), group);
            return check(
                nccl::allReduce(input.data, output.data, count(input), input.type, request.reduce, group.comm, group.stream),
                group);
        }
        case CommKind::reduceScatter:
            return check(
                nccl::reduceScatter(input.data, output.data, count(output), input.type, request.reduce, group.comm, group.stream),
                group);
        case CommKind::allGather:
            return check(nccl::allGather(input.data, output.data, count(input), input.type, group.comm, group.stream), group);
        case CommKind::send:
            return check(nccl::send(input.data, count(input), input.type, request.peer, group.comm, group.stream), group);
        case CommKind::receive:
            return check(nccl::receive(output.data, count(output), output.type, request.peer, group.comm, group.stream), group);
        case CommKind::allToAll: {
            nccl::groupStart();
            std::int64_t sent = 0, received = 0;
            for (int i = 0; i < request.group->size(); ++i) {
                const std::int64_t out = request.sendRows[static_cast<std::size_t>(i)],
                                   in = request.receiveRows[static_cast<std::size_t>(i)];
                if (out > 0)
                    nccl::send(input.rowRange(sent, out).data, count(input.rowRange(sent, out)), input.type, i, group.comm,
                               group.stream);
                if (in > 0)
                    nccl::receive(output.rowRange(received, in).data, count(output.rowRange(received, in)), output.type, i,
                                  group.comm, group.stream);
                sent += out;
                received += in;
            }
            return check(nccl::groupEnd(), group);
        }
        default:
            throw sim::Error("not needed here");
        }
    }

    WorkerPool& m_pool;
    Store& m_store;
    const int m_gpu;
    const Flaws m_flaws;
    cuda::EventPool m_events;
    cuda::UnderWay m_sends;
    std::shared_ptr<void> m_handler;
    std::map<int, Group> m_groups;
    cuda::Stream m_oneStream = nullptr;
    void* m_word = nullptr;
    std::string m_why;
};

} // namespace live::test
