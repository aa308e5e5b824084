#include "sim/frameworks/read/shell_words.h"

#include "sim/frameworks/read/setting.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace sim::frameworks {
namespace {

constexpr std::size_t kMostExpanded = 4UL << 20U;
constexpr std::string_view kPatternLetters = "*?[";

/// What the script does not decide is one word, whatever blanks its text has: "$(wc -l < hosts)".
std::string withoutBlanks(const std::string& text)
{
    std::string out;
    for (const char c : text)
        out += isShellBlank(c) || c == '\n' || c == kContinuation ? std::string("\xC2\xA0") : std::string(1, c); // no-break space
    return out;
}

/// Where the "))" begins that closes the "((" at `from`; none where it closes as two commands do, or not at all.
std::size_t endOfArithmetic(const std::string& text, std::size_t from)
{
    int open = 0;
    for (std::size_t at = from; at < text.size(); ++at) {
        open += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
        if (open == 0)
            return text[at - 1] == ')' ? at - 1 : std::string::npos;
    }
    return std::string::npos;
}

} // namespace

void ShellWords::spend(std::size_t bytes)
{
    m_spent += bytes + 1;
    if (m_spent > kMostExpanded)
        failAt(m_file, m_line, "expands to more than " + std::to_string(kMostExpanded) + " bytes");
}

std::vector<ShellText> ShellWords::wordPieces()
{
    std::vector<ShellText> pieces;
    for (Part& part : parts())
        for (std::size_t i = 0; i < part.texts.size(); ++i) {
            if (part.areWords && i > 0)
                pieces.push_back({" ", part.texts[i].line});
            pieces.push_back(std::move(part.texts[i]));
        }
    return pieces;
}

std::vector<ShellText> ShellWords::word()
{
    std::vector<ShellText> out;
    ShellText current{"", m_line};
    bool isOpen = false;
    const auto close = [&] {
        if (isOpen)
            out.push_back(std::exchange(current, {}));
        isOpen = false;
    };
    for (Part& part : parts()) {
        for (std::size_t i = 0; i < part.texts.size(); ++i) {
            const ShellText& text = part.texts[i];
            if (part.areWords && i > 0)
                close();
            int line = text.line;
            current.isPattern = current.isPattern || part.isPattern ||
                                (part.isSplit && text.text.find_first_of(kPatternLetters) != std::string::npos);
            current.condition = text.condition > 0 ? text.condition : current.condition;
            if (!part.isSplit) {
                if (!isOpen || current.text.empty()) // quotes of an array open before its first word, which stands elsewhere
                    current.line = line;
                isOpen = true;
                current.text += text.text;
                continue;
            }
            for (const char c : text.text) {
                if (c == '\n' || c == kContinuation)
                    ++line;
                if (c == '\n' || isShellBlank(c)) {
                    close();
                    continue;
                }
                if (!isOpen) {
                    current.line = line;
                    current.condition = text.condition;
                }
                isOpen = true;
                current.text += c;
            }
        }
    }
    close();
    return out;
}

std::vector<ShellWords::Part> ShellWords::parts()
{
    std::vector<Part> out;
    int open = 0; // parentheses inside of the word: 'Et*3|(tt|)*6tmL', ([0]*3+[1]*5)
    const std::size_t start = m_at;
    const auto literal = [&](char c, int line) {
        if (out.empty() || out.back().isSplit || out.back().areWords)
            out.push_back({.texts = {{"", line}}});
        out.back().texts.back().text += c;
    };
    while (!atEnd()) {
        const char c = peek();
        if (c == '\n' || (open == 0 && (isShellBlank(c) || c == ';' || c == '<' || c == '>')))
            break;
        if (open == 0 && c == '&')
            break;
        if (c == '|' && open == 0 && (m_at == start || isShellBlank(peek(1)) || peek(1) == '\n' || peek(1) == '|'))
            break;
        if (c == ')' && open == 0)
            break;
        if (c == '\\') {
            if (peek(1) == '\n')
                break;
            next();
            if (!atEnd())
                literal(next(), m_line);
        } else if (c == '\'') {
            const int opened = m_line;
            next();
            Part part{.texts = {{"", m_line}}};
            while (!atEnd() && peek() != '\'')
                part.texts.back().text += next();
            if (atEnd())
                m_unclosed = opened;
            else
                next();
            out.push_back(std::move(part));
        } else if (c == '"') {
            next();
            quoted(out);
        } else if (c == '$' || c == '`') {
            expansion(out, false, 0);
        } else {
            open += c == '(' ? 1 : c == ')' ? -1 : 0;
            literal(next(), m_line);
            out.back().isPattern = out.back().isPattern || kPatternLetters.find(c) != std::string_view::npos;
        }
    }
    if (m_at == start && !atEnd()) // nothing that could be a word: no standing still
        next();
    return out;
}

