// The attention half of a layer: norm, projection to queries, keys and values, attention, output projection. Heads are split over
// tp.
#pragma once

#include "live/model/attention_core.h"
#include "live/model/head_projection.h"

namespace live {

/// Kept from the forward pass on. What only the input gradient needs goes with it, the rest with the weight gradient.
struct AttentionSaved {
    Array input, statistics; ///< of the norm
    Array normalized;        ///< local rows
    HeadsSaved heads;
    Array qkv, output, logSumExp;
    AdapterSaved outputAdapter;
    AllRows dOutput;    ///< of the projection, all rows
    Array dLocalOutput; ///< the same before it was gathered
};

class Attention {
public:
    /// adapters: null: none.
    Attention(RankContext&, const Shape&, Bucket&, Bucket* adapters, const std::string& prefix, int stage, int layer);

    /// x + attention(norm(x)). Takes x.
    Task<Array> forward(const Input&, Array x, AttentionSaved&);
    /// Makes again what modules that are recomputed have made. Before the input gradient.
    Task<> restore(const Input&, AttentionSaved&);
    /// The input gradient; `ofWeights`: also theirs, computed while tensor-parallel sums and gatherings go on.
    Task<Array> backward(const Input&, Array dy, AttentionSaved&, bool ofWeights);
    Task<> backwardWeight(AttentionSaved&);

private:
    void drop(AttentionSaved&) const;
    void outputWeightGradient(const AttentionSaved&);

    RankContext& m_context;
    const Shape& m_shape;
    const int m_layer;
    const sim::RecomputeModules m_dropped;
    Norm m_norm;
    std::unique_ptr<HeadProjection> m_projection;
    AttentionCore m_core;
    Parameter *m_output, *m_outputBias = nullptr;
    std::optional<Adapter> m_outputAdapter;
    KernelLabel m_outputLabel, m_addLabel;
};

} // namespace live
