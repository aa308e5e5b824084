// All-reduce of two ranks in one process, by message size; `best_us`: of the quickest batch, which others on the machine disturb
// least. The same sizes over MPI: rankscope-bench-mpi.
#include "live/comm/communicator.h"
#include "live/tasks/task.h"
#include "live/tasks/worker_pool.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <limits>

namespace {

using namespace live;

Task<> reduceOften(Communicator& communicator, CommRequest request, std::int64_t times, std::atomic<int>& ended)
{
    for (std::int64_t i = 0; i < times; ++i) {
        request.sequence = i;
        Completion completion;
        communicator.issue(request, completion);
        co_await completion;
    }
    ++ended;
}

void allReduceInProcess(benchmark::State& state)
{
    const std::int64_t elements = state.range(0) / 4;
    const std::int64_t times = std::max<std::int64_t>(5, (32 << 20) / (state.range(0) + 2048)); // some ms a batch
    WorkerPool pool(static_cast<int>(state.range(1)));
    const auto communicator = makeLocalCommunicator(pool);
    const CommGroup group{1, "dp", {0, 1}};
    std::vector<std::vector<float>> values(2, std::vector<float>(static_cast<std::size_t>(elements), 0.0F));
    double best = std::numeric_limits<double>::infinity();
    for (auto _ : state) {
        std::atomic<int> ended{0};
        std::vector<Task<>> tasks;
        for (int member = 0; member < 2; ++member) {
            CommRequest request;
            request.kind = CommKind::allReduce;
            request.group = &group;
            request.member = member;
            request.input = {values[static_cast<std::size_t>(member)].data(), DType::f32, 1, elements, elements};
            request.output = request.input; // in place, as MPI_IN_PLACE beside it
            tasks.push_back(reduceOften(*communicator, request, times, ended));
            pool.post(tasks.back().handle());
        }
        const auto start = std::chrono::steady_clock::now();
        pool.run([&] { return ended == 2; });
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        const double each = elapsed.count() / static_cast<double>(times);
        best = std::min(best, each);
        state.SetIterationTime(each);
    }
    state.counters["best_us"] = best * 1e6;
    state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(allReduceInProcess)
    ->ArgsProduct({{4, 4 << 10, 64 << 10, 1 << 20, 16 << 20}, {1, 2}})
    ->ArgNames({"bytes", "workers"})
    ->UseManualTime()
    ->Iterations(60);

} // namespace
