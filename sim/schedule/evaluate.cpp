#include "sim/schedule/evaluate.h"

#include "sim/error.h"
#include "sim/index.h"
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
    for (const auto& [name, value] : {std::pair{"full backward", times.fused}, {"overlapped", times.overlapped}})
        if (!std::isfinite(value))
            throw Error(std::string("the ") + name + " time is " + std::to_string(value) +
                        "; it must be 0 or more, or below 0 for the sum of its passes");
}

/// True if indexing by its numbers is safe and no pass can be missing for want of actions.
bool hasFrame(const Schedule& schedule)
{
    if (schedule.ranks < 1 || schedule.actions.size() != asIndex(schedule.ranks) || schedule.stageToRank.empty() ||
        schedule.microbatches < 1 || schedule.slices < 1 || schedule.chains < 1 || schedule.stages() % schedule.chains != 0 ||
        schedule.microbatches % schedule.chains != 0)
        return false;
    if (std::any_of(schedule.stageToRank.begin(), schedule.stageToRank.end(),
                    [&](int rank) { return rank < 0 || rank >= schedule.ranks; }))
        return false;
    std::size_t actions = 0;
    for (const auto& list : schedule.actions)
        actions += list.size();
    return actions >= 2 * schedule.stageToRank.size() * asIndex(schedule.microbatches / schedule.chains);
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
    times.idleOfMakespan = times.makespan > 0 ? std::max(0.0, times.makespan - meanBusy) / times.makespan : 0;
    times.idleOfSpan = times.span > 0 ? std::max(0.0, times.span - ideal) / times.span : 0;
    times.idleOverIdeal = ideal > 0 ? std::max(0.0, times.makespan - ideal) / ideal : 0;
}

/// The recurrence, one block after the other.
class Evaluation {
public:
    Evaluation(const Schedule& schedule, std::span<const PassTimes> times, std::span<const PassMemory> memory)
        : m_schedule(schedule), m_stages(schedule.stageToRank.size()), m_microbatches(asIndex(schedule.microbatches)),
          m_passes(m_stages * m_microbatches, Pass{}), m_costs(m_stages), m_states(schedule.actions.size())
    {
        const auto length = asIndex(schedule.chainLength());
        for (std::size_t stage = 0; stage < m_stages; ++stage) {
            const std::size_t part = stage % length;
            StageCosts& costs = m_costs[stage];
            costs.times = times[times.size() == 1 ? 0 : part];
            costs.memory = memory[memory.size() == 1 ? 0 : part];
            costs.enters = schedule.entersAt(static_cast<int>(stage));
            costs.leaves = schedule.leavesAt(static_cast<int>(stage));
            if (!costs.enters && schedule.stageToRank[stage] != schedule.stageToRank[stage - 1])
                costs.latencyBefore = m_costs[stage - 1].latencyAfter = m_costs[stage - 1].times.comm;
        }
    }

    ScheduleTimes run()
    {
        const std::size_t ranks = m_schedule.actions.size();
        m_result.busy.assign(ranks, 0);
        m_result.peakActivations.assign(ranks, 0);
        m_result.start.resize(ranks);
        m_result.end.resize(ranks);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            m_result.start[rank].resize(m_schedule.actions[rank].size());
            m_result.end[rank].resize(m_schedule.actions[rank].size());
        }
        const std::vector<std::size_t> position = walkSchedule(
            m_schedule, [this](std::size_t rank, std::size_t index, ActionBlock block) { return execute(rank, index, block); });
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            if (position[rank] < m_schedule.actions[rank].size())
                refuse(m_schedule);
            m_result.busy[rank] = m_states[rank].busy;
            m_result.peakActivations[rank] = m_states[rank].peak;
        }
        // No weight gradient comes without its input gradient, nor that without its forward.
        const std::size_t chainPasses = m_passes.size() / asIndex(m_schedule.chains);
        const auto done = std::count_if(m_passes.begin(), m_passes.end(), [](const Pass& pass) { return pass.weightDone; });
        if (asIndex(done) != chainPasses)
            refuse(m_schedule);
        summarise(m_result);
        return std::move(m_result);
    }

