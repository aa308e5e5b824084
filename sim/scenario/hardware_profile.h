// Measured hardware profiles as JSON: the keys of an `efficiency` object that hold curves.
#pragma once

#include "sim/scenario/json_text.h"
#include "sim/scenario/scenario.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sim {

inline constexpr std::size_t kMostProfileBytes = 1U << 20U; ///< of a file; beyond, it is none

/// A list of kernel_curve or transfer_curve of the schema, which has checked it.
std::vector<MeasuredCurve> curvesFromJson(const Json&);
/// Its keys in an `efficiency` object; only those that say something.
Json toJson(const HardwareProfile&);

/// A file that `cluster.efficiency` can name: the id, and what was measured. One line a measurement.
std::string hardwareProfileText(const std::string& id, const HardwareProfile&);
/// Reads one; throws Error with every problem. `schema` is the scenario's.
class Schema;
HardwareProfile readHardwareProfile(const std::string& text, const std::string& file, const Schema& schema);

} // namespace sim
