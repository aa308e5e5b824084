#include "sim/lesson/cases.h"

#include "sim/text/characters.h"
#include "sim/text/nearest.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace sim {
namespace {

constexpr std::size_t kMostCases = 64;
constexpr std::size_t kMostKeys = 64; ///< that a case may set

[[noreturn]] void refuse(const ScenarioDocument& document, const std::string& pointer, const std::string& message)
{
    throw ScenarioError({{document.fileName(), pointer, message}});
}

/// Of the scenarios in a folder, those whose name is like one that is not there.
std::string nearestBeside(const std::filesystem::path& folder, const std::string& name)
{
    std::vector<std::string> names;
    std::error_code unread;
    for (const auto& entry : std::filesystem::directory_iterator(folder.empty() ? "." : folder, unread))
        if (entry.path().extension() == ".json")
            names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return std::binary_search(names.begin(), names.end(), name) ? "" : nearestWords(name, names);
}

/// "16-schedule-gpipe" is a file beside this one; no way leads elsewhere.
ScenarioDocument besideFile(const ScenarioDocument& own, const std::string& name, const std::string& pointer)
{
    if (name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != std::string::npos ||
        name.front() == '.')
        refuse(own, pointer, "name a scenario beside this file, such as 16-schedule-gpipe");
    const std::filesystem::path folder = std::filesystem::path(own.fileName()).parent_path();
    try {
        return ScenarioDocument::readFile(folder / (name + ".json"));
    } catch (const Error& error) {
        refuse(own, pointer, error.what() + nearestBeside(folder, name));
    }
}

bool isName(const std::string& name)
{
    constexpr std::array<std::string_view, 5> kTaken = {"and", "or", "not", "true", "false"};
    return !name.empty() && startsName(name.front()) &&
           std::all_of(name.begin(), name.end(), [](char c) { return startsName(c) || isDigit(c); }) &&
           std::find(kTaken.begin(), kTaken.end(), name) == kTaken.end();
}

} // namespace

Cases::Cases(ScenarioDocument own, const LessonValue& cases, const Catalogue& catalogue)
    : m_catalogue(catalogue), m_own(own, catalogue)
{
    if (cases.is_null())
        return;
    if (!cases.is_object() || cases.size() > kMostCases)
        refuse(own, "/cases", "up to " + std::to_string(kMostCases) + " cases are expected, by name");
    for (const auto& [name, given] : cases.items()) {
        const std::string pointer = "/cases/" + name;
        if (!isName(name))
            refuse(own, pointer, "a case's name has letters, digits and _");
        if (!given.is_object())
            refuse(own, pointer, "an object with scenario, from or set is expected");
        ScenarioDocument document = own;
        for (const auto& [key, value] : given.items()) {
            const bool isText = value.is_string();
            if (key == "scenario" && isText && !given.contains("from")) {
                document = besideFile(own, value.get<std::string>(), pointer + "/scenario");
            } else if (key == "from" && isText) {
                const auto earlier = m_cases.find(value.get<std::string>());
                if (earlier == m_cases.end())
                    refuse(own, pointer + "/from", "there is no earlier case \"" + value.get<std::string>() + "\"");
                document = earlier->second.document;
            } else if (key != "set" || !value.is_object() || value.size() > kMostKeys) {
                refuse(own, pointer + "/" + key, "a case has \"scenario\" or \"from\", a name, and \"set\", pointers and values");
            }
        }
        if (given.contains("set"))
            for (const auto& [at, value] : given.at("set").items()) {
                try {
                    if (value.is_null())
                        document.erase(at);
                    else
                        document.set(at, value.dump());
                } catch (const Error& error) {
                    refuse(own, pointer + "/set", error.what());
                }
            }
        m_cases.emplace(name, Case{std::move(document), nullptr});
    }
}

Names::Meaning Cases::find(std::string_view name) const
{
    const auto found = m_cases.find(name);
    if (found == m_cases.end())
        return m_own.find(name);
    if (!found->second.names)
        found->second.names = std::make_unique<ScenarioNames>(found->second.document, m_catalogue);
    return static_cast<const Names*>(found->second.names.get());
}

bool Cases::takesArguments(std::string_view name) const
{
    return m_own.takesArguments(name);
}

Names::Meaning Cases::call(std::string_view name, std::span<const double> arguments) const
{
    return m_own.call(name, arguments);
}

std::vector<std::string> Cases::known() const
{
    std::vector<std::string> names = m_own.known();
    for (const auto& [name, unused] : m_cases)
        names.push_back(name);
    return names;
}

std::vector<std::string> Cases::unused() const
{
    std::vector<std::string> names;
    for (const auto& [name, of] : m_cases)
        if (!of.names)
            names.push_back(name);
    return names;
}

} // namespace sim
