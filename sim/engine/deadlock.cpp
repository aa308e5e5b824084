#include "sim/engine/deadlock.h"

#include "sim/engine/engine_run.h"

#include <algorithm>
#include <bit>

namespace sim {

/// The first op of a class's program that is the one: isIt(step, op).
template <typename Predicate>
std::optional<EngineRun::Place> EngineRun::findOp(int c, Predicate&& isIt) const
{
    Place at{.c = c, .place = m_result.firstOp[asIndex(c)]};
    for (const std::vector<Step>& steps = programOf(c).steps; at.step < steps.size(); ++at.step)
        for (at.op = 0; at.op < m_program.passes[steps[at.step].pass].ops.size(); ++at.op, ++at.place)
            if (isIt(steps[at.step], m_program.passes[steps[at.step].pass].ops[at.op]))
                return at;
    return std::nullopt;
}

/// What an op that has begun waits for.
std::optional<EngineRun::Place> EngineRun::partnerOf(const Place& at) const
{
    const Step& step = programOf(at.c).steps[at.step];
    const Op& op = m_program.passes[step.pass].ops[at.op];
    if (op.kind == OpKind::collective) {
        const int group = m_classes.groups[asIndex(at.c)][asIndex(op.group)];
        const auto isOf = [&](int c, const Op& other) {
            return other.kind == OpKind::collective && m_classes.groups[asIndex(c)][asIndex(other.group)] == group;
        };
        std::size_t before = 0, place = m_result.firstOp[asIndex(at.c)];
        findOp(at.c, [&](const Step&, const Op& other) {
            before += place < at.place && isOf(at.c, other) ? 1 : 0;
            return place++ == at.place;
        });
        for (const int member : m_classes.classGroups[asIndex(group)].classes) {
            const Worker& worker = m_workers[asIndex(member)];
            const bool hasArrived = (worker.begun & maskOf(op.stream)) != 0 && isOf(member, opOf(runningOn(member, op.stream)));
            if (!hasArrived)
                return findOp(member, [&, left = before](const Step&, const Op& other) mutable {
                    return isOf(member, other) && left-- == 0;
                });
        }
        return std::nullopt;
    }
    if (op.kind == OpKind::receive && programOf(at.c).postsReceives)
        return findOp(at.c, [&](const Step& other, const Op& its) {
            return its.kind == OpKind::post && other.receiveSlot == step.receiveSlot;
        });
    if (op.kind == OpKind::send)
        return findOp(peerOf(at.c, step.sendTo).classIndex, [&](const Step& other, const Op& its) {
            return its.kind == OpKind::post && other.receiveSlot == step.sendSlot;
        });
    return findOp(peerOf(at.c, step.receiveFrom).classIndex, [&](const Step& other, const Op& its) {
        return its.kind == OpKind::send && other.sendSlot == step.receiveSlot &&
               other.sendTo == m_classes.pipelineRank[asIndex(at.c)];
    });
}

/// What comes earlier in the program of the same class and keeps an op from beginning.
std::optional<EngineRun::Place> EngineRun::heldUpBy(const Place& at) const
{
    const Worker& worker = m_workers[asIndex(at.c)];
    const WaitingOps& waiting = m_waiting[asIndex(at.c)];
    std::size_t found = at.place; // the earliest place
    StreamMask open = 0;
    const auto takeWaiting = [&](StreamMask streams) {
        for (std::size_t i = waiting.ops.first(); i < waiting.ops.next(); ++i)
            if (const WaitingOp& entry = waiting.ops[i]; !entry.hasBegun && (maskOf(opOf(entry.op).stream) & streams) != 0)
                found = std::min(found, entry.op.place);
    };
    if (at.place < worker.place) {
        for (std::size_t i = waiting.ops.first(); i < waiting.ops.next(); ++i)
            if (waiting.ops[i].op.place == at.place)
                open = waiting.ops[i].open;
    } else if (worker.op == 0 && worker.waitingKernels > 0) { // the pass is not issued
        takeWaiting(maskOf(Stream::compute));
    } else if (at.place > worker.place) {
        found = worker.place;
    } else {
        const Op& op = m_program.passes[programOf(at.c).steps[at.step].pass].ops[at.op];
        open = static_cast<StreamMask>((op.waits | maskOf(op.stream)) & worker.open);
    }
    takeWaiting(open);
    for (unsigned begun = worker.begun & open; begun != 0; begun &= begun - 1)
        found = std::min(found, worker.running[asIndex(std::countr_zero(begun))].place);
    if (found >= at.place)
        return std::nullopt;
    std::size_t place = m_result.firstOp[asIndex(at.c)];
    return findOp(at.c, [&](const Step&, const Op&) { return place++ == found; });
}

std::optional<EngineRun::Wait> EngineRun::waitOf(const Place& at) const
{
    const Worker& worker = m_workers[asIndex(at.c)];
    const Op& op = m_program.passes[programOf(at.c).steps[at.step].pass].ops[at.op];
    const bool hasBegun = (worker.begun & maskOf(op.stream)) != 0 && runningOn(at.c, op.stream).place == at.place;
    const std::optional<Place> needed = hasBegun ? partnerOf(at) : heldUpBy(at);
    if (!needed)
        return std::nullopt;
    const WaitReason begun = op.kind == OpKind::receive ? WaitReason::input : WaitReason::partner;
    return Wait{.waiting = at, .needed = *needed, .reason = hasBegun ? begun : WaitReason::order};
}

/// From one that has begun on, each what the one before waits for, until one comes again: then what comes before the circle is
/// dropped. It begins with a transfer of the lowest class.
std::vector<EngineRun::Wait> EngineRun::waits() const
{
    std::optional<Place> at;
    for (int c = 0; c < m_classes.count() && !at; ++c)
        if (const unsigned begun = m_workers[asIndex(c)].begun; begun != 0) {
            const std::size_t first = m_workers[asIndex(c)].running[asIndex(std::countr_zero(begun))].place;
            std::size_t place = m_result.firstOp[asIndex(c)];
            at = findOp(c, [&](const Step&, const Op&) { return place++ == first; });
        }
    std::vector<Wait> waits;
    while (at) {
        const auto again =
            std::find_if(waits.begin(), waits.end(), [&](const Wait& wait) { return wait.waiting.place == at->place; });
        if (again != waits.end()) {
            waits.erase(waits.begin(), again);
            const auto isEarlier = [](const Wait& a, const Wait& b) {
                return std::pair(a.reason != WaitReason::partner, a.waiting.c) <
                       std::pair(b.reason != WaitReason::partner, b.waiting.c);
            };
            std::rotate(waits.begin(), std::min_element(waits.begin(), waits.end(), isEarlier), waits.end());
            break;
        }
        const std::optional<Wait> wait = waitOf(*at);
        if (!wait)
            break;
        waits.push_back(*wait);
        at = wait->needed;
    }
    return waits;
}

std::vector<EngineWait> EngineRun::circleOfWaits() const
{
    std::vector<EngineWait> circle;
    const std::vector<Wait> of = waits();
    if (of.empty() || of.back().needed.place != of.front().waiting.place)
        return circle;
    for (const Wait& wait : of)
        if (wait.waiting.c != wait.needed.c || wait.waiting.step != wait.needed.step) // not within a step
            circle.push_back({wait.waiting.c, wait.waiting.step, wait.needed.c, wait.needed.step, wait.reason});
    return circle;
}

std::string EngineRun::textOf(const Place& at) const
{
    const Step& step = programOf(at.c).steps[at.step];
    const std::string& label = m_program.labels[m_program.passes[step.pass].ops[at.op].label];
    return (step.stage < 0 ? ""
                           : "stage " + std::to_string(step.stage) + ", micro-batch " + std::to_string(step.microbatch) + ", ") +
           label;
}

std::string EngineRun::deadlockMessage() const
{
    constexpr std::size_t kMostShown = 16;
    const std::vector<Wait> of = waits();
    std::string message = "the step never ends; ranks wait for each other in a circle:";
    for (std::size_t i = 0; i < std::min(of.size(), kMostShown); ++i) {
        const auto& [waiting, needed, reason] = of[i];
        message += "\n  rank " + std::to_string(m_classes.representative[asIndex(waiting.c)]) + " (pp " +
                   std::to_string(m_classes.pipelineRank[asIndex(waiting.c)]) + ") at " + textOf(waiting) + ": ";
        if (reason == WaitReason::order)
            message += "comes after " + textOf(needed);
        else
            message +=
                "waits for pipeline rank " + std::to_string(m_classes.pipelineRank[asIndex(needed.c)]) + " at " + textOf(needed);
    }
    return of.size() > kMostShown ? message + "\n  …" : message;
}

} // namespace sim
