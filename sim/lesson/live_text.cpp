#include "sim/lesson/live_text.h"

#include "sim/text/characters.h"
#include "sim/text/duration_text.h"
#include "sim/text/nearest.h"
#include "sim/text/number_text.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace sim {
namespace {

struct Format {
    std::string_view name;
    std::string (*write)(double);
};

constexpr std::array kFormats = {
    Format{"gib", [](double value) { return numberText(value * (1U << 30U), Unit::bytes); }},
    Format{"bytes", [](double value) { return numberText(value, Unit::bytes); }},
    Format{"gb", [](double value) { return numberText(value * 1e-9, Unit::number) + " GB"; }}, // as links are sold
    Format{"count", [](double value) { return numberText(value, Unit::count); }},
    Format{"percent", [](double value) { return numberText(value, Unit::fraction); }},
    Format{"s", [](double value) { return numberText(value, Unit::seconds); }},
    Format{"times", [](double value) { return numberText(value, Unit::number) + " ×"; }},
    Format{"flops", [](double value) { return numberText(value, Unit::flops); }},
    Format{"gb_s", [](double value) { return numberText(value * 1e9, Unit::byteRate); }},
    Format{"whole", [](double value) { return numberText(std::round(value), Unit::count); }},
    Format{"", [](double value) { // what is counted has no digits after its point
               const bool isWhole = value == std::round(value);
               return numberText(value, isWhole ? Unit::count : Unit::number);
           }}};

/// ".2": so many digits after the point; -1 for what is no such format.
int digitsOf(std::string_view format)
{
    return format.size() == 2 && format[0] == '.' && isDigit(format[1]) ? format[1] - '0' : -1;
}

const Format* findFormat(std::string_view name)
{
    const auto found = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& format) { return format.name == name; });
    return found == kFormats.end() ? nullptr : &*found;
}

std::string numberWritten(double value, std::string_view format)
{
    if (const int digits = digitsOf(format); digits >= 0) {
        std::array<char, 400> text{};
        const int length = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
        return {text.data(), static_cast<std::size_t>(length)};
    }
    return findFormat(format)->write(value);
}

std::string_view withoutBlanks(std::string_view text)
{
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

} // namespace

std::vector<LivePart> liveParts(std::string_view text)
{
    constexpr std::size_t kMostParts = 64;
    std::vector<LivePart> parts;
    for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at)) {
        if (at + 1 < text.size() && text[at + 1] == '{') {
            at += 2;
            continue;
        }
        const std::size_t end = text.find('}', at);
        if (end == std::string_view::npos)
            throw Error("nothing closes the { of " + quotedText(text.substr(at)) + "; {{ stands for a brace");
        if (parts.size() >= kMostParts)
            throw Error("a text has at most " + std::to_string(kMostParts) + " live numbers");
        const std::string_view inside = text.substr(at + 1, end - at - 1);
        const std::size_t bar = inside.rfind('|');
        LivePart part{.begin = at,
                      .end = end + 1,
                      .expression = std::string(withoutBlanks(inside.substr(0, bar))),
                      .format = bar == std::string_view::npos ? "" : std::string(withoutBlanks(inside.substr(bar + 1)))};
        try {
            Expression::parse(part.expression);
        } catch (const Error& error) {
            throw Error("{" + shownText(inside) + "}: " + error.what());
        }
        if (digitsOf(part.format) < 0 && findFormat(part.format) == nullptr) {
            std::vector<std::string> names = {".2"};
            for (const Format& format : kFormats)
                if (!format.name.empty())
                    names.emplace_back(format.name);
            throw Error("{" + shownText(inside) + "}: there is no format " + quotedText(part.format) +
                        nearestWords(part.format, names));
        }
        parts.push_back(std::move(part));
        at = end + 1;
    }
    return parts;
}

std::string writtenValue(const LessonValue& value, std::string_view format)
{
    if (value.is_number())
        return numberWritten(value.get<double>(), format);
    if (value.is_array()) {
        std::string all;
        for (const LessonValue& entry : value)
            all += (all.empty() ? "" : ", ") + writtenValue(entry, format);
        return all;
    }
    if (!format.empty())
        throw Error(shownValue(value) + " is no number to be written as " + std::string(format));
    return value.is_string()    ? value.get<std::string>()
           : value.is_boolean() ? (value.get<bool>() ? "yes" : "no")
                                : shownValue(value);
}

std::string filledIn(std::string_view text, const Names& names)
{
    return filledIn(text, names, {});
}

std::string filledIn(std::string_view text, const Names& names, const std::map<std::string, std::string>& words)
{
    std::string out;
    std::size_t done = 0;
    const auto plain = [&](std::size_t until) {
        for (; done < until; ++done) {
            out += text[done];
            if (done + 1 < until && (text[done] == '{' || text[done] == '}') && text[done + 1] == text[done])
                ++done;
        }
    };
    for (const LivePart& part : liveParts(text)) {
        plain(part.begin);
        done = part.end;
        if (const auto instead = words.find(part.expression); instead != words.end()) {
            out += instead->second;
            continue;
        }
        try {
            out += writtenValue(Expression::parse(part.expression).evaluate(names), part.format);
        } catch (const Error& error) {
            throw Error("{" + part.expression + "}: " + error.what());
        }
    }
    plain(text.size());
    return out;
}

} // namespace sim
