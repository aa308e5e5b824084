#include "sim/analysis/findings/findings.h"
#include "sim/simulate/purpose_name.h"

#include "sim/analysis/findings/finding_rules.h"
#include "sim/analysis/traffic/traffic.h"
#include "sim/engine/classes.h"
#include "sim/error.h"
#include "sim/legal/legal.h"
#include "sim/legal/whole_groups.h"
#include "sim/program/program.h"
#include "sim/schedule/schedule.h"
#include "sim/simulate/memory_cap.h"
#include "sim/text/spoken_name.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace sim {
namespace {

constexpr std::size_t kMostSuggestions = 4, kMostForMemory = 7;
constexpr double kNoticeable = 0.005; ///< share of a step's time, or of the peak memory

double noticeableGib(const EditEffect& effect)
{
    return kNoticeable * (effect.peakGib - effect.peakChangeGib);
}

ScenarioDocument changed(ScenarioDocument document, const SuggestedEdit& edit)
{
    for (const Change& change : edit.changes) {
        if (change.json)
            document.set(change.pointer, *change.json);
        else
            document.erase(change.pointer);
    }
    return document;
}

/// Keeps the edits that are legal, change something, and bring no warning that was not there.
class Sieve {
public:
    Sieve(const Simulation& simulation, const ScenarioDocument& document, const Catalogue& catalogue)
        : m_scenario(simulation.scenario()), m_document(document), m_catalogue(catalogue)
    {
        for (const Problem& problem : document.resolve(catalogue).problems)
            m_known.insert(problem.pointer);
    }

    void keepLegal(std::vector<SuggestedEdit>& suggestions, std::size_t most) const
    {
        std::vector<SuggestedEdit> legal;
        for (SuggestedEdit& edit : suggestions) {
            if (legal.size() == most)
                break;
            checkCancelled();
            keepBatch(edit);
            if (isLegal(edit) && std::find(legal.begin(), legal.end(), edit) == legal.end())
                legal.push_back(std::move(edit));
        }
        suggestions = std::move(legal);
    }

private:
    /// A file that does not say the batch gets one from its layout and micro-batch: an edit of those leaves the batch as it is,
    /// or where that cannot be, says what becomes of it.
    void keepBatch(SuggestedEdit& edit) const
    {
        constexpr const char* kBatch = "/training/global_batch_size";
        const bool isOfIt =
            std::any_of(edit.changes.begin(), edit.changes.end(), [](const Change& change) { return change.pointer == kBatch; });
        if (isOfIt || m_document.get(kBatch))
            return;
        const int before = m_scenario.training.globalBatchSize;
        const auto resolved = changed(m_document, edit).resolve(m_catalogue);
        if (!resolved.scenario || resolved.scenario->training.globalBatchSize == before)
            return;
        SuggestedEdit kept = edit;
        kept.changes.push_back({kBatch, std::to_string(before)});
        if (isLegal(kept))
            edit = std::move(kept);
        else
            edit.text +=
                ", global batch " + std::to_string(before) + " → " + std::to_string(resolved.scenario->training.globalBatchSize);
    }

    bool isLegal(const SuggestedEdit& edit) const
    {
        const auto resolved = changed(m_document, edit).resolve(m_catalogue);
        if (!resolved.scenario || *resolved.scenario == m_scenario)
            return false;
        // A custom schedule lists the actions of so many micro-batches and no others.
        if (scheduleFamily(resolved.scenario->schedule.kind).isWrittenOut &&
            resolved.scenario->microbatches() != m_scenario.microbatches())
            return false;
        return std::all_of(resolved.problems.begin(), resolved.problems.end(),
                           [this](const Problem& problem) { return m_known.contains(problem.pointer); });
    }

    const Scenario& m_scenario;
    const ScenarioDocument& m_document;
    const Catalogue& m_catalogue;
    std::set<std::string> m_known; ///< places that are complained about already
};

} // namespace

std::vector<int> RuleContext::ranksOfPipelineRank(int pp) const
{
    std::vector<int> out;
    for (int rank = 0; rank < metrics.worldSize; ++rank)
        if (simulation.mesh().coordinates(rank).pp == pp)
            out.push_back(rank);
    return out;
}

