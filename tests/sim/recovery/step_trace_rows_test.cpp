// What a recorded step's picture makes of experts' groups, marks of every kind, streams out of the host's order, collectives
// that overlap, and memory that is none of a GPU's.
#include "sim/recovery/run_answers.h"
#include "sim/recovery/step_trace.h"

#include "sim/error.h"
#include "sim/trace/readers/read_recording.h"
#include "sim/trace/time_use.h"
#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

sim::Trace pictureOf(const sim::Recovered& recovered, const sim::Recording& recording = {},
                     const sim::StepTraceOptions& options = {})
{
    return sim::stepTrace(recording, recovered, {}, 0, options).trace;
}

/// One rank with one step from 0 to 1000.
sim::RunEvidence oneRank(std::vector<std::string> names)
{
    sim::RunEvidence evidence;
    evidence.worldSize = 1;
    evidence.names = std::move(names);
    evidence.ranks.emplace_back().steps.push_back({.number = 0, .startNs = 0, .endNs = 1000});
    return evidence;
}

/// A kernel from 100 to 200, and one that begins in the step and runs on behind it.
sim::Recovered runsOverTheEnd()
{
    sim::RunEvidence evidence = oneRank({"kernel"});
    evidence.ranks[0].steps.push_back({.number = 1, .startNs = 1000, .endNs = 2000});
    evidence.ranks[0].work = {{.startNs = 100, .endNs = 200, .name = 0, .stream = 0},
                              {.startNs = 700, .endNs = 1600, .name = 0, .stream = 1},
                              {.startNs = 1100, .endNs = 1900, .name = 0, .stream = 0}};
    return sim::recover(std::move(evidence));
}

/// "name stage microbatch" of every span of such rows.
std::vector<std::string> spansOf(const sim::Trace& trace, sim::TrackRole role)
{
    std::vector<std::string> out;
    for (const sim::Track& track : trace.tracks)
        for (std::size_t i = 0; track.role == role && i < track.size(); ++i) {
            const sim::SpanKind& kind = trace.kinds[track.kind[i]];
            out.push_back(kind.name + " " + std::to_string(kind.stage) + " " + std::to_string(track.microbatch[i]));
        }
    return out;
}

TEST(StepPicture, EndsWithItsStepAlsoWhereAKernelRunsOn)
{
    const sim::Recovered run = runsOverTheEnd();
    const sim::RecoveredStep& step = run.steps.steps.at(0);
    ASSERT_LE(step.startNs, 100);
    ASSERT_LT(step.endNs, 1600);
    const sim::Trace streams = pictureOf(run), lanes = sim::timeUseOfStep({}, run, {}, 0).trace;
    EXPECT_EQ(streams.endNs, step.endNs - step.startNs);
    EXPECT_EQ(lanes.endNs, step.endNs - step.startNs);
    const std::int64_t computed = 100 + (step.endNs - 700);
    EXPECT_EQ(sim::computingNs(streams, 0, streams.endNs), computed);
    EXPECT_EQ(sim::timeUseTrace(streams).processes.at(0).computingNs, computed);
    EXPECT_EQ(lanes.processes.at(0).computingNs, computed);
}

/// Four ranks that exchange tokens of experts and sum gradients, over the very same ranks.
sim::Recovered expertsOverTheRanksOfData(const std::string& ofExperts, const std::string& ofData)
{
    sim::RunEvidence evidence;
    evidence.worldSize = 4;
    evidence.names = {"kernel"};
    evidence.axes = {{"dp", 4, 1}, {"ep", 4, 1}};
    const std::vector<int> all{0, 1, 2, 3};
    evidence.groups.push_back({.name = ofExperts, .description = {}, .ranks = all, .evidence = {}});
    evidence.groups.push_back({.name = ofData, .description = {}, .ranks = all, .evidence = {}});
    for (int r = 0; r < 4; ++r) {
        sim::RankEvidence& rank = evidence.ranks.emplace_back();
        rank.rank = r;
        rank.steps.push_back({.number = 0, .startNs = 0, .endNs = 1000});
        rank.comms.push_back({.startNs = 100, .endNs = 200, .exchange = sim::Exchange::allToAll, .group = 0, .bytes = 8});
        rank.comms.push_back({.startNs = 200, .endNs = 230, .exchange = sim::Exchange::allGather, .group = 0, .bytes = 8});
        rank.comms.push_back({.startNs = 300, .endNs = 350, .exchange = sim::Exchange::allReduce, .group = 1, .bytes = 8});
    }
    return sim::recover(std::move(evidence));
}

