#include "sim/simulate/search_schedule.h"

#include "sim/cancel.h"
#include "sim/engine/engine.h"
#include "sim/error.h"
#include "sim/legal/schedule_request.h"
#include "sim/memory_limit.h"
#include "sim/mesh/mesh.h"
#include "sim/program/program.h"
#include "sim/simulate/measure.h"
#include "sim/simulate/memory_needs.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

constexpr std::int64_t kMostOps = 40'000'000; ///< of a search's trials: a second or so

/// What one order makes of the step, as simulate() would.
struct Trial {
    std::int64_t stepNs = 0, peakBytes = 0;
    std::int64_t ops = 0; ///< over all classes: what the trial cost
};

Trial tryOrder(const Scenario& scenario, const Placement& placement, const Schedule& schedule)
{
    const Mesh mesh(scenario.layout, endsOf(schedule));
    const Program program = lowerProgram(scenario, schedule);
    const RankClasses classes = makeRankClasses(scenario, mesh, placement, schedule, false);
    requireMemoryForStep(program, classes, {.scenario = scenario, .full = false, .limitBytes = kMemoryLimitBytes});
    const EngineResult result = runEngine(program, classes, priceProgram(scenario, program, classes));
    Trial trial{.stepNs = result.endNs, .peakBytes = 0, .ops = result.opCount()};
    for (int c = 0; c < classes.count(); ++c)
        trial.peakBytes = std::max(trial.peakBytes, measureMemory(program, classes, result, c).total());
    return trial;
}

/// Of all kinds for the same stages and micro-batches.
std::vector<Schedule> ordersOfKinds(const Scenario& scenario, const ScheduleRequest& planned)
{
    std::vector<Schedule> orders;
    Scenario of = scenario;
    std::vector<std::vector<PassTimes>> times{planned.times};
    if (!scenario.perturbations.empty()) // kinds that plan by times do so without them
        times.push_back(measurePassCosts(withoutPerturbations(scenario)).times);
    for (const ScheduleFamily& family : scheduleFamilies()) {
        of.schedule.kind = family.kind;
        ScheduleRequest request = scheduleRequest(of);
        if (family.isSearched || family.isWrittenOut || request.slices > 1 || family.unmet(request))
            continue;
        for (std::size_t i = 0; i < (family.plansByCost ? times.size() : 1); ++i) {
            request.times = times[i];
            request.memory = planned.memory;
            try {
                if (Schedule order = makeSchedule(request); order.chains == 1)
                    orders.push_back(std::move(order));
            } catch (const Error&) {
                // Those that plan by times may find no order within their own memory: then there is one candidate less.
            }
        }
    }
    return orders;
}

} // namespace

std::vector<Schedule> otherOrders(const Scenario& scenario, const ScheduleRequest& planned)
{
    std::vector<Schedule> orders = ordersOfKinds(scenario, planned);
    const SynthesisRequest asked = searchRequest(scenario, planned);
    if (std::isfinite(asked.boundCap) && asked.memoryCap <= planned.memoryCap)
        return orders;
    for (Schedule& order : ordersByMemory(asked))
        orders.push_back(std::move(order));
    return orders;
}

SynthesisRequest searchRequest(const Scenario& scenario, const ScheduleRequest& request)
{
    SynthesisRequest out = synthesisRequest(request);
    out.memoryCap = std::max(out.memoryCap, leastMemory(out));
    out.boundCap =
        measurePassCosts(scenario).mostFreeBytes + (memoryCapGib(scenario) - scenario.cluster.gpu.memoryGib) * kBytesPerGib;
    return out;
}

void describeOrder(Synthesis& account, const Schedule& order, const ScheduleRequest& request)
{
    if (account.schedule.actions == order.actions && account.schedule.stageToRank == order.stageToRank)
        return;
    account.schedule = order;
    account.times = evaluateSchedule(order, request.times, request.memory);
    account.peak = *std::max_element(account.times.peakActivations.begin(), account.times.peakActivations.end());
    account.construction = order.kind.empty() || order.kind == "auto"
                               ? "the shortest step of the orders simulated"
                               : order.kind + ", the shortest step of the orders simulated";
}

SearchedSchedule searchSchedule(const Scenario& scenario, const ScheduleRequest& request)
{
    SearchedSchedule out;
    Synthesiser search(searchRequest(scenario, request));
    while (!search.done()) {
        checkCancelled();
        search.step(std::max<std::int64_t>(1, search.progress().movesPlanned));
    }
    out.synthesis = search.result();
    std::vector<Schedule> orders = search.finalists();
    orders.push_back(leastMemoryOrder(synthesisRequest(request)));
    for (Schedule& order : otherOrders(scenario, request))
        orders.push_back(std::move(order));
    OrderJudge judge(scenario, memoryCapGib(scenario));
    for (const Schedule& order : orders)
        if (judge.simulatedOps() <= kMostOps)
            judge.consider(order);
    out.schedule = *judge.best();
    out.missedCap = missedCap(scenario, judge.verdict().peakGib);
    describeOrder(out.synthesis, out.schedule, request);
    out.schedule.kind = request.kind;
    return out;
}

OrderJudge::OrderJudge(const Scenario& scenario, double capGib)
    : m_scenario(scenario), m_placement(scenario.layout, scenario.cluster), m_capBytes(capGib * kBytesPerGib)
{
}

void OrderJudge::consider(const Schedule& order)
{
    checkCancelled();
    const Trial trial = tryOrder(m_scenario, m_placement, order);
    m_simulatedOps += trial.ops;
    const auto peak = static_cast<double>(trial.peakBytes);
    const OrderVerdict verdict{
        .stepSeconds = static_cast<double>(trial.stepNs) * 1e-9, .peakGib = peak / kBytesPerGib, .keepsCap = peak <= m_capBytes};
    if (!m_best || isBetter(verdict, m_verdict)) {
        m_best = order;
        m_verdict = verdict;
    }
}

bool isBetter(const OrderVerdict& a, const OrderVerdict& b)
{
    if (a.keepsCap != b.keepsCap)
        return a.keepsCap;
    return a.keepsCap ? a.stepSeconds < b.stepSeconds : a.peakGib < b.peakGib;
}

} // namespace sim
