// Rules between the values: each breaks alone, with the numbers in it and what would be right; and what is legal but unwise.
#include "sim/legal/schedule_request.h"
#include "sim/scenario/document.h"
#include "sim/scenario/key_facts.h"
#include "sim/schedule/families/families.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace sim;
using test::catalogue;

namespace {

constexpr const char* kDense = R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":"h100-sxm-ib400",
"layout":{"tp":2,"pp":2,"dp":4},"training":{"sequence_length":8192,"global_batch_size":32}})";
constexpr const char* kExperts = R"({"format":"rankscope-scenario","version":1,"model":"mixtral-8x7b","cluster":"h100-sxm-ib400",
"layout":{"tp":2,"pp":2,"dp":8,"ep":4,"etp":1,"sequence_parallel":true},"training":{"sequence_length":4096}})";
constexpr const char* kWindows = R"({"format":"rankscope-scenario","version":1,"model":"gpt-oss-20b","cluster":"h100-sxm-ib400",
"layout":{"dp":8,"ep":8},"training":{"sequence_length":4096}})";
constexpr const char* kLatent = R"({"format":"rankscope-scenario","version":1,"model":"deepseek-v3","cluster":"h100-sxm-ib400",
"layout":{"pp":4,"dp":8,"ep":8},"training":{"sequence_length":4096}})";

ScenarioDocument::Resolved resolved(const char* base, const std::vector<std::string>& overrides)
{
    ScenarioDocument document = ScenarioDocument::parse(base);
    for (const std::string& assignment : overrides)
        document.applyOverride(assignment);
    return document.resolve(catalogue());
}

std::vector<std::string> textsOf(const std::vector<Problem>& problems)
{
    std::vector<std::string> texts;
    for (const Problem& problem : problems)
        texts.push_back(problem.text());
    return texts;
}

struct Case {
    const char* base;
    std::vector<std::string> overrides;
    std::vector<std::string> expected; ///< all problems, whole
};

} // namespace

TEST(Rules, TheFilesTheyAreTriedOnBreakNone)
{
    for (const char* base : {kDense, kExperts, kWindows, kLatent})
        EXPECT_THAT(textsOf(resolved(base, {}).problems), testing::IsEmpty());
}

TEST(Rules, ReplicasOfExpertsAreThoseOfTheOthersWhereTheirRanksDivide)
{
    const auto textsWith = [](const char* ep) {
        return textsOf(resolved(kExperts, {ep, "layout.zero_stage=1", "layout.dp_shard=2"}).problems);
    };
    EXPECT_THAT(textsWith("layout.ep=4"), testing::IsEmpty()); // 4 ranks hold the same experts, for 4 replicas
    EXPECT_THAT(
        textsWith("layout.ep=8"),
        testing::Contains("/layout/dp_shard: warning: 2 makes 4 replicas, into which the 2 ranks that hold the same experts "
                          "do not divide: of experts there are 2; Megatron Core refuses this"));
}

TEST(Rules, OfAModelThatIsUnknownSayNothing)
{
    // Its length of sequences is not known either, where the file says none.
    constexpr const char* kNoLength =
        R"({"format":"rankscope-scenario","version":1,"model":"llama3-8b","cluster":"h100-sxm-ib400",
"layout":{"dp":8}})";
    EXPECT_THAT(textsOf(resolved(kNoLength, {}).problems), testing::IsEmpty());
    EXPECT_THAT(textsOf(resolved(kNoLength, {"model=llama3-9b"}).problems),
                testing::ElementsAre(testing::HasSubstr("the catalogue has no model \"llama3-9b\"; nearest: ")));
    for (const char* framework : {"torchtitan", "picotron"}) // near none: all of them
        EXPECT_THAT(
            textsOf(resolved(kNoLength, {std::string("training.stack=") + framework}).problems),
            testing::Contains(testing::AllOf(testing::HasSubstr("; possible: "), testing::HasSubstr("\"pytorch-eager\""))));
    EXPECT_THAT(textsOf(resolved(kNoLength, {"model=llama3-9b", "training.sequence_length=0"}).problems), testing::SizeIs(2));
}

