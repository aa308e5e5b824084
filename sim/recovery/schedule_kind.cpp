#include "sim/recovery/schedule_kind.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/recovery/pass_tokens.h"
#include "sim/schedule/families/families.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

namespace sim {
namespace {

/// Length of the longest common subsequence over the longer length; for long rows the share of equal places.
template <class T>
double likenessOfRows(const std::vector<T>& a, const std::vector<T>& b)
{
    const std::size_t longer = std::max(a.size(), b.size());
    if (longer == 0 || a == b)
        return 1;
    if (a.size() * b.size() > 1'000'000) {
        std::size_t equal = 0;
        for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
            equal += a[i] == b[i] ? 1U : 0U;
        return static_cast<double>(equal) / static_cast<double>(longer);
    }
    std::vector<std::uint32_t> row(b.size() + 1, 0);
    for (const T& x : a) {
        std::uint32_t diagonal = 0;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::uint32_t above = row[j + 1];
            row[j + 1] = x == b[j] ? diagonal + 1 : std::max(above, row[j]);
            diagonal = above;
        }
    }
    return row.back() / static_cast<double>(longer);
}

/// What passes took on each stage, for families that plan by it, in nanoseconds. One entry where a stage is not recorded.
std::vector<PassTimes> measuredTimes(const RecoveredPasses& passes, int stages)
{
    struct Sums {
        std::array<double, 4> sum{}, count{};
        double mean(ActionKind kind, double otherwise) const
        {
            const auto k = static_cast<std::size_t>(kind);
            return count[k] > 0 ? sum[k] / count[k] : otherwise;
        }
        PassTimes times() const
        {
            PassTimes times;
            times.forward = mean(ActionKind::forward, 1);
            times.backwardInput = mean(ActionKind::backwardInput, mean(ActionKind::backward, 2 * times.forward) / 2);
            times.backwardWeight = mean(ActionKind::backwardWeight, mean(ActionKind::backward, 2 * times.forward) / 2);
            return times;
        }
    };
    std::size_t recorded = 0;
    for (const auto& rank : passes.ranks)
        recorded += rank.size();
    const bool isWhole = asIndex(stages) <= recorded; // else some stage ran nothing that was seen
    std::vector<Sums> byStage(isWhole ? asIndex(stages) : 0);
    Sums all;
    for (const auto& rank : passes.ranks)
        for (const RecoveredPass& pass : rank)
            for (Sums* sums : {&all, isWhole && pass.action.stage < stages ? &byStage[asIndex(pass.action.stage)] : &all}) {
                sums->sum[static_cast<std::size_t>(pass.action.kind)] += static_cast<double>(pass.endNs - pass.startNs);
                ++sums->count[static_cast<std::size_t>(pass.action.kind)];
            }
    if (!isWhole)
        return {all.times()};
    std::vector<PassTimes> times;
    for (const Sums& sums : byStage) {
        if (sums.count[0] <= 0)
            return {all.times()};
        times.push_back(sums.times());
    }
    return times;
}

/// A row as passes alone: recorders do not say which two ran as one block.
std::vector<Action> withoutBlocks(std::vector<Action> row)
{
    for (Action& action : row)
        action.overlapsNext = false;
    return row;
}

/// A recorded row with the two passes of each block in the order of `row`: which of them begins first is chance.
std::vector<Action> inOrderOf(const std::vector<Action>& row, std::vector<Action> recorded)
{
    if (recorded.size() != row.size())
        return recorded;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
        if (!row[i].overlapsNext)
            continue;
        Action first = row[i], second = row[i + 1];
        first.overlapsNext = second.overlapsNext = false;
        if (recorded[i] == second && recorded[i + 1] == first)
            std::swap(recorded[i], recorded[i + 1]);
    }
    return recorded;
}

