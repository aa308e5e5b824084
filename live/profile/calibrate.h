// A hardware profile from what runs recorded: kernels by the shapes that the simulator gives the operators of their names,
// transfers by size and members.
#pragma once

#include "live/profile/observe.h"
#include "sim/scenario/scenario.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace live {

class Calibration {
public:
    /// Spans of kernels that the simulator does not have are left out.
    void add(const ObservedRun&);

    /// The measured shapes, each at the mean over its places in a step of the median over steps (others use the machine too).
    /// Curves of `base` keep their form between and beyond those shapes, scaled to meet them.
    sim::HardwareProfile profile(const sim::HardwareProfile& base = {}) const;

    /// Tokens of the busiest expert-parallel rank over the mean, as runs of the scenario's model chose experts, in the mean over
    /// layers and micro-batches; none if no run did. Weights that were not trained prefer some experts by chance.
    std::optional<double> imbalance(const sim::Scenario&) const;

private:
    using Shape = std::tuple<double, double, double, double>;                  ///< m, n, k, batch
    using Times = std::map<std::string, std::map<Shape, std::vector<double>>>; ///< curve → shape → seconds
    Times m_kernels, m_transfers;
    std::map<std::string, std::vector<std::vector<std::int64_t>>> m_routings; ///< model → tokens of each expert
};

} // namespace live
