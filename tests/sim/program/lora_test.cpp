#include "sim/model/flops.h"
#include "sim/model/operators.h"
#include "sim/model/parameters.h"
#include "sim/program/program.h"
#include "sim/program/states.h"
#include "sim/schedule/families/families.h"
#include "tests/support/programs.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

using namespace sim;

namespace {

constexpr int kRank = 16;

/// Beside the small scenario's llama: hidden size 1024, 16 heads of 64, 8 of keys and values, MLP 2816.
Scenario adapted(int tp, int pp, int dp, int zero = 0)
{
    Scenario scenario = test::smallScenario(tp, pp, dp);
    scenario.model.lora.rank = kRank;
    scenario.layout.zeroStage = zero;
    return scenario;
}

/// One layer's: A of inputs x rank and B of rank x outputs beside each of seven matrices.
std::int64_t layerAdapters(const Model& m)
{
    const std::int64_t h = m.hiddenSize, f = m.intermediateSize, q = std::int64_t{m.numAttentionHeads} * m.headDim,
                       k = std::int64_t{m.numKeyValueHeads} * m.headDim;
    return kRank * ((h + q) + 2 * (h + k) + (q + h) + 2 * (h + f) + (f + h));
}

/// Sum over all ops of one pipeline's ranks in a step.
double sum(const Program& program, const std::function<double(const Op&, const OpShape&, const std::string&)>& of)
{
    double out = 0;
    for (const RankProgram& rank : program.ranks)
        for (const Step& step : rank.steps) {
            const Pass& pass = program.passes[step.pass];
            for (std::size_t i = 0; i < pass.ops.size(); ++i)
                out += of(pass.ops[i], pass.shapes[i], program.labels[pass.ops[i].label]);
        }
    return out;
}

} // namespace

TEST(Lora, TrainsTheAdaptersAlone)
{
    Scenario scenario = adapted(1, 1, 1);
    const std::int64_t all = parameterCount(scenario.model),
                       adapters = scenario.model.numHiddenLayers * layerAdapters(scenario.model);
    EXPECT_EQ(trainableParameterCount(scenario.model), adapters);
    const ModelStates states = test::programOf(scenario).ranks[0].states;
    EXPECT_EQ(states.parameterElements, all + adapters);
    EXPECT_EQ(states.parameters, 2 * (all + adapters));
    EXPECT_EQ(states.gradients, 4 * adapters);
    EXPECT_EQ(states.optimizer, 12 * adapters);
    scenario.model.lora = {};
    EXPECT_EQ(parameterCount(scenario.model), all);
    EXPECT_EQ(trainableParameterCount(scenario.model), all);
}

TEST(Lora, HasAdaptersWhereItIsTold)
{
    Scenario scenario = adapted(1, 1, 1);
    scenario.model.lora.targets = {true, false, true, false, false, false, false};
    const Model& m = scenario.model;
    EXPECT_EQ(trainableParameterCount(m), std::int64_t{m.numHiddenLayers} * kRank *
                                              (2 * m.hiddenSize + (m.numAttentionHeads + m.numKeyValueHeads) * m.headDim));
}

TEST(Lora, CutsBothHalvesByTensorParallelRanks)
{
    const Scenario one = adapted(1, 2, 1), two = adapted(2, 2, 1);
    const Program whole = test::programOf(one), halves = test::programOf(two);
    for (std::size_t rank = 0; rank < 2; ++rank)
        EXPECT_EQ(2 * halves.ranks[rank].states.gradients, whole.ranks[rank].states.gradients);
}

TEST(Lora, ShardsWhatIsTrainedAndFrozenWeightsFromZeroThreeOn)
{
    const ParameterElements elements{.dense = 4'000'000, .frozenDense = 3'000'000};
    Scenario scenario = test::smallScenario(1, 1, 4);
    const auto at = [&](int zero) {
        scenario.layout.zeroStage = zero;
        return modelStates(scenario, elements);
    };
    for (int zero = 0; zero < 4; ++zero) {
        const ModelStates states = at(zero);
        EXPECT_EQ(states.parameters, 2 * 4'000'000 / (zero >= 3 ? 4 : 1)) << zero;
        EXPECT_EQ(states.gradients, 4 * 1'000'000 / (zero >= 2 ? 4 : 1)) << zero;
        EXPECT_EQ(states.optimizer, 12 * 1'000'000 / (zero >= 1 ? 4 : 1)) << zero;
    }
}

