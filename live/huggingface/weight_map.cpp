#include "live/huggingface/weight_map.h"

#include "sim/model/tensors.h"

#include <numeric>

namespace live::huggingface {
namespace {

class Mapper {
public:
    Mapper(const sim::Model& model, ModelClass of, const FileStyle& style)
        : m_model(model), m_class(of), m_style(style), m_hidden(model.hiddenSize)
    {
    }

    WeightMap make()
    {
        if (m_class == ModelClass::gpt2)
            gpt2();
        else
            llama();
        return std::move(m_map);
    }

private:
    static std::int64_t elementsOf(const std::vector<std::int64_t>& shape)
    {
        return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    }

    /// A tensor of theirs that is one of ours.
    void same(const std::string& ours, const std::string& theirs, const std::vector<std::int64_t>& shape)
    {
        m_map.tensors[theirs] = shape;
        const std::int64_t columns = shape.back(), rows = elementsOf(shape) / columns;
        m_map.places[ours] = {.tensor = theirs, .rows = rows, .columns = columns, .rowStride = columns};
    }

    /// Rows of a fused tensor of theirs.
    void rows(const std::string& ours, const std::string& theirs, std::int64_t begin, std::int64_t count, std::int64_t columns,
              std::vector<std::int64_t> order = {})
    {
        m_map.places[ours] = {
            .tensor = theirs, .rows = count, .columns = columns, .begin = begin, .rowStride = columns, .order = std::move(order)};
    }

    void norm(const std::string& ours, const std::string& theirs, std::int64_t width)
    {
        same(ours + ".gain", theirs + ".weight", {width});
        if (m_class == ModelClass::gpt2)
            same(ours + ".bias", theirs + ".bias", {width});
    }

    // -- Llama and its descendants

    void llama()
    {
        same("token_embedding", m_style.prefix + "embed_tokens.weight", {m_model.vocabSize, m_hidden});
        if (!m_model.tieWordEmbeddings)
            same("output_head", "lm_head.weight", {m_model.vocabSize, m_hidden});
        norm("final_norm", m_style.prefix + "norm", m_hidden);
        for (int layer = 0; layer < m_model.numHiddenLayers; ++layer) {
            m_ours = "layers." + std::to_string(layer) + ".";
            m_theirs = m_style.prefix + "layers." + std::to_string(layer) + ".";
            norm(m_ours + "attention_norm", m_theirs + "input_layernorm", m_hidden);
            norm(m_ours + "mlp_norm", m_theirs + "post_attention_layernorm", m_hidden);
            if (m_model.isLatentAttention())
                latentAttention();
            else
                attention();
            if (m_model.isMoeLayer(layer))
                experts();
            else
                mlp(m_ours + "mlp.", m_theirs + "mlp.", m_model.intermediateSize);
        }
    }

    void attention()
    {
        const std::string ours = m_ours + "attention.", theirs = m_theirs + "self_attn.";
        const std::int64_t queries = std::int64_t{m_model.numAttentionHeads} * m_model.headDim,
                           keys = std::int64_t{m_model.numKeyValueHeads} * m_model.headDim;
        const auto projection = [&](const char* name, const char* letter, std::int64_t width) {
            same(ours + name, theirs + letter + "_proj.weight", {width, m_hidden});
            if (m_model.qkvBias)
                same(ours + name + "_bias", theirs + letter + "_proj.bias", {width});
        };
        projection("query", "q", queries);
        projection("key", "k", keys);
        projection("value", "v", keys);
        output(queries);
        if (m_model.qkNorm) {
            norm(ours + "query_norm", theirs + "q_norm", m_model.headDim);
            norm(ours + "key_norm", theirs + "k_norm", m_model.headDim);
        }
    }

    void output(std::int64_t columns)
    {
        same(m_ours + "attention.output", m_theirs + "self_attn.o_proj.weight", {m_hidden, columns});
        if (m_model.outputBias)
            same(m_ours + "attention.output_bias", m_theirs + "self_attn.o_proj.bias", {m_hidden});
    }

