// A training job, resolved: every default and catalogue entry filled in. Plain data, named by the keys of
// assets/scenario.schema.json. Read from and written to JSON by document.h, checked by sim/legal.
#pragma once

#include "sim/scenario/recompute.h"
#include "sim/scenario/stack.h"
#include "sim/schedule/families/families.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sim {

/// fp8: one scale a tensor; mxfp8: one for 32 elements; nvfp4: 4 bits, one for 16.
enum class Precision : std::uint8_t { fp32, tf32, bf16, fp16, fp8, mxfp8, nvfp4 };
/// Operands of products are cast to fewer bits than activations are kept in.
constexpr bool isNarrow(Precision precision)
{
    return precision >= Precision::fp8;
}
/// Of an activation or weight element (fp8 keeps bf16 activations).
constexpr int elementBytes(Precision precision)
{
    return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}
enum class HiddenActivation : std::uint8_t { gelu, silu, relu2 };
enum class Normalization : std::uint8_t { layernorm, rmsnorm };
enum class PositionEmbedding : std::uint8_t { learned, rope, none };
/// How the router makes scores of its logits.
enum class ScoringFunction : std::uint8_t { softmax, sigmoid };
/// What a layer's attention sees, in the words of config.json's layer_types.
enum class LayerType : std::uint8_t {
    full,    ///< the whole sequence
    sliding, ///< the last sliding_window tokens
    chunked  ///< the chunk of attention_chunk_size tokens that it stands in
};
inline constexpr std::array kLayerTypes = {LayerType::full, LayerType::sliding, LayerType::chunked};

/// What tells one layer of a model from another: layers alike in it do the same work.
struct LayerKind {
    bool moe = false;
    LayerType type = LayerType::full;
    bool rope = true; ///< queries and keys are rotated, if those of the model are
    auto operator<=>(const LayerKind&) const = default;
};

/// How rotary frequencies are changed in a model for longer sequences than it was first trained on, in the words of Hugging Face.
enum class RopeScalingKind : std::uint8_t { none, linear, llama3, yarn };
struct RopeScaling {
    RopeScalingKind kind = RopeScalingKind::none;
    double factor = 1;      ///< slow pairs turn so many times slower
    int originalLength = 0; ///< tokens of the sequences that it was first trained on; llama3 and yarn
    /// llama3: pairs that turn fewer times than the first in the original length are slowed, those that turn more often than the
    /// second are not.
    double lowFrequencyFactor = 1, highFrequencyFactor = 4;
    /// yarn (Peng et al. 2023): likewise, from the second to the first, with a straight line between the pairs.
    double betaFast = 32, betaSlow = 1;
    bool truncate = true;       ///< yarn: the line begins and ends at whole pairs
    double attentionFactor = 0; ///< yarn: of what is rotated; 0: 0.1 ln factor + 1, or what the next two make of it
    double mscale = 0, mscaleAllDim = 0;
    bool operator==(const RopeScaling&) const = default;
};

/// Linear layers that low-rank adapters stand beside, in the words of Hugging Face's PEFT.
enum class LoraTarget : std::uint8_t { query, key, value, output, gate, up, down };
inline constexpr std::array kLoraTargets = {LoraTarget::query, LoraTarget::key, LoraTarget::value, LoraTarget::output,
                                            LoraTarget::gate,  LoraTarget::up,  LoraTarget::down};

/// What frozen linear layers are kept in, the head apart: as layers compute, or in 8 or 4 bits (QLoRA's NF4, Dettmers et al.
/// 2023).
enum class LoraBase : std::uint8_t { wide, fp8, nf4 };

/// Hu et al. 2021: y = x W + x A B, with A of `rank` columns and B of `rank` rows. Only adapters are trained.
struct Lora {
    int rank = 0; ///< 0: no adapters, all of the model is trained
    LoraBase base = LoraBase::wide;
    /// Probability with which elements of what A reads are dropped. Above 0 a copy and a mask are made and kept, whatever the
    /// value.
    double dropout = 0;
    /// One A for all targets of a product, as Megatron has it beside linear_qkv and linear_fc1; false: each its own, as PEFT.
    bool fused = false;
    std::array<bool, kLoraTargets.size()> targets = {true, true, true, true, true, true, true}; ///< [LoraTarget]

