// Where steps begin and end: of profiles as PyTorch writes them, and of what nobody marked. Times of files are µs.
#include "sim/recovery/rank_path.h"
#include "sim/recovery/rank_time.h"
#include "sim/recovery/recover.h"
#include "sim/recovery/recovered_json.h"
#include "sim/recovery/run_answers.h"
#include "sim/recovery/run_difference.h"
#include "sim/recovery/run_findings.h"
#include "sim/recovery/unexplained_time.h"
#include "sim/trace/readers/read_recording.h"
#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t kMsOfBounds = 1'000'000; ///< in ns

/// A profile of one rank.
class MarkedProfile {
public:
    explicit MarkedProfile(std::string mark = "ProfilerStep#") : m_mark(std::move(mark)) {}
    MarkedProfile& span(const std::string& category, const std::string& name, int thread, std::int64_t startUs,
                        std::int64_t lastsUs, const std::string& args = {})
    {
        const bool isOfDevice = category == "kernel" || category.starts_with("gpu_");
        m_events += std::string(m_events.empty() ? "" : ",") + R"({"ph":"X","cat":")" + category + R"(","name":")" + name +
                    R"(","pid":)" + (isOfDevice ? "0" : "100") + R"(,"tid":)" + std::to_string(thread) + R"(,"ts":)" +
                    std::to_string(startUs) + R"(,"dur":)" + std::to_string(lastsUs) + R"(,"args":{)" + args + "}}";
        return *this;
    }
    /// What the host asked for at `askedUs`.
    MarkedProfile& work(std::int64_t askedUs, std::int64_t startUs, std::int64_t lastsUs, const std::string& category = "kernel",
                        int stream = 7)
    {
        const std::string correlation = R"("correlation":)" + std::to_string(++m_correlation);
        span("cuda_runtime", "cudaLaunchKernel", 100, askedUs, 2, correlation);
        return span(category, category == "kernel" ? "gemm" : "Memcpy DtoH (Device -> Pinned)", stream, startUs, lastsUs,
                    correlation + R"(,"stream":)" + std::to_string(stream) + R"(,"device":0)");
    }
    MarkedProfile& step(int number, std::int64_t startUs, std::int64_t lastsUs)
    {
        return span("user_annotation", m_mark + std::to_string(number), 100, startUs, lastsUs);
    }
    MarkedProfile& twin(int number, std::int64_t startUs, std::int64_t lastsUs, int stream = 7)
    {
        return span("gpu_user_annotation", m_mark + std::to_string(number), stream, startUs, lastsUs);
    }
    sim::Recovered recovered() const
    {
        const std::string text =
            R"({"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[)" + m_events + "]}";
        return sim::recover(sim::readRecording(text.data(), text.size(), "rank0.json"));
    }

private:
    std::string m_mark, m_events;
    int m_correlation = 0;
};

/// Steps of which the device waits for `stallUs` before 6 ms of kernels.
MarkedProfile stalledSteps(std::int64_t stallUs, bool hasTwins)
{
    MarkedProfile profile;
    for (int k = 0; k < 5; ++k) {
        const std::int64_t begin = 1000 + k * (6000 + stallUs), works = begin + stallUs;
        profile.step(k + 1, begin, 6000 + stallUs);
        for (int i = 0; i < 6; ++i)
            profile.work(begin + std::max<std::int64_t>(0, stallUs - 50) + i * 2, works + i * 1000, 1000);
        if (hasTwins)
            profile.twin(k + 1, works, 6000);
    }
    return profile;
}

