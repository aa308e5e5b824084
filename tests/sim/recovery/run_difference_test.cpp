// Two runs compared: a run with itself, with a rank, a kernel, a collective that was made slower, and real recordings.
#include "sim/recovery/run_difference.h"

#include "sim/recovery/measured_run.h"

#include "sim/text/quoted.h"
#include "sim/trace/readers/read_recording.h"

#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <set>
#include <string>

namespace {

using testing::HasSubstr;

sim::Recovered recoveredOf(const sim::Scenario& scenario)
{
    return sim::recover(test::recordingOf(*sim::simulate(scenario, {.full = true})));
}

/// With nothing that waits for its host: where GPUs are so many times slower, all that they do takes so many times as long.
sim::Scenario scenarioOfGpusAlone(int tp, int pp, int dp, int microbatches)
{
    sim::Scenario scenario = test::smallScenario(tp, pp, dp, microbatches);
    scenario.training.stack.cudaGraphs = sim::CudaGraphs::step;
    return scenario;
}

std::vector<std::string> kindsOf(const sim::RunDifference& difference)
{
    std::vector<std::string> kinds;
    for (const sim::DifferenceFinding& finding : difference.findings)
        kinds.push_back(finding.kind);
    return kinds;
}

const sim::DifferenceFinding* firstOf(const sim::RunDifference& difference, const std::string& kind)
{
    const auto found = std::find_if(difference.findings.begin(), difference.findings.end(),
                                    [&](const sim::DifferenceFinding& finding) { return finding.kind == kind; });
    return found == difference.findings.end() ? nullptr : &*found;
}

TEST(ComparedRuns, OfOneRunDifferInNothing)
{
    std::mt19937 random(17);
    for (int runs = 0; runs < 12;) {
        const sim::Scenario scenario = test::randomScenario(random, 16);
        if (scenario.layout.worldSize() < 2)
            continue;
        ++runs;
        SCOPED_TRACE(test::describe(scenario));
        const sim::Recovered run = recoveredOf(scenario);
        const sim::RunDifference difference = sim::differenceOf(run, run);
        EXPECT_TRUE(difference.findings.empty()) << difference.findings.front().title;
        EXPECT_TRUE(difference.problems.empty());
        EXPECT_EQ(difference.verdict, sim::Verdict::alike);
        EXPECT_EQ(difference.stepSeconds.delta(), 0);
        EXPECT_GT(difference.stepSeconds.a, 0);
        EXPECT_THAT(sim::differenceText(difference), HasSubstr("what differs\n  nothing\n"));
    }
}

TEST(MeasuredRuns, CountWaitingForRanksThatAreNotRecordedAsSuch)
{
    // Two of four ranks reduce over all: how long each of them waits for the others nothing tells.
    sim::RunEvidence evidence;
    evidence.worldSize = 4;
    evidence.names = {"ncclDevKernel_AllReduce", "gemm"};
    evidence.groups = {{.name = "0", .description = {}, .ranks = {0, 1, 2, 3}, .evidence = {}}};
    for (const int rank : {0, 1}) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = rank;
        for (std::int64_t step = 0; step < 6; ++step) {
            const std::int64_t begin = step * 20'000'000;
            of.steps.push_back({.number = step, .startNs = begin, .endNs = begin + 19'000'000});
            of.work.push_back({.startNs = begin + 100'000, .endNs = begin + 4'000'000, .name = 1});
            of.comms.push_back({.startNs = begin + 5'000'000 + rank * 100'000,
                                .endNs = begin + 14'500'000,
                                .exchange = sim::Exchange::allReduce,
                                .group = 0,
                                .sequence = step,
                                .bytes = 1 << 20});
        }
    }
    const sim::MeasuredRun run(sim::recover(evidence), false);
    ASSERT_EQ(run.collectives.size(), 1U);
    EXPECT_TRUE(run.collectives.begin()->first.isWithWaiting);
    EXPECT_EQ(run.collectives.begin()->first.members, 4U);
    EXPECT_NEAR(run.collectives.begin()->second[0].seconds[1], 9.5e-3, 1e-6);
}

TEST(ComparedRuns, NameTheRankThatGotSlower)
{
    for (const int pp : {1, 2, 4}) {
        SCOPED_TRACE(pp);
        sim::Scenario scenario = test::smallScenario(2, pp, 4, 8);
        const sim::Recovered before = recoveredOf(scenario);
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
        const sim::Recovered after = recoveredOf(scenario);
        const sim::RunDifference difference = sim::differenceOf(before, after);
        EXPECT_EQ(difference.verdict, sim::Verdict::slower);
        const sim::DifferenceFinding* rank = firstOf(difference, "rank");
        ASSERT_NE(rank, nullptr);
        EXPECT_EQ(rank->ranks, std::vector<int>{5});
        EXPECT_NEAR(difference.ranks[5].beyondOthers, 0.4, 0.05);
        int ranks = 0, kernels = 0;
        for (const std::string& kind : kindsOf(difference)) {
            ranks += kind == "rank" ? 1 : 0;
            kernels += kind == "kernel" ? 1 : 0;
        }
        EXPECT_EQ(ranks, 1);
        EXPECT_EQ(kernels, 0); // one rank's kernels are its own affair
        // The other way round it got faster.
        const sim::RunDifference back = sim::differenceOf(after, before);
        EXPECT_EQ(back.ranks[5].verdict, sim::Verdict::faster);
        EXPECT_EQ(back.stepSeconds.delta(), -difference.stepSeconds.delta());
    }
}

TEST(ComparedRuns, NameTheStageThatGotSlowerOnceAndNotEachOfItsRanks)
{
    sim::Scenario scenario = scenarioOfGpusAlone(2, 4, 2, 8);
    const sim::Recovered before = recoveredOf(scenario);
    for (int rank = 8; rank < 12; ++rank)
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = rank, .factor = 1.3});
    const sim::RunDifference difference = sim::differenceOf(before, recoveredOf(scenario));
    const sim::DifferenceFinding* stage = firstOf(difference, "stage");
    ASSERT_NE(stage, nullptr);
    EXPECT_THAT(stage->title, HasSubstr("Stage 2 computes 30.0 % longer"));
    EXPECT_EQ(firstOf(difference, "rank"), nullptr);
}

