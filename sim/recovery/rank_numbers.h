// By which numbers the ranks of a recording are looked at. A profiler of a job that is not distributed, or whose framework did
// not say, numbers nobody: what such a file holds can be told all the same.
#pragma once

#include "sim/trace/recording.h"

#include <string>
#include <vector>

namespace sim {

struct RankNumbers {
    std::vector<int> ofRank; ///< as Recording::ranks; -1: nobody can number it
    std::string assumed;     ///< for a person, where they were not said: how they were numbered; else ""
};

/// As the files say. Where none says any: the only worker is 0, and several of one host that each have a GPU of their own are
/// numbered in the order of these, where they are of one file or all of them communicate, and no world is said that is larger.
RankNumbers numbersOf(const Recording&);

} // namespace sim
