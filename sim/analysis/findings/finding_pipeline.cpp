// Who waits for whom: the bubble, uneven stages, slow ranks, busy experts.
#include "sim/analysis/balanced_layers.h"
#include "sim/analysis/explain/closed_forms.h"
#include "sim/analysis/findings/finding_rules.h"
#include "sim/index.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace sim {
namespace {

constexpr double kLargeBubble = 0.05;  // of the step
constexpr double kUnevenStages = 0.05; // likewise: between the slowest stage and the mean
constexpr double kNoticeableWait = 0.01;

std::string sayExpertWait(const RuleContext& context, Finding& finding)
{
    return say(finding, ClaimOf::expertWait, context.metrics.expertWait, percentText(context.metrics.expertWait));
}

void offerSmallerBubble(const RuleContext& context, Finding& finding)
{
    const ScheduleSettings& s = context.scenario.schedule;
    const Layout& l = context.layout;
    const int layers = context.scenario.model.numHiddenLayers;
    const int microBatch = context.training.microBatchSize;
    if (microBatch > 1)
        offer(finding, context.edits.microBatch(microBatch / 2));
    if (s.kind == "1f1b" || s.kind == "gpipe") {
        if (layers >= 2 * l.pp)
            offer(finding, context.edits.schedule("interleaved-1f1b", 2));
        offer(finding, context.edits.schedule("zb-h1", 1));
        if (layers >= 2 * l.pp)
            offer(finding, context.edits.schedule("zb-v", 2));
    } else if (s.kind == "interleaved-1f1b") {
        if (layers >= 2 * s.virtualStages * l.pp)
            offer(finding, context.edits.schedule(s.kind, 2 * s.virtualStages));
        offer(finding, context.edits.schedule("interleaved-zb", s.virtualStages));
    }
    offer(finding, context.edits.globalBatch(context.training.globalBatchSize * 2));
    if (l.tp * 2 <= context.innerSpan())
        offer(finding, context.edits.shift(&Layout::pp, &Layout::tp));
}

/// Seconds by which the stage that computes longest exceeds the mean.
double lagOfSlowestStage(const RuleContext& context)
{
    double mean = 0, most = 0;
    for (const PipelineRankMetrics& row : context.metrics.perPipelineRank) {
        mean += row.busySeconds / static_cast<double>(context.metrics.perPipelineRank.size());
        most = std::max(most, row.busySeconds);
    }
    return most - mean;
}

/// "computes 1.20 times as long": what its groups wait for.
std::string slownessText(Finding& finding, const Perturbation& slow)
{
    return (slow.kind == PerturbationKind::slowGpu ? " computes " : "'s transfers take ") +
           say(finding, ClaimOf::slowFactor, slow.factor, numberText(slow.factor, Unit::number) + " times as long");
}

/// Who waits for a slow rank: its groups, the stages, or nobody.
std::string waitersText(const RuleContext& context, const Perturbation& slow)
{
    const int world = context.metrics.worldSize;
    if (world == 1)
        return "It is the only one: what it runs is the step.";
    const bool isPipeline = context.layout.pp > 1;
    if (context.layout.pp == world)
        return "Through the pipeline everybody waits for it.";
    return std::string("The ranks of its groups wait for ") +
           (slow.kind == PerturbationKind::slowGpu ? "it in every collective" : "what it sends in every collective") +
           (isPipeline ? ", and through the pipeline everybody does." : ".");
}

void bubble(const RuleContext& context, const std::optional<Slowness>& slowness, FindingList& out)
{
    const double share = context.shareOf(StepPart::bubble), ofStages = share - context.metrics.expertWait;
    const int p = context.layout.pp, m = context.scenario.microbatches();
    if (p < 2 || ofStages < kLargeBubble)
        return;
    Finding finding{.kind = FindingKind::bubble, .severity = severityOf(ofStages), .stepShare = ofStages};
    const std::optional<Slowness> straggler = stragglerWait(slowness, context.metrics);
    const bool oneIsSlow = straggler && straggler->worst.kind != PerturbationKind::jitter;
    const auto slow = [&] {
        return oneIsSlow ? "rank " + say(finding, ClaimOf::slowRank, straggler->worst.rank, Unit::count)
                         : "kernels that are late";
    };
    finding.title = say(finding, ClaimOf::bubbleShare, share, percentText(share)) + " of the step is bubble: ranks wait for " +
                    (!straggler                                ? "other stages"
                     : straggler->bubbleWithout < kLargeBubble ? slow()
                                                               : "other stages and for " + slow());
    finding.reason = say(finding, ClaimOf::microbatches, m, Unit::count) + (m == 1 ? " micro-batch runs" : " micro-batches run") +
                     " through " + say(finding, ClaimOf::pipelineRanks, p, Unit::count) + " pipeline ranks.";
    if (const auto form = bubbleForm(context.scenario))
        finding.reason +=
            " Equal stages without transfers would give " + say(finding, ClaimOf::idealBubble, form->share, form->text) + ".";
    if (context.metrics.expertWait >= kNoticeableWait) {
        finding.title += " and for the busiest experts";
        finding.reason += " For those experts they wait in " + sayExpertWait(context, finding) + " of the step.";
    }
    if (straggler) {
        finding.reason += " Without perturbations " +
                          say(finding, ClaimOf::bubbleWithout, straggler->bubbleWithout, percentText(straggler->bubbleWithout)) +
                          " would be bubble.";
        if (oneIsSlow)
            finding.reason += " Rank " + say(finding, ClaimOf::slowRank, straggler->worst.rank, Unit::count) +
                              slownessText(finding, straggler->worst) + ", and the others wait for it.";
    } else if (const auto uneven = unevenStages(context.metrics))
        finding.reason +=
            " These stages are not equal: pipeline rank " + say(finding, ClaimOf::slowestStage, uneven->slowest, Unit::count) +
            " computes " +
            say(finding, ClaimOf::stageLag, uneven->lag, percentText(uneven->lag) + " longer than the mean of all") + ".";
    if (const int slices = context.scenario.schedule.sequenceSlices; m * slices < p)
        finding.reason += " " +
                          say(finding, ClaimOf::microbatchesTooFew, p - m * slices,
                              std::string("Fewer ") + (slices > 1 ? "slices of them" : "micro-batches") + " than ranks") +
                          " never fill the pipeline.";
    finding.show = {.pictures = {"timeline"}, .longestWait = !oneIsSlow};
    if (oneIsSlow)
        finding.show.ranks = {straggler->worst.rank};
    if (straggler)
        offer(finding, Edits::erase("/perturbations", "without perturbations"));
    if (!straggler || straggler->bubbleWithout >= kLargeBubble)
        offerSmallerBubble(context, finding);
    out.push_back(std::move(finding));
}

void stageImbalance(const RuleContext& context, FindingList& out)
{
    const auto& rows = context.metrics.perPipelineRank;
    if (rows.size() < 2 || isSlowedDown(context.scenario))
        return;
    const auto slowest =
        std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.busySeconds < b.busySeconds; });
    const double share = lagOfSlowestStage(context) / context.step();
    if (share < kUnevenStages)
        return;
    const auto rank = static_cast<int>(slowest - rows.begin());
    const Schedule& schedule = context.simulation.schedule();
    const std::vector<int> stages = schedule.stagesOfRank(rank);
    const bool head = std::any_of(stages.begin(), stages.end(), [&](int stage) { return schedule.leavesAt(stage); });
    const std::vector<int> layers = layersOfRanks(context.scenario, schedule);
    const double lag = slowest->busySeconds / (slowest->busySeconds - lagOfSlowestStage(context)) - 1;
    Finding finding{.kind = FindingKind::stageImbalance, .severity = severityOf(share), .stepShare = share};
    finding.title = "Pipeline rank " + say(finding, ClaimOf::slowestStage, rank, Unit::count) + " computes " +
                    say(finding, ClaimOf::stageLag, lag, percentText(lag) + " longer than the mean of all");
    finding.reason = "It has " +
                     say(finding, ClaimOf::layersOfStage, layers[asIndex(rank)], countedText(layers[asIndex(rank)], "layer")) +
                     (head ? " and the output head over " +
                                 say(finding, ClaimOf::vocabulary, context.scenario.model.vocabSize, Unit::count) + " words"
                           : std::string()) +
                     "; a pipeline rank has " +
                     say(finding, ClaimOf::meanLayers,
                         std::accumulate(layers.begin(), layers.end(), 0.0) / static_cast<double>(layers.size()), Unit::number) +
                     " layers on average. The others wait for it.";
    finding.show = {.pictures = {"timeline"}, .ranks = context.ranksOfPipelineRank(rank)};
    if (const auto balanced = balancedLayers(context.simulation))
        offer(finding, context.edits.layersPerStage(*balanced));
    if (schedule.virtualStages == 1 && context.scenario.schedule.kind == "1f1b" &&
        context.scenario.model.numHiddenLayers >= 2 * context.layout.pp)
        offer(finding, context.edits.schedule("interleaved-1f1b", 2));
    out.push_back(std::move(finding));
}

