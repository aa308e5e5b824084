#include "app/views/timeline/exposed_waits.h"

#include "sim/simulate/action_class.h"
#include "sim/simulate/exposed_transfers.h"

#include <algorithm>

namespace app {
namespace {

void addWait(sim::Track& track, std::int64_t beginNs, std::int64_t endNs, sim::OpClass opClass)
{
    if (beginNs >= endNs)
        return;
    track.startNs.push_back(beginNs);
    track.durationNs.push_back(endNs - beginNs);
    track.kind.push_back(static_cast<std::uint32_t>(opClass));
    track.microbatch.push_back(-1);
}

std::vector<sim::SpanKind> kindOfEachClass()
{
    std::vector<sim::SpanKind> kinds;
    for (int c = 0; c < sim::kOpClassCount; ++c)
        kinds.push_back({.opClass = static_cast<sim::OpClass>(c)});
    return kinds;
}

} // namespace

ExposedWaits::ExposedWaits(const sim::Simulation& simulation, int classIndex, const sim::Track& actions)
{
    std::size_t action = 0; // the first that has not ended
    for (const sim::ExposedTransfer& wait : sim::exposedTransfers(simulation, classIndex)) {
        const sim::OpClass opClass = wait.dimension ? sim::opClassOf(*wait.dimension) : sim::OpClass::hostTransfer;
        const auto begin = [&] { return action < actions.size() ? actions.startNs[action] : wait.endNs; };
        const auto end = [&] { return begin() + (action < actions.size() ? actions.durationNs[action] : 0); };
        std::int64_t now = wait.beginNs;
        while (now < wait.endNs) {
            while (action < actions.size() && end() <= now)
                ++action;
            const std::int64_t free = std::min(wait.endNs, std::max(now, begin()));
            addWait(m_between, now, free, opClass);
            now = std::min(wait.endNs, std::max(free, end()));
            addWait(m_inside, free, now, opClass);
        }
    }
    const std::vector<sim::SpanKind> kinds = kindOfEachClass();
    m_busyInside = std::make_unique<sim::BusyMipmap>(m_inside, kinds);
    m_busyBetween = std::make_unique<sim::BusyMipmap>(m_between, kinds);
}

} // namespace app