TEST(Lora, DoesTheFlopsThatAreCounted)
{
    for (const int tp : {1, 2})
        for (const Recompute recompute : {Recompute::none, Recompute::full}) {
            Scenario scenario = adapted(tp, 2, 1);
            scenario.layout.sequenceParallel = tp > 1;
            scenario.training.recompute = recompute;
            const Program program = test::programOf(scenario);
            const double tokens = 1.0 * scenario.training.globalBatchSize * scenario.training.sequenceLength;
            const ForwardFlops flops = forwardFlopsPerToken(scenario.model, scenario.training.sequenceLength);
            const auto purposed = [&](OpPurpose purpose) {
                return tp * sum(program, [&](const Op& op, const OpShape& shape, const std::string&) {
                           return op.purpose == purpose ? shape.flops : 0;
                       });
            };
            const auto ending = [&](const std::string& end) {
                return tp * sum(program, [&](const Op&, const OpShape& shape, const std::string& label) {
                           return label.ends_with(end) ? shape.flops : 0;
                       });
            };
            EXPECT_NEAR(purposed(OpPurpose::forward) / tokens, flops.linear + flops.attentionCausal, 1e-9 * flops.linear);
            // Nothing before the first layer's adapter is trained: neither it nor the product beside it passes a gradient on.
            const Model& m = scenario.model;
            const double first = 2.0 * m.hiddenSize * ((m.numAttentionHeads + 2.0 * m.numKeyValueHeads) * m.headDim + 3 * kRank);
            EXPECT_NEAR(ending(".dgrad") / tokens, flops.linear - first, 1e-9 * flops.linear);
            EXPECT_NEAR(ending(".wgrad") / tokens, flops.trained, 1e-9 * flops.linear);
            EXPECT_NEAR(flops.trained, 2.0 * static_cast<double>(trainableParameterCount(scenario.model)), 1e-3);
            const StepFlops counted = stepFlops(scenario);
            EXPECT_NEAR(counted.modelCausal, (2 * flops.linear + flops.trained + 3 * flops.attentionCausal) * tokens,
                        1e-9 * counted.modelCausal);
            EXPECT_NEAR(purposed(OpPurpose::recompute), counted.hardware - counted.modelCausal, 1e-9 * counted.modelCausal);
        }
}

TEST(Lora, HasNoGradientsOfFrozenWeights)
{
    const Program program = test::programOf(adapted(2, 1, 2));
    std::set<std::string> gradients;
    for (const std::string& label : program.labels)
        if (label.ends_with(".wgrad"))
            gradients.insert(label);
    const std::set<std::string> expected{"attn.qkv.lora_a.wgrad", "attn.qkv.lora_b.wgrad", "attn.out.lora_a.wgrad",
                                         "attn.out.lora_b.wgrad", "mlp.up.lora_a.wgrad",   "mlp.up.lora_b.wgrad",
                                         "mlp.down.lora_a.wgrad", "mlp.down.lora_b.wgrad"};
    EXPECT_EQ(gradients, expected);
    EXPECT_EQ(sum(program, [](const Op&, const OpShape&, const std::string& label) { return label == "embed.backward" ? 1 : 0; }),
              0);
}

TEST(Lora, SendsLatentVectorsBetweenTheRanksOfALayer)
{
    const auto bytes = [](int tp, const std::string& name) {
        const Scenario scenario = adapted(tp, 1, 1);
        const int times = scenario.model.numHiddenLayers * scenario.microbatches();
        return sum(test::programOf(scenario),
                   [&](const Op&, const OpShape& shape, const std::string& label) {
                       return label == name ? static_cast<double>(shape.bytes) : 0;
                   }) /
               times;
    };
    // Of a token's rank elements of two bytes, of each matrix that lies in the product; forward and backward.
    const double latent = 2.0 * 1024 * kRank * 2;
    for (const auto& [name, matrices] : {std::pair{"attn.qkv.lora_gather", 3},
                                         {"attn.out.lora_reduce", 1},
                                         {"mlp.up.lora_gather", 2},
                                         {"mlp.down.lora_reduce", 1}}) {
        EXPECT_EQ(bytes(1, name), 0) << name;
        EXPECT_EQ(bytes(2, name), matrices * latent) << name;
    }
}

