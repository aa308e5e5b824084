// What ranks issue, and when it can begin.
#include "sim/engine/engine_run.h"
#include "sim/engine/slowdown.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace sim {
void EngineRun::queue(int c)
{
    if (!std::exchange(m_workers[asIndex(c)].queued, true))
        m_queued.push_back(c);
}

void EngineRun::advance(int c)
{
    do {
        beginReady(c);
        if (!m_workers[asIndex(c)].issuedAll)
            issue(c);
    } while (finishesAlone(c));
}

/// Begins what waited and can go on.
void EngineRun::beginReady(int c)
{
    Worker& worker = m_workers[asIndex(c)];
    if (!worker.hasReady)
        return;
    WaitingOps& waiting = m_waiting[asIndex(c)];
    for (std::size_t i = 0; i < waiting.ready.size(); ++i) { // grows meanwhile
        WaitingOp& entry = waiting.ops[waiting.ready[i]];
        entry.hasBegun = true;
        worker.waitingKernels -= opOf(entry.op).stream == Stream::compute ? 1 : 0;
        begin(c, IssuedOp(entry.op), beginOf(c, entry));
    }
    waiting.ready.clear();
    worker.hasReady = false;
    while (!waiting.ops.empty() && waiting.ops.front().hasBegun)
        waiting.ops.pop();
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
    const int groupIndex = groupOf(c, op.group);
    const Transfer& state = m_transfers[asIndex(groupIndex)];
    const ClassGroup& group = m_classes.classGroups[asIndex(groupIndex)];
    if (!state.isScheduled || m_shared.meetsMessages(groupIndex) || group.classes.size() > kMostAlone)
        return false;
    for (const int member : group.classes)
        if (const Worker& of = m_workers[asIndex(member)]; of.begun != maskOf(op.stream) || of.queued || of.waitsForCrew)
            return false;
    m_transfers[asIndex(groupIndex)].isScheduled = false;
    ++m_transfers[asIndex(groupIndex)].version;
    const std::int64_t end = state.startNs + state.durationNs;
    for (const int member : group.classes) {
        finish(member, op.stream, IssuedOp(runningOn(member, op.stream)), end);
        if (member != c)
            queue(member);
    }
    return true;
}

EngineRun::IssuedOp EngineRun::issuedHere(const Step& step, const Worker& worker, std::size_t stream)
{
    return {.step = &step,
            .index = static_cast<std::uint32_t>(worker.op),
            .ticket = worker.tickets[stream] + 1,
            .place = worker.place};
}

