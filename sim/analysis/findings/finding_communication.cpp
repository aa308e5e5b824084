// Communication that nothing hides, dimension by dimension: how much, why, and how to have less of it.
#include "sim/analysis/collective_uses.h"
#include "sim/analysis/findings/finding_rules.h"
#include "sim/analysis/traffic/traffic.h"
#include "sim/program/states.h"
#include "sim/simulate/action_class.h"
#include "sim/simulate/exposed_transfers.h"
#include "sim/simulate/purpose_name.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

constexpr double kWorthAFinding = 0.05; // of the step

/// "8 ranks", "4 replicas".
std::string ranksText(Finding& finding, int ranks, CommunicatorRole role = CommunicatorRole::none, const char* noun = "rank")
{
    return say(finding, ClaimOf::groupRanks, ranks, countedText(ranks, noun), role);
}

Finding exposedFinding(const RuleContext& context, FindingKind kind, Dimension dimension)
{
    const double share = context.shareOf(dimension);
    Finding finding{.kind = kind, .severity = severityOf(share), .stepShare = share};
    finding.show = {.pictures = {"timeline", "traffic"}, .classes = {opClassOf(dimension)}};
    return finding;
}

/// "12.3 % of the step".
std::string shareText(Finding& finding)
{
    return say(finding, ClaimOf::exposedShare, finding.stepShare, percentText(finding.stepShare));
}

/// "412 ms of them".
std::string secondsText(const RuleContext& context, Finding& finding)
{
    return say(finding, ClaimOf::exposedSeconds, finding.stepShare * context.step(), Unit::seconds);
}

/// "NVLink (450 GB/s a GPU)": of the innermost tier, or the widest one that groups cross.
std::string tierText(const RuleContext& context, Finding& finding, int index, CommunicatorRole role = CommunicatorRole::none)
{
    const Tier& tier = context.tier(index);
    const ToldBandwidth bandwidth = toldBandwidth(context.scenario.cluster, static_cast<std::size_t>(index));
    if (bandwidth.gpus > 1) // told by of()
        say(finding, ClaimOf::gpusOfCard, bandwidth.gpus, Unit::count, role);
    return spokenNetwork(tier.name) + " (" +
           say(finding, index == 0 ? ClaimOf::innerBandwidth : ClaimOf::outerBandwidth, bandwidth.gbs, Unit::number, role) +
           " GB/s " + bandwidth.of() + ")";
}

/// "5 of 8": groups that lie in several domains of the innermost tier.
std::string acrossText(Finding& finding, const RoleSpan& span)
{
    return say(finding, ClaimOf::groupsAcross, span.across(), Unit::count) + " of " +
           say(finding, ClaimOf::groups, span.groups(), Unit::count);
}

/// The first group that lies in several domains.
std::vector<int> groupAcross(const RuleContext& context, ProcessGroup kind)
{
    const Mesh& mesh = context.simulation.mesh();
    for (int group = 0; group < mesh.groupCount(kind); ++group)
        if (std::vector<int> members = mesh.members(kind, group);
            context.simulation.placement().shape(members).spanningTier() > 0)
            return members;
    return {};
}

/// The largest size not above `most` to which the axis can shrink by a whole factor.
int factorDownTo(int size, int most)
{
    for (int factor = 2; factor <= size; ++factor)
        if (size % factor == 0 && size / factor <= most)
            return factor;
    return 1;
}

void offerSmallerTp(const RuleContext& context, Finding& finding, int factor)
{
    offer(finding, context.edits.shift(&Layout::tp, &Layout::dp, factor));
    offer(finding, context.edits.shift(&Layout::tp, &Layout::pp, factor));
    if (context.training.sequenceLength >= 16384) // below that the ring's blocks are too short to hide it
        offer(finding, context.edits.shift(&Layout::tp, &Layout::cp, factor));
}

/// "tp-cp-pp-dp": tp goes to the front.
std::string withTpFirst(const std::string& order)
{
    std::string rest;
    for (std::size_t begin = 0; begin <= order.size();) {
        const std::size_t end = std::min(order.find('-', begin), order.size());
        const std::string axis = order.substr(begin, end - begin);
        rest += axis == "tp" ? "" : "-" + axis;
        begin = end + 1;
    }
    return "tp" + rest;
}

