// What a micro-batch brings to a rank: tokens, what should follow them, where they stand.
#pragma once

#include "live/tensor/memory.h"

namespace live {

/// One row a token of this rank's part of the sequences (outside sequence-parallel regions).
struct Input {
    Array ids, targets; ///< i32 [rows, 1]
    Array positions;    ///< i32 [rows, 1]: in the whole sequence
    Array tokens;       ///< i64 [rows, 1]: global number of the token in the step, for dropout
    // Where heads become rows of their own (latent attention): row * heads + head.
    Array headPositions; ///< i32 [rows * heads, 1]
    Array headPlaces;    ///< i32 [rows, heads]: the numbers from 0 on
    int slice = 0;       ///< which part of the sequences (seq-1f1b)
    int microbatch = 0;  ///< without the slice
};

} // namespace live
