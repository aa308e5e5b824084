// What modules drop in the forward pass and run again in the backward pass, against shapes.
#include "sim/model/flops.h"
#include "sim/program/program.h"
#include "tests/support/programs.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

using namespace sim;

namespace {

using Module = RecomputeModule;

constexpr std::int64_t kTokens = 1024, kHidden = 1024, kWidth = 2816, kExpert = 512, kShared = 2 * 512, kHeads = 16;

/// Latent attention; two dense layers and six of experts, two of them shared.
Scenario scenarioOf(RecomputeModules modules, int tp = 1, int pp = 1)
{
    Scenario scenario = test::smallScenario(tp, pp);
    Model& m = scenario.model;
    m.numExperts = 8;
    m.numExpertsPerTok = 2;
    m.moeIntermediateSize = kExpert;
    m.numSharedExperts = 2;
    m.firstKDenseReplace = 2;
    m.qLoraRank = 256;
    m.kvLoraRank = 128;
    m.qkNopeHeadDim = 64;
    m.qkRopeHeadDim = 32;
    m.vHeadDim = 48;
    scenario.training.recompute = modules.empty() ? Recompute::none : Recompute::selective;
    scenario.training.recomputeModules = modules;
    return scenario;
}

/// Of a micro-batch, from forward to backward.
std::int64_t keptBytes(const Program& program)
{
    std::int64_t kept = 0;
    for (const Op& op : program.passes[program.ranks[0].steps.front().pass].ops)
        kept += op.allocBytes - op.freeBytes;
    return kept;
}

std::int64_t freedBy(Module module)
{
    return keptBytes(test::programOf(scenarioOf({}))) - keptBytes(test::programOf(scenarioOf({module})));
}

/// Kernels that run again in one micro-batch, by name.
std::map<std::string, int> again(const Program& program)
{
    std::map<std::string, int> out;
    for (const Op& op : program.passes[program.ranks[0].steps[1].pass].ops)
        if (op.purpose == OpPurpose::recompute)
            ++out[program.labels[op.label]];
    return out;
}

/// Bytes that the backward pass allocates, or what it runs again for it.
std::int64_t madeAgain(const Program& program)
{
    std::int64_t bytes = 0;
    for (const Op& op : program.passes[program.ranks[0].steps[1].pass].ops)
        bytes += op.buffer ? 0 : op.allocBytes;
    return bytes;
}

} // namespace

TEST(Rerun, FreesWhatItsOperatorsKeep)
{
    EXPECT_EQ(freedBy(Module::coreAttention), 8 * kTokens * kHeads * 4) << "a fused kernel keeps sums of its rows, no scores";
    // Inputs of the products behind a norm: one of attention, one of a dense MLP, one that router and shared experts read.
    EXPECT_EQ(freedBy(Module::layernorm), (8 + 2 + 6) * kTokens * kHidden * 2);
    // Queries and keys of 96 elements, values of 48.
    EXPECT_EQ(freedBy(Module::mlaUpProjection), 8 * kTokens * kHeads * (96 + 96 + 48) * 2);
    // What goes into the activation function, gate and up, and what comes out; the input stays.
    EXPECT_EQ(freedBy(Module::mlp), 2 * kTokens * 3 * kWidth * 2);
    EXPECT_EQ(freedBy(Module::sharedExperts), 6 * kTokens * 3 * kShared * 2);
    EXPECT_EQ(freedBy(Module::moeActivation), 6 * kTokens * 2 * kExpert * 2);
    // Of routed tokens their inputs and the three of the activation, what is put back in order; the shared experts'.
    EXPECT_EQ(freedBy(Module::moe), 6 * kTokens * 2 * (2 * (kHidden + 3 * kExpert + kHidden) + 3 * kShared));
}

