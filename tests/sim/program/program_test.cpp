#include "sim/legal/schedule_request.h"
#include "sim/model/flops.h"
#include "sim/program/program.h"
#include "sim/program/states.h"
#include "sim/schedule/families/families.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace sim;

namespace {

Schedule scheduleOf(const Scenario& scenario)
{
    return makeSchedule(scheduleRequest(scenario));
}

/// The same schedule with every full backward split into I and W.
Schedule split(Schedule schedule)
{
    for (auto& row : schedule.actions) {
        std::vector<Action> parts;
        for (Action action : row) {
            action.overlapsNext = false;
            if (action.kind != ActionKind::backward) {
                parts.push_back(action);
                continue;
            }
            parts.push_back({.kind = ActionKind::backwardInput, .stage = action.stage, .microbatch = action.microbatch});
            parts.push_back({.kind = ActionKind::backwardWeight, .stage = action.stage, .microbatch = action.microbatch});
        }
        row = parts;
    }
    return schedule;
}

std::int64_t leakedBytes(const Program& program, const RankProgram& rank)
{
    std::int64_t held = 0;
    for (const Step& step : rank.steps)
        for (const Op& op : program.passes[step.pass].ops) {
            held += op.allocBytes - op.freeBytes;
            EXPECT_GE(held, 0) << program.labels[op.label];
        }
    return held;
}

} // namespace

TEST(Program, FreesEverythingItAllocates)
{
    std::mt19937 random(1);
    for (int i = 0; i < 60; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const Schedule schedule = scheduleOf(scenario);
        for (const Schedule& variant : {schedule, split(schedule)}) {
            const Program program = lowerProgram(scenario, variant);
            for (const RankProgram& rank : program.ranks)
                EXPECT_EQ(leakedBytes(program, rank), 0);
        }
    }
}

TEST(Program, EverySendHasItsReceiveAndEveryMailboxPlaceOneSender)
{
    std::mt19937 random(2);
    for (int i = 0; i < 40; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const Program program = lowerProgram(scenario, scheduleOf(scenario));
        std::set<std::pair<int, int>> sent, received;
        for (std::size_t rank = 0; rank < program.ranks.size(); ++rank)
            for (const Step& step : program.ranks[rank].steps) {
                if (step.sendSlot != kNoSlot) {
                    EXPECT_TRUE(sent.insert({step.sendTo, step.sendSlot}).second);
                }
                if (step.receiveSlot != kNoSlot) {
                    EXPECT_TRUE(received.insert({static_cast<int>(rank), step.receiveSlot}).second);
                    EXPECT_LT(step.receiveSlot, program.ranks[rank].slots);
                }
            }
        EXPECT_EQ(sent, received);
    }
}

TEST(Program, SplitBackwardDoesTheSameArithmetic)
{
    Scenario scenario = test::smallScenario(2, 2, 1);
    const auto flops = [&](const Schedule& schedule) {
        const Program program = lowerProgram(scenario, schedule);
        double sum = 0;
        for (const RankProgram& rank : program.ranks)
            for (const Step& step : rank.steps)
                for (const OpShape& shape : program.passes[step.pass].shapes)
                    sum += shape.flops;
        return sum;
    };
    const Schedule schedule = scheduleOf(scenario);
    EXPECT_DOUBLE_EQ(flops(schedule), flops(split(schedule)));
}

double flopsOf(const Program& program)
{
    double sum = 0;
    for (const RankProgram& rank : program.ranks)
        for (const Step& step : rank.steps)
            for (const OpShape& shape : program.passes[step.pass].shapes)
                sum += shape.flops;
    return sum;
}

TEST(Program, SlicesDoTheArithmeticOfTheirSequence)
{
    Scenario scenario = test::smallScenario(2, 2, 1, 4);
    const double whole = flopsOf(lowerProgram(scenario, scheduleOf(scenario)));
    scenario.schedule.kind = "seq-1f1b";
    for (const int slices : {1, 2, 4}) {
        scenario.schedule.sequenceSlices = slices;
        const Program program = lowerProgram(scenario, scheduleOf(scenario));
        EXPECT_NEAR(flopsOf(program), whole, 1e-9 * whole) << slices;
        EXPECT_EQ(program.sendBytes,
                  lowerProgram(test::smallScenario(2, 2, 1, 4), scheduleOf(test::smallScenario(2, 2, 1, 4))).sendBytes / slices);
    }
}

