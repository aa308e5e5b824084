#include "sim/planner/reasons.h"

#include "sim/legal/legal.h"
#include "sim/memory_limit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace sim {
namespace {

std::string withDigits(const char* format, double value)
{
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}
std::string secondsText(double seconds)
{
    return seconds >= 1 ? withDigits("%.3f s", seconds) : withDigits("%.2f ms", seconds * 1e3);
}
std::string gibText(double bytes)
{
    return withDigits("%.1f GiB", bytes / kBytesPerGib);
}

/// "bubble +120.1 ms, exposed tp -40.2 ms": the largest first.
std::string termsText(const PlannedLayout& other, const PlannedLayout& first)
{
    std::vector<std::pair<double, StepPart>> terms;
    for (const StepPart part : kStepParts)
        if (const double delta = 1e-9 * static_cast<double>(other.use[part] - first.use[part]); delta != 0)
            terms.emplace_back(delta, part);
    std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
    std::string text;
    for (const auto& [delta, part] : terms)
        text += (text.empty() ? "" : ", ") + std::string(factsOf(part).name) + (delta > 0 ? " +" : " -") +
                secondsText(std::abs(delta));
    return text;
}

} // namespace

const char* planReasonName(PlanReason reason)
{
    constexpr std::array kNames{"rule", "memory", "floor", "slower"};
    return kNames[asIndex(reason)];
}

std::string whyIllegal(const PlanSpace& space, const PlanGrid& grid)
{
    const std::vector<int> microBatches = space.microBatches(grid);
    Choice choice;
    choice.grid = grid;
    choice.microBatch = microBatches.empty() ? 1 : microBatches.front();
    choice.sequenceParallel = space.sequenceParallels(grid).front();
    choice.zeroStage = space.zeroStages(grid).front();
    choice.dpShard = space.shards(grid, choice.zeroStage).front();
    std::string firstMessage;
    for (int kind = 0; kind < static_cast<int>(space.kinds.size()); ++kind) {
        const std::vector<int> counts = space.chunkCounts(grid, kind);
        if (counts.empty())
            continue;
        choice.kind = kind;
        choice.chunks = counts.front();
        for (const Reason& reason : judge(space.scenarioOf(choice)))
            if (!reason.isWarning) {
                if (firstMessage.empty() || reason.key.starts_with("/layout"))
                    firstMessage = reason.key + ": " + reason.message;
                if (reason.key.starts_with("/layout") || reason.key.starts_with("/training"))
                    return firstMessage;
                break;
            }
    }
    return firstMessage.empty() ? "no schedule takes these numbers" : firstMessage;
}

RejectedGrid rejectionOf(const GridRecord& record, const PlannedLayout* first, double capacityBytes)
{
    RejectedGrid rejected{.grid = record.grid};
    if (record.legal == 0) {
        rejected.reason = PlanReason::rule;
        rejected.text = record.rule;
        return rejected;
    }
    rejected.leastFloorSeconds = std::isfinite(record.openNs) ? record.openNs * 1e-9 : 0;
    if (record.best && first != nullptr) {
        rejected.reason = PlanReason::slower;
        rejected.best = record.best;
        const double delta = record.best->stepSeconds - first->stepSeconds;
        const std::string terms = termsText(*record.best, *first);
        rejected.text = "its best takes " + secondsText(record.best->stepSeconds) + ", " + secondsText(std::abs(delta)) +
                        (delta >= 0 ? " more" : " less") + (terms.empty() ? "" : ": " + terms);
        return rejected;
    }
    if (!std::isfinite(record.openNs)) { // nothing is left of it, and nothing ran
        rejected.reason = PlanReason::memory;
        rejected.leastFloorSeconds = 0;
        const Choice& least = record.fullest;
        rejected.text = "pipeline rank " + std::to_string(record.fullestRank) + " holds at least " + gibText(record.leastBytes) +
                        " of " + gibText(capacityBytes) + ", with micro-batches of " + std::to_string(least.microBatch) +
                        ", zero_stage " + std::to_string(least.zeroStage) +
                        (least.recompute == Recompute::full ? " and full recomputation" : "");
        return rejected;
    }
    rejected.reason = PlanReason::floor;
    if (first == nullptr)
        rejected.text =
            "its floor is " + secondsText(rejected.leastFloorSeconds) + ", and the search was stopped before one fitted";
    else
        rejected.text = "nothing of it that may fit is faster than " + secondsText(rejected.leastFloorSeconds) +
                        ", and the first takes " + secondsText(first->stepSeconds);
    return rejected;
}

PlanWhy whyNot(const PlanRequest& request, const Catalogue& catalogue, const PlanAnswer& answer, const PlanSetting& asked)
{
    PlanWhy why{.asked = asked};
    if (answer.best.empty()) {
        why.text = "there is no layout that fits to compare with";
        return why;
    }
    PlanRequest with = request;
    with.fixed.push_back(asked);
    with.top = 1;
    PlanAnswer other;
    try {
        other = plan(with, catalogue);
    } catch (const ScenarioError& error) {
        why.text = error.what();
        return why;
    }
    if (other.best.empty()) {
        why.text = other.rejected.empty() ? "no grid of " + std::to_string(answer.gpus) + " GPUs has it"
                                          : other.rejected.front().grid.text() + ": " + other.rejected.front().text;
        return why;
    }
    why.other = other.best.front();
    const auto scenarioOf = [&](const PlanRequest& of, const PlannedLayout& layout) {
        return resolvedScenario(withSettings(of, layout.settings), catalogue);
    };
    const auto a = simulate(scenarioOf(request, answer.best.front())), b = simulate(scenarioOf(with, *why.other));
    const Comparison comparison = compare(*a, *b);
    why.deltaSeconds = static_cast<double>(comparison.deltaNs()) * 1e-9;
    for (const StepPart part : kStepParts)
        if (const std::int64_t delta = comparison.deltaNs(part); delta != 0)
            why.terms.emplace_back(part, static_cast<double>(delta) * 1e-9);
    why.sure = sureText(comparison.likely);
    why.text = termsText(*why.other, answer.best.front());
    return why;
}

} // namespace sim
