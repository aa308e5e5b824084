#include "sim/trace/export.h"

#include "sim/error.h"
#include "tests/sim/trace/read_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/resource.h>

std::ostream& test::operator<<(std::ostream& out, const ReadSpan& span)
{
    out << span.process << " / " << span.thread << ": " << span.name << " (" << span.category << ") at " << span.startNs
        << " for " << span.durationNs << " ns, correlation " << span.correlation;
    for (const auto& [name, value] : span.arguments)
        out << ", " << name << " " << value;
    return out;
}

namespace {

using sim::Trace;
using test::ReadSpan;
using test::ReadTrace;
using testing::HasSubstr;

struct Format {
    const char* name;
    void (*write)(const Trace&, std::ostream&);
    ReadTrace (*read)(const std::string&);
};
std::ostream& operator<<(std::ostream& out, const Format& format)
{
    return out << format.name;
}

std::string written(const Format& format, const Trace& trace)
{
    std::ostringstream out;
    format.write(trace, out);
    return out.str();
}

class TraceFile : public testing::TestWithParam<Format> {
protected:
    static ReadTrace roundTrip(const Trace& trace) { return GetParam().read(written(GetParam(), trace)); }
};
INSTANTIATE_TEST_SUITE_P(Both, TraceFile,
                         testing::Values(Format{"Perfetto", sim::writePerfetto, test::readPerfetto},
                                         Format{"ChromeJson", sim::writeChromeJson, test::readChromeJson}),
                         [](const auto& format) { return std::string(format.param.name); });

void add(sim::Track& track, std::int64_t start, std::int64_t duration, std::uint32_t kind = 0, std::int32_t microbatch = -1)
{
    track.startNs.push_back(start);
    track.durationNs.push_back(duration);
    track.kind.push_back(kind);
    track.microbatch.push_back(microbatch);
}

/// Two ranks; the second's backward sends its gradient to the first, which starts to receive when the send starts.
Trace twoRanks()
{
    Trace trace;
    trace.title = "two ranks";
    trace.processes = {{.rank = 0, .multiplicity = 4, .name = "rank 0 (dp0 pp0)"}, {.rank = 4, .name = "rank 4 (dp0 pp1)"}};
    trace.kinds = {{.name = "qkv", .opClass = sim::OpClass::forward, .stage = 0, .layer = 3, .flops = 1.5e9},
                   {.name = "all-reduce", .opClass = sim::OpClass::tpComm, .group = "tp", .bytes = 1 << 20},
                   {.name = "send", .opClass = sim::OpClass::ppComm, .group = "pp", .bytes = 4096},
                   {.name = "receive", .opClass = sim::OpClass::ppComm, .group = "pp", .bytes = 4096}};
    for (int process = 0; process < 2; ++process) {
        sim::Track compute{.process = process, .name = "compute", .role = sim::TrackRole::compute};
        add(compute, 0, 1'234'567, 0, process);
        sim::Track tp{.process = process, .name = "tp", .role = sim::TrackRole::communication};
        add(tp, 100, 50, 1, process);
        tp.correlation = {(1ULL << 32U) | 1U};
        sim::Track pipe{.process = process, .name = process == 0 ? "receive" : "send", .role = sim::TrackRole::communication};
        add(pipe, 2'000'000, 500, process == 0 ? 3 : 2, 7);
        for (sim::Track* track : {&compute, &tp, &pipe})
            trace.tracks.push_back(std::move(*track));
        trace.counters.push_back(
            {.process = process, .name = "memory", .unit = "bytes", .timeNs = {0, 10, 10}, .value = {1000, 1LL << 40, 0}});
    }
    trace.flows = {{.fromTrack = 5, .fromSpan = 0, .toTrack = 2, .toSpan = 0}};
    trace.endNs = 2'000'500;
    return trace;
}

/// What a viewer must show of a span; the row aside.
ReadSpan expected(const Trace& trace, std::size_t trackIndex, std::size_t span)
{
    const sim::Track& track = trace.tracks[trackIndex];
    const sim::SpanKind& kind = trace.kinds[track.kind[span]];
    ReadSpan out{trace.processes[static_cast<std::size_t>(track.process)].name,
                 track.name,
                 kind.name,
                 sim::opClassName(kind.opClass),
                 track.startNs[span],
                 track.durationNs[span],
                 {},
                 track.correlation.empty() ? 0 : track.correlation[span]};
    if (track.microbatch[span] >= 0)
        out.arguments["micro-batch"] = std::to_string(track.microbatch[span]);
    if (kind.stage >= 0)
        out.arguments["stage"] = std::to_string(kind.stage);
    if (kind.layer >= 0)
        out.arguments["layer"] = std::to_string(kind.layer);
    if (!kind.group.empty())
        out.arguments["group"] = kind.group;
    if (kind.bytes > 0)
        out.arguments["bytes"] = std::to_string(kind.bytes);
    if (kind.flops > 0)
        out.arguments["flops"] = std::to_string(kind.flops);
    return out;
}

ReadSpan withoutRow(ReadSpan span)
{
    span.thread = span.thread.substr(0, span.thread.find(" ("));
    return span;
}

/// Everything of the trace is in the file and nothing else.
void expectSame(const Trace& trace, const ReadTrace& read)
{
    std::vector<ReadSpan> want, got;
    for (std::size_t t = 0; t < trace.tracks.size(); ++t)
        for (std::size_t s = 0; s < trace.tracks[t].size(); ++s)
            want.push_back(expected(trace, t, s));
    for (const ReadSpan& span : read.spans)
        got.push_back(withoutRow(span));
    std::sort(want.begin(), want.end());
    std::sort(got.begin(), got.end());
    ASSERT_EQ(want.size(), got.size());
    for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(want[i], got[i]);

    std::vector<std::pair<ReadSpan, ReadSpan>> wantFlows, gotFlows;
    for (const sim::Flow& flow : trace.flows)
        wantFlows.emplace_back(expected(trace, flow.fromTrack, flow.fromSpan), expected(trace, flow.toTrack, flow.toSpan));
    for (const auto& [from, to] : read.flows)
        gotFlows.emplace_back(withoutRow(from), withoutRow(to));
    std::sort(wantFlows.begin(), wantFlows.end());
    std::sort(gotFlows.begin(), gotFlows.end());
    EXPECT_EQ(wantFlows, gotFlows);

    EXPECT_EQ(read.counters.size(), trace.counters.size());
    for (const sim::Counter& counter : trace.counters) {
        const std::string process = trace.processes[static_cast<std::size_t>(counter.process)].name;
        ASSERT_TRUE(read.counters.contains({process, counter.name}));
        const test::ReadCounter& points = read.counters.at({process, counter.name});
        EXPECT_EQ(points.unit, counter.unit);
        ASSERT_EQ(points.points.size(), counter.timeNs.size());
        for (std::size_t i = 0; i < counter.timeNs.size(); ++i)
            EXPECT_EQ(points.points[i], std::pair(counter.timeNs[i], counter.value[i]));
    }
    ASSERT_EQ(read.processes.size(), trace.processes.size());
    for (std::size_t p = 0; p < trace.processes.size(); ++p)
        EXPECT_EQ(read.processes[p], trace.processes[p].name);
}

/// Tracks whose spans follow each other, nest or overlap; flows forward in time; everything optional sometimes absent.
Trace randomTrace(std::mt19937& random)
{
    const auto below = [&random](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    Trace trace;
    trace.title = "random";
    for (std::uint32_t k = 0; k < 1 + below(8); ++k)
        trace.kinds.push_back({.name = "kind " + std::to_string(k),
                               .opClass = static_cast<sim::OpClass>(below(sim::kOpClassCount)),
                               .stage = static_cast<int>(below(4)) - 1,
                               .layer = static_cast<int>(below(9)) - 1,
                               .group = below(2) == 0 ? "" : std::vector<std::string>{"tp", "dp", "pp"}[below(3)],
                               .bytes = below(3) == 0 ? 0 : below(1U << 30U),
                               .flops = below(3) == 0 ? 0.0 : below(1000) * 0.5});
    const auto kinds = static_cast<std::uint32_t>(trace.kinds.size());
    const std::uint32_t processes = below(5);
    for (std::uint32_t p = 0; p < processes; ++p) {
        trace.processes.push_back({.rank = static_cast<int>(p * 3), .name = "rank " + std::to_string(p * 3)});
        for (std::uint32_t t = 0; t < below(4); ++t) {
            sim::Track track{.process = static_cast<int>(p), .name = "track " + std::to_string(t)};
            const std::uint32_t style = below(3); // 0: one after the other; 1: starts close together; 2: many at one instant
            std::int64_t now = below(1'000'000'000);
            for (std::uint32_t s = below(40); s > 0; --s) {
                const std::int64_t duration = below(4) == 0 ? 0 : below(2000);
                add(track, now, duration, below(kinds), static_cast<std::int32_t>(below(5)) - 1);
                now += style == 0 ? duration + below(3) * below(1000) : style == 1 ? below(900) : below(2) * below(500);
            }
            if (below(2) == 0)
                for (std::size_t s = 0; s < track.size(); ++s)
                    track.correlation.push_back(below(3) == 0 ? 0 : (1ULL << 40U) + below(10));
            trace.tracks.push_back(std::move(track));
        }
        if (below(3) != 0) {
            sim::Counter counter{.process = static_cast<int>(p), .name = "memory", .unit = below(2) == 0 ? "bytes" : "tokens"};
            for (std::uint32_t i = below(10); i > 0; --i) {
                counter.timeNs.push_back((counter.timeNs.empty() ? 0 : counter.timeNs.back()) + below(100));
                counter.value.push_back(static_cast<std::int64_t>(below(1U << 31U)) * 1000);
            }
            if (!counter.timeNs.empty())
                trace.counters.push_back(std::move(counter));
        }
    }
    const auto tracks = static_cast<std::uint32_t>(trace.tracks.size());
    for (std::uint32_t attempts = tracks == 0 ? 0 : below(30); attempts > 0; --attempts) {
        const sim::Flow flow{.fromTrack = below(tracks), .fromSpan = below(40), .toTrack = below(tracks), .toSpan = below(40)};
        const sim::Track& from = trace.tracks[flow.fromTrack];
        const sim::Track& to = trace.tracks[flow.toTrack];
        // Where several spans of a row begin at one instant a Chrome flow cannot name one of them.
        const auto alone = [](const sim::Track& track, std::uint32_t span) {
            return span < track.size() && std::count(track.startNs.begin(), track.startNs.end(), track.startNs[span]) == 1;
        };
        if (alone(from, flow.fromSpan) && alone(to, flow.toSpan) && from.startNs[flow.fromSpan] < to.startNs[flow.toSpan])
            trace.flows.push_back(flow);
    }
    return trace;
}

TEST_P(TraceFile, HoldsEverySpanFlowAndCounter)
{
    const Trace trace = twoRanks();
    const ReadTrace read = roundTrip(trace);
    expectSame(trace, read);
    ASSERT_EQ(read.flows.size(), 1U) << "the receive starts with the send, on a process that comes first";
    EXPECT_EQ(read.flows[0].first.thread, "send");
    EXPECT_EQ(read.flows[0].second.thread, "receive");
}

TEST_P(TraceFile, HoldsAnyTrace)
{
    std::mt19937 random(20240607);
    std::size_t flows = 0, rows = 0;
    for (int i = 0; i < 200; ++i) {
        const Trace trace = randomTrace(random);
        const ReadTrace read = roundTrip(trace);
        expectSame(trace, read);
        if (HasFatalFailure())
            return;
        flows += read.flows.size();
        for (const auto& [process, thread] : read.threads)
            rows += thread.ends_with(" (2)") ? 1U : 0U;
    }
    EXPECT_GT(flows, 100U);
    EXPECT_GT(rows, 20U) << "some spans overlap without nesting";
}

TEST_P(TraceFile, IsTheSameEachTime)
{
    std::mt19937 random(5);
    for (int i = 0; i < 10; ++i) {
        const Trace trace = randomTrace(random);
        EXPECT_EQ(written(GetParam(), trace), written(GetParam(), trace));
    }
}

TEST_P(TraceFile, OfNothingIsStillAFile)
{
    const ReadTrace read = roundTrip({});
    EXPECT_TRUE(read.spans.empty());
    EXPECT_TRUE(read.processes.empty());
}

TEST_P(TraceFile, KeepsNanosecondsOfALongRun)
{
    Trace trace = twoRanks();
    trace.flows.clear();
    add(trace.tracks[0], 3'600'000'000'123, 1, 0); // an hour
    expectSame(trace, roundTrip(trace));
}

TEST_P(TraceFile, KeepsStrangeNames)
{
    for (const std::string name : {"quote \" backslash \\ slash /", "tab\tline\nreturn\r", "\x01\x1f", "Größe → 梯度 🚀", ""}) {
        Trace trace = twoRanks();
        trace.kinds[0].name = name;
        trace.title = name;
        trace.processes[1].name = name;
        trace.tracks[1].name = "x" + name;
        trace.counters[0].name = name;
        expectSame(trace, roundTrip(trace));
    }
}

TEST_P(TraceFile, ShowsTracksInTheTracesOrder)
{
    const ReadTrace read = roundTrip(twoRanks());
    const std::vector<std::pair<std::string, std::string>> order{{"rank 0 (dp0 pp0)", "compute"}, {"rank 0 (dp0 pp0)", "tp"},
                                                                 {"rank 0 (dp0 pp0)", "receive"}, {"rank 4 (dp0 pp1)", "compute"},
                                                                 {"rank 4 (dp0 pp1)", "tp"},      {"rank 4 (dp0 pp1)", "send"}};
    EXPECT_EQ(read.threads, order);
}

TEST_P(TraceFile, TellsHowManyRanksAProcessStandsFor)
{
    const ReadTrace read = roundTrip(twoRanks());
    ASSERT_EQ(read.multiplicity.size(), 1U);
    EXPECT_THAT(read.multiplicity.at("rank 0 (dp0 pp0)"), HasSubstr("4 ranks"));
}

TEST_P(TraceFile, GivesMembersOfACollectiveOneCorrelation)
{
    const ReadTrace read = roundTrip(twoRanks());
    std::vector<std::uint64_t> ids;
    for (const ReadSpan& span : read.spans)
        if (span.name == "all-reduce")
            ids.push_back(span.correlation);
        else
            EXPECT_EQ(span.correlation, 0U);
    EXPECT_EQ(ids, std::vector<std::uint64_t>(2, (1ULL << 32U) | 1U));
}

TEST_P(TraceFile, DealsSpansThatOverlapToFurtherRows)
{
    Trace trace;
    trace.processes = {{.name = "rank 0"}};
    trace.kinds = {{.name = "outer"}, {.name = "inner"}, {.name = "crossing"}};
    trace.tracks = {{.process = 0, .name = "compute"}};
    add(trace.tracks[0], 0, 100, 0);
    add(trace.tracks[0], 10, 20, 1);
    add(trace.tracks[0], 50, 100, 2);
    add(trace.tracks[0], 150, 10, 0);
    const ReadTrace read = roundTrip(trace);
    expectSame(trace, read);
    std::map<std::string, int> count;
    for (const ReadSpan& span : read.spans)
        ++count[span.thread + ": " + span.name];
    EXPECT_EQ(count, (std::map<std::string, int>{{"compute: outer", 2}, {"compute: inner", 1}, {"compute (2): crossing", 1}}));
}

TEST(PerfettoFile, TakesFewBytesASpan)
{
    Trace trace = twoRanks();
    trace.flows.clear();
    trace.kinds[0] = {.name = "a name that is written once however often it is used", .opClass = sim::OpClass::forward};
    std::ostringstream few, many;
    sim::writePerfetto(trace, few);
    for (int i = 0; i < 10'000; ++i)
        add(trace.tracks[0], 10'000'000 + i * 1000, 900);
    sim::writePerfetto(trace, many);
    EXPECT_LT(static_cast<double>(many.str().size() - few.str().size()) / 10'000, 50);
}

TEST(ChromeJsonFile, WritesMicrosecondsWithThreeDecimals)
{
    std::ostringstream out;
    sim::writeChromeJson(twoRanks(), out);
    EXPECT_THAT(out.str(), HasSubstr("\"ts\":0.100,\"dur\":0.050"));
    EXPECT_THAT(out.str(), HasSubstr("\"ts\":0.000,\"dur\":1234.567"));
}

class SaveTrace : public testing::Test {
protected:
    SaveTrace() { std::filesystem::create_directories(m_folder); }
    ~SaveTrace() override { std::filesystem::remove_all(m_folder); }
    SaveTrace(const SaveTrace&) = delete;
    SaveTrace& operator=(const SaveTrace&) = delete;

    static std::string content(const std::filesystem::path& path)
    {
        std::ifstream file(path, std::ios::binary);
        std::ostringstream out;
        out << file.rdbuf();
        return out.str();
    }
    std::size_t files() const
    {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(m_folder), std::filesystem::directory_iterator{}));
    }
    static std::string message(const std::filesystem::path& path)
    {
        try {
            sim::saveTrace(twoRanks(), path);
        } catch (const sim::Error& error) {
            return error.what();
        }
        return "saved";
    }

    const std::filesystem::path m_folder =
        std::filesystem::path(testing::TempDir()) /
        ("save_trace_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(SaveTrace, ChoosesTheFormatByTheEnding)
{
    sim::saveTrace(twoRanks(), m_folder / "a.json");
    sim::saveTrace(twoRanks(), m_folder / "a.pftrace");
    expectSame(twoRanks(), test::readChromeJson(content(m_folder / "a.json")));
    expectSame(twoRanks(), test::readPerfetto(content(m_folder / "a.pftrace")));
    EXPECT_EQ(files(), 2U) << "no temporary file stays";
}

TEST_F(SaveTrace, RefusesOtherEndings)
{
    for (const char* name : {"a.txt", "a", "a.json.gz"})
        EXPECT_THAT(message(m_folder / name), HasSubstr(".pftrace")) << name;
    EXPECT_EQ(files(), 0U);
}

TEST_F(SaveTrace, TellsWhyAFolderCannotBeWrittenTo)
{
    EXPECT_THAT(message(m_folder / "missing" / "a.json"), HasSubstr("No such file or directory"));
    std::filesystem::create_directories(m_folder / "taken.json");
    EXPECT_THAT(message(m_folder / "taken.json"), HasSubstr("taken.json: is not an ordinary file"));
    EXPECT_EQ(files(), 1U);
}

TEST_F(SaveTrace, LeavesTheOldFileWhenTheDiskIsFull)
{
    const auto path = m_folder / "a.json";
    std::ofstream(path) << "old";
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit tiny{.rlim_cur = 100, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tiny);
    const std::string told = message(path);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, SIG_DFL);
    EXPECT_THAT(told, HasSubstr("a.json: cannot be written"));
    EXPECT_EQ(content(path), "old");
    EXPECT_EQ(files(), 1U);
}

} // namespace
