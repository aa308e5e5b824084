// Calibration from recorded runs: of simulated steps, the truth of which is known, through trace files and as other profilers
// would have recorded them.
#include "sim/calibration/calibrate.h"
#include "sim/calibration/curve_form.h"
#include "sim/calibration/kernel_kind.h"

#include "sim/error.h"
#include "sim/scenario/document.h"
#include "sim/scenario/hardware_profile.h"
#include "sim/simulate/simulation.h"
#include "sim/trace/export.h"
#include "sim/trace/readers/read_recording.h"

#include "tests/support/catalogue.h"
#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <unistd.h>

namespace {

using testing::HasSubstr;

TEST(KernelGroups, OfALambdaAreNotThoseOfLamb)
{
    EXPECT_EQ(sim::kernelGroupOfName("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
                                     "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>>(int)"),
              sim::KernelGroup::other);
    EXPECT_EQ(sim::kernelGroupOfName("LAMBStage1Functor"), sim::KernelGroup::optimizer);
    EXPECT_EQ(sim::kernelGroupOfName("multi_tensor_apply_kernel<LAMBFunctor, {lambda(int)#1}>"), sim::KernelGroup::optimizer);
}

/// Through a file of this process alone: tests run beside each other.
sim::Recording writtenAndRead(const sim::Trace& trace)
{
    const std::filesystem::path path =
        std::filesystem::path(testing::TempDir()) / ("calibrate-" + std::to_string(getpid()) + ".pftrace");
    sim::saveTrace(trace, path);
    sim::Recording recording = sim::readRecording({path});
    std::filesystem::remove(path);
    return recording;
}

sim::Recording writtenAndRead(const sim::Scenario& scenario)
{
    return writtenAndRead(sim::simulate(scenario, {.full = true})->trace(sim::TraceDetail::kernels));
}

double stepSecondsOf(const sim::Scenario& scenario)
{
    return sim::simulate(scenario)->metrics().stepTimeSeconds;
}

/// Another machine than the scenarios name: slower products, attention and links.
sim::Scenario otherMachine(sim::Scenario scenario)
{
    sim::Efficiency& efficiency = scenario.cluster.efficiency;
    efficiency.gemm *= 0.7;
    efficiency.attentionForward *= 0.6;
    efficiency.attentionBackward *= 0.5;
    efficiency.attention.fill({});
    efficiency.memory *= 0.8;
    for (sim::Tier& tier : scenario.cluster.tiers)
        tier.bandwidthGBs *= 0.6;
    return scenario;
}

TEST(CalibratedRun, OfItsOwnPredictionIsThePrediction)
{
    for (const auto& [tp, pp, dp] : {std::tuple{2, 1, 2}, {1, 4, 1}, {2, 2, 2}}) {
        const sim::Scenario scenario = test::smallScenario(tp, pp, dp, 8);
        SCOPED_TRACE(test::describe(scenario));
        const sim::Recording recording = writtenAndRead(scenario);
        const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), scenario);
        EXPECT_NEAR(calibration.errorBefore(), 0, 0.001);
        EXPECT_NEAR(calibration.errorAfter(), 0, 0.005);
        ASSERT_GT(calibration.kernels.size(), 10U);
        std::size_t compared = 0;
        for (const sim::CalibratedClass& kernel : calibration.kernels) {
            if (kernel.ratio > 0) {
                EXPECT_NEAR(kernel.ratio, 1, 0.01) << kernel.name;
                ++compared;
            }
            EXPECT_NEAR(kernel.measuredCount, kernel.predictedCount, 1e-9) << kernel.name << ": " << kernel.note;
        }
        EXPECT_EQ(compared, calibration.kernels.size());
        for (const sim::CalibratedClass& transfer : calibration.transfers)
            EXPECT_GT(transfer.ratio, 0) << transfer.name << ": " << transfer.note;
    }
}

