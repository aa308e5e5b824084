#include "sim/recovery/rank_path.h"

#include "sim/recovery/recovered_json.h"
#include "sim/recovery/run_answers.h"
#include "tests/sim/recovery/simulated.h"
#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using test::simulated;

TEST(PathOverRanks, CoversTheStepAndNoRankAloneMakesIt)
{
    const auto simulation = simulated(test::smallScenario(1, 4, 2, 8));
    const sim::Recovered recovered = sim::recover(test::recordingOf(*simulation));
    const sim::RankPath path = sim::criticalPathOver(recovered);
    ASSERT_FALSE(path.segments.empty());
    for (std::size_t i = 1; i < path.segments.size(); ++i)
        EXPECT_EQ(path.segments[i].startNs, path.segments[i - 1].endNs) << i;
    EXPECT_EQ(path.segments.back().endNs - path.segments.front().startNs,
              recovered.steps.steps[0].endNs - recovered.steps.steps[0].startNs);
    // What is recorded begins with the first kernel, not with its launch.
    const std::int64_t recordedNs = simulation->times().endNs - simulation->times().opStartNs.front();
    EXPECT_EQ(recordedNs, recovered.steps.steps[0].endNs - recovered.steps.steps[0].startNs);
    EXPECT_GE(path.jumps, 6U); // down the pipeline and back
    std::int64_t sum = 0;
    for (const auto& [part, ns] : path.ns)
        sum += ns;
    EXPECT_EQ(sum, recordedNs);
    EXPECT_GT(path.ns.at(sim::PathPart::computing), sum * 8 / 10);
}

TEST(PathOverRanks, IsOfTheStepThatIsAskedFor)
{
    const auto simulation = simulated(test::smallScenario(1, 2, 2, 4));
    sim::Recording recording = test::recordingOf(*simulation);
    // The same once more, later, with marks that count the steps.
    constexpr std::int64_t kLater = 1'000'000'000'000;
    for (sim::RankRecording& rank : recording.ranks) {
        const std::int64_t begin = 1'700'000'000'000'000'000, end = begin + simulation->times().endNs;
        rank.steps = {{.number = 12, .startNs = begin, .endNs = end},
                      {.number = 13, .startNs = begin + kLater, .endNs = end + kLater}};
        sim::RankRecording twice = rank;
        twice.spans = {};
        twice.tracks.clear();
        for (const sim::RecordedTrack& track : rank.tracks) {
            sim::RecordedTrack& row = twice.tracks.emplace_back(track);
            row.first = static_cast<std::uint32_t>(twice.spans.size());
            for (const std::int64_t shift : {std::int64_t{0}, kLater})
                for (std::uint32_t i = track.first; i < track.last; ++i) {
                    twice.spans.startNs.push_back(rank.spans.startNs[i] + shift);
                    twice.spans.durationNs.push_back(rank.spans.durationNs[i]);
                    twice.spans.name.push_back(rank.spans.name[i]);
                    twice.spans.kind.push_back(rank.spans.kind[i]);
                }
            row.last = static_cast<std::uint32_t>(twice.spans.size());
        }
        const auto placeOf = [&](std::uint32_t span, bool isLater) {
            for (std::size_t t = 0; t < rank.tracks.size(); ++t)
                if (span >= rank.tracks[t].first && span < rank.tracks[t].last)
                    return static_cast<std::uint32_t>(twice.tracks[t].first + (span - rank.tracks[t].first) +
                                                      (isLater ? rank.tracks[t].size() : 0));
            return sim::kNoSpan;
        };
        twice.collectives.clear();
        for (const bool isLater : {false, true})
            for (sim::RecordedCollective collective : rank.collectives) {
                collective.span = placeOf(collective.span, isLater);
                collective.startNs += isLater ? kLater : 0;
                twice.collectives.push_back(collective);
            }
        rank = std::move(twice);
    }
    const sim::Recovered recovered = sim::recover(recording);
    ASSERT_EQ(recovered.steps.steps.size(), 2U);
    const sim::RankPath middle = sim::criticalPathOver(recovered), first = sim::criticalPathOver(recovered, 0),
                        second = sim::criticalPathOver(recovered, 1);
    EXPECT_EQ(middle.step, 0U);
    EXPECT_EQ(second.step, 1U);
    for (const sim::RankPath* path : {&first, &second}) {
        ASSERT_FALSE(path->segments.empty());
        EXPECT_EQ(path->segments.front().startNs, recovered.steps.steps[path->step].startNs);
        EXPECT_EQ(path->segments.back().endNs, recovered.steps.steps[path->step].endNs);
    }
    EXPECT_GT(second.segments.front().startNs, first.segments.back().endNs);
    EXPECT_TRUE(sim::criticalPathOver(recovered, 2).segments.empty());
    EXPECT_THAT(sim::answersText(recovered, sim::answersOf(recovered, 1)), testing::HasSubstr("critical path of step 13, "));
    EXPECT_EQ(sim::answersJson(recovered, sim::answersOf(recovered, 1))["critical_path"]["step"], 13);
    EXPECT_EQ(sim::answersJson(recovered, sim::answersOf(recovered))["critical_path"]["step"], 12);
}

TEST(PathOverRanks, IsNoLongerThanItsStepWhereWhatWasBegunInItGoesOn)
{
    sim::RunEvidence evidence;
    evidence.worldSize = 2;
    evidence.isOneClock = true;
    evidence.names = {"all_reduce", "gemm"};
    evidence.groups = {{.name = "0", .description = {}, .ranks = {0, 1}, .evidence = {}}};
    for (int rank = 0; rank < 2; ++rank) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = rank;
        for (std::int64_t step = 0; step < 5; ++step) {
            const std::int64_t begin = step * 1'000'000;
            of.steps.push_back({.number = step, .startNs = begin, .endNs = begin + 1'000'000});
            of.work.push_back({.startNs = begin, .endNs = begin + 990'000, .name = 1});
            of.comms.push_back({.startNs = begin + 900'000 + rank * 1000,
                                .endNs = begin + 1'300'000, // nobody waits for it before the next step's end
                                .exchange = sim::Exchange::allReduce,
                                .group = 0,
                                .sequence = step,
                                .bytes = 64,
                                .stream = 1});
        }
    }
    const sim::Recovered recovered = sim::recover(std::move(evidence));
    ASSERT_EQ(recovered.steps.steps.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        const sim::RankPath path = sim::criticalPathOver(recovered, i);
        ASSERT_FALSE(path.segments.empty());
        std::int64_t sum = 0;
        for (const auto& [part, ns] : path.ns)
            sum += ns;
        EXPECT_EQ(path.segments.back().endNs, recovered.steps.steps[i].startNs + 1'000'000) << "with what is idle at its end";
        EXPECT_LE(static_cast<double>(sum) * 1e-9, recovered.steps.steps[i].seconds());
    }
}

} // namespace
