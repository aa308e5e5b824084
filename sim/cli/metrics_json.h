// The metrics of a step as the contract's JSON.
#pragma once

#include "sim/analysis/metrics.h"

#include <nlohmann/json.hpp>

namespace sim::cli {

nlohmann::ordered_json metricsJson(const Metrics&);

} // namespace sim::cli
