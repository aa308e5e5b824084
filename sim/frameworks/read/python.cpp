// A reader of what is data in Python: assignments, arguments by name, functions of the file that a recipe calls. It runs nothing.
#include "sim/frameworks/read/python_reader.h"
#include "sim/text/characters.h"

#include <algorithm>
#include <optional>

namespace sim::frameworks {

Sheet PythonReader::read()
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
                m_sheet.undecided.push_back({"def " + other.name, "another function; the first, " + chosen->name + ", is read",
                                             other.line, "def " + other.name, m_file});
    }
    tellReplaced();
    return std::move(m_sheet);
}

void PythonReader::lines(std::size_t end)
{
    while (m_at < end) {
        statement();
        skipRestOfLine();
    }
}

void PythonReader::comment(std::string text)
{
    constexpr std::size_t kMostComments = 1000;
    if (m_sheet.comments.size() < kMostComments)
        m_sheet.comments.push_back(std::move(text));
}

void PythonReader::addBase(const std::string& name, const std::string& callee, int line)
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

void PythonReader::tellReplaced()
{
    std::map<std::string, int> last;
    for (std::size_t i = m_sheet.settings.size(); i-- > 0;) {
        Setting& setting = m_sheet.settings[i];
        const auto [at, isLast] = last.emplace(setting.name, setting.line);
        if (!isLast)
            setting.replacedBy = at->second;
    }
}

void PythonReader::statement()
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

bool PythonReader::isSwitchedOff()
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

void PythonReader::skipBlock(std::size_t start)
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

void PythonReader::dictionary(const std::string& name)
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

void PythonReader::assigned(const std::string& name, int line, int level)
{
    skipBlanks(level > 0);
    const std::size_t before = m_at;
    const int beforeLine = m_line;
    if (const std::optional<Json> value = literal(0)) {
        skipBlanks();
        if (m_at >= m_text.size() || m_text[m_at] == '\n' || m_text[m_at] == '#' || m_text[m_at] == ',' || m_text[m_at] == ')') {
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
            if (level == 0 && (has('.') || m_sheet.settings.size() == settingsBefore) && name.find('.') != std::string::npos) {
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

bool PythonReader::isFollowed(const std::string& variable) const
{
    return !variable.empty() && std::any_of(m_sheet.settings.begin(), m_sheet.settings.end(), [&](const Setting& setting) {
        return setting.name.size() > variable.size() && setting.name[variable.size()] == '.' &&
               setting.name.starts_with(variable);
    });
}

void PythonReader::addModelClass(const std::string& name, const std::string& callee, int line)
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

void PythonReader::add(const std::string& name, const Json& value, int line)
{
    if (m_sheet.settings.size() > kMostSettings)
        failAt(m_file, line, "has more than " + std::to_string(kMostSettings) + " settings");
    if (name.find('.') == std::string::npos)
        m_constants[name] = value;
    m_sheet.settings.push_back({name, value, line, name, m_file});
}

Sheet readPython(const std::string& file, const std::string& text)
{
    return PythonReader(file, text).read();
}

} // namespace sim::frameworks
