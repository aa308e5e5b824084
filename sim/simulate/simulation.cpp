#include "sim/simulate/simulation.h"

#include "sim/cost/cost.h"
#include "sim/engine/engine.h"
#include "sim/program/program.h"
#include "sim/simulate/make_trace.h"
#include "sim/simulate/measure.h"
#include "sim/simulate/measure_memory.h"
#include "sim/simulate/memory_needs.h"
#include "sim/simulate/plan_schedule.h"

#include <chrono>

namespace sim {
Simulation::Simulation(const Scenario& scenario, const SimulateOptions& options)
    : m_scenario(scenario), m_schedule(planSchedule(scenario)), m_mesh(scenario.layout, m_schedule.endsMeet()),
      m_placement(scenario.layout, scenario.cluster), m_program(lowerProgram(scenario, m_schedule)),
      m_classes(makeRankClasses(scenario, m_mesh, m_placement, m_schedule, options.full)),
      m_prices(priceProgram(CostModel(scenario), m_program, m_classes)), m_memory{.microbatches = scenario.microbatches(),
                                                                                  .full = options.full,
                                                                                  .limitBytes = options.memoryLimitBytes}
{
    requireMemoryForStep(m_program, m_classes, m_memory);
    m_times = runEngine(m_program, m_classes, m_prices);
    m_shares.reserve(static_cast<std::size_t>(m_classes.count()));
    for (int c = 0; c < m_classes.count(); ++c)
        m_shares.push_back(measureShares(m_program, m_classes, m_prices, m_times, c));
    m_metrics = measure(m_scenario, m_program, m_classes, m_times, m_shares);
    m_metrics.wallMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - m_begun).count();
}

MemoryBreakdown Simulation::memoryOfClass(int c) const
{
    return measureMemory(m_program, m_classes, m_times, c);
}

MemoryCurves Simulation::memoryCurves(int c) const
{
    return measureMemoryCurves(m_program, m_classes, m_times, c);
}

MemoryContents Simulation::memoryContents(int c, std::int64_t atNs) const
{
    return measureMemoryContents(m_program, m_classes, m_times, c, atNs);
}

Trace Simulation::trace(TraceDetail detail) const
{
    requireMemoryForTrace(m_program, m_classes, detail, m_memory);
    return makeTrace(*this, detail);
}

std::shared_ptr<const Simulation> simulate(const Scenario& scenario, const SimulateOptions& options)
{
    return std::make_shared<const Simulation>(scenario, options);
}

} // namespace sim
