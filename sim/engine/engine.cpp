#include "sim/engine/engine.h"

#include "sim/cancel.h"
#include "sim/engine/fair_share.h"
#include "sim/engine/shared_ports.h"
#include "sim/engine/slowdown.h"
#include "sim/error.h"
#include "sim/index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <queue>
#include <string>

namespace sim {
namespace {

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::min();
/// Ops that are issued behind one that waits: what does not depend on it goes on, as on a GPU, whose host runs ahead.
constexpr std::size_t kIssuedAhead = 24;
/// Members that are looked at to see whether a collective is alone.
constexpr std::size_t kMostAlone = 64;
/// Over an hour; what takes longer has its ports to itself, so that its time in parts of FairShare::kFullRate can be counted.
constexpr std::int64_t kLongestSharedNs = std::int64_t{1} << 42U;

struct Message {
    std::int64_t startNs = 0, endNs = kNotYet;
};

/// An op with its place in the program and in the result.
struct IssuedOp {
    const Step* step = nullptr;
    std::size_t index = 0;    ///< in its pass
    std::size_t place = 0;    ///< in the result
    std::uint32_t ticket = 0; ///< numbers the ops of a stream whose ends are open
};

/// One that was issued and waits for others.
struct WaitingOp {
    IssuedOp op;
    std::int64_t readyNs = 0; ///< as far as is known
    StreamMask open = 0;      ///< streams with what it still waits for
    bool hasBegun = false;
    std::array<std::uint32_t, kStreamCount> tickets{}; ///< of that
};

/// In the order of the program.
struct WaitingOps {
    std::vector<WaitingOp> ops;
    std::size_t first = 0; ///< that has not begun
    std::size_t count = 0; ///< of those that have not
    std::size_t ready = 0; ///< of those that can
};

/// The kernel whose end depends on what runs beside it.
struct OpenKernel {
    std::int64_t left = 0; ///< nanoseconds of its own time, times FairShare::kFullRate
    std::int64_t sinceNs = 0;
    bool runs = false;
};

/// What a class of ranks is doing.
struct Worker {
    std::array<std::int64_t, kStreamCount> tail{};     ///< end of what was issued last on each stream
    std::array<std::uint32_t, kStreamCount> tickets{}; ///< the last one given
    std::array<IssuedOp, kStreamCount> running{};      ///< the op that has begun and whose end is open
    StreamMask open = 0;                               ///< streams whose tail is not known
    StreamMask begun = 0;                              ///< streams with such an op
    std::size_t step = 0, op = 0;
    std::size_t place = 0; ///< next op's place in the result
    WaitingOps waiting;
    std::int64_t activations = 0, buffers = 0;
    std::size_t peakPlace = 0;
    OpenKernel kernel;
    int beside = 0; ///< collectives under way that make kernels slower
    bool queued = false, issuedAll = false;
};

/// A collective or message whose end others can put off.
struct Transfer {
    Stream stream = Stream::dp;
    std::int64_t startNs = 0, durationNs = 0;
    std::int64_t left = 0; ///< nanoseconds of its own time, times FairShare::kFullRate
    std::int64_t rate = FairShare::kFullRate;
    std::int64_t sinceNs = 0;
    bool isScheduled = false; ///< its start is known and lies ahead
};

struct Rendezvous {
    std::int64_t latestNs = 0, durationNs = 0;
    std::size_t arrived = 0;
};

enum class EventKind : std::uint8_t { transferStarts, transferEnds, kernelStarts, kernelEnds };
struct Event {
    std::int64_t ns = 0;
    int what = 0; ///< transfer or class
    std::uint32_t version = 0;
    EventKind kind = EventKind::transferStarts;
    bool operator<(const Event& other) const { return ns > other.ns; } // the earliest on top
};

/// Whether one of the next ops can go on while kernels are held up from this op on.
bool isFreeBehind(const Pass& pass, std::size_t op)
{
    StreamMask held = maskOf(Stream::compute);
    for (std::size_t k = op + 1; k < std::min(pass.ops.size(), op + 1 + kIssuedAhead); ++k) {
        const Op& next = pass.ops[k];
        if (((next.waits | maskOf(next.stream)) & held) == 0 && next.kind != OpKind::receive)
            return true; // a message comes whether it is awaited or not
        held |= maskOf(next.stream);
    }
    return false;
}

class Run {
public:
    Run(const Program&, const RankClasses&, const PricedProgram&);
    EngineResult run();

private:
    const RankProgram& programOf(int c) const { return m_program.ranks[asIndex(m_classes.pipelineRank[asIndex(c)])]; }
    const Op& opOf(const IssuedOp& issued) const { return m_program.passes[issued.step->pass].ops[issued.index]; }
    bool issuesBehind(std::uint32_t pass, std::size_t op);
    std::int64_t kernelNs(int c, const IssuedOp&) const;
    void wait(Worker&, const IssuedOp&, Stream, StreamMask open, std::int64_t readyNs);

