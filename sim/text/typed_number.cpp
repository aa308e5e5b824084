#include "sim/text/typed_number.h"

#include "sim/text/quoted.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sim {
namespace {

constexpr std::size_t kGroup = 3; ///< digits between two marks

std::string trimmed(std::string_view text)
{
    constexpr std::string_view kBlank = " \t\r\n";
    const auto first = text.find_first_not_of(kBlank);
    return std::string(first == std::string_view::npos ? std::string_view()
                                                       : text.substr(first, text.find_last_not_of(kBlank) - first + 1));
}

void replaceAll(std::string& text, std::string_view from, std::string_view to)
{
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

/// "1,234,567": digits in groups of three.
bool isGrouped(std::string_view whole, char mark)
{
    const std::string_view first = whole.substr(0, whole.find(mark));
    if (first.empty() || first.size() > kGroup || first.front() == '0')
        return false;
    for (std::size_t at = first.size(); at < whole.size(); at += kGroup + 1)
        if (whole[at] != mark || std::min(whole.find(mark, at + 1), whole.size()) != at + 1 + kGroup)
            return false;
    return true;
}

bool areDigits(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The first mark of a fraction: a slash, or the one that keyboards of phones have.
struct FractionBar {
    std::size_t at = std::string_view::npos, length = 0;
};
FractionBar fractionBar(std::string_view text)
{
    for (const std::string_view bar : {"/", "\u2044", "\u2215"})
        if (const std::size_t at = text.find(bar); at != std::string_view::npos)
            return {.at = at, .length = bar.size()};
    return {};
}

TypedNumber readDecimal(std::string_view text)
{
    const std::string given = trimmed(text);
    const auto refused = [&](const std::string& why) {
        return TypedNumber{.value = {}, .problem = "“" + shownText(given) + "” " + why};
    };
    const auto noNumber = [&] { return refused("is no number; a number is 6.2 or 6,2."); };
    std::string bare = given;
    for (const char* space : {"\u00A0", "\u202F", "'"}) // between groups, too
        replaceAll(bare, space, " ");
    replaceAll(bare, "\u2212", "-");
    const bool isNegative = bare.starts_with('-');
    if (isNegative)
        bare.erase(0, 1);
    const std::size_t last = bare.find_last_of(".,");
    std::string whole = bare, fraction;
    if (last != std::string::npos) {
        const char mark = bare[last], other = mark == '.' ? ',' : '.';
        const bool isOnlyOne = std::count(bare.begin(), bare.end(), mark) == 1, hasOther = bare.find(other) != std::string::npos;
        if (isOnlyOne && !hasOther && mark == ',' && isGrouped(bare, mark)) {
            std::string joined = bare, pointed = bare;
            joined.erase(last, 1);
            pointed[last] = '.';
            return refused("may be " + joined + " or " + pointed + ": write one of these.");
        }
        if (isOnlyOne) {
            whole = bare.substr(0, last);
            fraction = bare.substr(last + 1);
            if (hasOther && !isGrouped(whole, other))
                return noNumber();
            std::erase(whole, other);
        } else { // groups, and no fraction
            if (hasOther || !isGrouped(bare, mark))
                return noNumber();
            std::erase(whole, mark);
        }
    }
    if (whole.find(' ') != std::string::npos) {
        if (!isGrouped(whole, ' '))
            return noNumber();
        std::erase(whole, ' ');
    }
    if (!areDigits(whole) || !areDigits(fraction) || (whole.empty() && fraction.empty()))
        return noNumber();
    const std::string digits = (whole.empty() ? "0" : whole) + "." + fraction + "0";
    double value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
        return noNumber(); // larger than any
    return {.value = isNegative ? -value : value, .problem = {}};
}

/// What was computed of numbers that were typed: larger than any it is none.
TypedNumber finite(double value, std::string_view text)
{
    if (!std::isfinite(value))
        return {.value = {}, .problem = "“" + shownText(trimmed(text)) + "” is larger than any number here."};
    return {.value = value, .problem = {}};
}

} // namespace

TypedNumber readTypedNumber(std::string_view text)
{
    const FractionBar bar = fractionBar(text);
    if (bar.length == 0)
        return readDecimal(text);
    const TypedNumber above = readDecimal(text.substr(0, bar.at)), below = readDecimal(text.substr(bar.at + bar.length));
    if (!above.value || !below.value || *below.value == 0)
        return {.value = {}, .problem = "“" + shownText(trimmed(text)) + "” is no number; a fraction is 3/8."};
    return finite(*above.value / *below.value, text);
}

TypedNumber readTypedPercent(std::string_view text)
{
    constexpr double kHundred = 100;
    const std::size_t sign = text.find_last_not_of(" \t\r\n");
    const bool hasSign = sign != std::string_view::npos && text[sign] == '%';
    TypedNumber read = readTypedNumber(hasSign ? text.substr(0, sign) : text);
    if (read.value && !hasSign && fractionBar(text).length > 0)
        return finite(*read.value * kHundred, text);
    return read;
}

} // namespace sim
