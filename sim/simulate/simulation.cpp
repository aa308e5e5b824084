#include "sim/simulate/simulation.h"

#include "sim/parallel.h"
#include "sim/simulate/make_trace.h"
#include "sim/simulate/measure.h"
#include "sim/simulate/measure_memory.h"

namespace sim {
namespace {

/// Starting threads takes as long as tens of thousands of ops.
constexpr std::int64_t kOpsWorthThreads = 200'000;

} // namespace

Simulation::Simulation(const Scenario& scenario, const SimulateOptions& options)
    : m_step(scenario, options), m_times(runEngine(m_step.program, m_step.classes, m_step.prices))
{
    const std::size_t threads = m_times.opCount() < kOpsWorthThreads ? 1 : 0;
    m_shares.resize(static_cast<std::size_t>(classCount()));
    forEachInParallel(m_shares.size(), threads, [this](std::size_t c) {
        m_shares[c] = measureShares(program(), classes(), prices(), m_times, static_cast<int>(c));
    });
    m_metrics = measure(m_step.scenario, program(), classes(), m_times, m_shares);
    m_metrics.wallMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - m_begun).count();
}

MemoryBreakdown Simulation::memoryOfClass(int c) const
{
    return measureMemory(program(), classes(), m_times, c);
}

MemoryCurves Simulation::memoryCurves(int c) const
{
    return measureMemoryCurves(program(), classes(), m_times, c);
}

MemoryContents Simulation::memoryContents(int c, std::int64_t atNs) const
{
    return measureMemoryContents(program(), classes(), m_times, c, atNs);
}

Trace Simulation::trace(TraceDetail detail) const
{
    requireMemoryForTrace(program(), classes(), detail, m_step.memory);
    return makeTrace(*this, detail);
}

std::shared_ptr<const Simulation> simulate(const Scenario& scenario, const SimulateOptions& options)
{
    return std::make_shared<const Simulation>(scenario, options);
}

} // namespace sim