TEST(ComparedRuns, NameTheKernelThatGotSlower)
{
    const auto simulation = sim::simulate(test::smallScenario(2, 2, 2, 8), {.full = true});
    const sim::Recording before = test::recordingOf(*simulation);
    sim::Recording after = test::recordingOf(*simulation);
    std::uint32_t planted = sim::kNoSpan;
    for (sim::RankRecording& rank : after.ranks)
        for (std::size_t i = 0; i < rank.spans.size(); ++i) {
            if (rank.spans.kind[i] != sim::RecordedKind::kernel)
                continue;
            if (planted == sim::kNoSpan)
                planted = rank.spans.name[i];
            if (rank.spans.name[i] == planted)
                rank.spans.durationNs[i] += rank.spans.durationNs[i];
        }
    const sim::RunDifference difference = sim::differenceOf(sim::recover(before), sim::recover(after));
    const sim::DifferenceFinding* kernel = firstOf(difference, "kernel");
    ASSERT_NE(kernel, nullptr);
    EXPECT_THAT(kernel->title, HasSubstr(before.names[planted] + " takes 2.00 × as long"));
    for (const sim::ClassDifference& of : difference.kernels)
        EXPECT_EQ(of.verdict, of.name == before.names[planted] ? sim::Verdict::slower : sim::Verdict::alike) << of.name;
    EXPECT_EQ(firstOf(difference, "collective"), nullptr);
}

