// What the parallel dimensions cut, and where ranks and shards lie.
#include "sim/legal/rules.h"

#include "sim/legal/whole_groups.h"
#include "sim/scenario/head_exchange.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace sim {
namespace {

std::string domainText(const Tier& tier)
{
    return "the " + std::to_string(tier.span) + " GPUs of one " + shownText(spokenNetwork(tier.name)) + " domain";
}

} // namespace

/// What tensor parallelism cuts into equal parts; 0 if the model has none. Of key and value heads there may be
/// fewer than ranks (Megatron-Core).
struct Rules::Cut {
    std::string_view key;
    std::int64_t size = 0;
    bool mayCopy = false;
    bool into(std::int64_t tp) const { return size % tp == 0 || (mayCopy && tp % size == 0); }
};

std::array<Rules::Cut, 4> Rules::cuts() const
{
    const Model& m = m_scenario.model;
    const bool isDense = m.moeLayers() < m.numHiddenLayers;
    return {Cut{"/model/num_attention_heads", m.numAttentionHeads},
            {"/model/num_key_value_heads", m.isLatentAttention() ? 0 : m.numKeyValueHeads, true},
            {"/model/intermediate_size", isDense ? m.intermediateSize : 0},
            {"/model/moe_intermediate_size", m.numExperts > 0 ? std::int64_t{m.numSharedExperts} * m.moeIntermediateSize : 0}};
}

bool Rules::cutsModel(std::int64_t tp) const
{
    const auto all = cuts();
    return std::all_of(all.begin(), all.end(), [tp](const Cut& cut) { return cut.into(tp); });
}

void Rules::tensorParallel()
{
    const Layout& l = m_scenario.layout;
    const Model& m = m_scenario.model;
    if (!sound({"/layout/tp", "/model"}) || l.tp == 1)
        return;
    const auto all = cuts();
    const auto wrong = std::find_if(all.begin(), all.end(), [&](const Cut& cut) { return !cut.into(l.tp); });
    if (wrong != all.end()) // where it lies is told of what could be
        return error("/layout/tp", [&] {
            const bool isShared = wrong == all.end() - 1;
            return text(l.tp) + (wrong->mayCopy ? " is neither a divisor nor a multiple of " : " does not divide ") +
                   (isShared ? named("/model/num_shared_experts", m.numSharedExperts) + " x " : "") +
                   named(wrong->key, isShared ? m.moeIntermediateSize : wrong->size) +
                   nearestNumbers(l.tp, 1, m.numAttentionHeads, [this, ranks = m_provenance.ranks()](std::int64_t tp) {
                       return cutsModel(tp) && ranks % tp == 0;
                   });
        });
    if (!m.isLatentAttention() && l.tp > m.numKeyValueHeads)
        warning("/layout/tp", [&] {
            return text(l.tp) + " ranks share " + named("/model/num_key_value_heads", m.numKeyValueHeads) +
                   (m_scenario.training.stack.gathersHeads
                        ? ": Megatron-Core gathers queries, keys and values of all heads on each; torchtitan refuses this"
                        : ": each head is kept by " + text(l.tp / m.numKeyValueHeads) + " of them; torchtitan refuses this");
        });
    const Stack& stack = m_scenario.training.stack;
    if (stack.gathersApart && !stack.plainTensorParallel)
        warning("/training/stack/gathers_apart",
                [] { return std::string("has no effect without plain_tensor_parallel: Megatron's layers gather once for all"); });
    tensorParallelPlace();
}