void EngineRun::issue(int c)
{
    Worker& worker = m_workers[asIndex(c)];
    const Facts& facts = m_facts[asIndex(c)];
    const RankProgram& rank = *facts.program;
    const OpDurations& durations = *facts.durations;
    QuietRuns* const runs = facts.runs;
    const bool isPlain = runs != nullptr;
    const StreamMask besides = facts.besides;
    const auto& ownFactor = *facts.ownFactor;
    EngineResult::MemoryPeak& peak = worker.peak;
    std::int64_t* const starts = m_result.opStartNs.data();
    std::int64_t* const ends = m_result.opEndNs.data();

    const bool hasCrew = m_facts[asIndex(c)].crew >= 0;
    if (worker.waitsForCrew)
        return;
    for (; worker.step < rank.steps.size(); ++worker.step, worker.op = 0) {
        const Step& step = rank.steps[worker.step];
        const Pass& pass = m_program.passes[step.pass];
        m_poll(pass.ops.size() + 1);
        if (worker.op == 0) {
            if (worker.waitingKernels > 0)
                return; // a pass is issued when the last kernel of the one before has begun
            worker.passStartNs = worker.kernelStartNs;
            if (std::exchange(worker.stepOfHost, worker.step) < worker.step)
                worker.host.beginPass(m_prices.launchNs(rank.steps[worker.step - 1].pass));
        }
        const std::int64_t* const prices = durations[step.pass].data();
        const PassLaunches* const launches = m_prices.launchesOf(step.pass);
        for (const std::size_t count = pass.ops.size(); worker.op < count; ++worker.op, ++worker.place) {
            const QuietRun* run = hasCrew ? runOfCrew(c, step) : nullptr;
            if (run != nullptr) {
                if (!standAt(c, *run, step))
                    return;
            } else if (runs != nullptr) {
                run = runs->at(step.pass, worker.op);
                if (run != nullptr && !execute(c, *run, step))
                    run = nullptr;
            }
            if (run != nullptr) {
                worker.op += run->size() - 1;
                worker.place += run->size() - 1;
                continue;
            }
            const Op& op = pass.ops[worker.op];
            const auto stream = asIndex(op.stream);
            const auto needed = static_cast<StreamMask>(op.waits | maskOf(op.stream));
            const auto open = static_cast<StreamMask>(needed & worker.open);
            const bool isKernel = op.stream == Stream::compute;
            if (open != 0 && isKernel && freeStreamsOf(step.pass).behind[worker.op] == 0)
                return; // all that follows waits for it
            std::int64_t ready = isKernel ? kNotYet : worker.passStartNs;
            for (unsigned known = needed & ~open; known != 0; known &= known - 1)
                ready = std::max(ready, worker.tail[asIndex(std::countr_zero(known))]);
            if ((op.allocBytes | op.freeBytes) != 0) {
                std::int64_t& account = op.buffer ? worker.buffers : worker.activations;
                const std::int64_t others = op.buffer ? worker.activations : worker.buffers;
                const std::int64_t held = account + op.allocBytes;
                account = held;
                if (held + others > peak.activations + peak.buffers) {
                    peak = {.activations = worker.activations, .buffers = worker.buffers, .atNs = 0};
                    worker.peakPlace = worker.place;
                }
                account -= op.freeBytes;
            }
            if (open != 0) {
                wait(c, step, op.stream, open, ready);
                continue;
            }
            const std::int64_t begins =
                launches == nullptr ? ready : worker.host.beginNs(launches->ops[worker.op], isKernel, ready);
            if (op.kind == OpKind::copy) {
                starts[worker.place] = begins;
                ends[worker.place] = worker.tail[stream] = begins + prices[worker.op];
            } else if (op.kind == OpKind::compute && isPlain && (worker.open & besides) == 0 &&
                       losesTo(c, step, worker.op) == 0) {
                starts[worker.place] = worker.kernelStartNs = begins;
                ends[worker.place] = worker.tail[stream] = begins + prices[worker.op];
            } else if (op.kind == OpKind::wait) {
                starts[worker.place] = ends[worker.place] = worker.tail[stream] = begins;
                if (isKernel)
                    worker.kernelStartNs = begins;
            } else if (const double factor = op.kind == OpKind::collective ? ownFactor[asIndex(op.group)] : 0; factor > 0) {
                starts[worker.place] = begins;
                ends[worker.place] = worker.tail[stream] = begins + scaledNs(prices[worker.op], factor);
            } else {
                begin(c, issuedHere(step, worker, stream), begins);
            }
        }
    }
    worker.issuedAll = true;
}

/// Nothing that it needs is open.
bool EngineRun::isFree(int c, const QuietRun& run) const
{
    return (m_workers[asIndex(c)].open & (run.streams | m_facts[asIndex(c)].besides)) == 0;
}

/// When its first op begins; kNotYet if one of the others can begin before it.
std::int64_t EngineRun::beginOf(const Worker& worker, const QuietRun& run, const Op& first) const
{
    std::int64_t begin = first.stream == Stream::compute ? kNotYet : worker.passStartNs, latest = kNotYet;
    for (unsigned left = run.streams; left != 0; left &= left - 1) {
        const auto s = asIndex(std::countr_zero(left));
        latest = std::max(latest, worker.tail[s]);
        if (((first.waits | maskOf(first.stream)) >> s & 1U) != 0)
            begin = std::max(begin, worker.tail[s]);
    }
    return latest > begin ? kNotYet : begin;
}

/// False if something else decides when its ops begin.
bool EngineRun::execute(int c, const QuietRun& run, const Step& step)
{
    Worker& worker = m_workers[asIndex(c)];
    if (!isFree(c, run) || losesTo(c, step, worker.op, run) != 0)
        return false;
    const std::int64_t begin = beginOf(worker, run, m_program.passes[step.pass].ops[worker.op]);
    if (begin == kNotYet)
        return false;
    place(worker, run, begin);
    return true;
}

namespace {

/// Times of ops, so much later. A few at once, which a compiler makes vectors of.
void placeAll(std::int64_t* __restrict starts, std::int64_t* __restrict ends, const QuietRun& run, std::int64_t laterNs)
{
    constexpr std::size_t kAtOnce = 8;
    const std::int64_t* const own = run.ofStreams.starts.data();
    const std::int64_t* const durations = run.durations.data();
    const std::size_t count = run.size();
    std::size_t i = 0;
    for (; i + kAtOnce <= count; i += kAtOnce)
        for (std::size_t k = 0; k < kAtOnce; ++k) {
            starts[i + k] = laterNs + own[i + k];
            ends[i + k] = laterNs + own[i + k] + durations[i + k];
        }
    for (; i < count; ++i) {
        starts[i] = laterNs + own[i];
        ends[i] = starts[i] + durations[i];
    }
}

} // namespace

