#include "sim/scenario/document.h"
#include "sim/simulate/exposed_transfers.h"
#include "tests/support/catalogue.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <string>

using namespace sim;

namespace {

/// Op by op, of a class without routed tokens.
TimeShares opByOp(const Simulation& simulation, int c)
{
    TimeShares sums;
    for (const ExposedTransfer& each : exposedTransfers(simulation, c))
        (each.dimension ? sums.exposedNs[*each.dimension] : sums.exposedHostNs) += each.endNs - each.beginNs;
    const EngineResult& times = simulation.times();
    std::size_t place = times.firstOp[static_cast<std::size_t>(c)];
    const int pipelineRank = simulation.classes().pipelineRank[static_cast<std::size_t>(c)];
    for (const Step& step : simulation.program().ranks[static_cast<std::size_t>(pipelineRank)].steps)
        for (const Op& op : simulation.program().passes[step.pass].ops) {
            if (op.kind == OpKind::compute)
                sums.busyNs += times.opEndNs[place] - times.opStartNs[place];
            ++place;
        }
    return sums;
}

void expectSharesOfEveryOp(const Simulation& simulation, const std::string& of)
{
    for (int c = 0; c < simulation.classCount(); ++c) {
        const TimeShares& told = simulation.timeOfClass(c);
        const TimeShares sums = opByOp(simulation, c);
        EXPECT_EQ(told.exposedNs, sums.exposedNs) << of << " class " << c;
        EXPECT_EQ(told.exposedHostNs, sums.exposedHostNs) << of << " class " << c;
        EXPECT_EQ(told.busyNs, sums.busyNs) << of << " class " << c;
    }
}

} // namespace

/// Micro-batches that take the same times are not looked at again, and those that do not are.
TEST(MeasureShares, AreThoseOfEveryOp)
{
    for (const double sigma : {0.0, 0.05})
        for (const int sequenceParallel : {0, 1})
            for (const int zero : {1, 3}) {
                Scenario scenario = test::smallScenario(2, 4, 2, 32);
                scenario.layout.sequenceParallel = sequenceParallel != 0;
                scenario.layout.zeroStage = zero;
                if (sigma > 0)
                    scenario.perturbations = {{.kind = PerturbationKind::jitter, .sigma = sigma},
                                              {.kind = PerturbationKind::slowLink, .rank = 3, .factor = 1.7}};
                expectSharesOfEveryOp(*simulate(scenario), std::to_string(sigma) + " " + std::to_string(zero));
            }
}

TEST(MeasureShares, OfGalleryFiles)
{
    for (const char* name : {"42-llama3-405b-16384-gpus", "43-llama3-405b-131k-context", "32-one-trillion-4096-gpus"}) {
        const auto scenario = readScenario(std::string(RANKSCOPE_SOURCE_DIR "/scenarios/") + name + ".json", test::catalogue());
        expectSharesOfEveryOp(*simulate(scenario), name);
    }
}
