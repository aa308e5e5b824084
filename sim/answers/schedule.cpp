#include "sim/answers/schedule.h"

#include "sim/legal/schedule_request.h"
#include "sim/memory_limit.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/simulate/search_schedule.h"
#include "sim/text/number_text.h"

#include <cmath>
#include <utility>

namespace sim {
namespace {

constexpr double kNsPerMs = 1e6;
std::vector<PassTimes> inMilliseconds(std::vector<PassTimes> nanoseconds)
{
    for (PassTimes& times : nanoseconds)
        for (double* time : {&times.forward, &times.backwardInput, &times.backwardWeight, &times.comm, &times.fused})
            *time /= kNsPerMs;
    return nanoseconds;
}

std::vector<PassMemory> inGib(std::vector<PassMemory> bytes)
{
    for (PassMemory& memory : bytes) {
        memory.full /= kBytesPerGib;
        memory.weight /= kBytesPerGib;
    }
    return bytes;
}

} // namespace

ChosenSchedule chooseSchedule(const ScheduleRequest& request)
{
    if (!isSearched(request))
        return {.schedule = makeSchedule(request)};
    Synthesis synthesis = synthesise(synthesisRequest(request));
    synthesis.schedule.kind = request.kind;
    return {.schedule = synthesis.schedule, .synthesis = std::move(synthesis)};
}

ChosenSchedule chooseScheduleOf(const Scenario& scenario, const ScheduleRequest& request)
{
    if (!isSearched(request))
        return {.schedule = makeScheduleOf(request)};
    SearchedSchedule searched = searchSchedule(scenario, request);
    return {.schedule = std::move(searched.schedule),
            .synthesis = std::move(searched.synthesis),
            .missedCap = std::move(searched.missedCap)};
}

void requireMemoryForTimes(const Schedule& schedule)
{
    constexpr double kBytesAnAction = 240, kLimitBytes = kMemoryLimitBytes / 8; // for a table that somebody reads
    std::size_t actions = 0;
    for (const auto& row : schedule.actions)
        actions += row.size();
    if (const double bytes = static_cast<double>(actions) * kBytesAnAction; bytes > kLimitBytes)
        refuseMemory("a schedule of " + std::to_string(actions) + " actions with its times and communication", bytes, kLimitBytes,
                     numberText(std::round(schedule.microbatches * kLimitBytes / bytes), Unit::count) +
                         " micro-batches, or --format csv");
}

PassPrices judgedBy(const ScheduleRequest& planned, PassPrices given, ChosenSchedule& chosen)
{
    if (!findScheduleFamily(planned.kind)->plansByCost)
        return given;
    if (chosen.synthesis) {
        chosen.synthesis->times.span /= kNsPerMs;
        chosen.synthesis->bound /= kNsPerMs;
    }
    return {.times = inMilliseconds(planned.times), .memory = inGib(planned.memory)};
}

InOrderOutcome runInOrder(const CommSchedule& communication, std::span<const PassTimes> passes, CommStreams streams,
                          std::string nameOfStreams)
{
    InOrderOutcome outcome{.times = {}, .problems = {}, .streams = std::move(nameOfStreams)};
    try {
        outcome.times = evaluateInOrder(communication, passes, streams);
        outcome.times.start = outcome.times.end = outcome.times.heldBack = {}; // what is told are the sums
    } catch (const Error&) {
        outcome.problems = checkInOrder(communication, streams);
    }
    return outcome;
}

std::string rowText(const Schedule& schedule, const std::vector<Action>& actions)
{
    std::string row;
    forEachBlock(actions,
                 [&](std::size_t, ActionBlock block) { row += (row.empty() ? "" : " ") + blockText(block, schedule.slices); });
    return row;
}

Answer scheduleAnswer(const ChosenSchedule& chosen, const ScheduleTimes& times, const InOrderOutcome& inOrder)
{
    const Schedule& schedule = chosen.schedule;
    Answer rows = Answer::array();
    for (const auto& actions : schedule.actions)
        rows.push_back(rowText(schedule, actions));
    Answer ordered{{"streams", inOrder.streams}};
    if (inOrder.problems.empty())
        ordered.update({{"makespan", inOrder.times.makespan}, {"span", inOrder.times.span}, {"blocked", inOrder.times.blocked}});
    else
        ordered["problems"] = inOrder.problems;
    Answer json{
        {"kind", schedule.kind},
        {"ranks", rows},
        {"stage_to_rank", schedule.stageToRank},
        {"makespan", times.makespan},
        {"span", times.span},
        {"busy", times.busy},
        {"bubble", {{"of_makespan", times.idleOfMakespan}, {"of_span", times.idleOfSpan}, {"over_ideal", times.idleOverIdeal}}},
        {"peak_activations", times.peakActivations},
        {"in_order", ordered}};
    if (const auto& synthesis = chosen.synthesis) {
        json["lower_bound"] = synthesis->bound;
        json["gap"] = synthesis->gap();
        json["construction"] = synthesis->construction;
    }
    return json;
}

Answer scheduleAnswer(const Scenario& scenario)
{
    const ScheduleRequest request = planningRequest(scenario);
    ChosenSchedule chosen = chooseScheduleOf(scenario, request);
    requireMemoryForTimes(chosen.schedule);
    const PassPrices prices = judgedBy(request, {}, chosen);
    const ScheduleTimes times = evaluateSchedule(chosen.schedule, prices.times, prices.memory);
    return scheduleAnswer(chosen, times,
                          runInOrder(lowerCommunication(chosen.schedule, {}), prices.times, CommStreams::shared, "shared"));
}

} // namespace sim
