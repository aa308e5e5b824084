#include "sim/schedule/check.h"

#include "sim/cancel.h"
#include "sim/index.h"
#include "sim/schedule/problems.h"
#include "sim/schedule/walk.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace sim {

namespace {

/// What has been seen of one micro-batch on one stage: bit = ActionKind.
using Seen = std::uint8_t;
constexpr Seen bit(ActionKind kind)
{
    return static_cast<Seen>(1U << static_cast<unsigned>(kind));
}

std::size_t cell(const Schedule& schedule, const Action& action)
{
    return asIndex(action.stage) * asIndex(schedule.microbatches) + asIndex(action.microbatch);
}

/// The numbers of the schedule itself.
void checkFrame(const Schedule& schedule, Problems& problems)
{
    if (schedule.ranks < 1 || schedule.actions.size() != asIndex(schedule.ranks))
        problems.add("there are " + std::to_string(schedule.actions.size()) + " lists of actions for " +
                     std::to_string(schedule.ranks) + " pipeline ranks");
    if (schedule.stageToRank.empty() || schedule.microbatches < 1)
        problems.add("a schedule needs at least 1 stage and 1 micro-batch; this has " + std::to_string(schedule.stages()) +
                     " and " + std::to_string(schedule.microbatches));
    if (schedule.chains < 1 || schedule.stages() % schedule.chains != 0 || schedule.microbatches % schedule.chains != 0)
        problems.add(std::to_string(schedule.stages()) + " stages and " + std::to_string(schedule.microbatches) +
                     " micro-batches cannot be shared equally by " + std::to_string(schedule.chains) + " copies of the model");
    if (schedule.slices < 1 || schedule.microbatches % schedule.slices != 0)
        problems.add(std::to_string(schedule.microbatches) + " slices of micro-batches are not a multiple of " +
                     std::to_string(schedule.slices) + " a sequence");
    for (int stage = 0; stage < schedule.stages(); ++stage) {
        const int rank = schedule.stageToRank[asIndex(stage)];
        if (rank < 0 || rank >= schedule.ranks)
            problems.add("stage " + std::to_string(stage) + " is placed on rank " + std::to_string(rank) + " of " +
                         std::to_string(schedule.ranks) + " ranks");
    }
    // Before anything of that size is allocated: each needs an F and a B.
    std::size_t actions = 0;
    for (const auto& list : schedule.actions)
        actions += list.size();
    const std::size_t passes = schedule.stageToRank.size() * asIndex(std::max(schedule.microbatches, 0));
    if (passes > std::max<std::size_t>(actions, 1U << 20U))
        problems.add(std::to_string(schedule.stages()) + " stages and " + std::to_string(schedule.microbatches) +
                     " micro-batches need at least " + std::to_string(2 * passes) + " actions; there are " +
                     std::to_string(actions));
}

/// One action against what its rank has done before it.
std::optional<std::string> misplaced(const Schedule& schedule, std::size_t rank, const Action& action, Seen seen)
{
    const auto text = [&](ActionKind kind) {
        return actionText({.kind = kind, .stage = action.stage, .microbatch = action.microbatch}, schedule.slices);
    };
    const std::string name = text(action.kind) + onRank(rank);
    const int home = schedule.stageToRank[asIndex(action.stage)];
    if (home != static_cast<int>(rank))
        return name + ": stage " + std::to_string(action.stage) + " lives on rank " + std::to_string(home);
    if (const int chain = action.stage / schedule.chainLength(); chain != schedule.chainOf(action.microbatch))
        return name + ": micro-batch " + std::to_string(action.microbatch) + " goes through copy " +
               std::to_string(schedule.chainOf(action.microbatch)) + " of the model, stage " + std::to_string(action.stage) +
               " belongs to copy " + std::to_string(chain);
    if (seen & bit(action.kind))
        return name + " comes twice";
    switch (action.kind) {
    case ActionKind::forward:
        break;
    case ActionKind::backward:
        if (seen & (bit(ActionKind::backwardInput) | bit(ActionKind::backwardWeight)))
            return name + " comes after " + text(ActionKind::backwardInput) + "; a full backward already contains I and W";
        [[fallthrough]];
    case ActionKind::backwardInput:
        if (seen & bit(ActionKind::backward))
            return name + " comes after " + text(ActionKind::backward) + ", which already contains it";
        if (!(seen & bit(ActionKind::forward)))
            return name + " comes before " + text(ActionKind::forward);
        break;
    case ActionKind::backwardWeight:
        if (seen & bit(ActionKind::backward))
            return name + " comes after " + text(ActionKind::backward) + ", which already contains it";
        if (!(seen & bit(ActionKind::backwardInput)))
            return name + " comes before " + text(ActionKind::backwardInput);
        break;
    }
    return std::nullopt;
}

void checkMissing(const Schedule& schedule, const std::vector<Seen>& seen, Problems& problems)
{
    constexpr std::array<const char*, 3> kWhat = {"forward (F)", "backward (B, or I and W)", "weight gradient (W)"};
    for (int stage = 0; stage < schedule.stages(); ++stage) {
        std::array<std::vector<int>, 3> missing;
        for (int microbatch = 0; microbatch < schedule.microbatches; ++microbatch) {
            if (schedule.chainOf(microbatch) != stage / schedule.chainLength())
                continue;
            const Seen done = seen[cell(schedule, {.stage = stage, .microbatch = microbatch})];
            if (!(done & bit(ActionKind::forward)))
                missing[0].push_back(microbatch);
            if (!(done & (bit(ActionKind::backward) | bit(ActionKind::backwardInput))))
                missing[1].push_back(microbatch);
            else if (!(done & (bit(ActionKind::backward) | bit(ActionKind::backwardWeight))))
                missing[2].push_back(microbatch);
        }
        for (std::size_t i = 0; i < missing.size(); ++i)
            if (!missing[i].empty())
                problems.add("stage " + std::to_string(stage) + onRank(schedule.rankOf(stage)) + " misses the " + kWhat[i] +
                             " of micro-batch " + microbatchRanges(missing[i], schedule.slices));
    }
}

/// Blocks hold a forward and a full backward; what one of them needs cannot be in the block itself.
void checkBlocks(const Schedule& schedule, Problems& problems)
{
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank) {
        const std::vector<Action>& actions = schedule.actions[rank];
        for (std::size_t i = 0; i < actions.size(); ++i) {
            if (!actions[i].overlapsNext)
                continue;
            const std::string name = actionText(actions[i], schedule.slices);
            if (i + 1 == actions.size())
                problems.add(name + onRank(rank) + " overlaps the next action, but is the last");
            else if (actions[i].kind != ActionKind::forward || actions[i + 1].kind != ActionKind::backward ||
                     actions[i + 1].overlapsNext)
                problems.add("the block (" + name + ";" + actionText(actions[i + 1], schedule.slices) + ")" + onRank(rank) +
                             " must hold one forward (F) and then one full backward (B)");
            else if (actions[i].stage == actions[i + 1].stage && actions[i].microbatch == actions[i + 1].microbatch)
                problems.add("the block (" + name + ";" + actionText(actions[i + 1], schedule.slices) + ")" + onRank(rank) +
                             " holds a backward that needs the forward beside it");
        }
    }
}