    bool isOn() const { return rank > 0; }
    /// Of an element of those layers, with its scales. NF4: 64 elements have one of 8 bits, 256 of these one of 32 (section 3
    /// there).
    double baseBytes(int computed) const
    {
        return base == LoraBase::nf4 ? (4 + 8.0 / 64 + 32.0 / (64 * 256)) / 8 : base == LoraBase::fp8 ? 1 : computed;
    }
    bool has(LoraTarget target) const { return isOn() && targets[static_cast<std::size_t>(target)]; }
    bool hasMlp() const { return has(LoraTarget::gate) || has(LoraTarget::up) || has(LoraTarget::down); }
    bool operator==(const Lora&) const = default;
};

enum class Optimizer : std::uint8_t { adamw, sgd };

/// Architecture of a decoder-only transformer, in Hugging Face's words.
struct Model {
    std::string base; ///< catalogue id it came from; empty if written out
    std::string name; ///< for people; "Llama 3 8B (changed)" where a file gives that base other sizes and no name
    int numHiddenLayers = 0;
    int hiddenSize = 0;
    int intermediateSize = 0; ///< of the dense MLP
    int numAttentionHeads = 0;
    int numKeyValueHeads = 0; ///< = numAttentionHeads unless grouped-query attention
    int headDim = 0;
    int vocabSize = 0;
    int maxPositionEmbeddings = 0;
    bool tieWordEmbeddings = false;
    HiddenActivation hiddenAct = HiddenActivation::silu;
    bool gatedMlp = true; ///< SwiGLU-style: two up projections
    Normalization normalization = Normalization::rmsnorm;
    PositionEmbedding positionEmbedding = PositionEmbedding::rope;
    double ropeTheta = 10000;       ///< base of the rotary frequencies theta^(-2 i / head_dim) (Su et al. 2021)
    RopeScaling ropeScaling;        ///< what is made of these
    double rmsNormEps = 1e-5;       ///< added to the mean square, where normalization is rmsnorm
    double layerNormEpsilon = 1e-5; ///< added to the variance, where it is layernorm
    bool bias = false;              ///< every linear layer has a bias (GPT-2 style)
    bool qkvBias = false;           ///< only the query, key, value projections have one (Qwen2.5)
    bool outputBias = false;        ///< the attention output projection has one (gpt-oss, with qkvBias)
    bool qkNorm = false;            ///< per-head normalisation of queries and keys (Qwen3)
    bool attentionSinks = false;    ///< one learned sink logit a head (gpt-oss)
    /// Probabilities with which elements are dropped behind attention, MLP and embedding, and of attention's weights. Above 0 a
    /// mask is made and kept, whatever the value. Live training has a key of its own.
    double hiddenDropout = 0, attentionDropout = 0;
    // Which layers see less than the whole sequence: layerTypes, where written; else all but those that the two intervals name.
    int slidingWindow = 0;             ///< tokens that a query of a sliding layer sees, its own among them; 0: no such layers
    int slidingWindowPattern = 0;      ///< every n-th layer sees all (Gemma 3, gpt-oss); 0: none
    int attentionChunkSize = 0;        ///< tokens of a chunk; 0: no such layers
    int noRopeLayerInterval = 0;       ///< every n-th layer has no rotary positions, nor chunks (Llama 4); 0: none
    std::vector<LayerType> layerTypes; ///< [layer]; empty: they follow from the above
    /// Modules that each predict one token further ahead (DeepSeek-V3, section 2.2), behind the last layer: a projection of the
    /// hidden state and the next token's embedding, a layer like the model's last, and its embedding and head once more.
    int numNextnPredictLayers = 0;
    // Mixture of experts; numExperts == 0 means dense.
    int numExperts = 0;
    int numExpertsPerTok = 0;
    int moeIntermediateSize = 0;
    int numSharedExperts = 0;
    int firstKDenseReplace = 0; ///< the first k layers are dense
    int moeLayerFreq = 1;       ///< of the others every n-th is MoE
    bool routerBias = false;    ///< a bias per expert in the router (DeepSeek-V3's correction bias, gpt-oss's router bias)
    // What a token's experts count, which changes no step time.
    ScoringFunction scoringFunction = ScoringFunction::softmax;
    int expertGroups = 1, chosenGroups = 1; ///< experts are chosen from the best of equal groups: n_group, topk_group
    bool normTopkProb = true;               ///< the chosen experts' weights are divided by their sum
    double routedScalingFactor = 1;         ///< and multiplied by this
    bool expertBias = false;                ///< biases inside the experts (gpt-oss)
    // Multi-head latent attention; kvLoraRank == 0 means ordinary attention.
    int qLoraRank = 0;
    int kvLoraRank = 0;
    int qkNopeHeadDim = 0;
    int qkRopeHeadDim = 0;
    int vHeadDim = 0;
    Lora lora; ///< training.lora of the file: what is trained decides what tensors there are