TEST(ComparedRuns, NameTheCollectiveThatGotSlowerAndWhatIsNew)
{
    sim::Scenario scenario = test::smallScenario(4, 1, 2, 4);
    scenario.layout.sequenceParallel = true;
    const sim::Recovered before = recoveredOf(scenario);
    for (sim::Tier& tier : scenario.cluster.tiers)
        tier.bandwidthGBs /= 4;
    const sim::RunDifference slower = sim::differenceOf(before, recoveredOf(scenario));
    const sim::DifferenceFinding* collective = firstOf(slower, "collective");
    ASSERT_NE(collective, nullptr);
    EXPECT_THAT(collective->title, HasSubstr(" over tp takes "));
    EXPECT_EQ(firstOf(slower, "kernel"), nullptr);
    EXPECT_EQ(firstOf(slower, "rank"), nullptr);
    scenario.layout.sequenceParallel = false;
    const sim::RunDifference other = sim::differenceOf(before, recoveredOf(scenario));
    std::string titles;
    for (const sim::DifferenceFinding& finding : other.findings)
        titles += finding.title + "\n";
    EXPECT_THAT(titles, HasSubstr("all-gather over tp is gone"));
    EXPECT_THAT(titles, HasSubstr("all-reduce over tp"));
}

TEST(ComparedRuns, PartsAddUpToTheStepOfTheMeanRank)
{
    sim::Scenario scenario = test::smallScenario(2, 2, 2, 8);
    const sim::Recovered a = recoveredOf(scenario);
    scenario.cluster.efficiency.gemm *= 0.5;
    const sim::Recovered b = recoveredOf(scenario);
    const sim::RunDifference difference = sim::differenceOf(a, b);
    double sum = 0, step = 0;
    for (const sim::PartDifference& part : difference.parts)
        sum += part.seconds.delta();
    for (const sim::RankDifference& rank : difference.ranks)
        step += rank.step.delta() / static_cast<double>(difference.ranks.size());
    EXPECT_NEAR(sum, step, 1e-8);
    const nlohmann::ordered_json said = sim::differenceJson(difference);
    EXPECT_EQ(said["verdict"], "slower");
    EXPECT_EQ(said["ranks"].size(), 8U);
    EXPECT_EQ(said["kernels"].size(), difference.kernels.size());
    for (const char* key : {"step_s", "steps", "noise", "parts", "collectives", "stages", "by_step", "findings", "problems"})
        EXPECT_TRUE(said.contains(key)) << key;
}

TEST(ComparedRuns, OfOtherGpusSaySoFirst)
{
    sim::Recovered a = recoveredOf(test::smallScenario(2, 1, 1, 2)), b = a;
    for (sim::RankEvidence& rank : a.evidence.ranks)
        rank.deviceName = "NVIDIA H100 80GB HBM3";
    EXPECT_TRUE(sim::differenceOf(a, b).findings.empty()) << "of the second nothing is said";
    for (sim::RankEvidence& rank : b.evidence.ranks)
        rank.deviceName = "AMD Instinct MI300X";
    const sim::RunDifference difference = sim::differenceOf(a, b);
    ASSERT_FALSE(difference.findings.empty());
    EXPECT_THAT(firstOf(difference, "configuration")->title, HasSubstr("GPUs NVIDIA H100 80GB HBM3 → AMD Instinct MI300X"));
}

TEST(ComparedRuns, TellKernelsOfLongNamesApart)
{
    sim::Recovered a = recoveredOf(test::smallScenario(2, 1, 1, 2)), b = a;
    for (sim::Recovered* run : {&a, &b}) {
        std::set<std::uint32_t> kernels;
        for (const sim::RankEvidence& rank : run->evidence.ranks)
            for (const sim::WorkSpan& span : rank.work)
                kernels.insert(span.name);
        for (const std::uint32_t name : kernels) {
            std::string& text = run->evidence.names[name];
            text = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::" + text + "_functor<" +
                   (run == &a ? "float" : "c10::BFloat16") + ">, std::array<char*, 3ul>>>(int)";
        }
    }
    std::set<std::string> titles;
    std::size_t kernels = 0;
    for (const sim::DifferenceFinding& finding : sim::differenceOf(a, b).findings)
        if (finding.kind == "kernel") {
            ++kernels;
            titles.insert(finding.title.substr(0, finding.title.find(" is ")));
            EXPECT_LT(finding.title.size(), 160U) << finding.title;
        }
    EXPECT_GT(kernels, 4U);
    EXPECT_EQ(titles.size(), kernels) << testing::PrintToString(titles);
}

