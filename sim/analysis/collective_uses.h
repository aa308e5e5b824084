// The collectives and sends of a step, counted: how often which tensor goes over which communicator, and what for. What traffic
// adds up, before it is added up.
#pragma once

#include "sim/program/communicator_role.h"
#include "sim/program/program.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace sim {

/// What a collective moves, and when.
enum class CollectiveContent : std::uint8_t {
    activations,           ///< between the slices of a layer's matrices, or their gradients
    inputsAgain,           ///< gathered once more for weight gradients
    predictionInputs,      ///< embedding and hidden state side by side, of a prediction module
    predictionInputsAgain, ///< the same for its weight gradients
    queryLatents,          ///< of latent attention, behind their norm, or their gradients
    queryLatentsAgain,     ///< gathered once more for weight gradients, or to be projected up again
    keyValueLatents,
    keyValueLatentsAgain,
    rotatedKeys,     ///< of latent attention: the part that all heads share
    allHeads,        ///< queries, keys and values of all heads, or their gradients
    latents,         ///< what an adapter's A makes, between it and B, or their gradients
    lossSums,        ///< of the cross-entropy over a vocabulary in slices
    logits,          ///< of all slices of the vocabulary, for a loss that each rank takes whole
    keysAndValues,   ///< one block of a ring, with their gradients on the way back; or all blocks, or all gradients
    exchangedHeads,  ///< queries, keys and values, parts of the sequence for heads, or their gradients back
    exchangedOutput, ///< attention's, heads for parts of the sequence, or its gradient back
    tokens,          ///< routed to experts, and back
    gradients,
    replicaGradients, ///< what a sharding group has reduced, among its replicas
    embeddingGradient,
    copyGradients, ///< of two copies of the model in one pipeline
    parameters
};

/// Of a collective op by its name: "grad.reduce".
CollectiveContent contentOf(std::string_view label);

enum class CollectivePhase : std::uint8_t { forward, backward, recomputation, step };

/// Collectives alike in all that their volume depends on.
struct CollectiveUse {
    CommunicatorRole role = CommunicatorRole::none;
    CollectiveContent content = CollectiveContent::activations;
    CollectivePhase phase = CollectivePhase::forward;
    CollectiveSends sends = CollectiveSends::twiceRound; ///< all of the kinds
    std::set<CollectiveKind> kinds;                      ///< all of them
    bool reducedInNetwork = false;
    bool ofLayers = false;  ///< else of the embedding, the head or the whole step
    std::int64_t bytes = 0; ///< of each one's tensor; states: of all together, one rank of each stage
    int narrowedBy = 1;     ///< times as narrow as activations are: 2 in 8 bits, of 16
    std::int64_t count = 0; ///< one rank of each stage together; states: 1
    /// Layers of the model, by how often each has them, all ranks that hold it together; empty where it is not of layers.
    std::map<std::int64_t, int> layersByCount;
    std::int64_t ranks = 0; ///< of each stage that take part; 0: not as many of each
    std::int64_t times = 0; ///< count × ranks, or the same sum where stages differ
    int members = 1;        ///< of the communicator
    /// Of an all-to-all: of the copies of a token, those that are sent. Members that are alone in their nodes hand none on, and
    /// two copies for one of them go as one. A mean where groups lie differently.
    double leaving = 1;
    /// Parameters and gradients: their tensors have the sizes of layers.
    bool isOfStates() const { return content >= CollectiveContent::gradients; }
};
std::vector<CollectiveUse> collectiveUses(const Simulation&);

/// How keys and values get to the other ranks of cp: block by block round a ring beside attention, or all before it, as windows,
/// chunks and attention that is not fused need them; or none do, as parts of the sequence are exchanged for heads.
struct KeyExchange {
    bool inRing = false, gathered = false, forHeads = false;
};
KeyExchange keyExchange(const std::vector<CollectiveUse>&);

/// What stages send each other.
struct PipelineSends {
    std::int64_t bytes = 0;     ///< of one send
    std::int64_t count = 0;     ///< one rank of each stage together
    std::int64_t crossings = 0; ///< stage boundaries between two ranks that a micro-batch passes on its way forward
};
PipelineSends pipelineSends(const Simulation&);

} // namespace sim
