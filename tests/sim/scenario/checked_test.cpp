#include "sim/checked.h"
#include "tests/support/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

using namespace sim;
using test::refusalOf;

namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

} // namespace

TEST(Checked, CountsLikeAnOrdinaryNumberWhileItFits)
{
    const Checked a = 6, b = 7;
    EXPECT_EQ(std::int64_t{a * b + 1}, 43);
    EXPECT_EQ(std::int64_t{2 * a / 4}, 3);
    EXPECT_EQ(std::int64_t{Checked(kLargest - 1) + 1}, kLargest);
    EXPECT_EQ(std::int64_t{Checked(kLargest / 2) * 2}, kLargest - 1);
}

TEST(Checked, ThrowsWithBothNumbersWhereAnOrdinaryOneWraps)
{
    EXPECT_EQ(refusalOf([] { static_cast<void>(Checked(kLargest) + 1); }),
              "9223372036854775807 + 1 is more than 9223372036854775807");
    EXPECT_EQ(refusalOf([] { static_cast<void>(4 * (Checked(1) + kLargest / 2)); }),
              "4 x 4611686018427387904 is more than 9223372036854775807");
    EXPECT_EQ(refusalOf([] { static_cast<void>(checkedMultiply(3037000500, 3037000500)); }),
              "3037000500 x 3037000500 is more than 9223372036854775807");
}

TEST(Checked, NamesTheQuantityThatIsCounted)
{
    EXPECT_EQ(refusalOf([] { countedAs("parameters of the model", [] { return Checked(kLargest) * 2; }); }),
              "parameters of the model cannot be counted: 9223372036854775807 x 2 is more than 9223372036854775807");
}

TEST(Checked, DividesUpwardsWithoutPassingTheLargestNumber)
{
    EXPECT_EQ(ceilDivide(7, 2), 4);
    EXPECT_EQ(ceilDivide(8, 2), 4);
    EXPECT_EQ(ceilDivide(0, 2), 0);
    EXPECT_EQ(ceilDivide(kLargest, 2), kLargest / 2 + 1);
}

TEST(DurationNs, RoundsToTheNearestAndRefusesWhatNoClockCounts)
{
    const auto name = [] { return std::string("a kernel of 3 FLOP"); };
    EXPECT_EQ(durationNs(1.4e-9, name), 1);
    EXPECT_EQ(durationNs(1.5e-9, name), 2);
    EXPECT_EQ(durationNs(4.6e9, name), 4'600'000'000'000'000'000);
    for (const double seconds : {4.7e9, 1e300, std::numeric_limits<double>::infinity(), -1.0, std::nan("")})
        EXPECT_THAT(refusalOf([&] { durationNs(seconds, name); }),
                    testing::StartsWith("a kernel of 3 FLOP takes " + roughly(seconds) + " s; times are counted up to 2^62 ns"));
}