TEST(ExpertsOverTheRanksOfData, AreToldApartByTheNameOfTheirGroupOrByTheirAllToAlls)
{
    const sim::Recovered named = expertsOverTheRanksOfData("ep 0", "dp_cp 0");
    ASSERT_NE(named.axes.find("ep"), nullptr);
    const sim::RankTime time = sim::timesOf(named).ranks.front();
    EXPECT_EQ(time.exposedByAxis, (std::map<std::string, std::int64_t>{{"dp", 50}, {"ep", 130}}));
    const sim::Recovered unnamed = expertsOverTheRanksOfData("7", "8");
    EXPECT_EQ(sim::timesOf(unnamed).ranks.front().exposedByAxis, (std::map<std::string, std::int64_t>{{"dp", 80}, {"ep", 100}}));

    std::set<std::string> rows;
    const sim::Trace trace = pictureOf(named);
    for (const sim::Track& track : trace.tracks)
        for (const std::uint32_t kind : track.kind)
            rows.insert(track.name + ": " + sim::opClassName(trace.kinds[kind].opClass));
    EXPECT_THAT(rows, ElementsAre("dp comm: dp comm", "ep comm: ep comm")) << testing::PrintToString(rows);
}

TEST(GroupsOfUnknownUse, AreOfOneClassWhateverTheirCollectives)
{
    const sim::Recovered run =
        sim::recover(sim::readRecording({RANKSCOPE_TEST_DATA "/kineto/worker0_step_12.1694128201545.pt.trace.json.gz"}));
    ASSERT_EQ(sim::answersOf(run).findings.at(1).title, "38.3 % of the step waits for communication in groups of unknown use");
    std::set<std::string> groups, classes;
    for (const sim::SpanKind& kind : pictureOf(run).kinds)
        if (sim::isCommunication(kind.opClass)) {
            groups.insert(kind.group);
            classes.insert(sim::opClassName(kind.opClass));
        }
    EXPECT_THAT(groups, ElementsAre(std::string(sim::kUnknownUse)));
    EXPECT_EQ(classes.size(), 1U) << testing::PrintToString(classes);
}

TEST(StreamsOutOfTheHostsOrder, KeepThePassThatAskedForEachKernel)
{
    sim::RunEvidence evidence = oneRank({"0F0", "0F1", "copy", "kernel"});
    sim::RankEvidence& rank = evidence.ranks.front();
    rank.marks = {{.startNs = 0, .endNs = 100, .name = 0}, {.startNs = 100, .endNs = 200, .name = 1}};
    // A copy and a kernel of the second pass run on streams of their own, while kernels of the first still queue.
    rank.work = {{.startNs = 120, .endNs = 130, .name = 2, .stream = 2, .work = sim::DeviceWork::copy, .launchNs = 110},
                 {.startNs = 130, .endNs = 140, .name = 3, .stream = 3, .launchNs = 111},
                 {.startNs = 140, .endNs = 200, .name = 3, .stream = 1, .launchNs = 50},
                 {.startNs = 200, .endNs = 250, .name = 3, .stream = 1, .launchNs = 120},
                 {.startNs = 250, .endNs = 260, .name = 3, .stream = 1, .launchNs = 900}};
    EXPECT_THAT(spansOf(pictureOf(sim::recover(std::move(evidence))), sim::TrackRole::compute),
                ElementsAre("kernel 0 0", "kernel 0 1", "kernel -1 -1", "kernel 0 1"));
}

TEST(MarksWithoutAStage, AreTheActionsOfThePictureAsTheyAreOfTheSchedule)
{
    for (const auto& [forward, backward] :
         {std::pair("Forward 0", "Backward 0"), std::pair("megatron/schedules.py(1): forward_step", "a.py(2): backward_step"),
          std::pair("x.py(3): DeepSpeedEngine.forward", "backward_step")}) {
        sim::RunEvidence evidence = oneRank({forward, backward, "kernel"});
        sim::RankEvidence& rank = evidence.ranks.front();
        rank.marks = {{.startNs = 10, .endNs = 100, .name = 0}, {.startNs = 100, .endNs = 200, .name = 1}};
        rank.work = {{.startNs = 20, .endNs = 90, .name = 2}, {.startNs = 110, .endNs = 190, .name = 2}};
        const sim::Recovered recovered = sim::recover(std::move(evidence));
        ASSERT_TRUE(recovered.passes.any()) << forward;
        const sim::Trace trace = pictureOf(recovered);
        EXPECT_THAT(spansOf(trace, sim::TrackRole::actions), ElementsAre("0F 0 0", "0B 0 0")) << forward;
        EXPECT_THAT(spansOf(trace, sim::TrackRole::compute), ElementsAre("kernel 0 0", "kernel 0 0")) << forward;
    }
}

