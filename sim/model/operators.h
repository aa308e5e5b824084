// The transformer as one rank computes it: an ordered list of operators with the shapes that sharding leaves of their tensors,
// what each keeps for the backward pass, and the collectives between them. Forward order; the backward pass walks it in reverse.
#pragma once

#include "sim/model/tensors.h"
#include "sim/scenario/scenario.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sim {

enum class OperatorKind : std::uint8_t {
    gemm,                ///< (m x k)(k x n), `batch` of them; has weights unless weightless
    attention,           ///< fused attention over this rank's queries and one block of keys
    elementwise,         ///< bound by memory traffic: norms, activations, residuals, softmax, permutation, look-up, loss
    enterTensorParallel, ///< f of Megatron-LM: forward all-gather (sequence parallel) or nothing; backward reduce-scatter or
                         ///< all-reduce
    leaveTensorParallel, ///< g: forward reduce-scatter or all-reduce; backward all-gather or nothing
    ringExchange,        ///< context parallelism: the next block of keys and values moves one rank on
    gatherKeys, ///< context parallelism where blocks cannot be taken one by one: all-gather of keys and values; backward once
                ///< more, and a reduce-scatter of their gradients
    dispatchTokens,
    combineTokens, ///< expert parallelism: all-to-all there and back
    enterExpertTensor,
    leaveExpertTensor, ///< expert tensor parallelism: all-gather and reduce-scatter of routed tokens
    syncLoss,          ///< small all-reduces of the vocabulary-parallel cross-entropy
    gatherLatent,      ///< LoRA beside a column-parallel layer: forward all-gather of what A makes, backward all-reduce
    reduceLatent,      ///< beside a row-parallel one: all-reduce of the same both ways
    gatherLogits,      ///< all parts of the vocabulary: all-gather; of the gradient each takes its part
    gatherOutput,  ///< of a product cut by columns, which all ranks need whole (an adapter's B, the projection of a prediction
                   ///< module), or of tokens that ranks have taken their parts of: all-gather; backward, under sequence
                   ///< parallelism, of its gradient
    gatherHeads,   ///< of queries, keys and values that ranks have parts of (Stack::gathersHeads): forward all-gather, backward
                   ///< reduce-scatter
    exchangeHeads, ///< context parallelism: of queries, keys and values parts of the sequence for heads, of attention's output
                   ///< back (Stack::exchangesHeads): all-to-all both ways
    dropTokens     ///< each rank goes on with its part of what all have: forward nothing, backward all-gather
};

/// What a kernel does: kernels of one family have one curve of time against shape in a measured profile.
enum class KernelFamily : std::uint8_t {
    other, ///< priced by its bytes alone
    gemm,
    groupedGemm,
    attention,
    norm,
    activation,
    residual,
    ringMerge, ///< of attention over blocks that come round a ring
    rope,
    embedding,
    loss,
    permute,
    unpermute,
    optimizer,
    scores, ///< products of unfused attention
    softmax
};
inline constexpr std::size_t kKernelFamilyCount = 16;

/// Which constants of the software stack hold for it; none where all software is alike.
std::optional<StackPart> stackPartOf(KernelFamily);

/// Bytes are per rank and micro-batch. `saved*` follow Korthikanti et al. 2022, section 4, and the Zero Bubble paper, table 1:
/// M_B - M_W is freed by the input-gradient pass, M_W by the weight-gradient pass.
struct Operator {
    OperatorKind kind = OperatorKind::elementwise;
    KernelFamily family = KernelFamily::other;
    std::string_view name;
    /// GEMM: the product; attention: queries, twice the keys that one sees on average, head dimension, sequences x heads;
    /// elementwise: m rows of n elements.
    std::int64_t m = 0, n = 0, k = 0, batch = 1;
    bool lowPrecision = false; ///< GEMM that runs in 8 or 4 bits where the precision says so
    bool weightless = false;   ///< GEMM of two activations (unfused attention): both gradients belong to I
    bool frozen = false;       ///< its weights are not trained: no gradients of them
    bool routed = false;       ///< belongs to the experts: grouped GEMM, gradients reduced over expt_dp
    /// False where nothing before it is trained: it has no backward pass, or with weights of its own that are, only theirs.
    bool needsInputGradient = true;
    bool windowed = false;                            ///< attention that leaves out the keys before a window
    bool overlapsRing = false;                        ///< attention over a received block: waits for its ringExchange
    double flops = 0;                                 ///< forward
    double backwardFlopsFactor = 2;                   ///< attention: 2.5 fused (recomputes scores; equal heads), 2 unfused
    std::int64_t forwardBytes = 0, backwardBytes = 0; ///< elementwise: read plus written; GEMM: what kernels before it move
    std::int64_t commBytes = 0; ///< size of the whole tensor a collective works on, or bytes sent by a ringExchange
    int reductions = 1;         ///< enterTensorParallel: input gradients that are reduced by themselves
    int gathers() const { return reductions > 1 ? reductions : 1; } ///< under sequence parallelism: each product's own
    std::int64_t savedBytes = 0;                                    ///< kept from F to I
    std::int64_t savedInputBytes = 0;                               ///< GEMM input, kept from F to W
    std::int64_t savedGradientBytes = 0; ///< GEMM output gradient, kept from I to W when the backward is split
    std::int64_t parameters = 0;         ///< elements on this rank
    std::int64_t passingBytes = 0;       ///< held while it runs forward, of a GEMM while its input gradient is made too
    int pieces = 1; ///< rows are worked on in so many parts, by kernels or collectives of their own, both ways
    /// Queries, keys and values of latent attention among savedBytes: what mla_up_proj makes again.
    std::int64_t savedHeadBytes = 0;
    RecomputeModules modules;                 ///< that run it again
    RecomputeModules keepsInputOf;            ///< of those whose first product it is: its input is kept all the same
    std::optional<RecomputeModule> inputFrom; ///< the module that makes savedInputBytes again
    /// Where a product keeps none of its input, as it is frozen, or a narrower copy: what a module keeps that begins with it.
    std::int64_t moduleInputBytes = 0;
    /// RecomputeModule::operators: of its work the share that runs again, and of what it keeps what is made again.
    double rerunShare = 0;
    std::int64_t rerunBytes = 0;
    std::int64_t unreadBytes = 0; ///< likewise: results that are kept though no backward pass reads them (Stack::keepsUnread)
    /// Scores, softmax and weighted values, and what brings their keys.
    bool isAttentionCore() const { return modules.has(RecomputeModule::coreAttention); }
};

