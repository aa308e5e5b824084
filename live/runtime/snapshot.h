// The whole model's values, put together from the slices that ranks hold: to lay layouts side by side.
#pragma once

#include "live/runtime/rank.h"

#include <span>
#include <string>

namespace live {

/// Adds what a rank holds and counts. Between steps, or where its gradients are complete.
void addToSnapshot(Rank&, Quantity, Snapshot&);

/// Pieces of bounded size of what a rank holds and counts: called with the parameter, the first element's place in the rank's
/// slice of it, and the elements.
void forEachPiece(Rank&, Quantity, const std::function<void(const ParameterSpec&, std::int64_t, std::span<const double>)>&);

/// How far two snapshots are apart.
struct SnapshotDifference {
    double relative = 0;   ///< largest ||a - b|| / ||a|| of a parameter (Frobenius norms; 0 / 0 = 0)
    double largest = 0;    ///< largest |a - b| of an element
    std::string worst;     ///< the parameter of `relative`
    bool identical = true; ///< every element equal
};
/// Throws sim::Error if they are not of the same model.
SnapshotDifference compare(const Snapshot& expected, const Snapshot& actual);

} // namespace live
