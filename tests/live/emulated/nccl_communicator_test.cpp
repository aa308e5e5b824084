// What the communicator by NCCL refuses before a run, and how it ends one.
#include "live/comm/nccl/nccl_calls.h"
#include "live/comm/nccl/nccl_communicator.h"
#include "live/emulated/emulated_device.h"
#include "live/emulated/emulated_run.h"
#include "live/emulated/local_store.h"
#include "live/kernels/modules.h"
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"
#include "tests/live/support/matrix.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace live::test {
namespace {

using emulated::EmulationOptions, emulated::Placement;
using testing::AllOf, testing::HasSubstr;

std::string refusal(const Settings& settings, EmulationOptions options = {})
{
    options.placement = Placement::gpuARank;
    options.train.steps = 1;
    try {
        emulated::trainOnMachine(job(settings), options);
    } catch (const sim::Error& error) {
        return error.what();
    }
    return {};
}

TEST(NcclCommunicator, RefusesALibraryThatIsOlderThanWhatItWasBuiltFor)
{
    EXPECT_THAT(refusal(kTp2, {.machine = {.ncclVersion = 21805}}), HasSubstr("NCCL 2.18.5 was found"));
    EXPECT_EQ(refusal(kTp2, {.machine = {.ncclVersion = 23007}}), "");
}

TEST(NcclCommunicator, RefusesFewerHardwareQueuesThanStreams)
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 1);
    const std::string why = refusal({"layout.pp=2", "layout.tp=2"});
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    // One for its kernels, and for each of four groups ours and NCCL's.
    EXPECT_THAT(why, AllOf(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS is 8, and this rank uses 9 streams with NCCL's"),
                           HasSubstr("set it to 32")));
}

TEST(NcclCommunicator, GivesEveryStreamAHardwareQueueOfItsOwnWhereNobodySaysOtherwise)
{
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    EXPECT_EQ(refusal({"layout.pp=2"}), "");
    EXPECT_STREQ(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
    EXPECT_EQ(emulated::Machine().options().hardwareQueues, 32);
}

/// Stages of many layers, chunks of several ranks in turn: a rank's stream is full before what it waits for can come, which
/// another rank of its GPU, on the same thread, has to bring about.
TEST(NcclCommunicator, ARankWhoseStreamIsFullKeepsNoOtherOfItsGpuFromItsTurn)
{
    const sim::Scenario scenario =
        job({"layout.pp=4", "schedule.kind=interleaved-1f1b", "schedule.layers_per_stage=[2,2,2,2,2,2,2,2]",
             "model.num_hidden_layers=16", "training.micro_batch_size=1", "training.global_batch_size=8"});
    TrainOptions train{.steps = 1};
    const TrainedSteps serial = serialSteps(scenario, train);
    for (const std::size_t depth : {32, 64})
        for (const int gpus : {2, 3}) {
            EmulationOptions options{.placement = Placement::someGpus, .gpus = gpus};
            options.machine = {.orderSeed = 2, .launchDepth = depth};
            options.train = train;
            EXPECT_TRUE(isWithin(compareSteps(serial, emulated::trainOnMachine(scenario, options)), limitsOf(scenario)))
                << depth << " operations a stream, " << gpus << " GPUs";
        }
}

/// Kernels of five groups may run at once on each GPU. Where they have the processors for it each gets its share, where they do
/// not the run is refused.
TEST(NcclCommunicator, KernelsOfAllGroupsFitOnTheGpuAtOnce)
{
    const Settings groups = {"layout.pp=2", "layout.tp=2", "layout.dp=2", "training.global_batch_size=8"};
    EXPECT_EQ(refusal(groups, {.machine = {.orderSeed = 2, .processors = 12}}), "");
    EXPECT_THAT(refusal(groups, {.machine = {.orderSeed = 2, .processors = 3}}),
                AllOf(HasSubstr("groups with others, whose kernels may all run at once"), HasSubstr("has 3 processors")));
}

/// Where kernels are loaded at their first launch a host waits for its GPU in the middle of a step: for a send, whose receiver
/// may be loading a kernel, too, and wait for its own send to this one.
TEST(NcclCommunicator, KernelsAreLoadedBeforeAnyWaitsForAnother)
{
    const auto hangs = [] {
        std::string all;
        for (const std::uint64_t seed : {0, 3, 6, 9, 12}) // whose machines may wait to load a kernel
            all +=
                refusal({"layout.pp=2", "schedule.kind=dualpipe", "schedule.virtual_stages=2"}, {.machine = {.orderSeed = seed}});
        return all;
    };
    unsetenv("CUDA_MODULE_LOADING");
    EXPECT_EQ(hangs(), "");
    EXPECT_STREQ(std::getenv("CUDA_MODULE_LOADING"), "EAGER");
    setenv("CUDA_MODULE_LOADING", "LAZY", 1);
    EXPECT_THAT(hangs(), HasSubstr("loads a kernel, which waits for all of its GPU: for 'NCCL send"));
    unsetenv("CUDA_MODULE_LOADING");
}

/// A rank that fails ends the run on all, with its reason, and nobody hangs.
TEST(NcclCommunicator, ARankThatFailsEndsTheRunOnAll)
{
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        EmulationOptions options{.machine = {.orderSeed = seed}};
        options.makeCommunicator = [](WorkerPool& pool, Store* store, int gpu) {
            int requests = 0;
            return std::make_unique<CommunicatorDecorator>(
                emulated::makeCommunicatorOnMachine(pool, store, gpu),
                [gpu, requests](Communicator&, const CommRequest&, Completion&) mutable {
                    if (gpu == 1 && ++requests == 20)
                        throw sim::Error("rank 1 has had enough");
                    return false;
                });
        };
        EXPECT_THAT(refusal({"layout.pp=2", "layout.tp=2"}, options), HasSubstr("rank 1 has had enough"));
    }
}

