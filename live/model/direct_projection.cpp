#include "live/model/head_projection.h"

namespace live {

DirectProjection::DirectProjection(RankContext& context, const Shape& shape, Bucket& bucket, Bucket* adapters,
                                   const std::string& prefix, int stage, int layer)
    : m_context(context), m_shape(shape), m_ownKeyColumns(shape.keyColumns / shape.headParts()),
      m_ownValueColumns(shape.valueColumns / shape.headParts()),
      m_projectLabel(context.kinds, "attn.qkv", stage, layer, KernelLabel::Operator::linear),
      m_rotateLabel(context.kinds, "attn.rope", stage, layer), m_normLabel(context.kinds, "attn.qk_norm", stage, layer)
{
    addParameters(bucket, adapters, prefix, stage, layer);
    const sim::Model& model = context.scenario.model;
    if (model.positionEmbedding == sim::PositionEmbedding::rope && model.layerKind(layer).rope)
        m_rotary.emplace(context, shape.headDim);
    if (!model.qkNorm)
        return;
    const Norm::Size size{.width = shape.headDim, .partial = shape.tp > 1}; // each rank has its own heads
    const NormRule rule{NormKind::rmsnorm, model.rmsNormEps};
    m_queryNorm.emplace(context, size, rule, bucket, prefix + ".query_norm", "attn.qk_norm", stage, layer);
    m_keyNorm.emplace(context, size, rule, bucket, prefix + ".key_norm", "attn.qk_norm", stage, layer);
}

void DirectProjection::addParameters(Bucket& bucket, Bucket* adapters, const std::string& prefix, int stage, int layer)
{
    const sim::Model& model = m_context.scenario.model;
    const bool shares = m_shape.headCopies > 1 && !m_shape.gathersHeads;
    const auto spec = [&](ParameterSpec made, bool ofKey) {
        made.headCopy = ofKey && shares;
        return made;
    };
    const auto matrix = [&](const char* name, std::int64_t rows, bool ofKey) {
        return spec(rowsOfMatrix(prefix + "." + name, rows, m_shape.hidden, ofKey ? m_shape.keyValueSlice() : m_shape.tpSlice()),
                    ofKey);
    };
    Parameter* const query = &bucket.add(matrix("query", m_shape.queryColumns, false));
    Parameter* const key = &bucket.add(matrix("key", m_ownKeyColumns, true), !shares);
    Parameter* const value = &bucket.add(matrix("value", m_ownValueColumns, true), true);
    Parameter *queryBias = nullptr, *keyBias = nullptr, *valueBias = nullptr;
    if (model.bias || model.qkvBias) {
        const auto vector = [&](const char* name, std::int64_t columns, bool ofKey) {
            return spec(sliceOfVector(prefix + "." + name, columns, ofKey ? m_shape.keyValueSlice() : m_shape.tpSlice()), ofKey);
        };
        queryBias = &bucket.add(vector("query_bias", m_shape.queryColumns, false));
        keyBias = &bucket.add(vector("key_bias", m_ownKeyColumns, true), !shares);
        valueBias = &bucket.add(vector("value_bias", m_ownValueColumns, true), true);
    }
    std::int64_t column = 0;
    for (const auto& [base, target] :
         {std::pair{query, sim::LoraTarget::query}, {key, sim::LoraTarget::key}, {value, sim::LoraTarget::value}}) {
        if (adapters && model.lora.has(target))
            m_adapters.push_back(
                {Adapter(m_context, m_shape, *adapters, Adapter::Beside::splitOutputs, Adapter::kQkv, base->spec, stage, layer),
                 column, base->spec.rows});
        column += base->spec.rows;
    }
    const std::int64_t keysValues = m_ownKeyColumns + m_ownValueColumns;
    if (!shares) {
        m_parts = {{query, value, queryBias, valueBias, 0, m_shape.queryColumns + keysValues}};
        return;
    }
    m_parts = {{query, query, queryBias, queryBias, 0, m_shape.queryColumns},
               {key, value, keyBias, valueBias, m_shape.queryColumns, keysValues}};
}

template <class Visit>
void DirectProjection::forEachPart(const Tensor& blocks, const Tensor& heads, Visit visit) const
{
    const std::int64_t keys = m_shape.queryColumns;
    const int firstRank = m_shape.tpIndex / m_shape.headCopies * m_shape.headCopies;
    visit(blocks.rowRange(m_shape.tpIndex * m_shape.rows, m_shape.rows).columnRange(0, keys), heads.columnRange(0, keys));
    for (int i = 0; i < m_shape.headCopies; ++i) {
        const Tensor block = blocks.rowRange((firstRank + i) * m_shape.rows, m_shape.rows);
        visit(block.columnRange(keys, m_ownKeyColumns), heads.columnRange(keys + i * m_ownKeyColumns, m_ownKeyColumns));
        visit(block.columnRange(keys + m_ownKeyColumns, m_ownValueColumns),
              heads.columnRange(keys + m_shape.keyColumns + i * m_ownValueColumns, m_ownValueColumns));
    }
}

/// The field gathers queries too, though each rank has its own: all columns that the product made travel (Megatron Core,
/// all_gather_last_dim_from_tensor_parallel_region).
Task<Array> DirectProjection::gatherHeads(Array made)
{
    if (!m_shape.gathersHeads)
        co_return made;
    const Array blocks = m_context.activations(m_shape.tp * m_shape.rows, made->columns);
    co_await m_context.allGather(Group::tp, made, blocks, "attn.qkv.gather");
    Array heads = m_context.activations(m_shape.rows, m_shape.qkvColumns());
    const KernelSpan span(m_context, m_projectLabel);
    forEachPart(blocks, heads, [this](const Tensor& block, const Tensor& part) { m_context.queue->copy(block, part); });
    co_return heads;
}

Task<Array> DirectProjection::scatterHeads(Array dHeads)
{
    if (!m_shape.gathersHeads)
        co_return dHeads;
    const std::int64_t made = m_shape.queryColumns + m_ownKeyColumns + m_ownValueColumns;
    const Array blocks = m_context.activations(m_shape.tp * m_shape.rows, made);
    {
        const KernelSpan span(m_context, m_projectLabel);
        m_context.queue->fill(blocks, 0);
        forEachPart(blocks, dHeads, [this](const Tensor& block, const Tensor& part) { m_context.queue->copy(part, block); });
    }
    Array own = m_context.activations(m_shape.rows, made);
    co_await m_context.reduceScatter(Group::tp, blocks, own, "attn.qkv.scatter");
    co_return own;
}

void DirectProjection::rotate(const Input& input, const Tensor& qkv, bool inverse) const
{
    if (!m_rotary)
        return;
    const KernelSpan span(m_context, m_rotateLabel);
    for (const Tensor& heads :
         {qkv.columnRange(0, m_shape.queryColumns), qkv.columnRange(m_shape.queryColumns, m_shape.keyColumns)})
        if (inverse)
            m_rotary->turnBack(heads, input.positions);
        else
            m_rotary->turn(heads, input.positions);
}

void DirectProjection::copy(const Tensor& from, const Tensor& to) const
{
    const KernelSpan span(m_context, m_normLabel);
    m_context.queue->copy(from, to);
}

/// Heads of a wider tensor become rows of their own, since each is normalised by itself.
void DirectProjection::normalise(const Tensor& qkv, HeadsSaved& saved) const
{
    const auto part = [&](const Norm& norm, const Tensor& heads, HeadsSaved::Normed& of) {
        const std::int64_t rows = heads.rows * heads.columns / m_shape.headDim;
        of.input = m_context.activations(rows, m_shape.headDim);
        copy(heads, of.input->reshaped(heads.rows, heads.columns));
        const Array y = norm.forward(of.input, of.statistics);
        copy(y->reshaped(heads.rows, heads.columns), heads);
    };
    part(*m_queryNorm, qkv.columnRange(0, m_shape.queryColumns), saved.query);
    part(*m_keyNorm, qkv.columnRange(m_shape.queryColumns, m_shape.keyColumns), saved.key);
}

void DirectProjection::normaliseGradient(const Tensor& dQkv, const HeadsSaved& saved) const
{
    const auto part = [&](const Norm& norm, const Tensor& heads, const HeadsSaved::Normed& of) {
        const Array dy = m_context.activations(of.input->rows, of.input->columns);
        copy(heads, dy->reshaped(heads.rows, heads.columns));
        const Array dx = norm.backward(dy, of.input, of.statistics);
        copy(dx->reshaped(heads.rows, heads.columns), heads);
    };
    part(*m_queryNorm, dQkv.columnRange(0, m_shape.queryColumns), saved.query);
    part(*m_keyNorm, dQkv.columnRange(m_shape.queryColumns, m_shape.keyColumns), saved.key);
}

Task<> DirectProjection::down(Tensor, HeadsSaved&)
{
    co_return;
}

Task<Array> DirectProjection::up(const Input& input, Tensor normalized, HeadsSaved& saved)
{
    const AllRows all = co_await gatherRows(m_context, m_shape, normalized, "attn.gather");
    Array qkv = m_context.activations(m_shape.rows, m_shape.queryColumns + m_ownKeyColumns + m_ownValueColumns);
    {
        const KernelSpan span(m_context, m_projectLabel);
        for (const Part& part : m_parts)
            m_context.queue->linear(all.tensor, part.weight(m_shape.hidden),
                                    part.firstBias ? part.firstBias->valueThrough(*part.lastBias) : Tensor{},
                                    qkv->columnRange(part.firstColumn, part.columns));
    }
    m_context.inspect(m_projectLabel, qkv);
    saved.adapters.resize(m_adapters.size());
    for (std::size_t i = 0; i < m_adapters.size(); ++i)
        co_await m_adapters[i].adapter.forward(all.tensor, m_adapters[i].of(qkv), saved.adapters[i]);
    qkv = co_await gatherHeads(std::move(qkv));
    if (m_queryNorm)
        normalise(qkv, saved);
    rotate(input, qkv, false);
    co_return qkv;
}

Task<Array> DirectProjection::backward(const Input& input, Array dQkv, Tensor normalized, HeadsSaved& saved, bool ofWeights)
{
    Queue& queue = *m_context.queue;
    rotate(input, dQkv, true);
    if (m_queryNorm)
        normaliseGradient(dQkv, saved);
    saved.dQkv = co_await scatterHeads(std::move(dQkv));
    saved.query = {};
    saved.key = {};
    if (ofWeights)
        m_gathering.startGather(m_context, m_shape, normalized, "attn.gather");
    Array dNormalized = m_context.activations(m_shape.rows, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_projectLabel);
        for (const Part& part : m_parts) {
            const Tensor dPart = saved.dQkv->columnRange(part.firstColumn, part.columns);
            if (&part == &m_parts.front()) {
                queue.linearInputGradient(dPart, part.weight(m_shape.hidden), dNormalized);
                continue;
            }
            const Array more = m_context.activations(m_shape.rows, m_shape.hidden);
            queue.linearInputGradient(dPart, part.weight(m_shape.hidden), more);
            queue.add(more, dNormalized);
        }
    }
    for (std::size_t i = 0; i < m_adapters.size(); ++i)
        co_await m_adapters[i].adapter.backward(m_adapters[i].of(saved.dQkv), saved.adapters[i], dNormalized);
    m_context.inspect(m_projectLabel, dNormalized);
    AllRows all;
    if (ofWeights)
        all = co_await m_gathering.gathered();
    m_sum.startSum(m_context, m_shape, std::move(dNormalized), "attn.sum");
    if (ofWeights)
        weightGradient(saved, all.tensor);
    dNormalized = co_await m_sum.summed();
    co_return dNormalized;
}

