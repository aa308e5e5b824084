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

bool ShellReader::isEndAhead() const
{
    std::size_t ahead = 0;
    while (m_at + ahead < m_text->size() && isShellBlank(peek(ahead)))
        ++ahead;
    const char c = peek(ahead);
    return c == '\n' || c == ';' || c == ')' || c == '#';
}

std::string ShellReader::assignment(bool isLocal, std::vector<Assigned>& before)
{
    std::size_t length = 0;
    if (!startsName(peek()))
        return {};
    while (startsName(peek(length)) || isDigit(peek(length)))
        ++length;
    const std::size_t ofKey = lengthOfKey(length), end = length + ofKey;
    const bool isMore = peek(end) == '+' && peek(end + 1) == '=';
    if (!isMore && peek(end) != '=')
        return {};
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
        return name;
    }
    if (ofKey > 0) {
        int branch = branchOf(writtenKey, true);
        for (const ShellText& one : value.pieces)
            branch = moreOpen(branch, one.branch);
        value = {.pieces = {{isMore ? "${" + name + "[" + key + "]}" : joined(value), line, branch}}};
    }
    if (isLocal)
        keepLocal(name);
    if (m_inPipe || !isEndAhead())
        remember(before, name);
    assign(name, std::move(value), isMore, key);
    return name;
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
    if (const std::optional<bool> status = statusOf(words, true); status || isShellTest(words) || isShellCalculation(words))
        return status;
    const std::string& first = words.front().text;
    if (call(first, std::span(words).subspan(1))) {
        if (m_hasExited)
            endScript();
        return m_lastStatus;
    }
    if ((first == "return" || first == "exit") && isBehindFailure())
        return std::nullopt;
    if (first == "return")
        return leave(words);
    if (first == "exit") {
        endScript();
        return std::nullopt;
    }
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
    if (first == "set") {
        for (std::size_t i = 1; i < words.size(); ++i)
            if (const std::string& option = words[i].text; option == "allexport")
                m_exportsAll = words[i - 1].text.starts_with('-');
            else if ((option.starts_with('-') || option.starts_with('+')) && option.find('a') != std::string::npos) // "-ea"
                m_exportsAll = option.starts_with('-');
        return std::nullopt;
    }
    if (first == "printf" && words.size() > 2 && words[1].text == "-v") {
        assignText(words[2].text, {"$(printf)", words[2].line});
        return std::nullopt;
    }
    if (first == "trap" || first == "echo" || first == "printf" || first == "cd" || first == "mkdir" || first == "module" ||
        first == "rm" || first == "cat")
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
    const bool readsFile = first == "swift" && words.size() > 2; // ms-swift may have all of its settings from a file
    const bool startsOther = runStarted(words);
    ShellCommand made{.words = std::move(words), .startsFrom = startsFrom};
    for (const ShellText& one : made.words) {
        made.flags += one.text.size() > 2 && one.text.starts_with("--") ? 1 : 0;
        made.assigned += assignedAt(one.text) > 0 ? 1 : 0;
    }
    if ((made.flags + made.assigned > 0 || startsOther || readsFile) && m_commands.size() < 10000)
        m_commands.push_back(std::move(made));
    return std::nullopt;
}

OtherFile* ShellReader::otherOf(std::string_view path)
{
    const auto lastPart = [](std::string_view text) { return text.substr(text.rfind('/') + 1); };
    const auto found = std::find_if(m_others.begin(), m_others.end(),
                                    [&](const OtherFile& other) { return lastPart(other.name) == lastPart(path); });
    return found == m_others.end() || m_level >= kDeepestText || m_files.size() > kMostFilesRun ? nullptr : &*found;
}

void ShellReader::runFile(const std::vector<ShellText>& words)
{
    if (words.size() < 2)
        return;
    const std::string& path = words[1].text;
    if (OtherFile* const other = otherOf(path)) {
        other->isRun = true;
        const bool outerMayReturn = std::exchange(m_mayReturn, true);
        readFile(other->name, other->text, m_level + 1);
        m_mayReturn = outerMayReturn;
        m_hasReturned = false;
        return;
    }
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    const bool isOfShell = name == "activate" || name == "modules.sh" || name == "conda.sh" || name == "setvars.sh" ||
                           name.ends_with("rc") || name.find("profile") != std::string_view::npos;
    if (!isOfShell)
        tell(words[0].text, path, words[0].line, "what it sets stands in another file, which is not read: give it, too");
}

