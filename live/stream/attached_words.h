// What a rank that attached may say: read within RankBudget, refused by an Error that says what it sent. Private to live/stream.
#pragma once

#include "live/stream/messages.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace live {

[[noreturn]] void refuseRank(const std::string& what);
/// A whole number; whatever else there is, or nothing, is refused.
std::int64_t wholeIn(const Json&, const char* key, std::int64_t least, std::int64_t most);
/// Null: there is none.
const Json* listIn(const Json&, const char* key);
std::optional<double> finiteAt(const Json& list, std::size_t index);

} // namespace live
