// Redirections of commands, and the here-documents that follow them: scripts that are submitted, DeepSpeed's JSON.
#include "sim/error.h"
#include "sim/frameworks/read/shell_reader.h"
#include "sim/text/characters.h"

namespace sim::frameworks {

bool ShellReader::redirection()
{
    std::size_t digits = 0; // of what is redirected: 2>&1, &>
    while (isDigit(peek(digits)))
        ++digits;
    if (digits == 0 && peek() == '&' && peek(1) == '>')
        digits = 1;
    if (peek(digits) != '<' && peek(digits) != '>')
        return false;
    for (; digits > 0; --digits)
        next();
    const char first = next();
    if (first == '<' && peek() == '<' && peek(1) != '<') {
        next();
        if (peek() == '-')
            next();
        blanks();
        const bool isQuoted = peek() == '\'' || peek() == '"' || peek() == '\\';
        std::string delimiter;
        while (!atEnd() && !isShellBlank(peek()) && peek() != '\n' && peek() != ';' && peek() != '>' && peek() != '|')
            if (const char c = next(); c != '\'' && c != '"' && c != '\\')
                delimiter += c;
        m_waiting.push_back({delimiter, isQuoted});
        return true;
    }
    while (peek() == '>' || peek() == '<' || peek() == '&')
        next();
    blanks();
    if (!atEnd() && peek() != '\n' && peek() != ';' && peek() != ')')
        word();
    return true;
}

void ShellReader::hereDocuments()
{
    for (const auto& [delimiter, isQuoted, isScript] : std::exchange(m_waiting, {})) {
        std::string body;
        const int line = m_line;
        while (!atEnd()) {
            const std::size_t end = std::min(m_text->find('\n', m_at), m_text->size());
            std::string row = m_text->substr(m_at, end - m_at);
            m_at = std::min(end + 1, m_text->size());
            ++m_line;
            std::string trimmed = row;
            trimmed.erase(0, trimmed.find_first_not_of('\t'));
            if (row == delimiter || trimmed == delimiter)
                break;
            body += row + "\n";
        }
        const int branch = isQuoted ? 0 : branchOf(body);
        if (!isQuoted)
            body = expandedText(body, line);
        if (const std::string name = std::exchange(m_readInto, {}); !name.empty() && !skipping()) {
            assignText(name, {withContinuations(body), line, branch});
            continue;
        }
        const std::size_t first = body.find_first_not_of(" \t\n");
        if (first == std::string::npos || skipping())
            continue;
        const bool isWritten = body.starts_with("#!") && body.find("sh") < body.find('\n'); // "cat > job.sh <<EOF"
        if (isScript || isWritten)
            apart([&] { script(body, line, m_level + 1); });
        else if (body[first] == '{')
            readDeepSpeed(body, delimiter, line);
    }
}

void ShellReader::readDeepSpeed(const std::string& json, const std::string& delimiter, int line)
{
    try {
        const File& file = fileOf(line);
        for (Setting& setting : readJson(file.name, withQuotedVariables(json), line - file.before).settings) {
            setting.name = "ds_config." + setting.name;
            setting.line += file.before;
            m_sheet.settings.push_back(std::move(setting));
        }
    } catch (const Error& error) { // the rest of the script says what it says
        tell("<<" + delimiter, std::string(), line, std::string("its text is not read: ") + error.what());
    }
}

} // namespace sim::frameworks
