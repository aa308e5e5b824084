// Local search over the orders of a pipeline's ranks: one pass moves earlier or later in its rank's list, and only the times that
// this changes are computed again. Simulated annealing decides which moves stay. Private to sim/schedule.
#pragma once

#include "sim/index.h"
#include "sim/schedule/search/pipeline_problem.h"

#include <cstdint>
#include <vector>

namespace sim {

/// Numbers that look random and are the same everywhere (Steele, Lea, Flood 2014: SplitMix64).
class RandomStream {
public:
    explicit RandomStream(std::uint64_t seed) : m_state(seed) {}
    std::uint64_t next()
    {
        std::uint64_t z = (m_state += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    /// 0 .. count - 1
    std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(((next() >> 32U) * count) >> 32U); }
    /// Exponentially distributed but for straight pieces, with mean 1: without a logarithm, whose last bit differs by machine.
    double exponential();

private:
    std::uint64_t m_state;
};

/// One chain of the annealing: an order of the passes, its exact times, and moves.
class WordSearch {
public:
    /// `schedule`: complete, split into I and W, micro-batches in ascending order on every stage, within the cap.
    WordSearch(const PipelineProblem&, const Schedule& schedule, std::uint64_t seed);

    /// Tries `moves` moves at a temperature in units of time. O(passes whose time changes) each. Returns how many it tried: fewer
    /// if the thread's CancelScope says so; the rest can be tried later as if nothing had been.
    std::int64_t run(std::int64_t moves, double temperature);

    double span() const { return m_span; }
    double bestSpan() const { return m_bestSpan; }
    Schedule best() const;
    /// Starts over from another chain's best order.
    void adopt(const WordSearch& other);
    void returnToBest();
    /// All times of the present order from scratch; they are the same.
    void recompute();
    std::int64_t accepted() const { return m_accepted; }

private:
    /// (stage * 3 + kind) * microbatches + micro-batch, kind in the order F, I, W; behind them the two borders of every list.
    using Node = std::int32_t;
    using Place = std::int32_t;

    struct Pass {
        double duration = 0;
        double latency = 0;           ///< after the end of `needs`
        Node needs = 0, neededBy = 0; ///< the pass of a neighbouring stage
        // The nearest passes of its own list that it must stay behind, or before; the list's border if none.
        Node sameBefore = 0, ownBefore = 0, turnBefore = 0;
        Node sameAfter = 0, ownAfter = 0, turnAfter = 0;
        double memory = 0; ///< by how much the rank holds more after it
    };
    struct Change {
        Node node;
        double end;
    };

    void buildPasses();
    void restore(const Column<Node>& order);
    void sortByTime();
    Place firstPlace(std::size_t rank) const { return static_cast<Place>(rank) * (m_rowLength + 2) + 1; }

    bool tryMove(Place from, Place to, double limit);
    bool memoryAllows(Place from, Place to);
    bool reorderForLater(Node moved, Node passed);
    bool reorderForEarlier(Node moved, Node passed);
    void restoreWindow();
    void shift(Place from, Place to);
    void markStale(Node);
    void clearStale();
    bool propagate(std::int32_t settled, double limit);
    double tailOf(Node) const;
    void propagateTails();
    double longestSpan() const;

    const PipelineProblem* m_problem;
    std::int32_t m_microbatches, m_rowLength;
    Node m_front, m_back; ///< the borders: always done, and never reached
    Column<Pass> m_passes;
    Column<double> m_firstStart; ///< [rank] no move changes it: micro-batch 0 comes first on every rank

    Column<Node> m_at;           ///< [place] lists one after the other, each between two borders
    Column<Place> m_place;       ///< [node]
    Column<double> m_end;        ///< [node]
    Column<double> m_held;       ///< [place] what the rank holds after it
    Column<double> m_tail;       ///< [node] see tailOf()
    Column<Node> m_sorted;       ///< every pass behind what it waits for
    Column<std::int32_t> m_turn; ///< [node] its index in m_sorted
    double m_span = 0;

    std::vector<std::uint64_t> m_stale; ///< a bit for every entry of m_sorted: to be computed again
    std::int32_t m_firstStale = 0, m_lastStale = 0;
    std::vector<Change> m_changes;  ///< ends before the move
    Column<Node> m_window, m_aside; ///< the part of m_sorted that a move changes, as it was
    std::int32_t m_windowStart = 0;
    Column<std::uint8_t> m_marked; ///< [node]

    RandomStream m_random;
    std::int64_t m_accepted = 0;
    std::int64_t m_work = 0; ///< since the last look whether to go on
    bool m_isInterrupted = false;
    double m_bestSpan = 0;
    Column<Node> m_best; ///< m_at at the shortest span
};

} // namespace sim
