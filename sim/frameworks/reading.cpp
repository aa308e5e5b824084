#include "sim/frameworks/reading.h"

#include "sim/scenario/pointer_text.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace sim::frameworks {

Json negated(const Json& value)
{
    return value.is_boolean() ? Json(!value.get<bool>()) : value;
}

Reading::Reading(Sheet sheet)
    : m_settings(std::move(sheet.settings)), m_comments(std::move(sheet.comments)), m_program(std::move(sheet.program))
{
    m_states.resize(m_settings.size());
    for (const Setting& setting : sheet.undecided)
        m_more.push_back({setting.spelled, shownText(shownValue(setting.value), 120), setting.line, Became::unknown, "",
                          setting.text.empty() ? "is code, which is not run" : setting.text, setting.file});
    if (!sheet.unread.empty())
        m_more.push_back({"---", "", 0, Became::unknown, "", sheet.unread, m_settings.empty() ? "" : m_settings.front().file});
    m_spelling = [](std::string_view name) { return std::string(name); };
}

void Reading::rename(const std::function<std::string(const std::string&)>& nameOf)
{
    for (Setting& setting : m_settings)
        setting.name = nameOf(setting.name);
}

namespace {

/// As the file spells it.
std::string shownIn(const Setting& setting)
{
    return setting.shown.empty() ? shownValue(setting.value) : setting.shown;
}

/// Left to the environment or to the output of a command: "${NNODES}".
bool isDecidedOutside(const Json& value)
{
    return value.is_string() && (value.get_ref<const std::string&>().find("${") != std::string::npos ||
                                 value.get_ref<const std::string&>().find("$(") != std::string::npos);
}

} // namespace

void Reading::apply(std::span<const Alias> aliases)
{
    for (Setting& setting : m_settings) {
        const auto found =
            std::find_if(aliases.begin(), aliases.end(), [&](const Alias& alias) { return alias.own == setting.name; });
        if (found == aliases.end())
            continue;
        setting.name = found->canonical;
        if (found->change != nullptr && isSwitchBeforeMore(setting))
            standAlone(setting);
        if (found->change != nullptr) {
            if (setting.shown.empty())
                setting.shown = shownValue(setting.value);
            setting.value = found->change(setting.value);
        }
    }
}

void Reading::switchesStandAlone()
{
    m_switchesStandAlone = std::none_of(m_settings.begin(), m_settings.end(), [](const Setting& setting) {
        return setting.isOfCommand && setting.value == Json(false);
    });
}

bool Reading::isSwitchBeforeMore(const Setting& setting) const
{
    return m_switchesStandAlone && setting.isOfCommand && isDecidedOutside(setting.value);
}

void Reading::standAlone(Setting& setting)
{
    m_more.push_back({shownText(shownValue(setting.value)), "", setting.line, Became::unknown, "",
                      "stands behind " + shownText(setting.spelled) +
                          ", which takes no value, and is decided outside of the file: "
                          "not read",
                      setting.file});
    setting.value = true;
}

int Reading::indexOf(std::string_view name) const
{
    int unset = -1, open = -1, ofFile = -1; // null says no more than nothing does, and what is left open less than a value
    for (std::size_t i = m_settings.size(); i-- > 0;) {
        if (m_settings[i].name != name || m_settings[i].replacedBy > 0)
            continue;
        if (m_settings[i].value.is_null())
            unset = unset < 0 ? static_cast<int>(i) : unset;
        else if (isDecidedOutside(m_settings[i].value))
            open = open < 0 ? static_cast<int>(i) : open;
        else if (m_settings[i].isOfCommand)
            return static_cast<int>(i);
        else
            ofFile = ofFile < 0 ? static_cast<int>(i) : ofFile;
    }
    return ofFile >= 0 ? ofFile : open >= 0 ? open : unset;
}

bool Reading::has(std::string_view name) const
{
    return indexOf(name) >= 0;
}

const Json* Reading::peek(std::string_view name) const
{
    const int index = indexOf(name);
    return index < 0 || m_settings[static_cast<std::size_t>(index)].value.is_null()
               ? nullptr
               : &m_settings[static_cast<std::size_t>(index)].value;
}

bool Reading::hasPrefix(std::string_view prefix) const
{
    return std::any_of(m_settings.begin(), m_settings.end(),
                       [prefix](const Setting& setting) { return setting.name.starts_with(prefix); });
}

