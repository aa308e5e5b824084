// Ranks that run by themselves, others made up, do what they do among all.
#include "live/profile/calibrate.h"
#include "live/profile/rehearse.h"
#include "sim/program/program.h"
#include "sim/scenario/document.h"
#include "sim/simulate/plan_schedule.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <tuple>

using namespace live;

namespace {

sim::Scenario jobOfLayout(const std::string& model, const std::string& layout, const std::string& more = "{}")
{
    return sim::ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":")" + model +
                                        R"(","cluster":"laptop","layout":)" + layout +
                                        R"(,"training":{"sequence_length":32,"micro_batch_size":1,"precision":"fp32",)" +
                                        R"("global_batch_size":8},"live":{"dtype":"fp32"},"schedule":)" + more + "}")
        .resolve(sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets"))
        .scenario.value();
}

/// How often a rank does what: of each kind, in each micro-batch (of transfers in all: of a send it is that in which it was found
/// done); bytes of transfers whose rows no router chose.
using Doings = std::map<std::tuple<std::string, int, int, int, std::int64_t>, int>;
Doings doingsOf(const ObservedRun& run, int rank)
{
    Doings doings;
    for (const RankSpan& each : run.steps.back()) {
        const sim::SpanKind& kind = run.kinds[each.span.kind];
        if (each.rank == rank && each.span.track != SpanTrack::actions)
            ++doings[{kind.name, kind.stage, kind.layer, each.span.track == SpanTrack::compute ? each.span.microbatch : -1,
                      kind.name.starts_with("moe.") ? 0 : each.span.bytes}];
    }
    return doings;
}

const char* const kLayouts[] = {R"({"tp":2,"cp":2,"pp":2})", R"({"tp":2,"dp":2,"sequence_parallel":true,"zero_stage":1})",
                                R"({"cp":2,"dp":2,"zero_stage":3})", R"({"pp":4,"dp":2,"zero_stage":2})"};

} // namespace

TEST(Rehearsal, RanksDoAloneWhatTheyDoAmongAll)
{
    for (const char* layout : kLayouts) {
        SCOPED_TRACE(layout);
        const Rehearsal both = rehearse(jobOfLayout("tiny-gpt", layout), {.warmUp = 1, .steps = 3});
        ASSERT_EQ(both.alone.steps.size(), 3U);
        for (const int rank : rehearsedRanks(both.alone.scenario))
            EXPECT_TRUE(doingsOf(both.alone, rank) == doingsOf(both.whole, rank)) << "rank " << rank;
    }
    const sim::Scenario experts =
        jobOfLayout("tiny-moe", R"({"pp":2,"dp":4,"ep":2})", R"({"kind":"interleaved-1f1b","virtual_stages":2})");
    const Rehearsal both = rehearse(experts, {.warmUp = 1, .steps = 2});
    for (const int rank : rehearsedRanks(experts))
        EXPECT_TRUE(doingsOf(both.alone, rank) == doingsOf(both.whole, rank)) << "rank " << rank;
}

/// What is drawn as predicted is what is trained: fewer key-value heads than ranks, slices of experts, tokens that ranks share.
TEST(Rehearsal, TransfersOfHeadsAndExpertsAreThoseOfTheSimulator)
{
    for (const auto& [model, layout] : {std::pair{"tiny-gpt", R"({"tp":4})"},
                                        {"tiny-moe", R"({"tp":4,"dp":2,"ep":2})"},
                                        {"tiny-moe", R"({"tp":4,"dp":2,"ep":2,"sequence_parallel":true})"},
                                        {"tiny-moe", R"({"tp":2,"dp":2,"ep":4,"etp":1})"},
                                        {"tiny-moe", R"({"dp":4,"ep":2,"etp":2})"}}) {
        SCOPED_TRACE(layout);
        const sim::Scenario scenario = jobOfLayout(model, layout);
        std::map<std::string, int> expected, made; // of rank 0, in a step
        const auto isMeant = [](const std::string& name) { return name.starts_with("moe.") || name.starts_with("attn.qkv."); };
        // One of the two has other words for what is the same turned round.
        const std::map<std::string, std::string> words = {{"attn.qkv.scatter", "attn.qkv.gather"}, {"moe.drop", "moe.collect"}};
        const auto word = [&](const std::string& name) { return words.contains(name) ? words.at(name) : name; };
        const sim::Program program = sim::lowerProgram(scenario, sim::planSchedule(scenario));
        for (const sim::Step& step : program.ranks[0].steps)
            for (const sim::Op& op : program.passes[step.pass].ops)
                if (op.kind != sim::OpKind::compute && isMeant(program.labels[op.label]))
                    ++expected[word(program.labels[op.label])];
        const ObservedRun run = observeRun(scenario, {.warmUp = 0, .steps = 1});
        for (const RankSpan& each : run.steps[0]) {
            const std::string& name = run.kinds[each.span.kind].name;
            if (each.rank == 0 && each.span.correlation != 0 && isMeant(name) && name != "moe.counts" && name != "moe.balance")
                ++made[word(name)];
        }
        EXPECT_EQ(made, expected);
        EXPECT_EQ(made.contains("attn.qkv.gather"), scenario.layout.tp > scenario.model.numKeyValueHeads);
    }
}

