// The bounds that a plan is proved by: no step of the engine goes below them, and memory is the engine's own.
#include "sim/planner/floors.h"
#include "sim/planner/tight_floor.h"

#include "sim/index.h"
#include "sim/legal/legal.h"
#include "sim/memory_limit.h"
#include "sim/program/stage_content.h"
#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <tuple>
#include <vector>

using namespace sim;

namespace {

/// That layout alone: its kind and its stages are held.
PlanRequest asItIs(const Scenario& scenario)
{
    PlanRequest request{.document = ScenarioDocument::parse(resolvedText(scenario))};
    request.fixed = {{"schedule.kind", scenario.schedule.kind},
                     {"schedule.layers_per_stage", *request.document.get("schedule.layers_per_stage")}};
    return request;
}

bool canBePlanned(const Scenario& scenario)
{
    return !scenario.training.documents.areGiven() && scenario.layout.placement != PlacementRule::explicitList &&
           !scheduleFamily(scenario.schedule.kind).isWrittenOut;
}

/// The choice that a scenario has made.
Choice choiceOf(const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    return {.grid = {.tp = layout.tp, .cp = layout.cp, .pp = layout.pp, .dp = layout.dp, .ep = layout.ep, .etp = layout.etp},
            .microBatch = scenario.training.microBatchSize,
            .sequenceParallel = layout.sequenceParallel,
            .zeroStage = layout.zeroStage,
            .dpShard = layout.dpShard,
            .chunks = scenario.schedule.virtualStages,
            .recompute = scenario.training.recompute,
            .recomputeLayers = scenario.training.recomputeLayers};
}

/// Legal ones of all that is searched, of these orders of ranks; none given: of any.
std::vector<Choice> randomChoices(const PlanSpace& space, std::mt19937& random, std::size_t count, std::vector<int> orders = {})
{
    if (orders.empty())
        for (std::size_t i = 0; i < space.orders.size(); ++i)
            orders.push_back(static_cast<int>(i));
    std::vector<Choice> choices;
    const auto anyOf = [&](const auto& values) { return values[random() % values.size()]; };
    const std::vector<PlanGrid> grids = space.grids();
    while (choices.size() < count) {
        Choice choice{.grid = anyOf(grids), .order = anyOf(orders)};
        const auto microBatches = space.microBatches(choice.grid);
        choice.kind = static_cast<int>(random() % space.kinds.size());
        const auto chunks = space.chunkCounts(choice.grid, choice.kind);
        if (microBatches.empty() || chunks.empty())
            continue;
        choice.microBatch = anyOf(microBatches);
        choice.chunks = anyOf(chunks);
        const std::vector<bool> parallels = space.sequenceParallels(choice.grid);
        choice.sequenceParallel = parallels[random() % parallels.size()];
        choice.zeroStage = anyOf(space.zeroStages(choice.grid));
        choice.dpShard = anyOf(space.shards(choice.grid, choice.zeroStage));
        choice.recompute = anyOf(space.recomputes());
        choice.recomputeLayers =
            choice.recompute == Recompute::full ? 1 + static_cast<int>(random() % asIndex(space.layersOfChunk(choice))) : 0;
        if (isLegal(space.scenarioOf(choice)))
            choices.push_back(choice);
    }
    return choices;
}

} // namespace