/// Of names of three bytes a character, cut at 80 bytes, and then 40 and 20 where they part.
TEST(ComparedRuns, CutLongNamesBetweenCharacters)
{
    sim::Recovered a = recoveredOf(test::smallScenario(2, 1, 1, 2)), b = a;
    std::string much;
    for (int i = 0; i < 40; ++i)
        much += "核";
    for (sim::Recovered* run : {&a, &b}) {
        std::set<std::uint32_t> kernels;
        for (const sim::RankEvidence& rank : run->evidence.ranks)
            for (const sim::WorkSpan& span : rank.work)
                kernels.insert(span.name);
        for (const std::uint32_t name : kernels) {
            std::string& text = run->evidence.names[name];
            text = "k" + much + text + (run == &a ? "あ" : "い") + much;
        }
    }
    std::size_t kernels = 0;
    for (const sim::DifferenceFinding& finding : sim::differenceOf(a, b).findings)
        if (finding.kind == "kernel") {
            ++kernels;
            EXPECT_THAT(finding.title, HasSubstr("…"));
            EXPECT_EQ(finding.title, sim::validUtf8(finding.title));
            EXPECT_EQ(finding.detail, sim::validUtf8(finding.detail));
        }
    EXPECT_GT(kernels, 4U);
}

TEST(ComparedRuns, OfDifferentWorldsSaySo)
{
    const sim::RunDifference difference =
        sim::differenceOf(recoveredOf(test::smallScenario(2, 1, 2, 4)), recoveredOf(test::smallScenario(2, 1, 4, 8)));
    EXPECT_THAT(difference.problems, testing::Contains(HasSubstr("the first run is of 4 ranks, the second of 8")));
    EXPECT_THAT(difference.problems, testing::Contains(HasSubstr("of 8 ranks of the second run 4 have no fellow")));
}

/// Ranks from first to before last are so much slower.
sim::Recovered slowed(sim::Scenario scenario, int first, int last, double factor)
{
    for (int rank = first; rank < last; ++rank)
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = rank, .factor = factor});
    return recoveredOf(scenario);
}

TEST(ComparedRuns, OfTwoStagesNameTheOneThatChanged)
{
    const sim::Scenario scenario = scenarioOfGpusAlone(2, 2, 2, 8);
    const sim::Recovered usual = recoveredOf(scenario);
    for (const int stage : {0, 1}) {
        const sim::Recovered slow = slowed(scenario, 4 * stage, 4 * stage + 4, 2);
        for (const bool isLonger : {true, false}) {
            SCOPED_TRACE(std::to_string(stage) + (isLonger ? " longer" : " shorter"));
            const sim::RunDifference difference = isLonger ? sim::differenceOf(usual, slow) : sim::differenceOf(slow, usual);
            const auto kinds = kindsOf(difference);
            EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "stage"), 1);
            EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "rank"), 0);
            const sim::DifferenceFinding* told = firstOf(difference, "stage");
            ASSERT_NE(told, nullptr);
            EXPECT_THAT(told->title, HasSubstr("Stage " + std::to_string(stage) + " computes " + (isLonger ? "100" : "50.0")));
            EXPECT_THAT(told->title, HasSubstr(isLonger ? "longer" : "shorter"));
            EXPECT_EQ(told->seconds > 0, isLonger);
        }
    }
}

