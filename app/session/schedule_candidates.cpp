#include "app/session/schedule_candidates.h"

#include "app/session/edit.h"
#include "app/session/failure.h"
#include "app/session/pass_times.h"
#include "app/session/plain_words.h"
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

/// This job's own passes, as long as they take in it; nothing where so many would be a blur.
std::optional<ScheduleSketch> sketchOf(const sim::Simulation& simulation, const sim::Trace& actions)
{
    constexpr int kMostRanks = 16;
    constexpr std::size_t kMostActions = 160; ///< of a rank
    const sim::Schedule& schedule = simulation.schedule();
    if (schedule.ranks > kMostRanks || schedule.actions.front().size() > kMostActions)
        return std::nullopt;
    const std::vector<sim::PassTimes> times = measurePasses(actions, schedule);
    return ScheduleSketch{schedule, sim::evaluateSchedule(schedule, times, std::vector<sim::PassMemory>{{}})};
}

/// As sim::ScheduleTimes::idleOfSpan, of passes as they were simulated: with what they wait for within.
double idleBetweenPasses(const sim::Trace& trace)
{
    std::int64_t longestSpan = 0, longestBusy = 0;
    for (const sim::Track& track : trace.tracks) {
        std::int64_t first = -1, busy = 0, until = 0; // passes that overlap count once
        for (std::size_t i = 0; i < track.size() && track.role == sim::TrackRole::actions; ++i) {
            if (trace.kinds[track.kind[i]].opClass == sim::OpClass::optimizer)
                continue;
            const std::int64_t start = track.startNs[i], end = start + track.durationNs[i];
            first = first < 0 ? start : first;
            busy += std::max<std::int64_t>(0, end - std::max(start, until));
            until = std::max(until, end);
        }
        longestSpan = std::max(longestSpan, until - std::max<std::int64_t>(first, 0));
        longestBusy = std::max(longestBusy, busy);
    }
    return longestSpan == 0 ? 0 : 1 - static_cast<double>(longestBusy) / static_cast<double>(longestSpan);
}

/// Two schedules cut the model and the batch differently: what is held is counted in micro-batches of a p-th of the model.
double mostMicrobatchesHeld(const sim::Schedule& schedule)
{
    const std::vector<double> peaks = sim::evaluateSchedule(schedule).peakActivations;
    const double unit = static_cast<double>(schedule.ranks) / (static_cast<double>(schedule.chainLength()) * schedule.slices);
    return *std::max_element(peaks.begin(), peaks.end()) * unit;
}

ScheduleWorth worthOf(const sim::Simulation& simulation, const sim::Trace& actions)
{
    const auto& ranks = simulation.metrics().perPipelineRank;
    const auto fullest = std::max_element(ranks.begin(), ranks.end(),
                                          [](const auto& a, const auto& b) { return a.memory.total() < b.memory.total(); });
    return {.stepSeconds = simulation.metrics().stepTimeSeconds,
            .idleOfSpan = idleBetweenPasses(actions),
            .activationBytes = fullest->memory.activations,
            .peakMicrobatches = mostMicrobatchesHeld(simulation.schedule()),
            .misfit = sim::misfit(simulation)};
}

std::string firstError(const std::vector<sim::Problem>& problems)
{
    const auto error =
        std::find_if(problems.begin(), problems.end(), [](const auto& p) { return p.severity == sim::Severity::error; });
    return error == problems.end() ? std::string() : error->message;
}

} // namespace

ScheduleCandidates listedCandidates(const sim::Scenario& lastLegal)
{
    ScheduleCandidates out;
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies()) {
        const bool isCurrent = family.kind == lastLegal.schedule.kind;
        if (!family.isWrittenOut || isCurrent)
            out.push_back({.kind = std::string(family.kind),
                           .title = std::string(family.title),
                           .character = std::string(family.character),
                           .source = std::string(family.source),
                           .isCurrent = isCurrent});
    }
    return out;
}

ScheduleCandidate weighedCandidate(ScheduleCandidate candidate, const sim::ScenarioDocument& document,
                                   const sim::Catalogue& catalogue, const sim::Scenario& lastLegal)
{
    sim::checkCancelled();
    candidate.isWeighed = true;
    sim::ScenarioDocument changed = document;
    apply(changed, makeScheduleEdit(document, &lastLegal, candidate.kind));
    candidate.virtualStages = controlValue(changed, &lastLegal, Control::virtualStages);
    const sim::ScenarioDocument::Resolved resolved = changed.resolve(catalogue);
    candidate.whyNot = plainWords(firstError(resolved.problems));
    try {
        candidate.sketch = sketchOf(*sim::findScheduleFamily(candidate.kind));
        if (resolved.scenario) {
            const auto simulation = sim::simulate(*resolved.scenario);
            const sim::Trace actions = simulation->trace(sim::TraceDetail::actions);
            candidate.worth = worthOf(*simulation, actions);
            if (auto own = sketchOf(*simulation, actions)) {
                candidate.sketch = std::move(own);
                candidate.isSketchOwn = true;
            }
        }
    } catch (const sim::Cancelled&) {
        throw;
    } catch (...) { // the others can be had all the same
        candidate.whyNot = failureText();
    }
    return candidate;
}

} // namespace app
