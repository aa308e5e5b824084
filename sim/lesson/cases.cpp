#include "sim/lesson/cases.h"

#include "sim/scenario/json_text.h"
#include "sim/scenario/schema.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace sim {
namespace {

constexpr std::size_t kMostCases = 64;
constexpr std::size_t kMostKeys = 64; ///< that a case may set

[[noreturn]] void refuse(const std::string& fileName, const std::string& pointer, const std::string& message)
{
    throw ScenarioError({{fileName, pointer, message}});
}

std::vector<std::string> scenariosIn(const std::filesystem::path& folder)
{
    std::vector<std::string> names;
    std::error_code unread;
    for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, unread))
        if (entry.path().extension() == ".json")
            names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

bool isExpressionText(const LessonValue& value)
{
    return value.is_string() && value.get_ref<const std::string&>().starts_with('=');
}

/// A value with each "=expression" in it worked out.
LessonValue workedOut(const LessonValue& value, const Names& names)
{
    if (isExpressionText(value)) {
        const LessonValue result = Expression::parse(value.get<std::string>().substr(1)).evaluate(names);
        return result.is_number() ? number(result.get<double>()) : result; // 4, where a whole number is wanted
    }
    if (!value.is_structured())
        return value;
    LessonValue out = value;
    for (LessonValue& part : out)
        part = workedOut(part, names);
    return out;
}

void collectNames(const LessonValue& value, std::vector<std::string>& names)
{
    if (isExpressionText(value))
        try {
            for (const Expression::NameAsked& asked : Expression::parse(value.get<std::string>().substr(1)).namesAsked())
                names.push_back(asked.name);
        } catch (const ExpressionError&) { // adding the case says why
        }
    if (value.is_structured())
        for (const LessonValue& part : value)
            collectNames(part, names);
}

bool hasExpressionIn(const LessonValue& value)
{
    return isExpressionText(value) || (value.is_structured() && std::any_of(value.begin(), value.end(), hasExpressionIn));
}

} // namespace

void requirePipeline(const LessonValue& schedule, const Catalogue& catalogue)
{
    if (auto problems = lessonSchema(catalogue).check(schedule, "", "schedule"); !problems.empty())
        throw ScenarioError(std::move(problems));
}