/// Activations that a row holds at most, one of a micro-batch in a chunk as 1, of which the gradient of the input frees half.
double mostHeld(const std::vector<Action>& row)
{
    double held = 0, most = 0;
    for (const Action& action : row) {
        const bool isHalf = action.kind == ActionKind::backwardInput || action.kind == ActionKind::backwardWeight;
        held += action.kind == ActionKind::forward ? 1 : isHalf ? -0.5 : -1;
        most = std::max(most, held);
    }
    return most;
}

/// What a family made of measured times, which need not be those that the job was planned with.
struct CostPlan {
    std::string kind;
    double alike = 0;
    double held = 0; ///< mostHeld() of the fullest of the recorded ranks
    ScheduleRequest request;
    int stages = 1;
};

/// The families' orders of one size, by how alike the recorded rows are to them.
class Recogniser {
public:
    explicit Recogniser(RecoveredSchedule& result) : m_result(result) {}

    template <class Likeness>
    void compare(ScheduleRequest request, Likeness&& likeness)
    {
        for (const ScheduleFamily& family : scheduleFamilies()) {
            if (family.isWrittenOut || family.isSearched || (request.slices > 1) != family.cutsSequences())
                continue;
            if (request.overlapExpertComm && !family.overlapsExperts)
                continue;
            request.kind = family.kind;
            if (family.unmet(request))
                continue;
            checkCancelled();
            try {
                const Schedule schedule = makeSchedule(request);
                if (schedule.ranks != request.ranks)
                    continue;
                const double alike = likeness(schedule);
                if (family.plansByCost)
                    keepPlan(family, request, schedule, alike);
                take(family, request, schedule, alike);
            } catch (const Error&) {
                continue; // a size that this family has no order of
            }
        }
    }

    /// Of each family that plans by cost, its nearest.
    const std::vector<CostPlan>& plans() const { return m_plans; }

private:
    void keepPlan(const ScheduleFamily& family, const ScheduleRequest& request, const Schedule& schedule, double alike)
    {
        CostPlan plan{
            .kind = std::string(family.kind), .alike = alike, .held = 0, .request = request, .stages = schedule.stages()};
        for (const auto& [rank, row] : m_result.rows)
            plan.held = std::max(plan.held, mostHeld(schedule.actions[asIndex(rank)]));
        const auto same = std::find_if(m_plans.begin(), m_plans.end(), [&](const CostPlan& p) { return p.kind == plan.kind; });
        if (same == m_plans.end())
            m_plans.push_back(std::move(plan));
        else if (alike > same->alike)
            *same = std::move(plan);
    }
    /// Of schedules that would look the same, jobs run these most.
    static int usage(std::string_view kind)
    {
        constexpr std::array<std::pair<std::string_view, int>, 5> kUsage{
            {{"1f1b", 3}, {"interleaved-1f1b", 2}, {"gpipe", 0}, {"looped-bfs", -1}, {"seq-1f1b", -2}}};
        const auto* const found = std::find_if(kUsage.begin(), kUsage.end(), [kind](const auto& of) { return of.first == kind; });
        return found == kUsage.end() ? 1 : found->second;
    }
    void take(const ScheduleFamily& family, const ScheduleRequest& request, const Schedule& schedule, double alike)
    {
        if (alike >= 1 && m_result.alike >= 1 && family.kind == m_result.kind)
            return;
        if (alike >= 1 && m_result.alike >= 1 && usage(family.kind) <= usage(m_result.kind)) {
            if (std::find(m_result.alsoPossible.begin(), m_result.alsoPossible.end(), family.kind) == m_result.alsoPossible.end())
                m_result.alsoPossible.emplace_back(family.kind);
            return;
        }
        std::vector<std::string> others;
        if (alike >= 1 && m_result.alike >= 1) {
            others = std::move(m_result.alsoPossible);
            others.push_back(m_result.kind);
        } else if (alike <= m_result.alike) {
            return;
        }
        m_result.kind = family.kind;
        m_result.alike = alike;
        m_result.virtualStages = request.virtualStages;
        m_result.microbatches = request.microbatches;
        m_result.slices = request.slices;
        m_result.microbatchGroup = family.dealsInGroups() ? request.microbatchGroup : 0;
        m_result.overlapsExperts = request.overlapExpertComm;
        m_result.stages = schedule.stages();
        m_result.alsoPossible = std::move(others);
    }

