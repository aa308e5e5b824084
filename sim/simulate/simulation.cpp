#include "sim/simulate/simulation.h"

#include "sim/index.h"
#include "sim/parallel.h"
#include "sim/simulate/make_trace.h"
#include "sim/simulate/measure.h"
#include "sim/simulate/measure_memory.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sim {
namespace {

/// Two classes that run the same program at the same prices, each op at the same time.
bool sameTimes(const PreparedStep& step, const EngineResult& times, std::size_t a, std::size_t b)
{
    const RankClasses& classes = step.classes;
    const auto linkFactors = [&](std::size_t c) {
        std::array<double, kCommunicatorRoleCount> of{};
        for (std::size_t role = 0; role < of.size(); ++role)
            if (const int group = classes.groups[c][role]; group >= 0)
                of[role] = classes.classGroups[asIndex(group)].linkFactor;
        return of;
    };
    const auto sameColumn = [&](const TimeColumn& column) {
        const auto at = [&](std::size_t c) { return column.begin() + static_cast<std::ptrdiff_t>(times.firstOp[c]); };
        return std::equal(at(a), at(a + 1), at(b));
    };
    return classes.pipelineRank[a] == classes.pipelineRank[b] && classes.geometry[a] == classes.geometry[b] &&
           classes.slowdown[a] == classes.slowdown[b] && linkFactors(a) == linkFactors(b) && sameColumn(times.opStartNs) &&
           sameColumn(times.opEndNs) && times.sameStretches(a, b);
}

EngineWatch watchOf(const StepWatch& watch, const PreparedStep& step)
{
    return {.atNs = watch.atNs, .goesOn = [&](const EngineProgress& progress) { return watch.goesOn(step, progress); }};
}

/// Starting threads takes as long as tens of thousands of ops.
constexpr std::int64_t kOpsWorthThreads = 200'000;

} // namespace

Simulation::Simulation(const Scenario& scenario, const SimulateOptions& options)
    : m_step(scenario, options), m_times(runEngine(m_step.program, m_step.classes, m_step.prices, watchOf(options.watch, m_step)))
{
    const std::size_t threads = m_times.opCount() < kOpsWorthThreads ? 1 : 0;
    m_shares.resize(static_cast<std::size_t>(classCount()));
    // Mostly one does as its neighbour does; whole blocks of neighbours, so that how many are measured does not depend on
    // threads. A folded step has few classes, each with a pipeline rank of its own and many ops: all cores have some of them.
    const std::size_t block = std::clamp<std::size_t>(m_shares.size() / 16, 1, 64);
    forEachInParallel((m_shares.size() + block - 1) / block, threads, [this, block](std::size_t place) {
        const std::size_t first = place * block, end = std::min(first + block, m_shares.size());
        for (std::size_t c = first; c < end; ++c)
            m_shares[c] = c > first && sameTimes(m_step, m_times, c - 1, c)
                              ? m_shares[c - 1]
                              : measureShares(program(), classes(), prices(), m_times, static_cast<int>(c));
    });
    m_metrics = measure(m_step.scenario, m_step.placement, program(), classes(), m_times, m_shares);
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

const std::optional<Slowness>& Simulation::slowness() const
{
    {
        const std::scoped_lock lock(m_slownessLock);
        if (m_slowness)
            return *m_slowness;
    }
    std::optional<Slowness> found = findSlowness(*this); // without the lock: who waited for that could not be cancelled
    const std::scoped_lock lock(m_slownessLock);
    if (!m_slowness)
        m_slowness.emplace(std::move(found));
    return *m_slowness;
}

std::shared_ptr<const Simulation> simulate(const Scenario& scenario, const SimulateOptions& options)
{
    return std::make_shared<const Simulation>(scenario, options);
}

} // namespace sim
