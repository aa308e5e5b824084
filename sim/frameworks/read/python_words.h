// Words of Python: blanks and comments, names, literals. The lower half of the reader of recipes (python.cpp).
#pragma once

#include "sim/frameworks/read/setting.h"

#include <optional>
#include <string>
#include <utility>

namespace sim::frameworks {

class PythonWords {
protected:
    PythonWords(std::string file, const std::string& text) : m_file(std::move(file)), m_text(text) {}

    bool has(char c) const { return m_at < m_text.size() && m_text[m_at] == c; }
    char take()
    {
        const char c = m_text[m_at++];
        if (c == '\n')
            ++m_line;
        return c;
    }
    void skipBlanks(bool alsoLines = false);
    /// Keeps its text.
    void comment();
    void skipRestOfLine();
    /// Up to what ends an argument.
    void skipArgument();
    std::string dottedName();
    /// A number, a text, a list of such, a product of numbers, or a name that stands for itself ("torch.bfloat16"); nothing of
    /// what is code.
    std::optional<Json> literal(int level);
    /// The first text among the arguments that begin here, on this line.
    std::optional<Json> firstText();

    std::string m_file;
    const std::string& m_text;
    std::size_t m_at = 0;
    int m_line = 1;
    Sheet m_sheet;

private:
    std::optional<Json> text(char quote);
};

} // namespace sim::frameworks
