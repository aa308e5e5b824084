// Chrome traces of XLA's profiler (JAX, MaxText): what a row holds is in the names of its process and thread.
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using sim::RecordedKind;
using sim::Recording;

class XlaTrace {
public:
    XlaTrace& row(int pid, const std::string& process, int tid, const std::string& thread)
    {
        return add(R"({"ph":"M","pid":)" + std::to_string(pid) + R"(,"name":"process_name","args":{"name":")" + process +
                   R"("}})")
            .add(R"({"ph":"M","pid":)" + std::to_string(pid) + R"(,"tid":)" + std::to_string(tid) +
                 R"(,"name":"thread_name","args":{"name":")" + thread + R"("}})");
    }
    XlaTrace& span(int pid, int tid, const std::string& name, int ts, int dur, const std::string& args = "")
    {
        return add(R"({"ph":"X","pid":)" + std::to_string(pid) + R"(,"tid":)" + std::to_string(tid) + R"(,"ts":)" +
                   std::to_string(ts) + R"(.0,"dur":)" + std::to_string(dur) + R"(.0,"name":")" + name + R"(","args":{)" + args +
                   "}}");
    }
    Recording read() const
    {
        const std::string text =
            R"({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[)" + m_events + "{}]}";
        return sim::readRecording(text.data(), text.size(), "host.trace.json");
    }

private:
    XlaTrace& add(const std::string& event)
    {
        m_events += event + ",";
        return *this;
    }
    std::string m_events;
};

TEST(XlaRows, StreamsOfEachGpuAreAWorkersAndTheHostsRowsAreTheFirsts)
{
    XlaTrace trace;
    trace.row(701, "/host:CPU", 77, "python").span(701, 77, "train", 1000, 900, R"("step_num":"7")");
    for (const int gpu : {0, 1}) {
        const int pid = 1 + gpu;
        trace.row(pid, "/device:GPU:" + std::to_string(gpu), 13, "Stream #13(Compute,MemcpyD2D)")
            .row(pid, "/device:GPU:" + std::to_string(gpu), 2, "XLA Ops")
            .span(pid, 13, "loop_fusion", 1050, 100)
            .span(pid, 13, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 1150 + 10 * gpu,
                  50 - 10 * gpu)
            .span(pid, 13, "MemcpyD2D", 1210, 5)
            .span(pid, 2, "loop_fusion.3", 1050, 100);
    }
    const Recording recording = trace.read();
    EXPECT_TRUE(recording.problems.empty());
    ASSERT_EQ(recording.ranks.size(), 2U);
    for (const sim::RankRecording& rank : recording.ranks) {
        EXPECT_EQ(sim::kernelCount(rank), 2U);
        EXPECT_EQ(sim::communicationCount(rank), 1U);
        EXPECT_EQ(sim::busyNs(rank), rank.device == 0 ? 155'000 : 145'000);
        ASSERT_EQ(rank.collectives.size(), 1U);
        EXPECT_EQ(recording.names[rank.collectives[0].name], "allreduce");
    }
    EXPECT_EQ(recording.ranks[0].device, 0);
    EXPECT_EQ(recording.ranks[1].device, 1);
    for (const sim::RankRecording& rank : recording.ranks) {
        ASSERT_EQ(rank.steps.size(), 1U);
        EXPECT_EQ(rank.steps[0].number, 7);
    }
}

TEST(XlaRows, OfATpuItsOperatorsAreWhatRan)
{
    XlaTrace trace;
    for (const auto& [tid, name] : {std::pair(1, "Steps"), std::pair(2, "XLA Modules"), std::pair(3, "XLA Ops")})
        trace.row(3, "/device:TPU:0", tid, name);
    trace.span(3, 1, "4", 1000, 900).span(3, 2, "jit_step(9)", 1000, 900);
    trace.span(3, 3, "fusion.1", 1000, 300).span(3, 3, "all-reduce.7", 1300, 200).span(3, 3, "collective-permute.2", 1500, 50);
    const Recording recording = trace.read();
    const sim::RankRecording& rank = recording.ranks.at(0);
    EXPECT_EQ(sim::kernelCount(rank), 3U);
    EXPECT_EQ(sim::communicationCount(rank), 2U);
    EXPECT_EQ(sim::busyNs(rank), 550'000);
    ASSERT_EQ(rank.steps.size(), 1U);
    EXPECT_EQ(rank.steps[0].number, 4);
    ASSERT_EQ(rank.collectives.size(), 2U);
    EXPECT_EQ(recording.names[rank.collectives[0].name], "allreduce");
    EXPECT_TRUE(rank.collectives[1].isPointToPoint);
}

TEST(XlaRows, WhatIsAskedForAndThenWaitedForIsOneCollective)
{
    XlaTrace trace;
    trace.row(3, "/device:TPU:0", 3, "XLA Ops");
    trace.span(3, 3, "all-reduce-start.7", 1000, 10).span(3, 3, "fusion.1", 1010, 300).span(3, 3, "all-reduce-done.7", 1310, 90);
    const Recording recording = trace.read();
    const sim::RankRecording& rank = recording.ranks.at(0);
    EXPECT_EQ(sim::kernelCount(rank), 3U);
    EXPECT_EQ(sim::communicationCount(rank), 2U) << "both take time on the device";
    ASSERT_EQ(rank.collectives.size(), 1U);
    EXPECT_EQ(recording.names[rank.collectives[0].name], "allreduce");
}

TEST(XlaRows, OfOtherProcessesStayWhatTheyWere)
{
    XlaTrace trace;
    trace.row(1, "/device:CPU:0", 1, "Stream #1").span(1, 1, "add", 10, 5);
    const Recording recording = trace.read();
    EXPECT_EQ(sim::kernelCount(recording.ranks.at(0)), 0U);
    EXPECT_EQ(recording.ranks[0].spans.kind[0], RecordedKind::other);
}

} // namespace
