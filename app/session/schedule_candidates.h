// What each schedule family would make of the job at hand: for the schedule chooser.
#pragma once

#include "sim/scenario/document.h"
#include "sim/schedule/evaluate.h"
#include "sim/simulate/memory_cap.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace app {

/// A schedule to be drawn: of the job with the family, or, where its ranks and passes are too many to be told apart, a small one.
struct ScheduleSketch {
    sim::Schedule schedule;
    sim::ScheduleTimes times;
};

/// Of the job with it, simulated.
struct ScheduleWorth {
    double stepSeconds = 0;
    double idleOfSpan = 0;            ///< of the rank that takes longest, between its passes; not the step's bubble
    std::int64_t activationBytes = 0; ///< at the peak of the fullest rank
    double peakMicrobatches = 0;      ///< the most that a rank holds, in micro-batches of a p-th of the model
    std::optional<sim::Misfit> misfit;
};

struct ScheduleCandidate {
    std::string kind, title, character, source;
    bool isCurrent = false;
    // Known once it is weighed:
    bool isWeighed = false;
    int virtualStages = 1;
    std::string whyNot; ///< what stands in its way and what would do; empty if it can be chosen
    std::optional<ScheduleWorth> worth;
    std::optional<ScheduleSketch> sketch;
    bool isSketchOwn = false; ///< of the job
};

/// In the order of sim::scheduleFamilies(). Kinds that are not available yet are left out, and `custom` where it is not what the
/// document has.
using ScheduleCandidates = std::vector<ScheduleCandidate>;
/// None is weighed yet: at once, however large the job is.
ScheduleCandidates listedCandidates(const sim::Scenario& lastLegal);
/// One of them simulated, which takes as long as a step of the job with it. Throws Cancelled.
ScheduleCandidate weighedCandidate(ScheduleCandidate, const sim::ScenarioDocument&, const sim::Catalogue&,
                                   const sim::Scenario& lastLegal);

} // namespace app
