#include "sim/schedule/search/word_search.h"

#include "sim/cancel.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/order_parts.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace sim {

namespace {

/// By how much the sum of a way can differ from the same way's sum in another order.
constexpr double kTailRounding = 1e-12;
/// Passes whose times are computed anew between two looks whether to go on, and as how many a move counts beside them: about a
/// millisecond.
constexpr std::int64_t kWorkALook = 32768;
constexpr std::int64_t kWorkOfMove = 16;

std::int32_t kindIndex(ActionKind kind)
{
    return kind == ActionKind::forward ? 0 : kind == ActionKind::backwardInput ? 1 : 2;
}

} // namespace

double RandomStream::exponential()
{
    constexpr double kLn2 = 0.69314718055994531;
    const std::uint64_t bits = next();
    // Halves as often as a coin falls on the same side, and in between a straight line.
    const auto halvings = static_cast<double>(std::countl_zero(bits | 1U));
    const auto fraction = static_cast<double>((bits * 0x9e3779b97f4a7c15U) >> 11U) * 0x1p-53;
    return kLn2 * (halvings + fraction);
}

WordSearch::WordSearch(const PipelineProblem& problem, const Schedule& schedule, std::uint64_t seed)
    : m_problem(&problem), m_microbatches(problem.frame.microbatches),
      m_rowLength(3 * problem.frame.microbatches * problem.frame.virtualStages), m_random(seed)
{
    buildPasses();
    const std::size_t ranks = problem.ranks();
    m_at.assign(ranks * asIndex(m_rowLength + 2), m_front);
    Column<Node> order = m_at;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        Place place = firstPlace(rank);
        for (const Action& action : schedule.actions[rank])
            order[place++] = (action.stage * 3 + kindIndex(action.kind)) * m_microbatches + action.microbatch;
        order[place] = m_back;
    }
    restore(order);
    m_bestSpan = m_span;
    m_best = m_at;
}

void WordSearch::buildPasses()
{
    const auto stages = static_cast<std::int32_t>(m_problem->stages());
    const std::int32_t count = stages * 3 * m_microbatches;
    m_front = count;
    m_back = count + 1;
    m_passes.resize(asIndex(count) + 2);
    for (Pass& pass : m_passes)
        pass = {.needs = m_front,
                .neededBy = m_back,
                .sameBefore = m_front,
                .ownBefore = m_front,
                .turnBefore = m_front,
                .sameAfter = m_back,
                .ownAfter = m_back,
                .turnAfter = m_back};
    for (std::int32_t stage = 0; stage < stages; ++stage) {
        const auto s = asIndex(stage);
        const PassTimes& times = m_problem->times[s];
        const PassMemory& memory = m_problem->memory[s];
        const double duration[] = {times.forward, times.backwardInput, times.backwardWeight};
        const double held[] = {memory.full, memory.weight - memory.full, -memory.weight};
        for (std::int32_t kind = 0; kind < 3; ++kind)
            for (std::int32_t microbatch = 0; microbatch < m_microbatches; ++microbatch) {
                const Node node = (stage * 3 + kind) * m_microbatches + microbatch;
                Pass& pass = m_passes[node];
                pass.duration = duration[kind];
                pass.memory = held[kind];
                if (microbatch > 0)
                    pass.sameBefore = node - 1;
                if (microbatch + 1 < m_microbatches)
                    pass.sameAfter = node + 1;
                if (kind > 0)
                    pass.ownBefore = node - m_microbatches;
                if (kind < 2)
                    pass.ownAfter = node + m_microbatches;
                // Forwards come from the stage before, input gradients from the stage behind.
                const std::int32_t source = kind == 0 ? stage - 1 : stage + 1;
                if (kind == 2 || source < 0 || source >= stages)
                    continue;
                pass.needs = node + (source - stage) * 3 * m_microbatches;
                pass.latency = m_problem->times[asIndex(std::min(stage, source))].comm;
                Pass& needed = m_passes[pass.needs];
                needed.neededBy = node;
                if (m_problem->rankOf(s) == m_problem->rankOf(asIndex(source))) {
                    pass.turnBefore = pass.needs;
                    needed.turnAfter = node;
                }
            }
    }
    m_firstStart.resize(m_problem->ranks());
    m_marked.assign(m_passes.size(), 0);
    m_stale.assign(m_passes.size() / 64 + 1, 0);
    m_firstStale = static_cast<std::int32_t>(m_passes.size());
    m_lastStale = 0;
}

