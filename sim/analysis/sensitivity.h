// Which constants of a prediction it hangs on: the same step once more with each of them a little larger. What the answer
// hardly depends on need not be known better.
#pragma once

#include "sim/simulate/simulation.h"

#include <optional>
#include <string>
#include <vector>

namespace sim {

/// By how much each constant is enlarged.
inline constexpr double kSensitivityChange = 0.1;

struct Sensitivity {
    std::string key;             ///< as the scenario's file names it: "cluster.efficiency.gemm"
    std::string meaning;         ///< "share of peak that matrix products reach"
    std::optional<double> value; ///< as it stands, in the file's unit; nothing where several numbers are enlarged together
    double stepTimeChange = 0;   ///< relative, with the constant `change` larger
    /// Of the value. Where a value of 1 has no effect, what lies above it is enlarged by kSensitivityChange: the value by less.
    double change = kSensitivityChange;
    /// Not as 0.0 %.
    bool isShown() const;
};

/// Constants of the GPU, the network and the software that change the step time, the weightiest first. Runs the engine some
/// thirty times.
std::vector<Sensitivity> sensitivities(const Simulation&);
/// "10 % more of the share of peak that matrix products reach, and the step is 6.8 % shorter; …", the weightiest three.
std::string sensitivityText(const std::vector<Sensitivity>&);

} // namespace sim
