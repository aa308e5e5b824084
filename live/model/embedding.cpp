#include "live/model/embedding.h"

#include "live/model/dropout.h"

namespace live {
namespace {

/// Rows that begin on whole lines of 128 bytes in bf16: rows at odd addresses are read and written an element at a time
/// (docs/measurements.md).
std::int64_t paddedColumns(std::int64_t columns)
{
    constexpr std::int64_t kMultiple = 64;
    return (columns + kMultiple - 1) / kMultiple * kMultiple;
}

} // namespace

ParameterSpec vocabularySpec(const std::string& name, const Shape& shape)
{
    ParameterSpec spec = rowsOfMatrix(name, shape.vocabularySlice, shape.hidden, shape.tpSlice());
    spec.globalRows = shape.vocabulary; // the last slice is padded
    return spec;
}

Embedding::Embedding(RankContext& context, const Shape& shape, Parameter& table, Bucket& rest, int stage)
    : m_context(context), m_shape(shape), m_table(table), m_label(context.kinds, "embed", stage)
{
    const sim::Model& model = context.scenario.model;
    if (model.positionEmbedding == sim::PositionEmbedding::learned)
        m_positions = &rest.add(
            replicated(rowsOfMatrix("position_embedding", model.maxPositionEmbeddings, shape.hidden), shape.sequenceParallel));
}

Tensor Embedding::localRows(const Array& all) const
{
    return m_shape.sequenceParallel ? all->rowRange(m_shape.localRows * m_shape.tpIndex, m_shape.localRows) : all.tensor();
}

Task<Array> Embedding::forward(const Input& input)
{
    Queue& queue = *m_context.queue;
    Array partial = m_context.activations(m_shape.rows, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_label);
        queue.embed(input.ids, m_table.value(), m_shape.firstToken, partial);
    }
    Array y = co_await sumRowsOverTp(m_context, m_shape, std::move(partial), "embed.sum");
    if (m_positions) {
        const KernelSpan span(m_context, m_label);
        Array positions = m_context.activations(y->rows, y->columns);
        queue.embed(localRows(input.positions), m_positions->value(), 0, positions);
        queue.add(positions, y);
    }
    dropoutRows(m_context, m_shape, input, 0, DropoutSite::embedding, y);
    m_context.inspect(m_label, y);
    co_return y;
}

void Embedding::backwardInput(const Input& input, Array dy)
{
    dropoutRows(m_context, m_shape, input, 0, DropoutSite::embedding, dy);
    m_gradients[&input] = std::move(dy);
}

Task<> Embedding::backwardWeight(const Input& input)
{
    const Array dy = std::move(m_gradients.at(&input));
    m_gradients.erase(&input);
    if (!m_table.isTrained())
        co_return;
    const AllRows all = co_await gatherRows(m_context, m_shape, dy, "embed.gather");
    const KernelSpan span(m_context, m_label);
    m_context.queue->embedGradient(input.ids, all.tensor, m_shape.firstToken, m_table.gradient());
    if (m_positions)
        m_context.queue->embedGradient(localRows(input.positions), dy, 0, m_positions->gradient());
}

Head::Head(RankContext& context, const Shape& shape, Parameter& table, Bucket& rest, int stage)
    : m_context(context), m_shape(shape), m_norm(context, shape, rest, "final_norm", "head.norm", stage, -1), m_table(table),
      m_projectLabel(context.kinds, "head.logits", stage, -1, KernelLabel::Operator::linear),
      m_lossLabel(context.kinds, "loss", stage)
{
}

Tensor Head::logitsOf(const HeadSaved& saved) const
{
    return saved.exponentials->columnRange(0, m_shape.vocabularySlice);
}

Task<> Head::forward(const Input& input, Array x, HeadSaved& saved, const Tensor& lossWords)
{
    Queue& queue = *m_context.queue;
    saved.input = std::move(x);
    saved.normalized = m_norm.forward(saved.input, saved.statistics);
    const AllRows all = co_await gatherRows(m_context, m_shape, saved.normalized, "head.gather");
    saved.exponentials = m_context.activations(m_shape.rows, paddedColumns(m_shape.vocabularySlice));
    {
        const KernelSpan span(m_context, m_projectLabel);
        queue.linear(all.tensor, m_table.value(), {}, logitsOf(saved));
    }
    m_context.inspect(m_projectLabel, logitsOf(saved));
    Array maximum = m_context.statistics(m_shape.rows, 1);
    {
        const KernelSpan span(m_context, m_lossLabel);
        queue.rowMaximum(saved.exponentials, m_shape.validTokens(), maximum);
    }
    co_await m_context.allReduce(Group::tp, maximum, "loss.max", ReduceOp::max);
    saved.partial = m_context.statistics(2, m_shape.rows);
    {
        const KernelSpan span(m_context, m_lossLabel);
        queue.exponentials(saved.exponentials, m_shape.validTokens(), maximum, input.targets, m_shape.firstToken, saved.partial);
    }
    co_await m_context.allReduce(Group::tp, saved.partial, "loss.sums");
    const KernelSpan span(m_context, m_lossLabel);
    const Array loss = m_context.statistics(1, m_shape.rows);
    queue.crossEntropy(saved.partial, input.targets, loss);
    m_context.inspect(m_lossLabel, loss);
    if (m_shape.tpIndex == 0) // all of tp have the same losses
        queue.exactSum(loss, lossWords);
}

Task<Array> Head::backward(const Input& input, HeadSaved& saved, double lossScale, bool ofWeights)
{
    Queue& queue = *m_context.queue;
    {
        const KernelSpan span(m_context, m_lossLabel);
        queue.crossEntropyGradient(saved.exponentials, saved.partial, input.targets, m_shape.firstToken, lossScale);
    }
    const bool gathers = ofWeights && m_table.isTrained();
    if (gathers)
        m_gathering.startGather(m_context, m_shape, saved.normalized, "head.gather");
    Array dNormalized = m_context.activations(m_shape.rows, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_projectLabel);
        queue.linearInputGradient(logitsOf(saved), m_table.value(), dNormalized);
    }
    m_context.inspect(m_projectLabel, dNormalized);
    AllRows all;
    if (gathers)
        all = co_await m_gathering.gathered();
    m_sum.startSum(m_context, m_shape, std::move(dNormalized), "head.sum");
    if (gathers)
        weightGradient(saved, all.tensor);
    dNormalized = co_await m_sum.summed();
    Array dx = m_norm.backward(dNormalized, saved.input, saved.statistics);
    saved.input.reset();
    saved.statistics.reset();
    saved.partial.reset();
    if (ofWeights)
        saved = {};
    co_return dx;
}

Task<> Head::backwardWeight(HeadSaved& saved)
{
    if (m_table.isTrained()) {
        const AllRows all = co_await gatherRows(m_context, m_shape, saved.normalized, "head.gather");
        weightGradient(saved, all.tensor);
    }
    saved = {};
}

void Head::weightGradient(const HeadSaved& saved, const Tensor& normalized)
{
    const KernelSpan span(m_context, m_projectLabel, GradientOf::weight);
    Bucket& bucket = *m_table.bucket;
    const Tensor gradient = bucket.headGradients ? bucket.headGradients->columnRange(m_table.offset, m_table.elements())
                                                       .reshaped(m_table.spec.rows, m_table.spec.columns)
                                                 : m_table.gradient();
    m_context.queue->linearWeightGradient(logitsOf(saved), normalized, gradient, {});
}

} // namespace live