void tensor(const RuleContext& context, FindingList& out)
{
    const Layout& l = context.layout;
    const double share = context.shareOf(Dimension::tp);
    constexpr double kAcrossMatters = 0.02;
    if (l.tp < 2 || share < kAcrossMatters)
        return;
    const RoleSpan span = context.span(CommunicatorRole::tp);
    const int widest = span.widestTier();
    if (widest == 0 && share < kWorthAFinding)
        return;
    if (widest > 0) {
        Finding finding = exposedFinding(context, FindingKind::tensorAcrossNodes, Dimension::tp);
        finding.title = "Tensor-parallel groups leave their " + spokenNetwork(context.tier(0).name) +
                        " domain: " + shareText(finding) + " of the step is exposed tp communication";
        finding.reason = "Collectives stand between the kernels of every layer. " + acrossText(finding, span) + " groups of " +
                         ranksText(finding, l.tp) + " meet over " + tierText(context, finding, widest) + " instead of " +
                         tierText(context, finding, 0) + ".";
        finding.show.ranks = groupAcross(context, ProcessGroup::tp);
        finding.show.pictures = {"grid", "traffic"};
        if (!l.order.starts_with("tp"))
            offer(finding,
                  Edits::set("/layout/order", "\"" + withTpFirst(l.order) + "\"", l.order + " → " + withTpFirst(l.order)));
        if (l.placement != PlacementRule::packed)
            offer(finding, Edits::set("/layout/placement", "\"packed\"", "placement → packed"));
        offer(finding, context.wholeGroups(l.tp));
        offerSmallerTp(context, finding, factorDownTo(l.tp, context.innerSpan()));
        out.push_back(std::move(finding));
        return;
    }
    Finding finding = exposedFinding(context, FindingKind::exposedTensor, Dimension::tp);
    finding.title = shareText(finding) + " of the step is exposed tp communication";
    finding.reason =
        "Collectives of " + ranksText(finding, l.tp) + " stand between the kernels of every layer, and " +
        (context.training.overlap.tpComm
             ? "products that are cut up to run beside them leave " + secondsText(context, finding) + " a step."
             : "nothing hides " + secondsText(context, finding) + " of them a step: products are not cut up to run beside them.");
    if (!context.training.overlap.tpComm) {
        const SuggestedEdit overlap = context.edits.turnOn("/training/overlap/tp_comm", "tp overlap");
        offer(finding, l.sequenceParallel
                           ? overlap
                           : Edits::both(context.edits.turnOn("/layout/sequence_parallel", "sequence parallelism"), overlap));
    }
    offerSmallerTp(context, finding, 2);
    out.push_back(std::move(finding));
}

void contextParallel(const RuleContext& context, FindingList& out)
{
    const double share = context.shareOf(Dimension::cp);
    if (share < kWorthAFinding)
        return;
    Finding finding = exposedFinding(context, FindingKind::exposedContext, Dimension::cp);
    finding.title = shareText(finding) + " of the step is exposed cp communication";
    const KeyExchange exchange = keyExchange(collectiveUses(context.simulation));
    const std::string ranks = ranksText(finding, context.layout.cp);
    const std::string over = " over " + tierText(context, finding, context.span(CommunicatorRole::cp).widestTier());
    const auto tokens = [&] {
        return say(finding, ClaimOf::tokensOfRank, 1.0 * context.training.sequenceLength / context.layout.cp, Unit::count);
    };
    if (exchange.forHeads)
        finding.reason =
            "All-to-alls among " + ranks + over + " exchange parts of the sequence of " + tokens() +
            " tokens for attention heads, and back behind attention, with nothing beside them: " + secondsText(context, finding) +
            " a step are waited for.";
    else if (!exchange.gathered)
        finding.reason = "The ring of " + ranks + " brings the next keys and values" + over + "; attention over the " + tokens() +
                         " tokens of a rank leaves " + secondsText(context, finding) + " of that a step to be waited for.";
    else
        finding.reason = "Keys and values are gathered among " + ranks + over +
                         " before attention can begin, and their gradients reduced after it" +
                         (exchange.inRing ? "; layers that see the whole sequence pass them round a ring, beside attention over "
                                            "the " +
                                                tokens() + " tokens of a rank"
                                          : std::string()) +
                         ": " + secondsText(context, finding) + " a step are waited for.";
    if (exchange.forHeads && context.training.flashAttention)
        offer(finding, Edits::set("/training/stack/exchanges_heads", "false", "heads exchanged → a ring"));
    offer(finding, context.edits.shift(&Layout::cp, &Layout::dp));
    if (context.layout.tp * 2 <= context.innerSpan())
        offer(finding, context.edits.shift(&Layout::cp, &Layout::tp));
    offer(finding, context.edits.shift(&Layout::cp, &Layout::pp));
    out.push_back(std::move(finding));
}

