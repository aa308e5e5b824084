// A reader of what is data in Python: assignments, arguments by name, functions of the file that a recipe calls. It runs nothing.
#include "sim/frameworks/read/python_words.h"
#include "sim/frameworks/read/setting.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace sim::frameworks {
namespace {

/// Reads what is data in Python: `a.b.c = literal`, and `a.b = Name(x=literal, …)`. Anything else is passed over. Of several
/// functions the first public one counts, with those of the file that it calls.
class PythonReader final : PythonWords {
    static constexpr int kMostCalls = 1000;              ///< that are followed
    static constexpr std::size_t kMostRead = 4UL << 20U; ///< letters of functions, each time they are called

public:
    PythonReader(std::string file, const std::string& text) : PythonWords(std::move(file), text) { findFunctions(); }

    Sheet read()
    {
        Function* const chosen = recipe();
        if (chosen == nullptr) {
            lines(m_text.size());
        } else {
            for (std::size_t i = 0; i <= m_functions.size(); ++i) { // what stands between functions: constants
                m_at = i == 0 ? 0 : m_functions[i - 1].end;
                m_line = i == 0 ? 1 : m_functions[i - 1].endLine;
                lines(i == m_functions.size() ? m_text.size() : m_functions[i].start);
            }
            call(*chosen, 0);
            for (const Function& other : m_functions)
                if (&other != chosen && other.calls == 0 && m_sheet.undecided.size() < 200)
                    m_sheet.undecided.push_back({"def " + other.name,
                                                 "another function; the first, " + chosen->name + ", is read", other.line,
                                                 "def " + other.name, m_file});
        }
        tellReplaced();
        return std::move(m_sheet);
    }

private:
    struct Function {
        std::string name;
        std::size_t start = 0, end = 0, open = 0; ///< the bracket of its parameters
        int line = 1, endLine = 1;
        int calls = 0;
    };

    void lines(std::size_t end)
    {
        while (m_at < end) {
            statement();
            skipRestOfLine();
        }
    }
    /// Those that begin at the left margin.
    void findFunctions()
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
    /// NeMo 2 has the model and the trainer in functions of their own before it.
    Function* recipe()
    {
        for (Function& one : m_functions)
            if (one.name == "pretrain_recipe" || one.name == "finetune_recipe")
                return &one;
        for (Function& one : m_functions)
            if (!one.name.starts_with('_'))
                return &one;
        return m_functions.empty() ? nullptr : &m_functions.front();
    }
    void comment(std::string text)
    {
        constexpr std::size_t kMostComments = 1000;
        if (m_sheet.comments.size() < kMostComments)
            m_sheet.comments.push_back(std::move(text));
    }
    using Constants = std::map<std::string, Json>; ///< null: not known
    /// With what it is given by name; other parameters have the values that stand with them.
    void call(Function& function, int depth, const Constants& given = {}, const std::string& returnsTo = {})
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
    /// Of a function of this file, with the arguments that begin here. What it returns is what `returnsTo` holds then.
    bool callOf(const std::string& name, const std::string& returnsTo = {})
    {
        for (Function& one : m_functions)
            if (one.name == name && m_depth < 4) {
                call(one, m_depth + 1, keywords(), returnsTo);
                return true;
            }
        return false;
    }
    /// "return other.trainer(tensor_parallelism=4)" and "return config" of a function whose value is assigned. False: it is
    /// something else, and nothing is read of it.
    bool returned(int line)
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
    /// A function of another file that a configuration begins as: "cfg = llama3_8b_pretrain_config()". What it sets is not known.
    void addBase(const std::string& name, const std::string& callee, int line)
    {
        const std::string function = callee.substr(callee.rfind('.') + 1);
        const auto names = [&function](std::string_view word) { return function.find(word) != std::string::npos; };
        const bool isFunction =
            !function.empty() && (function.front() == '_' || (function.front() >= 'a' && function.front() <= 'z'));
        const bool isConfiguration = name == "cfg" || name == "config" || name == "recipe";
        if (isFunction && name.find('.') == std::string::npos &&
            (names("recipe") || names("pretrain") || names("finetune") || names("sft") || (isConfiguration && names("config"))) &&
            m_sheet.settings.size() < kMostSettings)
            m_sheet.settings.push_back({name + ".@base", Json(callee), line, name, m_file});
    }
    /// "(a, name: type = literal, …)": the literals are constants.
    void parameters(const Function& function)
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
    /// Of a call whose bracket is here: what it says by name. Ends behind it.
    Constants keywords()
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
    /// A program's later assignment takes the place of an earlier one.
    void tellReplaced()
    {
        std::map<std::string, int> last;
        for (std::size_t i = m_sheet.settings.size(); i-- > 0;) {
            Setting& setting = m_sheet.settings[i];
            const auto [at, isLast] = last.emplace(setting.name, setting.line);
            if (!isLast)
                setting.replacedBy = at->second;
        }
    }