namespace {

/// "$@" or "${NAME[@]}": in quotes as many words as there are elements, and none where there are none.
bool isWholeList(std::string_view inside)
{
    return inside == "$@" || (inside.starts_with("${@") && inside.ends_with('}')) ||
           (inside.starts_with("${") && inside.ends_with("[@]}") && inside.find('$', 1) == std::string_view::npos);
}

} // namespace

void ShellWords::quoted(std::vector<Part>& out)
{
    const std::size_t before = out.size(), start = m_at;
    const int opened = m_line;
    out.push_back({.texts = {{"", m_line}}});
    while (!atEnd() && peek() != '"') {
        const char c = peek();
        if (c == '\\' && peek(1) == '\n') {
            next();
            ++m_line;
            ++m_at;
            out.back().texts.back().text += kContinuation;
        } else if (c == '\\' && (peek(1) == '"' || peek(1) == '$' || peek(1) == '\\' || peek(1) == '`')) {
            next();
            out.back().texts.back().text += next();
        } else if (c == '$' || c == '`') {
            expansion(out, true, 0);
            out.push_back({.texts = {{"", m_line}}});
        } else {
            out.back().texts.back().text += next();
        }
    }
    const bool isNothing = std::all_of(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), [](const Part& part) {
        return std::all_of(part.texts.begin(), part.texts.end(), [](const ShellText& one) { return one.text.empty(); });
    });
    if (isNothing && isWholeList(std::string_view(*m_text).substr(start, m_at - start)))
        out.resize(before);
    if (atEnd())
        m_unclosed = opened;
    else
        next();
}