    RecoveredSchedule& m_result;
    std::vector<CostPlan> m_plans;
};

std::string possibleText(const std::vector<std::string>& kinds)
{
    std::string text;
    for (const std::string& kind : kinds)
        text += (text.empty() ? "" : ", ") + kind;
    return text;
}

/// Whether every recorded rank ran each of its stages forwards and backwards for each of `units` micro-batches, and nothing more.
bool holdsEachPassOnce(const std::map<int, std::vector<Action>>& rows, int units)
{
    for (const auto& [rank, row] : rows) {
        std::set<int> own;
        std::map<std::pair<int, int>, std::array<int, 2>> times; // of each stage and micro-batch: forwards, backwards
        for (const Action& action : row) {
            own.insert(action.stage);
            if (action.kind != ActionKind::backwardWeight)
                ++times[{action.stage, action.microbatch}][action.kind == ActionKind::forward ? 0 : 1];
        }
        const bool isEachOnce = std::all_of(times.begin(), times.end(), [](const auto& of) {
            return of.second == std::array<int, 2>{1, 1};
        });
        if (!isEachOnce || times.size() != own.size() * asIndex(units))
            return false;
    }
    return true;
}

/// Where weight gradients are passes of their own and no fixed order fits, the order was planned by what passes cost. Which
/// family did it is told by what ranks hold, as times that differ by little move many passes. False where it is no such order.
bool recogniseByMemory(const std::vector<CostPlan>& plans, RecoveredSchedule& result)
{
    constexpr double kFewestAlike = 0.5;
    double held = 0;
    for (const auto& [rank, row] : result.rows) {
        if (std::any_of(row.begin(), row.end(), [](const Action& action) { return action.kind == ActionKind::backward; }))
            return false;
        held = std::max(held, mostHeld(row));
    }
    // The least memory that what was held fits in; times that are a little off move half an activation.
    constexpr double kSlack = 0.5;
    const CostPlan* least = nullptr;
    for (const CostPlan& plan : plans)
        if (plan.alike >= kFewestAlike && plan.held + kSlack >= held &&
            (least == nullptr || plan.held < least->held || (plan.held == least->held && plan.alike > least->alike)))
            least = &plan;
    if (least == nullptr)
        return false;
    result.kind = least->kind;
    result.alike = least->alike;
    result.virtualStages = least->request.virtualStages;
    result.microbatches = least->request.microbatches;
    result.slices = least->request.slices;
    result.microbatchGroup = 0;
    result.overlapsExperts = least->request.overlapExpertComm;
    result.stages = least->stages;
    result.alsoPossible.clear();
    for (const CostPlan& plan : plans)
        if (plan.kind != least->kind && plan.held >= held)
            result.alsoPossible.push_back(plan.kind);
    for (const ScheduleFamily& family : scheduleFamilies())
        if (family.isSearched)
            result.alsoPossible.emplace_back(family.kind);
    return true;
}