TEST(Rerun, KeepsTheInputOfAModuleWhoseWeightsAreFrozen)
{
    const auto keptAdapted = [](RecomputeModules modules, bool up) {
        Scenario scenario = scenarioOf(modules);
        scenario.model = test::smallScenario().model;
        scenario.model.lora = {.rank = 8, .targets = {true, false, false, false, false, up, false}};
        return keptBytes(test::programOf(scenario));
    };
    // Without it nothing of the MLP's input: the activation function's, gate and up.
    const std::int64_t activation = 8 * kTokens * 2 * 2816 * 2, input = 8 * kTokens * kHidden * 2;
    EXPECT_EQ(keptAdapted({}, false) - keptAdapted({Module::mlp}, false), activation - input);
    EXPECT_EQ(keptAdapted({}, false) - keptAdapted({Module::mlp, Module::layernorm}, false), activation + input - input / 8)
        << "the norms' outputs go: of attention A has kept it, of the MLP the module. The first norm of all has no backward "
           "pass, "
           "and nothing else to begin with again than what it makes";
    EXPECT_EQ(keptAdapted({}, true) - keptAdapted({Module::mlp}, true), activation + 8 * kTokens * 8 * 2)
        << "A has kept the input already; its latent vectors go";
}

TEST(Rerun, OfNarrowProductsKeepsWhatModulesBeginWithWide)
{
    const auto kept = [](Precision precision, RecomputeModules modules, bool shares = false) {
        Scenario scenario = scenarioOf(modules);
        scenario.model = test::smallScenario().model;
        scenario.training.precision = precision;
        scenario.training.stack.narrowSaved = true;
        scenario.training.stack.sharesAttentionOutput = shares;
        return keptBytes(test::programOf(scenario));
    };
    const std::int64_t input = 8 * kTokens * kHidden, width = 8 * kTokens * 2816; // elements, in eight layers
    const auto freed = [&](RecomputeModules modules) { return kept(Precision::fp8, {}) - kept(Precision::fp8, modules); };
    EXPECT_EQ(kept(Precision::bf16, {}) - kept(Precision::fp8, {}), 3 * input + width - 2 * input)
        << "inputs of four products a layer, in one byte instead of two; attention keeps its output in two for itself";
    EXPECT_EQ(kept(Precision::bf16, {}) - kept(Precision::fp8, {}, true), 2 * input + width)
        << "the product behind attention keeps that output, and no narrow copy";
    EXPECT_EQ(kept(Precision::bf16, {}, true), kept(Precision::bf16, {}));
    const std::int64_t sums = 8 * kTokens * 16 * 4; // of the rows of 16 heads
    EXPECT_EQ(freed({Module::coreAttention}), 2 * input + sums) << "the narrow copy stays";
    EXPECT_EQ(kept(Precision::fp8, {}, true) - kept(Precision::fp8, {Module::coreAttention}, true), sums);
    EXPECT_EQ(freed({Module::layernorm}), 2 * input);
    EXPECT_EQ(freed({Module::mlp}), input + 2 * 2 * width + width - 2 * input) << "all of the MLP; its input stays, in two bytes";
    EXPECT_EQ(freed({Module::mlp, Module::layernorm}), 2 * input + 2 * 2 * width + width);
}

TEST(Rerun, OfFrozenAttentionMakesItsOutputAgain)
{
    const auto kept = [](RecomputeModules modules) {
        Scenario scenario = scenarioOf(modules);
        scenario.model = test::smallScenario().model;
        scenario.model.lora = {.rank = 8, .targets = {true, false, false, false, false, false, false}};
        return keptBytes(test::programOf(scenario));
    };
    EXPECT_EQ(kept({}) - kept({Module::coreAttention}), 8 * kTokens * (kHidden * 2 + kHeads * 4))
        << "no trained product has kept what the kernel's backward pass reads";
}

