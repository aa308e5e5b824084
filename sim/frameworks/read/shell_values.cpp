#include "sim/frameworks/read/shell_values.h"

#include "sim/frameworks/read/cursor.h"
#include "sim/frameworks/read/setting.h"
#include "sim/text/characters.h"

#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

namespace sim::frameworks {

std::string joined(const ShellVariable& variable)
{
    std::string text;
    if (variable.isArray)
        return variable.elements.empty() ? "" : variable.elements.front().text;
    for (const ShellText& piece : variable.pieces)
        text += piece.text;
    return text;
}

namespace {

constexpr long long kMostNumber = 1LL << 52;

std::optional<long long> wholeOf(std::string_view text)
{
    long long number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number > kMostNumber || number < -kMostNumber)
        return std::nullopt;
    return number;
}

constexpr std::size_t kLongestExpression = 4096;
constexpr int kDeepestVariable = 8;
constexpr int kDeepestBracket = 32;
constexpr int kMostFactors = 10'000; ///< of one expression, those of its variables too: ten that are ten of another are many

class Arithmetic {
public:
    /// `left`: factors that may still be looked at, of all that belongs to one expression.
    Arithmetic(std::string_view text, const ShellVariables& variables, int depth, int& left)
        : m_cursor(text), m_variables(variables), m_depth(depth), m_left(left)
    {
    }

    std::optional<long long> value()
    {
        const std::optional<long long> result = choice(0);
        m_cursor.blanks();
        return m_cursor.atEnd() ? result : std::nullopt;
    }

private:
    static std::optional<long long> checked(double value)
    {
        const auto most = static_cast<double>(kMostNumber);
        return value <= most && value >= -most ? std::optional(static_cast<long long>(value)) : std::nullopt;
    }
    /// a ? b : c
    std::optional<long long> choice(int level)
    {
        const std::optional<long long> condition = binary(0, level);
        if (!condition || !m_cursor.take('?'))
            return condition;
        const std::optional<long long> yes = level > kDeepestBracket ? std::nullopt : choice(level + 1);
        if (!yes || !m_cursor.take(':'))
            return std::nullopt;
        const std::optional<long long> no = choice(level + 1);
        return no ? (*condition != 0 ? yes : no) : std::nullopt;
    }
    struct Operator {
        std::string_view text;
        int rank; ///< those of a higher one bind tighter
    };
    /// What stands here; longer ones are looked for first.
    const Operator* operatorHere()
    {
        static constexpr std::array kOperators = {Operator{"||", 0},  Operator{"&&", 1}, Operator{"==", 5}, Operator{"!=", 5},
                                                  Operator{"<=", 6},  Operator{">=", 6}, Operator{"<<", 7}, Operator{">>", 7},
                                                  Operator{"**", 10}, Operator{"|", 2},  Operator{"^", 3},  Operator{"&", 4},
                                                  Operator{"<", 6},   Operator{">", 6},  Operator{"+", 8},  Operator{"-", 8},
                                                  Operator{"*", 9},   Operator{"/", 9},  Operator{"%", 9}};
        m_cursor.blanks();
        for (const Operator& one : kOperators)
            if (m_cursor.startsWith(one.text))
                return &one;
        return nullptr;
    }
    static std::optional<long long> applied(std::string_view op, long long a, long long b)
    {
        const auto x = static_cast<double>(a), y = static_cast<double>(b);
        if (op == "||" || op == "&&")
            return op == "||" ? (a != 0 || b != 0) : (a != 0 && b != 0);
        if (op == "==" || op == "!=")
            return (a == b) == (op == "==");
        if (op == "<" || op == ">=")
            return (a < b) == (op == "<");
        if (op == ">" || op == "<=")
            return (a > b) == (op == ">");
        if (op == "|" || op == "&" || op == "^")
            return op == "|" ? (a | b) : op == "&" ? (a & b) : (a ^ b);
        if (op == "+" || op == "-")
            return checked(op == "+" ? x + y : x - y);
        if (op == "*")
            return checked(x * y);
        if (op == "/" || op == "%")
            return b == 0 ? std::nullopt : std::optional(op == "/" ? a / b : a % b);
        if (b < 0 || (b > 62 && op != "**"))
            return std::nullopt;
        return op == "**" ? checked(std::pow(x, y)) : op == ">>" ? std::optional(a >> b) : checked(x * std::pow(2.0, y));
    }
    std::optional<long long> binary(int least, int level)
    {
        std::optional<long long> left = factor(level);
        while (left) {
            const Operator* const op = operatorHere();
            if (op == nullptr || op->rank < least)
                return left;
            m_cursor.skip(op->text.size());
            const bool isRightward = op->text == "**";
            const std::optional<long long> right = isRightward ? binary(op->rank, level + 1) : binary(op->rank + 1, level);
            left = right ? applied(op->text, *left, *right) : std::nullopt;
        }
        return left;
    }
    std::optional<long long> factor(int level)
    {
        if (level > kDeepestBracket || --m_left < 0)
            return std::nullopt;
        if (m_cursor.take('(')) {
            const std::optional<long long> inner = choice(level + 1);
            return m_cursor.take(')') ? inner : std::nullopt;
        }
        for (const char sign : {'-', '+', '!'})
            if (m_cursor.take(sign)) {
                const std::optional<long long> inner = factor(level + 1);
                return !inner ? inner : std::optional<long long>(sign == '-' ? -*inner : sign == '+' ? *inner : *inner == 0);
            }
        m_cursor.blanks();
        m_cursor.take('$');
        const bool isBraced = m_cursor.take('{');
        std::string word;
        while (startsName(m_cursor.peek()) || isDigit(m_cursor.peek()))
            word += m_cursor.next();
        if (isBraced && !m_cursor.take('}'))
            return std::nullopt;
        if (word.empty())
            return std::nullopt;
        if (isDigit(word[0]))
            return wholeOf(word);
        const auto found = m_variables.find(word);
        if (found == m_variables.end() || m_depth > kDeepestVariable)
            return std::nullopt;
        const std::string value = joined(found->second);
        return value.size() > kLongestExpression ? std::nullopt : Arithmetic(value, m_variables, m_depth + 1, m_left).value();
    }

