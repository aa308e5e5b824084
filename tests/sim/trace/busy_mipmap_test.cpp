#include "sim/trace/busy_mipmap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace {

using sim::BusyByClass;
using sim::BusyMipmap;
using sim::OpClass;
using sim::Track;

const std::vector<sim::SpanKind> kKinds{{.name = "F", .opClass = OpClass::forward},
                                        {.name = "B", .opClass = OpClass::backward},
                                        {.name = "tp", .opClass = OpClass::tpComm},
                                        {.name = "also F", .opClass = OpClass::forward}};

void addSpan(Track& track, std::int64_t start, std::int64_t duration, std::uint32_t kind = 0)
{
    track.startNs.push_back(start);
    track.durationNs.push_back(duration);
    track.kind.push_back(kind);
    track.microbatch.push_back(-1);
}

std::int64_t of(const BusyByClass& busy, OpClass opClass)
{
    return busy[static_cast<std::size_t>(opClass)];
}

std::int64_t total(const BusyByClass& busy)
{
    return std::accumulate(busy.begin(), busy.end(), std::int64_t{0});
}

/// Nanosecond by nanosecond: the span that began last and still runs.
BusyByClass bruteForce(const Track& track, std::int64_t begin, std::int64_t end)
{
    BusyByClass busy{};
    for (std::int64_t now = begin; now < end; ++now)
        for (std::size_t i = track.size(); i-- > 0;)
            if (track.startNs[i] <= now && now < track.startNs[i] + track.durationNs[i]) {
                ++busy[static_cast<std::size_t>(kKinds[track.kind[i]].opClass)];
                break;
            }
    return busy;
}

/// Gaps, spans of no length, several at one instant; overlapping or not; sparse stretches beside dense ones.
Track randomTrack(std::mt19937& random, bool overlaps)
{
    Track track;
    std::int64_t now = static_cast<std::int64_t>(random() % 50) - 25;
    for (std::size_t spans = random() % 120; spans > 0; --spans) {
        const std::int64_t duration = random() % 5 == 0 ? 0 : random() % 12;
        addSpan(track, now, duration, static_cast<std::uint32_t>(random() % kKinds.size()));
        const std::int64_t gap = random() % 3 == 0 ? random() % 8 : random() % 40 == 0 ? 300 : 0;
        now += overlaps ? static_cast<std::int64_t>(random() % 7) + gap : duration + gap;
    }
    return track;
}

TEST(BusyMipmap, EqualsCountingEveryNanosecond)
{
    std::mt19937 random(1);
    for (int i = 0; i < 400; ++i) {
        const Track track = randomTrack(random, i % 2 == 0);
        const BusyMipmap mipmap(track, kKinds);
        for (int query = 0; query < 20; ++query) {
            const std::int64_t begin = static_cast<std::int64_t>(random() % 900) - 100;
            const std::int64_t end = begin + static_cast<std::int64_t>(random() % (query % 2 == 0 ? 20 : 900));
            ASSERT_EQ(mipmap.busyNs(begin, end), bruteForce(track, begin, end))
                << "track " << i << " of " << track.size() << " spans, from " << begin << " to " << end;
        }
    }
}

TEST(BusyMipmap, GivesColumnsAsOneByOne)
{
    std::mt19937 random(2);
    for (int i = 0; i < 200; ++i) {
        const Track track = randomTrack(random, i % 2 == 0);
        const BusyMipmap mipmap(track, kKinds);
        std::vector<std::int64_t> edges;
        std::int64_t edge = static_cast<std::int64_t>(random() % 200) - 100;
        for (std::size_t left = 1 + random() % 60; left > 0; --left, edge += static_cast<std::int64_t>(random() % 30))
            edges.push_back(edge);
        std::vector<BusyByClass> columns(edges.size() - 1);
        mipmap.columns(edges, columns);
        for (std::size_t c = 0; c < columns.size(); ++c)
            ASSERT_EQ(columns[c], mipmap.busyNs(edges[c], edges[c + 1])) << "column " << c;
    }
}

TEST(BusyMipmap, OfATrackWithoutSpansIsIdle)
{
    const Track track;
    const BusyMipmap mipmap(track, kKinds);
    EXPECT_EQ(mipmap.busyNs(-10, 1'000'000), BusyByClass{});
    std::vector<BusyByClass> columns(3);
    mipmap.columns(std::vector<std::int64_t>{0, 1, 2, 3}, columns);
    EXPECT_EQ(columns, std::vector<BusyByClass>(3));
}