int RuleContext::innerSpan() const
{
    const Cluster& cluster = scenario.cluster;
    return cluster.tiers.empty() || cluster.tiers.front().span == 0 ? cluster.gpus() : cluster.tiers.front().span;
}

std::optional<Metrics> RuleContext::with(const Scenario& changed) const
{
    checkCancelled();
    try {
        if (isLegal(changed))
            return simulate(changed)->metrics();
    } catch (const Error&) { // legal, and cannot be simulated
    }
    return std::nullopt;
}

std::optional<Metrics> RuleContext::with(const SuggestedEdit& edit) const
{
    const std::optional<Scenario> changed = scenarioWith(edit, document, catalogue);
    return changed ? with(*changed) : std::nullopt;
}

bool RuleContext::frees(const Metrics& changed) const
{
    return changed.peakMemoryGib < (1 - kNoticeable) * metrics.peakMemoryGib;
}

std::optional<SuggestedEdit> RuleContext::wholeGroups(int gpus) const
{
    const Cluster& cluster = scenario.cluster;
    const int whole = spanOfWholeGroups(cluster, gpus);
    if (whole == 0 || layout.placement != PlacementRule::packed)
        return std::nullopt;
    constexpr const char* kSpan = "/cluster/tiers/0/span";
    const int span = innerSpan(), world = metrics.worldSize;
    ScenarioDocument changed = document;
    changed.takeListOfBase(kSpan, catalogue);
    changed.set(kSpan, std::to_string(whole));
    // Domains within domains shrink with them.
    for (std::size_t i = 1; i < cluster.tiers.size(); ++i)
        if (const int outer = cluster.tiers[i].span; outer > 0 && outer % span == 0)
            changed.set("/cluster/tiers/" + std::to_string(i) + "/span", std::to_string(outer / span * whole));
    const auto tiers = changed.get("/cluster/tiers");
    if (!tiers)
        return std::nullopt;
    const auto domains = [world](int of) { return (world + of - 1) / of; };
    const std::string nodes = std::to_string(whole / cluster.gpusPerNode) + " of " + std::to_string(span / cluster.gpusPerNode);
    return Edits::set("/cluster/tiers", *tiers,
                      "use " + std::to_string(whole) + " of the " + std::to_string(span) + " GPUs of each " +
                          spokenNetwork(cluster.tiers.front().name) + " domain: " + nodes + " nodes in each of " +
                          std::to_string(domains(whole)) +
                          (domains(whole) > domains(span) ? ", " + std::to_string(domains(span)) + " now" : std::string()));
}

std::string say(Finding& finding, ClaimOf of, double value, std::string text, CommunicatorRole role)
{
    finding.claims.push_back({of, value, text, role});
    return text;
}

std::string say(Finding& finding, ClaimOf of, double value, Unit unit, CommunicatorRole role)
{
    return say(finding, of, value, numberText(value, unit), role);
}

std::string sayChange(Finding& finding, ClaimOf of, double relative)
{
    return say(finding, of, relative,
               std::abs(relative) < kLeastPercentShown
                   ? "as much as now"
                   : percentText(std::abs(relative)) + (relative < 0 ? " less than now" : " more than now"));
}

double trafficChange(const RuleContext& context, const Scenario& changed, Dimension purpose)
{
    const Simulation& s = context.simulation;
    const Traffic traffic(changed, s.mesh(), s.placement(), lowerProgram(changed, s.schedule()),
                          makeRankClasses(changed, s.mesh(), s.placement(), s.schedule(), false));
    const auto before = static_cast<double>(Traffic(s).senders().total().ofDimension(purpose));
    const auto after = static_cast<double>(traffic.senders().total().ofDimension(purpose));
    return before > 0 ? after / before - 1 : 0;
}

