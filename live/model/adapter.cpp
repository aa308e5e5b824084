#include "live/model/adapter.h"

#include <cassert>

namespace live {

Adapter::Adapter(RankContext& context, const Shape& shape, Bucket& bucket, Beside beside, const Names& names,
                 const ParameterSpec& base, int stage, int layer)
    : m_context(context), m_shape(shape), m_beside(beside), m_names(names), m_rank(context.scenario.model.lora.rank),
      m_ownRank(beside == Beside::splitOutputs ? m_rank / shape.tp : m_rank),
      m_aLabel(context.kinds, names.a, stage, layer, KernelLabel::Operator::linear),
      m_bLabel(context.kinds, names.b, stage, layer, KernelLabel::Operator::linear)
{
    const std::string a = base.name + ".lora_a", b = base.name + ".lora_b";
    ParameterSpec ofB;
    if (beside == Beside::splitOutputs) {
        m_a = &bucket.add(rowsOfMatrix(a, m_ownRank, base.columns, shape.tpSlice()));
        m_outputs = base.rows;
        ofB = rowsOfMatrix(b, base.rows, m_rank, {base.firstRow / base.rows, base.globalRows / base.rows});
        ofB.headCopy = base.headCopy;
    } else {
        ParameterSpec ofA = rowsOfMatrix(a, m_rank, base.columns);
        ofA.globalColumns = base.globalColumns;
        ofA.firstColumn = base.firstColumn;
        m_a = &bucket.add(ofA);
        assert(base.rows % shape.tp == 0); // problemsOfTraining()
        m_outputs = base.rows / shape.tp;
        m_firstOutput = m_outputs * shape.tpIndex;
        ofB = rowsOfMatrix(b, m_outputs, m_rank, shape.tpSlice());
    }
    ofB.initial = {}; // so that at first the adapter adds nothing
    m_b = &bucket.add(ofB);
}

Task<> Adapter::forward(Tensor x, Tensor y, AdapterSaved& saved)
{
    Queue& queue = *m_context.queue;
    Array made = m_context.activations(x.rows, m_ownRank);
    {
        const KernelSpan span(m_context, m_aLabel);
        queue.linear(x, m_a->value(), {}, made);
    }
    if (splitsLatent()) {
        const Array parts = m_context.activations(x.rows * m_shape.tp, m_ownRank);
        co_await m_context.allGather(Group::tp, made, parts, m_names.latent);
        saved.latent = m_context.activations(x.rows, m_rank);
        for (std::int64_t part = 0; part < m_shape.tp; ++part)
            queue.copy(parts->rowRange(part * x.rows, x.rows), saved.latent->columnRange(part * m_ownRank, m_ownRank));
    } else {
        saved.latent = std::move(made);
        if (m_shape.tp > 1)
            co_await m_context.allReduce(Group::tp, saved.latent, m_names.latent);
    }
    m_context.inspect(m_aLabel, saved.latent);
    const KernelSpan span(m_context, m_bLabel);
    const Array more = m_context.activations(x.rows, m_outputs);
    queue.linear(saved.latent, m_b->value(), {}, more);
    queue.add(more, own(y));
}

Task<> Adapter::backward(Tensor dy, AdapterSaved& saved, Tensor dx)
{
    Queue& queue = *m_context.queue;
    Array dLatent = m_context.activations(dy.rows, m_rank);
    {
        const KernelSpan span(m_context, m_bLabel);
        queue.linearInputGradient(own(dy), m_b->value(), dLatent);
    }
    if (splitsLatent()) {
        const Array parts = m_context.activations(dy.rows * m_shape.tp, m_ownRank);
        for (std::int64_t part = 0; part < m_shape.tp; ++part)
            queue.copy(dLatent->columnRange(part * m_ownRank, m_ownRank), parts->rowRange(part * dy.rows, dy.rows));
        saved.dLatent = m_context.activations(dy.rows, m_ownRank);
        co_await m_context.reduceScatter(Group::tp, parts, saved.dLatent, m_names.latent);
    } else {
        saved.dLatent = std::move(dLatent);
        if (m_shape.tp > 1)
            co_await m_context.allReduce(Group::tp, saved.dLatent, m_names.latent);
    }
    m_context.inspect(m_bLabel, saved.dLatent);
    const KernelSpan span(m_context, m_aLabel);
    const Array more = m_context.activations(dx.rows, dx.columns);
    queue.linearInputGradient(saved.dLatent, m_a->value(), more);
    queue.add(more, dx);
}

void Adapter::weightGradient(Tensor x, Tensor dy, const AdapterSaved& saved)
{
    {
        const KernelSpan span(m_context, m_bLabel, GradientOf::weight);
        m_context.queue->linearWeightGradient(own(dy), saved.latent, m_b->gradient(), {});
    }
    const KernelSpan span(m_context, m_aLabel, GradientOf::weight);
    m_context.queue->linearWeightGradient(saved.dLatent, x, m_a->gradient(), {});
}

} // namespace live