TEST(Rules, BreakOneByOneAndSayWhatWouldBeRight)
{
    const std::vector<Case> cases = {
        // The model by itself.
        {kDense,
         {R"(model={"num_hidden_layers":8,"hidden_size":4096,"num_attention_heads":30,"vocab_size":1000})", "layout.tp=1"},
         {"/model/num_attention_heads: 30 does not divide hidden_size 4096, from which head_dim follows unless it is set; "
          "nearest: 16, 32",
          "/training/sequence_length: warning: 8192 tokens are more than max_position_embeddings 2048 (default)"}},
        {kDense,
         {"model.num_key_value_heads=12"},
         {"/model/num_key_value_heads: 12 does not divide num_attention_heads 32 (of llama3-8b); nearest: 8, 16"}},
        {kExperts,
         {"model.num_experts_per_tok=9"},
         {"/model/num_experts_per_tok: 9 of num_experts 8 (of mixtral-8x7b) cannot be chosen; nearest: 8"}},
        {kLatent, {"model.n_group=3"}, {"/model/n_group: 3 does not divide num_experts 256 (of deepseek-v3); nearest: 2, 4"}},
        {kLatent, {"model.topk_group=9"}, {"/model/topk_group: 9 of n_group 8 (of deepseek-v3) cannot be chosen; nearest: 8"}},
        {kLatent,
         {"model.n_group=64", "model.topk_group=1"},
         {"/model/topk_group: 1 group of 4 experts has fewer than num_experts_per_tok 8 (of deepseek-v3); nearest: 2"}},
        {kLatent,
         {"model.v_head_dim=0"},
         {"/model/kv_lora_rank: 512 asks for latent attention, which needs qk_nope_head_dim and v_head_dim; qk_nope_head_dim 128 "
          "(of deepseek-v3), v_head_dim 0"}},
        // What layers see.
        {kWindows,
         {R"(model.layer_types=["sliding_attention","full_attention"])"},
         {"/model/layer_types: the list has 2 entries, and the model has num_hidden_layers 24 (of gpt-oss-20b); give as many, or "
          "null "
          "where sliding_window_pattern or no_rope_layer_interval say it"}},
        {kWindows,
         {"model.num_hidden_layers=2", "model.sliding_window=0", R"(model.layer_types=["sliding_attention","full_attention"])"},
         {"/model/sliding_window: layer_types makes 1 layer sliding_attention, and sliding_window is not given; nearest: 4096, "
          "which "
          "is all of a sequence"}},
        {kWindows,
         {"model.num_hidden_layers=1", R"(model.layer_types=["chunked_attention"])"},
         {"/model/attention_chunk_size: layer_types makes 1 layer chunked_attention, and attention_chunk_size is not given; "
          "nearest: "
          "4096, which is all of a sequence"}},
        {kWindows,
         {"model.attention_chunk_size=1024"},
         {"/model/layer_types: sliding_window 128 (of gpt-oss-20b) and attention_chunk_size 1024 cannot both hold for every "
          "layer; "
          "name each layer's in layer_types, or set one of them to null"}},
        {kWindows,
         {R"(model.sliding_window="wide")"},
         {R"(/model/sliding_window: "wide" is a string where a whole number or null is expected)"}},
        // The ranks on the cluster.
        {kDense,
         {"cluster.nodes=1"},
         {"/cluster/nodes: tp 2 x cp 1 x pp 2 x dp 4 = 16 ranks need as many GPUs; the cluster has 1 node x 8 = 8; nearest: "
          "nodes 2, or dp 2"}},
        {kDense,
         {"layout.dp=1048576"},
         {"/layout: tp 2 x cp 1 x pp 2 x dp 1048576 is more than 1048576 ranks; nearest: dp 262144"}},
        {kDense,
         {R"(cluster.tiers=[{"name":"a","span":"all","bandwidth_gbs":1,"latency_us":1},{"name":"b","span":8,"bandwidth_gbs":1,)"
          R"("latency_us":1}])"},
         {"/cluster/tiers/0/span: only the last tier may span \"all\"; \"a\" is number 1 of 2",
          "/cluster/tiers: the last tier joins 8 of 16 GPUs; let it span \"all\""}},
        {kDense,
         {R"(cluster.tiers=[{"name":"a","span":8,"bandwidth_gbs":1,"latency_us":1},{"name":"b","span":20,"bandwidth_gbs":1,)"
          R"("latency_us":1}])"},
         {"/cluster/tiers/1/span: a domain of 20 GPUs does not hold whole domains of 8; nearest: 16, 24"}},
        {kDense, {"layout.placement=[0,1,2]"}, {"/layout/placement: the list has 3 GPUs for 16 ranks; it needs one a rank"}},
        {kDense, {"layout.placement=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,3]"}, {"/layout/placement/15: GPU 3 has rank 3 already"}},
        {kDense,
         {"layout.placement=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16]"},
         {"/layout/placement/15: there is no GPU 16; the cluster has GPUs 0 to 15"}},
        // What tensor and expert parallelism cut.
        {kDense,
         {"layout.tp=3", "layout.dp=1"},
         {"/layout/tp: 3 does not divide num_attention_heads 32 (of llama3-8b); nearest: 2, 4"}},
        {kDense,
         {"layout.tp=4", "model.num_key_value_heads=6", "model.num_attention_heads=24", "model.head_dim=128"},
         {"/layout/tp: 4 is neither a divisor nor a multiple of num_key_value_heads 6; nearest: 2"}},
        {kDense,
         {"layout.tp=4", "model.intermediate_size=1022"},
         {"/layout/tp: 4 does not divide intermediate_size 1022; nearest: 2"}},
        {kLatent,
         {"layout.tp=4", "layout.etp=1", "layout.sequence_parallel=true", "model.moe_intermediate_size=2", "layout.dp=2"},
         {"/layout/tp: 4 does not divide num_shared_experts 1 (of deepseek-v3) x moe_intermediate_size 2; nearest: 2"}},
        {kDense, {"layout.ep=2"}, {"/layout/ep: 2 needs experts, and the model Llama 3.1 8B has none; nearest: 1"}},
        {kExperts,
         {"layout.ep=3", "layout.dp=12"},
         {"/layout/ep: 3 does not divide num_experts 8 (of mixtral-8x7b); nearest: 2, 4"}},
        {kExperts,
         {"layout.etp=2", "layout.ep=8", "layout.dp=4"},
         {"/layout/ep: experts are laid out as etp x ep x pp = 2 x 8 x 2 = 32, which does not divide the 16 ranks; nearest: 4, "
          "or dp 8"}},
        {kExperts,
         {"layout.order=tp-cp-ep-pp-dp"},
         {"/layout/order: with pp not last in \"tp-cp-ep-pp-dp\" etp x ep = 1 x 4 must equal tp x cp = 2 x 1; nearest: "
          "tp-cp-ep-dp-pp"}},
        {kExperts,
         {"layout.order=ep-pp-dp-tp-cp", "layout.etp=1", "layout.ep=2"},
         {"/layout/order: in \"ep-pp-dp-tp-cp\" the ranks of a pipeline are 1 apart, and those of the experts 2; nearest: "
          "tp-cp-ep-dp-pp"}},
        {kDense, {"layout.order=tp-tp-pp"}, {"/layout/order: \"tp-tp-pp\" names tp twice"}},
        // The schedule.
        {kDense,
         {"schedule.layers_per_stage=[16,15]"},
         {"/schedule/layers_per_stage: the entries add up to 31, and the model has num_hidden_layers 32 (of llama3-8b)"}},
        {kDense,
         {"layout.pp=64", "training.global_batch_size=256"},
         {"/layout/pp: num_hidden_layers 32 (of llama3-8b) cannot fill pp 64 x virtual_stages 1 = 64 stages; nearest: 34, or "
          "give layers_per_stage with zeros"}},
        {kDense,
         {"schedule.kind=interleaved-1f1b", "schedule.virtual_stages=1"},
         {"/schedule/virtual_stages: interleaved-1f1b has at least 2 chunks a rank; virtual_stages is 1; nearest: 2, or kind "
          "1f1b"}},
        {kDense,
         {"schedule.kind=dualpipe", "layout.pp=3", "layout.dp=2"},
         {"/schedule/kind: dualpipe enters from both ends and needs an even number of pipeline ranks; pp is 3; nearest: 2, 4 "
          "pipeline ranks"}},
        {kDense,
         {"schedule.kind=dualpipe-v", "training.global_batch_size=12"},
         {"/training/global_batch_size: 12 gives 3 micro-batches, and dualpipe-v on pp 2 wants at least 4; nearest: 16"}},
        {kDense,
         {"schedule.kind=interleaved-zb", "training.global_batch_size=20"},
         {"/training/global_batch_size: 20 gives 5 micro-batches, and interleaved-zb on pp 2 wants whole rounds of 2 (default); "
          "nearest: 16, 24, or microbatch_group 5"}},
        {kDense,
         {"schedule.kind=seq-1f1b", "schedule.sequence_slices=3"},
         {"/schedule/sequence_slices: sequence_length 8192 cannot be cut into sequence_slices 3 equal slices; nearest: 2, 4"}},
        {kDense,
         {"schedule.kind=seq-1f1b", "training.causal=false"},
         {"/schedule/sequence_slices: slices of a sequence follow each other only where attention is causal; nearest: 1"}},
        {kDense,
         {"schedule.kind=interleaved-1f1b", "schedule.virtual_stages=2", "layout.pp=1"},
         {"/schedule/kind: interleaved-1f1b needs at least 2 pipeline ranks; pp is 1; nearest: 2 pipeline ranks, or kind "
          "looped-bfs"}},
        {kDense,
         {"schedule.kind=1f1b-interleaved"},
         {"/schedule/kind: \"1f1b-interleaved\": unknown kind; nearest: \"interleaved-1f1b\", \"1f1b\""}},
        {kDense,
         {"schedule.kind=interleaved-1f1b", "schedule.virtual_stages=2", "layout.pp=4", "layout.dp=2",
          "training.global_batch_size=26", "schedule.microbatch_group=5"},
         {"/training/global_batch_size: 26 gives 13 micro-batches, and interleaved-1f1b on pp 4 wants groups of 5, the last "
          "one whole or of at least 4; nearest: 20, 28, or microbatch_group 7"}},
        {kDense,
         {"schedule.kind=interleaved-1f1b", "schedule.virtual_stages=2", "layout.pp=4", "layout.dp=2",
          "schedule.microbatch_group=3"},
         {"/schedule/microbatch_group: interleaved-1f1b on pp 4 wants groups of at least 4; microbatch_group is 3; nearest: 4"}},
        {kDense,
         {"schedule.kind=custom"},
         {"/schedule: custom needs \"actions\": one comma-separated line for each of the 2 pipeline ranks, such as 0F0,0B0"}},
        {kDense,
         {"schedule.kind=custom", "schedule.actions=[\"0F0,0B0\"]"},
         {"/schedule/actions: 1 line for 2 pipeline ranks; nearest: pp 1"}},
        {kDense,
         {"training.recompute={\"kind\":\"full\",\"layers\":17}"},
         {"/training/recompute/layers: 17 layers of each chunk cannot be recomputed: the largest has 16; nearest: 16"}},
        {kDense,
         {R"(training.recompute={"kind":"selective","modules":["layernorm","mla_up_proj"]})"},
         {"/training/recompute/modules: mla_up_proj asks for latent attention, and the model Llama 3.1 8B has none: kv_lora_rank "
          "0 "
          "(default); nearest: [\"layernorm\"]"}},
        {kDense,
         {R"(training.recompute={"kind":"selective","modules":["moe_act"]})"},
         {"/training/recompute/modules: moe_act asks for experts, and the model Llama 3.1 8B has none: num_experts 0 (default); "
          "nearest: [\"core_attn\"]"}},
        {kExperts,
         {R"(training.recompute={"kind":"selective","modules":["core_atn"]})"},
         {R"(/training/recompute/modules/0: "core_atn": unknown word; nearest: "core_attn")"}},
        {kDense, {R"(training.lora={"rank":0})"}, {"/training/lora/rank: 0 is too small; nearest: 1"}},
        {kDense, {R"(training.lora={"targets":["q_proj"]})"}, {"/training/lora: key \"rank\" is missing"}},
        {kDense,
         {R"(training.lora={"rank":8,"targets":["q_porj"]})"},
         {R"(/training/lora/targets/0: "q_porj": unknown word; nearest: "q_proj")"}},
        {kDense,
         {R"(training.lora={"rank":7})", "layout.tp=2", "layout.dp=2"},
         {"/training/lora/rank: 7 is not a multiple of tp 2, which cuts adapters; nearest: 6, 8"}},
        {kDense,
         {R"(training.lora={"rank":8,"targets":["q_proj","gate_proj"]})", "model.gated_mlp=false"},
         {"/training/lora/targets: gate_proj asks for a gated MLP, and the model Llama 3.1 8B (changed) has none; nearest: "
          "q_proj"}},
        {kExperts,
         {R"(training.lora={"rank":8,"targets":["q_proj","k_proj","v_proj","o_proj","up_proj"]})"},
         {"/training/lora/targets: adapters beside experts are not simulated: num_experts 8 (of mixtral-8x7b); nearest: q_proj, "
          "k_proj, v_proj, o_proj"}},
        {kLatent,
         {R"(training.lora={"rank":8,"targets":["o_proj"]})"},
         {"/training/lora: adapters beside latent attention are not simulated: kv_lora_rank 512 (of deepseek-v3); nearest: no "
          "lora"}},
        {kDense,
         {R"(training.lora={"rank":8})", "model.num_nextn_predict_layers=1"},
         {"/training/lora: adapters with multi-token prediction are not simulated: num_nextn_predict_layers 1; nearest: "
          "num_nextn_predict_layers 0"}},
        {kDense,
         {"training.global_batch_size=33"},
         {"/training/global_batch_size: 33 is not a multiple of 4 = micro_batch_size 1 (default) x dp 4; nearest: 32, 36"}},
        {kDense,
         {"layout.cp=2", "layout.dp=2", "training.sequence_length=8190"},
         {"/training/sequence_length: 8190 is not a multiple of 4 = 2 x cp 2; nearest: 8188, 8192, or cp 1, 3"}},
        // Keys that meet in a rule: the nearest of each, and each right by itself.
        {kDense,
         {"cluster.nodes=1", "training.global_batch_size=32", "layout.tp=1", "layout.pp=1", "layout.dp=16"},
         {"/cluster/nodes: tp 1 x cp 1 x pp 1 x dp 16 = 16 ranks need as many GPUs; the cluster has 1 node x 8 = 8; nearest: "
          "nodes 2, or dp 8"}},
        {kDense,
         {"cluster.nodes=3", "training.global_batch_size=64", "layout.tp=1", "layout.pp=1", "layout.dp=32"},
         {"/cluster/nodes: tp 1 x cp 1 x pp 1 x dp 32 = 32 ranks need as many GPUs; the cluster has 3 nodes x 8 = 24; nearest: "
          "nodes 4, or dp 16"}},
        {kDense,
         {"training.micro_batch_size=5", "training.global_batch_size=48"},
         {"/training/global_batch_size: 48 is not a multiple of 20 = micro_batch_size 5 x dp 4; nearest: 40, 60, or "
          "micro_batch_size 4, 6"}},

        {kDense,
         {"model.position_embedding=learned", "training.sequence_length=262144"},
         {"/training/sequence_length: 262144 tokens are more than max_position_embeddings 131072 (of llama3-8b), and its "
          "positions "
          "are learned; nearest: 131072"}},
        {kDense,
         {R"(perturbations=[{"kind":"failure"},{"kind":"jitter","sigma":0.1},{"kind":"failure"}])"},
         {"/perturbations/2/kind: failures are described once, and /perturbations/0 does"}},
    };
    for (const Case& c : cases) {
        const auto result = resolved(c.base, c.overrides);
        EXPECT_EQ(textsOf(result.problems), c.expected) << testing::PrintToString(c.overrides);
        EXPECT_FALSE(result.scenario);
    }
}