/// Context parallelism by all-to-alls: every rank takes as many heads, and those of keys and values that they look at.
void Rules::exchangedHeads()
{
    const Layout& l = m_scenario.layout;
    const Model& m = m_scenario.model;
    const Training& t = m_scenario.training;
    if (!isTold() || !t.stack.exchangesHeads || !sound({"/layout/tp", "/layout/cp", "/model"}) || l.cp == 1 || !cutsModel(l.tp))
        return;
    const int heads = headsOfRank(m_scenario);
    const std::string ofRank = named("/model/num_attention_heads", m.numAttentionHeads) +
                               (l.tp > 1 ? " / tp " + text(l.tp) + " = " + text(heads) : std::string());
    if (heads % l.cp != 0)
        return warning("/layout/cp", [&] {
            return text(l.cp) + " does not divide " + ofRank +
                   ": exchanges_heads has no effect, and keys and values go round a ring; Transformer Engine refuses a2a here" +
                   nearestNumbers(l.cp, 2, heads, [&, ranks = m_provenance.ranks()](std::int64_t cp) {
                       return heads % cp == 0 && ranks % (l.tp * cp) == 0 && t.sequenceLength % (2 * cp) == 0;
                   });
        });
    if (!dealsHeads(m_scenario))
        return warning("/training/stack/exchanges_heads", [&] {
            return "has no effect beside moe.send_once_per_node, and keys and values go round a ring: how all-to-alls are priced "
                   "is told by experts' tokens; nearest: send_once_per_node false";
        });
    const int keyHeads = std::max(1, m.numKeyValueHeads / l.tp);
    if (!m.isLatentAttention() && !t.stack.repeatsKeys && keyHeads % l.cp != 0)
        warning("/layout/cp", [&] {
            const std::int64_t each = exchangedKeyHeads(heads, keyHeads, l.cp) / l.cp;
            return text(l.cp) + " does not divide " + named("/model/num_key_value_heads", m.numKeyValueHeads) +
                   (l.tp > 1 ? " / tp " + text(l.tp) + " = " + text(keyHeads) : std::string()) + ": " + counted(l.cp, "rank") +
                   " get " + text(each) + " each, copies among them; Transformer Engine refuses a2a here" +
                   nearestNumbers(l.cp, 2, heads, [&, ranks = m_provenance.ranks()](std::int64_t cp) {
                       return keyHeads % cp == 0 && heads % cp == 0 && ranks % (l.tp * cp) == 0;
                   });
        });
}

/// Tensor parallel collectives stand between a layer's parts: they want the fastest links.
void Rules::tensorParallelPlace()
{
    const Layout& l = m_scenario.layout;
    const Cluster& c = m_scenario.cluster;
    if (!isTold() || !m_worldIsSound || !sound({"/layout", "/cluster"}) || c.tiers.empty() || !l.order.starts_with("tp"))
        return;
    const Tier& inner = c.tiers.front();
    if (inner.span == 0 || inner.span >= l.worldSize())
        return;
    const std::string domain = domainText(inner);
    if (l.placement == PlacementRule::roundRobin)
        warning("/layout/placement", [&] {
            return "round-robin puts the ranks of a tensor parallel group of " + text(l.tp) +
                   " on different nodes: its collectives run over the slower tier";
        });
    else if (l.placement == PlacementRule::packed && l.tp > inner.span)
        warning("/layout/tp", [&] {
            return "a tensor parallel group of " + text(l.tp) + " does not fit " + domain +
                   ": its collectives run over the slower tier";
        });
    else if (l.placement == PlacementRule::packed && inner.span % l.tp != 0)
        warning("/layout/tp", [&] {
            return text(l.tp) + " does not divide " + domain +
                   ": some tensor parallel groups lie in two domains, and their collectives run over the slower tier" +
                   nearestNumbers(l.tp, 1, inner.span, [&](std::int64_t tp) { return inner.span % tp == 0 && cutsModel(tp); });
        });
}

/// Everything that is asked of the two together.
bool Rules::takesExpertSplit(std::int64_t etp, std::int64_t ep) const
{
    const Layout& l = m_scenario.layout;
    const Model& m = m_scenario.model;
    const bool cutsExperts =
        !sound({"/model"}) || (m.numExperts == 0 ? ep == 1 : m.numExperts % ep == 0 && m.moeIntermediateSize % etp == 0);
    return cutsExperts && (!sound({"/layout"}) || !m_worldIsSound || l.worldSize() % (etp * ep * l.pp) == 0);
}

