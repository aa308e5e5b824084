#include "sim/frameworks/read/shell_values.h"

#include "sim/frameworks/read/cursor.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace sim::frameworks {

std::string withContinuations(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool continues = text.substr(i, 2) == "\\\n";
        out += continues ? kContinuation : text[i];
        i += continues ? 1 : 0;
    }
    return out;
}

std::string joined(const ShellVariable& variable)
{
    std::string text;
    if (variable.isArray)
        return variable.elements.empty() ? "" : variable.elements.front().text;
    for (const ShellText& piece : variable.pieces)
        text += piece.text;
    return text;
}

std::string_view keyOfElement(std::string_view element)
{
    const std::size_t end = element.starts_with('[') ? element.find("]=") : std::string_view::npos;
    return end == std::string_view::npos ? std::string_view() : element.substr(0, end + 2);
}

bool hasKeys(const ShellVariable& array)
{
    return std::any_of(array.elements.begin(), array.elements.end(),
                       [](const ShellText& one) { return !keyOfElement(one.text).empty(); });
}

std::size_t costOfLook(const ShellVariable& variable)
{
    std::size_t cost = variable.pieces.size() + variable.elements.size();
    for (const ShellText& one : variable.elements) // those that begin like a key are read to their end
        cost += one.text.starts_with('[') && keyOfElement(one.text).empty() ? one.text.size() : 0;
    return cost;
}

void putElement(ShellVariable& array, const std::string& key, ShellText value)
{
    array.isArray = true;
    const std::optional<long long> place = hasKeys(array) ? std::nullopt : wholeShellNumber(key);
    const auto size = static_cast<long long>(array.elements.size());
    if (place && *place >= 0 && *place < size) {
        array.elements[static_cast<std::size_t>(*place)] = std::move(value);
        return;
    }
    if (!place || *place != size) {
        const std::string start = "[" + key + "]=";
        std::erase_if(array.elements, [&](const ShellText& one) { return one.text.starts_with(start); });
        value.text.insert(0, start);
    }
    array.elements.push_back(std::move(value));
}

std::size_t assignedAt(std::string_view word)
{
    std::size_t at = 0;
    while (at < word.size() && (startsName(word[at]) || isDigit(word[at])))
        ++at;
    return at > 0 && at < word.size() && word[at] == '=' && !isDigit(word[0]) ? at : 0;
}

namespace {

constexpr long long kMostNumber = 1LL << 52;

} // namespace

std::optional<long long> wholeShellNumber(std::string_view text)
{
    long long number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number > kMostNumber || number < -kMostNumber)
        return std::nullopt;
    return number;
}

namespace {

constexpr int kDeepestVariable = 8;
constexpr int kDeepestBracket = 32;
constexpr int kMostFactors = 10'000; ///< of one expression, those of its variables too: ten that are ten of another are many

class Arithmetic {
public:
    /// `left`: factors that may still be looked at, of all that belongs to one expression.
    Arithmetic(std::string_view text, const ShellVariables& variables, const SpendShell& spend, int depth, int& left)
        : m_cursor(text), m_variables(variables), m_spend(spend), m_depth(depth), m_left(left)
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
        if (isDigit(word[0])) // "010" is 8 here
            return word.size() > 1 && word[0] == '0' ? std::nullopt : wholeShellNumber(word);
        const auto found = m_variables.find(word);
        if (found == m_variables.end() || m_depth > kDeepestVariable)
            return std::nullopt;
        m_spend(found->second.pieces.size());
        const std::string value = joined(found->second);
        m_spend(value.size());
        return value.size() > kLongestShellExpression ? std::nullopt
                                                      : Arithmetic(value, m_variables, m_spend, m_depth + 1, m_left).value();
    }

    TextCursor m_cursor;
    const ShellVariables& m_variables;
    const SpendShell& m_spend;
    int m_depth;
    int& m_left;
};

} // namespace

std::optional<long long> shellArithmetic(std::string_view expression, const ShellVariables& variables, const SpendShell& spend)
{
    spend(expression.size());
    int left = kMostFactors;
    return expression.size() > kLongestShellExpression ? std::nullopt : Arithmetic(expression, variables, spend, 0, left).value();
}

std::vector<std::string_view> shellSums(std::string_view expressions)
{
    std::vector<std::string_view> sums;
    int open = 0;
    std::size_t from = 0;
    for (std::size_t at = 0; at <= expressions.size(); ++at) {
        const char c = at < expressions.size() ? expressions[at] : ',';
        open += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (at == expressions.size() || (c == ',' && open == 0)) {
            sums.push_back(expressions.substr(from, at - from));
            from = at + 1;
        }
    }
    return sums;
}

std::optional<ShellCalculation> shellCalculation(std::string_view expression, const ShellVariables& variables,
                                                 const SpendShell& spend)
{
    TextCursor cursor(expression);
    const auto takeOperator = [&cursor] {
        static constexpr std::array<std::string_view, 10> kOperators = {
            "<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "++", "--", "="};
        cursor.blanks();
        if (!cursor.startsWith("=="))
            for (const std::string_view one : kOperators)
                if (cursor.startsWith(one)) {
                    cursor.skip(one.size());
                    return one;
                }
        return std::string_view();
    };
    std::string_view op = takeOperator(); // ++X
    cursor.blanks();
    std::string name;
    while (startsName(cursor.peek()) || isDigit(cursor.peek()))
        name += cursor.next();
    if (op.empty())
        op = takeOperator();
    if (op.empty() || name.empty() || isDigit(name[0]))
        return std::nullopt;
    const bool isStep = op == "++" || op == "--";
    const std::string operand = isStep ? "1" : "(" + std::string(cursor.rest()) + ")";
    const std::string sum = op == "=" ? operand : name + std::string(op.substr(0, isStep ? 1 : op.size() - 1)) + operand;
    return ShellCalculation{name, shellArithmetic(sum, variables, spend), sum};
}

} // namespace sim::frameworks
