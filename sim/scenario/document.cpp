#include "sim/scenario/document.h"

#include "sim/scenario/json_text.h"
#include "sim/scenario/problem_list.h"
#include "sim/scenario/resolve/resolve.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/unforeseen.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace sim {
namespace {

constexpr int kVersion = 1;

std::string joined(const std::vector<Problem>& problems)
{
    std::string text;
    for (const Problem& problem : problems)
        text += (text.empty() ? "" : "\n") + problem.text();
    return text;
}

/// Version 0: files written by hand before the format had a number. Same keys.
void migrateUnnumbered(Json&) {}

/// Steps from one version to the next; entry i turns a file of version i into one of version i + 1.
constexpr std::array<void (*)(Json&), kVersion> kMigrations = {migrateUnnumbered};

bool isOfThisVersion(const Json& root)
{
    const Json* const given = memberOf(root, "version");
    return given != nullptr && given->is_number_integer() && *given == kVersion;
}

/// Brings an older file to the present version. A newer one has words that nobody here knows: false, and the problem says so.
bool migrate(Json& root, const std::string& file, std::vector<Problem>& problems)
{
    const bool isNumbered = root.contains("version");
    if (!isNumbered) {
        problems.push_back(
            {file, "", "key \"version\" is missing; read as version " + std::to_string(kVersion), Severity::warning});
        root["version"] = 0;
    }
    const Json& given = root.at("version");
    if (!given.is_number_integer())
        return true; // the schema says what is wrong
    if (given.get<double>() > kVersion) {
        problems.push_back({file, "/version",
                            given.dump() + " is newer than " + std::to_string(kVersion) +
                                ", the newest version this program reads; use a newer Rankscope"});
        return false;
    }
    const auto version = given.get<std::int64_t>();
    if (isNumbered && version < 1)
        return true; // likewise: nobody has written such a number
    for (std::int64_t step = version; step < kVersion; ++step) {
        kMigrations[static_cast<std::size_t>(step)](root);
        root["version"] = step + 1;
    }
    return true;
}

/// What `describe --json` prints beside the scenario, in `derived` and, for scripts, at the top too.
constexpr std::array<const char*, 6> kDerivedAtTop = {"parameters",           "active_parameters", "mtp_parameters",
                                                      "trainable_parameters", "world_size",        "parameters_per_rank"};

/// Takes out what was printed of the scenario and is no part of it: kept, it would be wrong after the first change.
Json takeDerived(Json& root)
{
    const Json* derived = memberOf(root, "derived");
    if (derived == nullptr || !derived->is_object())
        return {}; // the schema says what is wrong
    Json printed = *derived;
    root.erase("derived");
    for (const char* key : kDerivedAtTop)
        if (const Json* atTop = memberOf(root, key), *inBlock = memberOf(printed, key);
            atTop != nullptr && inBlock != nullptr && *atTop == *inBlock)
            root.erase(key);
    return printed;
}

/// Without `derived` beside them they were written by somebody who expects them to count.
void refuseDerivedAtTop(const Json& root, const std::string& file, std::vector<Problem>& problems)
{
    for (const char* key : kDerivedAtTop)
        if (memberOf(root, key) != nullptr)
            problems.push_back({file, childPointer("", key),
                                "is what `describe` prints, and follows from model and layout; remove it, or set those"});
}

int blockOf(const Problem& problem)
{
    static constexpr std::array<std::string_view, 8> kBlocks = {"",          "/model",    "/cluster",       "/layout",
                                                                "/schedule", "/training", "/perturbations", "/live"};
    const std::string_view pointer = problem.pointer;
    const std::string_view block = pointer.substr(0, pointer.find('/', 1));
    return static_cast<int>(std::find(kBlocks.begin(), kBlocks.end(), block) - kBlocks.begin());
}

bool isIndex(const std::string& segment, std::size_t& index)
{
    const auto [end, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
    return error == std::errc{} && end == segment.data() + segment.size();
}

/// Of blocks for which a bare string is short for {"base": …} or {"kind": …}: that key; of others none.
std::string_view keyOfWord(const std::string& pointer)
{
    if (pointer == "/model" || pointer == "/cluster" || pointer == "/cluster/gpu" || pointer == "/training/stack")
        return "base";
    return pointer == "/training/recompute" ? "kind" : "";
}

std::size_t depthOf(const Json& value)
{
    std::size_t deepest = 0;
    if (value.is_structured())
        for (const Json& member : value)
            deepest = std::max(deepest, depthOf(member));
    return value.is_structured() ? deepest + 1 : 0;
}

std::string pointerOf(const std::vector<std::string>& segments)
{
    std::string pointer;
    for (const std::string& segment : segments)
        pointer = childPointer(pointer, segment);
    return pointer;
}

/// The value below `parent`, which stands at `pointer`; made if it is not there.
Json& descend(Json& parent, const std::string& segment, const std::string& pointer)
{
    if (parent.is_array()) {
        std::size_t index = 0;
        if (!isIndex(segment, index) || index > parent.size())
            throw Error(shownPlace(pointer) + ": the list has " + std::to_string(parent.size()) +
                        (parent.size() == 1 ? " entry; " : " entries; ") + quotedText(segment) +
                        " is none of them, nor the next");
        if (index == parent.size())
            parent.push_back(nullptr);
        return parent[index];
    }
    if (parent.is_null() && segment == "0") {
        parent = Json::array({nullptr});
        return parent[0];
    }
    if (parent.is_null())
        parent = Json::object();
    else if (const std::string_view key = keyOfWord(pointer); parent.is_string() && !key.empty())
        parent = Json{{key, parent}};
    else if (!parent.is_object())
        throw Error(shownPlace(pointer) + ": " + quotedText(segment) + " has no place in " + shownText(parent.dump()));
    return parent[segment];
}

} // namespace

std::string Problem::text() const
{
    std::string out;
    for (const std::string& part : {file, pointer})
        if (!part.empty())
            out += shownPlace(part) + ": ";
    return out + (severity == Severity::warning ? "warning: " : "") + message;
}

ScenarioError::ScenarioError(std::vector<Problem> problems) : Error(joined(problems)), m_problems(std::move(problems)) {}

struct ScenarioDocument::Data {
    Json root;
    Json derived; ///< as the file had it: nothing follows from it, but it is checked as all of the file is
    std::string fileName;
};

ScenarioDocument::ScenarioDocument(std::unique_ptr<Data> data) : m_data(std::move(data)) {}
ScenarioDocument::ScenarioDocument(const ScenarioDocument& other) : m_data(std::make_unique<Data>(*other.m_data)) {}
ScenarioDocument::ScenarioDocument(ScenarioDocument&&) noexcept = default;
ScenarioDocument& ScenarioDocument::operator=(const ScenarioDocument& other)
{
    if (this != &other)
        m_data = std::make_unique<Data>(*other.m_data);
    return *this;
}
ScenarioDocument& ScenarioDocument::operator=(ScenarioDocument&&) noexcept = default;
ScenarioDocument::~ScenarioDocument() = default;

ScenarioDocument ScenarioDocument::parse(std::string_view json, std::string fileName)
{
    Json root = readSafely(fileName, [&] { return parseStrict(json, fileName); });
    if (!root.is_object())
        throw ScenarioError({{fileName, "", "a scenario is a JSON object: { \"format\": \"rankscope-scenario\", … }"}});
    Json derived = takeDerived(root);
    return ScenarioDocument(std::make_unique<Data>(Data{std::move(root), std::move(derived), std::move(fileName)}));
}

ScenarioDocument ScenarioDocument::readFile(const std::filesystem::path& path, Pipes pipes)
{
    return parse(readNamedFile(path, kMaxFileBytes, pipes), path.string());
}

void ScenarioDocument::set(std::string_view pointer, std::string_view value)
{
    const auto segments = splitPointer(pointer);
    if (segments.empty())
        throw Error("nothing to set: name a key, such as layout.tp");
    if (pointer.size() + value.size() > kMaxFileBytes || !isUtf8(pointer) || !isUtf8(value))
        throw Error(shownPlace(pointer) + ": what is set must be UTF-8 and at most " + std::to_string(kMaxFileBytes) + " bytes");
    Json parsed;
    try {
        parsed = parseStrict(value, {});
    } catch (const ScenarioError&) {
        parsed = std::string(value); // schedule.kind=1f1b
    }
    if (segments.size() + depthOf(parsed) > kMaxDepth)
        throw Error(shownPlace(pointer) + ": it is nested more than " + std::to_string(kMaxDepth) + " levels deep");
    const std::string& name = segments.front();
    const Json* const there = memberOf(m_data->root, name);
    Json block = there == nullptr ? Json() : *there; // a pointer that leads nowhere changes nothing
    Json* at = &block;
    std::string path = childPointer("", name);
    for (auto segment = segments.begin() + 1; segment != segments.end(); ++segment) {
        at = &descend(*at, *segment, path);
        path = childPointer(path, *segment);
    }
    *at = std::move(parsed);
    m_data->root[name] = std::move(block);
}

void ScenarioDocument::takeListOfBase(std::string_view pointer, const Catalogue& catalogue)
{
    const auto segments = splitPointer(pointer);
    std::size_t index = 0;
    const auto entry = std::find_if(segments.begin(), segments.end(), [&](const std::string& s) { return isIndex(s, index); });
    const std::vector<std::string> list(segments.begin(), entry);
    if (entry == segments.end() || list.size() < 2 || findAt(m_data->root, list) != nullptr)
        return;
    const Json* const block = findAt(m_data->root, {list.front()});
    const std::string id = block == nullptr     ? std::string()
                           : block->is_string() ? block->get<std::string>()
                                                : memberOr<std::string>(*block, "base", {});
    const Json* const base = list.front() == "cluster" ? catalogue.clusterJson(id)
                             : list.front() == "model" ? catalogue.modelJson(id)
                                                       : nullptr;
    const Json* const based = base == nullptr ? nullptr : findAt(*base, {list.begin() + 1, list.end()});
    if (based == nullptr || !based->is_array())
        return;
    Json entries = *based;
    const int ofBase = memberOr<int>(*base, "gpus_per_node", 0), here = memberOr<int>(*block, "gpus_per_node", ofBase);
    for (Json& each : entries) // a node's tier follows the node
        if (each.is_object() && memberOr<int>(each, "span", 0) == ofBase && here != ofBase)
            each["span"] = here;
    set(pointerOf(list), entries.dump());
}

void ScenarioDocument::applyOverride(std::string_view assignment, const Catalogue& catalogue)
{
    if (const std::size_t equals = assignment.find('='); equals != std::string_view::npos) {
        const std::string_view pointer = assignment.substr(0, equals);
        if (equals + 1 == assignment.size())
            requireKnown(pointer, catalogue);
        takeListOfBase(pointer, catalogue);
    }
    applyOverride(assignment);
}

void ScenarioDocument::requireKnown(std::string_view pointer, const Catalogue& catalogue) const
{
    ScenarioDocument withIt = *this;
    withIt.takeListOfBase(pointer, catalogue);
    if (withIt.get(pointer)) // whatever it is, it may go
        return;
    withIt.set(pointer, "null");
    const std::string place = pointerOf(splitPointer(pointer)) + "/";
    for (const Problem& problem : catalogue.schema().check(withIt.m_data->root, {}))
        if (problem.message.starts_with(Schema::kUnknownKey) && place.starts_with(problem.pointer + "/"))
            throw Error(problem.text());
}

void ScenarioDocument::applyOverride(std::string_view assignment)
{
    const std::size_t equals = assignment.find('=');
    if (equals == std::string_view::npos || equals == 0)
        throw Error(quotedText(assignment) +
                    " sets nothing; write POINTER=VALUE, such as layout.tp=4, or POINTER= to erase a key");
    const std::string_view pointer = assignment.substr(0, equals);
    const std::string_view value = assignment.substr(equals + 1);
    if (value.empty())
        erase(pointer);
    else
        set(pointer, value);
}

std::optional<std::string> ScenarioDocument::get(std::string_view pointer) const
{
    const Json* value = findAt(m_data->root, splitPointer(pointer));
    if (value == nullptr)
        return std::nullopt;
    return value->dump();
}

void ScenarioDocument::erase(std::string_view pointer)
{
    auto segments = splitPointer(pointer);
    if (segments.empty())
        return;
    if (segments.front() == "derived")
        m_data->derived = nullptr;
    const std::string last = std::move(segments.back());
    segments.pop_back();
    auto* parent = const_cast<Json*>(findAt(m_data->root, segments)); // m_data is ours
    std::size_t index = 0;
    if (parent == nullptr)
        return;
    if (parent->is_string() && !last.empty() && last == keyOfWord(pointerOf(segments)))
        *parent = Json::object(); // the string was short for it
    else if (parent->is_object())
        parent->erase(last);
    else if (parent->is_array() && isIndex(last, index) && index < parent->size())
        parent->erase(index);
}

ScenarioDocument::Resolved ScenarioDocument::resolve(const Catalogue& catalogue) const
{
    const std::string& file = m_data->fileName;
    Resolved resolved;
    try {
        resolveInto(resolved, catalogue);
    } catch (const ScenarioError& error) {
        resolved.problems = error.problems();
    } catch (const Error& error) {
        resolved.problems.push_back({file, "", error.what()});
    } catch (...) {
        resolved.problems.push_back(unforeseenProblem(file));
    }
    if (std::any_of(resolved.problems.begin(), resolved.problems.end(),
                    [](const Problem& p) { return p.severity == Severity::error; }))
        resolved.scenario.reset();
    return resolved;
}

void ScenarioDocument::resolveInto(Resolved& resolved, const Catalogue& catalogue) const
{
    const std::string& file = m_data->fileName;
    auto& problems = resolved.problems;
    Json migrated;
    if (!isOfThisVersion(m_data->root)) { // hundreds of documents are resolved while a control looks for what is legal
        migrated = m_data->root;
        if (!migrate(migrated, file, problems))
            return;
    }
    const Json& root = migrated.is_null() ? m_data->root : migrated;
    refuseDerivedAtTop(root, file, problems);
    auto shape = catalogue.schema().check(root, file);
    if (!m_data->derived.is_null())
        for (Problem& problem : catalogue.schema().check(m_data->derived, file, "derived", "/derived"))
            problems.push_back(std::move(problem));
    if (ProblemList::isCut(shape)) { // what was left out may be anything
        problems.insert(problems.end(), shape.begin(), shape.end());
        return;
    }
    Resolution resolution = resolveScenario(root, file, std::move(shape), catalogue);
    problems.insert(problems.end(), resolution.problems.begin(), resolution.problems.end());
    for (Reason& reason : judge(resolution.scenario, resolution))
        problems.push_back(
            {file, std::move(reason.key), std::move(reason.message), reason.isWarning ? Severity::warning : Severity::error});
    std::stable_sort(problems.begin(), problems.end(),
                     [](const Problem& a, const Problem& b) { return blockOf(a) < blockOf(b); });
    ProblemList told;
    for (Problem& problem : problems)
        told.add(std::move(problem));
    problems = std::move(told).take(file);
    resolved.scenario = std::move(resolution.scenario);
}

std::string ScenarioDocument::text() const
{
    return prettyText(m_data->root);
}

void ScenarioDocument::saveFile(const std::filesystem::path& path) const
{
    replaceFile(path, text());
}

const std::string& ScenarioDocument::fileName() const
{
    return m_data->fileName;
}

void ScenarioDocument::setFileName(std::string name)
{
    m_data->fileName = std::move(name);
}

ScenarioDocument readDocument(const std::filesystem::path& file, const Catalogue& catalogue,
                              const std::vector<std::string>& overrides)
{
    return withOverrides(ScenarioDocument::readFile(file, Pipes::read), file, catalogue, overrides);
}

ScenarioDocument withOverrides(ScenarioDocument document, const std::filesystem::path& file, const Catalogue& catalogue,
                               const std::vector<std::string>& overrides)
{
    for (const std::string& assignment : overrides)
        try {
            document.applyOverride(assignment, catalogue);
        } catch (const Error& error) {
            throw ScenarioError({{file.string(), "", "--set " + shownText(assignment) + ": " + error.what()}});
        }
    return document;
}

Scenario resolvedScenario(const ScenarioDocument& document, const Catalogue& catalogue, std::vector<Problem>* warnings)
{
    auto resolved = document.resolve(catalogue);
    if (!resolved.scenario)
        throw ScenarioError(std::move(resolved.problems));
    if (warnings != nullptr)
        *warnings = std::move(resolved.problems);
    return std::move(*resolved.scenario);
}

Scenario readScenario(const std::filesystem::path& file, const Catalogue& catalogue, const std::vector<std::string>& overrides,
                      std::vector<Problem>* warnings)
{
    return resolvedScenario(readDocument(file, catalogue, overrides), catalogue, warnings);
}

} // namespace sim
