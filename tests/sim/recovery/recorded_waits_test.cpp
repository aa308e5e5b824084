// Why a recorded rank waits: what ended the wait, who was late and with what, what it cost, and what is missing to say so.
#include "sim/recovery/recorded_waits.h"

#include "sim/analysis/wait_chain.h"
#include "sim/text/number_text.h"
#include "sim/trace/readers/read_recording.h"
#include "sim/trace/recording.h"
#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>

namespace sim {
namespace {

/// Eight ranks of which the fifth computes slower by two fifths; kernels are launched in `launchUs`.
std::shared_ptr<const Simulation> slowFifth(std::optional<double> launchUs = {})
{
    Scenario scenario = test::smallScenario(2, 2, 2);
    Stack& stack = scenario.training.stack;
    if (launchUs)
        stack.launchUs = stack.backwardLaunchUs = stack.collectiveLaunchUs = *launchUs;
    scenario.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = 5, .factor = 1.4});
    return simulate(scenario, {.full = true});
}

struct Recorded {
    explicit Recorded(
        const Simulation& simulation, const std::function<void(Recording&)>& change = [](Recording&) {})
        : recovered([&] {
              Recording recording = test::recordingOf(simulation, {.launches = true});
              change(recording);
              return std::make_shared<const Recovered>(recover(recording));
          }()),
          waits(recovered, 0)
    {
    }
    std::string longestOf(std::uint32_t rank)
    {
        const auto wait = waits.longestIn(rank, 0, INT64_MAX);
        std::string out;
        for (const std::string& line : wait ? waits.lines(*wait) : std::vector<std::string>{"no wait"})
            out += line + "\n";
        return out;
    }
    std::shared_ptr<const Recovered> recovered;
    RecordedWaits waits;
};

TEST(RecordedWaits, AreThoseOfTheSimulationThatWasRecordedAndAreExplainedWithoutARest)
{
    const auto simulation = slowFifth();
    Recorded recorded(*simulation);
    WaitChains simulated(*simulation);
    const std::int64_t first = simulated.gapAt(simulation->classOf(0), 0)->endNs; // launched; what is recorded begins with it
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
        const auto wait = recorded.waits.longestIn(rank, 0, INT64_MAX);
        const auto gap = simulated.longestGapIn(simulation->classOf(static_cast<int>(rank)), 0, simulation->times().endNs);
        ASSERT_TRUE(wait && gap) << rank;
        EXPECT_EQ(wait->gap.beginNs + first, gap->beginNs) << rank;
        EXPECT_EQ(wait->gap.endNs + first, gap->endNs) << rank;
        std::int64_t sum = wait->hostNs + wait->unexplainedNs;
        for (const RecordedWaitLink& link : wait->links)
            sum += link.lengthNs();
        EXPECT_EQ(sum, gap->lengthNs()) << rank;
        EXPECT_EQ(wait->unexplainedNs, 0) << rank;
        const auto ofRecorded = recorded.waits.lines(*wait), ofSimulated = simulated.lines(simulated.chain(*gap));
        EXPECT_EQ(ofRecorded.front(), ofSimulated.front()) << rank; // how long, and before what
        if (wait->gap.next) {                                       // how much of the step; to be done early costs nothing
            const double ofStep = static_cast<double>(gap->lengthNs()) / static_cast<double>(simulation->times().endNs - first);
            EXPECT_EQ(ofRecorded.back(), "is " + sim::percentText(ofStep) + " of the step long") << rank;
        }
    }
}