// A loss in chunks: the profile has what one chunk takes, also of a trace that tells all chunks' kernels as one, as the
// simulator's do.
TEST(CalibratedRun, OfALossInChunksHasWhatOneChunkTakes)
{
    sim::Scenario scenario = test::smallScenario(2, 1, 1, 8);
    scenario.training.lossChunkTokens = scenario.training.sequenceLength / 4;
    const sim::Recording recording = writtenAndRead(scenario);
    const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), scenario);
    EXPECT_NEAR(calibration.errorBefore(), 0, 0.001);
    EXPECT_NEAR(calibration.errorAfter(), 0, 0.005);
    double microseconds = 0; // of one chunk's sums
    for (const char* name : {"head.logits, forward", "loss, forward", "loss.sync"}) {
        std::size_t found = 0;
        for (const auto* classes : {&calibration.kernels, &calibration.transfers})
            for (const sim::CalibratedClass& of : *classes)
                if (of.name == name) {
                    ++found;
                    EXPECT_NEAR(of.ratio, 1, 0.01) << name;
                    EXPECT_NEAR(of.predictedCount, 4 * of.measuredCount, 1e-9) << name << ": told as one, run as four";
                    microseconds = of.predictedSeconds / of.predictedCount * 1e6;
                }
        EXPECT_EQ(found, 1U) << name;
    }
    // 12 bytes of each token of a chunk.
    const auto reductions = std::find_if(calibration.profile.transfers.begin(), calibration.profile.transfers.end(),
                                         [](const sim::MeasuredCurve& curve) { return curve.name == "all_reduce"; });
    ASSERT_NE(reductions, calibration.profile.transfers.end());
    const double bytes = 12.0 * scenario.training.lossChunkTokens;
    const auto point = std::find_if(reductions->points.begin(), reductions->points.end(),
                                    [&](const sim::MeasuredPoint& of) { return of.m == bytes && of.n == 2; });
    ASSERT_NE(point, reductions->points.end());
    EXPECT_NEAR(point->microseconds, microseconds, 0.01 * microseconds);
}

TEST(CalibratedRun, NamesTheClassThatIsSlower)
{
    const sim::Scenario scenario = test::smallScenario(2, 2, 2, 8);
    sim::Recording recording = writtenAndRead(scenario);
    const std::string planted = "attn";
    std::size_t slowed = 0;
    for (sim::RankRecording& rank : recording.ranks)
        for (std::size_t i = 0; i < rank.spans.size(); ++i)
            if (rank.spans.kind[i] == sim::RecordedKind::kernel && recording.names[rank.spans.name[i]].starts_with(planted)) {
                rank.spans.durationNs[i] += rank.spans.durationNs[i] / 2;
                ++slowed;
            }
    ASSERT_GT(slowed, 0U);
    const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), scenario);
    for (const sim::CalibratedClass& kernel : calibration.kernels)
        EXPECT_NEAR(kernel.ratio, kernel.name.starts_with(planted) ? 1.5 : 1, 0.01) << kernel.name;
}

// One slow GPU makes no kernel slower: the profile predicts the job without it, and the job with it is told apart.
TEST(CalibratedRun, OfASlowRankHasItsFellowsKernelsAndTellsHowSlowItIs)
{
    const sim::Scenario scenario = test::smallScenario(2, 2, 2, 8);
    sim::Scenario slow = scenario;
    slow.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
    const sim::Recording recording = writtenAndRead(slow);
    const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), scenario);
    for (const sim::CalibratedClass& kernel : calibration.kernels)
        EXPECT_NEAR(kernel.ratio, 1, 0.01) << kernel.name;
    ASSERT_EQ(calibration.slowRanks.size(), 1U);
    EXPECT_EQ(calibration.slowRanks[0].rank, 5);
    EXPECT_NEAR(calibration.slowRanks[0].factor, 1.4, 0.01);
    EXPECT_NEAR(calibration.errorAfter(), 0, 0.01) << "as it ran";
    sim::Scenario healthy = scenario;
    healthy.cluster.efficiency.profile = calibration.profile;
    EXPECT_NEAR(stepSecondsOf(healthy) / stepSecondsOf(scenario), 1, 0.01) << "without the slow one";
    const std::string text = sim::calibrationText(calibration, {});
    EXPECT_THAT(text, HasSubstr("rank 5 takes 1.40 × as long as its peers"));
    EXPECT_THAT(text, HasSubstr(R"({"kind": "slow_gpu", "rank": 5, "factor": 1.40})"));
    EXPECT_EQ(sim::calibrationJson(calibration, {})["slow_ranks"][0]["rank"], 5);
}

