// The model by itself, the cluster by itself, and whether the ranks fit it.
#include "sim/legal/rules.h"

#include "sim/checked.h"
#include "sim/scenario/words.h"
#include "sim/text/nearest.h"
#include "sim/text/number_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace sim {

/// What is divided by. The schema has told it of what the file says.
void Rules::sizes()
{
    const Model& m = m_scenario.model;
    const Cluster& c = m_scenario.cluster;
    const Layout& l = m_scenario.layout;
    const ScheduleSettings& s = m_scenario.schedule;
    const Training& t = m_scenario.training;
    const std::array<std::pair<std::string_view, int>, 22> all{{{"/model/num_hidden_layers", m.numHiddenLayers},
                                                                {"/model/hidden_size", m.hiddenSize},
                                                                {"/model/num_attention_heads", m.numAttentionHeads},
                                                                {"/model/num_key_value_heads", m.numKeyValueHeads},
                                                                {"/model/vocab_size", m.vocabSize},
                                                                {"/model/moe_layer_freq", m.moeLayerFreq},
                                                                {"/cluster/gpus_per_node", c.gpusPerNode},
                                                                {"/cluster/nodes", c.nodes},
                                                                {"/layout/tp", l.tp},
                                                                {"/layout/cp", l.cp},
                                                                {"/layout/pp", l.pp},
                                                                {"/layout/dp", l.dp},
                                                                {"/layout/ep", l.ep},
                                                                {"/layout/etp", l.etp},
                                                                {"/layout/dp_shard", l.dpShard},
                                                                {"/schedule/virtual_stages", s.virtualStages},
                                                                {"/schedule/microbatch_group", s.microbatchGroup},
                                                                {"/schedule/sequence_slices", s.sequenceSlices},
                                                                {"/training/sequence_length", t.sequenceLength},
                                                                {"/training/micro_batch_size", t.microBatchSize},
                                                                {"/training/global_batch_size", t.globalBatchSize},
                                                                {"/model/max_position_embeddings", m.maxPositionEmbeddings}}};
    const bool isLengthOfModel = !isGiven("/training/sequence_length"); // unknown with a model that is not
    for (const auto& [key, size] : all)
        if (size < 1 && sound({key}) && !(isLengthOfModel && key == "/training/sequence_length" && !sound({"/model"})))
            error(key, [value = size] { return text(value) + " is too small; nearest: 1"; });
}