const Json* Reading::take(std::string_view name, std::string_view pointer)
{
    m_asked.emplace_back(name);
    const int last = indexOf(name);
    if (last < 0)
        return nullptr;
    const Setting& chosen = m_settings[static_cast<std::size_t>(last)];
    for (std::size_t i = 0; i < m_settings.size(); ++i) {
        if (m_settings[i].name != name || m_settings[i].replacedBy > 0)
            continue;
        State& state = m_states[i];
        if (state.isTaken && i == static_cast<std::size_t>(last)) {
            if (state.pointer.empty())
                state.pointer = pointer;
            continue;
        }
        state.isTaken = true;
        state.pointer = pointer;
        if (i != static_cast<std::size_t>(last) && isDecidedOutside(m_settings[i].value) && !isDecidedOutside(chosen.value)) {
            state.text = "is decided outside of the file; " + shownText(chosen.spelled) + " of line " +
                         std::to_string(chosen.line) + " counts";
        } else if (i != static_cast<std::size_t>(last) && !m_settings[i].value.is_null() && m_settings[i].value != chosen.value) {
            state.became = Became::contradictory;
            const bool isSameFile = m_settings[i].file == chosen.file;
            const auto shownOn = [isSameFile](const Setting& setting) {
                return shownText(setting.spelled) + " is " + quotedText(shownIn(setting)) + " on line " +
                       std::to_string(setting.line) + (isSameFile ? "" : " of " + setting.file);
            };
            state.text = shownOn(m_settings[i]) + " and " + shownOn(chosen) + ": the " +
                         (chosen.isOfCommand && !m_settings[i].isOfCommand ? "command line" : "later one") + " counts";
        }
    }
    State& state = m_states[static_cast<std::size_t>(last)];
    if (chosen.value.is_null()) {
        state.became = Became::byDefault;
        state.text = "null: the framework's default";
        return nullptr;
    }
    return &chosen.value;
}

void Reading::refuse(std::string_view name, const char* what)
{
    const int index = indexOf(name);
    State& state = m_states[static_cast<std::size_t>(index)];
    state.became = Became::unknown;
    const std::string value = shownValue(m_settings[static_cast<std::size_t>(index)].value);
    const std::string instead = state.pointer.empty() ? "" : ": say it with --set " + dotted(state.pointer) + "=…";
    state.text = value.find('$') != std::string::npos ? quotedText(value) + " is decided outside of the file" + instead
                 : value == "auto"                    ? "\"auto\" is filled in by who starts it" + instead
                                                      : quotedText(value) + " is not " + what;
    std::replace(state.text.begin(), state.text.end(), '\n', ' ');
    const bool isAsked = !instead.empty() && (value.find('$') != std::string::npos || value == "auto");
    if (isAsked && std::find(m_outside.begin(), m_outside.end(), state.pointer) == m_outside.end())
        m_outside.push_back(state.pointer);
}

void Reading::tellRest(std::string_view name, const Json& words, std::size_t used)
{
    const auto index = static_cast<std::size_t>(indexOf(name));
    const Setting& setting = m_settings[index];
    if (std::exchange(m_states[index].isRestTold, true))
        return;
    for (std::size_t i = used; i < words.size(); ++i)
        m_more.push_back({shownText(shownValue(words[i])), "", setting.line, Became::unknown, "",
                          "stands behind " + shownText(setting.spelled) +
                              (used == 0 ? ", which takes no value" : ", which takes one value") + ": not read",
                          setting.file});
}