void recogniseByPasses(const RecoveredPasses& passes, RecoveredSchedule& result)
{
    std::set<int> stages, chunks;
    std::set<std::int32_t> seenUnits;
    int lastUnit = 0;
    std::size_t most = 1, recorded = 0;
    int firstBackward = -1, firstGroup = 0;
    for (const auto& [rank, row] : result.rows) {
        std::set<int> own;
        for (const Action& action : row) {
            own.insert(action.stage);
            seenUnits.insert(action.microbatch);
            lastUnit = std::max(lastUnit, static_cast<int>(action.microbatch));
            if (firstBackward < 0 && action.kind != ActionKind::forward)
                firstBackward = action.microbatch;
        }
        recorded += row.size();
        most = std::max(most, own.size());
        stages.insert(own.begin(), own.end());
        int run = 0;
        while (run < static_cast<int>(row.size()) && row[asIndex(run)].kind == ActionKind::forward &&
               row[asIndex(run)].stage == row[0].stage)
            ++run;
        firstGroup = std::max(firstGroup, run);
    }
    const int p = passes.pipelineRanks, units = lastUnit + 1;
    result.virtualStages = static_cast<int>(most);
    result.microbatches = units;
    result.stages = stages.empty() ? p : std::max(*stages.rbegin() + 1, static_cast<int>(stages.size()));
    // Every micro-batch passes every rank: schedules of more than were seen, or of more passes than any job's, are not made.
    constexpr double kMostPasses = 4e6;
    if (asIndex(units) > recorded || static_cast<double>(p) * static_cast<double>(most) * units > kMostPasses) {
        result.microbatches = static_cast<int>(seenUnits.size());
        result.stages = static_cast<int>(std::min<std::size_t>(asIndex(result.stages), std::max(stages.size(), asIndex(p))));
        result.kind = "custom";
        result.sure = 0.2 * passes.sure;
        result.evidence = "the passes are those of micro-batches up to " + std::to_string(lastUnit) + " of " +
                          countedText(p, "pipeline rank") + ", and only " + std::to_string(recorded) +
                          " are recorded: no known schedule was compared";
        return;
    }

    const auto likeness = [&](const Schedule& schedule) {
        double sum = 0;
        for (const auto& [rank, row] : result.rows)
            sum += likenessOfRows(inOrderOf(schedule.actions[asIndex(rank)], withoutBlocks(row)),
                                  withoutBlocks(schedule.actions[asIndex(rank)]));
        return sum / static_cast<double>(result.rows.size());
    };
    Recogniser recogniser(result);
    ScheduleRequest request{.ranks = p, .virtualStages = static_cast<int>(most), .microbatches = units};
    request.times = measuredTimes(passes, result.stages);
    std::set<int> groups{p};
    if (most > 1)
        groups.insert(firstGroup);
    for (const double weight : {0.5, 0.3, 0.7}) {
        request.memory.assign(1, PassMemory{.full = 1, .weight = weight});
        for (const bool overlaps : {false, true})
            for (const int group : groups) {
                request.overlapExpertComm = overlaps;
                request.microbatchGroup = group;
                recogniser.compare(request, likeness);
            }
        if (result.alike >= 1)
            break;
    }
    // The first backward is that of a micro-batch's last slice.
    if (most == 1 && firstBackward > 0 && units % (firstBackward + 1) == 0) {
        request.slices = firstBackward + 1;
        request.overlapExpertComm = false;
        request.microbatches = units / request.slices;
        request.microbatchGroup = p;
        recogniser.compare(request, likeness);
    }
    // A step without a gap is in some family's order or in none: what differs is no pass that the recorder lost.
    constexpr double kNearlyAlike = 0.75, kNearlyAlikeIfWhole = 0.9;
    const bool whole = holdsEachPassOnce(result.rows, units);
    const ScheduleFamily* const nearest = findScheduleFamily(result.kind);
    const bool isNoFixedOrder =
        result.alike < kNearlyAlikeIfWhole || (result.alike < 1 && nearest != nullptr && nearest->plansByCost);
    if (isNoFixedOrder && whole && most == 1 && recogniseByMemory(recogniser.plans(), result)) {
        result.sure = 0.6 * passes.sure;
        result.evidence = "weight gradients fill gaps in no fixed order: planned by what passes cost, within the memory of " +
                          result.kind + " (" + percentText(result.alike) +
                          " of the passes stand as it puts them with the times measured); " + possibleText(result.alsoPossible) +
                          " may do the same";
    } else if (result.alike >= 1) {
        result.sure = (result.alsoPossible.empty() ? 0.97 : 0.85) * passes.sure;
        result.evidence = "all passes of " + countedText(static_cast<std::int64_t>(result.rows.size()), "pipeline rank") +
                          " stand as " + result.kind + " puts them";
        if (!result.alsoPossible.empty())
            result.evidence += "; " + possibleText(result.alsoPossible) + " would do the same at this size";
    } else if (result.alike >= (whole ? kNearlyAlikeIfWhole : kNearlyAlike)) {
        result.sure = 0.8 * result.alike * passes.sure;
        result.evidence =
            percentText(result.alike) + " of the passes stand as " + result.kind + " puts them, more than any other schedule's";
    } else {
        result.evidence =
            "no known schedule orders passes like this; " + result.kind + " comes nearest with " + percentText(result.alike);
        result.kind = "custom";
        result.alsoPossible.clear();
        if (whole)
            for (const ScheduleFamily& family : scheduleFamilies())
                if (family.isSearched)
                    result.alsoPossible.emplace_back(family.kind);
        result.sure = (whole ? 0.8 : 0.5) * passes.sure;
    }
}

