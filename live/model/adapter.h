// A low-rank adapter beside a frozen linear layer (Hu et al. 2021): y += x A B, of which both factors are trained. Cut over tp as
// Megatron Bridge cuts its ParallelLinearAdapter: beside a layer whose outputs are split, A by what it makes; beside one whose
// inputs are split, A by its inputs; B always by its outputs.
#pragma once

#include "live/model/parameters.h"
#include "live/model/rank_context.h"
#include "live/model/shape.h"

#include <string>

namespace live {

/// Kept from the forward pass on.
struct AdapterSaved {
    Array latent;  ///< x A, whole
    Array dLatent; ///< this rank's part, as A's; from the input gradient to the weight gradient
};

class Adapter {
public:
    enum class Beside : std::uint8_t { splitOutputs, splitInputs };
    /// Names of kernels and transfers, literals: of A's product, of what tp makes of it, of B's.
    struct Names {
        std::string_view a, latent, b;
    };
    static constexpr Names kQkv{"attn.qkv.lora_a", "attn.qkv.lora_gather", "attn.qkv.lora_b"};
    static constexpr Names kOutput{"attn.out.lora_a", "attn.out.lora_reduce", "attn.out.lora_b"};
    static constexpr Names kUp{"mlp.up.lora_a", "mlp.up.lora_gather", "mlp.up.lora_b"};
    static constexpr Names kDown{"mlp.down.lora_a", "mlp.down.lora_reduce", "mlp.down.lora_b"};

    /// base: the layer that it stands beside.
    Adapter(RankContext&, const Shape&, Bucket&, Beside, const Names&, const ParameterSpec& base, int stage, int layer);

    /// Adds to y: what the frozen layer makes, of split inputs before it is summed over tp. x: as that layer's, all rows.
    Task<> forward(Tensor x, Tensor y, AdapterSaved&);
    /// dy: as the frozen layer's. Adds to dx: where outputs are split before it is summed over tp.
    Task<> backward(Tensor dy, AdapterSaved&, Tensor dx);
    void weightGradient(Tensor x, Tensor dy, const AdapterSaved&);

private:
    bool splitsLatent() const { return m_beside == Beside::splitOutputs && m_shape.tp > 1; }
    /// This rank's columns of the layer's output.
    Tensor own(const Tensor& y) const { return m_beside == Beside::splitOutputs ? y : y.columnRange(m_firstOutput, m_outputs); }

    RankContext& m_context;
    const Shape& m_shape;
    const Beside m_beside;
    const Names m_names;
    const std::int64_t m_rank, m_ownRank; ///< columns of x A; those that this rank's A makes
    std::int64_t m_firstOutput = 0, m_outputs = 0;
    Parameter *m_a, *m_b;
    KernelLabel m_aLabel, m_bLabel;
};

} // namespace live
