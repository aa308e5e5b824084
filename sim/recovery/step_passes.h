// The passes of one rank in one recorded step, and which of them a kernel or a time belongs to.
#pragma once

#include "sim/recovery/recover.h"

#include <cstdint>
#include <vector>

namespace sim {

struct StepPass {
    std::int64_t startNs = 0, endNs = 0;
    Action action; ///< with slices, its micro-batch is micro-batch · slices + slice
};

class StepPasses {
public:
    /// Marks of the device where it has them: these say when kernels ran, the host's when they were asked for. Without marks
    /// those that were inferred, of the typical step. Indices into RecoveredSteps::steps and RunEvidence::ranks.
    StepPasses(const Recovered&, std::size_t step, std::size_t rank);

    const std::vector<StepPass>& all() const { return m_passes; } ///< by start
    /// nullptr: of none. Streams run out of the order in which the host asked: each kernel looks for itself.
    const StepPass* of(const WorkSpan&) const;
    /// Of what the device does at a time, where its passes are known.
    const StepPass* onDeviceAt(std::int64_t ns) const { return m_onDevice ? at(ns) : nullptr; }

private:
    /// The innermost that runs then; of two that overlap as one block the first. O(log passes + passes within passes).
    const StepPass* at(std::int64_t ns) const;

    std::vector<StepPass> m_passes;
    bool m_onDevice = false;
    std::vector<std::int64_t> m_lastEnd; ///< of all passes up to this one
};

} // namespace sim
