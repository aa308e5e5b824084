// What a rank holds at a moment of the step, by what it is of. Like explain(), and shown the same way.
#pragma once

#include "sim/analysis/explain/explain.h"

#include <cstddef>
#include <cstdint>

namespace sim {

/// All of it (MetricId::peakMemory), or one of its parts (parameterMemory … bufferMemory), at a time.
Explanation explainHeld(const Simulation&, MetricId part, int rank, std::int64_t atNs);

/// What a GPU has: it was given.
Explanation explainCapacity(const Simulation&);

/// A part of the buffers at a time.
enum class HeldBuffer : std::uint8_t {
    narrowWeights,
    messageBuffers,
    reductionBuffers,
    startedAhead,
    gatheredParameters,
    wholeGradients
};
Explanation explainHeld(const Simulation&, HeldBuffer, int rank, std::int64_t atNs);

/// What a micro-batch, or a slice of one, keeps on a stage: `group` is one of MemoryContents::microbatches of that moment.
Explanation explainHeldMicrobatch(const Simulation&, int rank, std::int64_t atNs, std::size_t group);
/// What operators of a name keep: `tensor` is one of MemoryContents::tensors of that moment.
Explanation explainHeldTensors(const Simulation&, int rank, std::int64_t atNs, std::size_t tensor);

} // namespace sim
