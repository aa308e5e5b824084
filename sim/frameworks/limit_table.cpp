#include "sim/frameworks/limit_table.h"

#include "sim/frameworks/limits.h"
#include "sim/frameworks/placements.h"
#include "sim/scenario/balanced_layers.h"
#include "sim/scenario/head_exchange.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim {

namespace {

std::string digits(std::int64_t number)
{
    return std::to_string(number);
}

/// "1f1b, gpipe" has "gpipe".
bool isListed(std::string_view list, std::string_view word)
{
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(", ", at), list.size());
        if (list.substr(at, end - at) == word)
            return true;
        at = end + 2;
    }
    return false;
}

std::string scheduleText(std::string_view framework, std::string_view kinds, const Scenario& s)
{
    return "/schedule/kind: " + std::string(framework) + " has no schedule " + quotedText(s.schedule.kind) + " for the " +
           digits(s.layout.pp) + " pipeline stages; it has " + std::string(kinds);
}

bool repeatsHeads(const Scenario& s)
{
    return !s.model.isLatentAttention() && s.model.numKeyValueHeads > 0 && s.model.numKeyValueHeads % s.layout.tp != 0;
}

int keyHeadsOfRank(const Scenario& s)
{
    return s.model.isLatentAttention() ? headsOfRank(s) : std::max(1, s.model.numKeyValueHeads / s.layout.tp);
}

std::string headsText(std::string_view framework, const Scenario& s)
{
    const int heads = s.model.numKeyValueHeads;
    return "/layout/tp: " + std::string(framework) + " does not repeat key-value heads: tp " + digits(s.layout.tp) +
           " must divide the " + digits(heads) + " of this model" +
           nearestNumbers(s.layout.tp, 1, heads, [heads](std::int64_t tp) { return heads % tp == 0; });
}

/// Of the chunk with the most.
int layersOfFullest(const Scenario& s)
{
    const std::vector<int>& counts = s.schedule.layersPerStage;
    return counts.empty() ? s.model.numHiddenLayers : *std::max_element(counts.begin(), counts.end());
}
std::string partlyText(std::string_view framework, const Scenario& s)
{
    return "/training/recompute: " + std::string(framework) + " runs all layers again or none, not " +
           digits(s.training.recomputeLayers) + " of the " + digits(layersOfFullest(s)) + " of a stage";
}
bool isByOperators(const Scenario& s)
{
    return s.training.recomputes(RecomputeModule::operators);
}
bool isOddlySelective(const Scenario& s)
{
    return isSelective(s) && s.training.recomputeModules != RecomputeModules{RecomputeModule::coreAttention};
}
bool hasOtherOrder(const Scenario& s, bool isPipelineLast)
{
    const std::string& order = s.layout.order;
    return s.layout.pp > 1 && s.layout.dp > 1 &&
           (isPipelineLast ? order != "tp-cp-ep-dp-pp" && order != "tp-cp-dp-pp"
                           : order != "tp-cp-ep-pp-dp" && order != "tp-cp-pp-dp");
}
std::string orderText(std::string_view framework, std::string_view order, const Scenario& s)
{
    return "/layout/order: " + std::string(framework) + " lays ranks out as " + std::string(order) + ", not " +
           quotedText(s.layout.order);
}
/// Stages with other numbers of layers, and not as evenly as they go.
bool isUneven(const Scenario& s)
{
    const std::vector<int>& counts = s.schedule.layersPerStage;
    return s.layout.pp > 1 && std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) != counts.end() &&
           counts != balancedLayers(s.model.numHiddenLayers, static_cast<int>(counts.size()));
}
std::string stagesText(std::string_view framework, const Scenario& s)
{
    return "/schedule/layers_per_stage: " + std::string(framework) + " has no setting for stages other than of about " +
           digits(s.model.numHiddenLayers / std::max(1, s.stages())) + " layers each";
}
std::vector<int> layersOfNanotron(const Scenario& s)
{
    const Model& m = s.model;
    return frameworks::nanotronLayers({m.numHiddenLayers, m.hiddenSize, m.numAttentionHeads, m.intermediateSize, m.vocabSize},
                                      s.layout.pp);
}
bool cutsExpertsOtherwise(const Scenario& s)
{
    return s.model.numExperts > 0 && s.layout.etp != s.layout.tp;
}
/// DeepSpeed's AutoEP.
bool spreadsExperts(const Scenario& s)
{
    return s.model.numExperts > 0 && s.layout.ep > 1;
}
std::string expertsText(std::string_view framework, const Scenario& s)
{
    return "/layout/etp: " + std::string(framework) + " cuts experts as it cuts all else: etp " + digits(s.layout.etp) +
           " is not tp " + digits(s.layout.tp);
}
/// Of a schedule that deals micro-batches in groups: how many PyTorch's has in one, 0: it cannot deal these.
std::optional<int> titanGroup(const Scenario& s)
{
    if (s.layout.pp == 1 || !isListed("interleaved-1f1b, interleaved-zb", s.schedule.kind)) // finding a family takes longer
        return std::nullopt;
    return microbatchGroupOf("torchtitan", s.layout.pp, s.microbatches());
}
bool isOfOneStageARank(const Scenario& s)
{
    return s.schedule.kind == "gpipe" || s.schedule.kind == "1f1b";
}
/// "3 micro-batches on 4 pipeline ranks; nearest: 4 of them, 8 sequences".
std::string microbatchesOnRanks(const Scenario& s, int nearest)
{
    return digits(s.microbatches()) + (s.microbatches() == 1 ? " micro-batch on " : " micro-batches on ") + digits(s.layout.pp) +
           " pipeline ranks; nearest: " + digits(nearest) + " of them, " +
           digits(std::int64_t{nearest} * s.training.microBatchSize * s.layout.dp) + " sequences";
}
std::string zeroText(std::string_view framework, std::string_view stages, std::string_view nearest, const Scenario& s)
{
    return "/layout/zero_stage: " + std::string(framework) + " has ZeRO " + std::string(stages) + ", not " +
           digits(s.layout.zeroStage) + "; nearest: " + std::string(nearest);
}
bool isSharded(const Scenario& s)
{
    return s.layout.zeroStage > 0 && isSplitInReplicas(s);
}
bool isShardedInPart(const Scenario& s)
{
    return isSharded(s) && s.layout.dpShard < s.layout.dp * s.layout.cp;
}
std::string shardText(std::string_view framework, std::string_view how, const Scenario& s)
{
    return "/layout/dp_shard: " + std::string(framework) + " " + std::string(how) + ", not over " + digits(s.layout.dpShard) +
           " of the " + digits(s.layout.dp * s.layout.cp) + " ranks of dp x cp";
}
std::string ringText(std::string_view framework, int unit, const Scenario& s)
{
    return "/training/sequence_length: " + std::string(framework) + " cuts sequences of " + digits(s.training.sequenceLength) +
           " by " + digits(unit) + "; nearest: " + digits(std::max(1, s.training.sequenceLength / unit) * unit);
}
int titanUnit(const Scenario& s)
{
    return s.layout.tp * (s.layout.cp > 1 ? 2 * s.layout.cp : 1);
}
bool isBlockScaled(const Scenario& s)
{
    return s.training.precision == Precision::mxfp8 || s.training.precision == Precision::nvfp4;
}
frameworks::TitanDegrees titanDegrees(const Layout& l)
{
    return {.shards = frameworks::titanShards(l), .cp = l.cp, .tp = l.tp, .etp = l.etp};
}
bool titanRefusesExperts(const Scenario& s)
{
    return s.layout.ep > 1 && s.model.numExperts > 0 && !frameworks::titanExpertsFit(titanDegrees(s.layout), s.layout.ep);
}
int expertRanks(const Scenario& s)
{
    return s.layout.etp * s.layout.ep * s.layout.pp;
}

