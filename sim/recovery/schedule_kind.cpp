#include "sim/recovery/schedule_kind.h"

#include "sim/error.h"
#include "sim/recovery/counted_passes.h"
#include "sim/recovery/pass_tokens.h"
#include "sim/recovery/planned_times.h"
#include "sim/recovery/recogniser.h"
#include "sim/recovery/schedule_by_sends.h"
#include "sim/schedule/families/families.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace sim {
namespace {

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

/// Whether a rank runs two passes at once: which of them begins first is chance.
bool overlapInTime(const RecoveredPasses& passes)
{
    for (const auto& rank : passes.ranks)
        for (std::size_t i = 1; i < rank.size(); ++i)
            if (rank[i].startNs < rank[i - 1].endNs)
                return true;
    return false;
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
    const bool holdsMore = held > result.pipelineRanks + 0.5;
    const auto fit = [&](const CostPlan& plan) {
        const bool isUsual = holdsMore == (plan.kind == "zb-2p");
        return plan.alike - 0.3 * std::abs(plan.held - held) / static_cast<double>(result.pipelineRanks) + (isUsual ? 0.1 : 0);
    };
    const CostPlan* least = nullptr;
    for (const CostPlan& plan : plans)
        if (plan.alike >= kFewestAlike && (least == nullptr || fit(plan) > fit(*least)))
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
        if (plan.kind != least->kind && plan.held + 1 >= held)
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

    const auto rowOf = [&](const Schedule& schedule, int rank) {
        const std::vector<Action>& row = schedule.actions[asIndex(rank)];
        return passes.areCounted ? numberedAsTheyCome(row) : row;
    };
    const auto likeness = [&](const Schedule& schedule) {
        double sum = 0;
        for (const auto& [rank, ran] : result.rows) {
            const std::vector<Action> row = rowOf(schedule, rank);
            sum += likenessOfRows(inOrderOf(row, withoutBlocks(ran)), withoutBlocks(row));
        }
        return sum / static_cast<double>(result.rows.size());
    };
    const int mostSlices = passes.areCounted ? kMostSlices : firstBackward + 1;
    Recogniser recogniser(result);
    ScheduleRequest request{.ranks = p, .virtualStages = static_cast<int>(most), .microbatches = units};
    request.times = measuredTimes(passes, result.stages);
    std::set<int> groups{p};
    if (most > 1)
        groups.insert(firstGroup);
    for (const bool overlaps : {false, true})
        for (const int group : groups) {
            request.overlapExpertComm = overlaps;
            request.microbatchGroup = group;
            recogniser.compare(request, likeness, Recogniser::Plans::no);
        }
    request.overlapExpertComm = false;
    constexpr std::size_t kFewPasses = 20'000; // of more one guess is tried
    bool isFirst = true;
    for (const double weight : {0.5, 0.3, 0.7, 1.0})
        for (const double head : {0.0, 1.0, 3.0}) {
            if (!isFirst && (result.alike >= 1 || recorded > kFewPasses))
                break;
            request.memory = guessedMemory(request.times, weight, head);
            recogniser.compare(request, likeness, Recogniser::Plans::only);
            isFirst = false;
        }
    // The first backward is that of a micro-batch's last slice.
    for (int slices = passes.areCounted ? 2 : firstBackward + 1; most == 1 && slices > 1 && slices <= mostSlices; ++slices) {
        if (units % slices != 0)
            continue;
        request.slices = slices;
        request.overlapExpertComm = false;
        request.microbatches = units / request.slices;
        request.microbatchGroup = p;
        recogniser.compare(request, likeness);
    }
    // A step without a gap is in some family's order or in none: what differs is no pass that the recorder lost.
    constexpr double kNearlyAlike = 0.75, kNearlyAlikeIfBlocks = 0.9;
    const bool whole = holdsEachPassOnce(result.rows, units);
    const double nearlyAlike = !whole ? kNearlyAlike : overlapInTime(passes) ? kNearlyAlikeIfBlocks : 1;
    const ScheduleFamily* const nearest = findScheduleFamily(result.kind);
    const bool isNoFixedOrder = result.alike < nearlyAlike || (result.alike < 1 && nearest != nullptr && nearest->plansByCost);
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
    } else if (result.alike >= nearlyAlike) {
        result.sure = 0.8 * result.alike * passes.sure;
        result.evidence =
            percentText(result.alike) + " of the passes stand as " + result.kind + " puts them, more than any other schedule's";
    } else {
        result.evidence = "no known schedule orders passes like this; ";
        nameNoSchedule(result);
        if (!whole)
            result.alsoPossible.clear();
        result.sure = (whole ? 0.8 : 0.5) * passes.sure;
    }
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
        const bool isPart = static_cast<int>(result.rows.size()) < result.pipelineRanks;
        if (isPart)
            result.sure *= 0.8;
        if (passes.areCounted)
            result.evidence =
                "no annotations; ranks compute forwards, gradients and weight gradients between their sends: " + result.evidence +
                (isPart ? "; forwards of the last one are not told apart" : "");
        else if (isPart)
            result.evidence += "; " + std::to_string(result.rows.size()) + " of " + std::to_string(result.pipelineRanks) +
                               " pipeline ranks are recorded";
        return result;
    }
    const RecoveredAxis* pipeline = axes.find("pp");
    if (pipeline == nullptr || pipeline->size < 2 || stepWindow.size() != evidence.ranks.size())
        return std::nullopt;
    const std::string whyNot = recogniseBySends(evidence, *pipeline, stepWindow, result);
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
    if ((passes.any() && !passes.areCounted) || pipeline == nullptr || family == nullptr || family->isSearched ||
        found.alike < 1 || !words.tellsGradients || stepWindow.size() != evidence.ranks.size())
        return;
    if (passes.areCounted && (family->plansByCost || found.slices == 1))
        return; // these are of the micro-batches that they were counted as
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
        if (passes.areCounted) {
            const std::vector<Action>& row = schedule->actions[asIndex(self)];
            for (std::size_t i = 0; i < std::min(row.size(), passes.ranks[r].size()); ++i)
                passes.ranks[r][i].action.microbatch = row[i].microbatch;
            continue;
        }
        const TokenRows rows = tokensBeside(recordedTokens(rank, *pipeline, stepWindow[r], words), *schedule, self, words);
        if (rows.recorded == rows.schedule)
            passes.ranks[r] = passesByTokens(rank, *pipeline, stepWindow[r], words, *schedule);
    }
    if (passes.any() && !passes.areCounted) {
        passes.sure = found.sure;
        passes.evidence = "no annotations: kernels between sends, dealt to the passes of " + found.kind;
    }
}

} // namespace sim