    bool hasExpertBias() const { return bias || expertBias; }
    bool isMoeLayer(int layer) const
    {
        return numExperts > 0 && layer >= firstKDenseReplace && (layer - firstKDenseReplace) % moeLayerFreq == 0;
    }
    /// How many layers isMoeLayer.
    int moeLayers() const
    {
        const int from = firstKDenseReplace;
        return numExperts > 0 && from < numHiddenLayers ? (numHiddenLayers - from - 1) / moeLayerFreq + 1 : 0;
    }
    bool isLatentAttention() const { return kvLoraRank > 0; }
    LayerType layerType(int layer) const
    {
        if (!layerTypes.empty())
            return layer < static_cast<int>(layerTypes.size()) ? layerTypes[static_cast<std::size_t>(layer)] : LayerType::full;
        const auto isEvery = [layer](int interval) { return interval > 0 && (layer + 1) % interval == 0; };
        if (attentionChunkSize > 0)
            return isEvery(noRopeLayerInterval) ? LayerType::full : LayerType::chunked;
        return slidingWindow > 0 && !isEvery(slidingWindowPattern) ? LayerType::sliding : LayerType::full;
    }
    /// How many layers are of this type, without those of prediction modules.
    int layersOf(LayerType type) const
    {
        if (!layerTypes.empty())
            return static_cast<int>(std::count(layerTypes.begin(), layerTypes.end(), type));
        const LayerType usual = attentionChunkSize > 0 ? LayerType::chunked
                                : slidingWindow > 0    ? LayerType::sliding
                                                       : LayerType::full;
        const int interval = attentionChunkSize > 0 ? noRopeLayerInterval : slidingWindow > 0 ? slidingWindowPattern : 0;
        const int full = interval > 0 ? numHiddenLayers / interval : 0;
        return type == usual ? numHiddenLayers - full : type == LayerType::full ? full : 0;
    }
    LayerKind layerKind(int layer) const
    {
        return {.moe = isMoeLayer(layer),
                .type = layerType(layer),
                .rope = noRopeLayerInterval == 0 || (layer + 1) % noRopeLayerInterval != 0};
    }
    /// Of the layer in a prediction module.
    LayerKind predictionKind() const { return layerKind(numHiddenLayers - 1); }
    bool operator==(const Model&) const = default;
};

/// One measurement. Kernels: rows and columns of a matrix product's result and the length of its sums; of attention queries,
/// twice the keys that one sees on average (causal: all keys), head dimension, sequences x heads; rows and columns (k = 1) of
/// what works element by element. Transfers: m is the size of the whole tensor in bytes, n the number of members.
struct MeasuredPoint {
    double m = 1, n = 1, k = 1, batch = 1;
    double microseconds = 0;
    bool operator==(const MeasuredPoint&) const = default;
};

/// Time against shape of one kind of kernel ("gemm.forward") or transfer ("all_reduce"); schema: kernel_curve, transfer_curve.
struct MeasuredCurve {
    std::string name;
    std::vector<MeasuredPoint> points;
    bool operator==(const MeasuredCurve&) const = default;
};

