// What frameworks and papers call the things that a scenario has keys and words for, for messages.
#pragma once

#include <string>
#include <string_view>

namespace sim {

/// "training.sequence_length" of "seq_len"; empty where nobody is known to call a key so.
std::string_view ownKey(std::string_view word);
/// "zb-h1, zb-v or interleaved-zb" of "zero-bubble", of values of schedule.kind; empty likewise.
std::string_view ownKind(std::string_view word);

/// "; a number has no unit here: 8192 or 8000" of "8k", without values of "80GB", whose key may have another unit; empty for what
/// does not begin with a number and end with its unit.
std::string withoutUnitText(std::string_view text);

} // namespace sim
