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
    /// Of rows of `width`; `partial`: its gradients are sums over a part of what tp ranks have.
    struct Size {
        std::int64_t width = 0;
        bool partial = false;
    };
    /// Of the residual stream.
    Norm(RankContext&, const Shape&, Bucket&, const std::string& name, std::string_view label, int stage, int layer);
    Norm(RankContext&, Size, NormRule, Bucket&, const std::string& name, std::string_view label, int stage, int layer);
    /// The norm that the model has everywhere.
    static NormRule ruleOf(const sim::Model&);

    /// statistics: [rows, 2], kept for the backward pass.
    Array forward(const Tensor& x, Array& statistics) const;
    void forward(const Tensor& x, const Tensor& y, Array& statistics) const;
    /// dx of x; adds to the weights' gradients.
    Array backward(const Tensor& dy, const Tensor& x, const Tensor& statistics) const;
    void backward(const Tensor& dy, const Tensor& x, const Tensor& statistics, const Tensor& dx) const;

private:
    RankContext& m_context;
    NormRule m_rule;
    Parameter* m_gain = nullptr;
    Parameter* m_bias = nullptr; ///< null for rmsnorm
    KernelLabel m_label;
};

} // namespace live
