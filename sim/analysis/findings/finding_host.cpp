// What is offloaded: does the host have room for it, and what does it cost?
#include "sim/analysis/findings/finding_rules.h"
#include "sim/cost/cost.h"
#include "sim/memory_limit.h"
#include "sim/simulate/exposed_transfers.h"

#include <string>

namespace sim {
namespace {

constexpr double kLongWait = 0.05; // of the step
constexpr const char *kOptimizer = "/training/offload/optimizer", *kLayers = "/training/offload/activation_layers";

void offerLess(const RuleContext& context, Finding& finding)
{
    const Offload& offload = context.training.offload;
    const SuggestedEdit noLayers = Edits::set(kLayers, "0", "activations stay on the GPU");
    if (offload.activationLayers > 1) {
        const int half = offload.activationLayers / 2;
        offer(finding, Edits::set(kLayers, std::to_string(half),
                                  "offloaded layers " + std::to_string(offload.activationLayers) + " → " + std::to_string(half)));
    }
    if (offload.activationLayers > 0) {
        offer(finding, noLayers);
        if (context.training.recompute != Recompute::full)
            offer(finding, Edits::both(noLayers, context.edits.recompute(Recompute::full)));
    }
    if (offload.optimizer > 0)
        offer(finding, Edits::set(kOptimizer, "0", "the optimizer stays on the GPU"));
}

void hostFull(const RuleContext& context, FindingList& out)
{
    if (context.metrics.hostFits)
        return;
    const double used = context.metrics.hostMemoryGib * kBytesPerGib;
    const double has = context.scenario.cluster.host.memoryGib * kBytesPerGib;
    Finding finding{.kind = FindingKind::hostFull, .severity = FindingSeverity::broken};
    finding.title = "Does not fit the host: the GPUs of a node offload " + say(finding, ClaimOf::hostMemory, used, Unit::bytes) +
                    ", and it has " + say(finding, ClaimOf::hostHas, has, Unit::bytes);
    finding.reason = "Optimizer states stay there, and activations from a micro-batch's forward pass to its backward pass.";
    finding.show = {.pictures = {"memory"}};
    offerLess(context, finding);
    out.push_back(std::move(finding));
}

std::string waitedForText(Finding& finding, ClaimOf of, double seconds)
{
    return ", and " + say(finding, of, seconds, Unit::seconds) + " a step are waited for.";
}

std::string copiesText(const RuleContext& context, Finding& finding, double seconds)
{
    return std::string(
               context.training.offload.activationLayers > 0
                   ? "What a layer keeps leaves beside the layer behind it, and comes back beside that one's backward pass"
                   : "Gradients leave when they are all there, and parameters come back") +
           ": a GPU's link carries " +
           say(finding, ClaimOf::hostLink, CostModel(context.scenario).hostGBs(Stream::toHost), Unit::number) + " GB/s each way" +
           waitedForText(finding, ClaimOf::hostCopySeconds, seconds);
}

std::string workText(const RuleContext& context, Finding& finding, double seconds)
{
    return "The host updates the parameters whose optimizer states it has: its memory gives each GPU " +
           say(finding, ClaimOf::hostWorkRate, CostModel(context.scenario).hostGBs(Stream::host), Unit::number) + " GB/s" +
           waitedForText(finding, ClaimOf::hostWorkSeconds, seconds);
}

void hostExposed(const RuleContext& context, FindingList& out)
{
    const double share = context.shareOf(StepPart::host);
    if (share < kLongWait)
        return;
    Finding finding{.kind = FindingKind::exposedHost, .severity = severityOf(share), .stepShare = share};
    finding.title = say(finding, ClaimOf::exposedHostShare, share, percentText(share)) + " of the step waits for the host";
    double copies = 0, work = 0;
    for (const ExposedKind& kind : exposedKinds(context.simulation).ofHost)
        (kind.isHostsWork ? work : copies) += kind.seconds;
    constexpr double kMatters = 0.02; // of all that is waited for
    const double least = kMatters * (copies + work);
    const std::string ofCopies = copies >= least ? copiesText(context, finding, copies) : "",
                      ofWork = work >= least ? workText(context, finding, work) : "";
    const std::string& first = work > copies ? ofWork : ofCopies;
    const std::string& second = work > copies ? ofCopies : ofWork;
    finding.reason = first + (first.empty() || second.empty() ? "" : " ") + second;
    finding.show = {.pictures = {"timeline"}, .classes = {OpClass::hostTransfer}};
    offerLess(context, finding);
    out.push_back(std::move(finding));
}

} // namespace

void findHost(const RuleContext& context, FindingList& out)
{
    hostFull(context, out);
    hostExposed(context, out);
}

} // namespace sim