/// Takes over an order that is known to run.
void WordSearch::restore(const Column<Node>& order)
{
    m_at = order;
    m_place.assign(m_passes.size(), 0);
    m_held.assign(m_at.size(), 0);
    for (std::size_t rank = 0; rank < m_problem->ranks(); ++rank) {
        const Place first = firstPlace(rank);
        for (Place place = first; place < first + m_rowLength; ++place) {
            const Node node = m_at[place];
            m_place[node] = place;
            m_held[place] = m_held[place - 1] + m_passes[node].memory;
        }
    }
    m_place[m_front] = -1;
    m_place[m_back] = static_cast<Place>(m_at.size());
    sortByTime();
    m_span = longestSpan();
    m_tail.assign(m_passes.size(), -std::numeric_limits<double>::infinity());
    for (std::size_t i = m_sorted.size(); i-- > 0;)
        m_tail[m_sorted[i]] = tailOf(m_sorted[i]);
}

/// Computes all ends, list by list as far as each can go; the order in which they can is m_sorted. Passes may take no time, so
/// that sorting by ends would not do.
void WordSearch::sortByTime()
{
    m_end.assign(m_passes.size(), 0);
    m_sorted.clear();
    m_turn.assign(m_passes.size(), static_cast<std::int32_t>(m_passes.size()));
    Column<char> done(m_passes.size(), 0);
    done[m_front] = 1;
    const std::size_t ranks = m_problem->ranks();
    std::vector<Place> next(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
        next[rank] = firstPlace(rank);
    // One pass of every rank that can go on each round: near the order of time.
    CancelPoll poll;
    for (bool progress = true; progress;) {
        progress = false;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            poll();
            const Node node = m_at[next[rank]];
            if (node == m_back)
                continue;
            const Pass& pass = m_passes[node];
            if (!done[pass.needs])
                continue;
            const double inputs = m_end[pass.needs] + pass.latency;
            const Node before = m_at[next[rank] - 1];
            const double start = std::max(m_end[before], inputs);
            if (before == m_front)
                m_firstStart[rank] = start;
            m_end[node] = start + pass.duration;
            done[node] = 1;
            m_turn[node] = static_cast<std::int32_t>(m_sorted.size());
            m_sorted.push_back(node);
            ++next[rank];
            progress = true;
        }
    }
}

double WordSearch::longestSpan() const
{
    double longest = 0;
    for (std::size_t rank = 0; rank < m_firstStart.size(); ++rank) {
        const Node last = m_at[firstPlace(rank) + m_rowLength - 1];
        longest = std::max(longest, m_end[last] - m_firstStart[rank]);
    }
    return longest;
}

std::int64_t WordSearch::run(std::int64_t moves, double temperature)
{
    const auto rows = static_cast<std::uint32_t>(m_problem->ranks());
    const auto length = static_cast<std::uint32_t>(m_rowLength);
    const std::uint32_t far = std::max<std::uint32_t>(4, std::min(length / 2, 6 * rows));
    for (std::int64_t move = 0; move < moves; ++move) {
        if ((m_work += kWorkOfMove) > kWorkALook) {
            m_work = 0;
            if (cancelRequested())
                return move;
        }
        const RandomStream asBefore = m_random;
        const Place from = firstPlace(m_random.below(rows)) + static_cast<Place>(m_random.below(length));
        const std::uint64_t dice = m_random.next();
        const Pass& pass = m_passes[m_at[from]];
        const auto distance =
            static_cast<Place>(1 + static_cast<std::uint32_t>(((dice >> 32U) * ((dice & 2U) != 0 ? 3U : far)) >> 32U));
        const auto placeOf = [&](Node node) { return m_place[node]; };
        Place to = from;
        if ((dice & 1U) != 0) {
            const Place end = (from - 1) / (m_rowLength + 2) * (m_rowLength + 2) + m_rowLength + 1;
            to = std::min(
                {from + distance, end - 1, placeOf(pass.sameAfter) - 1, placeOf(pass.ownAfter) - 1, placeOf(pass.turnAfter) - 1});
        } else {
            const Place begin = (from - 1) / (m_rowLength + 2) * (m_rowLength + 2) + 1;
            to = std::max({from - distance, begin, placeOf(pass.sameBefore) + 1, placeOf(pass.ownBefore) + 1,
                           placeOf(pass.turnBefore) + 1});
        }
        if (to == from)
            continue;
        if (tryMove(from, to, m_span + temperature * m_random.exponential())) {
            ++m_accepted;
            if (m_span < m_bestSpan) {
                m_bestSpan = m_span;
                m_best = m_at;
            }
        } else if (m_isInterrupted) { // to be tried again as if it had not been
            m_isInterrupted = false;
            m_random = asBefore;
            return move;
        }
    }
    return moves;
}

