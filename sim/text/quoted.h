// Text that came from outside, in a message for a person: never long, and nothing in it unseen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sim {

/// Characters of one name or value that a message shows.
inline constexpr std::size_t kMostShown = 60;

/// At most `most` characters, then "…". Control characters and those that steer a text's direction are written out (\n, \x1b,
/// \u202e), U+FFFD stands for what is no UTF-8: the result is one line of valid UTF-8.
std::string shownText(std::string_view text, std::size_t most = kMostShown);

/// The same in double quotes.
std::string quotedText(std::string_view text, std::size_t most = kMostShown);

/// The JSON pointer of a problem, or the name of its file: longer than other text, as people follow them.
std::string shownPlace(std::string_view place);

/// The same text, with U+FFFD for each byte that is no UTF-8.
std::string validUtf8(std::string_view text);

} // namespace sim