TEST(MarksThatAreCounted, AreCountedFromTheBeginOfTheirStep)
{
    sim::RunEvidence evidence = oneRank({"forward_step", "kernel"});
    sim::RankEvidence& rank = evidence.ranks.front();
    rank.steps.push_back({.number = 1, .startNs = 1000, .endNs = 2000});
    for (const std::int64_t at : {0, 100, 1000, 1100}) {
        rank.marks.push_back({.startNs = at, .endNs = at + 100, .name = 0});
        rank.work.push_back({.startNs = at + 10, .endNs = at + 90, .name = 1});
    }
    const sim::Recovered recovered = sim::recover(std::move(evidence));
    ASSERT_EQ(recovered.steps.steps.size(), 2U);
    EXPECT_THAT(spansOf(sim::stepTrace({}, recovered, {}, 1).trace, sim::TrackRole::actions), ElementsAre("0F 0 0", "0F 0 1"));
}

TEST(CollectivesOnOneStream, AreSortedHoweverManyOverlap)
{
    sim::RunEvidence evidence;
    evidence.worldSize = 2;
    evidence.names = {"c"};
    evidence.groups.push_back({.name = "tp 0", .description = "tp", .ranks = {0, 1}, .evidence = {}});
    constexpr int kMany = 12;
    for (int r = 0; r < 2; ++r) {
        sim::RankEvidence& rank = evidence.ranks.emplace_back();
        rank.rank = r;
        rank.steps.push_back({.number = 0, .startNs = 0, .endNs = 1'000'000});
        for (int i = 0; i < kMany; ++i) // rank 1 comes late to each
            rank.comms.push_back({.startNs = 1000 * (i + 1) + r * 200'000,
                                  .endNs = 500'000 + 10 * i,
                                  .exchange = sim::Exchange::allReduce,
                                  .group = 0,
                                  .sequence = i,
                                  .bytes = 8});
    }
    evidence.isOneClock = true;
    sim::Recovered recovered = sim::recover(std::move(evidence), {.corrections = {}, .grid = {}, .alignClocks = false});
    recovered.clock.isAligned = true;
    const sim::Arrivals arrivals = sim::arrivalsOf(recovered);
    ASSERT_EQ(arrivals.list.size(), static_cast<std::size_t>(kMany));
    const sim::Trace trace = sim::stepTrace({}, recovered, arrivals, 0).trace;
    std::size_t spans = 0;
    for (const sim::Track& track : trace.tracks) {
        EXPECT_TRUE(std::is_sorted(track.startNs.begin(), track.startNs.end())) << track.name;
        spans += track.size();
    }
    EXPECT_EQ(spans, 3U * kMany) << "a wait and a transfer of rank 0, a transfer of rank 1";
}

TEST(MemoryOfTheHost, IsNoneOfAGpusAndItsSpansCountToo)
{
    sim::RunEvidence evidence = oneRank({"kernel"});
    evidence.ranks.front().work = {{.startNs = 20, .endNs = 90, .name = 0}};
    const sim::Recovered recovered = sim::recover(std::move(evidence));
    sim::Recording recording;
    sim::RankRecording& rank = recording.ranks.emplace_back();
    rank.rank = 0;
    for (const char* name : {"memory of device 0", "host memory"})
        rank.counters.push_back({.name = name, .unit = "bytes", .timeNs = {10, 20}, .value = {1e9, 2e9}});
    sim::RecordedTrack thread;
    thread.name = "thread 1";
    thread.isDevice = false;
    thread.last = 30;
    rank.tracks.push_back(thread);
    for (int i = 0; i < 30; ++i) {
        rank.spans.startNs.push_back(30 + i);
        rank.spans.durationNs.push_back(1);
        rank.spans.name.push_back(recording.names.add("aten::add"));
        rank.spans.kind.push_back(sim::RecordedKind::other);
    }
    std::vector<std::string> counters;
    for (const sim::Counter& counter : pictureOf(recovered, recording).counters)
        counters.push_back(counter.name);
    EXPECT_THAT(counters, ElementsAre("memory of device 0"));

    EXPECT_NO_THROW(pictureOf(recovered, recording, {.mostSpans = 10}));
    try {
        pictureOf(recovered, recording, {.hostThreads = true, .mostSpans = 10});
        FAIL();
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("31 kernels, collectives and spans of the host"));
    }
}

} // namespace
