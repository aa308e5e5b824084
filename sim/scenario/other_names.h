// What frameworks and papers call the things that a scenario has keys and words for, for messages.
#pragma once

#include <string>
#include <string_view>

namespace sim {

/// "; here it is training.sequence_length" of "seq_len"; empty where nobody is known to call anything so. Of the values of
/// schedule.kind where `isKind`.
std::string ownNameText(std::string_view word, bool isKind);

/// "; a number has no unit here: 8192 or 8000" of "8k"; empty for what does not begin with a number and end with its unit.
std::string withoutUnitText(std::string_view text);

} // namespace sim
