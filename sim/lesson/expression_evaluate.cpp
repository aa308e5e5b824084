#include "sim/lesson/expression_functions.h"
#include "sim/lesson/expression_node.h"

#include "sim/cancel.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace sim {
namespace {

using Node = Expression::Node;

std::string kindOf(const LessonValue& value)
{
    if (value.is_array())
        return "a list of " + std::to_string(value.size());
    if (value.is_object())
        return "an object";
    if (value.is_boolean())
        return value.get<bool>() ? "true" : "false";
    if (value.is_null())
        return "null";
    return value.is_number() ? "a number" : "a word";
}

/// What a node comes to: a value of its own, one that somebody else keeps, or names.
struct Result {
    LessonValue own = {};
    const LessonValue* kept = nullptr;
    const Names* names = nullptr;
    const LessonValue& value() const { return kept != nullptr ? *kept : own; }
};

class Evaluator {
public:
    explicit Evaluator(const Names& names) : m_names(names) {}

    Result of(const Node& node)
    {
        touch(node, 1);
        switch (node.kind) {
        case ExpressionKind::literal:
            return {.kept = &node.value};
        case ExpressionKind::list:
            return {.own = listOf(node)};
        case ExpressionKind::name:
            return named(node, m_names, node.text);
        case ExpressionKind::member:
            return member(node);
        case ExpressionKind::index:
            return entry(node);
        case ExpressionKind::call:
            return called(node);
        case ExpressionKind::negative:
            return {.own = -number(node.parts[0])};
        case ExpressionKind::negation:
            return {.own = !truth(node.parts[0])};
        case ExpressionKind::both:
            return {.own = truth(node.parts[0]) && truth(node.parts[1])};
        case ExpressionKind::either:
            return {.own = truth(node.parts[0]) || truth(node.parts[1])};
        case ExpressionKind::compare:
            return {.own = compared(node)};
        case ExpressionKind::combine:
            return {.own = combined(node)};
        }
        return {};
    }

    /// A value and not names.
    Result valueOf(const Node& node)
    {
        Result result = of(node);
        if (result.names != nullptr)
            fail(node, (node.text.empty() ? std::string("this") : quotedText(node.text)) + " holds values and is none itself" +
                           nearestWords("", result.names->known()));
        return result;
    }

private:
    [[noreturn]] static void fail(const Node& node, const std::string& message) { throw ExpressionError(node.begin, message); }

    void touch(const Node& node, std::size_t steps)
    {
        m_steps += steps;
        if (m_steps > Expression::kMostSteps)
            fail(node, "too much work: more than " + std::to_string(Expression::kMostSteps) + " steps");
    }
    void touchAll(const Node& node, const LessonValue& value) { touch(node, value.is_structured() ? value.size() : 1); }

    double number(const Node& node)
    {
        const Result result = valueOf(node);
        if (!result.value().is_number())
            fail(node, "a number is expected, not " + kindOf(result.value()));
        return result.value().get<double>();
    }
    bool truth(const Node& node)
    {
        const Result result = valueOf(node);
        if (!result.value().is_boolean())
            fail(node, "something true or false is expected, not " + kindOf(result.value()));
        return result.value().get<bool>();
    }
    static LessonValue finite(const Node& node, double value)
    {
        if (!std::isfinite(value))
            fail(node, "the result is no finite number");
        return value;
    }

    LessonValue listOf(const Node& node)
    {
        LessonValue list = LessonValue::array();
        for (const Node& part : node.parts) {
            const Result result = valueOf(part);
            if (result.value().is_structured())
                fail(part, "a list written here holds numbers and words, not " + kindOf(result.value()));
            list.push_back(result.value());
        }
        return list;
    }

    static Result resultOf(const Node& node, const Names::Meaning& meaning, const std::string& name, const Names& where)
    {
        if (const auto* const* value = std::get_if<const LessonValue*>(&meaning))
            return {.kept = *value};
        if (const auto* const* names = std::get_if<const Names*>(&meaning))
            return {.names = *names};
        fail(node, "there is no \"" + name + "\"" + nearestWords(name, where.known()));
    }
    static Result named(const Node& node, const Names& names, const std::string& name)
    {
        try {
            return resultOf(node, names.find(name), name, names);
        } catch (const ExpressionError&) {
            throw;
        } catch (const Error& error) {
            fail(node, name + ": " + error.what());
        }
    }