TEST(TightFloor, IsNoMoreThanTheStepAndHoldsWhatTheEngineHolds)
{
    for (const double besideTransfers : {1.0, 1.07, 1.5}) {
        std::mt19937 random(181);
        std::vector<double> errors;
        int looks = 0; // that told more
        for (int i = 0; i < 90; ++i) {
            Scenario scenario = test::randomScenario(random, 32);
            scenario.perturbations.clear();
            scenario.cluster.efficiency.besideTransfers = besideTransfers;
            scenario.training.stack.exchangesHeads = i % 2 == 0;
            if (!canBePlanned(scenario))
                continue;
            SCOPED_TRACE(test::describe(scenario));
            const TightFloor floor = tightFloor(scenario);
            double last = floor.stepNs; // it rises with what the engine has found
            SimulateOptions options;
            for (const double share : {0.1, 0.3, 0.6, 0.9})
                options.watch.atNs.push_back(static_cast<std::int64_t>(share * floor.stepNs));
            options.watch.goesOn = [&](const PreparedStep& prepared, const EngineProgress& progress) {
                const double now = StepFloor(prepared.scenario, prepared.program).ns(prepared, progress);
                EXPECT_GE(now, last);
                looks += now > floor.stepNs ? 1 : 0;
                last = now;
                return true;
            };
            const auto step = simulate(scenario, options);
            const double ns = step->metrics().stepTimeSeconds * 1e9;
            EXPECT_LE(last, ns + 1);
            EXPECT_NEAR(floor.peakBytes / kBytesPerGib, step->metrics().peakMemoryGib, 1e-9);
            errors.push_back(1 - floor.stepNs / ns);
        }
        ASSERT_GT(errors.size(), 40U);
        EXPECT_GT(looks, 10);
        std::sort(errors.begin(), errors.end());
        const double p50 = errors[errors.size() / 2], p95 = errors[errors.size() * 95 / 100];
        std::printf("kernels x %.2f beside transfers: closed form below the engine by %.2f %% (median), %.2f %% (p95), %.2f %% "
                    "(most) of %zu\n",
                    besideTransfers, 100 * p50, 100 * p95, 100 * errors.back(), errors.size());
        EXPECT_LT(p50, 0.01);
        EXPECT_LT(p95, 0.03);
    }
}

/// A job of the gallery's kind, on a cluster whose kernels lose to transfers and whose pods end between replicas.
TEST(TightFloor, IsNoMoreThanTheStepOfLayoutsOfARealJob)
{
    constexpr const char* kJob = R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"base": "llama3-8b"},
      "cluster": {"base": "h100-sxm-ib400",
                  "tiers": [{"name": "nvlink", "span": 8, "bandwidth_gbs": 450, "latency_us": 2},
                            {"name": "pod", "span": 16, "bandwidth_gbs": 50, "latency_us": 6},
                            {"name": "spine", "span": "all", "bandwidth_gbs": 7, "latency_us": 10}]},
      "layout": {"tp": 2, "pp": 2, "dp": 8},
      "training": {"sequence_length": 2048, "micro_batch_size": 1, "global_batch_size": 64}})";
    const PlanRequest request{.document = ScenarioDocument::parse(kJob), .freed = {"layout.order", "layout.placement"}};
    const PlanSpace space(request, test::catalogue());
    const auto found = std::find(space.orders.begin(), space.orders.end(), RankOrder{"tp-cp-pp-dp", PlacementRule::packed});
    const std::vector<int> usual{0, static_cast<int>(found - space.orders.begin())};
    std::mt19937 random(184);
    std::vector<double> errors;
    for (const bool isUsual : {true, false})
        for (const Choice& choice : randomChoices(space, random, isUsual ? 60 : 15, isUsual ? usual : std::vector<int>{})) {
            const Scenario scenario = space.scenarioOf(choice);
            SCOPED_TRACE(test::describe(scenario));
            const double ns = simulate(scenario)->metrics().stepTimeSeconds * 1e9;
            const double floor = tightFloor(scenario).stepNs;
            EXPECT_LE(floor, ns + 1);
            const Floors floors(space);
            const LayoutFloor cheap = floors.floorOf(choice, scenario, *floors.partsOf(choice, scenario),
                                                     *floors.shardsOf(choice, scenario), floors.orderOf(choice, scenario).get());
            EXPECT_LE(cheap.stepNs, ns + 1);
            if (isUsual)
                errors.push_back(1 - floor / ns);
        }
    std::sort(errors.begin(), errors.end());
    std::printf("closed form below the engine by %.2f %% (median), %.2f %% (p95) of %zu\n", 100 * errors[errors.size() / 2],
                100 * errors[errors.size() * 95 / 100], errors.size());
    EXPECT_LT(errors[errors.size() * 95 / 100], 0.03);
}