void Rules::model()
{
    if (!sound({"/model"}))
        return;
    const Model& m = m_scenario.model;
    if (m.hiddenSize % m.numAttentionHeads != 0 && !isGiven("/model/head_dim") && !m.isLatentAttention() &&
        m.headDim == m.hiddenSize / m.numAttentionHeads)
        error("/model/num_attention_heads", [&] {
            return text(m.numAttentionHeads) + " does not divide " + named("/model/hidden_size", m.hiddenSize) +
                   ", from which head_dim follows unless it is set" +
                   nearestNumbers(m.numAttentionHeads, 1, m.hiddenSize,
                                  [&](std::int64_t heads) { return m.hiddenSize % heads == 0; });
        });
    headDim();
    layerTypes();
    if (m.numAttentionHeads % m.numKeyValueHeads != 0)
        error("/model/num_key_value_heads", [&] {
            return text(m.numKeyValueHeads) + " does not divide " + named("/model/num_attention_heads", m.numAttentionHeads) +
                   nearestNumbers(m.numKeyValueHeads, 1, m.numAttentionHeads,
                                  [&](std::int64_t heads) { return m.numAttentionHeads % heads == 0; });
        });
    if (m.numExperts > 0 && (m.numExpertsPerTok < 1 || m.numExpertsPerTok > m.numExperts))
        error("/model/num_experts_per_tok", [&] {
            return text(m.numExpertsPerTok) + " of " + named("/model/num_experts", m.numExperts) +
                   " cannot be chosen; nearest: " + text(std::clamp(m.numExpertsPerTok, 1, m.numExperts));
        });
    if (m.numExperts > 0 && m.numExperts % m.expertGroups != 0)
        error("/model/n_group", [&] {
            return text(m.expertGroups) + " does not divide " + named("/model/num_experts", m.numExperts) +
                   nearestNumbers(m.expertGroups, 1, m.numExperts, [&](std::int64_t n) { return m.numExperts % n == 0; });
        });
    else if (m.numExperts > 0 && m.chosenGroups > m.expertGroups)
        error("/model/topk_group", [&] {
            return text(m.chosenGroups) + " of " + named("/model/n_group", m.expertGroups) +
                   " cannot be chosen; nearest: " + text(m.expertGroups);
        });
    else if (const std::int64_t open = std::int64_t{m.numExperts} / m.expertGroups * m.chosenGroups;
             m.numExperts > 0 && m.numExpertsPerTok <= m.numExperts && m.numExpertsPerTok > open)
        error("/model/topk_group", [&] {
            const bool isOne = m.chosenGroups == 1;
            return text(m.chosenGroups) + (isOne ? " group of " : " groups of ") + text(m.numExperts / m.expertGroups) +
                   (isOne ? " experts has fewer than " : " experts have fewer than ") +
                   named("/model/num_experts_per_tok", m.numExpertsPerTok) +
                   "; nearest: " + text(ceilDivide(m.numExpertsPerTok, m.numExperts / m.expertGroups));
        });
    if (m.numExperts > 0 && m.moeIntermediateSize < 1)
        error("/model/moe_intermediate_size",
              [&] { return "0 is too small for a model with " + named("/model/num_experts", m.numExperts) + "; nearest: 1"; });
    if (m.isLatentAttention() && (m.qkNopeHeadDim < 1 || m.vHeadDim < 1))
        error("/model/kv_lora_rank", [&] {
            return text(m.kvLoraRank) + " asks for latent attention, which needs qk_nope_head_dim and v_head_dim; " +
                   named("/model/qk_nope_head_dim", m.qkNopeHeadDim) + ", " + named("/model/v_head_dim", m.vHeadDim);
        });
    ropeScaling();
    for (const auto& [key, isAsked] : {std::pair{"/model/qk_norm", m.qkNorm}, {"/model/attention_sinks", m.attentionSinks}})
        if (m.isLatentAttention() && isAsked)
            warning(key, [&] { return "has no effect on latent attention: " + named("/model/kv_lora_rank", m.kvLoraRank); });
}

void Rules::ropeScaling()
{
    const Model& m = m_scenario.model;
    const RopeScaling& scaling = m.ropeScaling;
    if (scaling.kind == RopeScalingKind::none || !sound({"/model/rope_scaling", "/model/position_embedding"}))
        return;
    if (m.positionEmbedding != PositionEmbedding::rope)
        error("/model/rope_scaling", [&] {
            return "scales rotary positions, and position_embedding is " +
                   std::string(toWord(kPositionWords, m.positionEmbedding)) + "; nearest: rope, or no rope_scaling";
        });
    const auto inOrder = [&](const char* low, double slow, const char* high, double fast, bool mayBeEqual) {
        if (mayBeEqual ? slow > fast : slow >= fast)
            error(std::string("/model/rope_scaling/") + low, [&] {
                return numberText(slow, Unit::number) + (mayBeEqual ? " is more than " : " is not less than ") + high + " " +
                       numberText(fast, Unit::number);
            });
    };
    if (scaling.kind == RopeScalingKind::llama3)
        inOrder("low_freq_factor", scaling.lowFrequencyFactor, "high_freq_factor", scaling.highFrequencyFactor, false);
    if (scaling.kind == RopeScalingKind::yarn) // Kimi K2 has both at 1: nothing lies between
        inOrder("beta_slow", scaling.betaSlow, "beta_fast", scaling.betaFast, true);
}

