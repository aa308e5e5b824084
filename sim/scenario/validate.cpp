#include "sim/scenario/validate.h"

#include "sim/scenario/nearest.h"
#include "sim/scenario/words.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <numeric>

namespace sim {
namespace {

/// Larger jobs exist nowhere, and a typing error must not ask for terabytes.
constexpr std::int64_t kMostRanks = 1 << 20;
/// Actions of one pipeline: 12 bytes each in the schedule, about 100 ops each in the program's columns.
constexpr std::int64_t kMostActions = 4'000'000;

std::string text(std::int64_t value)
{
    return std::to_string(value);
}

class Rules {
public:
    Rules(const Resolution& resolution, const std::string& file, std::vector<Problem>& problems)
        : m_resolution(resolution), m_scenario(resolution.scenario), m_file(file), m_problems(problems)
    {
    }

    void run()
    {
        model();
        cluster();
        world();
        tensorParallel();
        experts();
        order();
        sharding();
        placement();
        stages();
        scheduleKind();
        sequences();
        batch();
        precisionAndOverlap();
        perturbations();
    }

private:
    using Pointers = std::initializer_list<std::string_view>;

    bool sound(Pointers pointers) const
    {
        return std::all_of(pointers.begin(), pointers.end(), [this](std::string_view p) { return m_resolution.isSound(p); });
    }
    bool isGiven(std::string_view pointer) const { return m_resolution.origins.given.contains(pointer); }
    /// "num_attention_heads 128 (of llama3-405b)".
    std::string named(std::string_view pointer, std::int64_t value) const
    {
        return std::string(pointer.substr(pointer.rfind('/') + 1)) + " " + text(value) + m_resolution.origins.of(pointer);
    }
    void error(std::string_view pointer, std::string message)
    {
        m_problems.push_back({m_file, std::string(pointer), std::move(message)});
    }
    void warning(std::string_view pointer, std::string message)
    {
        m_problems.push_back({m_file, std::string(pointer), std::move(message), Severity::warning});
    }

    void model()
    {
        if (!m_resolution.isSound("/model"))
            return;
        const Model& m = m_scenario.model;
        if (m.hiddenSize % m.numAttentionHeads != 0 && !isGiven("/model/head_dim") && !m.isLatentAttention() &&
            m.headDim == m.hiddenSize / m.numAttentionHeads)
            error("/model/num_attention_heads", text(m.numAttentionHeads) + " does not divide " +
                                                    named("/model/hidden_size", m.hiddenSize) + ", and head_dim is not given" +
                                                    nearestNumbers(m.numAttentionHeads, 1, m.hiddenSize, [&](std::int64_t heads) {
                                                        return m.hiddenSize % heads == 0;
                                                    }));
        if (m.numAttentionHeads % m.numKeyValueHeads != 0)
            error("/model/num_key_value_heads",
                  text(m.numKeyValueHeads) + " does not divide " + named("/model/num_attention_heads", m.numAttentionHeads) +
                      nearestNumbers(m.numKeyValueHeads, 1, m.numAttentionHeads,
                                     [&](std::int64_t heads) { return m.numAttentionHeads % heads == 0; }));
        if (m.numExperts > 0 && (m.numExpertsPerTok < 1 || m.numExpertsPerTok > m.numExperts))
            error("/model/num_experts_per_tok",
                  text(m.numExpertsPerTok) + " of " + named("/model/num_experts", m.numExperts) +
                      " cannot be chosen; nearest: " + text(std::clamp(m.numExpertsPerTok, 1, m.numExperts)));
        if (m.numExperts > 0 && m.moeIntermediateSize < 1)
            error("/model/moe_intermediate_size",
                  "0 is too small for a model with " + named("/model/num_experts", m.numExperts) + "; nearest: 1");
        if (m.isLatentAttention() && (m.qkNopeHeadDim < 1 || m.vHeadDim < 1))
            error("/model/kv_lora_rank",
                  text(m.kvLoraRank) + " asks for latent attention, which needs qk_nope_head_dim and v_head_dim; " +
                      named("/model/qk_nope_head_dim", m.qkNopeHeadDim) + ", " + named("/model/v_head_dim", m.vHeadDim));
    }

