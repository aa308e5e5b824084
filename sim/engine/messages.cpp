// Messages between pipeline ranks. One begins when it is made and its receive has been posted, whichever comes later (NCCL's
// point-to-point: both ends must have come to it), and fills the streams of both ends until it is over. Where a program posts no
// receives, a buffer for each message is there from the start.
#include "sim/engine/engine_run.h"
#include "sim/engine/slowdown.h"

#include <algorithm>
#include <bit>

namespace sim {

void EngineRun::send(int c, const IssuedOp& issued, std::int64_t readyNs)
{
    const Step& step = *issued.step;
    const int peer = peerOf(c, step.sendTo).classIndex;
    m_shared.fetchCards(m_fair, c, peer);
    if (!m_postsReceives || !programOf(peer).postsReceives) {
        carry(c, issued, readyNs);
        return;
    }
    Meeting& meeting = m_meetings[asIndex(peer)][asIndex(step.sendSlot)];
    meeting.sentNs = readyNs;
    if (meeting.postedNs == kNotYet)
        leaveOpen(c, opOf(issued).stream, issued);
    else
        carry(c, issued, std::max(readyNs, meeting.postedNs));
}

void EngineRun::post(int c, const IssuedOp& issued, std::int64_t readyNs)
{
    const Step& step = *issued.step;
    Meeting& meeting = m_meetings[asIndex(c)][asIndex(step.receiveSlot)];
    meeting.postedNs = readyNs;
    leaveOpen(c, opOf(issued).stream, issued);
    if (meeting.sentNs == kNotYet)
        return;
    const int sender = peerOf(c, step.receiveFrom).classIndex;
    for (unsigned begun = m_workers[asIndex(sender)].begun; begun != 0; begun &= begun - 1) {
        const IssuedOp sent = m_workers[asIndex(sender)].running[asIndex(std::countr_zero(begun))];
        if (opOf(sent).kind != OpKind::send || sent.step->sendSlot != step.receiveSlot ||
            sent.step->sendTo != m_facts[asIndex(c)].pipelineRank)
            continue;
        carry(sender, sent, std::max(meeting.sentNs, readyNs));
        queue(sender);
        return;
    }
}

/// Both ends are ready: the message is on its way from `startNs` on.
void EngineRun::carry(int c, const IssuedOp& issued, std::int64_t startNs)
{
    const Step& step = *issued.step;
    const Stream stream = opOf(issued).stream;
    const auto& [pipelineRank, peer, tier] = peerOf(c, step.sendTo);
    const double factor = std::max(m_facts[asIndex(c)].link, m_facts[asIndex(peer)].link);
    const std::int64_t ownNs = (*m_facts[asIndex(c)].durations)[step.pass][issued.index];
    const std::int64_t duration = scaledNs(m_prices.sendNs[asIndex(tier)] + ownNs, factor);
    m_result.opStartNs[issued.place] = startNs;
    if (m_shared.isShared(c, peer, tier) && duration <= kLongestSharedNs) {
        const int transfer = messageOf(c, stream);
        leaveOpen(c, stream, issued);
        replace(m_transfers[asIndex(transfer)], stream, startNs, duration);
        if (startNs > m_nowNs)
            schedule(EventKind::transferStarts, startNs, transfer);
        else
            startTransfer(transfer);
        return;
    }
    finish(c, stream, issued, startNs + duration);
    bring(peer, step.sendSlot, startNs, startNs + duration);
}

void EngineRun::receive(int c, const IssuedOp& issued)
{
    const Message& message = messageAt(c, issued.step->receiveSlot);
    if (message.endNs == kNotYet) {
        leaveOpen(c, Stream::receive, issued);
        return;
    }
    m_result.opStartNs[issued.place] = message.startNs;
    finish(c, Stream::receive, issued, message.endNs);
}

/// A message is there.
void EngineRun::bring(int c, std::int32_t slot, std::int64_t startNs, std::int64_t endNs)
{
    messageAt(c, slot) = {.startNs = startNs, .endNs = endNs};
    const unsigned waiting = m_workers[asIndex(c)].begun;
    for (unsigned begun = m_postsReceives ? waiting : waiting & maskOf(Stream::receive); begun != 0; begun &= begun - 1) {
        const auto stream = static_cast<Stream>(std::countr_zero(begun));
        const IssuedOp awaited = runningOn(c, stream);
        const OpKind kind = opOf(awaited).kind;
        if ((kind != OpKind::receive && kind != OpKind::post) || awaited.step->receiveSlot != slot)
            continue;
        m_result.opStartNs[awaited.place] = startNs;
        finish(c, stream, awaited, endNs);
        queue(c);
    }
}

} // namespace sim