    Result member(const Node& node)
    {
        Result of_ = of(node.parts[0]);
        if (of_.names != nullptr)
            return named(node, *of_.names, node.text);
        const LessonValue& value = of_.value();
        touchAll(node, value);
        if (value.is_array()) { // that member of each
            LessonValue each = LessonValue::array();
            for (const LessonValue& part : value)
                each.push_back(memberOf(node, part));
            return {.own = std::move(each)};
        }
        const LessonValue& found = memberOf(node, value);
        return of_.kept != nullptr ? Result{.kept = &found} : Result{.own = found};
    }
    static const LessonValue& memberOf(const Node& node, const LessonValue& value)
    {
        if (!value.is_object())
            fail(node, kindOf(value) + " has no \"" + node.text + "\"");
        const auto found = value.find(node.text);
        if (found != value.end())
            return *found;
        std::vector<std::string> keys;
        for (const auto& [key, unused] : value.items())
            keys.push_back(key);
        fail(node, "there is no \"" + node.text + "\"" + nearestWords(node.text, keys));
    }

    Result entry(const Node& node)
    {
        const Result list = valueOf(node.parts[0]);
        const Result index = valueOf(node.parts[1]);
        const LessonValue& entries = list.value();
        if (!entries.is_array())
            fail(node, kindOf(entries) + " has no entries to choose from");
        const LessonValue& found =
            index.value().is_string() ? entryNamed(node, entries, index.value()) : entryAt(node, entries, index.value());
        return list.kept != nullptr ? Result{.kept = &found} : Result{.own = found};
    }
    static const LessonValue& entryAt(const Node& node, const LessonValue& entries, const LessonValue& index)
    {
        const double at = index.is_number() ? index.get<double>() : -1;
        if (at != std::floor(at) || at < 0 || at >= static_cast<double>(entries.size()))
            fail(node.parts[1], "the list has " + std::to_string(entries.size()) + (entries.size() == 1 ? " entry" : " entries") +
                                    ", counted from 0");
        return entries[static_cast<std::size_t>(at)];
    }
    /// traffic.groups["tp"]: the object whose first member is that word.
    const LessonValue& entryNamed(const Node& node, const LessonValue& entries, const LessonValue& word)
    {
        touchAll(node, entries);
        std::vector<std::string> names;
        for (const LessonValue& entry : entries)
            if (entry.is_object() && !entry.empty() && entry.begin()->is_string()) {
                if (*entry.begin() == word)
                    return entry;
                names.push_back(entry.begin()->get<std::string>());
            }
        fail(node.parts[1],
             "there is no entry \"" + word.get<std::string>() + "\"" + nearestWords(word.get<std::string>(), names));
    }

    Result called(const Node& node)
    {
        const std::size_t first = node.isOfPart ? 1 : 0;
        const Names* names = &m_names;
        if (node.isOfPart) {
            names = of(node.parts[0]).names;
            if (names == nullptr)
                fail(node, "nothing here takes arguments");
        } else if (const ExpressionFunction* function = findFunction(node.text)) {
            return {.own = applied(node, *function)};
        }
        if (!names->takesArguments(node.text))
            fail(node, "there is no function \"" + node.text + "\"" + nearestWords(node.text, functionNames()));
        std::vector<double> arguments;
        for (std::size_t i = first; i < node.parts.size(); ++i)
            arguments.push_back(number(node.parts[i]));
        Names::Meaning meaning;
        try {
            meaning = names->call(node.text, arguments);
        } catch (const Error& error) {
            fail(node, node.text + ": " + error.what());
        }
        return resultOf(node, meaning, node.text, *names);
    }
    LessonValue applied(const Node& node, const ExpressionFunction& function)
    {
        std::vector<LessonValue> arguments;
        for (const Node& part : node.parts) {
            const Result result = valueOf(part);
            touchAll(node, result.value());
            arguments.push_back(result.value());
        }
        LessonValue value;
        try {
            value = function.apply(arguments);
        } catch (const Error& error) {
            fail(node, node.text + ": " + error.what());
        }
        return value.is_number_float() ? finite(node, value.get<double>()) : value;
    }

    LessonValue combined(const Node& node)
    {
        const double a = number(node.parts[0]), b = number(node.parts[1]);
        switch (node.text.front()) {
        case '+':
            return finite(node, a + b);
        case '-':
            return finite(node, a - b);
        case '*':
            return finite(node, a * b);
        case '/':
            if (b == 0)
                fail(node.parts[1], "division by 0");
            return finite(node, a / b);
        default:
            return finite(node, std::pow(a, b));
        }
    }

