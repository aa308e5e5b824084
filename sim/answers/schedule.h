// A pipeline's schedule judged by given times: what `rankscope-sim schedule --format json` answers, and its parts for those who
// print it otherwise.
#pragma once

#include "sim/answers/answers.h"
#include "sim/engine/in_order.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/search/synthesis.h"
#include "sim/simulate/memory_cap.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sim {

/// The schedule; the order of its communication where a file gave one; for auto how near it is to the best.
struct ChosenSchedule {
    Schedule schedule;
    std::optional<CommSchedule> communication = {};
    std::optional<Synthesis> synthesis = {};
    std::optional<MissedCap> missedCap = {};
};
/// Throws Error where the request cannot be met.
ChosenSchedule chooseSchedule(const ScheduleRequest&);
/// The order that simulate runs; `planned` is the scenario's planningRequest. Throws ScenarioError with the key.
ChosenSchedule chooseScheduleOf(const Scenario&, const ScheduleRequest& planned);

/// What the passes of each part of the model cost, in any unit; one entry holds for all.
struct PassPrices {
    std::vector<PassTimes> times = std::vector<PassTimes>(1);
    std::vector<PassMemory> memory = std::vector<PassMemory>(1);
};
/// A scenario's planned schedule is judged by what it was planned for, in milliseconds and GiB: turns the proof, too. Others are
/// judged by `given`.
PassPrices judgedBy(const ScheduleRequest& planned, PassPrices given, ChosenSchedule&);

/// Throws Error where timing a schedule, or writing its communication, would make more beside its actions than there should be.
void requireMemoryForTimes(const Schedule&);

/// What came of running it with communication in order: times, or why it hangs.
struct InOrderOutcome {
    InOrderTimes times;
    std::vector<std::string> problems; ///< not empty: there are no times
    std::string streams;               ///< as on the command line
};
InOrderOutcome runInOrder(const CommSchedule&, std::span<const PassTimes>, CommStreams, std::string nameOfStreams);

/// A rank's line of actions in PyTorch's words, blanks between them.
std::string rowText(const Schedule&, const std::vector<Action>&);
/// Calls visit(index, block) for each of a rank's blocks.
template <class Visit>
void forEachBlock(const std::vector<Action>& actions, Visit&& visit)
{
    for (std::size_t i = 0; i < actions.size();) {
        const ActionBlock block = blockAt(actions, i);
        visit(i, block);
        i += block.size();
    }
}

Answer scheduleAnswer(const ChosenSchedule&, const ScheduleTimes&, const InOrderOutcome&);
/// Of `schedule FILE --format json`: by 1 for each of F, I and W, or what the schedule was planned for.
Answer scheduleAnswer(const Scenario&);

} // namespace sim