    void statement()
    {
        skipBlanks();
        const int line = m_line;
        if (has('"') || has('\'')) { // a docstring says what a recipe is for; or "model.x": value of a dict, one a line
            const std::optional<Json> text = literal(0);
            skipBlanks();
            if (text && text->is_string() && has(':')) {
                take();
                skipBlanks();
                if (const std::optional<Json> value = literal(0))
                    add(text->get<std::string>(), *value, line);
                return;
            }
            if (text && text->is_string())
                comment(text->get<std::string>().substr(0, 400));
            return;
        }
        const std::size_t start = m_at;
        const std::string name = dottedName();
        if (name == "def" || name == "return" || name == "class") {
            const std::size_t end = std::min(m_text.find('\n', start), m_text.size());
            comment(m_text.substr(start, std::min<std::size_t>(end - start, 200)));
            if (name == "return" && returned(line))
                return;
            while (name == "return" && m_at < end) { // return run.Config(LlamaModel, config=run.Config(Llama3Config8B))
                if (const std::string word = dottedName(); !word.empty())
                    addModelClass("return", word, line);
                else
                    take();
            }
            return;
        }
        if (name == "if" && isSwitchedOff()) {
            skipBlock(start);
            return;
        }
        skipBlanks();
        if (has(':') && !name.empty()) { // an annotation
            take();
            while (m_at < m_text.size() && m_text[m_at] != '=' && m_text[m_at] != '\n')
                take();
        }
        if (has('(') && !name.empty()) { // a call that is a statement
            const std::size_t open = m_at;
            if (callOf(name))
                return;
            m_at = open;
            if (name.ends_with("callbacks.append")) { // (run.Config(MegatronCommOverlapCallback, tp_comm_overlap=True))
                take();
                assigned(name.substr(0, name.rfind('.')) + "[]", line, 1);
                return;
            }
            if (name.find("pipeline_model_parallel_layout") != std::string::npos) // set_…_layout(cfg.model, "Et|(tt|)*30mL")
                if (const std::optional<Json> layout = firstText())
                    add("model.pipeline_model_parallel_layout", *layout, line);
            return;
        }
        if (name.empty() || !has('='))
            return;
        take();
        if (has('='))
            return;
        assigned(name, line, 0);
    }
    /// "NAME:" of a constant that is false here, or "not NAME:" of one that is true.
    bool isSwitchedOff()
    {
        skipBlanks();
        std::string name = dottedName();
        const bool isTurned = name == "not";
        if (isTurned) {
            skipBlanks();
            name = dottedName();
        }
        const auto constant = m_constants.find(name);
        return has(':') && constant != m_constants.end() && constant->second == Json(isTurned);
    }
    /// The lines that are indented more than the one that `start` stands on.
    void skipBlock(std::size_t start)
    {
        const std::size_t newline = start == 0 ? std::string::npos : m_text.rfind('\n', start - 1);
        const std::size_t indent = start - (newline == std::string::npos ? 0 : newline + 1);
        skipRestOfLine();
        const auto isInside = [&] {
            const std::size_t first = m_text.find_first_not_of(" \t", m_at);
            return first != std::string::npos && (m_text[first] == '\n' || first - m_at > indent);
        };
        while (m_at < m_text.size() && isInside())
            skipRestOfLine();
        if (m_at > 0 && m_at < m_text.size()) { // lines() takes the rest of a line: leave it the end of this one
            --m_at;
            --m_line;
        }
    }
    /// {"key": literal, **other, …} as settings below `name`.
    void dictionary(const std::string& name)
    {
        take();
        while (m_at < m_text.size()) {
            skipBlanks(true);
            if (has('}')) {
                take();
                return;
            }
            const int line = m_line;
            const std::optional<Json> key = literal(0);
            skipBlanks(true);
            if (key && key->is_string() && has(':')) {
                take();
                skipBlanks(true);
                if (const std::optional<Json> value = literal(0))
                    add(name + "." + key->get<std::string>(), *value, line);
            }
            int open = 0;
            while (m_at < m_text.size() && (open > 0 || (m_text[m_at] != ',' && m_text[m_at] != '}'))) {
                const char c = take();
                open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
            }
            if (has(','))
                take();
        }
    }

