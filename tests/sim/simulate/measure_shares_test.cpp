#include "sim/scenario/document.h"
#include "sim/simulate/action_class.h"
#include "sim/simulate/class_walk.h"
#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

using namespace sim;

namespace {

/// Op by op: a walk that leaves nothing out.
TimeShares opByOp(const Simulation& simulation, int c)
{
    TimeShares sums;
    ClassWalk(
        simulation.program(), simulation.classes(), simulation.prices(), simulation.times(), c,
        [&sums](const Op& op, const OpShape& shape, std::int64_t ns, std::int64_t beyondMeanNs) {
            const std::int64_t ofMean = ns - beyondMeanNs;
            sums.expertWaitNs += beyondMeanNs;
            sums.busyNs += ofMean;
            if (op.purpose == OpPurpose::recompute)
                sums.recomputationNs += ofMean;
            else if (op.purpose == OpPurpose::optimizer)
                sums.optimizerNs += ofMean;
            else if (isAttention(shape))
                sums.attentionNs += ofMean;
            else if (shape.kernel != KernelKind::memoryBound)
                sums.gemmNs += ofMean;
        },
        [&sums](std::optional<Stream> stream, std::uint16_t, std::int64_t begin, std::int64_t end) {
            const auto dimension = stream ? dimensionOf(*stream) : std::nullopt;
            (dimension ? sums.exposedNs[*dimension] : sums.exposedHostNs) += end - begin;
            sums.launchNs += stream ? 0 : end - begin;
        })
        .throughAll();
    return sums;
}

void expectSharesOfEveryOp(const Simulation& simulation, const std::string& of)
{
    for (int c = 0; c < simulation.classCount(); ++c) {
        const TimeShares& told = simulation.timeOfClass(c);
        const TimeShares sums = opByOp(simulation, c);
        for (const auto& [member, name] : {std::pair{&TimeShares::busyNs, "busy"},
                                           {&TimeShares::recomputationNs, "recomputation"},
                                           {&TimeShares::optimizerNs, "optimizer"},
                                           {&TimeShares::gemmNs, "gemm"},
                                           {&TimeShares::attentionNs, "attention"},
                                           {&TimeShares::exposedHostNs, "exposed to the host"},
                                           {&TimeShares::launchNs, "launches"},
                                           {&TimeShares::expertWaitNs, "waiting for experts"}})
            EXPECT_EQ(told.*member, sums.*member) << name << " of " << of << " class " << c;
        EXPECT_EQ(told.exposedNs, sums.exposedNs) << of << " class " << c;
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

/// Experts that have more tokens than the mean, whose kernels a host starts late, and some of it run again.
TEST(MeasureShares, OfRoutedTokens)
{
    for (const bool isOncePerNode : {false, true})
        for (const double imbalance : {1.0, 1.5}) {
            Scenario scenario = test::smallScenario(1, 2, 4, 32);
            scenario.model.numExperts = 8;
            scenario.model.numExpertsPerTok = 2;
            scenario.model.moeIntermediateSize = 512;
            scenario.layout.ep = 4;
            scenario.training.recompute = Recompute::full;
            scenario.training.recomputeLayers = 1;
            scenario.training.moe.imbalance = imbalance;
            scenario.training.moe.sendOncePerNode = isOncePerNode;
            scenario.training.stack.expertLaunchUs = 20;
            const auto simulation = simulate(scenario);
            expectSharesOfEveryOp(*simulation, "imbalance " + std::to_string(imbalance));
            TimeShares all;
            for (int c = 0; c < simulation->classCount(); ++c) {
                all.expertWaitNs += simulation->timeOfClass(c).expertWaitNs;
                all.launchNs += simulation->timeOfClass(c).launchNs;
                all.recomputationNs += simulation->timeOfClass(c).recomputationNs;
            }
            EXPECT_EQ(all.expertWaitNs > 0, imbalance > 1);
            EXPECT_GT(all.launchNs, 0);
            EXPECT_GT(all.recomputationNs, 0);
        }
}

TEST(MeasureShares, OfGalleryFiles)
{
    for (const char* name : {"42-llama3-405b-16384-gpus", "43-llama3-405b-131k-context", "32-one-trillion-4096-gpus"}) {
        const auto scenario = readScenario(std::string(RANKSCOPE_SOURCE_DIR "/scenarios/") + name + ".json", test::catalogue());
        expectSharesOfEveryOp(*simulate(scenario), name);
    }
}
