// The search of the kind `auto` for a scenario. What it proposes is simulated before it is believed: passes are not alone on a
// GPU's links, and a rank that ends early does not end the step.
#pragma once

#include "sim/mesh/placement.h"
#include "sim/scenario/scenario.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/search/synthesis.h"
#include "sim/simulate/memory_cap.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sim {

/// A search for a scenario's schedule; `request` is its planningRequest. Bounds hold for whatever keeps the cap when simulated. A
/// cap that nothing could be planned within is raised to the least that something can: what is found need not keep it.
SynthesisRequest searchRequest(const Scenario&, const ScheduleRequest& request);
struct SearchedSchedule {
    Schedule schedule;
    Synthesis synthesis; ///< of that schedule: how near to the best it is by pass times alone
    std::optional<MissedCap> missedCap;
};
/// The search of `auto`; `request` is the scenario's planningRequest. Of its finalists, and of every kind for the same stages and
/// micro-batches, the one whose simulated step is shortest within the cap.
SearchedSchedule searchSchedule(const Scenario&, const ScheduleRequest&);

/// An order as simulated.
struct OrderVerdict {
    double stepSeconds = 0, peakGib = 0;
    bool keepsCap = false;
};
/// Within the cap before over it; then the shorter step, or over the cap what needs less.
bool isBetter(const OrderVerdict&, const OrderVerdict&);

/// Simulates one order after the other for a scenario whose own kind does not matter, and keeps the best.
class OrderJudge {
public:
    OrderJudge(const Scenario&, double capGib);
    /// Nothing is changed when it is cancelled (sim/cancel.h).
    void consider(const Schedule&);
    /// Nothing before the first.
    const std::optional<Schedule>& best() const { return m_best; }
    const OrderVerdict& verdict() const { return m_verdict; } ///< of the best
    std::int64_t simulatedOps() const { return m_simulatedOps; }

private:
    const Scenario m_scenario;
    const Placement m_placement;
    double m_capBytes;
    std::int64_t m_simulatedOps = 0;
    std::optional<Schedule> m_best;
    OrderVerdict m_verdict;
};

/// Orders beside a search's own finalists, for the same stages and micro-batches: of all other kinds; and, where plans count more
/// memory than passes take, or than the cap allows, of ever more micro-batches at a time: the simulation knows better. `planned`
/// is the scenario's planningRequest.
std::vector<Schedule> otherOrders(const Scenario&, const ScheduleRequest& planned);
/// Makes a search's account one of another order: its times and peak instead of the search's own best.
void describeOrder(Synthesis& account, const Schedule&, const ScheduleRequest&);

} // namespace sim
