#include "sim/schedule/evaluate.h"

#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/schedule/walk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sim {

namespace {

constexpr double kNotYet = -1;

[[noreturn]] void refuse(const Schedule& schedule)
{
    std::string message = "the schedule \"" + schedule.kind + "\" cannot run";
    for (const std::string& problem : checkSchedule(schedule))
        message += "\n" + problem;
    throw Error(message);
}

void checkTimes(const PassTimes& times)
{
    for (const auto& [name, value] : {std::pair{"forward", times.forward},
                                      {"backward input", times.backwardInput},
                                      {"backward weight", times.backwardWeight},
                                      {"communication", times.comm}})
        if (!(value >= 0) || !std::isfinite(value))
            throw Error(std::string("the ") + name + " time is " + std::to_string(value) + "; it must be 0 or more");
}

/// True if indexing by its numbers is safe and no pass can be missing for want of actions.
bool hasFrame(const Schedule& schedule)
{
    if (schedule.ranks < 1 || schedule.actions.size() != static_cast<std::size_t>(schedule.ranks) ||
        schedule.stageToRank.empty() || schedule.microbatches < 1)
        return false;
    if (std::any_of(schedule.stageToRank.begin(), schedule.stageToRank.end(),
                    [&](int rank) { return rank < 0 || rank >= schedule.ranks; }))
        return false;
    std::size_t actions = 0;
    for (const auto& list : schedule.actions)
        actions += list.size();
    return actions >= 2 * schedule.stageToRank.size() * static_cast<std::size_t>(schedule.microbatches);
}

double largest(const std::vector<double>& values)
{
    return *std::max_element(values.begin(), values.end());
}

void summarise(ScheduleTimes& times)
{
    double last = 0;
    double first = std::numeric_limits<double>::infinity();
    for (std::size_t rank = 0; rank < times.start.size(); ++rank) {
        if (times.start[rank].empty())
            continue;
        const double rankFirst = times.start[rank].front();
        const double rankLast = times.end[rank].back();
        times.span = std::max(times.span, rankLast - rankFirst);
        first = std::min(first, rankFirst);
        last = std::max(last, rankLast);
    }
    times.makespan = last - first;
    const double ideal = largest(times.busy);
    const double meanBusy = std::accumulate(times.busy.begin(), times.busy.end(), 0.0) / static_cast<double>(times.busy.size());
    // Passes that take no time leave nothing to divide by, and no bubble.
    times.bubbleOfMakespan = times.makespan > 0 ? (times.makespan - meanBusy) / times.makespan : 0;
    times.bubbleOfSpan = times.span > 0 ? (times.span - ideal) / times.span : 0;
    times.bubbleOverIdeal = ideal > 0 ? (times.makespan - ideal) / ideal : 0;
}

} // namespace

ScheduleTimes evaluateSchedule(const Schedule& schedule, const PassTimes& times, const PassMemory& memory)
{
    checkTimes(times);
    if (!hasFrame(schedule))
        refuse(schedule);

    const std::size_t ranks = schedule.actions.size();
    const std::size_t stages = schedule.stageToRank.size();
    const auto microbatches = static_cast<std::size_t>(schedule.microbatches);
    const std::size_t passes = stages * microbatches;
    // Ends of F and of what publishes the gradient (I, or B at its end), by stage and micro-batch.
    std::vector<double> forwardEnd(passes, kNotYet);
    std::vector<double> gradientEnd(passes, kNotYet);
    // Latency of the edge from stage s - 1 to s.
    std::vector<double> latency(stages, 0);
    for (std::size_t stage = 1; stage < stages; ++stage)
        latency[stage] = schedule.stageToRank[stage] == schedule.stageToRank[stage - 1] ? 0 : times.comm;

    ScheduleTimes result;
    result.busy.assign(ranks, 0);
    result.peakActivations.assign(ranks, 0);
    result.start.resize(ranks);
    result.end.resize(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        result.start[rank].resize(schedule.actions[rank].size());
        result.end[rank].resize(schedule.actions[rank].size());
    }
    struct RankState {
        double clock = 0, busy = 0, held = 0, peak = 0;
    };
    std::vector<RankState> states(ranks);
    std::vector<char> weightDone(passes, 0);

    const auto execute = [&](std::size_t rank, std::size_t index, const Action& action) {
        const auto stage = static_cast<std::size_t>(action.stage);
        const auto microbatch = static_cast<std::size_t>(action.microbatch);
        if (stage >= stages || microbatch >= microbatches || static_cast<std::size_t>(schedule.stageToRank[stage]) != rank)
            return false;
        const std::size_t pass = stage * microbatches + microbatch;
        RankState& state = states[rank];
        double start = state.clock;
        double duration = 0;
        double* published = nullptr;
        if (action.kind == ActionKind::forward) {
            if (stage > 0) {
                const double input = forwardEnd[pass - microbatches];
                if (input < 0)
                    return false;
                start = std::max(start, input + latency[stage]);
            }
            published = &forwardEnd[pass];
            if (*published >= 0)
                return false;
            duration = times.forward;
            state.held += memory.full;
            state.peak = std::max(state.peak, state.held);
        } else if (action.kind == ActionKind::backwardWeight) {
            if (gradientEnd[pass] < 0 || weightDone[pass])
                return false;
            duration = times.backwardWeight;
            state.held -= memory.weight;
            weightDone[pass] = 1;
        } else {
            published = &gradientEnd[pass];
            if (forwardEnd[pass] < 0 || *published >= 0)
                return false;
            if (stage + 1 < stages) {
                const double gradient = gradientEnd[pass + microbatches];
                if (gradient < 0)
                    return false;
                start = std::max(start, gradient + latency[stage + 1]);
            }
            const bool full = action.kind == ActionKind::backward;
            duration = times.backwardInput + (full ? times.backwardWeight : 0);
            state.held -= full ? memory.full : memory.full - memory.weight;
            weightDone[pass] = full ? 1 : 0;
        }
        const double end = start + duration;
        if (published != nullptr)
            *published = end;
        state.busy += duration;
        state.clock = end;
        result.start[rank][index] = start;
        result.end[rank][index] = end;
        return true;
    };
    const std::vector<std::size_t> position = walkSchedule(schedule, execute);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (position[rank] < schedule.actions[rank].size())
            refuse(schedule);
        result.busy[rank] = states[rank].busy;
        result.peakActivations[rank] = states[rank].peak;
    }
    // No weight gradient comes without its input gradient, nor that without its forward.
    if (std::find(weightDone.begin(), weightDone.end(), 0) != weightDone.end())
        refuse(schedule);
    summarise(result);
    return result;
}

} // namespace sim