std::optional<Json> Reading::any(std::string_view name, std::string_view pointer)
{
    const Json* const value = take(name, pointer);
    return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<int> Reading::integer(std::string_view name, std::string_view pointer)
{
    const Json* value = take(name, pointer);
    if (value == nullptr)
        return std::nullopt;
    if (value->is_array() && !value->empty()) {
        tellRest(name, *value, 1);
        value = &value->front();
    }
    const Json read = value->is_string() ? valueOf(value->get<std::string>()) : *value;
    if (const auto whole = wholeNumber<int>(read))
        return whole;
    const bool isLarge = read.is_number() && std::abs(read.get<double>()) > std::numeric_limits<int>::max();
    refuse(name, isLarge ? "a number that can be used: none is above 2,147,483,647" : "a whole number");
    return std::nullopt;
}

std::optional<double> Reading::real(std::string_view name, std::string_view pointer)
{
    const Json* const value = take(name, pointer);
    if (value == nullptr)
        return std::nullopt;
    const Json read = value->is_string() ? valueOf(value->get<std::string>()) : *value;
    if (read.is_number())
        return read.get<double>();
    refuse(name, "a number");
    return std::nullopt;
}

std::optional<bool> Reading::flag(std::string_view name, std::string_view pointer)
{
    const Json* value = take(name, pointer);
    if (value == nullptr)
        return std::nullopt;
    if (value->is_array()) { // a flag with words behind it
        tellRest(name, *value, 0);
        return true;
    }
    if (Setting& setting = m_settings[static_cast<std::size_t>(indexOf(name))]; isSwitchBeforeMore(setting)) {
        standAlone(setting);
        return true;
    }
    const Json read = value->is_string() ? valueOf(value->get<std::string>()) : *value;
    if (read.is_boolean())
        return read.get<bool>();
    if (read.is_number())
        return read.get<double>() != 0;
    refuse(name, "true or false");
    return std::nullopt;
}

std::optional<std::string> Reading::word(std::string_view name, std::string_view pointer)
{
    const Json* const value = take(name, pointer);
    if (value == nullptr)
        return std::nullopt;
    std::string text = shownValue(*value);
    if (text.find("${") == std::string::npos && text.find("$(") == std::string::npos)
        return text;
    refuse(name, "a word");
    return std::nullopt;
}

void Reading::byDefault(std::string_view name, const Json& value, std::string_view pointer, std::string text)
{
    if (text.empty()) {
        const int index = indexOf(name);
        const bool isOutside = index >= 0 && isDecidedOutside(m_settings[static_cast<std::size_t>(index)].value);
        text = isOutside ? "is decided outside of the file: the framework's default in its place"
                         : "is not given: the framework's default";
    }
    m_more.push_back({m_spelling(name), shownValue(value), 0, Became::byDefault, std::string(pointer), std::move(text)});
}

bool Reading::takeDefaults(std::string_view pointer)
{
    return std::erase_if(m_more, [&](const Note& note) { return note.became == Became::byDefault && note.pointer == pointer; }) >
           0;
}

int Reading::integerOr(std::string_view name, std::string_view pointer, int fallback)
{
    if (const std::optional<int> value = integer(name, pointer))
        return *value;
    byDefault(name, fallback, pointer);
    return fallback;
}

std::optional<int> Reading::size(std::string_view name, std::string_view pointer)
{
    const std::optional<int> value = integer(name, pointer);
    if (!value || *value >= 1)
        return value;
    say(name, Became::unknown, std::to_string(*value) + " is less than 1, and not imported", pointer);
    return std::nullopt;
}

int Reading::sizeOr(std::string_view name, std::string_view pointer, int fallback)
{
    if (const std::optional<int> value = size(name, pointer))
        return *value;
    byDefault(name, fallback, pointer);
    return fallback;
}

bool Reading::flagOr(std::string_view name, std::string_view pointer, bool fallback)
{
    if (const std::optional<bool> value = flag(name, pointer))
        return *value;
    byDefault(name, fallback, pointer);
    return fallback;
}

std::string Reading::wordOr(std::string_view name, std::string_view pointer, const std::string& fallback)
{
    if (const std::optional<std::string> value = word(name, pointer))
        return *value;
    byDefault(name, fallback, pointer);
    return fallback;
}

void Reading::say(std::string_view name, Became became, std::string text, std::string_view pointer)
{
    take(name, pointer);
    const int index = indexOf(name);
    if (index < 0)
        return;
    State& state = m_states[static_cast<std::size_t>(index)];
    state.became = became;
    state.text = std::move(text);
    if (!pointer.empty())
        state.pointer = pointer;
}

void Reading::addNote(std::string_view name, Became became, std::string text, std::string_view pointer)
{
    const int index = indexOf(name);
    Note note{spelled(name), "", lineOf(name), became, std::string(pointer), std::move(text)};
    if (index >= 0) {
        note.value = shownText(shownIn(m_settings[static_cast<std::size_t>(index)]), 200);
        note.file = m_settings[static_cast<std::size_t>(index)].file;
    }
    m_more.push_back(std::move(note));
}

void Reading::ask(std::string_view pointer, std::string text)
{
    m_more.push_back({dotted(std::string(pointer)), "", 0, Became::unknown, std::string(pointer), std::move(text)});
}

void Reading::harmless(std::span<const std::string_view> patterns, const std::string& text)
{
    for (std::size_t i = 0; i < m_settings.size(); ++i)
        if (!m_states[i].isTaken && std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
                return matchesPattern(m_settings[i].name, pattern);
            }))
            m_states[i] = {.isTaken = true, .became = Became::harmless, .text = text};
}

