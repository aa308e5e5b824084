// A small strict reader of shell: assignments, arrays, expansions, conditions that follow from the script, here-documents. It
// runs nothing: output of commands and variables of the environment stay as they are written, and are asked for.
#include "sim/error.h"
#include "sim/frameworks/read/setting.h"
#include "sim/frameworks/read/shell_batch.h"
#include "sim/frameworks/read/shell_conditions.h"
#include "sim/frameworks/read/shell_flags.h"
#include "sim/frameworks/read/shell_words.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <optional>
#include <set>

namespace sim::frameworks {
namespace {

constexpr const char* kAllBranches =
    "the script alone does not tell: all branches are read, and where several give a value the last "
    "one counts";

class ShellReader final : ShellWords {
public:
    explicit ShellReader(std::span<OtherFile> others = {}) : m_others(others) {}

    /// All of a file, whose lines count on behind those of the files before it.
    void readFile(const std::string& name, const std::string& text, int level)
    {
        const int before = m_linesOfFiles;
        m_files.push_back({before, name});
        m_linesOfFiles += static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
        script(text, before + 1, level);
    }

    Sheet take()
    {
        addFlagsOf({m_commands, m_variables, m_order}, m_files.front().name, m_sheet);
        if (m_unclosed > 0)
            tell("\"", std::string(), m_unclosed, "a quote that begins here is not closed: all behind it is read as its text");
        for (const char* name : {"GPUS_PER_NODE", "NPROC_PER_NODE", "GPN", "NUM_GPUS_PER_NODE", "N_GPUS", "NUM_GPUS", "NNODES",
                                 "NUM_NODES", "NODES", "N_NODES", "WORLD_SIZE", "NVTE_FUSED_ATTN", "NVTE_FLASH_ATTN"})
            if (const auto found = m_variables.find(name); found != m_variables.end())
                m_sheet.settings.push_back(
                    {std::string("@env.") + name, valueOf(joined(found->second)), lineOf(found->second), name});
        return placed();
    }

    Sheet takeAssignments()
    {
        const ShellCommand* most = nullptr;
        for (const ShellCommand& made : m_commands)
            if (made.assigned > 0 && (most == nullptr || made.assigned > most->assigned))
                most = &made;
        if (most != nullptr)
            for (const ShellText& word : most->words)
                if (const std::size_t equals = assignedAt(word.text); equals > 0) {
                    const std::string name = word.text.substr(0, equals);
                    m_sheet.settings.push_back({name, valueOf(word.text.substr(equals + 1)), word.line, name});
                }
        return placed();
    }

private:
    struct File {
        int before = 0; ///< lines of the files in front of it
        std::string name{};
    };
    const File& fileOf(int line) const
    {
        const auto next =
            std::partition_point(m_files.begin(), m_files.end(), [&](const File& one) { return one.before < line; });
        return next == m_files.begin() ? *next : *(next - 1);
    }
    [[noreturn]] void fail(const std::string& message) const override
    {
        const File& file = fileOf(m_line);
        failAt(file.name, m_line - file.before, message);
    }
    void tell(const std::string& spelled, const std::string& value, int line, const std::string& why)
    {
        if (m_sheet.undecided.size() < kMostSettings)
            m_sheet.undecided.push_back({.name = spelled, .value = value, .line = line, .spelled = spelled, .text = why});
    }
    /// The sheet, each line of its own file.
    Sheet placed()
    {
        for (Settings* const all : {&m_sheet.settings, &m_sheet.undecided})
            for (Setting& one : *all) {
                const File& file = fileOf(one.line);
                if (const File& other = fileOf(one.condition); one.condition > 0) {
                    one.condition -= other.before;
                    one.conditionFile = &other == &file ? "" : other.name;
                }
                one.line -= file.before;
                one.file = file.name;
            }
        return std::move(m_sheet);
    }

    /// What is open at the end of a text that is run ends there: branches, here-documents. All of it is as unsure as it itself.
    void script(const std::string& text, int line, int level)
    {
        if (level > 4)
            return;
        const std::string* const outerText = std::exchange(m_text, &text);
        const std::size_t outerAt = std::exchange(m_at, 0);
        const int outerLine = std::exchange(m_line, line), outerLevel = std::exchange(m_level, level);
        const int outerCondition = std::exchange(m_outerCondition, openCondition());
        const int outerList = std::exchange(m_listCondition, 0);
        std::vector<Branch> outerBranches = std::exchange(m_branches, {});
        auto outerWaiting = std::exchange(m_waiting, {});
        while (m_at < m_text->size())
            statement();
        m_text = outerText;
        m_at = outerAt;
        m_line = outerLine;
        m_level = outerLevel;
        m_outerCondition = outerCondition;
        m_listCondition = outerList;
        m_branches = std::move(outerBranches);
        m_waiting = std::move(outerWaiting);
    }