/// Advice on where it lies would contradict the advice on what it may be.
TEST(Rules, PlaceNoTensorParallelGroupThatCannotBe)
{
    const auto problems = resolved(kDense, {"layout.tp=3"}).problems;
    EXPECT_EQ(std::count_if(problems.begin(), problems.end(), [](const Problem& p) { return p.pointer == "/layout/tp"; }), 1);
}

TEST(Rules, LetAdaptersStandWhereTheyCan)
{
    const auto beside = resolved(kExperts, {R"(training.lora={"rank":8})"});
    ASSERT_TRUE(beside.scenario) << "without targets those of attention";
    EXPECT_FALSE(beside.scenario->model.lora.hasMlp());
    EXPECT_TRUE(
        resolved(kDense, {R"(training.lora={"rank":7,"targets":["o_proj","down_proj"]})", "layout.tp=2", "layout.dp=2"}).scenario)
        << "beside layers cut by rows the rank stays whole";
}

TEST(Rules, WarnOfWhatIsLegalButUnwise)
{
    const std::vector<Case> cases = {
        {kWindows,
         {"training.attention=unfused"},
         {"/training/attention: warning: unfused attention computes and keeps the scores of all 4096 keys: sliding_window 128 "
          "saves "
          "nothing; flash2 would skip what it masks"}},
        {kWindows,
         {"model.sliding_window=4096"},
         {"/model/sliding_window: warning: has no effect: 4096 tokens hold all of sequence_length 4096"}},
        {kWindows,
         {"model.sliding_window=null", "model.sliding_window_pattern=3"},
         {"/model/sliding_window_pattern: warning: has no effect without sliding_window: every layer sees the whole sequence"}},
        {kLatent,
         {"model.no_rope_layer_interval=4"},
         {"/model/no_rope_layer_interval: warning: has no effect on latent attention: kv_lora_rank 512 (of deepseek-v3)"}},
        {kDense,
         {"cluster.nodes=4"},
         {"/cluster/nodes: warning: 16 GPUs stay idle: tp 2 x cp 1 x pp 2 x dp 4 = 16 ranks, the cluster has 4 nodes x 8 = 32; "
          "2 nodes are enough"}},
        {kDense,
         {"layout.dp=2", "cluster.nodes=2"},
         {"/cluster/nodes: warning: 8 GPUs stay idle: tp 2 x cp 1 x pp 2 x dp 2 = 8 ranks, the cluster has 2 nodes x 8 = 16; "
          "1 node is enough"}},
        {kDense,
         {"layout.tp=16", "layout.dp=1"},
         {"/layout/tp: warning: 16 ranks share num_key_value_heads 8 (of llama3-8b): Megatron-Core gathers queries, keys and "
          "values of all heads on each; torchtitan refuses this",
          "/layout/tp: warning: a tensor parallel group of 16 does not fit the 8 GPUs of one NVLink domain: its collectives "
          "run over the slower tier"}},
        {kDense,
         {"layout.tp=4", "cluster.gpus_per_node=6"},
         {"/layout/tp: warning: 4 does not divide the 6 GPUs of one NVLink domain: some tensor parallel groups lie in two "
          "domains, and their collectives run over the slower tier; nearest: 2"}},
        {kDense,
         {"layout.placement=round-robin"},
         {"/layout/placement: warning: round-robin puts the ranks of a tensor parallel group of 2 on different nodes: its "
          "collectives run over the slower tier"}},
        {kDense,
         {"layout.zero_stage=3"},
         {"/layout/zero_stage: warning: 3 with pp 2: parameters are gathered once a step and stay beside their shards, so they "
          "take more memory than with 1; Megatron Core and DeepSpeed refuse this"}},
        {kDense,
         {"layout.dp_shard=2"},
         {"/layout/dp_shard: warning: 2 has no effect with zero_stage 0 (default): nothing is sharded"}},
        {kDense,
         {"layout.reduce_each_microbatch=false"},
         {"/layout/reduce_each_microbatch: warning: false has no effect with zero_stage 0 (default): gradients are not sharded"}},
        {kDense,
         {R"(training.stack={"base":"megatron-te-2024","gathers_apart":true})"},
         {"/training/stack/gathers_apart: warning: has no effect without plain_tensor_parallel: Megatron's layers gather once "
          "for all"}},
        {kDense,
         {"layout.tp=1", "layout.sequence_parallel=true"},
         {"/layout/sequence_parallel: warning: has no effect with tp 1"}},
        {kExperts,
         {"layout.sequence_parallel=false"},
         {"/layout/sequence_parallel: warning: Megatron Core refuses to train a mixture of experts with tp 2 and without "
          "sequence parallelism"}},
        {kDense,
         {"training.global_batch_size=4"},
         {"/training/global_batch_size: warning: 1 micro-batch cannot fill pp 2 pipeline ranks; 8 sequences would"}},
        {kDense,
         {"training.global_batch_size=1048576", "training.sequence_length=8192", "schedule.virtual_stages=1"},
         {"/training/global_batch_size: warning: counts sequences: 1048576 of sequence_length 8192 are a step of 8.59e+09 "
          "tokens; "
          "if it is meant in tokens, they are 128 sequences"}},
        {kDense,
         {"training.global_batch_size=1000000", "training.sequence_length=4096"},
         {"/training/global_batch_size: warning: counts sequences: 1000000 of sequence_length 4096 are a step of 4.1e+09 tokens; "
          "if it is meant in tokens, they are about 244 sequences"}},
        {kDense, {"training.global_batch_size=15360", "training.sequence_length=4096"}, {}}, // DeepSeek-V3's
        {kDense, {"schedule.kind=seq-1f1b", "schedule.sequence_slices=2", "training.global_batch_size=4"}, {}},
        {kDense,
         {"layout.pp=8", "schedule.kind=seq-1f1b", "schedule.sequence_slices=4", "training.global_batch_size=4"},
         {"/training/global_batch_size: warning: 1 micro-batch in 4 slices cannot fill pp 8 pipeline ranks; 8 sequences would"}},
        {kDense,
         {"training.sequence_length=262144"},
         {"/training/sequence_length: warning: 262144 tokens are more than max_position_embeddings 131072 (of llama3-8b)"}},
        {kDense,
         {"schedule.actions=[\"0F0,0B0\",\"1F0,1B0\"]"},
         {"/schedule/actions: warning: has an effect with kind custom only; kind is 1f1b"}},
        {kDense,
         {"training.overlap.ep_comm=true"},
         {"/training/overlap/ep_comm: warning: has no effect: the model has no experts"}},
        {kDense,
         {"schedule.memory_cap_gib=40"},
         {"/schedule/memory_cap_gib: warning: has an effect with kind auto only; kind is 1f1b"}},
        {kDense,
         {"schedule.kind=interleaved-1f1b", "schedule.virtual_stages=2", "training.overlap.p2p=false"},
         {"/schedule/kind: warning: Megatron Core interleaves on 2 pipeline ranks only where p2p is overlapped"}},
        {kExperts,
         {R"(training.recompute={"kind":"selective","modules":["moe","moe_act"]})"},
         {"/training/recompute/modules: warning: moe_act has no effect beside moe, which runs all of the layer of experts "
          "again"}},
        {kDense,
         {R"(training.recompute={"kind":"full","modules":["mlp"]})"},
         {"/training/recompute/modules: warning: has an effect with kind selective only; kind is full"}},
        {kDense,
         {"training.offload={\"activation_layers\":17}"},
         {"/training/offload/activation_layers: warning: 17 layers are all that 2 of 2 chunks have: their last one has none "
          "behind "
          "it to travel beside, so that its way to the host and back is waited for; nearest: 15"}},
        {kDense,
         {"training.recompute={\"kind\":\"selective\",\"layers\":2}"},
         {"/training/recompute/layers: warning: has an effect with kind full only; kind is selective"}},
        {kDense,
         {"training.precision=fp32", "training.master_weights=false"},
         {"/training/master_weights: warning: false has no effect with precision fp32: parameters of 32 bits have no copy beside "
          "them; nearest: leave it out, or precision bf16"}},
        {kDense, {"training.precision=fp32", "training.master_weights=true"}, {}},
        {kDense,
         {"training.precision=tf32", "training.master_weights=false", "training.gradient_dtype=bf16",
          R"(training.offload={"optimizer":0})"},
         {"/training/master_weights: warning: false has no effect with precision tf32: parameters of 32 bits have no copy beside "
          "them; nearest: leave it out, or precision bf16"}},
        {kDense,
         {"training.precision=tf32", "training.master_weights=false", R"(training.offload={"optimizer":0.5})"},
         {"/training/master_weights: warning: false has no effect with precision tf32: parameters of 32 bits have no copy beside "
          "them; nearest: leave it out, or precision bf16"}},
        {kDense, // gradients go to the host as they are
         {"training.precision=tf32", "training.master_weights=false", "training.gradient_dtype=bf16",
          R"(training.offload={"optimizer":0.5})"},
         {}},
        {kDense, {"training.precision=bf16", "training.master_weights=false"}, {}},
        {kDense,
         {"training.precision=tf32", R"(training.lora={"rank":8,"base_dtype":"bf16"})"},
         {"/training/lora/base_dtype: warning: bf16 has no effect with precision tf32: frozen layers are kept in 32 bits, as "
          "activations are; nearest: leave it out, fp8, nf4, or precision bf16"}},
        {kDense, {"training.precision=tf32", R"(training.lora={"rank":8,"base_dtype":"nf4"})"}, {}},
        {kDense, {"training.precision=tf32", R"(training.lora={"rank":8})"}, {}},
        {kDense,
         {"layout.zero_stage=1", "training.overlap.grad_reduce=false"},
         {"/training/overlap/param_gather: warning: Megatron Core overlaps parameter gathering only together with grad_reduce"}},
        {kDense,
         {"training.overlap.tp_comm=true"},
         {"/training/overlap/tp_comm: warning: Megatron Core overlaps tensor parallel communication only with "
          "sequence_parallel"}},
        {kDense,
         {R"(perturbations=[{"kind":"slow_gpu","rank":1,"factor":2,"sigma":0.1}])"},
         {"/perturbations/0/sigma: warning: has no effect on slow_gpu"}},
        {kDense,
         {R"(perturbations=[{"kind":"slow_gpu","rank":1,"factor":2,"spares":1}])"},
         {"/perturbations/0/spares: warning: has no effect on slow_gpu"}},
        {kDense,
         {R"(perturbations=[{"kind":"failure","rank":1,"checkpoint_s":9,"storage_gbs":2,"spares":3}])"},
         {"/perturbations/0/rank: warning: has no effect on failure",
          "/perturbations/0/storage_gbs: warning: has no effect beside checkpoint_s",
          "/perturbations/0/spares: warning: 3 have no effect: with replace_s 0 another node is there at once"}},
        {kDense, {"training.stack.exchanges_heads=true"}, {}},
        {kDense,
         {"training.stack.exchanges_heads=true", "layout.tp=1", "layout.pp=1", "layout.cp=16", "layout.dp=1"},
         {"/layout/cp: warning: 16 does not divide num_key_value_heads 8 (of llama3-8b): 16 ranks get 1 each, copies among them; "
          "Transformer Engine refuses a2a here; nearest: 8"}},
        {kDense,
         {"training.stack.exchanges_heads=true", "layout.cp=4", "layout.dp=1", "model.num_attention_heads=12",
          "model.head_dim=128", "model.num_key_value_heads=12"},
         {"/layout/cp: warning: 4 does not divide num_attention_heads 12 / tp 2 = 6: exchanges_heads has no effect, and keys and "
          "values go round a ring; Transformer Engine refuses a2a here; nearest: 2"}},
        {kExperts,
         {"training.stack.exchanges_heads=true", "layout.cp=2", "layout.dp=4", "training.moe.send_once_per_node=true"},
         {"/training/stack/exchanges_heads: warning: has no effect beside moe.send_once_per_node, and keys and values go round a "
          "ring: how all-to-alls are priced is told by experts' tokens; nearest: send_once_per_node false"}},
    };
    for (const Case& c : cases) {
        const auto result = resolved(c.base, c.overrides);
        EXPECT_EQ(textsOf(result.problems), c.expected) << testing::PrintToString(c.overrides);
        EXPECT_TRUE(result.scenario);
    }
}

