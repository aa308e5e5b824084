// Does it fit, how full is it, and what fills it?
#include "sim/analysis/balanced_layers.h"
#include "sim/analysis/collective_uses.h"
#include "sim/analysis/explain/explain.h"
#include "sim/analysis/findings/finding_rules.h"
#include "sim/cost/all_reduce.h"
#include "sim/index.h"
#include "sim/memory_limit.h"
#include "sim/program/states.h"
#include "sim/scenario/head_exchange.h"
#include "sim/simulate/memory_cap.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/simulate/search_schedule.h"
#include "sim/text/beside_limit.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

namespace sim {
namespace {

constexpr double kNearlyFull = 1 - kAllocatorReserve - 0.01;
double toDouble(std::int64_t bytes)
{
    return static_cast<double>(bytes);
}

struct Fullest {
    int rank = 0, pipelineRank = 0;
    MemoryBreakdown memory;
    double bytes() const { return toDouble(memory.total()); }
    double states() const { return toDouble(memory.parameters + memory.gradients + memory.optimizer); }
};

Fullest fullest(const RuleContext& context)
{
    const int rank = fullestRank(context.simulation);
    return {rank, context.simulation.mesh().coordinates(rank).pp,
            context.simulation.memoryOfClass(context.simulation.classOf(rank))};
}

/// "Optimizer states are the largest part, 38.2 GiB (48.0 %)."
std::string largestPart(Finding& finding, const MemoryBreakdown& m)
{
    const std::array<std::pair<const char*, std::int64_t>, 5> parts{{{"Parameters", m.parameters},
                                                                     {"Gradients", m.gradients},
                                                                     {"Optimizer states", m.optimizer},
                                                                     {"Activations", m.activations},
                                                                     {"Buffers", m.buffers}}};
    const auto& [name, bytes] =
        *std::max_element(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.second < b.second; });
    return std::string(name) + " are " +
           say(finding, ClaimOf::largestPartBytes, toDouble(bytes), "the largest part, " + gibText(bytes)) + " (" +
           say(finding, ClaimOf::largestPartShare, toDouble(bytes) / toDouble(m.total()),
               percentText(toDouble(bytes) / toDouble(m.total()))) +
           ").";
}

/// The switches between data-parallel ranks add gradients.
bool reduces(const RuleContext& context)
{
    const std::vector<int> members = context.simulation.mesh().members(ProcessGroup::dp_cp, 0);
    return allReduceRoute(context.simulation.placement().shape(members), context.scenario.cluster).inNetwork;
}

/// Less to hold from step to step.
std::vector<SuggestedEdit> stateSuggestions(const RuleContext& context)
{
    const Layout& l = context.layout;
    Finding out;
    const bool replicas = l.dp * l.cp > 1;
    offer(out, context.edits.narrowParameters());
    if (replicas && l.zeroStage == 0)
        offer(out, context.edits.zero(1));
    if (replicas && l.zeroStage < 3 && l.pp == 1)
        offer(out, context.edits.zero(3));
    if (replicas && l.zeroStage < 2)
        offer(out, context.edits.zero(2));
    if (addsUpWhole(context.scenario) && l.pp == 1 && context.scenario.microbatches() > 1)
        offer(out, Edits::set("/layout/reduce_each_microbatch", "true", "gradients reduced with each micro-batch"));
    if (context.scenario.model.numExperts > l.ep)
        offer(out, context.edits.layout([&] {
            Layout more = l;
            more.ep *= 2;
            return more;
        }()));
    offer(out, context.edits.shift(&Layout::dp, &Layout::pp));
    if (l.tp * 2 <= context.innerSpan())
        offer(out, context.edits.shift(&Layout::dp, &Layout::tp));
    if (context.training.offload.optimizer < 1)
        offer(out, Edits::set("/training/offload/optimizer", "1", "optimizer states in the host's memory"));
    return out.suggestions;
}

/// Less to keep from forward to backward.
std::vector<SuggestedEdit> activationSuggestions(const RuleContext& context, bool isOfHead)
{
    const Layout& l = context.layout;
    const Training& t = context.training;
    Finding out;
    if (!t.flashAttention)
        offer(out, context.edits.fuseAttention());
    if (isOfHead)
        offer(out, context.edits.lossInChunks());
    if (t.recompute == Recompute::none && !t.recomputeModules.has(RecomputeModule::operators)) // else whole layers, or nothing
        offer(out, context.edits.recompute(RecomputeModules{RecomputeModule::layernorm}));
    if (l.tp > 1 && !l.sequenceParallel)
        offer(out, context.edits.turnOn("/layout/sequence_parallel", "sequence parallelism"));
    if (t.microBatchSize > 1)
        offer(out, context.edits.microBatch(t.microBatchSize / 2));
    if (context.scenario.schedule.kind == "gpipe")
        offer(out, context.edits.schedule("1f1b", 1));
    if (t.recompute == Recompute::none && (!t.flashAttention || t.recomputeModules.has(RecomputeModule::operators)))
        offer(out, context.edits.recompute(Recompute::selective));
    if (!recomputesEveryLayer(context.scenario)) {
        const int now = t.recompute == Recompute::full ? t.recomputeLayers : 0;
        if (const auto fewest = fewestRecomputed(context, context.scenario, kNearlyFull * context.capacityBytes());
            fewest && fewest->layers > now)
            offer(out, context.edits.recomputeLayers(fewest->layers));
        offer(out, context.edits.recompute(Recompute::full));
    }
    offer(out, context.edits.shift(&Layout::dp, &Layout::cp));
    return out.suggestions;
}

/// Of edits the first that frees memory by itself, and whether that is enough.
struct Freeing {
    const SuggestedEdit* edit = nullptr;
    bool isEnough = false;
};
Freeing firstFreeing(const RuleContext& context, const std::vector<SuggestedEdit>& edits)
{
    if (scheduleFamily(context.scenario.schedule.kind).isSearched) // each step takes a search there
        return {};
    for (const SuggestedEdit& edit : edits)
        if (const std::optional<Metrics> changed = context.with(edit); changed && context.frees(*changed))
            return {&edit, changed->peakMemoryGib * kBytesPerGib <= kNearlyFull * context.capacityBytes()};
    return {};
}

bool makesLogits(const RuleContext& context, int pipelineRank)
{
    const Schedule& schedule = context.simulation.schedule();
    const std::vector<int> stages = schedule.stagesOfRank(pipelineRank);
    return std::any_of(stages.begin(), stages.end(), [&](int stage) { return schedule.leavesAt(stage); });
}

/// What fills most first; then one of each together, where each frees and neither is enough.
void offerMemory(const RuleContext& context, const Fullest& full, Finding& finding)
{
    if (!context.offersMemory)
        return;
    std::vector<SuggestedEdit> states = stateSuggestions(context),
                               activations = activationSuggestions(context, makesLogits(context, full.pipelineRank));
    const bool statesFirst = full.states() >= toDouble(full.memory.activations);
    std::optional<SuggestedEdit> together;
    if (const Freeing ofStates = firstFreeing(context, states); ofStates.edit != nullptr && !ofStates.isEnough)
        if (const Freeing ofActivations = firstFreeing(context, activations);
            ofActivations.edit != nullptr && !ofActivations.isEnough)
            together = Edits::both(*ofStates.edit, *ofActivations.edit);
    std::vector<SuggestedEdit>& first = statesFirst ? states : activations;
    std::vector<SuggestedEdit>& second = statesFirst ? activations : states;
    for (std::size_t i = 0; i < first.size() && i < 3; ++i)
        offer(finding, first[i]);
    for (std::size_t i = 0; i < second.size() && i < 2; ++i)
        offer(finding, second[i]);
    offer(finding, together);
    for (std::size_t i = 3; i < first.size(); ++i)
        offer(finding, first[i]);
}

void fits(const RuleContext& context, const Fullest& full, FindingList& out)
{
    const double capacity = context.capacityBytes(), used = full.bytes();
    if (used <= kNearlyFull * capacity)
        return;
    Finding finding;
    finding.memoryShare = used / capacity;
    finding.show = {.pictures = {"memory", "timeline"}, .ranks = {full.rank}};
    const BesideLimit beside(used, capacity, Unit::bytes);
    const std::string has = say(finding, ClaimOf::peakBytes, used, beside.need()) + " of " +
                            say(finding, ClaimOf::capacityBytes, capacity, beside.limit());
    const std::string rank = "rank " + say(finding, ClaimOf::fullestRank, full.rank, Unit::count);
    if (used > capacity) {
        std::int64_t over = 0;
        for (int c = 0; c < context.simulation.classCount(); ++c)
            if (toDouble(context.simulation.memoryOfClass(c).total()) > capacity)
                over += context.simulation.classSize(c);
        finding.kind = FindingKind::doesNotFit;
        finding.severity = FindingSeverity::broken;
        finding.title =
            "Does not fit: " + rank + " needs " + has + ", " +
            say(finding, ClaimOf::bytesTooMuch, used - capacity, numberText(used - capacity, Unit::bytes) + " too much");
        finding.reason = largestPart(finding, full.memory) + " " +
                         (over == context.metrics.worldSize
                              ? "No rank fits."
                              : say(finding, ClaimOf::ranksTooFull, static_cast<double>(over), countedText(over, "rank")) +
                                    " of " + say(finding, ClaimOf::worldSize, context.metrics.worldSize, Unit::count) +
                                    (over == 1 ? " does not fit." : " do not fit."));
    } else {
        finding.kind = FindingKind::nearlyFull;
        // With what the allocator keeps it runs out.
        finding.severity = used * (1 + kAllocatorReserve) > capacity ? FindingSeverity::costly : FindingSeverity::hint;
        finding.title = "Nearly full: " + rank + " holds " + has + ", " +
                        say(finding, ClaimOf::bytesLeft, capacity - used, Unit::bytes) + " are left";
        finding.reason = "Caching allocators reserve " +
                         say(finding, ClaimOf::allocatorReserve, kAllocatorReserve,
                             "about " + numberText(kAllocatorReserve, Unit::fraction, 1) + " more than is allocated") +
                         ", and this leaves " +
                         say(finding, ClaimOf::shareLeft, 1 - used / capacity, percentText(1 - used / capacity)) + ". " +
                         largestPart(finding, full.memory);
    }
    offerMemory(context, full, finding);
    out.push_back(std::move(finding));
}

/// `auto` was asked for less than its order needs; of what fits the GPU (else that is what there is to say).
void capMissed(const RuleContext& context, const Fullest& full, FindingList& out)
{
    const std::optional<MissedCap> missed = missedCap(context.simulation);
    if (!missed || !context.metrics.fits)
        return;
    Finding finding{.kind = FindingKind::capMissed,
                    .severity = FindingSeverity::broken,
                    .memoryShare = full.bytes() / context.capacityBytes()};
    finding.title = missed->what() + ": rank " + say(finding, ClaimOf::fullestRank, full.rank, Unit::count) + " needs " +
                    say(finding, ClaimOf::peakBytes, full.bytes(),
                        BesideLimit(full.bytes(), missed->capGib * kBytesPerGib, Unit::bytes).need());
    finding.title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(finding.title.front())));
    say(finding, ClaimOf::memoryCap, missed->capGib * kBytesPerGib, missed->capText());
    const std::string nearest = missed->nearestText();
    finding.reason =
        "Nearest cap that works: " + say(finding, ClaimOf::keptCap, missed->nearestGib * kBytesPerGib, nearest) + ".";
    finding.show = {.pictures = {"memory", "timeline"}, .ranks = {full.rank}};
    offer(finding, Edits::set("/schedule/memory_cap_gib", std::to_string(missed->nearestGib),
                              "memory cap " + missed->capText() + " → " + nearest));
    offerMemory(context, full, finding);
    out.push_back(std::move(finding));
}

