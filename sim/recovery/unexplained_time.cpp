#include "sim/recovery/unexplained_time.h"

#include "sim/recovery/rank_time.h"
#include "sim/recovery/recovered_json.h"
#include "sim/recovery/run_findings.h"
#include "sim/schedule/families/families.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sim {
namespace {

/// Ranks wait so many times as long as their passes take, by the schedule alone: its family's closed form, over the time without
/// the bubble, which no other idling lengthens. 0 where the schedule is unknown, or its family has no closed form.
double bubbleOverPasses(const Recovered& recovered)
{
    if (!hasPipeline(recovered) || recovered.schedule->microbatches < 1)
        return 0;
    const RecoveredSchedule& of = *recovered.schedule;
    const ScheduleFamily* const family = findScheduleFamily(of.kind);
    if (family == nullptr || family->bubble.of == nullptr)
        return 0;
    const auto [idle, all] =
        family->bubble.of(of.pipelineRanks, std::max(1, of.virtualStages), of.microbatches * std::max(1, of.slices));
    return all > idle ? static_cast<double>(idle) / (all - idle) : 0;
}

/// A rank's passes: what it computes, and what it exchanges in the midst of that.
double passesNs(const RankTime& rank)
{
    std::int64_t ns = rank.computingNs;
    for (const std::string_view axis : {std::string_view("tp"), std::string_view("cp"), std::string_view("ep"), kAllToAllUse})
        if (const auto exposed = rank.exposedByAxis.find(std::string(axis)); exposed != rank.exposedByAxis.end())
            ns += exposed->second;
    return static_cast<double>(ns);
}

} // namespace

std::vector<RunFinding> unexplainedTime(const Recovered& recovered, const RunAnswers& answers,
                                        const std::vector<RunFinding>& found)
{
    const std::vector<RankTime>& times = answers.times.ranks;
    const bool isHostTold = std::any_of(found.begin(), found.end(), [](const RunFinding& of) { return of.kind == "host-bound"; });
    const auto idleOf = [&](const RankTime& rank) {
        return static_cast<double>(rank.idleNs - (isHostTold ? rank.hostBoundNs : 0)) /
               std::max(1.0, static_cast<double>(rank.windowNs));
    };
    const double overPasses = bubbleOverPasses(recovered);
    double idle = 0, copies = 0, window = 0, bubble = 0;
    for (const RankTime& rank : times) {
        idle += idleOf(rank) * static_cast<double>(rank.windowNs);
        bubble += overPasses * passesNs(rank);
        copies += static_cast<double>(rank.copyNs);
        window += static_cast<double>(rank.windowNs);
    }
    std::vector<RunFinding> told;
    if (window <= 0 || !anyRan(times))
        return told;
    const auto ranks = static_cast<double>(times.size());
    const auto tell = [&](const char* kind, double ns, const char* does, const std::string& detail) {
        told.push_back({.kind = kind,
                        .title = percentText(ns / window) + " of the step the device " + does,
                        .detail = timeText(secondsOf(ns / ranks)) + " of the " + timeText(secondsOf(window / ranks)) +
                                  " of a rank's step" + detail,
                        .seconds = secondsOf(ns / ranks)});
    };
    if (copies > kWorthTelling * window)
        tell("copying", copies, "copies and does nothing else",
             ": data that stays on the device, or copies beside kernels, save it.");
    if ((!found.empty() && hasPipeline(recovered)) || idle <= bubble + kWorthTelling * window)
        return told;
    std::string detail;
    if (bubble > 0)
        detail += "; of that the schedule's own bubble, of " + std::to_string(recovered.schedule->stages) + " stages and " +
                  std::to_string(recovered.schedule->microbatches) + " micro-batches, is " + timeText(secondsOf(bubble / ranks));
    const auto idlest =
        std::max_element(times.begin(), times.end(), [&](const RankTime& a, const RankTime& b) { return idleOf(a) < idleOf(b); });
    if (idleOf(*idlest) > idle / window + kWorthTelling) // where one does, the mean tells little
        detail += "; rank " + std::to_string(recovered.evidence.ranks[static_cast<std::size_t>(idlest - times.begin())].rank) +
                  " idles longest, " + percentText(idleOf(*idlest));
    detail += bubble > 0 ? "; what else it waits for is not recorded." : "; what it waits for is not recorded.";
    tell("idle", idle, isHostTold ? "does nothing, and does not wait for its host" : "does nothing", detail);
    return told;
}

} // namespace sim