void ShellWords::expansion(std::vector<Part>& out, bool isQuoted, int depth)
{
    const int line = m_line;
    const auto keep = [&](std::string text) {
        spend(text.size());
        out.push_back({.texts = {{std::move(text), line}}});
    };
    if (peek() == '`') {
        const std::size_t start = m_at;
        next();
        while (!atEnd() && peek() != '`')
            next();
        if (!atEnd())
            next();
        keep(withoutBlanks("$(" + m_text->substr(start + 1, std::min<std::size_t>(m_at - start - 1, 80)) + ")"));
        return;
    }
    next();
    if (const std::size_t end = peek() == '(' && peek(1) == '(' ? endOfArithmetic(*m_text, m_at) : std::string::npos;
        end != std::string::npos) {
        const std::string expression = expandedText(m_text->substr(m_at + 2, end - m_at - 2), line, depth + 1);
        m_line += static_cast<int>(std::count(m_text->begin() + static_cast<std::ptrdiff_t>(m_at),
                                              m_text->begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        m_at = end + 2;
        const std::optional<long long> value = shellArithmetic(expression, m_variables);
        keep(value ? std::to_string(*value) : withoutBlanks("$((" + expression.substr(0, 80) + "))"));
        return;
    }
    if (peek() == '(') {
        const std::size_t start = m_at;
        int open = 0;
        do {
            const char c = next();
            open += c == '(' ? 1 : c == ')' ? -1 : 0;
        } while (!atEnd() && open > 0);
        keep(withoutBlanks("$" + m_text->substr(start, std::min<std::size_t>(m_at - start, 80))));
        return;
    }
    if (peek() == '{') {
        const std::size_t start = ++m_at;
        int open = 1;
        while (!atEnd() && open > 0) {
            const char c = next();
            open += c == '{' ? 1 : c == '}' ? -1 : 0;
        }
        braced(m_text->substr(start, m_at - start - (open == 0 ? 1 : 0)), line, out, isQuoted, depth);
        return;
    }
    if (peek() == '@' || peek() == '*' || peek() == '#') { // arguments of the script: none are given
        if (next() == '#')
            keep("0");
        return;
    }
    std::string name;
    if (isDigit(peek()))
        name += next();
    else
        while (!atEnd() && (startsName(peek()) || isDigit(peek())))
            name += next();
    if (name.empty()) {
        keep("$");
        return;
    }
    variable(name, "${" + name + "}", line, out, isQuoted, Elements::first);
}

void ShellWords::variable(const std::string& name, const std::string& asWritten, int line, std::vector<Part>& out, bool isQuoted,
                          Elements which)
{
    const auto found = m_variables.find(name);
    if (found == m_variables.end()) {
        spend(asWritten.size());
        out.push_back({.texts = {{asWritten, line}}});
        return;
    }
    const ShellVariable& value = found->second;
    Part part{.texts = value.isArray ? value.elements : value.pieces, .isSplit = !isQuoted};
    if (value.isArray) {
        part.areWords = !isQuoted || which == Elements::words;
        if (which == Elements::first && !part.texts.empty())
            part.texts.resize(1);
        if (which == Elements::joined && isQuoted)
            for (std::size_t i = 1; i < part.texts.size(); ++i)
                part.texts[i].text.insert(0, " ");
    }
    for (const ShellText& text : part.texts)
        spend(text.text.size());
    if (!part.texts.empty())
        out.push_back(std::move(part));
}

void ShellWords::braced(const std::string& inside, int line, std::vector<Part>& out, bool isQuoted, int depth)
{
    std::size_t length = 0;
    while (length < inside.size() && (startsName(inside[length]) || isDigit(inside[length])))
        ++length;
    const std::string name = inside.substr(0, length);
    std::string rest = inside.substr(length);
    Elements which = Elements::first;
    if (rest.starts_with("[@]") || rest.starts_with("[*]") || rest.starts_with("[0]")) {
        which = rest[1] == '@' ? Elements::words : rest[1] == '*' ? Elements::joined : which;
        rest.erase(0, 3);
    }
    const std::string asWritten = "${" + inside.substr(0, 80) + "}";
    if (name.empty() || depth > 16) {
        spend(asWritten.size());
        out.push_back({.texts = {{asWritten, line}}});
        return;
    }
    const auto found = m_variables.find(name);
    const bool hasColon = rest.starts_with(':');
    const bool isSet = found != m_variables.end() && (!hasColon || found->second.isArray || !joined(found->second).empty());
    const std::string op = rest.substr(hasColon ? 1 : 0, 1);
    if (rest.empty() || ((op == "-" || op == "=" || op == "?") && isSet)) {
        variable(name, asWritten, line, out, isQuoted, which);
    } else if (op == "-" || op == "=") {
        std::string fallback = expandedText(rest.substr(hasColon ? 2 : 1), line, depth + 1);
        if (fallback.size() >= 2 && (fallback[0] == '"' || fallback[0] == '\'') && fallback.back() == fallback[0])
            fallback = fallback.substr(1, fallback.size() - 2);
        if (op == "=" && !skipping())
            m_variables[name] = {.pieces = {{fallback, line}}};
        spend(fallback.size());
        out.push_back({.texts = {{std::move(fallback), line}}, .isSplit = !isQuoted});
    } else if (op == "+") {
        if (isSet)
            out.push_back(
                {.texts = {{expandedText(rest.substr(hasColon ? 2 : 1), line, depth + 1), line}}, .isSplit = !isQuoted});
    } else {
        spend(asWritten.size());
        out.push_back({.texts = {{asWritten, line}}});
    }
}

std::string ShellWords::expandedText(const std::string& text, int line, int depth)
{
    if (depth > 16)
        return text;
    spend(text.size());
    const std::string* const outerText = std::exchange(m_text, &text);
    const std::size_t outerAt = std::exchange(m_at, 0);
    const int outerLine = std::exchange(m_line, line);
    std::string out;
    while (!atEnd()) {
        if (peek() == '$' || peek() == '`') {
            std::vector<Part> expanded;
            expansion(expanded, true, depth + 1);
            for (const Part& part : expanded)
                for (const ShellText& one : part.texts)
                    out += (part.areWords && !out.empty() ? " " : "") + one.text;
        } else {
            out += next();
        }
    }
    m_text = outerText;
    m_at = outerAt;
    m_line = outerLine;
    return out;
}

} // namespace sim::frameworks