/// Two replicas whose ranks have the same neighbours in every group, and messages that leave a node at different stages.
TEST(TightFloor, TakesPipelinesWhoseMessagesLieDifferentlyForNoReplicasAlike)
{
    constexpr const char* kJob = R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"num_hidden_layers": 9, "hidden_size": 512, "intermediate_size": 1536, "num_attention_heads": 16,
                "vocab_size": 4096},
      "cluster": {"gpu": {"peak_tflops": {"bf16": 989}, "memory_gib": 80, "memory_bandwidth_gbs": 3350, "multiprocessors": 132},
                  "gpus_per_node": 4,
                  "tiers": [{"name": "nvlink", "span": 4, "bandwidth_gbs": 450, "latency_us": 3},
                            {"name": "network", "span": "all", "bandwidth_gbs": 50, "latency_us": 10}],
                  "efficiency": {"beside_transfers": 1.5}},
      "layout": {"tp": 2, "pp": 3, "dp": 4, "order": "tp-cp-pp-dp", "zero_stage": 1, "dp_shard": 4},
      "schedule": {"kind": "v-half", "virtual_stages": 2},
      "training": {"sequence_length": 256, "micro_batch_size": 1, "global_batch_size": 12, "attention": "unfused",
                   "stack": {"gathers_chunks": false}}})";
    const Scenario scenario = resolvedScenario(ScenarioDocument::parse(kJob), test::catalogue());
    EXPECT_LE(tightFloor(scenario).stepNs, simulate(scenario)->metrics().stepTimeSeconds * 1e9 + 1);
}

/// Of both passes of all layers of a micro-batch, each layer lowered whole.
double kernelsOfLayersNs(const Scenario& scenario)
{
    const CostModel cost(scenario);
    Labels labels;
    PassBuilder builder(scenario, labels);
    double sum = 0;
    for (int layer = 0; layer < scenario.model.numHiddenLayers; ++layer) {
        const StageContent content =
            makeStageContent(scenario, Sharding::of(scenario), {.layers = {scenario.model.layerKind(layer)}});
        for (const Pass& pass : {builder.forward(content, {}, nullptr), builder.backward(content, ActionKind::backward, {})})
            for (std::size_t i = 0; i < pass.ops.size(); ++i)
                if (pass.ops[i].kind == OpKind::compute)
                    sum += static_cast<double>(cost.kernelNs(pass.shapes[i]));
    }
    return sum;
}

TEST(Floor, IsNoMoreThanTheStepNorTheMemory)
{
    std::mt19937 random(182);
    double sum = 0;
    int count = 0;
    for (int i = 0; i < 130; ++i) {
        Scenario scenario = test::randomScenario(random, 32);
        scenario.perturbations.clear();
        scenario.cluster.tiers.back().gpusPerNic = i % 3 == 0 ? 4 : 1;
        if (!canBePlanned(scenario) || scheduleFamily(scenario.schedule.kind).cutsSequences())
            continue;
        SCOPED_TRACE(test::describe(scenario));
        const PlanRequest request = asItIs(scenario);
        const PlanSpace space(request, test::catalogue());
        const Choice choice = choiceOf(scenario);
        const Scenario made = space.scenarioOf(choice);
        ASSERT_EQ(made.layout, scenario.layout);
        ASSERT_EQ(made.schedule, scenario.schedule);
        ASSERT_EQ(made.training, scenario.training);
        ASSERT_EQ(made.cluster, scenario.cluster);
        const Floors floors(space);
        const auto parts = floors.partsOf(choice, made);
        const LayoutFloor floor = floors.floorOf(choice, made, *parts, *floors.shardsOf(choice, made));
        const auto step = simulate(scenario);
        const double ns = step->metrics().stepTimeSeconds * 1e9;
        EXPECT_LE(floors.leastOfShape(choice, made, *parts), ns + 1);
        EXPECT_LE(floor.stepNs, ns + 1);
        const StateFloor states = floors.leastStatesOf(choice.grid);
        const LayoutFloor least = floors.leastOf(choice, made, states).at(choice.recompute);
        EXPECT_LE(states.bytes, least.bytes);
        EXPECT_LE(least.stepNs, ns + 1);
        if (scenario.training.recompute != Recompute::full) {
            EXPECT_EQ(least.stepNs, kernelsOfLayersNs(made) * (made.microbatches() / static_cast<double>(made.layout.pp)));
        }
        EXPECT_LE(least.bytes, step->metrics().peakMemoryGib * kBytesPerGib + 1);
        EXPECT_LE(floor.bytes, step->metrics().peakMemoryGib * kBytesPerGib + 1);
        if (const auto order = floors.orderOf(choice, made)) { // what passes are held at once says more, and not too much
            const LayoutFloor held = floors.floorOf(choice, made, *parts, *floors.shardsOf(choice, made), order.get());
            EXPECT_GE(held.bytes, floor.bytes);
            EXPECT_LE(held.bytes, step->metrics().peakMemoryGib * kBytesPerGib + 1);
        }
        sum += floor.stepNs / ns;
        ++count;
    }
    ASSERT_GT(count, 50);
    std::printf("floor is %.1f %% of the step on average of %d\n", 100 * sum / count, count);
    EXPECT_GT(sum / count, 0.6);
}