/// 1F1B's staircase: a stage keeps activations for each that comes after it, so that the fullest is not the last, and holds most
/// of them.
bool isStaircase(const RuleContext& context, const Fullest& full)
{
    const auto& rows = context.metrics.perPipelineRank;
    return context.scenario.schedule.kind == "1f1b" && asIndex(full.pipelineRank) + 1 < rows.size() &&
           std::all_of(rows.begin(), rows.end(), [&](const PipelineRankMetrics& row) {
               return row.memory.activations <= rows[asIndex(full.pipelineRank)].memory.activations;
           });
}

/// " It has the output head over 128,256 words." of a rank that makes logits.
std::string headText(const RuleContext& context, const Fullest& full, Finding& finding)
{
    if (!makesLogits(context, full.pipelineRank))
        return {};
    return " It has the output head over " + say(finding, ClaimOf::vocabulary, context.scenario.model.vocabSize, Unit::count) +
           " words.";
}

/// Matters only where the fullest rank is what keeps the job from growing.
void imbalance(const RuleContext& context, const Fullest& full, FindingList& out)
{
    constexpr double kMattersFrom = 0.8, kUneven = 0.15;
    const auto& rows = context.metrics.perPipelineRank;
    const double capacity = context.capacityBytes();
    double mean = 0;
    for (const PipelineRankMetrics& row : rows)
        mean += toDouble(row.memory.total()) / static_cast<double>(rows.size());
    const double beyond = (full.bytes() - mean) / capacity;
    if (rows.size() < 2 || full.bytes() < kMattersFrom * capacity || beyond < kUneven)
        return;
    Finding finding{.kind = FindingKind::memoryImbalance, .severity = FindingSeverity::hint, .memoryShare = beyond};
    finding.title = "Memory is uneven: pipeline rank " + say(finding, ClaimOf::fullestStage, full.pipelineRank, Unit::count) +
                    " holds " + say(finding, ClaimOf::peakBytes, full.bytes(), gibText(full.memory.total())) +
                    ", the mean of all is " + say(finding, ClaimOf::meanPeakBytes, mean, Unit::bytes);
    finding.show = {.pictures = {"memory", "grid"}, .ranks = context.ranksOfPipelineRank(full.pipelineRank)};
    if (isStaircase(context, full)) {
        finding.reason = "1F1B keeps a micro-batch alive on a stage for itself and for each stage that comes after it.";
        offer(finding, context.edits.schedule("zb-v", 2));
        offer(finding, context.edits.schedule("v-half", 2));
    } else {
        finding.reason = largestPart(finding, full.memory) + headText(context, full, finding);
        if (const auto balanced = balancedLayers(context.simulation))
            offer(finding, context.edits.layersPerStage(*balanced));
        if (context.layout.tp * 2 <= context.innerSpan())
            offer(finding, context.edits.shift(&Layout::pp, &Layout::tp));
    }
    if (context.training.microBatchSize > 1)
        offer(finding, context.edits.microBatch(context.training.microBatchSize / 2));
    out.push_back(std::move(finding));
}