/// Experts in groups that lie within a domain: the largest such, and a layer's experts on whole ranks.
void offerExpertsInside(const RuleContext& context, Finding& finding)
{
    const Layout& l = context.layout;
    offer(finding, context.wholeGroups(l.ep * l.etp));
    if (l.etp > 1)
        offer(finding, Edits::set("/layout/etp", "1", "etp " + std::to_string(l.etp) + " → 1"));
    if (l.placement != PlacementRule::packed)
        offer(finding, Edits::set("/layout/placement", "\"packed\"", "placement → packed"));
    const auto fits = [&](int ep) {
        return context.scenario.model.numExperts % ep == 0 && context.innerSpan() % (ep * l.etp) == 0;
    };
    for (int ep = l.ep - 1; ep >= 1; --ep)
        if (fits(ep)) {
            Layout smaller = l;
            smaller.ep = ep;
            offer(finding, context.edits.layout(smaller));
            break;
        }
}

/// All-to-alls of groups that do not lie within a domain go over the tier outside it.
void expertAcross(const RuleContext& context, FindingList& out)
{
    constexpr double kAcrossMatters = 0.02;
    const Layout& l = context.layout;
    const double share = context.shareOf(Dimension::ep);
    if (l.ep < 2 || share < kAcrossMatters)
        return;
    const RoleSpan span = context.span(CommunicatorRole::ep);
    const int widest = span.widestTier();
    if (widest == 0)
        return;
    Finding finding = exposedFinding(context, FindingKind::expertsAcrossNodes, Dimension::ep);
    finding.title = "Expert-parallel groups leave their " + spokenNetwork(context.tier(0).name) +
                    " domain: " + shareText(finding) + " of the step is exposed ep communication";
    const TrafficSums sums = Traffic(context.simulation).senders().total();
    const double across = 1 - static_cast<double>(sums.bytes(0, CommunicatorRole::ep)) /
                                  static_cast<double>(std::max<std::int64_t>(1, sums.ofRole(CommunicatorRole::ep)));
    finding.reason = "A layer's experts span " + say(finding, ClaimOf::blockRanks, 1.0 * l.ep * l.etp, Unit::count) +
                     " GPUs, and a domain joins " + say(finding, ClaimOf::innerDomain, context.innerSpan(), Unit::count) + ". " +
                     acrossText(finding, span) + " groups of " + ranksText(finding, l.ep) +
                     " lie in several: " + say(finding, ClaimOf::bytesAcross, across, percentText(across)) +
                     " of what they send goes over " + tierText(context, finding, widest) + " instead of " +
                     tierText(context, finding, 0) + ", and " + secondsText(context, finding) + " a step are waited for.";
    finding.show.ranks = groupAcross(context, ProcessGroup::ep);
    finding.show.pictures = {"grid", "traffic"};
    offerExpertsInside(context, finding);
    if (!context.training.overlap.epComm && scheduleFamily(context.scenario.schedule.kind).overlapsExperts)
        offer(finding, context.edits.turnOn("/training/overlap/ep_comm", "ep overlap"));
    out.push_back(std::move(finding));
}

void expert(const RuleContext& context, FindingList& out)
{
    const double share = context.shareOf(Dimension::ep);
    const Layout& l = context.layout;
    if (share < kWorthAFinding || context.span(CommunicatorRole::ep).widestTier() > 0)
        return;
    Finding finding = exposedFinding(context, FindingKind::exposedExpert, Dimension::ep);
    finding.title = shareText(finding) + " of the step is exposed ep communication";
    finding.reason = "Every layer of experts sends each token to " +
                     say(finding, ClaimOf::expertsOfToken, context.scenario.model.numExpertsPerTok, Unit::count) +
                     " of them and back, in forward and backward, among " + ranksText(finding, l.ep) + " over " +
                     tierText(context, finding, 0) + ". Of " +
                     say(finding, ClaimOf::transferSeconds, transferSeconds(context.simulation, Dimension::ep), Unit::seconds) +
                     " a step that this takes, " + secondsText(context, finding) + " are waited for.";
    if (!context.training.overlap.epComm && scheduleFamily(context.scenario.schedule.kind).overlapsExperts)
        offer(finding, context.edits.turnOn("/training/overlap/ep_comm", "ep overlap"));
    if (l.etp > 1)
        offer(finding, Edits::set("/layout/etp", "1", "etp " + std::to_string(l.etp) + " → 1"));
    if (l.ep % 2 == 0) {
        Layout smaller = l;
        smaller.ep /= 2;
        offer(finding, context.edits.layout(smaller));
    }
    out.push_back(std::move(finding));
}