void EngineRun::place(Worker& worker, const QuietRun& run, std::int64_t beginNs)
{
    std::int64_t* const starts = m_result.opStartNs.data() + worker.place;
    std::int64_t* const ends = m_result.opEndNs.data() + worker.place;
    const QuietRun::Times &own = run.ofStreams, &host = run.ofHost;
    const std::int64_t hostNs = worker.host.beganNs;
    if (hostNs + run.hostLeadNs <= beginNs) { // it is ahead of all of them
        placeAll(starts, ends, run, beginNs);
        for (unsigned left = run.used; left != 0; left &= left - 1) {
            const auto s = asIndex(std::countr_zero(left));
            worker.tail[s] = beginNs + own.tails[s];
        }
    } else {
        for (std::size_t i = 0; i < run.size(); ++i) {
            starts[i] = std::max(beginNs + own.starts[i], hostNs + host.starts[i]);
            ends[i] = starts[i] + run.durations[i];
        }
        for (unsigned left = run.used; left != 0; left &= left - 1) {
            const auto s = asIndex(std::countr_zero(left));
            worker.tail[s] = std::max(beginNs + own.tails[s], hostNs + host.tails[s]);
        }
    }
    worker.host.beganNs = std::max(beginNs + own.hostBeganNs, hostNs + host.hostBeganNs);
    if (run.lastKernel < run.size())
        worker.kernelStartNs = starts[run.lastKernel];
    account(worker, run);
}

/// What its ops allocate and free.
void EngineRun::account(Worker& worker, const QuietRun& run)
{
    EngineResult::MemoryPeak& peak = worker.peak;
    if (worker.activations + worker.buffers + run.peakActivations + run.peakBuffers > peak.activations + peak.buffers) {
        peak = {.activations = worker.activations + run.peakActivations, .buffers = worker.buffers + run.peakBuffers, .atNs = 0};
        worker.peakPlace = worker.place + run.peakAt;
    }
    worker.activations += run.activations;
    worker.buffers += run.buffers;
}

const FreeStreams& EngineRun::freeStreamsOf(std::uint32_t pass)
{
    FreeStreams& of = m_free[pass];
    if (of.behind.empty())
        of = freeStreams(m_program.passes[pass]);
    return of;
}

/// In the passes behind this one, until one has kernels: those are issued when the last kernel before them has begun.
StreamMask EngineRun::freeAfter(int c, const Step& step)
{
    const std::vector<Step>& steps = programOf(c).steps;
    StreamMask free = 0;
    for (const Step* next = &step + 1; next != steps.data() + steps.size(); ++next) {
        const FreeStreams& of = freeStreamsOf(next->pass);
        free |= of.atStart;
        if (of.lastKernel < of.behind.size())
            break;
    }
    return free;
}

/// Streams whose collectives make a kernel slower that are not issued yet, and may all the same begin before it ends.
StreamMask EngineRun::losesTo(int c, const Step& step, std::size_t op)
{
    const StreamMask besides = m_facts[asIndex(c)].besides;
    if (besides == 0)
        return 0;
    const Worker& worker = m_workers[asIndex(c)];
    const FreeStreams& free = freeStreamsOf(step.pass);
    const std::vector<Step>& steps = programOf(c).steps;
    const StreamMask after = op == free.lastKernel ? freeAfter(c, step) : StreamMask{0};
    if (&step == steps.data() + worker.step) // a kernel that has waited begins when some of what is behind it was issued
        return besides & ((free.behind[op] & free.behind[std::max(op + 1, worker.op) - 1]) | after);
    if (worker.step == steps.size())
        return 0;
    return besides & after &
           (worker.op > 0 ? freeStreamsOf(steps[worker.step].pass).behind[worker.op - 1] : static_cast<StreamMask>(~0U));
}

/// The same for the kernels of a run that begins with this op.
StreamMask EngineRun::losesTo(int c, const Step& step, std::size_t op, const QuietRun& run)
{
    const StreamMask besides = m_facts[asIndex(c)].besides;
    if (besides == 0)
        return 0;
    const bool isLast = run.lastKernel < run.size() && op + run.lastKernel == freeStreamsOf(step.pass).lastKernel;
    return besides & (run.passing | (isLast ? freeAfter(c, step) : StreamMask{0}));
}

