// One transformer layer: attention, then a dense MLP or experts.
#pragma once

#include "live/model/attention.h"
#include "live/model/mlp.h"
#include "live/model/moe.h"

#include <memory>

namespace live {

/// What a layer keeps of one micro-batch. Under full recomputation only its input, until the backward pass makes the rest again;
/// under selective recomputation all but what its modules make.
struct LayerSaved {
    Array input;
    AttentionSaved attention;
    MlpSaved mlp;
    MoeSaved moe;
};

class Layer {
public:
    /// What its weights are in. experts: null for a dense layer; adapters: null where there are none.
    struct Buckets {
        Bucket* dense = nullptr;
        Bucket *experts = nullptr, *adapters = nullptr;
    };
    /// `recomputes`: under full recomputation only some layers of a stage do.
    Layer(RankContext&, const Shape&, const Buckets&, int stage, int layer, bool recomputes);

    Task<Array> forward(const Input&, Array x, LayerSaved&);
    /// The input gradient, or both.
    Task<Array> backward(const Input&, Array dy, LayerSaved&, bool ofWeights);
    Task<> backwardWeight(LayerSaved&);

    const Buckets& buckets() const { return m_buckets; }
    Moe* moe() { return m_moe.get(); }

private:
    Task<> again(Task<> part);
    Task<> recompute(const Input&, LayerSaved&);
    Task<Array> run(const Input&, Array x, LayerSaved&);

    RankContext& m_context;
    const Buckets m_buckets;
    Attention m_attention;
    std::unique_ptr<Mlp> m_mlp;
    std::unique_ptr<Moe> m_moe;
    bool m_recomputes, m_restores;
};

} // namespace live