TEST(ComparedRuns, AStageThatGrewLessThanTheOthersGotNoShorter)
{
    sim::Scenario scenario = scenarioOfGpusAlone(2, 4, 1, 8);
    const sim::Recovered before = recoveredOf(scenario);
    for (int rank = 0; rank < 8; ++rank)
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = rank, .factor = rank < 2 ? 1.1 : 1.2});
    const sim::RunDifference difference = sim::differenceOf(before, recoveredOf(scenario));
    EXPECT_EQ(firstOf(difference, "stage"), nullptr) << firstOf(difference, "stage")->title;
    // One that grew more says how much more than the others.
    for (int rank = 6; rank < 8; ++rank)
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = rank, .factor = 1.5});
    const sim::RunDifference more = sim::differenceOf(before, recoveredOf(scenario));
    const sim::DifferenceFinding* told = firstOf(more, "stage");
    ASSERT_NE(told, nullptr);
    EXPECT_THAT(told->title, HasSubstr("than the other stages' change explains"));
    EXPECT_NEAR(told->seconds, more.stages[3].computing.b - 1.2 * more.stages[3].computing.a, 0.02 * told->seconds);
}

TEST(ComparedRuns, OfTwoRanksNameTheOneThatChanged)
{
    const sim::Scenario scenario = test::smallScenario(1, 1, 2, 4);
    const sim::Recovered usual = recoveredOf(scenario);
    for (const int rank : {0, 1}) {
        const sim::Recovered slow = slowed(scenario, rank, rank + 1, 1.4);
        for (const bool isLonger : {true, false}) {
            SCOPED_TRACE(std::to_string(rank) + (isLonger ? " longer" : " shorter"));
            const sim::RunDifference difference = isLonger ? sim::differenceOf(usual, slow) : sim::differenceOf(slow, usual);
            const auto own = static_cast<std::size_t>(rank);
            EXPECT_EQ(difference.ranks[own].verdict, isLonger ? sim::Verdict::slower : sim::Verdict::faster);
            EXPECT_EQ(difference.ranks[1 - own].verdict, sim::Verdict::alike);
        }
    }
}

/// Two ranks that compute for 100 ms and join in an all-reduce of 10 ms, for which rank 0 waits so many ms in each step; a copy
/// of 40 ms in steps that have one.
struct HandMade {
    std::vector<int> waitMs;
    int checkpointEvery = 0, checkpointMs = 40;
    bool isOfRankZeroAlone = false;
    const char* axis = "dp";
};

sim::Recovered madeBy(const HandMade& made)
{
    constexpr std::int64_t kMs = 1'000'000, kStep = 300 * kMs;
    sim::Recovered run;
    run.evidence.worldSize = 2;
    run.evidence.names = {"matmul", "checkpoint", "ncclAllReduce"};
    run.evidence.groups.push_back({.name = "0", .description = "", .ranks = {0, 1}, .evidence = "", .isPartial = false});
    run.axes.worldSize = 2;
    if (*made.axis != 0)
        run.axes.axes.push_back(
            {.name = made.axis, .size = 2, .stride = 1, .parts = {{2, 1}}, .evidence = "", .sure = 1, .partNames = {}});
    const int ranks = made.isOfRankZeroAlone ? 1 : 2;
    run.passes.pipelineRank.assign(static_cast<std::size_t>(ranks), 0);
    run.evidence.ranks.resize(static_cast<std::size_t>(ranks));
    for (std::size_t step = 0; step < made.waitMs.size(); ++step) {
        const auto begin = static_cast<std::int64_t>(step) * kStep;
        sim::RecoveredStep& of = run.steps.steps.emplace_back();
        of.number = static_cast<std::int64_t>(step);
        of.startNs = begin;
        of.endNs = begin + kStep;
        sim::Meeting meeting{.group = 0, .exchange = sim::Exchange::allReduce, .parts = {}};
        for (int r = 0; r < ranks; ++r) {
            sim::RankEvidence& rank = run.evidence.ranks[static_cast<std::size_t>(r)];
            rank.rank = r;
            of.rankStartNs.push_back(begin);
            of.rankEndNs.push_back(begin + kStep);
            rank.work.push_back({.startNs = begin, .endNs = begin + 100 * kMs, .name = 0});
            if (made.checkpointEvery > 0 && static_cast<int>(step) % made.checkpointEvery == 0)
                rank.work.push_back({.startNs = begin + 200 * kMs, .endNs = begin + (200 + made.checkpointMs) * kMs, .name = 1});
            const std::int64_t late = r == 0 ? 0 : made.waitMs[step] * kMs;
            rank.comms.push_back({.startNs = begin + 100 * kMs + late,
                                  .endNs = begin + (110 + made.waitMs[step]) * kMs,
                                  .exchange = sim::Exchange::allReduce,
                                  .group = 0,
                                  .name = 2});
            meeting.parts.push_back({static_cast<decltype(sim::Part::rank)>(r), static_cast<decltype(sim::Part::span)>(step)});
        }
        if (ranks == 2)
            run.meetings.meetings.push_back(meeting);
    }
    return run;
}