Task<> DirectProjection::backwardWeight(Tensor normalized, HeadsSaved& saved)
{
    const AllRows all = co_await gatherRows(m_context, m_shape, normalized, "attn.gather");
    weightGradient(saved, all.tensor);
}

void DirectProjection::weightGradient(const HeadsSaved& saved, const Tensor& normalized)
{
    for (std::size_t i = 0; i < m_adapters.size(); ++i)
        m_adapters[i].adapter.weightGradient(normalized, m_adapters[i].of(saved.dQkv), saved.adapters[i]);
    if (!m_parts.front().first->isTrained())
        return;
    const KernelSpan span(m_context, m_projectLabel, GradientOf::weight);
    for (const Part& part : m_parts)
        m_context.queue->linearWeightGradient(saved.dQkv->columnRange(part.firstColumn, part.columns), normalized,
                                              part.first->gradientThrough(*part.last).reshaped(part.columns, m_shape.hidden),
                                              part.firstBias ? part.firstBias->gradientThrough(*part.lastBias) : Tensor{});
}

std::unique_ptr<HeadProjection> makeHeadProjection(RankContext& context, const Shape& shape, Bucket& bucket, Bucket* adapters,
                                                   const std::string& prefix, int stage, int layer)
{
    if (context.scenario.model.isLatentAttention()) // the scenario's rules allow no adapters there
        return std::make_unique<LatentProjection>(context, shape, bucket, prefix, stage, layer);
    return std::make_unique<DirectProjection>(context, shape, bucket, adapters, prefix, stage, layer);
}

} // namespace live
