// A small strict reader of shell: assignments, arrays, expansions, conditions that follow from the script, functions,
// here-documents. It runs nothing: output of commands and variables of the environment stay as they are written, and are asked
// for.
#include "sim/error.h"
#include "sim/frameworks/read/setting.h"
#include "sim/frameworks/read/shell_batch.h"
#include "sim/frameworks/read/shell_conditions.h"
#include "sim/frameworks/read/shell_flags.h"
#include "sim/frameworks/read/shell_words.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <array>
#include <map>
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
        if (level == 0)
            runUncalled();
    }

    Sheet take()
    {
        addFlagsOf({m_commands, m_variables, m_order}, m_sheet, [this](int line, const std::string& message) {
            m_line = line;
            fail(message);
        });
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
        if (level > kDeepestText)
            return;
        const std::string* const outerText = std::exchange(m_text, &text);
        const std::size_t outerAt = std::exchange(m_at, 0);
        const int outerLine = std::exchange(m_line, line), outerLevel = std::exchange(m_level, level);
        const int outerCondition = std::exchange(m_outerCondition, openCondition());
        const int outerList = std::exchange(m_listCondition, 0);
        std::vector<Branch> outerBranches = std::exchange(m_branches, {});
        auto outerWaiting = std::exchange(m_waiting, {});
        const bool outerInline = std::exchange(m_functionsInline, false);
        while (!atEnd() || reopenFunction())
            statement();
        m_functionsInline = outerInline;
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
    /// -c, -lc: the word behind it is what a shell runs.
    static bool isTextOption(const ShellText& one)
    {
        return one.text.size() < 5 && one.text.starts_with('-') && !one.text.starts_with("--") && one.text.ends_with('c');
    }
    /// Place of the word that srun, timeout, bash -c and the like run as a command; 0: there is none. What stands behind another
    /// flag may be its value.
    static std::size_t startedAt(std::span<const ShellText> words)
    {
        constexpr std::array<std::string_view, 10> kStarters = {"bash",  "env", "mpiexec", "mpirun", "nice",
                                                                "nohup", "sh",  "srun",    "time",   "timeout"};
        const auto isStarter = [&](std::string_view text) {
            return std::find(kStarters.begin(), kStarters.end(), text.substr(text.rfind('/') + 1)) != kStarters.end();
        };
        for (std::size_t at = 1; at < words.size() && isStarter(words.front().text); ++at) {
            const std::string &text = words[at].text, &before = words[at - 1].text;
            const bool isOfStarter = isStarter(text) || text.starts_with('-') || assignedAt(text) > 0 ||
                                     (!text.empty() && isDigit(text[0])); // timeout 10m, env X=1
            const bool mayBeValue = before.starts_with('-') && before.find('=') == std::string::npos;
            if (!isOfStarter && (!mayBeValue || isTextOption(words[at - 1])))
                return at;
        }
        return 0;
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
        m_at = end;
        if (!m_commentLines.insert(m_line).second) // of a function, which is read where it stands and where it is run
            return;
        BatchLine batch = batchLineOf(text, m_line);
        std::move(batch.settings.begin(), batch.settings.end(), std::back_inserter(m_sheet.settings));
        for (const auto& one : batch.variables)
            m_variables[one.first] = {.pieces = {{one.second, m_line}}};
        if (m_sheet.comments.size() < 1000)
            m_sheet.comments.push_back(text.substr(1));
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
        bool isGroup = false;            ///< "{ …; }" behind && or ||, or of a function
        std::optional<bool> before = {}; ///< of a group that is passed over: the status that goes on behind it
        std::string function{};          ///< its name; empty: it is none
        std::size_t start = 0;           ///< of its body, which is run where it is called
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
            if (!keyword && more.size() == 1 && more.front().text.ends_with('{') && words.size() < 4) {
                words.push_back(more.front());
                if (const std::string name = functionOf(words); !name.empty()) {
                    openFunction(name);
                    return;
                }
                words.pop_back();
            }
            if (words.empty() && !keyword && more.size() == 1) {
                const std::string& text = more.front().text;
                if (text == "if" || text == "elif" || text == "while" || text == "until") {
                    keyword = text;
                    mayAssign = false;
                    continue;
                }
                if (text == "{" || text == "}") {
                    ofGroup = text == "{" ? std::nullopt : closeGroup();
                    if (text == "{" && !m_functionAhead.empty())
                        openFunction(std::exchange(m_functionAhead, {}));
                    else if (text == "{")
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
        const bool isAtLineStart = m_at < 2 || (*m_text)[m_at - 2] == '\n';
        const auto function = std::find_if(m_branches.rbegin(), m_branches.rend(), isFunction);
        if (isAtLineStart && function != m_branches.rend()) // whatever seems open in it
            m_branches.erase(function.base(), m_branches.end());
        if (m_branches.empty() || !m_branches.back().isGroup)
            return std::nullopt;
        const Branch group = std::move(m_branches.back());
        m_branches.pop_back();
        if (isFunction(group)) {
            if (!skipping())
                m_functions[group.function] = {m_text->substr(group.start, m_at - 1 - group.start), group.line};
            return std::nullopt;
        }
        if (!group.isKnown) {
            m_listCondition = group.line;
            return std::nullopt;
        }
        return group.isOn ? m_lastStatus : group.before;
    }

    struct Function {
        std::string body;
        int line = 0;
        bool isCalled = false;
        bool isRun = false;  ///< at this moment
        bool isTold = false; ///< that a call of it is passed over
    };
    static bool isFunction(const Branch& branch) { return !branch.function.empty(); }
    /// NAME of "NAME()", "NAME () {" and "function NAME {"; empty: it is none.
    static std::string functionOf(std::span<const ShellText> words)
    {
        const bool hasWord = words.size() > 1 && words.front().text == "function";
        words = words.subspan(hasWord ? 1 : 0);
        if (words.empty() || words.size() > 3)
            return {};
        std::string name = words.front().text;
        for (const ShellText& one : words.subspan(1)) {
            if (one.text.find_first_not_of("(){") != std::string::npos)
                return {};
            name += one.text;
        }
        if (name.ends_with('{'))
            name.pop_back();
        const bool hasBrackets = name.ends_with("()");
        name.erase(name.size() - (hasBrackets ? 2 : 0));
        const bool isName = std::all_of(name.begin(), name.end(),
                                        [](char c) { return startsName(c) || isDigit(c) || c == '-' || c == '.' || c == ':'; });
        return (hasWord || hasBrackets) && isName ? name : std::string();
    }
    void openFunction(const std::string& name)
    {
        m_skipsNext = false;
        if (!m_functionsInline && m_branches.size() < 256)
            m_branches.push_back(
                {.isOn = false, .isLoop = true, .line = m_line, .isGroup = true, .function = name, .start = m_at});
    }
    /// A function that nothing closes is read where it stands, and all behind it are.
    bool reopenFunction()
    {
        const auto function = std::find_if(m_branches.begin(), m_branches.end(), isFunction);
        if (function == m_branches.end())
            return false;
        m_at = function->start;
        m_line = function->line;
        m_functionsInline = true;
        m_branches.erase(function, m_branches.end());
        return true;
    }
    void setArguments(std::vector<ShellText> arguments)
    {
        for (std::size_t i = 1; i <= m_arguments.size(); ++i)
            m_variables.erase(std::to_string(i));
        m_arguments = std::move(arguments);
        for (std::size_t i = 1; i <= m_arguments.size(); ++i)
            m_variables[std::to_string(i)] = {.pieces = {m_arguments[i - 1]}};
        m_variables[kArguments] = {.elements = m_arguments, .isArray = true};
    }
    /// False: no function has that name.
    bool call(const std::string& name, std::span<const ShellText> arguments)
    {
        constexpr std::size_t kMostCalled = 1UL << 20U, kOfEachCall = 64; // bytes of bodies
        const auto found = m_functions.find(name);
        if (found == m_functions.end())
            return false;
        Function& function = found->second;
        function.isCalled = true;
        const std::size_t cost = function.body.size() + kOfEachCall;
        if (function.isRun || m_level >= kDeepestText || m_called + cost > kMostCalled) {
            if (!std::exchange(function.isTold, true))
                tell(name, std::string(), m_line,
                     function.isRun            ? "calls itself: its text is read once"
                     : m_level >= kDeepestText ? "is called from functions or files too deep in each other: not read there"
                                               : "is called when functions have run very often: not read there");
            return true;
        }
        m_called += cost;
        function.isRun = true;
        const std::string body = function.body; // running it may replace it
        std::vector<ShellText> outer = m_arguments;
        setArguments({arguments.begin(), arguments.end()});
        script(body, function.line, m_level + 1);
        setArguments(std::move(outer));
        function.isRun = false;
        return true;
    }
    /// Functions that are started in a way that is not seen, for what they say more than all that is.
    void runUncalled()
    {
        int most = 1;
        for (const ShellCommand& made : m_commands)
            most = std::max(most, made.flags + made.assigned);
        for (auto& [name, function] : m_functions) {
            int flags = 0;
            for (std::size_t at = function.body.find(" --"); at != std::string::npos; at = function.body.find(" --", at + 1))
                ++flags;
            if (!function.isCalled && flags > most)
                call(name, {});
        }
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
            conditions.take(words, m_variables, openCondition());
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
        conditions.take(words, m_variables, openCondition());
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
            const bool isOpen = !words.empty() && words.front().condition > 0 && words.front().condition != openCondition();
            branch.isKnown = !isOpen && branch.subject.find('$') == std::string::npos;
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

    /// Length of "[key]" at a place ahead; 0: there is none.
    std::size_t lengthOfKey(std::size_t ahead) const
    {
        int open = 0;
        std::size_t length = 0;
        do {
            const char c = peek(ahead + length++);
            if (c == '\n' || isShellBlank(c))
                return 0;
            open += c == '[' ? 1 : c == ']' ? -1 : 0;
        } while (open > 0);
        return length > 1 ? length : 0;
    }

    /// NAME=value, NAME+=value, NAME=( … ), NAME[key]=value.
    bool assignment()
    {
        std::size_t length = 0;
        if (!startsName(peek()))
            return false;
        while (startsName(peek(length)) || isDigit(peek(length)))
            ++length;
        const std::size_t ofKey = lengthOfKey(length), end = length + ofKey;
        const bool isMore = peek(end) == '+' && peek(end + 1) == '=';
        if (!isMore && peek(end) != '=')
            return false;
        const int line = m_line;
        const std::string name = m_text->substr(m_at, length);
        const std::string key = ofKey > 0 ? keyText(m_text->substr(m_at + length + 1, ofKey - 2), line) : std::string();
        m_at += end + (isMore ? 2 : 1);
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
        if (ofKey > 0)
            value = {.pieces = {{isMore ? "${" + name + "[" + key + "]}" : joined(value), line}}};
        assign(name, std::move(value), isMore, key);
        return true;
    }

    void assign(const std::string& name, ShellVariable value, bool isMore = false, const std::string& key = {})
    {
        if (const int condition = openCondition(); condition > 0)
            for (std::vector<ShellText>* const texts : {&value.pieces, &value.elements})
                for (ShellText& one : *texts)
                    one.condition = condition;
        ShellVariable& target = m_variables[name];
        if (!key.empty()) {
            spend(costOfKeys(target)); // each of which is looked at
            putElement(target, key, std::move(value.pieces.front()));
        } else if (!isMore) {
            target = std::move(value);
        } else {
            target.isArray = target.isArray || value.isArray;
            std::move(value.pieces.begin(), value.pieces.end(), std::back_inserter(target.pieces));
            std::move(value.elements.begin(), value.elements.end(), std::back_inserter(target.elements));
        }
        if (m_order.size() < 5000 && m_ordered.insert(name).second)
            m_order.push_back(name);
    }

    /// "((X += 1))" and let; false: it assigns nothing.
    bool calculate(std::span<const ShellText> words)
    {
        const std::string& text = words.front().text;
        const bool isLet = text == "let";
        if (!isLet && !isArithmeticTest(words))
            return false;
        bool assigns = false;
        for (const ShellText& one : words.subspan(isLet ? 1 : 0)) {
            const std::string_view expression(one.text);
            for (const std::string_view sum : shellSums(isLet ? expression : expression.substr(2, text.size() - 4)))
                if (const auto done = shellCalculation(sum, m_variables)) {
                    const int condition = std::max(one.condition, conditionOf(done->operands, m_variables, true));
                    assign(done->name, {.pieces = {{done->value ? std::to_string(*done->value) : "$((" + done->name + "))",
                                                    one.line, condition}}});
                    assigns = true;
                }
        }
        return assigns;
    }

    /// Names of variables that a command empties or fills from outside.
    void assignUnknown(std::span<const ShellText> words)
    {
        const std::string& command = words.front().text;
        for (const ShellText& one : words.subspan(1))
            if (!one.text.empty() && startsName(one.text[0]) && assignedAt(one.text + "=") > 0)
                assign(one.text, {.pieces = {{command == "unset" ? "" : "$(" + command + ")", one.line}}});
    }

    std::optional<bool> command(std::vector<ShellText> words)
    {
        m_functionAhead = functionOf(words);
        if (!m_functionAhead.empty())
            return std::nullopt;
        if (calculate(words))
            return std::nullopt;
        if (const std::optional<bool> status = shellStatus(words, m_variables, openCondition()); status || isShellTest(words))
            return status;
        const std::string& first = words.front().text;
        if (call(first, std::span(words).subspan(1)))
            return std::nullopt;
        if (first == "read" && !m_waiting.empty()) { // read -r -d '' NAME <<EOF
            m_readInto = words.back().text;
            return std::nullopt;
        }
        if (first == "read" || first == "mapfile" || first == "readarray" || first == "unset") {
            assignUnknown(words);
            return std::nullopt;
        }
        if (first == "shift") {
            const auto count = words.size() > 1 ? wholeShellNumber(words[1].text).value_or(0) : 1;
            const auto given = static_cast<long long>(m_arguments.size());
            setArguments({m_arguments.begin() + std::clamp(count, 0LL, given), m_arguments.end()});
            return std::nullopt;
        }
        if (first == "trap" || first == "echo" || first == "printf" || first == "cd" || first == "mkdir" || first == "set" ||
            first == "module" || first == "rm" || first == "cat")
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
        if (const std::size_t at = startedAt(words); at > 0) // srun bash -c train
            call(words[at].text, isTextOption(words[at - 1]) ? std::span<const ShellText>() : std::span(words).subspan(at + 1));
        for (const ShellText& one : words) { // bash -c "torchrun --nproc_per_node 8 …"
            const bool isScript = one.text.find_first_of(" \n\x1f") != std::string::npos && !one.text.starts_with("--") &&
                                  (one.text.find("--") != std::string::npos || one.text.find('$') != std::string::npos);
            if (isScript)
                script(one.text, one.line, m_level + 1);
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
            if (lastPart(other.name) == name && m_level < kDeepestText && m_files.size() <= kMostFilesRun) {
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
        const auto option = std::find_if(words.begin(), words.end(), isTextOption);
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
    static constexpr int kDeepestText = 4; ///< of files, functions and quoted commands in each other
    std::span<OtherFile> m_others;
    std::vector<File> m_files; ///< that are read, in the order of their lines
    int m_linesOfFiles = 0;
    int m_level = 0;
    std::size_t m_called = 0; ///< bytes of functions that were run
    bool m_skipsNext = false;
    std::optional<bool> m_status;     ///< of the list so far: of "A && X=1" in front of "|| X=2"
    std::optional<bool> m_lastStatus; ///< of the last statement that was run
    int m_listCondition = 0;          ///< line of a test that cannot be told, behind which && or || stands; 0: none
    int m_outerCondition = 0;         ///< line of one that decides whether this text is run at all; 0: none
    std::vector<Branch> m_branches;
    std::vector<std::pair<std::string, bool>> m_waiting; ///< here-documents that begin with the next line
    std::string m_readInto;                              ///< variable that takes the text of the one that begins next
    std::map<std::string, Function, std::less<>> m_functions;
    std::string m_functionAhead;        ///< whose body begins with the next "{"
    bool m_functionsInline = false;     ///< bodies of the text that is run are read where they stand
    std::set<int> m_commentLines;       ///< that were read
    std::vector<ShellText> m_arguments; ///< of the function that is run
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
