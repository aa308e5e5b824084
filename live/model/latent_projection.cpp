#include "live/model/head_projection.h"

namespace live {
namespace {

/// The norms of the latents, which DeepSeek's and Hugging Face's classes make without the config's rms_norm_eps: their default
/// counts.
NormRule ruleOfLatents(const sim::Model& model)
{
    constexpr double kLatentNormEps = 1e-6;
    NormRule rule = Norm::ruleOf(model);
    if (rule.kind == NormKind::rmsnorm)
        rule.epsilon = kLatentNormEps;
    return rule;
}

} // namespace

LatentProjection::LatentProjection(RankContext& context, const Shape& shape, Bucket& bucket, const std::string& prefix, int stage,
                                   int layer)
    : m_context(context), m_shape(shape), m_queryRank(context.scenario.model.qLoraRank),
      m_rank(context.scenario.model.kvLoraRank), m_plain(context.scenario.model.qkNopeHeadDim),
      m_rotary(context.scenario.model.qkRopeHeadDim),
      m_downLabel(context.kinds, "attn.q_down", stage, layer, KernelLabel::Operator::linear),
      m_queryUpLabel(context.kinds, m_queryRank > 0 ? "attn.q_up" : "attn.q", stage, layer, KernelLabel::Operator::linear),
      m_keyValueDownLabel(context.kinds, "attn.kv_down", stage, layer, KernelLabel::Operator::linear),
      m_keyValueUpLabel(context.kinds, "attn.kv_up", stage, layer, KernelLabel::Operator::linear),
      m_rotateLabel(context.kinds, "attn.rope", stage, layer), m_assembleLabel(context.kinds, "attn.heads", stage, layer)
{
    const auto down = [&](const char* name, std::int64_t rows) {
        return &bucket.add(replicated(rowsOfMatrix(prefix + "." + name, rows, shape.hidden), shape.sequenceParallel));
    };
    const auto up = [&](const char* name, std::int64_t rows, std::int64_t columns) {
        return &bucket.add(rowsOfMatrix(prefix + "." + name, rows, columns, shape.tpSlice()));
    };
    const auto norm = [&](std::optional<Norm>& of, const char* name, const char* label, std::int64_t width) {
        of.emplace(context, Norm::Size{width, shape.sequenceParallel}, ruleOfLatents(context.scenario.model), bucket,
                   prefix + "." + name, label, stage, layer);
    };
    if (m_rotary > 0)
        m_turns.emplace(context, static_cast<int>(m_rotary));
    if (m_queryRank > 0) {
        m_queryDown = down("query_down", m_queryRank);
        norm(m_queryNorm, "query_norm", "attn.q_norm", m_queryRank);
    }
    m_query = up(m_queryRank > 0 ? "query_up" : "query", shape.queryColumns, m_queryRank > 0 ? m_queryRank : shape.hidden);
    m_keyValueDown = down("key_value_down", m_rank + m_rotary);
    norm(m_keyValueNorm, "key_value_norm", "attn.kv_norm", m_rank);
    m_keyUp = up("key_up", shape.heads * m_plain, m_rank);
    m_valueUp = up("value_up", shape.valueColumns, m_rank);
}

LatentProjection::Latent LatentProjection::split(const Tensor& latent) const
{
    return {latent.columnRange(0, m_queryRank), latent.columnRange(m_queryRank, m_rank),
            latent.columnRange(m_queryRank + m_rank, m_rotary)};
}

Tensor LatentProjection::byHead(const Tensor& rows, std::int64_t columnsOfHead) const
{
    return rows.reshaped(rows.rows * m_shape.heads, columnsOfHead);
}

void LatentProjection::rotateQuery(const Input& input, const Tensor& query, bool inverse) const
{
    if (m_rotary == 0)
        return;
    const KernelSpan span(m_context, m_rotateLabel);
    const Tensor parts = byHead(query, m_shape.headDim).columnRange(m_plain, m_rotary);
    if (inverse)
        m_turns->turnBack(parts, input.headPositions);
    else
        m_turns->turn(parts, input.headPositions);
}

Task<> LatentProjection::down(Tensor normalized, HeadsSaved& saved)
{
    Queue& queue = *m_context.queue;
    saved.latent = m_context.activations(m_shape.localRows, latentColumns());
    const Latent own = split(saved.latent);
    if (m_queryRank > 0) {
        saved.queryDown = m_context.activations(m_shape.localRows, m_queryRank);
        {
            const KernelSpan span(m_context, m_downLabel);
            queue.linear(normalized, m_queryDown->value(), {}, saved.queryDown);
        }
        m_queryNorm->forward(saved.queryDown, own.query, saved.queryStatistics);
    }
    saved.keyValueDown = m_context.activations(m_shape.localRows, m_rank + m_rotary);
    {
        const KernelSpan span(m_context, m_keyValueDownLabel);
        queue.linear(normalized, m_keyValueDown->value(), {}, saved.keyValueDown);
        queue.copy(saved.keyValueDown->columnRange(m_rank, m_rotary), own.rotary);
    }
    m_keyValueNorm->forward(downInput(saved.keyValueDown), own.keyValue, saved.keyValueStatistics);
    co_return;
}

Task<Array> LatentProjection::up(const Input& input, Tensor normalized, HeadsSaved& saved)
{
    Queue& queue = *m_context.queue;
    const AllRows latents = co_await gatherRows(m_context, m_shape, saved.latent, "attn.gather");
    const Latent all = split(latents.tensor);
    AllRows direct{{}, all.query};
    if (m_queryRank == 0)
        direct = co_await gatherRows(m_context, m_shape, normalized, "attn.gather");

    const Array query = m_context.activations(m_shape.rows, m_shape.queryColumns);
    {
        const KernelSpan span(m_context, m_queryUpLabel);
        queue.linear(direct.tensor, m_query->value(), {}, query);
    }
    m_context.inspect(m_queryUpLabel, query);
    rotateQuery(input, query, false);
    Array qkv = m_context.activations(m_shape.rows, m_shape.qkvColumns());
    const Array plain = m_context.activations(m_shape.rows, m_shape.heads * m_plain);
    {
        const KernelSpan span(m_context, m_keyValueUpLabel);
        queue.linear(all.keyValue, m_keyUp->value(), {}, plain);
        queue.linear(all.keyValue, m_valueUp->value(), {},
                     qkv->columnRange(m_shape.queryColumns + m_shape.keyColumns, m_shape.valueColumns));
    }
    const Array rotary = m_context.activations(m_shape.rows, m_rotary);
    if (m_rotary > 0) {
        const KernelSpan span(m_context, m_rotateLabel);
        queue.copy(all.rotary, rotary);
        m_turns->turn(rotary, input.positions);
    }
    const KernelSpan span(m_context, m_assembleLabel);
    const Array key = m_context.activations(m_shape.rows, m_shape.keyColumns);
    const Tensor keys = byHead(key, m_shape.headDim);
    queue.copy(byHead(plain, m_plain), keys.columnRange(0, m_plain));
    if (m_rotary > 0) // the same for all heads
        queue.gatherRows(rotary, input.headPlaces->reshaped(keys.rows, 1), m_shape.heads, keys.columnRange(m_plain, m_rotary));
    queue.copy(query, qkv->columnRange(0, m_shape.queryColumns));
    queue.copy(key, qkv->columnRange(m_shape.queryColumns, m_shape.keyColumns));
    m_context.inspect(m_assembleLabel, qkv);
    co_return qkv;
}

Task<Array> LatentProjection::backward(const Input& input, Array dQkv, Tensor normalized, HeadsSaved& saved, bool ofWeights)
{
    Queue& queue = *m_context.queue;
    Array dLatent = m_context.activations(m_shape.rows, latentColumns());
    const Latent slopes = split(dLatent);
    {
        const KernelSpan span(m_context, m_assembleLabel);
        saved.dQuery = m_context.activations(m_shape.rows, m_shape.queryColumns);
        queue.copy(dQkv->columnRange(0, m_shape.queryColumns), saved.dQuery);
        const Array dKeys = m_context.activations(m_shape.rows, m_shape.keyColumns);
        queue.copy(dQkv->columnRange(m_shape.queryColumns, m_shape.keyColumns), dKeys);
        saved.dValue = m_context.activations(m_shape.rows, m_shape.valueColumns);
        queue.copy(dQkv->columnRange(m_shape.queryColumns + m_shape.keyColumns, m_shape.valueColumns), saved.dValue);
        saved.dKey = m_context.activations(m_shape.rows, m_shape.heads * m_plain);
        const Tensor keys = byHead(dKeys, m_shape.headDim);
        queue.copy(keys.columnRange(0, m_plain), byHead(saved.dKey, m_plain));
        if (m_rotary > 0)
            queue.combineRows(keys.columnRange(m_plain, m_rotary), input.headPlaces, {}, slopes.rotary);
    }
    dQkv.reset();
    rotateQuery(input, saved.dQuery, true);
    if (m_rotary > 0) {
        const KernelSpan span(m_context, m_rotateLabel);
        m_turns->turnBack(slopes.rotary, input.positions);
    }
    Array dDirect; // of the residual stream, through queries that come straight from it
    {
        const KernelSpan span(m_context, m_queryUpLabel);
        if (m_queryRank == 0)
            dDirect = m_context.activations(m_shape.rows, m_shape.hidden);
        queue.linearInputGradient(saved.dQuery, m_query->value(), dDirect ? dDirect.tensor() : slopes.query);
    }
    {
        const KernelSpan span(m_context, m_keyValueUpLabel);
        const Array ofValue = m_context.activations(m_shape.rows, m_rank);
        queue.linearInputGradient(saved.dKey, m_keyUp->value(), slopes.keyValue);
        queue.linearInputGradient(saved.dValue, m_valueUp->value(), ofValue);
        queue.add(ofValue, slopes.keyValue);
    }
    m_context.inspect(m_keyValueUpLabel, dLatent);
    dLatent = co_await sumRowsOverTp(m_context, m_shape, std::move(dLatent), "attn.sum");
    const Latent own = split(dLatent);
    saved.dKeyValueDown = m_context.activations(m_shape.localRows, m_rank + m_rotary);
    m_keyValueNorm->backward(own.keyValue, downInput(saved.keyValueDown), saved.keyValueStatistics,
                             downInput(saved.dKeyValueDown));
    Array dNormalized = m_context.activations(m_shape.localRows, m_shape.hidden);
    {
        const KernelSpan span(m_context, m_keyValueDownLabel);
        queue.copy(own.rotary, saved.dKeyValueDown->columnRange(m_rank, m_rotary));
        queue.linearInputGradient(saved.dKeyValueDown, m_keyValueDown->value(), dNormalized);
    }
    if (m_queryRank > 0) {
        saved.dQueryDown = m_queryNorm->backward(own.query, saved.queryDown, saved.queryStatistics);
        const KernelSpan span(m_context, m_downLabel);
        const Array more = m_context.activations(m_shape.localRows, m_shape.hidden);
        queue.linearInputGradient(saved.dQueryDown, m_queryDown->value(), more);
        queue.add(more, dNormalized);
    } else {
        dDirect = co_await sumRowsOverTp(m_context, m_shape, std::move(dDirect), "attn.sum");
        const KernelSpan span(m_context, m_queryUpLabel);
        queue.add(dDirect, dNormalized);
    }
    m_context.inspect(m_keyValueDownLabel, dNormalized);
    saved.queryDown.reset();
    saved.keyValueDown.reset();
    saved.queryStatistics.reset();
    saved.keyValueStatistics.reset();
    if (ofWeights)
        co_await backwardWeight(normalized, saved);
    co_return dNormalized;
}

Task<> LatentProjection::backwardWeight(Tensor normalized, HeadsSaved& saved)
{
    downWeightGradient(saved, normalized);
    const AllRows latents = co_await gatherRows(m_context, m_shape, saved.latent, "attn.gather");
    AllRows direct;
    if (m_queryRank == 0)
        direct = co_await gatherRows(m_context, m_shape, normalized, "attn.gather");
    upWeightGradient(saved, latents.tensor, direct.tensor);
}

void LatentProjection::downWeightGradient(const HeadsSaved& saved, const Tensor& normalized)
{
    if (m_queryRank > 0) {
        const KernelSpan span(m_context, m_downLabel, GradientOf::weight);
        m_context.queue->linearWeightGradient(saved.dQueryDown, normalized, m_queryDown->gradient(), {});
    }
    const KernelSpan span(m_context, m_keyValueDownLabel, GradientOf::weight);
    m_context.queue->linearWeightGradient(saved.dKeyValueDown, normalized, m_keyValueDown->gradient(), {});
}

void LatentProjection::upWeightGradient(const HeadsSaved& saved, const Tensor& latent, const Tensor& normalized)
{
    const Latent all = split(latent);
    {
        const KernelSpan span(m_context, m_queryUpLabel, GradientOf::weight);
        m_context.queue->linearWeightGradient(saved.dQuery, m_queryRank > 0 ? all.query : normalized, m_query->gradient(), {});
    }
    const KernelSpan span(m_context, m_keyValueUpLabel, GradientOf::weight);
    m_context.queue->linearWeightGradient(saved.dKey, all.keyValue, m_keyUp->gradient(), {});
    m_context.queue->linearWeightGradient(saved.dValue, all.keyValue, m_valueUp->gradient(), {});
}

} // namespace live