// Slices of a sequence need not have as much to compute: peers are those of one slice.
TEST(CalibratedRun, OfASliceThatTakesLongerHasNoSlowRank)
{
    sim::Scenario scenario = test::smallScenario(1, 1, 2, 8);
    scenario.layout.cp = 2;
    scenario.layout.dpShard = 4;
    sim::Recording recording = writtenAndRead(scenario);
    ASSERT_EQ(recording.ranks.size(), 4U);
    for (sim::RankRecording& rank : recording.ranks)
        for (std::size_t i = 0; i < rank.spans.size(); ++i)
            if (rank.rank % 2 == 1 && rank.spans.kind[i] == sim::RecordedKind::kernel)
                rank.spans.durationNs[i] += rank.spans.durationNs[i] / 5;
    EXPECT_THAT(sim::calibrate(recording, sim::recover(recording), scenario).slowRanks, testing::IsEmpty());
}

// Who has more tokens of experts takes longer, and most profilers do not say how many: that is no slow GPU.
TEST(CalibratedRun, OfExpertsWithoutSizesHasNoSlowRank)
{
    for (const bool hasExperts : {false, true}) {
        sim::Scenario scenario = test::smallScenario(1, 1, 4, 8);
        if (hasExperts) {
            scenario.model.numExperts = 8;
            scenario.model.numExpertsPerTok = 2;
            scenario.model.moeIntermediateSize = 256;
        }
        sim::Scenario longer = scenario;
        longer.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 1, .factor = 1.4});
        const sim::Recording recording = test::recordingOf(*sim::simulate(longer, {.full = true}));
        const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), scenario);
        EXPECT_EQ(calibration.slowRanks.size(), hasExperts ? 0U : 1U);
    }
}

// A profiler that records two ops as one kernel: what they take together counts, not what one of them does.
TEST(CalibratedRun, OfFewerKernelsThanOpsGoesByWhatTheyTakeTogether)
{
    const sim::Scenario scenario = test::smallScenario(2, 1, 1, 8);
    sim::Recording recording = writtenAndRead(scenario);
    const sim::Recovered recovered = sim::recover(recording);
    for (sim::RankRecording& rank : recording.ranks) {
        std::map<std::uint32_t, std::size_t> open; // by name: the kernel that takes the next one in
        for (std::size_t i = 0; i < rank.spans.size(); ++i) {
            if (rank.spans.kind[i] != sim::RecordedKind::kernel)
                continue;
            const auto [place, isNew] = open.try_emplace(rank.spans.name[i], i);
            if (isNew)
                continue;
            rank.spans.durationNs[place->second] += rank.spans.durationNs[i];
            rank.spans.kind[i] = sim::RecordedKind::other;
            open.erase(place);
        }
    }
    const sim::RunCalibration calibration = sim::calibrate(recording, recovered, scenario);
    for (const sim::CalibratedClass& kernel : calibration.kernels) {
        EXPECT_NEAR(kernel.measuredCount, kernel.predictedCount / 2, 1) << kernel.name;
        EXPECT_NEAR(kernel.ratio, 1, 0.01) << kernel.name;
    }
    EXPECT_NEAR(calibration.calibratedSeconds / stepSecondsOf(scenario), 1, 0.02);
}