/// Of other sizes of the axes, with what follows from them where the file does not say it: is all that has to divide still whole?
bool Rules::takesSplit(const Layout& to, const SaidSizes& said) const
{
    const Training& t = m_scenario.training;
    const Cluster& c = m_scenario.cluster;
    const std::int64_t ranks = std::int64_t{to.tp} * to.cp * to.pp * to.dp;
    const std::int64_t etp = said.etp ? to.etp : to.tp;
    const auto divides = [](std::int64_t part, std::int64_t whole) { return part > 0 && whole % part == 0; };
    return ranks <= kMostRanks && (!said.nodes || ranks <= std::int64_t{c.gpusPerNode} * c.nodes) &&
           (to.tp == m_scenario.layout.tp || cutsModel(to.tp)) && divides(etp * to.ep * to.pp, ranks) &&
           (m_scenario.model.numExperts == 0 || m_scenario.model.moeIntermediateSize % etp == 0) &&
           (!said.dpShard || divides(to.dpShard, std::int64_t{to.dp} * to.cp)) && divides(sequenceUnit(to), t.sequenceLength) &&
           (!said.globalBatch || divides(std::int64_t{t.microBatchSize} * to.dp, t.globalBatchSize));
}

/// The whole job, of a layout that takesSplit: whatever else meets in these sizes, as the order of axes, slices and what the
/// schedule asks of micro-batches.
bool Rules::isLegalWith(const Layout& to, const SaidSizes& said) const
{
    Scenario other = m_scenario;
    Layout& l = other.layout = to;
    if (!said.etp)
        l.etp = l.tp;
    if (!said.dpShard)
        l.dpShard = l.dp * l.cp;
    const Cluster& c = m_scenario.cluster;
    if (!said.nodes)
        other.cluster.nodes = std::max(1, (l.worldSize() + c.gpusPerNode - 1) / std::max(1, c.gpusPerNode));
    Training& t = other.training;
    if (!said.globalBatch)
        t.globalBatchSize =
            static_cast<int>(std::min(std::int64_t{t.microBatchSize} * l.dp * (l.pp > 1 ? 4 * l.pp : 1), kMostSequences));
    return sim::isLegal(other);
}

std::string Rules::otherSizes(std::string_view name, int Layout::*size, std::int64_t least, std::int64_t most) const
{
    if (!sound({"/layout", "/cluster", "/model", "/schedule", "/training"}) ||
        m_scenario.layout.placement == PlacementRule::explicitList)
        return {};
    constexpr int kMostJobs = 64; // where what is wrong has nothing to do with the size, none is legal
    const SaidSizes said{.etp = isGiven("/layout/etp"),
                         .dpShard = isGiven("/layout/dp_shard"),
                         .nodes = isGiven("/cluster/nodes"),
                         .globalBatch = isGiven("/training/global_batch_size")};
    Layout other = m_scenario.layout;
    int jobs = 0;
    std::int64_t rest = 1; // ranks for each of the axis: more of them than there may be are no layout, and not looked at
    for (int Layout::*const axis : {&Layout::tp, &Layout::cp, &Layout::pp, &Layout::dp})
        rest *= axis == size ? 1 : std::max(1, other.*axis);
    const Cluster& c = m_scenario.cluster;
    const std::int64_t ranks = said.nodes ? std::min(kMostRanks, std::int64_t{c.gpusPerNode} * c.nodes) : kMostRanks;
    const auto nearest = nearestValues(other.*size, least, std::min(most, ranks / rest), [&](std::int64_t value) {
        other.*size = static_cast<int>(value);
        return takesSplit(other, said) && jobs++ < kMostJobs && isLegalWith(other, said); // most sizes end at the first
    });
    return nearest.empty() ? std::string() : std::string(name) + " " + numbersText(nearest);
}

