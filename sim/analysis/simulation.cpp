#include "sim/simulation.h"

#include "sim/analysis/make_trace.h"
#include "sim/analysis/measure.h"
#include "sim/analysis/measure_memory.h"
#include "sim/analysis/prepared_step.h"

#include <chrono>

namespace sim {
namespace {

class FinishedSimulation final : public Simulation {
public:
    FinishedSimulation(const Scenario& scenario, const SimulateOptions& options)
        : m_step(scenario, options), m_result(runEngine(m_step.program, m_step.classes, m_step.prices))
    {
        m_shares.reserve(static_cast<std::size_t>(classCount()));
        for (int c = 0; c < classCount(); ++c)
            m_shares.push_back(measureShares(m_step.program, m_step.classes, m_step.prices, m_result, c));
        m_metrics = measure(m_step.scenario, m_step.program, m_step.classes, m_result, m_shares);
    }

    const Scenario& scenario() const override { return m_step.scenario; }
    const Mesh& mesh() const override { return m_step.mesh; }
    const Placement& placement() const override { return m_step.placement; }
    const Schedule& schedule() const override { return m_step.schedule; }
    const Metrics& metrics() const override { return m_metrics; }
    int classCount() const override { return m_step.classes.count(); }
    int classOf(int rank) const override { return m_step.classes.classOf[static_cast<std::size_t>(rank)]; }
    int representative(int c) const override { return m_step.classes.representative[static_cast<std::size_t>(c)]; }
    int classSize(int c) const override { return m_step.classes.size[static_cast<std::size_t>(c)]; }
    MemoryBreakdown memoryOfClass(int c) const override { return measureMemory(m_step.program, m_step.classes, m_result, c); }
    TimeShares timeOfClass(int c) const override { return m_shares[static_cast<std::size_t>(c)]; }
    MemoryCurves memoryCurves(int c) const override { return measureMemoryCurves(m_step.program, m_step.classes, m_result, c); }
    MemoryContents memoryContents(int c, std::int64_t atNs) const override
    {
        return measureMemoryContents(m_step.program, m_step.classes, m_result, c, atNs);
    }
    Trace trace(TraceDetail detail) const override
    {
        requireMemoryForTrace(m_step.program, m_step.classes, detail, m_step.memory);
        return makeTrace(m_step.scenario, m_step.mesh, m_step.schedule, m_step.program, m_step.classes, m_step.prices, m_result,
                         detail);
    }
    Traffic traffic() const override { return {m_step.scenario, m_step.mesh, m_step.placement, m_step.program, m_step.classes}; }
    LinkLoad linkLoad(const TrafficSenders& senders, const LoadWindow& window) const override
    {
        return sim::linkLoad(m_step.scenario, m_step.program, m_step.classes, m_step.prices, m_result, senders, window);
    }
    void setWallMs(double wallMs) { m_metrics.wallMs = wallMs; }

private:
    const PreparedStep m_step;
    const EngineResult m_result;
    std::vector<TimeShares> m_shares; ///< [class]
    Metrics m_metrics;
};

} // namespace

std::shared_ptr<const Simulation> simulate(const Scenario& scenario, const SimulateOptions& options)
{
    const auto start = std::chrono::steady_clock::now();
    auto simulation = std::make_shared<FinishedSimulation>(scenario, options);
    simulation->setWallMs(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    return simulation;
}

} // namespace sim
