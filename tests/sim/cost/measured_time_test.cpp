// Times from measurements: exact where measured, sensible between, and only where the profile has something to say.
#include "sim/cost/cost.h"
#include "sim/cost/measured_time.h"
#include "tests/support/scenarios.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace sim;

namespace {

/// A launch, the traffic of the result, and the work.
double lawMicroseconds(double m, double n, double k)
{
    return 2 + 1e-4 * m * n + 2e-5 * m * n * k;
}

MeasuredCurve lawCurve(const std::string& name)
{
    MeasuredCurve curve{.name = name};
    for (const double m : {16, 64, 512})
        for (const double n : {16, 128, 1024})
            for (const double k : {32, 128, 512})
                curve.points.push_back({.m = m, .n = n, .k = k, .microseconds = lawMicroseconds(m, n, k)});
    return curve;
}

MeasuredCurve noisyCurve(std::mt19937& random)
{
    MeasuredCurve curve = lawCurve("gemm.forward");
    std::uniform_real_distribution<double> noise(0.7, 1.4);
    for (MeasuredPoint& point : curve.points)
        point.microseconds *= noise(random);
    return curve;
}

OpShape measuredGemm(std::int64_t m, std::int64_t n, std::int64_t k)
{
    const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    return {.kernel = KernelKind::gemm, .family = KernelFamily::gemm, .m = m, .n = n, .k = k, .flops = flops};
}

} // namespace

TEST(MeasuredTime, IsTheMeasurementWhereOneWasMade)
{
    std::mt19937 random(1);
    const MeasuredCurve curve = noisyCurve(random);
    const MeasuredTime time(curve);
    for (const MeasuredPoint& point : curve.points)
        EXPECT_NEAR(time.seconds(point.m, point.n, point.k) * 1e6 / point.microseconds, 1, 1e-6);
}

TEST(MeasuredTime, FindsTheLawBetweenAndBeyondItsMeasurements)
{
    const MeasuredTime time(lawCurve("gemm.forward"));
    for (const double m : {8, 100, 4000})
        for (const double n : {40, 300, 8000})
            for (const double k : {64, 200, 2000})
                EXPECT_NEAR(time.seconds(m, n, k) * 1e6 / lawMicroseconds(m, n, k), 1, 0.01) << m << " " << n << " " << k;
}

TEST(MeasuredTime, OfOneMeasurementGrowsWithTheWork)
{
    const MeasuredTime time({"loss.forward", {{.m = 100, .n = 100, .microseconds = 5}}});
    EXPECT_NEAR(time.seconds(100, 100) * 1e6, 5, 1e-9);
    EXPECT_NEAR(time.seconds(1000, 1000) * 1e6, 500, 1);
}

TEST(MeasuredTime, CorrectsHalfAsMuchAFactorOfFourAway)
{
    // What takes less for more rows no sum of positive terms can say: both are corrected, one down and one up.
    const MeasuredTime time({"gemm.forward", {{.m = 1, .microseconds = 10}, {.m = 1e6, .microseconds = 5}}});
    const auto correction = [&](double m) { return std::log(time.seconds(m, 1) / time.fittedSeconds(m, 1)); };
    ASSERT_LT(correction(1e6), -0.1);
    EXPECT_NEAR(correction(4e6) / correction(1e6), 0.5, 0.01);
    EXPECT_NEAR(correction(0.25) / correction(1), 0.5, 0.01);
    EXPECT_NEAR(correction(16e6) / correction(1e6), 1 / 17.0, 0.02) << "twice as far away a sixteenth of a vote";
}

TEST(MeasuredTime, IsPositiveAndItsFitNeverFallsHoweverNoisyTheMeasurements)
{
    std::mt19937 random(7);
    std::uniform_real_distribution<double> size(0, 12);
    for (int round = 0; round < 20; ++round) {
        const MeasuredCurve curve = noisyCurve(random);
        const MeasuredTime time(curve);
        double least = 1, most = 1; // corrections
        for (const MeasuredPoint& p : curve.points) {
            const double ratio = p.microseconds * 1e-6 / time.fittedSeconds(p.m, p.n, p.k);
            least = std::min(least, ratio);
            most = std::max(most, ratio);
        }
        for (int i = 0; i < 200; ++i) {
            const double m = std::exp(size(random)), n = std::exp(size(random)), k = std::exp(size(random));
            const double fitted = time.fittedSeconds(m, n, k);
            ASSERT_GT(fitted, 0);
            EXPECT_LE(fitted, time.fittedSeconds(m * 1.5, n, k));
            EXPECT_LE(fitted, time.fittedSeconds(m, n * 1.5, k));
            EXPECT_LE(fitted, time.fittedSeconds(m, n, k * 1.5));
            EXPECT_GE(time.seconds(m, n, k), fitted * least * (1 - 1e-9));
            EXPECT_LE(time.seconds(m, n, k), fitted * most * (1 + 1e-9));
        }
    }
}

TEST(ProfiledCosts, ReplaceOnlyTheKernelsThatWereMeasured)
{
    Scenario scenario = test::smallScenario(8, 1, 2);
    const CostModel before(scenario);
    scenario.cluster.efficiency.profile.kernels = {lawCurve("gemm.forward")};
    const CostModel cost(scenario);
    EXPECT_EQ(cost.kernelNs(measuredGemm(64, 128, 512)), std::llround(lawMicroseconds(64, 128, 512) * 1e3));
    OpShape weightGradient = measuredGemm(64, 128, 512);
    weightGradient.pass = KernelPass::weightGradient;
    EXPECT_EQ(cost.kernelNs(weightGradient), before.kernelNs(weightGradient));
    OpShape norm;
    norm.family = KernelFamily::norm;
    norm.bytes = 1 << 20;
    EXPECT_EQ(cost.kernelNs(norm), before.kernelNs(norm));
}

TEST(ProfiledCosts, DoNotCountInAnotherPrecision)
{
    Scenario scenario = test::smallScenario(8, 1, 2);
    ASSERT_EQ(scenario.training.precision, Precision::bf16);
    const CostModel before(scenario);
    scenario.cluster.efficiency.profile = {.precision = Precision::fp32, .kernels = {lawCurve("gemm.forward")}};
    EXPECT_EQ(CostModel(scenario).kernelNs(measuredGemm(64, 128, 512)), before.kernelNs(measuredGemm(64, 128, 512)));
}

TEST(ProfiledCosts, PriceTransfersInsideTheInnermostTierOnly)
{
    Scenario scenario = test::smallScenario(8, 1, 2);
    const CostModel before(scenario);
    scenario.cluster.efficiency.profile.transfers = {{"all_reduce", {{.m = 1000, .n = 4, .microseconds = 77}}},
                                                     {"send", {{.m = 1000, .n = 2, .microseconds = 33}}}};
    const CostModel cost(scenario);
    OpShape shape;
    shape.bytes = 1000;
    const GroupShape inside{.size = 4, .domains = {1, 1}}, across{.size = 4, .domains = {2, 1}};
    EXPECT_EQ(cost.collectiveNs(shape, inside), 77'000);
    EXPECT_EQ(cost.collectiveNs(shape, across), before.collectiveNs(shape, across));
    EXPECT_EQ(cost.sendNs(1000, 0), 33'000);
    EXPECT_EQ(cost.sendNs(1000, 1), before.sendNs(1000, 1));
    shape.collective = CollectiveKind::allGather;
    EXPECT_EQ(cost.collectiveNs(shape, inside), before.collectiveNs(shape, inside));
}