/// Where nobody wrote head_dim it follows from other keys; what these make of it must be what could have been written.
void Rules::headDim()
{
    constexpr int kMost = 65536; // the schema's
    const Model& m = m_scenario.model;
    if (m.headDim <= kMost)
        return;
    const std::string width = " makes head_dim " + text(m.headDim) + ", more than " + text(kMost);
    if (!m.isLatentAttention())
        return error("/model/num_attention_heads", [&] {
            return text(m.numAttentionHeads) + " of " + named("/model/hidden_size", m.hiddenSize) + width +
                   nearestNumbers(m.numAttentionHeads, m.hiddenSize / kMost, m.hiddenSize,
                                  [&](std::int64_t heads) { return m.hiddenSize % heads == 0 && m.hiddenSize / heads <= kMost; });
        });
    const bool isRotated = isGiven("/model/qk_rope_head_dim") && m.qkNopeHeadDim < kMost;
    const char *const rotated = "/model/qk_rope_head_dim", *const plain = "/model/qk_nope_head_dim";
    const int value = isRotated ? m.qkRopeHeadDim : m.qkNopeHeadDim, other = isRotated ? m.qkNopeHeadDim : m.qkRopeHeadDim;
    error(isRotated ? rotated : plain, [&] {
        return text(value) + " beside " + named(isRotated ? plain : rotated, other) + width +
               (other < kMost ? "; nearest: " + text(kMost - other) : "");
    });
}

/// Which layers see less than the whole sequence must follow from what is written, in one way.
void Rules::layerTypes()
{
    const Model& m = m_scenario.model;
    const auto listed = static_cast<std::int64_t>(m.layerTypes.size());
    if (listed > 0 && listed != m.numHiddenLayers)
        error("/model/layer_types", [&] {
            return "the list has " + text(listed) + (listed == 1 ? " entry" : " entries") + ", and the model has " +
                   named("/model/num_hidden_layers", m.numHiddenLayers) +
                   "; give as many, or null where sliding_window_pattern or no_rope_layer_interval say it";
        });
    const bool slides = m.slidingWindow > 0, isCut = m.attentionChunkSize > 0;
    for (const auto& [type, key, size] : {std::tuple{LayerType::sliding, "/model/sliding_window", m.slidingWindow},
                                          std::tuple{LayerType::chunked, "/model/attention_chunk_size", m.attentionChunkSize}})
        if (const int layers = listed > 0 && size == 0 ? m.layersOf(type) : 0; layers > 0)
            error(key, [&, word = toWord(kLayerTypeWords, type), name = std::string(key).substr(7)] {
                return "layer_types makes " + counted(layers, "layer") + " " + std::string(word) + ", and " + name +
                       " is not given; nearest: " + text(m_scenario.training.sequenceLength) + ", which is all of a sequence";
            });
    if (listed == 0 && slides && isCut)
        error("/model/layer_types", [&] {
            return named("/model/sliding_window", m.slidingWindow) + " and " +
                   named("/model/attention_chunk_size", m.attentionChunkSize) +
                   " cannot both hold for every layer; name each layer's in layer_types, or set one of them to null";
        });
    if (isTold())
        unusedLayerTypeKeys();
}