TEST(ManyPoints, AreThinnedFromTheFirstToTheLast)
{
    std::vector<sim::MeasuredPoint> points;
    for (int i = 0; i < 1234; ++i)
        points.push_back({.m = static_cast<double>(i), .microseconds = 1});
    EXPECT_FALSE(sim::keepEvenly(points, 1234));
    EXPECT_TRUE(sim::keepEvenly(points, 100));
    ASSERT_EQ(points.size(), 100U);
    EXPECT_EQ(points.front().m, 0);
    EXPECT_EQ(points.back().m, 1233);
    for (std::size_t i = 1; i < points.size(); ++i) {
        EXPECT_GE(points[i].m - points[i - 1].m, 12);
        EXPECT_LE(points[i].m - points[i - 1].m, 13);
    }
}

TEST(CalibratedRun, OfAnotherMachinePredictsItsStepAndThatOfOtherLayouts)
{
    const sim::Scenario assumed = test::smallScenario(2, 2, 2, 8);
    const sim::Scenario truth = otherMachine(assumed);
    const sim::Recording recording = writtenAndRead(truth);
    const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), assumed);
    EXPECT_LT(calibration.errorBefore(), -0.15);
    EXPECT_NEAR(calibration.errorAfter(), 0, 0.02);
    double worst = 0, worstBefore = 0;
    for (const auto& [tp, pp, dp, microbatches] :
         {std::tuple{2, 4, 1, 8}, {2, 2, 2, 16}, {2, 1, 4, 8}, {1, 2, 4, 8}, {1, 8, 1, 16}, {4, 2, 1, 8}}) {
        const sim::Scenario other = test::smallScenario(tp, pp, dp, microbatches);
        const double measured = stepSecondsOf(otherMachine(other));
        const double error = stepSecondsOf(sim::withMeasured(other, calibration)) / measured - 1;
        worst = std::max(worst, std::abs(error));
        worstBefore = std::max(worstBefore, std::abs(stepSecondsOf(other) / measured - 1));
        EXPECT_NEAR(error, 0, 0.05) << test::describe(other);
    }
    std::printf("[ rates    ] six other layouts: worst error %.1f %% calibrated, %.1f %% before\n", 100 * worst,
                100 * worstBefore);
}

/// Kernels under the names that libraries give them, which say no more than the kind.
void nameAsLibrariesDo(sim::Recording& recording, const sim::Simulation& simulation)
{
    constexpr const char* kNames[] = {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "flash_fwd_kernel",
                                      "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", "multi_tensor_apply_kernel<FusedAdam>",
                                      "vectorized_elementwise_kernel<4>"};
    std::map<std::string, const char*> nameOf;
    for (const sim::Pass& pass : simulation.program().passes)
        for (std::size_t i = 0; i < pass.ops.size(); ++i)
            nameOf[simulation.program().labels[pass.ops[i].label]] =
                kNames[static_cast<std::size_t>(sim::kernelGroupOf(pass.shapes[i]))];
    for (sim::RankRecording& rank : recording.ranks)
        for (std::size_t i = 0; i < rank.spans.size(); ++i)
            if (rank.spans.kind[i] == sim::RecordedKind::kernel)
                rank.spans.name[i] = recording.names.add(nameOf.at(recording.names[rank.spans.name[i]]));
}

