#include "sim/frameworks/read/shell_sources.h"

#include "sim/frameworks/read/shell_started.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace sim::frameworks {
namespace {

std::string_view lastPart(std::string_view path)
{
    return path.substr(path.rfind('/') + 1);
}

/// The path in a script at a place, which is then behind it, without its quotes: a blank in them or in "$(…)" does not end it.
std::string pathIn(std::string_view script, std::size_t& at)
{
    constexpr std::size_t kLongestPath = 4096;
    std::string word;
    script = script.substr(0, std::min(script.find('\n', at), at + kLongestPath));
    int open = 0; // brackets
    for (char quote = '\0'; at < script.size(); ++at) {
        const char c = script[at];
        const bool isOutside = quote == '\0' && open == 0;
        if (isOutside && std::string_view(" \t;&|)").find(c) != std::string_view::npos)
            break;
        if (quote == '\0' ? c == '"' || c == '\'' : c == quote) {
            quote = quote == '\0' ? c : '\0';
            continue;
        }
        open += c == '(' ? 1 : c == ')' ? -1 : 0;
        word += c;
    }
    return word;
}

/// Whether one of the words at a place, of the same command, names a file.
bool isNamedAt(std::string_view script, std::size_t at, std::string_view file, int words)
{
    for (; words > 0; --words) {
        at = script.find_first_not_of(" \t", at);
        if (at == std::string_view::npos || std::string_view("\n;&|)").find(script[at]) != std::string_view::npos)
            return false;
        if (lastPart(pathIn(script, at)) == lastPart(file))
            return true;
    }
    return false;
}

} // namespace

bool isRunBy(std::string_view script, std::string_view file)
{
    constexpr std::string_view kBetweenWords = " \t\n;&|\"'()";
    const auto goesOn = [](std::string_view word) { // what a command may begin behind
        static constexpr std::array<std::string_view, 10> kWords = {"if", "elif", "while", "until", "then",
                                                                    "do", "else", "{",     "!",     "time"};
        return word.find('=') != std::string_view::npos || std::find(kWords.begin(), kWords.end(), word) != kWords.end();
    };
    bool isFirst = true; // whether the next word is a command
    int open = 0;        // brackets: one that closes none ends the pattern of a case
    for (std::size_t at = 0; at < script.size();) {
        std::size_t end = std::min(script.find_first_of(kBetweenWords, at), script.size());
        const std::string_view word = script.substr(at, end - at);
        const bool isBehindQuote = at > 0 && (script[at - 1] == '"' || script[at - 1] == '\'');
        if (word.starts_with('#') && !isBehindQuote) {
            end = std::min(script.find('\n', at), script.size());
        } else if (!word.empty()) {
            constexpr int kMostWords = 100;
            const int words = word == "source" || word == "." ? 1 : startsOthers(word) ? kMostWords : 0;
            if (isFirst && (isNamedAt(script, end, file, words) ||
                            (word.find('/') != std::string_view::npos && lastPart(word) == lastPart(file))))
                return true;
            isFirst = isFirst && goesOn(word);
        }
        if (const char c = end < script.size() ? script[end] : ' '; c == '(') {
            ++open;
            isFirst = word.empty() || !word.ends_with('='); // none is an element of a list
        } else if (c == ')') {
            const bool isOfFunction = end > 0 && script[end - 1] == '(';
            isFirst = isFirst || open == 0 || isOfFunction;
            open = std::max(0, open - 1);
        } else if (c == '\n') {
            open = 0;
            isFirst = true;
        } else if (std::string_view(";&|").find(c) != std::string_view::npos) {
            isFirst = true;
        }
        at = end + 1;
    }
    return false;
}

} // namespace sim::frameworks
