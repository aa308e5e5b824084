// A small strict reader of shell: assignments, arrays, expansions, conditions that follow from the script, here-documents. It
// runs nothing: output of commands and variables of the environment stay as they are written, and are asked for.
#include "sim/frameworks/read/setting.h"
#include "sim/frameworks/read/shell_values.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <array>
#include <optional>

namespace sim::frameworks {
namespace {

constexpr std::size_t kMostExpanded = 4UL << 20U;

struct ShellCommand {
    std::vector<ShellText> words;
    int flags = 0;
};

bool isShellBlank(char c)
{
    return c == ' ' || c == '\t' || c == kContinuation;
}

class ShellReader {
public:
    explicit ShellReader(std::string file) : m_file(std::move(file)) {}

    void script(const std::string& text, int line, int level)
    {
        if (level > 4)
            return;
        const std::string* const outerText = std::exchange(m_text, &text);
        const std::size_t outerAt = std::exchange(m_at, 0);
        const int outerLine = std::exchange(m_line, line), outerLevel = std::exchange(m_level, level);
        while (m_at < m_text->size())
            statement();
        m_text = outerText;
        m_at = outerAt;
        m_line = outerLine;
        m_level = outerLevel;
    }

    Sheet take()
    {
        chooseCommand();
        for (const char* name : {"GPUS_PER_NODE", "NPROC_PER_NODE", "GPN", "N_GPUS", "NUM_GPUS", "NNODES", "NUM_NODES", "NODES",
                                 "N_NODES", "WORLD_SIZE"})
            if (const auto found = m_variables.find(name); found != m_variables.end())
                m_sheet.settings.push_back(
                    {std::string("@env.") + name, valueOf(joined(found->second)), lineOf(found->second), name, m_file});
        return std::move(m_sheet);
    }

private:
    static int lineOf(const ShellVariable& variable) { return variable.pieces.empty() ? 0 : variable.pieces.front().line; }
    char peek(std::size_t ahead = 0) const { return m_at + ahead < m_text->size() ? (*m_text)[m_at + ahead] : '\n'; }
    bool atEnd() const { return m_at >= m_text->size(); }
    char next()
    {
        const char c = (*m_text)[m_at++];
        if (c == '\n' || c == kContinuation)
            ++m_line;
        return c;
    }
    void spend(std::size_t bytes)
    {
        m_spent += bytes + 1;
        if (m_spent > kMostExpanded)
            failAt(m_file, m_line, "expands to more than " + std::to_string(kMostExpanded) + " bytes");
    }
    bool skipping() const
    {
        return m_skipsNext ||
               std::any_of(m_branches.begin(), m_branches.end(), [](const Branch& branch) { return !branch.isOn; });
    }

    // Blanks, continued lines, comments.
    void blanks()
    {
        while (!atEnd()) {
            if (isShellBlank(peek()))
                next();
            else if (peek() == '\\' && peek(1) == '\n') {
                next();
                next();
            } else
                return;
        }
    }
    void comment()
    {
        const std::size_t end = std::min(m_text->find('\n', m_at), m_text->size());
        const std::string text = m_text->substr(m_at, std::min<std::size_t>(end - m_at, 400));
        if (text.starts_with("#SBATCH"))
            batchLine(text.substr(7));
        if (m_sheet.comments.size() < 1000)
            m_sheet.comments.push_back(text.substr(1));
        m_at = end;
    }
    /// "#SBATCH --nodes=24", "-N 24", "--gres=gpu:a100:8".
    void batchLine(const std::string& text)
    {
        std::string name, value;
        const std::size_t start = text.find_first_not_of(" \t");
        if (start == std::string::npos)
            return;
        const std::size_t end = text.find_first_of("= \t", start);
        name = text.substr(start, end == std::string::npos ? end : end - start);
        if (end != std::string::npos) {
            const std::size_t from = text.find_first_not_of("= \t", end);
            value = from == std::string::npos ? "" : text.substr(from, text.find_first_of(" \t#", from) - from);
        }
        const auto count = [&value] { return valueOf(value.substr(value.rfind(':') + 1)); };
        if (name == "--nodes" || name == "-N")
            m_sheet.settings.push_back({"@nodes", valueOf(value), m_line, "#SBATCH " + name, m_file});
        else if ((name == "--gres" && value.starts_with("gpu")) || name == "--gpus-per-node")
            m_sheet.settings.push_back({"@gpus_per_node", count(), m_line, "#SBATCH " + name, m_file});
        else if (name == "--gpus" || name == "-G")
            m_sheet.settings.push_back({"@gpus", count(), m_line, "#SBATCH " + name, m_file});
    }