TEST(ComparedRuns, WaitingThatDiffersAsStepsDoIsNone)
{
    const HandMade a{.waitMs = {5, 30, 12, 44, 21, 8, 37}}, b{.waitMs = {40, 10, 33, 28, 6, 45, 31}};
    const sim::RunDifference difference = sim::differenceOf(madeBy(a), madeBy(b));
    EXPECT_TRUE(difference.findings.empty()) << difference.findings.front().title;
    const HandMade late{.waitMs = {80, 81, 79, 80, 82, 80, 78}}, early{.waitMs = {5, 6, 5, 4, 5, 6, 5}};
    EXPECT_NE(firstOf(sim::differenceOf(madeBy(early), madeBy(late)), "waiting"), nullptr);
}

TEST(ComparedRuns, WhatHappensInFewStepsCountsByItsMean)
{
    HandMade a{.waitMs = {5, 5, 5, 5, 5, 5, 5, 5}, .checkpointEvery = 4}, b = a;
    b.checkpointMs = 80;
    const sim::RunDifference difference = sim::differenceOf(madeBy(a), madeBy(b));
    const auto checkpoint = std::find_if(difference.kernels.begin(), difference.kernels.end(),
                                         [](const sim::ClassDifference& of) { return of.name == "checkpoint"; });
    ASSERT_NE(checkpoint, difference.kernels.end());
    EXPECT_NEAR(checkpoint->seconds.a, 0.010, 1e-9);
    EXPECT_NEAR(checkpoint->seconds.b, 0.020, 1e-9);
    EXPECT_EQ(checkpoint->verdict, sim::Verdict::slower);
}

TEST(ComparedRuns, SayHowManyStepsTheirMediansAreOf)
{
    sim::Recovered a = madeBy({.waitMs = {5, 5, 5, 5}}), b = a;
    for (sim::RecoveredStep& step : b.steps.steps)
        step.endNs += 50'000'000;
    b.steps.steps[3].isOutlier = true;
    const sim::RunDifference difference = sim::differenceOf(a, b);
    ASSERT_NE(firstOf(difference, "step"), nullptr);
    EXPECT_THAT(firstOf(difference, "step")->detail, HasSubstr("Medians of 4 steps and 3"));
    a.steps.steps.resize(2);
    EXPECT_THAT(firstOf(sim::differenceOf(a, b), "step")->detail, HasSubstr("is not known"));
}

TEST(ComparedRuns, OfWhichOneIsOfOneRankTellNotThatItsCollectivesAreGone)
{
    HandMade whole{.waitMs = {5, 5, 5, 5}}, part = whole;
    part.isOfRankZeroAlone = true;
    const sim::RunDifference difference = sim::differenceOf(madeBy(whole), madeBy(part));
    EXPECT_EQ(firstOf(difference, "collective"), nullptr);
    EXPECT_TRUE(difference.collectives.empty());
    EXPECT_THAT(difference.problems, testing::Contains(HasSubstr("waiting is in the times of one run")));
    // An axis that only one of them knows is known by its size.
    part = whole;
    part.axis = "";
    const sim::RunDifference unnamed = sim::differenceOf(madeBy(whole), madeBy(part));
    EXPECT_TRUE(unnamed.findings.empty()) << unnamed.findings.front().title;
    ASSERT_EQ(unnamed.collectives.size(), 1U);
    EXPECT_NEAR(unnamed.collectives[0].seconds.a, 0.01, 1e-9);
    EXPECT_NEAR(unnamed.collectives[0].seconds.b, 0.01, 1e-9);
}

