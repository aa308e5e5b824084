#include "sim/schedule/search/bounds.h"

#include "sim/cancel.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sim {

namespace {

/// The least that the passes of a micro-batch on a stage take of their rank, alone or in a block with others (in which each has
/// half of what blocks of its stage take).
struct LeastTimes {
    double forward = 0;
    double gradient = 0; ///< until the gradient leaves: I, or B
    double backward = 0; ///< all of it: I and W, or B; never less than `gradient`
    double comm = 0;

    explicit LeastTimes(const PassTimes& times)
        : forward(times.forward), gradient(std::min(times.backwardInput, times.backward())),
          backward(std::min(times.split(), times.backward())), comm(times.comm)
    {
        if (times.overlapped < 0)
            return;
        forward = std::min(forward, times.overlapped / 2);
        gradient = std::min(gradient, times.overlapped / 2);
        backward = std::min(backward, times.overlapped / 2);
    }
    double total() const { return forward + backward; }
    /// What is left of a backward when its gradient has left at the earliest.
    double afterGradient() const { return backward - gradient; }
};

/// The least times of every stage, with sums along the chain, so that every path costs O(1).
class Paths {
public:
    explicit Paths(const PipelineProblem& problem) : m_times(problem.times.begin(), problem.times.end()), m_down{0}, m_up{0}
    {
        for (const LeastTimes& of : m_times) {
            m_down.push_back(m_down.back() + of.forward + of.comm);
            m_up.push_back(m_up.back() + of.gradient + of.comm);
        }
    }
    const LeastTimes& at(std::size_t stage) const { return m_times[stage]; }
    /// From the start of a forward on `from` to the earliest start of the same micro-batch's forward on `to`.
    double down(std::size_t from, std::size_t to) const { return m_down[to] - m_down[from]; }
    /// From the end of a gradient on `from` to the earliest end of the same micro-batch's on `to` before it.
    double up(std::size_t from, std::size_t to) const { return m_up[from] - m_up[to]; }
    /// From the end of a forward on a stage to the earliest start of the same micro-batch's gradient there. (Behind the last
    /// stage no latency is paid: pipelineProblem() makes it 0.)
    double away(std::size_t stage) const
    {
        return down(stage, m_times.size()) - m_times[stage].forward + up(m_times.size(), stage + 1) + m_times[stage].comm;
    }

private:
    std::vector<LeastTimes> m_times;
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
double forwardsThatFit(const PipelineProblem& problem, const Paths& paths, std::vector<std::size_t> stages)
{
    if (stages.size() == 1)
        return fitting(problem, stages[0]) * paths.at(stages[0]).forward;
    const auto value = [&](std::size_t stage) { return paths.at(stage).forward; };
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

/// Time that the rank cannot spend on `stages` (of one rank, in model order) between its first forward and its first backward
/// among them: that gradient's way is long, and the forwards that fit do not fill it.
double waitForFirstGradient(const PipelineProblem& problem, const Paths& paths, const std::vector<std::size_t>& stages)
{
    const std::size_t last = stages.back();
    const double firstGradient = paths.down(stages.front(), last) + paths.at(last).forward + paths.away(last);
    return std::max(0.0, firstGradient - forwardsThatFit(problem, paths, stages));
}

} // namespace

SpanBound workBound(const PipelineProblem& problem)
{
    std::vector<double> work(problem.ranks(), 0);
    for (std::size_t stage = 0; stage < problem.stages(); ++stage)
        work[problem.rankOf(stage)] += count(problem) * LeastTimes(problem.times[stage]).total();
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
            span += count(problem) * paths.at(stage).total();
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
        // Between the first forward on stages[i] and its last gradient there lie all forwards and gradients of it and the later
        // chunks.
        for (std::size_t i = 0; i < stages.size(); ++i) {
            poll(problem.ranks() + stages.size());
            const std::vector<std::size_t> behind(stages.begin() + static_cast<std::ptrdiff_t>(i), stages.end());
            double passes = waitForFirstGradient(problem, paths, behind);
            for (const std::size_t stage : behind)
                passes += count(problem) * (paths.at(stage).forward + paths.at(stage).gradient);
            // Seen from every rank that the path passes: its lowest stage bears its first action, and a backward that ends
            // with the last gradient or later.
            for (std::size_t from = 0; from < problem.ranks(); ++from) {
                const std::size_t first = lowestStage[from];
                if (first <= stages[i])
                    bound.span = std::max(bound.span, paths.down(first, stages[i]) + passes + paths.up(stages[i], first) +
                                                          paths.at(first).afterGradient());
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
            const LeastTimes& least = paths.at(stage);
            const PassMemory& memory = problem.memory[stage];
            const double untilGradient = least.forward + paths.away(stage);
            const double held = untilGradient + least.gradient;
            // Split, a part of it stays for W; whole, all of it for B. In a block, for what blocks take at least.
            const double split = memory.full * times.backwardInput + memory.weight * times.backwardWeight;
            const double whole =
                memory.full * std::min(times.backward(), times.overlapped < 0 ? times.backward() : least.backward);
            area += count(problem) * (memory.full * untilGradient + std::min(split, whole));
            // Intervals of which at most k overlap: some ceil(m / k) of them follow each other.
            const double turns = std::ceil(count(problem) / std::max(1.0, fitting(problem, stage)));
            const bool untilWeight = memory.weight >= memory.full;
            bound.span = std::max(bound.span, turns * (held + (untilWeight ? least.afterGradient() : 0)) +
                                                  (untilWeight ? 0 : least.afterGradient()));
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
