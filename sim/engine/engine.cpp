#include "sim/engine/engine.h"

#include "sim/engine/engine_run.h"

#include <algorithm>
#include <cassert>

namespace sim {

EngineRun::EngineRun(const Program& program, const RankClasses& classes, const PricedProgram& prices)
    : m_program(program), m_classes(classes), m_prices(prices), m_shared(program, classes, prices),
      m_besideRate(static_cast<std::int64_t>(static_cast<double>(FairShare::kFullRate) / prices.besideTransfers)),
      m_fair(m_shared.portCount(), static_cast<int>(classes.classGroups.size()) + 2 * classes.count()),
      m_workers(asIndex(classes.count())), m_mailbox(asIndex(classes.count())), m_meetings(asIndex(classes.count())),
      m_rendezvous(classes.classGroups.size()), m_transfers(classes.classGroups.size() + 2 * asIndex(classes.count())),
      m_transferVersion(m_transfers.size()), m_kernelVersion(asIndex(classes.count())), m_goesOnBehind(program.passes.size())
{
    std::size_t ops = 0;
    for (int c = 0; c < classes.count(); ++c) {
        auto& factors = m_ownFactor.emplace_back();
        RoleMask ownAffairs = 0;
        for (std::size_t role = 0; role < factors.size(); ++role)
            if (const int group = classes.groups[asIndex(c)][role]; group >= 0 && !m_shared.isShared(group))
                if (const ClassGroup& of = classes.classGroups[asIndex(group)]; of.classes.size() == 1) {
                    factors[role] = of.linkFactor;
                    ownAffairs |= RoleMask{1} << role;
                }
        const int geometry = classes.geometry[asIndex(c)];
        m_quietRuns.push_back(
            classes.slowdown[asIndex(c)] != RankSlowdown{}
                ? nullptr
                : &m_runsBy.try_emplace({geometry, ownAffairs}, program, prices.durations[asIndex(geometry)], ownAffairs)
                       .first->second);
        const RankProgram& rank = programOf(c);
        m_result.firstOp.push_back(ops);
        m_workers[asIndex(c)].place = m_workers[asIndex(c)].peakPlace = ops;
        m_poll(asIndex(rank.slots));
        m_mailbox[asIndex(c)].resize(asIndex(rank.slots));
        m_meetings[asIndex(c)].resize(rank.postsReceives ? asIndex(rank.slots) : 0);
        ops += asIndex(rank.opCount);
    }
    m_result.firstOp.push_back(ops);
    m_result.opStartNs.resize(ops);
    m_result.opEndNs.resize(ops);
    m_result.memory.resize(asIndex(classes.count()));
}

EngineResult EngineRun::run()
{
    for (int c = m_classes.count() - 1; c >= 0; --c)
        queue(c);
    for (;;) {
        while (!m_queued.empty()) {
            const int c = m_queued.back();
            m_queued.pop_back();
            m_workers[asIndex(c)].queued = false;
            advance(c);
        }
        // Rates are found anew once all that happens at an instant has happened.
        if (m_events.empty() || m_events.top().ns > m_nowNs)
            shareAgain();
        if (m_events.empty())
            break;
        m_nowNs = m_events.top().ns;
        while (!m_events.empty() && m_events.top().ns == m_nowNs) {
            const Event event = m_events.top();
            m_events.pop();
            happen(event);
        }
    }
    for (int c = 0; c < m_classes.count(); ++c) {
        const Worker& worker = m_workers[asIndex(c)];
        if (!worker.issuedAll || worker.open != 0)
            throw Deadlock(deadlockMessage(), circleOfWaits());
        m_result.endNs = std::max(m_result.endNs, *std::max_element(worker.tail.begin(), worker.tail.end()));
        if (m_result.firstOp[asIndex(c)] < m_result.firstOp[asIndex(c) + 1])
            m_result.memory[asIndex(c)].atNs = m_result.opStartNs[worker.peakPlace];
    }
    std::sort(m_result.stretched.begin(), m_result.stretched.end());
    return std::move(m_result);
}

/// What was scheduled before for the same transfer or kernel does not happen any more.
void EngineRun::schedule(EventKind kind, std::int64_t ns, int what)
{
    assert(ns >= m_nowNs);
    const bool ofKernel = kind == EventKind::kernelStarts || kind == EventKind::kernelEnds;
    const std::uint32_t version = ++(ofKernel ? m_kernelVersion : m_transferVersion)[asIndex(what)];
    m_events.push({.ns = ns, .what = what, .version = version, .kind = kind});
}

void EngineRun::happen(const Event& event)
{
    const bool ofKernel = event.kind == EventKind::kernelStarts || event.kind == EventKind::kernelEnds;
    if ((ofKernel ? m_kernelVersion : m_transferVersion)[asIndex(event.what)] != event.version)
        return;
    switch (event.kind) {
    case EventKind::transferStarts:
        startTransfer(event.what);
        break;
    case EventKind::transferEnds:
        endTransfer(event.what);
        break;
    case EventKind::kernelStarts:
        m_workers[asIndex(event.what)].kernel.runs = true;
        rescheduleKernel(event.what);
        break;
    case EventKind::kernelEnds:
        endKernel(event.what);
        break;
    }
}

std::int64_t EngineResult::stretchedByNs(std::size_t place) const
{
    if (stretched.empty())
        return 0;
    const auto found = std::lower_bound(stretched.begin(), stretched.end(), Stretch{.place = place, .byNs = 0});
    return found != stretched.end() && found->place == place ? found->byNs : 0;
}

EngineResult runEngine(const Program& program, const RankClasses& classes, const PricedProgram& prices)
{
    return EngineRun(program, classes, prices).run();
}

} // namespace sim