/// Slices of a sequence go forwards in order and backwards in reverse: each attends to those before it.
std::optional<std::string> missesSlice(const Schedule& schedule, std::size_t rank, const Action& action,
                                       const std::vector<Seen>& seen)
{
    if (schedule.slices == 1 || action.kind == ActionKind::backwardWeight)
        return std::nullopt;
    const bool forward = action.kind == ActionKind::forward;
    const int slice = action.microbatch % schedule.slices;
    if (forward ? slice == 0 : slice + 1 == schedule.slices)
        return std::nullopt;
    const Action before{.kind = action.kind, .stage = action.stage, .microbatch = action.microbatch + (forward ? -1 : 1)};
    const auto gradient = static_cast<Seen>(bit(ActionKind::backward) | bit(ActionKind::backwardInput));
    if (seen[cell(schedule, before)] & (forward ? bit(ActionKind::forward) : gradient))
        return std::nullopt;
    return actionText(action, schedule.slices) + onRank(rank) + " comes before " + actionText(before, schedule.slices);
}

/// The pass of a neighbouring stage that an action needs and that is not done; nothing if it can run.
std::optional<Action> awaited(const Schedule& schedule, const Action& action, const std::vector<Seen>& done)
{
    const bool isForward = action.kind == ActionKind::forward;
    if (action.kind == ActionKind::backwardWeight ||
        (isForward ? schedule.entersAt(action.stage) : schedule.leavesAt(action.stage)))
        return std::nullopt;
    Action needed{.kind = isForward ? ActionKind::forward : ActionKind::backward,
                  .stage = action.stage + (isForward ? -1 : 1),
                  .microbatch = action.microbatch};
    const Seen state = done[cell(schedule, needed)];
    const auto satisfied =
        isForward ? bit(ActionKind::forward) : Seen(bit(ActionKind::backward) | bit(ActionKind::backwardInput));
    return state & satisfied ? std::nullopt : std::optional(needed);
}

