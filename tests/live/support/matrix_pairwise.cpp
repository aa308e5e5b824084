#include "live/model/shape.h"
#include "sim/error.h"
#include "tests/live/support/covering.h"
#include "tests/live/support/matrix.h"

namespace live::test {
namespace {

struct Column {
    const char* name;
    std::vector<Settings> values; ///< the first is the plainest
};

constexpr int kMostRanks = 16;

const std::vector<Column> kColumns = {
    {"dp", {{}, {"layout.dp=2"}, {"layout.dp=4"}}},
    {"tp", {{}, {"layout.tp=2"}, {"layout.tp=4"}}},
    {"sp", {{}, {"layout.sequence_parallel=true"}}},
    {"cp", {{}, {"layout.cp=2"}, {"layout.cp=4"}}},
    {"pipeline",
     {{},
      {"layout.pp=2", "schedule.kind=gpipe"},
      {"layout.pp=2", "schedule.kind=1f1b"},
      {"layout.pp=4", "schedule.kind=1f1b"},
      {"layout.pp=2", "schedule.kind=interleaved-1f1b", "schedule.virtual_stages=2"},
      {"layout.pp=2", "schedule.kind=looped-bfs", "schedule.virtual_stages=2"},
      {"layout.pp=2", "schedule.kind=zb-h1"},
      {"layout.pp=4", "schedule.kind=zb-2p"},
      {"layout.pp=2", "schedule.kind=zb-v", "schedule.virtual_stages=2"},
      {"layout.pp=2", "schedule.kind=v-half", "schedule.virtual_stages=2"},
      {"layout.pp=2", "schedule.kind=interleaved-zb", "schedule.virtual_stages=2"},
      {"layout.pp=2", "schedule.kind=dualpipe", "schedule.virtual_stages=2"},
      {"layout.pp=2", "schedule.kind=dualpipe-v", "schedule.virtual_stages=2"},
      {"layout.pp=2", "schedule.kind=seq-1f1b", "schedule.sequence_slices=2"}}},
    {"zero", {{}, {"layout.zero_stage=1"}, {"layout.zero_stage=2"}, {"layout.zero_stage=3"}}},
    {"shard", {{}, {"layout.dp_shard=2"}}},
    {"reduce", {{}, {"training.overlap.grad_reduce=false"}}},
    {"gather", {{}, {"training.overlap.param_gather=false"}}},
    {"experts", {{}, kExperts, kExperts + Settings{"layout.ep=2"}, kExperts + Settings{"layout.ep=4"}}},
    {"etp", {{}, {"layout.etp=1"}, {"layout.etp=2"}}},
    {"tied", {{}, kTied}},
    {"dropout", {{}, {"live.dropout=0.1"}}},
    {"microbatches", {{"4"}, {"8"}}},
    {"sequences", {{}, {"training.micro_batch_size=2"}}},
    {"clip", {{}, {"live.clip_norm=0.05"}}},
    {"norm", {{}, {"model.normalization=rmsnorm"}}},
    {"activation", {{}, {"model.hidden_act=silu", "model.gated_mlp=true"}, {"model.hidden_act=relu2"}}},
    {"positions", {{}, {"model.position_embedding=rope"}, {"model.position_embedding=none"}}},
    {"queries", {{}, {"model.num_key_value_heads=2"}, {"model.num_key_value_heads=1"}}},
    {"shared_queries", {{}, kCopiedHeads}},
    {"sees", {{}, {"model.sliding_window=5"}, {"model.attention_chunk_size=6"}}},
    {"expert_bias", {{}, {"model.expert_bias=true"}}},
    {"shared", {{}, {"model.num_shared_experts=1"}}},
    {"router",
     {{},
      {"model.scoring_func=sigmoid", "model.router_bias=true", "model.n_group=2", "model.routed_scaling_factor=2.5"},
      {"model.norm_topk_prob=false", "model.router_bias=true"}}},
    {"order", {{}, {"layout.order=cp-dp-tp-ep-pp"}, {"layout.order=ep-dp-cp-tp-pp"}}},
    {"bias", {{}, {"model.bias=false"}, {"model.bias=false", "model.qkv_bias=true"}}},
    {"recompute", {{}, {R"(training.recompute="selective")"}, {R"(training.recompute="full")"}}},
    {"adapters", {{}, {R"(training.lora={"rank":4})"}}},
    {"causal", {{}, {"training.causal=false"}}},
    {"heads",
     {{},
      {"model.qk_norm=true"},
      {"model.attention_sinks=true"},
      {"model.position_embedding=rope", "model.bias=false", "model.kv_lora_rank=10", "model.qk_nope_head_dim=6",
       "model.qk_rope_head_dim=4", "model.v_head_dim=8"}}},
};

const Settings& valueOf(const Choice& row, std::size_t column)
{
    return kColumns[column].values[static_cast<std::size_t>(row[column])];
}

PairwiseJob jobOf(const Choice& row)
{
    PairwiseJob made{.options = {.steps = 2}};
    made.options.training.epsilon = 1e-5; // else Adam blows up the rounding of gradients that are 0
    int dp = 1, sequences = 1, microbatches = 4;
    for (std::size_t column = 0; column < kColumns.size(); ++column)
        for (const std::string& setting : valueOf(row, column)) {
            if (kColumns[column].name == std::string("microbatches"))
                microbatches = std::stoi(setting);
            else
                made.settings.push_back(setting);
            if (setting.starts_with("layout.dp="))
                dp = std::stoi(setting.substr(10));
            if (setting == "training.micro_batch_size=2")
                sequences = 2;
        }
    made.settings.push_back("training.global_batch_size=" + std::to_string(dp * sequences * microbatches));
    return made;
}

/// Allowed by the scenario's rules and by the runtime, and of a size for a test.
std::optional<sim::Scenario> scenarioOf(const PairwiseJob& made)
{
    std::optional<sim::Scenario> scenario = jobIfValid(made.settings);
    if (!scenario || scenario->layout.worldSize() > kMostRanks)
        return {};
    try {
        shapeOf(*scenario, {});
    } catch (const sim::Error&) {
        return {};
    }
    return scenario;
}

std::string textOf(const Choice& row)
{
    std::string text;
    for (std::size_t column = 0; column < kColumns.size(); ++column)
        for (const std::string& setting : valueOf(row, column))
            text += setting + " ";
    return text;
}

std::vector<int> sizesOfColumns()
{
    std::vector<int> sizes;
    sizes.reserve(kColumns.size());
    for (const Column& column : kColumns)
        sizes.push_back(static_cast<int>(column.values.size()));
    return sizes;
}

PairwiseJob namedJobOf(const Choice& row)
{
    PairwiseJob made = jobOf(row);
    made.text = textOf(row);
    return made;
}

} // namespace

PairwiseJobs pairwiseJobs()
{
    const CoveringArray array =
        coverAllPairs(sizesOfColumns(), 1, [](const Choice& row) { return scenarioOf(jobOf(row)).has_value(); });
    PairwiseJobs all{.pairs = array.pairs, .uncovered = array.uncovered};
    for (const Choice& row : array.rows)
        all.jobs.push_back(namedJobOf(row));
    return all;
}

PairwiseJob randomJob(std::mt19937& random)
{
    Choice row;
    for (const Column& column : kColumns)
        row.push_back(static_cast<int>(random() % static_cast<std::uint32_t>(column.values.size())));
    while (!scenarioOf(jobOf(row))) // made plainer until it is allowed
        row[random() % row.size()] = 0;
    return namedJobOf(row);
}

} // namespace live::test