TEST(Lora, GathersWhatAdaptersReadOnceMoreForTheirWeightGradients)
{
    const Scenario scenario = adapted(2, 1, 1);
    const double bytes = sum(test::programOf(scenario), [](const Op&, const OpShape& shape, const std::string& label) {
        return label == "regather" ? static_cast<double>(shape.bytes) : 0;
    });
    // Of each layer the inputs of attention and of the MLP, of which a rank keeps its slice.
    EXPECT_EQ(bytes, 2.0 * 1024 * 1024 * 2 * scenario.model.numHiddenLayers * scenario.microbatches());
}

TEST(Lora, ReducesGradientsOfAdaptersAlone)
{
    for (const int zero : {0, 1, 3}) {
        const Scenario scenario = adapted(1, 1, 4, zero);
        const Program program = test::programOf(scenario);
        const auto bytes = [&](const std::string& name) {
            return sum(program, [&](const Op&, const OpShape& shape, const std::string& label) {
                return label == name ? static_cast<double>(shape.bytes) : 0;
            });
        };
        const auto trained = static_cast<double>(trainableParameterCount(scenario.model));
        const auto all = static_cast<double>(parameterCount(scenario.model)) + trained;
        const int times = zero == 3 ? scenario.microbatches() : 1;
        EXPECT_EQ(bytes("grad.reduce"), 4 * trained * times) << zero;
        if (zero == 3) {
            EXPECT_GT(bytes("param.gather"), 2 * all) << "each pass gathers frozen weights, too";
        } else {
            EXPECT_EQ(bytes("param.gather"), zero == 1 ? 2 * trained : 0) << "frozen weights are whole everywhere";
        }
    }
}

TEST(Lora, FreesWhatItKeepsAndKeepsLess)
{
    for (const int tp : {1, 2})
        for (const bool split : {false, true})
            for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
                for (const unsigned targets : {127U, 7U, 64U, 8U}) {
                    Scenario scenario = adapted(tp, 2, 2, 1);
                    scenario.layout.sequenceParallel = tp > 1;
                    scenario.schedule.kind = split ? "zb-h1" : "1f1b";
                    scenario.training.recompute = recompute;
                    if (recompute == Recompute::selective)
                        scenario.training.recomputeModules = {RecomputeModule::coreAttention, RecomputeModule::layernorm,
                                                              RecomputeModule::mlp};
                    scenario.training.overlap.tpComm = tp > 1;
                    for (std::size_t i = 0; i < kLoraTargets.size(); ++i)
                        scenario.model.lora.targets[i] = ((targets >> i) & 1U) != 0;
                    const Program program = test::programOf(scenario);
                    for (const RankProgram& rank : program.ranks) {
                        std::int64_t held = 0;
                        for (const Step& step : rank.steps)
                            for (const Op& op : program.passes[step.pass].ops) {
                                held += op.allocBytes - op.freeBytes;
                                ASSERT_GE(held, 0) << program.labels[op.label];
                            }
                        EXPECT_EQ(held, 0) << tp << " " << split << " " << targets;
                    }
                }
    Scenario scenario = adapted(1, 1, 1);
    const Sharding sharding = Sharding::of(scenario);
    const auto saved = [&] { return operatorsOf(scenario.model, sharding, ModelPart::dense).savedBytes(); };
    scenario.model.lora.targets = {true, true, true, false, false, false, false};
    const std::int64_t attention = saved();
    scenario.model.lora = {};
    // Not kept: the inputs of the MLP's products. Kept besides: three latent vectors a token.
    EXPECT_EQ(saved() - attention, sharding.tokens() * 2 * (1024 + 2816 - 3 * kRank));
}

TEST(Lora, GathersAFrozenEmbeddingForTheForwardAlone)
{
    const auto gathers = [](const Scenario& scenario) {
        return sum(test::programOf(scenario),
                   [](const Op&, const OpShape&, const std::string& label) { return label == "param.gather" ? 1.0 : 0.0; });
    };
    Scenario scenario = adapted(1, 1, 4, 3);
    const double adaptedGathers = gathers(scenario);
    scenario.model.lora = {};
    EXPECT_EQ(adaptedGathers, gathers(scenario) - scenario.microbatches());
}