    struct Branch {
        bool isOn = true;      ///< statements of this branch count
        bool wasTaken = false; ///< so no later branch is
        bool isKnown = true;   ///< the condition could be told
    };

    /// One command, with assignments in front of it, to the end of its line or to an operator.
    void statement()
    {
        std::vector<ShellText> words;
        bool mayAssign = true;
        const int line = m_line;
        std::optional<std::string> keyword; // if, elif, while, until: what follows is a condition
        while (true) {
            blanks();
            if (atEnd() || peek() == '\n' || peek() == ';' || peek() == '&' || peek() == '|' || (peek() == ')' && words.empty()))
                break;
            if (peek() == '#') {
                comment();
                continue;
            }
            if (peek() == '(' && words.empty() && mayAssign) { // a subshell, or ((arithmetic))
                next();
                continue;
            }
            if (redirection())
                continue;
            if (mayAssign && assignment())
                continue;
            std::vector<ShellText> more = word();
            if (words.empty() && !keyword && more.size() == 1) {
                const std::string& text = more.front().text;
                if (text == "if" || text == "elif" || text == "while" || text == "until") {
                    keyword = text;
                    mayAssign = false;
                    continue;
                }
                if (text == "then" || text == "do" || text == "{" || text == "}" || text == "time" || text == "exec")
                    continue;
                if (text == "else" || text == "fi" || text == "done" || text == "esac") {
                    closeBranch(text);
                    continue;
                }
                if (text == "export" || text == "local" || text == "declare" || text == "readonly" || text == "typeset") {
                    keyword = "export";
                    continue;
                }
                if (text == "for" || text == "case" || text == "select") {
                    loop(text, line);
                    return;
                }
            }
            if (keyword == "export")
                continue; // names without a value, options
            mayAssign = false;
            for (ShellText& one : more)
                words.push_back(std::move(one));
            if (words.size() > 4 * kMostSettings)
                failAt(m_file, m_line, "a command has more than " + std::to_string(4 * kMostSettings) + " words");
        }
        const bool wasSkipped = std::exchange(m_skipsNext, false);
        std::optional<bool> outcome;
        if (keyword && *keyword != "export")
            outcome = condition(*keyword, words, line);
        else if (!words.empty() && !wasSkipped && !skipping())
            outcome = command(std::move(words));
        operatorAfter(outcome);
    }

    void operatorAfter(std::optional<bool> outcome)
    {
        if (atEnd())
            return;
        const char c = next();
        const bool isDouble = (c == '&' || c == '|') && peek() == c;
        if (isDouble) {
            next();
            m_skipsNext = outcome.has_value() && (c == '&' ? !*outcome : *outcome);
        }
        if (c == '\n')
            hereDocuments();
    }

