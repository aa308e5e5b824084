#include "sim/schedule/check.h"

#include "sim/schedule/walk.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace sim {

namespace {

constexpr std::size_t kMostLines = 20;

/// Collects lines and says how many were left out.
class Problems {
public:
    void add(std::string line)
    {
        if (m_lines.size() < kMostLines)
            m_lines.push_back(std::move(line));
        else
            ++m_leftOut;
    }
    bool empty() const { return m_lines.empty(); }
    std::vector<std::string> take()
    {
        if (m_leftOut > 0)
            m_lines.push_back("... and " + std::to_string(m_leftOut) + " more");
        return std::move(m_lines);
    }

private:
    std::vector<std::string> m_lines;
    std::size_t m_leftOut = 0;
};

std::string onRank(std::size_t rank)
{
    return " on rank " + std::to_string(rank);
}

/// What has been seen of one micro-batch on one stage: bit = ActionKind.
using Seen = std::uint8_t;
constexpr Seen bit(ActionKind kind)
{
    return static_cast<Seen>(1U << static_cast<unsigned>(kind));
}

std::size_t cell(const Schedule& schedule, const Action& action)
{
    return static_cast<std::size_t>(action.stage) * static_cast<std::size_t>(schedule.microbatches) +
           static_cast<std::size_t>(action.microbatch);
}

/// The numbers of the schedule itself.
void checkFrame(const Schedule& schedule, Problems& problems)
{
    if (schedule.ranks < 1 || schedule.actions.size() != static_cast<std::size_t>(schedule.ranks))
        problems.add("there are " + std::to_string(schedule.actions.size()) + " lists of actions for " +
                     std::to_string(schedule.ranks) + " pipeline ranks");
    if (schedule.stageToRank.empty() || schedule.microbatches < 1)
        problems.add("a schedule needs at least 1 stage and 1 micro-batch; this has " + std::to_string(schedule.stages()) +
                     " and " + std::to_string(schedule.microbatches));
    for (int stage = 0; stage < schedule.stages(); ++stage) {
        const int rank = schedule.stageToRank[static_cast<std::size_t>(stage)];
        if (rank < 0 || rank >= schedule.ranks)
            problems.add("stage " + std::to_string(stage) + " is placed on rank " + std::to_string(rank) + " of " +
                         std::to_string(schedule.ranks) + " ranks");
    }
    // Before anything of that size is allocated: each needs an F and a B.
    std::size_t actions = 0;
    for (const auto& list : schedule.actions)
        actions += list.size();
    const std::size_t passes = schedule.stageToRank.size() * static_cast<std::size_t>(std::max(schedule.microbatches, 0));
    if (passes > std::max<std::size_t>(actions, 1U << 20U))
        problems.add(std::to_string(schedule.stages()) + " stages and " + std::to_string(schedule.microbatches) +
                     " micro-batches need at least " + std::to_string(2 * passes) + " actions; there are " +
                     std::to_string(actions));
}

/// One action against what its rank has done before it.
std::optional<std::string> misplaced(const Schedule& schedule, std::size_t rank, const Action& action, Seen seen)
{
    const std::string name = actionText(action) + onRank(rank);
    const Action forward{ActionKind::forward, action.stage, action.microbatch};
    const Action input{ActionKind::backwardInput, action.stage, action.microbatch};
    const Action full{ActionKind::backward, action.stage, action.microbatch};
    const int home = schedule.stageToRank[static_cast<std::size_t>(action.stage)];
    if (home != static_cast<int>(rank))
        return name + ": stage " + std::to_string(action.stage) + " lives on rank " + std::to_string(home);
    if (seen & bit(action.kind))
        return name + " comes twice";
    switch (action.kind) {
    case ActionKind::forward:
        break;
    case ActionKind::backward:
        if (seen & (bit(ActionKind::backwardInput) | bit(ActionKind::backwardWeight)))
            return name + " comes after " + actionText(input) + "; a full backward already contains I and W";
        [[fallthrough]];
    case ActionKind::backwardInput:
        if (seen & bit(ActionKind::backward))
            return name + " comes after " + actionText(full) + ", which already contains it";
        if (!(seen & bit(ActionKind::forward)))
            return name + " comes before " + actionText(forward);
        break;
    case ActionKind::backwardWeight:
        if (seen & bit(ActionKind::backward))
            return name + " comes after " + actionText(full) + ", which already contains it";
        if (!(seen & bit(ActionKind::backwardInput)))
            return name + " comes before " + actionText(input);
        break;
    }
    return std::nullopt;
}

/// "0-3, 7"
std::string rangesText(const std::vector<int>& numbers)
{
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        if (!text.empty())
            text += ", ";
        text += std::to_string(numbers[i]);
        if (last > i)
            text.append("-").append(std::to_string(numbers[last]));
        i = last + 1;
    }
    return text;
}

