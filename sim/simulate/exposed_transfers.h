// When a rank waits for a transfer or for its host's launches and computes nothing: what Metrics' exposed communication is the
// sum of.
#pragma once

#include "sim/mesh/dimension.h"
#include "sim/program/communicator_role.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sim {

struct ExposedTransfer {
    std::int64_t beginNs = 0, endNs = 0;
    std::optional<Dimension> dimension; ///< nothing: of the host, or its launches
    bool operator==(const ExposedTransfer&) const = default;
};

/// Of the ranks of a class, in order of time; every instant once, as in TimeShares. O(ops of a rank).
std::vector<ExposedTransfer> exposedTransfers(const Simulation&, int classIndex);

/// The kind of what waits for its launch; and, where the software has such, of what the host does once a step before it launches
/// the optimizer: Stack::stepMs.
inline constexpr const char *kLaunches = "launches", *kHostStep = "work of the host before the optimizer";

/// Exposed time by what is transferred: the collectives, sends and copies of one name; or kLaunches, kHostStep.
struct ExposedKind {
    std::string op;                                 ///< its name: "attn.out.sum"
    double seconds = 0;                             ///< of the step, mean over all ranks
    CommunicatorRole role = CommunicatorRole::none; ///< of a collective
    bool isHostsWork = false;                       ///< not on its way there or back
};
/// The longest first; they add up to what Metrics::exposedComm says of a dimension, and Metrics::exposedHost of the host.
struct ExposedKinds {
    ByDimension<std::vector<ExposedKind>> ofDimension;
    std::vector<ExposedKind> ofHost;
    const std::vector<ExposedKind>& operator[](Dimension dimension) const { return ofDimension[dimension]; }
};
/// O(ops of all classes).
ExposedKinds exposedKinds(const Simulation&);

/// How long transfers of a dimension run in a step, waited for or not; mean over all ranks. O(ops of all classes).
double transferSeconds(const Simulation&, Dimension);

} // namespace sim