TEST(Rerun, OfAttentionSendsKeysAndValuesAgain)
{
    const auto sent = [](bool fused, bool windows, RecomputeModules modules) {
        Scenario scenario = test::smallScenario();
        scenario.layout.cp = 4;
        scenario.training.flashAttention = fused;
        scenario.model.slidingWindow = windows ? 100 : 0;
        scenario.training.recompute = modules.empty() ? Recompute::none : Recompute::selective;
        scenario.training.recomputeModules = modules;
        const Program program = test::programOf(scenario);
        std::map<bool, std::int64_t> bytes; // [again]
        for (const std::size_t i : {0U, 1U}) {
            const Pass& pass = program.passes[program.ranks[0].steps[i].pass];
            for (std::size_t k = 0; k < pass.ops.size(); ++k)
                if (pass.ops[k].kind == OpKind::collective && pass.ops[k].stream == Stream::cp)
                    bytes[pass.ops[k].again] += pass.shapes[k].bytes;
        }
        return bytes;
    };
    const std::int64_t whole = 8 * kTokens * kHidden * 2; // keys and values of half as many heads, in all layers
    using Bytes = std::map<bool, std::int64_t>;
    // A ring hands three blocks of four on; and with gradients, twice as much on its way back.
    EXPECT_EQ(sent(true, false, {}), (Bytes{{false, 3 * whole / 4 * 3}}));
    EXPECT_EQ(sent(true, false, {Module::coreAttention}), (Bytes{{false, 3 * whole / 4 * 3}, {true, whole / 4 * 3}}));
    // Gathered: forward, for the backward pass, and its gradients; unfused, what was gathered is kept.
    EXPECT_EQ(sent(true, true, {}), (Bytes{{false, 3 * whole}}));
    EXPECT_EQ(sent(true, true, {Module::coreAttention}), (Bytes{{false, 3 * whole}, {true, whole}}));
    EXPECT_EQ(sent(false, false, {}), (Bytes{{false, 2 * whole}}));
    EXPECT_EQ(sent(false, false, {Module::coreAttention}), (Bytes{{false, 2 * whole}, {true, whole}}));
}

TEST(Rerun, GathersForAQueryThatIsNotCompressed)
{
    const auto gathered = [](RecomputeModules modules) {
        Scenario scenario = scenarioOf(modules, 2);
        scenario.model.qLoraRank = 0;
        const Program program = test::programOf(scenario);
        const Pass& pass = program.passes[program.ranks[0].steps[1].pass];
        int count = 0;
        for (const Op& op : pass.ops)
            count += op.again && program.labels[op.label] == "regather" ? 1 : 0;
        return count;
    };
    EXPECT_EQ(gathered({Module::mlaUpProjection}), 8) << "of each layer the input that sequence parallelism has cut";
    EXPECT_EQ(gathered({Module::layernorm}), 0);
}

TEST(Rerun, OfTheSmallerModulesChangesNothingBesideAllOfTheExperts)
{
    const Program alone = test::programOf(scenarioOf({Module::moe}));
    const Program both = test::programOf(scenarioOf({Module::moe, Module::moeActivation, Module::sharedExperts}));
    EXPECT_EQ(keptBytes(alone), keptBytes(both));
    EXPECT_EQ(again(alone), again(both));
}

TEST(Rerun, OfWholeLayersKeepsTheirInputOnce)
{
    Scenario scenario = test::smallScenario();
    scenario.training.recompute = Recompute::full;
    const Program program = test::programOf(scenario);
    std::int64_t made = 0;
    for (const Op& op : program.passes[program.ranks[0].steps[1].pass].ops)
        made += op.again ? op.allocBytes : 0;
    // What a layer keeps without recomputation, but for the input: its norm reads the tensor that has been kept since.
    const std::int64_t layer =
        operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::dense).savedBytes() - kTokens * kHidden * 2;
    EXPECT_EQ(made, scenario.model.numHiddenLayers * layer);
}