TEST(CalibratedRun, OfAnotherProfilerGoesByKindOfKernelAndCollective)
{
    const sim::Scenario assumed = test::smallScenario(2, 2, 2, 8);
    const auto simulation = sim::simulate(otherMachine(assumed), {.full = true});
    sim::Recording recording = test::recordingOf(*simulation);
    nameAsLibrariesDo(recording, *simulation);
    const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), assumed);
    EXPECT_LT(calibration.errorBefore(), -0.15);
    EXPECT_NEAR(calibration.errorAfter(), 0, 0.05);
    std::printf("[ rates    ] by kinds of kernels: step %.1f %% before, %.1f %% after\n", 100 * calibration.errorBefore(),
                100 * calibration.errorAfter());
    std::set<std::string> kinds;
    for (const sim::CalibratedClass& kernel : calibration.kernels) {
        kinds.insert(kernel.name);
        EXPECT_GT(kernel.ratio, 1) << kernel.name << ": " << kernel.note;
    }
    EXPECT_THAT(kinds, testing::UnorderedElementsAre("matrix products", "attention, forward", "attention, backward", "optimizer",
                                                     "other kernels"));
    EXPECT_GT(calibration.transfers.size(), 1U);
    for (const sim::CalibratedClass& transfer : calibration.transfers)
        EXPECT_GT(transfer.ratio, 1) << transfer.name << ": " << transfer.note; // links of 0.6 the rate
}

TEST(CalibratedRun, AcrossNodesSetsWhatLinksBetweenThemReach)
{
    const sim::Scenario assumed = test::smallScenario(2, 1, 8, 8); // two nodes
    ASSERT_EQ(assumed.cluster.nodes, 2);
    sim::Scenario truth = assumed;
    truth.cluster.tiers.back().bandwidthGBs *= 0.5;
    const sim::Recording recording = writtenAndRead(truth);
    const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), assumed);
    ASSERT_TRUE(calibration.interNode.has_value());
    EXPECT_NEAR(*calibration.interNode, 0.5 * assumed.cluster.efficiency.network, 0.1);
    EXPECT_LT(calibration.errorBefore(), -0.01);
    EXPECT_LT(std::abs(calibration.errorAfter()), 0.2 * std::abs(calibration.errorBefore()));
    EXPECT_THAT(sim::calibratedProfileText("here", calibration), HasSubstr("\"inter_node\": 0."));
}

TEST(CalibratedRun, AcrossNodesDoesNotTakeLatencyForTheLinksRate)
{
    const sim::Scenario assumed = test::smallScenario(2, 1, 8, 8);
    sim::Scenario truth = assumed;
    truth.cluster.tiers.back().latencyUs *= 4;
    const sim::Recording recording = writtenAndRead(truth);
    const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), assumed);
    if (calibration.interNode) {
        EXPECT_NEAR(*calibration.interNode, assumed.cluster.efficiency.network, 0.25 * assumed.cluster.efficiency.network);
    }
    std::size_t told = 0;
    for (const sim::CalibratedClass& transfer : calibration.transfers)
        told += transfer.note.find("crosses nodes") != std::string::npos ? 1 : 0;
    EXPECT_GT(told, 0U);
}

/// All that a rank exchanges takes so many times as long, as where it waits for one that is not recorded.
void lengthenTransfers(sim::RankRecording& rank, std::int64_t times)
{
    for (sim::RecordedCollective& collective : rank.collectives) {
        rank.spans.durationNs[collective.span] *= times;
        collective.durationNs *= times;
    }
}

TEST(CalibratedRun, TakesWaitingForRanksThatAreNotRecordedForNoTransfer)
{
    const sim::Scenario scenario = test::smallScenario(4, 1, 2, 8); // ranks 0 to 3 and 4 to 7 reduce among themselves
    const auto simulation = sim::simulate(scenario, {.full = true});
    const auto rowOf = [](const sim::RunCalibration& calibration, const std::string& name) {
        for (const sim::CalibratedClass& row : calibration.transfers)
            if (row.name.find(name) != std::string::npos && row.ratio > 0)
                return row;
        return sim::CalibratedClass{};
    };
    sim::Recording some = test::recordingOf(*simulation);
    some.ranks.pop_back();
    for (std::size_t rank = 4; rank < 7; ++rank)
        lengthenTransfers(some.ranks[rank], 3);
    const sim::CalibratedClass told = rowOf(sim::calibrate(some, sim::recover(some), scenario), "over tp");
    EXPECT_NEAR(told.ratio, 1, 0.05) << told.name;
    EXPECT_EQ(told.note, "");
    sim::Recording one = test::recordingOf(*simulation);
    one.ranks.resize(3);
    for (sim::RankRecording& rank : one.ranks)
        lengthenTransfers(rank, 3);
    const sim::CalibratedClass waiting = rowOf(sim::calibrate(one, sim::recover(one), scenario), "over tp");
    EXPECT_THAT(waiting.note, HasSubstr("its other members are not recorded"));
}