std::string latentText(std::string_view framework, const Scenario& s)
{
    return "/model/kv_lora_rank: " + std::string(framework) +
           " has no latent attention; this model compresses keys and values to " + digits(s.model.kvLoraRank) +
           ", nearest: a model with key-value heads";
}

bool needsAwareOptimizer(const Scenario& s)
{
    const Training& t = s.training;
    return t.offload.optimizer > 0 || (t.momentBytes == 2 && t.optimizer == Optimizer::adamw);
}
/// DeepSpeed's BF16_Optimizer trains pipelines where no stage is asked for.
bool isShardedByItself(const Scenario& s)
{
    const Precision precision = s.training.precision;
    return s.layout.pp > 1 && s.layout.zeroStage == 0 && isSplitInReplicas(s) && precision != Precision::fp16 &&
           precision != Precision::fp32 && precision != Precision::tf32;
}

/// DeepSpeed without ZeRO (runtime/engine.py, _do_optimizer_sanity_check).
bool addsUpInOtherFormat(const Scenario& s)
{
    const Training& t = s.training;
    const bool isWhole = t.precision == Precision::fp32 || t.precision == Precision::tf32;
    return s.layout.zeroStage == 0 && t.gradientBytes != (isWhole ? 4 : 2);
}

} // namespace

std::string fsdpPipelineText(const Scenario& s)
{
    return "/layout/zero_stage: ZeRO " + digits(s.layout.zeroStage) + " is Megatron-FSDP's, which excludes pipelines; pp is " +
           digits(s.layout.pp) + "; nearest: ZeRO 1, or pp 1";
}

