// What holds for the numbers of every step, whatever its scenario.
#pragma once

#include "sim/simulate/simulation.h"

#include <string>

namespace test {

/// What is not as it must be, one a line: numbers that are not finite, times and bytes below zero, shares outside 0 … 1, parts
/// that are not their whole, work faster than the GPU's peaks (but for what was measured). Empty if all is well.
std::string brokenInvariants(const sim::Simulation&);

} // namespace test
