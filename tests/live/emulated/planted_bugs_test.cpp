// Bugs of order planted in training: the machine finds each of them, in all orders or in one of a few, and says what it is. Those
// that our communicator had are among them.
#include "live/emulated/emulated_run.h"
#include "sim/error.h"
#include "tests/live/emulated/flawed_nccl.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <gmock/gmock.h>

namespace live::test {
namespace {

using emulated::EmulationOptions, emulated::Placement;
using testing::AllOf, testing::AnyOf, testing::HasSubstr;

constexpr std::uint64_t kOrders = 8;

/// What the machine says in the first order in which it says something; "" if it finds nothing.
std::string findings(const Settings& settings, EmulationOptions options)
{
    const sim::Scenario scenario = job(settings);
    options.train.steps = 2;
    for (std::uint64_t seed = 0; seed < kOrders; ++seed) {
        options.machine.orderSeed = seed;
        try {
            emulated::trainOnMachine(scenario, options);
        } catch (const sim::Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("[order " + std::to_string(seed) + "]"));
            return error.what();
        }
    }
    return {};
}

std::string withFlaws(const Settings& settings, const Flaws& flaws, const emulated::MachineOptions& machine = {})
{
    EmulationOptions options{.placement = Placement::gpuARank, .machine = machine};
    options.makeCommunicator = [flaws](WorkerPool& pool, Store* store, int gpu) {
        return std::make_unique<FlawedNccl>(pool, *store, gpu, flaws);
    };
    return findings(settings, options);
}

const Settings kDualPipe = {"layout.pp=2", "schedule.kind=dualpipe", "schedule.virtual_stages=2"};
const Settings kZeroBubble = {"layout.pp=4", "schedule.kind=zb-h2", "training.global_batch_size=8"};
const Settings kZero2Pipeline = {"layout.pp=2", "layout.dp=2", "layout.zero_stage=2"};

TEST(PlantedInNccl, NothingIsFoundWhereNothingIs)
{
    for (const Settings& settings : {kDualPipe, kZeroBubble, kZero2Pipeline, kTp2})
        EXPECT_EQ(withFlaws(settings, {}), "");
}

TEST(PlantedInNccl, CommunicatorsMadeWhenTheyAreUsedHang)
{
    const std::string found = withFlaws(kDualPipe, {.madeWhenUsed = true});
    EXPECT_THAT(found, AllOf(HasSubstr("nobody can go on"), HasSubstr("rank 0 waits"), HasSubstr("rank 1 waits")));
}

TEST(PlantedInNccl, FirstSendsThatWaitForTheirPeerHang)
{
    const std::string found = withFlaws(kDualPipe, {.opensWhenUsed = true});
    EXPECT_THAT(found, AllOf(HasSubstr("nobody can go on"), HasSubstr("for the first time in group pp")));
}

TEST(PlantedInNccl, AQueueThatWaitsForItsSendsHangs)
{
    for (const Settings& settings :
         {kDualPipe, kZeroBubble, Settings{"layout.pp=4", "schedule.kind=zb-2p", "training.global_batch_size=7"}}) {
        const std::string found = withFlaws(settings, {.queueWaitsForSends = true});
        EXPECT_THAT(found, AllOf(HasSubstr("nobody can go on"), HasSubstr("NCCL send to 1 in group pp")));
    }
}

TEST(PlantedInNccl, SendsWhoseBuffersAreUsedAgainAtOnceAreARace)
{
    const std::string found = withFlaws(kZeroBubble, {.sendsDoneAtOnce = true});
    EXPECT_THAT(found, AllOf(HasSubstr("a race"), HasSubstr("NCCL send")));
}

TEST(PlantedInNccl, AnOperationThatDoesNotWaitForItsInputIsARace)
{
    const std::string found = withFlaws(kTp2, {.startsEarly = true});
    EXPECT_THAT(found, AllOf(HasSubstr("a race"), HasSubstr("NCCL all-reduce in group tp")));
}

TEST(PlantedInNccl, AnEventThatIsRecordedTooEarlyIsARace)
{
    const std::string found = withFlaws(kTp2, {.recordsEarly = true});
    EXPECT_THAT(found, AllOf(HasSubstr("a race"), HasSubstr("NCCL all-reduce in group tp")));
}

TEST(PlantedInNccl, AQueueThatDoesNotWaitForWhatComesIsARace)
{
    const std::string found = withFlaws({"layout.pp=2"}, {.nobodyWaits = true});
    EXPECT_THAT(found, AllOf(HasSubstr("a race"), HasSubstr("NCCL receive from 0 in group pp")));
}

TEST(PlantedInNccl, OneStreamForAllGroupsHangs)
{
    const std::string found = withFlaws(kDualPipe, {.oneStream = true});
    EXPECT_THAT(found, HasSubstr("nobody can go on"));
}

TEST(PlantedInNccl, OneWordThatAllGroupsSumIsARace)
{
    const std::string found = withFlaws({"layout.dp=2", "layout.tp=2"}, {.oneWordForAll = true});
    EXPECT_THAT(found, AllOf(HasSubstr("a race"), HasSubstr("NCCL all-reduce")));
}

/// As the run was with CUDA's 8 queues where a rank has 10 to 14 streams of ours: here 6, and NCCL's, on 4.
TEST(PlantedInNccl, StreamsThatShareHardwareQueuesHang)
{
    const Settings settings = {
        "layout.pp=2", "schedule.kind=zb-v", "schedule.virtual_stages=2",    "model.tie_word_embeddings=true",
        "layout.tp=2", "layout.dp=2",        "training.global_batch_size=16"};
    EXPECT_EQ(withFlaws(settings, {}), "");
    for (const int queues : {1, 4}) {
        const std::string found = withFlaws(settings, {}, {.hardwareQueues = queues});
        EXPECT_THAT(found, AllOf(HasSubstr("nobody can go on"), HasSubstr("which their streams share")));
        EXPECT_THAT(found, HasSubstr(" of " + std::to_string(queues) + ", which"));
    }
}

/// Where ranks share a GPU every operation comes after all that it waits for, in one order of issue: any number of queues do.
TEST(OneGpu, NeedsNoMoreThanOneHardwareQueue)
{
    for (const Settings& settings : {kDualPipe, kZeroBubble, kZero2Pipeline + kTp2})
        EXPECT_EQ(findings(settings, {.placement = Placement::oneGpu, .machine = {.hardwareQueues = 1}}), "");
}

/// Planted between the runtime and our own communicators.
std::string between(const Settings& settings, Placement placement, const CommunicatorDecorator::Instead& instead)
{
    EmulationOptions options{.placement = placement};
    options.makeCommunicator = [&](WorkerPool& pool, Store* store, int gpu) {
        return std::make_unique<CommunicatorDecorator>(emulated::makeCommunicatorOnMachine(pool, store, gpu), instead);
    };
    return findings(settings, options);
}

class PlantedBetween : public testing::TestWithParam<Placement> {};

TEST_P(PlantedBetween, ResultsThatNobodyWaitsForAreARace)
{
    const std::string found =
        between(kTp2, GetParam(), [](Communicator& inner, const CommRequest& request, Completion& completion) {
            inner.issue(request, completion);
            if (completion.isDone())
                completion.onResume = nullptr;
            return true;
        });
    EXPECT_THAT(found, HasSubstr("a race"));
}

TEST_P(PlantedBetween, SendsThatAreToldDoneBeforeTheyAreAreARace)
{
    std::vector<std::unique_ptr<Completion>> kept;
    WorkerPool nobody(1);
    const std::string found =
        between(kZeroBubble, GetParam(), [&](Communicator& inner, const CommRequest& request, Completion& completion) {
            if (request.kind != CommKind::send)
                return false;
            kept.push_back(std::make_unique<Completion>());
            static std::vector<std::unique_ptr<CommRequest>> requests;
            requests.push_back(std::make_unique<CommRequest>(request));
            inner.issue(*requests.back(), *kept.back());
            completion.finish(nobody);
            return true;
        });
    EXPECT_THAT(found, HasSubstr("a race"));
}

INSTANTIATE_TEST_SUITE_P(, PlantedBetween, testing::Values(Placement::oneGpu, Placement::gpuARank),
                         [](const auto& of) { return of.param == Placement::oneGpu ? "one_gpu" : "gpu_a_rank"; });

} // namespace
} // namespace live::test