void pipeline(const RuleContext& context, FindingList& out)
{
    constexpr double kExposedPipeline = 0.03;
    const double share = context.shareOf(Dimension::pp);
    if (share < kExposedPipeline)
        return;
    const ScheduleSettings& s = context.scenario.schedule;
    Finding finding = exposedFinding(context, FindingKind::exposedPipeline, Dimension::pp);
    finding.title = shareText(finding) + " of the step is exposed pp communication";
    finding.reason = context.training.overlap.p2p
                         ? "Stages wait for activations and gradients on their way" +
                               (s.virtualStages > 1 ? "; with " + say(finding, ClaimOf::chunks, s.virtualStages, Unit::count) +
                                                          " chunks a rank they go round that often."
                                                    : std::string("."))
                         : "Sends and receives block the rank: they are not overlapped with kernels.";
    if (!context.training.overlap.p2p)
        offer(finding, context.edits.turnOn("/training/overlap/p2p", "p2p overlap"));
    if (s.virtualStages % 2 == 0 && s.virtualStages > 2)
        offer(finding, context.edits.schedule(s.kind, s.virtualStages / 2));
    if (s.virtualStages == 2 && s.kind == "interleaved-1f1b")
        offer(finding, context.edits.schedule("1f1b", 1));
    if (context.layout.tp > 1 && !context.layout.sequenceParallel)
        offer(finding, context.edits.turnOn("/layout/sequence_parallel", "sequence parallelism"));
    offer(finding, context.edits.shift(&Layout::pp, &Layout::dp));
    out.push_back(std::move(finding));
}

/// What data-parallel ranks exchange over the groups of one role, and how long kernels wait for it.
struct ExposedExchange {
    CommunicatorRole role{};
    bool gathers = false; ///< parameters; else gradients are reduced
    double seconds = 0;   ///< of the step
};

/// The longest first.
std::vector<ExposedExchange> exposedExchanges(const Simulation& simulation)
{
    std::vector<ExposedExchange> out;
    const ExposedKinds kinds = exposedKinds(simulation);
    for (const ExposedKind& kind : kinds[Dimension::dp])
        out.push_back({kind.role, contentOf(kind.op) == CollectiveContent::parameters, kind.seconds});
    return out;
}

/// " each time they are used", " beside the last backward pass".
std::string whenText(const RuleContext& context, const ExposedExchange& exchange)
{
    const Overlap& overlap = context.training.overlap;
    if (!exchange.gathers)
        return std::string(overlap.gradReduce ? " beside " : " after ") +
               (reducesEveryMicrobatch(context.scenario) ? "each" : "the last") + " backward pass" +
               (overlap.gradReduce ? "" : ", not beside it");
    switch (parameterGathering(context.scenario)) {
    case ParameterGathering::eachUse:
        return std::string(" each time they are used") + (overlap.paramGather ? "" : ", not ahead of that");
    case ParameterGathering::eachStep:
        return std::string(" once a step") + (overlap.paramGather ? "" : ", not ahead of their use");
    default:
        return " after the update, beside nothing";
    }
}

/// Of gradients that are no data-parallel ranks'.
std::string addedUpText(CommunicatorRole role)
{
    return role == CommunicatorRole::embd ? "The first and the last stage add up the gradients of the embedding that they share"
                                          : "Ranks that hold copies of a stage add up its gradients";
}

/// "Gradients are reduced among 8 ranks over NVLink (450 GB/s a GPU) beside the last backward pass".
std::string exchangeText(const RuleContext& context, Finding& finding, const ExposedExchange& exchange, bool isOfThem)
{
    const CommunicatorRole role = exchange.role;
    if (role == CommunicatorRole::embd || role == CommunicatorRole::copies)
        return addedUpText(role);
    const bool isOfReplicas = role == CommunicatorRole::dpReplicate || role == CommunicatorRole::exptReplicate;
    const bool isOfExperts = role == CommunicatorRole::exptDp || role == CommunicatorRole::exptReplicate;
    std::string text = std::string(exchange.gathers ? "Parameters are gathered" : "Gradients are reduced") + " among ";
    if (isOfThem) {
        text += "them";
    } else {
        const RoleSpan span = context.span(role);
        text += ranksText(finding, span.ranks, role, isOfReplicas ? "replica" : "rank") +
                (!isOfExperts   ? ""
                 : isOfReplicas ? " of the experts"
                                : " with copies of the experts") +
                " over " + tierText(context, finding, span.widestTier(), role);
    }
    return text + whenText(context, exchange);
}

