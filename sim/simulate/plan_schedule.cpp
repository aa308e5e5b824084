#include "sim/simulate/plan_schedule.h"

#include "sim/cost/cost.h"
#include "sim/engine/engine.h"
#include "sim/index.h"
#include "sim/legal/schedule_request.h"
#include "sim/memory_limit.h"
#include "sim/mesh/mesh.h"
#include "sim/program/program.h"
#include "sim/scenario/document.h"
#include "sim/simulate/search_schedule.h"

#include <algorithm>
#include <limits>
#include <sstream>

namespace sim {
namespace {

constexpr int kProbeMicrobatches = 2;
/// All passes of every stage apart: forwards down the stages, then backwards up, split into input and weight gradients or whole.
Schedule probeSchedule(const Scenario& scenario, bool split)
{
    Schedule probe;
    probe.kind = "probe";
    probe.ranks = scenario.layout.pp;
    probe.virtualStages = scenario.schedule.virtualStages;
    probe.microbatches = kProbeMicrobatches;
    probe.actions.resize(asIndex(probe.ranks));
    const int stages = probe.ranks * probe.virtualStages;
    for (int stage = 0; stage < stages; ++stage)
        probe.stageToRank.push_back(stage % probe.ranks);
    const auto add = [&](ActionKind kind, int stage, int microbatch) {
        probe.actions[probe.rankOf(stage)].push_back({.kind = kind, .stage = stage, .microbatch = microbatch});
    };
    for (int microbatch = 0; microbatch < kProbeMicrobatches; ++microbatch)
        for (int stage = 0; stage < stages; ++stage)
            add(ActionKind::forward, stage, microbatch);
    for (int microbatch = 0; microbatch < kProbeMicrobatches; ++microbatch)
        for (int stage = stages; stage-- > 0;) {
            add(split ? ActionKind::backwardInput : ActionKind::backward, stage, microbatch);
            if (split)
                add(ActionKind::backwardWeight, stage, microbatch);
        }
    return probe;
}

/// From when the host can launch its first kernel to its last kernel's end.
double durationOf(const Pass& pass, const PassLaunches* launches, const EngineResult& result, std::size_t place)
{
    double first = -1;
    double last = 0;
    for (std::size_t i = 0; i < pass.ops.size(); ++i)
        if (pass.ops[i].kind == OpKind::compute) {
            const std::int64_t launchNs = launches == nullptr ? 0 : launches->ops[i].startedNs;
            first = first < 0 ? static_cast<double>(result.opStartNs[place + i] - launchNs) : first;
            last = static_cast<double>(result.opEndNs[place + i]);
        }
    return first < 0 ? 0 : last - first;
}

double keptActivations(const Pass& pass)
{
    std::int64_t kept = 0;
    for (const Op& op : pass.ops)
        if (!op.buffer)
            kept += op.allocBytes - op.freeBytes;
    return static_cast<double>(kept);
}

/// Adds what one small simulation shows: with `split`, of F, I, W and memory; else of whole backwards.
void probeCosts(const Scenario& scenario, const Mesh& mesh, const Placement& placement, bool split, PassCosts& costs)
{
    const Schedule probe = probeSchedule(scenario, split);
    const Program program = lowerProgram(scenario, probe);
    const RankClasses classes = makeRankClasses(scenario, mesh, placement, probe, false);
    const PricedProgram prices = priceProgram(scenario, program, classes);
    const EngineResult result = runEngine(program, classes, prices);

    std::vector<double> freedByInput(asIndex(probe.stages()), 0);
    std::vector<double> statesOf(asIndex(probe.ranks), 0);
    std::int64_t states = 0, leastStates = std::numeric_limits<std::int64_t>::max();
    for (int c = 0; c < classes.count(); ++c) { // of several classes that run a part, the slowest
        const int rank = classes.pipelineRank[asIndex(c)];
        const RankProgram& steps = program.ranks[asIndex(rank)];
        const std::int64_t held =
            steps.states.parameters + steps.states.gradients + steps.states.optimizer + steps.states.buffers;
        states = std::max(states, held);
        leastStates = std::min(leastStates, held);
        statesOf[asIndex(rank)] = std::max(statesOf[asIndex(rank)], static_cast<double>(held));
        std::size_t place = result.firstOp[asIndex(c)];
        for (const Step& step : steps.steps) {
            const Pass& pass = program.passes[step.pass];
            const std::size_t here = place;
            place += pass.ops.size();
            if (step.action < 0 || step.microbatch + 1 != kProbeMicrobatches)
                continue;
            PassTimes& times = costs.times[asIndex(step.stage)];
            PassMemory& memory = costs.memory[asIndex(step.stage)];
            const double duration = durationOf(pass, prices.launchesOf(step.pass), result, here);
            const ActionKind kind = probe.actions[asIndex(rank)][asIndex(step.action)].kind;
            if (!split) {
                if (kind == ActionKind::backward)
                    times.fused = std::max(times.fused, duration);
                continue;
            }
            switch (kind) {
            case ActionKind::forward:
                times.forward = std::max(times.forward, duration);
                memory.full = keptActivations(pass);
                break;
            case ActionKind::backwardInput:
                times.backwardInput = std::max(times.backwardInput, duration);
                freedByInput[asIndex(step.stage)] = -keptActivations(pass);
                break;
            default:
                times.backwardWeight = std::max(times.backwardWeight, duration);
                break;
            }
        }
        if (!split)
            continue;
        const int next = (rank + 1) % probe.ranks;
        if (next == rank)
            continue;
        const auto comm = static_cast<double>(prices.sendNs[asIndex(classes.peerOf(c, next).tier)]);
        for (int stage = rank; stage < probe.stages(); stage += probe.ranks)
            costs.times[asIndex(stage)].comm = std::max(costs.times[asIndex(stage)].comm, comm);
    }
    if (!split)
        return;
    for (int rank = 0; probe.virtualStages == 1 && rank < probe.ranks; ++rank)
        if (const double kept = costs.memory[asIndex(rank)].full;
            statesOf[asIndex(rank)] + kept > costs.leastStates + costs.leastKept) {
            costs.leastStates = statesOf[asIndex(rank)];
            costs.leastKept = kept;
        }
    bool isCautious = false;
    for (std::size_t part = 0; part < costs.memory.size(); ++part) {
        PassMemory& memory = costs.memory[part];
        memory.weight = std::max(0.0, memory.full - freedByInput[part]); // what I does not free stays until W
        // Under recomputation I makes more than F had kept. Planned as if F kept it all: the memory that was allowed holds.
        isCautious = isCautious || memory.full < memory.weight;
        memory.full = std::max(memory.full, memory.weight);
    }
    const double all = scenario.cluster.gpu.memoryGib * kBytesPerGib;
    costs.freeBytes = all - static_cast<double>(states);
    // Chunks may lie otherwise than in the probe, and a rank hold less of the model than any here.
    costs.mostFreeBytes = isCautious                             ? std::numeric_limits<double>::infinity()
                          : scenario.schedule.virtualStages == 1 ? all - static_cast<double>(leastStates)
                                                                 : all;
}

} // namespace

PassCosts measurePassCosts(const Scenario& asked)
{
    Scenario scenario = asked;
    scenario.schedule.virtualStages /= asked.modelCopies(); // one copy has all the parts
    scenario.schedule.kind = scenario.schedule.virtualStages > 1 ? "looped-bfs" : "gpipe";
    scenario.schedule.sequenceSlices = 1;
    const Mesh mesh(scenario.layout);
    const Placement placement(scenario.layout, scenario.cluster);
    const int stages = scenario.layout.pp * scenario.schedule.virtualStages;
    PassCosts costs;
    costs.times.resize(asIndex(stages), {.forward = 0, .backwardInput = 0, .backwardWeight = 0});
    costs.memory.resize(asIndex(stages), {.full = 0, .weight = 0});
    for (const bool split : {true, false})
        probeCosts(scenario, mesh, placement, split, costs);
    return costs;
}

double memoryCapGib(const Scenario& scenario)
{
    return scenario.schedule.memoryCapGib > 0 ? scenario.schedule.memoryCapGib : scenario.cluster.gpu.memoryGib;
}

Scenario withoutPerturbations(Scenario scenario)
{
    scenario.perturbations.clear();
    return scenario;
}

ScheduleRequest planningRequest(const Scenario& scenario, const PassCostsOf& costsOf)
{
    ScheduleRequest request = scheduleRequest(scenario);
    if (const ScheduleFamily* family = findScheduleFamily(request.kind);
        family != nullptr && family->plansByCost && !family->unmet(request)) {
        PassCosts costs = costsOf(family->isSearched ? scenario : withoutPerturbations(scenario));
        request.times = std::move(costs.times);
        request.memory = std::move(costs.memory);
        request.memoryCap = costs.freeBytes + (memoryCapGib(scenario) - scenario.cluster.gpu.memoryGib) * kBytesPerGib;
    }
    return request;
}

bool isSearched(const ScheduleRequest& request)
{
    const ScheduleFamily* const family = findScheduleFamily(request.kind);
    return family != nullptr && family->isSearched && !family->unmet(request);
}

Schedule makeScheduleOf(const ScheduleRequest& request)
{
    try {
        return makeSchedule(request);
    } catch (const Error& error) {
        const ScheduleFamily* const family = findScheduleFamily(request.kind);
        const char* const pointer = family != nullptr && family->isWrittenOut ? "/schedule/actions" : "/schedule/kind";
        std::vector<Problem> problems;
        std::istringstream lines(error.what());
        for (std::string line; std::getline(lines, line);)
            problems.push_back({"", pointer, line});
        throw ScenarioError(std::move(problems));
    }
}

Schedule planSchedule(const Scenario& scenario, const PassCostsOf& costsOf)
{
    const ScheduleRequest request = planningRequest(scenario, costsOf);
    return isSearched(request) ? searchSchedule(scenario, request).schedule : makeScheduleOf(request);
}

} // namespace sim
