// The whole model's values, put together from the slices that ranks hold: to lay layouts side by side.
#pragma once

#include "live/runtime/rank.h"

#include <map>
#include <string>
#include <vector>

namespace live {

enum class Quantity : std::uint8_t { value, gradient, firstMoment, secondMoment };

/// Parameter name -> all elements of the whole matrix, row by row (padding of the vocabulary left out).
using Snapshot = std::map<std::string, std::vector<double>>;

/// Adds what a rank holds and counts. Between steps, or where its gradients are complete.
void addToSnapshot(Rank&, Quantity, Snapshot&);

/// How far two snapshots are apart.
struct Difference {
    double relative = 0;   ///< largest ||a - b|| / ||a|| of a parameter (Frobenius norms; 0 / 0 = 0)
    double largest = 0;    ///< largest |a - b| of an element
    std::string worst;     ///< the parameter of `relative`
    bool identical = true; ///< every element equal
};
/// Throws sim::Error if they are not of the same model.
Difference compare(const Snapshot& expected, const Snapshot& actual);

} // namespace live