    void queue(int c);
    void advance(int c);
    void beginReady(int c);
    bool finishesAlone(int c);
    void issue(int c);
    void begin(int c, const IssuedOp&, std::int64_t readyNs);
    void beginKernel(int c, const IssuedOp&, std::int64_t readyNs);
    void arrive(int c, const IssuedOp&, std::int64_t readyNs);
    void deliver(int c, const IssuedOp&, std::int64_t readyNs);
    void bring(int c, std::int32_t slot, const Message&);
    void receive(int c, const IssuedOp&);
    void leaveOpen(int c, Stream, const IssuedOp&);
    void finish(int c, Stream, const IssuedOp&, std::int64_t endNs);

    // Transfers: one a class group, and two a class: its messages, which follow each other on two streams.
    int messageOf(int c, Stream stream) const
    {
        return static_cast<int>(m_classes.classGroups.size()) + 2 * c + (stream == Stream::sendBackward ? 1 : 0);
    }
    bool isMessage(int transfer) const { return asIndex(transfer) >= m_classes.classGroups.size(); }
    int senderOf(int transfer) const { return (transfer - static_cast<int>(m_classes.classGroups.size())) / 2; }
    const IssuedOp& runningOn(int c, Stream stream) const { return m_workers[asIndex(c)].running[asIndex(stream)]; }
    void schedule(EventKind, std::int64_t ns, int what);
    void startTransfer(int transfer);
    void endTransfer(int transfer);
    void shareAgain();
    void rescheduleKernel(int c);
    void besideChanges(int c, int by);
    void endKernel(int c);
    void happen(const Event&);
    std::string deadlockMessage() const;

