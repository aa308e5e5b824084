#include "sim/recovery/unlike_steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sim {
namespace {

double medianTime(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// What all ranks hold of each step: kernels, copies, collectives.
std::vector<double> spansOfSteps(const RecoveredSteps& steps, const RunEvidence& evidence)
{
    std::vector<double> held;
    for (const RecoveredStep& step : steps.steps) {
        std::size_t spans = 0;
        for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
            const auto within = [&](const auto& of) {
                const auto at = [&](std::int64_t ns) {
                    return std::partition_point(of.begin(), of.end(), [ns](const auto& span) { return span.startNs < ns; });
                };
                return static_cast<std::size_t>(at(step.rankEndNs[r]) - at(step.rankStartNs[r]));
            };
            spans += within(evidence.ranks[r].work) + within(evidence.ranks[r].comms);
        }
        held.push_back(static_cast<double>(spans));
    }
    return held;
}

/// Of a step that is like others: of those that are neither the first nor the last the lower median, for a first one may have
/// compiled, and either may be a part. Of two the larger.
double usualOf(const std::vector<double>& ofSteps)
{
    std::vector<double> values = ofSteps;
    if (values.size() < 3)
        return *std::max_element(values.begin(), values.end());
    values.erase(values.begin());
    values.pop_back();
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) / 2];
}

/// A recording may begin or end inside a step, of which it then holds a part: less than half of what others hold, in less than
/// half of their time; of the first and the last of steps that nothing marks, noticeably less than others in both. Of the last of
/// these a part is recorded, too, where a call never ended: it was the last of its rank.
void setPartsApart(RecoveredSteps& steps, const RunEvidence& evidence, bool mayBeCut)
{
    constexpr double kPart = 0.5, kHeldOfCut = 0.9, kTimeOfCut = 0.95;
    const std::vector<double> held = spansOfSteps(steps, evidence);
    std::vector<double> seconds;
    for (const RecoveredStep& step : steps.steps)
        seconds.push_back(step.seconds());
    const double usualHeld = usualOf(held), usualSeconds = usualOf(seconds);
    const bool isCallOpen = std::any_of(evidence.ranks.begin(), evidence.ranks.end(), [](const RankEvidence& rank) {
        return std::any_of(rank.lastCalls.begin(), rank.lastCalls.end(), [](const LastCall& call) { return !call.isOver; });
    });
    const auto isLess = [&](std::size_t i) { // than the others
        std::vector<double> others, times;
        for (std::size_t k = 0; k < held.size(); ++k)
            if (k != i) {
                others.push_back(held[k]);
                times.push_back(seconds[k]);
            }
        return held[i] < kHeldOfCut * medianTime(std::move(others)) && seconds[i] < kTimeOfCut * medianTime(std::move(times));
    };
    for (std::size_t i = 0; i < steps.steps.size(); ++i) {
        RecoveredStep& step = steps.steps[i];
        const bool isEdge = mayBeCut && steps.steps.size() > 1 && (i == 0 || i + 1 == steps.steps.size());
        const bool neverEnded = isEdge && i > 0 && isCallOpen;
        if ((held[i] >= kPart * usualHeld || seconds[i] >= kPart * usualSeconds) && !(isEdge && isLess(i)) && !neverEnded)
            continue;
        step.isOutlier = step.isPart = true;
        steps.problems.push_back("step " + std::to_string(step.number) +
                                 " was recorded in part only: no means are taken over it");
    }
}

/// Of those that were recorded as a whole.
void judgeLengths(RecoveredSteps& result)
{
    std::vector<double> times;
    for (const RecoveredStep& step : result.steps)
        if (!step.isOutlier)
            times.push_back(step.seconds());
    if (times.empty())
        for (const RecoveredStep& step : result.steps)
            times.push_back(step.seconds());
    result.medianSeconds = medianTime(times);
    std::vector<double> deviations;
    deviations.reserve(times.size());
    for (const double time : times)
        deviations.push_back(std::abs(time - result.medianSeconds));
    const double spread = 1.4826 * medianTime(std::move(deviations));
    constexpr double kAlike = 0.05, kFarLonger = 2;
    std::sort(times.begin(), times.end());
    // Of three no spread is known, but where two are alike the third may be far from both: one that compiled.
    const bool areTwoAlike = times.size() == 3 && times[1] - times[0] <= kAlike * times[1];
    for (RecoveredStep& step : result.steps) {
        const double apart = std::abs(step.seconds() - result.medianSeconds);
        const bool isUnlike = times.size() >= 4 ? apart > std::max(3 * spread, kAlike * result.medianSeconds)
                                                : areTwoAlike && step.seconds() > kFarLonger * times[1];
        step.isOutlier = step.isOutlier || isUnlike;
    }
}

} // namespace

void findUnlikeSteps(RecoveredSteps& result, const RunEvidence& evidence, bool mayBeCut)
{
    if (result.steps.empty())
        return;
    setPartsApart(result, evidence, mayBeCut);
    judgeLengths(result);
}

} // namespace sim
