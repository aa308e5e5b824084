// Communication that nothing hides, dimension by dimension: how much, why, and how to have less of it.
#include "sim/analysis/findings/finding_rules.h"
#include "sim/analysis/traffic/traffic.h"
#include "sim/simulate/action_class.h"
#include "sim/simulate/purpose_name.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

constexpr double kWorthAFinding = 0.05; // of the step

std::string ranksText(Finding& finding, int ranks)
{
    return say(finding, ClaimOf::groupRanks, ranks, countedText(ranks, "rank"));
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
std::string tierText(const RuleContext& context, Finding& finding, int index)
{
    const Tier& tier = context.tier(index);
    return spokenNetwork(tier.name) + " (" +
           say(finding, index == 0 ? ClaimOf::innerBandwidth : ClaimOf::outerBandwidth, tier.bandwidthGBs, Unit::number) +
           " GB/s a GPU)";
}

/// "5 of 8": groups that lie in several domains of the innermost tier.
std::string acrossText(const RuleContext& context, Finding& finding, ProcessGroup kind)
{
    const RuleContext::Straddling lie = context.straddling(kind);
    return say(finding, ClaimOf::groupsAcross, lie.across, Unit::count) + " of " +
           say(finding, ClaimOf::groups, lie.groups, Unit::count);
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
    const int widest = l.tp > 1 ? context.widestTier(ProcessGroup::tp) : 0;
    constexpr double kAcrossMatters = 0.02;
    if (l.tp < 2 || share < (widest > 0 ? kAcrossMatters : kWorthAFinding))
        return;
    if (widest > 0) {
        Finding finding = exposedFinding(context, FindingKind::tensorAcrossNodes, Dimension::tp);
        finding.title = "Tensor-parallel groups leave their " + spokenNetwork(context.tier(0).name) +
                        " domain: " + shareText(finding) + " of the step is exposed tp communication";
        finding.reason = "Collectives stand between the kernels of every layer. " +
                         acrossText(context, finding, ProcessGroup::tp) + " groups of " + ranksText(finding, l.tp) +
                         " meet over " + tierText(context, finding, widest) + " instead of " + tierText(context, finding, 0) +
                         ".";
        finding.show.ranks = context.simulation.mesh().members(ProcessGroup::tp, 0);
        finding.show.pictures = {"grid", "traffic"};
        if (!l.order.starts_with("tp"))
            offer(finding,
                  Edits::set("/layout/order", "\"" + withTpFirst(l.order) + "\"", l.order + " → " + withTpFirst(l.order)));
        if (l.placement != PlacementRule::packed)
            offer(finding, Edits::set("/layout/placement", "\"packed\"", "placement → packed"));
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
    finding.reason = "The ring of " + ranksText(finding, context.layout.cp) + " brings the next keys and values over " +
                     tierText(context, finding, context.widestTier(ProcessGroup::cp)) + "; attention over the " +
                     say(finding, ClaimOf::tokensOfRank, 1.0 * context.training.sequenceLength / context.layout.cp, Unit::count) +
                     " tokens of a rank leaves " + secondsText(context, finding) + " of that a step to be waited for.";
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
    const int widest = l.ep > 1 ? context.widestTier(ProcessGroup::ep) : 0;
    if (widest == 0 || share < kAcrossMatters)
        return;
    Finding finding = exposedFinding(context, FindingKind::expertsAcrossNodes, Dimension::ep);
    finding.title = "Expert-parallel groups leave their " + spokenNetwork(context.tier(0).name) +
                    " domain: " + shareText(finding) + " of the step is exposed ep communication";
    const TrafficSums sums = Traffic(context.simulation).senders().total();
    const double across = 1 - static_cast<double>(sums.bytes(0, CommunicatorRole::ep)) /
                                  static_cast<double>(std::max<std::int64_t>(1, sums.ofRole(CommunicatorRole::ep)));
    finding.reason = "A layer's experts span " + say(finding, ClaimOf::blockRanks, 1.0 * l.ep * l.etp, Unit::count) +
                     " GPUs, and a domain joins " + say(finding, ClaimOf::innerDomain, context.innerSpan(), Unit::count) + ". " +
                     acrossText(context, finding, ProcessGroup::ep) + " groups of " + ranksText(finding, l.ep) +
                     " lie in several: " + say(finding, ClaimOf::bytesAcross, across, percentText(across)) +
                     " of what they send goes over " + tierText(context, finding, widest) + " instead of " +
                     tierText(context, finding, 0) + ", and " + secondsText(context, finding) + " a step are waited for.";
    const Mesh& mesh = context.simulation.mesh();
    for (int group = 0; group < mesh.groupCount(ProcessGroup::ep) && finding.show.ranks.empty(); ++group)
        if (context.simulation.placement().shape(mesh.members(ProcessGroup::ep, group)).spanningTier() > 0)
            finding.show.ranks = mesh.members(ProcessGroup::ep, group);
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
    if (share < kWorthAFinding || context.widestTier(ProcessGroup::ep) > 0)
        return;
    Finding finding = exposedFinding(context, FindingKind::exposedExpert, Dimension::ep);
    finding.title = shareText(finding) + " of the step is exposed ep communication";
    finding.reason = "Every layer of experts sends each token to " +
                     say(finding, ClaimOf::expertsOfToken, context.scenario.model.numExpertsPerTok, Unit::count) +
                     " of them and back, in forward and backward, among " + ranksText(finding, l.ep) + " over " +
                     tierText(context, finding, 0) + (context.training.overlap.epComm ? "." : "; nothing runs beside it.");
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
        finding.reason = std::string(context.simulation.schedule().chains > 1
                                         ? "Ranks that hold the same stages add up their gradients"
                                         : "The first and the last stage add up the gradients of the embedding that they share") +
                         ", and kernels leave " + secondsText(context, finding) + " a step to be waited for.";
        offer(finding, context.edits.globalBatch(context.training.globalBatchSize * 2));
        offer(finding, context.edits.shift(&Layout::pp, &Layout::dp));
        out.push_back(std::move(finding));
        return;
    }
    // Without copies of the other layers there are still those of experts, which are cut in fewer pieces.
    const Mesh& mesh = context.simulation.mesh();
    const bool isOfExperts = mesh.groupSize(ProcessGroup::dp_cp) == 1;
    const ProcessGroup group = isOfExperts ? ProcessGroup::expt_dp : ProcessGroup::dp_cp;
    const std::string who = ranksText(finding, mesh.groupSize(group)) + (isOfExperts ? " with copies of the experts" : "") +
                            " over " + tierText(context, finding, context.widestTier(group));
    if (!overlap.gradReduce) {
        finding.reason = "Gradients of " + who + " are reduced after the last backward pass, not beside it.";
        offer(finding, context.edits.turnOn("/training/overlap/grad_reduce", "overlap of gradient reduction"));
    } else if (l.zeroStage >= 3) {
        finding.reason = "ZeRO 3 gathers every layer's parameters from " + who +
                         (l.reshardAfterForward ? " each time they are used" : " once a step") + ", and kernels leave " +
                         secondsText(context, finding) + " a step to be waited for.";
        offer(finding, context.edits.microBatch(context.training.microBatchSize * 2));
        for (const int stage : {2, 1})
            offer(finding, context.edits.zero(stage));
        if (l.dpShard == l.dp * l.cp && l.dpShard > context.innerSpan())
            offer(finding, context.edits.shardGroup(std::max(1, context.innerSpan() / std::max(1, l.tp))));
    } else {
        finding.reason = "Gradients are reduced among " + who + " beside the last backward pass; what is left of it leaves " +
                         secondsText(context, finding) + " a step to be waited for.";
    }
    if (isOfExperts && l.etp < l.tp)
        offer(finding,
              Edits::set("/layout/etp", std::to_string(l.tp), "etp " + std::to_string(l.etp) + " → " + std::to_string(l.tp)));
    if (!overlap.paramGather && l.zeroStage >= 1)
        offer(finding, context.edits.turnOn("/training/overlap/param_gather", "overlap of parameter gathering"));
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