void Reading::notRepresentable(std::span<const Alias> namesAndWhy)
{
    for (std::size_t i = 0; i < m_settings.size(); ++i) {
        if (m_states[i].isTaken)
            continue;
        const auto found = std::find_if(namesAndWhy.begin(), namesAndWhy.end(),
                                        [&](const Alias& one) { return matchesPattern(m_settings[i].name, one.own); });
        if (found == namesAndWhy.end())
            continue;
        const Json& value = m_settings[i].value;
        const bool isOff = value.is_null() || value == Json(false) || value == Json(0) || value == Json("none");
        m_states[i] = isOff ? State{.isTaken = true, .became = Became::harmless, .text = "is switched off"}
                            : State{.isTaken = true, .became = Became::notRepresentable, .text = std::string(found->canonical)};
    }
}

void Reading::harmlessVariables()
{
    for (std::size_t i = 0; i < m_settings.size(); ++i)
        if (!m_states[i].isTaken && m_settings[i].spelled.find('.') == std::string::npos)
            m_states[i] = {.isTaken = true, .became = Became::harmless, .text = "a variable of the recipe"};
}

int Reading::lineOf(std::string_view name) const
{
    const int index = indexOf(name);
    return index < 0 ? 0 : m_settings[static_cast<std::size_t>(index)].line;
}

std::string Reading::spelled(std::string_view name) const
{
    const int index = indexOf(name);
    return index < 0 ? m_spelling(name) : m_settings[static_cast<std::size_t>(index)].spelled;
}

std::string Reading::placeOf(std::string_view name) const
{
    const int index = indexOf(name);
    if (index < 0)
        return "its default";
    const Setting& setting = m_settings[static_cast<std::size_t>(index)];
    return "line " + std::to_string(setting.line) + (setting.file.empty() ? "" : " of " + setting.file);
}

namespace {

/// What a variable of the environment changes of the step; empty: nothing.
std::string whyVariableCounts(const Setting& setting)
{
    const std::string_view name = std::string_view(setting.name).substr(5); // "@env."
    const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
    if ((name.starts_with("NCCL_") || name.starts_with("RCCL_")) && !has("DEBUG") && !has("TIMEOUT") && !has("RETRY") &&
        !has("SOCKET_IFNAME") && !has("ASYNC_ERROR") && !has("DUMP") && !has("TRACE"))
        return "how NCCL sends has no key: collectives take as long as the cluster's, or a profile measured so "
               "(cluster.efficiency)";
    if (name == "CUDA_LAUNCH_BLOCKING" && setting.value == Json(1))
        return "kernels that are waited for one by one have no key";
    if (name.starts_with("NVTE_"))
        return "how Transformer Engine computes is the software's: see training.stack";
    return {};
}

} // namespace

std::vector<Note> Reading::takeNotes()
{
    std::vector<Note> notes;
    std::vector<std::string> asked;
    for (const std::string& name : std::set<std::string>(m_asked.begin(), m_asked.end()))
        asked.push_back(m_spelling(name));
    int unknown = 0;
    for (std::size_t i = 0; i < m_settings.size(); ++i) {
        const Setting& setting = m_settings[i];
        State& state = m_states[i];
        if (setting.replacedBy > 0) {
            state = {.isTaken = true,
                     .became = Became::harmless,
                     .text = "is assigned again on line " + std::to_string(setting.replacedBy) + ", which counts"};
        } else if (!state.isTaken && setting.name.starts_with("@env.")) {
            const std::string why = whyVariableCounts(setting);
            state = {.isTaken = true,
                     .became = why.empty() ? Became::harmless : Became::notRepresentable,
                     .text = why.empty() ? "a variable of the script" : why};
        } else if (!state.isTaken && setting.name.starts_with("@launcher.")) {
            state = {.isTaken = true, .became = Became::harmless, .text = "an option of what starts the program"};
        } else if (!state.isTaken) {
            state.became = Became::unknown;
            state.text = "is not known here" +
                         (++unknown <= 50 && setting.spelled.size() < 80 ? nearestWords(setting.spelled, asked) : std::string());
        }
        if (setting.condition > 0 && state.became != Became::harmless)
            state.text += (state.text.empty() ? "" : "; ") + ("stands in a branch of line " + std::to_string(setting.condition)) +
                          (setting.conditionFile.empty() ? "" : " of " + setting.conditionFile) +
                          ", which the script alone does not decide";
        notes.push_back({setting.spelled, shownText(shownIn(setting), 200), setting.line, state.became, state.pointer, state.text,
                         setting.file});
    }
    std::move(m_more.begin(), m_more.end(), std::back_inserter(notes));
    m_more.clear();
    return notes;
}

} // namespace sim::frameworks
