#include "sim/schedule/bounds.h"

#include "sim/cancel.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sim {

namespace {

/// Sums along the chain of stages, so that every path costs O(1).
class Paths {
public:
    explicit Paths(const PipelineProblem& problem) : m_problem(problem), m_down{0}, m_up{0}
    {
        for (const PassTimes& of : problem.times) {
            m_down.push_back(m_down.back() + of.forward + of.comm);
            m_up.push_back(m_up.back() + of.backwardInput + of.comm);
        }
    }
    /// From the start of a forward on `from` to the earliest start of the same micro-batch's forward on `to`.
    double down(std::size_t from, std::size_t to) const { return m_down[to] - m_down[from]; }
    /// From the end of an input gradient on `from` to the earliest end of the same micro-batch's on `to` before it.
    double up(std::size_t from, std::size_t to) const { return m_up[from] - m_up[to]; }
    /// From the end of a forward on a stage to the earliest start of the same micro-batch's input gradient there. (Behind the
    /// last stage no latency is paid: pipelineProblem() makes it 0.)
    double away(std::size_t stage) const
    {
        return down(stage, m_problem.stages()) - m_problem.times[stage].forward + up(m_problem.stages(), stage + 1) +
               m_problem.times[stage].comm;
    }

private:
    const PipelineProblem& m_problem;
    std::vector<double> m_down, m_up; ///< before each stage
};

double count(const PipelineProblem& problem)
{
    return static_cast<double>(problem.frame.microbatches);
}

/// How many activations of a stage fit at a time.
double fitting(const PipelineProblem& problem, std::size_t stage)
{
    const double full = problem.memory[stage].full;
    return full > 0 ? std::min(count(problem), std::floor(problem.cap * (1 + kRounding) / full)) : count(problem);
}

/// Most time that forwards of these stages of one rank can take before anything is released: those with the most time an
/// activation first, the last in part.
double forwardsThatFit(const PipelineProblem& problem, std::vector<std::size_t> stages)
{
    if (stages.size() == 1)
        return fitting(problem, stages[0]) * problem.times[stages[0]].forward;
    const auto value = [&](std::size_t stage) { return problem.times[stage].forward; };
    const auto weight = [&](std::size_t stage) { return problem.memory[stage].full; };
    std::sort(stages.begin(), stages.end(),
              [&](std::size_t a, std::size_t b) { return value(a) * weight(b) > value(b) * weight(a); });
    double room = problem.cap * (1 + kRounding);
    double time = 0;
    for (const std::size_t stage : stages) {
        const double fits = weight(stage) > 0 ? std::min(count(problem), room / weight(stage)) : count(problem);
        time += fits * value(stage);
        room -= fits * weight(stage);
    }
    return time;
}

/// Time that the rank cannot spend on `stages` (of one rank, in model order) between its first forward and its first input
/// gradient among them: that gradient's way is long, and the forwards that fit do not fill it.
double waitForFirstGradient(const PipelineProblem& problem, const Paths& paths, const std::vector<std::size_t>& stages)
{
    const std::size_t last = stages.back();
    const double firstGradient = paths.down(stages.front(), last) + problem.times[last].forward + paths.away(last);
    return std::max(0.0, firstGradient - forwardsThatFit(problem, stages));
}

} // namespace

SpanBound workBound(const PipelineProblem& problem)
{
    std::vector<double> work(problem.ranks(), 0);
    for (std::size_t stage = 0; stage < problem.stages(); ++stage)
        work[problem.rankOf(stage)] += count(problem) * problem.times[stage].total();
    return {*std::max_element(work.begin(), work.end()), "the work of the busiest rank"};
}

SpanBound firstGradientBound(const PipelineProblem& problem)
{
    const Paths paths(problem);
    SpanBound bound{0, "the wait for the first gradient with memory full"};
    for (std::size_t rank = 0; rank < problem.ranks(); ++rank) {
        const std::vector<std::size_t> stages = problem.stagesOf(rank);
        double span = waitForFirstGradient(problem, paths, stages);
        for (const std::size_t stage : stages)
            span += count(problem) * problem.times[stage].total();
        bound.span = std::max(bound.span, span);
    }
    return bound;
}

SpanBound longestPathBound(const PipelineProblem& problem)
{
    const Paths paths(problem);
    SpanBound bound{0, "the longest path: down, all passes of a rank, and back"};
    std::vector<std::size_t> lowestStage(problem.ranks());
    for (std::size_t stage = problem.stages(); stage-- > 0;)
        lowestStage[problem.rankOf(stage)] = stage;
    CancelPoll poll;
    for (std::size_t rank = 0; rank < problem.ranks(); ++rank) {
        const std::vector<std::size_t> stages = problem.stagesOf(rank);
        // Between the first forward on stages[i] and the last input gradient there lie all passes of it and the later chunks.
        for (std::size_t i = 0; i < stages.size(); ++i) {
            poll(problem.ranks() + stages.size());
            const std::vector<std::size_t> behind(stages.begin() + static_cast<std::ptrdiff_t>(i), stages.end());
            double passes = waitForFirstGradient(problem, paths, behind);
            for (const std::size_t stage : behind)
                passes += count(problem) * (problem.times[stage].forward + problem.times[stage].backwardInput);
            // Seen from every rank that the path passes: its lowest stage bears its first action and a last weight gradient.
            for (std::size_t from = 0; from < problem.ranks(); ++from) {
                const std::size_t first = lowestStage[from];
                if (first <= stages[i])
                    bound.span = std::max(bound.span, paths.down(first, stages[i]) + passes + paths.up(stages[i], first) +
                                                          problem.times[first].backwardWeight);
            }
        }
    }
    return bound;
}

SpanBound memoryBound(const PipelineProblem& problem)
{
    const Paths paths(problem);
    SpanBound bound{0, "memory: activations stay while their micro-batch is on its way"};
    for (std::size_t rank = 0; rank < problem.ranks(); ++rank) {
        double area = 0; // activation x time that all micro-batches need
        for (const std::size_t stage : problem.stagesOf(rank)) {
            const PassTimes& times = problem.times[stage];
            const PassMemory& memory = problem.memory[stage];
            const double held = times.forward + paths.away(stage) + times.backwardInput;
            area += count(problem) * (memory.full * held + memory.weight * times.backwardWeight);
            // Intervals of which at most k overlap: some ceil(m / k) of them follow each other.
            const double turns = std::ceil(count(problem) / std::max(1.0, fitting(problem, stage)));
            const bool untilWeight = memory.weight >= memory.full;
            bound.span = std::max(bound.span, turns * (held + (untilWeight ? times.backwardWeight : 0)) +
                                                  (untilWeight ? 0 : times.backwardWeight));
        }
        if (problem.cap > 0)
            bound.span = std::max(bound.span, area / (problem.cap * (1 + kRounding)));
    }
    return bound;
}

SpanBound spanBound(const PipelineProblem& problem)
{
    SpanBound best = workBound(problem);
    for (const SpanBound& bound : {firstGradientBound(problem), longestPathBound(problem), memoryBound(problem)})
        if (bound.span > best.span)
            best = bound;
    return best;
}

} // namespace sim