/// Runs the lists. Where they stop: what each rank waits for; nothing for ranks that finished.
std::vector<std::optional<Wait>> stuckRanks(const Schedule& schedule)
{
    std::vector<Seen> done(schedule.stageToRank.size() * asIndex(schedule.microbatches), 0);
    const std::vector<std::size_t> position = walkSchedule(schedule, [&](std::size_t, std::size_t, ActionBlock block) {
        for (const Action& action : block)
            if (awaited(schedule, action, done))
                return false;
        for (const Action& action : block)
            done[cell(schedule, action)] |= bit(action.kind);
        return true;
    });
    std::vector<std::optional<Wait>> stuck(schedule.actions.size());
    for (std::size_t rank = 0; rank < stuck.size(); ++rank) {
        if (position[rank] == schedule.actions[rank].size())
            continue;
        for (const Action& action : blockAt(schedule.actions[rank], position[rank])) {
            std::optional<Action> needed = awaited(schedule, action, done);
            if (!needed)
                continue;
            const int provider = schedule.stageToRank[asIndex(needed->stage)];
            const std::vector<Action>& list = schedule.actions[asIndex(provider)];
            const Action split{.kind = ActionKind::backwardInput, .stage = needed->stage, .microbatch = needed->microbatch};
            if (needed->kind == ActionKind::backward && std::find(list.begin(), list.end(), split) != list.end())
                needed = split;
            stuck[rank] = Wait{static_cast<int>(rank), action, *needed, provider};
            break;
        }
    }
    return stuck;
}

std::string deadlockText(const std::vector<Wait>& cycle, int slices)
{
    std::string text = "deadlock: rank " + std::to_string(cycle.front().rank);
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        const Wait& wait = cycle[i];
        text += (i == 0 ? "" : ", which") + (" waits at " + actionText(wait.blocked, slices)) + " for " +
                actionText(wait.needed, slices) + " of rank " + std::to_string(wait.provider);
    }
    return text + (cycle.size() == 1 ? ", which comes later in its own list" : "");
}

/// Missing, doubled and misplaced actions; O(actions).
void checkLists(const Schedule& schedule, Problems& problems)
{
    checkBlocks(schedule, problems);
    std::vector<Seen> seen(schedule.stageToRank.size() * asIndex(schedule.microbatches), 0);
    CancelPoll poll;
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank)
        for (const Action& action : schedule.actions[rank]) {
            poll(32); // each has its sentence made
            if (action.stage < 0 || action.stage >= schedule.stages() || action.microbatch < 0 ||
                action.microbatch >= schedule.microbatches) {
                problems.add(actionText(action, schedule.slices) + onRank(rank) + " is outside of " +
                             std::to_string(schedule.stages()) + " stages and " +
                             std::to_string(schedule.microbatches / schedule.slices) + " micro-batches, which count from 0");
                continue;
            }
            Seen& state = seen[cell(schedule, action)];
            if (auto problem = misplaced(schedule, rank, action, state))
                problems.add(std::move(*problem));
            else if (auto slice = missesSlice(schedule, rank, action, seen))
                problems.add(std::move(*slice));
            state |= bit(action.kind);
        }
    checkMissing(schedule, seen, problems);
}

/// The waits that lead back to where they started; every stuck rank waits for a stuck rank.
std::vector<Wait> cycleOf(const std::vector<std::optional<Wait>>& stuck)
{
    const auto first = std::find_if(stuck.begin(), stuck.end(), [](const auto& wait) { return wait.has_value(); });
    if (first == stuck.end())
        return {};
    const auto provider = [&](int rank) { return stuck[asIndex(rank)]->provider; };
    int rank = (*first)->rank;
    for (std::size_t step = 0; step < stuck.size(); ++step)
        rank = provider(rank);
    int lowest = rank;
    for (int at = provider(rank); at != rank; at = provider(at))
        lowest = std::min(lowest, at);
    std::vector<Wait> cycle;
    int at = lowest;
    do {
        cycle.push_back(*stuck[asIndex(at)]);
        at = cycle.back().provider;
    } while (at != lowest);
    return cycle;
}

} // namespace

std::vector<Wait> deadlockCycle(const Schedule& schedule)
{
    Problems problems;
    checkFrame(schedule, problems);
    if (problems.empty())
        checkLists(schedule, problems);
    return problems.empty() ? cycleOf(stuckRanks(schedule)) : std::vector<Wait>();
}

std::vector<std::string> checkSchedule(const Schedule& schedule)
{
    Problems problems;
    checkFrame(schedule, problems);
    if (problems.empty())
        checkLists(schedule, problems);
    if (!problems.empty())
        return problems.take();
    const std::vector<Wait> cycle = cycleOf(stuckRanks(schedule));
    if (cycle.empty())
        return {};
    std::vector<std::string> lines = {deadlockText(cycle, schedule.slices)};
    // pytorch/torchtitan issue 775.
    if (const int microbatches = schedule.microbatches / schedule.slices; microbatches < schedule.ranks)
        lines.push_back(
            "there are fewer micro-batches (" + std::to_string(microbatches) + ") than ranks (" + std::to_string(schedule.ranks) +
            "), and orders made for a pipeline that fills hang in one that does not: " + std::to_string(schedule.ranks) +
            " or more may do");
    return lines;
}

} // namespace sim
