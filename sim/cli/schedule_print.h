// A schedule with its times, as a drawing and as JSON.
#pragma once

#include "sim/schedule/evaluate.h"
#include "sim/schedule/in_order.h"
#include "sim/schedule/synthesis.h"

#include <optional>
#include <string>
#include <vector>

namespace sim::cli {

/// What came of running it with communication in order: times, or why it hangs.
struct InOrderOutcome {
    InOrderTimes times;
    std::vector<std::string> problems; ///< not empty: there are no times
    std::string streams;               ///< as on the command line
};

void printAscii(const Schedule&, const ScheduleTimes&, const PassTimes&, const InOrderOutcome&);
/// `synthesis`: how near to the best the schedule is, of kind auto.
void printJson(const Schedule&, const ScheduleTimes&, const InOrderOutcome&, const std::optional<Synthesis>& synthesis);

} // namespace sim::cli
