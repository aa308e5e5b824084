// A place in a short text: expressions of numbers and lists are read with it.
#pragma once

#include "sim/text/characters.h"

#include <cstddef>
#include <string_view>

namespace sim::frameworks {

class TextCursor {
public:
    explicit TextCursor(std::string_view text) : m_text(text) {}

    bool atEnd() const { return m_at >= m_text.size(); }
    /// Of the text, or a blank behind it.
    char peek() const { return atEnd() ? ' ' : m_text[m_at]; }
    char next() { return m_text[m_at++]; }
    void blanks()
    {
        while (!atEnd() && (peek() == ' ' || peek() == '\n' || peek() == '\t'))
            ++m_at;
    }
    bool startsWith(std::string_view text) const { return m_text.substr(m_at).starts_with(text); }
    void skip(std::size_t count) { m_at += count; }
    std::string_view rest() const { return m_text.substr(m_at); }
    /// The character, with blanks before it; else nothing but these.
    bool take(char c)
    {
        blanks();
        if (atEnd() || peek() != c)
            return false;
        ++m_at;
        return true;
    }

private:
    std::string_view m_text;
    std::size_t m_at = 0;
};

} // namespace sim::frameworks