TEST(Rules, WarnOfExpertGroupsThatDoNotLieWithinADomain)
{
    // Racks of 72: blocks of 64 begin in one and end in the next, but for the first and the last of nine.
    const std::string rack = R"({"format":"rankscope-scenario","version":1,"model":"deepseek-v3",)"
                             R"("cluster":{"base":"gb200-nvl72","nodes":144},"layout":{"dp":576,"ep":8,"etp":1},)"
                             R"("training":{"sequence_length":4096,"global_batch_size":4608}})";
    const auto said = [](const std::string& base, const std::vector<std::string>& overrides) {
        std::vector<std::string> out;
        for (const std::string& text : textsOf(resolved(base.c_str(), overrides).problems))
            if (text.starts_with("/layout/ep"))
                out.push_back(text);
        return out;
    };
    using Texts = std::vector<std::string>;
    EXPECT_EQ(said(rack, {}), Texts{});
    EXPECT_EQ(said(rack, {"layout.ep=64"}),
              Texts{"/layout/ep: warning: 64 GPUs with a layer's experts do not divide the 72 GPUs of one NVLink domain: 7 of 9 "
                    "expert parallel groups lie in several domains, and 30 % of what the all-to-alls send goes over the slower "
                    "tier; none would with 64 GPUs of each used (span 64 in cluster.tiers); nearest: 8"});
    EXPECT_EQ(said(rack, {"layout.ep=64", R"(cluster.tiers=[{"name":"nvlink","span":64,"bandwidth_gbs":900,"latency_us":2},)"
                                          R"({"name":"infiniband","span":"all","bandwidth_gbs":50,"latency_us":5}])"}),
              Texts{})
        << "nor is";
    // More of them, to the end of a period and beyond it: as many as when each rank's place is written out.
    for (const int dp : {1152, 1344, 1728 + 64}) {
        std::string list = "[0";
        for (int rank = 1; rank < dp; ++rank)
            list += "," + std::to_string(rank);
        const auto groups = [&](const std::vector<std::string>& placement) {
            std::vector<std::string> overrides = {"layout.ep=64", "layout.dp=" + std::to_string(dp),
                                                  "cluster.nodes=" + std::to_string(dp / 4),
                                                  "training.global_batch_size=" + std::to_string(dp)};
            overrides.insert(overrides.end(), placement.begin(), placement.end());
            const Texts texts = said(rack, overrides);
            const std::string text = texts.size() == 1 ? texts.front() : std::string();
            const std::size_t at = text.find(" expert parallel groups lie");
            return at == std::string::npos ? text : text.substr(text.rfind(':', at), text.find(';') - text.rfind(':', at));
        };
        EXPECT_NE(groups({}), "");
        EXPECT_EQ(groups({}), groups({"layout.placement=" + list + "]"})) << dp;
    }
    EXPECT_EQ(said(rack, {"layout.ep=32", "layout.etp=2"}).size(), 1U) << "ep x etp is what has to lie in a domain";
    EXPECT_EQ(said(kExperts, {}), Texts{}) << "four of eight";
    EXPECT_EQ(
        said(kExperts, {"layout.ep=8", "layout.etp=2"}),
        Texts{"/layout/ep: warning: an expert parallel group on ep 8 x etp 2 = 16 GPUs does not fit the 8 GPUs of one NVLink "
              "domain: 57 % of what the all-to-alls send goes over the slower tier; nearest: 4"});
    EXPECT_EQ(
        said(kExperts, {"layout.ep=8", "layout.etp=2", "training.moe.send_once_per_node=true"}),
        Texts{"/layout/ep: warning: an expert parallel group on ep 8 x etp 2 = 16 GPUs does not fit the 8 GPUs of one NVLink "
              "domain: 57 % of the ranks that each sends tokens to lie beyond the slower tier, which a token crosses once a "
              "node; nearest: 4"})
        << "not of the bytes then";
    EXPECT_EQ(said(kExperts, {"layout.placement=round-robin"}).size(), 1U);
    EXPECT_EQ(said(kExperts, {"layout.order=tp-cp-dp-ep-pp"}).size(), 1U) << "members are as far apart as dp goes";
}

