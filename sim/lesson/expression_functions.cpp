#include "sim/lesson/expression_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace sim {
namespace {

using Arguments = std::vector<LessonValue>;

double numberOf(const LessonValue& value)
{
    if (!value.is_number())
        throw Error("wants numbers, not " + shownValue(value));
    return value.get<double>();
}

void wantCount(const Arguments& arguments, std::size_t least, std::size_t most)
{
    if (arguments.size() < least || arguments.size() > most)
        throw Error("takes " + std::to_string(least) + (most > least ? " or " + std::to_string(most) : "") + ", not " +
                    std::to_string(arguments.size()) + " arguments");
}

/// Of one list, or of several arguments.
std::vector<double> numbersOf(const Arguments& arguments)
{
    std::vector<double> numbers;
    const auto take = [&](const auto& values) {
        numbers.reserve(values.size());
        for (const LessonValue& value : values)
            numbers.push_back(numberOf(value));
    };
    if (arguments.size() == 1 && arguments.front().is_array())
        take(arguments.front());
    else
        take(arguments);
    return numbers;
}

std::vector<double> someNumbersOf(const Arguments& arguments)
{
    std::vector<double> numbers = numbersOf(arguments);
    if (numbers.empty())
        throw Error("of nothing");
    return numbers;
}

template <auto find, bool asPlace = false>
LessonValue extreme(const Arguments& arguments)
{
    const auto numbers = someNumbersOf(arguments);
    const auto found = find(numbers);
    return asPlace ? LessonValue(found - numbers.begin()) : LessonValue(*found);
}

constexpr auto kLeast = [](const std::vector<double>& of) { return std::min_element(of.begin(), of.end()); };
constexpr auto kLargest = [](const std::vector<double>& of) { return std::max_element(of.begin(), of.end()); };
LessonValue total(const Arguments& arguments)
{
    const auto numbers = numbersOf(arguments);
    return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}
LessonValue howMany(const Arguments& arguments)
{
    wantCount(arguments, 1, 1);
    if (!arguments[0].is_array())
        throw Error("wants a list, not " + shownValue(arguments[0]));
    return arguments[0].size();
}
LessonValue ascending(const Arguments& arguments)
{
    auto numbers = numbersOf(arguments);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}
LessonValue magnitude(const Arguments& arguments)
{
    wantCount(arguments, 1, 1);
    return std::abs(numberOf(arguments[0]));
}
LessonValue rounded(const Arguments& arguments)
{
    wantCount(arguments, 1, 2);
    constexpr double kMostDigits = 15;
    const double digits = arguments.size() > 1 ? numberOf(arguments[1]) : 0;
    if (digits != std::floor(digits) || std::abs(digits) > kMostDigits)
        throw Error("rounds to -15 to 15 digits");
    const double scale = std::pow(10.0, digits);
    return std::round(numberOf(arguments[0]) * scale) / scale;
}
/// What binary digits leave of decimal ones: 2.5 is near 2.4 by 0.1, and 0.1 + 0.2 is no more than 0.3.
constexpr double kBinaryRest = 1e-9;

LessonValue upward(const Arguments& arguments)
{
    wantCount(arguments, 1, 1);
    const double value = numberOf(arguments[0]);
    return std::ceil(value - kBinaryRest * std::abs(value));
}
LessonValue isNear(const Arguments& arguments)
{
    wantCount(arguments, 3, 3);
    const double a = numberOf(arguments[0]), b = numberOf(arguments[1]);
    return std::abs(a - b) <= numberOf(arguments[2]) + kBinaryRest * std::max(std::abs(a), std::abs(b));
}

LessonValue isPart(const Arguments& arguments)
{
    wantCount(arguments, 2, 2);
    for (const LessonValue& word : arguments)
        if (!word.is_string())
            throw Error("wants words, not " + shownValue(word));
    return arguments[0].get_ref<const std::string&>().find(arguments[1].get_ref<const std::string&>()) != std::string::npos;
}

constexpr std::array kFunctions = {
    ExpressionFunction{"min", "the least of a list, or of its arguments", extreme<kLeast>},
    ExpressionFunction{"max", "the largest", extreme<kLargest>},
    ExpressionFunction{"abs", "without its sign", magnitude},
    ExpressionFunction{"round", "to a whole number, or to so many digits after the point", rounded},
    ExpressionFunction{"ceil", "up to the next whole number", upward},
    ExpressionFunction{"sum", "of a list, or of its arguments", total},
    ExpressionFunction{"count", "how many entries a list has", howMany},
    ExpressionFunction{"argmin", "which entry (or argument) is the least, counted from 0", extreme<kLeast, true>},
    ExpressionFunction{"argmax", "which is the largest", extreme<kLargest, true>},
    ExpressionFunction{"sort", "a list in ascending order", ascending},
    ExpressionFunction{"near", "near(a, b, tolerance): they differ by at most the tolerance", isNear},
    ExpressionFunction{"contains", "contains(\"attn.qkv\", \"attn\"): is the second word a part of the first", isPart}};

} // namespace

std::span<const ExpressionFunction> expressionFunctions()
{
    return kFunctions;
}

const ExpressionFunction* findFunction(std::string_view name)
{
    const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                    [&](const ExpressionFunction& function) { return function.name == name; });
    return found == kFunctions.end() ? nullptr : &*found;
}

std::vector<std::string> functionNames()
{
    std::vector<std::string> names;
    for (const ExpressionFunction& function : kFunctions)
        names.emplace_back(function.name);
    return names;
}

std::string shownValue(const LessonValue& value)
{
    constexpr std::size_t kLongest = 120;
    if (value.is_number_float()) {
        std::array<char, 32> text{};
        const int length = std::snprintf(text.data(), text.size(), "%.6g", value.get<double>());
        return {text.data(), static_cast<std::size_t>(length)};
    }
    std::string text = value.dump(-1, ' ', true, LessonValue::error_handler_t::replace);
    if (text.size() > kLongest)
        text.replace(kLongest, std::string::npos, "...");
    return text;
}

} // namespace sim