/// What nothing looks at, or what attention that is not fused makes nothing of.
void Rules::unusedLayerTypeKeys()
{
    const Model& m = m_scenario.model;
    const bool isListed = !m.layerTypes.empty();
    const bool hasRope = m.positionEmbedding == PositionEmbedding::rope && !m.isLatentAttention();
    if (m.slidingWindowPattern > 0 && (isListed || m.slidingWindow == 0) && isWritten("/model/sliding_window_pattern"))
        warning("/model/sliding_window_pattern", [&] {
            return isListed ? std::string("has no effect: layer_types says what each layer sees")
                            : "has no effect without sliding_window: every layer sees the whole sequence";
        });
    if (m.noRopeLayerInterval > 0 && !hasRope && (isListed || m.attentionChunkSize == 0) &&
        isWritten("/model/no_rope_layer_interval"))
        warning("/model/no_rope_layer_interval", [&] {
            return m.isLatentAttention()
                       ? "has no effect on latent attention: " + named("/model/kv_lora_rank", m.kvLoraRank)
                       : "has no effect: position_embedding is " + std::string(toWord(kPositionWords, m.positionEmbedding));
        });
    const int length = m_scenario.training.sequenceLength;
    if (!sound({"/training/sequence_length"}))
        return;
    for (const auto& [type, key, size] : {std::tuple{LayerType::sliding, "/model/sliding_window", m.slidingWindow},
                                          std::tuple{LayerType::chunked, "/model/attention_chunk_size", m.attentionChunkSize}}) {
        if (size == 0)
            continue;
        if (m.layersOf(type) == 0 && isWritten(key))
            warning(key, [&, word = toWord(kLayerTypeWords, type)] {
                return "has no effect: none of the " + text(m.numHiddenLayers) + " layers is " + std::string(word);
            });
        else if (size >= length && isWritten(key))
            warning(key, [&, value = size] {
                return "has no effect: " + text(value) + " tokens hold all of " + named("/training/sequence_length", length);
            });
        else if (m.layersOf(type) > 0 && size < length && !m_scenario.training.flashAttention && sound({"/training"}))
            warning("/training/attention", [&, value = size, name = std::string(key).substr(7)] {
                return "unfused attention computes and keeps the scores of all " + text(length) + " keys: " + name + " " +
                       text(value) + " saves nothing; flash2 would skip what it masks";
            });
    }
}

void Rules::cluster()
{
    if (!sound({"/cluster"}))
        return;
    const Cluster& c = m_scenario.cluster;
    int inner = 1;
    for (std::size_t i = 0; i < c.tiers.size(); ++i) {
        const Tier& tier = c.tiers[i];
        const auto at = [i] { return "/cluster/tiers/" + text(static_cast<std::int64_t>(i)) + "/span"; };
        if (tier.span == 0) {
            if (i + 1 < c.tiers.size())
                error(at(), [&] {
                    return "only the last tier may span \"all\"; " + quotedText(tier.name) + " is number " +
                           text(static_cast<std::int64_t>(i + 1)) + " of " + text(static_cast<std::int64_t>(c.tiers.size()));
                });
            break;
        }
        if (tier.span % inner != 0)
            error(at(), [&] {
                return "a domain of " + text(tier.span) + " GPUs does not hold whole domains of " + text(inner) +
                       nearestNumbers(tier.span, inner, std::numeric_limits<int>::max(),
                                      [&](std::int64_t span) { return span % inner == 0; });
            });
        inner = std::max(tier.span, 1);
    }
    for (std::size_t i = 0; i < c.tiers.size(); ++i)
        if (c.tiers[i].gpusPerNic > 1 && (c.isInsideNode(i) || i != c.networkTier()))
            warning("/cluster/tiers/" + text(static_cast<std::int64_t>(i)) + "/gpus_per_nic", [&] {
                return "has no effect: network cards are of the innermost tier between nodes, and " +
                       quotedText(c.tiers[i].name) + (c.isInsideNode(i) ? " is inside a node" : " lies beyond it");
            });
        else if (const int sharing = c.tiers[i].gpusPerNic; sharing > 1 && c.gpusPerNode % sharing != 0)
            warning("/cluster/tiers/" + text(static_cast<std::int64_t>(i)) + "/gpus_per_nic", [&] {
                return text(sharing) + " GPUs a network card do not divide the " + text(c.gpusPerNode) + " of a node" +
                       (sharing > c.gpusPerNode ? ", which have one together" : ", of which the last card has fewer");
            });
    const std::int64_t gpus = std::int64_t{c.gpusPerNode} * c.nodes;
    if (!c.tiers.empty() && c.tiers.back().span != 0 && c.tiers.back().span < gpus)
        error("/cluster/tiers", [&] {
            return "the last tier joins " + text(c.tiers.back().span) + " of " + text(gpus) + " GPUs; let it span \"all\"";
        });
}

