#include "sim/frameworks/read/shell_values.h"

#include "sim/frameworks/read/cursor.h"
#include "sim/frameworks/read/setting.h"
#include "sim/text/characters.h"

#include <charconv>

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
        const std::optional<long long> result = sum(0);
        m_cursor.blanks();
        return m_cursor.atEnd() ? result : std::nullopt;
    }

private:
    static std::optional<long long> checked(std::optional<long long> value)
    {
        return value && *value <= kMostNumber && *value >= -kMostNumber ? value : std::nullopt;
    }
    std::optional<long long> sum(int level)
    {
        std::optional<long long> left = product(level);
        while (left) {
            const bool isPlus = m_cursor.take('+');
            if (!isPlus && !m_cursor.take('-'))
                return left;
            const std::optional<long long> right = product(level);
            left = right ? checked(*left + (isPlus ? *right : -*right)) : std::nullopt;
        }
        return left;
    }
    std::optional<long long> product(int level)
    {
        std::optional<long long> left = factor(level);
        while (left) {
            m_cursor.blanks();
            const char op = m_cursor.peek();
            if (op != '*' && op != '/' && op != '%')
                return left;
            m_cursor.next();
            const std::optional<long long> right = factor(level);
            if (!right || (op != '*' && *right == 0))
                return std::nullopt;
            const double size = static_cast<double>(*left) * static_cast<double>(*right);
            if (op == '*' && (size > 4e15 || size < -4e15))
                return std::nullopt;
            left = op == '*' ? *left * *right : op == '/' ? *left / *right : *left % *right;
        }
        return left;
    }
    std::optional<long long> factor(int level)
    {
        if (level > 32 || --m_left < 0)
            return std::nullopt;
        if (m_cursor.take('(')) {
            const std::optional<long long> inner = sum(level + 1);
            return m_cursor.take(')') ? inner : std::nullopt;
        }
        if (m_cursor.take('-')) {
            const std::optional<long long> inner = factor(level + 1);
            return inner ? std::optional(-*inner) : std::nullopt;
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

} // namespace

bool isShellTest(std::span<const ShellText> words)
{
    while (!words.empty() && words.front().text == "!")
        words = words.subspan(1);
    return !words.empty() && (isTestWord(words.front().text) || words.back().text == "]]");
}

namespace {

/// "[[ a == b ]]": nothing where the pattern has more than * and ?.
std::optional<bool> equalsIn(const std::string& text, const std::string& pattern, bool isPattern)
{
    if (!isPattern)
        return text == pattern;
    return pattern.find_first_of("[(") != std::string::npos ? std::nullopt : std::optional(matchesPattern(text, pattern));
}

} // namespace

std::optional<bool> shellTest(std::span<const ShellText> given)
{
    std::vector<std::string> words;
    for (const ShellText& one : given)
        words.push_back(one.text);
    if (words.empty())
        return std::nullopt;
    const bool matches = words.back() == "]]"; // patterns; "[" compares text
    const bool isPattern = matches && given.size() > 1 && given[given.size() - 2].isPattern;
    if (words.back() == "]" || matches)
        words.pop_back();
    bool isNegated = false, hasBegun = false;
    while (!words.empty() && (words.front() == "!" || (!hasBegun && isTestWord(words.front())))) {
        isNegated = isNegated != (words.front() == "!");
        hasBegun = hasBegun || words.front() != "!";
        words.erase(words.begin());
    }
    const auto say = [isNegated](bool value) { return std::optional(value != isNegated); };
    if (words.size() <= 2 && !words.empty() && (words[0] == "-z" || words[0] == "-n")) {
        const bool isEmpty = words.size() == 1 || words[1].empty() || isUnsetText(words[1]);
        return say(words[0] == "-z" ? isEmpty : !isEmpty);
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

} // namespace sim::frameworks
