#include "tests/sim/analysis/invariants.h"

#include "sim/analysis/step_by_flops.h"
#include "sim/analysis/traffic/link_load.h"
#include "sim/model/parameters.h"

#include <cmath>
#include <sstream>
#include <vector>

namespace test {
namespace {

using namespace sim;

class Checker {
public:
    explicit Checker(const Simulation& simulation) : m_simulation(simulation), m_metrics(simulation.metrics()) {}

    std::string run()
    {
        metrics();
        pipelineRanks();
        classes();
        traffic();
        parameters();
        return m_out.str();
    }

private:
    void require(bool holds, const std::string& what, double value)
    {
        if (!holds)
            m_out << what << ": " << value << "\n";
    }
    /// Relative to `whole`, what sums of rounded numbers may be off.
    void within(const std::string& what, double value, double low, double high, double whole = 1)
    {
        const double slack = 1e-9 * whole;
        require(std::isfinite(value) && value >= low - slack && value <= high + slack, what, value);
    }
    void positive(const std::string& what, double value) { require(std::isfinite(value) && value > 0, what, value); }

    void metrics();
    void pipelineRanks();
    void classes();
    void traffic();
    void parameters();

    const Simulation& m_simulation;
    const Metrics& m_metrics;
    std::ostringstream m_out;
};

void Checker::metrics()
{
    const Metrics& m = m_metrics;
    const Scenario& s = m_simulation.scenario();
    positive("step time", m.stepTimeSeconds);
    positive("tokens a second", m.tokensPerSecond);
    positive("tokens a second and GPU", m.tokensPerSecondPerGpu);
    positive("model TFLOP/s", m.modelTflopsPerGpu);
    positive("hardware TFLOP/s", m.hardwareTflopsPerGpu);
    const bool isMeasured = !s.cluster.efficiency.profile.empty();
    const double most = isMeasured ? INFINITY : 1;
    within("MFU", m.mfu, 0, most);
    within("HFU", m.hfu, m.mfu, most);
    within("MFU with attention in full", m.mfuFullAttention, m.mfu, 2 * most); // causal attention does half of that
    double communication = 0;
    for (const double share : m.exposedComm) {
        within("exposed communication", share, 0, 1);
        communication += share;
    }
    within("bubble", m.bubbleFraction, 0, 1);
    within("communication and bubble", communication + m.bubbleFraction, 0, 1);
    require(m.bubbleFraction >= 0, "bubble below zero", m.bubbleFraction);
    const std::int64_t used = m.use.total();
    within("parts of the step", static_cast<double>(used) * 1e-9, m.stepTimeSeconds, m.stepTimeSeconds, m.stepTimeSeconds);
    const ByStepPart<double> shares = stepByFlops(m_simulation);
    within("shares of the step", shares.total(), m.stepTimeSeconds, m.stepTimeSeconds, m.stepTimeSeconds);
    if (!isMeasured)
        within("kernels below peak", shares[StepPart::belowPeak], 0, m.stepTimeSeconds, m.stepTimeSeconds);
    positive("peak memory", m.peakMemoryGib);
    require(m.fits == (m.peakMemoryGib <= s.cluster.gpu.memoryGib), "fits", m.peakMemoryGib);
    positive("ops", static_cast<double>(m.simulatedOps));
}

void Checker::pipelineRanks()
{
    constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
    double fullest = 0;
    const double step = m_metrics.stepTimeSeconds;
    for (const PipelineRankMetrics& rank : m_metrics.perPipelineRank) {
        within("busy", rank.busySeconds, 0, step, step);
        within("exposed", rank.commSeconds, 0, step, step);
        within("bubble", rank.bubbleSeconds, 0, step, step);
        require(rank.bubbleSeconds >= 0, "bubble below zero", rank.bubbleSeconds);
        within("busy, exposed and bubble", rank.busySeconds + rank.commSeconds + rank.bubbleSeconds, step, step, step);
        for (const std::int64_t part : rank.use)
            require(part >= 0, "part of a step", static_cast<double>(part));
        const MemoryBreakdown& m = rank.memory;
        for (const std::int64_t part : {m.parameters, m.gradients, m.optimizer, m.activations, m.buffers})
            require(part >= 0 && part <= m.total(), "part of memory", static_cast<double>(part));
        fullest = std::max(fullest, static_cast<double>(m.total()) / kGib);
        within("time of the peak", static_cast<double>(rank.peakAtNs) * 1e-9, 0, step, step);
        require(rank.parameters >= 0, "parameters of a rank", static_cast<double>(rank.parameters));
    }
    within("memory of the fullest rank", fullest, m_metrics.peakMemoryGib, m_metrics.peakMemoryGib);
}

void Checker::classes()
{
    const double step = m_metrics.stepTimeSeconds;
    const int looked = std::min(m_simulation.classCount(), 4);
    for (int c = 0; c < looked; ++c) {
        const TimeShares t = m_simulation.timeOfClass(c);
        const double busy = static_cast<double>(t.busyNs) * 1e-9;
        within("busy and exposed of a class", busy + static_cast<double>(t.waitingNs()) * 1e-9, 0, step, step);
        within("recomputation and optimizer", static_cast<double>(t.recomputationNs + t.optimizerNs) * 1e-9, 0, busy, step);
        const MemoryCurves curves = m_simulation.memoryCurves(c);
        for (std::size_t i = 0; i < curves.size(); ++i) {
            require(curves.activations[i] >= 0, "activations held", static_cast<double>(curves.activations[i]));
            require(curves.buffers[i] >= 0, "buffers held", static_cast<double>(curves.buffers[i]));
            require(i == 0 || curves.timeNs[i] >= curves.timeNs[i - 1], "time of a change",
                    static_cast<double>(curves.timeNs[i]));
            if (m_out.tellp() > 2000)
                return;
        }
    }
}

void Checker::traffic()
{
    const Traffic traffic = Traffic(m_simulation);
    const TrafficSenders senders = traffic.senders();
    const TrafficSums sums = senders.total();
    std::int64_t byTier = 0, byPurpose = 0;
    for (int tier = 0; tier < sums.tiers(); ++tier) {
        require(sums.ofTier(tier) >= 0, "bytes of a tier", static_cast<double>(sums.ofTier(tier)));
        byTier += sums.ofTier(tier);
    }
    for (const Dimension dimension : kDimensions) {
        const std::int64_t bytes = sums.ofDimension(dimension);
        require(bytes >= 0, "bytes of a purpose", static_cast<double>(bytes));
        byPurpose += bytes;
    }
    require(byTier == sums.total() && byPurpose == byTier, "bytes sent", static_cast<double>(sums.total()));
    const auto stepNs = static_cast<std::int64_t>(m_metrics.stepTimeSeconds * 1e9 + 0.5);
    const LinkLoad load = linkLoad(m_simulation, senders, {.beginNs = 0, .endNs = stepNs, .bins = 1});
    for (int tier = 0; tier < sums.tiers(); ++tier) // what a transfer moves is spread evenly over its time
        require(std::isfinite(load.share(tier, 0)) && load.share(tier, 0) >= 0, "load of a tier", load.share(tier, 0));
}

void Checker::parameters()
{
    const Model& model = m_simulation.scenario().model;
    const std::int64_t all = parameterCount(model), active = activeParameterCount(model);
    require(all > 0 && active > 0 && active <= all, "active parameters", static_cast<double>(active));
    require(m_metrics.parameters == all, "parameters", static_cast<double>(m_metrics.parameters));
}

} // namespace

std::string brokenInvariants(const Simulation& simulation)
{
    return Checker(simulation).run();
}

} // namespace test