/// Five steps of 10 ms, on whose device work goes on that was asked for before the recording began: until 7 ms after its begin.
/// From then on it lags behind by 7 ms.
MarkedProfile laggingSteps()
{
    MarkedProfile profile;
    for (int i = 0; i < 7; ++i)
        profile.span("kernel", "gemm", 7, 1000 + i * 1000, 1000, R"("stream":7,"device":0)");
    for (int k = 0; k < 5; ++k) {
        const std::int64_t begin = 1000 + k * 10'000;
        profile.step(k + 1, begin, 10'000);
        for (int i = 0; i < 10; ++i)
            profile.work(begin + 100 + i * 10, begin + 7000 + i * 1000, 1000);
    }
    return profile;
}

std::vector<double> millisecondsOf(const sim::RecoveredSteps& steps)
{
    std::vector<double> out;
    out.reserve(steps.steps.size());
    for (const sim::RecoveredStep& step : steps.steps)
        out.push_back(step.seconds() * 1e3);
    return out;
}

testing::Matcher<std::vector<double>> areEach(std::size_t count, double milliseconds)
{
    return testing::AllOf(testing::SizeIs(count), testing::Each(testing::DoubleNear(milliseconds, 1e-6)));
}

TEST(StepBounds, HoldTheTimeThatTheDeviceWaitsForTheNextStep)
{
    for (const bool hasTwins : {true, false}) {
        const sim::Recovered run = stalledSteps(4000, hasTwins).recovered();
        EXPECT_THAT(millisecondsOf(run.steps), areEach(5, 10)) << hasTwins;
        const sim::RankTime time = sim::timesOf(run).ranks.at(0);
        EXPECT_EQ(time.windowNs, 10 * kMsOfBounds);
        EXPECT_EQ(time.computingNs, 6 * kMsOfBounds);
        EXPECT_EQ(time.idleNs, 4 * kMsOfBounds);
        EXPECT_EQ(time.hostBoundNs, 4 * kMsOfBounds);
    }
    const sim::RunDifference slower = sim::differenceOf(stalledSteps(0, true).recovered(), stalledSteps(4000, true).recovered());
    EXPECT_NEAR(slower.stepSeconds.a, 6e-3, 1e-9);
    EXPECT_NEAR(slower.stepSeconds.b, 10e-3, 1e-9);
}

/// Steps that take so many ms each, the device busy all the time, or (`idles`) for a tenth of it with what was asked for long
/// ago.
sim::Recovered stepsOf(const std::vector<int>& milliseconds, bool idles = false)
{
    MarkedProfile profile;
    std::int64_t at = 100'000;
    int number = 0;
    for (const int lasts : milliseconds) {
        const std::int64_t us = lasts * std::int64_t{1000};
        ++number;
        profile.step(number, at, us)
            .work(idles ? at - 100 : at + 1, idles ? at + us * 9 / 10 : at + 2, idles ? us / 10 : us - 2)
            .twin(number, at, us);
        at += us;
    }
    return profile.recovered();
}

TEST(UnlikeSteps, OfManyAreOneFinding)
{
    std::vector<int> milliseconds(40, 10);
    for (const std::size_t longer : {3, 9, 14, 22, 31, 37})
        milliseconds[longer] = longer == 22 ? 14 : 13;
    const std::vector<sim::RunFinding> findings = sim::answersOf(stepsOf(milliseconds)).findings;
    ASSERT_EQ(std::count_if(findings.begin(), findings.end(), [](const auto& of) { return of.kind == "outlier-step"; }), 1);
    EXPECT_EQ(findings[0].title, "6 of 40 steps take 13.0 ms to 14.0 ms, the others 10.0 ms");
    EXPECT_EQ(findings[0].detail, "The longest is step 23.");
}

TEST(UnlikeSteps, AreHeldAgainstTheOthersAlone)
{
    // The median of all is 12 ms, of those that are alike 11.
    const sim::Recovered run = stepsOf({10, 10, 11, 11, 12, 12, 13, 30, 40, 50});
    EXPECT_NEAR(run.steps.medianSeconds, 12e-3, 1e-9);
    EXPECT_NEAR(run.steps.usualSeconds(), 11e-3, 1e-9);
    const std::vector<sim::RunFinding> findings = sim::answersOf(run).findings;
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings[0].title, "Step 10 takes 50.0 ms, the others 11.0 ms");
    EXPECT_THAT(findings[0].detail, testing::StartsWith("It alone is 39.0 ms longer than their median."));
    EXPECT_THAT(sim::recoveredText(run), testing::HasSubstr("10: 50.0 ms, unlike the others (the others 11.0 ms)"));
}

TEST(Idling, ThatNothingExplainsIsAFinding)
{
    const std::vector<sim::RunFinding> findings = sim::answersOf(stepsOf(std::vector<int>(6, 10), true)).findings;
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].kind, "idle");
    EXPECT_THAT(findings[0].title, testing::HasSubstr("of the step the device does nothing"));
    EXPECT_TRUE(sim::answersOf(stepsOf(std::vector<int>(6, 10))).findings.empty());
}