bool WordSearch::tryMove(Place from, Place to, double limit)
{
    const Node moved = m_at[from];
    const Node passed = m_at[to];
    if (!memoryAllows(from, to))
        return false;
    if (!(from < to ? reorderForLater(moved, passed) : reorderForEarlier(moved, passed)))
        return false;
    shift(from, to);
    m_changes.clear();
    const Place low = std::min(from, to);
    const Place high = std::max(from, to);
    // Whose predecessor in the list is another now.
    const auto at = [&](Place place) { return m_at[place]; };
    markStale(at(low));
    markStale(at(from < to ? to : to + 1));
    markStale(at(high + 1));
    const std::int32_t settled = m_turn[at(high)];
    if (propagate(settled, limit)) {
        const double span = longestSpan();
        if (span <= limit) {
            m_span = span;
            // Whose successor in the list is another now.
            markStale(at(low - 1));
            markStale(at(from < to ? to - 1 : to));
            markStale(at(high));
            propagateTails();
            return true;
        }
    }
    for (std::size_t i = m_changes.size(); i-- > 0;)
        m_end[m_changes[i].node] = m_changes[i].end;
    shift(to, from);
    restoreWindow();
    return false;
}

void WordSearch::restoreWindow()
{
    for (std::size_t i = 0; i < m_window.size(); ++i) {
        const std::size_t turn = asIndex(m_windowStart) + i;
        m_sorted[turn] = m_window[i];
        m_turn[m_window[i]] = static_cast<std::int32_t>(turn);
    }
}

/// Only a pass that adds and goes earlier, or one that releases and goes later, raises what the rank holds in between.
bool WordSearch::memoryAllows(Place from, Place to)
{
    const double change = m_passes[m_at[from]].memory;
    if (from < to ? change >= 0 : change <= 0)
        return true;
    const double more = from < to ? -change : change;
    const Place begin = from < to ? from + 1 : to - 1, end = from < to ? to + 1 : from;
    for (Place place = begin; place < end; ++place)
        if (!m_problem->fits(m_held[place] + more))
            return false;
    return true;
}

/// Puts `moved`, and what waits for it, behind `passed` in m_sorted. False if `passed` waits for it too: a circle.
bool WordSearch::reorderForLater(Node moved, Node passed)
{
    const std::int32_t first = m_turn[moved];
    const std::int32_t last = m_turn[passed];
    m_windowStart = first;
    m_window.assign(m_sorted.begin() + first, m_sorted.begin() + last + 1);
    m_aside.clear();
    m_aside.push_back(moved);
    m_marked[moved] = 1;
    std::int32_t write = first;
    for (std::int32_t turn = first + 1; turn <= last; ++turn) {
        const Node node = m_window[turn - first];
        const Node before = m_at[m_place[node] - 1];
        const bool waits = (before != moved && m_marked[before] != 0) || m_marked[m_passes[node].needs] != 0;
        if (waits) {
            m_marked[node] = 1;
            m_aside.push_back(node);
        } else {
            m_sorted[write] = node;
            m_turn[node] = write++;
        }
    }
    const bool circle = m_marked[passed] != 0;
    for (const Node node : m_aside) {
        m_marked[node] = 0;
        m_sorted[write] = node;
        m_turn[node] = write++;
    }
    if (circle)
        restoreWindow();
    return !circle;
}

/// Puts `moved`, and what it waits for, before `passed` in m_sorted. False if it waits for `passed`.
bool WordSearch::reorderForEarlier(Node moved, Node passed)
{
    const std::int32_t first = m_turn[passed];
    const std::int32_t last = m_turn[moved];
    m_windowStart = first;
    m_window.assign(m_sorted.begin() + first, m_sorted.begin() + last + 1);
    m_aside.clear();
    m_aside.push_back(moved);
    m_marked[moved] = 1;
    std::int32_t write = last;
    for (std::int32_t turn = last; turn-- > first;) {
        const Node node = m_window[turn - first];
        const Node after = m_at[m_place[node] + 1];
        const bool awaited = (after != moved && m_marked[after] != 0) || m_marked[m_passes[node].neededBy] != 0;
        if (awaited) {
            m_marked[node] = 1;
            m_aside.push_back(node);
        } else {
            m_sorted[write] = node;
            m_turn[node] = write--;
        }
    }
    const bool circle = m_marked[passed] != 0;
    for (const Node node : m_aside) {
        m_marked[node] = 0;
        m_sorted[write] = node;
        m_turn[node] = write--;
    }
    if (circle)
        restoreWindow();
    return !circle;
}

void WordSearch::shift(Place from, Place to)
{
    const auto begin = m_at.begin();
    if (from < to)
        std::rotate(begin + from, begin + from + 1, begin + to + 1);
    else
        std::rotate(begin + to, begin + from, begin + from + 1);
    const Place low = std::min(from, to);
    const Place high = std::max(from, to);
    for (Place place = low; place <= high; ++place) {
        const Node node = m_at[place];
        m_place[node] = place;
        m_held[place] = m_held[place - 1] + m_passes[node].memory;
    }
}

