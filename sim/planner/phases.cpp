#include "sim/planner/phases.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/memory_limit.h"
#include "sim/planner/planned_layout.h"
#include "sim/planner/sensitivity.h"
#include "sim/planner/space.h"
#include "sim/scenario/pointer_text.h"
#include "sim/simulate/memory_cap.h"
#include "sim/simulate/simulation.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <string>

namespace sim {
namespace {

/// The layout of another phase in this one.
void keep(PlannedPhase& of, const PlanRequest& request, const Catalogue& catalogue, const PlannedLayout& layout)
{
    const auto resolved = withSettings(request, layout.settings).resolve(catalogue);
    if (!resolved.scenario) {
        for (const Problem& problem : resolved.problems)
            if (problem.severity == Severity::error && of.whyNotKept.empty())
                of.whyNotKept = problem.pointer + ": " + problem.message;
        return;
    }
    if (of.whyNotKept = frameworkProblem(request, *resolved.scenario, catalogue); !of.whyNotKept.empty())
        return;
    const auto step = simulate(*resolved.scenario);
    if (step->metrics().peakMemoryGib > resolved.scenario->cluster.gpu.memoryGib - request.marginGib || !fitsEverywhere(*step))
        of.whyNotKept = "does not fit";
    else
        of.kept = plannedLayout(layout.grid, layout.settings, *step, request.price);
}

/// What is held cannot be another in each phase.
void requireFree(const PlanRequest& request, const std::vector<Phase>& phases)
{
    if (std::any_of(request.freed.begin(), request.freed.end(),
                    [](const std::string& pointer) { return dotted(pointer) == "training.global_batch_size"; }))
        throw Error("each phase has its batch: hold training.global_batch_size, or plan the phases one by one");
    for (const auto& [pointer, value] : request.fixed)
        for (const Phase& phase : phases) {
            const int wanted = dotted(pointer) == "training.sequence_length"     ? phase.sequenceLength
                               : dotted(pointer) == "training.global_batch_size" ? phase.batch
                                                                                 : 0;
            if (wanted > 0 && value != std::to_string(wanted))
                throw Error(shownText(pointer) + " is to be held at " + shownText(value) + ", and a phase has " +
                            std::to_string(wanted) + "; say one of them");
        }
}

/// Whether parameters and optimizer lie elsewhere in one than in the other. What schedules call themselves moves nothing: where
/// they put stages does.
bool movesStates(const PlanRequest& request, const PlannedLayout& layout, const PlanRequest& before, const PlannedLayout& was,
                 const Catalogue& catalogue)
{
    if (layout.grid != was.grid)
        return true;
    const auto now = simulate(resolvedScenario(withSettings(request, layout.settings), catalogue)),
               then = simulate(resolvedScenario(withSettings(before, was.settings), catalogue));
    const Layout &a = now->scenario().layout, &b = then->scenario().layout;
    return a.order != b.order || a.placement != b.placement || a.zeroStage != b.zeroStage || a.dpShard != b.dpShard ||
           now->schedule().stageToRank != then->schedule().stageToRank ||
           now->scenario().schedule.layersPerStage != then->scenario().schedule.layersPerStage;
}

double statesGib(const PlanRequest& request, const Catalogue& catalogue, const PlannedLayout& layout)
{
    const auto step = simulate(resolvedScenario(withSettings(request, layout.settings), catalogue));
    std::int64_t most = 0;
    for (const RankProgram& rank : step->program().ranks)
        most = std::max(most, rank.states.parameters + rank.states.optimizer);
    return static_cast<double>(most) / kBytesPerGib;
}

} // namespace

PlanRequest ofPhase(const PlanRequest& request, const Phase& phase)
{
    PlanRequest of = request;
    of.document.set("training.sequence_length", std::to_string(phase.sequenceLength));
    if (phase.batch > 0)
        of.document.set("training.global_batch_size", std::to_string(phase.batch));
    return of;
}

std::vector<PlannedPhase> planPhases(const PlanRequest& request, const Catalogue& catalogue, const std::vector<Phase>& phases)
{
    requireFree(request, phases);
    for (const Phase& phase : phases)
        requirePlannable(ofPhase(request, phase), catalogue);
    std::vector<PlannedPhase> planned;
    try {
        for (const Phase& phase : phases) {
            const PlanRequest of = ofPhase(request, phase);
            PlannedPhase& made = planned.emplace_back(PlannedPhase{.phase = phase, .answer = plan(of, catalogue)});
            if (made.answer.stopped)
                return planned;
            if (planned.size() < 2 || made.answer.best.empty() || planned[planned.size() - 2].answer.best.empty())
                continue;
            const PlannedLayout &best = made.answer.best.front(), &before = planned[planned.size() - 2].answer.best.front();
            made.changes = differenceText(best, before);
            if (movesStates(of, best, ofPhase(request, planned[planned.size() - 2].phase), before, catalogue))
                made.readGib = statesGib(of, catalogue, best);
        }
        if (!planned.empty() && !planned.back().answer.best.empty())
            for (PlannedPhase& each : planned)
                keep(each, ofPhase(request, each.phase), catalogue, planned.back().answer.best.front());
    } catch (const Cancelled&) { // what was found is told
    }
    return planned;
}

} // namespace sim
