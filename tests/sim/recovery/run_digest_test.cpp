// What a cache keeps of a run beside its spans: it must say the same as the run does, and take no bytes for granted.
#include "sim/recovery/run_digest.h"

#include "sim/error.h"
#include "sim/recovery/recovered_json.h"
#include "sim/recovery/step_trace.h"
#include "sim/scenario/catalogue.h"
#include "sim/trace/cache/recording_cache.h"
#include "sim/trace/readers/read_recording.h"
#include "sim/trace/time_use.h"

#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <random>

namespace {

struct DigestedRun {
    DigestedRun()
    {
        sim::Scenario scenario = test::smallScenario(2, 2, 2, 4);
        scenario.perturbations.push_back({.kind = sim::PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
        recording = test::recordingOf(*sim::simulate(scenario, {.full = true}));
        recovered = sim::recover(recording);
        answers = sim::answersOf(recording, recovered, sim::Catalogue());
        steps = sim::digestSteps(recording, recovered, answers);
        bytes = sim::digestBytes(recovered, answers, steps);
    }
    std::span<const std::byte> view() const { return std::as_bytes(std::span(bytes)); }
    sim::Recording recording;
    sim::Recovered recovered;
    sim::RunAnswers answers;
    std::vector<sim::DigestedStep> steps;
    std::string bytes;
};

TEST(RunDigests, SayWhatTheRunSays)
{
    const DigestedRun run;
    const sim::RunDigest digest = sim::readDigest(run.view());
    EXPECT_EQ(sim::answersJson(digest.recovered, digest.answers).dump(), sim::answersJson(run.recovered, run.answers).dump());
    EXPECT_EQ(sim::answersText(digest.recovered, digest.answers), sim::answersText(run.recovered, run.answers));
    nlohmann::ordered_json found = sim::recoveredJson(digest.recovered), expected = sim::recoveredJson(run.recovered);
    EXPECT_EQ(found["axes"].dump(), expected["axes"].dump());
    EXPECT_EQ(found["schedule"].dump(), expected["schedule"].dump());
    EXPECT_EQ(found["steps"].dump(), expected["steps"].dump());
    EXPECT_EQ(digest.answers.arrivals.straggler, 5);
    EXPECT_GT(digest.answers.arrivals.byAxis.at("tp").waitedNs, 0);
    EXPECT_EQ(digest.answers.amounts.exchanges, run.answers.amounts.exchanges);
    EXPECT_GT(digest.answers.amounts.exchanges, 100U);
    ASSERT_EQ(digest.recovered.evidence.ranks.size(), 8U);
    EXPECT_TRUE(digest.recovered.evidence.ranks[3].work.empty()) << "no spans";

    ASSERT_EQ(digest.steps.size(), 1U);
    const sim::DigestedStep* step = digest.find(0);
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(digest.find(1), nullptr);
    ASSERT_EQ(step->timeUse.tracks.size(), 8U);
    for (std::size_t t = 0; t < 8; ++t) {
        EXPECT_EQ(step->timeUse.tracks[t].startNs, run.steps[0].timeUse.tracks[t].startNs);
        EXPECT_EQ(step->timeUse.tracks[t].kind, run.steps[0].timeUse.tracks[t].kind);
        EXPECT_EQ(step->timeUse.tracks[t].microbatch, run.steps[0].timeUse.tracks[t].microbatch);
        EXPECT_GT(step->timeUse.tracks[t].size(), 8U);
    }
    EXPECT_EQ(step->path.segments.size(), run.answers.path.segments.size());
    EXPECT_EQ(digest.answers.path.rankNs, run.answers.path.rankNs);
    EXPECT_EQ(sim::digestBytes(digest.recovered, digest.answers, digest.steps), run.bytes) << "all of it, member by member";
    EXPECT_EQ(step->ranks[5].computingNs, run.steps[0].ranks[5].computingNs);
}

TEST(RunDigests, OfARunWithoutLengthsSayWhyWithoutItsSpans)
{
    const sim::Recording recording = sim::readRecording({std::string(RANKSCOPE_TEST_DATA) + "/torch-parallel/flight-pp2-dp2"});
    const sim::Recovered recovered = sim::recover(recording);
    const sim::RunAnswers answers = sim::answersOf(recording, recovered, sim::Catalogue());
    const std::string bytes = sim::digestBytes(recovered, answers, sim::digestSteps(recording, recovered, answers));
    const sim::RunDigest digest = sim::readDigest(std::as_bytes(std::span(bytes)));
    EXPECT_NE(digest.answers.whyNothingLasts, "");
    EXPECT_EQ(digest.answers.whyNothingLasts, answers.whyNothingLasts);
    EXPECT_EQ(digest.answers.nothingFound, answers.nothingFound);
    EXPECT_TRUE(digest.recovered.steps.areGuessed);
    EXPECT_FALSE(digest.recovered.steps.areMarked);
}

TEST(RunDigests, HaveTheLanesThatAllStreamsTogetherHave)
{
    const DigestedRun run;
    const sim::Trace streams = sim::stepTrace(run.recording, run.recovered, run.answers.arrivals, 0).trace;
    const sim::Trace lanes = sim::timeUseTrace(streams);
    ASSERT_EQ(lanes.tracks.size(), run.steps[0].timeUse.tracks.size());
    for (std::size_t t = 0; t < lanes.tracks.size(); ++t) {
        EXPECT_EQ(lanes.tracks[t].startNs, run.steps[0].timeUse.tracks[t].startNs);
        EXPECT_EQ(lanes.tracks[t].durationNs, run.steps[0].timeUse.tracks[t].durationNs);
    }
}

TEST(RunDigests, HaveOfSeveralStepsWhatEachHasByItself)
{
    const sim::Recording recording = sim::readRecording({std::string(RANKSCOPE_TEST_DATA) + "/torch-parallel/pp2-dp2"});
    const sim::Recovered recovered = sim::recover(recording);
    const sim::RunAnswers answers = sim::answersOf(recording, recovered, sim::Catalogue());
    const std::vector<sim::DigestedStep> steps = sim::digestSteps(recording, recovered, answers);
    ASSERT_EQ(steps.size(), recovered.steps.steps.size());
    ASSERT_GE(steps.size(), 2U);
    EXPECT_EQ(steps[0].step, recovered.steps.typical());
    std::vector<std::size_t> found;
    for (const sim::DigestedStep& of : steps) {
        found.push_back(of.step);
        const sim::StepTrace alone = sim::timeUseOfStep(recording, recovered, answers.arrivals, of.step);
        EXPECT_EQ(of.originNs, alone.originNs);
        ASSERT_EQ(of.timeUse.tracks.size(), alone.trace.tracks.size());
        for (std::size_t t = 0; t < alone.trace.tracks.size(); ++t)
            EXPECT_EQ(of.timeUse.tracks[t].startNs, alone.trace.tracks[t].startNs);
        const std::vector<sim::RankTime> times = sim::meanTimesOf(recovered, {of.step});
        ASSERT_EQ(of.ranks.size(), times.size());
        for (std::size_t r = 0; r < times.size(); ++r) {
            EXPECT_EQ(of.ranks[r].computingNs, times[r].computingNs);
            EXPECT_EQ(of.ranks[r].exposedByAxis, times[r].exposedByAxis);
        }
        EXPECT_EQ(of.path.rankNs, sim::criticalPathOver(recovered, of.step).rankNs);
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(std::unique(found.begin(), found.end()), found.end()) << "each once";
    EXPECT_EQ(sim::digestSteps(recording, recovered, answers, 1).size(), 1U) << "the typical one always";
}

TEST(RunDigests, OfDamagedBytesAreRefusedOrSound)
{
    const DigestedRun run;
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, run.bytes.size() / 2, run.bytes.size() - 1})
        EXPECT_THROW(sim::readDigest(run.view().first(size)), sim::Error) << size;
    const std::string longer = run.bytes + "x";
    EXPECT_THROW(sim::readDigest(std::as_bytes(std::span(longer))), sim::Error);
    std::mt19937 random(4);
    int refused = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string bytes = run.bytes;
        bytes[random() % bytes.size()] = static_cast<char>(random());
        try {
            const sim::RunDigest digest = sim::readDigest(std::as_bytes(std::span(bytes)));
            // Whatever passed can be looked at.
            EXPECT_FALSE(sim::answersText(digest.recovered, digest.answers).empty());
            for (const sim::PathStretch& stretch : sim::stretchesOf(digest.answers.path))
                sim::reachedText(digest.recovered, stretch);
        } catch (const sim::Error&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 100);
}

/// Hashes can be made to fit: what nobody of ours wrote is refused before it is used as a place, a divisor or a word.
TEST(RunDigests, ThatNobodyOfOursWroteAreRefused)
{
    const DigestedRun run;
    const auto isRefused = [&run](const auto& change) {
        sim::Recovered recovered = run.recovered;
        sim::RunAnswers answers = run.answers;
        change(recovered, answers);
        const std::string bytes = sim::digestBytes(recovered, answers, run.steps);
        try {
            sim::readDigest(std::as_bytes(std::span(bytes)));
        } catch (const sim::Error&) {
            return true;
        }
        return false;
    };
    EXPECT_FALSE(isRefused([](sim::Recovered&, sim::RunAnswers&) {}));
    EXPECT_TRUE(isRefused([](sim::Recovered& of, sim::RunAnswers&) {
        of.axes.axes = {{.name = "tp", .size = 65536, .parts = {}, .evidence = {}, .partNames = {}},
                        {.name = "cp", .size = 65536, .parts = {}, .evidence = {}, .partNames = {}}};
    })) << "65,536 x 65,536 ranks of 8";
    EXPECT_TRUE(isRefused([](sim::Recovered& of, sim::RunAnswers&) {
        of.axes.axes = {{.name = "tp", .size = 4, .parts = {}, .evidence = {}, .partNames = {}},
                        {.name = "pp", .size = 4, .parts = {}, .evidence = {}, .partNames = {}}};
    })) << "16 ranks of 8";
    EXPECT_TRUE(isRefused([](sim::Recovered&, sim::RunAnswers& of) { of.path.ns[static_cast<sim::PathPart>(200)] = 1; }));
    EXPECT_TRUE(isRefused([](sim::Recovered& of, sim::RunAnswers&) {
        of.passes.ranks[0] = {{.action = {.kind = static_cast<sim::ActionKind>(255)}, .startNs = 0, .endNs = 1}};
    }));
    EXPECT_TRUE(isRefused([](sim::Recovered& of, sim::RunAnswers&) {
        of.schedule = sim::RecoveredSchedule{};
        of.schedule->kind = "custom";
        of.schedule->rows[0] = {{.kind = static_cast<sim::ActionKind>(255)}};
    }));
    EXPECT_TRUE(isRefused([](sim::Recovered& of, sim::RunAnswers&) { of.steps.steps[0].rankEndNs[0] = INT64_MIN; }));
    EXPECT_TRUE(isRefused([](sim::Recovered& of, sim::RunAnswers&) { of.steps.steps[0].overlapNs = INT64_MAX; }));
    EXPECT_TRUE(isRefused([](sim::Recovered& of, sim::RunAnswers&) {
        of.clock.isAligned = true;
        of.clock.ranks.clear();
    }));
}

TEST(StepTrace, OfMoreSpansThanAreDrawnHasStreamsAroundTheRankThatWasAskedFor)
{
    const DigestedRun run;
    const std::size_t all = sim::stepTrace(run.recording, run.recovered, run.answers.arrivals, 0).trace.spanCount();
    const sim::StepTrace some =
        sim::stepTrace(run.recording, run.recovered, run.answers.arrivals, 0, {.mostSpans = all / 2, .around = 5});
    const auto drawn = std::count(some.isDrawn.begin(), some.isDrawn.end(), true);
    EXPECT_GE(drawn, 2);
    EXPECT_LT(drawn, 8);
    EXPECT_EQ(some.trace.processes.size(), 8U);
    std::vector<int> spans(8, 0);
    for (const sim::Track& track : some.trace.tracks)
        spans[static_cast<std::size_t>(track.process)] += static_cast<int>(track.size());
    EXPECT_GT(spans[5], 0);
    EXPECT_EQ(spans[0], 0);
}

/// A fuzzer that begins with files of another version never comes past the first line that reads them. They are made anew by
/// `rankscope-sim trace info tests/fuzz/seeds/recording/kineto.json --cache`.
TEST(RunDigest, FuzzersBeginWithCachesOfThisVersion)
{
    for (const char* name : {"kineto", "flight"}) {
        const sim::RecordingCache cache(std::filesystem::path(RANKSCOPE_SOURCE_DIR "/tests/fuzz/seeds/recording_cache") / name,
                                        {"run"});
        EXPECT_TRUE(cache.attachment(sim::kDigestName).has_value()) << name;
    }
}

} // namespace
