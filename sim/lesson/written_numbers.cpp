#include "sim/lesson/holds.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sim {
namespace {

/// The text with blanks in place of code, so that places stay.
std::string withoutCode(std::string_view text)
{
    std::string out(text);
    for (std::size_t begin = out.find('`'); begin != std::string::npos;) {
        const std::size_t end = out.find('`', begin + 1);
        if (end == std::string::npos)
            break;
        std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin), out.begin() + static_cast<std::ptrdiff_t>(end) + 1, ' ');
        begin = out.find('`', end + 1);
    }
    return out;
}

/// Where digits with commas and a point end that begin at `at`: "1,024", "0.43"; a comma or point that ends a sentence is not
/// theirs.
std::size_t endOfNumber(std::string_view text, std::size_t at)
{
    const auto digitsAt = [&](std::size_t from) {
        std::size_t count = 0;
        while (from + count < text.size() && isDigit(text[from + count]))
            ++count;
        return count;
    };
    std::size_t end = at + digitsAt(at);
    constexpr std::size_t kGroup = 3;
    while (end < text.size() && text[end] == ',' && digitsAt(end + 1) == kGroup)
        end += 1 + kGroup;
    if (end < text.size() && text[end] == '.' && digitsAt(end + 1) > 0)
        end += 1 + digitsAt(end + 1);
    return end;
}

double valueOf(std::string_view written)
{
    std::string digits(written);
    std::erase(digits, ',');
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

double halfOfLastDigit(std::string_view written)
{
    const std::size_t point = written.find('.');
    const auto digits = point == std::string_view::npos ? 0 : static_cast<double>(written.size() - point - 1);
    return 0.5 * std::pow(10.0, -digits);
}

} // namespace

std::vector<WrittenNumber> writtenNumbers(std::string_view given)
{
    const std::string text = withoutCode(given);
    std::vector<WrittenNumber> numbers;
    for (std::size_t at = 0; at < text.size();) {
        if (!isDigit(text[at])) {
            ++at;
            continue;
        }
        const bool joined = at > 0 && (startsName(text[at - 1]) || (at > 1 && text[at - 1] == '-' && startsName(text[at - 2])));
        std::size_t end = endOfNumber(text, at);
        const bool runsOn = end < text.size() && startsName(text[end]);
        if (joined || runsOn) { // part of a name
            while (end < text.size() && (startsName(text[end]) || isDigit(text[end])))
                ++end;
            at = end;
            continue;
        }
        const std::string_view written = std::string_view(text).substr(at, end - at);
        WrittenNumber number{.begin = at, .end = end, .value = valueOf(written), .tolerance = halfOfLastDigit(written)};
        if (end + 1 < text.size() && text[end] == '/' && isDigit(text[end + 1])) {
            const std::size_t last = endOfNumber(text, end + 1);
            number.value /= valueOf(std::string_view(text).substr(end + 1, last - end - 1));
            number.tolerance = 0;
            number.end = last;
        }
        const std::size_t sign = text.find_first_not_of(' ', number.end);
        if (sign != std::string::npos && text[sign] == '%' && sign <= number.end + 1) {
            number.end = sign + 1;
            number.value /= 100;
            number.tolerance /= 100;
        }
        numbers.push_back(number);
        at = number.end;
    }
    return numbers;
}

} // namespace sim