void Rules::experts()
{
    const Layout& l = m_scenario.layout;
    const Model& m = m_scenario.model;
    if (sound({"/layout/ep", "/model"}) && l.ep > 1) {
        if (m.numExperts == 0)
            return error("/layout/ep", [&] {
                return text(l.ep) + " needs experts, and the model " + shownText(m.name) + " has none" +
                       nearestNumbers(l.ep, 1, 1, [&](std::int64_t ep) { return takesExpertSplit(l.etp, ep); });
            });
        if (m.numExperts % l.ep != 0)
            error("/layout/ep", [&] {
                return text(l.ep) + " does not divide " + named("/model/num_experts", m.numExperts) +
                       nearestNumbers(l.ep, 1, m.numExperts, [&](std::int64_t ep) { return takesExpertSplit(l.etp, ep); });
            });
    }
    if (sound({"/layout/etp", "/model"}) && m.numExperts > 0 && m.moeIntermediateSize % l.etp != 0)
        error("/layout/etp", [&] {
            return named("/layout/etp", l.etp).substr(4) + " does not divide " +
                   named("/model/moe_intermediate_size", m.moeIntermediateSize) +
                   nearestNumbers(l.etp, 1, m.moeIntermediateSize, [&](std::int64_t etp) { return takesExpertSplit(etp, l.ep); });
        });
    if (!sound({"/layout"}) || !m_worldIsSound)
        return;
    const std::int64_t product = std::int64_t{l.etp} * l.ep * l.pp;
    if (l.worldSize() % product != 0) {
        const std::string_view at = l.ep > 1 ? "/layout/ep" : "/layout/etp";
        const std::int64_t value = l.ep > 1 ? l.ep : l.etp;
        error(at, [&] {
            return "experts are laid out as etp x ep x pp = " + text(l.etp) + m_provenance.originOf("/layout/etp") + " x " +
                   text(l.ep) + " x " + text(l.pp) + " = " + text(product) + ", which does not divide the " +
                   text(l.worldSize()) + " ranks" +
                   orElse(nearestNumbers(
                              value, 1, l.worldSize(),
                              [&](std::int64_t v) { return l.ep > 1 ? takesExpertSplit(l.etp, v) : takesExpertSplit(v, l.ep); }),
                          otherSizes("dp", &Layout::dp));
        });
    } else
        expertsPlace();
    if (sound({"/model"}) && m.numExperts > 0 && l.tp > 1 && !l.sequenceParallel)
        warning("/layout/sequence_parallel", [&] {
            return "Megatron Core refuses to train a mixture of experts with tp " + text(l.tp) +
                   " and without sequence parallelism";
        });
}

/// How groups of `ep` ranks lie on the innermost domains.
struct Rules::Straddling {
    std::int64_t groups = 0, across = 0;
    double bytesAcross = 0; ///< of what they send in all-to-alls
    bool apart = false;     ///< by the order of axes or by the placement: such groups are more than ep x etp GPUs wide
};

