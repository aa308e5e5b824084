// `holds` in a scenario file: what must be true of it, by the engine of today, so that no sentence of its description can go
// stale. Each is an expression, or an object that ties one to words of the description:
//   "step_time_s < 0.9 * half.step_time_s"
//   { "says": "the pipeline wins by 12 %", "is": "1 - step_time_s / other.step_time_s" }   the number in the words is the value,
//                                                     rounded as the words write it; a list where the words hold several numbers
//   { "says": "TP 8 fits, TP 4 does not", "holds": "fits and not tp4.fits" }
//   { "says": "18.13 s", "quotes": "table 5" }        somebody else's number: where the source has it
#pragma once

#include "sim/scenario/document.h"

#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Everything in a file's `cases` and `holds` that is malformed or not so, each with its pointer, the expression and the values
/// on both sides; and what its description says without proof: numbers outside code that no `says` covers, and sentences that
/// say "try" of which no `says` is a part. Cases are simulated.
std::vector<Problem> checkHolds(const ScenarioDocument&, const Catalogue&);

/// A number as people write it in a sentence: "1,024", "71.4", "16 %", "3/8".
struct WrittenNumber {
    std::size_t begin = 0, end = 0; ///< in the text
    double value = 0;               ///< of "16 %": 0.16
    double tolerance = 0;           ///< half of its last digit; a fraction is exact
};
/// All in a text but those in `code` and those that are part of a name: H100, 405B, GPT-2, 1F1B.
std::vector<WrittenNumber> writtenNumbers(std::string_view text);

} // namespace sim