    /// Of `groups` equal parts that end in a rotated part: ours has each pair's first elements, then their seconds.
    std::vector<std::int64_t> rotaryOrder(std::int64_t groups, std::int64_t plain, std::int64_t rotary) const
    {
        if (!m_style.interleaved)
            return {};
        std::vector<std::int64_t> order;
        for (std::int64_t group = 0; group < groups; ++group) {
            const std::int64_t first = group * (plain + rotary);
            for (std::int64_t i = 0; i < plain; ++i)
                order.push_back(first + i);
            for (std::int64_t i = 0; i < rotary; ++i)
                order.push_back(first + plain + (i < rotary / 2 ? 2 * i : 2 * (i - rotary / 2) + 1));
        }
        return order;
    }

    /// The part of each head's rows in a tensor that has all heads'.
    static std::vector<std::int64_t> headOrder(std::int64_t heads, std::int64_t ofHead, std::int64_t first, std::int64_t count)
    {
        std::vector<std::int64_t> order;
        for (std::int64_t head = 0; head < heads; ++head)
            for (std::int64_t i = 0; i < count; ++i)
                order.push_back(head * ofHead + first + i);
        return order;
    }

    void latentAttention()
    {
        const std::string ours = m_ours + "attention.", theirs = m_theirs + "self_attn.";
        const std::int64_t heads = m_model.numAttentionHeads, plain = m_model.qkNopeHeadDim, rotary = m_model.qkRopeHeadDim;
        const std::int64_t value = m_model.vHeadDim, rank = m_model.kvLoraRank, queryRank = m_model.qLoraRank;
        const std::string query = theirs + (queryRank > 0 ? "q_b_proj.weight" : "q_proj.weight");
        const std::int64_t queryInputs = queryRank > 0 ? queryRank : m_hidden;
        if (queryRank > 0) {
            same(ours + "query_down", theirs + "q_a_proj.weight", {queryRank, m_hidden});
            norm(ours + "query_norm", theirs + "q_a_layernorm", queryRank);
        }
        m_map.tensors[query] = {heads * (plain + rotary), queryInputs};
        rows(ours + (queryRank > 0 ? "query_up" : "query"), query, 0, heads * (plain + rotary), queryInputs,
             rotaryOrder(heads, plain, rotary));
        const std::string down = theirs + "kv_a_proj_with_mqa.weight", up = theirs + "kv_b_proj.weight";
        m_map.tensors[down] = {rank + rotary, m_hidden};
        rows(ours + "key_value_down", down, 0, rank + rotary, m_hidden, rotaryOrder(1, rank, rotary));
        norm(ours + "key_value_norm", theirs + "kv_a_layernorm", rank);
        m_map.tensors[up] = {heads * (plain + value), rank};
        rows(ours + "key_up", up, 0, heads * plain, rank, headOrder(heads, plain + value, 0, plain));
        rows(ours + "value_up", up, 0, heads * value, rank, headOrder(heads, plain + value, plain, value));
        output(heads * value);
    }

    void mlp(const std::string& ours, const std::string& theirs, std::int64_t width)
    {
        same(ours + "gate", theirs + "gate_proj.weight", {width, m_hidden});
        same(ours + "up", theirs + "up_proj.weight", {width, m_hidden});
        same(ours + "down", theirs + "down_proj.weight", {m_hidden, width});
    }

