#include "sim/simulate/memory_cap.h"

#include "sim/memory_limit.h"
#include "sim/schedule/search/synthesis.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/text/beside_limit.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sim {
namespace {

std::string inGib(double gib)
{
    return numberText(gib, Unit::number) + " GiB";
}

/// With the digits that it was written with: rounded it would be another.
std::string exactGib(double gib)
{
    std::array<char, 32> text{};
    return std::string(text.data(), std::to_chars(text.data(), text.data() + text.size(), gib).ptr) + " GiB";
}

/// As a cap is written: tenths are enough to tell it by.
double capThatKeeps(double gib)
{
    constexpr double kTenths = 10;
    return std::ceil(gib * kTenths) / kTenths;
}

} // namespace

std::string MissedCap::capText() const
{
    return exactGib(capGib);
}

std::string MissedCap::nearestText() const
{
    return exactGib(nearestGib);
}

std::string MissedCap::what() const
{
    return (byAnyOrder ? "no order keeps a GPU within " : "the order found does not keep a GPU within ") + capText();
}

std::string MissedCap::text() const
{
    const double toDecimals = std::pow(10.0, decimalsBeyond(peakGib, capGib, 2));
    return what() +
           (byAnyOrder ? ": model states take " + inGib(statesGib) + ", and a single micro-batch " + inGib(leastGib)
                       : ": a rank takes " + exactGib(std::round(peakGib * toDecimals) / toDecimals)) +
           "; nearest cap that works: " + nearestText() +
           (nearestGib > gpuGib ? ", more than the " + exactGib(gpuGib) + " of the GPU" : "");
}

std::optional<MissedCap> missedCap(const Scenario& scenario, double peakGib)
{
    MissedCap out{.capGib = memoryCapGib(scenario), .gpuGib = scenario.cluster.gpu.memoryGib, .peakGib = peakGib};
    if (peakGib <= out.capGib)
        return std::nullopt;
    out.nearestGib = capThatKeeps(peakGib);
    const PassCosts costs = measurePassCosts(scenario);
    out.statesGib = costs.leastStates / kBytesPerGib;
    out.leastGib = costs.leastKept / kBytesPerGib;
    out.byAnyOrder = out.statesGib + out.leastGib > out.capGib;
    return out;
}

std::optional<MissedCap> missedCap(const Simulation& simulation)
{
    const Scenario& scenario = simulation.scenario();
    const double peak = simulation.metrics().peakMemoryGib;
    if (!scheduleFamily(scenario.schedule.kind).isSearched || scenario.schedule.memoryCapGib <= 0 ||
        peak <= memoryCapGib(scenario))
        return std::nullopt;
    return missedCap(scenario, peak);
}

double capacityGib(const Scenario& scenario)
{
    const double all = scenario.cluster.gpu.memoryGib;
    return scheduleFamily(scenario.schedule.kind).isSearched ? std::min(all, memoryCapGib(scenario)) : all;
}

std::string Misfit::text() const
{
    const char* const whose = of == Of::host ? " of a host" : of == Of::cap ? " of the schedule's cap" : "";
    return BesideLimit(neededGib, heldGib, Unit::number).need() + " of " + exactGib(heldGib) + whose;
}

std::optional<Misfit> misfit(const Simulation& simulation)
{
    const Metrics& metrics = simulation.metrics();
    const Cluster& cluster = simulation.scenario().cluster;
    if (const double capacity = capacityGib(simulation.scenario()); metrics.peakMemoryGib > capacity)
        return Misfit{capacity < cluster.gpu.memoryGib ? Misfit::Of::cap : Misfit::Of::gpu, metrics.peakMemoryGib, capacity};
    if (!metrics.hostFits)
        return Misfit{Misfit::Of::host, metrics.hostMemoryGib, cluster.host.memoryGib};
    return std::nullopt;
}

bool fitsEverywhere(const Simulation& simulation)
{
    return !misfit(simulation);
}

} // namespace sim