/// What was measured on a real machine. What it does not know is priced by the constants of Efficiency.
struct HardwareProfile {
    std::string device;                 ///< "Intel Xeon …, one core": for people
    std::optional<Precision> precision; ///< of the kernels; they count where the scenario trains in it
    std::vector<MeasuredCurve> kernels;
    std::vector<MeasuredCurve> transfers; ///< inside one domain of the innermost tier
    bool kernelsAlone = false;            ///< launches are in no kernel's time: what the host takes comes on top
    bool empty() const { return kernels.empty() && transfers.empty(); }
    bool operator==(const HardwareProfile&) const = default;
};

/// Fractions of peak of an attention kernel for long sequences and heads of 128, and at how many keys that a query sees, and
/// which size of heads, it reaches half; 0: what holds of all kernels.
struct AttentionRate {
    double forward = 0, backward = 0;
    double forwardHalfLength = 0, backwardHalfLength = 0;
    double forwardHalfHead = 0, backwardHalfHead = 0;
    bool operator==(const AttentionRate&) const = default;
};

/// What fused attention in 8 bits is scaled by: a tensor, or a block (mxfp8).
enum class NarrowScaling : std::uint8_t { tensor, block };
inline constexpr std::size_t kNarrowScalingCount = 2;

/// What kernels reach of a GPU's peaks. Belongs to a GPU type (or a measured profile), never to a scenario.
struct Efficiency {
    std::string id;                  ///< catalogue id or file it came from
    double gemm = 0.78;              ///< fraction of peak a large, well-shaped GEMM reaches
    double gemmHalfK = 256;          ///< K at which a GEMM reaches half of that (start-up of the main loop)
    double attentionForward = 0.60;  ///< fused attention, forward, for long sequences and heads of 128
    double attentionBackward = 0.50; ///< fused attention, backward, likewise
    /// The same of single kernels, by AttentionKernel; 0 where the two above hold.
    std::array<AttentionRate, kAttentionKernelCount> attention{};
    /// cuDNN's in 8 bits, of the peak in 8 bits, by NarrowScaling; forward 0 where there is none.
    std::array<AttentionRate, kNarrowScalingCount> narrowAttention{};
    double attentionHalfLength = 139; ///< keys that a query sees at which attention reaches half of that
    double memory = 0.80;             ///< fraction of memory bandwidth that element-wise kernels reach
    /// Further factor on the GEMMs of all of a rank's experts, whose tiles fill waves together. 1: SimuMax's 120 measured shapes
    /// on B200 and A100, experts of 128 to 9,832 tokens, take what the formula for one product says, within 13 and 4 % (mean).
    double groupedGemm = 1;
    double fp8Gemm = 0.90;        ///< further factor on GEMMs in 8 or 4 bits
    double weightGradient = 0.95; ///< further factor on GEMMs of weight gradients, which add to fp32
    double kernelUs = 3;          ///< start and end of one kernel on the GPU, where the next one waits for it
    double launchUs = 3.0;        ///< shortest time of one kernel, microseconds; its launch by the host is Stack's
    double network = 0.85;        ///< fraction of a link's bandwidth that collectives reach
    double interNode = 0;         ///< likewise of links beyond the node; 0: as inside
    double allToAll = 0.85;       ///< further factor on all-to-alls, which meet at the receivers
    double inNetwork = 0.85;      ///< further factor on all-reduces that switches add up (NCCL's of Hopper, src/graph/tuning.cc)
    double collectiveUs = 20;     ///< start and end of a collective, besides its hops
    double hostLink = 0.82;       ///< fraction of the link to the host that copies from pinned memory reach
    /// Fraction of the host's memory bandwidth that its optimizer reaches. Ren et al. 2021, table 4: CPU-Adam moves 28 bytes for
    /// each of 10 G parameters in 2.57 s, 0.43 of a DGX-2's; DeepSpeed's whole update by eight ranks at once 0.23 to 0.37.
    double hostMemory = 0.4;
    double besideTransfers = 1; ///< kernels take this many times as long while a collective runs beside them
    /// Likewise while it is an all-to-all of experts' tokens, whose kernels keep multiprocessors to themselves (DeepEP,
    /// HybridEP); 0, or less than besideTransfers: that.
    double besideAllToAll = 0;
    HardwareProfile profile; ///< beats the constants where it has measured
    bool operator==(const Efficiency&) const = default;
};