TEST(RecordedWaits, NameTheLateMemberOfACollectiveAndWhatItDid)
{
    const auto simulation = slowFifth(0); // else short kernels wait for their hosts, which are alike
    Recorded recorded(*simulation);
    const std::vector<WorkSpan>& work = recorded.recovered->evidence.ranks[4].work; // beside rank 5 in tp
    for (std::size_t i = 1; i < work.size(); ++i) {
        const std::int64_t at = work[i].startNs - recorded.recovered->steps.steps[0].startNs - 1;
        const auto wait = recorded.waits.longestIn(4, at, at + 1);
        if (!wait || !wait->gap.isInsidePass)
            continue;
        ASSERT_EQ(wait->links.size(), 2U);
        EXPECT_EQ(wait->links[0].kind, RecordedWaitLink::Kind::communicating);
        EXPECT_EQ(wait->links[1].rank, 5U);
        EXPECT_TRUE(wait->links[1].pass);
        const std::string text = testing::PrintToString(recorded.waits.lines(*wait));
        EXPECT_THAT(text, testing::HasSubstr(" idle inside " + actionName(*wait->links[1].pass)));
        EXPECT_THAT(text, testing::HasSubstr("its last member is pp 1 (rank 5), "));
        EXPECT_THAT(text, testing::HasSubstr("all waits inside passes together are "));
        return;
    }
    FAIL() << "rank 4 waits inside no pass";
}

TEST(RecordedWaits, NameTheCollectiveThatALateMemberIsOfWhereAnotherIsWaitedForFirst)
{
    constexpr std::int64_t kUs = 1000;
    RunEvidence evidence;
    evidence.worldSize = 4;
    evidence.isOneClock = true;
    evidence.axes = {{"dp", 2, 1}, {"pp", 2, 2}};
    evidence.names = {"all_reduce", "gemm"};
    for (const auto& members : std::vector<std::vector<int>>{{0, 1}, {2, 3}, {0, 1, 2, 3}})
        evidence.groups.push_back({.name = {}, .description = {}, .ranks = members, .evidence = {}});
    for (int r = 0; r < 4; ++r) {
        RankEvidence& rank = evidence.ranks.emplace_back();
        rank.rank = r;
        const std::int64_t ready = (r == 3 ? 100 : 10) * kUs; // of the sum over all; after it all come at once
        rank.work = {{.startNs = 0, .endNs = ready, .name = 1}, {.startNs = 130 * kUs, .endNs = 150 * kUs, .name = 1}};
        for (const auto& [start, end, group] : {std::tuple(ready, 110 * kUs, 2), std::tuple(110 * kUs, 130 * kUs, r / 2)})
            rank.comms.push_back({.startNs = start,
                                  .endNs = end,
                                  .exchange = group == 2 ? Exchange::allReduce : Exchange::reduceScatter,
                                  .group = group,
                                  .sequence = 0,
                                  .bytes = 64,
                                  .stream = 1});
    }
    const auto recovered = std::make_shared<const Recovered>(recover(std::move(evidence)));
    RecordedWaits waits(recovered, 0);
    const auto wait = waits.longestIn(0, 0, INT64_MAX);
    ASSERT_TRUE(wait);
    const std::vector<std::string> lines = waits.lines(*wait);
    EXPECT_THAT(lines, testing::Contains(testing::StartsWith("waits for the reduce-scatter in dp, 20")));
    EXPECT_THAT(lines,
                testing::Contains(testing::MatchesRegex("of the all-reduce in .* the last member is pp 1 .rank 3., 90.*")));
    EXPECT_THAT(lines, testing::Not(testing::Contains(testing::HasSubstr("its last member"))));
}