    void cluster()
    {
        if (!sound({"/cluster"}))
            return;
        const Cluster& c = m_scenario.cluster;
        int inner = 1;
        for (std::size_t i = 0; i < c.tiers.size(); ++i) {
            const Tier& tier = c.tiers[i];
            const std::string at = "/cluster/tiers/" + text(static_cast<std::int64_t>(i)) + "/span";
            if (tier.span == 0) {
                if (i + 1 < c.tiers.size())
                    error(at, "only the last tier may span \"all\"; \"" + tier.name + "\" is number " +
                                  text(static_cast<std::int64_t>(i + 1)) + " of " +
                                  text(static_cast<std::int64_t>(c.tiers.size())));
                break;
            }
            if (tier.span % inner != 0)
                error(at, "a domain of " + text(tier.span) + " GPUs does not hold whole domains of " + text(inner) +
                              nearestNumbers(tier.span, inner, std::numeric_limits<int>::max(),
                                             [&](std::int64_t span) { return span % inner == 0; }));
            inner = std::max(tier.span, 1);
        }
        const std::int64_t gpus = std::int64_t{c.gpusPerNode} * c.nodes;
        if (!c.tiers.empty() && c.tiers.back().span != 0 && c.tiers.back().span < gpus)
            error("/cluster/tiers",
                  "the last tier joins " + text(c.tiers.back().span) + " of " + text(gpus) + " GPUs; let it span \"all\"");
    }

    void world()
    {
        const Layout& l = m_scenario.layout;
        if (!sound({"/layout/tp", "/layout/cp", "/layout/pp", "/layout/dp"}))
            return;
        const double product = 1.0 * l.tp * l.cp * l.pp * l.dp;
        const std::string factors = "tp " + text(l.tp) + " x cp " + text(l.cp) + " x pp " + text(l.pp) + " x dp " + text(l.dp);
        if (product > static_cast<double>(kMostRanks)) {
            m_worldIsSound = false;
            const std::int64_t rest = std::int64_t{l.tp} * l.cp <= kMostRanks ? std::int64_t{l.tp} * l.cp * l.pp : kMostRanks + 1;
            error("/layout", factors + " is more than " + text(kMostRanks) + " ranks" +
                                 (rest <= kMostRanks ? "; nearest: dp " + text(kMostRanks / rest) : ""));
            return;
        }
        const Cluster& c = m_scenario.cluster;
        if (!sound({"/cluster/nodes", "/cluster/gpus_per_node"}) || c.gpusPerNode < 1)
            return;
        const std::int64_t gpus = std::int64_t{c.gpusPerNode} * c.nodes;
        const std::int64_t ranks = l.worldSize();
        const std::string has = "the cluster has " + text(c.nodes) + " nodes x " + text(c.gpusPerNode) + " = " + text(gpus);
        const std::string needed = text((ranks + c.gpusPerNode - 1) / c.gpusPerNode);
        if (ranks > gpus) {
            const std::int64_t others = ranks / l.dp;
            error("/cluster/nodes", factors + " = " + text(ranks) + " ranks need as many GPUs; " + has + "; nearest: nodes " +
                                        needed + (gpus >= others ? ", or dp " + text(gpus / others) : ""));
        } else if (ranks < gpus && isGiven("/cluster/nodes") && gpus - ranks >= c.gpusPerNode) {
            warning("/cluster/nodes", text(gpus - ranks) + " GPUs stay idle: " + factors + " = " + text(ranks) + " ranks, " +
                                          has + "; nodes " + needed + " are enough");
        }
    }

    bool hasDenseLayers() const
    {
        const Model& m = m_scenario.model;
        bool dense = false;
        for (int layer = 0; layer < m.numHiddenLayers && !dense; ++layer)
            dense = !m.isMoeLayer(layer);
        return dense;
    }