namespace {

constexpr std::string_view kMegatronKinds = "1f1b, interleaved-1f1b";
constexpr std::string_view kTitanKinds = "gpipe, 1f1b, interleaved-1f1b, looped-bfs, interleaved-zb, zb-v, dualpipe-v";
constexpr std::string_view kTwoKinds = "gpipe, 1f1b";
constexpr std::string_view kMaxTextKinds = "gpipe, looped-bfs";

bool isOtherKind(std::string_view kinds, const Scenario& s)
{
    // On one stage all kinds are the same, but for those that cut it into chunks.
    return (s.layout.pp > 1 || s.schedule.virtualStages > 1) && !isListed(kinds, s.schedule.kind);
}

const std::array kLayoutLimits{
    // Megatron-LM, training/arguments.py and core/parallel_state.py
    LayoutLimit{"megatron", Breach::refused, [](const Scenario& s) { return isOtherKind(kMegatronKinds, s); },
                [](const Scenario& s) { return scheduleText("Megatron Core", kMegatronKinds, s); }},
    LayoutLimit{"megatron", Breach::otherwise, isByOperators,
                [](const Scenario&) {
                    return std::string("/training/recompute: Megatron Core runs modules again, not single operators; nearest: "
                                       "norms, with dense MLPs or experts' activations");
                }},
    LayoutLimit{"megatron", Breach::refused, [](const Scenario& s) { return s.layout.zeroStage == 2 && isSplitInReplicas(s); },
                [](const Scenario&) {
                    return std::string("/layout/zero_stage: Megatron's data parallelism has no ZeRO-2; take ZeRO-1 "
                                       "(--use-distributed-optimizer), or Megatron-FSDP's optim_grads by hand");
                }},
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) { return s.layout.zeroStage == 3 && s.layout.pp > 1 && isSplitInReplicas(s); },
                fsdpPipelineText},
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) { return s.model.numExperts > 0 && s.layout.tp > 1 && !s.layout.sequenceParallel; },
                [](const Scenario& s) {
                    return "/layout/sequence_parallel: Megatron refuses to train experts with tp " + digits(s.layout.tp) +
                           " without sequence parallelism; set it to true";
                }},
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) { return s.training.overlap.tpComm && s.layout.tp > 1 && !s.layout.sequenceParallel; },
                [](const Scenario&) {
                    return std::string("/training/overlap/tp_comm: Megatron overlaps tensor-parallel communication only with "
                                       "sequence parallelism; set /layout/sequence_parallel to true");
                }},
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) {
                    const int tp = s.layout.tp, groups = s.model.numKeyValueHeads;
                    return !s.model.isLatentAttention() && groups > 0 && groups % tp != 0 && tp % groups != 0;
                },
                [](const Scenario& s) {
                    return "/layout/tp: Megatron wants query groups and tp to divide one another: " +
                           digits(s.model.numKeyValueHeads) + " and " + digits(s.layout.tp);
                }},
    // Transformer Engine, AttnFuncWithCPAndQKVOA2A.forward
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) { return dealsHeads(s) && keyHeadsOfRank(s) % s.layout.cp != 0; },
                [](const Scenario& s) {
                    return "/layout/cp: Transformer Engine's a2a wants cp to divide the key-value heads of a rank, " +
                           digits(keyHeadsOfRank(s)) + "; cp is " + digits(s.layout.cp);
                }},
    LayoutLimit{"megatron", Breach::refused, [](const Scenario& s) { return s.layout.worldSize() % expertRanks(s) != 0; },
                [](const Scenario& s) {
                    return "/layout/etp: Megatron lays experts out on etp " + digits(s.layout.etp) + " x ep " +
                           digits(s.layout.ep) + " x pp " + digits(s.layout.pp) + " = " + digits(expertRanks(s)) +
                           " ranks, which do not divide the world of " + digits(s.layout.worldSize()) + "; nearest: etp 1";
                }},
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) {
                    const Layout& l = s.layout;
                    const bool isDpLast = l.order == "tp-cp-ep-pp-dp" || l.order == "tp-cp-pp-dp";
                    return isDpLast && l.pp > 1 && l.etp * l.ep != l.tp * l.cp &&
                           (s.model.numExperts > 0 || l.tp * l.cp % l.ep != 0);
                },
                [](const Scenario& s) {
                    return "/layout/order: with pp before dp Megatron wants etp x ep = tp x cp, here " +
                           digits(s.layout.etp * s.layout.ep) + " and " + digits(s.layout.tp * s.layout.cp) +
                           "; nearest: tp-cp-ep-dp-pp";
                }},
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) { return s.layout.pp == 2 && s.schedule.virtualStages > 1 && !s.training.overlap.p2p; },
                [](const Scenario&) {
                    return std::string(
                        "/training/overlap/p2p: between 2 stages Megatron interleaves only with sends that overlap; "
                        "set it to true, or take pp 3 or more");
                }},
    LayoutLimit{
        "megatron", Breach::refused,
        [](const Scenario& s) { return s.training.overlap.epComm && s.model.numExperts > 0 && !hidesExperts(s); },
        [](const Scenario& s) {
            return "/training/overlap/ep_comm: Megatron hides experts' transfers only with ep above 1, virtual stages where "
                   "pp is above 1, in 16 bits, with at most one prediction module, and without full recomputation or that "
                   "of moe; here ep is " +
                   digits(s.layout.ep) + ", pp " + digits(s.layout.pp) + ", virtual stages " + digits(s.schedule.virtualStages) +
                   "; nearest: false";
        }},
    LayoutLimit{"megatron", Breach::refused, [](const Scenario& s) { return needsAwareOptimizer(s) && s.layout.zeroStage == 0; },
                [](const Scenario& s) {
                    return std::string(s.training.offload.optimizer > 0 ? "/training/offload/optimizer: an optimizer on the host"
                                                                        : "/training/moment_dtype: moments in 16 bits") +
                           " Megatron has only in its distributed optimizer; nearest: ZeRO 1";
                }},
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) { return s.training.offload.optimizer > 0 && s.training.optimizer != Optimizer::adamw; },
                [](const Scenario&) {
                    return std::string(
                        "/training/offload/optimizer: on the host Megatron has adam alone; nearest: optimizer adamw");
                }},
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) { return s.model.numExperts > 0 && s.model.bias && s.layout.etp > 1; },
                [](const Scenario& s) {
                    return "/layout/etp: Megatron gives experts biases only where they are whole; etp is " + digits(s.layout.etp) +
                           ", nearest: 1";
                }},
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) {
                    const int layers = s.training.offload.activationLayers;
                    return layers > 0 && (s.layout.pp > 1 || s.training.recompute != Recompute::none ||
                                          layers >= s.model.numHiddenLayers);
                },
                [](const Scenario& s) {
                    return "/training/offload/activation_layers: Megatron keeps activations on the host of fewer than all " +
                           digits(s.model.numHiddenLayers) +
                           " layers, without pipeline stages and without recomputation; nearest: 0";
                }},
    // core/pipeline_parallel/schedules.py: the group of an interleaved schedule lies in [PP, micro-batches]
    LayoutLimit{"megatron", Breach::refused,
                [](const Scenario& s) {
                    return s.layout.pp > 1 && s.schedule.virtualStages > 1 && s.microbatches() < s.layout.pp;
                },
                [](const Scenario& s) {
                    return "/training/global_batch_size: Megatron's interleaved schedule takes no fewer micro-batches than "
                           "pipeline ranks, not " +
                           microbatchesOnRanks(s, s.layout.pp);
                }},
    // torchtitan, models/llama3/infra/parallelize.py and distributed/pipeline_parallel.py
    LayoutLimit{"torchtitan", Breach::refused, [](const Scenario& s) { return isOtherKind(kTitanKinds, s); },
                [](const Scenario& s) { return scheduleText("torchtitan", kTitanKinds, s); }},
    // config/job_config.py, components/optimizer.py and components/quantization
    LayoutLimit{"torchtitan", Breach::refused, [](const Scenario& s) { return s.training.precision == Precision::fp16; },
                [](const Scenario&) {
                    return std::string("/training/precision: torchtitan trains in bfloat16 and float32, not fp16; nearest: bf16");
                }},
    LayoutLimit{"torchtitan", Breach::refused, [](const Scenario& s) { return s.training.optimizer != Optimizer::adamw; },
                [](const Scenario&) {
                    return std::string("/training/optimizer: torchtitan has Adam and AdamW alone; nearest: adamw");
                }},
    LayoutLimit{"torchtitan", Breach::refused,
                [](const Scenario& s) {
                    return isBlockScaled(s) && s.layout.tp > 1 && s.training.stack.id.starts_with("pytorch-compiled");
                },
                [](const Scenario& s) {
                    return "/layout/tp: torchtitan's MX formats take no tensor parallelism in a compiled model; tp is " +
                           digits(s.layout.tp) + ", nearest: 1";
                }},
    LayoutLimit{"torchtitan", Breach::otherwise,
                [](const Scenario& s) {
                    return s.training.precision == Precision::fp8 && s.model.numExperts > 0 && (s.layout.pp > 1 || s.layout.cp > 1);
                },
                [](const Scenario& s) {
                    return "/training/precision: torchtitan has experts in fp8 only without pipeline stages and context "
                           "parallelism; pp is " +
                           digits(s.layout.pp) + ", cp " + digits(s.layout.cp);
                }},
    // distributed/parallel_dims.py of v0.2.0, _validate, whose assertions have no text
    LayoutLimit{"torchtitan", Breach::refused, titanRefusesExperts,
                [](const Scenario& s) {
                    const Layout& l = s.layout;
                    const frameworks::TitanDegrees degrees = titanDegrees(l);
                    const int unit = frameworks::titanExpertUnit(degrees), ranks = frameworks::titanExpertRanks(degrees);
                    const std::string inner = l.etp == l.tp ? "cp" : "cp x tp";
                    return "/layout/ep: torchtitan lays experts over " + inner + " = " + digits(unit) +
                           " ranks and a part of the shards of data parallelism: ep " + digits(l.ep) + " must be a multiple of " +
                           digits(unit) + " and divide data_parallel_shard_degree " + digits(degrees.shards) + " x " + inner +
                           " = " + digits(ranks) +
                           (degrees.shards < l.dp ? "; nearest: ZeRO 3 over all of dp"
                                                  : nearestNumbers(l.ep, unit, ranks, [&](std::int64_t ep) {
                                                        return frameworks::titanExpertsFit(degrees, static_cast<int>(ep)) &&
                                                               s.model.numExperts % ep == 0;
                                                    }));
                }},
    LayoutLimit{"torchtitan", Breach::refused, repeatsHeads, [](const Scenario& s) { return headsText("torchtitan", s); }},
    LayoutLimit{"torchtitan", Breach::refused, [](const Scenario& s) { return s.training.sequenceLength % titanUnit(s) != 0; },
                [](const Scenario& s) { return ringText("torchtitan", titanUnit(s), s); }},
    LayoutLimit{"torchtitan", Breach::otherwise, [](const Scenario& s) { return s.layout.tp > 1 && !s.layout.sequenceParallel; },
                [](const Scenario&) {
                    return std::string("/layout/sequence_parallel: torchtitan's tensor parallelism always shards the sequence "
                                       "between layers");
                }},
    LayoutLimit{"torchtitan", Breach::otherwise,
                [](const Scenario& s) { return isSplitInReplicas(s) && s.layout.zeroStage == 1; },
                [](const Scenario& s) { return zeroText("torchtitan", "0 (DDP), 2 and 3 (FSDP)", "2", s); }},
    LayoutLimit{"torchtitan", Breach::otherwise, [](const Scenario& s) { return s.layout.cp > 1 && s.layout.zeroStage == 0; },
                [](const Scenario& s) {
                    return "/layout/zero_stage: torchtitan shards over context-parallel ranks, too; with cp " +
                           digits(s.layout.cp) + " it has ZeRO 2 and 3, not 0";
                }},
    // models/llama4/infra/parallelize.py: with expert parallelism all goes through FSDP, experts over the ranks that have the
    // same
    LayoutLimit{"torchtitan", Breach::otherwise,
                [](const Scenario& s) {
                    return s.layout.zeroStage == 0 && s.layout.ep > 1 && s.layout.tp * s.layout.cp > s.layout.ep * s.layout.etp;
                },
                [](const Scenario& s) {
                    return "/layout/zero_stage: torchtitan shards experts over the " +
                           digits(s.layout.tp * s.layout.cp / (s.layout.ep * s.layout.etp)) +
                           " ranks of a replica that hold the same ones (tp x cp = " + digits(s.layout.tp * s.layout.cp) +
                           ", ep x etp = " + digits(s.layout.ep * s.layout.etp) + "); nearest: 2";
                }},
    LayoutLimit{
        "torchtitan", Breach::otherwise,
        [](const Scenario& s) { return s.layout.zeroStage == 3 && isSplitInReplicas(s) && !s.layout.reshardAfterForward; },
        [](const Scenario&) {
            return std::string("/layout/zero_stage: parameters that stay gathered after the forward pass are torchtitan's "
                               "ZeRO 2; nearest: 2");
        }},
    LayoutLimit{"torchtitan", Breach::otherwise,
                [](const Scenario& s) { return isSharded(s) && s.layout.dpShard % s.layout.cp != 0; },
                [](const Scenario& s) { return shardText("torchtitan", "shards over whole context-parallel groups", s); }},
    LayoutLimit{"torchtitan", Breach::otherwise, isPartlyRecomputed,
                [](const Scenario& s) { return partlyText("torchtitan", s); }},
    LayoutLimit{"torchtitan", Breach::otherwise, [](const Scenario& s) { return isSelective(s) && !isByOperators(s); },
                [](const Scenario&) {
                    return std::string(
                        "/training/recompute: torchtitan's selective checkpoints keep attention and every other product");
                }},
    LayoutLimit{"torchtitan", Breach::otherwise, [](const Scenario& s) { return s.layout.ep == 1 && cutsExpertsOtherwise(s); },
                [](const Scenario& s) { return expertsText("torchtitan without ep", s); }},
    // PyTorch, distributed/pipelining/schedules.py
    LayoutLimit{"torchtitan", Breach::refused,
                [](const Scenario& s) { return isOfOneStageARank(s) && s.microbatches() < s.layout.pp; },
                [](const Scenario& s) {
                    return "/training/global_batch_size: PyTorch's GPipe and 1F1B take no fewer micro-batches than stages, not " +
                           microbatchesOnRanks(s, s.layout.pp);
                }},
    LayoutLimit{"torchtitan", Breach::refused, [](const Scenario& s) { return titanGroup(s) == 0; },
                [](const Scenario& s) {
                    return "/training/global_batch_size: PyTorch deals micro-batches in equal rounds, as many as they fill the "
                           "ranks: not " +
                           microbatchesOnRanks(s, s.microbatches() / s.layout.pp * s.layout.pp);
                }},
    LayoutLimit{"torchtitan", Breach::otherwise,
                [](const Scenario& s) {
                    const std::optional<int> group = titanGroup(s);
                    return group && *group != s.schedule.microbatchGroup;
                },
                [](const Scenario& s) {
                    return "/schedule/microbatch_group: PyTorch deals " + digits(s.microbatches()) + " micro-batches on " +
                           digits(s.layout.pp) + " pipeline ranks in rounds of " + digits(*titanGroup(s)) + ", not " +
                           digits(s.schedule.microbatchGroup);
                }},
    LayoutLimit{"torchtitan", Breach::otherwise, [](const Scenario& s) { return hasOtherOrder(s, true); },
                [](const Scenario& s) { return orderText("torchtitan", "tp-cp-ep-dp-pp", s); }},
    // DeepSpeed, runtime/pipe/engine.py
    LayoutLimit{"deepspeed", Breach::refused, [](const Scenario& s) { return isOtherKind("1f1b", s); },
                [](const Scenario& s) { return scheduleText("DeepSpeed", "1f1b", s); }},
    LayoutLimit{"deepspeed", Breach::refused, [](const Scenario& s) { return s.layout.cp > 1 && !dealsHeads(s); },
                [](const Scenario& s) {
                    return "/layout/cp: DeepSpeed has no ring of keys and values, only Ulysses (training.stack.exchanges_heads, "
                           "where cp divides the heads of a rank); cp is " +
                           digits(s.layout.cp) + ", nearest: 1";
                }},
    LayoutLimit{"deepspeed", Breach::refused, [](const Scenario& s) { return s.layout.pp > 1 && s.layout.zeroStage > 1; },
                [](const Scenario& s) {
                    return "/layout/zero_stage: DeepSpeed's pipeline takes ZeRO 0 and 1, not " + digits(s.layout.zeroStage) +
                           "; nearest: 1";
                }},
    // module_inject/auto_ep_folding.py, and runtime/engine.py: _validate_zero3_moe_compatibility
    LayoutLimit{"deepspeed", Breach::refused, [](const Scenario& s) { return s.layout.tp * s.layout.dp % s.layout.ep != 0; },
                [](const Scenario& s) {
                    return "/layout/ep: DeepSpeed spreads experts over the ranks of a stage: ep " + digits(s.layout.ep) +
                           " must divide tp x dp = " + digits(s.layout.tp * s.layout.dp);
                }},
    LayoutLimit{"deepspeed", Breach::refused, [](const Scenario& s) { return spreadsExperts(s) && s.layout.etp > 1; },
                [](const Scenario& s) {
                    return "/layout/etp: DeepSpeed does not cut the experts that it spreads; etp is " + digits(s.layout.etp) +
                           ", nearest: 1";
                }},
    LayoutLimit{"deepspeed", Breach::refused,
                [](const Scenario& s) { return spreadsExperts(s) && s.layout.tp > 1 && s.layout.zeroStage == 3; },
                [](const Scenario& s) {
                    return "/layout/zero_stage: DeepSpeed takes tensor parallelism beside spread experts with ZeRO 0 to 2, not 3 "
                           "(AutoEP with AutoTP; tp is " +
                           digits(s.layout.tp) + "); nearest: 2";
                }},
    LayoutLimit{"deepspeed", Breach::refused,
                [](const Scenario& s) { return spreadsExperts(s) && s.layout.tp > 1 && s.layout.pp > 1; },
                [](const Scenario& s) {
                    return "/layout/pp: DeepSpeed takes tensor parallelism beside spread experts without a pipeline; pp is " +
                           digits(s.layout.pp) + ", nearest: 1";
                }},
    LayoutLimit{"deepspeed", Breach::refused,
                [](const Scenario& s) { return spreadsExperts(s) && s.layout.tp > 1 && s.training.offload.optimizer > 0; },
                [](const Scenario&) {
                    return std::string("/training/offload/optimizer: DeepSpeed keeps the optimizer on the GPU where experts are "
                                       "spread beside tensor parallelism; nearest: 0");
                }},
    LayoutLimit{"deepspeed", Breach::refused,
                [](const Scenario& s) { return spreadsExperts(s) && s.layout.zeroStage == 3 && isShardedInPart(s); },
                [](const Scenario& s) { return shardText("DeepSpeed", "shards spread experts over all ranks (no MiCS)", s); }},
    LayoutLimit{"deepspeed", Breach::otherwise,
                [](const Scenario& s) {
                    const double onHost = s.training.offload.optimizer;
                    return s.layout.zeroStage < 3 && onHost > 0 && onHost < 1;
                },
                [](const Scenario& s) {
                    return "/training/offload/optimizer: DeepSpeed keeps a part of the optimizer on the host with ZeRO 3 alone, "
                           "not with " +
                           digits(s.layout.zeroStage) + "; nearest: 1, or 0";
                }},
    LayoutLimit{"deepspeed", Breach::otherwise, addsUpInOtherFormat,
                [](const Scenario& s) {
                    const bool isWide = s.training.gradientBytes == 4;
                    return std::string("/training/gradient_dtype: without ZeRO DeepSpeed adds gradients up in the model's own "
                                       "format, not in ") +
                           (isWide ? "fp32; nearest: bf16" : "bf16; nearest: fp32") + ", or ZeRO 1";
                }},
    LayoutLimit{"deepspeed", Breach::otherwise, isShardedByItself,
                [](const Scenario&) {
                    return std::string(
                        "/layout/zero_stage: DeepSpeed's BF16_Optimizer shards the optimizer of a pipeline by itself; "
                        "nearest: 1");
                }},
    LayoutLimit{"deepspeed", Breach::otherwise, [](const Scenario& s) { return s.layout.sequenceParallel && s.layout.tp > 1; },
                [](const Scenario&) {
                    return std::string("/layout/sequence_parallel: DeepSpeed's tensor parallelism (AutoTP) has none; nearest: "
                                       "false");
                }},
    LayoutLimit{"deepspeed", Breach::otherwise, [](const Scenario& s) { return isShardedInPart(s) && s.layout.zeroStage < 3; },
                [](const Scenario& s) { return shardText("DeepSpeed", "shards in part (MiCS) with ZeRO 3 alone", s); }},
    LayoutLimit{"deepspeed", Breach::otherwise, [](const Scenario& s) { return s.layout.ep == 1 && cutsExpertsOtherwise(s); },
                [](const Scenario& s) { return expertsText("DeepSpeed", s); }},
    LayoutLimit{"deepspeed", Breach::otherwise, isPartlyRecomputed, [](const Scenario& s) { return partlyText("DeepSpeed", s); }},
    LayoutLimit{"deepspeed", Breach::otherwise, isSelective,
                [](const Scenario&) {
                    return std::string("/training/recompute: DeepSpeed checkpoints whole layers, not parts of them; nearest: "
                                       "full, or none");
                }},
    LayoutLimit{"deepspeed", Breach::otherwise, isUneven, [](const Scenario& s) { return stagesText("DeepSpeed's JSON", s); }},
    LayoutLimit{"deepspeed", Breach::otherwise, [](const Scenario& s) { return hasOtherOrder(s, true); },
                [](const Scenario& s) { return orderText("DeepSpeed", "tp-cp-ep-dp-pp", s); }},
    // nanotron, config/parallelism_config.py
    LayoutLimit{"nanotron", Breach::refused, [](const Scenario& s) { return isOtherKind(kTwoKinds, s); },
                [](const Scenario& s) { return scheduleText("nanotron", kTwoKinds, s); }},
    LayoutLimit{"nanotron", Breach::refused, [](const Scenario& s) { return s.layout.zeroStage > 1 && isSplitInReplicas(s); },
                [](const Scenario& s) { return zeroText("nanotron", "0 and 1", "1", s); }},
    LayoutLimit{"nanotron", Breach::refused, [](const Scenario& s) { return s.model.isLatentAttention(); },
                [](const Scenario& s) { return latentText("nanotron", s); }},
    LayoutLimit{"nanotron", Breach::refused, [](const Scenario& s) { return s.layout.ep > 1; },
                [](const Scenario& s) {
                    return "/layout/ep: nanotron cannot make its grid of ranks with expert_parallel_size " + digits(s.layout.ep) +
                           "; nearest: 1";
                }},
    LayoutLimit{"nanotron", Breach::refused,
                [](const Scenario& s) { return s.layout.cp > 1 && s.training.sequenceLength % (2 * s.layout.cp) != 0; },
                [](const Scenario& s) {
                    return "/training/sequence_length: nanotron's ring needs a multiple of 2 cp = " + digits(2 * s.layout.cp) +
                           ", not " + digits(s.training.sequenceLength);
                }},
    LayoutLimit{"nanotron", Breach::otherwise, isShardedInPart,
                [](const Scenario& s) { return shardText("nanotron", "shards over all", s); }},
    LayoutLimit{"nanotron", Breach::otherwise, cutsExpertsOtherwise,
                [](const Scenario& s) { return expertsText("nanotron", s); }},
    LayoutLimit{"nanotron", Breach::otherwise, isPartlyRecomputed, [](const Scenario& s) { return partlyText("nanotron", s); }},
    LayoutLimit{"nanotron", Breach::otherwise, isSelective,
                [](const Scenario&) {
                    return std::string("/training/recompute: nanotron runs whole layers again, not parts of them; nearest: full, "
                                       "or none");
                }},
    LayoutLimit{"nanotron", Breach::refused, repeatsHeads, [](const Scenario& s) { return headsText("nanotron", s); }},
    LayoutLimit{"nanotron", Breach::otherwise,
                [](const Scenario& s) { return isUneven(s) && s.schedule.layersPerStage != layersOfNanotron(s); },
                [](const Scenario& s) { return stagesText("nanotron", s) + ": it deals them out by what they compute"; }},
    LayoutLimit{"nanotron", Breach::otherwise, [](const Scenario& s) { return hasOtherOrder(s, true); },
                [](const Scenario& s) { return orderText("nanotron", "tp-cp-ep-dp-pp", s); }},
    // picotron, train.py
    LayoutLimit{"picotron", Breach::refused, [](const Scenario& s) { return isOtherKind(kTwoKinds, s); },
                [](const Scenario& s) { return scheduleText("picotron", kTwoKinds, s); }},
    LayoutLimit{"picotron", Breach::refused, [](const Scenario& s) { return s.model.isLatentAttention(); },
                [](const Scenario& s) { return latentText("picotron", s); }},
    LayoutLimit{"picotron", Breach::refused, [](const Scenario& s) { return s.model.numExperts > 0; },
                [](const Scenario& s) {
                    return "/model/num_experts: picotron has no experts; this model has " + digits(s.model.numExperts) +
                           ", nearest: a dense model";
                }},
    LayoutLimit{"picotron", Breach::refused, repeatsHeads, [](const Scenario& s) { return headsText("picotron", s); }},
    LayoutLimit{"picotron", Breach::refused, [](const Scenario& s) { return s.model.vocabSize % s.layout.tp != 0; },
                [](const Scenario& s) {
                    return "/layout/tp: picotron does not pad the vocabulary: tp " + digits(s.layout.tp) + " must divide " +
                           digits(s.model.vocabSize);
                }},
    LayoutLimit{"picotron", Breach::otherwise, isSharded, [](const Scenario& s) { return zeroText("picotron", "0", "0", s); }},
    LayoutLimit{"picotron", Breach::otherwise, [](const Scenario& s) { return s.layout.sequenceParallel && s.layout.tp > 1; },
                [](const Scenario&) { return std::string("/layout/sequence_parallel: picotron has none; nearest: false"); }},
    LayoutLimit{"picotron", Breach::otherwise, [](const Scenario& s) { return s.training.recompute != Recompute::none; },
                [](const Scenario&) { return std::string("/training/recompute: picotron runs nothing again; nearest: none"); }},
    LayoutLimit{"picotron", Breach::otherwise, [](const Scenario& s) { return hasOtherOrder(s, false); },
                [](const Scenario& s) { return orderText("picotron", "tp-cp-pp-dp", s); }},
    LayoutLimit{"picotron", Breach::otherwise,
                [](const Scenario& s) {
                    const std::vector<int>& counts = s.schedule.layersPerStage;
                    const int stages = static_cast<int>(counts.size()), layers = s.model.numHiddenLayers;
                    for (int i = 0; s.layout.pp > 1 && i < stages; ++i)
                        if (counts[static_cast<std::size_t>(i)] != layers / stages + (i < layers % stages ? 1 : 0))
                            return true;
                    return false;
                },
                [](const Scenario& s) {
                    return "/schedule/layers_per_stage: picotron gives its first stages a layer more where the " +
                           digits(s.model.numHiddenLayers) + " layers do not divide by pp " + digits(s.layout.pp);
                }},
    // Accelerate: FSDP 2 and ParallelismConfig
    LayoutLimit{"huggingface", Breach::refused, [](const Scenario& s) { return s.layout.pp > 1; },
                [](const Scenario& s) {
                    return "/layout/pp: Accelerate has no pipeline stages; pp is " + digits(s.layout.pp) + ", nearest: 1";
                }},
    LayoutLimit{"huggingface", Breach::refused, [](const Scenario& s) { return s.layout.ep > 1; },
                [](const Scenario& s) {
                    return "/layout/ep: Accelerate has no expert parallelism; ep is " + digits(s.layout.ep) + ", nearest: 1";
                }},
    LayoutLimit{"huggingface", Breach::refused,
                [](const Scenario& s) {
                    const Layout& l = s.layout;
                    const int shard = l.zeroStage == 0 ? 1 : std::max(1, l.dpShard / l.cp);
                    return l.dp / shard > 1 && shard == 1 && (l.tp > 1 || l.cp > 1); // parallelism_config.py
                },
                [](const Scenario& s) {
                    const Layout& l = s.layout;
                    const bool isCut = l.tp > 1;
                    return std::string(l.zeroStage == 0 ? "/layout/zero_stage" : "/layout/dp_shard") +
                           ": Accelerate refuses replicas (dp " + digits(l.dp) + ") without shards beside " +
                           (isCut ? "tp " : "cp ") + digits(isCut ? l.tp : l.cp) + "; nearest: " +
                           (l.zeroStage == 0 ? std::string("ZeRO 3") : digits(l.dp * l.cp));
                }},
    LayoutLimit{"huggingface", Breach::otherwise,
                [](const Scenario& s) { return isSplitInReplicas(s) && s.layout.zeroStage == 1; },
                [](const Scenario& s) { return zeroText("Accelerate's FSDP", "2 and 3, and 0 without", "2", s); }},
    LayoutLimit{"huggingface", Breach::otherwise,
                [](const Scenario& s) { return s.layout.zeroStage == 0 && isSplitInReplicas(s) && s.layout.cp > 1; },
                [](const Scenario& s) {
                    return "/layout/zero_stage: Accelerate's context parallelism takes FSDP, ZeRO 2 or 3; cp is " +
                           digits(s.layout.cp);
                }},
    LayoutLimit{
        "huggingface", Breach::otherwise,
        [](const Scenario& s) { return s.layout.zeroStage == 3 && isSplitInReplicas(s) && !s.layout.reshardAfterForward; },
        [](const Scenario&) {
            return std::string("/layout/zero_stage: parameters that stay gathered after the forward pass are FSDP's ZeRO "
                               "2; nearest: 2");
        }},
    LayoutLimit{"huggingface", Breach::otherwise,
                [](const Scenario& s) { return isSharded(s) && s.layout.dpShard % s.layout.cp != 0; },
                [](const Scenario& s) { return shardText("Accelerate", "shards over whole context-parallel groups", s); }},
    LayoutLimit{"huggingface", Breach::otherwise, [](const Scenario& s) { return s.layout.sequenceParallel && s.layout.tp > 1; },
                [](const Scenario&) { return std::string("/layout/sequence_parallel: Accelerate has none; nearest: false"); }},
    LayoutLimit{"huggingface", Breach::otherwise, cutsExpertsOtherwise,
                [](const Scenario& s) { return expertsText("Accelerate", s); }},
    LayoutLimit{"huggingface", Breach::otherwise, isPartlyRecomputed,
                [](const Scenario& s) { return partlyText("Accelerate", s); }},
    LayoutLimit{"huggingface", Breach::otherwise, isSelective,
                [](const Scenario&) {
                    return std::string("/training/recompute: Accelerate checkpoints whole layers, not parts of them; nearest: "
                                       "full, or none");
                }},
    // MaxText, pyconfig.py
    LayoutLimit{"maxtext", Breach::refused, [](const Scenario& s) { return isOtherKind(kMaxTextKinds, s); },
                [](const Scenario& s) { return scheduleText("MaxText", kMaxTextKinds, s); }},
    LayoutLimit{"maxtext", Breach::refused,
                [](const Scenario& s) { return s.layout.pp > 1 && s.model.numHiddenLayers % std::max(1, s.stages()) != 0; },
                [](const Scenario& s) {
                    return "/schedule/virtual_stages: MaxText wants stages of equal layers: " + digits(s.model.numHiddenLayers) +
                           " layers do not divide by " + digits(s.stages()) + " stages";
                }},
    LayoutLimit{"maxtext", Breach::refused,
                [](const Scenario& s) { return s.layout.pp > 1 && s.microbatches() % s.layout.pp != 0; },
                [](const Scenario& s) {
                    const int pp = s.layout.pp, ofOneEach = s.training.microBatchSize * s.layout.dp;
                    return "/training/global_batch_size: MaxText wants as many micro-batches as there are stages, " + digits(pp) +
                           ", or a multiple; here are " + digits(s.microbatches()) + ", nearest: " +
                           digits((s.microbatches() + pp - 1) / pp * pp) + " of them, " +
                           digits(std::int64_t{1} * (s.microbatches() + pp - 1) / pp * pp * ofOneEach) + " sequences";
                }},
    LayoutLimit{"maxtext", Breach::refused,
                [](const Scenario& s) { return isNarrow(s.training.precision) && s.layout.pp == 1 && s.microbatches() > 1; },
                [](const Scenario& s) {
                    return "/training/precision: MaxText does not accumulate gradients in 8 bits; here are " +
                           digits(s.microbatches()) + " micro-batches, nearest: bf16, or 1";
                }},
    LayoutLimit{"maxtext", Breach::otherwise,
                [](const Scenario& s) {
                    const std::vector<int>& counts = s.schedule.layersPerStage;
                    return s.layout.pp > 1 &&
                           std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) != counts.end();
                },
                [](const Scenario& s) { return stagesText("MaxText", s); }},
    LayoutLimit{"maxtext", Breach::refused, [](const Scenario& s) { return s.layout.dp % s.layout.ep != 0; },
                [](const Scenario& s) {
                    return "/layout/ep: experts are an axis of MaxText's mesh: ep " + digits(s.layout.ep) + " must divide dp " +
                           digits(s.layout.dp);
                }},
    LayoutLimit{"maxtext", Breach::otherwise,
                [](const Scenario& s) { return isSplitInReplicas(s) && (s.layout.zeroStage == 1 || s.layout.zeroStage == 2); },
                [](const Scenario& s) { return zeroText("MaxText", "0 and 3", "3", s); }},
    LayoutLimit{"maxtext", Breach::otherwise,
                [](const Scenario& s) {
                    const Layout& l = s.layout;
                    const int rest = l.dp / l.ep, group = l.cp * l.ep;
                    return l.zeroStage == 3 && isSplitInReplicas(s) &&
                           (l.dpShard % group != 0 || l.dpShard <= group || rest % (l.dpShard / group) != 0);
                },
                [](const Scenario& s) { return shardText("MaxText", "shards over an axis beside those of cp and ep", s); }},
    LayoutLimit{"maxtext", Breach::otherwise, [](const Scenario& s) { return isPartlyRecomputed(s); },
                [](const Scenario& s) { return partlyText("MaxText", s); }},
    LayoutLimit{
        "maxtext", Breach::otherwise, isOddlySelective,
        [](const Scenario&) { return std::string("/training/recompute: MaxText's remat policies have tensors of their own"); }},
    LayoutLimit{"maxtext", Breach::otherwise, cutsExpertsOtherwise, [](const Scenario& s) { return expertsText("MaxText", s); }},
    LayoutLimit{"maxtext", Breach::otherwise, [](const Scenario& s) { return hasOtherOrder(s, true); },
                [](const Scenario& s) { return orderText("MaxText", "tp-cp-ep-dp-pp", s); }},
};

} // namespace

bool isPartlyRecomputed(const Scenario& s)
{
    const Training& t = s.training;
    return t.recompute == Recompute::full && t.recomputeLayers > 0 && t.recomputeLayers < layersOfFullest(s);
}

bool isSelective(const Scenario& s)
{
    return s.training.recompute == Recompute::selective;
}

bool hidesExperts(const Scenario& s)
{
    const Training& t = s.training;
    return s.layout.ep > 1 && (s.layout.pp == 1 || s.schedule.virtualStages > 1) && t.recompute != Recompute::full &&
           !t.recomputes(RecomputeModule::moe) && t.precision != Precision::fp32 && t.precision != Precision::tf32 &&
           s.model.numNextnPredictLayers <= 1;
}

std::span<const LayoutLimit> layoutLimits()
{
    return kLayoutLimits;
}

} // namespace sim