/// Rank 3 never sends what its pipeline's other rank waits for. That one's host runs ahead: its sums wait on their streams for
/// what it does not receive, and are aborted with it.
TEST(NcclCommunicator, SumsThatWaitForAReceiveOfAnotherGroupAreAbortedWithIt)
{
    for (const std::uint64_t seed : {2, 4, 7}) { // whose hosts run ahead
        EmulationOptions options{.machine = {.orderSeed = seed}};
        options.makeCommunicator = [](WorkerPool& pool, Store* store, int gpu) {
            int sends = 0;
            return std::make_unique<CommunicatorDecorator>(
                emulated::makeCommunicatorOnMachine(pool, store, gpu),
                [gpu, sends](Communicator&, const CommRequest& request, Completion&) mutable {
                    if (gpu == 1 && request.kind == CommKind::send && ++sends == 2)
                        throw sim::Error("rank 1 has had enough");
                    return false;
                });
        };
        EXPECT_THAT(refusal({"layout.pp=2", "layout.tp=2"}, options), HasSubstr("rank 1 has had enough"));
    }
}

/// Rank 1 fails before the sums of step 2, which rank 0 waits for on its GPU: its host has nothing left to wait for itself.
TEST(NcclCommunicator, AStepThatWasCutShortIsNeverToldAsDone)
{
    for (const std::uint64_t seed : {2, 4}) { // whose hosts run ahead
        prepareForGpus();
        emulated::Machine machine({.orderSeed = seed, .gpus = 2});
        const auto stores = emulated::makeLocalStores(machine, 2);
        std::array<int, 2> told{}, sums{};
        std::string why;
        machine.runHosts({"rank 0", "rank 1"}, [&](int rank) {
            WorkerPool pool(1);
            const auto device = emulated::makeEmulatedDevice(rank, DType::f64);
            CommunicatorDecorator communicator(
                emulated::makeCommunicatorOnMachine(pool, stores[static_cast<std::size_t>(rank)].get(), rank),
                [&, rank](Communicator&, const CommRequest& request, Completion&) {
                    if (request.what != "sums" || ++sums[static_cast<std::size_t>(rank)] < 2 || rank == 0)
                        return false;
                    machine.waitUntil([&] { return sums[0] == 2; }, [] { return emulated::Wait{}; });
                    throw sim::Error("rank 1 has had enough");
                });
            emulated::pollOnMachine(pool, machine, communicator);
            try {
                live::Run run(
                    job({"layout.dp=2"}),
                    {.pool = &pool, .device = device.get(), .communicator = &communicator, .firstRank = rank, .rankCount = 1});
                run.train(3, [&](const StepReport& report) {
                    told[static_cast<std::size_t>(rank)] = report.step;
                    return Verdict::goOn;
                });
            } catch (const sim::Error& error) {
                if (rank == 0)
                    why = error.what();
                communicator.abort(error.what());
            }
        });
        EXPECT_EQ(told, (std::array<int, 2>{1, 1}));
        EXPECT_THAT(why, HasSubstr("rank 1 has had enough"));
    }
}