    /// What tensor parallelism cuts into equal parts. Key and value heads may also be copied (Megatron Core).
    struct Cut {
        std::string what;
        std::int64_t size;
        bool mayCopy = false;
        bool into(std::int64_t tp) const { return size % tp == 0 || (mayCopy && tp % size == 0); }
    };
    std::vector<Cut> cuts() const
    {
        const Model& m = m_scenario.model;
        std::vector<Cut> cuts = {{named("/model/num_attention_heads", m.numAttentionHeads), m.numAttentionHeads}};
        if (!m.isLatentAttention())
            cuts.push_back({named("/model/num_key_value_heads", m.numKeyValueHeads), m.numKeyValueHeads, true});
        if (hasDenseLayers())
            cuts.push_back({named("/model/intermediate_size", m.intermediateSize), m.intermediateSize});
        if (m.numExperts > 0 && m.numSharedExperts > 0)
            cuts.push_back({named("/model/num_shared_experts", m.numSharedExperts) + " x " +
                                named("/model/moe_intermediate_size", m.moeIntermediateSize),
                            std::int64_t{m.numSharedExperts} * m.moeIntermediateSize});
        return cuts;
    }

    void tensorParallel()
    {
        const Layout& l = m_scenario.layout;
        const Model& m = m_scenario.model;
        if (!sound({"/layout/tp", "/model"}) || l.tp == 1)
            return;
        const std::vector<Cut> all = cuts();
        const auto wrong = std::find_if(all.begin(), all.end(), [&](const Cut& cut) { return !cut.into(l.tp); });
        if (wrong != all.end())
            error("/layout/tp", text(l.tp) + (wrong->mayCopy ? " is neither a divisor nor a multiple of " : " does not divide ") +
                                    wrong->what + nearestNumbers(l.tp, 1, m.numAttentionHeads, [&all](std::int64_t tp) {
                                        return std::all_of(all.begin(), all.end(), [tp](const Cut& cut) { return cut.into(tp); });
                                    }));
        else if (!m.isLatentAttention() && l.tp > m.numKeyValueHeads)
            warning("/layout/tp", text(l.tp) + " ranks share " + named("/model/num_key_value_heads", m.numKeyValueHeads) +
                                      ": each head is kept by " + text(l.tp / m.numKeyValueHeads) +
                                      " of them; torchtitan refuses this");
        tensorParallelPlace();
    }

    /// Tensor parallel collectives stand between a layer's parts: they want the fastest links.
    void tensorParallelPlace()
    {
        const Layout& l = m_scenario.layout;
        const Cluster& c = m_scenario.cluster;
        if (!m_worldIsSound || !sound({"/layout", "/cluster"}) || c.tiers.empty() || !l.order.starts_with("tp"))
            return;
        const Tier& inner = c.tiers.front();
        if (inner.span == 0 || inner.span >= l.worldSize())
            return;
        const std::string domain = "the " + text(inner.span) + " GPUs of one \"" + inner.name + "\" domain";
        if (l.placement == PlacementRule::roundRobin)
            warning("/layout/placement", "round-robin puts the ranks of a tensor parallel group of " + text(l.tp) +
                                             " on different nodes: its collectives run over the slower tier");
        else if (l.placement == PlacementRule::packed && l.tp > inner.span)
            warning("/layout/tp", "a tensor parallel group of " + text(l.tp) + " does not fit " + domain +
                                      ": its collectives run over the slower tier");
        else if (l.placement == PlacementRule::packed && inner.span % l.tp != 0)
            warning("/layout/tp",
                    text(l.tp) + " does not divide " + domain +
                        ": some tensor parallel groups lie in two domains, and their collectives run over the slower tier" +
                        nearestNumbers(l.tp, 1, inner.span, [&](std::int64_t tp) { return inner.span % tp == 0; }));
    }