    const Program& m_program;
    const RankClasses& m_classes;
    const PricedProgram& m_prices;
    const SharedPorts m_shared;
    const std::int64_t m_besideRate; ///< of kernels, in 1/kFullRate
    FairShare m_fair;
    std::vector<Worker> m_workers;
    std::vector<std::vector<Message>> m_mailbox;
    std::vector<Rendezvous> m_rendezvous;
    std::vector<Transfer> m_transfers;
    std::vector<FairShare::Claim> m_claims; ///< of the one that starts
    std::vector<std::uint32_t> m_transferVersion, m_kernelVersion;
    std::priority_queue<Event> m_events;
    std::int64_t m_nowNs = 0;
    /// [role]: of collectives whose members all do the same at the same time, and which meet no others, the factor of their
    /// links; of others 0.
    using RoleFactors = std::array<double, kCommunicatorRoleCount>;
    std::vector<RoleFactors> m_privateFactor; ///< [class]
    enum class Known : std::uint8_t { notYet, yes, no };
    std::vector<std::vector<Known>> m_issuesBehind; ///< [pass][op]
    std::vector<int> m_queued;
    int m_advancing = -1;             ///< class
    std::size_t m_begunAt = kNowhere; ///< the waiting op of it that begins
    CancelPoll m_poll;
    EngineResult m_result;
};

Run::Run(const Program& program, const RankClasses& classes, const PricedProgram& prices)
    : m_program(program), m_classes(classes), m_prices(prices), m_shared(program, classes, prices),
      m_besideRate(static_cast<std::int64_t>(static_cast<double>(FairShare::kFullRate) / prices.besideTransfers)),
      m_fair(m_shared.portCount(), static_cast<int>(classes.classGroups.size()) + 2 * classes.count()),
      m_workers(asIndex(classes.count())), m_mailbox(asIndex(classes.count())), m_rendezvous(classes.classGroups.size()),
      m_transfers(classes.classGroups.size() + 2 * asIndex(classes.count())), m_transferVersion(m_transfers.size()),
      m_kernelVersion(asIndex(classes.count())), m_issuesBehind(program.passes.size())
{
    std::size_t ops = 0;
    for (int c = 0; c < classes.count(); ++c) {
        RoleFactors& factors = m_privateFactor.emplace_back();
        for (std::size_t role = 0; role < factors.size(); ++role)
            if (const int group = classes.groups[asIndex(c)][role]; group >= 0 && !m_shared.isShared(group))
                if (const ClassGroup& of = classes.classGroups[asIndex(group)]; of.classes.size() == 1)
                    factors[role] = of.linkFactor;
        const RankProgram& rank = programOf(c);
        m_result.firstOp.push_back(ops);
        m_workers[asIndex(c)].place = m_workers[asIndex(c)].peakPlace = ops;
        m_poll(asIndex(rank.slots));
        m_mailbox[asIndex(c)].resize(asIndex(rank.slots));
        ops += asIndex(rank.opCount);
    }
    m_result.firstOp.push_back(ops);
    m_result.opStartNs.resize(ops);
    m_result.opEndNs.resize(ops);
    m_result.memory.resize(asIndex(classes.count()));
}

EngineResult Run::run()
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
            throw Error(deadlockMessage());
        m_result.endNs = std::max(m_result.endNs, *std::max_element(worker.tail.begin(), worker.tail.end()));
        if (m_result.firstOp[asIndex(c)] < m_result.firstOp[asIndex(c) + 1])
            m_result.memory[asIndex(c)].atNs = m_result.opStartNs[worker.peakPlace];
    }
    std::sort(m_result.stretched.begin(), m_result.stretched.end());
    return std::move(m_result);
}

// Issuing ---------------------------------------------------------------------------------------------------------------------

void Run::queue(int c)
{
    if (!std::exchange(m_workers[asIndex(c)].queued, true))
        m_queued.push_back(c);
}

void Run::advance(int c)
{
    m_advancing = c;
    do {
        beginReady(c);
        if (!m_workers[asIndex(c)].issuedAll)
            issue(c);
    } while (finishesAlone(c));
}

/// Begins what waited and can go on. What one ends lets only later ones begin.
void Run::beginReady(int c)
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
bool Run::finishesAlone(int c)
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

