// What each schedule family would make of the job at hand: for the schedule chooser.
#pragma once

#include "app/session/pass_times.h"
#include "sim/scenario/document.h"
#include "sim/schedule/evaluate.h"

#include <optional>
#include <string>
#include <vector>

namespace app {

/// A small schedule of the family, to be drawn.
struct ScheduleSketch {
    sim::Schedule schedule;
    sim::ScheduleTimes times;
};

struct ScheduleWorth {
    std::optional<double> stepSeconds; ///< of the job with it, simulated; nothing where nothing of the job is
    double makespanNs = 0;             ///< by pass times, pipeline alone: no optimizer, no data-parallel communication
    double idleOfSpan = 0;             ///< of the rank that takes longest, between its passes; not the step's bubble
    double peakMicrobatches = 0;       ///< activations of the fullest rank, in micro-batches of a p-th of the model
    double peakOver1f1b = 0;           ///< the same as a multiple of what 1F1B holds
};

struct ScheduleCandidate {
    std::string kind, title, character, source;
    int virtualStages = 1;
    bool isCurrent = false;
    std::string whyNot; ///< what stands in its way and what would do; empty if it can be chosen
    std::optional<ScheduleWorth> worth;
    std::optional<ScheduleSketch> sketch;
};

struct ScheduleCandidates {
    std::vector<ScheduleCandidate> all; ///< in the order of sim::scheduleFamilies()
    bool isMeasured = false;            ///< steps are simulated, pass times of the present simulation; else F : I : W = 1 : 1 : 1
    bool splitIsMeasured = false;
};

/// `trace` holds the actions of the present simulation, or is nullptr. Kinds that are not available yet are left out, and
/// `custom` where it is not what the document has.
ScheduleCandidates scheduleCandidates(const sim::ScenarioDocument&, const sim::Catalogue&, const sim::Scenario& lastLegal,
                                      const sim::Schedule* present, const sim::Trace* trace);

} // namespace app
