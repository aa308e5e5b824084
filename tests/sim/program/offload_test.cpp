// What is offloaded leaves and comes back whole.
#include "sim/program/program.h"
#include "tests/support/programs.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

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
        EXPECT_NEAR(static_cast<double>(of.at("optimizer on host")), fraction * parameters * (4 + 2 * 12 + 2), 30);
        const ModelStates states = test::programOf(scenario).ranks[0].states;
        EXPECT_NEAR(static_cast<double>(states.hostOptimizer), fraction * parameters * 12, 1);
        EXPECT_NEAR(static_cast<double>(states.optimizer), (1 - fraction) * parameters * 12, 1);
    }
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
