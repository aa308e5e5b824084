// DualPipe and DualPipeV (DeepSeek-V3, arXiv 2412.19437; the eight steps of their published step()). A forward of one direction
// and a backward of the other run as one block, so that each hides the other's expert communication.
//
// DualPipe runs two copies of the model in opposite directions. DualPipeV joins the two directions to a V: "direction 1" is then
// the way back, of the same micro-batches. The eight steps are the same.
#include "sim/cancel.h"
#include "sim/schedule/families/family_parts.h"

#include <array>
#include <deque>

namespace sim {

namespace {

/// A rank's lists by the eight steps. Side 0 is the direction that is entered nearer to this rank.
class EightSteps {
public:
    struct Side {
        int stage = 0, firstMicrobatch = 0;
        int forwards = 0, backwards = 0;
    };

    EightSteps(std::vector<Action>& actions, std::array<Side, 2> sides) : m_actions(actions), m_sides(sides) {}

    /// `distance`: ranks between this one and the entry; `depth`: ranks of a side; `microbatches` of a side; `middle`: this rank
    /// holds the turning point of both sides, whose first pair depends on itself and cannot overlap.
    void run(int distance, int depth, int microbatches, bool middle)
    {
        const int inner = depth - distance - 1; // ranks between this one and the turning point
        for (int i = 0; i < 2 * inner; ++i)
            forward(0);
        for (int i = 0; i < distance + 1; ++i) {
            forward(0);
            forward(1);
        }
        for (int i = 0; i < inner; ++i) {
            input(1);
            weight();
            forward(1);
        }
        for (int i = 0; i < microbatches - 2 * depth + distance + 1; ++i) {
            if (i == 0 && middle) {
                forward(0);
                backward(1);
            } else {
                both(0, 1);
            }
            both(1, 0);
        }
        for (int i = 0; i < inner; ++i) {
            backward(1);
            both(1, 0);
        }
        // Half way through the last backwards, weight gradients are put off to fill the drain.
        bool split = false;
        for (int i = 0; i < distance + 1; ++i) {
            const bool half = i == (distance + 1) / 2;
            split = split || (half && distance % 2 == 1);
            split ? input(1) : backward(1);
            split = split || (half && distance % 2 == 0);
            split ? input(0) : backward(0);
        }
        for (int i = 0; i < inner; ++i) {
            weight();
            input(0);
        }
        while (!m_owed.empty())
            weight();
    }

private:
    Action nextForward(std::size_t side)
    {
        Side& of = m_sides[side];
        return forwardOf(of.stage, of.firstMicrobatch + of.forwards++);
    }
    Action nextBackward(std::size_t side)
    {
        Side& of = m_sides[side];
        return backwardOf(of.stage, of.firstMicrobatch + of.backwards++);
    }
    void forward(std::size_t side) { m_actions.push_back(nextForward(side)); }
    void backward(std::size_t side) { m_actions.push_back(nextBackward(side)); }
    void both(std::size_t forwardSide, std::size_t backwardSide)
    {
        const Action first = nextForward(forwardSide);
        appendBlock(m_actions, first, nextBackward(backwardSide));
    }
    void input(std::size_t side)
    {
        const Action full = nextBackward(side);
        m_actions.push_back(inputGradientOf(full.stage, full.microbatch));
        m_owed.push_back(weightGradientOf(full.stage, full.microbatch));
    }
    void weight()
    {
        m_actions.push_back(m_owed.front());
        m_owed.pop_front();
    }

    std::vector<Action>& m_actions;
    std::array<Side, 2> m_sides;
    std::deque<Action> m_owed; ///< weight gradients put off, oldest first
};

Schedule makeDualpipe(const ScheduleRequest& request)
{
    Schedule schedule = vSchedule(request); // the second copy runs the other way, as the way back of a V does
    schedule.chains = 2;
    const int ranks = request.ranks;
    const int half = request.microbatches / 2;
    for (int rank = 0; rank < ranks; ++rank) {
        checkCancelled();
        EightSteps::Side near{.stage = rank, .firstMicrobatch = 0};
        EightSteps::Side far{.stage = 2 * ranks - 1 - rank, .firstMicrobatch = half};
        int distance = rank;
        if (rank >= ranks / 2) {
            std::swap(near, far);
            distance = ranks - 1 - rank;
        }
        EightSteps(schedule.actions[static_cast<std::size_t>(rank)], {near, far})
            .run(distance, ranks / 2, half, distance == ranks / 2 - 1);
    }
    return schedule;
}

Schedule makeDualpipeV(const ScheduleRequest& request)
{
    Schedule schedule = vSchedule(request);
    const int ranks = request.ranks;
    for (int rank = 0; rank < ranks; ++rank) {
        checkCancelled();
        EightSteps(schedule.actions[static_cast<std::size_t>(rank)],
                   {EightSteps::Side{.stage = rank}, EightSteps::Side{.stage = 2 * ranks - 1 - rank}})
            .run(rank, ranks, request.microbatches, rank == ranks - 1);
    }
    return schedule;
}

} // namespace

ScheduleFamily dualpipeFamily()
{
    return {.kind = "dualpipe",
            .title = "DualPipe",
            .character = "two directions at once hide expert communication, for two copies of the weights",
            .source = "DeepSeek-V3, arXiv 2412.19437; DeepSeek's DualPipe",
            .chunks = {2, 2},
            .modelCopies = 2,
            .wantsRanks = "enters from both ends and needs an even number of pipeline ranks",
            .takesRanks = [](std::int64_t ranks) { return ranks % 2 == 0; },
            .microbatches = {
                .isMet = [](const PipelineNumbers& of) { return of.microbatches >= 2 * of.ranks && of.microbatches % 2 == 0; },
                .text =
                    [](const PipelineNumbers& of, const std::string&) {
                        return "an even number, half for each direction, of at least " + std::to_string(2 * of.ranks);
                    }},
            .make = makeDualpipe};
}

ScheduleFamily dualpipeVFamily()
{
    return {.kind = "dualpipe-v",
            .title = "DualPipeV",
            .character = "DualPipe with its two halves joined to a V: one copy of the weights on half the ranks",
            .source = "DeepSeek's DualPipe (DualPipeV); PyTorch ScheduleDualPipeV",
            .chunks = {2, 2},
            .microbatches = {
                .isMet = [](const PipelineNumbers& of) { return of.microbatches >= 2 * of.ranks; },
                .text = [](const PipelineNumbers& of, const std::string&) { return "at least " + std::to_string(2 * of.ranks); }},
            .make = makeDualpipeV};
}

} // namespace sim