    /// What stands behind "=": a literal, or a call whose keyword arguments are settings below `name`.
    void assigned(const std::string& name, int line, int level)
    {
        skipBlanks(level > 0);
        const std::size_t before = m_at;
        const int beforeLine = m_line;
        if (const std::optional<Json> value = literal(0)) {
            skipBlanks();
            if (m_at >= m_text.size() || m_text[m_at] == '\n' || m_text[m_at] == '#' || m_text[m_at] == ',' ||
                m_text[m_at] == ')') {
                add(name, *value, line);
                return;
            }
        }
        m_at = before;
        m_line = beforeLine;
        if (has('{')) {
            dictionary(name);
            return;
        }
        const std::string callee = dottedName();
        if (const auto constant = m_constants.find(callee); constant != m_constants.end() && !has('(') && !has('[')) {
            add(name, constant->second, line);
            return;
        }
        if (const std::size_t after = m_text.find_first_not_of(' ', m_at);
            level == 0 && !callee.empty() && after + 1 < m_text.size() && m_text[after] == '=' && m_text[after + 1] != '=') {
            m_at = after + 1; // a = b = value
            const std::size_t settings = m_sheet.settings.size();
            assigned(callee, line, level);
            if (m_sheet.settings.size() == settings + 1)
                add(name, Json(m_sheet.settings.back().value), line);
            return;
        }
        const bool isPrecision = name.ends_with("mixed_precision") || name.ends_with("plugins");
        if (isPrecision && m_text.compare(m_at, 2, "()") == 0) { // bf16_mixed()
            m_at += 2;
            add(name, callee, line);
            return;
        }
        if (callee.ends_with("from_hf_pretrained") && has('(')) { // the model that a bridge is made of
            if (const std::optional<Json> id = firstText())
                add(name + ".hf_model_id", *id, line);
            return;
        }
        const auto saysBefore = static_cast<std::ptrdiff_t>(m_sheet.settings.size());
        if (has('(') && callOf(callee, name)) { // cfg = another_recipe(), recipe.trainer = trainer(num_nodes=4)
            if (level == 0 && name.find('.') != std::string::npos &&
                std::none_of(m_sheet.settings.begin() + saysBefore, m_sheet.settings.end(),
                             [&name](const Setting& setting) { return setting.name.starts_with(name); }))
                m_sheet.undecided.push_back({name, callee + "(…)", line, name, m_file});
            return;
        }
        if (callee.empty() || !has('(')) {
            const std::size_t end = std::min(m_text.find_first_of(level > 0 ? ",)\n" : "\n", before), m_text.size());
            if ((name.find('.') != std::string::npos || level > 0) && !isFollowed(callee))
                m_sheet.undecided.push_back(
                    {name, m_text.substr(before, std::min<std::size_t>(end - before, 120)), line, name, m_file});
            m_at = end;
            return;
        }
        comment(callee);
        addModelClass(name, callee, line);
        if (level == 0)
            addBase(name, callee, line);
        const std::size_t settingsBefore = m_sheet.settings.size();
        take();
        if (level > 8)
            return;
        if (const std::size_t inside = m_at; has('"') || has('\'')) { // _perf_precision("fp8_cs"): one word, and it is the value
            const std::optional<Json> only = literal(0);
            if (only && has(')') && (m_at + 1 >= m_text.size() || m_text[m_at + 1] == '\n' || level > 0)) {
                take();
                add(name, *only, line);
                return;
            }
            m_at = inside;
        }
        while (m_at < m_text.size()) {
            skipBlanks(true);
            if (has(')')) {
                take();
                // A call that says nothing by name is no object of settings: its value is not known.
                if (level == 0 && (has('.') || m_sheet.settings.size() == settingsBefore) &&
                    name.find('.') != std::string::npos) {
                    const std::size_t end = std::min(m_text.find('\n', before), m_text.size());
                    m_sheet.undecided.push_back(
                        {name, m_text.substr(before, std::min<std::size_t>(end - before, 120)), line, name, m_file});
                }
                return;
            }
            const int argumentLine = m_line;
            const std::string argument = dottedName();
            skipBlanks();
            if (!argument.empty() && has('=')) {
                take();
                assigned(name + "." + argument, argumentLine, level + 1);
            } else { // by position: no name to know it by, but for a class, as run.Config(Llama3Config8B) has it
                addModelClass(name, argument, argumentLine);
                skipArgument();
            }
            skipBlanks(true);
            if (has(','))
                take();
            else if (!has(')'))
                return;
        }
    }