    void experts()
    {
        const bool isMixtral = m_class == ModelClass::mixtral && !m_style.stacked;
        const std::string theirs = m_theirs + (isMixtral ? "block_sparse_moe." : "mlp.");
        const std::int64_t width = m_model.moeIntermediateSize, count = m_model.numExperts;
        same(m_ours + "router", theirs + "gate.weight", {count, m_hidden});
        if (m_model.routerBias)
            same(m_ours + "router_bias", theirs + "gate.e_score_correction_bias", {count});
        if (m_model.numSharedExperts > 0)
            mlp(m_ours + "shared_expert.", theirs + "shared_experts.", width * m_model.numSharedExperts);
        const std::string fused = theirs + "experts.gate_up_proj", down = theirs + "experts.down_proj";
        if (m_style.stacked) {
            m_map.tensors[fused] = {count, 2 * width, m_hidden};
            m_map.tensors[down] = {count, m_hidden, width};
        }
        for (std::int64_t e = 0; e < count; ++e) {
            const std::string expert = m_ours + "experts." + std::to_string(e) + ".";
            const std::string theirExpert = theirs + "experts." + std::to_string(e) + ".";
            if (m_style.stacked) {
                rows(expert + "gate", fused, e * 2 * width * m_hidden, width, m_hidden);
                rows(expert + "up", fused, (e * 2 + 1) * width * m_hidden, width, m_hidden);
                rows(expert + "down", down, e * m_hidden * width, m_hidden, width);
            } else if (isMixtral) {
                same(expert + "gate", theirExpert + "w1.weight", {width, m_hidden});
                same(expert + "up", theirExpert + "w3.weight", {width, m_hidden});
                same(expert + "down", theirExpert + "w2.weight", {m_hidden, width});
            } else {
                mlp(expert, theirExpert, width);
            }
        }
    }

    // -- GPT-2: matrices are [inputs, outputs], queries, keys and values side by side

    void gpt2()
    {
        same("token_embedding", m_style.prefix + "wte.weight", {m_model.vocabSize, m_hidden});
        same("position_embedding", m_style.prefix + "wpe.weight", {m_model.maxPositionEmbeddings, m_hidden});
        if (!m_model.tieWordEmbeddings)
            same("output_head", "lm_head.weight", {m_model.vocabSize, m_hidden});
        norm("final_norm", m_style.prefix + "ln_f", m_hidden);
        for (int layer = 0; layer < m_model.numHiddenLayers; ++layer) {
            const std::string ours = "layers." + std::to_string(layer) + ".";
            const std::string theirs = m_style.prefix + "h." + std::to_string(layer) + ".";
            norm(ours + "attention_norm", theirs + "ln_1", m_hidden);
            norm(ours + "mlp_norm", theirs + "ln_2", m_hidden);
            transposed({ours + "attention.query", ours + "attention.key", ours + "attention.value"}, theirs + "attn.c_attn",
                       m_hidden, m_hidden);
            transposed({ours + "attention.output"}, theirs + "attn.c_proj", m_hidden, m_hidden);
            transposed({ours + "mlp.up"}, theirs + "mlp.c_fc", m_hidden, m_model.intermediateSize);
            transposed({ours + "mlp.down"}, theirs + "mlp.c_proj", m_model.intermediateSize, m_hidden);
        }
    }

    void transposed(const std::vector<std::string>& ours, const std::string& theirs, std::int64_t inputs, std::int64_t outputs)
    {
        const auto count = static_cast<std::int64_t>(ours.size());
        m_map.tensors[theirs + ".weight"] = {inputs, count * outputs};
        m_map.tensors[theirs + ".bias"] = {count * outputs};
        for (std::int64_t i = 0; i < count; ++i) {
            const std::string& name = ours[static_cast<std::size_t>(i)];
            m_map.places[name] = {.tensor = theirs + ".weight",
                                  .rows = outputs,
                                  .columns = inputs,
                                  .begin = i * outputs,
                                  .rowStride = 1,
                                  .columnStride = count * outputs};
            rows(name + "_bias", theirs + ".bias", i * outputs, 1, outputs);
        }
    }

    const sim::Model& m_model;
    const ModelClass m_class;
    const FileStyle& m_style;
    const std::int64_t m_hidden;
    std::string m_ours, m_theirs; ///< the layer's prefixes
    WeightMap m_map;
};

} // namespace

WeightMap mapWeights(const sim::Model& model, ModelClass of, const FileStyle& style)
{
    return Mapper(model, of, style).make();
}

} // namespace live::huggingface
