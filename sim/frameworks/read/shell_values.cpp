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

/// Operators that give the name in front of them a value.
constexpr std::array<std::string_view, 11> kAssigning = {"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "="};

/// One of them where it begins the text, else nothing.
std::string_view assigningAt(std::string_view text)
{
    const auto found =
        std::find_if(kAssigning.begin(), kAssigning.end(), [&](std::string_view op) { return text.starts_with(op); });
    return found == kAssigning.end() || text.starts_with("==") ? std::string_view() : *found;
}

bool isStepAt(std::string_view text)
{
    return text.starts_with("++") || text.starts_with("--");
}

class Arithmetic {
public:
    /// `left`: factors that may still be looked at, of all that belongs to one expression. `assigned`: takes what it assigns, and
    /// has what was assigned in front of it. `depth`: of variables whose texts are sums, which assign nothing.
    Arithmetic(std::string_view text, const ShellVariables& variables, const SpendShell& spend, int depth, int& left,
               std::vector<ShellCalculation>& assigned)
        : m_text(text), m_cursor(text), m_variables(variables), m_spend(spend), m_depth(depth), m_left(left), m_assigned(assigned)
    {
    }

    std::optional<long long> value()
    {
        const std::optional<long long> result = assignment(0);
        m_cursor.blanks();
        return m_cursor.atEnd() ? result : std::nullopt;
    }

private:
    static std::optional<long long> checked(double value)
    {
        const auto most = static_cast<double>(kMostNumber);
        return value <= most && value >= -most ? std::optional(static_cast<long long>(value)) : std::nullopt;
    }
    std::string name()
    {
        std::string word;
        while (startsName(m_cursor.peek()) || isDigit(m_cursor.peek()))
            word += m_cursor.next();
        return word;
    }
    /// Gives a name its value; where what stands here is not run, the one that it has, which hangs on the same conditions.
    void give(const std::string& to, std::optional<long long> value, std::string_view operands)
    {
        if (m_off == 0)
            m_assigned.push_back({to, value, std::string(operands)});
        else if (const std::optional<long long> now = known(to))
            m_assigned.push_back({to, now, std::string(m_text)});
    }
    /// "X = 2", "X += 2", or what is none.
    std::optional<long long> assignment(int level)
    {
        const TextCursor start = m_cursor;
        m_cursor.blanks();
        const std::string to = name();
        m_cursor.blanks();
        const std::string_view op = to.empty() || isDigit(to[0]) ? std::string_view() : assigningAt(m_cursor.rest());
        if (op.empty() || m_depth > 0 || level > kDeepestBracket) {
            m_cursor = start;
            return choice(level);
        }
        m_cursor.skip(op.size());
        const std::string_view right = m_cursor.rest();
        std::optional<long long> value = assignment(level + 1);
        if (value && op != "=") {
            const std::optional<long long> before = known(to);
            value = before ? applied(op.substr(0, op.size() - 1), *before, *value) : std::nullopt;
        }
        if (value) // what is assigned in the midst of a sum may hang on all of it
            give(to, value, level == 0 && op == "=" ? right : m_text);
        return value;
    }
    /// a ? b : c
    std::optional<long long> choice(int level)
    {
        const std::optional<long long> condition = binary(0, level);
        if (!condition || !m_cursor.take('?'))
            return condition;
        const std::optional<long long> yes =
            level > kDeepestBracket ? std::nullopt : unless(*condition == 0, [&] { return choice(level + 1); });
        if (!yes || !m_cursor.take(':'))
            return std::nullopt;
        const std::optional<long long> no = unless(*condition != 0, [&] { return choice(level + 1); });
        return no ? (*condition != 0 ? yes : no) : std::nullopt;
    }
    /// Reads on without assigning where `isOff`.
    template <typename Read>
    std::optional<long long> unless(bool isOff, Read read)
    {
        m_off += isOff ? 1 : 0;
        const std::optional<long long> value = read();
        m_off -= isOff ? 1 : 0;
        return value;
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
            const bool isDecided = (op->text == "&&" && *left == 0) || (op->text == "||" && *left != 0);
            const std::optional<long long> right =
                unless(isDecided, [&] { return isRightward ? binary(op->rank, level + 1) : binary(op->rank + 1, level); });
            left = right ? applied(op->text, *left, *right) : std::nullopt;
        }
        return left;
    }
    std::optional<long long> factor(int level)
    {
        if (level > kDeepestBracket || --m_left < 0)
            return std::nullopt;
        if (m_cursor.take('(')) {
            std::optional<long long> inner = assignment(level + 1);
            while (inner && m_cursor.take(','))
                inner = assignment(level + 1);
            return m_cursor.take(')') ? inner : std::nullopt;
        }
        m_cursor.blanks();
        if (const std::optional<long long> stepped = stepAhead())
            return stepped;
        for (const char sign : {'-', '+', '!', '~'})
            if (m_cursor.take(sign)) {
                const std::optional<long long> inner = factor(level + 1);
                return !inner ? inner
                              : std::optional<long long>(sign == '-'   ? -*inner
                                                         : sign == '+' ? *inner
                                                         : sign == '!' ? *inner == 0
                                                                       : ~*inner);
            }
        const bool isExpansion = m_cursor.take('$');
        const bool isBraced = m_cursor.take('{');
        const std::string word = name();
        if (isBraced && !m_cursor.take('}'))
            return std::nullopt;
        if (word.empty())
            return std::nullopt;
        if (isDigit(word[0])) // "010" is 8 here
            return word.size() > 1 && word[0] == '0' ? std::nullopt : wholeShellNumber(word);
        const std::optional<long long> value = known(word);
        m_cursor.blanks();
        if (!isExpansion && value && isStepAt(m_cursor.rest()))
            return step(word, *value) ? value : std::nullopt;
        return value;
    }
    /// "++X"; nothing where what stands here is none, or where X is not known.
    std::optional<long long> stepAhead()
    {
        const TextCursor start = m_cursor;
        const bool isStep = isStepAt(m_cursor.rest());
        m_cursor.skip(isStep ? 2 : 0);
        m_cursor.blanks();
        const std::string word = isStep && startsName(m_cursor.peek()) ? name() : std::string();
        const std::optional<long long> value = word.empty() ? std::nullopt : known(word);
        const TextCursor end = m_cursor;
        m_cursor = start;
        const std::optional<long long> stepped = value ? step(word, *value) : std::nullopt;
        if (stepped)
            m_cursor = end;
        return stepped;
    }
    /// What is one more or less, by the operator that stands here.
    std::optional<long long> step(const std::string& word, long long value)
    {
        if (m_depth > 0)
            return std::nullopt;
        const long long stepped = value + (m_cursor.peek() == '+' ? 1 : -1);
        m_cursor.skip(2);
        give(word, stepped, m_text);
        return stepped;
    }
    std::optional<long long> known(const std::string& word) const
    {
        m_spend(m_assigned.size());
        const auto given =
            std::find_if(m_assigned.rbegin(), m_assigned.rend(), [&](const ShellCalculation& one) { return one.name == word; });
        if (given != m_assigned.rend())
            return given->value;
        const auto found = m_variables.find(word);
        if (found == m_variables.end() || m_depth > kDeepestVariable)
            return std::nullopt;
        m_spend(found->second.pieces.size());
        const std::string value = joined(found->second);
        m_spend(value.size());
        return value.size() > kLongestShellExpression
                   ? std::nullopt
                   : Arithmetic(value, m_variables, m_spend, m_depth + 1, m_left, m_assigned).value();
    }

    std::string_view m_text;
    TextCursor m_cursor;
    const ShellVariables& m_variables;
    const SpendShell& m_spend;
    int m_depth;
    int& m_left;
    std::vector<ShellCalculation>& m_assigned;
    int m_off = 0; ///< conditions around what stands here of which it is not run
};

