// The dense MLP half of a layer: norm and feed-forward, beside the residual stream.
#pragma once

#include "live/model/feed_forward.h"
#include "live/model/input.h"
#include "live/model/norm.h"

namespace live {

/// Kept from the forward pass on, as AttentionSaved.
struct MlpSaved {
    Array input, statistics, normalized;
    FeedForwardSaved inner;
};

class Mlp {
public:
    /// adapters: null: none.
    Mlp(RankContext&, const Shape&, Bucket&, Bucket* adapters, const std::string& prefix, int stage, int layer);

    /// x + mlp(norm(x)). Takes x.
    Task<Array> forward(const Input&, Array x, MlpSaved&);
    /// As Attention's.
    Task<> restore(MlpSaved&);
    Task<Array> backward(const Input&, Array dy, MlpSaved&, bool ofWeights);
    Task<> backwardWeight(MlpSaved&);

private:
    RankContext& m_context;
    const Shape& m_shape;
    const int m_layer;
    const sim::RecomputeModules m_dropped;
    Norm m_norm;
    FeedForward m_inner;
    KernelLabel m_addLabel;
};

} // namespace live
