// What the communicator by NCCL refuses before a run, and how it ends one.
#include "live/emulated/emulated_run.h"
#include "sim/error.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <gmock/gmock.h>

#include <cstdlib>

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
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "2", 1);
    const std::string why = refusal({"layout.pp=2", "layout.tp=2"});
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    EXPECT_THAT(why,
                AllOf(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS is 2, and this rank uses 5 streams"), HasSubstr("set it to 32")));
}

TEST(NcclCommunicator, GivesEveryStreamAHardwareQueueOfItsOwnWhereNobodySaysOtherwise)
{
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    EXPECT_EQ(refusal({"layout.pp=2"}), "");
    EXPECT_STREQ(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
    EXPECT_EQ(emulated::Machine().options().hardwareQueues, 32);
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

} // namespace
} // namespace live::test
