// What ranks issue, and when it can begin.
#include "sim/engine/engine_run.h"
#include "sim/engine/slowdown.h"

#include <algorithm>
#include <bit>

namespace sim {
namespace {

/// Whether one of the next `ahead` ops can go on while kernels are held up from this op on.
bool isFreeBehind(const Pass& pass, std::size_t op, std::size_t ahead)
{
    StreamMask held = maskOf(Stream::compute);
    for (std::size_t k = op + 1; k < std::min(pass.ops.size(), op + 1 + ahead); ++k) {
        const Op& next = pass.ops[k];
        if (((next.waits | maskOf(next.stream)) & held) == 0 && next.kind != OpKind::receive)
            return true; // a message comes whether it is awaited or not
        held |= maskOf(next.stream);
    }
    return false;
}

} // namespace

void EngineRun::queue(int c)
{
    if (!std::exchange(m_workers[asIndex(c)].queued, true))
        m_queued.push_back(c);
}

void EngineRun::advance(int c)
{
    m_advancing = c;
    do {
        beginReady(c);
        if (!m_workers[asIndex(c)].issuedAll)
            issue(c);
    } while (finishesAlone(c));
}

/// Begins what waited and can go on. What one ends lets only later ones begin.
void EngineRun::beginReady(int c)
{
    WaitingOps& waiting = m_workers[asIndex(c)].waiting;
    for (std::size_t i = waiting.first; waiting.ready > 0; ++i) {
        WaitingOp& entry = waiting.ops[i];
        if (entry.hasBegun || entry.open != 0)
            continue;
        entry.hasBegun = true;
        --waiting.ready;
        --waiting.count;
        m_begunAt = i;
        begin(c, IssuedOp(entry.op), entry.readyNs);
    }
    m_begunAt = kNowhere;
    while (waiting.first < waiting.ops.size() && waiting.ops[waiting.first].hasBegun)
        ++waiting.first;
    if (waiting.first == waiting.ops.size() || waiting.first >= 4 * kIssuedAhead) {
        waiting.ops.erase(waiting.ops.begin(), waiting.ops.begin() + static_cast<std::ptrdiff_t>(waiting.first));
        waiting.first = 0;
    }
}

/// A collective that is all that its members have begun meets nothing on its way: what they do next waits for its end, and no
/// message comes in over its ports. Then it need not wait for its time.
bool EngineRun::finishesAlone(int c)
{
    const Worker& worker = m_workers[asIndex(c)];
    if (!std::has_single_bit(worker.begun))
        return false;
    const IssuedOp& issued = worker.running[asIndex(std::countr_zero(worker.begun))];
    const Op& op = opOf(issued);
    if (op.kind != OpKind::collective)
        return false;
    const int groupIndex = m_classes.groups[asIndex(c)][asIndex(op.group)];
    const Transfer& state = m_transfers[asIndex(groupIndex)];
    const ClassGroup& group = m_classes.classGroups[asIndex(groupIndex)];
    if (!state.isScheduled || m_shared.meetsMessages(groupIndex) || group.classes.size() > kMostAlone)
        return false;
    for (const int member : group.classes)
        if (m_workers[asIndex(member)].begun != maskOf(op.stream) || m_workers[asIndex(member)].queued)
            return false;
    m_transfers[asIndex(groupIndex)].isScheduled = false;
    ++m_transferVersion[asIndex(groupIndex)];
    const std::int64_t end = state.startNs + state.durationNs;
    for (const int member : group.classes) {
        finish(member, op.stream, IssuedOp(runningOn(member, op.stream)), end);
        if (member != c)
            queue(member);
    }
    return true;
}

void EngineRun::issue(int c)
{
    Worker& worker = m_workers[asIndex(c)];
    const RankProgram& rank = programOf(c);
    const OpDurations& durations = m_prices.durations[asIndex(m_classes.geometry[asIndex(c)])];
    const bool isPlain = m_classes.slowdown[asIndex(c)] == RankSlowdown{};
    const StreamMask besides = m_shared.besides(c);
    const PrivateFactors& ofPrivate = m_privateFactor[asIndex(c)];
    QuietRuns* const runs = isPlain ? m_quietRuns[asIndex(c)] : nullptr;
    EngineResult::MemoryPeak& peak = m_result.memory[asIndex(c)];
    std::int64_t* const starts = m_result.opStartNs.data();
    std::int64_t* const ends = m_result.opEndNs.data();

    for (; worker.step < rank.steps.size(); ++worker.step, worker.op = 0) {
        const Step& step = rank.steps[worker.step];
        const Pass& pass = m_program.passes[step.pass];
        m_poll(pass.ops.size() + 1);
        const std::int64_t* const prices = durations[step.pass].data();
        for (const std::size_t count = pass.ops.size(); worker.op < count; ++worker.op, ++worker.place) {
            if (runs != nullptr)
                if (const QuietRun* run = runs->at(step.pass, worker.op);
                    run != nullptr && execute(c, *run, pass.ops[worker.op])) {
                    worker.op += run->size() - 1;
                    worker.place += run->size() - 1;
                    continue;
                }
            const Op& op = pass.ops[worker.op];
            const auto stream = asIndex(op.stream);
            const auto needed = static_cast<StreamMask>(op.waits | maskOf(op.stream));
            const auto open = static_cast<StreamMask>(needed & worker.open);
            if (open != 0 &&
                (worker.waiting.count >= kIssuedAhead ||
                 (((worker.open | maskOf(op.stream)) & maskOf(Stream::compute)) != 0 && !issuesBehind(step.pass, worker.op))))
                return;
            std::int64_t ready = kNotYet;
            for (unsigned known = needed & ~open; known != 0; known &= known - 1)
                ready = std::max(ready, worker.tail[asIndex(std::countr_zero(known))]);
            if ((op.allocBytes | op.freeBytes) != 0) {
                std::int64_t& account = op.buffer ? worker.buffers : worker.activations;
                account += op.allocBytes;
                if (worker.activations + worker.buffers > peak.activations + peak.buffers) {
                    peak = {.activations = worker.activations, .buffers = worker.buffers, .atNs = 0};
                    worker.peakPlace = worker.place;
                }
                account -= op.freeBytes;
            }
            if (open != 0) {
                wait(worker, {.step = &step, .index = worker.op, .place = worker.place, .ticket = worker.tickets[stream] + 1},
                     op.stream, open, ready);
                continue;
            }
            if (op.kind == OpKind::compute && isPlain && (worker.open & besides) == 0) {
                starts[worker.place] = ready;
                ends[worker.place] = worker.tail[stream] = ready + prices[worker.op];
            } else if (op.kind == OpKind::wait) {
                starts[worker.place] = ends[worker.place] = worker.tail[stream] = ready;
            } else if (const double factor = op.kind == OpKind::collective ? ofPrivate[asIndex(op.group)] : 0; factor > 0) {
                starts[worker.place] = ready;
                ends[worker.place] = worker.tail[stream] = ready + scaledNs(prices[worker.op], factor);
            } else {
                begin(c, {.step = &step, .index = worker.op, .place = worker.place, .ticket = worker.tickets[stream] + 1}, ready);
            }
        }
    }
    worker.issuedAll = true;
}

/// False if something else decides when its ops begin.
bool EngineRun::execute(int c, const QuietRun& run, const Op& first)
{
    Worker& worker = m_workers[asIndex(c)];
    if ((worker.open & (run.streams | m_shared.besides(c))) != 0)
        return false;
    std::int64_t begin = kNotYet, latest = kNotYet;
    for (unsigned left = run.streams; left != 0; left &= left - 1) {
        const auto s = asIndex(std::countr_zero(left));
        latest = std::max(latest, worker.tail[s]);
        if (((first.waits | maskOf(first.stream)) >> s & 1U) != 0)
            begin = std::max(begin, worker.tail[s]);
    }
    if (latest > begin)
        return false;
    for (std::size_t i = 0; i < run.size(); ++i) {
        m_result.opStartNs[worker.place + i] = begin + run.starts[i];
        m_result.opEndNs[worker.place + i] = begin + run.ends[i];
    }
    for (unsigned left = run.used; left != 0; left &= left - 1) {
        const auto s = asIndex(std::countr_zero(left));
        worker.tail[s] = begin + run.tails[s];
    }
    EngineResult::MemoryPeak& peak = m_result.memory[asIndex(c)];
    if (worker.activations + worker.buffers + run.peakActivations + run.peakBuffers > peak.activations + peak.buffers) {
        peak = {.activations = worker.activations + run.peakActivations, .buffers = worker.buffers + run.peakBuffers, .atNs = 0};
        worker.peakPlace = worker.place + run.peakAt;
    }
    worker.activations += run.activations;
    worker.buffers += run.buffers;
    return true;
}

bool EngineRun::issuesBehind(std::uint32_t pass, std::size_t op)
{
    const Pass& ops = m_program.passes[pass];
    m_issuesBehind[pass].resize(ops.ops.size());
    Known& known = m_issuesBehind[pass][op];
    if (known == Known::notYet)
        known = isFreeBehind(ops, op, kIssuedAhead) ? Known::yes : Known::no;
    return known == Known::yes;
}

void EngineRun::wait(Worker& worker, const IssuedOp& issued, Stream stream, StreamMask open, std::int64_t readyNs)
{
    WaitingOp& waiting = worker.waiting.ops.emplace_back();
    ++worker.waiting.count;
    waiting.op = issued;
    waiting.readyNs = readyNs;
    waiting.open = open;
    for (unsigned left = open; left != 0; left &= left - 1) {
        const auto s = asIndex(std::countr_zero(left));
        waiting.tickets[s] = worker.tickets[s];
    }
    worker.tickets[asIndex(stream)] = issued.ticket;
    worker.open |= maskOf(stream);
}

void EngineRun::begin(int c, const IssuedOp& issued, std::int64_t readyNs)
{
    const Op& op = opOf(issued);
    switch (op.kind) {
    case OpKind::compute:
        beginKernel(c, issued, readyNs);
        break;
    case OpKind::wait:
        m_result.opStartNs[issued.place] = readyNs;
        finish(c, op.stream, issued, readyNs);
        break;
    case OpKind::collective:
        m_result.opStartNs[issued.place] = readyNs;
        arrive(c, issued, readyNs);
        break;
    case OpKind::send:
        deliver(c, issued, readyNs);
        break;
    case OpKind::receive:
        receive(c, issued);
        break;
    }
}

/// Its end is decided later.
void EngineRun::leaveOpen(int c, Stream stream, const IssuedOp& issued)
{
    Worker& worker = m_workers[asIndex(c)];
    worker.running[asIndex(stream)] = issued;
    worker.begun |= maskOf(stream);
    worker.open |= maskOf(stream);
    worker.tickets[asIndex(stream)] = std::max(worker.tickets[asIndex(stream)], issued.ticket);
}

void EngineRun::finish(int c, Stream stream, const IssuedOp& issued, std::int64_t endNs)
{
    Worker& worker = m_workers[asIndex(c)];
    const auto s = asIndex(stream);
    m_result.opEndNs[issued.place] = endNs;
    worker.begun &= static_cast<StreamMask>(~maskOf(stream));
    if (issued.ticket >= worker.tickets[s]) { // nothing was issued on it since
        worker.tail[s] = endNs;
        worker.open &= static_cast<StreamMask>(~maskOf(stream));
    }
    // Those that wait for it were issued after it, and before the next op on its stream.
    WaitingOps& waiting = worker.waiting;
    if (waiting.count == waiting.ready)
        return;
    const std::size_t from = c == m_advancing && m_begunAt != kNowhere ? m_begunAt + 1 : waiting.first;
    for (std::size_t i = from; i < waiting.ops.size(); ++i) {
        WaitingOp& entry = waiting.ops[i];
        if ((entry.open & maskOf(stream)) == 0)
            continue;
        if (entry.tickets[s] != issued.ticket)
            break;
        entry.open &= static_cast<StreamMask>(~maskOf(stream));
        entry.readyNs = std::max(entry.readyNs, endNs);
        waiting.ready += entry.open == 0 ? 1 : 0;
    }
}

} // namespace sim