TEST(Lora, PassesNoGradientOnToWhatComesBeforeTheFirstAdapter)
{
    struct Case {
        unsigned targets;
        const char* idle; ///< of the first layer alone
    };
    for (const int tp : {1, 2})
        for (const bool split : {false, true})
            for (const Case& each : {Case{1U, "attn.norm"}, {8U, "attn.core"}, {64U, "mlp.act"}, {16U, "mlp.norm"}})
                for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
                    Scenario scenario = adapted(tp, 1, 1);
                    scenario.layout.sequenceParallel = tp > 1;
                    scenario.training.overlap.tpComm = split;
                    scenario.schedule.kind = split ? "zb-h1" : "1f1b";
                    scenario.training.recompute = recompute;
                    if (recompute == Recompute::selective)
                        scenario.training.recomputeModules = {RecomputeModule::coreAttention, RecomputeModule::layernorm,
                                                              RecomputeModule::mlp};
                    for (std::size_t i = 0; i < kLoraTargets.size(); ++i)
                        scenario.model.lora.targets[i] = ((each.targets >> i) & 1U) != 0;
                    const Program program = test::programOf(scenario);
                    const int layers = scenario.model.numHiddenLayers, microbatches = scenario.microbatches();
                    const auto times = [&](const std::string& label, bool first) {
                        std::int64_t count = 0, held = 0;
                        for (const Step& step : program.ranks[0].steps)
                            for (const Op& op : program.passes[step.pass].ops) {
                                count += program.labels[op.label] == label && (op.layer == 0) == first ? 1 : 0;
                                held += op.allocBytes - op.freeBytes;
                                EXPECT_GE(held, 0) << program.labels[op.label];
                            }
                        EXPECT_EQ(held, 0) << each.idle;
                        return count;
                    };
                    const std::string backward = std::string(each.idle) + ".backward";
                    EXPECT_EQ(times(backward, true), 0) << backward;
                    EXPECT_EQ(times(backward, false), (layers - 1) * microbatches) << backward;
                    EXPECT_EQ(times("attn.qkv.dgrad", true), 0);
                    EXPECT_EQ(times("attn.qkv.dgrad", false), (layers - 1) * microbatches);
                    const std::string a = each.targets == 1U    ? "attn.qkv.lora_a"
                                          : each.targets == 8U  ? "attn.out.lora_a"
                                          : each.targets == 64U ? "mlp.down.lora_a"
                                                                : "mlp.up.lora_a";
                    EXPECT_EQ(times(a + ".dgrad", true), 0);
                    EXPECT_EQ(times(a + ".wgrad", true), microbatches);
                    EXPECT_EQ(times(a + ".dgrad", false), (layers - 1) * microbatches);
                }
    Scenario scenario = adapted(1, 1, 1);
    scenario.model.lora.targets = {false, false, false, true, false, false, false};
    Sharding sharding = Sharding::of(scenario);
    const std::int64_t anywhere = operatorsOf(scenario.model, sharding, ModelPart::dense).savedBytes();
    sharding.beginsTraining = true;
    // Neither the first norm's input nor queries, keys, values and their log-sum-exp; the adapter keeps attention's output.
    EXPECT_EQ(anywhere - operatorsOf(scenario.model, sharding, ModelPart::dense).savedBytes(),
              sharding.tokens() * (2 * (1024 + 1024 + 2 * 512) + 16 * 4));
}

TEST(Lora, HasNoCopyInFp32OfWhatIsFrozen)
{
    Scenario scenario = adapted(1, 1, 1);
    const std::int64_t adapters = scenario.model.numHiddenLayers * layerAdapters(scenario.model),
                       frozen = parameterCount(scenario.model);
    EXPECT_EQ(test::programOf(scenario).ranks[0].states.parameters, 2 * (frozen + adapters));
    scenario.training.stack.parametersAreMaster = true;
    const ModelStates states = test::programOf(scenario).ranks[0].states;
    EXPECT_EQ(states.parameters, 2 * frozen + 4 * adapters);
    EXPECT_EQ(states.optimizer, 8 * adapters);
    // Nor where ranks have shards of them.
    scenario = adapted(1, 1, 4, 3);
    scenario.training.stack.parametersAreMaster = true;
    const ModelStates sharded = test::programOf(scenario).ranks[0].states;
    EXPECT_NEAR(static_cast<double>(sharded.parameters), static_cast<double>(2 * frozen + 4 * adapters) / 4, 8);
}

