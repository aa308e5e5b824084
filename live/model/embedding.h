// The ends of the model: token and position embedding, and the output head with its cross-entropy; the vocabulary is split over
// tp (Megatron-LM).
#pragma once

#include "live/model/input.h"
#include "live/model/norm.h"
#include "live/model/tensor_parallel.h"

#include <map>

namespace live {

/// The spec of the token embedding, or of an output head of its own: rows of the vocabulary.
ParameterSpec vocabularySpec(const std::string& name, const Shape&);

class Embedding {
public:
    /// `table`: of the tokens; lives in a bucket of its own, since it may be tied.
    Embedding(RankContext&, const Shape&, Parameter& table, Bucket& rest, int stage);

    Task<Array> forward(const Input&);
    /// Keeps the gradient for the weights.
    void backwardInput(const Input&, Array dy);
    Task<> backwardWeight(const Input&);

private:
    Tensor localRows(const Array& all) const;

    RankContext& m_context;
    const Shape& m_shape;
    Parameter& m_table;
    Parameter* m_positions = nullptr;
    std::map<const Input*, Array> m_gradients;
    KernelLabel m_label;
};

/// Kept from the forward pass on.
struct HeadSaved {
    Array input, statistics, normalized;
    Array exponentials; ///< of the logits; then their gradient. Rows are longer than the vocabulary's slice: paddedColumns
    Array partial;      ///< [2, rows]: see Queue::exponentials
};

class Head {
public:
    Head(RankContext&, const Shape&, Parameter& table, Bucket& rest, int stage);

    /// Adds the losses of the tokens to `lossWords` (an exact sum). Takes x.
    Task<> forward(const Input&, Array x, HeadSaved&, const Tensor& lossWords);
    /// lossScale: what each token's loss counts.
    /// `ofWeights`: theirs are computed while the input gradient is summed over tp.
    Task<Array> backward(const Input&, HeadSaved&, double lossScale, bool ofWeights);
    Task<> backwardWeight(HeadSaved&);

private:
    /// Without the columns that fill rows up.
    Tensor logitsOf(const HeadSaved&) const;
    void weightGradient(const HeadSaved&, const Tensor& normalized);

    RankContext& m_context;
    const Shape& m_shape;
    Norm m_norm;
    Parameter& m_table;
    RowsUnderWay m_gathering, m_sum;
    KernelLabel m_projectLabel, m_lossLabel;
};

} // namespace live
