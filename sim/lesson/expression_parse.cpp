#include "sim/lesson/expression_node.h"
#include "sim/text/characters.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace sim {
namespace {

using Node = Expression::Node;

/// Recursive descent, one function a level of precedence. A node stands for [begin, end) of the text.
class Parser {
public:
    explicit Parser(std::string_view text) : m_text(text) {}

    Node whole()
    {
        Node node = either();
        skipBlanks();
        if (m_at < m_text.size())
            fail("\"" + std::string(1, printable(m_text[m_at])) + "\" does not belong here");
        return node;
    }

private:
    [[noreturn]] void fail(const std::string& message) const { throw ExpressionError(m_at, message); }
    static char printable(char c) { return c >= ' ' && c <= '~' ? c : '?'; }

    void skipBlanks()
    {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\t' || m_text[m_at] == '\n'))
            ++m_at;
    }
    bool sees(std::string_view token)
    {
        skipBlanks();
        if (!m_text.substr(m_at).starts_with(token))
            return false;
        const std::size_t after = m_at + token.size();
        const bool isWord = startsName(token.front());
        return !isWord || after >= m_text.size() || !(startsName(m_text[after]) || isDigit(m_text[after]));
    }
    bool take(std::string_view token)
    {
        if (!sees(token))
            return false;
        m_at += token.size();
        return true;
    }
    void want(std::string_view token, const char* after)
    {
        if (!take(token))
            fail("\"" + std::string(token) + "\" is missing after " + after);
    }

    struct Level {
        explicit Level(Parser& of) : parser(of)
        {
            if (++parser.m_depth > Expression::kDeepest)
                parser.fail("nested more than " + std::to_string(Expression::kDeepest) + " levels deep");
        }
        ~Level() { --parser.m_depth; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        Parser& parser;
    };

    Node made(ExpressionKind kind, std::string text, Node first, Node second) const
    {
        Node node{.kind = kind, .begin = first.begin, .end = second.end, .text = std::move(text)};
        node.parts.push_back(std::move(first));
        node.parts.push_back(std::move(second));
        return node;
    }
    /// A chain a + b + c leans to the left; it is as deep as it is long, and evaluated as deep.
    void countLink(int& links) const
    {
        constexpr int kLongestChain = 64;
        if (++links > kLongestChain)
            fail("more than " + std::to_string(kLongestChain) + " operators in a row");
    }

    Node either()
    {
        const Level level(*this);
        Node node = both();
        for (int links = 0; take("or"); countLink(links))
            node = made(ExpressionKind::either, {}, std::move(node), both());
        return node;
    }
    Node both()
    {
        Node node = negation();
        for (int links = 0; take("and"); countLink(links))
            node = made(ExpressionKind::both, {}, std::move(node), negation());
        return node;
    }
    Node negation()
    {
        const Level level(*this);
        skipBlanks();
        const std::size_t begin = m_at;
        if (!take("not"))
            return comparison();
        return around(ExpressionKind::negation, begin, negation());
    }
    static Node around(ExpressionKind kind, std::size_t begin, Node part)
    {
        Node node{.kind = kind, .begin = begin, .end = part.end};
        node.parts.push_back(std::move(part));
        return node;
    }
    char comparisonLetter()
    {
        // Longer ones first.
        static constexpr std::array<std::pair<std::string_view, char>, 6> kWritten = {
            {{"<=", 'L'}, {">=", 'G'}, {"==", 'e'}, {"!=", 'n'}, {"<", 'l'}, {">", 'g'}}};
        for (const auto& [token, letter] : kWritten)
            if (take(token))
                return letter;
        if (sees("="))
            fail("nothing is assigned here; write == to compare");
        return '\0';
    }
    Node comparison()
    {
        Node first = sum();
        Node chain{.kind = ExpressionKind::compare, .begin = first.begin, .end = first.end};
        int links = 0;
        for (char letter = comparisonLetter(); letter != '\0'; letter = comparisonLetter(), countLink(links)) {
            if (chain.parts.empty())
                chain.parts.push_back(std::move(first));
            chain.text += letter;
            chain.parts.push_back(sum());
            chain.end = chain.parts.back().end;
        }
        return chain.parts.empty() ? std::move(first) : std::move(chain);
    }
    Node sum() { return chained("+", "-", &Parser::product); }