/// Of exchanges in their order, those that matter.
std::string exchangesText(const RuleContext& context, Finding& finding, const std::vector<ExposedExchange>& exchanges)
{
    constexpr double kMatters = 0.02; // of all that is waited for
    std::string text;
    CommunicatorRole before = CommunicatorRole::none;
    for (const ExposedExchange& exchange : exchanges) {
        if (exchange.seconds < kMatters * finding.stepShare * context.step())
            continue;
        const ClaimOf seconds = exchange.gathers ? ClaimOf::gatherSeconds : ClaimOf::reduceSeconds;
        text += (text.empty() ? "" : " ") + exchangeText(context, finding, exchange, exchange.role == before) + ": " +
                say(finding, seconds, exchange.seconds, Unit::seconds, exchange.role) + " a step are waited for.";
        before = exchange.role;
    }
    return text;
}

void data(const RuleContext& context, FindingList& out)
{
    const double share = context.shareOf(Dimension::dp);
    if (share < kWorthAFinding)
        return;
    const Layout& l = context.layout;
    const Overlap& overlap = context.training.overlap;
    Finding finding = exposedFinding(context, FindingKind::exposedData, Dimension::dp);
    const std::string called = purposeName(context.simulation, Dimension::dp);
    finding.title = shareText(finding) + " of the step is exposed " + called + " communication";
    if (called != dimensionName(Dimension::dp)) { // no data parallelism: who else has the same parameters
        finding.reason =
            addedUpText(context.simulation.schedule().chains > 1 ? CommunicatorRole::copies : CommunicatorRole::embd) +
            ", and kernels leave " + secondsText(context, finding) + " a step to be waited for.";
        offer(finding, context.edits.globalBatch(context.training.globalBatchSize * 2));
        offer(finding, context.edits.shift(&Layout::pp, &Layout::dp));
        out.push_back(std::move(finding));
        return;
    }
    const std::vector<ExposedExchange> exchanges = exposedExchanges(context.simulation);
    finding.reason = exchangesText(context, finding, exchanges);
    const bool gathersMost = !exchanges.empty() && exchanges.front().gathers;
    // Without copies of the other layers there are still those of experts, which are cut in fewer pieces.
    const bool isOfExperts = context.simulation.mesh().groupSize(ProcessGroup::dp_cp) == 1;
    const auto offerGathering = [&] {
        if (!overlap.paramGather && l.zeroStage >= 1)
            offer(finding, context.edits.turnOn("/training/overlap/param_gather", "overlap of parameter gathering"));
    };
    if (gathersMost)
        offerGathering();
    if (!overlap.gradReduce)
        offer(finding, context.edits.turnOn("/training/overlap/grad_reduce", "overlap of gradient reduction"));
    if (l.zeroStage >= 3 && (gathersMost || overlap.gradReduce)) {
        offer(finding, context.edits.microBatch(context.training.microBatchSize * 2));
        for (const int stage : {2, 1})
            offer(finding, context.edits.zero(stage));
        if (l.dpShard == l.dp * l.cp && l.dpShard > context.innerSpan())
            offer(finding, context.edits.shardGroup(std::max(1, context.innerSpan() / std::max(1, l.tp))));
    }
    if (!gathersMost && reducesEveryMicrobatch(context.scenario) && context.scenario.microbatches() > 1)
        offer(finding, Edits::set("/layout/reduce_each_microbatch", "false", "gradients reduced once a step"));
    if (isOfExperts && l.etp < l.tp)
        offer(finding,
              Edits::set("/layout/etp", std::to_string(l.tp), "etp " + std::to_string(l.etp) + " → " + std::to_string(l.tp)));
    offerGathering();
    offer(finding, context.edits.globalBatch(context.training.globalBatchSize * 2));
    offer(finding, context.edits.shift(&Layout::dp, &Layout::pp));
    out.push_back(std::move(finding));
}

} // namespace

void findCommunication(const RuleContext& context, FindingList& out)
{
    tensor(context, out);
    contextParallel(context, out);
    expertAcross(context, out);
    expert(context, out);
    pipeline(context, out);
    data(context, out);
}

} // namespace sim