/// Without annotations: what each rank computes and whom it sends to, one after the other.
/// Why it is not told; "" where it is.
std::string recogniseByTokens(const RunEvidence& evidence, const RecoveredAxis& pipeline,
                              const std::vector<std::pair<std::int64_t, std::int64_t>>& stepWindow, RecoveredSchedule& result)
{
    const int p = pipeline.size;
    const TokenWords words = tokenWordsOf(evidence);
    std::map<int, std::vector<PassToken>> recorded; // by pipeline rank
    std::size_t sends = 0, mostOfRank = 0;
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
        const int self = RecoveredAxes::coordinate(pipeline, evidence.ranks[r].rank);
        if (recorded.contains(self))
            continue;
        std::vector<PassToken> tokens = recordedTokens(evidence.ranks[r], pipeline, stepWindow[r], words);
        const auto own =
            static_cast<std::size_t>(std::count_if(tokens.begin(), tokens.end(), [](PassToken token) { return token >= 0; }));
        if (own > 0)
            recorded[self] = std::move(tokens);
        sends += own;
        mostOfRank = std::max(mostOfRank, own);
    }
    if (static_cast<int>(recorded.size()) != p)
        return "sends and receives are not told apart by peer";

    const auto likeness = [&](const Schedule& schedule) {
        double sum = 0;
        for (const auto& [rank, tokens] : recorded)
            sum += likenessOfRows(tokens, scheduleTokens(schedule, rank, words));
        return sum / p;
    };
    // Recordings of many steps that nothing parts would be one of millions of passes: no order is made for them.
    constexpr std::size_t kMostSendsOfAStep = 200'000, kMostOfARank = 3'000;
    if (sends > kMostSendsOfAStep || mostOfRank > kMostOfARank)
        return "a rank sends " + numberText(static_cast<double>(mostOfRank), Unit::count) +
               " times: more than a step's order is looked for in";
    Recogniser recogniser(result);
    constexpr int kMostChunks = 8, kMostSlices = 8;
    constexpr std::size_t kMostSends = 20'000; // of larger jobs the first order that fits is taken
    for (int v = 1; v <= kMostChunks && (result.alike < 1 || sends <= kMostSends); ++v) {
        // Each micro-batch crosses every boundary between ranks twice; a V's turn lies within a rank, and of two copies of the
        // model each micro-batch crosses one.
        for (const int edges : std::set<int>{p * v - 1, p * v - 2, p * v / 2 - 1}) {
            if (edges < 1 || sends % (2 * asIndex(edges)) != 0)
                continue;
            const auto units = static_cast<int>(sends / (2 * asIndex(edges)));
            for (int slices = 1; slices <= (v == 1 ? kMostSlices : 1); ++slices) {
                if (units % slices != 0)
                    continue;
                ScheduleRequest request{
                    .ranks = p, .virtualStages = v, .microbatches = units / slices, .microbatchGroup = p, .slices = slices};
                for (const bool overlaps : {false, true}) {
                    request.overlapExpertComm = overlaps;
                    recogniser.compare(request, likeness);
                }
            }
        }
    }
    if (result.alike < 0.75)
        return "no known schedule has ranks send in this order";
    // Orders that several schedules share leave them open: as sure of each as of the others.
    result.sure = (words.tellsGradients ? 0.85 : 0.75) * result.alike / static_cast<double>(1 + result.alsoPossible.size());
    result.evidence =
        "no annotations; ranks " +
        std::string(!words.tellsGradients ? "send to their neighbours"
                    : words.tellsWeights  ? "compute forwards, gradients and weight gradients, and send to neighbours,"
                                          : "compute forwards and gradients, and send to neighbours,") +
        (result.alike >= 1 ? " in the order of " : " nearly in the order of ") + result.kind;
    if (!result.alsoPossible.empty())
        result.evidence += " (" + possibleText(result.alsoPossible) + " would do so in the same order)";
    return {};
}

} // namespace