TEST(Program, BlocksDoTheArithmeticOfTheirPasses)
{
    Scenario scenario = test::smallScenario(1, 2, 4, 8);
    scenario.model.numExperts = 4;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 512;
    scenario.layout.ep = 4;
    const Program plain = lowerProgram(scenario, scheduleOf(scenario));
    scenario.training.overlap.epComm = true;
    const Program blocks = lowerProgram(scenario, scheduleOf(scenario));
    EXPECT_NEAR(flopsOf(plain), flopsOf(blocks), 1e-9 * flopsOf(plain));
    EXPECT_GT(blocks.ranks[0].steps.size(), plain.ranks[0].steps.size()) << "passes are cut";
}

TEST(Program, TwoCopiesOfTheModelTakeTwiceTheStates)
{
    Scenario scenario = test::smallScenario(1, 4, 1, 8);
    const auto parameters = [&] {
        std::int64_t sum = 0;
        for (const RankProgram& rank : lowerProgram(scenario, scheduleOf(scenario)).ranks)
            sum += rank.states.parameterElements;
        return sum;
    };
    const std::int64_t once = parameters();
    scenario.schedule.kind = "dualpipe";
    scenario.schedule.virtualStages = 2;
    EXPECT_EQ(parameters(), 2 * once);
    scenario.schedule = {.kind = "dualpipe-v", .virtualStages = 2};
    test::resolve(scenario);
    EXPECT_EQ(parameters(), once);
}

namespace {

/// Of kernels that are run for the first time, or again; all micro-batches of one pipeline.
double forwardFlops(const Program& program, OpPurpose purpose)
{
    double flops = 0;
    for (const RankProgram& rank : program.ranks)
        for (const Step& step : rank.steps) {
            const Pass& pass = program.passes[step.pass];
            for (std::size_t i = 0; i < pass.ops.size(); ++i)
                flops += pass.ops[i].purpose == purpose ? pass.shapes[i].flops : 0;
        }
    return flops;
}

} // namespace

TEST(Program, DoesTheFlopsThatAreCounted)
{
    for (const int modules : {0, 2})
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
            for (const int layers : {0, 3, 5}) {
                Scenario scenario = test::smallScenario(1, 2, 1);
                scenario.model.numNextnPredictLayers = modules;
                scenario.model.slidingWindow = 200;
                scenario.model.slidingWindowPattern = 2;
                scenario.training.recompute = recompute;
                scenario.training.recomputeLayers = recompute == Recompute::full ? layers : 0;
                const Program program = lowerProgram(scenario, scheduleOf(scenario));
                const StepFlops counted = stepFlops(scenario);
                EXPECT_NEAR(3 * forwardFlops(program, OpPurpose::forward), counted.modelCausal, counted.modelCausal * 1e-9);
                EXPECT_NEAR(forwardFlops(program, OpPurpose::recompute), counted.hardware - counted.modelCausal,
                            counted.modelCausal * 1e-9)
                    << modules << " modules, " << layers << " layers";
            }
}

TEST(Program, OfMultiTokenPredictionKeepsTheEmbeddingWhereItIsUsed)
{
    for (const bool tied : {false, true}) {
        Scenario scenario = test::smallScenario(2, 2, 1);
        scenario.model.tieWordEmbeddings = tied;
        const auto with = [&](int modules) {
            scenario.model.numNextnPredictLayers = modules;
            return lowerProgram(scenario, scheduleOf(scenario));
        };
        const Program none = with(0), one = with(1), two = with(2);
        EXPECT_EQ(one.ranks[0].states, none.ranks[0].states);
        const std::int64_t module = two.ranks[1].states.parameterElements - one.ranks[1].states.parameterElements;
        // A slice of layer and projection; norms whole.
        EXPECT_EQ(module, (3 * 1024 * 1024 + 3 * 1024 * 2816 + 2 * 1024 * 1024) / 2 + 5 * 1024);
        const std::int64_t embedding = std::int64_t{32000} * 1024 / 2;
        EXPECT_EQ(one.ranks[1].states.parameterElements - none.ranks[1].states.parameterElements,
                  module + (tied ? 0 : embedding)); // a tied head is the embedding
        for (const RankProgram& rank : one.ranks) { // both ends add up the embedding's gradients
            const Pass& finish = one.passes[rank.steps.back().pass];
            std::int64_t reduced = 0;
            for (std::size_t i = 0; i < finish.ops.size(); ++i)
                reduced += finish.ops[i].group == CommunicatorRole::embd ? finish.shapes[i].bytes : 0;
            EXPECT_EQ(reduced, embedding * 4);
        }
    }
}