struct Gpu {
    std::string base;
    std::string name;
    std::map<Precision, double> peakTflops; ///< dense; missing = not supported by the tensor cores
    double memoryGib = 0;
    double memoryBandwidthGBs = 0; ///< GB/s
    double hostBandwidthGBs = 32;  ///< GB/s between it and host memory, one direction; PCIe 4.0 x16 unless said
    int multiprocessors = 0;       ///< SMs or compute units
    double powerWatts = 0;         ///< its power limit; 0: not known
    bool operator==(const Gpu&) const = default;
};

/// A level of the interconnect: domains of `span` GPUs joined at the given speed.
struct Tier {
    std::string name;
    int span = 0;            ///< GPUs one domain joins; 0 = all
    double bandwidthGBs = 0; ///< GB/s a GPU can send, one direction, while it has its port to itself
    int gpusPerNic = 1;      ///< of a node, that have one network card together; the bandwidth is the card's
    double latencyUs = 0;
    bool inNetworkReduction = false;
    bool mesh = false; ///< no switch: a link to each other domain of the tier below, or GPU; the bandwidth is of all together
    bool operator==(const Tier&) const = default;
};

/// The processors of a node: they keep and update what is offloaded.
struct Host {
    double memoryBandwidthGBs = 0, memoryGib = 0; ///< resolved: never 0
    bool operator==(const Host&) const = default;
};

struct Cluster {
    std::string base;
    std::string name;
    Gpu gpu;
    int gpusPerNode = 0;
    int nodes = 0;
    Host host;
    std::vector<Tier> tiers; ///< innermost first; the last spans all
    Efficiency efficiency;
    int gpus() const { return gpusPerNode * nodes; }
    /// Whether a tier joins GPUs of one node, or of a domain that NVLink makes one, alone.
    bool isInsideNode(std::size_t tier) const
    {
        return gpusPerNode > 1 && (tier == 0 || (tiers[tier].span != 0 && tiers[tier].span <= gpusPerNode));
    }
    /// The innermost tier that goes over network cards; where none does, the last.
    std::size_t networkTier() const
    {
        std::size_t tier = 0;
        while (tier + 1 < tiers.size() && isInsideNode(tier))
            ++tier;
        return tier;
    }
    bool operator==(const Cluster&) const = default;
};

enum class PlacementRule : std::uint8_t { packed, roundRobin, explicitList };

struct Layout {
    int tp = 1, cp = 1, pp = 1, dp = 1;
    int ep = 1;
    int etp = 1;                          ///< tensor parallelism of experts; the file's default is tp
    std::string order = "tp-cp-ep-dp-pp"; ///< axes, fastest-varying first
    bool sequenceParallel = false;
    int zeroStage = 0;                ///< 0..3, 3 = FSDP
    bool reshardAfterForward = true;  ///< ZeRO 3: gathered parameters are dropped after each use; false: kept for the step
    bool reduceEachMicrobatch = true; ///< ZeRO 2, 3: gradients are cut micro-batch by micro-batch; false: they add up whole
    int dpShard = 0;                  ///< ranks one shard group joins inside dp*cp; resolved: never 0
    PlacementRule placement = PlacementRule::packed;
    std::vector<int> explicitPlacement; ///< rank -> GPU, for explicitList
    int worldSize() const { return tp * cp * pp * dp; }
    bool operator==(const Layout&) const = default;
};

struct ScheduleSettings {
    std::string kind = "1f1b";
    int virtualStages = 1;
    std::vector<int> layersPerStage; ///< per stage in model order, Scenario::stages() long; resolved: never empty
    int microbatchGroup = 0;         ///< interleaving group; resolved: pp unless given
    int sequenceSlices =
        1; ///< for kinds that cut sequences: parts of a sequence that go through the pipeline one after the other
    double memoryCapGib = 0;          ///< for `auto`; 0 = the GPU's memory
    std::vector<std::string> actions; ///< one line a rank, PyTorch's action grammar; resolved: empty unless kind is custom
    bool operator==(const ScheduleSettings&) const = default;
};

/// Whether a file says a value that follows from others where it does not. What is said is the same job as what follows.
struct IsSaid {
    bool yes = false;
    constexpr bool operator==(const IsSaid&) const { return true; }
};

