// What $(…) in a script prints where that follows from the script alone.
#include "sim/frameworks/read/shell_words.h"

#include <algorithm>
#include <string_view>

namespace sim::frameworks {
namespace {

/// "2 * 4" of "expr 2 \* 4" and of "echo "2*4" | bc"; empty: it calculates nothing, or not as C does.
std::string calculationOf(std::string_view command)
{
    const std::size_t pipe = command.find('|');
    const bool isOfBc = command.starts_with("echo ") && pipe != std::string_view::npos;
    if (!isOfBc && !command.starts_with("expr "))
        return {};
    if (isOfBc) {
        std::string calculator(command.substr(pipe + 1));
        std::erase_if(calculator, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
        if (calculator != "bc")
            return {};
        command = command.substr(0, pipe);
    }
    std::string sum(command.substr(5));
    std::erase_if(sum, [](char c) { return c == '\\' || c == '"' || c == '\''; });
    return sum.find_first_of("|;&<>=^:`\n") == std::string::npos ? sum : std::string();
}

} // namespace

std::optional<ShellText> ShellWords::printedBy(const std::string& command, int line, int depth)
{
    const auto isBlank = [](char c) { return isShellBlank(c) || c == '\n'; };
    const std::size_t begin = command.find_first_not_of(" \t\n");
    if (begin == std::string::npos || depth > 16)
        return std::nullopt;
    if (const std::string sum = calculationOf(std::string_view(command).substr(begin)); !sum.empty()) {
        const std::optional<long long> value = shellArithmetic(expandedText(sum, line, depth + 1), {}, spender());
        if (!value)
            return std::nullopt;
        return ShellText{.text = std::to_string(*value), .line = line, .branch = branchOf(command)};
    }
    if (command.compare(begin, 5, "echo ") == 0 && command.find_first_of("|;&<>`()\\") == std::string::npos) {
        std::string text = command.substr(begin + 5);
        text.erase(text.find_last_not_of(" \t\n") + 1);
        if (text.find('\n') != std::string::npos) // another command
            return std::nullopt;
        text = expandedText(text, line, depth + 1);
        for (const char* option : {"-n ", "-e "})
            if (text.starts_with(option))
                text.erase(0, 3);
        std::erase_if(text, [](char c) { return c == '"' || c == '\''; });
        return ShellText{.text = text, .line = line, .branch = branchOf(command)};
    }
    if (command.compare(begin, 3, "cat") != 0)
        return std::nullopt;
    const std::size_t arrows = command.find_first_not_of(" \t", begin + 3), newline = command.find('\n', begin);
    if (arrows == std::string::npos || newline == std::string::npos || command.compare(arrows, 2, "<<") != 0 ||
        command.compare(arrows, 3, "<<<") == 0)
        return std::nullopt;
    std::string delimiter = command.substr(arrows + 2, newline - arrows - 2);
    const bool isQuoted = delimiter.find_first_of("'\"\\") != std::string::npos;
    std::erase_if(delimiter, [&](char c) { return isBlank(c) || c == '\'' || c == '"' || c == '\\' || c == '-'; });
    std::size_t end = newline;
    while (end != std::string::npos) { // a line of it alone ends the text
        const std::size_t first = command.find_first_not_of('\t', end + 1);
        if (first != std::string::npos && command.compare(first, delimiter.size(), delimiter) == 0 &&
            (first + delimiter.size() == command.size() || command[first + delimiter.size()] == '\n'))
            break;
        end = command.find('\n', end + 1);
    }
    if (end == std::string::npos || delimiter.empty())
        return std::nullopt;
    std::string body = command.substr(newline + 1, end - newline);
    const int first =
        line + static_cast<int>(std::count(command.begin(), command.begin() + static_cast<std::ptrdiff_t>(newline), '\n')) + 1;
    const int branch = isQuoted ? 0 : branchOf(body);
    if (!isQuoted)
        body = expandedText(body, first, depth + 1);
    return ShellText{.text = withContinuations(body), .line = first, .branch = branch};
}

} // namespace sim::frameworks