/// What differs is what was recorded: a run against one of its ranks, and against one that does not say among whom it exchanged.
TEST(ComparedRuns, WithOneOfTheirRanksFindNothingGoneAndNothingNew)
{
    sim::Recording whole = test::recordingOf(*sim::simulate(test::smallScenario(2, 2, 2, 8), {.full = true}));
    const sim::Recovered all = sim::recover(whole);
    for (const bool saysGroups : {true, false}) {
        sim::Recording part = test::recordingOf(*sim::simulate(test::smallScenario(2, 2, 2, 8), {.full = true}));
        part.ranks.resize(1);
        if (!saysGroups) {
            part.groups.clear();
            for (sim::RecordedCollective& collective : part.ranks[0].collectives)
                collective.group = -1;
        }
        const sim::Recovered one = sim::recover(part);
        for (const bool isFirst : {true, false}) {
            SCOPED_TRACE(std::to_string(saysGroups) + std::to_string(isFirst));
            const sim::RunDifference difference = isFirst ? sim::differenceOf(one, all) : sim::differenceOf(all, one);
            for (const sim::ClassDifference& of : difference.collectives) {
                EXPECT_NE(of.verdict, sim::Verdict::appeared) << of.name;
                EXPECT_NE(of.verdict, sim::Verdict::gone) << of.name;
            }
            EXPECT_EQ(firstOf(difference, "collective"), nullptr);
            EXPECT_THAT(difference.problems,
                        testing::Contains(HasSubstr(saysGroups ? "waiting is in the times of one run"
                                                               : "one run does not say among which ranks its collectives are")));
        }
    }
}

TEST(ComparedRuns, OfRealRecordings)
{
    const std::string folder = RANKSCOPE_TEST_DATA "/kineto/";
    const auto read = [&](const char* file) { return sim::recover(sim::readRecording({folder + file})); };
    const sim::Recovered first = read("worker0_step_12.1694128201545.pt.trace.json.gz"),
                         last = read("worker7_step_12.1694128201553.pt.trace.json.gz"), three = read("nccl_data.json.gz");
    for (const sim::Recovered* run : {&first, &last, &three})
        EXPECT_TRUE(sim::differenceOf(*run, *run).findings.empty());
    // Two ranks of one job as if they were two runs: rank 7 is late, so that it waits less in the first all-to-all.
    const sim::RunDifference ranks = sim::differenceOf(first, last);
    EXPECT_THAT(ranks.problems, testing::Contains(HasSubstr("rank 0 of the first is compared with rank 7 of the second")));
    ASSERT_FALSE(ranks.collectives.empty());
    const auto exchange = std::find_if(ranks.collectives.begin(), ranks.collectives.end(),
                                       [](const sim::ClassDifference& of) { return of.verdict == sim::Verdict::faster; });
    ASSERT_NE(exchange, ranks.collectives.end());
    EXPECT_LT(exchange->seconds.delta(), -0.003);
    EXPECT_THAT(exchange->name, HasSubstr("waiting included"));
    EXPECT_EQ(three.steps.steps.size(), 3U);
    EXPECT_EQ(sim::differenceOf(three, three).byStep.size(), 3U);
}

