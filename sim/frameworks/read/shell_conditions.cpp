#include "sim/frameworks/read/shell_conditions.h"

#include "sim/frameworks/read/setting.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

namespace sim::frameworks {
namespace {

bool isTestWord(std::string_view word)
{
    return word == "[" || word == "[[" || word == "test";
}

/// What both, or one of two, say where either may be unknown.
std::optional<bool> bothOf(std::optional<bool> a, std::optional<bool> b)
{
    if (!a.value_or(true) || !b.value_or(true))
        return false;
    return a && b ? std::optional(true) : std::nullopt;
}
std::optional<bool> eitherOf(std::optional<bool> a, std::optional<bool> b)
{
    if (a.value_or(false) || b.value_or(false))
        return true;
    return a && b ? std::optional(false) : std::nullopt;
}

std::optional<bool> shellTest(std::span<const ShellText> words);

/// "[[ a == b ]]": nothing where the pattern has more than * and ?.
std::optional<bool> equalsIn(const std::string& text, const std::string& pattern, bool isPattern)
{
    if (!isPattern)
        return text == pattern;
    return pattern.find_first_of("[(") != std::string::npos ? std::nullopt : std::optional(matchesPattern(text, pattern));
}

/// "( a || b )" of "[[": the reader of words leaves brackets together.
std::optional<bool> bracketedTest(const std::string& text)
{
    std::vector<ShellText> words{{"[["}};
    std::istringstream in(text.substr(1, text.size() - 2));
    for (std::string word; in >> word;) {
        const bool isPattern = word.find_first_of("*?[") != std::string::npos;
        words.push_back({.text = std::move(word), .isPattern = isPattern});
    }
    return text.size() > kLongestShellExpression || text.find('(', 1) != std::string::npos ? std::nullopt : shellTest(words);
}

/// Whether nothing is left of a text where variables that nothing sets are empty, as without options and environment; nothing
/// where something would have to run, or is not read.
std::optional<bool> isEmptyText(std::string_view text)
{
    while (text.starts_with("${")) {
        std::size_t end = 2;
        while (end < text.size() && (startsName(text[end]) || isDigit(text[end])))
            ++end;
        if (end == text.size() || text[end] != '}')
            return std::nullopt;
        text.remove_prefix(end + 1);
    }
    return text.starts_with("$(") ? std::nullopt : std::optional(text.empty());
}

/// One test without what stands around it: "a = b", "! -z a". `matches`: "[[", which compares with patterns; "[" compares text.
std::optional<bool> plainTest(std::span<const ShellText> given, bool matches)
{
    bool isNegated = false;
    while (given.size() > 1 && given.front().text == "!") {
        isNegated = !isNegated;
        given = given.subspan(1);
    }
    const bool isOpen = std::any_of(given.begin(), given.end(), [](const ShellText& one) { return one.branch > 0; });
    if (given.empty() || isOpen) // what an open branch assigns may be something else
        return std::nullopt;
    const bool isPattern = matches && given.back().isPattern;
    std::vector<std::string> words;
    for (const ShellText& one : given)
        words.push_back(one.text);
    const auto say = [isNegated](bool value) { return std::optional(value != isNegated); };
    if (words.size() <= 2 && !words.empty() && (words[0] == "-z" || words[0] == "-n")) {
        const std::optional<bool> isEmpty = words.size() == 1 ? true : isEmptyText(words[1]);
        return isEmpty ? say(*isEmpty == (words[0] == "-z")) : isEmpty;
    }
    if (words.size() == 1 && matches && words[0].starts_with('(') && words[0].ends_with(')')) {
        const std::optional<bool> inner = bracketedTest(words[0]);
        return inner ? say(*inner) : inner;
    }
    if (words.size() == 1) { // [[ text ]]
        const std::optional<bool> isEmpty = isEmptyText(words[0]);
        return isEmpty ? say(!*isEmpty) : isEmpty;
    }
    if (matches && words.size() == 2 && (words[0] == "==" || words[0] == "=" || words[0] == "!="))
        words.insert(words.begin(), std::string()); // a variable that is empty
    if (words.size() != 3 || isUnsetText(words[0]) || isUnsetText(words[2]))
        return std::nullopt;
    if (words[1] == "=" || words[1] == "==" || words[1] == "!=") {
        const std::optional<bool> isEqual = equalsIn(words[0], words[2], isPattern);
        return isEqual ? say(*isEqual == (words[1] != "!=")) : std::nullopt;
    }
    const std::optional<long long> a = wholeShellNumber(words[0]), b = wholeShellNumber(words[2]);
    if (!a || !b)
        return std::nullopt;
    const std::string& op = words[1];
    if (op == "-eq")
        return say(*a == *b);
    if (op == "-ne")
        return say(*a != *b);
    if (op == "-gt")
        return say(*a > *b);
    if (op == "-ge")
        return say(*a >= *b);
    if (op == "-lt")
        return say(*a < *b);
    if (op == "-le")
        return say(*a <= *b);
    return std::nullopt;
}

/// What a test says; nothing where it cannot be known here.
std::optional<bool> shellTest(std::span<const ShellText> words)
{
    if (words.empty())
        return std::nullopt;
    const bool matches = words.back().text == "]]" || words.front().text == "[[";
    if (words.back().text == "]" || words.back().text == "]]")
        words = words.first(words.size() - 1);
    if (!words.empty() && isTestWord(words.front().text))
        words = words.subspan(1);
    // "a && b || c" and, of the older form, "a -a b -o c": "and" binds tighter.
    std::optional<bool> any(false), all(true);
    std::size_t from = 0;
    for (std::size_t at = 0; at <= words.size(); ++at) {
        const std::string_view word = at < words.size() ? std::string_view(words[at].text) : std::string_view("||");
        const bool isAnd = matches ? word == "&&" : word == "-a",
                   isOr = matches || at == words.size() ? word == "||" : word == "-o";
        if (!isAnd && !isOr)
            continue;
        all = bothOf(all, plainTest(words.subspan(from, at - from), matches));
        from = at + 1;
        if (isOr) {
            any = eitherOf(any, all);
            all = true;
        }
    }
    return any;
}

} // namespace

bool isArithmeticTest(std::span<const ShellText> words)
{
    return words.size() == 1 && words[0].text.starts_with("((") && words[0].text.ends_with("))");
}

bool isShellCalculation(std::span<const ShellText> words)
{
    return isArithmeticTest(words) || (!words.empty() && words.front().text == "let");
}

bool isShellTest(std::span<const ShellText> words)
{
    while (!words.empty() && words.front().text == "!")
        words = words.subspan(1);
    return !words.empty() && (isArithmeticTest(words) || isTestWord(words.front().text) || words.back().text == "]]");
}

bool isOpenDoubleTest(std::span<const ShellText> words)
{
    while (!words.empty() && words.front().text == "!")
        words = words.subspan(1);
    return !words.empty() && words.front().text == "[[" && words.back().text != "]]";
}

std::optional<bool> shellStatus(std::span<const ShellText> words)
{
    if (words.size() == 1 && (words[0].text == "true" || words[0].text == ":" || words[0].text == "false"))
        return words[0].text != "false";
    return isShellTest(words) ? shellTest(words) : std::nullopt;
}

void ShellConditions::take(std::span<const ShellText> words, std::optional<bool> status)
{
    told = op.empty() ? status : op == "&&" ? bothOf(told, status) : eitherOf(told, status);
    for (const ShellText& one : words)
        written += (written.empty() ? "" : " ") + one.text;
}

std::optional<bool> ShellConditions::isRun() const
{
    return bothOf(isBegun, op.empty() ? std::optional(true) : told ? std::optional(*told == (op == "&&")) : told);
}

void ShellConditions::join(const std::string& with)
{
    op = with;
    written += " " + with;
}

} // namespace sim::frameworks