TEST(Rerun, RunsItsOwnKernelsAndNoOthers)
{
    using Names = std::map<std::string, int>;
    EXPECT_EQ(again(test::programOf(scenarioOf({Module::layernorm}))),
              (Names{{"attn.norm", 8}, {"mlp.norm", 2}, {"moe.norm", 6}}));
    EXPECT_EQ(again(test::programOf(scenarioOf({Module::mlaUpProjection}))),
              (Names{{"attn.q_up", 8}, {"attn.kv_up", 8}, {"attn.rope", 8}}));
    EXPECT_EQ(again(test::programOf(scenarioOf({Module::moeActivation}))), (Names{{"moe.act", 6}}));
    EXPECT_EQ(again(test::programOf(scenarioOf({Module::mlp}))), (Names{{"mlp.up", 2}, {"mlp.act", 2}, {"mlp.down", 2}}));
    EXPECT_EQ(again(test::programOf(scenarioOf({Module::sharedExperts}))),
              (Names{{"shared.up", 6}, {"shared.act", 6}, {"shared.down", 6}}));
    EXPECT_EQ(again(test::programOf(scenarioOf({Module::coreAttention, Module::moe}))), (Names{{"attn.core", 8},
                                                                                               {"moe.router", 6},
                                                                                               {"moe.permute", 6},
                                                                                               {"moe.up", 6},
                                                                                               {"moe.act", 6},
                                                                                               {"moe.down", 6},
                                                                                               {"moe.unpermute", 6},
                                                                                               {"shared.up", 6},
                                                                                               {"shared.act", 6},
                                                                                               {"shared.down", 6}}));
}

TEST(Rerun, OfACompilerLeavesOutWhatNobodyReads)
{
    const auto compiled = [](Recompute kind, bool rerunsUnread, int tp = 1) {
        Scenario scenario = scenarioOf({Module::mlp}, tp);
        scenario.model = test::smallScenario().model; // eight dense layers
        scenario.training.recompute = kind;
        scenario.training.stack.rerunsUnread = rerunsUnread;
        return scenario;
    };
    using Names = std::map<std::string, int>;
    EXPECT_EQ(again(test::programOf(compiled(Recompute::selective, false))), (Names{{"mlp.up", 8}, {"mlp.act", 8}}));
    Names all = again(test::programOf(compiled(Recompute::full, true))),
          read = again(test::programOf(compiled(Recompute::full, false)));
    EXPECT_EQ(all["mlp.down"], 8);
    EXPECT_EQ(all["mlp.residual"], 8);
    all.erase("mlp.down");
    all.erase("mlp.residual");
    EXPECT_EQ(all, read);
    for (const Recompute kind : {Recompute::selective, Recompute::full}) {
        EXPECT_EQ(keptBytes(test::programOf(compiled(kind, true))), keptBytes(test::programOf(compiled(kind, false))));
        EXPECT_EQ(madeAgain(test::programOf(compiled(kind, true))), madeAgain(test::programOf(compiled(kind, false))))
            << "the input of the product that is left out is there for its weight gradient";
        const double down = 2.0 * 2816 * 1024 * 8 * 1024; // of eight layers and 1,024 tokens
        EXPECT_NEAR(stepFlops(compiled(kind, true)).hardware - stepFlops(compiled(kind, false)).hardware,
                    down * compiled(kind, true).training.globalBatchSize, 1e6);
    }
    EXPECT_EQ(again(test::programOf(compiled(Recompute::full, false, 2))).count("mlp.reduce"), 0U) << "nor its reduction";
}

