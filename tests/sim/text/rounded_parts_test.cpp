// Shares that are shown together add up, and each reads as it does where it is told alone.
#include "sim/text/number_text.h"
#include "sim/text/rounded_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace {

TEST(RoundedParts, ReadAsTheyDoWhereEachIsToldAlone)
{
    // Halves of a tenth of a per cent: binary fractions lie beside most of them, on either side.
    for (int tenth = 0; tenth < 1000; ++tenth) {
        const double half = (tenth + 0.5) / 1000;
        const double shown = sim::roundedPartsAndRest({1 - half, half}, 0).at(1);
        EXPECT_EQ(sim::percentText(shown), sim::percentText(half)) << half;
        EXPECT_EQ(sim::tenthsOfPercentText(shown), sim::tenthsOfPercentText(half)) << half;
    }
    EXPECT_EQ(sim::percentText(0.0005), "0.1 %");
    EXPECT_EQ(sim::percentText(0.0055), "0.5 %");
}

TEST(RoundedParts, AddUpToTheWhole)
{
    for (const std::vector<double>& shown :
         {sim::roundedParts({1 / 3.0, 1 / 3.0, 1 / 3.0}), sim::roundedPartsAndRest({0.0004, 0.3333, 0.6663}, 0)}) {
        double sum = 0;
        for (const double part : shown) {
            EXPECT_GE(part, 0);
            sum += part;
        }
        EXPECT_NEAR(sum, 1, 1e-12);
    }
}

TEST(RoundedParts, WholesAddUpAndNoneIsMoreThanOneFromWhatItIs)
{
    EXPECT_EQ(sim::wholesThatAddUp({}), std::vector<std::int64_t>{});
    EXPECT_EQ(sim::wholesThatAddUp({1000, 0.4, 0.4, 0.4}), (std::vector<std::int64_t>{1000, 1, 0, 0}))
        << "the largest is what it is";
    EXPECT_EQ(sim::wholesThatAddUp({-1000, -0.4, -0.4, -0.4}), (std::vector<std::int64_t>{-1000, -1, 0, 0}));
    EXPECT_EQ(sim::wholesThatAddUp({10.6, -2.6, 0.6}), (std::vector<std::int64_t>{11, -3, 1})) << "8.6";
    std::mt19937 random(7);
    std::uniform_real_distribution<double> part(-50, 50);
    for (int round = 0; round < 500; ++round) {
        std::vector<double> parts(1 + random() % 14);
        for (double& each : parts)
            each = part(random);
        const std::vector<std::int64_t> wholes = sim::wholesThatAddUp(parts);
        EXPECT_EQ(std::accumulate(wholes.begin(), wholes.end(), std::int64_t{0}),
                  std::llround(std::accumulate(parts.begin(), parts.end(), 0.0)));
        for (std::size_t i = 0; i < parts.size(); ++i)
            EXPECT_LT(std::abs(static_cast<double>(wholes[i]) - parts[i]), 1);
    }
}

} // namespace