/// "X = 1" and "Y = 2" of "X = 1, Y = 2".
std::vector<std::string_view> sumsOf(std::string_view expressions)
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

/// Each name that a sum which is not known would assign: its value is not known either.
void assignUnknownTo(std::vector<ShellCalculation>& assigned, std::string_view sum, const SpendShell& spend)
{
    for (std::size_t at = 0, end = 0; at < sum.size(); at = std::max(end, at + 1)) {
        end = at;
        while (end < sum.size() && (startsName(sum[end]) || isDigit(sum[end])))
            ++end;
        if (end == at || isDigit(sum[at]))
            continue;
        const std::string_view before =
            sum.substr(0, sum.find_last_not_of(" \t\n", at == 0 ? std::string_view::npos : at - 1) + 1);
        const std::string_view behind = sum.substr(std::min(sum.find_first_not_of(" \t\n", end), sum.size()));
        const bool isStepped = isStepAt(behind) || (at > 0 && (before.ends_with("++") || before.ends_with("--")));
        if (!isStepped && assigningAt(behind).empty())
            continue;
        spend(sum.size());
        assigned.push_back({std::string(sum.substr(at, end - at)), std::nullopt, std::string(sum)});
    }
}

} // namespace

ShellSum shellSum(std::string_view expressions, const ShellVariables& variables, const SpendShell& spend)
{
    ShellSum out;
    for (const std::string_view sum : sumsOf(expressions)) {
        spend(sum.size());
        int left = kMostFactors;
        const std::size_t before = out.assigned.size();
        out.value = sum.size() > kLongestShellExpression ? std::nullopt
                                                         : Arithmetic(sum, variables, spend, 0, left, out.assigned).value();
        if (!out.value) {
            out.assigned.resize(before);
            assignUnknownTo(out.assigned, sum, spend);
        }
    }
    return out;
}

std::optional<long long> shellArithmetic(std::string_view expression, const ShellVariables& variables, const SpendShell& spend)
{
    const ShellSum sum = shellSum(expression, variables, spend);
    return sum.assigned.empty() ? sum.value : std::nullopt;
}

} // namespace sim::frameworks