namespace {

bool isOfMemory(FindingKind kind)
{
    return kind == FindingKind::doesNotFit || kind == FindingKind::capMissed || kind == FindingKind::nearlyFull;
}

/// What others offer counts where memory is short, too: a schedule that frees more than recomputation does, and is faster. The
/// fastest of them come in.
void borrowWhatFrees(const RuleContext& context, std::vector<Finding>& all)
{
    constexpr std::size_t kMostBorrowed = 3;
    const auto tight = std::find_if(all.begin(), all.end(), [](const Finding& f) { return isOfMemory(f.kind); });
    if (tight == all.end() || scheduleFamily(context.scenario.schedule.kind).isSearched) // each step takes a search there
        return;
    std::vector<std::pair<double, SuggestedEdit>> freeing;
    for (const Finding& other : all)
        for (const SuggestedEdit& edit : other.suggestions) {
            const auto isSame = [&edit](const SuggestedEdit& each) { return each.changes == edit.changes; };
            if (isOfMemory(other.kind) || std::any_of(tight->suggestions.begin(), tight->suggestions.end(), isSame) ||
                std::any_of(freeing.begin(), freeing.end(), [&](const auto& each) { return isSame(each.second); }))
                continue;
            const std::optional<Metrics> changed = context.with(edit);
            if (changed && changed->fits && changed->hostFits >= context.metrics.hostFits && context.frees(*changed))
                freeing.emplace_back(1 / changed->tokensPerSecond, edit);
        }
    std::stable_sort(freeing.begin(), freeing.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < freeing.size() && i < kMostBorrowed; ++i)
        tight->suggestions.push_back(std::move(freeing[i].second));
}

} // namespace

/// What the step consists of, the largest part first.
Finding composition(const RuleContext& context, bool nothingElse)
{
    std::vector<StepPart> parts = presentParts(context.seconds);
    std::stable_sort(parts.begin(), parts.end(), [&](StepPart a, StepPart b) { return context.seconds[a] > context.seconds[b]; });
    Finding out{.kind = FindingKind::composition, .severity = FindingSeverity::note};
    std::string list;
    for (const StepPart part : parts) {
        if (context.shareOf(part) >= 0.005)
            list +=
                (list.empty() ? "" : ", ") + say(out, ClaimOf::shareOfStep, context.shareOf(part),
                                                 percentText(context.shareOf(part)) + " " + partTitle(context.simulation, part));
    }
    out.title = nothingElse ? "Nothing to complain about" : "What the step consists of";
    out.reason = "Of " + say(out, ClaimOf::stepTime, context.step(), Unit::seconds) + ": " + list + ".";
    out.stepShare = 1;
    out.show = {.pictures = {"timeline"}};
    return out;
}

std::vector<Finding> findings(const Simulation& simulation, const ScenarioDocument& document, const Catalogue& catalogue,
                              FindingEdits edits)
{
    const RuleContext context(simulation, document, catalogue, edits == FindingEdits::all);
    std::vector<Finding> out;
    for (const auto rule : {findMemory, findPipeline, findCommunication, findKernels, findHost}) {
        checkCancelled();
        rule(context, out);
    }
    const Sieve sieve(simulation, document, catalogue);
    for (Finding& finding : out)
        sieve.keepLegal(finding.suggestions, isOfMemory(finding.kind) ? kMostForMemory : kMostSuggestions);
    if (context.offersMemory)
        borrowWhatFrees(context, out);
    const auto weight = [](const Finding& f) { return std::max(f.stepShare, f.memoryShare); };
    std::stable_sort(out.begin(), out.end(), [&](const Finding& a, const Finding& b) {
        return a.severity != b.severity ? a.severity < b.severity : weight(a) > weight(b);
    });
    out.push_back(composition(context, out.empty()));
    return out;
}

std::optional<Scenario> scenarioWith(const SuggestedEdit& edit, const ScenarioDocument& document, const Catalogue& catalogue)
{
    return changed(document, edit).resolve(catalogue).scenario;
}

EditEffect effectOf(const Metrics& before, const Metrics& after, double capGib)
{
    return {.stepSeconds = after.stepTimeSeconds,
            .timePerToken = before.tokensPerSecond / after.tokensPerSecond - 1,
            .tokens = after.tokensPerSecond * after.stepTimeSeconds / (before.tokensPerSecond * before.stepTimeSeconds),
            .peakGib = after.peakMemoryGib,
            .peakChangeGib = after.peakMemoryGib - before.peakMemoryGib,
            .fits = after.fits,
            .hostFits = after.hostFits,
            .overfillsHost = before.hostFits && !after.hostFits,
            .keepsCap = after.peakMemoryGib <= capGib,
            .leavesNoRoom = after.peakMemoryGib <= capGib && after.peakMemoryGib * (1 + kAllocatorReserve) > capGib &&
                            before.peakMemoryGib * (1 + kAllocatorReserve) <= capGib};
}

