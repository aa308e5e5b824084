// Small jobs of every kind of model, machine and training that the simulator knows, everything of them tried: the planner says
// the same of each objective, of pipelines with given stages and of hosts that are full, too.
#include "tests/sim/planner/every_layout.h"

#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <utility>

using namespace sim;
using test::EveryLayout;
using test::jobText;
using test::kNoLayout;
using test::leastOf;
using test::PlanDice;
using test::someMargin;
using test::TriedLayout;

namespace {

/// Sets a key to one of these in one of so many jobs.
struct Rarely {
    unsigned oneIn;
    const char* pointer;
    std::vector<const char*> values;
};

/// Of any model: attention, heads, further tokens.
const std::vector<Rarely> kModels{
    {4, "model.sliding_window", {"128", "256"}},
    {3, "model.num_nextn_predict_layers", {"1", "2"}},
    {4, "model.position_embedding", {"\"none\""}},
    {4, "model.gated_mlp", {"true", "false"}},
    {4, "model.bias", {"true"}},
    {6, "model.hidden_act", {"\"relu2\"", "\"silu\""}},
};
const std::vector<Rarely> kLatent{{1, "model.kv_lora_rank", {"64", "128"}},
                                  {2, "model.q_lora_rank", {"96"}},
                                  {1, "model.qk_nope_head_dim", {"32", "64"}},
                                  {1, "model.qk_rope_head_dim", {"16", "32"}},
                                  {1, "model.v_head_dim", {"32", "64"}}};
const std::vector<Rarely> kExperts{{2, "model.num_shared_experts", {"1", "2"}},
                                   {3, "model.moe_layer_freq", {"2"}},
                                   {2, "training.moe.imbalance", {"1.3", "2"}},
                                   {3, "training.moe.send_once_per_node", {"true"}},
                                   {3, "training.moe.dispatch_dtype", {"\"fp8\""}}};
const std::vector<Rarely> kTraining{
    {3, "training.overlap.grad_reduce", {"true", "false"}},
    {3, "training.overlap.param_gather", {"true", "false"}},
    {3, "training.overlap.tp_comm", {"true", "false"}},
    {3, "training.overlap.p2p", {"true", "false"}},
    {3, "training.overlap.ep_comm", {"true", "false"}},
    {4, "training.gradient_dtype", {"\"bf16\""}},
    {5, "training.optimizer", {"\"sgd\""}},
    {4, "training.offload.optimizer", {"0.5", "1"}},
    {2, "cluster.host.memory_gib", {"0.01", "0.05"}},
    {6, "training.offload.activation_layers", {"1"}},
    {5, "training.loss_chunk_tokens", {"256"}},
    {6, "training.causal", {"false"}},
    {4, "layout.reshard_after_forward", {"true", "false"}},
    {4, "layout.reduce_each_microbatch", {"true", "false"}},
    {6, "training.documents", {"[128,384]"}},
    {6, "training.moment_dtype", {"\"bf16\""}},
    {3, "training.stack.exchanges_heads", {"true"}},
};

void take(ScenarioDocument& job, const std::vector<Rarely>& keys, PlanDice& dice)
{
    for (const Rarely& key : keys)
        if (dice.oneIn(key.oneIn))
            job.set(key.pointer, dice.of(key.values));
}

/// A legal job, of which each change that the reader does not take was left out again.
PlanRequest anyJob(PlanDice& dice)
{
    PlanRequest request = test::randomJob(dice, {2, 3, 4, 6, 8});
    ScenarioDocument& job = request.document;
    const ScenarioDocument ofUsual = job;
    job.set("cluster.base", "\"" +
                                dice.word({"h100-sxm-ib400", "dgx-1-v100", "gb200-nvl72", "mi300x-roce400", "frontier",
                                           "workstation-2x3090", "h100-pcie"}) +
                                "\"");
    if (!job.resolve(test::catalogue()).scenario) // its domains do not hold nodes of so many GPUs
        job = ofUsual;
    const auto tryKeys = [&](const std::vector<Rarely>& keys) {
        const ScenarioDocument before = job;
        take(job, keys, dice);
        if (!job.resolve(test::catalogue()).scenario)
            job = before;
    };
    const bool isMoe = job.get("model.num_experts").has_value();
    for (const Rarely& key : kModels)
        tryKeys({key});
    if (dice.oneIn(4)) {
        const ScenarioDocument before = job;
        job.set("model.num_key_value_heads", *job.get("model.num_attention_heads"));
        take(job, kLatent, dice);
        if (!job.resolve(test::catalogue()).scenario)
            job = before;
    }
    for (const std::vector<Rarely>* keys : {&kExperts, &kTraining})
        for (const Rarely& key : *keys)
            if (isMoe || keys != &kExperts)
                tryKeys({key});
    return request;
}

/// Uneven stages that are said, of a pipeline that is held with them.
void holdStages(PlanRequest& request, PlanDice& dice)
{
    const int layers = std::stoi(*request.document.get("model.num_hidden_layers")), pp = request.gpus % 2 == 0 ? 2 : 3;
    const int first = dice.of(std::vector<int>{0, 1, layers - 1});
    request.fixed.emplace_back("layout.pp", std::to_string(pp));
    request.fixed.emplace_back("schedule.virtual_stages", "1");
    std::string list = "[" + std::to_string(first) + "," + std::to_string(layers - first);
    for (int stage = 2; stage < pp; ++stage)
        list += ",0";
    request.fixed.emplace_back("schedule.layers_per_stage", list + "]");
    std::erase_if(request.fixed, [](const PlanSetting& fixed) { return fixed.first == "schedule.kind"; });
    request.fixed.emplace_back("schedule.kind", dice.word({"1f1b", "gpipe", "zb-h1"}));
}

} // namespace

