// What runs and viewers say to each other: a small JSON header, then binary frames. Whatever comes in may be nonsense or a lie:
// reading gives nothing, or throws, rather than anything wrong. Private to live/stream.
//
//   viewer → run   hello {run, block, spans, kinds}: I am new, or was cut off and have so much
//                  ack {n}, alive, control {action}, bye
//   run → viewer   run {description}, then data {n, kinds_from, kinds, blocks, state, steps} + blocks' bytes + steps' bytes,
//   alive,
//                  reply {action, accepted, message}, who (say hello again), refused {message}, end
#pragma once

#include "live/stream/budget.h"
#include "live/stream/collector.h"
#include "live/stream/viewer.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace live {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kDataBytes = std::size_t{512} << 10U; ///< about so much of blocks goes into one message
inline constexpr std::chrono::milliseconds kHeartbeat{500};

using Json = nlohmann::json;

/// {"v": 1, "type": type}
Json header(const char* type);
/// JSON from outside, or nothing. Throws sim::Error with the numbers if it is over the budget, before it is parsed.
std::optional<Json> readJson(std::string_view, const JsonBudget&, const std::string& whose);
/// An object of this version with a type, or nothing. `version` gets the sender's, 0 if none.
std::optional<Json> readHeader(std::string_view, const JsonBudget&, const std::string& whose, int* version = nullptr);
std::string typeOf(const Json&);
/// At most so many bytes and whole characters; a longer one ends with a mark that says how long it was.
std::string cut(std::string_view, std::size_t most);
/// Numbers and texts from outside: the default if absent or of another type. Texts are cut.
std::uint64_t numberIn(const Json&, const char* key, std::uint64_t otherwise = 0);
std::string textIn(const Json&, const char* key, std::size_t most);

Json toJson(const RunDescription&);
/// Throws sim::Error if it cannot be one.
RunDescription descriptionFrom(const Json&);
Json toJson(const sim::SpanKind&);
sim::SpanKind kindFrom(const Json&);
Json toJson(const RunState&);
RunState stateFrom(const Json&);
Json toJson(const Block&); ///< all but its bytes
Block blockFrom(const Json&);
std::optional<RunRequest> requestFrom(const std::string& name);

} // namespace live
