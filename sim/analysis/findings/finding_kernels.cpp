// What the GPUs do while they compute, and those that do not.
#include "sim/analysis/findings/finding_rules.h"
#include "sim/engine/documents.h"
#include "sim/memory_limit.h"
#include "sim/model/flops.h"
#include "sim/model/operators.h"
#include "sim/program/states.h"
#include "sim/scenario/words.h"
#include "sim/schedule/families/families.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sim {
namespace {

/// What keeps kernels from the GPU's peak: seconds of a step beyond what their FLOPs take at it. Recomputation does as the rest.
struct BelowPeak {
    double products = 0, attention = 0;
    double withoutFlops = 0; ///< all that such kernels take
};

BelowPeak belowPeak(const RuleContext& context)
{
    const Training& t = context.training;
    const double share = attentionFlopsShare(context.scenario);
    const double peak = context.scenario.cluster.gpu.peakTflops.at(t.precision) * 1e12 * context.metrics.worldSize;
    const ForwardFlops forward = forwardFlopsPerToken(context.scenario.model, t.sequenceLength);
    const double attention = 3 * share * (t.causal ? forward.attentionCausal : forward.attentionFull) *
                             static_cast<double>(t.globalBatchSize) * t.sequenceLength / peak;
    const ComputingSeconds& c = context.metrics.computing;
    return {.products = c.gemm - (stepFlops(context.scenario, share).modelCausal / peak - attention),
            .attention = c.attention - attention,
            .withoutFlops = c.other + c.optimizer};
}

/// Rows of the products, against those of a product that reaches what products can.
std::string smallProductsText(const RuleContext& context, Finding& finding)
{
    const Sharding sharding = Sharding::of(context.scenario);
    const Model& model = context.scenario.model;
    const Efficiency& efficiency = context.scenario.cluster.efficiency;
    const bool narrow = isNarrow(context.training.precision);
    const double best = efficiency.gemm * context.training.stack.gemm * (narrow ? efficiency.fp8Gemm : 1); // as priced
    std::string text = "Matrix products of any size one could wish for reach " +
                       say(finding, ClaimOf::gemmEfficiency, best, percentText(best)) + (narrow ? " in so few bits" : "") +
                       ". Here one has " +
                       say(finding, ClaimOf::rowsOfProduct, static_cast<double>(sharding.tokens()), Unit::count) +
                       " rows (tokens of a micro-batch on a rank), ";
    if (model.numExperts > 0) {
        const double rows = 1.0 * static_cast<double>(sharding.routedTokens()) * model.numExpertsPerTok * sharding.etp *
                            sharding.ep / model.numExperts;
        text += "an expert's " + say(finding, ClaimOf::rowsOfExpert, rows, Unit::number) + " on average, ";
    }
    return text + "and a hidden size of " + say(finding, ClaimOf::hiddenSize, model.hiddenSize, Unit::count) +
           (sharding.tp > 1 ? " is cut by tp " + say(finding, ClaimOf::tensorRanks, sharding.tp, Unit::count) : std::string()) +
           ".";
}

/// "36.1 % of the time of kernels goes to norms, …: they do no FLOPs"
std::string withoutFlopsText(const RuleContext& context, Finding& finding)
{
    const ComputingSeconds& c = context.metrics.computing;
    const double share = (c.other + c.optimizer) / (c.gemm + c.attention + c.other + c.optimizer);
    return say(finding, ClaimOf::timeWithoutFlops, share, percentText(share)) +
           " of the time of kernels goes to norms, activations, " +
           (context.scenario.model.numExperts > 0 ? "the permutation of tokens to their experts and back, " : "") +
           "the loss, the optimizer and the like: they do no FLOPs, and wait for memory" +
           (c.recompute > 0 ? " (recomputation left aside)." : ".");
}

std::string slowAttentionText(const RuleContext& context, Finding& finding)
{
    const ComputingSeconds& c = context.metrics.computing;
    const double share = c.attention / (c.gemm + c.attention + c.other + c.optimizer);
    return "It is attention that keeps them from it: " + say(finding, ClaimOf::timeOfAttention, share, percentText(share)) +
           " of the time of kernels" + (c.recompute > 0 ? " (recomputation left aside)." : ".");
}

void kernels(const RuleContext& context, FindingList& out)
{
    const Training& t = context.training;
    const double reached =
        (context.seconds[StepPart::modelFlops] + context.seconds[StepPart::recomputedFlops]) / context.seconds.busy();
    const double best = context.scenario.cluster.efficiency.gemm;
    // Under fp8 only matrix products run at its peak; published runs reach 0.34 to 0.44 of it where bf16 reaches 0.44 to 0.56.
    const double expected = best * (t.precision == Precision::fp8 ? 0.35 : 0.5);
    if (reached >= expected)
        return;
    Finding finding{
        .kind = FindingKind::smallKernels, .severity = FindingSeverity::hint, .stepShare = context.shareOf(StepPart::belowPeak)};
    finding.title = "Kernels reach " + say(finding, ClaimOf::shareOfPeak, reached, percentText(reached)) +
                    " of the GPU's peak while they run";
    const BelowPeak lost = belowPeak(context);
    const bool isProducts = lost.products >= std::max(lost.attention, lost.withoutFlops);
    finding.reason = isProducts                            ? smallProductsText(context, finding)
                     : lost.attention >= lost.withoutFlops ? slowAttentionText(context, finding)
                                                           : withoutFlopsText(context, finding);
    finding.show = {.pictures = {"timeline"}};
    offer(finding, context.edits.microBatch(t.microBatchSize * 2)); // rows for products
    if (!t.flashAttention)
        offer(finding, context.edits.fuseAttention());
    offer(finding, context.edits.shift(&Layout::tp, &Layout::dp));
    offer(finding, context.edits.shift(&Layout::tp, &Layout::pp));
    offer(finding, context.edits.shift(&Layout::cp, &Layout::dp));
    out.push_back(std::move(finding));
}

/// What a step would be with less recomputation.
struct LessRecomputation {
    std::string title; ///< up to how much time it saves
    SuggestedEdit edit;
    Metrics metrics;
    bool isOfHalf = false; ///< the micro-batch
    double share(const RuleContext& context) const { return 1 - metrics.stepTimeSeconds / context.step(); }
};

Finding needlessRecomputation(const RuleContext& context, const LessRecomputation& less)
{
    const double share = less.share(context);
    Finding finding{.kind = FindingKind::needlessRecompute, .severity = severityOf(share), .stepShare = share};
    finding.title = less.title + " the step takes " + say(finding, ClaimOf::timeSaved, share, percentText(share) + " less");
    finding.reason = "The peak would be " +
                     say(finding, ClaimOf::peakWithout, less.metrics.peakMemoryGib * 1073741824.0, Unit::bytes) + " of " +
                     say(finding, ClaimOf::capacityBytes, context.capacityBytes(), Unit::bytes) + "; it is " +
                     say(finding, ClaimOf::peakBytes, context.metrics.peakMemoryGib * 1073741824.0, Unit::bytes) + ".";
    finding.show = {.pictures = {"timeline", "memory"}, .classes = {OpClass::recompute}};
    offer(finding, less.edit);
    return finding;
}

constexpr double kLeastSaving = 0.01;

/// A fused kernel keeps no scores: running it again takes time, whether the step fits or not, and frees a number a query and
/// head.
bool fusedCore(const RuleContext& context, FindingList& out)
{
    if (!context.training.recomputes(RecomputeModule::coreAttention) || !context.training.flashAttention)
        return false;
    Scenario scenario = context.scenario;
    RecomputeModules& modules = scenario.training.recomputeModules;
    modules.remove(RecomputeModule::coreAttention);
    const SuggestedEdit edit = context.edits.recompute(modules);
    if (modules.empty())
        scenario.training.recompute = Recompute::none;
    const Metrics without = simulate(scenario)->metrics();
    constexpr double kSame = 1.005;
    if (without.peakMemoryGib > kSame * context.metrics.peakMemoryGib ||
        1 - without.stepTimeSeconds / context.step() < kLeastSaving)
        return false;
    out.push_back(needlessRecomputation(
        context, {"Recomputing fused attention frees hardly anything, since it keeps no scores: without it", edit, without}));
    return true;
}

constexpr double kRoom = 0.95;

/// What fits with the least of it: none at all, or selective, where that is less than what the scenario has.
std::optional<LessRecomputation> lighterKind(const RuleContext& context, Scenario scenario)
{
    const Recompute now = context.training.recompute;
    for (const Recompute less : {Recompute::none, Recompute::selective}) {
        if (less == now)
            break;
        scenario.training.recompute = less;
        scenario.training.recomputeLayers = 0;
        const std::optional<Metrics> without = context.with(scenario);
        if (!without || without->peakMemoryGib > kRoom * scenario.cluster.gpu.memoryGib)
            continue;
        LessRecomputation out{.title = {}, .edit = context.edits.recompute(less), .metrics = *without};
        if (out.share(context) < kLeastSaving)
            continue;
        const bool isByOperators = scenario.training.recomputeModules.has(RecomputeModule::operators);
        out.title = less == Recompute::none ? "Recomputation is not needed: without it"
                    : isByOperators ? "Recomputing whole layers is not needed: with attention and every other product kept"
                                    : "Recomputing whole layers is not needed: with attention alone";
        return out;
    }
    return std::nullopt;
}

/// Only so many layers again as have to be.
std::optional<LessRecomputation> fewerLayers(const RuleContext& context, const Scenario& scenario)
{
    if (context.training.recompute != Recompute::full)
        return std::nullopt;
    const auto fewest = fewestRecomputed(context, scenario, kRoom * scenario.cluster.gpu.memoryGib * kBytesPerGib);
    if (!fewest)
        return std::nullopt;
    LessRecomputation out{.title = recomputesEveryLayer(context.scenario)
                                       ? "Recomputing every layer is not needed: with those kept that have room"
                                       : "Recomputing so many layers is not needed: with those kept that have room",
                          .edit = context.edits.recomputeLayers(fewest->layers),
                          .metrics = fewest->metrics};
    return out.share(context) >= kLeastSaving ? std::optional(out) : std::nullopt;
}

/// Would less recomputation fit, of the micro-batch as it is or of half of it? Asked of the simulator, since activations depend
/// on the schedule.
void recomputation(const RuleContext& context, FindingList& out)
{
    if (fusedCore(context, out) || context.training.recompute == Recompute::none || !context.metrics.fits)
        return;
    std::vector<LessRecomputation> ways;
    if (auto lighter = lighterKind(context, context.scenario)) {
        if (lighter->edit == context.edits.recompute(Recompute::none)) { // nothing less
            out.push_back(needlessRecomputation(context, *lighter));
            return;
        }
        ways.push_back(std::move(*lighter));
    }
    if (auto fewer = fewerLayers(context, context.scenario))
        ways.push_back(std::move(*fewer));
    const int half = context.training.microBatchSize / 2;
    if (half > 0 && context.training.microBatchSize % 2 == 0 && !scheduleFamily(context.scenario.schedule.kind).isWrittenOut) {
        Scenario smaller = context.scenario;
        smaller.training.microBatchSize = half;
        for (auto way : {lighterKind(context, smaller), fewerLayers(context, smaller)})
            if (way) {
                way->title = "With half the micro-batch less has to be recomputed:";
                way->isOfHalf = true;
                way->edit = Edits::both(context.edits.microBatch(half), way->edit);
                ways.push_back(std::move(*way));
            }
    }
    if (ways.empty())
        return;
    // What needs no other micro-batch is told first, however fast half of it is: it is needless as the job is.
    std::stable_sort(ways.begin(), ways.end(), [](const LessRecomputation& a, const LessRecomputation& b) {
        return std::pair(a.isOfHalf, a.metrics.stepTimeSeconds) < std::pair(b.isOfHalf, b.metrics.stepTimeSeconds);
    });
    Finding finding = needlessRecomputation(context, ways.front());
    if (ways.front().isOfHalf) // as it is, what is recomputed is needed
        finding.severity = FindingSeverity::hint;
    for (std::size_t i = 1; i < ways.size(); ++i)
        offer(finding, ways[i].edit);
    out.push_back(std::move(finding));
}

/// Where parameters are kept in fp32, as they all were, once kernels compute in 16 bits.
std::string wideCopyText(const RuleContext& context, Precision half)
{
    Training then = context.training;
    then.precision = half;
    const StateBytes states = StateBytes::of(then);
    const bool isLora = context.scenario.model.lora.isOn();
    const std::string trained = isLora ? "Adapters" : "Parameters";
    return (states.hasMaster                     ? trained + " keep their fp32 copy in the optimizer"
            : states.parameter > states.computed ? trained + " themselves stay in fp32"
                                                 : trained + " have no fp32 copy: master weights are off") +
           (isLora ? ", frozen weights have none" : "");
}

/// A format of 16 bits that the GPU multiplies in: bf16, or fp16 where it has no other, as V100 and T4.
void precision(const RuleContext& context, FindingList& out)
{
    const auto& peaks = context.scenario.cluster.gpu.peakTflops;
    const bool hasBf16 = peaks.contains(Precision::bf16);
    const auto half = peaks.find(hasBf16 ? Precision::bf16 : Precision::fp16);
    if (half == peaks.end())
        return;
    const std::string word(toWord(kPrecisionWords, half->first));
    const double faster = half->second / peaks.at(context.training.precision);
    if (faster < 2)
        return;
    Finding finding{.kind = FindingKind::slowPrecision, .severity = FindingSeverity::hint, .stepShare = 1 - 1 / faster};
    finding.title = word + " has " + say(finding, ClaimOf::peakOfHalf, faster, Unit::number) + " times the peak of " +
                    std::string(toWord(kPrecisionWords, context.training.precision));
    finding.reason = wideCopyText(context, half->first) + (hasBf16 ? "." : "; small gradients need the loss to be scaled.");
    finding.show = {.pictures = {"timeline"}};
    offer(finding, Edits::set("/training/precision", "\"" + word + "\"", "precision → " + word));
    out.push_back(std::move(finding));
}

/// By what dp can grow, `most` at most, so that the batch still divides and leaves each pipeline a micro-batch for every stage.
/// Where it does not divide all of it: legal, and kept, only where the file gives no batch, which then grows with dp.
int timesAsManyReplicas(const RuleContext& context, int most)
{
    const auto microbatches = context.training.globalBatchSize / (context.layout.dp * context.training.microBatchSize);
    int times = most;
    while (times > 1 && (microbatches % times != 0 || microbatches / times < context.layout.pp))
        --times;
    return times == 1 && microbatches % most != 0 ? most : times;
}

void idle(const RuleContext& context, FindingList& out)
{
    const Cluster& cluster = context.scenario.cluster;
    const int world = context.metrics.worldSize, gpus = cluster.gpus();
    const int idleGpus = gpus - world;
    if (idleGpus < std::max(1, cluster.gpusPerNode))
        return;
    Finding finding{.kind = FindingKind::idleGpus, .severity = FindingSeverity::hint};
    finding.title = say(finding, ClaimOf::idleGpus, idleGpus, Unit::count) + " of " +
                    say(finding, ClaimOf::clusterGpus, gpus, Unit::count) + " GPUs have nothing to do";
    finding.reason = "The layout has " + say(finding, ClaimOf::worldSize, world, countedText(world, "rank")) + ".";
    finding.show = {.pictures = {"grid"}};
    if (const int times = timesAsManyReplicas(context, gpus / world); times > 1) {
        Layout more = context.layout;
        more.dp *= times;
        offer(finding, context.edits.layout(more));
    }
    const int needed = (world + cluster.gpusPerNode - 1) / cluster.gpusPerNode;
    offer(finding, Edits::set("/cluster/nodes", std::to_string(needed),
                              "nodes " + std::to_string(cluster.nodes) + " → " + std::to_string(needed)));
    out.push_back(std::move(finding));
}

} // namespace

