// What the host does: its launches, and what is offloaded to it. Does it have room for that, and what does it cost?
#include "sim/analysis/findings/finding_rules.h"
#include "sim/cost/cost.h"
#include "sim/memory_limit.h"
#include "sim/program/states.h"
#include "sim/simulate/exposed_transfers.h"
#include "sim/text/beside_limit.h"

#include <algorithm>
#include <array>
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
    const BesideLimit beside(used, has, Unit::bytes);
    finding.title = "Does not fit the host: the GPUs of a node offload " +
                    say(finding, ClaimOf::hostMemory, used, beside.need()) + ", and it has " +
                    say(finding, ClaimOf::hostHas, has, beside.limit());
    finding.reason = std::string("Optimizer states ") + (gradientsOnHost(context.scenario) > 0 ? "and gradients " : "") +
                     "stay there, and activations from a micro-batch's forward pass to its backward pass.";
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

std::string launchText(const RuleContext& context, Finding& finding, double seconds)
{
    constexpr double kSecondsOfUs = 1e-6;
    const Stack& stack = context.training.stack;
    const bool isOneByOne = stack.expertLaunchUs > 0 && context.scenario.model.numExperts > 0;
    return "The host launches a kernel in " + say(finding, ClaimOf::kernelLaunch, stack.launchUs * kSecondsOfUs, Unit::seconds) +
           " on the way forward" +
           (isOneByOne ? ", and experts one by one, in " +
                             say(finding, ClaimOf::expertLaunch, stack.expertLaunchUs * kSecondsOfUs, Unit::seconds) + " each"
                       : "") +
           "; the GPU waits wherever a kernel ends before the next one is launched" +
           waitedForText(finding, ClaimOf::launchSeconds, seconds);
}

std::string hostStepText(const RuleContext& context, Finding& finding, double seconds)
{
    constexpr double kSecondsOfMs = 1e-3;
    return "Once a step the host works for " +
           say(finding, ClaimOf::hostStep, context.training.stack.stepMs * kSecondsOfMs, Unit::seconds) +
           " before it launches the optimizer, however large the kernels and the batch are" +
           waitedForText(finding, ClaimOf::hostStepSeconds, seconds);
}

/// Fewer and larger kernels.
void offerFewerLaunches(const RuleContext& context, Finding& finding)
{
    offer(finding, context.edits.microBatch(context.training.microBatchSize * 2));
    offer(finding, context.edits.shift(&Layout::tp, &Layout::dp));
}

void hostExposed(const RuleContext& context, FindingList& out)
{
    const double share = context.shareOf(StepPart::host);
    if (share < kLongWait)
        return;
    Finding finding{.kind = FindingKind::exposedHost, .severity = severityOf(share), .stepShare = share};
    finding.title = say(finding, ClaimOf::exposedHostShare, share, percentText(share)) + " of the step waits for the host";
    double launches = 0, hostStep = 0, copies = 0, work = 0;
    for (const ExposedKind& kind : exposedKinds(context.simulation).ofHost)
        (kind.op == kLaunches ? launches : kind.op == kHostStep ? hostStep : kind.isHostsWork ? work : copies) += kind.seconds;
    constexpr double kMatters = 0.02; // of all that is waited for
    struct Part {
        double seconds;
        std::string (*text)(const RuleContext&, Finding&, double);
    };
    std::array<Part, 4> parts{{{copies, copiesText}, {work, workText}, {launches, launchText}, {hostStep, hostStepText}}};
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.seconds > b.seconds; });
    for (const Part& part : parts)
        if (part.seconds > 0 && part.seconds >= kMatters * (launches + hostStep + copies + work))
            finding.reason += (finding.reason.empty() ? "" : " ") + part.text(context, finding, part.seconds);
    finding.show = {.pictures = {"timeline"}};
    if (copies + work > 0)
        finding.show.classes = {OpClass::hostTransfer};
    if (launches > hostStep + copies + work)
        offerFewerLaunches(context, finding);
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