struct OperatorList {
    std::vector<Operator> operators;
    std::size_t secondHalf = 0;  ///< of a layer: where attention has ended and what follows it begins
    std::int64_t inputBytes = 0; ///< the activation entering: what full recomputation keeps
    bool endsBackward = false;   ///< nothing of it and before it is trained: a frozen embedding
    std::int64_t parameters() const;
    std::int64_t routedParameters() const;            ///< of parameters(), those of the experts
    std::int64_t frozenParameters(bool routed) const; ///< of them, or of the others, those that are not trained
    std::int64_t narrowWeights() const;               ///< of products that run in 8 or 4 bits where the precision says so
    /// Bytes one micro-batch keeps from forward to backward, without recomputation.
    std::int64_t savedBytes() const;
};

/// What shapes depend on besides the model.
struct Sharding {
    int tp = 1, cp = 1, ep = 1, etp = 1;
    bool sequenceParallel = false;
    int sequenceLength = 0, microBatchSize = 1;
    /// A sequence may go through the pipeline in equal slices; slice i attends to the i before it. Only where attention is causal
    /// and without context parallelism.
    int slices = 1, slice = 0;
    bool beginsTraining = false; ///< adapters: nothing before it is trained, the frozen embedding, and so on
    bool causal = true, flashAttention = true, padsVocabulary = true;
    double ringMergeBytes = 0, ringGradientBytes = 0; ///< as Stack's
    bool repeatsKeys = false;                         ///< Stack::repeatsKeys, and so on
    bool plainTensorParallel = false, gathersApart = false, wholeEmbedding = false, wholeHead = false;
    bool gathersLogits = false, gathersHeads = false, exchangesHeads = false;
    bool fusesExperts = false;    ///< Stack::fusesExperts
    bool keepsUnread = false;     ///< Stack::keepsUnread
    int lossChunkTokens = 0;      ///< Training::lossChunkTokens
    bool widensBase = false;      ///< weights of frozen layers are narrower than what products read (Lora::base)
    bool rerunsOperators = false; ///< RecomputeModule::operators is among the modules: else operators do not say how
    int bytesPerElement = 2;
    int keptNarrower = 1;               ///< products in 8 or 4 bits keep inputs and gradients in so many times fewer bytes
    bool sharesAttentionOutput = false; ///< Stack::sharesAttentionOutput
    MoeSettings moe;
    std::array<double, kStackPartNames.size()> saved = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}; ///< by StackPart: Fusion::saved
    static Sharding of(const Scenario&);

    std::int64_t tokens() const
    {
        return std::int64_t{sequenceLength} / slices / cp * microBatchSize;
    } ///< of one rank, outside sequence-parallel regions
    std::int64_t localTokens() const { return sequenceParallel ? tokens() / tp : tokens(); } ///< inside them
    std::int64_t routedTokens() const { return (tokens() + tp - 1) / tp; }                   ///< those that it sends to experts
};

/// The modules that an operator of this name belongs to.
RecomputeModules modulesOf(std::string_view operatorName);
/// Whether recomputation leaves it out, since no backward pass reads its result (Stack::rerunsUnread).
bool isUnread(std::string_view operatorName, const Scenario&);

/// How many operands of a product take the bytes of one element of the activations: in memory, on links and in the product.
int narrowingOf(Precision);

/// A layer as a part of the model sees the whole sequence; its kind says what it sees. The head is final norm, output projection
/// and cross-entropy. A prediction module ends with its layer: the head runs once more behind it, its norm the module's own.
/// `ownsEmbedding`: of the head, its weights are those of the embedding or of another head on the same rank; of a prediction
/// module, the rank has the embedding already.
OperatorList operatorsOf(const Model&, const Sharding&, ModelPart, bool ownsEmbedding = false);
OperatorList operatorsOf(const Model&, const Sharding&, LayerKind);

} // namespace sim