TEST(StateFloor, IsWhatShardsOfEverythingTake)
{
    const auto jobOf = [](const char* training) {
        return PlanRequest{.document = ScenarioDocument::parse(std::string(R"({
          "format": "rankscope-scenario", "version": 1,
          "model": {"base": "llama3-8b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8},
          "training": {"sequence_length": 2048, "global_batch_size": 64)") +
                                                               training + "}}")};
    };
    const auto bytesOf = [](const PlanRequest& request, const PlanGrid& grid) {
        const PlanSpace space(request, test::catalogue());
        return Floors(space).leastStatesOf(grid).bytes / kBytesPerGib;
    };
    constexpr double kParameters = 8'030'261'248;
    const PlanGrid replicas{.dp = 8}, split{.tp = 8, .etp = 8};
    EXPECT_NEAR(bytesOf(jobOf(""), replicas), 18 * kParameters / 8 / kBytesPerGib, 0.01) << "bf16 with fp32 gradients";
    EXPECT_NEAR(bytesOf(jobOf(""), split), 18 * kParameters / 8 / kBytesPerGib, 0.03)
        << "norms are whole, the vocabulary is padded";
    EXPECT_NEAR(bytesOf(jobOf(R"(, "offload": {"optimizer": 1})"), replicas), 6 * kParameters / 8 / kBytesPerGib, 0.01);
    PlanRequest whole = jobOf("");
    whole.fixed = {{"layout.zero_stage", "0"}};
    EXPECT_NEAR(bytesOf(whole, replicas), 18 * kParameters / kBytesPerGib, 0.01) << "each replica holds all of it";
    EXPECT_NEAR(bytesOf(whole, split), 18 * kParameters / 8 / kBytesPerGib, 0.03);
    const PlanSpace space(whole, test::catalogue());
    EXPECT_EQ(Floors(space).fewestGpusOfStates(10 * kBytesPerGib), 14) << "134.6 GiB";
}

// Parts priced for one layout serve all that split layers alike: whichever asked first, each gets what it would get alone.
TEST(Floor, IsTheSameWhateverWasPricedBefore)
{
    // The second time the GPUs of a node have one network card, which the ranks of a stage share: how many depends on the order.
    for (const char* nic : {"1", "8"}) {
        const std::string job = std::string(R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"num_hidden_layers": 8, "hidden_size": 512, "intermediate_size": 1408, "num_attention_heads": 8,
                "num_key_value_heads": 4, "vocab_size": 4096, "max_position_embeddings": 1024, "num_experts": 8,
                "num_experts_per_tok": 2, "moe_intermediate_size": 512, "first_k_dense_replace": 2},
      "cluster": {"base": "h100-sxm-ib400",
                  "tiers": [{"name": "nvlink", "span": 8, "bandwidth_gbs": 450, "latency_us": 3},
                            {"name": "network", "span": "all", "bandwidth_gbs": 50, "latency_us": 6, "gpus_per_nic": )") +
                                nic + R"(}]},
      "layout": {"tp": 2, "pp": 2, "dp": 4},
      "training": {"sequence_length": 512, "global_batch_size": 64}})";
        const PlanRequest request{.document = ScenarioDocument::parse(job), .freed = {"layout.order"}};
        const PlanSpace space(request, test::catalogue());
        std::mt19937 random(183);
        const std::vector<Choice> choices = randomChoices(space, random, 400);
        const auto floorBy = [&](const Floors& floors, const Choice& choice) {
            const Scenario scenario = space.scenarioOf(choice);
            const LayoutFloor floor =
                floors.floorOf(choice, scenario, *floors.partsOf(choice, scenario), *floors.shardsOf(choice, scenario));
            const StateFloor states = floors.leastStatesOf(choice.grid);
            const LayoutFloor least = floors.leastOf(choice, scenario, states).at(choice.recompute);
            return std::tuple(floor.stepNs, floor.bytes, floor.fullestRank, least.stepNs, least.bytes);
        };
        const Floors shared(space);
        for (const Choice& choice : choices) {
            SCOPED_TRACE(test::describe(space.scenarioOf(choice)));
            ASSERT_EQ(floorBy(shared, choice), floorBy(Floors(space), choice));
        }
    }
}

/// Stacks whose selective recomputation runs again before the gradient of the stage behind has come.
TEST(Floor, IsNoMoreThanTheStepWhereWhatRunsAgainNeedNotWaitForTheGradient)
{
    constexpr const char* kJob = R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"base": "gpt2"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "pp": 8, "dp": 1},
      "training": {"sequence_length": 512, "micro_batch_size": 1, "global_batch_size": 8}})";
    int count = 0;
    for (const auto& [pointer, value] : {std::pair{"training.stack", "\"pytorch-eager\""},
                                         {"training.stack", "\"pytorch-compiled\""},
                                         {"training.recompute", R"({"kind":"selective","modules":["core_attn","mlp"]})"}}) {
        ScenarioDocument document = ScenarioDocument::parse(kJob);
        document.set(pointer, value);
        const PlanRequest request{.document = document};
        const PlanSpace space(request, test::catalogue());
        const Floors floors(space);
        for (const PlanGrid& grid : space.grids())
            for (int kind = 0; grid.pp > 1 && kind < static_cast<int>(space.kinds.size()); ++kind)
                for (const int microBatch : {1, 2}) {
                    Choice choice{.grid = grid,
                                  .microBatch = microBatch,
                                  .dpShard = grid.dp * grid.cp,
                                  .kind = kind,
                                  .recompute = Recompute::selective};
                    choice.chunks = space.familyOf(choice).chunks.least;
                    const Scenario scenario = space.scenarioOf(choice);
                    if (!isLegal(scenario))
                        continue;
                    SCOPED_TRACE(test::describe(scenario));
                    const double ns = simulate(scenario)->metrics().stepTimeSeconds * 1e9;
                    EXPECT_LE(tightFloor(scenario).stepNs, ns + 1);
                    const auto parts = floors.partsOf(choice, scenario);
                    EXPECT_LE(floors.leastOfShape(choice, scenario, *parts), ns + 1);
                    const auto order = floors.orderOf(choice, scenario);
                    for (const PassOrder* const of : {order.get(), static_cast<const PassOrder*>(nullptr)})
                        EXPECT_LE(floors.floorOf(choice, scenario, *parts, *floors.shardsOf(choice, scenario), of).stepNs,
                                  ns + 1);
                    ++count;
                }
    }
    EXPECT_GT(count, 100);
}