std::optional<RecoveredSchedule> recoverSchedule(const RunEvidence& evidence, const RecoveredAxes& axes,
                                                 const RecoveredPasses& passes,
                                                 const std::vector<std::pair<std::int64_t, std::int64_t>>& stepWindow)
{
    RecoveredSchedule result;
    result.pipelineRanks = passes.pipelineRanks;
    for (std::size_t r = 0; r < passes.ranks.size(); ++r) {
        const int at = passes.pipelineRank[r];
        if (at < 0 || passes.ranks[r].empty() || result.rows.contains(at))
            continue;
        for (const RecoveredPass& pass : passes.ranks[r])
            result.rows[at].push_back(pass.action);
    }
    if (!result.rows.empty()) {
        recogniseByPasses(passes, result);
        if (static_cast<int>(result.rows.size()) < result.pipelineRanks) {
            result.sure *= 0.8;
            result.evidence += "; " + std::to_string(result.rows.size()) + " of " + std::to_string(result.pipelineRanks) +
                               " pipeline ranks are recorded";
        }
        return result;
    }
    const RecoveredAxis* pipeline = axes.find("pp");
    if (pipeline == nullptr || pipeline->size < 2 || stepWindow.size() != evidence.ranks.size())
        return std::nullopt;
    const std::string whyNot = recogniseByTokens(evidence, *pipeline, stepWindow, result);
    if (whyNot.empty())
        return result;
    result = {.kind = {}, .pipelineRanks = pipeline->size, .stages = pipeline->size};
    result.evidence = "no annotation tells passes apart, and " + whyNot;
    return result;
}

void inferPasses(const RunEvidence& evidence, const RecoveredAxes& axes, const RecoveredSchedule& found,
                 const std::vector<std::pair<std::int64_t, std::int64_t>>& stepWindow, RecoveredPasses& passes)
{
    const RecoveredAxis* pipeline = axes.find("pp");
    const ScheduleFamily* family = findScheduleFamily(found.kind);
    const TokenWords words = tokenWordsOf(evidence);
    if (passes.any() || pipeline == nullptr || family == nullptr || family->isSearched || found.alike < 1 ||
        !words.tellsGradients || stepWindow.size() != evidence.ranks.size())
        return;
    ScheduleRequest request{.kind = found.kind,
                            .ranks = found.pipelineRanks,
                            .virtualStages = found.virtualStages,
                            .microbatches = found.microbatches,
                            .microbatchGroup = found.microbatchGroup,
                            .overlapExpertComm = found.overlapsExperts,
                            .slices = found.slices};
    std::optional<Schedule> schedule;
    try {
        schedule = makeSchedule(request);
    } catch (const Error&) {
        return;
    }
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
        const RankEvidence& rank = evidence.ranks[r];
        const int self = RecoveredAxes::coordinate(*pipeline, rank.rank);
        if (recordedTokens(rank, *pipeline, stepWindow[r], words) == scheduleTokens(*schedule, self, words))
            passes.ranks[r] = passesByTokens(rank, *pipeline, stepWindow[r], words, *schedule);
    }
    if (passes.any()) {
        passes.sure = found.sure;
        passes.evidence = "no annotations: kernels between sends, dealt to the passes of " + found.kind;
    }
}

} // namespace sim
