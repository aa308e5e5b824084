#include "sim/scenario/document.h"

#include "sim/scenario/files.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/resolve.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/validate.h"

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

/// Brings an older file to the present version. A newer one has words that nobody here knows: false, and the problem says so.
bool migrate(Json& root, const std::string& file, std::vector<Problem>& problems)
{
    if (!root.contains("version")) {
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
    for (std::int64_t step = version; step >= 0 && step < kVersion; ++step) {
        kMigrations[static_cast<std::size_t>(step)](root);
        root["version"] = step + 1;
    }
    return true;
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

/// Blocks for which a bare string is short for {"base": …}.
bool hasBase(const std::string& pointer)
{
    return pointer == "/model" || pointer == "/cluster" || pointer == "/cluster/gpu";
}

std::size_t depthOf(const Json& value)
{
    std::size_t deepest = 0;
    if (value.is_structured())
        for (const Json& member : value)
            deepest = std::max(deepest, depthOf(member));
    return value.is_structured() ? deepest + 1 : 0;
}

/// The value below `parent`, which stands at `pointer`; made if it is not there.
Json& descend(Json& parent, const std::string& segment, const std::string& pointer)
{
    if (parent.is_array()) {
        std::size_t index = 0;
        if (!isIndex(segment, index) || index > parent.size())
            throw Error(pointer + ": the list has " + std::to_string(parent.size()) + " entries; \"" + segment +
                        "\" is none of them, nor the next");
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
    else if (parent.is_string() && hasBase(pointer))
        parent = Json{{"base", parent}};
    else if (!parent.is_object())
        throw Error(pointer + ": \"" + segment + "\" has no place in " +
                    shortened(parent.dump(-1, ' ', false, Json::error_handler_t::replace)));
    return parent[segment];
}

} // namespace

std::string Problem::text() const
{
    std::string out;
    for (const std::string& part : {file, pointer})
        if (!part.empty())
            out += part + ": ";
    return out + (severity == Severity::warning ? "warning: " : "") + message;
}

ScenarioError::ScenarioError(std::vector<Problem> problems) : Error(joined(problems)), m_problems(std::move(problems)) {}

struct ScenarioDocument::Data {
    Json root;
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
    Json root = parseStrict(json, fileName);
    if (!root.is_object())
        throw ScenarioError({{fileName, "", "a scenario is a JSON object: { \"format\": \"rankscope-scenario\", … }"}});
    return ScenarioDocument(std::make_unique<Data>(Data{std::move(root), std::move(fileName)}));
}

ScenarioDocument ScenarioDocument::readFile(const std::filesystem::path& path)
{
    std::string text;
    try {
        text = sim::readFile(path, kMaxFileBytes);
    } catch (const Error& error) {
        // The message begins with the path; the problem has it of its own.
        std::string message = error.what();
        const std::string prefix = path.string() + ": ";
        throw ScenarioError({{path.string(), "", message.starts_with(prefix) ? message.substr(prefix.size()) : message}});
    }
    return parse(text, path.string());
}

void ScenarioDocument::set(std::string_view pointer, std::string_view value)
{
    const auto segments = splitPointer(pointer);
    if (segments.empty())
        throw Error("nothing to set: name a key, such as layout.tp");
    if (pointer.size() + value.size() > kMaxFileBytes || !isUtf8(pointer) || !isUtf8(value))
        throw Error(shortened(std::string(pointer)) + ": what is set must be UTF-8 and at most " + std::to_string(kMaxFileBytes) +
                    " bytes");
    Json parsed;
    try {
        parsed = parseStrict(value, {});
    } catch (const ScenarioError&) {
        parsed = std::string(value); // schedule.kind=1f1b
    }
    if (segments.size() + depthOf(parsed) > kMaxDepth)
        throw Error(shortened(std::string(pointer)) + ": nested more than " + std::to_string(kMaxDepth) + " levels deep");
    Json root = m_data->root; // a pointer that leads nowhere changes nothing
    Json* at = &root;
    std::string path;
    for (const std::string& segment : segments) {
        at = &descend(*at, segment, path);
        path = childPointer(path, segment);
    }
    *at = std::move(parsed);
    m_data->root = std::move(root);
}

void ScenarioDocument::applyOverride(std::string_view assignment)
{
    const std::size_t equals = assignment.find('=');
    if (equals == std::string_view::npos || equals == 0)
        throw Error("\"" + shortened(std::string(assignment)) + "\" sets nothing; write POINTER=VALUE, such as layout.tp=4");
    set(assignment.substr(0, equals), assignment.substr(equals + 1));
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
    const std::string last = std::move(segments.back());
    segments.pop_back();
    auto* parent = const_cast<Json*>(findAt(m_data->root, segments)); // m_data is ours
    std::size_t index = 0;
    if (parent == nullptr)
        return;
    if (parent->is_object())
        parent->erase(last);
    else if (parent->is_array() && isIndex(last, index) && index < parent->size())
        parent->erase(index);
}

ScenarioDocument::Resolved ScenarioDocument::resolve(const Catalogue& catalogue) const
{
    const std::string& file = m_data->fileName;
    Resolved resolved;
    Json root = m_data->root;
    if (!migrate(root, file, resolved.problems))
        return resolved;
    Resolution resolution = resolveScenario(root, file, catalogue.schema().check(root, file), catalogue);
    auto& problems = resolved.problems;
    problems.insert(problems.end(), resolution.problems.begin(), resolution.problems.end());
    validate(resolution, file, problems);
    std::stable_sort(problems.begin(), problems.end(),
                     [](const Problem& a, const Problem& b) { return blockOf(a) < blockOf(b); });
    if (std::none_of(problems.begin(), problems.end(), [](const Problem& p) { return p.severity == Severity::error; }))
        resolved.scenario = std::move(resolution.scenario);
    return resolved;
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

Scenario readScenario(const std::filesystem::path& file, const Catalogue& catalogue, const std::vector<std::string>& overrides,
                      std::vector<Problem>* warnings)
{
    ScenarioDocument document = ScenarioDocument::readFile(file);
    for (const std::string& assignment : overrides)
        document.applyOverride(assignment);
    auto resolved = document.resolve(catalogue);
    if (!resolved.scenario)
        throw ScenarioError(std::move(resolved.problems));
    if (warnings != nullptr)
        *warnings = std::move(resolved.problems);
    return std::move(*resolved.scenario);
}

} // namespace sim