namespace {

/// Of a file that says all of its layout: nothing of each bound is above what the engine says. How many steps were looked at:
/// none where it is not legal.
int expectBelowStep(const std::string& text)
{
    const auto resolved = ScenarioDocument::parse(text).resolve(test::catalogue());
    if (!resolved.scenario)
        return 0;
    const Scenario& scenario = *resolved.scenario;
    SCOPED_TRACE(test::describe(scenario));
    const PlanRequest request = asItIs(scenario);
    const PlanSpace space(request, test::catalogue());
    const Choice choice = choiceOf(scenario);
    const Scenario made = space.scenarioOf(choice);
    const auto step = simulate(scenario);
    const double ns = step->metrics().stepTimeSeconds * 1e9, bytes = step->metrics().peakMemoryGib * kBytesPerGib;
    EXPECT_LE(tightFloor(scenario).stepNs, ns + 1);
    const Floors floors(space);
    const auto parts = floors.partsOf(choice, made);
    EXPECT_LE(floors.leastOfShape(choice, made, *parts), ns + 1);
    const auto order = floors.orderOf(choice, made);
    for (const PassOrder* const of : {order.get(), static_cast<const PassOrder*>(nullptr)}) {
        const LayoutFloor floor = floors.floorOf(choice, made, *parts, *floors.shardsOf(choice, made), of);
        EXPECT_LE(floor.stepNs, ns + 1);
        EXPECT_LE(floor.bytes, bytes + 1);
    }
    return 1;
}

std::string jobOfStages(const std::string& model, const std::string& kind, int chunks, const std::vector<int>& layers,
                        const std::string& training)
{
    std::string list;
    int sum = 0;
    for (const int count : layers) {
        list += (list.empty() ? "[" : ", ") + std::to_string(count);
        sum += count;
    }
    return R"({"format": "rankscope-scenario", "version": 1, "cluster": {"base": "dgx-a100"},
      "model": {"vocab_size": 4096, "hidden_size": 512, "intermediate_size": 1536, "num_attention_heads": 8, "num_hidden_layers": )" +
           std::to_string(sum) + model + R"(}, "layout": {"tp": 1, "dp": 1, "pp": )" +
           std::to_string(static_cast<int>(layers.size()) / chunks) + R"(},
      "schedule": {"kind": ")" +
           kind + R"(", "virtual_stages": )" + std::to_string(chunks) + R"(, "layers_per_stage": )" + list + R"(]},
      "training": {"sequence_length": 1024, "global_batch_size": 16)" +
           training + "}}";
}

} // namespace