TEST(Program, MiddleStagesShareTheirPasses)
{
    const Scenario scenario = test::smallScenario(1, 8, 1, 32);
    const Program program = lowerProgram(scenario, scheduleOf(scenario));
    EXPECT_LT(program.passes.size(), 30U);
    EXPECT_GT(program.opCount(), 8 * 32 * 20);
}

TEST(ModelStates, AreTheZeroPapers)
{
    // Rajbhandari et al. 2020, figure 1, with 32-bit gradients: 18 bytes a parameter; N ranks.
    Scenario scenario = test::smallScenario(1, 1, 4);
    const ParameterElements elements{.dense = 4'000'000};
    const auto total = [&](int zero) {
        scenario.layout.zeroStage = zero;
        const ModelStates s = modelStates(scenario, elements);
        return static_cast<double>(s.parameters + s.gradients + s.optimizer) / 4e6;
    };
    EXPECT_DOUBLE_EQ(total(0), 18);
    EXPECT_DOUBLE_EQ(total(1), 6 + 12.0 / 4);
    EXPECT_DOUBLE_EQ(total(2), 2 + 16.0 / 4);
    EXPECT_DOUBLE_EQ(total(3), 18.0 / 4);
}

TEST(ModelStates, OfParametersThatAreTheirOwnMasterCopyAreTwoBytesFewer)
{
    // FSDP2's mixed precision: parameters, gradients and two moments in fp32, and 16 bits only where they are gathered.
    Scenario scenario = test::smallScenario(1, 1, 4);
    scenario.layout.zeroStage = 3;
    const Program before = test::programOf(scenario);
    scenario.training.stack.parametersAreMaster = true;
    const ModelStates states = modelStates(scenario, {.dense = 4'000'000});
    EXPECT_EQ(states.parameters, 4'000'000);
    EXPECT_EQ(states.gradients, 4'000'000);
    EXPECT_EQ(states.optimizer, 8'000'000);
    EXPECT_EQ(StateBytes::of(scenario.training).ofUpdate(), 4 + 2 * 8 + 2 * 4);
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "param.gather"), test::bytesOf(before, "param.gather"));
    scenario.layout.reshardAfterForward = false;
    EXPECT_EQ(modelStates(scenario, {.dense = 4'000'000}).buffers, 8'000'000);
    scenario.training.precision = Precision::fp32;
    EXPECT_EQ(modelStates(scenario, {.dense = 4'000'000}).parameters, 4'000'000);
    EXPECT_EQ(modelStates(scenario, {.dense = 4'000'000}).buffers, 16'000'000);
}

TEST(ModelStates, WithoutAMasterCopyAreParametersGradientsAndTwoMomentsAlone)
{
    // As PyTorch's AdamW has them of parameters in bf16: torchtune's full fine-tuning, 8 bytes a parameter.
    Scenario scenario = test::smallScenario();
    scenario.training.masterWeights = false;
    scenario.training.gradientBytes = scenario.training.momentBytes = 2;
    for (const bool isMaster : {false, true}) {
        scenario.training.stack.parametersAreMaster = isMaster;
        const ModelStates states = modelStates(scenario, {.dense = 1'000'000});
        EXPECT_EQ(states.parameters + states.gradients + states.optimizer, 8'000'000);
        EXPECT_EQ(StateBytes::of(scenario.training).ofUpdate(), 2 + 2 * 4 + 2 * 2);
    }
    scenario.training.precision = Precision::fp32;
    EXPECT_EQ(modelStates(scenario, {.dense = 1'000'000}).parameters, 4'000'000);
}

