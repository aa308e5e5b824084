// NCCL between processes that share one GPU. NCCL refuses two ranks of one machine on a GPU; NCCL_HOSTID (undocumented, read once
// a process) makes each process look like a machine of its own. For tests only: its kernels spin, and take turns on the GPU.
//
// The test starts this program again, once a rank, with what is DISABLED_ below as the ranks' part.
#ifdef RANKSCOPE_TEST_ON_GPU
#include "live/comm/gpu_modules.h"
#include "live/tasks/worker_pool.h"
#include "tests/live/cuda/gpu_fixture.h"

#include <array>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace live {
namespace {

constexpr int kProcesses = 3;

std::vector<float> valuesOf(int rank, std::int64_t count)
{
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(rank + 1) * static_cast<float>(i % 17); // sums of these are exact in any order
    return values;
}

TEST(NcclRank, DISABLED_EveryKindGivesTheValuesExpected)
{
    std::string why;
    std::unique_ptr<Device> device = gpuForTests(DType::f32, &why);
    ASSERT_TRUE(device) << why;
    const std::unique_ptr<Store> store = openStore(readLaunchEnvironment(environmentVariables()));
    const int rank = store->process();
    WorkerPool pool(1);
    const auto communicator = makeNcclCommunicator(pool, *store, 0, {});
    CommGroup group{.id = 1, .name = "dp", .ranks = {}};
    for (int i = 0; i < kProcesses; ++i)
        group.ranks.push_back(i);

    GroupUse use{.group = &group, .member = rank, .kinds = {CommKind::allReduce, CommKind::allToAll}};
    communicator->prepare({use});

    Memory memory(*device);
    const auto queue = device->makeQueue();
    constexpr std::int64_t kCount = 999; // a multiple of the number of processes
    const Array input = memory.allocate(DType::f32, kProcesses, kCount / kProcesses),
                output = memory.allocate(DType::f32, kProcesses * kProcesses, kCount / kProcesses);
    const std::vector<float> own = valuesOf(rank, kCount);
    std::int64_t sequence = 0;
    const auto run = [&](CommKind kind, std::int64_t outputRows) {
        queue->fromHost(own.data(), input);
        const CommRequest request{.kind = kind,
                                  .group = &group,
                                  .member = rank,
                                  .peer = kind == CommKind::send ? 1 : 0,
                                  .input = kind == CommKind::receive ? Tensor{} : input.tensor(),
                                  .output = kind == CommKind::send ? Tensor{} : output->rowRange(0, outputRows),
                                  .sendRows = std::vector<std::int64_t>(kProcesses, 1),
                                  .receiveRows = std::vector<std::int64_t>(kProcesses, 1),
                                  .sequence = sequence++,
                                  .queue = queue.get()};
        Completion completion;
        communicator->issue(request, completion);
        while (!completion.isDone())
            communicator->poll();
        completion.await_resume();
        std::vector<float> values(static_cast<std::size_t>(request.output.elements()));
        if (request.output)
            queue->toHost(request.output, values.data());
        return values;
    };
    constexpr float kFactors = 6; // 1 + 2 + 3
    const std::size_t part = kCount / kProcesses;
    const std::vector<float> unit = valuesOf(0, kCount);

    const std::vector<float> sum = run(CommKind::allReduce, kProcesses), scattered = run(CommKind::reduceScatter, 1),
                             gathered = run(CommKind::allGather, kProcesses * kProcesses),
                             exchanged = run(CommKind::allToAll, kProcesses), spread = run(CommKind::broadcast, kProcesses);
    for (std::size_t i = 0; i < unit.size(); ++i) {
        ASSERT_EQ(sum[i], kFactors * unit[i]);
        ASSERT_EQ(spread[i], unit[i]);
        ASSERT_EQ(exchanged[i], static_cast<float>(i / part + 1) * unit[static_cast<std::size_t>(rank) * part + i % part]);
        for (int from = 0; from < kProcesses; ++from)
            ASSERT_EQ(gathered[static_cast<std::size_t>(from) * unit.size() + i], static_cast<float>(from + 1) * unit[i]);
    }
    for (std::size_t i = 0; i < part; ++i)
        ASSERT_EQ(scattered[i], kFactors * unit[static_cast<std::size_t>(rank) * part + i]);
    if (rank == 0)
        run(CommKind::send, 0);
    if (rank == 1) {
        const std::vector<float> received = run(CommKind::receive, kProcesses);
        ASSERT_EQ(received, unit);
    }
    run(CommKind::barrier, 0);
    store->barrier("done");
}

TEST(Nccl, SeveralProcessesOnOneGpu)
{
    std::string why;
    if (!gpuForTests(DType::f32, &why))
        GTEST_SKIP() << "no GPU to test on: " << why;
    if (!loadModule("rankscope_live_nccl", "rankscopeNcclModule", &why))
        GTEST_SKIP() << "no NCCL: " << why;
    const int port = 20000 + getpid() % 20000;
    std::vector<pid_t> children;
    for (int rank = 0; rank < kProcesses; ++rank) {
        std::map<std::string, std::string> variables = environmentVariables();
        for (const auto& [name, value] : std::map<std::string, std::string>{{"RANK", std::to_string(rank)},
                                                                            {"WORLD_SIZE", std::to_string(kProcesses)},
                                                                            {"LOCAL_RANK", "0"},
                                                                            {"MASTER_ADDR", "127.0.0.1"},
                                                                            {"MASTER_PORT", std::to_string(port)},
                                                                            {"NCCL_HOSTID", "virtual" + std::to_string(rank)},
                                                                            {"NCCL_SOCKET_IFNAME", "lo"},
                                                                            {"NCCL_NET", "Socket"},
                                                                            {"NCCL_IB_DISABLE", "1"},
                                                                            {"NCCL_MNNVL_ENABLE", "0"},
                                                                            {"NCCL_NVLS_ENABLE", "0"},
                                                                            {"NCCL_MAX_CTAS", "2"}})
            variables[name] = value;
        std::vector<std::string> lines;
        for (const auto& [name, value] : variables)
            lines.push_back(name + "=" + value);
        std::vector<char*> environment;
        for (std::string& line : lines)
            environment.push_back(line.data());
        environment.push_back(nullptr);
        std::array<std::string, 3> words = {"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=NcclRank.*"};
        std::array<char*, 4> arguments = {words[0].data(), words[1].data(), words[2].data(), nullptr};
        pid_t child = 0;
        ASSERT_EQ(posix_spawn(&child, words[0].c_str(), nullptr, nullptr, arguments.data(), environment.data()), 0);
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

} // namespace
} // namespace live
#endif