struct Overlap {
    bool gradReduce = true;
    bool paramGather = true;
    IsSaid saysParamGather; ///< or it follows from the stage of ZeRO and the software: sim/scenario/usual_overlap.h
    bool tpComm = false;
    bool p2p = true;
    bool epComm = false; ///< a forward and a backward in one block, each hiding the other's all-to-all
    bool operator==(const Overlap&) const = default;
};

/// How tokens reach their experts.
struct MoeSettings {
    int dispatchBytes = 2, combineBytes = 2; ///< of an element on its way to an expert, and back
    bool sendOncePerNode = false;            ///< one copy a node, shared there; otherwise one for each chosen expert
    double imbalance = 1;                    ///< tokens of the busiest rank over the mean, as written
    /// What becomes of it where experts lie on so many ranks: the busiest can have no more than all tokens.
    double imbalanceOver(int ep) const { return imbalance < ep ? imbalance : ep; }
    bool operator==(const MoeSettings&) const = default;
};

/// What lies in the host's memory. Copies run beside kernels on the GPU's copy engines, one a direction.
struct Offload {
    /// Fraction of the optimizer's states, which the host's processors update (Ren et al. 2021, ZeRO-Offload; Megatron Core's
    /// HybridDeviceOptimizer).
    double optimizer = 0;
    int activationLayers = 0; ///< of each chunk the first so many send what they keep there, and get it back in time
    bool isOn() const { return optimizer > 0 || activationLayers > 0; }
    bool operator==(const Offload&) const = default;
};

/// What sequences are packed from; nothing: each is one document. Attention then does not cross documents (Llama 3, section 3.2).
struct Documents {
    std::vector<int> lengths;    ///< tokens
    std::vector<double> weights; ///< how often each is drawn; as many, resolved never empty beside lengths
    std::uint64_t seed = 0;
    bool areGiven() const { return !lengths.empty(); }
    bool operator==(const Documents&) const = default;
};

struct Training {
    int sequenceLength = 0;  ///< tokens
    int microBatchSize = 1;  ///< sequences
    int globalBatchSize = 0; ///< sequences
    double tokens = 0;       ///< of the whole run; 0: nobody said
    Precision precision = Precision::bf16;
    Recompute recompute = Recompute::none;
    int recomputeLayers = 0; ///< for full: layers of each chunk that are recomputed; resolved: all of them unless given (0 = all)
    RecomputeModules recomputeModules = {RecomputeModule::coreAttention}; ///< for selective; resolved: the stack's unless given
    Optimizer optimizer = Optimizer::adamw;
    bool causal = true;
    bool flashAttention = true;
    /// Resolved: never automatic; unfused exactly where flashAttention is false.
    AttentionKernel attention = AttentionKernel::flash2;
    /// Head and loss take so many tokens at a time, and make the gradients of both in the forward pass; 0: all of a micro-batch,
    /// and its logits are kept.
    int lossChunkTokens = 0;
    Stack stack;
    /// Beside parameters of 16 bits the optimizer has a copy in single precision; false: it updates the parameters themselves.
    bool masterWeights = true;
    int momentBytes = 4;   ///< of each of AdamW's two: moment_dtype
    int gradientBytes = 4; ///< of one gradient as it is added up and reduced: gradient_dtype
    MoeSettings moe;
    Overlap overlap;
    Offload offload;
    Documents documents;
    /// Whether `selective` runs it again, and no larger module does.
    bool recomputes(RecomputeModule module) const
    {
        const bool isInMoe = module == RecomputeModule::moeActivation || module == RecomputeModule::sharedExperts;
        return recompute == Recompute::selective && recomputeModules.has(module) &&
               !(isInMoe && recomputeModules.has(RecomputeModule::moe)) &&
               (module == RecomputeModule::operators || !recomputeModules.has(RecomputeModule::operators));
    }
    bool operator==(const Training&) const = default;
};

enum class PerturbationKind : std::uint8_t { slowGpu, slowLink, jitter, failure };

