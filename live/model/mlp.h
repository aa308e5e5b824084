// The dense MLP half of a layer: norm, up projection (with a gate or not), activation, down projection. Inner columns are split
// over tp.
#pragma once

#include "live/model/input.h"
#include "live/model/norm.h"
#include "live/model/tensor_parallel.h"

namespace live {

/// Kept from the forward pass on, as AttentionSaved.
struct MlpSaved {
    Array input, statistics, normalized;
    Array up, hidden;   ///< before and after the activation
    Array dUp;          ///< from the input gradient to the weight gradient, as the next
    AllRows dOutput;    ///< of the down projection, all rows
    Array dLocalOutput; ///< the same before it was gathered
};

class Mlp {
public:
    Mlp(RankContext&, const Shape&, Bucket&, const std::string& prefix, int stage, int layer);

    /// x + mlp(norm(x)). Takes x.
    Task<Array> forward(const Input&, Array x, MlpSaved&);
    Task<Array> backwardInput(const Input&, Array dy, MlpSaved&);
    Task<> backwardWeight(MlpSaved&);
    /// Both: weight gradients are computed while tensor-parallel sums and gatherings go on.
    Task<Array> backward(const Input&, Array dy, MlpSaved&);

private:
    Task<Array> gradients(const Input&, Array dy, MlpSaved&, bool ofWeights);
    void downWeightGradient(const MlpSaved&);
    void upWeightGradient(const MlpSaved&, const Tensor& normalized);
    void activate(const Tensor& up, const Tensor& hidden) const;
    Tensor upValue() const;
    Tensor upGradient() const;

    RankContext& m_context;
    const Shape& m_shape;
    const int m_layer;
    Norm m_norm;
    bool m_gated;
    ActivationFunction m_activation;
    std::int64_t m_columns; ///< this rank's inner columns
    Parameter *m_gate = nullptr, *m_up, *m_down;
    Parameter *m_gateBias = nullptr, *m_upBias = nullptr, *m_downBias = nullptr;
    RowsUnderWay m_gathering, m_sum;
    KernelLabel m_upLabel, m_activationLabel, m_downLabel, m_addLabel;
};

ActivationFunction activationOf(const sim::Model&);

} // namespace live