    std::optional<bool> condition(const std::string& keyword, const std::vector<ShellText>& words, int line)
    {
        std::vector<std::string> inner;
        for (const ShellText& one : words)
            inner.push_back(one.text);
        enum class Told : std::uint8_t { unknown, yes, no } told = Told::unknown;
        if (!inner.empty() && (inner.front() == "[" || inner.front() == "[[" || inner.front() == "test")) {
            const bool hasEnd = inner.back() == "]" || inner.back() == "]]";
            if (const std::optional<bool> test =
                    shellTest({inner.begin() + 1, inner.end() - (hasEnd && inner.size() > 1 ? 1 : 0)}))
                told = *test ? Told::yes : Told::no;
        }
        if (peek() == '&' || peek() == '|') // joined conditions
            told = Told::unknown;
        if (keyword == "while" || keyword == "until")
            told = Told::yes;
        const bool isKnown = told != Told::unknown;
        if (keyword == "elif" && !m_branches.empty()) {
            Branch& branch = m_branches.back();
            branch.isOn = branch.isKnown ? !branch.wasTaken && told != Told::no : true;
        } else if (m_branches.size() < 256) {
            m_branches.push_back({.isOn = told != Told::no, .wasTaken = false, .isKnown = isKnown});
        }
        if (!m_branches.empty()) {
            Branch& branch = m_branches.back();
            branch.isKnown = branch.isKnown && isKnown;
            branch.wasTaken = branch.wasTaken || (isKnown && branch.isOn);
        }
        if (!isKnown && !skipping() && m_sheet.undecided.size() < 200)
            m_sheet.undecided.push_back({"if", "its branches are all read", line, "if", m_file});
        // What stands between joined conditions is no command of ours.
        while (!atEnd() && (peek() == '&' || peek() == '|')) {
            while (!atEnd() && peek() != ';' && peek() != '\n')
                next();
        }
        return std::nullopt;
    }

    void closeBranch(const std::string& text)
    {
        if (m_branches.empty())
            return;
        Branch& branch = m_branches.back();
        if (text == "else")
            branch.isOn = !branch.isKnown || !branch.wasTaken;
        else
            m_branches.pop_back();
    }

    /// "for NAME in WORDS" is read once, with the first; of "case" all branches are read.
    void loop(const std::string& keyword, int line)
    {
        blanks();
        std::vector<ShellText> words;
        while (!atEnd() && peek() != '\n' && peek() != ';') {
            if (peek() == '#') {
                comment();
                continue;
            }
            if (peek() == '&' || peek() == '|' || peek() == ')' || peek() == '<' || peek() == '>' || peek() == '(') {
                next();
                continue;
            }
            for (ShellText& one : word())
                words.push_back(std::move(one));
            blanks();
        }
        if (keyword == "for" && words.size() >= 3 && startsName(words[0].text.empty() ? ' ' : words[0].text[0]) && !skipping())
            m_variables[words[0].text] = {.pieces = {words[2]}};
        if (m_branches.size() < 256)
            m_branches.push_back({});
        m_sheet.undecided.push_back({keyword,
                                     keyword == "for" ? "is read once, with its first value" : "its branches are all read", line,
                                     keyword, m_file});
    }

    bool redirection()
    {
        if (peek() != '<' && peek() != '>')
            return false;
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

    void hereDocuments()
    {
        for (const auto& [delimiter, isQuoted] : std::exchange(m_waiting, {})) {
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
            if (!isQuoted)
                body = expandedText(body, line);
            if (body.find_first_not_of(" \t\n") == std::string::npos || body[body.find_first_not_of(" \t\n")] != '{' ||
                skipping())
                continue;
            for (Setting& setting : readJson(m_file, body, line).settings) {
                setting.name = "ds_config." + setting.name;
                m_sheet.settings.push_back(std::move(setting));
            }
        }
    }

    /// NAME=value, NAME+=value, NAME=( … ).
    bool assignment()
    {
        std::size_t length = 0;
        if (!startsName(peek()))
            return false;
        while (startsName(peek(length)) || isDigit(peek(length)))
            ++length;
        const bool isMore = peek(length) == '+' && peek(length + 1) == '=';
        if (!isMore && peek(length) != '=')
            return false;
        const std::string name = m_text->substr(m_at, length);
        m_at += length + (isMore ? 2 : 1);
        ShellVariable value;
        if (peek() == '(') {
            next();
            value.isArray = true;
            while (!atEnd() && peek() != ')') {
                if (peek() == '\n') {
                    next();
                } else if (peek() == '#') {
                    comment();
                } else if (isShellBlank(peek()) || (peek() == '\\' && peek(1) == '\n')) {
                    blanks();
                } else if (peek() == ';' || peek() == '&' || peek() == '|' || peek() == '<' || peek() == '>') {
                    next();
                } else {
                    for (ShellText& one : word())
                        value.elements.push_back(std::move(one));
                }
                if (value.elements.size() > 4 * kMostSettings)
                    failAt(m_file, m_line, "an array has more than " + std::to_string(4 * kMostSettings) + " words");
            }
            if (!atEnd())
                next();
        } else {
            value.pieces = wordPieces();
        }
        if (skipping())
            return true;
        ShellVariable& target = m_variables[name];
        if (!isMore) {
            target = std::move(value);
        } else {
            target.isArray = target.isArray || value.isArray;
            std::move(value.pieces.begin(), value.pieces.end(), std::back_inserter(target.pieces));
            std::move(value.elements.begin(), value.elements.end(), std::back_inserter(target.elements));
        }
        if (std::find(m_order.begin(), m_order.end(), name) == m_order.end() && m_order.size() < 5000)
            m_order.push_back(name);
        return true;
    }

    /// A part of a word; what is not quoted is split at blanks when it comes from a variable.
    struct Part {
        std::vector<ShellText> texts;
        bool isSplit = false;  ///< at blanks
        bool areWords = false; ///< each text is a word of its own: "${ARRAY[@]}"
    };

    std::vector<ShellText> wordPieces()
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

    std::vector<ShellText> word()
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
                if (!part.isSplit) {
                    if (!isOpen)
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
                    if (!isOpen)
                        current.line = line;
                    isOpen = true;
                    current.text += c;
                }
            }
        }
        close();
        return out;
    }

