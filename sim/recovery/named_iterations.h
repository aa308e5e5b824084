// Ranges that a job names after its iterations, as "iteration 7", where its recorder marks no steps.
#pragma once

#include "sim/trace/recording.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

/// Of "Iteration: 7", "train_step 7", "iter#7" the words, in lower case with spaces between them, and the number.
std::optional<std::pair<std::string, std::int64_t>> iterationOfName(std::string_view);

struct NamedIterations {
    std::string word;                ///< "iteration"; empty: there are none
    std::vector<RecordedStep> steps; ///< of the host, by time
};

/// Of one thread and one word: two or more that follow each other with numbers that ascend; of several such the outermost.
NamedIterations iterationsOf(const Recording&, const RankRecording&);

} // namespace sim
