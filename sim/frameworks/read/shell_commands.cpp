// What commands of a script do as far as it alone says: assignments, sums, files that are sourced, what srun or bash -c starts.
#include "sim/frameworks/read/shell_reader.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace sim::frameworks {

std::size_t ShellReader::lengthOfKey(std::size_t ahead) const
{
    int open = 0;
    std::size_t length = 0;
    do {
        const char c = peek(ahead + length++);
        if (c == '\n' || isShellBlank(c))
            return 0;
        open += c == '[' ? 1 : c == ']' ? -1 : 0;
    } while (open > 0);
    return length > 1 ? length : 0;
}

bool ShellReader::assignment(bool isLocal, std::vector<Assigned>& before)
{
    std::size_t length = 0;
    if (!startsName(peek()))
        return false;
    while (startsName(peek(length)) || isDigit(peek(length)))
        ++length;
    const std::size_t ofKey = lengthOfKey(length), end = length + ofKey;
    const bool isMore = peek(end) == '+' && peek(end + 1) == '=';
    if (!isMore && peek(end) != '=')
        return false;
    const int line = m_line;
    const std::string name = m_text->substr(m_at, length);
    const std::string writtenKey = ofKey > 0 ? m_text->substr(m_at + length + 1, ofKey - 2) : std::string();
    const std::string key = keyText(writtenKey, line);
    m_at += end + (isMore ? 2 : 1);
    ShellVariable value;
    if (peek() == '(') {
        next();
        value.isArray = true;
        while (!atEnd() && peek() != ')') {
            if (peek() == '\n') {
                next();
            } else if (peek() == '#') {
                comment();
            } else if (isShellBlank(peek()) || (peek() == '\\' && peek(1) == '\n')) {
                blanks();
            } else if (peek() == ';' || peek() == '&' || peek() == '|' || peek() == '<' || peek() == '>') {
                next();
            } else {
                for (ShellText& one : word())
                    value.elements.push_back(std::move(one));
            }
            if (value.elements.size() > 4 * kMostSettings)
                fail("an array has more than " + std::to_string(4 * kMostSettings) + " words");
        }
        if (!atEnd())
            next();
    } else {
        value.pieces = wordPieces();
    }
    if (skipping()) {
        const bool isInLoop =
            std::any_of(m_branches.begin(), m_branches.end(), [](const Branch& branch) { return branch.isLoop && !branch.isOn; });
        if (!isInLoop && m_variables.find(name) == m_variables.end()) // of options that a loop would read nothing is known
            m_assignedElsewhere.insert(name);
        return true;
    }
    if (ofKey > 0) {
        int branch = branchOf(writtenKey, true);
        for (const ShellText& one : value.pieces)
            branch = moreOpen(branch, one.branch);
        value = {.pieces = {{isMore ? "${" + name + "[" + key + "]}" : joined(value), line, branch}}};
    }
    if (isLocal && !m_scopes.empty())
        keepFor(m_scopes.back(), name);
    if (const auto found = m_variables.find(name); !isMore && ofKey == 0) {
        before.push_back({name});
        if (found != m_variables.end() && m_scopes.empty()) {
            before.back().before = std::move(found->second);
        } else if (found != m_variables.end()) { // which a scope may keep, too
            spendOn(found->second);
            before.back().before = found->second;
        }
    }
    assign(name, std::move(value), isMore, key);
    return true;
}

void ShellReader::endAssigned(std::vector<Assigned>& before, std::size_t from)
{
    for (; !before.empty(); before.pop_back()) {
        auto& [name, old] = before.back();
        const auto found = m_variables.find(name);
        if (found == m_variables.end())
            continue;
        for (std::size_t i = from; i < m_commands.size(); ++i) {
            spendOn(found->second);
            m_commands[i].environment.try_emplace(name, found->second);
        }
        if (from >= m_commands.size())
            m_ended[name] = found->second;
        if (old)
            found->second = std::move(*old);
        else
            m_variables.erase(found);
    }
}

void ShellReader::assignText(const std::string& name, ShellText value)
{
    assign(name, {.pieces = {std::move(value)}});
}

