#include "sim/simulation.h"

#include "sim/analysis/make_trace.h"
#include "sim/analysis/measure.h"
#include "sim/analysis/measure_memory.h"
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
          m_prices(priceProgram(CostModel(scenario), m_program, m_classes)), m_result(runEngine(m_program, m_classes, m_prices))
    {
        checkCancelled();
        m_metrics = measure(m_scenario, m_program, m_classes, m_prices, m_result);
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
    TimeShares timeOfClass(int c) const override { return measureShares(m_program, m_classes, m_prices, m_result, c); }
    MemoryCurves memoryCurves(int c) const override { return measureMemoryCurves(m_program, m_classes, m_result, c); }
    MemoryContents memoryContents(int c, std::int64_t atNs) const override
    {
        return measureMemoryContents(m_program, m_classes, m_result, c, atNs);
    }
    Trace trace(TraceDetail detail) const override
    {
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
    EngineResult m_result;
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
