#include "sim/schedule/families/zb_greedy.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/schedule/families/family_parts.h"

#include <algorithm>
#include <array>
#include <vector>

namespace sim {

namespace {

/// The grid of section 3.1.
struct Settings {
    bool lateFirstBackward = true; ///< a warm-up forward may delay the first input gradient
    bool leaveForwards = true;     ///< a stage well ahead of the next one may leave out a forward
    bool fillFreeGaps = true;      ///< weight gradients also fill gaps that would not raise the largest bubble
};

class Greedy {
public:
    Greedy(int stages, int microbatches, std::span<const PassTimes> times, std::span<const PassMemory> memory, double limit,
           Settings settings)
        : m_microbatches(microbatches), m_limit(limit), m_settings(settings), m_stages(asIndex(stages))
    {
        for (std::size_t j = 0; j < m_stages.size(); ++j) {
            Stage& stage = m_stages[j];
            stage.times = times[times.size() == 1 ? 0 : j];
            stage.memory = memory[memory.size() == 1 ? 0 : j];
            stage.forwardEnd.resize(asIndex(microbatches));
            stage.inputEnd.resize(asIndex(microbatches));
            stage.actions.reserve(3 * asIndex(microbatches));
        }
    }

    /// False if some forward cannot fit the limit even with all weight gradients done.
    bool run()
    {
        firstRound();
        for (int round = 1; round < m_microbatches; ++round) {
            m_poll(4 * m_stages.size());
            if (!forwardsOfRound() || !inputGradientsOfRound())
                return false;
        }
        for (std::size_t j = 0; j < m_stages.size(); ++j)
            while (m_stages[j].weights < m_microbatches)
                weight(j);
        return true;
    }

    double span() const
    {
        double longest = 0;
        for (const Stage& stage : m_stages)
            longest = std::max(longest, stage.clock - stage.forwardEnd.front() + stage.times.forward);
        return longest;
    }
    std::vector<Action>& actions(std::size_t stage) { return m_stages[stage].actions; }

private:
    struct Stage {
        PassTimes times;
        PassMemory memory;
        int forwards = 0, inputs = 0, weights = 0; ///< done
        double clock = 0, held = 0;
        double bubble = 0; ///< idle since its first action
        std::vector<double> forwardEnd, inputEnd;
        std::vector<Action> actions;
    };

    double comm(std::size_t from) const { return m_stages[from].times.comm; }
    double forwardInput(std::size_t j) const // when the next forward's input arrives
    {
        return m_stages[j - 1].forwardEnd[asIndex(m_stages[j].forwards)] + comm(j - 1);
    }
    double gradientInput(std::size_t j) const { return m_stages[j + 1].inputEnd[asIndex(m_stages[j].inputs)] + comm(j); }
    /// A forward's activation, and what its I will make beyond it.
    static double roomOfForward(const Stage& stage) { return std::max(stage.memory.full, stage.memory.weight); }
    bool last(std::size_t j) const { return j + 1 == m_stages.size(); }

    void advance(Stage& stage, double cost, double readyEnd)
    {
        const double noBubble = stage.clock + cost;
        const double end = std::max(noBubble, readyEnd);
        if (stage.forwards > 0)
            stage.bubble += end - noBubble;
        stage.clock = end;
    }
    void forward(std::size_t j)
    {
        Stage& stage = m_stages[j];
        advance(stage, stage.times.forward, j > 0 ? forwardInput(j) + stage.times.forward : 0);
        stage.forwardEnd[asIndex(stage.forwards)] = stage.clock;
        stage.held += stage.memory.full;
        stage.actions.push_back(forwardOf(static_cast<int>(j), stage.forwards++));
    }
    void input(std::size_t j)
    {
        Stage& stage = m_stages[j];
        advance(stage, stage.times.backwardInput, last(j) ? 0 : gradientInput(j) + stage.times.backwardInput);
        stage.inputEnd[asIndex(stage.inputs)] = stage.clock;
        stage.held -= stage.memory.full - stage.memory.weight;
        stage.actions.push_back(inputGradientOf(static_cast<int>(j), stage.inputs++));
    }
    void weight(std::size_t j)
    {
        Stage& stage = m_stages[j];
        advance(stage, stage.times.backwardWeight, 0);
        stage.held -= stage.memory.weight;
        stage.actions.push_back(weightGradientOf(static_cast<int>(j), stage.weights++));
    }
    double largestBubble() const
    {
        m_poll(m_stages.size());
        double largest = 0;
        for (const Stage& stage : m_stages)
            largest = std::max(largest, stage.bubble);
        return largest;
    }

