// What PyTorch's parallel parts recorded on a real GPU: the mesh that was planted, its micro-batches and schedule come back.
#include "sim/recovery/from_recording.h"
#include "sim/recovery/recover.h"
#include "sim/trace/readers/read_recording.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace {

struct TorchJob {
    nlohmann::json planted;
    sim::Recording recording;
    sim::Recovered run;
};

TorchJob torchJob(const std::string& name)
{
    const std::filesystem::path folder = std::filesystem::path(RANKSCOPE_TEST_DATA) / "torch-parallel" / name;
    TorchJob job;
    job.planted = nlohmann::json::parse(std::ifstream(folder / "planted.json"));
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().filename().string().find("rank") != std::string::npos)
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    job.recording = sim::readRecording(files);
    job.run = sim::recover(job.recording);
    return job;
}

class TorchParallel : public testing::TestWithParam<const char*> {};

TEST_P(TorchParallel, TheMeshThatWasPlantedComesBack)
{
    const TorchJob job = torchJob(GetParam());
    int stride = 1;
    for (const char* axis : {"tp", "dp", "pp"}) {
        const int size = job.planted.at(axis).get<int>();
        const sim::RecoveredAxis* found = job.run.axes.find(axis);
        ASSERT_EQ(found != nullptr, size > 1) << axis;
        if (found != nullptr) {
            EXPECT_EQ(found->size, size) << axis;
            EXPECT_EQ(found->stride, stride) << axis;
        }
        stride *= size;
    }
    for (const sim::RecordedGroup& group : job.recording.groups) // torch notes waits with an empty group of one
        EXPECT_FALSE(group.ranks.empty()) << group.name;
}

INSTANTIATE_TEST_SUITE_P(, TorchParallel, testing::Values("fsdp2-tp2", "pp2-dp2", "pp2-dp2-tp2", "flight-pp2-dp2"),
                         [](const auto& of) {
                             std::string name = of.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

class TorchPasses : public testing::TestWithParam<const char*> {};

TEST_P(TorchPasses, AreCountedFromTheRootsOfFullyShard)
{
    const TorchJob job = torchJob(GetParam());
    ASSERT_TRUE(job.run.schedule);
    EXPECT_EQ(job.run.schedule->microbatches, job.planted.at("microbatches").get<int>()) << job.run.schedule->evidence;
    EXPECT_EQ(job.run.schedule->stages, job.planted.at("pp").get<int>());
    EXPECT_EQ(job.run.schedule->kind, "1f1b") << job.run.schedule->evidence;
    EXPECT_EQ(job.run.schedule->alike, 1);
}

TEST_P(TorchPasses, KernelsOfSeveralTransfersAreOfTheGroupThatWasAskedFor)
{
    const TorchJob job = torchJob(GetParam());
    std::size_t transfers = 0, unnamed = 0;
    const sim::RunEvidence evidence = sim::evidenceOf(job.recording);
    for (const sim::RankEvidence& rank : evidence.ranks)
        for (const sim::CommSpan& span : rank.comms)
            if (span.exchange == sim::Exchange::sendReceive) {
                ++transfers;
                unnamed += span.group < 0 ? 1 : 0;
            }
    EXPECT_EQ(transfers > 0, job.planted.at("pp").get<int>() > 1);
    EXPECT_EQ(unnamed, 0U) << "of " << transfers;
}

INSTANTIATE_TEST_SUITE_P(, TorchPasses, testing::Values("fsdp2-tp2", "pp2-dp2", "pp2-dp2-tp2"), [](const auto& of) {
    std::string name = of.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST(TorchFlightRecorder, TransfersOfOneCallEndWithIt)
{
    const TorchJob job = torchJob("flight-pp2-dp2");
    std::size_t transfers = 0;
    for (const sim::RankRecording& rank : job.recording.ranks)
        for (const sim::RecordedCollective& one : rank.collectives) {
            EXPECT_FALSE(one.isEnqueuedOnly);
            if (!one.isPointToPoint)
                continue;
            ++transfers;
            const int peer = (rank.rank + 2) % 4; // pp is the outer axis of 2 x 2
            EXPECT_TRUE((one.sourceRank == rank.rank && one.destinationRank == peer) ||
                        (one.sourceRank == peer && one.destinationRank == rank.rank))
                << one.sourceRank << " to " << one.destinationRank << " of rank " << rank.rank;
        }
    EXPECT_EQ(transfers, 4U * 36U);
    EXPECT_TRUE(job.recording.problems.empty()) << job.recording.problems.front();
}

/// Nothing marks its steps, and its four are taken for one of more micro-batches: that is no more than a guess, and says so.
TEST(TorchFlightRecorder, AScheduleOfUnmarkedStepsIsAGuess)
{
    const TorchJob job = torchJob("flight-pp2-dp2");
    ASSERT_TRUE(job.run.schedule);
    EXPECT_LT(job.run.schedule->sure, 0.35);
    EXPECT_NE(job.run.schedule->evidence.find("is taken for one step"), std::string::npos) << job.run.schedule->evidence;
}

} // namespace