Rules::Straddling Rules::straddling(int ep) const
{
    const Layout& l = m_scenario.layout;
    const Cluster& c = m_scenario.cluster;
    // The expert grid: etp takes the place of tp, cp is folded away, and what is left of the ranks lies where dp does.
    const std::int64_t ranks = l.worldSize(), rest = ranks / (std::int64_t{l.etp} * ep * l.pp);
    std::int64_t stride = 1;
    for (std::size_t begin = 0; begin <= l.order.size();) {
        const std::size_t end = std::min(l.order.find('-', begin), l.order.size());
        const std::string axis = l.order.substr(begin, end - begin);
        if (axis == "ep")
            break;
        stride *= axis == "tp" ? l.etp : axis == "dp" ? rest : axis == "pp" ? l.pp : 1;
        begin = end + 1;
    }
    Straddling out{.groups = ranks / ep, .apart = stride > l.etp || l.placement != PlacementRule::packed};
    if (ranks % (stride * ep) != 0) // axes that are missing or come twice are complained about elsewhere
        return out;
    const auto domainOf = [&](std::int64_t rank) {
        const std::int64_t gpu = l.placement == PlacementRule::roundRobin ? rank % c.nodes * c.gpusPerNode + rank / c.nodes
                                 : l.placement == PlacementRule::explicitList
                                     ? l.explicitPlacement[static_cast<std::size_t>(rank)]
                                     : rank;
        return gpu / c.tiers.front().span;
    };
    std::vector<std::int64_t> domains;
    double pairsApart = 0;
    const auto count = [&](std::int64_t begin, std::int64_t end, std::int64_t times) {
        for (std::int64_t block = begin; block < end; block += stride * ep)
            for (std::int64_t first = block; first < block + stride; ++first) {
                domains.clear();
                for (int i = 0; i < ep; ++i)
                    domains.push_back(domainOf(first + i * stride));
                std::sort(domains.begin(), domains.end());
                out.across += domains.front() != domains.back() ? times : 0;
                double together = 0; // pairs, in both directions, and each rank with itself
                for (auto at = domains.begin(); at != domains.end();) {
                    const auto next = std::upper_bound(at, domains.end(), *at);
                    together += static_cast<double>(next - at) * static_cast<double>(next - at);
                    at = next;
                }
                pairsApart += static_cast<double>(times) * (1.0 * ep * ep - together);
            }
    };
    // Packed, groups lie on the domains as those one period before; counted one by one, a large job takes milliseconds.
    const std::int64_t period =
        l.placement == PlacementRule::packed ? std::lcm(stride * ep, std::int64_t{c.tiers.front().span}) : ranks;
    const std::int64_t periods = std::max<std::int64_t>(1, ranks / period);
    const std::int64_t repeated = std::min(ranks, period);
    count(0, repeated, periods);
    count(periods * repeated, ranks, 1);
    out.bytesAcross = pairsApart / (static_cast<double>(out.groups) * ep * (ep - 1));
    return out;
}

/// So do all-to-alls: each member of a group sends to every other.
void Rules::expertsPlace()
{
    const Layout& l = m_scenario.layout;
    const Model& m = m_scenario.model;
    const Cluster& c = m_scenario.cluster;
    if (!isTold() || l.ep == 1 || m.numExperts % l.ep != 0 || !sound({"/layout", "/cluster", "/model"}) || c.tiers.size() < 2 ||
        c.tiers.front().span <= 0 || (c.tiers.front().span >= l.worldSize() && l.placement == PlacementRule::packed) ||
        l.worldSize() > std::int64_t{c.gpusPerNode} * c.nodes)
        return;
    if (l.placement == PlacementRule::explicitList && l.explicitPlacement.size() != static_cast<std::size_t>(l.worldSize()))
        return;
    const Straddling lie = straddling(l.ep);
    if (lie.across == 0)
        return;
    const std::int64_t span = c.tiers.front().span, block = std::int64_t{l.ep} * l.etp;
    const std::string domain = domainText(c.tiers.front());
    const std::string groups = text(lie.across) + " of " + text(lie.groups) + " expert parallel groups lie in several domains";
    const std::string across = text(static_cast<std::int64_t>(lie.bytesAcross * 100 + 0.5)) + " % of ";
    const std::string share = m_scenario.training.moe.sendOncePerNode
                                  ? across +
                                        "the ranks that each sends tokens to lie beyond the slower tier, which a token crosses "
                                        "once a node"
                                  : across + "what the all-to-alls send goes over the slower tier";
    const std::string product = l.etp > 1 ? "ep " + text(l.ep) + " x etp " + text(l.etp) + " = " + text(block) : text(block);
    const std::string what = lie.apart ? "the ranks of an expert parallel group of " + text(l.ep) + " do not lie side by side: "
                             : block > span ? "an expert parallel group on " + product + " GPUs does not fit " + domain + ": "
                                            : product + " GPUs with a layer's experts do not divide " + domain + ": ";
    warning("/layout/ep", [&] {
        const int whole = lie.apart ? 0 : spanOfWholeGroups(c, static_cast<int>(block));
        return what + (block > span && !lie.apart ? share : groups + ", and " + share) +
               (whole > 0 ? "; none would with " + text(whole) + " GPUs of each used (span " + text(whole) + " in cluster.tiers)"
                          : std::string()) +
               nearestNumbers(l.ep, 2, m.numExperts, [&](std::int64_t ep) {
                   return m.numExperts % ep == 0 && l.worldSize() % (ep * l.etp * l.pp) == 0 &&
                          straddling(static_cast<int>(ep)).across == 0;
               });
    });
}