void WordSearch::markStale(Node node)
{
    if (node >= m_front)
        return;
    const std::int32_t turn = m_turn[node];
    m_stale[asIndex(turn) / 64] |= std::uint64_t{1} << (static_cast<std::uint32_t>(turn) % 64U);
    m_firstStale = std::min(m_firstStale, turn);
    m_lastStale = std::max(m_lastStale, turn);
}

void WordSearch::clearStale()
{
    if (m_lastStale >= m_firstStale)
        std::fill(m_stale.begin() + m_firstStale / 64, m_stale.begin() + m_lastStale / 64 + 1, 0);
    m_firstStale = static_cast<std::int32_t>(m_passes.size());
    m_lastStale = 0;
}

/// Computes stale ends in topological order until nothing changes any more. Behind turn `settled` the order is the one that the
/// tails were computed for: false as soon as a way from there to a list's end makes its span longer than `limit`.
bool WordSearch::propagate(std::int32_t settled, double limit)
{
    const double tolerant = limit * (1 + kTailRounding);
    bool within = true;
    for (std::size_t w = asIndex(m_firstStale) / 64; within && w <= asIndex(m_lastStale) / 64; ++w)
        while (m_stale[w] != 0) {
            const auto turn = w * 64 + asIndex(std::countr_zero(m_stale[w]));
            m_stale[w] &= m_stale[w] - 1;
            const Node node = m_sorted[turn];
            const Pass& pass = m_passes[node];
            const Place place = m_place[node];
            const double end = std::max(m_end[m_at[place - 1]], m_end[pass.needs] + pass.latency) + pass.duration;
            double& known = m_end[node];
            if (end == known)
                continue;
            m_changes.push_back({node, known});
            known = end;
            if (++m_work > kWorkALook) {
                m_work = 0;
                m_isInterrupted = cancelRequested();
                if (m_isInterrupted) {
                    within = false;
                    break;
                }
            }
            if (static_cast<std::int32_t>(turn) > settled && end + m_tail[node] > tolerant) {
                within = false;
                break;
            }
            markStale(m_at[place + 1]);
            markStale(pass.neededBy);
        }
    clearStale();
    return within;
}

/// The longest way from the end of a pass to the end of a list, less the first start of that list: added to the pass's end, the
/// span that the list has at least. Of the ways behind the next pass of the list and the pass of the neighbouring stage.
double WordSearch::tailOf(Node node) const
{
    const Place place = m_place[node];
    const Node next = m_at[place + 1], neededBy = m_passes[node].neededBy;
    const double onward = next == m_back ? -m_firstStart[place / (m_rowLength + 2)] : m_passes[next].duration + m_tail[next];
    return std::max(onward, m_passes[neededBy].latency + m_passes[neededBy].duration + m_tail[neededBy]);
}

void WordSearch::propagateTails()
{
    for (std::size_t w = asIndex(m_lastStale) / 64 + 1; w-- > asIndex(m_firstStale) / 64;)
        while (m_stale[w] != 0) {
            const auto bit = 63U - asIndex(std::countl_zero(m_stale[w]));
            m_stale[w] &= ~(std::uint64_t{1} << bit);
            const Node node = m_sorted[w * 64 + bit];
            const double tail = tailOf(node);
            if (tail == m_tail[node])
                continue;
            m_tail[node] = tail;
            markStale(m_at[m_place[node] - 1]);
            markStale(m_passes[node].needs);
        }
    clearStale();
}

Schedule WordSearch::best() const
{
    Schedule schedule = m_problem->frame;
    schedule.actions.assign(m_problem->ranks(), {});
    for (std::size_t rank = 0; rank < m_problem->ranks(); ++rank)
        for (Place place = firstPlace(rank); place < firstPlace(rank) + m_rowLength; ++place) {
            const Node node = m_best[place];
            const std::int32_t type = node / m_microbatches;
            const std::int32_t microbatch = node % m_microbatches;
            const std::int32_t stage = type / 3;
            schedule.actions[rank].push_back(type % 3 == 0   ? forwardOf(stage, microbatch)
                                             : type % 3 == 1 ? inputGradientOf(stage, microbatch)
                                                             : weightGradientOf(stage, microbatch));
        }
    return schedule;
}

void WordSearch::adopt(const WordSearch& other)
{
    if (m_problem != other.m_problem) {
        m_problem = other.m_problem;
        buildPasses();
    }
    restore(other.m_best);
    m_best = m_at;
    m_bestSpan = m_span;
}

void WordSearch::returnToBest()
{
    restore(m_best);
}

void WordSearch::recompute()
{
    restore(Column<Node>(m_at));
}

} // namespace sim
