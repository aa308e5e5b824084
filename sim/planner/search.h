// The search for the best layout: grids by divisors, then everything else of a grid under its floor, best first, until the engine
// has proved one. Private to sim/planner.
#pragma once

#include "sim/planner/floors.h"
#include "sim/planner/nearest_grids.h"
#include "sim/planner/planner.h"
#include "sim/planner/reasons.h"
#include "sim/planner/space.h"
#include "sim/planner/tight_floor.h"

#include "sim/memory_limit.h"
#include "sim/parallel.h"
#include "sim/simulate/simulation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sim {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// As many at once whatever the number of threads, so that what is counted does not depend on it.
inline constexpr std::size_t kLookedAtOnce = 24, kSimulatedAtOnce = 2, kPassedAtOnce = 256;
/// Laid out at least, once the first is proved, to fill the places after it.
inline constexpr std::int64_t kTightForOthers = 16;

/// How closely something was looked at. A grid is one that was not surveyed; a node is all of a grid with one micro-batch and
/// kind of recomputation; a shape is all ways of sharding one schedule of it, ordered once the order of its passes was; a leaf is
/// one layout, tight once laid out. Times are of as many tokens as the request's global batch has, at the pace of each.
enum class Rung : std::uint8_t { grid, node, shape, ordered, leaf, tight };

/// What waits to be looked at closer.
struct Waiting {
    double key = 0; ///< nothing of it is better
    Rung rung = Rung::node;
    bool isOfSmallerToo = false; ///< a shape that stands for those with smaller batches, too
    std::int32_t grid = 0;
    Choice choice;
    double floorNs = 0, tightNs = 0, bytes = 0;
    int failedLayers = 0; ///< so many run again do not fit: more are to be tried
    double failedBytes = 0;
    double second = 0; ///< of those with the same key, nothing of it is better in this
};

/// How many ways a layout splits the model.
inline std::int64_t splitsOf(const Choice& choice)
{
    return std::int64_t{choice.grid.tp} * choice.grid.cp * choice.grid.pp;
}

/// Least key first; of equals the one that splits the model least.
struct Later {
    bool operator()(const Waiting& a, const Waiting& b) const
    {
        if (a.key != b.key)
            return a.key > b.key;
        if (a.second != b.second)
            return a.second > b.second;
        if (a.rung != b.rung)
            return a.rung < b.rung;
        if (splitsOf(a.choice) != splitsOf(b.choice))
            return splitsOf(a.choice) > splitsOf(b.choice);
        return a.choice > b.choice;
    }
};

/// A heap that can be looked through. Of millions: what waits stays where it is, and its place moves, with the key that mostly
/// decides; a deque needs no room twice when it grows.
class WaitingQueue {
    struct Entry {
        double key = 0;
        std::size_t place = 0;
    };
    auto isLater() const
    {
        return [this](const Entry& a, const Entry& b) {
            return a.key != b.key ? a.key > b.key : Later()(m_waiting[a.place], m_waiting[b.place]);
        };
    }

public:
    bool empty() const { return m_heap.empty(); }
    const Waiting& top() const { return m_waiting[m_heap.front().place]; }
    void pop()
    {
        m_unused.push_back(m_heap.front().place);
        std::pop_heap(m_heap.begin(), m_heap.end(), isLater());
        m_heap.pop_back();
    }
    void push(Waiting waiting)
    {
        std::size_t place = m_waiting.size();
        if (m_unused.empty()) {
            m_waiting.push_back(std::move(waiting));
        } else {
            place = m_unused.back();
            m_unused.pop_back();
            m_waiting[place] = std::move(waiting);
        }
        m_heap.push_back({m_waiting[place].key, place});
        std::push_heap(m_heap.begin(), m_heap.end(), isLater());
    }
    void adopt(std::deque<Waiting> waiting)
    {
        m_waiting = std::move(waiting);
        m_unused.clear();
        m_heap.clear();
        for (std::size_t place = 0; place < m_waiting.size(); ++place)
            m_heap.push_back({m_waiting[place].key, place});
        std::make_heap(m_heap.begin(), m_heap.end(), isLater());
    }
    /// In no order.
    template <typename Take>
    void each(const Take& take) const
    {
        for (const Entry& entry : m_heap)
            take(m_waiting[entry.place]);
    }

private:
    std::deque<Waiting> m_waiting;
    std::vector<std::size_t> m_unused; ///< places
    std::vector<Entry> m_heap;
};

