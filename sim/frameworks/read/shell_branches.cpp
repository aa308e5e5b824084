// Branches and loops of a script: if, case, for, while, and the conditions in front of them.
#include "sim/frameworks/read/shell_reader.h"
#include "sim/text/characters.h"

#include <algorithm>

namespace sim::frameworks {
namespace {

constexpr const char* kAllBranches =
    "the script alone does not tell: all branches are read, and where several give a value the last "
    "one counts";

} // namespace

void ShellReader::beginArm(Branch& branch)
{
    branch.open = branch.isKnown ? branch.outer : m_openBranches.add(branch.line, branch.outer);
    branch.mayHaveEnded = false;
}

std::optional<bool> ShellReader::statusOf(std::span<const ShellText> words, std::optional<bool> isRun)
{
    bool isNegated = false;
    for (; words.size() > 1 && words.front().text == "!"; words = words.subspan(1))
        isNegated = !isNegated;
    std::optional<bool> status;
    if (isShellCalculation(words)) {
        status = calculate(words, isRun);
    } else if (isShellTest(words)) {
        std::vector<ShellText> seen(words.begin(), words.end());
        for (ShellText& one : seen)
            one.branch = isDecided(one.branch) ? 0 : one.branch;
        status = shellStatus(seen);
    } else {
        status = shellStatus(words);
    }
    return status ? std::optional(*status != isNegated) : status;
}

std::optional<bool> ShellReader::calculate(std::span<const ShellText> words, std::optional<bool> isRun)
{
    const bool isLet = words.front().text == "let";
    std::optional<bool> status;
    for (const ShellText& one : words.subspan(isLet ? 1 : 0)) {
        const std::string_view text = one.text, sums = isLet ? text : text.substr(2, text.size() - 4);
        const int branch = moreOpen(one.branch, branchOf(sums, true));
        ShellSum sum = shellSum(sums, m_variables, spender());
        status.reset();
        if (sum.value && isDecided(branch))
            status.emplace(*sum.value != 0);
        if (!isRun)
            for (ShellCalculation& each : sum.assigned)
                each.value.reset();
        if (isRun.value_or(true))
            assignSums(sum, one.line, one.branch);
    }
    return status;
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
    if (!branch.carriesOn)
        nextArm(branch);
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
    branch.isOn = branch.fallsOn || (!branch.wasTaken && (!branch.isKnown || isMatch));
    branch.wasTaken = branch.wasTaken || isMatch;
    beginArm(branch);
    return true;
}

void ShellReader::endArm()
{
    Branch& arm = m_branches.back();
    const bool isDouble = peek() == ';';
    next();
    arm.carriesOn = !isDouble || peek() == '&';
    if (isDouble && arm.carriesOn)
        next();
    const bool isRun = arm.isOn && arm.isKnown;
    arm.fallsOn = isRun && !isDouble;
    if (isRun && isDouble && arm.carriesOn) // ";;&": patterns of later arms are looked at, too
        arm.wasTaken = false;
    arm.isAtPattern = true;
}

void ShellReader::joinCondition(ShellConditions& conditions, std::vector<ShellText>& words)
{
    const int line = m_line;
    const std::string op{next(), next()};
    if (isOpenDoubleTest(words)) {
        words.push_back({op, line});
    } else {
        conditions.take(words, statusOf(words, conditions.isRun()));
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
    conditions.take(words, statusOf(words, isPassedOver ? std::optional(false) : conditions.isRun()));
    bool isKnown = conditions.told.has_value(), mayBe = conditions.told.value_or(true);
    if (!atEnd() && (peek() == '&' || peek() == '|')) { // what a pipe ends with
        isKnown = false;
        mayBe = true;
    }
    const bool isLoop = keyword == "while" || keyword == "until", mayBePassed = isLoop && !isKnown;
    if (keyword == "until" && isKnown)
        mayBe = !mayBe;
    else if (mayBePassed) // read once
        isKnown = mayBe = true;
    if (isPassedOver) {
        isKnown = true;
        mayBe = false;
    }
    if (keyword == "elif" && !m_branches.empty()) {
        Branch& branch = m_branches.back();
        branch.isOn = !branch.wasTaken && mayBe;
    } else {
        begin({.isOn = mayBe,
               .wasTaken = isPassedOver,
               .isKnown = isKnown,
               .isLoop = isLoop,
               .mayBePassed = mayBePassed,
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
        nextArm(branch);
        beginArm(branch);
    } else {
        popBranch();
    }
}

ShellText ShellReader::countingLoop()
{
    const int line = m_line;
    const std::size_t start = m_at + 2, end = std::min(m_text->find("))", m_at), m_text->size());
    const std::string header = m_text->substr(start, end - start);
    while (m_at < std::min(end + 2, m_text->size()))
        next();
    return {"((" + header + "))", line};
}

void ShellReader::loop(const std::string& keyword, int line)
{
    blanks();
    std::vector<ShellText> words;
    const bool isCounting = keyword == "for" && peek() == '(' && peek(1) == '(';
    if (isCounting)
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
    // "for NAME in "$@"" of a script without options runs no time.
    const bool isNothing = keyword == "for" && words.size() >= 2 && words[1].text == "in" &&
                           std::all_of(words.begin() + 2, words.end(), [](const ShellText& one) { return one.text.empty(); });
    const bool isPassedOver = std::exchange(m_skipsNext, false), isCase = keyword == "case";
    const int open = openBranch();
    Branch branch{.isOn = !isPassedOver && !isNothing,
                  .wasTaken = isPassedOver,
                  .isLoop = !isCase,
                  .mayBePassed = !isCase && (words.size() < 3 || isUnsetText(words[2].text)),
                  .line = line,
                  .outer = open,
                  .open = open};
    m_listBranch = 0; // the branch stands in it
    if (isCase) {
        branch.isCase = branch.isAtPattern = true;
        branch.subject = words.empty() ? "" : words.front().text;
        const bool isOpen = !words.empty() && !isDecided(words.front().branch);
        branch.isKnown = !isOpen && branch.subject.find('$') == std::string::npos;
    }
    const bool isTold = isCase && branch.isKnown;
    begin(std::move(branch));
    if (skipping())
        return;
    if (isCounting) { // the first of its sums is assigned
        const std::string first = words.front().text.substr(0, words.front().text.find(';'));
        const ShellText sum{first + (first.ends_with("))") ? "" : "))"), line, branchOf(first, true)};
        calculate({&sum, 1}, true);
    } else if (keyword == "for" && words.size() >= 3 && startsName(words[0].text.empty() ? ' ' : words[0].text[0])) {
        assignText(words[0].text, words[2]);
    }
    if (isTold)
        return;
    tell(keyword, words.empty() ? std::string() : words.front().text, line,
         keyword == "for" ? "is read once, with its first value" : kAllBranches);
}

} // namespace sim::frameworks
