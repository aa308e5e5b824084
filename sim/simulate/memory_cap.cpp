#include "sim/simulate/memory_cap.h"

#include "sim/memory_limit.h"
#include "sim/schedule/search/synthesis.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/text/number_text.h"

#include <cmath>

namespace sim {
namespace {

std::string inGib(double gib)
{
    return numberText(gib, Unit::number) + " GiB";
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
    return inGib(capGib);
}

std::string MissedCap::what() const
{
    return (byAnyOrder ? "no order keeps a GPU within " : "the order found does not keep a GPU within ") + capText();
}

std::string MissedCap::text() const
{
    return what() +
           (byAnyOrder ? ": model states take " + inGib(statesGib) + ", and a single micro-batch on all chunks of a rank " +
                             inGib(leastGib)
                       : ": activations alone would, and with what kernels need beside them a rank takes " + inGib(peakGib)) +
           "; nearest cap that works: " + inGib(nearestGib);
}

std::optional<MissedCap> capOutOfReach(const Scenario& scenario, const ScheduleRequest& request)
{
    const double least = leastMemory(synthesisRequest(request));
    if (least <= request.memoryCap)
        return std::nullopt;
    MissedCap out{.capGib = memoryCapGib(scenario), .byAnyOrder = true, .leastGib = least / kBytesPerGib};
    out.statesGib = out.capGib - request.memoryCap / kBytesPerGib;
    out.nearestGib = capThatKeeps(out.statesGib + out.leastGib);
    return out;
}

std::optional<MissedCap> missedCap(const Scenario& scenario, const ScheduleRequest& request, double peakGib)
{
    const double cap = memoryCapGib(scenario);
    if (peakGib <= cap)
        return std::nullopt;
    MissedCap out = capOutOfReach(scenario, request).value_or(MissedCap{.capGib = cap});
    out.peakGib = peakGib;
    out.nearestGib = capThatKeeps(peakGib);
    return out;
}

std::optional<MissedCap> missedCap(const Simulation& simulation)
{
    const Scenario& scenario = simulation.scenario();
    const double peak = simulation.metrics().peakMemoryGib;
    if (!scheduleFamily(scenario.schedule.kind).isSearched || scenario.schedule.memoryCapGib <= 0 ||
        peak <= memoryCapGib(scenario))
        return std::nullopt;
    return missedCap(scenario, planningRequest(scenario), peak);
}

} // namespace sim
