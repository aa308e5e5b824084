// What options take, and what is said when they are given something else, in words for a person; shared by the programs.
#pragma once

#include "sim/error.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sim::cli {

/// Exit codes of the programs.
enum ExitCode : int { kGood = 0, kBadInput = 1, kCalledWrongly = 2 };

/// Called wrongly in a way that CLI11 cannot see.
class UsageError : public Error {
public:
    using Error::Error;
};

/// Anything but nothing: an unset variable of a shell would go for an option not given.
inline CLI::Validator notEmpty()
{
    return CLI::Validator([](const std::string& text) { return text.empty() ? std::string("nothing is given") : std::string(); },
                          "");
}

/// A folder that is there.
inline CLI::Validator existingFolder()
{
    return CLI::Validator(
        [](const std::string& text) {
            std::error_code error;
            const auto status = std::filesystem::status(text, error);
            return text.empty()                             ? std::string("nothing is given")
                   : std::filesystem::is_directory(status)  ? std::string()
                   : std::filesystem::exists(status)        ? shownPlace(text) + " is a file, not a folder"
                   : !std::filesystem::status_known(status) ? shownPlace(text) + ": " + error.message()
                                                            : "there is no folder " + shownPlace(text);
        },
        "");
}

/// --set, wherever a file is read.
inline CLI::Option* addOverrides(CLI::App& command, std::vector<std::string>& overrides)
{
    return command
        .add_option("--set", overrides,
                    "Override a key of the file, such as layout.tp=4 or /layout/tp=4; layout.tp= erases it; repeatable")
        ->type_name("POINTER=VALUE")
        ->allow_extra_args(false)
        ->check([](const std::string& text) {
            const std::size_t equals = text.find('=');
            return equals == std::string::npos || equals == 0 ? "POINTER=VALUE, as layout.tp=4; it got " + shownText(text)
                                                              : std::string();
        });
}

/// A whole number from `least` on that an int holds.
inline CLI::Validator wholeNumberFrom(int least)
{
    return CLI::Validator(
        [least](const std::string& text) {
            int number = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            if (error == std::errc() && end == text.data() + text.size() && text != std::to_string(number))
                return quotedText(text) + " is not written as a whole number is; write " +
                       std::to_string(number); // CLI11 would take 010 for eight
            const bool isWhole = error == std::errc() && end == text.data() + text.size();
            return isWhole && number >= least ? std::string()
                                              : quotedText(text) + " is not a whole number of at least " + std::to_string(least) +
                                                    (error == std::errc::result_out_of_range ? " and at most 2147483647" : "");
        },
        "");
}

/// Of what is a whole number.
inline CLI::Validator atMost(int most)
{
    return CLI::Validator(
        [most](const std::string& text) {
            return std::stoll(text) <= most ? std::string() : quotedText(text) + " is more than " + std::to_string(most);
        },
        "");
}

/// A whole number of a range, both ends in it.
inline CLI::Validator wholeNumber(std::uint64_t least, std::uint64_t most)
{
    return CLI::Validator(
        [least, most](const std::string& text) {
            const bool isNegative = text.starts_with('-');
            const char* const digits = text.data() + (isNegative ? 1 : 0);
            std::uint64_t number = 0;
            const auto [end, error] = std::from_chars(digits, text.data() + text.size(), number);
            const bool isWhole = error != std::errc::invalid_argument && end == text.data() + text.size();
            const bool isBelow = isNegative ? number > 0 : number < least;
            const bool isAbove = !isNegative && (error == std::errc::result_out_of_range || number > most);
            if (isWhole && !isBelow && !isAbove)
                return text == std::to_string(number)
                           ? std::string() // CLI11 would take 010 for eight
                           : quotedText(text) + " is not written as a whole number is; write " + std::to_string(number);
            return quotedText(text) + " is not a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
                   (isWhole ? "; the nearest is " + std::to_string(isAbove ? most : least) : "");
        },
        "");
}

/// A number of a range, both ends in it.
inline CLI::Validator number(double least, double most)
{
    return CLI::Validator(
        [least, most](const std::string& text) {
            const auto shown = [](double value) {
                std::ostringstream out;
                out << value;
                return out.str();
            };
            double value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool isNumber = error == std::errc() && end == text.data() + text.size() && !std::isnan(value);
            if (isNumber && value >= least && value <= most)
                return std::string();
            return quotedText(text) + " is not a number from " + shown(least) + " to " + shown(most) +
                   (isNumber ? "; the nearest is " + shown(value > most ? most : least) : "");
        },
        "");
}