void replicated(const RuleContext& context, const Fullest& full, FindingList& out)
{
    constexpr double kWorthIt = 0.10; // of a GPU's memory
    const int ranks = context.layout.dp * context.layout.cp;
    if (context.layout.zeroStage > 0 || ranks < 2)
        return;
    if (toDouble(full.memory.optimizer) < kWorthIt * context.capacityBytes())
        return;
    Scenario sharded = context.scenario;
    sharded.layout.zeroStage = 1;
    // Experts' states have fewer copies than the others'.
    const ModelStates states =
        lowerProgram(sharded, context.simulation.schedule()).ranks[static_cast<std::size_t>(full.pipelineRank)].states;
    const double saved = toDouble(full.memory.optimizer - states.optimizer);
    if (saved < kWorthIt * context.capacityBytes())
        return;
    Finding finding{
        .kind = FindingKind::replicatedStates, .severity = FindingSeverity::hint, .memoryShare = saved / context.capacityBytes()};
    // Experts are cut by other groups: their states have copies of their own, often a single one. Adapters are beside none.
    const Model& model = context.scenario.model;
    const bool trainsExperts = model.numExperts > 0 && !model.lora.isOn();
    const int chains = context.simulation.schedule().chains; // each has all stages, on other ranks of the pipeline
    const int copies = ranks * chains;
    const int expertCopies = trainsExperts ? context.simulation.mesh().groupSize(ProcessGroup::expt_dp) * chains : copies;
    finding.title = "Optimizer states are kept " + say(finding, ClaimOf::stateCopies, copies, Unit::count) + " times";
    if (expertCopies == 1)
        finding.title += ", the experts' " + say(finding, ClaimOf::expertCopies, expertCopies, "once");
    else if (expertCopies != copies)
        finding.title += ", the experts' " + say(finding, ClaimOf::expertCopies, expertCopies, Unit::count) + " times";
    finding.title += ": " + say(finding, ClaimOf::bytesShared, saved, Unit::bytes) + " a GPU could be shared";
    const StateBytes bytes = StateBytes::of(context.training);
    const Stack& stack = context.training.stack;
    const std::string reduction = stack.reducesWhole || stack.sendsShards ? "all-reduces" : "reduce-scatters";
    finding.reason =
        std::string(expertCopies == copies ? "Every data-parallel rank has all of them"
                                           : "Each rank has those of all the parameters that it holds") +
        (chains > 1 ? ", and each stage lies on two ranks of the pipeline." : ".") + " ZeRO 1 gives each a share and " +
        reduction + " gradients of " + say(finding, ClaimOf::gradientBytes, bytes.reducedGradient, Unit::count) +
        " bytes, then gathers parameters of " + say(finding, ClaimOf::parameterBytes, bytes.parameter, Unit::count) +
        ": over dp it sends " + sayChange(finding, ClaimOf::dataTraffic, trafficChange(context, sharded, Dimension::dp)) +
        (reduces(context) ? ", when the network adds gradients on their way." : ".");
    finding.show = {.pictures = {"memory", "grid"}, .ranks = {full.rank}};
    offer(finding, context.edits.zero(1));
    out.push_back(std::move(finding));
}

