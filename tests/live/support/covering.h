// A covering array: few rows in which any two values of any two columns meet at least once, if they may meet at all.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace live::test {

/// One row: a value's index for each column.
using Choice = std::vector<int>;

/// Greedy (Cohen et al. 1997, AETG): each row starts from a pair not yet covered and takes, column by column, the value that
/// covers most new pairs. `valid` says whether a whole row is allowed; a pair for which no valid row was found in some tries is
/// given up and counted. The same seed gives the same rows.
struct CoveringArray {
    std::vector<Choice> rows;
    int pairs = 0, uncovered = 0;
};
CoveringArray coverAllPairs(const std::vector<int>& valuesOfColumn, std::uint32_t seed,
                            const std::function<bool(const Choice&)>& valid);

} // namespace live::test
