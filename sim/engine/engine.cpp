#include "sim/engine/engine.h"

#include "sim/engine/engine_run.h"

#include <algorithm>
#include <cassert>

namespace sim {

namespace {

/// Brings what is looked at next nearer, meanwhile: of many ranks the state lies in no cache.
template <typename Value>
void fetch(const Value& value)
{
    constexpr std::size_t kLine = 64;
    const char* const bytes = reinterpret_cast<const char*>(&value);
    for (std::size_t at = 0; at < sizeof(Value); at += kLine)
        __builtin_prefetch(bytes + at, 1);
}
constexpr std::size_t kAhead = 8; ///< events, classes

} // namespace

EngineRun::EngineRun(const Program& program, const RankClasses& classes, const PricedProgram& prices)
    : m_program(program), m_classes(classes), m_prices(prices), m_shared(program, classes, prices),
      m_besideRate(static_cast<std::int64_t>(static_cast<double>(FairShare::kFullRate) / prices.besideTransfers)),
      m_besideExpertsRate(static_cast<std::int64_t>(static_cast<double>(FairShare::kFullRate) / prices.slowestBeside())),
      m_fair(m_shared.portCount(), static_cast<int>(classes.classGroups.size()) + 2 * classes.count()),
      m_workers(asIndex(classes.count())), m_facts(asIndex(classes.count())), m_waiting(asIndex(classes.count())),
      m_meetings(asIndex(classes.count())), m_rendezvous(classes.classGroups.size()),
      m_transfers(classes.classGroups.size() + 2 * asIndex(classes.count())), m_free(program.passes.size())
{
    std::size_t ops = 0, slots = 0;
    for (int c = 0; c < classes.count(); ++c) {
        std::array<double, kCommunicatorRoleCount> factors{};
        RoleMask ownAffairs = 0;
        for (std::size_t role = 0; role < factors.size(); ++role)
            if (const int group = classes.groups[asIndex(c)][role]; group >= 0 && !m_shared.isShared(group))
                if (const ClassGroup& of = classes.classGroups[asIndex(group)]; of.classes.size() == 1) {
                    factors[role] = of.linkFactor;
                    ownAffairs |= RoleMask{1} << role;
                }
        const int geometry = classes.geometry[asIndex(c)];
        Facts& facts = m_facts[asIndex(c)];
        facts.pipelineRank = classes.pipelineRank[asIndex(c)];
        facts.program = &program.ranks[asIndex(facts.pipelineRank)];
        facts.durations = &prices.durations[asIndex(geometry)];
        facts.slowdown = &classes.slowdown[asIndex(c)];
        facts.link = facts.slowdown->link;
        facts.runs =
            *facts.slowdown != RankSlowdown{}
                ? nullptr
                : &m_runsBy.try_emplace({geometry, ownAffairs}, program, prices, asIndex(geometry), ownAffairs).first->second;
        facts.ownFactor = &*m_ownFactors.insert(factors).first;
        facts.firstSlot = slots;
        facts.groups = classes.groups[asIndex(c)];
        facts.besides = m_shared.besides(c);
        facts.peerCount = static_cast<std::int32_t>(classes.pipelinePeers[asIndex(c)].size());
        std::copy_n(classes.pipelinePeers[asIndex(c)].begin(), std::min(facts.peers.size(), asIndex(facts.peerCount)),
                    facts.peers.begin());
        const RankProgram& rank = *facts.program;
        m_result.firstOp.push_back(ops);
        m_workers[asIndex(c)].place = m_workers[asIndex(c)].peakPlace = ops;
        m_poll(asIndex(rank.slots));
        m_meetings[asIndex(c)].resize(rank.postsReceives ? asIndex(rank.slots) : 0);
        m_postsReceives = m_postsReceives || rank.postsReceives;
        slots += asIndex(rank.slots);
        ops += asIndex(rank.opCount);
    }
    formCrews();
    m_mailbox.resize(slots);
    m_result.firstOp.push_back(ops);
    m_result.opStartNs.resize(ops);
    m_result.opEndNs.resize(ops);
    m_result.memory.resize(asIndex(classes.count()));
}

EngineResult EngineRun::run(const EngineWatch& watch)
{
    auto look = watch.atNs.begin();
    for (int c = m_classes.count() - 1; c >= 0; --c)
        queue(c);
    for (;;) {
        while (!m_queued.empty() || goOnAlone()) {
            const int c = m_queued.back();
            if (m_queued.size() > kAhead) {
                const auto ahead = asIndex(m_queued[m_queued.size() - 1 - kAhead]);
                fetch(m_workers[ahead]);
                fetch(m_facts[ahead]);
                __builtin_prefetch(&m_waiting[ahead], 1);
            }
            if (m_queued.size() > kAhead / 2)
                fetchResults(m_queued[m_queued.size() - 1 - kAhead / 2]);
            m_queued.pop_back();
            m_workers[asIndex(c)].queued = false;
            advance(c);
        }
        // Rates are found anew once all that happens at an instant has happened.
        if (m_events.empty() || m_events.nextNs() > m_nowNs)
            shareAgain();
        if (m_events.empty())
            break;
        m_nowNs = m_events.nextNs();
        if (look != watch.atNs.end() && m_nowNs >= *look) {
            look = std::upper_bound(look, watch.atNs.end(), m_nowNs);
            if (!goesOn(watch))
                throw GivenUp();
        }
        m_events.takeNext(m_now);
        for (std::size_t i = 0; i < m_now.size(); ++i) {
            if (i + kAhead < m_now.size())
                fetchState(m_now[i + kAhead]);
            if (i + kAhead / 2 < m_now.size())
                fetchWhatItNames(m_now[i + kAhead / 2]);
            happen(m_now[i]);
        }
    }
    for (int c = 0; c < m_classes.count(); ++c) {
        const Worker& worker = m_workers[asIndex(c)];
        if (!worker.issuedAll || worker.open != 0)
            throw Deadlock(deadlockMessage(), circleOfWaits());
        m_result.endNs = std::max(m_result.endNs, *std::max_element(worker.tail.begin(), worker.tail.end()));
        m_result.memory[asIndex(c)] = worker.peak;
        if (m_result.firstOp[asIndex(c)] < m_result.firstOp[asIndex(c) + 1])
            m_result.memory[asIndex(c)].atNs = m_result.opStartNs[worker.peakPlace];
    }
    std::sort(m_result.stretched.begin(), m_result.stretched.end());
    return std::move(m_result);
}

/// Where the first op of the compute stream stands whose end is not known.
std::size_t EngineRun::kernelsTo(int c) const
{
    const Worker& worker = m_workers[asIndex(c)];
    if ((worker.begun & maskOf(Stream::compute)) != 0)
        return runningOn(c, Stream::compute).place;
    const Fifo<WaitingOp>& waiting = m_waiting[asIndex(c)].ops;
    for (std::size_t i = waiting.first(); i != waiting.next(); ++i)
        if (!waiting[i].hasBegun && opOf(waiting[i].op).stream == Stream::compute)
            return waiting[i].op.place;
    return worker.place;
}

bool EngineRun::goesOn(const EngineWatch& watch) const
{
    EngineProgress progress{.times = m_result, .kernelsTo = {}};
    for (int c = 0; c < m_classes.count(); ++c)
        progress.kernelsTo.push_back(kernelsTo(c));
    return watch.goesOn(progress);
}

/// What was scheduled before for the same transfer or kernel does not happen any more.
void EngineRun::schedule(EventKind kind, std::int64_t ns, int what)
{
    assert(ns >= m_nowNs);
    const bool ofKernel = kind == EventKind::kernelStarts || kind == EventKind::kernelEnds;
    const std::uint32_t version = ++(ofKernel ? m_workers[asIndex(what)].kernelVersion : m_transfers[asIndex(what)].version);
    m_events.push(ns, {.what = what, .version = version, .kind = kind});
}

void EngineRun::fetchState(const Event& event) const
{
    if (event.kind == EventKind::kernelStarts || event.kind == EventKind::kernelEnds) {
        fetch(m_workers[asIndex(event.what)]);
        return;
    }
    fetch(m_transfers[asIndex(event.what)]);
    m_fair.fetch(event.what);
    if (!isMessage(event.what))
        return;
    fetch(m_workers[asIndex(senderOf(event.what))]);
    fetch(m_facts[asIndex(senderOf(event.what))]);
}

void EngineRun::fetchResults(int c) const
{
    const std::size_t place = m_workers[asIndex(c)].place;
    fetch(*(m_result.opStartNs.data() + place));
    fetch(*(m_result.opEndNs.data() + place));
}

/// Once its state is near.
void EngineRun::fetchWhatItNames(const Event& event) const
{
    if (event.kind == EventKind::kernelStarts || event.kind == EventKind::kernelEnds || !isMessage(event.what))
        return;
    const int c = senderOf(event.what);
    const Stream stream = m_transfers[asIndex(event.what)].stream;
    const Step* const step = runningOn(c, stream).step;
    if ((m_workers[asIndex(c)].begun & maskOf(stream)) == 0 || step == nullptr || step->sendTo < 0)
        return;
    const int peer = peerOf(c, step->sendTo).classIndex;
    m_fair.fetchPorts(event.what);
    fetchResults(c);
    fetch(m_workers[asIndex(peer)]);
    fetch(m_facts[asIndex(peer)]);
}

/// Keeps the number of its events. Where it lies: see leaveOpen().
void EngineRun::replace(Transfer& transfer, Stream stream, std::int64_t startNs, std::int64_t durationNs)
{
    transfer.stream = stream;
    transfer.startNs = startNs;
    transfer.durationNs = durationNs;
    transfer.left = 0;
    transfer.rate = FairShare::kFullRate;
    transfer.sinceNs = 0;
    transfer.isScheduled = false;
}

void EngineRun::happen(const Event& event)
{
    const bool ofKernel = event.kind == EventKind::kernelStarts || event.kind == EventKind::kernelEnds;
    if ((ofKernel ? m_workers[asIndex(event.what)].kernelVersion : m_transfers[asIndex(event.what)].version) != event.version)
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

bool EngineResult::sameStretches(std::size_t classA, std::size_t classB) const
{
    const auto from = [&](std::size_t place) {
        return std::lower_bound(stretched.begin(), stretched.end(), Stretch{.place = place, .byNs = 0});
    };
    return std::equal(from(firstOp[classA]), from(firstOp[classA + 1]), from(firstOp[classB]), from(firstOp[classB + 1]),
                      [&](const Stretch& a, const Stretch& b) {
                          return a.place - firstOp[classA] == b.place - firstOp[classB] && a.byNs == b.byNs;
                      });
}

EngineResult runEngine(const Program& program, const RankClasses& classes, const PricedProgram& prices, const EngineWatch& watch)
{
    return EngineRun(program, classes, prices).run(watch);
}

} // namespace sim
