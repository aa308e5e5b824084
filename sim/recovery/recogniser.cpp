#include "sim/recovery/recogniser.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sim {

namespace {

/// Of schedules that would look the same, jobs run these most.
int usage(std::string_view kind)
{
    constexpr std::array<std::pair<std::string_view, int>, 5> kUsage{
        {{"1f1b", 3}, {"interleaved-1f1b", 2}, {"gpipe", 0}, {"looped-bfs", -1}, {"seq-1f1b", -2}}};
    const auto* const found = std::find_if(kUsage.begin(), kUsage.end(), [kind](const auto& of) { return of.first == kind; });
    return found == kUsage.end() ? 1 : found->second;
}

} // namespace

void Recogniser::compare(ScheduleRequest request, const Likeness& likeness, Plans plans)
{
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (plans != Plans::too && family.plansByCost != (plans == Plans::only))
            continue;
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

void Recogniser::keepPlan(const ScheduleFamily& family, const ScheduleRequest& request, const Schedule& schedule, double alike)
{
    CostPlan plan{.kind = std::string(family.kind), .alike = alike, .held = 0, .request = request, .stages = schedule.stages()};
    for (const auto& [rank, row] : m_result.rows)
        plan.held = std::max(plan.held, mostHeld(schedule.actions[asIndex(rank)]));
    const auto same = std::find_if(m_plans.begin(), m_plans.end(), [&](const CostPlan& p) { return p.kind == plan.kind; });
    if (same == m_plans.end())
        m_plans.push_back(std::move(plan));
    else if (alike > same->alike)
        *same = std::move(plan);
}

void Recogniser::take(const ScheduleFamily& family, const ScheduleRequest& request, const Schedule& schedule, double alike)
{
    if (alike >= 1 && m_result.alike >= 1 && family.kind == m_result.kind)
        return;
    const auto isUsedMore = [&] { // passes of two micro-batches at once are the last thing to think of
        return request.overlapExpertComm != m_result.overlapsExperts ? m_result.overlapsExperts
                                                                     : usage(family.kind) > usage(m_result.kind);
    };
    if (alike >= 1 && m_result.alike >= 1 && !isUsedMore()) {
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
    m_hasBlocks = std::any_of(schedule.actions.begin(), schedule.actions.end(), [](const std::vector<Action>& row) {
        return std::any_of(row.begin(), row.end(), [](const Action& action) { return action.overlapsNext; });
    });
}

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

std::string possibleText(const std::vector<std::string>& kinds)
{
    std::string text;
    for (const std::string& kind : kinds)
        text += (text.empty() ? "" : ", ") + kind;
    return text;
}

void nameNoSchedule(RecoveredSchedule& result)
{
    result.evidence += result.kind + " comes nearest with " + percentText(result.alike);
    result.kind = "custom";
    result.alsoPossible.clear();
    for (const ScheduleFamily& family : scheduleFamilies())
        if (family.isSearched)
            result.alsoPossible.emplace_back(family.kind);
}

} // namespace sim
