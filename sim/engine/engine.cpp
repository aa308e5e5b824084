#include "sim/engine/engine.h"

#include "sim/cancel.h"
#include "sim/engine/range.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/portable_math.h"
#include "sim/scenario/about_key.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace sim {
namespace {

constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::min();

std::int64_t scaled(std::int64_t duration, double factor)
{
    return factor == 1.0 ? duration : std::llround(static_cast<double>(duration) * factor);
}

/// Standard normal from a counter: same op, same value, whoever computes it (SplitMix64 and Box-Muller).
double normalOf(std::uint64_t seed, std::uint64_t counter)
{
    const auto mix = [](std::uint64_t x) {
        x += 0x9E3779B97F4A7C15ULL;
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
        return x ^ (x >> 31U);
    };
    const std::uint64_t a = mix(seed ^ mix(counter));
    const std::uint64_t b = mix(a);
    const double u = (static_cast<double>(a >> 11U) + 0.5) * 0x1.0p-53;
    const double v = (static_cast<double>(b >> 11U) + 0.5) * 0x1.0p-53;
    return std::sqrt(-2 * portableLog(u)) * portableCosOfTurn(v);
}

std::int64_t kernelDuration(std::int64_t duration, std::int64_t fastest, const RankSlowdown& slowdown, std::int64_t ordinal)
{
    double factor = slowdown.compute;
    if (slowdown.jitter > 0)
        factor *= std::max(0.1, 1 + slowdown.jitter * normalOf(slowdown.jitterSeed, static_cast<std::uint64_t>(ordinal)));
    return std::max(fastest, scaled(duration, factor));
}

struct Message {
    std::int64_t startNs = 0, endNs = kNotYet;
};

/// What a class of ranks is doing.
struct Worker {
    std::array<std::int64_t, kStreamCount> tail{};     ///< end of what was issued last on each stream
    StreamMask pending = 0;                            ///< streams whose tail a collective still decides
    std::array<std::size_t, kStreamCount> pendingOp{}; ///< that collective's place in the result
    std::size_t step = 0, op = 0;
    std::size_t place = 0; ///< next op's place in the result
    std::int64_t activations = 0, buffers = 0;
    std::int32_t awaitedSlot = kNoSlot;
    bool blocked = false, done = false;
};

struct Rendezvous {
    std::int64_t latestNs = 0, durationNs = 0;
    std::size_t arrived = 0;
};

class Run {
public:
    Run(const Program& program, const RankClasses& classes, const PricedProgram& prices)
        : m_program(program), m_classes(classes), m_prices(prices), m_workers(asIndex(classes.count())),
          m_mailbox(asIndex(classes.count())), m_rendezvous(classes.classGroups.size())
    {
        std::size_t ops = 0;
        for (int c = 0; c < classes.count(); ++c) {
            const RankProgram& rank = programOf(c);
            m_result.firstOp.push_back(ops);
            m_workers[asIndex(c)].place = ops;
            m_poll(asIndex(rank.slots));
            m_mailbox[asIndex(c)].resize(asIndex(rank.slots));
            ops += asIndex(rank.opCount);
        }
        m_result.firstOp.push_back(ops);
        m_result.opStartNs.resize(ops);
        m_result.opEndNs.resize(ops);
        m_result.memory.resize(asIndex(classes.count()));
    }

    EngineResult run()
    {
        for (int c = m_classes.count() - 1; c >= 0; --c)
            m_ready.push_back(c);
        while (!m_ready.empty()) {
            const int c = m_ready.back();
            m_ready.pop_back();
            advance(c);
        }
        for (const Worker& worker : m_workers)
            if (!worker.done)
                throw Error(deadlockMessage());
        for (const Worker& worker : m_workers)
            m_result.endNs = std::max(m_result.endNs, *std::max_element(worker.tail.begin(), worker.tail.end()));
        return std::move(m_result);
    }

private:
    const RankProgram& programOf(int c) const { return m_program.ranks[asIndex(m_classes.pipelineRank[asIndex(c)])]; }
    void advance(int c);
    void arrive(int c, Worker&, const Op&, std::int64_t ready, std::int64_t duration);
    void deliver(int c, const Step&, std::int64_t ready, Worker&, Stream);
    void wake(int c);
    std::string deadlockMessage() const;