TEST(Idling, IsToldFromATenthOfTheStepOn)
{
    for (const auto& [idleUs, isTold] : {std::pair(900, false), {2000, true}}) {
        SCOPED_TRACE(idleUs);
        MarkedProfile profile;
        for (int number = 1; number <= 6; ++number) {
            const std::int64_t at = number * std::int64_t{10'000};
            profile.step(number, at, 10'000).work(at - 100, at + idleUs, 10'000 - idleUs).twin(number, at, 10'000);
        }
        const std::vector<sim::RunFinding> findings = sim::answersOf(profile.recovered()).findings;
        ASSERT_EQ(findings.size(), isTold ? 1U : 0U);
        for (const sim::RunFinding& finding : findings)
            EXPECT_EQ(finding.title, "20.0 % of the step the device does nothing");
    }
}

TEST(Idling, OfOneRankIsNotLostInTheMean)
{
    sim::RunEvidence evidence;
    evidence.worldSize = 4;
    evidence.names = {"gemm"};
    for (int rank = 0; rank < 4; ++rank) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = rank;
        for (std::int64_t step = 0; step < 6; ++step) {
            const std::int64_t begin = step * 10'000'000;
            of.steps.push_back({.number = step, .startNs = begin, .endNs = begin + 10'000'000});
            of.work.push_back({.startNs = begin, .endNs = begin + (rank == 2 ? 3'000'000 : 10'000'000), .name = 0});
        }
    }
    const std::vector<sim::RunFinding> findings = sim::answersOf(sim::recover(evidence)).findings;
    const auto idle = std::find_if(findings.begin(), findings.end(), [](const auto& of) { return of.kind == "idle"; });
    ASSERT_NE(idle, findings.end());
    EXPECT_THAT(idle->title, testing::StartsWith("17.5 % of the step"));
    EXPECT_THAT(idle->detail, testing::HasSubstr("; rank 2 idles longest, 70.0 %; "));
}

/// The same times, but that every rank idles so many per cent of its step more.
sim::RunAnswers idleFor(const sim::RunAnswers& answers, std::int64_t percentMore)
{
    sim::RunAnswers idler;
    idler.times = answers.times;
    for (sim::RankTime& rank : idler.times.ranks) {
        const std::int64_t moreNs = rank.windowNs * percentMore / 100;
        rank.idleNs += moreNs;
        rank.windowNs += moreNs;
    }
    return idler;
}

/// Of four stages, as equal as they get, and four micro-batches.
sim::Recovered pipelineRun(const char* kind, int slices = 1)
{
    sim::Scenario scenario = test::smallScenario(1, 4, 1, 4);
    scenario.model.vocabSize = 256; // the first and the last do little besides layers
    scenario.training.sequenceLength = 4096;
    scenario.schedule.kind = kind;
    scenario.schedule.sequenceSlices = slices;
    test::resolve(scenario);
    return sim::recover(test::recordingOf(*sim::simulate(scenario, {.full = true})));
}

TEST(Idling, ThatASchedulesOwnBubbleExplainsIsNoFinding)
{
    // 1F1B of four stages and four micro-batches idles 3 / 7 of the step.
    const sim::Recovered run = pipelineRun("1f1b");
    const sim::RunAnswers answers = sim::answersOf(run);
    double idle = 0, window = 0;
    for (const sim::RankTime& rank : answers.times.ranks) {
        idle += static_cast<double>(rank.idleNs);
        window += static_cast<double>(rank.windowNs);
    }
    EXPECT_GT(idle, 0.2 * window);
    EXPECT_TRUE(std::none_of(answers.findings.begin(), answers.findings.end(), [](const auto& of) { return of.kind == "idle"; }));
    // Were it more, that would be told, and how much of it is the schedule's: of 4 micro-batches' passes 3, however long the
    // step.
    double computing = 0;
    for (const sim::RankTime& rank : answers.times.ranks)
        computing += static_cast<double>(rank.computingNs) / static_cast<double>(answers.times.ranks.size());
    for (const std::int64_t longer : {20, 300}) { // per cent
        const sim::RunAnswers idler = idleFor(answers, longer);
        const std::vector<sim::RunFinding> told = sim::unexplainedTime(run, idler, {});
        ASSERT_EQ(told.size(), 1U) << longer;
        EXPECT_THAT(told[0].detail,
                    testing::HasSubstr("; of that the schedule's own bubble, of 4 stages and 4 micro-batches, is " +
                                       sim::timeText(computing * 3 / 4 / 1e9) + "; "));
        EXPECT_TRUE(sim::unexplainedTime(run, idler, {{.kind = "late-rank"}}).empty()) << "it follows from that";
    }
}

TEST(Idling, OfAScheduleWithoutAClosedFormIsNotExplainedAway)
{
    // Their bubble hangs on how long passes take: it is smaller than 1F1B's, and nobody knows by how much.
    for (const auto& [kind, slices] : {std::pair("seq-1f1b", 4), {"zb-h1", 1}}) {
        SCOPED_TRACE(kind);
        const sim::Recovered run = pipelineRun(kind, slices);
        ASSERT_TRUE(run.schedule);
        EXPECT_EQ(run.schedule->kind, kind);
        const std::vector<sim::RunFinding> told = sim::unexplainedTime(run, idleFor(sim::answersOf(run), 20), {});
        ASSERT_EQ(told.size(), 1U);
        EXPECT_THAT(told[0].detail, testing::EndsWith(" of a rank's step; what it waits for is not recorded."));
    }
}

TEST(Idling, IsNotExplainedByAScheduleThatNobodyRecognised)
{
    sim::Recovered run = pipelineRun("1f1b");
    const sim::RunAnswers answers = sim::answersOf(run);
    EXPECT_TRUE(sim::unexplainedTime(run, answers, {}).empty());
    for (const char* kind : {"", "custom"}) {
        run.schedule->kind = kind;
        EXPECT_EQ(sim::unexplainedTime(run, answers, {}).size(), 1U) << kind;
    }
}

TEST(Idling, ThatTheHostDoesNotExplainIsToldBesideWhatItDoes)
{
    // Of each 10 ms two compute; the first six wait for what the host has asked for long before, two for the host.
    MarkedProfile profile;
    for (int number = 1; number <= 6; ++number) {
        const std::int64_t at = number * std::int64_t{10'000};
        profile.step(number, at, 10'000)
            .work(at - 100, at + 6000, 1000)
            .work(at + 8990, at + 9000, 1000)
            .twin(number, at, 10'000);
    }
    const std::vector<sim::RunFinding> findings = sim::answersOf(profile.recovered()).findings;
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].title, "60.0 % of the step the device does nothing, and does not wait for its host");
    EXPECT_EQ(findings[0].detail, "6.00 ms of the 10.0 ms of a rank's step; what it waits for is not recorded.");
    EXPECT_EQ(findings[1].title, "20.0 % of the step the device waits for its host");
}

TEST(StepBounds, LeaveToNoStepWhatWasAskedForBeforeTheRecordingBegan)
{
    const sim::Recovered run = laggingSteps().recovered();
    EXPECT_THAT(millisecondsOf(run.steps), areEach(5, 10));
    EXPECT_EQ(sim::timesOf(run).ranks.at(0).computingNs, 10 * kMsOfBounds);
}

TEST(StepBounds, HoldWhatTheHostDidBeforeTheFirstKernelAndAfterTheLast)
{
    // The first step compiles for 200 ms; the third writes something for 3 ms when its kernels are done.
    MarkedProfile profile;
    std::int64_t at = 1000;
    for (int k = 0; k < 6; ++k) {
        const std::int64_t before = k == 0 ? 190'000 : 0, after = k == 2 ? 3000 : 0, lasts = before + 10'000 + after;
        profile.step(k + 1, at, lasts).work(at + before, at + before, 10'000).twin(k + 1, at + before, 10'000);
        at += lasts;
    }
    const sim::Recovered run = profile.recovered();
    EXPECT_THAT(millisecondsOf(run.steps), testing::Pointwise(testing::DoubleNear(1e-6), {200, 10, 13, 10, 10, 10}));
    EXPECT_TRUE(run.steps.steps[0].isOutlier);
    EXPECT_TRUE(run.steps.steps[2].isOutlier);
    EXPECT_FALSE(run.steps.steps[5].isOutlier);
}

TEST(StepBounds, LeaveOutWhatTheDeviceDidBeforeTheFirstMarkedStep)
{
    // The host is 40 ms ahead: it enters the first step while the device does what nobody recorded the launch of.
    MarkedProfile profile;
    for (int i = 0; i < 4; ++i)
        profile.span("kernel", "gemm", 7, 1000 + i * 10'000, 10'000, R"("stream":7,"device":0)");
    for (int k = 0; k < 3; ++k)
        profile.step(k + 1, 1000 + k * 100, 90)
            .work(1010 + k * 100, 41'010 + k * 10'000, 9000)
            .twin(k + 1, 41'010 + k * 10'000, 9000);
    const sim::Recovered run = profile.recovered();
    EXPECT_THAT(millisecondsOf(run.steps), testing::Pointwise(testing::DoubleNear(1e-6), {9.01, 10.0, 10.0}));
    EXPECT_EQ(run.steps.steps[0].startNs, 41'000 * std::int64_t{1000});
}

TEST(StepBounds, OfThreeStepsLeaveOutOneThatCompiledIfTheOthersAreAlike)
{
    const auto usual = [](const std::vector<std::int64_t>& lengths) {
        sim::RunEvidence evidence;
        evidence.names = {"gemm"};
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        std::int64_t at = 0;
        for (const std::int64_t lasts : lengths) {
            of.steps.push_back({.number = static_cast<std::int64_t>(of.steps.size()), .startNs = at, .endNs = at + lasts});
            for (int i = 0; i < (lasts > 1'000'000 ? 50 : 10); ++i) // it tries kernels
                of.work.push_back({.startNs = at + i, .endNs = at + i + 1});
            at += lasts;
        }
        return sim::recoverSteps(evidence, true).usual();
    };
    EXPECT_THAT(usual({2'000'000, 1000, 1010}), testing::ElementsAre(1, 2));
    EXPECT_THAT(usual({1900, 1000, 1010}), testing::ElementsAre(0, 1, 2));
    EXPECT_THAT(usual({2'000'000, 1000, 1100}), testing::ElementsAre(0, 1, 2)) << "nobody knows what is usual";
}

TEST(StepBounds, CutACopyThatGoesOnWithTheNextStep)
{
    // A checkpoint leaves in the fourth step of ten milliseconds, and takes 35.
    MarkedProfile once;
    // Another stores away for 9 ms what each step made, beside the next one's 8 ms of kernels.
    MarkedProfile always;
    for (int k = 0; k < 8; ++k) {
        const std::int64_t begin = 1000 + k * 10'000;
        once.step(k + 1, begin, 10'000).twin(k + 1, begin + 100, 10'000);
        for (int i = 0; i < 10; ++i)
            once.work(begin + i * 20, begin + 100 + i * 1000, 1000);
        if (k == 3)
            once.work(begin + 4000, begin + 5000, 35'000, "gpu_memcpy", 30).twin(k + 1, begin + 5000, 35'000, 30);
        always.step(k + 1, begin, 10'000).twin(k + 1, begin + 100, 9900);
        always.work(begin + 1, begin + 100, 8000);
        always.work(begin + 5000, begin + 6000, 9000, "gpu_memcpy", 30).twin(k + 1, begin + 6000, 9000, 30);
    }
    const sim::Recovered stored = once.recovered();
    EXPECT_TRUE(stored.steps.problems.empty()) << stored.steps.problems.front();
    for (const sim::Recovered& run : {stored, always.recovered()}) {
        std::vector<std::size_t> all;
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < run.steps.steps.size(); ++k) {
            const sim::RecoveredStep& step = run.steps.steps[k];
            all.push_back(k);
            sum += step.rankEndNs[0] - step.rankStartNs[0];
            EXPECT_FALSE(step.isOutlier) << k;
            EXPECT_NEAR(step.seconds(), 10e-3, 0.1001e-3) << k;
        }
        EXPECT_EQ(sum, run.steps.steps.back().rankEndNs[0] - run.steps.steps.front().rankStartNs[0]) << "each instant once";
        EXPECT_NEAR(static_cast<double>(sum), 80.0 * kMsOfBounds, 0.2 * kMsOfBounds);
        for (const sim::RankTime& time : sim::meanTimesOf(run, all))
            EXPECT_NEAR(static_cast<double>(time.windowNs), 10.0 * kMsOfBounds, 0.02 * kMsOfBounds);
        std::int64_t path = 0;
        for (const auto& [part, ns] : sim::criticalPathOver(run).ns)
            path += ns;
        EXPECT_NEAR(static_cast<double>(path), 10.0 * kMsOfBounds, 0.1 * kMsOfBounds);
    }
    const sim::RankTime each = sim::timesOf(always.recovered()).ranks.at(0);
    EXPECT_NEAR(static_cast<double>(each.computingNs) / static_cast<double>(each.windowNs), 0.8, 1e-3);
}

TEST(StepBounds, OfARankWithAClockOfItsOwnHoldItsOwnWaiting)
{
    sim::RunEvidence evidence;
    evidence.names = {"gemm"};
    for (const int rank : {0, 1}) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = rank;
        for (std::int64_t k = 0; k < 3; ++k) {
            const std::int64_t begin = (rank == 0 ? 0 : 70'000) + k * 100;
            of.steps.push_back({.number = k, .startNs = begin + 40, .endNs = begin + 100, .fromNs = begin, .toNs = begin + 100});
            of.work.push_back({.startNs = begin + 40, .endNs = begin + 100});
        }
    }
    const sim::RecoveredSteps steps = sim::recoverSteps(evidence, false);
    ASSERT_EQ(steps.steps.size(), 3U);
    for (const sim::RecoveredStep& step : steps.steps) {
        EXPECT_NEAR(step.seconds(), 100e-9, 1e-15);
        EXPECT_EQ(step.rankEndNs[1] - step.rankStartNs[1], 100);
    }
}

TEST(StepBounds, OfStagesLeaveAFillingPipelineToTheStepThatFillsIt)
{
    // Rank 1 begins 30 later and ends when rank 0, which does the last backward, has 20 to go; its host comes to the next step 5
    // after that.
    sim::RunEvidence evidence;
    evidence.names = {"gemm"};
    for (const int rank : {0, 1}) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = rank;
        for (std::int64_t k = 0; k < 3; ++k) {
            const std::int64_t begin = k * 110 + (rank == 0 ? 0 : 30), end = k * 110 + (rank == 0 ? 100 : 80);
            of.steps.push_back({.number = k, .startNs = begin, .endNs = end, .fromNs = k * 110 - 5, .toNs = end});
            of.work.push_back({.startNs = begin, .endNs = end});
        }
    }
    const sim::RecoveredSteps steps = sim::recoverSteps(evidence, true);
    ASSERT_EQ(steps.steps.size(), 3U);
    EXPECT_TRUE(steps.problems.empty()) << "nobody begins the next one before all are done";
    EXPECT_EQ(steps.steps[1].startNs, 105);
    EXPECT_EQ(steps.steps[1].endNs, 215);
    EXPECT_EQ(steps.steps[1].rankStartNs[1], 105);
    EXPECT_EQ(steps.steps[1].rankEndNs[1], 215);
}

TEST(StepBounds, HoldALoaderThatIsInNobodysMarkAndNoPause)
{
    // Each mark holds 60 of 150; behind the fourth something else is done for long.
    sim::RunEvidence evidence;
    evidence.names = {"gemm"};
    sim::RankEvidence& of = evidence.ranks.emplace_back();
    for (std::int64_t k = 0; k < 8; ++k) {
        const std::int64_t begin = k * 150 + (k < 4 ? 0 : 400);
        of.steps.push_back({.number = k, .startNs = begin, .endNs = begin + 60});
        of.work.push_back({.startNs = begin, .endNs = begin + 60});
    }
    const sim::RecoveredSteps steps = sim::recoverSteps(evidence, true);
    ASSERT_EQ(steps.steps.size(), 8U);
    for (const std::size_t k : {0U, 2U, 4U, 6U})
        EXPECT_EQ(steps.steps[k].endNs - steps.steps[k].startNs, 150) << k;
    EXPECT_EQ(steps.steps[3].endNs - steps.steps[3].startNs, 60);
}

TEST(StepBounds, DoNotReachOverWhatTheRecorderLeftOut)
{
    sim::RunEvidence evidence;
    evidence.names = {"gemm"};
    sim::RankEvidence& of = evidence.ranks.emplace_back();
    for (const std::int64_t number : {1, 2, 11, 12}) {
        of.steps.push_back({.number = number, .startNs = number * 100, .endNs = number * 100 + 90});
        of.work.push_back({.startNs = number * 100, .endNs = number * 100 + 90});
    }
    const sim::RecoveredSteps steps = sim::recoverSteps(evidence, true);
    ASSERT_EQ(steps.steps.size(), 4U);
    EXPECT_EQ(steps.steps[0].endNs, 200);
    EXPECT_EQ(steps.steps[1].endNs, 290) << "and not 1100";
    EXPECT_EQ(steps.steps[2].endNs, 1200);
}

TEST(CriticalPath, IsAsLongAsItsStep)
{
    // The device is done 2 ms before the next step, which the host asks for late.
    MarkedProfile profile;
    for (int k = 0; k < 4; ++k) {
        const std::int64_t begin = 1000 + k * 10'000;
        profile.step(k + 1, begin, 10'000).twin(k + 1, begin, 10'000).work(begin - 5, begin, 8000);
    }
    const sim::Recovered run = profile.recovered();
    for (const std::size_t step : {1U, 3U}) {
        const sim::RankPath path = sim::criticalPathOver(run, step);
        std::int64_t all = 0;
        for (const auto& [part, ns] : path.ns)
            all += ns;
        EXPECT_EQ(all, 10 * kMsOfBounds) << step;
        EXPECT_EQ(path.ns.at(sim::PathPart::computing), 8 * kMsOfBounds) << step;
        EXPECT_EQ(path.ns.at(step == 3 ? sim::PathPart::idling : sim::PathPart::launching), 2 * kMsOfBounds) << step;
        EXPECT_EQ(path.segments.back().endNs, run.steps.steps[step].endNs) << step;
    }
}

/// Steps 1 to 3 of two recordings of a rank, one after another; computing for 6 and for 9 of 10 ms.
sim::RunEvidence recordedTwice(int ranks)
{
    sim::RunEvidence evidence;
    evidence.names = {"gemm"};
    evidence.isOneClock = true;
    for (int r = 0; r < ranks; ++r) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = r;
        for (std::int64_t window = 0; window < 2; ++window) {
            const std::int64_t first = (1 + window * 60) * 1000 * kMsOfBounds;
            of.windows.emplace_back(first, first + 30 * kMsOfBounds);
            for (std::int64_t k = 0; k < 3; ++k) {
                const std::int64_t begin = first + k * 10 * kMsOfBounds;
                of.steps.push_back({.number = k + 1, .startNs = begin, .endNs = begin + 10 * kMsOfBounds});
                of.work.push_back({.startNs = begin, .endNs = begin + (window == 0 ? 6 : 9) * kMsOfBounds});
            }
        }
    }
    return evidence;
}

TEST(StepsOfTwoRecordings, AreAllKeptThoughTheirNumbersAreTheSame)
{
    for (const int ranks : {1, 2}) {
        const sim::Recovered run = sim::recover(recordedTwice(ranks));
        EXPECT_THAT(millisecondsOf(run.steps), areEach(6, 10)) << ranks;
        std::vector<std::int64_t> numbers;
        for (const sim::RecoveredStep& step : run.steps.steps)
            numbers.push_back(step.number);
        EXPECT_THAT(numbers, testing::ElementsAre(1, 2, 3, 1, 2, 3));
        EXPECT_EQ(sim::timesOf(run).ranks.at(0).computingNs, 7'500'000);
        EXPECT_TRUE(run.steps.problems.empty());
    }
    sim::RunEvidence lacks = recordedTwice(2);
    lacks.ranks[1].steps.pop_back();
    const sim::RecoveredSteps steps = sim::recoverSteps(lacks, true);
    EXPECT_EQ(steps.steps.size(), 5U);
    EXPECT_THAT(steps.problems, testing::ElementsAre("rank 1 holds no step 3 of its recording 2; the step is left out"));
}

/// `count` times 6 ms of kernels and 4 ms of a sum on each of two ranks; `before` ms of other work, and of a cut step behind.
sim::RunEvidence unmarkedSteps(std::int64_t count, std::int64_t before = 0, std::int64_t behind = 0)
{
    sim::RunEvidence evidence;
    evidence.names = {"gemm", "ncclAllReduce"};
    evidence.isOneClock = true;
    evidence.groups = {{.name = "0", .description = {}, .ranks = {0, 1}, .evidence = {}}};
    for (const int rank : {0, 1}) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = rank;
        std::int64_t at = kMsOfBounds;
        const auto kernels = [&](std::int64_t ms) {
            for (std::int64_t i = 0; i < ms; ++i, at += kMsOfBounds)
                of.work.push_back({.startNs = at, .endNs = at + kMsOfBounds, .name = 0});
        };
        if (before > 0)
            kernels(before);
        for (std::int64_t k = 0; k < count; ++k) {
            if (k > 0 || before == 0)
                kernels(6);
            of.comms.push_back({.startNs = at,
                                .endNs = at + 4 * kMsOfBounds,
                                .exchange = sim::Exchange::allReduce,
                                .group = 0,
                                .sequence = k,
                                .bytes = 4096,
                                .stream = 9,
                                .name = 1});
            at += 4 * kMsOfBounds;
        }
        kernels(behind);
    }
    return evidence;
}