void ShellReader::apart(const std::function<void()>& run)
{
    const std::size_t outerScopes = m_scopes.size();
    m_scopes.push_back({.of = ScopeOf::subshell});
    const bool outerMayReturn = std::exchange(m_mayReturn, false);
    run();
    m_mayReturn = outerMayReturn;
    m_hasExited = false;
    closeScopes(outerScopes);
}

void ShellReader::runScript(OtherFile& other, std::span<const ShellText> arguments)
{
    ShellVariables inherited;
    std::map<std::string, Function, std::less<>> functions;
    for (const std::string& name : m_exported) {
        const auto variable = m_variables.find(name);
        if (variable != m_variables.end() && !variable->second.isArray) {
            spendOn(variable->second);
            inherited.insert(*variable);
        }
        if (const auto function = m_functions.find(name); function != m_functions.end()) {
            spend(function->second.body.size());
            functions.insert(*function);
        }
        spend(name.size());
    }
    const std::set<std::string, std::less<>> outerExported = m_exported;
    const bool outerExportsAll = std::exchange(m_exportsAll, false), outerMayReturn = std::exchange(m_mayReturn, false);
    ShellVariables outerVariables = std::exchange(m_variables, std::move(inherited));
    std::map<std::string, Function, std::less<>> outerFunctions = std::exchange(m_functions, std::move(functions));
    std::vector<Scope> outerScopes = std::exchange(m_scopes, {});
    std::vector<ShellText> outerArguments = std::exchange(m_arguments, {});
    setArguments({arguments.begin(), arguments.end()});
    other.isRun = true;
    readFile(other.name, other.text, m_level + 1);
    for (auto& [name, value] : m_variables)
        if (outerVariables.find(name) == outerVariables.end())
            m_ended[name] = std::move(value);
    m_arguments = std::move(outerArguments);
    m_scopes = std::move(outerScopes);
    m_functions = std::move(outerFunctions);
    m_variables = std::move(outerVariables);
    m_exported = outerExported;
    m_exportsAll = outerExportsAll;
    m_mayReturn = outerMayReturn;
    m_hasExited = false;
}

bool ShellReader::runStarted(const std::vector<ShellText>& words)
{
    const ShellStart start = startedBy(words);
    const bool isFile = !start.isText && (start.at > 0 || words.front().text.find('/') != std::string::npos);
    OtherFile* const file = isFile ? otherOf(words[start.at].text) : nullptr;
    const auto behind = [&](std::size_t count) { return std::span(words).subspan(std::min(start.at + count, words.size())); };
    if (file != nullptr)
        runScript(*file, behind(1));
    apart([&] {
        if (start.isText) {
            const ShellText& text = words[start.at];
            tellBehindText(words, start);
            std::vector<ShellText> outer = m_arguments;
            const auto arguments = behind(2);
            setArguments({arguments.begin(), arguments.end()});
            script(text.text, text.line, m_level + 1);
            setArguments(std::move(outer));
        } else if (start.at > 0 && file == nullptr) { // srun train
            call(words[start.at].text, behind(1));
        }
        for (std::size_t i = 0; i < words.size() && file == nullptr; ++i) { // ssh HOST "torchrun --nproc_per_node 8 …"
            const std::string& text = words[i].text;
            const bool isScript = text.find_first_of(" \n\x1f") != std::string::npos && !text.starts_with("--") &&
                                  (text.find("--") != std::string::npos || text.find('$') != std::string::npos);
            if (isScript && !(start.isText && i == start.at))
                script(text, words[i].line, m_level + 1);
            else if (text.starts_with("--wrap=")) // sbatch --wrap="srun torchrun …"
                script(text.substr(7), words[i].line, m_level + 1);
        }
    });
    return start.at > 0 || file != nullptr;
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
