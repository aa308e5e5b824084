// Where days and GPU hours of a whole run come from.
#pragma once

#include "sim/analysis/explain/explain.h"

namespace sim {

/// `tokens`: of the run, whether the scenario says so or not. With what failures cost (lastingRun).
Explanation explainRunTime(const Simulation&, double tokens);
Explanation explainRunGpuHours(const Simulation&, double tokens);

} // namespace sim