    const Program& m_program;
    const RankClasses& m_classes;
    const PricedProgram& m_prices;
    std::vector<Worker> m_workers;
    std::vector<std::vector<Message>> m_mailbox;
    std::vector<Rendezvous> m_rendezvous;
    std::vector<int> m_ready;
    CancelPoll m_poll;
    EngineResult m_result;
};

void Run::wake(int c)
{
    Worker& worker = m_workers[asIndex(c)];
    if (worker.blocked) {
        worker.blocked = false;
        m_ready.push_back(c);
    }
}

/// Issues ops until the end, or until one depends on what another class has not decided yet.
void Run::advance(int c)
{
    Worker& worker = m_workers[asIndex(c)];
    const RankProgram& rank = programOf(c);
    const OpDurations& durations = m_prices.durations[asIndex(m_classes.geometry[asIndex(c)])];
    const RankSlowdown& slowdown = m_classes.slowdown[asIndex(c)];
    const bool perturbed = slowdown != RankSlowdown{};
    const bool bounded = perturbed && !m_prices.fastest.empty();
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
            if (((op.waits | maskOf(op.stream)) & worker.pending) != 0) {
                worker.blocked = true;
                return;
            }
            std::int64_t ready = worker.tail[stream];
            for (unsigned waits = op.waits; waits != 0; waits &= waits - 1)
                ready = std::max(ready, worker.tail[asIndex(__builtin_ctz(waits))]);

            switch (op.kind) {
            case OpKind::compute: {
                std::int64_t duration = prices[worker.op];
                if (perturbed)
                    duration = kernelDuration(duration, bounded ? m_prices.fastest[step.pass][worker.op] : 0, slowdown,
                                              static_cast<std::int64_t>(worker.place - m_result.firstOp[asIndex(c)]));
                starts[worker.place] = ready;
                ends[worker.place] = worker.tail[stream] = ready + duration;
                break;
            }
            case OpKind::wait:
                starts[worker.place] = ends[worker.place] = worker.tail[stream] = ready;
                break;
            case OpKind::collective:
                starts[worker.place] = ready;
                arrive(c, worker, op, ready, prices[worker.op]);
                break;
            case OpKind::send:
                starts[worker.place] = ready;
                deliver(c, step, ready, worker, op.stream);
                ends[worker.place] = worker.tail[stream];
                break;
            case OpKind::receive: {
                const Message& message = m_mailbox[asIndex(c)][asIndex(step.receiveSlot)];
                if (message.endNs == kNotYet) {
                    worker.blocked = true;
                    worker.awaitedSlot = step.receiveSlot;
                    return;
                }
                worker.awaitedSlot = kNoSlot;
                starts[worker.place] = message.startNs;
                ends[worker.place] = worker.tail[stream] = message.endNs;
                break;
            }
            }
            if ((op.allocBytes | op.freeBytes) != 0) {
                std::int64_t& account = op.buffer ? worker.buffers : worker.activations;
                account += op.allocBytes;
                if (worker.activations + worker.buffers > peak.activations + peak.buffers)
                    peak = {.activations = worker.activations, .buffers = worker.buffers, .atNs = ready};
                account -= op.freeBytes;
            }
        }
    }
    // Collectives still under way hold back nobody, but their end counts for the step's.
    if (worker.pending != 0)
        worker.blocked = true;
    else
        worker.done = true;
}

void Run::arrive(int c, Worker& worker, const Op& op, std::int64_t ready, std::int64_t duration)
{
    const auto stream = asIndex(op.stream);
    const int groupIndex = m_classes.groups[asIndex(c)][asIndex(op.group)];
    const ClassGroup& group = m_classes.classGroups[asIndex(groupIndex)];
    duration = scaled(duration, group.linkFactor);
    if (group.classes.size() == 1) { // all members do the same at the same time
        m_result.opEndNs[worker.place] = worker.tail[stream] = ready + duration;
        return;
    }
    Rendezvous& rendezvous = m_rendezvous[asIndex(groupIndex)];
    rendezvous.latestNs = rendezvous.arrived == 0 ? ready : std::max(rendezvous.latestNs, ready);
    rendezvous.durationNs = std::max(rendezvous.durationNs, duration);
    worker.pending |= maskOf(op.stream);
    worker.pendingOp[stream] = worker.place;
    if (++rendezvous.arrived < group.classes.size())
        return;
    const std::int64_t end = rendezvous.latestNs + rendezvous.durationNs;
    rendezvous = {};
    for (const int member : group.classes) {
        Worker& other = m_workers[asIndex(member)];
        m_result.opEndNs[other.pendingOp[stream]] = other.tail[stream] = end;
        other.pending &= static_cast<StreamMask>(~maskOf(op.stream));
        if (member != c)
            wake(member);
    }
}