TEST(Rules, LayersWithoutADenseMlpDoNotAskForItsWidth)
{
    // Every layer of Mixtral is a mixture of experts: intermediate_size is not cut.
    EXPECT_TRUE(resolved(kExperts, {"model.intermediate_size=1021", "model.moe_intermediate_size=14336"}).scenario);
    EXPECT_FALSE(resolved(kExperts, {"model.intermediate_size=1021", "model.first_k_dense_replace=1"}).scenario);
}

TEST(Schema, ListsTheKindsOfSchedulesForEditors)
{
    std::vector<std::string> kinds;
    for (const ScheduleFamily& family : scheduleFamilies())
        kinds.emplace_back(family.kind);
    EXPECT_EQ(keyFacts(catalogue(), "/schedule/kind")->words, kinds);
}

TEST(Rules, LetThroughExactlyWhatTheGeneratorsMake)
{
    std::mt19937 random(5);
    const auto upTo = [&random](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
    const auto set = [](std::string key, const std::string& value) { return key.append("=").append(value); };
    int legal = 0;
    for (int round = 0; round < 4000; ++round) {
        static const std::vector<std::string> kKinds = {
            "gpipe",  "1f1b",  "interleaved-1f1b", "looped-bfs", "zb-h1",          "zb-h2",   "zb-1p", "zb-2p", "zb-v",
            "v-half", "v-min", "dualpipe",         "dualpipe-v", "interleaved-zb", "seq-1f1b"};
        const std::string kind = kKinds[random() % kKinds.size()];
        const int pp = upTo(6), chunks = upTo(3), microbatches = upTo(20), group = upTo(10);
        const auto result = resolved(kDense, {R"(layout={"pp":)" + std::to_string(pp) + "}", set("schedule.kind", kind),
                                              set("schedule.virtual_stages", std::to_string(chunks)),
                                              set("schedule.microbatch_group", std::to_string(group)),
                                              set("training.global_batch_size", std::to_string(microbatches))});
        const ScheduleRequest request = {
            .kind = kind, .ranks = pp, .virtualStages = chunks, .microbatches = microbatches, .microbatchGroup = group};
        const auto unmet = findScheduleFamily(kind)->unmet(request);
        EXPECT_EQ(result.scenario.has_value(), !unmet.has_value())
            << kind << " pp " << pp << " v " << chunks << " m " << microbatches << " group " << group << ": "
            << unmet.value_or("legal") << testing::PrintToString(textsOf(result.problems));
        if (result.scenario) {
            ++legal;
            EXPECT_NO_THROW(makeSchedule(scheduleRequest(*result.scenario)));
        }
    }
    EXPECT_GT(legal, 300);
    EXPECT_LT(legal, 3000);
}
