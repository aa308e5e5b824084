// Communication that nothing hides, dimension by dimension: how much, why, and how to have less of it.
#include "sim/analysis/finding_rules.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

constexpr double kExposed = 0.05; // of the step

std::string ranksText(int ranks)
{
    return std::to_string(ranks) + " ranks";
}

Finding exposedFinding(const RuleContext& context, FindingKind kind, StepShare part, OpClass opClass)
{
    const double share = context.shareOf(part);
    Finding finding{.kind = kind, .severity = severityOf(share), .stepShare = share};
    finding.show = {.pictures = {"timeline", "traffic"}, .ranks = {}, .range = {}, .classes = {opClass}};
    return finding;
}

/// "nvlink (450 GB/s a GPU)".
std::string tierText(const Tier& tier)
{
    return tier.name + " (" + numberText(tier.bandwidthGBs, Unit::number) + " GB/s a GPU)";
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
    const double share = context.shareOf(StepShare::tp);
    const int widest = l.tp > 1 ? context.widestTier(GroupKind::tp) : 0;
    constexpr double kAcrossMatters = 0.02;
    if (l.tp < 2 || share < (widest > 0 ? kAcrossMatters : kExposed))
        return;
    if (widest > 0) {
        Finding finding = exposedFinding(context, FindingKind::tensorAcrossNodes, StepShare::tp, OpClass::tpComm);
        finding.title = "Tensor-parallel groups leave their " + context.tier(0).name + " domain: " + percentText(share) +
                        " of the step is exposed tp communication";
        finding.reason = "Collectives stand between the kernels of every layer. " + ranksText(l.tp) + " here meet over " +
                         tierText(context.tier(widest)) + " instead of " + tierText(context.tier(0)) + ".";
        finding.show.ranks = context.simulation.mesh().members(GroupKind::tp, 0);
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
    Finding finding = exposedFinding(context, FindingKind::exposedTensor, StepShare::tp, OpClass::tpComm);
    finding.title = percentText(share) + " of the step is exposed tp communication";
    finding.reason = std::string("Collectives of ") + ranksText(l.tp) + " stand between the kernels of every layer, and " +
                     (context.training.overlap.tpComm ? "products are too short to hide all of them."
                                                      : "nothing hides them unless products are cut up to overlap with them.");
    if (!context.training.overlap.tpComm) {
        const Try overlap = context.edits.turnOn("/training/overlap/tp_comm", "tp overlap");
        offer(finding, l.sequenceParallel
                           ? overlap
                           : Edits::both(context.edits.turnOn("/layout/sequence_parallel", "sequence parallelism"), overlap));
    }
    offerSmallerTp(context, finding, 2);
    out.push_back(std::move(finding));
}

void contextParallel(const RuleContext& context, FindingList& out)
{
    const double share = context.shareOf(StepShare::cp);
    if (share < kExposed)
        return;
    Finding finding = exposedFinding(context, FindingKind::exposedContext, StepShare::cp, OpClass::cpComm);
    finding.title = percentText(share) + " of the step is exposed cp communication";
    finding.reason =
        "The ring of " + ranksText(context.layout.cp) + " brings the next keys and values over " +
        tierText(context.tier(context.widestTier(GroupKind::cp))) + " later than attention over the present ones ends: " +
        numberText(1.0 * context.training.sequenceLength / context.layout.cp, Unit::count) + " tokens a rank are too few.";
    offer(finding, context.edits.shift(&Layout::cp, &Layout::dp));
    if (context.layout.tp * 2 <= context.innerSpan())
        offer(finding, context.edits.shift(&Layout::cp, &Layout::tp));
    offer(finding, context.edits.shift(&Layout::cp, &Layout::pp));
    out.push_back(std::move(finding));
}

void expert(const RuleContext& context, FindingList& out)
{
    const double share = context.shareOf(StepShare::ep);
    const Layout& l = context.layout;
    if (share < kExposed)
        return;
    const int widest = context.widestTier(GroupKind::ep);
    Finding finding = exposedFinding(context, FindingKind::exposedExpert, StepShare::ep, OpClass::epComm);
    finding.title = widest > 0 ? "Expert-parallel groups leave their " + context.tier(0).name + " domain: " + percentText(share) +
                                     " of the step is exposed ep communication"
                               : percentText(share) + " of the step is exposed ep communication";
    finding.reason = "Every layer of experts sends each token to " + std::to_string(context.scenario.model.numExpertsPerTok) +
                     " of them and back, in forward and backward, among " + ranksText(l.ep) + " over " +
                     tierText(context.tier(widest)) + (context.training.overlap.epComm ? "." : "; nothing runs beside it.");
    const std::string& kind = context.scenario.schedule.kind;
    if (!context.training.overlap.epComm && (kind == "1f1b" || kind == "interleaved-1f1b"))
        offer(finding, context.edits.turnOn("/training/overlap/ep_comm", "ep overlap"));
    if (l.etp > 1)
        offer(finding, Edits::set("/layout/etp", "1", "etp " + std::to_string(l.etp) + " → 1"));
    for (const int factor : {factorDownTo(l.ep, std::max(1, context.innerSpan() / std::max(1, l.etp))), 2}) {
        Layout smaller = l;
        if (factor > 1 && l.ep % factor == 0)
            smaller.ep /= factor;
        offer(finding, context.edits.layout(smaller));
    }
    out.push_back(std::move(finding));
}

void pipeline(const RuleContext& context, FindingList& out)
{
    constexpr double kExposedPipeline = 0.03;
    const double share = context.shareOf(StepShare::pp);
    if (share < kExposedPipeline)
        return;
    const ScheduleSettings& s = context.scenario.schedule;
    Finding finding = exposedFinding(context, FindingKind::exposedPipeline, StepShare::pp, OpClass::ppComm);
    finding.title = percentText(share) + " of the step is exposed pp communication";
    finding.reason =
        context.training.overlap.p2p
            ? "Stages wait for activations and gradients on their way" +
                  (s.virtualStages > 1 ? "; with " + std::to_string(s.virtualStages) + " chunks a rank they go round that often."
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
    const double share = context.shareOf(StepShare::dp);
    if (share < kExposed)
        return;
    const Layout& l = context.layout;
    const Overlap& overlap = context.training.overlap;
    Finding finding = exposedFinding(context, FindingKind::exposedData, StepShare::dp, OpClass::dpComm);
    finding.title = percentText(share) + " of the step is exposed dp communication";
    const std::string who = ranksText(l.dp * l.cp) + " over " + tierText(context.tier(context.widestTier(GroupKind::dp_cp)));
    if (!overlap.gradReduce) {
        finding.reason = "Gradients of " + who + " are reduced after the last backward pass, not beside it.";
        offer(finding, context.edits.turnOn("/training/overlap/grad_reduce", "overlap of gradient reduction"));
    } else if (l.zeroStage >= 3) {
        finding.reason = "ZeRO 3 gathers every layer's parameters from " + who +
                         " each time they are used, and kernels are too short to hide that.";
        offer(finding, context.edits.microBatch(context.training.microBatchSize * 2));
        for (const int stage : {2, 1})
            offer(finding, context.edits.zero(stage));
        if (l.dpShard == l.dp * l.cp && l.dpShard > context.innerSpan())
            offer(finding, context.edits.shardGroup(std::max(1, context.innerSpan() / std::max(1, l.tp))));
    } else {
        finding.reason =
            "What is left of the last backward pass is too short to hide the reduction of gradients among " + who + ".";
    }
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
    expert(context, out);
    pipeline(context, out);
    data(context, out);
}

} // namespace sim