    void firstRound();
    std::vector<int> warmupForwards() const;
    bool leavesForward(std::size_t j) const;
    bool forwardsOfRound();
    bool inputGradientsOfRound();
    void fillGap(std::size_t j, double until);
    bool makeRoom(std::size_t j, double needed);

    int m_microbatches;
    double m_limit;
    Settings m_settings;
    std::vector<Stage> m_stages;
    mutable CancelPoll m_poll;
};

/// How many forwards beyond the first fit before each stage's first input gradient, in time and memory; from the last stage up,
/// and strictly more on earlier stages.
std::vector<int> Greedy::warmupForwards() const
{
    std::vector<int> extra(m_stages.size(), 0);
    const Stage& end = m_stages.back();
    double gradientAt = end.forwardEnd.front() + end.times.backwardInput;
    for (std::size_t j = m_stages.size() - 1; j-- > 0;) {
        const Stage& stage = m_stages[j];
        double held = stage.held;
        double clock = stage.clock;
        const double arrives = gradientAt + comm(j);
        while (stage.forwards + extra[j] < m_microbatches && held + roomOfForward(stage) <= m_limit &&
               !(m_settings.lateFirstBackward ? clock + stage.times.forward > arrives : clock >= arrives)) {
            held += stage.memory.full;
            clock += stage.times.forward;
            ++extra[j];
        }
        gradientAt = std::max(clock, arrives) + stage.times.backwardInput;
    }
    for (std::size_t j = 1; j < m_stages.size(); ++j)
        while (extra[j] > 0 && extra[j] >= extra[j - 1] && m_stages[j].forwards + extra[j] < m_microbatches)
            --extra[j];
    return extra;
}

void Greedy::firstRound()
{
    for (std::size_t j = 0; j < m_stages.size(); ++j)
        forward(j);
    const std::vector<int> extra = warmupForwards();
    for (std::size_t j = 0; j < m_stages.size(); ++j)
        for (int i = 0; i < extra[j]; ++i)
            forward(j);
    for (std::size_t j = m_stages.size(); j-- > 0;)
        input(j);
}

/// Two forwards or more ahead of the next stage, another one helps nobody: it is left out if it would come too late for the next
/// stage to use, or if waiting costs no more than the largest bubble.
bool Greedy::leavesForward(std::size_t j) const
{
    const Stage& stage = m_stages[j];
    if (last(j) || !m_settings.leaveForwards || stage.forwards < m_stages[j + 1].forwards + 2)
        return false;
    const Stage& next = m_stages[j + 1];
    const double nextDone = next.clock + next.times.forward + next.times.backwardInput + comm(j);
    if (stage.clock >= nextDone)
        return true;
    double held = stage.held + roomOfForward(stage);
    double weights = 0;
    for (int w = stage.weights; held > m_limit && w < stage.inputs; ++w) {
        weights += stage.times.backwardWeight;
        held -= stage.memory.weight;
    }
    if (stage.clock + stage.times.forward + weights <= nextDone)
        return false;
    return nextDone - stage.clock <= largestBubble() - stage.bubble;
}

bool Greedy::makeRoom(std::size_t j, double needed)
{
    while (m_stages[j].held + needed > m_limit) {
        if (m_stages[j].weights >= m_stages[j].inputs)
            return false;
        weight(j);
    }
    return true;
}

/// Weight gradients while the stage would wait anyway; one more that runs over, where the wait would become the largest bubble.
void Greedy::fillGap(std::size_t j, double until)
{
    Stage& stage = m_stages[j];
    while (stage.weights < stage.inputs && stage.clock + stage.times.backwardWeight <= until)
        weight(j);
    if (stage.weights < stage.inputs && stage.clock < until &&
        (m_settings.fillFreeGaps || until - stage.clock > largestBubble() - stage.bubble))
        weight(j);
}

bool Greedy::forwardsOfRound()
{
    std::vector<char> takes(m_stages.size(), 0);
    for (std::size_t j = 0; j < m_stages.size(); ++j)
        takes[j] = m_stages[j].forwards < m_microbatches && !leavesForward(j) ? 1 : 0;
    for (std::size_t j = m_stages.size() - 1; j-- > 0;)
        takes[j] = std::min(takes[j], takes[j + 1]);
    for (std::size_t j = 0; j < m_stages.size(); ++j) {
        if (!takes[j])
            continue;
        if (!makeRoom(j, roomOfForward(m_stages[j])))
            return false;
        if (j > 0)
            fillGap(j, forwardInput(j));
        forward(j);
    }
    return true;
}

bool Greedy::inputGradientsOfRound()
{
    for (std::size_t j = m_stages.size(); j-- > 0;) {
        Stage& stage = m_stages[j];
        // With memory that differs by stage, a forward can have been left out once too often.
        if (stage.inputs >= stage.forwards || !makeRoom(j, stage.memory.weight - stage.memory.full))
            return false;
        if (!last(j))
            fillGap(j, gradientInput(j));
        if (j == 0 && stage.forwards == m_microbatches)
            while (stage.weights < stage.inputs)
                weight(j);
        input(j);
    }
    return true;
}

} // namespace

std::optional<GreedyPlan> planZeroBubble(int ranks, int microbatches, std::span<const PassTimes> times,
                                         std::span<const PassMemory> memory, double limit)
{
    std::optional<GreedyPlan> best;
    for (const bool late : {true, false})
        for (const bool leave : {true, false})
            for (const bool fill : {true, false}) {
                Greedy greedy(ranks, microbatches, times, memory, limit, {late, leave, fill});
                if (!greedy.run() || (best && greedy.span() >= best->span))
                    continue;
                best.emplace();
                best->span = greedy.span();
                best->schedule.ranks = ranks;
                best->schedule.microbatches = microbatches;
                for (int rank = 0; rank < ranks; ++rank) {
                    best->schedule.stageToRank.push_back(rank);
                    best->schedule.actions.push_back(std::move(greedy.actions(asIndex(rank))));
                }
            }
    return best;
}

namespace {

/// `multiple`: of what 1F1B holds: p micro-batches of the largest stage, but of the last stage, which has the logits, one. Where
/// I makes more than it frees (it runs the forward again), 1F1B holds that of one micro-batch too.
double limitOf(const ScheduleRequest& request, double multiple)
{
    double held = 0;
    double working = 0;
    for (std::size_t stage = 0; stage < request.memory.size(); ++stage) {
        const PassMemory& memory = request.memory[stage];
        const bool isLast = stage > 0 && stage + 1 == request.memory.size();
        held = std::max(held, isLast ? memory.full : request.ranks * memory.full);
        working = std::max(working, memory.weight - memory.full);
    }
    return multiple * held + working;
}

/// 1F1B's order, each backward split where it stands: a stage never holds more than 1F1B does, whatever the stages' sizes.
Schedule splitOneFOneB(const ScheduleRequest& request)
{
    return filled(loopSchedule(request), 3 * asIndex(request.microbatches), [&](int rank, auto& actions) {
        const int warmup = std::min(request.ranks - 1 - rank, request.microbatches);
        for (int microbatch = 0; microbatch < warmup; ++microbatch)
            actions.push_back(forwardOf(rank, microbatch));
        for (int microbatch = 0; microbatch < request.microbatches; ++microbatch) {
            if (warmup + microbatch < request.microbatches)
                actions.push_back(forwardOf(rank, warmup + microbatch));
            actions.push_back(inputGradientOf(rank, microbatch));
            actions.push_back(weightGradientOf(rank, microbatch));
        }
    });
}

template <int multiple>
Schedule makeGreedy(const ScheduleRequest& request)
{
    auto plan = planZeroBubble(request.ranks, request.microbatches, request.times, request.memory, limitOf(request, multiple));
    if (!plan) // the greedy lost its way between stages of different sizes
        return splitOneFOneB(request);
    plan->schedule.kind = request.kind;
    return std::move(plan->schedule);
}

} // namespace

ScheduleFamily zb1pFamily()
{
    return {.kind = "zb-1p",
            .title = "ZB-1p",
            .character = "planned by the passes' real times, to hold about as much as 1F1B; where no plan fits, in 1F1B's order",
            .source = "Qi et al., arXiv 2401.10241, section 3.1; sail-sg zero-bubble",
            .chunks = {1, 1},
            .plansByCost = true,
            .make = makeGreedy<1>};
}

ScheduleFamily zb2pFamily()
{
    return {.kind = "zb-2p",
            .title = "ZB-2p",
            .character =
                "planned by the passes' real times, to hold about twice as much as 1F1B: the slowest rank hardly waits; where no "
                "plan fits, in 1F1B's order",
            .source = "Qi et al., arXiv 2401.10241, section 3.1; sail-sg zero-bubble",
            .chunks = {1, 1},
            .plansByCost = true,
            .make = makeGreedy<2>};
}

} // namespace sim
