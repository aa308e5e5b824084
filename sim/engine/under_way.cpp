// Kernels and transfers whose ends depend on what runs beside them.
#include "sim/engine/documents.h"
#include "sim/engine/engine_run.h"
#include "sim/engine/slowdown.h"

#include <algorithm>

namespace sim {

// Kernels ---------------------------------------------------------------------------------------------------------------------

std::int64_t EngineRun::kernelNs(int c, const IssuedOp& issued) const
{
    const auto pass = issued.step->pass;
    const Facts& facts = m_facts[asIndex(c)];
    const std::int64_t duration = (*facts.durations)[pass][issued.index];
    if (facts.runs != nullptr)
        return duration;
    const RankSlowdown& slowdown = *facts.slowdown;
    return slowedKernelNs(duration, m_prices.fastest.empty() ? 0 : m_prices.fastest[pass][issued.index], slowdown,
                          static_cast<std::int64_t>(issued.place - m_result.firstOp[asIndex(c)]),
                          attentionShareOf(m_classes, c, issued.step->microbatch, m_program.passes[pass].shapes[issued.index]));
}

void EngineRun::beginKernel(int c, const IssuedOp& issued, std::int64_t beginNs)
{
    Worker& worker = m_workers[asIndex(c)];
    const std::int64_t duration = kernelNs(c, issued);
    const StreamMask besides = m_facts[asIndex(c)].besides;
    const bool isAlone = (worker.open & besides) == 0 && losesTo(c, *issued.step, issued.index) == 0;
    if (isAlone || duration > kLongestSharedNs) {
        finish(c, Stream::compute, issued, beginNs + duration);
        return;
    }
    leaveOpen(c, Stream::compute, issued);
    worker.kernel = {.left = duration * FairShare::kFullRate, .sinceNs = beginNs, .runs = false};
    if (beginNs > m_nowNs) {
        schedule(EventKind::kernelStarts, beginNs, c);
        return;
    }
    worker.kernel.runs = true;
    rescheduleKernel(c);
}

void EngineRun::rescheduleKernel(int c)
{
    const Worker& worker = m_workers[asIndex(c)];
    const std::int64_t rate = kernelRate(worker);
    schedule(EventKind::kernelEnds, worker.kernel.sinceNs + (worker.kernel.left + rate - 1) / rate, c);
}

/// Of several beside it, what takes the most decides.
std::int64_t EngineRun::kernelRate(const Worker& worker) const
{
    return worker.besideExperts > 0 ? m_besideExpertsRate : worker.beside > 0 ? m_besideRate : FairShare::kFullRate;
}

void EngineRun::besideChanges(int c, Stream stream, int by)
{
    Worker& worker = m_workers[asIndex(c)];
    const std::int64_t before = kernelRate(worker);
    worker.beside += by;
    worker.besideExperts += stream == Stream::ep ? by : 0;
    if (before == kernelRate(worker) || !worker.kernel.runs)
        return;
    worker.kernel.left = std::max<std::int64_t>(0, worker.kernel.left - (m_nowNs - worker.kernel.sinceNs) * before);
    worker.kernel.sinceNs = m_nowNs;
    rescheduleKernel(c);
}

void EngineRun::endKernel(int c)
{
    Worker& worker = m_workers[asIndex(c)];
    worker.kernel.runs = false;
    finish(c, Stream::compute, worker.running[asIndex(Stream::compute)], m_nowNs);
    queue(c);
}

// Transfers -------------------------------------------------------------------------------------------------------------------

void EngineRun::arrive(int c, const IssuedOp& issued, std::int64_t beginNs)
{
    const Op& op = opOf(issued);
    const int groupIndex = groupOf(c, op.group);
    const ClassGroup& group = m_classes.classGroups[asIndex(groupIndex)];
    const std::int64_t duration = scaledNs((*m_facts[asIndex(c)].durations)[issued.step->pass][issued.index], group.linkFactor);
    const bool isShared = m_shared.isShared(groupIndex);
    if (group.classes.size() == 1 && !isShared) {
        finish(c, op.stream, issued, beginNs + duration);
        return;
    }
    Rendezvous& rendezvous = m_rendezvous[asIndex(groupIndex)];
    const Rendezvous all{.latestNs = rendezvous.arrived == 0 ? beginNs : std::max(rendezvous.latestNs, beginNs),
                         .durationNs = std::max(rendezvous.durationNs, duration),
                         .arrived = rendezvous.arrived + 1};
    leaveOpen(c, op.stream, issued);
    const bool isLast = all.arrived == group.classes.size();
    rendezvous = isLast ? Rendezvous{} : all;
    if (!isLast)
        return;
    if (isShared && all.durationNs <= kLongestSharedNs) {
        replace(m_transfers[asIndex(groupIndex)], op.stream, all.latestNs, all.durationNs);
        m_transfers[asIndex(groupIndex)].isScheduled = true;
        schedule(EventKind::transferStarts, m_transfers[asIndex(groupIndex)].startNs, groupIndex);
        return;
    }
    for (const int member : group.classes) {
        finish(member, op.stream, m_workers[asIndex(member)].running[asIndex(op.stream)], all.latestNs + all.durationNs);
        if (member != c)
            queue(member);
    }
}

void EngineRun::startTransfer(int transfer)
{
    Transfer& state = m_transfers[asIndex(transfer)];
    state.left = state.durationNs * FairShare::kFullRate;
    state.rate = FairShare::kFullRate;
    state.sinceNs = m_nowNs;
    state.isScheduled = false;
    m_claims.clear();
    if (isMessage(transfer)) {
        const int c = senderOf(transfer);
        const PipelinePeer& peer = peerOf(c, runningOn(c, state.stream).step->sendTo);
        m_shared.addMessageClaims(m_claims, c, peer.classIndex, peer.tier);
    } else {
        const ClassGroup& group = m_classes.classGroups[asIndex(transfer)];
        for (const int member : group.classes) {
            const IssuedOp& issued = runningOn(member, state.stream);
            PortUse use = m_prices.uses[asIndex(m_classes.geometry[asIndex(member)])][issued.step->pass][issued.index];
            // Where only another's link is slow, this one's port has time left.
            if (const double own = m_classes.slowdown[asIndex(member)].link; own < group.linkFactor)
                for (std::uint32_t& of : use)
                    of = static_cast<std::uint32_t>(of * (own / group.linkFactor));
            m_shared.addClaims(m_claims, member, use);
            if ((m_facts[asIndex(member)].besides & maskOf(state.stream)) != 0)
                besideChanges(member, state.stream, 1);
        }
    }
    m_fair.begin(transfer, m_claims);
    schedule(EventKind::transferEnds, m_nowNs + state.durationNs, transfer);
}

void EngineRun::endTransfer(int transfer)
{
    m_fair.end(transfer);
    const Transfer& state = m_transfers[asIndex(transfer)];
    const std::int64_t stretch = m_nowNs - state.startNs - state.durationNs;
    if (isMessage(transfer)) {
        const int c = senderOf(transfer);
        const IssuedOp issued = runningOn(c, state.stream);
        if (stretch > 0)
            m_result.stretched.push_back({issued.place, stretch});
        finish(c, state.stream, issued, m_nowNs);
        queue(c);
        bring(peerOf(c, issued.step->sendTo).classIndex, issued.step->sendSlot, state.startNs, m_nowNs);
        return;
    }
    for (const int member : m_classes.classGroups[asIndex(transfer)].classes) {
        const IssuedOp issued = runningOn(member, state.stream);
        if ((m_facts[asIndex(member)].besides & maskOf(state.stream)) != 0)
            besideChanges(member, state.stream, -1);
        if (stretch > 0)
            m_result.stretched.push_back({issued.place, stretch});
        finish(member, state.stream, issued, m_nowNs);
        queue(member);
    }
}

void EngineRun::shareAgain()
{
    for (const auto& [transfer, rate] : m_fair.settle()) {
        Transfer& state = m_transfers[asIndex(transfer)];
        state.left = std::max<std::int64_t>(0, state.left - (m_nowNs - state.sinceNs) * state.rate);
        state.sinceNs = m_nowNs;
        state.rate = rate;
        schedule(EventKind::transferEnds, m_nowNs + (state.left + rate - 1) / rate, transfer);
    }
}

} // namespace sim