/// torchtitan's list of operators: of query, key, value, output, gate, up and down every second product runs again.
TEST(Rerun, OfOperatorsKeepsAttentionAndEveryOtherProduct)
{
    const auto dense = [](bool isOn, int tp = 1) {
        Scenario scenario = test::smallScenario(tp);
        scenario.training.recompute = isOn ? Recompute::selective : Recompute::none;
        scenario.training.recomputeModules = {Module::operators};
        return scenario;
    };
    constexpr std::int64_t kKeys = kHidden / 2, kLayers = 8;
    std::map<std::string, int> names;
    for (const char* name : {"attn.norm", "attn.qkv", "attn.rope", "attn.out", "attn.residual", "mlp.norm", "mlp.up", "mlp.act"})
        names[name] = kLayers;
    const Program program = test::programOf(dense(true));
    EXPECT_EQ(again(program), names) << "no attention, no product whose result only leaves the layer";
    // Dropped: keys, what norms and the activation make, the sum after attention, what up made.
    EXPECT_EQ(keptBytes(test::programOf(dense(false))) - keptBytes(program),
              kLayers * kTokens * 2 * (kHidden + kKeys + kHidden + kHidden + kWidth + kWidth));
    const StepFlops flops = stepFlops(dense(true));
    EXPECT_NEAR(flops.hardware - flops.modelCausal,
                2.0 * kLayers * kHidden * (kKeys + kHidden + kWidth) * dense(true).training.globalBatchSize * kTokens, 1e6);
    // Under sequence parallelism a reduce-scatter's result is kept, gatherings come again for what runs again.
    std::map<std::string, int> collectives;
    const Program cut = test::programOf(dense(true, 2)), whole = test::programOf(dense(false, 2));
    for (const auto& [sign, of] : {std::pair{1, &cut}, {-1, &whole}})
        for (const Op& op : of->passes[of->ranks[0].steps[1].pass].ops)
            if (op.kind == OpKind::collective)
                collectives[of->labels[op.label]] += sign;
    std::erase_if(collectives, [](const auto& one) { return one.second == 0; });
    EXPECT_EQ(collectives, (std::map<std::string, int>{{"attn.gather", kLayers}, {"mlp.gather", kLayers}}));
}

TEST(Rerun, ComesBeforeTheFirstThatReadsWhatItMakes)
{
    // A product's weight gradient reads its input: the activation function's, a norm's, the router's and what it gives on.
    for (const auto& [module, made, reader] : {std::tuple{Module::moeActivation, "moe.act", "moe.down.wgrad"},
                                               {Module::layernorm, "attn.norm", "attn.q_down.wgrad"},
                                               {Module::layernorm, "moe.norm", "shared.up.wgrad"},
                                               {Module::mlp, "mlp.act", "mlp.down.wgrad"},
                                               {Module::moe, "moe.act", "moe.down.wgrad"},
                                               {Module::mlaUpProjection, "attn.q_up", "attn.core.backward"}}) {
        const Program program = test::programOf(scenarioOf({module}));
        int remade = 0, read = 0;
        for (const Op& op : program.passes[program.ranks[0].steps[1].pass].ops) {
            const std::string& label = program.labels[op.label];
            remade += op.again && op.kind == OpKind::compute && label == made ? 1 : 0;
            read += label == reader ? 1 : 0;
            ASSERT_LE(read, remade) << reader << " needs what " << made << " makes";
        }
        EXPECT_GT(read, 0);
        EXPECT_EQ(read, remade);
    }
}