TEST(ModelStates, OfMomentsInTwoBytesAreFourBytesFewer)
{
    Scenario scenario = test::smallScenario();
    const ParameterElements elements{.dense = 1'000'000};
    EXPECT_EQ(modelStates(scenario, elements).optimizer, 12'000'000) << "master copy and two moments";
    scenario.training.momentBytes = 2;
    EXPECT_EQ(modelStates(scenario, elements).optimizer, 8'000'000);
    scenario.training.optimizer = Optimizer::sgd;
    EXPECT_EQ(modelStates(scenario, elements).optimizer, 4'000'000);
    scenario.training.precision = Precision::fp32;
    EXPECT_EQ(modelStates(scenario, elements).optimizer, 0);
}

/// Else FSDP would take more in 8 bits than no sharding at all.
TEST(ModelStates, UnderZero3HaveNarrowCopiesOnlyWhileTheirWeightsAreGathered)
{
    Scenario scenario = test::smallScenario(2);
    scenario.layout.pp = scenario.layout.tp = 1;
    scenario.layout.dp = scenario.layout.dpShard = 4;
    scenario.layout.zeroStage = 3;
    scenario.model.vocabSize = 128; // a layer is the largest that is gathered
    scenario.training.stack.keepsNarrowWeights = true;
    scenario.cluster.gpu.peakTflops[Precision::fp8] = 1979;
    scenario.cluster.gpu.peakTflops.erase(Precision::mxfp8); // two copies
    const std::int64_t weightsOfLayer = 1024 * (1024 + 2 * 512) + 1024 * 1024 + 3 * 1024 * 2816;
    const auto mostAtOnce = [&](Precision precision) {
        scenario.training.precision = precision;
        const Program program = test::programOf(scenario);
        EXPECT_EQ(program.ranks.front().states.buffers, 0);
        std::int64_t most = 0;
        for (const Pass& pass : program.passes)
            for (const Op& op : pass.ops)
                if (pass.shapes[static_cast<std::size_t>(&op - pass.ops.data())].collective == CollectiveKind::allGather)
                    most = std::max<std::int64_t>(most, op.allocBytes);
        return most;
    };
    EXPECT_EQ(mostAtOnce(Precision::fp8), mostAtOnce(Precision::bf16) + 2 * weightsOfLayer);
    scenario.layout.reshardAfterForward = false;
    scenario.training.precision = Precision::fp8;
    EXPECT_EQ(test::programOf(scenario).ranks.front().states.narrowWeights, scenario.model.numHiddenLayers * 2 * weightsOfLayer)
        << "gathered for the step";
}

TEST(ModelStates, HaveTheNarrowCopiesOfWeightsThatTheSoftwareKeeps)
{
    Scenario scenario = test::smallScenario(2);
    const std::int64_t layers = scenario.model.numHiddenLayers;
    // Heads of 64: 16 of queries, 8 each of keys and values; MLP of 2816, gate, up and down. Half of each on a rank; embedding,
    // norms and output head stay in 16 bits.
    const std::int64_t weights = layers * (1024 * (1024 + 2 * 512) + 1024 * 1024 + 3 * 1024 * 2816) / 2;
    const auto buffers = [&](Precision precision) {
        scenario.training.precision = precision;
        std::int64_t bytes = 0;
        for (const RankProgram& rank : test::programOf(scenario).ranks) {
            EXPECT_EQ(rank.states.buffers, rank.states.narrowWeights);
            bytes += rank.states.buffers;
        }
        return bytes;
    };
    EXPECT_EQ(buffers(Precision::fp8), 0);
    scenario.training.stack.keepsNarrowWeights = true;
    EXPECT_EQ(buffers(Precision::bf16), 0);
    EXPECT_EQ(buffers(Precision::fp8), 2 * weights) << "one of them transposed";
    EXPECT_EQ(buffers(Precision::mxfp8), 2 * weights + weights / 16);
    EXPECT_EQ(buffers(Precision::nvfp4), weights + weights / 8);
    scenario.cluster.gpu.peakTflops[Precision::mxfp8] = 4500;
    EXPECT_EQ(buffers(Precision::fp8), weights) << "its tensor cores take a matrix either way round";
    scenario.training.stack.keepsNarrowWeights = false;
    EXPECT_EQ(buffers(Precision::fp8), 0) << "the parameters are narrow themselves";
}