ScenarioDocument namedScenario(const std::string& name, const std::string& fileName, const std::string& pointer,
                               const Catalogue& catalogue)
{
    if (name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != std::string::npos ||
        name.front() == '.')
        refuse(fileName, pointer, "name a scenario beside this file or of the gallery, such as 16-schedule-gpipe");
    const std::filesystem::path beside = std::filesystem::path(fileName).parent_path(), gallery = catalogue.scenarios();
    std::vector<std::string> names;
    for (const std::filesystem::path& folder : {beside, gallery}) {
        const std::filesystem::path path = folder / (name + ".json");
        std::error_code unseen;
        if (std::filesystem::exists(path, unseen)) {
            try {
                return ScenarioDocument::readFile(path);
            } catch (const Error& error) {
                refuse(fileName, pointer, error.what());
            }
        }
        const auto here = scenariosIn(folder);
        names.insert(names.end(), here.begin(), here.end());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    refuse(fileName, pointer, "there is no scenario " + quotedText(name) + nearestWords(name, names));
}

void setKeys(CaseSubject& subject, const LessonValue& keys)
{
    if (!keys.is_object() || keys.size() > kMostKeys)
        throw Error("up to " + std::to_string(kMostKeys) + " pointers with values are expected");
    if (auto* document = std::get_if<ScenarioDocument>(&subject)) {
        for (const auto& [at, value] : keys.items())
            if (value.is_null())
                document->erase(at);
            else
                document->set(at, value.dump());
        return;
    }
    LessonValue& schedule = std::get<LessonValue>(subject);
    for (const auto& [at, value] : keys.items()) {
        const auto segments = splitPointer(at);
        if (segments.size() != 1)
            throw Error(shownPlace(at) + ": a pipeline has keys of one word, such as /microbatches");
        if (value.is_null())
            schedule.erase(segments.front());
        else
            schedule[segments.front()] = value;
    }
}

bool hasExpressions(const CaseDefinition& definition)
{
    return hasExpressionIn(definition.given);
}

std::vector<std::string> namesAsked(const CaseDefinition& definition)
{
    std::vector<std::string> names;
    collectNames(definition.given, names);
    return names;
}

Cases::Cases(ScenarioDocument own, const Catalogue& catalogue)
    : m_catalogue(catalogue), m_fileName(own.fileName()), m_ownDocument(own),
      m_own(std::make_unique<ScenarioNames>(std::move(own), catalogue))
{
}
Cases::Cases(std::string fileName, const Catalogue& catalogue) : m_catalogue(catalogue), m_fileName(std::move(fileName)) {}
Cases::Cases(const Cases* below) : m_catalogue(below->m_catalogue), m_fileName(below->m_fileName), m_below(below) {}
Cases::~Cases() = default;

/// What a definition begins with, before it sets keys.
CaseSubject Cases::start(const CaseDefinition& definition) const
{
    const auto& [name, pointer, given] = definition;
    const int starts = static_cast<int>(given.contains("scenario")) + static_cast<int>(given.contains("from")) +
                       static_cast<int>(given.contains("schedule"));
    if (starts > 1)
        refuse(m_fileName, pointer, "a case starts from one of \"scenario\", \"from\" and \"schedule\"");
    if (const LessonValue* scenario = memberOf(given, "scenario")) {
        if (scenario->is_string())
            return namedScenario(scenario->get<std::string>(), m_fileName, pointer + "/scenario", m_catalogue);
        if (scenario->is_object())
            return ScenarioDocument::parse(workedOut(*scenario, *this).dump(), m_fileName);
        refuse(m_fileName, pointer + "/scenario", "the name of a scenario, or one written out, is expected");
    }
    if (const LessonValue* from = memberOf(given, "from")) {
        const auto earlier = valueAs<std::string>(*from).value_or("");
        if (const CaseSubject* found = subject(earlier))
            return *found;
        refuse(m_fileName, pointer + "/from",
               "there is no case \"" + earlier + "\" to start from" + (known().empty() ? "" : nearestWords(earlier, known())));
    }
    if (const LessonValue* schedule = memberOf(given, "schedule")) {
        LessonValue value = workedOut(*schedule, *this);
        requirePipeline(value, m_catalogue);
        return value;
    }
    if (m_ownDocument)
        return *m_ownDocument;
    refuse(m_fileName, pointer, "say with what it starts: \"scenario\", \"from\" or \"schedule\"");
}

void Cases::add(const CaseDefinition& definition)
{
    const auto& [name, pointer, given] = definition;
    if (m_entries.size() >= kMostCases)
        refuse(m_fileName, pointer, "there are more than " + std::to_string(kMostCases) + " cases");
    if (!isExpressionName(name))
        refuse(m_fileName, pointer, "a case's name has letters, digits and _");
    if (!given.is_object())
        refuse(m_fileName, pointer, "an object with scenario, from, schedule or set is expected");
    static const std::vector<std::string> kKeys = {"scenario", "from", "schedule", "set"};
    for (const auto& [key, unused] : given.items())
        if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
            refuse(m_fileName, childPointer(pointer, key), "a case has no such key" + nearestWords(key, kKeys));
    try {
        CaseSubject subject = start(definition);
        if (const LessonValue* keys = memberOf(given, "set"))
            setKeys(subject, workedOut(*keys, *this));
        if (const auto* schedule = std::get_if<LessonValue>(&subject))
            requirePipeline(*schedule, m_catalogue);
        put(name, std::move(subject));
    } catch (const ScenarioError& error) {
        if (!error.problems().empty() && error.problems().front().file == m_fileName)
            throw;
        refuse(m_fileName, pointer, error.what());
    } catch (const Error& error) {
        refuse(m_fileName, pointer + (given.contains("set") ? "/set" : ""), error.what());
    }
}

void Cases::put(const std::string& name, CaseSubject subject)
{
    m_entries.insert_or_assign(name, Entry{.is = std::move(subject), .names = nullptr});
}

void Cases::put(const std::string& name, ScenarioDocument document, std::shared_ptr<const Simulation> simulation)
{
    m_entries.insert_or_assign(
        name, Entry{.is = CaseSubject(std::move(document)), .names = std::make_shared<ScenarioNames>(std::move(simulation))});
}

Cases::Entry* Cases::entry(std::string_view name) const
{
    const auto found = m_entries.find(name);
    if (found != m_entries.end())
        return &found->second;
    return m_below != nullptr ? m_below->entry(name) : nullptr;
}

void Cases::work(Entry& entry, const Catalogue& catalogue)
{
    if (entry.names)
        return;
    const auto& subject = std::get<CaseSubject>(entry.is);
    if (const auto* document = std::get_if<ScenarioDocument>(&subject))
        entry.names = std::make_shared<ScenarioNames>(*document, catalogue);
    else
        entry.names = std::make_shared<ScheduleNames>(std::get<LessonValue>(subject));
}

void Cases::putSame(const std::string& name, std::string_view as)
{
    Entry* same = entry(as);
    if (same == nullptr || !std::holds_alternative<CaseSubject>(same->is))
        throw Error("there is no case \"" + std::string(as) + "\"");
    work(*same, m_catalogue);
    m_entries.insert_or_assign(name, *same);
}

void Cases::putNumber(const std::string& name, double value)
{
    m_entries.insert_or_assign(name, Entry{.is = LessonValue(value), .names = nullptr});
}

Names::Meaning Cases::find(std::string_view name) const
{
    const auto found = m_entries.find(name);
    if (found == m_entries.end()) {
        if (m_own)
            return m_own->find(name);
        return m_below != nullptr ? m_below->find(name) : Meaning{};
    }
    Entry& entry = found->second;
    if (const auto* value = std::get_if<LessonValue>(&entry.is))
        return value;
    work(entry, m_catalogue);
    return static_cast<const Names*>(entry.names.get());
}

bool Cases::takesArguments(std::string_view name) const
{
    return m_own ? m_own->takesArguments(name) : m_below != nullptr && m_below->takesArguments(name);
}

Names::Meaning Cases::call(std::string_view name, std::span<const double> arguments) const
{
    if (m_own)
        return m_own->call(name, arguments);
    return m_below != nullptr ? m_below->call(name, arguments) : Meaning{};
}

std::vector<std::string> Cases::known() const
{
    std::vector<std::string> names = m_own ? m_own->known() : m_below != nullptr ? m_below->known() : std::vector<std::string>();
    for (const auto& [name, unused] : m_entries)
        names.push_back(name);
    return names;
}

const CaseSubject* Cases::subject(std::string_view name) const
{
    const auto found = m_entries.find(name);
    if (found == m_entries.end())
        return m_below != nullptr ? m_below->subject(name) : nullptr;
    return std::get_if<CaseSubject>(&found->second.is);
}

std::vector<std::string> Cases::unused() const
{
    std::vector<std::string> names;
    for (const auto& [name, entry] : m_entries)
        if (!entry.names && std::holds_alternative<CaseSubject>(entry.is))
            names.push_back(name);
    return names;
}

} // namespace sim