TEST(RecordedWaits, SayWhatIsMissingToAnswer)
{
    const auto simulation = slowFifth();
    const auto only = [](const std::vector<int>& ranks) {
        return [ranks](Recording& recording) {
            std::erase_if(recording.ranks,
                          [&](const RankRecording& of) { return std::find(ranks.begin(), ranks.end(), of.rank) == ranks.end(); });
        };
    };
    EXPECT_THAT(Recorded(*simulation, only({6})).longestOf(0), testing::HasSubstr("of its 2 members only rank 6 is recorded"));
    EXPECT_THAT(Recorded(*simulation, only({0, 1})).longestOf(0), testing::HasSubstr("rank 4, which sends it, is not recorded"));
    EXPECT_THAT(Recorded(*simulation,
                         [](Recording& recording) {
                             recording.groups.clear();
                             for (RankRecording& rank : recording.ranks)
                                 for (RecordedCollective& one : rank.collectives)
                                     one.group = -1;
                             std::erase_if(recording.ranks, [](const RankRecording& of) { return of.rank != 6; });
                         })
                    .longestOf(0),
                testing::HasSubstr("which ranks take part in it is not recorded"));
    const auto apart = [](Recording& recording) { // as if every host had a clock that runs as it likes
        for (RankRecording& rank : recording.ranks)
            for (std::size_t i = 0; i < rank.collectives.size(); ++i)
                rank.collectives[i].startNs += static_cast<std::int64_t>(i % 3) * rank.rank * 200'000;
    };
    Recorded unaligned(*simulation, apart);
    EXPECT_FALSE(unaligned.recovered->clock.isAligned);
    EXPECT_THAT(unaligned.longestOf(6), testing::HasSubstr("the ranks' clocks could not be laid over each other"));
    Recorded withoutKernels(*simulation, [](Recording& recording) {
        for (RankRecording& rank : recording.ranks)
            for (RecordedKind& kind : rank.spans.kind)
                if (kind == RecordedKind::kernel)
                    kind = RecordedKind::other;
    });
    EXPECT_THAT(withoutKernels.longestOf(3), testing::HasSubstr(" in the "));
    EXPECT_THAT(withoutKernels.longestOf(3), testing::Not(testing::HasSubstr("of the step"))) << "it may compute meanwhile";
    EXPECT_THAT(withoutKernels.waits.whyNone(3), testing::HasSubstr("of rank 3 no kernel was recorded"));
    EXPECT_EQ(Recorded(*simulation).waits.whyNone(3), "");
}

TEST(RecordedWaits, OfARankWithoutKernelsAreItsCommunicationAndForWhom)
{
    const auto recovered =
        std::make_shared<const Recovered>(recover(readRecording({RANKSCOPE_TEST_DATA "/torch-parallel/gloo-late-input"})));
    RecordedWaits waits(recovered, 0);
    const auto wait = waits.longestIn(3, 0, INT64_MAX);
    ASSERT_TRUE(wait && wait->gap.comm);
    EXPECT_GT(wait->gap.lengthNs(), 40'000'000);
    const std::string text = testing::PrintToString(waits.lines(*wait));
    EXPECT_THAT(text, testing::HasSubstr("(rank 0)")) << "who keeps the others waiting";
    std::int64_t endNs = INT64_MIN; // one after another, whatever direction they are walked in
    for (auto next = waits.firstFrom(3, 0, 0); next; next = waits.firstFrom(3, next->gap.beginNs + 1, 0)) {
        EXPECT_GT(next->gap.endNs, endNs);
        endNs = next->gap.endNs;
    }
}

TEST(RecordedWaits, NameAllThatTheRankIsInMeanwhile)
{
    const auto recovered =
        std::make_shared<const Recovered>(recover(readRecording({RANKSCOPE_TEST_DATA "/torch-parallel/pp2-dp2-tp2"})));
    RecordedWaits waits(recovered, 0);
    int several = 0;
    for (std::uint32_t rank = 0; rank < 8; ++rank)
        for (auto wait = waits.firstFrom(rank, 0, 1'000'000); wait; wait = waits.firstFrom(rank, wait->gap.endNs, 1'000'000))
            for (const std::string& line : waits.lines(*wait))
                several += line.starts_with("meanwhile the rank is also in the ") ? 1 : 0;
    EXPECT_GT(several, 0);
}

TEST(RecordedWaits, AreAsThePageAboutARealRunSays)
{
    const auto recovered = std::make_shared<const Recovered>(recover(readRecording({RANKSCOPE_TEST_DATA "/slow-rank"})));
    RecordedWaits waits(recovered, 0);
    const auto lines = waits.lines(*waits.longestIn(0, 0, INT64_MAX));
    std::ifstream in(RANKSCOPE_SOURCE_DIR "/docs/real-run.md");
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    EXPECT_THAT(page, testing::HasSubstr("\"" + lines.at(0) + "\": it \"" + lines.at(1) + "\""));
}

} // namespace
} // namespace sim