TEST(Rerun, SendsOnlyWhatWholeModulesSend)
{
    const auto collectives = [](RecomputeModules modules, bool inPieces) {
        Scenario scenario = scenarioOf(modules, 2);
        scenario.training.overlap.tpComm = inPieces;
        scenario.layout.ep = 2;
        scenario.layout.etp = 1;
        std::map<std::string, std::int64_t> bytes;
        const Program program = test::programOf(scenario);
        const Pass& pass = program.passes[program.ranks[0].steps[1].pass];
        for (std::size_t i = 0; i < pass.ops.size(); ++i)
            if (pass.ops[i].kind == OpKind::collective)
                bytes[program.labels[pass.ops[i].label]] += pass.shapes[i].bytes;
        return bytes;
    };
    const std::int64_t tensor = kTokens * kHidden * 2;
    for (const bool inPieces : {false, true}) {
        const auto none = collectives({}, inPieces);
        EXPECT_EQ(collectives({Module::layernorm, Module::moeActivation}, inPieces), none);
        auto expected = none; // latents are kept in slices: gathered to be projected up again, and for the weights' gradients
        expected["attn.q_regather"] += 8 * kTokens * 256 * 2;
        expected["attn.kv_regather"] += 8 * kTokens * 128 * 2;
        EXPECT_EQ(collectives({Module::mlaUpProjection}, inPieces), expected);
        expected = none;
        expected["mlp.gather"] += 2 * tensor;
        expected["mlp.reduce"] += 2 * tensor;
        EXPECT_EQ(collectives({Module::mlp}, inPieces), expected);
        expected = none;
        expected["shared.gather"] += 6 * tensor;
        expected["shared.reduce"] += 6 * tensor;
        EXPECT_EQ(collectives({Module::sharedExperts}, inPieces), expected);
        expected["moe.dispatch"] *= 2; // there and back, and as much again
        expected["moe.combine"] *= 2;
        EXPECT_EQ(collectives({Module::moe}, inPieces)["moe.dispatch"], expected["moe.dispatch"]);
        EXPECT_EQ(collectives({Module::moe}, inPieces), expected);
    }
}

TEST(Rerun, BeginsNoSoonerThanItsPassHasItsGradient)
{
    for (const Module module : kRecomputeModules)
        for (const bool scatters : {false, true}) {
            Scenario scenario = scenarioOf({module}, scatters ? 2 : 1, 2);
            scenario.layout.sequenceParallel = false;
            scenario.training.stack.scattersSends = scatters;
            const Program program = test::programOf(scenario);
            int received = 0;
            for (const Step& step : program.ranks[0].steps) { // of the first stage, whose backward passes receive
                bool waited = false;
                for (const Op& op : program.passes[step.pass].ops) {
                    if (op.kind == OpKind::receive)
                        ++received, waited = false;
                    waited |= (op.waits & (maskOf(Stream::receive) | maskOf(Stream::tp))) != 0;
                    if (op.purpose == OpPurpose::recompute && op.stream == Stream::compute) {
                        EXPECT_TRUE(waited) << static_cast<int>(module) << " " << program.labels[op.label];
                    }
                }
            }
            EXPECT_EQ(received, 4);
        }
}

TEST(Rerun, IsCountedByHfuAndLeavesNothingBehind)
{
    for (unsigned bits = 1; bits < 1U << kRecomputeModules.size(); ++bits)
        for (const int tp : {1, 2}) {
            RecomputeModules modules;
            for (std::size_t i = 0; i < kRecomputeModules.size(); ++i)
                if ((bits >> i & 1U) != 0)
                    modules.add(kRecomputeModules[i]);
            Scenario scenario = scenarioOf(modules, tp);
            scenario.layout.etp = 1; // experts whole
            scenario.layout.ep = tp;
            scenario.training.overlap.tpComm = bits % 2 == 0;
            const Program program = test::programOf(scenario);
            double flops = 0;
            std::int64_t held = 0;
            for (const Step& step : program.ranks[0].steps) {
                const Pass& pass = program.passes[step.pass];
                for (std::size_t i = 0; i < pass.ops.size(); ++i) {
                    flops += pass.ops[i].purpose == OpPurpose::recompute ? pass.shapes[i].flops : 0;
                    held += pass.ops[i].allocBytes - pass.ops[i].freeBytes;
                    ASSERT_GE(held, 0) << bits << " " << program.labels[pass.ops[i].label];
                }
            }
            EXPECT_EQ(held, 0) << bits;
            const StepFlops counted = stepFlops(scenario);
            // A whole projection down to the latent vectors is on every rank, but nothing that runs again is.
            EXPECT_NEAR(flops * tp, counted.hardware - counted.modelCausal, counted.hardware * 1e-9) << bits << " tp " << tp;
        }
}
