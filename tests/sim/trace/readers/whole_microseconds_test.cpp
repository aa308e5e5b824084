// Recorders that write whole microseconds: what rounding laid over another is apart again, and nothing else moves.
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using testing::ElementsAre;

struct RoundedSpan {
    const char* category;
    const char* name;
    int thread;
    const char *ts, *dur;
};

sim::Recording readSpans(const std::vector<RoundedSpan>& events)
{
    std::string text;
    for (const RoundedSpan& event : events) {
        const std::string category = event.category;
        const bool isOfDevice = category == "kernel" || category == "gpu_memcpy" || category == "gpu_user_annotation";
        text += std::string(text.empty() ? "" : ",") + R"({"ph":"X","cat":")" + category + R"(","name":")" + event.name +
                R"(","pid":)" + (isOfDevice ? "0" : "9") + R"(,"tid":)" + std::to_string(event.thread) + R"(,"ts":)" + event.ts +
                R"(,"dur":)" + event.dur + R"(,"args":{)" + (isOfDevice ? R"("device":0)" : "") + "}}";
    }
    text = R"({"schemaVersion":1,"traceEvents":[)" + text + "]}";
    return sim::readRecording(text.data(), text.size(), "trace.json");
}

/// µs, in the recording's order.
std::vector<std::pair<std::int64_t, std::int64_t>> microsecondsOf(const sim::Recording& recording)
{
    std::vector<std::pair<std::int64_t, std::int64_t>> times;
    const sim::RecordedSpans& spans = recording.ranks.at(0).spans;
    for (std::size_t i = 0; i < spans.size(); ++i)
        times.emplace_back(spans.startNs[i] / 1000, spans.endNs(i) / 1000);
    return times;
}

TEST(WholeMicroseconds, OfKernelsOfAStreamOverlapNoMore)
{
    // 5.5–10.5 and 10.5–15.4, each begin and length to the nearest.
    EXPECT_THAT(microsecondsOf(readSpans({{"kernel", "a", 7, "6", "5"}, {"kernel", "b", 7, "10", "5"}})),
                ElementsAre(std::pair(6, 10), std::pair(10, 15)));
    // Times with parts of microseconds are taken as they are: then it did overlap.
    EXPECT_THAT(microsecondsOf(readSpans(
                    {{"kernel", "a", 7, "6.000", "5"}, {"kernel", "b", 7, "10", "5"}, {"kernel", "c", 7, "20.5", "1"}})),
                ElementsAre(std::pair(6, 11), std::pair(10, 15), std::pair(20, 21)));
    // So it did by two.
    EXPECT_THAT(microsecondsOf(readSpans({{"kernel", "a", 7, "6", "6"}, {"kernel", "b", 7, "10", "5"}})),
                ElementsAre(std::pair(6, 12), std::pair(10, 15)));
}

TEST(WholeMicroseconds, OfStreamsThatWaitForEachOtherOverlapNoMore)
{
    // The second stream's begins when the first's a has ended, as b does.
    EXPECT_THAT(microsecondsOf(readSpans({{"kernel", "a", 7, "6", "5"},
                                          {"kernel", "b", 7, "10", "5"},
                                          {"kernel", "ncclDevKernel_AllReduce", 8, "15", "4"},
                                          {"kernel", "c", 7, "18", "9"}})),
                ElementsAre(std::pair(6, 10), std::pair(10, 15), std::pair(18, 27), std::pair(15, 18)));
    // Where no row shows that lengths were rounded up, streams may have run side by side.
    EXPECT_THAT(microsecondsOf(readSpans({{"kernel", "a", 7, "6", "5"}, {"kernel", "ncclDevKernel_AllReduce", 8, "10", "5"}})),
                ElementsAre(std::pair(6, 11), std::pair(10, 15)));
}

TEST(WholeMicroseconds, OfStreamsThatRunSideBySideStay)
{
    // The first stream goes on from b to c and d, in two kernels of a microsecond's distance, while the second's end beside them.
    EXPECT_THAT(microsecondsOf(readSpans({{"kernel", "a", 7, "6", "5"},
                                          {"kernel", "b", 7, "10", "5"},
                                          {"kernel", "c", 7, "15", "9"},
                                          {"kernel", "d", 7, "25", "9"},
                                          {"kernel", "ncclDevKernel_AllReduce", 8, "8", "8"},
                                          {"kernel", "ncclDevKernel_AllReduce", 8, "17", "9"}})),
                ElementsAre(std::pair(6, 10), std::pair(10, 15), std::pair(15, 24), std::pair(25, 34), std::pair(8, 16),
                            std::pair(17, 26)));
}

TEST(WholeMicroseconds, OfTheHostNestAsTheyDid)
{
    // A call outlasts its operator by one, an annotation its neighbour.
    const sim::Recording recording = readSpans({{"user_annotation", "one", 9, "0", "21"},
                                                {"cpu_op", "aten::mm", 9, "10", "8"},
                                                {"cuda_runtime", "cudaLaunchKernel", 9, "14", "5"},
                                                {"user_annotation", "two", 9, "20", "10"}});
    EXPECT_THAT(microsecondsOf(recording),
                ElementsAre(std::pair(0, 20), std::pair(10, 18), std::pair(14, 18), std::pair(20, 30)));
}

TEST(WholeMicroseconds, OfOneBeginAndLengthStandTheOuterFirst)
{
    const sim::Recording recording = readSpans({{"cuda_runtime", "cudaLaunchKernel", 9, "5", "3"},
                                                {"cpu_op", "aten::zero_", 9, "5", "3"},
                                                {"user_annotation", "mark", 9, "5", "3"}});
    const sim::RankRecording& rank = recording.ranks.at(0);
    EXPECT_THAT((std::vector<std::string>{recording.names[rank.spans.name[0]], recording.names[rank.spans.name[1]],
                                          recording.names[rank.spans.name[2]]}),
                ElementsAre("mark", "aten::zero_", "cudaLaunchKernel"));
}

} // namespace