/// The same step so many times in one file.
sim::Recording repeated(const sim::Scenario& scenario, int steps)
{
    const sim::Trace one = sim::simulate(scenario, {.full = true})->trace(sim::TraceDetail::kernels);
    sim::Trace all = one;
    all.flows.clear();
    for (sim::Track& track : all.tracks) {
        const sim::Track of = track;
        for (int step = 1; step < steps; ++step)
            for (std::size_t i = 0; i < of.size(); ++i) {
                track.startNs.push_back(of.startNs[i] + step * one.endNs);
                track.durationNs.push_back(of.durationNs[i]);
                track.kind.push_back(of.kind[i]);
                track.microbatch.push_back(of.microbatch[i]);
                if (!of.correlation.empty())
                    track.correlation.push_back(of.correlation[i] == 0 ? 0 : (std::uint64_t(step) << 48U) + of.correlation[i]);
                if (!of.group.empty())
                    track.group.push_back(of.group[i]);
                if (!of.peer.empty())
                    track.peer.push_back(of.peer[i]);
            }
    }
    all.endNs = steps * one.endNs;
    return writtenAndRead(all);
}

TEST(CalibratedRun, SaysThatHostsTakeLongerThanTheirStackHasThem)
{
    const auto unexplained = [](const sim::Scenario& truth, const sim::Scenario& assumed) {
        const sim::Recording recording = writtenAndRead(truth);
        std::string said;
        for (const std::string& problem : sim::calibrate(recording, sim::recover(recording), assumed).problems)
            if (problem.find("of the measured step is neither kernels nor transfers") != std::string::npos)
                said = problem;
        return said;
    };
    const sim::Scenario assumed = test::smallScenario(2, 2, 2, 8);
    sim::Scenario truth = assumed;
    truth.training.stack.launchUs = truth.training.stack.backwardLaunchUs = 500;
    EXPECT_EQ(unexplained(assumed, assumed), "");
    EXPECT_THAT(unexplained(truth, assumed),
                testing::EndsWith(" of the measured step is neither kernels nor transfers as they follow from each other, nor "
                                  "launches as training.stack has them: hosts that take longer or ranks that share a processor, "
                                  "of which a profile says nothing"));
    sim::Scenario slower = assumed;
    slower.training.stack = truth.training.stack;
    EXPECT_EQ(unexplained(truth, slower), "") << "launches are predicted by the stack";
}

TEST(CalibratedRun, IsHeldAgainstStepsThatItHasNotSeen)
{
    const sim::Scenario assumed = test::smallScenario(2, 2, 1, 4);
    const sim::Scenario truth = otherMachine(assumed);
    const sim::Recording recording = repeated(truth, 6);
    const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), assumed);
    EXPECT_EQ(calibration.steps, 6U);
    EXPECT_NEAR(calibration.measuredSeconds, stepSecondsOf(truth), 0.02 * calibration.measuredSeconds);
    ASSERT_TRUE(calibration.heldOut.has_value());
    EXPECT_EQ(calibration.heldOut->learnt, 3U);
    EXPECT_EQ(calibration.heldOut->held, 3U);
    EXPECT_NEAR(calibration.heldOut->error(), 0, 0.02);
    EXPECT_EQ(sim::calibrationJson(calibration, {})["held_out"]["held_steps"], 3);
    for (const sim::CalibratedClass& kernel : calibration.kernels)
        EXPECT_NEAR(kernel.measuredCount, kernel.predictedCount, 1e-9) << kernel.name; // of one step, however many there are
}