/// A kernel measured twice under one name, or a profile of another precision: what was measured would not count.
void Rules::profile()
{
    if (!sound({"/cluster/efficiency"}))
        return;
    const HardwareProfile& measured = m_scenario.cluster.efficiency.profile;
    const auto checkNames = [this](const std::vector<MeasuredCurve>& curves, const char* list) {
        for (std::size_t i = 0; i < curves.size(); ++i)
            for (std::size_t earlier = 0; earlier < i; ++earlier)
                if (curves[earlier].name == curves[i].name)
                    error("/cluster/efficiency/" + std::string(list) + "/" + text(static_cast<std::int64_t>(i)) + "/name", [&] {
                        return quotedText(curves[i].name) + " has been measured already at number " +
                               text(static_cast<std::int64_t>(earlier + 1)) + "; join their points";
                    });
    };
    checkNames(measured.kernels, "kernels");
    checkNames(measured.transfers, "transfers");
    const Precision precision = m_scenario.training.precision;
    if (!measured.kernels.empty() && measured.precision && *measured.precision != precision)
        warning("/cluster/efficiency/precision", [&] {
            return "the profile's kernels were measured in " + std::string(toWord(kPrecisionWords, *measured.precision)) +
                   " and do not count for training in " + std::string(toWord(kPrecisionWords, precision));
        });
}

void Rules::world()
{
    const Layout& l = m_scenario.layout;
    if (!sound({"/layout/tp", "/layout/cp", "/layout/pp", "/layout/dp"}))
        return;
    const double product = 1.0 * l.tp * l.cp * l.pp * l.dp;
    const auto factors = [&l] {
        return "tp " + text(l.tp) + " x cp " + text(l.cp) + " x pp " + text(l.pp) + " x dp " + text(l.dp);
    };
    if (product > static_cast<double>(kMostRanks)) {
        m_worldIsSound = false;
        const std::int64_t rest = std::int64_t{l.tp} * l.cp <= kMostRanks ? std::int64_t{l.tp} * l.cp * l.pp : kMostRanks + 1;
        error("/layout", [&] {
            return factors() + " is more than " + text(kMostRanks) + " ranks" +
                   (rest <= kMostRanks ? "; nearest: dp " + text(kMostRanks / rest) : "");
        });
        return;
    }
    const Cluster& c = m_scenario.cluster;
    if (!sound({"/cluster/nodes", "/cluster/gpus_per_node"}))
        return;
    const std::int64_t gpus = std::int64_t{c.gpusPerNode} * c.nodes;
    const std::int64_t ranks = l.worldSize();
    const auto has = [&] {
        return "the cluster has " + counted(c.nodes, "node") + " x " + text(c.gpusPerNode) + " = " + text(gpus);
    };
    const std::int64_t needed = (ranks + c.gpusPerNode - 1) / c.gpusPerNode;
    if (ranks > gpus) {
        error("/cluster/nodes", [&] {
            return factors() + " = " + text(ranks) + " ranks need as many GPUs; " + has() +
                   orElse("; nearest: nodes " + text(needed), otherSizes("dp", &Layout::dp, 1, gpus / (ranks / l.dp)));
        });
    } else if (ranks < gpus && isWritten("/cluster/nodes") && gpus - ranks >= c.gpusPerNode) {
        warning("/cluster/nodes", [&] {
            const std::int64_t idle = gpus - ranks;
            return counted(idle, "GPU") + (idle == 1 ? " stays idle: " : " stay idle: ") + factors() + " = " +
                   counted(ranks, "rank") + ", " + has() + "; " + counted(needed, "node") +
                   (needed == 1 ? " is enough" : " are enough");
        });
    }
}

} // namespace sim