TEST(Lora, KeepsAndGathersFrozenLayersInFewerBits)
{
    Scenario scenario = adapted(1, 1, 4, 3);
    const Model& m = scenario.model;
    const std::int64_t h = m.hiddenSize, q = std::int64_t{m.numAttentionHeads} * m.headDim,
                       k = std::int64_t{m.numKeyValueHeads} * m.headDim,
                       matrices = m.numHiddenLayers * (2 * h * q + 2 * h * k + 3 * h * m.intermediateSize);
    const auto parameters = [&] { return static_cast<double>(test::programOf(scenario).ranks[0].states.parameters); };
    const auto gathered = [&] { return test::bytesOf(test::programOf(scenario), "param.gather"); };
    const double wide = parameters(), gatheredWide = gathered();
    const double uses = 2.0 * scenario.microbatches(); // forward and backward
    scenario.model.lora.base = LoraBase::fp8;
    EXPECT_NEAR(wide - parameters(), static_cast<double>(matrices) / 4, 4);
    EXPECT_NEAR(gatheredWide - gathered(), uses * static_cast<double>(matrices), 4 * uses);
    // NF4, section 3 of the paper: 0.127 bits of scales for each parameter.
    scenario.model.lora.base = LoraBase::nf4;
    EXPECT_NEAR(wide - parameters(), static_cast<double>(matrices) / 4 * (16 - 4.127) / 8, 1e-4 * wide);
    // Each product's weights are made wide for it, forward and for the gradient of its input.
    const OperatorList layer = operatorsOf(m, Sharding::of(scenario), ModelPart::dense);
    const auto up =
        std::find_if(layer.operators.begin(), layer.operators.end(), [](const Operator& op) { return op.name == "mlp.up"; });
    ASSERT_NE(up, layer.operators.end());
    EXPECT_EQ(up->passingBytes, 2 * 2 * h * m.intermediateSize);
    EXPECT_NEAR(static_cast<double>(up->forwardBytes), static_cast<double>(2 * h * m.intermediateSize) * (2 + 4.127 / 8), 1e4);
    EXPECT_EQ(up->backwardBytes, up->forwardBytes);
    scenario.model.lora.base = LoraBase::fp8; // which products in 8 bits read as it is
    scenario.training.precision = Precision::fp8;
    for (const Operator& op : operatorsOf(m, Sharding::of(scenario), ModelPart::dense).operators)
        EXPECT_EQ(op.passingBytes, 0) << op.name;
}

// PEFT, lora/layer.py: each target drops elements of its own copy of the input, which its A keeps beside the mask.
TEST(Lora, KeepsACopyAndAMaskOfEachTargetsInputWhereElementsAreDropped)
{
    Scenario scenario = adapted(1, 1, 1);
    const Model& m = scenario.model;
    const auto saved = [&] { return operatorsOf(m, Sharding::of(scenario), ModelPart::dense).savedBytes(); };
    const std::int64_t tokens = Sharding::of(scenario).tokens(), h = m.hiddenSize, f = m.intermediateSize,
                       q = std::int64_t{m.numAttentionHeads} * m.headDim;
    struct Case {
        std::array<bool, kLoraTargets.size()> targets;
        std::int64_t copies, before; ///< elements a token: dropped, and of what A keeps where nothing is
    };
    for (const Case& each : {Case{{true, false, true, false, false, false, false}, 2 * h, h},
                             Case{{false, false, false, true, false, false, false}, q, 0}, // attention keeps its output itself
                             Case{{true, true, true, true, true, true, true}, 3 * h + q + 2 * h + f, h + h + f}}) {
        scenario.model.lora.targets = each.targets;
        scenario.model.lora.dropout = 0;
        const std::int64_t plain = saved();
        scenario.model.lora.dropout = 0.05;
        EXPECT_EQ(saved() - plain, tokens * (3 * each.copies - 2 * each.before));
    }
    for (const int tp : {1, 2})
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
            scenario = adapted(tp, 1, 1);
            scenario.layout.sequenceParallel = tp > 1;
            scenario.training.recompute = recompute;
            scenario.training.recomputeModules = {RecomputeModule::layernorm, RecomputeModule::mlp};
            const auto regathers = [&] {
                return sum(test::programOf(scenario),
                           [](const Op&, const OpShape&, const std::string& label) { return label == "regather" ? 1.0 : 0.0; });
            };
            const double before = regathers();
            scenario.model.lora.dropout = 0.05;
            EXPECT_EQ(regathers(), before);
            std::int64_t held = 0;
            const Program program = test::programOf(scenario);
            for (const Step& step : program.ranks[0].steps)
                for (const Op& op : program.passes[step.pass].ops) {
                    held += op.allocBytes - op.freeBytes;
                    ASSERT_GE(held, 0) << program.labels[op.label];
                }
            EXPECT_EQ(held, 0) << tp;
        }
}