TEST(CalibratedProfile, IsAFileThatScenariosName)
{
    const sim::Scenario scenario = test::smallScenario(2, 2, 2, 8);
    const sim::Recording recording = writtenAndRead(scenario);
    const sim::RunCalibration calibration = sim::calibrate(recording, sim::recover(recording), scenario);
    const std::string text = sim::calibratedProfileText("measured", calibration);
    const sim::HardwareProfile read = sim::readHardwareProfile(text, "measured.json", test::catalogue().schema());
    EXPECT_EQ(read.kernels.size(), calibration.profile.kernels.size());
    EXPECT_EQ(read.transfers.size(), calibration.profile.transfers.size());
    EXPECT_GT(read.kernels.size(), 5U);
    EXPECT_EQ(read.precision, scenario.training.precision);
    const nlohmann::ordered_json said = sim::calibrationJson(calibration, {});
    for (const char* key : {"measured", "predicted", "calibrated", "held_out", "kernels", "collectives", "profile", "problems"})
        EXPECT_TRUE(said.contains(key)) << key;
    EXPECT_THAT(sim::calibrationText(calibration, {}), HasSubstr("with what was measured"));
}

TEST(ScenarioOfARun, IsTheOneGivenUnlessTheRecordingContradictsIt)
{
    const sim::Scenario truth = test::smallScenario(2, 4, 2, 8);
    const sim::Recovered recovered = sim::recover(writtenAndRead(truth));
    std::vector<sim::UnknownKey> unknown;
    EXPECT_EQ(sim::scenarioOfRun(recovered, truth, test::catalogue(), unknown).layout, truth.layout);
    ASSERT_EQ(unknown.size(), 1U);
    EXPECT_THAT(unknown[0].why, HasSubstr("nothing that was recovered contradicts it"));
    const sim::Scenario other = test::smallScenario(4, 2, 2, 8);
    const sim::Scenario made = sim::scenarioOfRun(recovered, other, test::catalogue(), unknown);
    EXPECT_EQ(made.layout.tp, 2);
    EXPECT_EQ(made.layout.pp, 4);
    EXPECT_EQ(made.layout.dp, 2);
}

TEST(Calibration, OfARecordingWithoutKernelsIsRefused)
{
    const sim::Scenario scenario = test::smallScenario(2, 1, 1, 4);
    sim::Recording recording;
    recording.worldSize = 2;
    recording.ranks.emplace_back().rank = 0;
    EXPECT_THROW(sim::calibrate(recording, sim::recover(recording), scenario), sim::Error);
}

TEST(KindOfAKernel, IsInItsName)
{
    using sim::KernelGroup;
    for (const auto& [name, group] :
         {std::pair{"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", KernelGroup::products},
          {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", KernelGroup::products},
          {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", KernelGroup::products},
          {"Cijk_Ailk_Bljk_BBS_BH_MT128x128x32", KernelGroup::products},
          {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128>>", KernelGroup::attentionForward},
          {"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<>", KernelGroup::attentionBackward},
          {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80", KernelGroup::attentionForward},
          {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128", KernelGroup::attentionForward},
          {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x128", KernelGroup::attentionBackward},
          {"attn_fwd.kd", KernelGroup::attentionForward},
          {"bwd_kernel_dk_dv.kd", KernelGroup::attentionBackward},
          {"triton_tem_fused_flex_attention_backward_1", KernelGroup::attentionBackward},
          {"void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>", KernelGroup::optimizer},
          {"void at::native::vectorized_elementwise_kernel<4, silu>", KernelGroup::other}})
        EXPECT_EQ(sim::kernelGroupOfName(name), group) << name;
}

} // namespace
