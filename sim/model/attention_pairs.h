// How many products of a query with a key attention needs: what full, sliding and chunked layers differ by.
#pragma once

#include "sim/scenario/scenario.h"

#include <cstdint>

namespace sim {

/// (query, key) pairs of the queries [first, last) of a sequence in one head of a layer of this type. Causal attention of query i
/// sees the i + 1 keys up to its own, of which a window of w leaves min(i + 1, w) and a chunk those of its chunk. The whole
/// triangle is counted as half of the square (Megatron-LM's convention, and everybody's), which leaves out half of the diagonal;
/// a window or chunk is counted exactly, and never as more than the triangle. Without causality twice as many: a window reaches
/// as far to either side. O(1); parts of a sequence add up to the whole.
double attentionPairs(const Model&, LayerType, std::int64_t first, std::int64_t last, bool causal);

/// Keys that the queries [first, last) of a sequence see among them: those that a kernel which skips the rest reads.
std::int64_t keysSeen(const Model&, LayerType, std::int64_t sequenceLength, std::int64_t first, std::int64_t last, bool causal);

/// Layers of this type, those of prediction modules among them.
int attendingLayers(const Model&, LayerType);

/// Pairs of one head in all layers over a causal sequence, divided by its length: keys that a token sees, added up over layers.
double keysSeenInAllLayers(const Model&, std::int64_t sequenceLength);

} // namespace sim