TEST(ModelStates, AreReadAndWrittenByTheUpdate)
{
    // Gradient 4, each of master copy and moments 4 and twice, the parameter 2; without a master copy the parameter 4 and twice.
    Training training;
    EXPECT_EQ(StateBytes::of(training).ofUpdate(), 4 + 2 * 12 + 2);
    training.optimizer = Optimizer::sgd;
    EXPECT_EQ(StateBytes::of(training).ofUpdate(), 4 + 2 * 4 + 2);
    training.precision = Precision::fp32;
    EXPECT_EQ(StateBytes::of(training).ofUpdate(), 4 + 2 * 4);
    training.optimizer = Optimizer::adamw;
    EXPECT_EQ(StateBytes::of(training).ofUpdate(), 4 + 2 * 8 + 2 * 4);
}

TEST(ModelStates, SmallerShardGroupsKeepMore)
{
    Scenario scenario = test::smallScenario(1, 1, 8);
    scenario.layout.zeroStage = 3;
    const ParameterElements elements{.dense = 1'000'000};
    const std::int64_t all = modelStates(scenario, elements).optimizer;
    scenario.layout.dpShard = 2;
    EXPECT_EQ(modelStates(scenario, elements).optimizer, 4 * all);
}

TEST(ModelStates, ExpertsHaveAsManyReplicasAsTheOtherParameters)
{
    // 16 ranks: 8 hold the same experts; shard groups of 4 make 4 replicas of all, and a copy of the experts lies on 2.
    Scenario scenario = test::smallScenario(1, 1, 16);
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 512;
    scenario.layout.ep = 2;
    scenario.layout.zeroStage = 3;
    const ParameterElements experts{.routed = 1'000'000};
    EXPECT_EQ(modelStates(scenario, experts).optimizer, 12 * 1'000'000 / 8);
    scenario.layout.dpShard = 4;
    EXPECT_EQ(modelStates(scenario, experts).optimizer, 12 * 1'000'000 / 2);
    EXPECT_EQ(communicatorSize(CommunicatorRole::exptDp, scenario), 2);
    EXPECT_EQ(communicatorSize(CommunicatorRole::exptReplicate, scenario), 4);
    const Program program = lowerProgram(scenario, scheduleOf(scenario));
    std::map<std::string, std::int64_t> bytes;
    for (const Step& step : program.ranks[0].steps)
        for (std::size_t i = 0; i < program.passes[step.pass].ops.size(); ++i)
            bytes[program.labels[program.passes[step.pass].ops[i].label]] += program.passes[step.pass].shapes[i].bytes;
    EXPECT_GT(bytes["grad.reduce.experts.replicas"], 0);
    EXPECT_EQ(bytes["grad.reduce.experts.replicas"] * 2, bytes["grad.reduce.experts"]);
    scenario.layout.dpShard = 1; // more replicas than ranks that hold an expert
    EXPECT_EQ(modelStates(scenario, experts).optimizer, 12 * 1'000'000);
    scenario.layout.zeroStage = 0;
    EXPECT_EQ(communicatorSize(CommunicatorRole::exptDp, scenario), 8) << "one reduction over all";
    EXPECT_EQ(communicatorSize(CommunicatorRole::exptReplicate, scenario), 1);
}

TEST(Program, ZeroThreeGathersEachLayerTwiceAndReducesOnce)
{
    Scenario scenario = test::smallScenario(1, 1, 4, 1);
    scenario.layout.zeroStage = 3;
    const Program program = lowerProgram(scenario, scheduleOf(scenario));
    std::map<std::string, int> count;
    for (const Step& step : program.ranks[0].steps)
        for (const Op& op : program.passes[step.pass].ops)
            ++count[program.labels[op.label]];
    const int buckets = scenario.model.numHiddenLayers + 2; // embedding, layers, head
    EXPECT_EQ(count["param.gather"], 2 * buckets);
    EXPECT_EQ(count["grad.reduce"], buckets);
}

TEST(Program, GradientsLeaveOnceAStepBelowZeroTwo)
{
    for (const int zero : {0, 1}) {
        Scenario scenario = test::smallScenario(1, 1, 4, 8);
        scenario.layout.zeroStage = zero;
        const Program program = lowerProgram(scenario, scheduleOf(scenario));
        int reductions = 0;
        for (const Step& step : program.ranks[0].steps)
            for (const Op& op : program.passes[step.pass].ops)
                reductions += program.labels[op.label] == "grad.reduce" ? 1 : 0;
        EXPECT_EQ(reductions, scenario.model.numHiddenLayers + 2);
    }
}