/// GPUs that fail, and what is done against it: checkpoints, restarts, spare nodes. Of a run of many steps; a step is as without.
struct Failures {
    /// Between failures of one GPU with its share of the host, so that a job of n GPUs fails n times as often. Llama 3's report:
    /// 419 unexpected interruptions of 16,384 GPUs in 54 days are one in 50,700 hours of a GPU.
    double mtbfHours = 50000;
    std::optional<double> checkpointEverySeconds; ///< of training; nothing: as often as loses least
    std::optional<double> checkpointSeconds;      ///< a save holds training up; nothing: its bytes over storageGBs
    /// 10^9 bytes a second that a node writes. Llama 3's storage sustains 2 TB/s for 2,048 nodes.
    double storageGBs = 1;
    double restartSeconds = 600; ///< from a failure until training goes on: noticed, scheduled, loaded. An assumption
    double replaceSeconds = 0;   ///< until a node that failed is back, repaired or another; 0: the cluster has one at hand
    int spares = 0;              ///< nodes that stand by
    double days = 30;            ///< what is told of: a month
    bool operator==(const Failures&) const = default;
};

/// Something that is not ideal.
struct Perturbation {
    PerturbationKind kind = PerturbationKind::slowGpu;
    int rank = -1;          ///< slowGpu: the rank; slowLink: a rank whose links are slow; jitter: the only one, or -1
    double factor = 1;      ///< slowGpu: compute takes this many times as long; slowLink: so do the rank's transfers
    double sigma = 0;       ///< jitter: relative standard deviation of each kernel's time
    std::uint64_t seed = 0; ///< jitter; failure: of the months that are tried
    Failures failures{};    ///< failure
    bool slowsStep() const { return kind != PerturbationKind::failure; }
    bool operator==(const Perturbation&) const = default;
};

struct LiveSettings {
    std::string device = "auto"; ///< auto, cpu, cuda
    int steps = 20;
    double learningRate = 3e-4;
    std::uint64_t seed = 1;
    std::string data = "builtin";
    std::string dtype = "fp32";  ///< fp64, fp32, bf16
    double dropout = 0;          ///< after the embedding, the attention and the MLP
    double weightDecay = 0.1;    ///< AdamW's, of matrices
    double clipNorm = 1;         ///< of the gradient; 0: not clipped
    double auxiliaryLoss = 0.01; ///< coefficient of the experts' load-balancing loss
    bool operator==(const LiveSettings&) const = default;
};

/// How far measured steps of the same GPU, software and kind of model lay from predictions: factors on a prediction between which
/// the measurement was in `level` of the cases. From assets/residuals.json, which tools/accuracy makes.
struct Uncertainty {
    double level = 0.8; ///< 0: nothing of its kind was measured; `basis` then says what, and no interval is to be told
    double stepLow = 0.8, stepHigh = 1.25;
    double memoryLow = 0.95, memoryHigh = 1.05;
    std::string basis; ///< "132 measured steps of H100 SXM5 80 GB with megatron-te-2024"
    /// Two predictions of one job err alike: the interval of their ratio is this part of a prediction's own, in logarithms.
    double ratioShare = 1;
    std::string ratioBasis; ///< "2214 pairs of measured steps of one job, one setting apart, from 4 sources"
    bool isKnown() const { return level > 0; }
    bool operator==(const Uncertainty&) const = default;
};

struct Scenario {
    std::string name;
    std::string description; ///< Markdown
    std::string source;
    Model model;
    Cluster cluster;
    Layout layout;
    ScheduleSettings schedule;
    Training training;
    std::vector<Perturbation> perturbations;
    LiveSettings live;
    Uncertainty uncertainty; ///< follows from GPU, stack and model

    /// Copies of the model that one pipeline trains side by side.
    int modelCopies() const
    {
        const ScheduleFamily* const family = findScheduleFamily(schedule.kind);
        return family != nullptr ? family->modelCopies : 1;
    }
    /// Parts that each copy of the model is cut into.
    int stages() const { return layout.pp * schedule.virtualStages / modelCopies(); }
    /// Micro-batches one pipeline works through in a step.
    int microbatches() const { return training.globalBatchSize / (training.microBatchSize * layout.dp); }
    bool operator==(const Scenario&) const = default;
};

} // namespace sim