std::optional<FewestRecomputed> fewestRecomputed(const RuleContext& context, Scenario scenario, double bytes)
{
    constexpr int kMostTries = 3; // memory is nearly linear in them: the last of these is the fewest, or near it
    const std::vector<int>& chunks = scenario.schedule.layersPerStage;
    const int all = chunks.empty() ? 0 : *std::max_element(chunks.begin(), chunks.end());
    const auto of = [&](int layers) {
        scenario.training.recompute = layers == 0 ? Recompute::none : Recompute::full;
        scenario.training.recomputeLayers = layers;
        return context.with(scenario);
    };
    const auto bytesOf = [](const Metrics& metrics) { return metrics.peakMemoryGib * kBytesPerGib; };
    const bool isSearched = scheduleFamily(scenario.schedule.kind).isSearched; // each step takes a search there
    const std::optional<Metrics> without = all > 1 && !isSearched ? of(0) : std::nullopt;
    if (!without || bytesOf(*without) <= bytes)
        return std::nullopt;
    std::optional<Metrics> most = of(all);
    if (!most || bytesOf(*most) > bytes)
        return std::nullopt;
    int few = 0, enough = all;
    double fewBytes = bytesOf(*without);
    for (int i = 0; i < kMostTries && enough - few > 1; ++i) {
        const double part = (fewBytes - bytes) / std::max(1.0, fewBytes - bytesOf(*most));
        const int layers = std::clamp(few + static_cast<int>(std::ceil(part * (enough - few))), few + 1, enough - 1);
        std::optional<Metrics> tried = of(layers);
        if (!tried)
            return std::nullopt;
        if (bytesOf(*tried) <= bytes) {
            enough = layers;
            most = std::move(tried);
        } else {
            few = layers;
            fewBytes = bytesOf(*tried);
        }
    }
    if (enough == all)
        return std::nullopt;
    return FewestRecomputed{enough, *std::move(most)};
}

void findKernels(const RuleContext& context, FindingList& out)
{
    kernels(context, out);
    recomputation(context, out);
    precision(context, out);
    idle(context, out);
}

} // namespace sim