TEST(Floor, IsNoMoreThanTheStepWhereStagesHaveNoLayers)
{
    int count = 0;
    for (const char* training :
         {R"(, "micro_batch_size": 16)", R"(, "micro_batch_size": 2)",
          R"(, "micro_batch_size": 4, "recompute": "full", "lora": {"rank": 8})",
          R"(, "micro_batch_size": 16, "lora": {"rank": 8})", R"(, "micro_batch_size": 2, "lora": {"rank": 8})"}) {
        for (const char* kind : {"1f1b", "gpipe", "zb-h1"})
            for (const std::vector<int>& layers :
                 {std::vector{0, 3}, {3, 0}, {0, 0, 3}, {0, 3, 0}, {1, 0, 2}, {0, 1, 1, 1, 0}, {1, 1, 1, 0, 0}})
                count += expectBelowStep(jobOfStages("", kind, 1, layers, training));
        for (const char* kind : {"interleaved-1f1b", "looped-bfs", "zb-v", "v-half", "v-min", "dualpipe-v"})
            for (const std::vector<int>& layers :
                 {std::vector{1, 2, 0, 1}, {0, 3, 0, 1}, {0, 0, 2, 1}, {1, 2, 1, 1, 0, 0, 1, 0}, {0, 1, 0, 0, 2, 0, 0, 1}})
                count += expectBelowStep(jobOfStages("", kind, 2, layers, training));
    }
    EXPECT_GT(count, 200);
}

/// As jobs do that give the head and what predicts further tokens a rank of their own.
TEST(Floor, IsNoMoreThanTheMemoryWherePredictionLiesAloneWithTheHead)
{
    int count = 0;
    for (const char* model : {R"(, "num_nextn_predict_layers": 1)", R"(, "num_nextn_predict_layers": 2)"})
        for (const char* recompute : {R"("none")", R"("full")", R"({"kind": "full", "layers": 1})",
                                      R"({"kind": "full", "layers": 2})", R"({"kind": "full", "layers": 3})"})
            for (const std::vector<int>& layers : {std::vector{2, 2, 0}, {1, 1, 1, 0}, {2, 1, 1}}) {
                const std::string training = std::string(R"(, "micro_batch_size": 2, "recompute": )") + recompute;
                count += expectBelowStep(jobOfStages(model, "1f1b", 1, layers, training));
                count += expectBelowStep(jobOfStages(model, "gpipe", 1, layers, training));
            }
    EXPECT_GT(count, 30);
}
