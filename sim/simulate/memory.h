// What a rank holds in the course of a step: states that stay, activations and buffers that come and go, and whose they are.
#pragma once

#include "sim/simulate/metrics.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// Columns over time. Values hold from their time to the next; of many changes at one instant the highest sum and the last are
/// kept.
struct MemoryCurves {
    /// Held from first to last: parameters, gradients, optimizer; as buffers the parameters gathered for the whole step
    /// and narrow copies of weights.
    MemoryBreakdown states;
    std::vector<std::int64_t> timeNs; ///< ascending, the first one 0
    std::vector<std::int64_t> activations;
    std::vector<std::int64_t> buffers; ///< beside those of the states

    std::size_t size() const { return timeNs.size(); }
    MemoryBreakdown at(std::size_t point) const;
    /// Where the sum is highest, the first such place. O(points)
    std::size_t peak() const;
    /// A time before the last one counts as the last one: memory is taken and freed in the order in which ops are issued.
    void add(std::int64_t atNs, std::int64_t activationBytes, std::int64_t bufferBytes);
};

/// What some micro-batches keep for their backward passes on a stage, each as much.
struct HeldMicrobatches {
    int stage = 0;
    std::vector<int> microbatches; ///< ascending, numbered as in the schedule
    std::int64_t bytesEach = 0;
    std::int64_t bytes() const { return bytesEach * static_cast<std::int64_t>(microbatches.size()); }
    bool operator==(const HeldMicrobatches&) const = default;
};

/// What the operators of one name keep, over all layers and micro-batches.
struct HeldTensors {
    std::string name; ///< as the kernel's: "attn.core"
    std::int64_t bytes = 0;
    bool operator==(const HeldTensors&) const = default;
};

/// All that a rank holds at one time.
struct MemoryContents {
    MemoryBreakdown sum;
    std::vector<HeldMicrobatches> microbatches; ///< all activations, by stage, those that hold most first
    std::vector<HeldTensors> tensors;           ///< all activations once more, most bytes first
    std::int64_t narrowWeights = 0;             ///< of the buffers: copies of weights for products in 8 or 4 bits
    std::int64_t messageBuffers = 0;            ///< of the buffers: tensors that other stages send into, and results kept
    std::int64_t reductionBuffers = 0;          ///< of the buffers: where gradients come together before they are reduced
    std::int64_t gatheredParameters = 0;        ///< of the buffers
    std::int64_t wholeGradients = 0;            ///< of the buffers: not yet reduced, beyondShardBytes where they add up
    std::int64_t startedAhead = 0;              ///< of the buffers: of what the host has started before the GPU has come to it
};

} // namespace sim