private:
    struct Pass {
        double forwardEnd = kNotYet;
        double gradientEnd = kNotYet; ///< of what publishes the gradient: I, or B at its end
        bool weightDone = false;
    };
    struct StageCosts {
        PassTimes times;
        PassMemory memory;
        double latencyBefore = 0, latencyAfter = 0;
        bool enters = false, leaves = false;
    };
    struct RankState {
        double clock = 0, busy = 0, held = 0, peak = 0;
    };

    Pass& passOf(const Action& action) { return m_passes[asIndex(action.stage) * m_microbatches + asIndex(action.microbatch)]; }

    /// When the inputs of an action are there; kNotYet if it must wait, or can never run.
    double ready(std::size_t rank, const Action& action)
    {
        const auto stage = asIndex(action.stage);
        if (stage >= m_stages || asIndex(action.microbatch) >= m_microbatches || asIndex(m_schedule.stageToRank[stage]) != rank)
            return kNotYet;
        const Pass& pass = passOf(action);
        const StageCosts& costs = m_costs[stage];
        switch (action.kind) {
        case ActionKind::forward: {
            if (pass.forwardEnd >= 0)
                return kNotYet;
            if (costs.enters)
                return m_schedule.chains == 1 || m_schedule.chainOf(action.microbatch) == action.stage / m_schedule.chainLength()
                           ? 0
                           : kNotYet;
            const double input = (&pass - m_microbatches)->forwardEnd;
            return input < 0 ? kNotYet : input + costs.latencyBefore;
        }
        case ActionKind::backwardWeight:
            return pass.gradientEnd < 0 || pass.weightDone ? kNotYet : 0;
        default: {
            if (pass.forwardEnd < 0 || pass.gradientEnd >= 0)
                return kNotYet;
            if (costs.leaves)
                return 0;
            const double gradient = (&pass + m_microbatches)->gradientEnd;
            return gradient < 0 ? kNotYet : gradient + costs.latencyAfter;
        }
        }
    }

    double duration(ActionBlock block) const
    {
        double sum = 0;
        double overlapped = 0;
        bool together = block.size() > 1;
        for (const Action& action : block) {
            const PassTimes& times = m_costs[asIndex(action.stage)].times;
            together = together && times.overlapped >= 0;
            overlapped += times.overlapped / 2;
            sum += passTime(times, action.kind);
        }
        return together ? overlapped : sum;
    }

    bool execute(std::size_t rank, std::size_t index, ActionBlock block)
    {
        RankState& state = m_states[rank];
        double start = state.clock;
        for (const Action& action : block) {
            const double inputs = ready(rank, action);
            if (inputs < 0)
                return false;
            start = std::max(start, inputs);
        }
        const double length = duration(block);
        const double end = start + length;
        for (std::size_t i = 0; i < block.size(); ++i) {
            publish(block[i], end, state);
            m_result.start[rank][index + i] = start;
            m_result.end[rank][index + i] = end;
        }
        state.busy += length;
        state.clock = end;
        return true;
    }

    void publish(const Action& action, double end, RankState& state)
    {
        Pass& pass = passOf(action);
        const PassMemory& memory = m_costs[asIndex(action.stage)].memory;
        switch (action.kind) {
        case ActionKind::forward:
            pass.forwardEnd = end;
            state.held += memory.full;
            state.peak = std::max(state.peak, state.held);
            break;
        case ActionKind::backwardWeight:
            pass.weightDone = true;
            state.held -= memory.weight;
            break;
        case ActionKind::backward:
            pass.gradientEnd = end;
            pass.weightDone = true;
            state.held -= memory.full;
            break;
        case ActionKind::backwardInput:
            pass.gradientEnd = end;
            state.held -= memory.full - memory.weight;
            break;
        }
    }

    const Schedule& m_schedule;
    std::size_t m_stages, m_microbatches;
    std::vector<Pass> m_passes; ///< [stage][micro-batch]
    std::vector<StageCosts> m_costs;
    std::vector<RankState> m_states;
    ScheduleTimes m_result;
};

} // namespace

ScheduleTimes evaluateSchedule(const Schedule& schedule, const PassTimes& times, const PassMemory& memory)
{
    return evaluateSchedule(schedule, std::span(&times, 1), std::span(&memory, 1));
}

ScheduleTimes evaluateSchedule(const Schedule& schedule, std::span<const PassTimes> times, std::span<const PassMemory> memory)
{
    for (const PassTimes& of : times)
        checkTimes(of);
    if (!hasFrame(schedule))
        refuse(schedule);
    const auto parts = asIndex(schedule.chainLength());
    for (const auto& [what, given] : {std::pair{"times", times.size()}, {"memory", memory.size()}})
        if (given != 1 && given != parts)
            throw Error(std::string("the ") + what + " of " + std::to_string(given) + " stages are given, the schedule has " +
                        std::to_string(parts) + "; give one for all, or one a stage");
    return Evaluation(schedule, times, memory).run();
}

} // namespace sim
