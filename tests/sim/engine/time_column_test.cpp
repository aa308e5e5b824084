#include "sim/engine/time_column.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

using namespace sim;

namespace {
constexpr std::size_t kOps = 1'000'000;
}

TEST(TimeColumn, TheNextOfAboutItsLengthLiesWhereOneWasThatIsGone)
{
    const auto placeOf = [](std::size_t ops) { return static_cast<const void*>(TimeColumn(ops).data()); };
    const void* const first = placeOf(kOps);
    EXPECT_EQ(placeOf(kOps), first);
    EXPECT_EQ(placeOf(kOps - kOps / 100), first) << "an edit takes away a few ops";
    const void* fromOther = nullptr;
    std::jthread([&] { fromOther = placeOf(kOps); }).join();
    EXPECT_EQ(fromOther, first) << "whoever simulates the next step";
}

TEST(TimeColumn, TwoThatLiveDoNotMeet)
{
    TimeColumn a(kOps), b(kOps);
    std::iota(a.begin(), a.end(), 0);
    std::fill(b.begin(), b.end(), -1);
    TimeColumn longer = a;
    longer.resize(3 * kOps, 7);
    EXPECT_EQ(std::accumulate(a.begin(), a.end(), std::int64_t{0}), std::int64_t{kOps} * (kOps - 1) / 2);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), longer.begin()));
    EXPECT_EQ(longer.back(), 7);
}

TEST(TimeColumn, LengthsThatNothingHasAreRefused)
{
    EXPECT_THROW(ColumnMemory<std::int64_t>().allocate(std::numeric_limits<std::size_t>::max() / 4), std::bad_array_new_length);
}
