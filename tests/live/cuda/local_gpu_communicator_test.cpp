// Several ranks on one GPU: what each of them gets has the bits that the CPU's communicator gives.
#include "live/comm/communicator.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "tests/live/cuda/gpu_fixture.h"

#ifdef RANKSCOPE_TEST_ON_GPU
#include "live/comm/gpu_modules.h"
#else
#include "live/comm/cuda/local_gpu_communicator.h"
#endif

#include <numeric>

namespace live {
namespace {

std::unique_ptr<Communicator> gpuCommunicator(WorkerPool& pool)
{
#ifdef RANKSCOPE_TEST_ON_GPU
    return makeLocalGpuCommunicator(pool);
#else
    return cuda::makeLocalGpuCommunicator(pool);
#endif
}

/// Ranks with a queue each on one device, which issue one request each and wait for it.
class Ranks {
public:
    Ranks(std::unique_ptr<Device> device, int count) : m_device(std::move(device)), m_memory(*m_device)
    {
        for (int rank = 0; rank < count; ++rank) {
            group.ranks.push_back(rank);
            m_queues.push_back(m_device->makeQueue());
            m_queues.back()->keepMarks(true);
        }
    }
    Queue& queue(int rank) { return *m_queues[static_cast<std::size_t>(rank)]; }
    Tensor make(DType type, std::int64_t rows, std::int64_t columns)
    {
        m_arrays.push_back(m_memory.allocate(type, rows, columns));
        return m_arrays.back();
    }
    /// Every rank issues; returns their outputs, one after the other.
    template <class T>
    std::vector<T> run(Communicator& communicator, const std::vector<CommRequest>& requests)
    {
        std::list<Completion> completions;
        for (const CommRequest& request : requests)
            communicator.issue(request, completions.emplace_back());
        std::vector<T> all;
        auto completion = completions.begin();
        for (std::size_t rank = 0; rank < requests.size(); ++rank, ++completion) {
            if (requests[rank].kind == CommKind::send) {
                while (!completion->isDone()) // when the GPU has read it
                    communicator.poll();
            }
            EXPECT_TRUE(completion->isDone());
            completion->await_resume();
            const Tensor& output = requests[rank].output;
            std::vector<T> values(static_cast<std::size_t>(output.elements()));
            if (output)
                m_queues[rank]->toHost(output, values.data());
            all.insert(all.end(), values.begin(), values.end());
            if (m_device->info().kind == "cuda") {
                std::array<std::int64_t, 3> times{completion->issuedNs, completion->readyNs, completion->doneNs};
                m_queues[rank]->resolveMarks(times);
                EXPECT_LE(times[0], times[1]);
                EXPECT_LE(times[1], times[2]);
            }
        }
        return all;
    }

