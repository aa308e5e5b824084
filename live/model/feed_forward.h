// Up projection (with a gate or not), activation, down projection: a dense MLP, or the experts that every token goes to. Inner
// columns are split over tp.
#pragma once

#include "live/model/adapter.h"
#include "live/model/tensor_parallel.h"

#include <optional>
#include <string>

namespace live {

/// Kept from the forward pass on, as AttentionSaved.
struct FeedForwardSaved {
    Array up, hidden; ///< before and after the activation
    AdapterSaved gateAdapter, upAdapter, downAdapter;
    Array dUp;          ///< from the input gradient to the weight gradient, as the next
    AllRows dOutput;    ///< of the down projection, all rows
    Array dLocalOutput; ///< the same before it was gathered
};

class FeedForward {
public:
    /// What its kernels and transfers are called: literals.
    struct Names {
        std::string_view up, activation, down, gather, sum;
    };
    static constexpr Names kDense{"mlp.up", "mlp.act", "mlp.down", "mlp.gather", "mlp.sum"};
    static constexpr Names kShared{"shared.up", "shared.act", "shared.down", "shared.gather", "shared.sum"};

    /// width: inner columns of the whole. prefix: of its parameters, "layers.3.mlp". adapters: null: none.
    FeedForward(RankContext&, const Shape&, Bucket&, Bucket* adapters, const Names&, const std::string& prefix,
                std::int64_t width, int stage, int layer);

    /// Of local rows, to local rows.
    Task<Array> forward(Tensor normalized, FeedForwardSaved&);
    /// The gradient of `normalized`; `ofWeights`: also theirs, computed while tensor-parallel sums and gatherings go on.
    Task<Array> backward(Array dy, Tensor normalized, FeedForwardSaved&, bool ofWeights);
    Task<> backwardWeight(Tensor normalized, FeedForwardSaved&);

private:
    void downWeightGradient(const FeedForwardSaved&);
    void upWeightGradient(const FeedForwardSaved&, const Tensor& normalized);
    std::int64_t upColumns() const { return m_columns * (m_gated ? 2 : 1); }
    /// Of [gate | up].
    Tensor gatePart(const Tensor& all) const { return all.columnRange(0, m_columns); }
    Tensor upPart(const Tensor& all) const { return all.columnRange(m_gated ? m_columns : 0, m_columns); }
    Tensor upValue() const;
    Tensor upGradient() const;

    RankContext& m_context;
    const Shape& m_shape;
    const Names& m_names;
    bool m_gated;
    ActivationFunction m_activation;
    std::int64_t m_columns;               ///< this rank's inner columns
    Parameter *m_upFirst, *m_up, *m_down; ///< upFirst: the gate, glued to up, or up itself
    Parameter *m_upBiasFirst = nullptr, *m_upBias = nullptr, *m_downBias = nullptr;
    std::optional<Adapter> m_gateAdapter, m_upAdapter, m_downAdapter;
    RowsUnderWay m_gathering, m_sum;
    KernelLabel m_upLabel, m_activationLabel, m_downLabel;
};

ActivationFunction activationOf(const sim::Model&);
/// Between the up and the down projection, of a dense MLP or an expert.
void activate(Queue&, ActivationFunction, bool gated, const Tensor& up, const Tensor& hidden);
void activateGradient(Queue&, ActivationFunction, bool gated, const Tensor& up, const Tensor& dHidden, const Tensor& dUp);

} // namespace live
