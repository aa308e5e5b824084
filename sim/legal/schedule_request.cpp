#include "sim/legal/schedule_request.h"

#include "sim/scenario/document.h"

#include <sstream>

namespace sim {

ScheduleRequest scheduleRequest(const Scenario& scenario)
{
    const std::string& kind = scenario.schedule.kind;
    return {.kind = kind,
            .ranks = scenario.layout.pp,
            .virtualStages = scenario.schedule.virtualStages,
            .microbatches = scenario.microbatches(),
            .microbatchGroup = scenario.schedule.microbatchGroup,
            .overlapExpertComm = scenario.training.overlap.epComm && (kind == "1f1b" || kind == "interleaved-1f1b"),
            .slices = scenario.schedule.sequenceSlices,
            .customActions = scenario.schedule.actions};
}

Schedule makeScheduleOf(const ScheduleRequest& request)
{
    try {
        return makeSchedule(request);
    } catch (const Error& error) {
        const char* const pointer = request.kind == "custom" ? "/schedule/actions" : "/schedule/kind";
        std::vector<Problem> problems;
        std::istringstream lines(error.what());
        for (std::string line; std::getline(lines, line);)
            problems.push_back({"", pointer, line});
        throw ScenarioError(std::move(problems));
    }
}

} // namespace sim