/// The next op of its program.
void EngineRun::wait(int c, const Step& step, Stream stream, StreamMask open, std::int64_t readyNs)
{
    Worker& worker = m_workers[asIndex(c)];
    WaitingOps& all = m_waiting[asIndex(c)];
    worker.waitingKernels += stream == Stream::compute ? 1 : 0;
    worker.waitedOn |= open;
    const std::size_t number = all.ops.next();
    WaitingOp& waiting = all.ops.push();
    waiting.op = issuedHere(step, worker, asIndex(stream));
    waiting.readyNs = readyNs;
    waiting.startedNs = worker.host.beganNs + launchOf(waiting.op).startedNs;
    waiting.open = open;
    for (unsigned left = open; left != 0; left &= left - 1) {
        const auto s = asIndex(std::countr_zero(left));
        all.on[s].push() = {.number = number, .ticket = worker.tickets[s]};
    }
    worker.tickets[asIndex(stream)] = waiting.op.ticket;
    worker.open |= maskOf(stream);
}

OpLaunch EngineRun::launchOf(const IssuedOp& issued) const
{
    const PassLaunches* const launches = m_prices.launchesOf(issued.step->pass);
    return launches == nullptr ? OpLaunch{} : launches->ops[issued.index];
}

/// When what has waited begins: all that it needs is there. The host asks no kernel of a pass behind before those of this one
/// have begun, but its clock may have gone on to one when something beside kernels begins, which knows its own time.
std::int64_t EngineRun::beginOf(int c, const WaitingOp& entry)
{
    const OpLaunch launch = launchOf(entry.op);
    const bool isKernel = opOf(entry.op).stream == Stream::compute;
    if (!isKernel)
        return std::max(entry.startedNs, HostClock{.beganNs = OpLaunch::kNever}.beginNs(launch, false, entry.readyNs));
    HostClock& host = m_workers[asIndex(c)].host;
    const std::int64_t begin = host.beginNs(launch, true, entry.readyNs);
    if (launch.asks()) { // what was issued behind it is started behind it
        WaitingOps& waiting = m_waiting[asIndex(c)];
        for (std::size_t i = waiting.ops.first(); i != waiting.ops.next(); ++i)
            if (WaitingOp& behind = waiting.ops[i]; behind.op.step == entry.op.step && behind.op.index > entry.op.index)
                behind.startedNs = std::max(behind.startedNs, host.beganNs + launchOf(behind.op).startedNs);
    }
    return begin;
}

void EngineRun::begin(int c, const IssuedOp& issued, std::int64_t beginNs)
{
    const Op& op = opOf(issued);
    assert(beginNs >= m_nowNs || op.kind == OpKind::receive);
    if (op.stream == Stream::compute)
        m_workers[asIndex(c)].kernelStartNs = beginNs;
    m_result.opStartNs[issued.place] = beginNs; // of messages: until they are carried
    switch (op.kind) {
    case OpKind::compute:
        beginKernel(c, issued, beginNs);
        break;
    case OpKind::wait:
        finish(c, op.stream, issued, beginNs);
        break;
    case OpKind::copy:
        finish(c, op.stream, issued,
               beginNs + m_prices.durations[asIndex(m_classes.geometry[asIndex(c)])][issued.step->pass][issued.index]);
        break;
    case OpKind::collective:
        arrive(c, issued, beginNs);
        break;
    case OpKind::send:
        send(c, issued, beginNs);
        break;
    case OpKind::post:
        post(c, issued, beginNs);
        break;
    case OpKind::receive:
        receive(c, issued);
        break;
    }
}

/// Its end is decided later. In pieces, as they were just written: a processor that reads two of them at once waits until both
/// have reached its cache, and all that was written before them, which took a tenth of a step's time.
[[gnu::noinline]] void EngineRun::leaveOpen(int c, Stream stream, const Step* step, std::uint32_t index, std::uint32_t ticket,
                                            std::size_t place)
{
    Worker& worker = m_workers[asIndex(c)];
    worker.running[asIndex(stream)] = {.step = step, .index = index, .ticket = ticket, .place = place};
    worker.begun |= maskOf(stream);
    worker.open |= maskOf(stream);
    worker.tickets[asIndex(stream)] = std::max(worker.tickets[asIndex(stream)], ticket);
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
    if ((worker.waitedOn & maskOf(stream)) == 0)
        return;
    WaitingOps& waiting = m_waiting[asIndex(c)];
    Fifo<WaitingFor>& on = waiting.on[s];
    for (; !on.empty() && on.front().ticket == issued.ticket; on.pop()) {
        WaitingOp& entry = waiting.ops[on.front().number];
        entry.open &= static_cast<StreamMask>(~maskOf(stream));
        entry.readyNs = std::max(entry.readyNs, endNs);
        if (entry.open == 0) {
            waiting.ready.push_back(on.front().number);
            worker.hasReady = true;
        }
    }
    if (on.empty())
        worker.waitedOn &= static_cast<StreamMask>(~maskOf(stream));
}

} // namespace sim
