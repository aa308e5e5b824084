// Shares that are shown together add up, and each reads as it does where it is told alone.
#include "sim/text/number_text.h"
#include "sim/text/rounded_parts.h"

#include <gtest/gtest.h>

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

} // namespace
