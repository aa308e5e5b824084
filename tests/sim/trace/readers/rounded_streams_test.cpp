// Random runs written in whole microseconds, beside what truly happened: which ends are cut, and which are left as they are.
#include "sim/trace/readers/read_recording.h"

#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

struct TrueKernel {
    int stream = 0;
    std::int64_t askedNs = 0, startNs = 0, endNs = 0;
};

/// Each begin and each length to the next microsecond, as PyTorch before 2024 wrote them in whole ones.
std::string wholeFile(const std::vector<TrueKernel>& kernels, bool hasLaunches)
{
    const auto whole = [](std::int64_t ns) { return std::to_string((ns + 500) / 1000); };
    std::string events;
    int correlation = 0;
    for (const TrueKernel& kernel : kernels) {
        const std::string ids = R"("correlation":)" + std::to_string(++correlation);
        if (hasLaunches)
            events += R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":)" +
                      whole(kernel.askedNs) + R"(,"dur":5,"args":{)" + ids + "}},";
        events += R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":)" + std::to_string(kernel.stream) + R"(,"ts":)" +
                  whole(kernel.startNs) + R"(,"dur":)" + whole(kernel.endNs - kernel.startNs) +
                  R"(,"args":{"device":0,"stream":)" + std::to_string(kernel.stream) + "," + ids + "}},";
    }
    events.pop_back();
    return R"({"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[)" + events + "]}";
}

/// Ends of a stream's kernels as they are read, in their order.
std::vector<std::int64_t> endsOf(const std::vector<TrueKernel>& kernels, int stream, bool hasLaunches = true)
{
    const std::string text = wholeFile(kernels, hasLaunches);
    const sim::Recording recording = sim::readRecording(text.data(), text.size(), "trace.json");
    std::vector<std::int64_t> ends;
    for (const sim::RecordedTrack& track : recording.ranks.at(0).tracks)
        if (track.isDevice && track.number == stream)
            for (std::uint32_t span = track.first; span < track.last; ++span)
                ends.push_back(recording.ranks[0].spans.endNs(span));
    return ends;
}

/// Stream 7: kernels one after another, asked for long before.
std::vector<TrueKernel> busyStream(std::mt19937& random)
{
    std::vector<TrueKernel> kernels;
    std::uniform_int_distribution<std::int64_t> lasts(5'000, 30'000), gap(0, 900);
    std::int64_t at = 1'000'000;
    for (int i = 0; i < 300; ++i) {
        const std::int64_t begin = at + gap(random);
        at = begin + lasts(random);
        kernels.push_back({7, begin - 500'000, begin, at});
    }
    return kernels;
}

TEST(WholeMicroseconds, LeaveEndsBesideWhichAHostBeganAnotherStreamByChance)
{
    std::mt19937 random(test::seed(3));
    int chances = 0;
    for (int run = 0; run < 20; ++run) {
        std::vector<TrueKernel> kernels = busyStream(random);
        const std::vector<std::int64_t> alone = endsOf(kernels, 7);
        ASSERT_EQ(alone.size(), 300U);
        std::uniform_int_distribution<std::int64_t> rests(8'000, 40'000), latency(4'000, 12'000);
        for (std::int64_t at = 1'000'000; at < kernels[299].endNs;) {
            at += rests(random);
            const std::int64_t begin = at;
            kernels.push_back({20, begin - latency(random), begin, at += 3'000});
            for (const std::int64_t end : alone)
                chances += end - 1000 == (begin + 500) / 1000 * 1000 ? 1 : 0;
        }
        EXPECT_EQ(endsOf(kernels, 7), alone) << "another stream that waits for none of them";
    }
    EXPECT_GT(chances, 100) << "ends a microsecond after a begin by chance";
}

TEST(WholeMicroseconds, EndNoLaterThanAStreamThatWaitedForThemBegins)
{
    std::mt19937 random(test::seed(4));
    for (const bool hasLaunches : {true, false}) {
        std::vector<TrueKernel> kernels = busyStream(random);
        std::uniform_int_distribution<std::int64_t> latency(0, 900);
        std::vector<std::size_t> waitedFor;
        for (std::size_t i = 3; i < 300; i += 5) {
            const std::int64_t begin = kernels[i].endNs + latency(random);
            kernels.push_back({20, begin - 300'000, begin, begin + 4'000});
            waitedFor.push_back(i);
        }
        const std::vector<std::int64_t> ends = endsOf(kernels, 7, hasLaunches);
        for (std::size_t i = 0; i < waitedFor.size(); ++i)
            EXPECT_LE(ends[waitedFor[i]], (kernels[300 + i].startNs + 500) / 1000 * 1000) << i;
    }
}

} // namespace