void Rules::order()
{
    const Layout& l = m_scenario.layout;
    if (!sound({"/layout"}))
        return;
    const std::array<std::pair<std::string_view, int>, 5> axes{
        {{"tp", l.tp}, {"cp", l.cp}, {"ep", l.ep}, {"dp", l.dp}, {"pp", l.pp}}};
    std::array<bool, 5> isNamed{};
    std::size_t last = 0;
    std::int64_t apart = 1, apartOfExperts = 1; // pipeline neighbours, as ranks are numbered on either grid
    for (std::size_t begin = 0; begin <= l.order.size();) {
        const std::size_t end = std::min(l.order.find('-', begin), l.order.size());
        const std::string_view axis = std::string_view(l.order).substr(begin, end - begin);
        last = static_cast<std::size_t>(
            std::find_if(axes.begin(), axes.end(), [&](const auto& known) { return known.first == axis; }) - axes.begin());
        if (last == axes.size())
            return error("/layout/order", [&] {
                return quotedText(l.order) + " names " + quotedText(axis) + "; axes are tp, cp, ep, dp, pp, joined by -";
            });
        if (isNamed[last])
            return error("/layout/order", [&] { return quotedText(l.order) + " names " + std::string(axis) + " twice"; });
        if (!isNamed[4] && axis != "pp") {
            const std::int64_t expertDp = l.worldSize() / l.pp / std::max<std::int64_t>(1, std::int64_t{l.etp} * l.ep);
            apart *= axis == "ep" ? 1 : axes[last].second;
            apartOfExperts *= axis == "tp" ? l.etp : axis == "cp" ? 1 : axis == "dp" ? expertDp : l.ep;
        }
        isNamed[last] = true;
        begin = end + 1;
    }
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (axes[i].second > 1 && !isNamed[i])
            error("/layout/order", [&] {
                return quotedText(l.order) + " has no place for " + std::string(axes[i].first) + " " + text(axes[i].second) +
                       "; the default is tp-cp-ep-dp-pp";
            });
    // Megatron Core, parallel_state.py: with pp not last, both grids must give the same pipelines.
    const bool mayFollow = l.ep == 1 && l.etp == l.tp;
    const bool expertsFollow = !isNamed[2] && mayFollow;
    if (l.pp == 1 || axes[last].first == "pp" || expertsFollow)
        return;
    if (std::int64_t{l.etp} * l.ep != std::int64_t{l.tp} * l.cp)
        error("/layout/order", [&] {
            return "with pp not last in " + quotedText(l.order) + " etp x ep = " + text(l.etp) + " x " + text(l.ep) +
                   " must equal tp x cp = " + text(l.tp) + " x " + text(l.cp) + "; nearest: tp-cp-ep-dp-pp" +
                   (mayFollow ? ", or leave ep out of the order" : "");
        });
    else if (isNamed[4] && apart != apartOfExperts)
        error("/layout/order", [&] {
            return "in " + quotedText(l.order) + " the ranks of a pipeline are " + text(apart) +
                   " apart, and those of the experts " + text(apartOfExperts) + "; nearest: tp-cp-ep-dp-pp";
        });
}