void attention(const RuleContext& context, FindingList& out)
{
    if (context.training.flashAttention)
        return;
    Finding finding{.kind = FindingKind::unfusedAttention, .severity = FindingSeverity::hint};
    const int slices = context.scenario.schedule.sequenceSlices, length = context.training.sequenceLength;
    // Against keys that context parallelism has gathered; where it exchanges heads, of whole sequences.
    const int queries = length / slices / (dealsHeads(context.scenario) ? 1 : context.layout.cp);
    finding.title = "Attention is not fused: scores of " + say(finding, ClaimOf::queriesOfKernel, queries, Unit::count) + " × " +
                    (slices > 1 ? "up to " : "") + say(finding, ClaimOf::sequenceLength, length, Unit::count) +
                    " go to memory and back";
    finding.reason = "A fused kernel keeps them on the chip and recomputes them in the backward pass.";
    finding.show = {.pictures = {"memory", "timeline"}};
    offer(finding, context.edits.fuseAttention());
    out.push_back(std::move(finding));
}

/// Of a tensor-parallel step: whether ranks keep slices of what they gather, and gather it once more for weight gradients.
bool gathersInputsAgain(const Program& program)
{
    return std::any_of(program.labels.begin(), program.labels.end(),
                       [](const std::string& label) { return contentOf(label) == CollectiveContent::inputsAgain; });
}

