#include "app/session/schedule_candidates.h"

#include "app/session/edit.h"
#include "app/session/failure.h"
#include "sim/cancel.h"
#include "sim/legal/schedule_request.h"
#include "sim/schedule/families/families.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/simulate/simulation.h"

#include <algorithm>

namespace app {
namespace {

/// Four ranks and eight micro-batches show what a family is about, and every family can be made of them.
std::optional<ScheduleSketch> sketchOf(const sim::ScheduleFamily& family)
{
    constexpr int kRanks = 4, kMicrobatches = 8, kUsualChunks = 2;
    const int most = family.chunks.most > 0 ? family.chunks.most : kUsualChunks;
    sim::ScheduleRequest request{.kind = std::string(family.kind),
                                 .ranks = kRanks,
                                 .virtualStages = std::clamp(family.chunks.least, 1, most),
                                 .microbatches = kMicrobatches};
    if (family.cutsSequences())
        request.slices = 2;
    if (family.isWrittenOut || family.unmet(request))
        return std::nullopt;
    ScheduleSketch sketch{family.make(request), {}};
    sketch.times = sim::evaluateSchedule(sketch.schedule);
    return sketch;
}

/// Two schedules cut the model and the batch differently: memory is counted in micro-batches of a p-th of the model.
ScheduleWorth worthOf(const sim::Schedule& schedule, const std::vector<sim::PassTimes>& times)
{
    const sim::PassMemory memory{};
    const sim::ScheduleTimes result = sim::evaluateSchedule(schedule, times, std::span(&memory, 1));
    const double unit = static_cast<double>(schedule.ranks) / (static_cast<double>(schedule.chainLength()) * schedule.slices);
    ScheduleWorth worth{.makespanNs = result.makespan, .idleOfSpan = result.idleOfSpan};
    worth.peakMicrobatches = *std::max_element(result.peakActivations.begin(), result.peakActivations.end()) * unit;
    worth.peakOver1f1b = worth.peakMicrobatches / std::min(schedule.ranks, schedule.microbatches / schedule.slices);
    return worth;
}

/// F : I : W = 1 : 1 : 1 for a p-th of the model and a whole micro-batch.
std::vector<sim::PassTimes> unitTimes(const sim::Schedule& schedule)
{
    const double share = static_cast<double>(schedule.ranks) / (static_cast<double>(schedule.chainLength()) * schedule.slices);
    return {{.forward = share, .backwardInput = share, .backwardWeight = share}};
}

std::string firstError(const std::vector<sim::Problem>& problems)
{
    const auto error =
        std::find_if(problems.begin(), problems.end(), [](const auto& p) { return p.severity == sim::Severity::error; });
    return error == problems.end() ? std::string() : error->message;
}

} // namespace

ScheduleCandidates scheduleCandidates(const sim::ScenarioDocument& document, const sim::Catalogue& catalogue,
                                      const sim::Scenario& lastLegal, const sim::Schedule* present, const sim::Trace* trace)
{
    std::optional<MeasuredPasses> measured;
    ScheduleCandidates out;
    if (present && trace && !trace->tracks.empty()) {
        measured = measurePasses(*trace, *present, lastLegal.schedule.layersPerStage);
        out.isMeasured = true;
        out.splitIsMeasured = measured->splitIsMeasured;
    }
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies()) {
        sim::checkCancelled();
        const bool isCurrent = family.kind == lastLegal.schedule.kind;
        if (family.isWrittenOut && !isCurrent)
            continue;
        ScheduleCandidate candidate{.kind = std::string(family.kind),
                                    .title = std::string(family.title),
                                    .character = std::string(family.character),
                                    .source = std::string(family.source),
                                    .isCurrent = isCurrent};
        sim::ScenarioDocument changed = document;
        apply(changed, makeScheduleEdit(document, &lastLegal, family.kind));
        candidate.virtualStages = controlValue(changed, &lastLegal, Control::virtualStages);
        const sim::ScenarioDocument::Resolved resolved = changed.resolve(catalogue);
        candidate.whyNot = firstError(resolved.problems);
        try {
            candidate.sketch = sketchOf(family);
            if (resolved.scenario) {
                if (measured) {
                    const auto simulation = sim::simulate(*resolved.scenario);
                    const sim::Schedule& schedule = simulation->schedule();
                    candidate.worth =
                        worthOf(schedule, passTimesFor(*measured, schedule, resolved.scenario->schedule.layersPerStage));
                    candidate.worth->stepSeconds = simulation->metrics().stepTimeSeconds;
                } else {
                    const sim::Schedule schedule = sim::planSchedule(*resolved.scenario);
                    candidate.worth = worthOf(schedule, unitTimes(schedule));
                }
            }
        } catch (const sim::Cancelled&) {
            throw;
        } catch (...) { // the others can be had all the same
            candidate.whyNot = failureText();
        }
        out.all.push_back(std::move(candidate));
    }
    return out;
}

} // namespace app
