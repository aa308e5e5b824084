// Ranks that somebody put into one file.
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using sim::Recording;
using testing::HasSubstr;

std::string writtenEvent(const char* category, const std::string& name, int pid, int tid, int us, int correlation,
                         int device = -1)
{
    return R"({"ph":"X","cat":")" + std::string(category) + R"(","name":")" + name + R"(","pid":)" + std::to_string(pid) +
           R"(,"tid":)" + std::to_string(tid) + R"(,"ts":)" + std::to_string(us) + R"(,"dur":5,"args":{"correlation":)" +
           std::to_string(correlation) + (device < 0 ? "" : R"(,"device":)" + std::to_string(device)) + "}}";
}

/// Each of two ranks launches ten kernels, the second a little later. Which of two processes launches each rank's, and from where
/// on the second counts.
Recording merged(int hostOfFirst, int hostOfSecond, int firstOfSecond)
{
    std::string list;
    for (const int rank : {0, 1})
        for (int i = 0; i < 10; ++i) {
            const int host = 100 + (rank == 0 ? hostOfFirst : hostOfSecond), correlation = (rank == 0 ? 1 : firstOfSecond) + i,
                      us = 1000 + 100 * i + 7 * rank;
            list += (list.empty() ? "" : ",") + writtenEvent("cuda_runtime", "cudaLaunchKernel", host, 1, us, correlation) + "," +
                    writtenEvent("kernel", "gemm of " + std::to_string(rank), 900 + rank, 7, us + 20, correlation, rank);
        }
    list += "," + writtenEvent("Trace", "PyTorch Profiler (0)", 5, 5, 900, 0);
    const std::string text = R"({"schemaVersion":1,"traceEvents":[)" + list + "]}";
    return sim::readRecording(text.data(), text.size(), "merged.json");
}

TEST(MergedRanks, AreWorkersOfTheirOwn)
{
    struct Case {
        int hostOfFirst, hostOfSecond, firstOfSecond;
    };
    for (const Case& of : {Case{0, 1, 1}, Case{0, 1, 500}, Case{1, 0, 500}}) {
        SCOPED_TRACE(of.firstOfSecond);
        const Recording recording = merged(of.hostOfFirst, of.hostOfSecond, of.firstOfSecond);
        ASSERT_EQ(recording.ranks.size(), 2U);
        for (int rank = 0; rank < 2; ++rank) {
            const sim::RankRecording& worker = recording.ranks[static_cast<std::size_t>(rank)];
            EXPECT_EQ(worker.rank, -1);
            EXPECT_EQ(sim::kernelCount(worker), 10U);
            ASSERT_EQ(worker.links.size(), 10U);
            const sim::RecordedLink& link = worker.links[0];
            EXPECT_EQ(recording.names[worker.spans.name[link.to]], "gemm of " + std::to_string(worker.device));
            EXPECT_EQ(worker.spans.startNs[link.to] - worker.spans.startNs[link.from], 20'000);
        }
        EXPECT_NE(recording.ranks[0].device, recording.ranks[1].device);
    }
}

TEST(MergedRanks, OfAProcessWithSeveralGpusAreOne)
{
    EXPECT_EQ(merged(0, 0, 500).ranks.size(), 1U);
    EXPECT_TRUE(merged(0, 0, 500).problems.empty());
}

TEST(MergedRanks, ThatNothingTellsApartAreSaid)
{
    // Both GPUs are the second process's, the first launches what nobody recorded.
    const std::string text =
        R"({"schemaVersion":1,"traceEvents":[)" + writtenEvent("cuda_runtime", "cudaLaunchKernel", 100, 1, 10, 77) + "," +
        writtenEvent("cuda_runtime", "cudaLaunchKernel", 101, 1, 10, 1) + "," + writtenEvent("kernel", "a", 900, 7, 20, 1, 0) +
        "," + writtenEvent("cuda_runtime", "cudaLaunchKernel", 101, 1, 30, 2) + "," +
        writtenEvent("kernel", "b", 901, 7, 40, 2, 1) + "]}";
    const Recording recording = sim::readRecording(text.data(), text.size(), "merged.json");
    EXPECT_EQ(recording.ranks.size(), 1U);
    ASSERT_EQ(recording.problems.size(), 1U);
    EXPECT_THAT(recording.problems[0], HasSubstr("holds kernels of 2 GPUs and calls of 2 processes, and nothing tells which"));
}

} // namespace