    std::vector<Part> parts()
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
                next();
                Part part{.texts = {{"", m_line}}};
                while (!atEnd() && peek() != '\'')
                    part.texts.back().text += next();
                if (!atEnd())
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
            }
        }
        if (m_at == start && !atEnd()) // nothing that could be a word: no standing still
            next();
        return out;
    }

    void quoted(std::vector<Part>& out)
    {
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
        if (!atEnd())
            next();
    }

    /// $NAME, ${NAME…}, $((…)), $(…), `…`.
    void expansion(std::vector<Part>& out, bool isQuoted, int depth)
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
            keep("$(" + m_text->substr(start + 1, std::min<std::size_t>(m_at - start - 1, 80)) + ")");
            return;
        }
        next();
        if (peek() == '(' && peek(1) == '(') {
            const std::size_t end = m_text->find("))", m_at);
            if (end == std::string::npos) {
                m_at = m_text->size();
                return;
            }
            const std::string expression = expandedText(m_text->substr(m_at + 2, end - m_at - 2), line, depth + 1);
            m_line += static_cast<int>(std::count(m_text->begin() + static_cast<std::ptrdiff_t>(m_at),
                                                  m_text->begin() + static_cast<std::ptrdiff_t>(end), '\n'));
            m_at = end + 2;
            while (peek() == ')' && shellArithmetic(expression, m_variables) == std::nullopt && !atEnd())
                break;
            const std::optional<long long> value = shellArithmetic(expression, m_variables);
            keep(value ? std::to_string(*value) : "$((" + expression.substr(0, 80) + "))");
            return;
        }
        if (peek() == '(') {
            const std::size_t start = m_at;
            int open = 0;
            do {
                const char c = next();
                open += c == '(' ? 1 : c == ')' ? -1 : 0;
            } while (!atEnd() && open > 0);
            keep("$" + m_text->substr(start, std::min<std::size_t>(m_at - start, 80)));
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
        if (peek() == '@' || peek() == '*') { // arguments of the script: none are known
            next();
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
        variable(name, "${" + name + "}", line, out, isQuoted, false);
    }

    void variable(const std::string& name, const std::string& asWritten, int line, std::vector<Part>& out, bool isQuoted,
                  bool isWhole)
    {
        const auto found = m_variables.find(name);
        if (found == m_variables.end()) {
            spend(asWritten.size());
            out.push_back({.texts = {{asWritten, line}}});
            return;
        }
        const ShellVariable& value = found->second;
        Part part{.texts = value.isArray ? value.elements : value.pieces, .isSplit = !isQuoted && !value.isArray};
        if (value.isArray) {
            part.areWords = isWhole || !isQuoted;
            if (!isWhole && !part.texts.empty())
                part.texts.resize(1);
        }
        for (const ShellText& text : part.texts)
            spend(text.text.size());
        if (!part.texts.empty())
            out.push_back(std::move(part));
    }

    void braced(const std::string& inside, int line, std::vector<Part>& out, bool isQuoted, int depth)
    {
        std::size_t length = 0;
        while (length < inside.size() && (startsName(inside[length]) || isDigit(inside[length])))
            ++length;
        const std::string name = inside.substr(0, length);
        std::string rest = inside.substr(length);
        bool isWhole = false;
        if (rest.starts_with("[@]") || rest.starts_with("[*]") || rest.starts_with("[0]")) {
            isWhole = rest[1] != '0';
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
            variable(name, asWritten, line, out, isQuoted, isWhole);
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

    /// Text with its expansions, nothing else of it changed: here-documents, defaults.
    std::string expandedText(const std::string& text, int line, int depth = 0)
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

    std::optional<bool> command(std::vector<ShellText> words)
    {
        const std::string& first = words.front().text;
        if (first == "[" || first == "[[" || first == "test") {
            std::vector<std::string> inner;
            for (std::size_t i = 1; i < words.size(); ++i)
                inner.push_back(words[i].text);
            if (!inner.empty() && (inner.back() == "]" || inner.back() == "]]"))
                inner.pop_back();
            return shellTest(inner);
        }
        if (first == "echo" || first == "printf" || first == "cd" || first == "mkdir" || first == "source" || first == "." ||
            first == "set" || first == "module" || first == "rm" || first == "cat")
            return std::nullopt;
        if (first == "eval") {
            std::string text;
            for (std::size_t i = 1; i < words.size(); ++i)
                text += (i > 1 ? " " : "") + words[i].text;
            script(text, words.front().line, m_level + 1);
            return std::nullopt;
        }
        bool hasInner = false;
        for (const ShellText& one : words) { // bash -c "torchrun --nproc_per_node 8 …"
            const bool isScript = one.text.find_first_of(" \n\x1f") != std::string::npos && !one.text.starts_with("--") &&
                                  (one.text.find("--") != std::string::npos || one.text.find('$') != std::string::npos);
            if (!isScript)
                continue;
            const std::size_t before = m_commands.size();
            script(one.text, one.line, m_level + 1);
            hasInner = hasInner || m_commands.size() > before;
        }
        ShellCommand made{.words = std::move(words)};
        for (const ShellText& one : made.words)
            made.flags += one.text.size() > 2 && one.text.starts_with("--") ? 1 : 0;
        if (made.flags > 0 && m_commands.size() < 10000)
            m_commands.push_back(std::move(made));
        return std::nullopt;
    }

    /// The command with the most flags is the training; what else has many is told. Lines of flags alone belong together.
    void chooseCommand()
    {
        ShellCommand loose;
        std::vector<const ShellCommand*> whole;
        for (const ShellCommand& made : m_commands) {
            if (made.words.front().text.starts_with("--")) {
                loose.words.insert(loose.words.end(), made.words.begin(), made.words.end());
                loose.flags += made.flags;
            } else {
                whole.push_back(&made);
            }
        }
        const ShellCommand* chosen = &loose;
        for (const ShellCommand* made : whole)
            if (made->flags > chosen->flags)
                chosen = made;
        ShellCommand stored;
        if (chosen->flags < 2) { // nothing is started here: the variables hold the flags
            std::vector<std::string> seen;
            for (const std::string& name : m_order) {
                const ShellVariable& value = m_variables[name];
                if (value.isArray) {
                    stored.words.insert(stored.words.end(), value.elements.begin(), value.elements.end());
                } else {
                    for (const ShellText& piece : value.pieces)
                        splitInto(piece, stored.words);
                }
            }
            stored.words.erase(std::remove_if(stored.words.begin(), stored.words.end(),
                                              [&, isFirst = true](const ShellText& one) mutable {
                                                  isFirst = isFirst && !one.text.starts_with("--");
                                                  return isFirst;
                                              }),
                               stored.words.end());
            for (const ShellText& one : stored.words)
                stored.flags += one.text.starts_with("--") ? 1 : 0;
            if (stored.flags > chosen->flags)
                chosen = &stored;
        }
        addFlags(chosen->words);
        for (const ShellCommand* made : whole) {
            if (made == chosen)
                continue;
            // A launcher that starts the chosen command in quotes: srun --nodes 4 bash -c "…".
            addFlags(made->words, true);
            if (made->flags > 3)
                m_sheet.undecided.push_back({made->words.front().text, "another command; only the one with most settings is read",
                                             made->words.front().line, made->words.front().text, m_file});
        }
    }

    static void splitInto(const ShellText& piece, std::vector<ShellText>& out)
    {
        int line = piece.line;
        ShellText current;
        for (const char c : piece.text + " ") {
            if (c == '\n' || c == kContinuation)
                ++line;
            if (c == '\n' || isShellBlank(c)) {
                if (!current.text.empty())
                    out.push_back(std::exchange(current, {}));
                continue;
            }
            if (current.text.empty())
                current.line = line;
            current.text += c;
        }
    }

    void addFlags(const std::vector<ShellText>& words, bool onlyLaunchers = false)
    {
        static constexpr std::array kLaunchers = {"nodes",     "nnodes",          "nproc_per_node", "gpus_per_node",
                                                  "num_nodes", "ntasks_per_node", "num_gpus",       "gres"};
        const std::size_t before = m_sheet.settings.size();
        Setting* current = nullptr;
        for (const ShellText& one : words) {
            const std::string& text = one.text;
            const bool isFlag = text.size() > 2 && text.starts_with("--") && (isLetter(text[2]) || text[2] == '_');
            if (isFlag) {
                if (m_sheet.settings.size() > kMostSettings)
                    failAt(m_file, one.line, "has more than " + std::to_string(kMostSettings) + " settings");
                const std::size_t equals = text.find('=');
                std::string name = text.substr(2, equals == std::string::npos ? equals : equals - 2);
                std::replace(name.begin(), name.end(), '-', '_');
                m_sheet.settings.push_back({name, true, one.line, text.substr(0, equals), m_file});
                current = &m_sheet.settings.back();
                if (equals != std::string::npos)
                    current->value = valueOf(text.substr(equals + 1));
                m_hasValue = equals != std::string::npos;
                continue;
            }
            const bool isShortFlag = text.size() > 1 && text[0] == '-' && isLetter(text[1]);
            if (isShortFlag || text.ends_with(".py") || text == "-m") {
                current = nullptr;
                continue;
            }
            if (current == nullptr)
                continue;
            Json value = valueOf(text);
            if (!m_hasValue)
                current->value = std::move(value);
            else if (current->value.is_array())
                current->value.push_back(std::move(value));
            else
                current->value = Json::array({current->value, std::move(value)});
            m_hasValue = true;
        }
        if (onlyLaunchers)
            m_sheet.settings.erase(
                std::remove_if(m_sheet.settings.begin() + static_cast<std::ptrdiff_t>(before), m_sheet.settings.end(),
                               [](const Setting& setting) {
                                   return std::find(kLaunchers.begin(), kLaunchers.end(), setting.name) == kLaunchers.end();
                               }),
                m_sheet.settings.end());
    }

    std::string m_file;
    const std::string* m_text = nullptr;
    std::size_t m_at = 0;
    int m_line = 1, m_level = 0;
    std::size_t m_spent = 0;
    bool m_skipsNext = false, m_hasValue = false;
    std::vector<Branch> m_branches;
    std::vector<std::pair<std::string, bool>> m_waiting; ///< here-documents that begin with the next line
    ShellVariables m_variables;
    std::vector<std::string> m_order;
    std::vector<ShellCommand> m_commands;
    Sheet m_sheet;
};

} // namespace

Sheet readShell(const std::string& file, const std::string& text)
{
    ShellReader reader(file);
    reader.script(text, 1, 0);
    return reader.take();
}

} // namespace sim::frameworks