void Run::deliver(int c, const Step& step, std::int64_t ready, Worker& worker, Stream stream)
{
    const auto& [pipelineRank, peer, tier] = m_classes.peerOf(c, step.sendTo);
    const double factor = std::max(m_classes.slowdown[asIndex(c)].link, m_classes.slowdown[asIndex(peer)].link);
    const std::int64_t end = ready + scaled(m_prices.sendNs[asIndex(tier)], factor);
    worker.tail[asIndex(stream)] = end;
    m_mailbox[asIndex(peer)][asIndex(step.sendSlot)] = {.startNs = ready, .endNs = end};
    if (m_workers[asIndex(peer)].awaitedSlot == step.sendSlot)
        wake(peer);
}

std::string Run::deadlockMessage() const
{
    std::string message = "the step never ends; ranks wait for each other:";
    int shown = 0;
    for (int c = 0; c < m_classes.count(); ++c) {
        const Worker& worker = m_workers[asIndex(c)];
        if (worker.done)
            continue;
        if (++shown > 8) {
            message += "\n  …";
            break;
        }
        message += "\n  rank " + std::to_string(m_classes.representative[asIndex(c)]) + " (pp " +
                   std::to_string(m_classes.pipelineRank[asIndex(c)]) + ")";
        const RankProgram& rank = programOf(c);
        if (worker.step >= rank.steps.size()) {
            message += " waits for the last collective of its group";
            continue;
        }
        const Step& step = rank.steps[worker.step];
        const Op& op = m_program.passes[step.pass].ops[worker.op];
        message += " at stage " + std::to_string(step.stage) + ", micro-batch " + std::to_string(step.microbatch) + ": ";
        message += op.kind == OpKind::receive ? "waits for pipeline rank " + std::to_string(step.receiveFrom)
                                              : "waits for its group before " + m_program.labels[op.label];
    }
    return message;
}

PricedProgram priced(const CostModel& cost, const Program& program, const RankClasses& classes)
{
    PricedProgram out;
    for (const GroupGeometry& geometry : classes.geometries) {
        checkCancelled();
        out.durations.push_back(cost.price(program, geometry));
    }
    int tiers = 0;
    for (const auto& peers : classes.pipelinePeers)
        for (const PipelinePeer& peer : peers)
            tiers = std::max(tiers, peer.tier + 1);
    for (int tier = 0; tier < tiers; ++tier)
        out.sendNs.push_back(cost.sendNs(program.sendBytes, tier));
    if (std::any_of(classes.slowdown.begin(), classes.slowdown.end(),
                    [](const RankSlowdown& slowdown) { return slowdown.jitter > 0 || slowdown.compute < 1; }))
        out.fastest = cost.fastest(program);
    return out;
}

} // namespace

PricedProgram priceProgram(const Scenario& scenario, const Program& program, const RankClasses& classes)
{
    PricedProgram prices = aboutKey(microbatchKey(scenario), [&] { return priced(CostModel(scenario), program, classes); });
    requireRange(scenario, program, classes, prices);
    return prices;
}

std::int64_t opDurationNs(const PricedProgram& prices, const RankClasses& classes, const Program& program, int classIndex,
                          const Step& step, std::size_t op, std::int64_t opOrdinal)
{
    const std::int64_t duration = prices.durations[asIndex(classes.geometry[asIndex(classIndex)])][step.pass][op];
    const Op& what = program.passes[step.pass].ops[op];
    if (what.kind == OpKind::compute)
        return kernelDuration(duration, prices.fastest.empty() ? 0 : prices.fastest[step.pass][op],
                              classes.slowdown[asIndex(classIndex)], opOrdinal);
    if (what.kind == OpKind::collective)
        return scaled(duration,
                      classes.classGroups[asIndex(classes.groups[asIndex(classIndex)][asIndex(what.group)])].linkFactor);
    return 0;
}

EngineResult runEngine(const Program& program, const RankClasses& classes, const PricedProgram& prices)
{
    return Run(program, classes, prices).run();
}

} // namespace sim
