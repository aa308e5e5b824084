// One writes, one reads: all comes in order, a full one says what it dropped, an empty one is small.
#include "live/record/recorder.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <thread>

namespace {

using live::CounterRecord;
using live::Ring;

TEST(Ring, HandsOnAllInOrderWhileBothWork)
{
    constexpr std::int64_t kRecords = 200'000;
    Ring<CounterRecord> ring(1 << 12);
    std::vector<CounterRecord> read;
    std::jthread writer([&] {
        for (std::int64_t i = 0; i < kRecords;) {
            const std::uint64_t dropped = ring.dropped();
            ring.push({.timeNs = i, .value = -i});
            i += ring.dropped() == dropped ? 1 : 0;
        }
    });
    while (read.size() < static_cast<std::size_t>(kRecords))
        ring.drain(read);
    for (std::int64_t i = 0; i < kRecords; ++i)
        ASSERT_TRUE(read[static_cast<std::size_t>(i)].timeNs == i && read[static_cast<std::size_t>(i)].value == -i) << i;
    EXPECT_EQ(ring.pushed(), static_cast<std::uint64_t>(kRecords));
}

TEST(Ring, DropsAndCountsWhatDoesNotFit)
{
    Ring<CounterRecord> ring(1000);
    for (int i = 0; i < 1500; ++i)
        ring.push({.timeNs = i});
    EXPECT_EQ(ring.dropped(), 500U);
    std::vector<CounterRecord> read;
    ring.drain(read);
    ASSERT_EQ(read.size(), 1000U);
    EXPECT_EQ(read.back().timeNs, 999);
    ring.push({.timeNs = 7});
    read.clear();
    ring.drain(read);
    ASSERT_EQ(read.size(), 1U) << "there is room again";
    EXPECT_EQ(read[0].timeNs, 7);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Recorder, TakesMemoryForWhatItHoldsOnly)
{
    const std::size_t before = mallinfo2().uordblks;
    live::Recorder recorder(0);
    EXPECT_LT(mallinfo2().uordblks - before, 64U << 10U) << "a rank that has recorded nothing yet";
    std::vector<live::SpanRecord> read;
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 5000; ++i)
            recorder.spans.push({});
        read.clear();
        recorder.spans.drain(read);
    }
    read.shrink_to_fit();
    EXPECT_LT(mallinfo2().uordblks - before, (64U << 10U) + read.capacity() * sizeof(live::SpanRecord));
}
#endif

} // namespace
