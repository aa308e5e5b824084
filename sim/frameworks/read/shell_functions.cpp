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
    if (!m_functionsInline)
        begin({.isOn = false, .isLoop = true, .line = m_line, .isGroup = true, .function = name, .start = m_at});
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
        m_lastStatus = std::nullopt;
        m_lastIsOpen = false;
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
    const bool outerMayReturn = std::exchange(m_mayReturn, true);
    script(body, function.line, m_level + 1);
    m_mayReturn = outerMayReturn;
    m_hasReturned = false;
    closeScopes(outerScopes);
    setArguments(std::move(outer));
    function.isRun = false;
    return true;
}

std::optional<bool> ShellReader::leave(std::span<const ShellText> words)
{
    if (!m_mayReturn)
        return std::nullopt;
    std::optional<bool> status = m_lastStatus;
    if (words.size() > 1) {
        const auto number = isDecided(words[1].branch) ? wholeShellNumber(words[1].text) : std::nullopt;
        status = number ? std::optional(*number == 0) : std::nullopt;
    }
    const auto subshell =
        std::find_if(m_branches.rbegin(), m_branches.rend(), [](const Branch& branch) { return branch.isSubshell; });
    // What stands innermost of all that may not be run: nothing of it is run behind this.
    const auto first = subshell == m_branches.rend() ? m_branches.begin() : subshell.base() - 1;
    auto ended = m_branches.end();
    for (auto at = first; m_listBranch == 0 && at != m_branches.end(); ++at)
        if (at->mayBePassed || at->open != (at == m_branches.begin() ? m_outerBranch : (at - 1)->open))
            ended = at;
    if (m_listBranch == 0 && ended == m_branches.end()) { // it is run in any case
        m_hasReturned = subshell == m_branches.rend();
        if (!m_hasReturned) {
            first->hasEnded = true;
            first->isOn = false;
        }
        return status;
    }
    const int line = ended != m_branches.end() && ended->mayBePassed ? ended->line : m_openBranches.lineOf(openBranch());
    if (ended != m_branches.end())
        ended->isOn = false;
    if (subshell != m_branches.rend())
        return status;
    // All behind it is run perhaps.
    int from = m_outerBranch;
    if (!std::exchange(m_mayHaveEnded, true))
        m_outerBranch = m_openBranches.add(line, from);
    int to = m_outerBranch;
    for (auto at = m_branches.begin(); at != ended; ++at) {
        if (at->open != from) { // an arm of its own
            from = at->open;
            to = std::exchange(at->mayHaveEnded, true) ? from : m_openBranches.add(line, from);
        }
        at->outer = at->outer == at->open ? to : at->outer;
        at->open = to;
    }
    return status;
}

bool ShellReader::isBehindFailure() const
{
    return m_behindFailure ||
           std::any_of(m_branches.begin(), m_branches.end(), [](const Branch& branch) { return branch.isOfFailure; });
}

void ShellReader::endScript()
{
    const auto subshell =
        std::find_if(m_branches.rbegin(), m_branches.rend(), [](const Branch& branch) { return branch.isSubshell; });
    const auto first = subshell == m_branches.rend() ? m_branches.begin() : subshell.base() - 1;
    const bool isPassed = std::any_of(first, m_branches.end(), [](const Branch& branch) { return branch.mayBePassed; });
    const bool hasTrained = std::any_of(m_commands.begin(), m_commands.end(),
                                        [](const ShellCommand& made) { return made.flags + made.assigned > 1; });
    const int outside = first == m_branches.begin() ? m_outerBranch : (first - 1)->open;
    m_hasExited = false;
    if (subshell != m_branches.rend() && !isPassed && m_listBranch == 0 && openBranch() == outside) {
        first->hasEnded = true;
        first->isOn = false;
    } else if (subshell == m_branches.rend() && !isPassed && hasTrained && openBranch() == 0) {
        m_hasExited = true;
    }
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
