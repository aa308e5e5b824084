// How unevenly experts keep the ranks of their groups at work: between the all-to-all that hands tokens out and the one that
// brings them back, each rank computes as long as its experts have tokens.
#pragma once

#include "sim/recovery/recover.h"

#include <vector>

namespace sim {

/// Of one group of experts, over RecoveredSteps::usual().
struct GroupLoad {
    std::vector<int> ranks;        ///< global, ascending
    int busiest = -1;              ///< global rank that computes longest between its all-to-alls
    double longer = 0;             ///< by how much of its group's mean
    double ofSection = 0;          ///< the same of whoever is longest in a section, mean over sections: of loads that come and go
    double ofSectionElsewhere = 0; ///< as much between layers of experts: slow GPUs and busy hosts differ there as well
    double waitedNs = 0;           ///< a step: what the others wait in the mean for the longest, section by section
    std::size_t sections = 0;      ///< a step
};

/// Groups whose members are recorded and compute as often between their all-to-alls; the one that waits most first. What has
/// attention or the loss in it lies between layers of experts. O(spans).
std::vector<GroupLoad> expertLoads(const Recovered&);

} // namespace sim
