#include "sim/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace sim;

namespace {

/// Units of the last place between two numbers of about the same size.
double unitsApart(double a, double b)
{
    return std::abs(a - b) / (std::nextafter(std::abs(b), std::numeric_limits<double>::infinity()) - std::abs(b));
}

} // namespace

TEST(PortableMath, IsLibmsWithinTwoUnits)
{
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> exponent(-300, 300), small(-40, 40), turn(0, 1);
    for (int round = 0; round < 200000; ++round) {
        const double x = std::pow(10, exponent(random) / (1 + round % 30)), y = small(random), t = turn(random);
        ASSERT_LE(unitsApart(portableLog(x), std::log(x)), 2) << x;
        ASSERT_LE(unitsApart(portableLog2(x), std::log2(x)), 2) << x;
        ASSERT_LE(unitsApart(portableExp(y), std::exp(y)), 2) << y;
        // Where the cosine is near 0, libm's argument has lost more than two units already.
        ASSERT_NEAR(portableCosOfTurn(t), std::cos(6.283185307179586 * t), 1e-15) << t;
    }
}

TEST(PortableMath, IsExactWhereItShouldBe)
{
    for (int power = -1000; power <= 1000; ++power)
        EXPECT_EQ(portableLog2(std::ldexp(1, power)), power);
    EXPECT_EQ(portableLog(1), 0);
    EXPECT_EQ(portableExp(0), 1);
    EXPECT_EQ(portableCosOfTurn(0), 1);
    EXPECT_EQ(portableCosOfTurn(0.25), 0);
    EXPECT_EQ(portableCosOfTurn(0.5), -1);
    EXPECT_EQ(portableCosOfTurn(0.75), 0);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(portableLog(0), -kInfinity);
    EXPECT_EQ(portableLog(kInfinity), kInfinity);
    EXPECT_EQ(portableExp(kInfinity), kInfinity);
    EXPECT_EQ(portableExp(-kInfinity), 0);
    EXPECT_EQ(portableExp(1000), kInfinity);
    EXPECT_EQ(portableExp(-1000), 0);
}