    /// Whether what a variable holds is read where it is assigned: strategy = run.Config(…), and then strategy=strategy.
    bool isFollowed(const std::string& variable) const
    {
        return !variable.empty() && std::any_of(m_sheet.settings.begin(), m_sheet.settings.end(), [&](const Setting& setting) {
            return setting.name.size() > variable.size() && setting.name[variable.size()] == '.' &&
                   setting.name.starts_with(variable);
        });
    }

    /// A class whose objects are models, with sizes of its own: "Llama31ModelProvider70B", "llm.Llama31Config70B".
    void addModelClass(const std::string& name, const std::string& callee, int line)
    {
        const std::string word = callee.substr(callee.rfind('.') + 1);
        const auto has = [&word](std::string_view part) { return word.find(part) != std::string::npos; };
        const std::size_t config = word.find("Config");
        const bool isSized = config != std::string::npos && config > 0 && // Llama3Config8B, DeepSeekV3Config
                             ((config + 6 < word.size() && isDigit(word[config + 6])) ||
                              (config + 6 == word.size() && isDigit(word[config - 1]) && !word.starts_with("FP")));
        const bool provides = has("Provider") && !has("Data") && !has("Energon") && !has("Optimizer");
        if (word.empty() || word.front() < 'A' || word.front() > 'Z' || !(isSized || provides))
            return;
        if (m_sheet.settings.size() < kMostSettings)
            m_sheet.settings.push_back({name + ".@class", Json(word), line, name, m_file});
    }

    void add(const std::string& name, const Json& value, int line)
    {
        if (m_sheet.settings.size() > kMostSettings)
            failAt(m_file, line, "has more than " + std::to_string(kMostSettings) + " settings");
        if (name.find('.') == std::string::npos)
            m_constants[name] = value;
        m_sheet.settings.push_back({name, value, line, name, m_file});
    }

    std::vector<Function> m_functions;
    std::map<std::string, Json> m_constants; ///< names without a dot
    struct Return {
        std::string name{};   ///< what the value of the function that is read is assigned to; empty: nothing, or it is not known
        std::size_t from = 0; ///< the first setting that is its own
    };
    Return m_return;
    int m_depth = 0, m_calls = 0;
    std::size_t m_read = 0; ///< of functions that were called
};

} // namespace

Sheet readPython(const std::string& file, const std::string& text)
{
    return PythonReader(file, text).read();
}

} // namespace sim::frameworks