TEST(StepsWithoutMarks, AreAllAsLongAsTheirPeriod)
{
    for (const std::int64_t count : {2, 3, 4, 6}) {
        const sim::Recovered run = sim::recover(unmarkedSteps(count));
        EXPECT_THAT(millisecondsOf(run.steps), areEach(static_cast<std::size_t>(count), 10)) << count;
        EXPECT_EQ(sim::timesOf(run).ranks.at(0).windowNs, 10 * kMsOfBounds) << count;
    }
}

TEST(StepsWithoutMarks, ThatWereRecordedInPartAreNotJudgedWithTheOthers)
{
    // The recorder begins with the last 2 ms of kernels of a step, and stops after 3 of another.
    const sim::Recovered run = sim::recover(unmarkedSteps(5, 2, 3));
    EXPECT_NEAR(run.steps.medianSeconds, 10e-3, 1e-9);
    EXPECT_EQ(sim::timesOf(run).ranks.at(0).windowNs, 10 * kMsOfBounds);
    EXPECT_EQ(sim::timesOf(run).ranks.at(0).computingNs, 6 * kMsOfBounds);
    EXPECT_GE(run.steps.usual().size(), 4U);
    for (const std::size_t k : run.steps.usual())
        EXPECT_NEAR(run.steps.steps[k].seconds(), 10e-3, 1e-9) << k;
}