    void experts()
    {
        const Layout& l = m_scenario.layout;
        const Model& m = m_scenario.model;
        if (sound({"/layout/ep", "/model"}) && l.ep > 1) {
            if (m.numExperts == 0)
                return error("/layout/ep", text(l.ep) + " needs experts, and the model " + m.name + " has none; nearest: 1");
            if (m.numExperts % l.ep != 0)
                error("/layout/ep",
                      text(l.ep) + " does not divide " + named("/model/num_experts", m.numExperts) +
                          nearestNumbers(l.ep, 1, m.numExperts, [&](std::int64_t ep) { return m.numExperts % ep == 0; }));
        }
        if (sound({"/layout/etp", "/model"}) && m.numExperts > 0 && m.moeIntermediateSize % l.etp != 0)
            error("/layout/etp", named("/layout/etp", l.etp).substr(4) + " does not divide " +
                                     named("/model/moe_intermediate_size", m.moeIntermediateSize) +
                                     nearestNumbers(l.etp, 1, m.moeIntermediateSize,
                                                    [&](std::int64_t etp) { return m.moeIntermediateSize % etp == 0; }));
        if (!sound({"/layout"}) || !m_worldIsSound)
            return;
        const std::int64_t product = std::int64_t{l.etp} * l.ep * l.pp;
        if (l.worldSize() % product != 0) {
            const std::string_view at = l.ep > 1 ? "/layout/ep" : "/layout/etp";
            const std::int64_t value = l.ep > 1 ? l.ep : l.etp;
            const std::int64_t fixed = product / value;
            error(at, "experts are laid out as etp x ep x pp = " + text(l.etp) + m_resolution.origins.of("/layout/etp") + " x " +
                          text(l.ep) + " x " + text(l.pp) + " = " + text(product) + ", which does not divide the " +
                          text(l.worldSize()) + " ranks" + nearestNumbers(value, 1, l.worldSize(), [&](std::int64_t v) {
                              return l.worldSize() % (fixed * v) == 0;
                          }));
        }
        if (m_resolution.isSound("/model") && m.numExperts > 0 && l.tp > 1 && !l.sequenceParallel)
            warning("/layout/sequence_parallel", "Megatron Core refuses to train a mixture of experts with tp " + text(l.tp) +
                                                     " and without sequence parallelism");
    }

