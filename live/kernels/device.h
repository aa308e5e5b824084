// The one interface between the model and the hardware: a Device gives memory and queues, a Queue runs kernels in order.
// On the CPU a kernel has run when its call returns; on a GPU it has been put on the queue's stream. The caller never needs to
// know which.
//
// Types: activations and weights are of the device's `activation` type (fp32, fp64 or bf16). Statistics (log-sum-exp, means,
// losses), gradients of weights and optimizer states are of its `accumulation` type (fp64 on an fp64 device, else fp32).
// Every kernel gives the same bits whatever the number of worker threads: parallel parts never split a sum.
#pragma once

#include "live/tensor/memory.h"
#include "live/tensor/tensor.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace live {

enum class ActivationFunction : std::uint8_t { gelu /**< tanh form, as GPT-2 */, silu, relu2 };
enum class NormKind : std::uint8_t { layernorm, rmsnorm };
/// Which norm, and what it adds under the root.
struct NormRule {
    NormKind kind = NormKind::layernorm;
    double epsilon = 1e-5;
    NormRule(NormKind itsKind, double itsEpsilon = 1e-5)
        : kind(itsKind), epsilon(itsEpsilon) {} // NOLINT(google-explicit-constructor): a kind's usual rule
};

/// Of the pairs of a head.
struct Rotation {
    Tensor frequencies; ///< f64 [1, pairs]: radians a position
    double length = 1;  ///< what is rotated is multiplied by it, too
};

struct AttentionShape {
    std::int64_t sequences = 1; ///< rows of q, k, v: position * sequences + sequence
    int heads = 1, keyValueHeads = 1, headDim = 1;
    /// Query i sees the keys j <= i + diagonal; all of them if not causal.
    bool causal = true;
    std::int64_t diagonal = 0;
    std::int64_t window = 0; ///< of those the last so many, if causal; 0: all
    int valueDim = 0;        ///< elements of a head's value and output; 0: headDim, as a query's and key's
    double sharpness = 1;    ///< scores are multiplied by it

    double scoreFactor() const { return sharpness / std::sqrt(static_cast<double>(headDim)); }

    int valueSize() const { return valueDim > 0 ? valueDim : headDim; }
};

/// How a router's logits become scores, and these the choice of experts and their weights.
struct RouterRule {
    enum class Score : std::uint8_t { softmax, sigmoid };
    Score score = Score::softmax;
    /// Experts in `groups` equal groups, of which the best `chosenGroups` are chosen from: by their largest score (softmax,
    /// DeepSeek-V2) or by the sum of their two largest (sigmoid, DeepSeek-V3). Experts of the other groups count as of score 0.
    int groups = 1, chosenGroups = 1;
    bool normalized = true; ///< the weights are the scores over their sum
    double scale = 1;       ///< and times this
};

/// Names one draw of a dropout mask. The mask depends only on this and on each element's global token and feature index, never
/// on the layout. Philox-4x32-10 keyed by (seed, site), counted by (token, feature).
struct DropoutKey {
    std::uint64_t seed = 0;
    std::uint32_t step = 0, layer = 0, site = 0;
    double rate = 0;
};

struct AdamwStep {
    double learningRate = 0, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0.1;
    std::int64_t step = 1; ///< counted from 1: bias correction
};

/// One of several linear layers that take turns on the rows of the same tensors, as a rank's experts do.
struct LinearPart {
    Tensor weight, bias;   ///< [outputs, inputs] and a row of outputs, or their gradients; bias may be empty
    std::int64_t rows = 0; ///< how many of the rows are its own, after those of the parts before it
};

/// 64-bit words of an exact sum: a fixed-point number wide enough for every double, kept as signed digits of 32 bits, so that
/// sums of terms in any order (and all-reduced in any grouping) give the same bits. Demmel & Nguyen 2013's idea. Each word takes
/// 2^31 digits before it overflows: so many terms, then carryExactSum(), and so many such sums added.
inline constexpr int kExactSumWords = 68;
/// The same sum with digits in [0, 2^32), but for the highest, which has the sign.
void carryExactSum(std::span<std::int64_t, kExactSumWords>);
/// The value of such a sum, rounded once.
double exactSumValue(std::span<const std::int64_t, kExactSumWords>);
void addToExactSum(std::span<std::int64_t, kExactSumWords>, double value);