/// What perturbations cost is found by leaving them out.
void slowRanks(const RuleContext& context, const Slowness& slowness, FindingList& out)
{
    const double share = 1 - slowness.secondsWithout / context.step();
    if (share < kNoticeableWait)
        return;
    const Perturbation& worst = slowness.worst;
    Finding finding{.kind = FindingKind::slowRank, .severity = severityOf(share), .stepShare = share};
    if (worst.kind == PerturbationKind::jitter) {
        finding.title = "Jitter of kernels costs " + say(finding, ClaimOf::timeSaved, share, percentText(share)) + " of the step";
        finding.reason = "Whoever is late in a collective makes its whole group wait.";
    } else {
        finding.title = "Rank " + say(finding, ClaimOf::slowRank, worst.rank, Unit::count) + slownessText(finding, worst) +
                        (slowness.isAlone ? ": " : ", and it is not alone: ") +
                        say(finding, ClaimOf::timeSaved, share, percentText(share)) + " of the step";
        finding.reason = waitersText(context, worst);
        finding.show.ranks = {worst.rank};
    }
    finding.show.pictures = {"timeline", "grid"};
    offer(finding, Edits::erase("/perturbations", "without perturbations"));
    out.push_back(std::move(finding));
}

/// The router sends some experts more tokens than others.
void unevenRouting(const RuleContext& context, FindingList& out)
{
    const double share = context.metrics.expertWait;
    if (share < kNoticeableWait)
        return;
    Layout smaller = context.layout;
    const double over = context.training.moe.imbalanceOver(smaller.ep);
    Finding finding{.kind = FindingKind::unevenRouting, .severity = severityOf(share), .stepShare = share};
    finding.title = "In " + sayExpertWait(context, finding) + " of the step ranks wait for the busiest experts";
    finding.reason = "Of the " + say(finding, ClaimOf::groupRanks, smaller.ep, countedText(smaller.ep, "rank")) +
                     " of an ep group the busiest gets " +
                     say(finding, ClaimOf::busiestTokens, over, numberText(over, Unit::number) + " times") +
                     " the mean's tokens (training.moe.imbalance); the others wait for it wherever tokens go back.";
    finding.show = {.pictures = {"timeline"}, .classes = {OpClass::epComm}};
    offer(finding, Edits::set("/training/moe/imbalance", "1", "tokens routed evenly"));
    if (smaller.ep % 2 == 0) {
        smaller.ep /= 2;
        offer(finding, context.edits.layout(smaller));
    }
    out.push_back(std::move(finding));
}

} // namespace

void findPipeline(const RuleContext& context, FindingList& out)
{
    const std::optional<Slowness>& slowness = context.simulation.slowness();
    bubble(context, slowness, out);
    stageImbalance(context, out);
    if (slowness)
        slowRanks(context, *slowness, out);
    unevenRouting(context, out);
}

} // namespace sim
