#include "sim/planner/pass_order.h"

#include "sim/index.h"
#include "sim/schedule/walk.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

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
                              .part = static_cast<std::int16_t>(action.stage % schedule.chainLength()),
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

MostHeld mostHeld(const Schedule& schedule, const std::vector<Action>& actions)
{
    const auto partOf = [&](int stage) { return stage % schedule.chainLength(); };
    const auto isGradient = [](const Action& action) {
        return action.kind == ActionKind::backward || action.kind == ActionKind::backwardWeight;
    };
    std::map<int, int> gradientsLeft; // stage -> passes that add to its gradients
    for (const Action& action : actions)
        gradientsLeft[action.stage] += isGradient(action) ? 1 : 0;
    const std::map<int, int> all = gradientsLeft;

    MostHeld most;
    std::map<int, int> held; // part -> passes
    int count = 0, mostCount = 0;
    bool isFirst = false, isLast = false; // the moment is now
    const auto note = [&](HeldPasses& moment) {
        moment.passes.assign(held.begin(), held.end());
        moment.gradients.clear();
        for (const auto& [stage, left] : gradientsLeft)
            if (left > 0 && left < all.at(stage))
                moment.gradients.push_back(partOf(stage));
        moment.backwardPart = -1;
    };
    for (std::size_t i = 0; i < actions.size(); i += blockAt(actions, i).size()) {
        const ActionBlock block = blockAt(actions, i);
        for (std::size_t of = block.size(); of-- > 0;) { // of a block, what frees before what takes
            const Action& action = actions[i + of];
            if (block.size() == 1 && action.kind == ActionKind::backward) {
                if (isFirst)
                    most[0].backwardPart = partOf(action.stage);
                if (isLast)
                    most[1].backwardPart = partOf(action.stage);
            }
            isFirst = isLast = false;
            if (isGradient(action))
                --gradientsLeft[action.stage];
            if (action.kind == ActionKind::backwardWeight)
                continue; // what is left until then is not counted
            const int change = action.kind == ActionKind::forward ? 1 : -1;
            held[partOf(action.stage)] += change;
            count += change;
            if (change < 0 || count < mostCount)
                continue;
            note(most[1]);
            isLast = true;
            if (count > mostCount) {
                most[0] = most[1];
                isFirst = true;
            }
            mostCount = count;
        }
    }
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
    std::vector<double> done(order.passes.size());
    const auto arrivalOf = [&](const OrderedPass& pass) {
        return pass.source < 0 ? 0 : done[asIndex(pass.source)] + (pass.crosses ? sendNs : 0);
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
            end = done[i] = std::max(end, arrivalOf(pass)) + ns;
            continue;
        }
        const OrderedPass& other = order.passes[i + 1];
        const auto turnsOf = [&](const OrderedPass& half) {
            const PartTimes& times = parts[asIndex(half.part)];
            return half.kind == ActionKind::forward ? times.blockForward : times.blockBackward;
        };
        const double one = turnsOf(pass), two = turnsOf(other), begin = end;
        done[i] = std::max(begin, arrivalOf(pass)) + one;
        done[i + 1] = std::max(begin, arrivalOf(other)) + two;
        end = std::max({begin + one + two, done[i], done[i + 1]});
        ++i;
    }
    return ends;
}

} // namespace sim
