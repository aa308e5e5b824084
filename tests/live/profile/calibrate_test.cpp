// Calibration from recorded spans: what was recorded is predicted again.
#include "live/profile/calibrate.h"
#include "sim/cost/cost.h"
#include "sim/cost/profile_curves.h"
#include "sim/program/program.h"
#include "sim/scenario/document.h"
#include "sim/scenario/hardware_profile.h"
#include "sim/simulate/simulation.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace live;

namespace {

sim::Scenario tinyScenario(const std::string& layout)
{
    return *sim::ScenarioDocument::parse(
                R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":"laptop","layout":)" + layout +
                R"(,"training":{"sequence_length":128,"global_batch_size":2,"precision":"fp32"}})")
                .resolve(sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets"))
                .scenario;
}

sim::OpClass classOf(sim::OpPurpose purpose)
{
    return static_cast<sim::OpClass>(purpose); // forward to optimizer are numbered alike
}

/// A machine on which kernels obey a law of their shape.
std::int64_t lawNs(const sim::OpShape& shape)
{
    const double elements = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                            static_cast<double>(std::max<std::int64_t>(1, shape.k) * shape.batch);
    return 2000 + static_cast<std::int64_t>(static_cast<int>(shape.family) * 1000) + std::llround(elements * 0.01);
}

/// What the serial job would record on that machine.
ObservedRun observed(const sim::Scenario& scenario)
{
    ObservedRun run{.scenario = scenario};
    const sim::Program program = sim::lowerProgram(scenario, sim::simulate(scenario)->schedule());
    std::vector<RankSpan> spans;
    for (const sim::Step& step : program.ranks[0].steps) {
        const sim::Pass& pass = program.passes[step.pass];
        for (std::size_t i = 0; i < pass.ops.size(); ++i) {
            if (pass.ops[i].kind != sim::OpKind::compute)
                continue;
            run.kinds.push_back(
                {.name = program.labels[pass.ops[i].label], .opClass = classOf(pass.ops[i].purpose), .layer = pass.ops[i].layer});
            spans.push_back({0,
                             {.cpuNs = lawNs(pass.shapes[i]),
                              .kind = static_cast<std::uint32_t>(run.kinds.size() - 1),
                              .microbatch = step.microbatch}});
        }
    }
    run.steps = {spans, spans};
    return run;
}

} // namespace

TEST(Calibration, PredictsTheStepThatWasRecorded)
{
    sim::Scenario scenario = tinyScenario("{}");
    const ObservedRun run = observed(scenario);
    std::int64_t recordedNs = 0;
    for (const RankSpan& span : run.steps[0])
        recordedNs += span.span.cpuNs;
    Calibration calibration;
    calibration.add(run);
    scenario.cluster.efficiency.profile = calibration.profile();
    const double predicted = sim::simulate(scenario)->metrics().stepTimeSeconds;
    EXPECT_NEAR(predicted * 1e9, static_cast<double>(recordedNs), 1.0 * static_cast<double>(run.steps[0].size())) << "rounding";
}

TEST(Calibration, KeepsTheFormOfTheCurveItStartsFrom)
{
    const ObservedRun run = observed(tinyScenario("{}"));
    Calibration calibration;
    calibration.add(run);
    // The base knows another shape as well, and is half as fast as the run was.
    const sim::HardwareProfile alone = calibration.profile();
    const auto adamw =
        std::find_if(alone.kernels.begin(), alone.kernels.end(), [](const auto& curve) { return curve.name == "adamw"; });
    ASSERT_NE(adamw, alone.kernels.end());
    sim::MeasuredPoint same = adamw->points[0], other = same;
    same.microseconds *= 2;
    other.n *= 10;
    other.microseconds *= 20;
    const sim::HardwareProfile both = calibration.profile({.kernels = {{"adamw", {same, other}}}});
    ASSERT_EQ(both.kernels[0].points.size(), 2U);
    EXPECT_NEAR(both.kernels[0].points[0].microseconds, other.microseconds / 2, 1e-6 * other.microseconds);
    EXPECT_EQ(both.kernels[0].points[1], adamw->points[0]);
}

TEST(Calibration, TellsTransfersApartByNameSizeAndMembers)
{
    ObservedRun run{.scenario = tinyScenario(R"({"tp":2})")};
    run.kinds = {
        {.name = "attn.sum", .opClass = sim::OpClass::tpComm, .group = "tp"}, {.name = "send.activation"}, {.name = "sums"}};
    std::vector<RankSpan> spans;
    for (int rank = 0; rank < 2; ++rank) {
        spans.push_back(
            {rank,
             {.startNs = 0, .endNs = 9000, .readyNs = 5000, .bytes = 4096, .correlation = 1, .kind = 0, .track = SpanTrack::tp}});
        spans.push_back(
            {rank, {.endNs = 9000, .cpuNs = 700, .bytes = 64, .correlation = 2, .kind = 1, .track = SpanTrack::sendForward}});
        spans.push_back({rank, {.endNs = 9000, .bytes = 64, .correlation = 3, .kind = 2, .track = SpanTrack::dp}});
    }
    run.steps = {spans};
    Calibration calibration;
    calibration.add(run);
    const sim::HardwareProfile profile = calibration.profile();
    ASSERT_EQ(profile.transfers.size(), 2U) << "the simulator has no \"sums\"";
    EXPECT_EQ(profile.transfers[0].name, "all_reduce");
    EXPECT_EQ(profile.transfers[0].points[0].m, 4096);
    EXPECT_EQ(profile.transfers[0].points[0].n, 2);
    EXPECT_DOUBLE_EQ(profile.transfers[0].points[0].microseconds, 4);
    EXPECT_EQ(profile.transfers[1].name, "send");
    EXPECT_DOUBLE_EQ(profile.transfers[1].points[0].microseconds, 0.7) << "a processor's time beats the clock's";
}

TEST(ObservedRun, CoversEveryKernelOfTheSimulator)
{
    const sim::Catalogue catalogue = sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets");
    for (const char* layout : {"{}", R"({"tp":2,"dp":2})", R"({"cp":2})"}) {
        const sim::Scenario scenario = tinyScenario(layout);
        const ObservedRun run = observeRun(scenario, {.warmUp = 0, .steps = 1});
        Calibration calibration;
        calibration.add(run);
        std::set<std::string> names;
        for (const sim::MeasuredCurve& curve : calibration.profile().kernels)
            names.insert(curve.name);
        const sim::Program program = sim::lowerProgram(scenario, sim::simulate(scenario)->schedule());
        for (const sim::Pass& pass : program.passes)
            for (std::size_t i = 0; i < pass.ops.size(); ++i)
                if (pass.ops[i].kind == sim::OpKind::compute) {
                    EXPECT_TRUE(names.contains(sim::kernelCurveName(pass.shapes[i].family, pass.shapes[i].pass, scenario)))
                        << program.labels[pass.ops[i].label] << " of " << layout;
                }
        EXPECT_GT(median(asIfParallelSeconds(run.steps, run)), 0);
        const std::string written = sim::hardwareProfileText("learnt", calibration.profile());
        EXPECT_NO_THROW(sim::readHardwareProfile(written, "learnt.json", catalogue.schema())) << "what was learnt is read again";
    }
}

TEST(ObservedRun, ADisturbedKernelDoesNotLengthenTheUndisturbedStep)
{
    // Two ranks compute and meet, three times over; in each step another kernel of another rank took ten times as long.
    ObservedRun run{.scenario = tinyScenario(R"({"tp":2})"), .kinds = {{.name = "kernel"}, {.name = "sum"}}, .worldSize = 2};
    constexpr std::int64_t kKernelNs = 100, kSumNs = 7;
    for (int disturbed = 0; disturbed < 5; ++disturbed) {
        std::vector<RankSpan> step;
        for (int i = 0; i < 3; ++i)
            for (int rank = 0; rank < 2; ++rank) {
                const bool slow = disturbed == 2 * i + rank;
                const std::int64_t at = 10'000 * i;
                step.push_back({rank, {.startNs = at, .endNs = at + 1, .cpuNs = slow ? 10 * kKernelNs : kKernelNs, .kind = 0}});
                step.push_back({rank,
                                {.startNs = at + 5000,
                                 .endNs = at + 5001,
                                 .readyNs = at + 5000,
                                 .cpuNs = kSumNs,
                                 .correlation = static_cast<std::uint64_t>(i) + 1,
                                 .kind = 1,
                                 .track = SpanTrack::tp}});
            }
        run.steps.push_back(step);
    }
    EXPECT_NEAR(median(asIfParallelSeconds(run.steps, run)), (12 * kKernelNs + 3 * kSumNs) * 1e-9, 1e-12);
    EXPECT_NEAR(median(asIfParallelSeconds(run.undisturbedSteps(), run)), (3 * kKernelNs + 3 * kSumNs) * 1e-9, 1e-12);

    // Of two runs the kinds may be numbered otherwise.
    ObservedRun other{.scenario = run.scenario, .steps = {run.steps[0]}, .kinds = {run.kinds[1], run.kinds[0]}, .worldSize = 2};
    for (RankSpan& span : other.steps[0])
        span.span.kind = 1 - span.span.kind;
    run.append(other);
    EXPECT_EQ(run.kinds.size(), 2U);
    EXPECT_EQ(run.steps[5][0].span.kind, run.steps[0][0].span.kind);
}
