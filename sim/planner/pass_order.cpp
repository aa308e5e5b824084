#include "sim/planner/pass_order.h"

#include "sim/index.h"
#include "sim/schedule/walk.h"

#include <algorithm>
#include <array>
#include <limits>

namespace sim {
namespace {

constexpr std::size_t kMostOrderedPasses = 1 << 20;

std::vector<OrderedPass> waitsOf(const Schedule& schedule)
{
    std::size_t count = 0;
    for (const std::vector<Action>& actions : schedule.actions)
        count += actions.size();
    std::vector<OrderedPass> passes;
    const std::size_t places = asIndex(schedule.stages()) * asIndex(schedule.microbatches);
    if (count > kMostOrderedPasses || places > kMostOrderedPasses)
        return passes;
    passes.reserve(count);
    constexpr std::int32_t kNotRun = -1;
    std::array<std::vector<std::int32_t>, 2> done; // [backward][stage, micro-batch]: the pass that hands on
    for (std::vector<std::int32_t>& of : done)
        of.assign(places, kNotRun);
    const auto placeOf = [&](int stage, const Action& action) {
        return asIndex(stage) * asIndex(schedule.microbatches) + asIndex(action.microbatch);
    };
    // The stage that an action's message comes from; -1: from none.
    const auto before = [&](const Action& action) {
        if (action.kind == ActionKind::forward)
            return schedule.entersAt(action.stage) ? -1 : action.stage - 1;
        return action.kind == ActionKind::backwardWeight || schedule.leavesAt(action.stage) ? -1 : action.stage + 1;
    };
    const auto direction = [](const Action& action) { return action.kind == ActionKind::forward ? 0U : 1U; };
    walkSchedule(schedule, [&](std::size_t rank, std::size_t, ActionBlock block) {
        for (const Action& action : block)
            if (const int from = before(action); from >= 0 && done[direction(action)][placeOf(from, action)] == kNotRun)
                return false;
        for (const Action& action : block) {
            const int from = before(action);
            const auto index = static_cast<std::int32_t>(passes.size());
            passes.push_back({.source = from < 0 ? -1 : done[direction(action)][placeOf(from, action)],
                              .rank = static_cast<std::int16_t>(rank),
                              .part = static_cast<std::int16_t>(schedule.partOf(action.stage)),
                              .kind = action.kind,
                              .crosses = from >= 0 && schedule.rankOf(from) != rank,
                              .overlapsNext = action.overlapsNext && block.size() > 1});
            if (action.kind != ActionKind::backwardWeight)
                done[direction(action)][placeOf(action.stage, action)] = index;
        }
        return true;
    });
    return passes.size() == count ? passes : std::vector<OrderedPass>{};
}

constexpr bool addsToGradients(const Action& action)
{
    return action.kind == ActionKind::backward || action.kind == ActionKind::backwardWeight;
}

/// Passes that an action begins to hold; what is left until weight gradients are made is not counted.
constexpr int heldMore(const Action& action)
{
    return action.kind == ActionKind::forward ? 1 : action.kind == ActionKind::backwardWeight ? 0 : -1;
}

/// Calls take(action, its place from 0, whether it is a block of its own); of a block, what frees before what takes.
template <typename Take>
void eachAction(const std::vector<Action>& actions, const Take& take)
{
    std::size_t place = 0;
    for (std::size_t i = 0; i < actions.size();) {
        const ActionBlock block = blockAt(actions, i);
        for (std::size_t of = block.size(); of-- > 0;)
            take(actions[i + of], place++, block.size() == 1);
        i += block.size();
    }
}

MostHeld mostHeld(const Schedule& schedule, const std::vector<Action>& actions)
{
    constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
    std::array<std::size_t, 2> moments{kNever, kNever}; // places after which most is held
    int count = 0, mostCount = 0;
    eachAction(actions, [&](const Action& action, std::size_t place, bool) {
        count += heldMore(action);
        if (heldMore(action) <= 0 || count < mostCount)
            return;
        moments[1] = place;
        if (count > mostCount)
            moments[0] = place;
        mostCount = count;
    });

    MostHeld most;
    std::vector<int> held(asIndex(schedule.chainLength()), 0);                  // part -> passes
    std::vector<int> gradients(asIndex(schedule.stages()), 0), all = gradients; // stage -> passes that added to them
    for (const Action& action : actions)
        all[asIndex(action.stage)] += addsToGradients(action) ? 1 : 0;
    const auto look = [&](HeldPasses& moment) {
        for (std::size_t part = 0; part < held.size(); ++part)
            if (held[part] != 0)
                moment.passes.emplace_back(static_cast<int>(part), held[part]);
        for (std::size_t stage = 0; stage < all.size(); ++stage)
            if (gradients[stage] > 0 && gradients[stage] < all[stage])
                moment.gradients.push_back(schedule.partOf(static_cast<int>(stage)));
    };
    eachAction(actions, [&](const Action& action, std::size_t place, bool alone) {
        for (std::size_t of = 0; of < most.size(); ++of)
            if (moments[of] != kNever && place == moments[of] + 1 && alone && action.kind == ActionKind::backward)
                most[of].backwardPart = schedule.partOf(action.stage);
        gradients[asIndex(action.stage)] += addsToGradients(action) ? 1 : 0;
        held[asIndex(schedule.partOf(action.stage))] += heldMore(action);
        for (std::size_t of = 0; of < most.size(); ++of)
            if (place == moments[of])
                look(most[of]);
    });
    return most;
}

} // namespace

PassOrder orderOf(const Schedule& schedule)
{
    PassOrder order{.passes = waitsOf(schedule), .held = {}};
    for (const std::vector<Action>& actions : schedule.actions)
        order.held.push_back(mostHeld(schedule, actions));
    return order;
}

std::vector<double> endsOfRanks(const PassOrder& order, std::span<const PartTimes> parts, double sendNs)
{
    std::vector<double> ends(order.held.size(), 0);
    thread_local std::vector<double> done; // each is written before it is read
    if (done.size() < order.passes.size())
        done.resize(order.passes.size());
    const auto arrivalOf = [&](const OrderedPass& pass) {
        return pass.source < 0 ? 0 : done[asIndex(pass.source)] + (pass.crosses ? sendNs : 0);
    };
    const auto earlyOf = [&](const OrderedPass& pass) {
        const bool isBackward = pass.kind == ActionKind::backward || pass.kind == ActionKind::backwardInput;
        return isBackward ? parts[asIndex(pass.part)].early : 0;
    };
    for (std::size_t i = 0; i < order.passes.size(); ++i) {
        const OrderedPass& pass = order.passes[i];
        const PartTimes& of = parts[asIndex(pass.part)];
        double& end = ends[asIndex(pass.rank)];
        if (!pass.overlapsNext) {
            const double ns = pass.kind == ActionKind::forward         ? of.forward
                              : pass.kind == ActionKind::backward      ? of.backward
                              : pass.kind == ActionKind::backwardInput ? of.input
                                                                       : of.weight;
            done[i] = std::max(end, arrivalOf(pass) - earlyOf(pass)) + ns;
            if (ns > 0) // a stage without layers hands on what it gets, and holds nothing up
                end = done[i];
            continue;
        }
        const OrderedPass& other = order.passes[i + 1];
        const auto turnsOf = [&](const OrderedPass& half) {
            const PartTimes& times = parts[asIndex(half.part)];
            return half.kind == ActionKind::forward ? times.blockForward : times.blockBackward;
        };
        const double one = turnsOf(pass), two = turnsOf(other), begin = end;
        done[i] = std::max(begin, arrivalOf(pass) - earlyOf(pass)) + one;
        done[i + 1] = std::max(begin, arrivalOf(other) - earlyOf(other)) + two;
        end = std::max({begin + one + two, one > 0 ? done[i] : begin, two > 0 ? done[i + 1] : begin});
        ++i;
    }
    return ends;
}

} // namespace sim
