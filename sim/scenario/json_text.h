// Strict JSON in, typed values out of it, tidy JSON out. For those who read files that people write: scenarios, catalogues,
// lessons.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

/// Keeps the author's key order.
using Json = nlohmann::ordered_json;

inline constexpr std::size_t kMaxFileBytes = 64UL << 20U;
inline constexpr std::size_t kMaxDepth = 64;
/// Two bytes of text can be an object of a hundred in memory. Twice as many as the ranks of the largest layout that places each.
inline constexpr std::size_t kMaxValues = 1UL << 21U;

/// Throws ScenarioError with line and column: broken or trailing text, a key given twice, numbers beyond double, text that is not
/// UTF-8, more than kMaxFileBytes, kMaxDepth levels or kMaxValues values.
Json parseStrict(std::string_view text, const std::string& file);

/// A number as a whole one that fits its type: 4 and 4.0, not 4.5 and not 1e30.
template <std::integral T>
std::optional<T> wholeNumber(const Json& value)
{
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
    }
    if (value.is_number_integer()) {
        const auto number = value.get<std::int64_t>();
        return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
    }
    if (!value.is_number_float())
        return std::nullopt;
    const auto number = value.get<double>();
    const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits); // max + 1, which a double holds
    const bool fits = std::trunc(number) == number && number < beyond && number >= (std::is_signed_v<T> ? -beyond : 0);
    return fits ? std::optional(static_cast<T>(number)) : std::nullopt;
}

/// The value as a T; nothing where it is of another kind or does not fit. The one way in which readers take values out of
/// JSON: the library's own `get<T>()` throws what no person can act on, and does not look whether a number fits.
template <typename T>
std::optional<T> valueAs(const Json& value)
{
    if constexpr (std::same_as<T, bool>) {
        return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
    } else if constexpr (std::integral<T>) {
        return wholeNumber<T>(value);
    } else if constexpr (std::same_as<T, double>) {
        return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
    } else if constexpr (std::same_as<T, std::string>) {
        return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
    } else { // a list
        if (!value.is_array())
            return std::nullopt;
        T list;
        list.reserve(value.size());
        for (const Json& entry : value) {
            auto read = valueAs<typename T::value_type>(entry);
            if (!read)
                return std::nullopt;
            list.push_back(std::move(*read));
        }
        return list;
    }
}

/// A member of an object; nullptr where there is none, or no object.
const Json* memberOf(const Json& object, std::string_view key);

/// A member's value, or `fallback` where it is not there or of another kind.
template <typename T>
T memberOr(const Json& object, std::string_view key, T fallback)
{
    const Json* member = memberOf(object, key);
    return member == nullptr ? std::move(fallback) : valueAs<T>(*member).value_or(std::move(fallback));
}

/// 80, not 80.0, where nothing is behind the point.
Json number(double value);

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