TEST(Rehearsal, AsManyStandInsMeetARankAsMembersWould)
{
    for (const char* layout : kLayouts) {
        SCOPED_TRACE(layout);
        const Rehearsal both = rehearse(jobOfLayout("tiny-gpt", layout), {.warmUp = 0, .steps = 1});
        std::map<std::uint64_t, std::set<int>> members;
        for (const RankSpan& each : both.whole.steps[0])
            if (each.span.correlation != 0)
                members[each.span.correlation].insert(each.rank);
        std::size_t compared = 0;
        for (const RankSpan& each : both.alone.steps[0])
            if (each.span.correlation != 0) {
                ASSERT_EQ(both.alone.membersOf.at(each.span.correlation),
                          static_cast<int>(members.at(each.span.correlation).size()))
                    << both.alone.kinds[each.span.kind].name;
                ++compared;
            }
        EXPECT_GT(compared, 10U);
    }
}

/// The simulator gives all experts as many tokens; whom an untrained router prefers comes on top.
TEST(Rehearsal, ExpertsRanksGetAsManyRowsAsTheySend)
{
    const sim::Scenario scenario = jobOfLayout("tiny-moe", R"({"dp":4,"ep":4})");
    const Rehearsal both = rehearse(scenario, {.warmUp = 0, .steps = 1});
    const std::int64_t rows = std::int64_t{scenario.training.sequenceLength} * scenario.model.numExpertsPerTok;
    const auto most = [&](const ObservedRun& run) {
        std::int64_t bytes = 0;
        for (const RankSpan& each : run.steps[0])
            if (run.kinds[each.span.kind].name == "moe.dispatch")
                bytes = std::max(bytes, each.span.bytes);
        return bytes / (scenario.model.hiddenSize * std::int64_t{4});
    };
    EXPECT_EQ(most(both.alone), rows);
    EXPECT_GT(most(both.whole), rows) << "or this shows nothing";
    ASSERT_FALSE(both.alone.routings.empty());
    std::int64_t tokens = 0;
    for (const std::int64_t count : both.alone.routings.front())
        tokens += count;
    EXPECT_EQ(tokens, rows) << "a rank's own";
}

TEST(Rehearsal, TransfersAreLearntWithAllTheirMembers)
{
    const Rehearsal both = rehearse(jobOfLayout("tiny-gpt", R"({"tp":4,"dp":2})"), {.warmUp = 0, .steps = 1});
    Calibration calibration;
    calibration.add(both.alone);
    std::set<double> members;
    for (const sim::MeasuredCurve& curve : calibration.profile().transfers)
        for (const sim::MeasuredPoint& point : curve.points)
            if (curve.name == "all_reduce")
                members.insert(point.n);
    EXPECT_TRUE(members.contains(4)) << "of tp";
    EXPECT_TRUE(members.contains(2)) << "of dp";
}

TEST(Rehearsal, TakesARankOfEachStageAndNoMoreThanEightOfMany)
{
    EXPECT_EQ(rehearsedRanks(jobOfLayout("tiny-gpt", R"({"dp":2})")), (std::vector<int>{0, 1}));
    const std::vector<int> ranks = rehearsedRanks(jobOfLayout("tiny-gpt", R"({"pp":4,"dp":8})"));
    EXPECT_EQ(ranks.size(), 8U);
    for (const int first : {0, 8, 16, 24})
        EXPECT_TRUE(std::find(ranks.begin(), ranks.end(), first) != ranks.end()) << first;
}