    void order()
    {
        const Layout& l = m_scenario.layout;
        if (!sound({"/layout"}))
            return;
        static const std::vector<std::string> kAxes = {"tp", "cp", "ep", "dp", "pp"};
        std::vector<std::string> axes;
        for (std::size_t begin = 0; begin <= l.order.size();) {
            const std::size_t end = std::min(l.order.find('-', begin), l.order.size());
            std::string axis = l.order.substr(begin, end - begin);
            if (std::find(kAxes.begin(), kAxes.end(), axis) == kAxes.end())
                return error("/layout/order",
                             "\"" + l.order + "\" names \"" + axis + "\"; axes are tp, cp, ep, dp, pp, joined by -");
            if (std::find(axes.begin(), axes.end(), axis) != axes.end())
                return error("/layout/order", "\"" + l.order + "\" names " + axis + " twice");
            axes.push_back(std::move(axis));
            begin = end + 1;
        }
        const auto names = [&axes](const char* axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
        for (const auto& [axis, size] : {std::pair{"tp", l.tp}, {"cp", l.cp}, {"ep", l.ep}, {"dp", l.dp}, {"pp", l.pp}})
            if (size > 1 && !names(axis))
                error("/layout/order",
                      "\"" + l.order + "\" has no place for " + axis + " " + text(size) + "; the default is tp-cp-ep-dp-pp");
        // Megatron Core, parallel_state.py: with pp not last, both grids must give the same pipelines.
        const bool expertsFollow = !names("ep") && l.ep == 1 && l.etp == l.tp;
        if (l.pp > 1 && axes.back() != "pp" && !expertsFollow && std::int64_t{l.etp} * l.ep != std::int64_t{l.tp} * l.cp)
            error("/layout/order", "with pp not last in \"" + l.order + "\" etp x ep = " + text(l.etp) + " x " + text(l.ep) +
                                       " must equal tp x cp = " + text(l.tp) + " x " + text(l.cp) + "; nearest: tp-cp-ep-dp-pp" +
                                       (l.ep == 1 && l.etp == l.tp ? ", or leave ep out of the order" : ""));
    }

    void sharding()
    {
        const Layout& l = m_scenario.layout;
        if (!sound({"/layout"}) || !m_worldIsSound)
            return;
        const std::int64_t ranks = std::int64_t{l.dp} * l.cp;
        if (ranks % l.dpShard != 0)
            error("/layout/dp_shard",
                  text(l.dpShard) + " does not divide dp x cp = " + text(l.dp) + " x " + text(l.cp) + " = " + text(ranks) +
                      nearestNumbers(l.dpShard, 1, ranks, [&](std::int64_t shard) { return ranks % shard == 0; }));
        if (isGiven("/layout/dp_shard") && l.zeroStage == 0 && l.dpShard != ranks)
            warning("/layout/dp_shard",
                    text(l.dpShard) + " has no effect with " + named("/layout/zero_stage", 0) + ": nothing is sharded");
        if (l.zeroStage == 3 && l.pp > 1)
            warning("/layout/zero_stage",
                    "3 with " + named("/layout/pp", l.pp) +
                        ": every micro-batch gathers the parameters again; Megatron Core and DeepSpeed refuse "
                        "this, and 1 shards the optimizer states all the same");
        if (l.sequenceParallel && l.tp == 1)
            warning("/layout/sequence_parallel", "has no effect with " + named("/layout/tp", 1));
    }

    void placement()
    {
        const Layout& l = m_scenario.layout;
        if (l.placement != PlacementRule::explicitList || !m_worldIsSound || !sound({"/layout", "/cluster"}))
            return;
        const std::int64_t gpus = std::int64_t{m_scenario.cluster.gpusPerNode} * m_scenario.cluster.nodes;
        if (l.explicitPlacement.size() != static_cast<std::size_t>(l.worldSize()))
            return error("/layout/placement", "the list has " + text(static_cast<std::int64_t>(l.explicitPlacement.size())) +
                                                  " GPUs for " + text(l.worldSize()) + " ranks; it needs one a rank");
        std::vector<int> rankOf(static_cast<std::size_t>(std::max<std::int64_t>(gpus, 0)), -1);
        for (int rank = 0; rank < l.worldSize(); ++rank) {
            const int gpu = l.explicitPlacement[static_cast<std::size_t>(rank)];
            const std::string at = "/layout/placement/" + text(rank);
            if (gpu >= gpus)
                return error(at, "there is no GPU " + text(gpu) + "; the cluster has 0 to " + text(gpus - 1));
            int& taken = rankOf[static_cast<std::size_t>(gpu)];
            if (taken >= 0)
                return error(at, "GPU " + text(gpu) + " has rank " + text(taken) + " already");
            taken = rank;
        }
    }

    void stages()
    {
        const ScheduleSettings& s = m_scenario.schedule;
        if (!sound(
                {"/layout/pp", "/schedule/virtual_stages", "/schedule/layers_per_stage", "/model/num_hidden_layers", "/model"}))
            return;
        const std::int64_t pp = m_scenario.layout.pp;
        const std::int64_t count = pp * s.virtualStages;
        const int layers = m_scenario.model.numHiddenLayers;
        const std::string product =
            "pp " + text(pp) + " x virtual_stages " + text(s.virtualStages) + " = " + text(count) + " stages";
        if (isGiven("/schedule/layers_per_stage")) {
            const auto entries = static_cast<std::int64_t>(s.layersPerStage.size());
            const auto sum = std::accumulate(s.layersPerStage.begin(), s.layersPerStage.end(), std::int64_t{0});
            if (entries != count)
                error("/schedule/layers_per_stage", "the list has " + text(entries) + " entries for " + product);
            else if (sum != layers)
                error("/schedule/layers_per_stage",
                      "the entries add up to " + text(sum) + ", and the model has " + named("/model/num_hidden_layers", layers));
        } else if (layers < count - 2) { // the outer two may hold nothing but embedding and head
            const bool chunks = s.virtualStages > 1;
            error(chunks ? "/schedule/virtual_stages" : "/layout/pp",
                  named("/model/num_hidden_layers", layers) + " cannot fill " + product +
                      (chunks ? nearestNumbers(s.virtualStages, 1, s.virtualStages,
                                               [&](std::int64_t v) { return pp * v - 2 <= layers; })
                              : nearestNumbers(pp, 1, pp, [&](std::int64_t p) { return p - 2 <= layers; })) +
                      (pp - 2 <= layers ? "" : ", or give layers_per_stage with zeros"));
        }
    }

    void scheduleKind()
    {
        const ScheduleSettings& s = m_scenario.schedule;
        if (!sound({"/schedule/kind", "/schedule/virtual_stages", "/layout/pp"}))
            return;
        const auto& available = availableScheduleKinds();
        if (std::find(available.begin(), available.end(), s.kind) == available.end()) {
            std::string list;
            for (const std::string& kind : available)
                list += (list.empty() ? "" : ", ") + kind;
            return error("/schedule/kind", "\"" + s.kind + "\" is not available yet; available: " + list);
        }
        const int pp = m_scenario.layout.pp;
        if ((s.kind == "gpipe" || s.kind == "1f1b") && s.virtualStages != 1)
            error("/schedule/virtual_stages",
                  s.kind + " has one chunk a rank, not " + text(s.virtualStages) + "; nearest: 1, or kind interleaved-1f1b");
        if (s.kind == "interleaved-1f1b" && pp == 1)
            error("/schedule/kind", "interleaved-1f1b needs at least 2 pipeline ranks, and " + named("/layout/pp", 1) +
                                        "; nearest: pp 2, or kind 1f1b");
        else if (s.kind == "interleaved-1f1b" && s.virtualStages < 2)
            error("/schedule/virtual_stages", "interleaved-1f1b needs at least 2 chunks a rank, and " +
                                                  named("/schedule/virtual_stages", s.virtualStages) +
                                                  "; nearest: 2, or kind 1f1b");
        if (s.kind == "interleaved-1f1b" && pp == 2 && !m_scenario.training.overlap.p2p &&
            m_resolution.isSound("/training/overlap"))
            warning("/schedule/kind", "Megatron Core interleaves on more than 2 pipeline ranks only where p2p is not overlapped");
        if (s.kind != "auto" && isGiven("/schedule/memory_cap_gib"))
            warning("/schedule/memory_cap_gib", "only kind auto looks at it; kind is " + s.kind);
        if (s.kind == "custom" && s.actions.empty() && m_resolution.isSound("/schedule/actions"))
            error("/schedule", "custom needs \"actions\": one comma-separated line for each of the " + text(pp) +
                                   " pipeline ranks, such as 0F0,0B0");
        if (s.kind != "custom" && isGiven("/schedule/actions"))
            warning("/schedule/actions", "only kind custom executes them; kind is " + s.kind);
        if (s.kind == "custom" && !s.actions.empty() && s.actions.size() != static_cast<std::size_t>(pp))
            error("/schedule/actions", text(static_cast<std::int64_t>(s.actions.size())) + " lines for " + text(pp) +
                                           " pipeline ranks; nearest: pp " + text(static_cast<std::int64_t>(s.actions.size())));
    }

    void sequences()
    {
        const Layout& l = m_scenario.layout;
        const int length = m_scenario.training.sequenceLength;
        if (!sound({"/training/sequence_length", "/layout/cp", "/layout/tp", "/model"}))
            return;
        const std::int64_t unit = (l.cp > 1 ? 2LL * l.cp : 1) * (l.sequenceParallel ? l.tp : 1);
        const auto divides = [unit](std::int64_t tokens) { return tokens % unit == 0; };
        if (!divides(length))
            error("/training/sequence_length", named("/training/sequence_length", length).substr(16) + " is not a multiple of " +
                                                   text(unit) + " = " + (l.cp > 1 ? "2 x cp " + text(l.cp) : std::string()) +
                                                   (l.cp > 1 && l.sequenceParallel ? " x " : "") +
                                                   (l.sequenceParallel ? "tp " + text(l.tp) + " (sequence parallel)" : "") +
                                                   nearestNumbers(length, unit, std::numeric_limits<int>::max(), divides));
        const Model& m = m_scenario.model;
        if (length > m.maxPositionEmbeddings) {
            const std::string longer =
                text(length) + " tokens are more than " + named("/model/max_position_embeddings", m.maxPositionEmbeddings);
            if (m.positionEmbedding == PositionEmbedding::learned)
                error("/training/sequence_length",
                      longer + ", and its positions are learned; nearest: " + text(m.maxPositionEmbeddings));
            else
                warning("/training/sequence_length", longer);
        }
    }

    void batch()
    {
        const Layout& l = m_scenario.layout;
        const Training& t = m_scenario.training;
        const ScheduleSettings& s = m_scenario.schedule;
        if (!sound({"/training/global_batch_size", "/training/micro_batch_size", "/layout"}) || !m_worldIsSound)
            return;
        const std::int64_t unit = std::int64_t{t.microBatchSize} * l.dp;
        const std::string product = "micro_batch_size " + text(t.microBatchSize) +
                                    m_resolution.origins.of("/training/micro_batch_size") + " x dp " + text(l.dp) +
                                    m_resolution.origins.of("/layout/dp") + " = " + text(unit);
        if (t.globalBatchSize % unit != 0) {
            const std::int64_t below = t.globalBatchSize / unit * unit;
            return error("/training/global_batch_size", text(t.globalBatchSize) + " is not a multiple of " + product +
                                                            "; nearest: " + (below > 0 ? text(below) + ", " : "") +
                                                            text(below + unit));
        }
        const std::int64_t microbatches = t.globalBatchSize / unit;
        const std::int64_t actions = microbatches * l.pp * s.virtualStages * 2;
        if (actions > kMostActions)
            return error("/training/global_batch_size", text(microbatches) + " micro-batches on " +
                                                            text(std::int64_t{l.pp} * s.virtualStages) + " stages are " +
                                                            text(actions) + " actions, more than " + text(kMostActions));
        if (s.kind == "interleaved-1f1b" && l.pp > 1 && m_resolution.isSound("/schedule"))
            interleaving(microbatches, unit);
        else if (l.pp > 1 && microbatches < l.pp && s.kind != "custom")
            warning("/training/global_batch_size", text(microbatches) + " micro-batches cannot fill " +
                                                       named("/layout/pp", l.pp) + " pipeline ranks; " + text(l.pp * unit) +
                                                       " sequences would");
    }

    /// Megatron Core, schedules.py: the group lies in [pp, m], and what is left over is nothing or fills the pipeline.
    void interleaving(std::int64_t microbatches, std::int64_t unit)
    {
        const int pp = m_scenario.layout.pp;
        const std::int64_t group = m_scenario.schedule.microbatchGroup;
        const auto legal = [pp](std::int64_t g, std::int64_t m) { return g >= pp && g <= m && (m % g == 0 || m % g >= pp); };
        if (legal(group, microbatches))
            return;
        const std::string groups = "groups of " + text(group) + m_resolution.origins.of("/schedule/microbatch_group");
        if (group < pp) {
            error("/schedule/microbatch_group",
                  text(group) + " is smaller than " + named("/layout/pp", pp) +
                      nearestNumbers(group, pp, microbatches, [&](std::int64_t g) { return legal(g, microbatches); }));
            return;
        }
        std::int64_t below = microbatches;
        while (below > 0 && !legal(group, below))
            --below;
        std::int64_t above = microbatches;
        while (!legal(group, above))
            ++above;
        error("/training/global_batch_size", text(microbatches * unit) + " gives " + text(microbatches) +
                                                 " micro-batches, which interleaved-1f1b on pp " + text(pp) + " cannot take in " +
                                                 groups + "; nearest: " + (below > 0 ? text(below * unit) + ", " : "") +
                                                 text(above * unit));
    }

    void precisionAndOverlap()
    {
        const Training& t = m_scenario.training;
        const Gpu& gpu = m_scenario.cluster.gpu;
        if (sound({"/training/precision", "/cluster/gpu"}) && !gpu.peakTflops.empty() && !gpu.peakTflops.contains(t.precision)) {
            std::string supported;
            for (const auto& [precision, rate] : gpu.peakTflops)
                supported += (supported.empty() ? "" : ", ") + std::string(toWord(kPrecisionWords, precision));
            error("/training/precision", gpu.name + " has no " + std::string(toWord(kPrecisionWords, t.precision)) +
                                             m_resolution.origins.of("/training/precision") + "; it has " + supported);
        }
        recomputation();
        const int zeroStage = m_scenario.layout.zeroStage;
        if (t.overlap.paramGather && !t.overlap.gradReduce && (zeroStage == 1 || zeroStage == 2))
            warning("/training/overlap/param_gather",
                    "Megatron Core overlaps parameter gathering only together with grad_reduce");
        if (t.overlap.tpComm && m_scenario.layout.tp > 1 && !m_scenario.layout.sequenceParallel)
            warning("/training/overlap/tp_comm",
                    "Megatron Core overlaps tensor parallel communication only with sequence_parallel");
    }

    void recomputation()
    {
        const Training& t = m_scenario.training;
        const auto& layers = m_scenario.schedule.layersPerStage;
        if (t.recomputeLayers == 0 || layers.empty() || !sound({"/training/recompute", "/schedule", "/layout/pp", "/model"}))
            return;
        const int most = *std::max_element(layers.begin(), layers.end());
        if (t.recompute != Recompute::full)
            warning("/training/recompute/layers",
                    "has an effect with kind full only; kind is " + std::string(toWord(kRecomputeWords, t.recompute)));
        else if (t.recomputeLayers > most)
            error("/training/recompute/layers", text(t.recomputeLayers) +
                                                    " layers of each chunk cannot be recomputed: the largest has " + text(most) +
                                                    (most > 0 ? "; nearest: " + text(most) : ""));
    }

    void perturbations()
    {
        const auto& list = m_scenario.perturbations;
        if (!sound({"/perturbations", "/layout"}) || !m_worldIsSound)
            return;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::string at = "/perturbations/" + text(static_cast<std::int64_t>(i));
            unusedKeys(list[i].kind, at);
            if (list[i].kind == PerturbationKind::failure)
                error(at + "/kind", "failure is not available yet; available: slow_gpu, slow_link, jitter");
            if (list[i].rank >= m_scenario.layout.worldSize())
                error(at + "/rank", "there is no rank " + text(list[i].rank) + "; the layout has 0 to " +
                                        text(m_scenario.layout.worldSize() - 1));
        }
    }

    /// Keys that another kind of perturbation would have looked at.
    void unusedKeys(PerturbationKind kind, const std::string& at)
    {
        const bool isSlow = kind == PerturbationKind::slowGpu || kind == PerturbationKind::slowLink;
        const bool isJitter = kind == PerturbationKind::jitter;
        for (const auto& [key, isUsed] : {std::pair{"/factor", isSlow},
                                          {"/sigma", isJitter},
                                          {"/seed", isJitter},
                                          {"/at_s", kind == PerturbationKind::failure}})
            if (!isUsed && isGiven(at + key))
                warning(at + key, "has no effect on " + std::string(toWord(kPerturbationWords, kind)));
    }

    const Resolution& m_resolution;
    const Scenario& m_scenario;
    const std::string& m_file;
    std::vector<Problem>& m_problems;
    bool m_worldIsSound = true;
};

} // namespace

const std::vector<std::string>& availableScheduleKinds()
{
    static const std::vector<std::string> kinds = {"gpipe", "1f1b", "interleaved-1f1b", "looped-bfs", "custom"};
    return kinds;
}

void validate(const Resolution& resolution, const std::string& file, std::vector<Problem>& problems)
{
    Rules(resolution, file, problems).run();
}

} // namespace sim
