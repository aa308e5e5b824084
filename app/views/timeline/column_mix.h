// Pixel columns that hold many spans: what they show must not beat with the spans' own rhythm.
#pragma once

#include <cstddef>
#include <span>

namespace app {

/// Means over a few columns of each value, [column][value], within columns [first, last), which keep their sums. A column's own
/// share of spans hardly longer than itself depends on where it cuts them: drawn as it is, even work shows waves. Where a value
/// comes in or is seen last stays as sharp as a column.
void evenOut(std::span<double> values, std::size_t valuesOfColumn, std::size_t first, std::size_t last);

} // namespace app
