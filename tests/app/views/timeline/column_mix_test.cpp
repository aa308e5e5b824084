// Columns of many narrow spans: even work is even, and where other work begins is seen to a pixel.
#include "app/views/timeline/column_mix.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace app {
namespace {

constexpr std::size_t kForward = 0, kBackward = 1, kClasses = 2;

TEST(ColumnMix, IsEvenWhereWorkIsAndSharpWhereOtherWorkBeginsOrEnds)
{
    constexpr std::size_t kWarmUp = 20, kSteady = 60, kColumns = 90; // forward alone, both in turn, backward alone
    std::vector<double> values(kColumns * kClasses, 0);
    for (std::size_t c = 0; c < kColumns; ++c) {
        const bool isForward = c < kWarmUp || (c < kSteady && c % 2 == 1);
        values[c * kClasses + (isForward ? kForward : kBackward)] = 1;
    }
    const double before = std::accumulate(values.begin(), values.end(), 0.0);
    evenOut(values, kClasses, 0, kColumns);
    EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0), before, 1e-9);
    for (std::size_t c = 0; c < kColumns; ++c) {
        const double share = c < kWarmUp ? 1 : c < kSteady ? 0.5 : 0;
        EXPECT_NEAR(values[c * kClasses + kForward], share, 0.1) << c;
        EXPECT_NEAR(values[c * kClasses + kBackward], 1 - share, 0.1) << c;
    }
}

} // namespace
} // namespace app