enum class Zero { taken, refused };
/// What is worked out of it stays a number.
inline constexpr double kMostOfAnOption = 1e12;
/// A number that is not negative.
inline CLI::Validator positiveNumber(Zero zero)
{
    return CLI::Validator(
        [zero](const std::string& text) {
            double number = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            const bool isNumber = error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
            if (isNumber && number > kMostOfAnOption)
                return quotedText(text) + " is more than 1e12, the most that is taken";
            return isNumber && (number > 0 || (number == 0 && zero == Zero::taken))
                       ? std::string()
                       : quotedText(text) + (zero == Zero::taken ? " is not a number of at least 0" : " is not a number above 0");
        },
        "");
}

/// `Words::listed`: help and completions have them from here, as the option's own text does not say them.
enum class Words : std::uint8_t { told, listed };
inline CLI::Validator oneOf(std::vector<std::string> words, Words in = Words::told)
{
    std::string list;
    if (in == Words::listed)
        for (const std::string& word : words)
            list += (list.empty() ? "{" : ",") + word;
    return CLI::Validator(
        [words = std::move(words)](const std::string& text) {
            if (std::find(words.begin(), words.end(), text) != words.end())
                return std::string();
            std::string known;
            for (const std::string& word : words)
                known += (known.empty() ? "" : ", ") + word;
            const std::string nearest = nearestWords(text, words);
            return quotedText(text) + " is none of " + known + (nearest.starts_with("; nearest") ? nearest : std::string());
        },
        list.empty() ? list : list + "}");
}

/// What goes to a terminal: the lines of a message, however it was made, none of them endless and nothing in them unseen.
inline std::string linesForAPerson(std::string_view message)
{
    constexpr std::size_t kMostOfALine = 800;
    std::string out;
    while (!message.empty()) {
        const std::size_t end = std::min(message.find('\n'), message.size());
        out += shownText(message.substr(0, end), kMostOfALine) + "\n";
        message.remove_prefix(std::min(end + 1, message.size()));
    }
    return out;
}

/// "--steps is given twice (1, 2); once is enough", where CLI11 found that an option has more values than it takes; else "".
inline std::string givenTooOften(const CLI::App& app, const CLI::Error& error)
{
    const std::string_view what = error.what();
    const std::size_t end = what.find(": At Most 1 required ");
    if (end == std::string_view::npos)
        return {};
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty())
        command = command->get_subcommands().front();
    const std::string name(what.substr(0, end));
    const CLI::Option* const option = command->get_option_no_throw(name);
    if (!option)
        return {};
    std::string values;
    for (const std::string& value : option->results())
        values += (values.empty() ? "" : ", ") + shownText(value);
    const std::size_t times = option->results().size();
    return name + " is given " + (times == 2 ? "twice" : std::to_string(times) + " times") + " (" + values + "); once is enough";
}

/// What CLI11 found wrong with a call. Names and values in it are the caller's, however long.
inline std::string wordsFor(const CLI::Error& error)
{
    constexpr std::size_t kMostOfAll = 800;
    const std::string_view what = error.what();
    const auto after = [what](std::string_view start) { return what.substr(start.size()); };
    for (const std::string_view start :
         {"The following argument was not expected: ", "The following arguments were not expected: "})
        if (what.starts_with(start))
            return "This command takes no " + quotedText(after(start));
    if (constexpr std::string_view start = "Could not convert: "; what.starts_with(start))
        return shownText(after(start), kMostOfAll) + ": not what the option takes";
    if (const std::size_t at = what.find(": 1 required "); at != std::string_view::npos && what.ends_with(" missing"))
        return shownText(what.substr(0, at)) + " needs " +
               shownText(what.substr(at + std::string_view(": 1 required ").size(),
                                     what.size() - at - std::string_view(": 1 required  missing").size()));
    if (constexpr std::string_view least = ": At least ", given = " required but received ";
        what.find(least) != std::string_view::npos && what.find(given) != std::string_view::npos) {
        const std::size_t at = what.find(least), then = what.find(given);
        return shownText(what.substr(0, at)) + " are needed; given: " + shownText(what.substr(then + given.size()));
    }
    if (what == "A subcommand is required")
        return "A command is required";
    return shownText(what, kMostOfAll);
}

/// For CLI::App::failure_message.
inline std::string callFailed(const CLI::App* app, const CLI::Error& error)
{
    std::string told = givenTooOften(*app, error);
    if (const std::vector<std::string> extras = app->remaining(true); // which its own message has in reverse
        dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty())
        told = "This command takes no " + quotedText(CLI::detail::join(extras, " "));
    return (told.empty() ? wordsFor(error) : told) + "\nRun with --help for what can be asked.\n";
}

} // namespace sim::cli