TEST(ComparedRuns, OfTwiceAsManyMicroBatchesHaveNoSlowerKernels)
{
    const sim::RunDifference difference =
        sim::differenceOf(recoveredOf(test::smallScenario(2, 2, 2, 4)), recoveredOf(test::smallScenario(2, 2, 2, 8)));
    const sim::DifferenceFinding *const configuration = firstOf(difference, "configuration"), *const kernel =
                                                                                                  firstOf(difference, "kernel");
    ASSERT_NE(configuration, nullptr);
    EXPECT_EQ(configuration->title, "The two runs are configured differently: micro-batches 4 → 8");
    EXPECT_EQ(configuration, &difference.findings[1]) << "behind the step";
    ASSERT_NE(kernel, nullptr);
    EXPECT_THAT(kernel->title, HasSubstr(" runs 2.00 × as often: "));
    for (const sim::DifferenceFinding& finding : difference.findings)
        EXPECT_THAT(finding.title, testing::Not(HasSubstr(" takes 2.00 × as long"))) << finding.kind;
}

TEST(ComparedRuns, NameARankThatGotLittleSlowerWhereStepsDifferLess)
{
    const sim::Scenario scenario = test::smallScenario(1, 1, 4, 4);
    const sim::RunDifference difference = sim::differenceOf(recoveredOf(scenario), slowed(scenario, 3, 4, 1.04));
    const sim::DifferenceFinding* const rank = firstOf(difference, "rank");
    ASSERT_NE(rank, nullptr);
    EXPECT_THAT(rank->title, HasSubstr("Rank 3 computes 4.0 % longer"));
}

/// Four ranks, of which one has its host load data for `late` ms before each step.
sim::Recovered loadedBy(std::int64_t late)
{
    constexpr std::int64_t kMs = 1'000'000;
    sim::RunEvidence evidence;
    evidence.worldSize = 4;
    evidence.isOneClock = true;
    evidence.names = {"", "gemm", "ncclDevKernel_AllReduce", "enumerate(DataLoader)"};
    evidence.groups = {{.name = "0", .description = {}, .ranks = {0, 1, 2, 3}, .evidence = {}}};
    for (int r = 0; r < 4; ++r) {
        sim::RankEvidence& rank = evidence.ranks.emplace_back();
        rank.rank = r;
        for (std::int64_t step = 0; step < 6; ++step) {
            const std::int64_t begin = step * (30 + late) * kMs, asked = begin + (r == 2 ? late * kMs : 0);
            if (r == 2)
                rank.marks.push_back({.startNs = begin, .endNs = asked, .name = 3});
            rank.work.push_back(
                {.startNs = asked + kMs / 10, .endNs = asked + 20 * kMs, .name = 1, .launchNs = asked + kMs / 20});
            rank.comms.push_back({.startNs = asked + 20 * kMs,
                                  .endNs = begin + (30 + late) * kMs - kMs / 10,
                                  .exchange = sim::Exchange::allReduce,
                                  .group = 0,
                                  .sequence = step,
                                  .bytes = 1 << 20,
                                  .stream = 9,
                                  .name = 2,
                                  .launchNs = asked + kMs / 20});
            rank.steps.push_back({.number = step, .startNs = begin, .endNs = begin + (30 + late) * kMs});
        }
    }
    return sim::recover(std::move(evidence));
}

TEST(ComparedRuns, NameTheRankWhoseHostGotLater)
{
    const sim::Recovered before = loadedBy(0), after = loadedBy(5);
    const sim::RunDifference difference = sim::differenceOf(before, after);
    const sim::DifferenceFinding* const idle = firstOf(difference, "idle");
    ASSERT_NE(idle, nullptr);
    EXPECT_THAT(idle->title, HasSubstr("The device of rank 2 waits 5.00 ms longer a step for its host"));
    EXPECT_THAT(idle->detail, HasSubstr("most of which its host was in \"enumerate(DataLoader)\"."));
    EXPECT_THAT(idle->ranks, testing::ElementsAre(2));
    const auto isWaiting = [](const sim::DifferenceFinding& finding) { return finding.kind == "waiting"; };
    const auto waiting = std::find_if(difference.findings.begin(), difference.findings.end(), isWaiting);
    EXPECT_TRUE(waiting == difference.findings.end() || idle < &*waiting) << "the cause before what follows from it";
    EXPECT_THAT(firstOf(sim::differenceOf(after, before), "idle")->title, HasSubstr("5.00 ms shorter"));
}

} // namespace
