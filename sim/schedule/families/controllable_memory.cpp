// V-Half and V-Min (Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362): one building block, repeated
// every six slots, on a V of two chunks a rank; its offsets decide how long activations live. Warm-up and cool-down are then
// pulled forward as far as the peak of the steady state allows ("reorder") and gaps are closed ("squeeze"), as sail-sg's
// zbv_greedy does, whose orders these are.
#include "sim/schedule/families/controllable_memory.h"

#include "sim/cancel.h"
#include "sim/index.h"
#include "sim/schedule/families/family_parts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

namespace sim {

namespace {

/// What a rank does in a slot. Backwards flow from the last stage: the first backward is of the second chunk.
enum Pass : std::uint8_t { forward0, forward1, backward1, backward0, weight, idle };
constexpr std::size_t kPasses = 4; ///< that a building block places; weight gradients go where there is room
/// Slots of a rank by pass and micro-batch, ascending in each pass. `weights` may be empty: not placed yet.
struct RankSlots {
    std::array<std::vector<int>, kPasses> passes;
    std::vector<int> weights;

    int end() const
    {
        int last = weights.empty() ? 0 : weights.back();
        for (const auto& slots : passes)
            last = std::max(last, slots.back());
        return last + 1;
    }
    std::vector<int>& of(Pass pass) { return pass == weight ? weights : passes[pass]; }
    const std::vector<int>& of(Pass pass) const { return pass == weight ? weights : passes[pass]; }
    /// The pass in each slot.
    std::vector<Pass> row() const
    {
        std::vector<Pass> slots(asIndex(end()), idle);
        for (const Pass pass : {forward0, forward1, backward1, backward0, weight})
            for (const int slot : of(pass))
                slots[asIndex(slot)] = pass;
        return slots;
    }
};

using Slots = std::vector<RankSlots>; ///< [rank]

/// Fills idle slots with the weight gradients owed, oldest first; what is left follows at the end. Calls place(slot, first)
/// where `first` says whether it belongs to the first backward (of the second chunk).
template <class Place>
void placeWeights(const RankSlots& slots, Place&& place)
{
    std::array<int, 2> owed{};
    const std::vector<Pass> row = slots.row();
    CancelPoll poll;
    int slot = 0;
    for (; slot < static_cast<int>(row.size()); ++slot) {
        poll();
        const Pass pass = row[asIndex(slot)];
        if (pass == backward1)
            ++owed[0];
        else if (pass == backward0)
            ++owed[1];
        else if (pass == idle && owed[0] + owed[1] > 0) {
            const std::size_t which = owed[0] > 0 ? 0 : 1;
            --owed[which];
            place(slot, which == 0);
        }
    }
    for (const std::size_t which : {0U, 1U})
        for (; owed[which] > 0; --owed[which])
            place(slot++, which == 0);
}

/// Activations a rank holds, slot by slot. Without placed weight gradients, idle slots do them.
class Memory {
public:
    Memory(const RankSlots& slots) : m_weightsPlaced(!slots.weights.empty()), m_row(slots.row()), m_after(m_row.size())
    {
        State state;
        for (std::size_t slot = 0; slot < m_row.size(); ++slot) {
            m_poll();
            m_after[slot] = state = next(state, m_row[slot]);
        }
    }

    int peak() const
    {
        int most = 0;
        for (const State& state : m_after)
            most = std::max(most, state.held);
        return most;
    }

    bool isFree(int slot) const { return m_row[asIndex(slot)] == idle; }

    /// Moves what is in slot `from` to the earlier idle slot `to`, unless the rank would then hold more than `limit`.
    bool move(int from, int to, int limit)
    {
        const auto source = asIndex(from);
        const auto target = asIndex(to);
        std::swap(m_row[source], m_row[target]);
        m_changed.clear();
        State state = target == 0 ? State{} : m_after[target - 1];
        for (std::size_t slot = target; slot < m_row.size(); ++slot) {
            m_poll();
            state = next(state, m_row[slot]);
            if (slot > source && state == m_after[slot])
                break;
            if (state.held > limit) {
                std::swap(m_row[source], m_row[target]);
                return false;
            }
            m_changed.push_back(state);
        }
        std::copy(m_changed.begin(), m_changed.end(), m_after.begin() + to);
        return true;
    }

private:
    struct State {
        int held = 0, owed = 0;
        bool operator==(const State&) const = default;
    };
    State next(State state, Pass pass) const
    {
        if (pass == forward0 || pass == forward1)
            ++state.held;
        else if (pass == weight)
            --state.held;
        else if (m_weightsPlaced)
            return state;
        else if (pass != idle)
            ++state.owed;
        else if (state.owed > 0) {
            --state.held;
            --state.owed;
        }
        return state;
    }