void checkMissing(const Schedule& schedule, const std::vector<Seen>& seen, Problems& problems)
{
    constexpr std::array<const char*, 3> kWhat = {"forward (F)", "backward (B, or I and W)", "weight gradient (W)"};
    for (int stage = 0; stage < schedule.stages(); ++stage) {
        std::array<std::vector<int>, 3> missing;
        for (int microbatch = 0; microbatch < schedule.microbatches; ++microbatch) {
            const Seen done = seen[cell(schedule, {ActionKind::forward, stage, microbatch})];
            if (!(done & bit(ActionKind::forward)))
                missing[0].push_back(microbatch);
            if (!(done & (bit(ActionKind::backward) | bit(ActionKind::backwardInput))))
                missing[1].push_back(microbatch);
            else if (!(done & (bit(ActionKind::backward) | bit(ActionKind::backwardWeight))))
                missing[2].push_back(microbatch);
        }
        for (std::size_t i = 0; i < missing.size(); ++i)
            if (!missing[i].empty())
                problems.add("stage " + std::to_string(stage) +
                             onRank(static_cast<std::size_t>(schedule.stageToRank[static_cast<std::size_t>(stage)])) +
                             " misses the " + kWhat[i] + " of micro-batch " + rangesText(missing[i]));
    }
}

/// The pass of a neighbouring stage that an action needs and that is not done; nothing if it can run.
std::optional<Action> awaited(const Schedule& schedule, const Action& action, const std::vector<Seen>& done)
{
    const bool isForward = action.kind == ActionKind::forward;
    const int neighbour = action.stage + (isForward ? -1 : 1);
    if (action.kind == ActionKind::backwardWeight || neighbour < 0 || neighbour >= schedule.stages())
        return std::nullopt;
    Action needed{isForward ? ActionKind::forward : ActionKind::backward, neighbour, action.microbatch};
    const Seen state = done[cell(schedule, needed)];
    const auto satisfied =
        isForward ? bit(ActionKind::forward) : Seen(bit(ActionKind::backward) | bit(ActionKind::backwardInput));
    return state & satisfied ? std::nullopt : std::optional(needed);
}

/// The cycle of waits, starting from the lowest rank in it.
std::string deadlockText(const Schedule& schedule, const std::vector<std::size_t>& position, const std::vector<Seen>& done)
{
    const auto next = [&](std::size_t rank) { return schedule.actions[rank][position[rank]]; };
    const auto provider = [&](std::size_t rank) {
        return static_cast<std::size_t>(
            schedule.stageToRank[static_cast<std::size_t>(awaited(schedule, next(rank), done)->stage)]);
    };
    // Every stuck rank waits for a stuck rank: following the waits ends in a cycle.
    std::size_t rank = 0;
    while (position[rank] == schedule.actions[rank].size())
        ++rank;
    for (std::size_t step = 0; step < schedule.actions.size(); ++step)
        rank = provider(rank);
    std::size_t first = rank;
    for (std::size_t at = provider(rank); at != rank; at = provider(at))
        first = std::min(first, at);

    std::string text = "deadlock: rank " + std::to_string(first);
    std::size_t at = first;
    do {
        Action needed = *awaited(schedule, next(at), done);
        const std::size_t from = provider(at);
        const std::vector<Action>& list = schedule.actions[from];
        const Action split{ActionKind::backwardInput, needed.stage, needed.microbatch};
        if (needed.kind == ActionKind::backward && std::find(list.begin(), list.end(), split) != list.end())
            needed = split;
        text += " waits at " + actionText(next(at)) + " for " + actionText(needed) + " of rank " + std::to_string(from);
        if (from == at)
            return text + ", which comes later in its own list";
        at = from;
        if (at != first)
            text += ", which";
    } while (at != first);
    return text;
}

} // namespace

std::vector<std::string> checkSchedule(const Schedule& schedule)
{
    Problems problems;
    checkFrame(schedule, problems);
    if (!problems.empty())
        return problems.take();

    std::vector<Seen> seen(schedule.stageToRank.size() * static_cast<std::size_t>(schedule.microbatches), 0);
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank)
        for (const Action& action : schedule.actions[rank]) {
            if (action.stage < 0 || action.stage >= schedule.stages() || action.microbatch < 0 ||
                action.microbatch >= schedule.microbatches) {
                problems.add(actionText(action) + onRank(rank) + " is outside of " + std::to_string(schedule.stages()) +
                             " stages and " + std::to_string(schedule.microbatches) + " micro-batches, which count from 0");
                continue;
            }
            Seen& state = seen[cell(schedule, action)];
            if (auto problem = misplaced(schedule, rank, action, state))
                problems.add(std::move(*problem));
            state |= bit(action.kind);
        }
    checkMissing(schedule, seen, problems);
    if (!problems.empty())
        return problems.take();

    std::fill(seen.begin(), seen.end(), Seen{0});
    const std::vector<std::size_t> position = walkSchedule(schedule, [&](std::size_t, std::size_t, const Action& action) {
        if (awaited(schedule, action, seen))
            return false;
        seen[cell(schedule, action)] |= bit(action.kind);
        return true;
    });
    for (std::size_t rank = 0; rank < position.size(); ++rank)
        if (position[rank] < schedule.actions[rank].size())
            return {deadlockText(schedule, position, seen)};
    return {};
}

} // namespace sim
