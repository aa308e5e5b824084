// The attention half of a layer: norm, fused projection of queries, keys and values, attention (a ring over cp), output
// projection. Heads are split over tp.
#pragma once

#include "live/model/input.h"
#include "live/model/norm.h"
#include "live/model/tensor_parallel.h"

#include <map>
#include <memory>

namespace live {

/// Kept from the forward pass on. What only the input gradient needs goes with it, the rest with the weight gradient.
struct AttentionSaved {
    Array input, statistics; ///< of the norm
    Array normalized;        ///< local rows
    Array qkv, output, logSumExp;
    Array dQkv;         ///< from the input gradient to the weight gradient, as the next
    AllRows dOutput;    ///< of the projection, all rows
    Array dLocalOutput; ///< the same before it was gathered
};

class Attention {
public:
    Attention(RankContext&, const Shape&, Bucket&, const std::string& prefix, int stage, int layer);

    /// x + attention(norm(x)). Takes x.
    Task<Array> forward(const Input&, Array x, AttentionSaved&);
    /// The input gradient; `ofWeights`: also theirs, computed while tensor-parallel sums and gatherings go on.
    Task<Array> backward(const Input&, Array dy, AttentionSaved&, bool ofWeights);
    Task<> backwardWeight(AttentionSaved&);
    /// Forgets the output of the attention kernel and makes it again (selective recomputation).
    static void dropCore(AttentionSaved& saved);

private:
    struct Sequence {
        Array keysValues;   ///< of all slices
        Array keyGradients; ///< of all slices, accumulated from the last to the first
    };
    struct Core {
        Tensor q, k, v;
    };
    void outputWeightGradient(const AttentionSaved&);
    void projectWeightGradient(const AttentionSaved&, const Tensor& normalized);
    Core split(const Tensor& qkv) const;
    AttentionShape kernelShape(bool causal, std::int64_t diagonal) const;
    Task<> core(const Input&, AttentionSaved&);
    /// Keys and values on their way round the ring: the next block's travel while this one's are used. As RowsUnderWay.
    struct Ring {
        Array here, coming;
        std::unique_ptr<Communication> transfer;
    };
    void startRing(const Tensor& qkv);
    void shiftRing();
    Task<> takeNextBlock();
    Task<> ring(AttentionSaved&);
    Task<Array> ringGradient(const Tensor& dOutput, AttentionSaved&);
    Task<Array> coreGradient(const Input&, const Tensor& dOutput, AttentionSaved&);
    void rotate(const Input&, const Tensor& qkv, bool inverse) const;

    RankContext& m_context;
    const Shape& m_shape;
    const int m_layer;
    Norm m_norm;
    Parameter *m_query, *m_key, *m_value, *m_queryBias = nullptr, *m_keyBias = nullptr, *m_valueBias = nullptr;
    Parameter *m_output, *m_outputBias = nullptr;
    bool m_causal, m_rotates;
    std::map<int, Sequence> m_sequences; ///< by micro-batch, where sequences come in slices
    RowsUnderWay m_gathering, m_sum;
    Ring m_ring;
    KernelLabel m_projectLabel, m_rotateLabel, m_coreLabel, m_outputLabel, m_addLabel;
};

} // namespace live