void sequenceParallel(const RuleContext& context, const Fullest& full, FindingList& out)
{
    const Layout& l = context.layout;
    if (l.tp == 1 || l.sequenceParallel)
        return;
    Finding finding{.kind = FindingKind::noSequenceParallel, .severity = FindingSeverity::hint};
    finding.title = "Sequence parallelism is off: " + say(finding, ClaimOf::tensorRanks, l.tp, Unit::count) +
                    " tensor-parallel ranks keep copies of activations";
    finding.reason =
        "Norms, dropout and residuals work on whole sequences on each of them. Cut along the sequence, an all-reduce "
        "becomes a reduce-scatter and an all-gather";
    if (context.training.sequenceLength % (l.tp * l.cp * context.scenario.schedule.sequenceSlices) == 0) {
        Scenario cut = context.scenario;
        cut.layout.sequenceParallel = true;
        if (gathersInputsAgain(lowerProgram(cut, context.simulation.schedule())))
            finding.reason += ", and inputs are gathered again for weight gradients";
        finding.reason +=
            ": over tp it sends " + sayChange(finding, ClaimOf::tensorTraffic, trafficChange(context, cut, Dimension::tp));
        if (l.pp > 1)
            finding.reason +=
                ", over pp " + sayChange(finding, ClaimOf::pipelineTraffic, trafficChange(context, cut, Dimension::pp));
    }
    finding.reason += ".";
    finding.show = {.pictures = {"memory", "grid"}, .ranks = {full.rank}};
    offer(finding, context.edits.turnOn("/layout/sequence_parallel", "sequence parallelism"));
    out.push_back(std::move(finding));
}

} // namespace

void findMemory(const RuleContext& context, FindingList& out)
{
    const Fullest full = fullest(context);
    fits(context, full, out);
    capMissed(context, full, out);
    imbalance(context, full, out);
    replicated(context, full, out);
    attention(context, out);
    sequenceParallel(context, full, out);
}

} // namespace sim