TEST(StepsWithoutMarks, AreJudgedOnceThePartsAreSetAside)
{
    // Three alike, one a little longer, and parts before and behind them.
    sim::RunEvidence evidence;
    evidence.names = {"gemm"};
    sim::RankEvidence& of = evidence.ranks.emplace_back();
    std::int64_t at = 0;
    for (const std::int64_t lasts : {20, 100, 100, 100, 115, 20}) {
        of.steps.push_back({.number = static_cast<std::int64_t>(of.steps.size()), .startNs = at, .endNs = at + lasts});
        for (std::int64_t i = 0; i < (lasts < 50 ? 2 : 10); ++i)
            of.work.push_back({.startNs = at + i * lasts / 10, .endNs = at + (i + 1) * lasts / 10});
        at += lasts;
    }
    const sim::Recovered run = sim::recover(evidence);
    EXPECT_THAT(run.steps.usual(), testing::ElementsAre(1, 2, 3));
    EXPECT_NEAR(run.steps.medianSeconds, 100e-9, 1e-15);
}

TEST(StepsWithoutMarks, AreThoseThatRangesOfIterationsName)
{
    for (const char* mark : {"iteration ", "step ", "Iteration: ", "train_step_", "iter "}) {
        MarkedProfile profile(mark);
        for (int k = 0; k < 4; ++k) {
            const std::int64_t begin = 1000 + k * 10'000;
            profile.step(k + 7, begin, 9000).work(begin + 5, begin + 10, 6000).work(begin + 6, begin + 6010, 3000);
            profile.span("user_annotation", "layer " + std::to_string(k), 100, begin, 400);
        }
        const sim::Recovered run = profile.recovered();
        ASSERT_EQ(run.steps.steps.size(), 4U) << mark << run.steps.evidence;
        EXPECT_EQ(run.steps.steps[0].number, 7);
        EXPECT_EQ(run.steps.steps[3].number, 10);
        EXPECT_NEAR(run.steps.medianSeconds, 10e-3, 1e-9) << mark;
        EXPECT_THAT(run.steps.evidence, testing::HasSubstr("ranges named"));
    }
    // Numbers that begin anew are of something smaller.
    MarkedProfile inner("step ");
    for (int k = 0; k < 6; ++k)
        inner.step(k % 3, 1000 + k * 10'000, 9000).work(1005 + k * 10'000, 1010 + k * 10'000, 6000);
    EXPECT_THAT(inner.recovered().steps.evidence, testing::Not(testing::HasSubstr("ranges named")));
}

} // namespace
