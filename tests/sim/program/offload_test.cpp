// What is offloaded leaves and comes back whole.
#include "sim/program/program.h"
#include "tests/support/programs.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

using namespace sim;

namespace {

/// Of one rank, by label.
std::map<std::string, std::int64_t> copies(const Scenario& scenario)
{
    const Program program = test::programOf(scenario);
    std::map<std::string, std::int64_t> bytes;
    for (const Step& step : program.ranks[0].steps) {
        const Pass& pass = program.passes[step.pass];
        for (std::size_t i = 0; i < pass.ops.size(); ++i)
            if (pass.ops[i].kind == OpKind::copy)
                bytes[program.labels[pass.ops[i].label]] += pass.shapes[i].bytes;
    }
    return bytes;
}

} // namespace

TEST(Offload, TakesAwayAndBringsBackWhatLayersKeep)
{
    const auto of = copies(test::offloadedScenario(0, 3));
    const Scenario plain = test::smallScenario();
    const std::int64_t kept = operatorsOf(plain.model, Sharding::of(plain), LayerKind{}).savedBytes();
    EXPECT_EQ(of.at("activations to host"), 4 * 3 * kept) << "three layers of four micro-batches";
    EXPECT_EQ(of.at("activations from host"), 4 * 3 * kept);
    Scenario full = test::offloadedScenario(0, 3);
    full.training.recompute = Recompute::full;
    EXPECT_EQ(copies(full).at("activations to host"), 4 * 3 * std::int64_t{1024} * 1024 * 2) << "their inputs";
    EXPECT_EQ(copies(test::offloadedScenario(0, 100)).at("activations to host"), 4 * 8 * kept) << "there are eight";
}

TEST(Offload, OfTheOptimizerSendsGradientsAndGetsParameters)
{
    for (const double fraction : {0.25, 1.0}) {
        const Scenario scenario = test::offloadedScenario(fraction, 0);
        const auto parameters = static_cast<double>(test::programOf(scenario).ranks[0].states.parameterElements);
        const auto of = copies(scenario);
        EXPECT_NEAR(static_cast<double>(of.at("gradients to host")), fraction * parameters * 4, 4);
        EXPECT_NEAR(static_cast<double>(of.at("parameters from host")), fraction * parameters * 2, 2);
        EXPECT_NEAR(static_cast<double>(of.at("optimizer on host")), fraction * parameters * 52, 60)
            << "gradient: written by the copy, read and written to be scaled, read, zeroed; master copy and moments: read and "
               "written, and read to be narrowed; parameter: written, read by the copy";
        const ModelStates states = test::programOf(scenario).ranks[0].states;
        EXPECT_NEAR(static_cast<double>(states.hostOptimizer), fraction * parameters * 12, 1);
        EXPECT_NEAR(static_cast<double>(states.optimizer), (1 - fraction) * parameters * 12, 1);
    }
}

TEST(Offload, OfTheOptimizerLeavesTheGpuTheRest)
{
    const auto moved = [](double fraction) {
        const Program program = test::programOf(test::offloadedScenario(fraction, 0));
        const Pass& last = program.passes[program.ranks[0].steps.back().pass];
        for (std::size_t i = 0; i < last.ops.size(); ++i)
            if (last.ops[i].purpose == OpPurpose::optimizer)
                return static_cast<double>(last.shapes[i].bytes);
        return 0.0;
    };
    const Training training = test::smallScenario().training;
    const auto parameters = static_cast<double>(test::programOf(test::smallScenario()).ranks[0].states.parameterElements);
    // What the software adds (norm, clipping, zeroing) it does on the GPU, for all.
    const double stack = parameters * (training.stack.optimizerBytes + training.stack.gradientBytes);
    EXPECT_NEAR(moved(0), stack + parameters * 30, 100);
    EXPECT_NEAR(moved(0.25), stack + 0.75 * parameters * 30, 100);
    EXPECT_NEAR(moved(1), stack, 100);
}

TEST(Offload, OfALayerIsAwaitedBeforeItsBackwardPass)
{
    const Program program = test::programOf(test::offloadedScenario(0, 8));
    const Pass& backward = program.passes[program.ranks[0].steps[1].pass];
    int arrived = 0, last = -1, asked = 0;
    for (const Op& op : backward.ops) {
        asked += op.stream == Stream::fromHost ? 1 : 0;
        if (op.kind == OpKind::wait && (op.waits & maskOf(Stream::fromHost)) != 0)
            arrived = asked; // it waits for all that was asked for
        if (op.kind != OpKind::compute || op.layer < 0)
            continue;
        if (op.layer != last) {
            EXPECT_EQ(arrived, 8 - op.layer) << "the layer's own, and those behind it";
            EXPECT_EQ(asked, std::min(8, 8 - op.layer + 1)) << "the one before it is on its way";
        }
        last = op.layer;
    }
    EXPECT_EQ(last, 0);
}

TEST(Offload, LeavesNothingBehind)
{
    for (const char* kind : {"1f1b", "gpipe", "zb-h1"})
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
            for (const int layers : {1, 2, 4}) {
                Scenario scenario = test::offloadedScenario(1, layers, 2);
                scenario.schedule.kind = kind;
                scenario.training.recompute = recompute;
                const Program program = test::programOf(scenario);
                for (const RankProgram& rank : program.ranks) {
                    std::int64_t held = 0;
                    for (const Step& step : rank.steps)
                        for (const Op& op : program.passes[step.pass].ops) {
                            held += op.allocBytes - op.freeBytes;
                            ASSERT_GE(held, 0) << program.labels[op.label];
                        }
                    EXPECT_EQ(held, 0) << kind << layers;
                }
            }
}