    Node chained(const char* one, const char* other, Node (Parser::*operand)())
    {
        Node node = (this->*operand)();
        for (int links = 0;; countLink(links)) {
            const char* const sign = take(one) ? one : take(other) ? other : nullptr;
            if (sign == nullptr)
                return node;
            node = made(ExpressionKind::combine, sign, std::move(node), (this->*operand)());
        }
    }
    Node product() { return chained("*", "/", &Parser::signedOne); }
    Node signedOne()
    {
        const Level level(*this);
        skipBlanks();
        const std::size_t begin = m_at;
        if (take("-"))
            return around(ExpressionKind::negative, begin, signedOne());
        Node base = reached();
        if (!take("^"))
            return base;
        return made(ExpressionKind::combine, "^", std::move(base), signedOne());
    }
    /// A value and what is reached from it: .member, [index], (arguments).
    Node reached()
    {
        Node node = simple();
        for (int links = 0;; countLink(links)) {
            if (take(".")) {
                skipBlanks();
                const std::string member = word();
                if (member.empty())
                    fail("a name is missing after \".\"");
                Node outer = around(ExpressionKind::member, node.begin, std::move(node));
                outer.text = member;
                outer.end = m_at;
                node = std::move(outer);
            } else if (take("[")) {
                Node index = either();
                want("]", "an index");
                Node outer = made(ExpressionKind::index, {}, std::move(node), std::move(index));
                outer.end = m_at;
                node = std::move(outer);
            } else if (sees("(") && (node.kind == ExpressionKind::name || node.kind == ExpressionKind::member)) {
                take("(");
                node = called(std::move(node));
            } else {
                return node;
            }
        }
    }
    /// f(a, b), or half.f(a).
    Node called(Node name)
    {
        Node call{.kind = ExpressionKind::call,
                  .begin = name.begin,
                  .text = name.text,
                  .parts = std::move(name.parts),
                  .isOfPart = name.kind == ExpressionKind::member};
        takeParts(call, ")", "the arguments");
        return call;
    }

    void takeParts(Node& node, const char* end, const char* what)
    {
        if (!take(end)) {
            do
                node.parts.push_back(either());
            while (take(","));
            want(end, what);
        }
        node.end = m_at;
    }
    std::string word()
    {
        const std::size_t begin = m_at;
        if (m_at < m_text.size() && startsName(m_text[m_at]))
            while (m_at < m_text.size() && (startsName(m_text[m_at]) || isDigit(m_text[m_at])))
                ++m_at;
        return std::string(m_text.substr(begin, m_at - begin));
    }
    Node literal(std::size_t begin, LessonValue value) const
    {
        return {.kind = ExpressionKind::literal, .begin = begin, .end = m_at, .value = std::move(value)};
    }
    Node simple()
    {
        const Level level(*this);
        skipBlanks();
        const std::size_t begin = m_at;
        if (m_at >= m_text.size())
            fail("it ends where a value is expected");
        if (take("(")) {
            Node inner = either();
            want(")", "an expression in brackets");
            inner.begin = begin;
            inner.end = m_at;
            return inner;
        }
        if (take("["))
            return list(begin);
        if (m_text[m_at] == '"' || m_text[m_at] == '\'')
            return quoted(begin);
        if (isDigit(m_text[m_at]) || m_text[m_at] == '.')
            return number(begin);
        for (const std::string_view taken : {"and", "or", "not"})
            if (sees(taken))
                fail("a value is expected, not \"" + std::string(taken) + "\"");
        std::string name = word();
        if (name.empty())
            fail("a value is expected, not \"" + std::string(1, printable(m_text[m_at])) + "\"");
        if (name == "true" || name == "false")
            return literal(begin, name == "true");
        return {.kind = ExpressionKind::name, .begin = begin, .end = m_at, .text = std::move(name)};
    }
    Node list(std::size_t begin)
    {
        Node node{.kind = ExpressionKind::list, .begin = begin};
        takeParts(node, "]", "a list");
        return node;
    }
    Node quoted(std::size_t begin)
    {
        const char quote = m_text[m_at];
        const std::size_t end = m_text.find(quote, m_at + 1);
        if (end == std::string_view::npos)
            fail("the quotation mark is not closed");
        std::string text(m_text.substr(m_at + 1, end - m_at - 1));
        m_at = end + 1;
        return literal(begin, std::move(text));
    }
    Node number(std::size_t begin)
    {
        double value = 0;
        const auto [end, error] = std::from_chars(m_text.data() + m_at, m_text.data() + m_text.size(), value);
        if (error != std::errc() || !std::isfinite(value))
            fail("not a number that can be used");
        m_at = static_cast<std::size_t>(end - m_text.data());
        if (m_at < m_text.size() && startsName(m_text[m_at]))
            fail("a number ends in letters");
        return literal(begin, value);
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    int m_depth = 0;
};

} // namespace

Expression Expression::parse(std::string_view text)
{
    if (text.size() > kMostCharacters)
        throw ExpressionError(kMostCharacters, "longer than " + std::to_string(kMostCharacters) + " characters");
    return {std::string(text), std::make_unique<Node>(Parser(text).whole())};
}

Expression::Expression(std::string text, std::unique_ptr<Node> root) : m_text(std::move(text)), m_root(std::move(root)) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

ExpressionError::ExpressionError(std::size_t position, const std::string& message)
    : Error("character " + std::to_string(position + 1) + ": " + message), m_position(position)
{
}

} // namespace sim