TEST(PlannerBruteForce, FindsTheBestOfAnyJobByEveryObjective)
{
    constexpr std::array kObjectives{PlanObjective::time, PlanObjective::headroom, PlanObjective::gpuHours, PlanObjective::cost,
                                     PlanObjective::tokens};
    PlanDice dice(test::seed(77));
    int jobs = 0, layouts = 0, none = 0, spread = 0, uneven = 0, sharded = 0, rings = 0, hosts = 0;
    for (int tried = 0; tried < test::tries(60); ++tried) {
        PlanRequest request = anyJob(dice);
        test::holdSome(request, dice);
        const bool saysStages = dice.oneIn(4) && (request.gpus % 2 == 0 || request.gpus % 3 == 0);
        if (saysStages)
            holdStages(request, dice);
        SCOPED_TRACE(std::to_string(tried) + ": " + jobText(request));
        try {
            requirePlannable(request, test::catalogue());
        } catch (const Error&) { // as held, whatever the layout
            continue;
        }
        const EveryLayout every(request);
        const std::vector<TriedLayout>& all = every.all();
        ++jobs;
        layouts += static_cast<int>(all.size());
        for (const TriedLayout& layout : all) {
            spread += layout.grid.ep > 1 ? 1 : 0;
            uneven += saysStages ? 1 : 0;
            rings += layout.grid.cp > 1 ? 1 : 0;
            hosts += layout.fitsHost ? 0 : 1;
            for (const auto& [pointer, value] : layout.settings)
                sharded += pointer == "layout.dp_shard" && std::stoi(value) < layout.grid.dp * layout.grid.cp ? 1 : 0;
        }
        const double gpuGib = resolvedScenario(request.document, test::catalogue()).cluster.gpu.memoryGib;
        request.marginGib = someMargin(all, dice, gpuGib);
        for (const PlanObjective objective : kObjectives) {
            request.objective = objective;
            request.price = 2;
            const PlanAnswer answer = plan(request, test::catalogue());
            SCOPED_TRACE("by " + std::to_string(static_cast<int>(objective)) + ", margin " + std::to_string(request.marginGib));
            EXPECT_EQ(answer.covered, static_cast<std::int64_t>(all.size()));
            EXPECT_TRUE(answer.proved);
            const auto [first, second] = leastOf(all, gpuGib - request.marginGib, objective);
            none += first == kNoLayout ? 1 : 0;
            ASSERT_EQ(answer.best.empty(), first == kNoLayout);
            if (answer.best.empty())
                continue;
            const PlannedLayout& best = answer.best.front();
            const bool byHeadroom = objective == PlanObjective::headroom;
            EXPECT_EQ(byHeadroom ? best.peakMemoryGib : best.stepSeconds, first);
            EXPECT_EQ(byHeadroom ? best.stepSeconds : best.peakMemoryGib, second);
        }
    }
    std::printf("%d jobs, %d layouts; %d with experts spread, %d in rings, %d sharded in groups, %d of given stages, %d too much "
                "for the host; "
                "%d plans without a layout\n",
                jobs, layouts, spread, rings, sharded, uneven, hosts, none);
    EXPECT_GT(layouts, 0);
}
