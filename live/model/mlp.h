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
    /// As Attention's.
    Task<Array> backward(const Input&, Array dy, MlpSaved&, bool ofWeights);
    Task<> backwardWeight(MlpSaved&);

private:
    void downWeightGradient(const MlpSaved&);
    void upWeightGradient(const MlpSaved&, const Tensor& normalized);
    Tensor upValue() const;
    Tensor upGradient() const;

    RankContext& m_context;
    const Shape& m_shape;
    const int m_layer;
    Norm m_norm;
    bool m_gated;
    ActivationFunction m_activation;
    std::int64_t m_columns;               ///< this rank's inner columns
    Parameter *m_upFirst, *m_up, *m_down; ///< upFirst: the gate, glued to up, or up itself
    Parameter *m_upBiasFirst = nullptr, *m_upBias = nullptr, *m_downBias = nullptr;
    RowsUnderWay m_gathering, m_sum;
    KernelLabel m_upLabel, m_activationLabel, m_downLabel, m_addLabel;
};

ActivationFunction activationOf(const sim::Model&);
/// Between the up and the down projection, of a dense MLP or an expert.
void activate(Queue&, ActivationFunction, bool gated, const Tensor& up, const Tensor& hidden);
void activateGradient(Queue&, ActivationFunction, bool gated, const Tensor& up, const Tensor& dHidden, const Tensor& dUp);

} // namespace live