void ShellReader::assign(const std::string& name, ShellVariable value, bool isMore, const std::string& key)
{
    const auto subshell = std::find_if(m_scopes.rbegin(), m_scopes.rend(), [](const Scope& scope) { return scope.isSubshell; });
    if (subshell != m_scopes.rend())
        keepFor(*subshell, name);
    const int open = openBranch();
    for (std::vector<ShellText>* const texts : {&value.pieces, &value.elements})
        for (ShellText& one : *texts)
            one.branch = moreOpen(one.branch, open);
    value.branch = open;
    ShellVariable& target = m_variables[name];
    if (!key.empty()) {
        spend(costOfLook(target)); // each of which is looked at
        putElement(target, key, std::move(value.pieces.front()));
    } else if (!isMore) {
        target = std::move(value);
    } else {
        target.isArray = target.isArray || value.isArray;
        target.branch = moreOpen(target.branch, open);
        std::move(value.pieces.begin(), value.pieces.end(), std::back_inserter(target.pieces));
        std::move(value.elements.begin(), value.elements.end(), std::back_inserter(target.elements));
    }
    if (m_order.size() < 5000 && m_ordered.insert(name).second)
        m_order.push_back(name);
}

void ShellReader::spendOn(const ShellVariable& variable)
{
    for (const std::vector<ShellText>* const texts : {&variable.pieces, &variable.elements})
        for (const ShellText& one : *texts)
            spend(one.text.size());
}

void ShellReader::keepFor(Scope& scope, const std::string& name)
{
    const auto [kept, isNew] = scope.before.try_emplace(name);
    const auto found = m_variables.find(name);
    if (!isNew || found == m_variables.end())
        return;
    spendOn(found->second);
    kept->second = found->second;
}

void ShellReader::closeScopes(std::size_t left)
{
    for (; m_scopes.size() > left; m_scopes.pop_back())
        for (auto& [name, before] : m_scopes.back().before) {
            const auto found = m_variables.find(name);
            if (before) {
                m_variables[name] = std::move(*before);
            } else if (found != m_variables.end()) {
                m_ended[name] = std::move(found->second);
                m_variables.erase(found);
            }
        }
}

bool ShellReader::calculate(std::span<const ShellText> words)
{
    const std::string& text = words.front().text;
    const bool isLet = text == "let";
    if (!isLet && !isArithmeticTest(words))
        return false;
    bool assigns = false;
    for (const ShellText& one : words.subspan(isLet ? 1 : 0)) {
        const std::string_view expression(one.text);
        for (const std::string_view sum : shellSums(isLet ? expression : expression.substr(2, text.size() - 4)))
            if (const auto done = shellCalculation(sum, m_variables, spender())) {
                const int branch = moreOpen(one.branch, branchOf(done->operands, true));
                assignText(done->name,
                           {done->value ? std::to_string(*done->value) : "$((" + done->name + "))", one.line, branch});
                assigns = true;
            }
    }
    return assigns;
}

void ShellReader::assignUnknown(std::span<const ShellText> words)
{
    const std::string& command = words.front().text;
    for (const ShellText& one : words.subspan(1))
        if (!one.text.empty() && startsName(one.text[0]) && assignedAt(one.text + "=") > 0)
            assignText(one.text, {command == "unset" ? "" : "$(" + command + ")", one.line});
}

