// What is written between an object's braces in the files of the Chrome form, member by member and as it stands there.
#pragma once

#include "sim/trace/readers/json_scan.h"

#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>

namespace sim {

/// A text without its quotes; anything else as it is.
inline std::string_view inside(std::string_view written)
{
    return written.size() >= 2 && written.front() == '"' ? written.substr(1, written.size() - 2) : written;
}

/// Goes over the members of an object. `visit(key, value)`: key without quotes. Stops where it is no JSON.
template <typename Visit>
void forEachMember(std::string_view object, Visit visit)
{
    const char* at = object.data();
    const char* const end = at + object.size();
    if (object.empty() || *at != '{')
        return;
    ++at;
    for (;;) {
        skipSpace(at, end);
        if (at < end && *at == ',') {
            ++at;
            continue;
        }
        if (at >= end || *at != '"')
            return;
        ++at;
        std::string_view key, value;
        if (scanString(at, end, key) != Scan::done)
            return;
        skipSpace(at, end);
        if (at >= end || *at != ':')
            return;
        ++at;
        skipSpace(at, end);
        if (scanValue(at, end, value) != Scan::done)
            return;
        visit(key, value);
    }
}

/// A number that an int holds, or `otherwise`.
inline int smallNumber(std::string_view written, int otherwise)
{
    const auto number = wholeNumber(written);
    return number && *number >= 0 && *number <= std::numeric_limits<int>::max() ? static_cast<int>(*number) : otherwise;
}

/// `text` is as long as the word: compared without a call.
template <std::size_t kSize>
bool is(std::string_view text, const char (&word)[kSize])
{
    return std::memcmp(text.data(), word, kSize - 1) == 0;
}

} // namespace sim