TEST(BusyMipmap, AnEmptyOrBackwardRangeIsIdle)
{
    Track track;
    addSpan(track, 0, 100);
    const BusyMipmap mipmap(track, kKinds);
    EXPECT_EQ(mipmap.busyNs(50, 50), BusyByClass{});
    EXPECT_EQ(mipmap.busyNs(60, 50), BusyByClass{});
}

TEST(BusyMipmap, CutsSpansAtTheRangesEnds)
{
    Track track;
    addSpan(track, 10, 100, 0);
    addSpan(track, 120, 10, 1);
    const BusyMipmap mipmap(track, kKinds);
    EXPECT_EQ(of(mipmap.busyNs(50, 125), OpClass::forward), 60);
    EXPECT_EQ(of(mipmap.busyNs(50, 125), OpClass::backward), 5);
    EXPECT_EQ(of(mipmap.busyNs(20, 30), OpClass::forward), 10) << "within one span";
    EXPECT_EQ(mipmap.busyNs(110, 120), BusyByClass{}) << "between two spans";
}

TEST(BusyMipmap, CountsAnInstantOnceForTheSpanOnTop)
{
    Track track;
    addSpan(track, 0, 100, 0);
    addSpan(track, 20, 30, 1);
    addSpan(track, 40, 40, 2); // outlives the one below
    const BusyByClass busy = BusyMipmap(track, kKinds).busyNs(0, 100);
    EXPECT_EQ(of(busy, OpClass::forward), 40);
    EXPECT_EQ(of(busy, OpClass::backward), 20);
    EXPECT_EQ(of(busy, OpClass::tpComm), 40);
}

TEST(BusyMipmap, AddsKindsOfOneClass)
{
    Track track;
    addSpan(track, 0, 10, 0);
    addSpan(track, 10, 10, 3);
    EXPECT_EQ(of(BusyMipmap(track, kKinds).busyNs(0, 20), OpClass::forward), 20);
}

TEST(BusyMipmap, IsExactForHoursOfNanoseconds)
{
    Track track;
    constexpr std::int64_t kHour = 3'600'000'000'000;
    for (int hour = 0; hour < 24; ++hour)
        addSpan(track, hour * kHour, kHour - 1, hour % 2 == 0 ? 0U : 1U);
    const BusyMipmap mipmap(track, kKinds);
    EXPECT_EQ(total(mipmap.busyNs(0, 24 * kHour)), 24 * (kHour - 1));
    EXPECT_EQ(of(mipmap.busyNs(kHour - 5, kHour + 5), OpClass::forward), 4);
    EXPECT_EQ(of(mipmap.busyNs(kHour - 5, kHour + 5), OpClass::backward), 5);
}

TEST(BusyMipmap, HoldsOverHugeRanges)
{
    Track track;
    addSpan(track, 100, 50);
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 2;
    EXPECT_EQ(total(BusyMipmap(track, kKinds).busyNs(-kFar, kFar)), 50);
}

TEST(BusyMipmap, TakesLessMemoryThanTheTrack)
{
    Track track;
    for (int i = 0; i < 100'000; ++i)
        addSpan(track, i * 10, 8, static_cast<std::uint32_t>(i) % 3);
    const BusyMipmap mipmap(track, kKinds);
    EXPECT_LT(static_cast<double>(mipmap.memoryBytes()) / static_cast<double>(track.size()), 8.0) << "bytes a span";
}

TEST(BusyMipmap, StaysFastToFindInWhereSpansCrowd)
{
    // One far outlier stretches the index from time to span: answers stay right.
    Track track;
    for (int i = 0; i < 5000; ++i)
        addSpan(track, i * 4, 3, 0);
    addSpan(track, 1'000'000'000'000, 7, 1);
    const BusyMipmap mipmap(track, kKinds);
    EXPECT_EQ(of(mipmap.busyNs(0, 20'000), OpClass::forward), 15'000);
    EXPECT_EQ(of(mipmap.busyNs(400, 404), OpClass::forward), 3);
    EXPECT_EQ(total(mipmap.busyNs(20'000, 1'000'000'000'000)), 0);
    EXPECT_EQ(total(mipmap.busyNs(0, 2'000'000'000'000)), 15'007);
}

} // namespace