std::optional<bool> ShellReader::command(std::vector<ShellText> words)
{
    m_functionAhead = functionOf(words);
    if (!m_functionAhead.empty())
        return std::nullopt;
    if (calculate(words))
        return std::nullopt;
    if (const std::optional<bool> status = statusOf(words); status || isShellTest(words))
        return status;
    const std::string& first = words.front().text;
    if (call(first, std::span(words).subspan(1)))
        return std::nullopt;
    if (first == "read" && !m_waiting.empty()) { // read -r -d '' NAME <<EOF
        m_readInto = words.back().text;
        return std::nullopt;
    }
    if (first == "read" || first == "mapfile" || first == "readarray" || first == "unset") {
        assignUnknown(words);
        return std::nullopt;
    }
    if (first == "shift") {
        const auto count = words.size() > 1 ? wholeShellNumber(words[1].text).value_or(0) : 1;
        const auto given = static_cast<long long>(m_arguments.size());
        setArguments({m_arguments.begin() + std::clamp(count, 0LL, given), m_arguments.end()});
        return std::nullopt;
    }
    if (first == "set" && words.size() > 1 && words[1].text == "--") { // of options that nobody gives nothing is known
        if (std::none_of(words.begin() + 2, words.end(), [](const ShellText& one) { return isUnsetText(one.text); }))
            setArguments({words.begin() + 2, words.end()});
        return std::nullopt;
    }
    if (first == "printf" && words.size() > 2 && words[1].text == "-v") {
        assignText(words[2].text, {"$(printf)", words[2].line});
        return std::nullopt;
    }
    if (first == "trap" || first == "echo" || first == "printf" || first == "cd" || first == "mkdir" || first == "set" ||
        first == "module" || first == "rm" || first == "cat")
        return std::nullopt;
    if (first == "source" || first == ".") {
        runFile(words);
        return std::nullopt;
    }
    if (first == "eval") {
        std::string text;
        for (std::size_t i = 1; i < words.size(); ++i)
            text += (i > 1 ? " " : "") + words[i].text;
        script(text, words.front().line, m_level + 1);
        return std::nullopt;
    }
    if (!m_waiting.empty() && runsItsInput(words))
        m_waiting.back().isScript = true;
    const std::size_t startsFrom = m_commands.size();
    const bool startsOther = runStarted(words);
    ShellCommand made{.words = std::move(words), .startsFrom = startsFrom};
    for (const ShellText& one : made.words) {
        made.flags += one.text.size() > 2 && one.text.starts_with("--") ? 1 : 0;
        made.assigned += assignedAt(one.text) > 0 ? 1 : 0;
    }
    if ((made.flags + made.assigned > 0 || startsOther) && m_commands.size() < 10000)
        m_commands.push_back(std::move(made));
    return std::nullopt;
}

void ShellReader::runFile(const std::vector<ShellText>& words)
{
    if (words.size() < 2)
        return;
    const auto lastPart = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
    const std::string& path = words[1].text;
    const std::string_view name = lastPart(path);
    for (OtherFile& other : m_others)
        if (lastPart(other.name) == name && m_level < kDeepestText && m_files.size() <= kMostFilesRun) {
            other.isRun = true;
            readFile(other.name, other.text, m_level + 1);
            return;
        }
    const bool isOfShell = name == "activate" || name == "modules.sh" || name == "conda.sh" || name == "setvars.sh" ||
                           name.ends_with("rc") || name.find("profile") != std::string_view::npos;
    if (!isOfShell)
        tell(words[0].text, path, words[0].line, "what it sets stands in another file, which is not read: give it, too");
}

bool ShellReader::runStarted(const std::vector<ShellText>& words)
{
    const ShellStart start = startedBy(words);
    const std::size_t outerScopes = m_scopes.size();
    m_scopes.push_back({.isSubshell = true}); // a process of its own
    if (start.isText) {
        const ShellText& text = words[start.at];
        tellBehindText(words, start);
        std::vector<ShellText> outer = m_arguments;
        setArguments({words.begin() + static_cast<std::ptrdiff_t>(std::min(start.at + 2, words.size())), words.end()});
        script(text.text, text.line, m_level + 1);
        setArguments(std::move(outer));
    } else if (start.at > 0) { // srun train
        call(words[start.at].text, std::span(words).subspan(start.at + 1));
    }
    for (std::size_t i = 0; i < words.size(); ++i) { // ssh HOST "torchrun --nproc_per_node 8 …"
        const std::string& text = words[i].text;
        const bool isScript = text.find_first_of(" \n\x1f") != std::string::npos && !text.starts_with("--") &&
                              (text.find("--") != std::string::npos || text.find('$') != std::string::npos);
        if (isScript && !(start.isText && i == start.at))
            script(text, words[i].line, m_level + 1);
        else if (text.starts_with("--wrap=")) // sbatch --wrap="srun torchrun …"
            script(text.substr(7), words[i].line, m_level + 1);
    }
    closeScopes(outerScopes);
    return start.at > 0;
}

void ShellReader::tellBehindText(const std::vector<ShellText>& words, const ShellStart& start)
{
    const std::string &text = words[start.at].text, &shell = words[start.program].text;
    for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at + 1))
        if (const std::size_t name = text.find_first_not_of('{', at + 1);
            name != std::string::npos && (text[name] == '@' || text[name] == '*' || isDigit(text[name])))
            return; // it takes them
    for (std::size_t i = start.at + 1; i < words.size(); ++i)
        if (words[i].text.starts_with("--"))
            tell(words[i].text, std::string(), words[i].line,
                 "stands behind the text that " + shell +
                     " -c runs, which does not get it: not read (\"${NAME[*]}\" would be one text)");
}

} // namespace sim::frameworks