/// Two processes of a GPU each, of which the first sets its groups up; what it is refused with.
std::string refusalOfSetUp(std::chrono::milliseconds setUpWithin,
                           const std::function<void(emulated::Machine&, Store&, const CommGroup&)>& other)
{
    prepareForGpus();
    emulated::Machine machine({.orderSeed = 2, .gpus = 2});
    const auto stores = emulated::makeLocalStores(machine, 2);
    const CommGroup pair{.id = 0, .name = "dp", .ranks = {0, 1}};
    std::string why;
    machine.runHosts({"rank 0", "rank 1"}, [&](int rank) {
        cuda::makeCurrent(rank);
        if (rank == 1)
            return other(machine, *stores[1], pair);
        WorkerPool pool(1);
        const auto communicator = cuda::makeNcclCommunicator(pool, *stores[0], 0, {0, 1}, setUpWithin);
        try {
            communicator->prepare({{.group = &pair, .member = 0, .kinds = {CommKind::allReduce}}});
        } catch (const sim::Error& error) {
            why = error.what();
        }
    });
    return why;
}

TEST(NcclCommunicator, ASetUpToWhichAProcessDoesNotComeEndsInTimeAndNamesTheGroup)
{
    const std::string why = refusalOfSetUp(std::chrono::milliseconds(50), [](emulated::Machine&, Store& store, const CommGroup&) {
        const cuda::Stream stream = cuda::createStream(false);
        void* const data = cuda::allocateMemory(4);
        while (!store.aborted()) { // it lives, and does something else
            cuda::clear(stream, data, 4);
            cuda::synchronizeStream(stream);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    EXPECT_THAT(why, HasSubstr("NCCL has not set up group dp of processes 0, 1 within 50 ms"));
}

/// Its call was taken, its kernel never runs: the first exchange waits for it on the GPU.
TEST(NcclCommunicator, AProcessThatFailsDuringTheSetUpEndsItOnTheOthers)
{
    const std::string why =
        refusalOfSetUp(std::chrono::seconds(60), [](emulated::Machine& machine, Store& store, const CommGroup& pair) {
            store.set("nccl/blocks/1", "32");
            const std::string text = store.get("nccl/0");
            nccl::UniqueId id;
            std::copy(text.begin(), text.end(), id.bytes.begin());
            nccl::Comm comm = nullptr;
            for (nccl::Result state = nccl::initRank(comm, pair, id, 1); state == nccl::Result::inProgress;)
                nccl::asyncError(comm, state);
            while (machine.statistics().operations == 0) // in this order the other's call follows at once
                machine.idle("waits for the other's first exchange");
            store.abort("rank 1 has had enough");
        });
    EXPECT_THAT(why, HasSubstr("rank 1 has had enough"));
}

} // namespace
} // namespace live::test
