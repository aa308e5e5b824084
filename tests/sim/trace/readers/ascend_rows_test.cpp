// Chrome traces of Ascend's profilers: what a row holds is in the name of its process.
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace {

using sim::RecordedKind;
using sim::Recording;

constexpr int kPython = 4711, kCann = 471102, kHardware = 800, kCommunication = 471103, kOverlap = 4711100;

/// An array of events with times as texts, as msprof writes it.
class AscendTrace {
public:
    AscendTrace()
    {
        for (const auto& [process, name] :
             {std::pair(kPython, "Python"), std::pair(kCann, "CANN"), std::pair(kHardware, "Ascend Hardware"),
              std::pair(kCommunication, "Communication"), std::pair(kOverlap, "Overlap Analysis")})
            name_("process_name", process, 0, name);
        name_("thread_name", kHardware, 3, "Stream 3");
        name_("thread_name", kCommunication, 0, "Group 1 Communication");
        name_("thread_name", kCommunication, 1, "Plane 0");
        name_("thread_name", kOverlap, 0, "Computing");
    }
    AscendTrace& span(int process, int thread, const std::string& name, int us, int lasts, const std::string& args = "",
                      const std::string& category = "")
    {
        return add(R"({"ph":"X","name":")" + name + R"(","pid":)" + std::to_string(process) + R"(,"tid":)" +
                   std::to_string(thread) + R"(,"ts":"1704161511)" + std::to_string(400'000 + us) + R"(.250","dur":)" +
                   std::to_string(lasts) + (category.empty() ? "" : R"(,"cat":")" + category + "\"") + R"(,"args":{)" + args +
                   "}}");
    }
    /// A call that asks for a task, and the task.
    AscendTrace& task(const std::string& name, int us, int lasts)
    {
        const std::string connection = R"("connection_id":)" + std::to_string(++m_connection);
        span(kCann, 77, "AscendCL@launch", us - 20, 4, R"("level":"acl",)" + connection);
        return span(kHardware, 3, name, us, lasts, R"("Task Type":"AI_CORE","Stream Id":3,)" + connection);
    }
    /// From where one runs to where another begins.
    AscendTrace& flow(const std::string& category, int id, int process, int thread, int us, int toThread, int toUs)
    {
        const auto end = [&](const char* phase, int pid, int tid, int at) {
            return R"({"ph":")" + std::string(phase) + R"(","bp":"e","name":")" + category + R"(","cat":")" + category +
                   R"(","id":")" + std::to_string(id) + R"(","pid":)" + std::to_string(pid) + R"(,"tid":)" + std::to_string(tid) +
                   R"(,"ts":"1704161511)" + std::to_string(400'000 + at) + R"(.250"})";
        };
        return add(end("s", process, thread, us)).add(end("f", kHardware, toThread, toUs));
    }
    std::string text() const { return "[" + m_events + "]"; }
    Recording read() const
    {
        const std::string written = text();
        return sim::readRecording(written.data(), written.size(), "trace_view.json");
    }

private:
    AscendTrace& add(const std::string& event)
    {
        m_events += (m_events.empty() ? "" : ",") + event;
        return *this;
    }
    void name_(const std::string& what, int process, int thread, const std::string& name)
    {
        add(R"({"ph":"M","name":")" + what + R"(","pid":)" + std::to_string(process) + R"(,"tid":)" + std::to_string(thread) +
            R"(,"args":{"name":")" + name + R"("}})");
    }
    std::string m_events;
    int m_connection = 7;
};

AscendTrace oneStep()
{
    AscendTrace trace;
    trace.span(kPython, 77, "ProfilerStep#4", 0, 900, "", "cpu_op").span(kPython, 77, "aten::mm", 70, 20, "", "cpu_op");
    trace.task("aclnnMm_MatMulCommon_MatMulV2", 100, 300).task("EVENT_WAIT", 400, 50).task("MEMCPY_ASYNC", 450, 20);
    trace.span(kCommunication, 0, "hcom_allReduce__606_0_1", 500, 200).span(kCommunication, 1, "Notify_Wait", 500, 150);
    trace.span(kOverlap, 0, "Computing", 100, 300);
    return trace;
}

