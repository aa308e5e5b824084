// A stream of kernels on one GPU (live/kernels/device.h says what each does; live/kernels/cpu has its twin).
#pragma once

#include "live/kernels/cuda/attention_tiling.h"
#include "live/kernels/cuda/grouping.h"
#include "live/kernels/cuda/matmul.h"
#include "live/kernels/cuda/numbers.h"
#include "live/kernels/cuda/stream_queue.h"

#include <cassert>
#include <vector>

namespace live::cuda {

class CudaQueue final : public StreamQueue {
public:
    /// matmul must outlive it.
    CudaQueue(int gpu, Matmul& matmul, Grouping, AttentionTiles, const BatchRule& = {});
    ~CudaQueue() override;
    CudaQueue(const CudaQueue&) = delete;
    CudaQueue& operator=(const CudaQueue&) = delete;

    // queue_pointwise.cu
    void fill(const Tensor&, double value) override;
    void copy(const Tensor& from, const Tensor& to) override;
    void add(const Tensor& x, const Tensor& y) override;
    void addBias(const Tensor& bias, const Tensor& y) override;
    void activation(ActivationFunction, const Tensor& x, const Tensor& y) override;
    void activationGradient(ActivationFunction, const Tensor& x, const Tensor& dy, const Tensor& dx) override;
    void gatedActivation(ActivationFunction, const Tensor& x, const Tensor& y) override;
    void gatedActivationGradient(ActivationFunction, const Tensor& x, const Tensor& dy, const Tensor& dx) override;
    void rotate(const Tensor& x, int headDim, const Tensor& positions, const Rotation&, bool inverse) override;
    void dropout(const DropoutKey&, const Tensor& tokens, std::int64_t firstFeature, const Tensor& x, const Tensor& y) override;

    // cuda_queue.cu
    void linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& y) override;
    void linearInputGradient(const Tensor& dy, const Tensor& weight, const Tensor& dx) override;
    void linearWeightGradient(const Tensor& dy, const Tensor& x, const Tensor& dWeight, const Tensor& dBias) override;

    // queue_grouped.cu
    void linearParts(std::span<const LinearPart>, const Tensor& x, const Tensor& y) override;
    void linearPartsInputGradient(std::span<const LinearPart>, const Tensor& dy, const Tensor& dx) override;
    void linearPartsWeightGradient(std::span<const LinearPart> gradients, const Tensor& dy, const Tensor& x) override;

    // queue_rows.cu
    void biasGradient(const Tensor& dy, const Tensor& dBias) override;
    void sumRows(const Tensor& x, const Tensor& y) override;
    void norm(const NormRule&, const Tensor& x, const Tensor& gain, const Tensor& bias, const Tensor& y,
              const Tensor& statistics) override;
    void normGradient(NormKind, const Tensor& dy, const Tensor& x, const Tensor& gain, const Tensor& statistics, const Tensor& dx,
                      const Tensor& dGain, const Tensor& dBias) override;
    void rowMaximum(const Tensor& logits, std::int64_t validColumns, const Tensor& maximum) override;
    void exponentials(const Tensor& logits, std::int64_t validColumns, const Tensor& maximum, const Tensor& targets,
                      std::int64_t firstId, const Tensor& partial) override;
    void crossEntropy(const Tensor& partial, const Tensor& targets, const Tensor& loss) override;
    void crossEntropyGradient(const Tensor& exponentials, const Tensor& partial, const Tensor& targets, std::int64_t firstId,
                              double lossScale) override;

    // queue_attention.cu
    void attention(const AttentionShape&, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                   const Tensor& logSumExp) override;
    void attentionGradient(const AttentionShape&, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                           const Tensor& logSumExp, const Tensor& dOutput, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                           bool accumulate) override;
    void mergeAttention(int valueDim, const Tensor& oBlock, const Tensor& logSumExpBlock, const Tensor& o,
                        const Tensor& logSumExp) override;

    void attentionSinks(int valueDim, const Tensor& sinks, const Tensor& o, const Tensor& logSumExp) override;
    void attentionSinksGradient(int valueDim, const Tensor& sinks, const Tensor& o, const Tensor& logSumExp,
                                const Tensor& dOutput, const Tensor& dSinks) override;

    // queue_experts.cu
    void embed(const Tensor& ids, const Tensor& table, std::int64_t firstId, const Tensor& y) override;
    void embedGradient(const Tensor& ids, const Tensor& dy, std::int64_t firstId, const Tensor& dTable) override;
    void routeTopK(const RouterRule&, const Tensor& logits, const Tensor& bias, const Tensor& probabilities,
                   const Tensor& experts, const Tensor& weights) override;
    void routeGradient(const RouterRule&, const Tensor& logits, const Tensor& probabilities, const Tensor& experts,
                       const Tensor& weights, const Tensor& dWeights, const Tensor& auxGradient, const Tensor& dLogits) override;
    void countExperts(const Tensor& experts, const Tensor& counts) override;
    void sortByExpert(const Tensor& experts, std::int64_t expertCount, const Tensor& order, const Tensor& place) override;
    void gatherRows(const Tensor& x, const Tensor& index, std::int64_t divisor, const Tensor& y) override;
    void combineRows(const Tensor& x, const Tensor& place, const Tensor& weights, const Tensor& y) override;
    void combineGradient(const Tensor& x, const Tensor& place, const Tensor& weights, const Tensor& dy, const Tensor& dx,
                         const Tensor& dWeights) override;

    // queue_optimizer.cu
    void exactSum(const Tensor& values, const Tensor& words) override;
    void exactSumOfSquares(const Tensor& values, const Tensor& words) override;
    void carryExactSums(const Tensor& words) override;
    void clipFactor(const Tensor& words, double maxNorm, const Tensor& factor) override;
    void adamw(const AdamwStep&, const Tensor& clipFactor, const Tensor& gradient, const Tensor& firstMoment,
               const Tensor& secondMoment, const Tensor& master, const Tensor& parameter) override;
    void sgd(double learningRate, const Tensor& clipFactor, const Tensor& gradient, const Tensor& master,
             const Tensor& parameter) override;

private:
    /// Scratch that is free until this queue's next kernel asks for it. Waits for nothing.
    void* scratch(std::size_t bytes);
    bool multiply(MatmulProblem, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& d);

    Matmul& m_matmul;
    GroupingChoice m_grouping;
    const AttentionTiles m_attentionTiles;
    std::vector<Workspace> m_scratch; ///< the last one is the largest
    Workspace m_matmulWorkspace;
};

/// Calls f with a value of the element type; activations are bf16 or fp32.
template <class Function>
void withType(DType type, const Function& f)
{
    if (type == DType::bf16)
        f(Bfloat16{});
    else {
        assert(type == DType::f32);
        f(float{});
    }
}

/// The same of all floating types.
template <class Function>
void withFloating(DType type, const Function& f)
{
    if (type == DType::f64)
        f(double{});
    else
        withType(type, f);
}

/// f with kFullWidth or 1 as a constant.
template <class Function>
void withWidth(bool asWide, const Function& f)
{
    if (asWide)
        f(std::integral_constant<int, kFullWidth>{});
    else
        f(std::integral_constant<int, 1>{});
}

/// From one element to the next of a single row or column.
inline std::int64_t vectorStride(const Tensor& tensor)
{
    return tensor.rows == 1 ? 1 : tensor.stride;
}

} // namespace live::cuda
