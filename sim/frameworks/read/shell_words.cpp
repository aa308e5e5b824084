#include "sim/frameworks/read/shell_words.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sim::frameworks {
namespace {

constexpr std::size_t kMostExpanded = 4UL << 20U;
constexpr std::string_view kPatternLetters = "*?[";

/// "$@" or "${NAME[@]}": in quotes as many words as there are elements, and none where there are none.
bool isWholeList(std::string_view inside)
{
    return inside == "$@" || (inside.starts_with("${@") && inside.ends_with('}')) ||
           (inside.starts_with("${") && inside.ends_with("[@]}") && inside.find('$', 1) == std::string_view::npos);
}

} // namespace

void ShellWords::spend(std::size_t bytes)
{
    m_spent += bytes + 1;
    if (m_spent > kMostExpanded)
        fail("expands to more than " + std::to_string(kMostExpanded) + " bytes, with what is looked at for it");
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
    const std::size_t start = m_at;
    std::vector<Part> all = parts();
    if (m_at == start && !atEnd()) // nothing that could be a word: no standing still
        next();
    for (Part& part : all) {
        for (std::size_t i = 0; i < part.texts.size(); ++i) {
            const ShellText& text = part.texts[i];
            if (part.areWords && i > 0)
                close();
            int line = text.line;
            current.isPattern = current.isPattern || part.isPattern ||
                                (part.isSplit && text.text.find_first_of(kPatternLetters) != std::string::npos);
            const bool isApart = part.isSplit && !text.text.empty() && (isShellBlank(text.text[0]) || text.text[0] == '\n');
            if (!isApart)
                current.branch = moreOpen(current.branch, text.branch);
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
                    current.branch = moreOpen(current.branch, text.branch);
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
    return out;
}

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

} // namespace sim::frameworks