void Rules::sharding()
{
    const Layout& l = m_scenario.layout;
    if (!sound({"/layout"}) || !m_worldIsSound)
        return;
    const std::int64_t ranks = std::int64_t{l.dp} * l.cp;
    if (ranks % l.dpShard != 0)
        error("/layout/dp_shard", [&] {
            return text(l.dpShard) + " does not divide dp " +
                   (l.cp > 1 ? "x cp = " + text(l.dp) + " x " + text(l.cp) + " = " + text(ranks) : "= " + text(ranks)) +
                   nearestNumbers(l.dpShard, 1, ranks, [&](std::int64_t shard) { return ranks % shard == 0; });
        });
    if (isWritten("/layout/dp_shard") && l.zeroStage == 0 && l.dpShard != ranks)
        warning("/layout/dp_shard", [&] {
            return text(l.dpShard) + " has no effect with " + named("/layout/zero_stage", 0) + ": nothing is sharded";
        });
    const std::int64_t product = std::int64_t{l.etp} * l.ep * l.pp, ofExperts = product > 0 ? l.worldSize() / product : 0;
    const std::int64_t replicas = ranks / l.dpShard;
    if (m_scenario.model.numExperts > 0 && l.zeroStage > 0 && l.dpShard > 1 && ranks % l.dpShard == 0 && ofExperts > 0 &&
        ofExperts % replicas != 0)
        warning("/layout/dp_shard", [&] {
            return text(l.dpShard) + " makes " + text(replicas) + " replicas, into which the " + text(ofExperts) +
                   (ofExperts == 1 ? " rank that holds an expert does" : " ranks that hold the same experts do") +
                   " not divide: of experts there are " + text(std::gcd(ofExperts, replicas)) + "; Megatron Core refuses this";
        });
    const bool isUsual = l.reshardAfterForward == (l.pp == 1); // as a file has it that says everything
    if (isWritten("/layout/reshard_after_forward") && l.zeroStage < 3 && !isUsual)
        warning("/layout/reshard_after_forward", [&] {
            return "has no effect with " + named("/layout/zero_stage", l.zeroStage) + ": parameters are not sharded";
        });
    if (!l.reduceEachMicrobatch && l.zeroStage < 2)
        warning("/layout/reduce_each_microbatch", [&] {
            return "false has no effect with " + named("/layout/zero_stage", l.zeroStage) + ": gradients are not sharded";
        });
    if (l.zeroStage == 3 && l.pp > 1 && l.dpShard > 1 && l.reshardAfterForward)
        warning("/layout/zero_stage", [&] {
            return "3 with " + named("/layout/pp", l.pp) +
                   " and reshard_after_forward: every micro-batch gathers all parameters; Megatron Core and DeepSpeed refuse "
                   "this";
        });
    if (l.zeroStage == 3 && l.pp > 1 && l.dpShard > 1 && !l.reshardAfterForward)
        warning("/layout/zero_stage", [&] {
            return "3 with " + named("/layout/pp", l.pp) +
                   ": parameters are gathered once a step and stay beside their shards, so they take more "
                   "memory than with 1; Megatron Core and DeepSpeed refuse this";
        });
    if (l.sequenceParallel && l.tp == 1)
        warning("/layout/sequence_parallel", [&] { return "has no effect with " + named("/layout/tp", 1); });
}

void Rules::placement()
{
    const Layout& l = m_scenario.layout;
    if (l.placement != PlacementRule::explicitList || !m_worldIsSound || !sound({"/layout", "/cluster"}))
        return;
    const std::int64_t gpus = std::int64_t{m_scenario.cluster.gpusPerNode} * m_scenario.cluster.nodes;
    if (l.explicitPlacement.size() != static_cast<std::size_t>(l.worldSize()))
        return error("/layout/placement", [&] {
            return "the list has " + counted(static_cast<std::int64_t>(l.explicitPlacement.size()), "GPU") + " for " +
                   counted(l.worldSize(), "rank") + "; it needs one a rank";
        });
    std::unordered_map<int, int> rankOf; // in proportion to the ranks: a cluster may have a thousand times as many GPUs
    for (int rank = 0; rank < l.worldSize(); ++rank) {
        const int gpu = l.explicitPlacement[static_cast<std::size_t>(rank)];
        const std::string at = "/layout/placement/" + text(rank);
        if (gpu < 0 || gpu >= gpus)
            return error(at, [&] { return "there is no GPU " + text(gpu) + "; the cluster has GPUs 0 to " + text(gpus - 1); });
        const int holder = rankOf.try_emplace(gpu, rank).first->second;
        if (holder != rank)
            return error(at, [&] { return "GPU " + text(gpu) + " has rank " + text(holder) + " already"; });
    }
}

} // namespace sim
