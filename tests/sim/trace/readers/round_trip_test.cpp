// What Rankscope writes, it reads again.
#include "sim/error.h"
#include "sim/trace/export.h"
#include "sim/trace/readers/read_recording.h"
#include "sim/trace/recorded_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

namespace {

using sim::OpClass;
using sim::Trace;

/// Ranks with every sort of thing that a trace holds.
Trace everything(unsigned seed)
{
    std::mt19937 random(seed);
    Trace trace;
    trace.title = "all";
    trace.slices = 1 + static_cast<int>(seed % 3);
    for (int c = 0; c < sim::kOpClassCount; ++c) {
        sim::SpanKind kind{.name = std::string("op \"") + sim::opClassName(static_cast<OpClass>(c)) + "\" \xC3\xA9\n",
                           .opClass = static_cast<OpClass>(c)};
        kind.stage = c % 4 - 1;
        kind.layer = c % 5 - 1;
        if (sim::isCommunication(kind.opClass)) {
            kind.group = "group " + std::to_string(c);
            kind.bytes = 1000 + c;
        } else {
            kind.flops = 1.0 / (3 + c);
        }
        trace.kinds.push_back(kind);
    }
    for (int rank = 0; rank < 3; ++rank) {
        trace.processes.push_back(
            {.rank = rank * 8, .multiplicity = rank + 1, .name = "rank " + std::to_string(rank * 8) + " (dp0)"});
        for (const auto& [name, role] :
             {std::pair{"actions", sim::TrackRole::actions}, std::pair{"compute", sim::TrackRole::compute},
              std::pair{"tp comm", sim::TrackRole::communication}}) {
            sim::Track track{.process = rank, .name = name, .role = role};
            std::int64_t now = static_cast<std::int64_t>(random() % 100);
            for (int i = 0; i < 40; ++i) {
                const bool isComm = role == sim::TrackRole::communication;
                track.startNs.push_back(now);
                track.durationNs.push_back(
                    static_cast<std::int64_t>(random() % 5000)); // some overlap the next, some last nothing
                track.kind.push_back(isComm
                                         ? static_cast<std::uint32_t>(OpClass::tpComm) + static_cast<std::uint32_t>(random() % 5)
                                         : static_cast<std::uint32_t>(random() % 6));
                track.microbatch.push_back(static_cast<std::int32_t>(random() % 10) - 1);
                if (isComm)
                    track.correlation.push_back(1 + random() % 50);
                now += 1 + static_cast<std::int64_t>(random() % 4000);
                trace.endNs = std::max(trace.endNs, track.startNs.back() + track.durationNs.back());
            }
            trace.tracks.push_back(std::move(track));
        }
        trace.counters.push_back({rank, "memory", "bytes", {0, 10, 20}, {5, 1'000'000'007, 3}});
    }
    trace.flows = {{2, 3, 5, 39}, {5, 1, 8, 30}};
    return trace;
}

using Span = std::tuple<int, std::string, std::int64_t, std::int64_t, std::string, OpClass, int, int, std::string, std::int64_t,
                        double, std::int32_t, std::uint64_t>;

Span spanOf(const Trace& trace, std::size_t index, std::size_t span)
{
    const sim::Track& track = trace.tracks[index];
    const sim::SpanKind& kind = trace.kinds[track.kind[span]];
    return {trace.processes[static_cast<std::size_t>(track.process)].rank,
            track.name,
            track.startNs[span],
            track.durationNs[span],
            kind.name,
            kind.opClass,
            kind.stage,
            kind.layer,
            kind.group,
            kind.bytes,
            kind.flops,
            track.microbatch[span],
            track.correlation.empty() ? 0 : track.correlation[span]};
}

std::multiset<Span> spansOf(const Trace& trace)
{
    std::multiset<Span> spans;
    for (std::size_t track = 0; track < trace.tracks.size(); ++track)
        for (std::size_t span = 0; span < trace.tracks[track].size(); ++span)
            spans.insert(spanOf(trace, track, span));
    return spans;
}

std::multiset<std::pair<Span, Span>> flowsOf(const Trace& trace)
{
    std::multiset<std::pair<Span, Span>> flows;
    for (const sim::Flow& flow : trace.flows)
        flows.emplace(spanOf(trace, flow.fromTrack, flow.fromSpan), spanOf(trace, flow.toTrack, flow.toSpan));
    return flows;
}

sim::Recording written(const Trace& trace, bool isPerfetto)
{
    std::ostringstream out;
    if (isPerfetto)
        sim::writePerfetto(trace, out);
    else
        sim::writeChromeJson(trace, out);
    const std::string bytes = out.str();
    return sim::readRecording(bytes.data(), bytes.size(), isPerfetto ? "a.pftrace" : "a.json");
}

class RoundTrip : public testing::TestWithParam<bool> {};

TEST_P(RoundTrip, GivesBackEverySpanFlowAndCounter)
{
    for (unsigned seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        Trace trace = everything(seed);
        bool hasSlices = false; // without one that is not 0, nothing says that there are any
        for (const sim::Track& track : trace.tracks)
            for (const std::int32_t microbatch : track.microbatch)
                hasSlices = hasSlices || (microbatch >= 0 && microbatch % trace.slices == trace.slices - 1);
        ASSERT_TRUE(hasSlices);
        const sim::Recording recording = written(trace, GetParam());
        EXPECT_THAT(recording.problems, testing::IsEmpty());
        EXPECT_EQ(recording.files[0].format, "Rankscope");
        const Trace again = sim::recordedTrace(recording);
        EXPECT_EQ(spansOf(again), spansOf(trace));
        EXPECT_EQ(again.slices, trace.slices);
        EXPECT_EQ(again.endNs, trace.endNs);
        ASSERT_EQ(again.processes.size(), trace.processes.size());
        for (std::size_t p = 0; p < again.processes.size(); ++p)
            EXPECT_EQ(again.processes[p].multiplicity, trace.processes[p].multiplicity);
        ASSERT_EQ(again.counters.size(), trace.counters.size());
        EXPECT_EQ(again.counters[1].value, trace.counters[1].value);
        EXPECT_EQ(again.counters[1].timeNs, trace.counters[1].timeNs);
        EXPECT_EQ(again.counters[1].unit, "bytes");
        if (GetParam())
            EXPECT_EQ(flowsOf(again), flowsOf(trace));
        else // ends are bound by time there: of spans that run at once the later
            EXPECT_EQ(again.flows.size(), trace.flows.size());
    }
}

TEST_P(RoundTrip, KeepsWhoMetWhomInCollectives)
{
    const Trace trace = everything(1);
    const sim::Recording recording = written(trace, GetParam());
    for (std::size_t rank = 0; rank < 3; ++rank) {
        std::multiset<std::uint64_t> meetings, expected;
        for (const sim::RecordedCollective& collective : recording.ranks[rank].collectives) {
            meetings.insert(collective.meeting);
            EXPECT_GT(collective.bytes, 0);
            EXPECT_GE(collective.group, 0);
        }
        const sim::Track& track = trace.tracks[rank * 3 + 2];
        expected.insert(track.correlation.begin(), track.correlation.end());
        EXPECT_EQ(meetings, expected);
        EXPECT_EQ(recording.ranks[rank].rankEvidence, "process name");
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip, testing::Values(false, true),
                         [](const auto& param) { return param.param ? "Perfetto" : "Chrome"; });

TEST(PerfettoReader, ATraceThatEndsAnywhereKeepsWhatWasBefore)
{
    std::ostringstream out;
    sim::writePerfetto(everything(1), out);
    const std::string bytes = out.str();
    std::size_t before = 0;
    for (std::size_t size = 2500; size < bytes.size(); size += 97) {
        const sim::Recording recording = sim::readRecording(bytes.data(), size, "a.pftrace");
        EXPECT_GE(recording.events(), before);
        before = recording.events();
    }
    EXPECT_GT(before, 400U);
}

TEST(PerfettoReader, OfATraceThatEndsBeforeItsFirstTrackTheByteIsTold)
{
    std::ostringstream out;
    sim::writePerfetto(everything(1), out);
    try {
        sim::readRecording(out.str().data(), 300, "a.pftrace");
        ADD_FAILURE() << "nothing of it is left";
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(),
                    testing::HasSubstr("the trace ends in the middle of a packet, at byte 300, and nothing before"));
    }
}

TEST(PerfettoReader, NoBytesChangedAnywhereBreakIt)
{
    std::ostringstream out;
    sim::writePerfetto(everything(2), out);
    std::mt19937 random(2);
    for (int round = 0; round < 300; ++round) {
        std::string bytes = out.str();
        for (int change = 0; change < 4; ++change)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        try {
            sim::recordedTrace(sim::readRecording(bytes.data(), bytes.size(), "a.pftrace", {.windowBytes = 64}));
        } catch (const sim::Error&) { // no trace any more
        }
    }
}

} // namespace