    bool compared(const Node& node)
    {
        Result left = valueOf(node.parts[0]);
        for (std::size_t i = 0; i < node.text.size(); ++i) {
            Result right = valueOf(node.parts[i + 1]);
            if (!holds(node, node.text[i], left.value(), right.value()))
                return false;
            left = std::move(right);
        }
        return true;
    }
    bool holds(const Node& node, char letter, const LessonValue& a, const LessonValue& b)
    {
        touchAll(node, a);
        if (letter == 'e' || letter == 'n')
            return equal(node, a, b) == (letter == 'e');
        if (!a.is_number() || !b.is_number())
            fail(node, "only numbers have an order, not " + kindOf(a.is_number() ? b : a));
        const double x = a.get<double>(), y = b.get<double>();
        return letter == 'l' ? x < y : letter == 'L' ? x <= y : letter == 'g' ? x > y : x >= y;
    }
    static bool equal(const Node& node, const LessonValue& a, const LessonValue& b)
    {
        if (a.is_object() || b.is_object())
            fail(node, "objects are not compared; name a member");
        if (a.is_array() && b.is_array()) {
            if (a.size() != b.size())
                return false;
            for (std::size_t i = 0; i < a.size(); ++i)
                if (a[i].is_structured() || a[i] != b[i])
                    return false;
            return true;
        }
        if (a.type() != b.type() && !(a.is_number() && b.is_number()))
            fail(node, kindOf(a) + " is not compared with " + kindOf(b));
        return a == b;
    }

    const Names& m_names;
    std::size_t m_steps = 0;
};

/// Comparisons and near() that decide whether the whole holds.
void collectSides(const Node& node, std::vector<const Node*>& out)
{
    if (node.kind == ExpressionKind::both || node.kind == ExpressionKind::either || node.kind == ExpressionKind::negation) {
        for (const Node& part : node.parts)
            collectSides(part, out);
    } else if (node.kind == ExpressionKind::compare || (node.kind == ExpressionKind::call && node.text == "near")) {
        for (const Node& part : node.parts)
            if (part.kind != ExpressionKind::literal && part.kind != ExpressionKind::list)
                out.push_back(&part);
    } else if (node.kind != ExpressionKind::literal) {
        out.push_back(&node);
    }
}

/// `end`: of all that is asked of what this node begins with.
void collectNames(const Node& node, std::size_t end, std::string_view text, std::vector<Expression::NameAsked>& out)
{
    if (node.kind == ExpressionKind::name) {
        std::string path(text.substr(node.end, end - node.end));
        std::erase(path, ' ');
        out.push_back({node.text, node.begin, std::move(path)});
    }
    const bool isOfPart = node.kind == ExpressionKind::member || node.kind == ExpressionKind::index ||
                          (node.kind == ExpressionKind::call && node.isOfPart);
    for (std::size_t i = 0; i < node.parts.size(); ++i)
        collectNames(node.parts[i], isOfPart && i == 0 ? end : node.parts[i].end, text, out);
}

} // namespace

std::optional<std::string> whyNot(const std::string& claim, const Names& names)
{
    try {
        const Expression expression = Expression::parse(claim);
        const LessonValue value = expression.evaluate(names);
        if (!value.is_boolean())
            return shownText(claim) + " is " + shownValue(value) + "; something true or false is expected";
        if (!value.get<bool>()) {
            const std::string sides = expression.sides(names);
            return shownText(claim) + " does not hold" + (sides.empty() ? "" : ": " + sides);
        }
        return std::nullopt;
    } catch (const Error& error) {
        return shownText(claim) + ": " + error.what();
    }
}

bool Names::takesArguments(std::string_view) const
{
    return false;
}

Names::Meaning Names::call(std::string_view, std::span<const double>) const
{
    return {};
}

LessonValue Expression::evaluate(const Names& names) const
{
    checkCancelled(); // a file may have thousands of the largest
    return Evaluator(names).valueOf(*m_root).value();
}

std::vector<Expression::NameAsked> Expression::namesAsked() const
{
    std::vector<NameAsked> names;
    collectNames(*m_root, m_root->end, m_text, names);
    return names;
}

std::string Expression::sides(const Names& names) const
{
    std::vector<const Node*> nodes;
    collectSides(*m_root, nodes);
    std::string text;
    for (const Node* node : nodes) {
        std::string value;
        try {
            value = shownValue(Evaluator(names).valueOf(*node).value());
        } catch (const Error&) {
            continue; // it is what the whole fails with, which is said elsewhere
        }
        text += (text.empty() ? "" : ", ") + m_text.substr(node->begin, node->end - node->begin) + " is " + value;
    }
    return text;
}

} // namespace sim
