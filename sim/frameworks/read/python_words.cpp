#include "sim/frameworks/read/python_words.h"

#include "sim/text/characters.h"

#include <algorithm>

namespace sim::frameworks {

void PythonWords::skipBlanks(bool alsoLines)
{
    while (m_at < m_text.size()) {
        const char c = m_text[m_at];
        if (c == ' ' || c == '\t' || (alsoLines && c == '\n'))
            take();
        else if (c == '#' && alsoLines)
            comment();
        else
            return;
    }
}

void PythonWords::comment()
{
    const std::size_t end = std::min(m_text.find('\n', m_at), m_text.size());
    if (m_sheet.comments.size() < 1000)
        m_sheet.comments.push_back(m_text.substr(m_at + 1, std::min<std::size_t>(end - m_at - 1, 200)));
    m_at = end;
}

void PythonWords::skipRestOfLine()
{
    while (m_at < m_text.size() && m_text[m_at] != '\n') {
        if (m_text[m_at] == '#')
            comment();
        else
            take();
    }
    if (m_at < m_text.size())
        take();
}

std::string PythonWords::dottedName()
{
    std::string name;
    while (m_at < m_text.size() && (startsName(m_text[m_at]) || isDigit(m_text[m_at]) || (m_text[m_at] == '.' && !name.empty())))
        name += take();
    return name;
}

void PythonWords::skipArgument()
{
    int open = 0;
    while (m_at < m_text.size() && (open > 0 || (m_text[m_at] != ',' && m_text[m_at] != ')'))) {
        const char c = take();
        open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    }
}

std::optional<Json> PythonWords::firstText()
{
    while (m_at < m_text.size() && m_text[m_at] != '\n') {
        if (has('"') || has('\''))
            return literal(0);
        take();
    }
    return std::nullopt;
}

std::optional<Json> PythonWords::literal(int level)
{
    if (m_at >= m_text.size() || level > 16)
        return std::nullopt;
    const char c = m_text[m_at];
    if (c == '"' || c == '\'')
        return text(c);
    if (c == '[' || c == '(') {
        const char end = c == '[' ? ']' : ')';
        take();
        Json list = Json::array();
        while (true) {
            skipBlanks(true);
            if (has(end)) {
                take();
                return list;
            }
            const std::optional<Json> item = literal(level + 1);
            if (!item || list.size() > kMostSettings)
                return std::nullopt;
            list.push_back(*item);
            skipBlanks(true);
            if (has(','))
                take();
            else if (!has(end))
                return std::nullopt;
        }
    }
    std::string word;
    while (m_at < m_text.size() && (startsName(m_text[m_at]) || isDigit(m_text[m_at]) || m_text[m_at] == '.' ||
                                    m_text[m_at] == '-' || m_text[m_at] == '+'))
        word += take();
    if (word.empty())
        return std::nullopt;
    Json value = valueOf(word);
    const bool isName = word.starts_with("torch.") || word.starts_with("F.") || word.starts_with("AttnBackend.") ||
                        word == "squared_relu" || word == "quick_gelu";
    if (value.is_string() && !isName)
        return std::nullopt;
    if (!value.is_number())
        return value;
    while (true) { // 4 * 1024
        skipBlanks();
        if (!has('*') || (m_at + 1 < m_text.size() && m_text[m_at + 1] == '*'))
            return value;
        take();
        skipBlanks();
        std::string factor;
        while (m_at < m_text.size() && (isDigit(m_text[m_at]) || m_text[m_at] == '_' || m_text[m_at] == '.'))
            factor += take();
        const Json other = factor.empty() ? Json(nullptr) : valueOf(factor);
        if (!other.is_number())
            return std::nullopt;
        value = sim::number(value.get<double>() * other.get<double>());
    }
}

std::optional<Json> PythonWords::text(char quote)
{
    const bool isTriple = m_text.compare(m_at, 3, std::string(3, quote)) == 0;
    const std::string end(isTriple ? 3 : 1, quote);
    m_at += end.size();
    std::string out;
    while (m_at < m_text.size()) {
        if (m_text.compare(m_at, end.size(), end) == 0) {
            m_at += end.size();
            return Json(out);
        }
        if (m_text[m_at] == '\n' && !isTriple)
            return std::nullopt;
        if (m_text[m_at] == '\\' && m_at + 1 < m_text.size())
            take();
        out += take();
    }
    return std::nullopt;
}

} // namespace sim::frameworks
