#include "sim/trace/busy_mipmap.h"

#include <gtest/gtest.h>

#include <random>

using namespace sim;

namespace {

const std::vector<SpanKind> kKinds = {{.name = "f", .opClass = OpClass::forward},
                                      {.name = "b", .opClass = OpClass::backward},
                                      {.name = "tp", .opClass = OpClass::tpComm}};

Track randomTrack(std::mt19937& random, int spans, bool overlapping)
{
    Track track;
    std::int64_t at = static_cast<std::int64_t>(random() % 50);
    for (int i = 0; i < spans; ++i) {
        const auto length = static_cast<std::int64_t>(random() % 40);
        track.startNs.push_back(at);
        track.durationNs.push_back(length);
        track.kind.push_back(static_cast<std::uint32_t>(random() % kKinds.size()));
        track.microbatch.push_back(-1);
        at += overlapping ? static_cast<std::int64_t>(random() % 30) : length + static_cast<std::int64_t>(random() % 20);
    }
    return track;
}

/// Instant by instant: the span that began last and still runs is on top.
BusyByClass bruteForce(const Track& track, std::int64_t begin, std::int64_t end)
{
    BusyByClass busy{};
    for (std::int64_t t = begin; t < end; ++t) {
        int top = -1;
        for (std::size_t i = 0; i < track.size(); ++i)
            if (track.startNs[i] <= t && t < track.startNs[i] + track.durationNs[i])
                top = static_cast<int>(track.kind[i]);
        if (top >= 0)
            ++busy[static_cast<std::size_t>(kKinds[static_cast<std::size_t>(top)].opClass)];
    }
    return busy;
}

} // namespace

TEST(BusyMipmap, EqualsCountingEveryInstant)
{
    std::mt19937 random(3);
    for (int round = 0; round < 60; ++round) {
        const Track track = randomTrack(random, 1 + static_cast<int>(random() % 60), round % 2 == 1);
        const BusyMipmap mipmap(track, kKinds);
        for (int query = 0; query < 20; ++query) {
            const auto begin = static_cast<std::int64_t>(random() % 2000) - 100;
            const auto end = begin + static_cast<std::int64_t>(random() % 500);
            EXPECT_EQ(mipmap.busyNs(begin, end), bruteForce(track, begin, end))
                << "round " << round << " " << begin << " " << end;
        }
    }
}

TEST(BusyMipmap, ColumnsAddUpToTheRange)
{
    std::mt19937 random(5);
    const Track track = randomTrack(random, 5000, false);
    const BusyMipmap mipmap(track, kKinds);
    std::vector<std::int64_t> edges{-10};
    while (edges.size() < 400)
        edges.push_back(edges.back() + static_cast<std::int64_t>(random() % 300));
    std::vector<BusyByClass> columns(edges.size() - 1);
    mipmap.columns(edges, columns);
    BusyByClass sum{};
    for (std::size_t i = 0; i < columns.size(); ++i) {
        EXPECT_EQ(columns[i], mipmap.busyNs(edges[i], edges[i + 1]));
        for (std::size_t c = 0; c < sum.size(); ++c)
            sum[c] += columns[i][c];
    }
    EXPECT_EQ(sum, mipmap.busyNs(edges.front(), edges.back()));
}

TEST(BusyMipmap, NeedsFewBytesASpanAndNothingOfNothing)
{
    std::mt19937 random(9);
    const Track track = randomTrack(random, 200000, false);
    EXPECT_LT(BusyMipmap(track, kKinds).memoryBytes(), track.size() * 10);
    const Track empty;
    EXPECT_EQ(BusyMipmap(empty, kKinds).busyNs(0, 1000), BusyByClass{});
    const Track one = randomTrack(random, 1, false);
    EXPECT_EQ(BusyMipmap(one, kKinds).busyNs(500, 400), BusyByClass{}) << "a range that ends before it begins";
}
