// Statements of a script: lists with && and ||, pipes, groups.
#include "sim/frameworks/read/shell_reader.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <iterator>

namespace sim::frameworks {
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

void ShellReader::statement()
{
    if (!m_branches.empty() && m_branches.back().isAtPattern && casePattern())
        return;
    m_inPipe = std::exchange(m_behindPipe, false);
    m_ranOther = false;
    std::vector<ShellText> words;
    bool mayAssign = true, hasAssigned = false, isLocal = false;
    bool isExported = false, isWithdrawn = false; // "export -n"
    bool hasGroup = false, ofGroup = false;       // a group whose status is known ends here; its status
    bool ofOpenGroup = false;                     // one ends here whose last test the script alone does not tell
    const int line = m_line;
    std::optional<std::string> keyword; // if, elif, while, until: what follows is a condition
    ShellConditions conditions;
    std::vector<Assigned> before; // what assignments in front of a command replace
    bool isHeld = false;          // these are put off: words of the command are read without them
    std::vector<Assigned> ofWords;
    std::vector<Assigned>* const outerOfWords = std::exchange(m_ofStatement, &ofWords);
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
                ofOpenGroup = !hasGroup && m_lastIsOpen;
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
        if (const std::string name = mayAssign ? assignment(isLocal, before) : std::string(); !name.empty()) {
            hasAssigned = true;
            if (isExported && !skipping())
                m_exported.insert(name);
            continue;
        }
        if (!keyword && !isHeld && !before.empty()) {
            isHeld = true;
            std::for_each(before.rbegin(), before.rend(), [this](Assigned& one) { changePlaces(one); });
        }
        std::vector<ShellText> more = word();
        if (!keyword && more.size() == 1 && more.front().text.ends_with('{') && words.size() < 4) {
            words.push_back(more.front());
            if (const std::string name = functionOf(words); !name.empty()) {
                openFunction(name);
                m_ofStatement = outerOfWords;
                return;
            }
            words.pop_back();
        }
        if (words.empty() && !keyword && more.size() == 1) {
            const std::string& text = more.front().text;
            if (text == "if" || text == "elif" || text == "while" || text == "until") {
                keyword = text;
                mayAssign = false;
                if (text == "elif" && !m_branches.empty()) { // its condition stands in none of the arms
                    Branch& branch = m_branches.back();
                    branch.open = branch.outer;
                    nextArm(branch);
                    conditions.isBegun = branch.isKnown ? std::optional(!branch.wasTaken) : std::nullopt;
                }
                continue;
            }
            if (text == "{" || text == "}") {
                const std::optional<bool> status = text == "{" ? std::nullopt : closeGroup();
                hasGroup = status.has_value();
                ofGroup = status.value_or(false);
                ofOpenGroup = text == "}" && !hasGroup && m_lastIsOpen;
                if (text == "{" && !m_functionAhead.empty())
                    openFunction(std::exchange(m_functionAhead, {}));
                else if (text == "{")
                    openGroup(line, false);
                continue;
            }
            if (text == "then" || text == "do" || text == "time" || text == "exec") {
                mayAssign = !isHeld;
                continue;
            }
            if (text == "else" || text == "fi" || text == "done" || text == "esac") {
                closeBranch(text);
                continue;
            }
            if (text == "export" || text == "local" || text == "declare" || text == "readonly" || text == "typeset") {
                keyword = "export";
                isLocal = text == "local" || text == "declare" || text == "typeset";
                isExported = text == "export";
                continue;
            }
            if (text == "for" || text == "case" || text == "select") {
                loop(text, line);
                m_ofStatement = outerOfWords;
                return;
            }
        }
        if (keyword == "export") { // names without a value, options
            for (const ShellText& one : more) {
                const auto isOption = [&one](char c) {
                    return one.text.starts_with('-') && one.text.find(c) != std::string::npos;
                };
                isLocal = isLocal && !isOption('g');      // "declare -g"
                isExported = isExported || isOption('x'); // "declare -x"
                isWithdrawn = isWithdrawn || isOption('n');
                if (skipping() || one.text.empty() || !startsName(one.text[0]))
                    continue;
                if (isLocal)
                    keepLocal(one.text);
                if (isWithdrawn)
                    m_exported.erase(one.text);
                else if (isExported)
                    m_exported.insert(one.text);
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
    m_ofStatement = outerOfWords;
    if (isHeld)
        std::for_each(before.begin(), before.end(), [this](Assigned& one) { changePlaces(one); });
    const bool isApart = m_inPipe || isPipeAhead(); // a part of a pipe, or in the background
    endConstruct(isPipeAhead());
    const bool wasSkipped = std::exchange(m_skipsNext, false);
    const bool isCommand = !words.empty();
    std::optional<bool> outcome;
    bool isOpenTest = false; // which alone says which of two assignments counts
    if (keyword && *keyword != "export") {
        outcome = condition(*keyword, conditions, words, line, wasSkipped);
    } else if (wasSkipped) { // what went before goes on to the next operator
        outcome = m_status;
    } else if (!words.empty()) {
        const bool isTest = isShellTest(words), isCall = m_functions.find(words.front().text) != m_functions.end();
        for (Assigned& one : before)
            one.isExported = m_exported.insert(one.name).second;
        const std::size_t outerScopes = m_scopes.size(), made = m_commands.size();
        if (isApart)
            m_scopes.push_back({.of = ScopeOf::subshell});
        outcome = skipping() ? std::nullopt : command(std::move(words));
        closeScopes(outerScopes);
        endAssigned(before, made);
        isOpenTest = !outcome && (isTest || (isCall && m_lastIsOpen));
    } else if (hasAssigned || keyword) {
        isOpenTest = m_ranOther && !keyword; // "export X=$(other)" ends well whatever that does
        outcome = m_listBranch > 0 || isOpenTest ? std::nullopt : std::optional(true);
    } else if (hasGroup) {
        outcome = ofGroup;
    } else {
        isOpenTest = ofOpenGroup;
    }
    if (isApart) {
        m_hasExited = false;
        endAssigned(before, m_commands.size());
        endAssigned(ofWords, m_commands.size());
    }
    if (!atEnd() && peek() == '&' && peek(1) != '&') // what is in the background has ended well
        outcome = true;
    if (!wasSkipped && (isCommand || hasAssigned || keyword)) {
        m_lastStatus = outcome;
        m_lastIsOpen = isOpenTest || m_listBranch > 0;
    }
    if (!isPipeAhead())
        std::move(before.begin(), before.end(), std::back_inserter(m_ofList));
    operatorAfter(outcome, isOpenTest ? line : 0, wasSkipped);
}

bool ShellReader::isPipeAhead() const
{
    return !atEnd() && (peek() == '|' || peek() == '&') && peek(1) != peek();
}

void ShellReader::operatorAfter(std::optional<bool> outcome, int openTest, bool wasSkipped)
{
    const int before = std::exchange(m_listBranch, 0);
    m_behindFailure = false;
    if (atEnd() || (peek() == ')' && isInSubshell())) {
        m_ofList.clear();
        return;
    }
    const char c = next();
    const bool isDouble = (c == '&' || c == '|') && peek() == c, isPipe = c == '|' && !isDouble;
    if (isDouble) {
        next();
        m_status = outcome;
        m_skipsNext = outcome.has_value() && (c == '&' ? !*outcome : *outcome);
        m_behindFailure = c == '|' && !outcome && openTest == 0 && before == 0;
        if (openTest > 0 || (before > 0 && c == '|')) // what stands behind || is run where that behind && is not
            m_listBranch = m_openBranches.add(openTest > 0 ? openTest : m_openBranches.lineOf(before), openBranch());
        else
            m_listBranch = before;
    } else if (isPipe) {   // it is run or passed over as a whole
        if (peek() == '&') // "|&"
            next();
        m_behindPipe = true;
        m_skipsNext = wasSkipped;
        m_listBranch = before;
    } else {
        if (c == '&')
            endAssigned(m_ofList, m_commands.size());
        m_ofList.clear();
    }
    if (isDouble || isPipe)
        for (blanks(); !atEnd() && (peek() == '\n' || peek() == '#'); blanks()) { // it goes on behind the end of the line
            if (peek() == '#') {
                comment();
            } else {
                next();
                hereDocuments();
            }
        }
    if (c == ';' && (peek() == ';' || peek() == '&') && !m_branches.empty() && m_branches.back().isCase)
        endArm();
    if (c == '\n')
        hereDocuments();
}

void ShellReader::begin(Branch branch)
{
    branch.isPiped = std::exchange(m_inPipe, false);
    branch.scopes = m_scopes.size();
    m_ofList.clear();
    if (m_branches.size() >= 256)
        return;
    if (!skipping() && !isFunction(branch))
        m_scopes.push_back({.of = branch.isSubshell ? ScopeOf::subshell : ScopeOf::construct});
    m_branches.push_back(std::move(branch));
}

ShellReader::Branch ShellReader::popBranch()
{
    Branch branch = std::move(m_branches.back());
    m_branches.pop_back();
    m_closedFrom = std::min(m_closedFrom.value_or(branch.scopes), branch.scopes);
    m_closedInPipe = m_closedInPipe || branch.isPiped;
    return branch;
}

void ShellReader::openGroup(int line, bool isSubshell)
{
    const int open = openBranch();
    begin({.isOn = !m_skipsNext,
           .isKnown = m_listBranch == 0,
           .line = line,
           .outer = open,
           .open = open,
           .isGroup = true,
           .isSubshell = isSubshell,
           .isOfFailure = std::exchange(m_behindFailure, false),
           .before = m_status});
    if (isSubshell) // what is run in it alone says how it ends
        m_lastStatus = std::nullopt;
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
    const Branch group = popBranch();
    if (!group.isKnown) {
        m_listBranch = group.open;
        return std::nullopt;
    }
    if (group.hasEnded)
        return std::nullopt;
    return group.isOn ? m_lastStatus : group.before;
}

bool ShellReader::isInSubshell() const
{
    return std::any_of(m_branches.begin(), m_branches.end(), [](const Branch& branch) { return branch.isSubshell; });
}

} // namespace sim::frameworks