class Search {
public:
    Search(const PlanRequest& request, const Catalogue& catalogue, const std::function<void(const PlanProgress&)>& progress)
        : m_request(request), m_catalogue(catalogue), m_progress(progress), m_space(request, catalogue), m_floors(m_space),
          m_capacityBytes(m_space.capacityGib() * kBytesPerGib),
          m_enoughNs(request.enoughSeconds > 0 ? request.enoughSeconds * 1e9 : kUnbounded),
          m_crew(static_cast<std::size_t>(std::max(0, request.jobs)))
    {
    }
    PlanAnswer run();
    /// Instead of run(): see nearestGrids().
    NearestGrids nearest(const std::vector<AskedGrid>&, std::size_t count);

private:
    bool byHeadroom() const { return m_request.objective == PlanObjective::headroom; }
    /// What is as good in all that counts is not cut: which of equals is first must not depend on which was met first. A step is
    /// a whole number of nanoseconds, a floor a sum of rounded ones.
    bool isCut(const Waiting& of) const
    {
        const double best = byHeadroom() ? m_bestKey : std::min(m_bestKey, m_enoughNs) + m_space.paceOf(of.choice);
        return of.key > best || (of.key == best && of.second > m_bestSecond);
    }
    void survey();
    void refuseWhatNoLayoutSays(const std::deque<Waiting>& nodes) const;
    void surveyGrid(std::size_t index, GridRecord&, std::vector<Waiting>&);
    std::optional<Choice> ownChoice() const;
    std::optional<Choice> guidedChoice() const;
    void simulateKnown();
    void explore();
    void exploreNearest();
    void noteNearest();
    bool isFarther(const Waiting&) const;
    std::int64_t mostSimulated() const; ///< of the request, or as many as are soon done
    struct Laid {
        TightFloor floor;
        int layers = 0; ///< run again
        std::int64_t tries = 0;
        bool fits = false;
        std::string problem; ///< why it cannot be laid out here
        LayoutFloor deeper;  ///< with one more run again, where it does not fit and there is one
    };
    /// What came of looking closer at one.
    struct Look {
        std::vector<Waiting> next; ///< of a node, a shape
        GridRecord record;
        Laid laid; ///< of a leaf
    };
    void lookCloser(const std::vector<Waiting>&);
    void expandNode(const Waiting&, std::vector<Waiting>& shapes) const;
    bool pushShape(Choice, Scenario&, const PartFloors&, const Waiting& of, double leastNs, std::vector<Waiting>& shapes) const;
    void expandBatches(const Waiting& shape, std::vector<Waiting>& next, GridRecord&) const;
    void orderShape(const Waiting&, std::vector<Waiting>& next) const;
    void expandShape(const Waiting&, std::vector<Waiting>& leaves, GridRecord&) const;
    void takeLaid(Waiting leaf, const Laid&);
    void simulateAll(const std::vector<Waiting>&);
    double mostOfInterestNs(const Waiting&) const;
    /// Where more layers run again may take more memory, each number of them is a layout of its own: for headroom, and of kinds
    /// whose order is planned by what passes cost.
    bool takesEachDepth(const Choice& choice) const { return byHeadroom() || m_space.familyOf(choice).plansByCost; }
    bool canGoDeeper(const Choice& choice) const
    {
        return !takesEachDepth(choice) && choice.recompute == Recompute::full && m_space.free.recompute &&
               choice.recomputeLayers < m_space.layersOfChunk(choice);
    }
    TightFloor laidOut(Choice, int layers, Laid&) const;
    PassCosts passCostsOf(const Choice&, const Scenario&) const;
    std::shared_ptr<const Schedule> scheduleOf(const Choice&, const Scenario&) const;
    Laid layOut(const Waiting&) const;
    LayoutFloor floorDeeper(const Choice&) const;
    void pushDeeper(const Waiting&, double bytes, const LayoutFloor& deeper);
    void leaveOpen(const Waiting&, const std::string& problem);
    void setKeys(Waiting&, double ns, double bytes) const; ///< ns of its step
    template <typename Take>
    void eachShape(const Choice&, Scenario&, const Take&) const;
    template <typename Take>
    void eachSharding(const Choice&, Scenario&, const Take&) const;
    int depthToJudge(const Choice&) const; ///< layers run again with which a framework is asked whether it has it
    std::optional<LeastMemory> leastMemory() const;
    void layOutLeanest();
    GridRecord::Least leanestOf(const PlanGrid&) const;
    void report(bool always);
    void finish(PlanAnswer&);
    PlannedLayout planned(const Waiting&, const Simulation&) const;
    const PlanRequest& m_request;
    const Catalogue& m_catalogue;
    const std::function<void(const PlanProgress&)>& m_progress;
    PlanSpace m_space;
    Floors m_floors;
    double m_capacityBytes;
    double m_enoughNs; ///< of the request; infinite where only the best will do
    /// Of layouts that differ in nothing but the kind of schedule: measured once.
    struct MeasuredOnce {
        std::once_flag once;
        PassCosts costs;
    };
    mutable std::mutex m_passCostsMutex;
    mutable std::map<Choice, std::shared_ptr<MeasuredOnce>> m_passCosts;
    using ScheduleKey = std::pair<std::array<int, 7>, std::vector<double>>; ///< sizes, costs
    mutable std::mutex m_schedulesMutex;
    mutable std::map<ScheduleKey, std::shared_ptr<const Schedule>> m_schedules;
    mutable std::size_t m_keptActions = 0; ///< in m_schedules
    std::vector<GridRecord> m_grids;
    std::size_t m_nearest = 0;        ///< of nearest(): so many grids are asked for
    double m_nearestKey = kUnbounded; ///< of these, the last one's best
    WaitingQueue m_queue;
    struct Found {
        Waiting from;
        PlannedLayout layout;
        std::shared_ptr<const Scenario> scenario;
        double ns = 0, bytes = 0; ///< its pace, and its fullest rank
    };
    std::vector<Found> m_found;
    std::map<Choice, double> m_paces; ///< of those found: the best of each with any batch, nanoseconds
    double m_bestKey = kUnbounded, m_bestSecond = kUnbounded;
    std::optional<Choice> m_known;   ///< simulated before the rest: when its turn comes there is nothing left to do
    std::vector<Waiting> m_tooLarge; ///< to be laid out or simulated here: they stay open
    bool m_isSurveyed = false;
    std::int64_t m_gridsDone = 0;
    PlanAnswer m_answer;
    Crew m_crew;
    std::chrono::steady_clock::time_point m_begun = std::chrono::steady_clock::now(), m_told = m_begun;
};

} // namespace sim
