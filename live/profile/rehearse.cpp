#include "live/profile/rehearse.h"

#include "live/kernels/modules.h"
#include "live/profile/stand_ins.h"
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "sim/mesh/mesh.h"
#include "sim/simulate/plan_schedule.h"

#include <algorithm>
#include <set>

namespace live {

std::vector<int> rehearsedRanks(const sim::Scenario& scenario)
{
    constexpr std::size_t kEnough = 8;
    const sim::Mesh mesh(scenario.layout, sim::endsOf(sim::planSchedule(scenario)));
    std::set<int> chosen, pipelineRanks;
    for (int rank = 0; rank < mesh.worldSize(); ++rank)
        if (pipelineRanks.insert(mesh.coordinates(rank).pp).second)
            chosen.insert(rank);
    for (int rank = 0; rank < mesh.worldSize() && chosen.size() < kEnough; ++rank)
        chosen.insert(rank);
    return {chosen.begin(), chosen.end()};
}

Rehearsal rehearse(const sim::Scenario& scenario, const ObserveOptions& options)
{
    WorkerPool poolOfAlone(1), pool(options.workers);
    const auto makeDevice = [&](WorkerPool* helpers) { return chooseDevice("cpu", activationType(scenario), helpers).device; };
    const std::unique_ptr<Device> deviceOfAlone = makeDevice(nullptr), device = makeDevice(options.workers > 1 ? &pool : nullptr);
    StandInCommunicator standIns(poolOfAlone);
    poolOfAlone.setPoller([&standIns] { return standIns.poll(); });
    const std::unique_ptr<Communicator> communicator = makeLocalCommunicator(pool);
    Run alone(
        scenario,
        {.pool = &poolOfAlone, .device = deviceOfAlone.get(), .communicator = &standIns, .ranks = rehearsedRanks(scenario)});
    Run whole(scenario, {.pool = &pool, .device = device.get(), .communicator = communicator.get()});
    observeSteps(alone, options.warmUp);
    observeSteps(whole, options.warmUp);
    Rehearsal both{.alone = observeSteps(alone, 1), .whole = observeSteps(whole, 1)};
    for (int step = 1; step < options.steps; ++step) {
        both.alone.append(observeSteps(alone, 1));
        both.whole.append(observeSteps(whole, 1));
    }
    both.alone.membersOf = std::move(standIns.membersOf);
    both.alone.routings = std::move(standIns.routings); // those recorded were dealt evenly
    return both;
}

} // namespace live