    bool m_weightsPlaced;
    std::vector<Pass> m_row;
    std::vector<State> m_after, m_changed;
    CancelPoll m_poll;
};

struct Event {
    int slot = 0, rank = 0;
    Pass pass = idle;
    int microbatch = 0;
};

/// Everything in the order of time; of the same slot, by rank. Counted into place: O(events).
std::vector<Event> eventsOf(const Slots& slots)
{
    int end = 0;
    for (const RankSlots& rank : slots)
        end = std::max(end, rank.end());
    std::vector<std::size_t> place(asIndex(end) + 1, 0);
    const auto each = [&](auto&& visit) {
        CancelPoll poll;
        for (std::size_t rank = 0; rank < slots.size(); ++rank)
            for (const Pass pass : {forward0, forward1, backward1, backward0, weight}) {
                const std::vector<int>& of = slots[rank].of(pass);
                poll(of.size() + 1);
                for (std::size_t i = 0; i < of.size(); ++i)
                    visit(Event{of[i], static_cast<int>(rank), pass, static_cast<int>(i)});
            }
    };
    each([&](const Event& event) { ++place[asIndex(event.slot) + 1]; });
    std::partial_sum(place.begin(), place.end(), place.begin());
    std::vector<Event> events(place.back());
    each([&](const Event& event) { events[place[asIndex(event.slot)]++] = event; });
    return events;
}

/// forward0 and backward1 go down the ranks, the others up; the rank before in that direction, or nothing.
const RankSlots* feeding(const Slots& slots, int rank, Pass pass)
{
    const int from = pass == forward0 || pass == backward1 ? rank - 1 : rank + 1;
    return from >= 0 && from < static_cast<int>(slots.size()) ? &slots[asIndex(from)] : nullptr;
}

/// "Squeeze": every pass as early as its inputs and the order of its rank allow, one slot each.
void squeeze(Slots& slots)
{
    std::vector<int> next(slots.size(), 0);
    CancelPoll poll;
    for (const Event& event : eventsOf(slots)) {
        poll();
        RankSlots& mine = slots[asIndex(event.rank)];
        const auto microbatch = asIndex(event.microbatch);
        int& free = next[asIndex(event.rank)];
        int start = free;
        if (event.pass != weight) {
            if (const RankSlots* from = feeding(slots, event.rank, event.pass))
                start = std::max(start, from->passes[event.pass][microbatch] + 1);
            if (event.pass > forward0)
                start = std::max(start, mine.passes[event.pass - 1][microbatch] + 1);
        }
        mine.of(event.pass)[microbatch] = start;
        free = start + 1;
    }
}

/// The k-th smallest (from 0) of two ascending lists together. O(log k).
int kthOfBoth(const std::vector<int>& first, const std::vector<int>& second, std::size_t k)
{
    // How many of the k + 1 smallest are in `first`.
    std::size_t least = k + 1 > second.size() ? k + 1 - second.size() : 0;
    std::size_t most = std::min(k + 1, first.size());
    while (least < most) {
        const std::size_t taken = (least + most) / 2;
        if (first[taken] < second[k - taken])
            least = taken + 1;
        else
            most = taken;
    }
    const int ofFirst = least > 0 ? first[least - 1] : -1;
    const int ofSecond = k + 1 > least ? second[k - least] : -1;
    return std::max(ofFirst, ofSecond);
}

/// "Reorder": pulls passes of warm-up and cool-down to earlier idle slots without a higher peak on any rank. The steady state
/// (from rank 0's first finished micro-batch to its last forward) stays. First with the weight gradients placed, over warm-up and
/// cool-down; then without, over the cool-down alone.
void reorder(Slots& slots, bool withWeights)
{
    for (RankSlots& rank : slots) {
        rank.weights.clear();
        if (withWeights)
            placeWeights(rank, [&](int slot, bool) { rank.weights.push_back(slot); });
    }
    std::vector<Memory> memories(slots.begin(), slots.end());
    int limit = 0;
    for (const Memory& memory : memories)
        limit = std::max(limit, memory.peak());

    const int lastMicrobatch = static_cast<int>(slots.front().passes[forward0].size()) - 1;
    enum class Phase { warmup, steady, cooldown } phase = Phase::warmup;
    CancelPoll poll;
    for (const Event& event : eventsOf(slots)) {
        poll();
        if (phase == Phase::warmup && event.pass == backward0 && event.rank == 0)
            phase = Phase::steady;
        if (phase == Phase::steady) {
            if (event.pass == forward0 && event.microbatch == lastMicrobatch)
                phase = Phase::cooldown;
            continue;
        }
        if (phase == Phase::warmup && !withWeights)
            continue;

        RankSlots& mine = slots[asIndex(event.rank)];
        const auto microbatch = asIndex(event.microbatch);
        std::vector<int>& line = mine.of(event.pass);
        int earliest = microbatch > 0 ? line[microbatch - 1] + 1 : 0;
        if (event.pass == weight) {
            const int backward = kthOfBoth(mine.passes[backward1], mine.passes[backward0], microbatch);
            earliest = std::max(earliest, backward + 1); // weight gradients follow the backwards of either chunk
        } else {
            if (const RankSlots* from = feeding(slots, event.rank, event.pass))
                earliest = std::max(earliest, from->passes[event.pass][microbatch] + 1);
            if (event.pass > forward0)
                earliest = std::max(earliest, mine.passes[event.pass - 1][microbatch] + 1);
        }
        Memory& memory = memories[asIndex(event.rank)];
        for (int slot = earliest; slot < event.slot; ++slot) {
            poll();
            if (memory.isFree(slot) && memory.move(event.slot, slot, limit)) {
                line[microbatch] = slot;
                break;
            }
        }
    }
    if (!withWeights)
        for (RankSlots& rank : slots)
            placeWeights(rank, [&](int slot, bool) { rank.weights.push_back(slot); });
    squeeze(slots);
}

} // namespace

Schedule repeatBlock(const ScheduleRequest& request, std::span<const BlockOffsets> block)
{
    const int ranks = request.ranks;
    Slots slots(asIndex(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
        const BlockOffsets& offsets = block[asIndex(rank)];
        for (std::size_t pass = 0; pass < kPasses; ++pass)
            for (int microbatch = 0; microbatch < request.microbatches; ++microbatch)
                slots[asIndex(rank)].passes[pass].push_back(offsets[pass] + kBlockPeriod * microbatch);
    }
    reorder(slots, true);
    reorder(slots, false);

    Schedule schedule = vSchedule(request);
    for (int rank = 0; rank < ranks; ++rank) {
        checkCancelled();
        RankSlots& mine = slots[asIndex(rank)];
        mine.weights.clear();
        const std::array<int, 2> stage{rank, 2 * ranks - 1 - rank};
        std::vector<std::pair<int, Action>> placed;
        for (int microbatch = 0; microbatch < request.microbatches; ++microbatch) {
            const auto slot = [&](Pass pass) { return mine.passes[pass][asIndex(microbatch)]; };
            placed.emplace_back(slot(forward0), forwardOf(stage[0], microbatch));
            placed.emplace_back(slot(forward1), forwardOf(stage[1], microbatch));
            placed.emplace_back(slot(backward1), inputGradientOf(stage[1], microbatch));
            placed.emplace_back(slot(backward0), inputGradientOf(stage[0], microbatch));
        }
        std::array<int, 2> weights{};
        placeWeights(mine, [&](int slot, bool first) {
            const std::size_t chunk = first ? 1 : 0;
            placed.emplace_back(slot, weightGradientOf(stage[chunk], weights[chunk]++));
        });
        CancelPoll poll;
        std::sort(placed.begin(), placed.end(), [&poll](const auto& a, const auto& b) {
            poll();
            return a.first < b.first;
        });
        auto& actions = schedule.actions[asIndex(rank)];
        for (const auto& [slot, action] : placed)
            actions.push_back(action);
    }
    return schedule;
}

namespace {

/// Slots of F0, F1 and of the backwards of chunk 1 and 0 (the paper's tables 8 and 9; a delay keeps passes from colliding).
BlockOffsets halfOffsets(int rank, int ranks)
{
    const int delay = ranks % 2 == 0 ? 3 : 0;
    return {2 * rank, 3 * ranks - rank - 2, 3 * ranks + delay + 2 * rank - 1, 6 * ranks + delay - rank - 2};
}
BlockOffsets minOffsets(int rank, int ranks)
{
    const int delay = ranks % 3 == 0 ? 2 : 0;
    return {rank, 2 * ranks - rank - 1, 2 * ranks + delay + rank, 4 * ranks + delay - rank - 1};
}

Schedule makeFrom(const ScheduleRequest& request, BlockOffsets (*offsetsOf)(int rank, int ranks))
{
    std::vector<BlockOffsets> block;
    block.reserve(asIndex(request.ranks));
    for (int rank = 0; rank < request.ranks; ++rank)
        block.push_back(offsetsOf(rank, request.ranks));
    return repeatBlock(request, block);
}

} // namespace

ScheduleFamily vHalfFamily()
{
    return {
        .kind = "v-half",
        .title = "V-Half",
        .character =
            "on a V: the more ranks, the nearer to half of 1F1B's activations, and to half of its bubble where passes are equal",
        .source = "Qi et al., Controllable Memory, arXiv 2405.15362; sail-sg zero-bubble",
        .chunks = {2, 2},
        .slots = blockSlots,
        .make = [](const ScheduleRequest& request) { return makeFrom(request, halfOffsets); }};
}

ScheduleFamily vMinFamily()
{
    return {.kind = "v-min",
            .title = "V-Min",
            .character = "on a V: the more ranks, the nearer to a third of 1F1B's activations; two thirds of its bubble, but "
                         "wants equal passes",
            .source = "Qi et al., Controllable Memory, arXiv 2405.15362; sail-sg zero-bubble",
            .chunks = {2, 2},
            .slots = blockSlots,
            .make = [](const ScheduleRequest& request) { return makeFrom(request, minOffsets); }};
}

} // namespace sim
