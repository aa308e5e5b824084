// Functions of a script: their texts are kept where they stand, and run where they are called.
#include "sim/frameworks/read/shell_reader.h"
#include "sim/text/characters.h"

#include <algorithm>

namespace sim::frameworks {

std::string ShellReader::functionOf(std::span<const ShellText> words)
{
    const bool hasWord = words.size() > 1 && words.front().text == "function";
    words = words.subspan(hasWord ? 1 : 0);
    if (words.empty() || words.size() > 3)
        return {};
    std::string name = words.front().text;
    for (const ShellText& one : words.subspan(1)) {
        if (one.text.find_first_not_of("(){") != std::string::npos)
            return {};
        name += one.text;
    }
    if (name.ends_with('{'))
        name.pop_back();
    const bool hasBrackets = name.ends_with("()");
    name.erase(name.size() - (hasBrackets ? 2 : 0));
    const bool isName = std::all_of(name.begin(), name.end(),
                                    [](char c) { return startsName(c) || isDigit(c) || c == '-' || c == '.' || c == ':'; });
    return (hasWord || hasBrackets) && isName ? name : std::string();
}

void ShellReader::openFunction(const std::string& name)
{
    m_skipsNext = false;
    if (!m_functionsInline && m_branches.size() < 256)
        m_branches.push_back({.isOn = false, .isLoop = true, .line = m_line, .isGroup = true, .function = name, .start = m_at});
}

bool ShellReader::reopenFunction()
{
    const auto function = std::find_if(m_branches.begin(), m_branches.end(), isFunction);
    if (function == m_branches.end())
        return false;
    m_at = function->start;
    m_line = function->line;
    m_functionsInline = true;
    m_branches.erase(function, m_branches.end());
    return true;
}

void ShellReader::setArguments(std::vector<ShellText> arguments)
{
    for (const ShellText& one : arguments)
        spend(one.text.size());
    for (std::size_t i = 1; i <= m_arguments.size(); ++i)
        m_variables.erase(std::to_string(i));
    m_arguments = std::move(arguments);
    for (std::size_t i = 1; i <= m_arguments.size(); ++i)
        m_variables[std::to_string(i)] = {.pieces = {m_arguments[i - 1]}};
    m_variables[kArguments] = {.elements = m_arguments, .isArray = true};
}

bool ShellReader::call(const std::string& name, std::span<const ShellText> arguments)
{
    constexpr std::size_t kMostCalled = 1UL << 20U, kOfEachCall = 64; // bytes of bodies
    const auto found = m_functions.find(name);
    if (found == m_functions.end())
        return false;
    Function& function = found->second;
    function.isCalled = true;
    const std::size_t cost = function.body.size() + kOfEachCall;
    if (function.isRun || m_level >= kDeepestText || m_called + cost > kMostCalled) {
        if (!std::exchange(function.isTold, true))
            tell(name, std::string(), m_line,
                 function.isRun            ? "calls itself: its text is read once"
                 : m_level >= kDeepestText ? "is called from functions or files too deep in each other: not read there"
                                           : "is called when functions have run very often: not read there");
        return true;
    }
    m_called += cost;
    function.isRun = true;
    const std::string body = function.body; // running it may replace it
    std::vector<ShellText> outer = m_arguments;
    setArguments({arguments.begin(), arguments.end()});
    const std::size_t outerScopes = m_scopes.size();
    m_scopes.emplace_back();
    script(body, function.line, m_level + 1);
    closeScopes(outerScopes);
    setArguments(std::move(outer));
    function.isRun = false;
    return true;
}

void ShellReader::runUncalled()
{
    int most = 1;
    for (const ShellCommand& made : m_commands)
        most = std::max(most, made.flags + made.assigned);
    for (auto& [name, function] : m_functions) {
        int flags = 0;
        for (std::size_t at = function.body.find(" --"); at != std::string::npos; at = function.body.find(" --", at + 1))
            ++flags;
        if (!function.isCalled && flags > most)
            call(name, {});
    }
}

} // namespace sim::frameworks
