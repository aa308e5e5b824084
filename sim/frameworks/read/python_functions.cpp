// Functions of a recipe's file: which of them is read, and what each is given and returns.
#include "sim/frameworks/read/python_reader.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace sim::frameworks {

void PythonReader::findFunctions()
{
    int line = 1;
    bool isInside = false;
    for (std::size_t at = 0; at < m_text.size();) {
        const std::size_t end = std::min(m_text.find('\n', at), m_text.size());
        const char first = m_text[at];
        if (isInside && end > at && first != ' ' && first != '\t' && first != ')' && first != '#') {
            m_functions.back().end = at;
            m_functions.back().endLine = line;
            isInside = false;
        }
        if (m_text.compare(at, 4, "def ") == 0 && m_functions.size() < 1000) {
            const std::size_t open = std::min(m_text.find('(', at), end);
            m_functions.push_back({m_text.substr(at + 4, open - at - 4), at, m_text.size(), open, line});
            isInside = true;
        }
        at = end + 1;
        ++line;
    }
    if (isInside)
        m_functions.back().endLine = line;
}

PythonReader::Function* PythonReader::recipe()
{
    for (Function& one : m_functions)
        if (one.name == "pretrain_recipe" || one.name == "finetune_recipe")
            return &one;
    for (Function& one : m_functions)
        if (!one.name.starts_with('_'))
            return &one;
    return m_functions.empty() ? nullptr : &m_functions.front();
}

void PythonReader::call(Function& function, int depth, const Constants& given, const std::string& returnsTo)
{
    m_read += function.end - function.start;
    if (depth > 4 || ++m_calls > kMostCalls || m_read > kMostRead)
        return;
    const Constants outside = m_constants;
    const auto place = std::pair(m_at, m_line);
    const int outer = std::exchange(m_depth, depth);
    const Return outerReturn = std::exchange(m_return, {returnsTo, m_sheet.settings.size()});
    ++function.calls;
    m_at = function.start;
    m_line = function.line;
    parameters(function);
    for (const auto& [name, value] : given) {
        if (value.is_null())
            m_constants.erase(name);
        else
            m_constants[name] = value;
    }
    lines(function.end);
    m_constants = outside;
    std::tie(m_at, m_line) = place;
    m_depth = outer;
    m_return = outerReturn;
}

bool PythonReader::callOf(const std::string& name, const std::string& returnsTo)
{
    for (Function& one : m_functions)
        if (one.name == name && m_depth < 4) {
            call(one, m_depth + 1, keywords(), returnsTo);
            return true;
        }
    return false;
}

bool PythonReader::returned(int line)
{
    if (m_return.name.empty())
        return false;
    const std::size_t before = m_at;
    skipBlanks();
    const std::size_t start = m_at;
    const std::string name = dottedName();
    const bool isCall = !name.empty() && has('(');
    skipBlanks();
    const bool isVariable = !name.empty() && (m_at >= m_text.size() || m_text[m_at] == '\n' || m_text[m_at] == '#');
    if (isVariable && name != m_return.name) {
        for (std::size_t i = m_return.from; i < m_sheet.settings.size(); ++i)
            if (Setting& setting = m_sheet.settings[i]; setting.name.starts_with(name + "."))
                setting.name = m_return.name + setting.name.substr(name.size());
    } else if (isCall) {
        m_at = start;
        assigned(m_return.name, line, 0);
    }
    if (isVariable || isCall)
        return true;
    m_at = before;
    skipBlanks();
    if (const std::optional<Json> value = literal(0); value && (m_at >= m_text.size() || has('\n') || has(' ') || has('#'))) {
        add(m_return.name, *value, line);
        return true;
    }
    m_at = before;
    return false;
}

void PythonReader::parameters(const Function& function)
{
    const std::size_t open = function.open;
    if (open >= function.end || m_text[open] != '(')
        return;
    comment(m_text.substr(m_at, std::min<std::size_t>(open - m_at, 200)));
    while (m_at <= open)
        take();
    while (m_at < function.end) {
        skipBlanks(true);
        if (has(')'))
            break;
        const int line = m_line;
        const std::string name = dottedName();
        for (int nested = 0; m_at < function.end && (nested > 0 || !(has('=') || has(',') || has(')')));) {
            const char c = take();
            nested += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
        }
        if (has('=')) {
            take();
            skipBlanks(true);
            if (const std::optional<Json> value = literal(0); value && !name.empty()) {
                m_constants[name] = *value;
                m_sheet.settings.push_back({"@env." + name, *value, line, name, m_file});
            }
        }
        skipArgument();
        if (has(','))
            take();
    }
    skipRestOfLine();
}

PythonReader::Constants PythonReader::keywords()
{
    Constants given;
    if (!has('('))
        return given;
    take();
    while (m_at < m_text.size() && !has(')')) {
        skipBlanks(true);
        const std::string name = dottedName();
        skipBlanks();
        if (!name.empty() && has('=') && m_text.compare(m_at, 2, "==") != 0) {
            take();
            skipBlanks(true);
            const std::size_t before = m_at;
            const int line = m_line;
            std::optional<Json> value = literal(0);
            if (!value) {
                m_at = before;
                m_line = line;
                const auto constant = m_constants.find(dottedName());
                if (constant != m_constants.end())
                    value = constant->second;
            }
            skipBlanks(true);
            given[name] = value && (has(',') || has(')')) ? *value : Json(nullptr);
        }
        skipArgument();
        if (has(','))
            take();
        skipBlanks(true);
    }
    if (has(')'))
        take();
    return given;
}

} // namespace sim::frameworks