/// A stream of kernels. Used by one rank at a time. Shapes are asserted.
class Queue {
public:
    virtual ~Queue() = default;

    // -- moving and simple arithmetic; types may differ where it says so
    virtual void fill(const Tensor&, double value) = 0;
    virtual void copy(const Tensor& from, const Tensor& to) = 0; ///< converts between floating types
    virtual void add(const Tensor& x, const Tensor& y) = 0;      ///< y += x; converts
    /// The host's memory may be used again when it returns. Waits until the queue has come here where that is not the host's.
    virtual void fromHost(const void* host, const Tensor&) = 0;
    /// Waits until the queue has come here.
    virtual void toHost(const Tensor&, void* host) = 0;
    virtual void synchronize() = 0;
    /// Starts what the queue has put aside: before memory that its kernels use is given back.
    virtual void flush() {}
    /// The work of a step is done.
    virtual void stepDone() {}

    // -- linear layers: weight is [outputs, inputs], as PyTorch's
    /// y = x weight^T (+ bias, a row of outputs, if given).
    virtual void linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& y) = 0;
    /// dx = dy weight.
    virtual void linearInputGradient(const Tensor& dy, const Tensor& weight, const Tensor& dx) = 0;
    /// dWeight += dy^T x; dBias += column sums of dy if given. Gradients are of the accumulation type.
    virtual void linearWeightGradient(const Tensor& dy, const Tensor& x, const Tensor& dWeight, const Tensor& dBias) = 0;
    /// The same of several layers of one shape, each on its own rows; those without rows change nothing. Here one after the
    /// other; a GPU makes one launch of many small ones, whose last bits may then differ from those of single layers.
    virtual void linearParts(std::span<const LinearPart>, const Tensor& x, const Tensor& y);
    virtual void linearPartsInputGradient(std::span<const LinearPart>, const Tensor& dy, const Tensor& dx);
    virtual void linearPartsWeightGradient(std::span<const LinearPart> gradients, const Tensor& dy, const Tensor& x);
    virtual void addBias(const Tensor& bias, const Tensor& y) = 0;        ///< y += bias, on each row
    virtual void biasGradient(const Tensor& dy, const Tensor& dBias) = 0; ///< dBias += column sums

    // -- norms; statistics is [rows, 2]: mean and 1/deviation (rmsnorm: 0 and 1/rms). bias is empty for rmsnorm
    virtual void norm(const NormRule&, const Tensor& x, const Tensor& gain, const Tensor& bias, const Tensor& y,
                      const Tensor& statistics) = 0;
    /// dx = …; dGain, dBias += … (empty: skipped)
    virtual void normGradient(NormKind, const Tensor& dy, const Tensor& x, const Tensor& gain, const Tensor& statistics,
                              const Tensor& dx, const Tensor& dGain, const Tensor& dBias) = 0;

    // -- MLP
    virtual void activation(ActivationFunction, const Tensor& x, const Tensor& y) = 0;
    virtual void activationGradient(ActivationFunction, const Tensor& x, const Tensor& dy,
                                    const Tensor& dx) = 0; ///< dx may be dy
    /// x = [gate | up], y = f(gate) * up.
    virtual void gatedActivation(ActivationFunction, const Tensor& x, const Tensor& y) = 0;
    virtual void gatedActivationGradient(ActivationFunction, const Tensor& x, const Tensor& dy, const Tensor& dx) = 0;

    // -- attention: q [queries * sequences, heads * headDim], k likewise with keyValueHeads, v and o with valueSize(); may be
    // columns of a wider tensor
    /// Rotates pairs (i, i + headDim / 2) of each head in place by the row's position (Su et al. 2021; Llama's layout), or as the
    /// gradient: back if `inverse`. positions: i32, one a row.
    virtual void rotate(const Tensor& x, int headDim, const Tensor& positions, const Rotation&, bool inverse) = 0;
    /// o = softmax(q k^T scoreFactor) v and its log-sum-exp [rows, heads] (accumulation type). A query that sees no key gets
    /// 0 and -infinity. o may be of the accumulation type.
    virtual void attention(const AttentionShape&, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                           const Tensor& logSumExp) = 0;
    /// dq, dk, dv += …, from the final o and logSumExp (over all blocks of keys). They may be of the accumulation type; they are
    /// overwritten instead of added to unless `accumulate`.
    virtual void attentionGradient(const AttentionShape&, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                                   const Tensor& logSumExp, const Tensor& dOutput, const Tensor& dq, const Tensor& dk,
                                   const Tensor& dv, bool accumulate) = 0;
    /// Joins attention over another block of keys into (o, logSumExp); both o of the accumulation type
    /// (Liu et al. 2023, Ring Attention). valueDim: elements of a head's output.
    virtual void mergeAttention(int valueDim, const Tensor& oBlock, const Tensor& logSumExpBlock, const Tensor& o,
                                const Tensor& logSumExp) = 0;

    /// One more key, whose score is the head's sink for every query and whose value is 0 (Xiao et al. 2023; gpt-oss): o and
    /// logSumExp, which have all other keys, take it in. sinks: a row, one a head, of the accumulation type.
    virtual void attentionSinks(int valueDim, const Tensor& sinks, const Tensor& o, const Tensor& logSumExp) = 0;
    /// dSinks += …, from o and logSumExp with the sinks.
    virtual void attentionSinksGradient(int valueDim, const Tensor& sinks, const Tensor& o, const Tensor& logSumExp,
                                        const Tensor& dOutput, const Tensor& dSinks) = 0;

    // -- embedding: ids i32, one a row; rows of the table are the vocabulary from firstId on, others are not owned: 0
    virtual void embed(const Tensor& ids, const Tensor& table, std::int64_t firstId, const Tensor& y) = 0;
    /// dTable[id - firstId] += dy, in the order of rows.
    virtual void embedGradient(const Tensor& ids, const Tensor& dy, std::int64_t firstId, const Tensor& dTable) = 0;

    // -- cross-entropy over a slice of the vocabulary (Megatron-LM): targets i32, -1 = not counted. Columns from validColumns on
    //    are padding and count as -infinity
    virtual void rowMaximum(const Tensor& logits, std::int64_t validColumns, const Tensor& maximum) = 0;
    /// logits become exp(logits - maximum) (0 in padding); partial [2, rows]: the target's logit - maximum where owned else 0;
    /// the sum of the exponentials.
    virtual void exponentials(const Tensor& logits, std::int64_t validColumns, const Tensor& maximum, const Tensor& targets,
                              std::int64_t firstId, const Tensor& partial) = 0;
    /// loss [rows] = log(sum) - predicted, 0 where the target is -1.
    virtual void crossEntropy(const Tensor& partial, const Tensor& targets, const Tensor& loss) = 0;
    /// exponentials become the gradient (softmax - onehot) * lossScale, in place; 0 where the target is -1.
    virtual void crossEntropyGradient(const Tensor& exponentials, const Tensor& partial, const Tensor& targets,
                                      std::int64_t firstId, double lossScale) = 0;

    // -- dropout: tokens i64, the global index of each row's token; firstFeature: global index of column 0. y may be x. Also its
    //    own gradient
    virtual void dropout(const DropoutKey&, const Tensor& tokens, std::int64_t firstFeature, const Tensor& x,
                         const Tensor& y) = 0;

    // -- mixture of experts
    /// probabilities (accumulation type, [T, experts]) = the scores, those of sigmoid over their sum; experts [T, k] i32: those
    /// of the k largest scores, ties to the lowest index; weights [T, k]: see RouterRule. bias (a row of the accumulation type;
    /// empty = none) is added to the scores for the choice alone (Wang et al. 2024, loss-free balancing).
    virtual void routeTopK(const RouterRule&, const Tensor& logits, const Tensor& bias, const Tensor& probabilities,
                           const Tensor& experts, const Tensor& weights) = 0;
    /// dLogits from dWeights and from the load-balancing loss, whose gradient with respect to each probability is
    /// auxGradient[expert] (a row; empty = none). logits: needed for sigmoid only.
    virtual void routeGradient(const RouterRule&, const Tensor& logits, const Tensor& probabilities, const Tensor& experts,
                               const Tensor& weights, const Tensor& dWeights, const Tensor& auxGradient,
                               const Tensor& dLogits) = 0;
    /// counts [1, experts] i64 = how often each expert was chosen.
    virtual void countExperts(const Tensor& experts, const Tensor& counts) = 0;
    /// Slots (token * k + choice) in the order of experts, then of tokens: order [T * k] i32, place [T, k] i32 its inverse.
    virtual void sortByExpert(const Tensor& experts, std::int64_t expertCount, const Tensor& order, const Tensor& place) = 0;
    /// y[i] = x[index[i] / divisor].
    virtual void gatherRows(const Tensor& x, const Tensor& index, std::int64_t divisor, const Tensor& y) = 0;
    /// y[t] = sum over j of weights[t, j] * x[place[t, j]]; weights empty: 1.
    virtual void combineRows(const Tensor& x, const Tensor& place, const Tensor& weights, const Tensor& y) = 0;
    /// dx[place[t, j]] = weights[t, j] * dy[t]; dWeights[t, j] = <dy[t], x[place[t, j]]>.
    virtual void combineGradient(const Tensor& x, const Tensor& place, const Tensor& weights, const Tensor& dy, const Tensor& dx,
                                 const Tensor& dWeights) = 0;
    /// y [1, columns] = column sums of x (accumulation type), in the order of rows.
    virtual void sumRows(const Tensor& x, const Tensor& y) = 0;

    // -- sums that do not depend on the layout; words: [1, kExactSumWords] i64
    virtual void exactSum(const Tensor& values, const Tensor& words) = 0;
    /// Blocks of 64 elements are summed in fixed order, then added exactly. values: one contiguous row that starts at a multiple
    /// of 64 elements of its bucket.
    virtual void exactSumOfSquares(const Tensor& values, const Tensor& words) = 0;
    /// carryExactSum() of each row: before sums of many are added.
    virtual void carryExactSums(const Tensor& words) = 0;
    /// factor [1, 1] (f64) = min(1, maxNorm / (sqrt(sum) + 1e-6)); 1 if maxNorm is 0. words may have several rows: the
    /// sum is the last, and the factor is not a number if one of them is not finite.
    virtual void clipFactor(const Tensor& words, double maxNorm, const Tensor& factor) = 0;

    // -- optimizer, on one contiguous row: gradient is scaled by *clipFactor first, nothing changes if that is not a number;
    // parameter gets the rounded copy where its
    // type
    //    differs from master's (else both are the same tensor). Loshchilov & Hutter 2019
    virtual void adamw(const AdamwStep&, const Tensor& clipFactor, const Tensor& gradient, const Tensor& firstMoment,
                       const Tensor& secondMoment, const Tensor& master, const Tensor& parameter) = 0;
    virtual void sgd(double learningRate, const Tensor& clipFactor, const Tensor& gradient, const Tensor& master,
                     const Tensor& parameter) = 0;

    /// Whether somebody will read the marks. On a GPU they are 0 and cost next to nothing until it is asked for.
    virtual void keepMarks(bool) {}
    /// Nanoseconds on the process's steady clock now (CPU), or a mark to be read later (GPU): see record/recorder.h.
    virtual std::int64_t mark() = 0;
    /// If the queue has passed all of these marks and knows it, replaces them by nanoseconds of the steady clock and says true.
    /// Does not wait. On the CPU marks are times already.
    virtual bool readMarks(std::span<std::int64_t>) { return true; }
    /// Replaces marks made since its last call by times, waiting for the queue to have passed them, and forgets them. Once a
    /// step.
    virtual void resolveMarks(std::span<std::int64_t>) {}
    /// Grows as the queue comes past marks, where its kernels run beside the caller. Any thread; does not wait.
    virtual std::uint64_t marksPassed() { return 0; }
};

struct DeviceInfo {
    std::string kind; ///< "cpu", "cuda", "emulated"
    std::string name; ///< "Intel Xeon …, 2 cores, AVX-512", "NVIDIA H200"
    DType activation = DType::f32, accumulation = DType::f32;
    std::int64_t memoryBytes = 0;
    bool runsBeside = false; ///< kernels run beside the caller, and times are marks
};

class WorkerPool;
class KernelTimes;

class Device : public MemorySource {
public:
    virtual const DeviceInfo& info() const = 0;
    virtual std::unique_ptr<Queue> makeQueue() = 0;
    /// That it can give now, where it has memory of its own; nothing: it takes the host's.
    virtual std::optional<std::int64_t> freeBytes() const { return {}; }
    /// Starts to time each kernel by itself (live/kernels/kernel_log.h), for all queues; lives as long as the process. Null: *why
    /// says why it cannot.
    virtual KernelTimes* timeKernels(std::string* why);
};

/// precision: fp32 or fp64. Kernels may spread over idle workers of the pool (null: they run on the caller alone).
std::unique_ptr<Device> makeCpuDevice(DType precision, WorkerPool*);

} // namespace live
