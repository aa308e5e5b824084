// Forwards and backwards of ranks whose passes nothing names: attention's kernels say in their names which way they go, and each
// layer of a pass runs them once.
#pragma once

#include "sim/recovery/evidence.h"
#include "sim/schedule/schedule.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sim {

/// What kernels are called tells of them, by index into RunEvidence::names.
struct KernelWords {
    explicit KernelWords(const RunEvidence&);
    std::vector<bool> isBackward, isAttention;
};

/// Attention of a rank within a window, in order of start: of each way the kernel that takes most time. A forward that is run
/// again for a backward is that backward's and not here.
struct PassDirections {
    std::vector<std::int64_t> forwardNs, backwardNs;
    bool areKnown() const { return !forwardNs.empty() && !backwardNs.empty(); }
    /// "FFBFBB": passes of `forwards` and `backwards` in the order in which they begin, each with as many kernels as the others
    /// of its way. Not known where there are fewer kernels than passes: empty.
    std::string asPasses(std::size_t forwards, std::size_t backwards) const;
};
PassDirections passDirections(const KernelWords&, const RankEvidence&, const std::pair<std::int64_t, std::int64_t>& window);

/// The same of a row: gradients of weights alone have no attention.
std::string directionsOf(const std::vector<Action>& row);

} // namespace sim