    /// Where "=" stands in "name=value"; 0: it is none.
    static std::size_t assignedAt(const std::string& word)
    {
        std::size_t at = 0;
        while (at < word.size() && (startsName(word[at]) || isDigit(word[at])))
            ++at;
        return at > 0 && at < word.size() && word[at] == '=' && !isDigit(word[0]) ? at : 0;
    }
    static int lineOf(const ShellVariable& variable) { return variable.pieces.empty() ? 0 : variable.pieces.front().line; }
    bool skipping() const override
    {
        return m_skipsNext ||
               std::any_of(m_branches.begin(), m_branches.end(), [](const Branch& branch) { return !branch.isOn; });
    }

    void comment()
    {
        const std::size_t end = std::min(m_text->find('\n', m_at), m_text->size());
        const std::string text = m_text->substr(m_at, std::min<std::size_t>(end - m_at, 400));
        BatchLine batch = batchLineOf(text, m_line);
        std::move(batch.settings.begin(), batch.settings.end(), std::back_inserter(m_sheet.settings));
        for (const auto& one : batch.variables)
            m_variables[one.first] = {.pieces = {{one.second, m_line}}};
        if (m_sheet.comments.size() < 1000)
            m_sheet.comments.push_back(text.substr(1));
        m_at = end;
    }
    struct Branch {
        bool isOn = true;      ///< statements of this branch count
        bool wasTaken = false; ///< so no later branch is
        bool isKnown = true;   ///< the condition could be told
        bool isCase = false;   ///< of a "case": a pattern stands in front of each of its branches
        bool isAtPattern = false;
        bool isLoop = false;
        std::string subject{};
        int line = 0;
        bool isGroup = false;            ///< "{ …; }" behind && or ||
        std::optional<bool> before = {}; ///< of a group that is passed over: the status that goes on behind it
    };
    /// Line of the innermost condition that cannot be told; 0: all that is read here is run.
    int openCondition() const
    {
        for (std::size_t i = m_branches.size(); i-- > 0;)
            if (!m_branches[i].isKnown)
                return m_branches[i].line;
        return m_listCondition > 0 ? m_listCondition : m_outerCondition;
    }