    TextCursor m_cursor;
    const ShellVariables& m_variables;
    int m_depth;
    int& m_left;
};

} // namespace

std::optional<long long> shellArithmetic(std::string_view expression, const ShellVariables& variables)
{
    int left = kMostFactors;
    return expression.size() > kLongestExpression ? std::nullopt : Arithmetic(expression, variables, 0, left).value();
}

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

} // namespace

std::optional<bool> joinedTests(std::optional<bool> a, std::string_view op, std::optional<bool> b)
{
    return op == "&&" ? bothOf(a, b) : eitherOf(a, b);
}

bool isShellTest(std::span<const ShellText> words)
{
    while (!words.empty() && words.front().text == "!")
        words = words.subspan(1);
    return !words.empty() && (isTestWord(words.front().text) || words.back().text == "]]");
}

bool isOpenDoubleTest(std::span<const ShellText> words)
{
    while (!words.empty() && words.front().text == "!")
        words = words.subspan(1);
    return !words.empty() && words.front().text == "[[" && words.back().text != "]]";
}

namespace {

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
    return text.size() > kLongestExpression || text.find('(', 1) != std::string::npos ? std::nullopt : shellTest(words);
}

/// One test without what stands around it: "a = b", "! -z a". `matches`: "[[", which compares with patterns; "[" compares text.
std::optional<bool> plainTest(std::span<const ShellText> given, bool matches)
{
    bool isNegated = false;
    while (given.size() > 1 && given.front().text == "!") {
        isNegated = !isNegated;
        given = given.subspan(1);
    }
    if (given.empty())
        return std::nullopt;
    const bool isPattern = matches && given.back().isPattern;
    std::vector<std::string> words;
    for (const ShellText& one : given)
        words.push_back(one.text);
    const auto say = [isNegated](bool value) { return std::optional(value != isNegated); };
    if (words.size() <= 2 && !words.empty() && (words[0] == "-z" || words[0] == "-n")) {
        const bool isEmpty = words.size() == 1 || words[1].empty() || isUnsetText(words[1]);
        return say(words[0] == "-z" ? isEmpty : !isEmpty);
    }
    if (words.size() == 1 && matches && words[0].starts_with('(') && words[0].ends_with(')')) {
        const std::optional<bool> inner = bracketedTest(words[0]);
        return inner ? say(*inner) : inner;
    }
    if (words.size() == 1 && !isUnsetText(words[0])) // [[ text ]]
        return say(!words[0].empty());
    if (matches && words.size() == 2 && (words[0] == "==" || words[0] == "=" || words[0] == "!="))
        words.insert(words.begin(), std::string()); // a variable that is empty
    if (words.size() != 3 || isUnsetText(words[0]) || isUnsetText(words[2]))
        return std::nullopt;
    if (words[1] == "=" || words[1] == "==" || words[1] == "!=") {
        const std::optional<bool> isEqual = equalsIn(words[0], words[2], isPattern);
        return isEqual ? say(*isEqual == (words[1] != "!=")) : std::nullopt;
    }
    const std::optional<long long> a = wholeOf(words[0]), b = wholeOf(words[2]);
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

} // namespace

std::optional<bool> shellTest(std::span<const ShellText> words)
{
    if (words.empty())
        return std::nullopt;
    const bool matches = words.back().text == "]]" || words.front().text == "[[";
    if (words.back().text == "]" || words.back().text == "]]")
        words = words.first(words.size() - 1);
    bool isNegated = false, hasBegun = false;
    while (!words.empty() && !hasBegun && (words.front().text == "!" || isTestWord(words.front().text))) {
        hasBegun = words.front().text != "!";
        isNegated = isNegated != !hasBegun;
        words = words.subspan(1);
    }
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
    return any ? std::optional(*any != isNegated) : any;
}

} // namespace sim::frameworks