TEST(AscendRows, TasksOfTheHardwareAreWhatRanAndOperationsCollectives)
{
    const Recording recording = oneStep().read();
    ASSERT_EQ(recording.ranks.size(), 1U);
    const sim::RankRecording& rank = recording.ranks[0];
    EXPECT_EQ(sim::kernelCount(rank), 2U) << "the product and the collective; waits, parts and what is told again are none";
    EXPECT_EQ(sim::communicationCount(rank), 1U);
    EXPECT_EQ(sim::busyNs(rank), 520'000);
    ASSERT_EQ(rank.collectives.size(), 1U);
    EXPECT_EQ(recording.names[rank.collectives[0].name], "allreduce");
    ASSERT_GE(rank.collectives[0].group, 0);
    EXPECT_EQ(recording.groups[static_cast<std::size_t>(rank.collectives[0].group)].name, "606");
    ASSERT_EQ(rank.steps.size(), 1U);
    EXPECT_EQ(rank.steps[0].number, 4);
}

TEST(AscendRows, CallsLaunchTheTasksOfTheirConnection)
{
    const Recording recording = oneStep().read();
    const sim::RankRecording& rank = recording.ranks[0];
    ASSERT_EQ(rank.links.size(), 2U) << "what only waits is launched by nobody";
    for (const sim::RecordedLink& link : rank.links) {
        EXPECT_EQ(rank.spans.kind[link.from], RecordedKind::runtime);
        EXPECT_TRUE(sim::isDeviceWork(rank.spans.kind[link.to]));
        EXPECT_EQ(rank.spans.startNs[link.to] - rank.spans.startNs[link.from], 20'000);
    }
}

TEST(AscendRows, ItsRankIsTheOneOfTheProfilersInfoBesideIt)
{
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / ("ascend_pt." + std::to_string(::getpid()));
    for (const int rank : {0, 1}) {
        const fs::path of = folder / ("host_" + std::to_string(rank) + "_ascend_pt");
        fs::create_directories(of / "ASCEND_PROFILER_OUTPUT");
        std::ofstream(of / ("profiler_info_" + std::to_string(rank) + ".json")) << R"({"rank_id":)" << rank << "}";
        std::ofstream(of / "ASCEND_PROFILER_OUTPUT" / "trace_view.json") << oneStep().text();
    }
    const Recording recording = sim::readRecording({folder});
    fs::remove_all(folder);
    ASSERT_EQ(recording.ranks.size(), 2U);
    EXPECT_EQ(recording.ranks[0].rank, 0);
    EXPECT_EQ(recording.ranks[1].rank, 1);
    EXPECT_EQ(recording.ranks[1].rankEvidence, "profiler_info beside it");
    ASSERT_EQ(recording.groups.size(), 1U) << "the same for both";
}

/// As older files have it, whose tasks and calls share no "connection_id".
TEST(AscendRows, FlowsLaunchTasksFromTheirCallElseFromTheirOperator)
{
    AscendTrace trace;
    trace.span(kPython, 77, "aten::mm", 70, 20, "", "cpu_op").span(kPython, 77, "aten::add", 95, 20, "", "cpu_op");
    trace.span(kCann, 78, "Node@launch", 80, 4);
    trace.span(kHardware, 3, "MatMulV2", 100, 30).span(kHardware, 3, "Add", 140, 30).span(kHardware, 3, "Cast", 180, 30);
    trace.flow("async_npu", 5, kPython, 77, 70, 3, 100).flow("HostToDevice", 5, kCann, 78, 80, 3, 100);
    trace.flow("async_npu", 6, kPython, 77, 95, 3, 140);
    trace.flow("HostToDevice", 9, kCann, 78, 500, 3, 180); // of a call that was not recorded
    const Recording recording = trace.read();
    ASSERT_EQ(recording.ranks.size(), 1U);
    const sim::RankRecording& rank = recording.ranks[0];
    std::vector<std::pair<std::string, std::string>> launches;
    for (const sim::RecordedLink& link : rank.links)
        launches.emplace_back(recording.names[rank.spans.name[link.from]], recording.names[rank.spans.name[link.to]]);
    EXPECT_THAT(launches,
                testing::UnorderedElementsAre(testing::Pair("Node@launch", "MatMulV2"), testing::Pair("aten::add", "Add")));
    EXPECT_TRUE(recording.flows.empty()) << "they are no messages";
    for (const sim::RecordedSkip& skip : recording.skipped)
        EXPECT_NE(skip.what, "flow");
}

} // namespace