    CommGroup group{.id = 3, .name = "tp", .ranks = {}};

private:
    std::unique_ptr<Device> m_device;
    Memory m_memory;
    std::vector<std::unique_ptr<Queue>> m_queues;
    std::list<Array> m_arrays;
};

/// The requests of `kind`, with inputs that depend on the rank.
std::vector<CommRequest> requestsOf(Ranks& ranks, CommKind kind, ReduceOp reduce, std::int64_t rows, std::int64_t columns)
{
    const int count = ranks.group.size();
    std::vector<CommRequest> requests;
    for (int rank = 0; rank < count; ++rank) {
        CommRequest request{.kind = kind, .reduce = reduce, .group = &ranks.group, .member = rank, .queue = &ranks.queue(rank)};
        std::int64_t inputRows = rows, outputRows = rows;
        if (kind == CommKind::reduceScatter)
            inputRows = rows * count;
        if (kind == CommKind::allGather)
            outputRows = rows * count;
        if (kind == CommKind::allToAll) {
            for (int other = 0; other < count; ++other) {
                request.sendRows.push_back((rank * 2 + other) % 3 * rows);
                request.receiveRows.push_back((other * 2 + rank) % 3 * rows);
            }
            inputRows = std::accumulate(request.sendRows.begin(), request.sendRows.end(), std::int64_t{0});
            outputRows = std::accumulate(request.receiveRows.begin(), request.receiveRows.end(), std::int64_t{0});
        }
        if (kind == CommKind::send) {
            request.kind = rank == 0 ? CommKind::send : CommKind::receive;
            request.peer = 1 - rank;
        }
        if (kind != CommKind::barrier) {
            request.input = ranks.make(DType::f32, inputRows, columns);
            request.output = ranks.make(DType::f32, outputRows, columns);
            std::vector<float> values(static_cast<std::size_t>(inputRows * columns));
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = std::sin(static_cast<float>(i) + 100.0F * static_cast<float>(rank)) * (i % 3 == 0 ? 1e4F : 1.0F);
            ranks.queue(rank).fromHost(values.data(), request.input);
            ranks.queue(rank).fill(request.output, -1);
            if (request.kind == CommKind::receive)
                request.input = {};
            if (request.kind == CommKind::send)
                request.output = {};
        }
        requests.push_back(std::move(request));
    }
    return requests;
}

class RanksOnOneGpu : public testing::TestWithParam<int> {};

TEST_P(RanksOnOneGpu, EveryKindGivesTheBitsOfTheCpu)
{
    std::string why;
    std::unique_ptr<Device> device = gpuForTests(DType::f32, &why);
    if (!device)
        GTEST_SKIP() << "no GPU to test on: " << why;
    WorkerPool pool(1);
    Ranks onGpu(std::move(device), GetParam()), onCpu(makeCpuDevice(DType::f32, nullptr), GetParam());
    const auto gpu = gpuCommunicator(pool), cpu = makeLocalCommunicator(pool);
    for (const CommKind kind : {CommKind::allReduce, CommKind::reduceScatter, CommKind::allGather, CommKind::allToAll,
                                CommKind::send, CommKind::broadcast, CommKind::barrier})
        for (const ReduceOp reduce : {ReduceOp::sum, ReduceOp::max})
            for (const std::int64_t columns : {1, 7, 16, 4099}) {
                if (kind == CommKind::send && GetParam() != 2)
                    continue;
                SCOPED_TRACE(testing::Message() << commKindName(kind) << " of " << columns << " columns");
                EXPECT_EQ(onGpu.run<float>(*gpu, requestsOf(onGpu, kind, reduce, 3, columns)),
                          onCpu.run<float>(*cpu, requestsOf(onCpu, kind, reduce, 3, columns)));
            }
}

TEST_P(RanksOnOneGpu, SumsOfBfloatAreRoundedOnce)
{
    std::string why;
    std::unique_ptr<Device> device = gpuForTests(DType::bf16, &why);
    if (!device)
        GTEST_SKIP() << "no GPU to test on: " << why;
    WorkerPool pool(1);
    Ranks ranks(std::move(device), GetParam());
    std::vector<CommRequest> requests;
    float sum = 0;
    for (int rank = 0; rank < GetParam(); ++rank) {
        const Tensor tensor = ranks.make(DType::bf16, 1, 40);
        const float value = roundedToBfloat(1.0F + 0.0078125F * static_cast<float>(rank * rank));
        sum += value;
        ranks.queue(rank).fill(tensor, value);
        requests.push_back({.kind = CommKind::allReduce,
                            .group = &ranks.group,
                            .member = rank,
                            .input = tensor,
                            .output = tensor,
                            .queue = &ranks.queue(rank)}); // in place
    }
    const auto communicator = gpuCommunicator(pool);
    const auto expected = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(roundedToBfloat(sum)) >> 16);
    for (const std::uint16_t word : ranks.run<std::uint16_t>(*communicator, requests))
        ASSERT_EQ(word, expected);
}

TEST_P(RanksOnOneGpu, AbortEndsWhatWaitsAndWhatComes)
{
    std::string why;
    std::unique_ptr<Device> device = gpuForTests(DType::f32, &why);
    if (!device)
        GTEST_SKIP() << "no GPU to test on: " << why;
    WorkerPool pool(1);
    Ranks ranks(std::move(device), GetParam());
    const auto communicator = gpuCommunicator(pool);
    const std::vector<CommRequest> requests = requestsOf(ranks, CommKind::allReduce, ReduceOp::sum, 1, 8);
    Completion waits, comes;
    communicator->issue(requests[0], waits);
    EXPECT_FALSE(waits.isDone());
    communicator->abort("rank 3 has left");
    communicator->issue(requests[1], comes);
    for (Completion* completion : {&waits, &comes}) {
        ASSERT_TRUE(completion->isDone());
        EXPECT_THROW(completion->await_resume(), sim::Error);
    }
}

INSTANTIATE_TEST_SUITE_P(Members, RanksOnOneGpu, testing::Values(2, 3, 4));

} // namespace
} // namespace live
