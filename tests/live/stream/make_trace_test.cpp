#include "live/stream/make_trace.h"
#include "run_for_tests.h"
#include "sim/trace/export.h"
#include "tests/sim/trace/read_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

namespace {

using live::RankSpan;
using live::SpanTrack;
using testing::ElementsAre;

/// Ranks 0 and 1 (tp) meet in an all-reduce; rank 0 sends to rank 2, which posted its receive early. Starts at 10,000 ns.
std::vector<RankSpan> oneStep(const test::SmallKinds& kinds, std::int64_t originNs = 10'000, int step = 0)
{
    std::vector<RankSpan> spans;
    for (const int rank : {0, 1}) {
        spans.push_back({rank, test::computeSpan(kinds, 0, rank == 0 ? 3000 : 9000, step)});
        spans.push_back({rank, test::commSpan(SpanTrack::tp, kinds.allReduce, rank == 0 ? 3000 : 9000, 9100, 10'000, 7, step)});
    }
    spans.push_back({0, test::commSpan(SpanTrack::sendForward, kinds.send, 10'000, 10'100, 11'000, 8, step)});
    live::SpanRecord action = test::computeSpan(kinds, 0, 3000, step);
    action.track = SpanTrack::actions;
    action.kind = kinds.forwardAction;
    spans.push_back({0, action});
    spans.push_back({2, test::commSpan(SpanTrack::receive, kinds.receive, 500, 10'100, 11'000, 8, step)});
    for (RankSpan& span : spans)
        for (std::int64_t* time : {&span.span.startNs, &span.span.endNs, &span.span.readyNs})
            *time += originNs;
    return spans;
}

std::vector<std::string> trackNames(const sim::Trace& trace)
{
    std::vector<std::string> names;
    for (const sim::Track& track : trace.tracks)
        names.push_back(std::to_string(track.process) + " " + track.name);
    return names;
}

TEST(LiveTrace, KernelsTimedByThemselvesHaveARowThatCountsForNothing)
{
    const test::SmallKinds kinds;
    std::vector<RankSpan> spans = oneStep(kinds);
    live::SpanRecord kernel = test::computeSpan(kinds, 10'500, 11'500);
    kernel.track = SpanTrack::gpuKernels;
    spans.push_back({0, kernel});
    const sim::Trace trace = live::makeTrace(test::smallRun(), kinds.all.from(), spans, {});
    const auto row = std::find_if(trace.tracks.begin(), trace.tracks.end(),
                                  [](const sim::Track& track) { return track.name == "GPU kernels"; });
    ASSERT_NE(row, trace.tracks.end());
    EXPECT_EQ(row->role, sim::TrackRole::other);
    EXPECT_EQ(row->size(), 1U);
}

TEST(LiveTrace, HasTheSimulatorsShape)
{
    const test::SmallKinds kinds;
    const sim::Trace trace = live::makeTrace(test::smallRun(), kinds.all.from(), oneStep(kinds),
                                             std::vector<live::RankMemory>{{1, {9'000, 5}}, {1, {10'200, 6}}});
    EXPECT_EQ(trace.title, "small run");
    ASSERT_EQ(trace.processes.size(), 4U);
    EXPECT_EQ(trace.processes[3].name, "rank 3 (dp0 pp1 cp0 tp1)");
    EXPECT_THAT(trackNames(trace),
                ElementsAre("0 actions", "0 compute", "0 tp comm", "0 send activations", "1 compute", "1 tp comm", "2 receive"));
    EXPECT_EQ(trace.endNs, 11'000);
    EXPECT_EQ(trace.tracks[1].role, sim::TrackRole::compute);
    EXPECT_THAT(trace.tracks[1].startNs, ElementsAre(0));

    // Rank 0 waited 6.1 us for rank 1, then moved bytes for 0.9; rank 1's 0.1 us is the cost of looking.
    const sim::Track& early = trace.tracks[2];
    EXPECT_THAT(early.startNs, ElementsAre(3000, 9100));
    EXPECT_THAT(early.durationNs, ElementsAre(6100, 900));
    EXPECT_EQ(trace.kinds[early.kind[0]].name, "wait tp");
    EXPECT_EQ(trace.kinds[early.kind[0]].opClass, sim::OpClass::other);
    EXPECT_EQ(trace.kinds[early.kind[1]].opClass, sim::OpClass::tpComm);
    const sim::Track& late = trace.tracks[5];
    EXPECT_THAT(late.startNs, ElementsAre(9000));
    EXPECT_THAT(late.durationNs, ElementsAre(1000));
    EXPECT_EQ(early.correlation[0], 0U);
    EXPECT_EQ(early.correlation[1], late.correlation[0]);
    EXPECT_NE(late.correlation[0], 0U);

    ASSERT_EQ(trace.flows.size(), 1U);
    EXPECT_EQ(trace.flows[0].fromTrack, 3U);
    EXPECT_EQ(trace.flows[0].fromSpan, 0U);
    EXPECT_EQ(trace.flows[0].toTrack, 6U);
    EXPECT_EQ(trace.flows[0].toSpan, 1U) << "the transfer, not the wait before it";
    EXPECT_THAT(trace.counters[1].timeNs, ElementsAre(0, 200));
    EXPECT_THAT(trace.counters[1].value, ElementsAre(5, 6));
}

TEST(LiveTrace, PerfettoReadsItBack)
{
    const test::SmallKinds kinds;
    const sim::Trace trace = live::makeTrace(test::smallRun(), kinds.all.from(), oneStep(kinds));
    std::string name = (std::filesystem::temp_directory_path() / "rankscope_trace_XXXXXX").string();
    const std::filesystem::path folder = ::mkdtemp(name.data());
    sim::saveTrace(trace, folder / "run.pftrace");
    std::ifstream file(folder / "run.pftrace", std::ios::binary);
    const test::ReadTrace read = test::readPerfetto({std::istreambuf_iterator<char>(file), {}});
    EXPECT_EQ(read.processes.size(), 4U);
    EXPECT_EQ(read.spans.size(), trace.spanCount());
    ASSERT_EQ(read.flows.size(), 1U);
    EXPECT_EQ(read.flows[0].first.name, "send");
    EXPECT_EQ(read.flows[0].second.process, "rank 2 (dp0 pp1 cp0 tp0)");
    EXPECT_EQ(std::count_if(read.spans.begin(), read.spans.end(), [](const auto& span) { return span.name == "wait tp"; }), 1);
    EXPECT_EQ(std::count_if(read.spans.begin(), read.spans.end(), [](const auto& span) { return span.correlation != 0; }), 2);
    std::filesystem::remove_all(folder);
}

/// All of a trace that does not depend on the order in which kinds or flows came.
std::vector<std::string> contents(const sim::Trace& trace)
{
    const auto span = [&](std::uint32_t track, std::size_t i) {
        const sim::Track& t = trace.tracks[track];
        return trace.processes[static_cast<std::size_t>(t.process)].name + " " + t.name + " " + std::to_string(t.startNs[i]) +
               " " + std::to_string(t.durationNs[i]) + " " + trace.kinds[t.kind[i]].name +
               (t.correlation.empty() ? "" : " " + std::to_string(t.correlation[i]));
    };
    std::vector<std::string> all;
    for (std::uint32_t track = 0; track < trace.tracks.size(); ++track)
        for (std::size_t i = 0; i < trace.tracks[track].size(); ++i)
            all.push_back(span(track, i));
    for (const sim::Flow& flow : trace.flows)
        all.push_back(span(flow.fromTrack, flow.fromSpan) + " -> " + span(flow.toTrack, flow.toSpan));
    std::sort(all.begin(), all.end());
    return all;
}

TEST(LiveTrace, IsTheSameHoweverSpansArrive)
{
    const test::SmallKinds kinds;
    const std::vector<sim::SpanKind> names = kinds.all.from();
    std::vector<RankSpan> spans;
    for (int step = 0; step < 20; ++step)
        for (const RankSpan& span : oneStep(kinds, 10'000 + 12'000 * step, step))
            spans.push_back(span);
    const sim::Trace ordered = live::makeTrace(test::smallRun(), names, spans);
    EXPECT_EQ(ordered.flows.size(), 20U);
    std::mt19937 random(3);
    for (int trial = 0; trial < 10; ++trial) {
        std::shuffle(spans.begin(), spans.end(), random);
        const sim::Trace shuffled = live::makeTrace(test::smallRun(), names, spans);
        ASSERT_EQ(contents(shuffled), contents(ordered));
        for (const sim::Track& track : shuffled.tracks)
            ASSERT_TRUE(std::is_sorted(track.startNs.begin(), track.startNs.end()));
    }
}

TEST(LiveTrace, StepsOfAHistoryCanBePicked)
{
    test::Run run;
    run.train(0, 10);
    const live::RunHistory history = run.collector->history();
    EXPECT_EQ(live::makeTrace(history).spanCount(), 40U);
    const sim::Trace some = live::makeTrace(history, {3, 4});
    EXPECT_EQ(some.spanCount(), 8U);
    EXPECT_EQ(some.tracks[0].startNs[0], 0) << "times count from the first span";
    EXPECT_EQ(some.endNs, 1500);
}

TEST(LiveTrace, SpansInNoOrderCostLittleMoreThanThoseInOrder)
{
    // 300,000 in falling order: each moved past all before it would be 45 thousand million moves.
    const test::SmallKinds kinds;
    std::vector<live::RankSpan> spans;
    constexpr int kCount = 300'000;
    for (int i = 0; i < kCount; ++i) {
        const std::int64_t start = 100'000'000 - 10 * i;
        spans.push_back({0, test::commSpan(live::SpanTrack::tp, kinds.allReduce, start, start + 5000, start + 6000, 0)});
    }
    const sim::Trace trace = live::makeTrace(test::smallRun(), kinds.all.from(), spans);
    const sim::Track& track = trace.tracks.at(0);
    EXPECT_EQ(track.size(), 2U * kCount); // waits and transfers
    EXPECT_TRUE(std::is_sorted(track.startNs.begin(), track.startNs.end()));
}

TEST(LiveTrace, CorrelationsOfStepsDiffer)
{
    live::SpanRecord a, b;
    a.correlation = b.correlation = 5;
    b.step = 1;
    EXPECT_NE(live::correlationInTrace(a), live::correlationInTrace(b));
    b.correlation = 0;
    EXPECT_EQ(live::correlationInTrace(b), 0U);
}

} // namespace