EditEffect effectOf(const Simulation& before, const Simulation& after)
{
    EditEffect out = effectOf(before.metrics(), after.metrics(), capacityGib(after.scenario()));
    out.likely = likelyRatio(before.scenario(), after.scenario(), 1 + out.timePerToken);
    return out;
}

EditWorth worthOf(FindingKind kind, const EditEffect& effect)
{
    const bool hasMoreRoom = effect.fits && effect.peakChangeGib < -noticeableGib(effect);
    const auto toldIf = [](bool helps) { return helps ? EditWorth::told : EditWorth::none; };
    const auto worthOfTime = [&] {
        // Time that is bought with the room that the allocator needs would have to be given back.
        if (!effect.fits || effect.leavesNoRoom || effect.timePerToken >= -kNoticeable)
            return EditWorth::none;
        return effect.likely.isKnown() && !effect.likely.canTell() ? EditWorth::untold : EditWorth::told;
    };
    if (effect.overfillsHost) // what the GPU has no room for, the host has none for either
        return EditWorth::none;
    switch (kind) {
    case FindingKind::doesNotFit:
    case FindingKind::nearlyFull:
    case FindingKind::memoryImbalance:
    case FindingKind::replicatedStates:
        return toldIf(hasMoreRoom);
    case FindingKind::unfusedAttention:
    case FindingKind::noSequenceParallel: // either is enough
        return hasMoreRoom ? EditWorth::told : worthOfTime();
    case FindingKind::hostFull:
        return toldIf(effect.fits && effect.hostFits);
    case FindingKind::capMissed: // less memory, or a cap that can be kept
        return toldIf(hasMoreRoom || (effect.fits && effect.keepsCap));
    case FindingKind::idleGpus: // fewer nodes cost nothing either
        return toldIf(effect.fits && effect.timePerToken < kNoticeable);
    default:
        return worthOfTime();
    }
}

bool isOfferedBefore(FindingKind kind, const EditEffect& a, const EditEffect& b)
{
    if (a.fitsAll() != b.fitsAll())
        return a.fitsAll();
    const EditWorth ofA = worthOf(kind, a), ofB = worthOf(kind, b);
    return ofA != ofB ? ofA > ofB : a.timePerToken < b.timePerToken;
}

bool isOutdone(const TriedEdit& tried, const TriedEdit& by)
{
    return by.edit.changes.size() < tried.edit.changes.size() && by.effect.fitsAll() >= tried.effect.fitsAll() &&
           by.effect.timePerToken <= tried.effect.timePerToken + kNoticeable &&
           by.effect.peakChangeGib <= tried.effect.peakChangeGib + noticeableGib(tried.effect);
}

std::vector<std::size_t> rankedByGain(const std::vector<Finding>& findings, const std::vector<std::vector<EditEffect>>& tried)
{
    const auto isUntold = [&](std::size_t i) {
        EditWorth best = EditWorth::none;
        for (const EditEffect& effect : tried[i])
            best = std::max(best, worthOf(findings[i].kind, effect));
        return best == EditWorth::untold;
    };
    struct Rank {
        bool isLast = false;
        FindingSeverity severity{};
        bool isUntold = false;
        auto operator<=>(const Rank&) const = default;
    };
    std::vector<Rank> rank;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        rank.push_back({findings[i].kind == FindingKind::composition, findings[i].severity, isUntold(i)});
        order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank[a] < rank[b]; });
    return order;
}

std::string_view findingKindName(FindingKind kind)
{
    static constexpr std::array<std::string_view, asIndex(FindingKind::composition) + 1> kNames{
        "does_not_fit",
        "cap_missed",
        "nearly_full",
        "memory_imbalance",
        "replicated_states",
        "unfused_attention",
        "bubble",
        "stage_imbalance",
        "slow_rank",
        "uneven_routing",
        "tensor_across_nodes",
        "experts_across_nodes",
        "exposed_tensor",
        "exposed_context",
        "exposed_expert",
        "exposed_pipeline",
        "exposed_data",
        "exposed_host",
        "host_full",
        "small_kernels",
        "needless_recompute",
        "no_sequence_parallel",
        "idle_gpus",
        "slow_precision",
        "composition",
    };
    return kNames[asIndex(kind)];
}

} // namespace sim
