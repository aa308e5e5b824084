// Makes a schedule for given costs under a memory cap: a portfolio of constructions, then simulated annealing over the ranks'
// orders, on all cores with the same result for any number of them. The result says how far it can be from the best possible.
#pragma once

#include "sim/schedule/evaluate.h"
#include "sim/schedule/schedule.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct ScheduleRequest;

struct SynthesisRequest {
    int ranks = 1;
    int microbatches = 1;
    int virtualStages = 1; ///< 1: a line of stages; 2: a V or a loop, whichever is better; more: a loop
    std::vector<PassTimes> times = std::vector<PassTimes>(1);    ///< one entry, or one a part of the model
    std::vector<PassMemory> memory = std::vector<PassMemory>(1); ///< likewise
    double memoryCap = 0; ///< most activations a rank may hold, in units of `memory`; 0 = ranks * virtualStages * full
    /// What bounds may count on that no rank holds, if that is more than memoryCap: a cap that is cautious for some rank, or an
    /// activation counted too full, must not prove that a shorter order cannot be.
    double boundCap = 0;
    std::int64_t moves = 0; ///< that the search may try; 0 = by the size of the problem
    int threads = 0;        ///< 0 = one a core
    /// The order there is. Where it is one of the same stages and micro-batches and keeps the cap, nothing longer is returned.
    /// Not of slices or copies of the model.
    std::optional<Schedule> present;
};

/// What makeSchedule does for the kind `auto`.
SynthesisRequest synthesisRequest(const ScheduleRequest&);

/// The least that the fullest rank holds under any order, one micro-batch at a time, on the placement where that is least.
double leastMemory(const SynthesisRequest&);
/// That order, with whole backwards.
Schedule leastMemoryOrder(const SynthesisRequest&);
/// With whole backwards, orders that hold at most one micro-batch at a time, two, three …, up to what is best without a limit; on
/// every placement. Whatever the request's cap.
std::vector<Schedule> ordersByMemory(const SynthesisRequest&);

/// One construction of the portfolio.
struct ConstructionOutcome {
    std::string name, topology;
    double span = 0, peak = 0; ///< 0 where it cannot be made
    std::string whyNot;        ///< empty if it fits; else the limit that it breaks
    double repairedSpan = 0;   ///< if it was over the cap: of its order brought under it
};

struct SynthesisProgress {
    double span = 0;  ///< shortest yet
    double bound = 0; ///< no order has a shorter span
    std::string construction;
    std::size_t constructionsDone = 0, constructions = 0;
    std::int64_t moves = 0, movesPlanned = 0;
};

struct Synthesis {
    Schedule schedule;
    ScheduleTimes times;
    double peak = 0; ///< most activations that a rank holds
    /// No order within the cap has a shorter span, nor a shorter makespan, by the times asked for: of whole micro-batches
    /// through one copy of the model, on the placements of `scope`, backwards whole or split. (Transfers are latencies here:
    /// sharing links can only make a step longer.)
    double bound = 0;
    std::string boundName;    ///< what stands in the way, for people
    std::string scope;        ///< "a line", "a V or a loop": where the stages lie in what the bound is said of
    std::string construction; ///< what the schedule was made from, for people
    std::vector<ConstructionOutcome> constructions;
    std::int64_t moves = 0;

    double gap() const { return bound > 0 ? times.span / bound - 1 : 0; }
    bool optimal() const { return gap() < 1e-9; }
};
/// "span 25; by pass times and latencies no order of whole micro-batches on a line is below 24: within 4.17 % of the best", or
/// "…: the best"; `unit` follows the times.
std::string synthesisText(const Synthesis&, std::string_view unit = "");

/// The search as an object: run some of it, look, go on. The steps' sizes do not change what is found.
class Synthesiser {
public:
    /// Throws Error if no order fits the cap (naming the least that does), or for numbers that cannot be.
    explicit Synthesiser(SynthesisRequest);
    ~Synthesiser();
    Synthesiser(Synthesiser&&) noexcept;
    Synthesiser& operator=(Synthesiser&&) noexcept;

    /// First all constructions, then at least that many moves. Beyond the planned moves it searches on. Cancelled, it returns
    /// early instead of throwing; a later step goes on as if nothing had been.
    void step(std::int64_t moves);
    /// Proven optimal, or the planned moves are spent.
    bool done() const;
    SynthesisProgress progress() const;
    /// The best so far; there always is one.
    Synthesis result() const;
    /// It, and others that another judge than `times` might prefer: the best of every placement, with backwards split and whole,
    /// searched and as constructed, and the present one. A handful, all different, all within the cap.
    std::vector<Schedule> finalists() const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

/// To the end. `watch` is called on this thread after the constructions and every now and then.
Synthesis synthesise(const SynthesisRequest&, const std::function<void(const SynthesisProgress&)>& watch = {});

} // namespace sim
