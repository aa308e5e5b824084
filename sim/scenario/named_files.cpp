#include "sim/scenario/named_files.h"

#include "sim/scenario/files.h"
#include "sim/scenario/hardware_profile.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/profile_file.h"
#include "sim/text/quoted.h"

#include <optional>
#include <system_error>
#include <utility>

namespace sim {
namespace {

namespace fs = std::filesystem;

constexpr const char *kEfficiency = "/cluster/efficiency", *kActions = "/schedule/actions", *kData = "/live/data";

std::optional<std::string> textAt(const ScenarioDocument& document, const char* pointer)
{
    const auto json = document.get(pointer);
    return json ? valueAs<std::string>(Json::parse(*json)) : std::nullopt;
}

std::optional<std::string> namedProfile(const ScenarioDocument& document, const Catalogue& catalogue)
{
    auto name = textAt(document, kEfficiency);
    return name && catalogue.gpuJson(*name) == nullptr ? name : std::nullopt;
}

std::optional<std::string> namedActions(const ScenarioDocument& document)
{
    auto name = textAt(document, kActions);
    return name && namesFileOfActions(*name) ? name : std::nullopt;
}

void setText(ScenarioDocument& document, const char* pointer, const std::string& text)
{
    document.set(pointer, Json(text).dump());
}

/// Nothing where the name is as good from there, or leads to no file.
std::optional<std::string> nameFrom(const fs::path& newFile, const std::string& oldFile, const std::string& name)
{
    if (fs::path(name).is_absolute())
        return std::nullopt;
    std::error_code error;
    const fs::path target = fs::weakly_canonical(fs::absolute(pathBeside(oldFile, name)), error);
    if (error || !fs::exists(target, error))
        return std::nullopt;
    const fs::path folder = fs::weakly_canonical(fs::absolute(newFile).parent_path(), error);
    if (error || fs::weakly_canonical(folder / name, error) == target)
        return std::nullopt;
    const fs::path relative = target.lexically_relative(folder);
    if (relative.empty())
        return target.generic_string();
    return (relative.has_parent_path() ? relative : fs::path(".") / relative).generic_string(); // never an id of the catalogue
}

} // namespace

bool namesFileOfActions(const std::string& text)
{
    return text.find_first_of(",\n") == std::string::npos && text.find_first_of("./") != std::string::npos;
}

fs::path pathBeside(const std::string& scenarioFile, const std::string& name)
{
    return fs::path(scenarioFile).parent_path() / name;
}

std::optional<fs::path> placeOfData(const std::string& scenarioFile, const std::string& name)
{
    if (name == "builtin")
        return std::nullopt;
    for (const fs::path& path : {pathBeside(scenarioFile, name), fs::path(name)}) {
        std::error_code error;
        if (const fs::file_status status = fs::status(path, error); !fs::exists(status) || fs::is_directory(status))
            continue;
        const fs::path whole = fs::absolute(path, error), tidy = whole.lexically_normal();
        if (!error)
            return fs::equivalent(tidy, whole, error) ? tidy : whole; // ".." behind a link leads elsewhere
    }
    return std::nullopt;
}

std::vector<fs::path> filesOf(const ScenarioDocument& document, const Catalogue& catalogue)
{
    std::vector<fs::path> files{document.fileName()};
    for (const std::optional<std::string>& name : {namedProfile(document, catalogue), namedActions(document)})
        if (name)
            files.push_back(pathBeside(document.fileName(), *name));
    if (const auto name = textAt(document, kData))
        if (auto place = placeOfData(document.fileName(), *name))
            files.push_back(std::move(*place));
    return files;
}

void keepInputs(const std::vector<fs::path>& inputs, const std::string& out)
{
    for (const fs::path& in : inputs)
        if (std::error_code none; fs::equivalent(in, out, none))
            throw Error(shownPlace(out) + ": is a file that was read: write to another name");
}

ScenarioDocument withFilesInside(const ScenarioDocument& document, const Catalogue& catalogue)
{
    ScenarioDocument out = document;
    const auto take = [&](const std::optional<std::string>& name, std::size_t mostBytes, const auto& use) {
        try {
            if (name)
                use(*name, readFile(pathBeside(document.fileName(), *name), mostBytes));
        } catch (const Error&) { // whoever reads it is told as its author is
        }
    };
    take(namedProfile(document, catalogue), kMostProfileBytes, [&](const std::string& name, const std::string& text) {
        Json profile = catalogue.profile(text, name)->json;
        if (profile.is_object() && !profile.contains("id"))
            profile["id"] = name;
        out.set(kEfficiency, profile.dump());
    });
    take(namedActions(document), kMaxFileBytes,
         [&](const std::string&, const std::string& text) { setText(out, kActions, text); });
    return out;
}

ScenarioDocument movedTo(const fs::path& file, const ScenarioDocument& document, const Catalogue& catalogue)
{
    ScenarioDocument out = document;
    if (const auto name = namedProfile(document, catalogue))
        if (const auto moved = nameFrom(file, document.fileName(), *name))
            setText(out, kEfficiency, *moved);
    if (const auto name = textAt(document, kData); name && *name != "builtin")
        if (const auto moved = nameFrom(file, document.fileName(), *name))
            setText(out, kData, *moved);
    if (const auto name = namedActions(document))
        if (const auto moved = nameFrom(file, document.fileName(), *name)) {
            if (namesFileOfActions(*moved))
                setText(out, kActions, *moved);
            else // with a comma in the way there it would be read as actions
                setText(out, kActions, readFile(pathBeside(document.fileName(), *name), kMaxFileBytes));
        }
    out.setFileName(file.string());
    return out;
}

} // namespace sim
