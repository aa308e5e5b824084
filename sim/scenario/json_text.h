// Strict JSON in, tidy JSON out. Included by this folder's .cpp files only.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Keeps the author's key order.
using Json = nlohmann::ordered_json;

inline constexpr std::size_t kMaxFileBytes = 64UL << 20U;
inline constexpr std::size_t kMaxDepth = 64;

/// Throws ScenarioError with line and column: broken or trailing text, a key given twice, numbers beyond double, text that is not
/// UTF-8, more than kMaxFileBytes or kMaxDepth levels.
Json parseStrict(std::string_view text, const std::string& file);

/// At most `most` bytes of a text that came from outside, for a message; valid UTF-8 in any case.
std::string shortened(std::string text, std::size_t most = 160);

bool isUtf8(std::string_view text);

/// Two-space indentation; what has no structure of its own stays on one line while it fits. Newline at the end.
std::string prettyText(const Json&);

/// Segments of "layout.tp" or of a JSON pointer "/layout/tp" (with ~0 and ~1).
std::vector<std::string> splitPointer(std::string_view pointer);
/// The value there, or nullptr.
const Json* findAt(const Json& root, const std::vector<std::string>& segments);
/// `parent` + "/" + `key`, escaped.
std::string childPointer(const std::string& parent, std::string_view key);

} // namespace sim
