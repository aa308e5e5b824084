#include "sim/simulation.h"

#include "sim/analysis/make_trace.h"
#include "sim/analysis/measure.h"
#include "sim/analysis/measure_memory.h"
#include "sim/analysis/memory_needs.h"
#include "sim/analysis/plan_schedule.h"
#include "sim/cost/cost.h"
#include "sim/engine/engine.h"
#include "sim/program/program.h"

#include <chrono>

namespace sim {
namespace {

class FinishedSimulation final : public Simulation {
public:
    FinishedSimulation(const Scenario& scenario, const SimulateOptions& options)
        : m_scenario(scenario), m_schedule(planSchedule(scenario)), m_mesh(scenario.layout, m_schedule.endsMeet()),
          m_placement(scenario.layout, scenario.cluster), m_program(lowerProgram(scenario, m_schedule)),
          m_classes(makeRankClasses(scenario, m_mesh, m_placement, m_schedule, options.full)),
          m_prices(priceProgram(CostModel(scenario), m_program, m_classes)), m_memory{.microbatches = scenario.microbatches(),
                                                                                      .full = options.full,
                                                                                      .limitBytes = options.memoryLimitBytes}
    {
        requireMemoryForStep(m_program, m_classes, m_memory);
        m_result = runEngine(m_program, m_classes, m_prices);
        m_shares.reserve(static_cast<std::size_t>(m_classes.count()));
        for (int c = 0; c < m_classes.count(); ++c)
            m_shares.push_back(measureShares(m_program, m_classes, m_prices, m_result, c));
        m_metrics = measure(m_scenario, m_program, m_classes, m_result, m_shares);
    }

    const Scenario& scenario() const override { return m_scenario; }
    const Mesh& mesh() const override { return m_mesh; }
    const Placement& placement() const override { return m_placement; }
    const Schedule& schedule() const override { return m_schedule; }
    const Metrics& metrics() const override { return m_metrics; }
    int classCount() const override { return m_classes.count(); }
    int classOf(int rank) const override { return m_classes.classOf[static_cast<std::size_t>(rank)]; }
    int representative(int c) const override { return m_classes.representative[static_cast<std::size_t>(c)]; }
    int classSize(int c) const override { return m_classes.size[static_cast<std::size_t>(c)]; }
    MemoryBreakdown memoryOfClass(int c) const override { return measureMemory(m_program, m_classes, m_result, c); }
    TimeShares timeOfClass(int c) const override { return m_shares[static_cast<std::size_t>(c)]; }
    MemoryCurves memoryCurves(int c) const override { return measureMemoryCurves(m_program, m_classes, m_result, c); }
    MemoryContents memoryContents(int c, std::int64_t atNs) const override
    {
        return measureMemoryContents(m_program, m_classes, m_result, c, atNs);
    }
    Trace trace(TraceDetail detail) const override
    {
        requireMemoryForTrace(m_program, m_classes, detail, m_memory);
        return makeTrace(m_scenario, m_mesh, m_schedule, m_program, m_classes, m_prices, m_result, detail);
    }
    Traffic traffic() const override { return {m_scenario, m_mesh, m_placement, m_program, m_classes}; }
    LinkLoad linkLoad(const TrafficSenders& senders, const LoadWindow& window) const override
    {
        return sim::linkLoad(m_scenario, m_program, m_classes, m_prices, m_result, senders, window);
    }
    void setWallMs(double wallMs) { m_metrics.wallMs = wallMs; }

private:
    Scenario m_scenario;
    Schedule m_schedule;
    Mesh m_mesh;
    Placement m_placement;
    Program m_program;
    RankClasses m_classes;
    PricedProgram m_prices;
    MemoryRequest m_memory;
    EngineResult m_result;
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
