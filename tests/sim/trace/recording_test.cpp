// Sums over what was recorded of a rank.
#include "sim/trace/recording.h"

#include <gtest/gtest.h>

#include <limits>

namespace {

TEST(PeakMemory, IsTheMostOfWhatIsANumber)
{
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
    sim::RankRecording rank;
    rank.counters = {{"memory of device 1", "bytes", {1, 2, 3, 4}, {kNaN, 3e9, kInfinity, 2e9}},
                     {"host memory", "bytes", {1}, {9e9}}};
    EXPECT_EQ(sim::peakMemoryBytes(rank), 3e9);
    rank.counters = {{"memory of device 1", "bytes", {1}, {kNaN}}};
    EXPECT_EQ(sim::peakMemoryBytes(rank), 0);
}

} // namespace