    /// One command, with assignments in front of it, to the end of its line or to an operator.
    void statement()
    {
        if (!m_branches.empty() && m_branches.back().isAtPattern && casePattern())
            return;
        std::vector<ShellText> words;
        bool mayAssign = true, hasAssigned = false;
        std::optional<bool> ofGroup; // status of a group that ends here
        const int line = m_line;
        std::optional<std::string> keyword; // if, elif, while, until: what follows is a condition
        ShellConditions conditions;
        while (true) {
            blanks();
            if ((peek() == '&' || peek() == '|') && peek() == peek(1) && !atEnd() &&
                (isOpenDoubleTest(words) || (keyword && *keyword != "export"))) {
                joinCondition(conditions, words);
                continue;
            }
            if (atEnd() || peek() == '\n' || peek() == ';' || peek() == '&' || peek() == '|' || (peek() == ')' && words.empty()))
                break;
            if (peek() == '#') {
                comment();
                continue;
            }
            if (peek() == '(' && peek(1) != '(' && words.empty() && mayAssign) { // a subshell
                next();
                continue;
            }
            if (!isOpenDoubleTest(words) && redirection())
                continue;
            if (mayAssign && assignment()) {
                hasAssigned = true;
                continue;
            }
            std::vector<ShellText> more = word();
            if (words.empty() && !keyword && more.size() == 1) {
                const std::string& text = more.front().text;
                if (text == "if" || text == "elif" || text == "while" || text == "until") {
                    keyword = text;
                    mayAssign = false;
                    continue;
                }
                if (text == "{" || text == "}") {
                    ofGroup = text == "{" ? std::nullopt : closeGroup();
                    if (text == "{")
                        openGroup(line);
                    continue;
                }
                if (text == "then" || text == "do" || text == "time" || text == "exec")
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
                fail("a command has more than " + std::to_string(4 * kMostSettings) + " words");
        }
        const bool wasSkipped = std::exchange(m_skipsNext, false);
        std::optional<bool> outcome = ofGroup;
        bool isOpenTest = false; // which alone says which of two assignments counts
        if (keyword && *keyword != "export") {
            outcome = condition(*keyword, conditions, words, line);
        } else if (wasSkipped) { // what went before goes on to the next operator
            outcome = m_status;
        } else if (!words.empty()) {
            const bool isTest = isShellTest(words);
            outcome = skipping() ? std::nullopt : command(std::move(words));
            isOpenTest = isTest && !outcome;
        } else if (hasAssigned) {
            outcome = m_listCondition > 0 ? std::nullopt : std::optional(true);
        }
        if (!wasSkipped && (!words.empty() || hasAssigned))
            m_lastStatus = outcome;
        operatorAfter(outcome, isOpenTest ? line : m_listCondition);
    }

    /// What stands behind && or || in braces is run or passed over as a whole.
    void openGroup(int line)
    {
        if (m_branches.size() < 256)
            m_branches.push_back({.isOn = !m_skipsNext,
                                  .isKnown = m_listCondition == 0,
                                  .line = m_listCondition > 0 ? m_listCondition : line,
                                  .isGroup = true,
                                  .before = m_status});
        m_skipsNext = false;
    }
    std::optional<bool> closeGroup()
    {
        if (m_branches.empty() || !m_branches.back().isGroup) // of a function
            return std::nullopt;
        const Branch group = std::move(m_branches.back());
        m_branches.pop_back();
        if (!group.isKnown) {
            m_listCondition = group.line;
            return std::nullopt;
        }
        return group.isOn ? m_lastStatus : group.before;
    }

    /// `openTest`: line of a test that cannot be told and that this list begins with; 0: there is none.
    void operatorAfter(std::optional<bool> outcome, int openTest)
    {
        m_listCondition = 0;
        if (atEnd())
            return;
        const char c = next();
        const bool isDouble = (c == '&' || c == '|') && peek() == c;
        if (isDouble) {
            next();
            m_status = outcome;
            m_skipsNext = outcome.has_value() && (c == '&' ? !*outcome : *outcome);
            m_listCondition = openTest;
            blanks();
            while (!atEnd() && (peek() == '\n' || peek() == '#')) { // the list goes on behind the end of the line
                if (peek() == '#') {
                    comment();
                } else {
                    next();
                    hereDocuments();
                }
                blanks();
            }
        }
        if (c == ';' && peek() == ';' && !m_branches.empty() && m_branches.back().isCase) {
            next();
            m_branches.back().isAtPattern = true;
        }
        if (c == '\n')
            hereDocuments();
    }

    /// "a | b*)" in front of a branch of "case"; false at its end.
    bool casePattern()
    {
        Branch& branch = m_branches.back();
        while (!atEnd() && (isShellBlank(peek()) || peek() == '\n' || peek() == '(' || (peek() == '\\' && peek(1) == '\n')))
            next();
        if (atEnd() || peek() == '#') {
            if (!atEnd())
                comment();
            return true;
        }
        if (m_text->compare(m_at, 4, "esac") == 0 && !(startsName(peek(4)) || isDigit(peek(4)))) {
            branch.isAtPattern = false;
            return false;
        }
        bool isMatch = false;
        std::string pattern;
        while (!atEnd() && peek() != ')') {
            const char c = next();
            if (c == '|') {
                isMatch = isMatch || matchesPattern(branch.subject, pattern);
                pattern.clear();
            } else if (!isShellBlank(c) && c != '\n' && c != '"' && c != '\'') {
                pattern += c;
            }
        }
        isMatch = isMatch || matchesPattern(branch.subject, pattern);
        if (!atEnd())
            next();
        branch.isAtPattern = false;
        branch.isOn = !branch.isKnown || (isMatch && !branch.wasTaken);
        branch.wasTaken = branch.wasTaken || isMatch;
        return true;
    }

    /// At && or || in "[[" or behind one of the conditions.
    void joinCondition(ShellConditions& conditions, std::vector<ShellText>& words)
    {
        const int line = m_line;
        const std::string op{next(), next()};
        if (isOpenDoubleTest(words)) {
            words.push_back({op, line});
        } else {
            conditions.take(words, m_variables);
            conditions.join(op);
            words.clear();
        }
        for (blanks(); !atEnd() && (peek() == '\n' || peek() == '#'); blanks()) { // the list goes on behind the end of the line
            if (peek() == '#')
                comment();
            else
                next();
        }
    }

    std::optional<bool> condition(const std::string& keyword, ShellConditions& conditions, const std::vector<ShellText>& words,
                                  int line)
    {
        conditions.take(words, m_variables);
        bool isKnown = conditions.told.has_value(), mayBe = conditions.told.value_or(true);
        if (!atEnd() && (peek() == '&' || peek() == '|')) { // what a pipe ends with
            isKnown = false;
            mayBe = true;
        }
        if ((keyword == "while" && !isKnown) || keyword == "until") // read once
            isKnown = mayBe = true;
        if (keyword == "elif" && !m_branches.empty()) {
            Branch& branch = m_branches.back();
            branch.isOn = !branch.wasTaken && mayBe;
        } else if (m_branches.size() < 256) {
            m_branches.push_back(
                {.isOn = mayBe, .isKnown = isKnown, .isLoop = keyword == "while" || keyword == "until", .line = line});
        }
        if (!m_branches.empty()) {
            Branch& branch = m_branches.back();
            branch.line = isKnown ? branch.line : line;
            branch.isKnown = branch.isKnown && isKnown;
            branch.wasTaken = branch.wasTaken || (isKnown && branch.isOn);
        }
        if (!isKnown && !skipping() && m_sheet.undecided.size() < 200)
            tell(keyword, conditions.written, line, kAllBranches);
        // What stands in a pipe is no command of ours.
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
            branch.isOn = !branch.wasTaken;
        else
            m_branches.pop_back();
    }

    /// "for NAME in WORDS" is read once, with the first; of "case" the branch that is meant, or all where nobody can tell.
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
            if (keyword == "case" && words.size() > 1 && words.back().text == "in")
                break;
        }
        if (keyword == "for" && words.size() >= 3 && startsName(words[0].text.empty() ? ' ' : words[0].text[0]) && !skipping())
            m_variables[words[0].text] = {.pieces = {words[2]}};
        Branch branch{.isLoop = keyword != "case", .line = line};
        if (keyword == "case") {
            branch.isCase = branch.isAtPattern = true;
            branch.subject = words.empty() ? "" : words.front().text;
            branch.isKnown = branch.subject.find('$') == std::string::npos;
        }
        // "for NAME in "$@"" of a script without options runs no time.
        const bool isNothing = keyword == "for" && words.size() >= 2 && words[1].text == "in" &&
                               std::all_of(words.begin() + 2, words.end(), [](const ShellText& one) { return one.text.empty(); });
        if (isNothing)
            branch.isOn = false;
        const bool isDecided = isNothing || (keyword == "case" && branch.isKnown);
        if (m_branches.size() < 256)
            m_branches.push_back(std::move(branch));
        if (isDecided || skipping())
            return;
        tell(keyword, words.empty() ? std::string() : words.front().text, line,
             keyword == "for" ? "is read once, with its first value" : kAllBranches);
    }