void Run::issue(int c)
{
    Worker& worker = m_workers[asIndex(c)];
    const RankProgram& rank = programOf(c);
    const OpDurations& durations = m_prices.durations[asIndex(m_classes.geometry[asIndex(c)])];
    const bool isPlain = m_classes.slowdown[asIndex(c)] == RankSlowdown{};
    const StreamMask besides = m_shared.besides(c);
    const RoleFactors& ofPrivate = m_privateFactor[asIndex(c)];
    EngineResult::MemoryPeak& peak = m_result.memory[asIndex(c)];
    std::int64_t* const starts = m_result.opStartNs.data();
    std::int64_t* const ends = m_result.opEndNs.data();

    for (; worker.step < rank.steps.size(); ++worker.step, worker.op = 0) {
        const Step& step = rank.steps[worker.step];
        const Pass& pass = m_program.passes[step.pass];
        m_poll(pass.ops.size() + 1);
        const std::int64_t* const prices = durations[step.pass].data();
        for (const std::size_t count = pass.ops.size(); worker.op < count; ++worker.op, ++worker.place) {
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

bool Run::issuesBehind(std::uint32_t pass, std::size_t op)
{
    const Pass& ops = m_program.passes[pass];
    m_issuesBehind[pass].resize(ops.ops.size());
    Known& known = m_issuesBehind[pass][op];
    if (known == Known::notYet)
        known = isFreeBehind(ops, op) ? Known::yes : Known::no;
    return known == Known::yes;
}

void Run::wait(Worker& worker, const IssuedOp& issued, Stream stream, StreamMask open, std::int64_t readyNs)
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

void Run::begin(int c, const IssuedOp& issued, std::int64_t readyNs)
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
void Run::leaveOpen(int c, Stream stream, const IssuedOp& issued)
{
    Worker& worker = m_workers[asIndex(c)];
    worker.running[asIndex(stream)] = issued;
    worker.begun |= maskOf(stream);
    worker.open |= maskOf(stream);
    worker.tickets[asIndex(stream)] = std::max(worker.tickets[asIndex(stream)], issued.ticket);
}

void Run::finish(int c, Stream stream, const IssuedOp& issued, std::int64_t endNs)
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

// Kernels ---------------------------------------------------------------------------------------------------------------------

std::int64_t Run::kernelNs(int c, const IssuedOp& issued) const
{
    const auto pass = issued.step->pass;
    const std::int64_t duration = m_prices.durations[asIndex(m_classes.geometry[asIndex(c)])][pass][issued.index];
    const RankSlowdown& slowdown = m_classes.slowdown[asIndex(c)];
    if (slowdown == RankSlowdown{})
        return duration;
    return slowedKernelNs(duration, m_prices.fastest.empty() ? 0 : m_prices.fastest[pass][issued.index], slowdown,
                          static_cast<std::int64_t>(issued.place - m_result.firstOp[asIndex(c)]));
}

void Run::beginKernel(int c, const IssuedOp& issued, std::int64_t readyNs)
{
    Worker& worker = m_workers[asIndex(c)];
    m_result.opStartNs[issued.place] = readyNs;
    const std::int64_t duration = kernelNs(c, issued);
    const StreamMask besides = m_shared.besides(c);
    if ((worker.open & besides) == 0 || duration > kLongestSharedNs) {
        finish(c, Stream::compute, issued, readyNs + duration);
        return;
    }
    leaveOpen(c, Stream::compute, issued);
    worker.kernel = {.left = duration * FairShare::kFullRate, .sinceNs = readyNs, .runs = false};
    if (readyNs > m_nowNs) {
        schedule(EventKind::kernelStarts, readyNs, c);
        return;
    }
    worker.kernel.runs = true;
    rescheduleKernel(c);
}

void Run::rescheduleKernel(int c)
{
    const Worker& worker = m_workers[asIndex(c)];
    const std::int64_t rate = worker.beside > 0 ? m_besideRate : FairShare::kFullRate;
    schedule(EventKind::kernelEnds, worker.kernel.sinceNs + (worker.kernel.left + rate - 1) / rate, c);
}

void Run::besideChanges(int c, int by)
{
    Worker& worker = m_workers[asIndex(c)];
    const bool before = worker.beside > 0;
    worker.beside += by;
    const bool after = worker.beside > 0;
    if (before == after || !worker.kernel.runs)
        return;
    const std::int64_t rate = before ? m_besideRate : FairShare::kFullRate;
    worker.kernel.left = std::max<std::int64_t>(0, worker.kernel.left - (m_nowNs - worker.kernel.sinceNs) * rate);
    worker.kernel.sinceNs = m_nowNs;
    rescheduleKernel(c);
}

void Run::endKernel(int c)
{
    Worker& worker = m_workers[asIndex(c)];
    worker.kernel.runs = false;
    finish(c, Stream::compute, worker.running[asIndex(Stream::compute)], m_nowNs);
    queue(c);
}

// Transfers -------------------------------------------------------------------------------------------------------------------

void Run::arrive(int c, const IssuedOp& issued, std::int64_t readyNs)
{
    const Op& op = opOf(issued);
    const int groupIndex = m_classes.groups[asIndex(c)][asIndex(op.group)];
    const ClassGroup& group = m_classes.classGroups[asIndex(groupIndex)];
    const std::int64_t duration =
        scaledNs(m_prices.durations[asIndex(m_classes.geometry[asIndex(c)])][issued.step->pass][issued.index], group.linkFactor);
    const bool isShared = m_shared.isShared(groupIndex);
    if (group.classes.size() == 1 && !isShared) {
        finish(c, op.stream, issued, readyNs + duration);
        return;
    }
    Rendezvous& rendezvous = m_rendezvous[asIndex(groupIndex)];
    rendezvous.latestNs = rendezvous.arrived == 0 ? readyNs : std::max(rendezvous.latestNs, readyNs);
    rendezvous.durationNs = std::max(rendezvous.durationNs, duration);
    leaveOpen(c, op.stream, issued);
    if (++rendezvous.arrived < group.classes.size())
        return;
    const Rendezvous all = std::exchange(rendezvous, {});
    if (isShared && all.durationNs <= kLongestSharedNs) {
        m_transfers[asIndex(groupIndex)] = {
            .stream = op.stream, .startNs = std::max(all.latestNs, m_nowNs), .durationNs = all.durationNs};
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

void Run::deliver(int c, const IssuedOp& issued, std::int64_t readyNs)
{
    const Step& step = *issued.step;
    const Stream stream = opOf(issued).stream;
    const auto& [pipelineRank, peer, tier] = m_classes.peerOf(c, step.sendTo);
    const double factor = std::max(m_classes.slowdown[asIndex(c)].link, m_classes.slowdown[asIndex(peer)].link);
    const std::int64_t duration = scaledNs(m_prices.sendNs[asIndex(tier)], factor);
    m_result.opStartNs[issued.place] = readyNs;
    if (m_shared.isShared(c, peer, tier) && duration <= kLongestSharedNs) {
        const int transfer = messageOf(c, stream);
        leaveOpen(c, stream, issued);
        m_transfers[asIndex(transfer)] = {.stream = stream, .startNs = std::max(readyNs, m_nowNs), .durationNs = duration};
        if (readyNs > m_nowNs)
            schedule(EventKind::transferStarts, readyNs, transfer);
        else
            startTransfer(transfer);
        return;
    }
    finish(c, stream, issued, readyNs + duration);
    bring(peer, step.sendSlot, {.startNs = readyNs, .endNs = readyNs + duration});
}

void Run::receive(int c, const IssuedOp& issued)
{
    const Message& message = m_mailbox[asIndex(c)][asIndex(issued.step->receiveSlot)];
    if (message.endNs == kNotYet) {
        leaveOpen(c, Stream::receive, issued);
        return;
    }
    m_result.opStartNs[issued.place] = message.startNs;
    finish(c, Stream::receive, issued, message.endNs);
}

void Run::startTransfer(int transfer)
{
    Transfer& state = m_transfers[asIndex(transfer)];
    state.left = state.durationNs * FairShare::kFullRate;
    state.rate = FairShare::kFullRate;
    state.sinceNs = m_nowNs;
    state.isScheduled = false;
    m_claims.clear();
    if (isMessage(transfer)) {
        const int c = senderOf(transfer);
        const PipelinePeer& peer = m_classes.peerOf(c, runningOn(c, state.stream).step->sendTo);
        m_shared.addMessageClaims(m_claims, c, peer.classIndex, peer.tier);
    } else {
        for (const int member : m_classes.classGroups[asIndex(transfer)].classes) {
            const IssuedOp& issued = runningOn(member, state.stream);
            const OpUses& uses = m_prices.uses[asIndex(m_classes.geometry[asIndex(member)])];
            m_shared.addClaims(m_claims, member, uses[issued.step->pass][issued.index]);
            if ((m_shared.besides(member) & maskOf(state.stream)) != 0)
                besideChanges(member, 1);
        }
    }
    m_fair.begin(transfer, m_claims);
    schedule(EventKind::transferEnds, m_nowNs + state.durationNs, transfer);
}

void Run::endTransfer(int transfer)
{
    m_fair.end(transfer);
    const Transfer& state = m_transfers[asIndex(transfer)];
    if (isMessage(transfer)) {
        const int c = senderOf(transfer);
        const IssuedOp issued = runningOn(c, state.stream);
        finish(c, state.stream, issued, m_nowNs);
        queue(c);
        bring(m_classes.peerOf(c, issued.step->sendTo).classIndex, issued.step->sendSlot,
              {.startNs = state.startNs, .endNs = m_nowNs});
        return;
    }
    const std::int64_t stretch = m_nowNs - state.startNs - state.durationNs;
    for (const int member : m_classes.classGroups[asIndex(transfer)].classes) {
        const IssuedOp issued = runningOn(member, state.stream);
        if ((m_shared.besides(member) & maskOf(state.stream)) != 0)
            besideChanges(member, -1);
        if (stretch > 0)
            m_result.stretched.push_back({issued.place, stretch});
        finish(member, state.stream, issued, m_nowNs);
        queue(member);
    }
}

/// A message is there.
void Run::bring(int c, std::int32_t slot, const Message& message)
{
    m_mailbox[asIndex(c)][asIndex(slot)] = message;
    const Worker& worker = m_workers[asIndex(c)];
    if ((worker.begun & maskOf(Stream::receive)) == 0)
        return;
    if (const IssuedOp awaited = runningOn(c, Stream::receive); awaited.step->receiveSlot == slot) {
        receive(c, awaited);
        queue(c);
    }
}

void Run::shareAgain()
{
    for (const auto& [transfer, rate] : m_fair.settle()) {
        Transfer& state = m_transfers[asIndex(transfer)];
        state.left = std::max<std::int64_t>(0, state.left - (m_nowNs - state.sinceNs) * state.rate);
        state.sinceNs = m_nowNs;
        state.rate = rate;
        schedule(EventKind::transferEnds, m_nowNs + (state.left + rate - 1) / rate, transfer);
    }
}

// Time ------------------------------------------------------------------------------------------------------------------------

/// What was scheduled before for the same transfer or kernel does not happen any more.
void Run::schedule(EventKind kind, std::int64_t ns, int what)
{
    const bool ofKernel = kind == EventKind::kernelStarts || kind == EventKind::kernelEnds;
    const std::uint32_t version = ++(ofKernel ? m_kernelVersion : m_transferVersion)[asIndex(what)];
    m_events.push({.ns = ns, .what = what, .version = version, .kind = kind});
}

void Run::happen(const Event& event)
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

std::string Run::deadlockMessage() const
{
    std::string message = "the step never ends; ranks wait for each other:";
    int shown = 0;
    for (int c = 0; c < m_classes.count(); ++c) {
        const Worker& worker = m_workers[asIndex(c)];
        if (worker.begun == 0)
            continue;
        if (++shown > 8) {
            message += "\n  …";
            break;
        }
        const IssuedOp* first = nullptr; // of the program: what comes after waits for it
        for (unsigned begun = worker.begun; begun != 0; begun &= begun - 1)
            if (const IssuedOp& op = worker.running[asIndex(std::countr_zero(begun))];
                first == nullptr || op.place < first->place)
                first = &op;
        message += "\n  rank " + std::to_string(m_classes.representative[asIndex(c)]) + " (pp " +
                   std::to_string(m_classes.pipelineRank[asIndex(c)]) + ")";
        const Step& step = *first->step;
        const Op& op = opOf(*first);
        if (step.action >= 0)
            message += " at stage " + std::to_string(step.stage) + ", micro-batch " + std::to_string(step.microbatch);
        message += ": ";
        message += op.kind == OpKind::receive ? "waits for pipeline rank " + std::to_string(step.receiveFrom)
                                              : "waits for its group in " + m_program.labels[op.label];
    }
    return message;
}

} // namespace

std::int64_t EngineResult::stretchedByNs(std::size_t place) const
{
    const auto found = std::lower_bound(stretched.begin(), stretched.end(), Stretch{.place = place, .byNs = 0});
    return found != stretched.end() && found->place == place ? found->byNs : 0;
}

EngineResult runEngine(const Program& program, const RankClasses& classes, const PricedProgram& prices)
{
    return Run(program, classes, prices).run();
}

} // namespace sim
