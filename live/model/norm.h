// Layer or RMS norm with its weights. Its weight gradients are small and made together with the input gradient.
#pragma once

#include "live/model/parameters.h"
#include "live/model/rank_context.h"
#include "live/model/shape.h"

#include <string>
#include <string_view>

namespace live {

class Norm {
public:
    Norm(RankContext&, const Shape&, Bucket&, const std::string& name, std::string_view label, int stage, int layer);

    /// statistics: [rows, 2], kept for the backward pass.
    Array forward(const Tensor& x, Array& statistics) const;
    /// dx of x; adds to the weights' gradients.
    Array backward(const Tensor& dy, const Tensor& x, const Tensor& statistics) const;

private:
    RankContext& m_context;
    NormRule m_rule;
    Parameter* m_gain = nullptr;
    Parameter* m_bias = nullptr; ///< null for rmsnorm
    KernelLabel m_label;
};

} // namespace live