    bool redirection()
    {
        std::size_t digits = 0; // of what is redirected: 2>&1
        while (isDigit(peek(digits)))
            ++digits;
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
            if (const std::string name = std::exchange(m_readInto, {}); !name.empty() && !skipping()) {
                m_variables[name] = {.pieces = {{withContinuations(body), line}}};
                continue;
            }
            if (body.find_first_not_of(" \t\n") == std::string::npos || body[body.find_first_not_of(" \t\n")] != '{' ||
                skipping())
                continue;
            try {
                const File& file = fileOf(line);
                for (Setting& setting : readJson(file.name, withQuotedVariables(body), line - file.before).settings) {
                    setting.name = "ds_config." + setting.name;
                    setting.line += file.before;
                    m_sheet.settings.push_back(std::move(setting));
                }
            } catch (const Error& error) { // the rest of the script says what it says
                tell("<<" + delimiter, std::string(), line, std::string("its text is not read: ") + error.what());
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
                    fail("an array has more than " + std::to_string(4 * kMostSettings) + " words");
            }
            if (!atEnd())
                next();
        } else {
            value.pieces = wordPieces();
        }
        if (skipping()) {
            const bool isInLoop = std::any_of(m_branches.begin(), m_branches.end(),
                                              [](const Branch& branch) { return branch.isLoop && !branch.isOn; });
            if (!isInLoop && m_variables.find(name) == m_variables.end()) // of options that a loop would read nothing is known
                m_assignedElsewhere.insert(name);
            return true;
        }
        if (const int condition = openCondition(); condition > 0)
            for (std::vector<ShellText>* const texts : {&value.pieces, &value.elements})
                for (ShellText& one : *texts)
                    one.condition = condition;
        ShellVariable& target = m_variables[name];
        if (!isMore) {
            target = std::move(value);
        } else {
            target.isArray = target.isArray || value.isArray;
            std::move(value.pieces.begin(), value.pieces.end(), std::back_inserter(target.pieces));
            std::move(value.elements.begin(), value.elements.end(), std::back_inserter(target.elements));
        }
        if (m_order.size() < 5000 && m_ordered.insert(name).second)
            m_order.push_back(name);
        return true;
    }

