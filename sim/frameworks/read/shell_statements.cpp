// Statements of a script: lists with && and ||, groups, branches and loops.
#include "sim/frameworks/read/shell_reader.h"
#include "sim/text/characters.h"

#include <algorithm>

namespace sim::frameworks {
namespace {

constexpr const char* kAllBranches =
    "the script alone does not tell: all branches are read, and where several give a value the last "
    "one counts";

} // namespace

bool ShellReader::skipping() const
{
    return m_skipsNext || std::any_of(m_branches.begin(), m_branches.end(), [](const Branch& branch) { return !branch.isOn; });
}

int ShellReader::openBranch() const
{
    if (m_listBranch > 0)
        return m_listBranch;
    return m_branches.empty() ? m_outerBranch : m_branches.back().open;
}

void ShellReader::beginArm(Branch& branch)
{
    branch.open = branch.isKnown ? branch.outer : m_openBranches.add(branch.line, branch.outer);
}

std::optional<bool> ShellReader::statusOf(std::span<const ShellText> words)
{
    if (!isShellTest(words))
        return shellStatus(words, m_variables, spender());
    std::vector<ShellText> seen(words.begin(), words.end());
    for (ShellText& one : seen) {
        const int branch = isArithmeticTest({&one, 1}) ? moreOpen(one.branch, branchOf(one.text, true)) : one.branch;
        one.branch = isDecided(branch) ? 0 : branch;
    }
    return shellStatus(seen, m_variables, spender());
}

void ShellReader::statement()
{
    if (!m_branches.empty() && m_branches.back().isAtPattern && casePattern())
        return;
    std::vector<ShellText> words;
    bool mayAssign = true, hasAssigned = false, isLocal = false;
    bool hasGroup = false, ofGroup = false; // a group whose status is known ends here; its status
    const int line = m_line;
    std::optional<std::string> keyword; // if, elif, while, until: what follows is a condition
    ShellConditions conditions;
    std::vector<Assigned> before; // what assignments in front of a command replace
    while (true) {
        blanks();
        if ((peek() == '&' || peek() == '|') && peek() == peek(1) && !atEnd() &&
            (isOpenDoubleTest(words) || (keyword && *keyword != "export"))) {
            joinCondition(conditions, words);
            continue;
        }
        if (peek() == ')' && !atEnd() && isInSubshell()) {
            if (!words.empty() || hasAssigned || keyword) // its last command
                break;
            next();
            {
                const std::optional<bool> status = closeSubshell();
                hasGroup = status.has_value();
                ofGroup = status.value_or(false);
            }
            continue;
        }
        if (atEnd() || peek() == '\n' || peek() == ';' || (peek() == '&' && peek(1) != '>') || peek() == '|' ||
            (peek() == ')' && words.empty()))
            break;
        if (peek() == '#') {
            comment();
            continue;
        }
        if (peek() == '(' && peek(1) != '(' && words.empty() && mayAssign) { // a subshell
            next();
            openGroup(line, true);
            continue;
        }
        if (!isOpenDoubleTest(words) && redirection())
            continue;
        if (mayAssign && assignment(isLocal, before)) {
            hasAssigned = true;
            continue;
        }
        std::vector<ShellText> more = word();
        if (!keyword && more.size() == 1 && more.front().text.ends_with('{') && words.size() < 4) {
            words.push_back(more.front());
            if (const std::string name = functionOf(words); !name.empty()) {
                openFunction(name);
                return;
            }
            words.pop_back();
        }
        if (words.empty() && !keyword && more.size() == 1) {
            const std::string& text = more.front().text;
            if (text == "if" || text == "elif" || text == "while" || text == "until") {
                keyword = text;
                mayAssign = false;
                if (text == "elif" && !m_branches.empty()) // its condition stands in none of the arms
                    m_branches.back().open = m_branches.back().outer;
                continue;
            }
            if (text == "{" || text == "}") {
                const std::optional<bool> status = text == "{" ? std::nullopt : closeGroup();
                hasGroup = status.has_value();
                ofGroup = status.value_or(false);
                if (text == "{" && !m_functionAhead.empty())
                    openFunction(std::exchange(m_functionAhead, {}));
                else if (text == "{")
                    openGroup(line, false);
                continue;
            }
            if (text == "then" || text == "do" || text == "time" || text == "exec")
                continue;
            if (text == "else" || text == "fi" || text == "done" || text == "esac") {
                closeBranch(text);
                continue;
            }
            if (text == "export" || text == "local" || text == "declare" || text == "readonly" || text == "typeset") {
                keyword = "export";
                isLocal = text == "local" || text == "declare" || text == "typeset";
                continue;
            }
            if (text == "for" || text == "case" || text == "select") {
                loop(text, line);
                return;
            }
        }
        if (keyword == "export") { // names without a value, options
            for (const ShellText& one : more) {
                isLocal = isLocal && !(one.text.starts_with('-') && one.text.find('g') != std::string::npos); // "declare -g"
                if (isLocal && !m_scopes.empty() && !skipping() && !one.text.empty() && startsName(one.text[0]))
                    keepFor(m_scopes.back(), one.text);
            }
            continue;
        }
        mayAssign = false;
        for (ShellText& one : more)
            words.push_back(std::move(one));
        if (words.size() > 4 * kMostSettings)
            fail("a command has more than " + std::to_string(4 * kMostSettings) + " words");
        constexpr std::size_t kMostNots = 100; // which every word behind them looks through
        if (words.size() == kMostNots + 1 && words.front().text == "!" && words.back().text == "!")
            fail("a command begins with more than " + std::to_string(kMostNots) + " \"!\"");
    }
    const bool wasSkipped = std::exchange(m_skipsNext, false);
    const bool isCommand = !words.empty();
    std::optional<bool> outcome;
    bool isOpenTest = false; // which alone says which of two assignments counts
    if (keyword && *keyword != "export") {
        outcome = condition(*keyword, conditions, words, line, wasSkipped);
    } else if (wasSkipped) { // what went before goes on to the next operator
        outcome = m_status;
    } else if (!words.empty()) {
        const bool isTest = isShellTest(words);
        const std::size_t outerScopes = m_scopes.size();
        if (!atEnd() && (peek() == '|' || peek() == '&') && peek(1) != peek()) // a part of a pipe, or in the background
            m_scopes.push_back({.isSubshell = true});
        const std::size_t made = m_commands.size();
        outcome = skipping() ? std::nullopt : command(std::move(words));
        closeScopes(outerScopes);
        endAssigned(before, made);
        isOpenTest = isTest && !outcome;
    } else if (hasAssigned) {
        outcome = m_listBranch > 0 ? std::nullopt : std::optional(true);
    } else if (hasGroup) {
        outcome = ofGroup;
    }
    if (!wasSkipped && (isCommand || hasAssigned))
        m_lastStatus = outcome;
    operatorAfter(outcome, isOpenTest ? line : 0);
}

void ShellReader::operatorAfter(std::optional<bool> outcome, int openTest)
{
    const int before = std::exchange(m_listBranch, 0);
    if (atEnd() || (peek() == ')' && isInSubshell()))
        return;
    const char c = next();
    const bool isDouble = (c == '&' || c == '|') && peek() == c;
    if (isDouble) {
        next();
        m_status = outcome;
        m_skipsNext = outcome.has_value() && (c == '&' ? !*outcome : *outcome);
        if (openTest > 0 || (before > 0 && c == '|')) // what stands behind || is run where that behind && is not
            m_listBranch = m_openBranches.add(openTest > 0 ? openTest : m_openBranches.lineOf(before), openBranch());
        else
            m_listBranch = before;
        blanks();
        while (!atEnd() && (peek() == '\n' || peek() == '#')) { // the list goes on behind the end of the line
            if (peek() == '#') {
                comment();
            } else {
                next();
                hereDocuments();
            }
            blanks();
        }
    }
    if (c == ';' && peek() == ';' && !m_branches.empty() && m_branches.back().isCase) {
        next();
        m_branches.back().isAtPattern = true;
    }
    if (c == '\n')
        hereDocuments();
}

void ShellReader::openGroup(int line, bool isSubshell)
{
    const int open = openBranch();
    if (m_branches.size() < 256) {
        const bool isSkipped = skipping();
        m_branches.push_back({.isOn = !m_skipsNext,
                              .isKnown = m_listBranch == 0,
                              .line = line,
                              .outer = open,
                              .open = open,
                              .isGroup = true,
                              .isSubshell = isSubshell,
                              .scopes = m_scopes.size(),
                              .before = m_status});
        if (isSubshell && !isSkipped)
            m_scopes.push_back({.isSubshell = true});
        if (isSubshell) // what is run in it alone says how it ends
            m_lastStatus = std::nullopt;
    }
    m_listBranch = 0;
    m_skipsNext = false;
}

std::optional<bool> ShellReader::closeGroup()
{
    const bool isAtLineStart = m_at < 2 || (*m_text)[m_at - 2] == '\n';
    const auto function = std::find_if(m_branches.rbegin(), m_branches.rend(), isFunction);
    if (isAtLineStart && function != m_branches.rend()) // whatever seems open in it
        m_branches.erase(function.base(), m_branches.end());
    if (m_branches.empty() || !m_branches.back().isGroup || m_branches.back().isSubshell)
        return std::nullopt;
    if (!isFunction(m_branches.back()))
        return endGroup();
    const Branch body = std::move(m_branches.back());
    m_branches.pop_back();
    if (!skipping())
        m_functions[body.function] = {m_text->substr(body.start, m_at - 1 - body.start), body.line};
    return std::nullopt;
}

std::optional<bool> ShellReader::closeSubshell()
{
    const auto subshell =
        std::find_if(m_branches.rbegin(), m_branches.rend(), [](const Branch& branch) { return branch.isSubshell; });
    m_branches.erase(subshell.base(), m_branches.end()); // whatever seems open in it
    closeScopes(m_branches.back().scopes);
    return endGroup();
}

std::optional<bool> ShellReader::endGroup()
{
    const Branch group = std::move(m_branches.back());
    m_branches.pop_back();
    if (!group.isKnown) {
        m_listBranch = group.open;
        return std::nullopt;
    }
    return group.isOn ? m_lastStatus : group.before;
}

bool ShellReader::isInSubshell() const
{
    return std::any_of(m_branches.begin(), m_branches.end(), [](const Branch& branch) { return branch.isSubshell; });
}

bool ShellReader::isPatternOf(Branch& branch, const std::string& pattern)
{
    if (!branch.isKnown || branch.wasTaken)
        return false;
    if (pattern.find_first_of("[$`") == std::string::npos)
        return matchesPattern(branch.subject, pattern);
    branch.isKnown = false;
    if (!skipping())
        tell("case", branch.subject, branch.line, kAllBranches);
    return false;
}

bool ShellReader::casePattern()
{
    Branch& branch = m_branches.back();
    while (!atEnd() && (isShellBlank(peek()) || peek() == '\n' || peek() == '(' || (peek() == '\\' && peek(1) == '\n')))
        next();
    if (atEnd() || peek() == '#') {
        if (!atEnd())
            comment();
        return true;
    }
    if (m_text->compare(m_at, 4, "esac") == 0 && !(startsName(peek(4)) || isDigit(peek(4)))) {
        branch.isAtPattern = false;
        return false;
    }
    branch.isOn = true; // between two arms
    bool isMatch = false;
    std::string pattern;
    while (!atEnd() && peek() != ')') {
        const char c = next();
        if (c == '|') {
            isMatch = isPatternOf(branch, pattern) || isMatch;
            pattern.clear();
        } else if (!isShellBlank(c) && c != '\n' && c != '"' && c != '\'') {
            pattern += c;
        }
    }
    isMatch = isPatternOf(branch, pattern) || isMatch;
    if (!atEnd())
        next();
    branch.isAtPattern = false;
    branch.isOn = !branch.wasTaken && (!branch.isKnown || isMatch);
    branch.wasTaken = branch.wasTaken || isMatch;
    beginArm(branch);
    return true;
}

void ShellReader::joinCondition(ShellConditions& conditions, std::vector<ShellText>& words)
{
    const int line = m_line;
    const std::string op{next(), next()};
    if (isOpenDoubleTest(words)) {
        words.push_back({op, line});
    } else {
        conditions.take(words, statusOf(words));
        conditions.join(op);
        words.clear();
    }
    for (blanks(); !atEnd() && (peek() == '\n' || peek() == '#'); blanks()) { // the list goes on behind the end of the line
        if (peek() == '#')
            comment();
        else
            next();
    }
}

std::optional<bool> ShellReader::condition(const std::string& keyword, ShellConditions& conditions,
                                           const std::vector<ShellText>& words, int line, bool isPassedOver)
{
    conditions.take(words, statusOf(words));
    bool isKnown = conditions.told.has_value(), mayBe = conditions.told.value_or(true);
    if (!atEnd() && (peek() == '&' || peek() == '|')) { // what a pipe ends with
        isKnown = false;
        mayBe = true;
    }
    if (keyword == "until" && isKnown)
        mayBe = !mayBe;
    else if ((keyword == "while" || keyword == "until") && !isKnown) // read once
        isKnown = mayBe = true;
    if (isPassedOver) {
        isKnown = true;
        mayBe = false;
    }
    if (keyword == "elif" && !m_branches.empty()) {
        Branch& branch = m_branches.back();
        branch.isOn = !branch.wasTaken && mayBe;
    } else if (m_branches.size() < 256) {
        m_branches.push_back({.isOn = mayBe,
                              .wasTaken = isPassedOver,
                              .isKnown = isKnown,
                              .isLoop = keyword == "while" || keyword == "until",
                              .line = line,
                              .outer = openBranch()});
    }
    if (!m_branches.empty()) {
        Branch& branch = m_branches.back();
        branch.line = isKnown ? branch.line : line;
        branch.isKnown = branch.isKnown && isKnown;
        branch.wasTaken = branch.wasTaken || (isKnown && branch.isOn);
        beginArm(branch);
    }
    if (!isKnown && !skipping() && m_sheet.undecided.size() < 200)
        tell(keyword, conditions.written, line, kAllBranches);
    // What stands in a pipe is no command of ours.
    while (!atEnd() && (peek() == '&' || peek() == '|')) {
        while (!atEnd() && peek() != ';' && peek() != '\n')
            next();
    }
    return std::nullopt;
}

void ShellReader::closeBranch(const std::string& text)
{
    if (m_branches.empty() || m_branches.back().isSubshell)
        return;
    Branch& branch = m_branches.back();
    if (text == "else") {
        branch.isOn = !branch.wasTaken;
        beginArm(branch);
    } else {
        m_branches.pop_back();
    }
}

ShellText ShellReader::countingLoop()
{
    const int line = m_line;
    const std::size_t start = m_at + 2, end = std::min(m_text->find("))", m_at), m_text->size());
    const std::string header = m_text->substr(start, end - start);
    while (m_at < std::min(end + 2, m_text->size()))
        next();
    const std::string begin = header.substr(0, header.find(';'));
    const ShellText first{"((" + begin + "))", line, branchOf(begin, true)};
    if (!skipping())
        calculate({&first, 1});
    return {"((" + header + "))", line};
}

void ShellReader::loop(const std::string& keyword, int line)
{
    blanks();
    std::vector<ShellText> words;
    if (keyword == "for" && peek() == '(' && peek(1) == '(')
        words.push_back(countingLoop());
    while (!atEnd() && peek() != '\n' && peek() != ';') {
        if (peek() == '#') {
            comment();
            continue;
        }
        if (peek() == '&' || peek() == '|' || peek() == ')' || peek() == '<' || peek() == '>' || peek() == '(') {
            next();
            continue;
        }
        for (ShellText& one : word())
            words.push_back(std::move(one));
        blanks();
        if (keyword == "case" && words.size() > 1 && words.back().text == "in")
            break;
    }
    if (keyword == "for" && words.size() >= 3 && startsName(words[0].text.empty() ? ' ' : words[0].text[0]) && !skipping())
        assignText(words[0].text, words[2]);
    const int open = openBranch();
    Branch branch{.isLoop = keyword != "case", .line = line, .outer = open, .open = open};
    m_listBranch = 0; // the branch stands in it
    if (keyword == "case") {
        branch.isCase = branch.isAtPattern = true;
        branch.subject = words.empty() ? "" : words.front().text;
        const bool isOpen = !words.empty() && !isDecided(words.front().branch);
        branch.isKnown = !isOpen && branch.subject.find('$') == std::string::npos;
    }
    // "for NAME in "$@"" of a script without options runs no time.
    const bool isNothing = keyword == "for" && words.size() >= 2 && words[1].text == "in" &&
                           std::all_of(words.begin() + 2, words.end(), [](const ShellText& one) { return one.text.empty(); });
    const bool isPassedOver = std::exchange(m_skipsNext, false);
    if (isPassedOver || isNothing)
        branch.isOn = false;
    branch.wasTaken = isPassedOver;
    const bool isTold = isPassedOver || isNothing || (keyword == "case" && branch.isKnown);
    if (m_branches.size() < 256)
        m_branches.push_back(std::move(branch));
    if (isTold || skipping())
        return;
    tell(keyword, words.empty() ? std::string() : words.front().text, line,
         keyword == "for" ? "is read once, with its first value" : kAllBranches);
}

} // namespace sim::frameworks