    std::optional<bool> command(std::vector<ShellText> words)
    {
        if (const std::optional<bool> status = shellStatus(words, m_variables); status || isShellTest(words))
            return status;
        const std::string& first = words.front().text;
        if (first == "read" && !m_waiting.empty()) // read -r -d '' NAME <<EOF
            m_readInto = words.back().text;
        if (first == "echo" || first == "printf" || first == "cd" || first == "mkdir" || first == "set" || first == "module" ||
            first == "rm" || first == "cat")
            return std::nullopt;
        if (first == "source" || first == ".") {
            runFile(words);
            return std::nullopt;
        }
        if (first == "eval") {
            std::string text;
            for (std::size_t i = 1; i < words.size(); ++i)
                text += (i > 1 ? " " : "") + words[i].text;
            script(text, words.front().line, m_level + 1);
            return std::nullopt;
        }
        tellBehindScript(words);
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
        for (const ShellText& one : made.words) {
            made.flags += one.text.size() > 2 && one.text.starts_with("--") ? 1 : 0;
            made.assigned += assignedAt(one.text) > 0 ? 1 : 0;
        }
        if (made.flags + made.assigned > 0 && m_commands.size() < 10000)
            m_commands.push_back(std::move(made));
        return std::nullopt;
    }

    /// "source FILE": one that is given beside this one is run; another is told, for what it sets is not known.
    void runFile(const std::vector<ShellText>& words)
    {
        if (words.size() < 2)
            return;
        const auto lastPart = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
        const std::string& path = words[1].text;
        const std::string_view name = lastPart(path);
        for (OtherFile& other : m_others)
            if (lastPart(other.name) == name && m_level < 4 && m_files.size() <= kMostFilesRun) {
                other.isRun = true;
                readFile(other.name, other.text, m_level + 1);
                return;
            }
        const bool isOfShell = name == "activate" || name == "modules.sh" || name == "conda.sh" || name == "setvars.sh" ||
                               name.ends_with("rc") || name.find("profile") != std::string_view::npos;
        if (!isOfShell)
            tell(words[0].text, path, words[0].line, "what it sets stands in another file, which is not read: give it, too");
    }

    /// Of bash -c "torchrun … ${ARGS[@]}" all elements but the first are arguments of the shell, and none of what it starts.
    void tellBehindScript(const std::vector<ShellText>& words)
    {
        const auto option = std::find_if(words.begin(), words.end(), [](const ShellText& one) { // -c, -lc
            return one.text.size() < 5 && one.text.starts_with('-') && !one.text.starts_with("--") && one.text.ends_with('c');
        });
        if (option == words.begin() || words.end() - option < 3)
            return;
        const std::string& shell = (option - 1)->text;
        if (const std::string name = shell.substr(shell.rfind('/') + 1); name != "bash" && name != "sh")
            return;
        for (auto one = option + 2; one != words.end(); ++one)
            if (one->text.starts_with("--"))
                tell(one->text, std::string(), one->line,
                     "stands behind the text that " + shell +
                         " -c runs, which does not get it: not read (\"${NAME[*]}\" would be one text)");
    }

    static constexpr std::size_t kMostFilesRun = 100;
    std::span<OtherFile> m_others;
    std::vector<File> m_files; ///< that are read, in the order of their lines
    int m_linesOfFiles = 0;
    int m_level = 0;
    bool m_skipsNext = false;
    std::optional<bool> m_status;     ///< of the list so far: of "A && X=1" in front of "|| X=2"
    std::optional<bool> m_lastStatus; ///< of the last statement that was run
    int m_listCondition = 0;          ///< line of a test that cannot be told, behind which && or || stands; 0: none
    int m_outerCondition = 0;         ///< line of one that decides whether this text is run at all; 0: none
    std::vector<Branch> m_branches;
    std::vector<std::pair<std::string, bool>> m_waiting; ///< here-documents that begin with the next line
    std::string m_readInto;                              ///< variable that takes the text of the one that begins next
    std::vector<std::string> m_order;
    std::set<std::string> m_ordered; ///< those in m_order
    std::vector<ShellCommand> m_commands;
    Sheet m_sheet;
};

} // namespace

Sheet readShell(const std::string& file, const std::string& text, std::span<OtherFile> others)
{
    ShellReader reader(others);
    reader.readFile(file, text, 0);
    return reader.take();
}

Sheet readShellAssignments(const std::string& file, const std::string& text)
{
    ShellReader reader;
    reader.readFile(file, text, 0);
    return reader.takeAssignments();
}

} // namespace sim::frameworks
