// The gallery's files, read and simulated, for tests of what must hold on all of them. Wants RANKSCOPE_SOURCE_DIR.
#pragma once

#include "sim/scenario/document.h"
#include "sim/simulation.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

inline const sim::Catalogue& catalogue()
{
    static const sim::Catalogue loaded = sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets");
    return loaded;
}

inline std::vector<std::filesystem::path> galleryFiles()
{
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios"))
        if (entry.path().extension() == ".json")
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

/// A file and the step it describes.
struct Opened {
    sim::ScenarioDocument document;
    std::shared_ptr<const sim::Simulation> simulation;
};

/// `overrides` as of --set.
inline Opened open(const std::filesystem::path& file, const std::vector<std::string>& overrides = {})
{
    auto document = sim::ScenarioDocument::readFile(file);
    for (const std::string& assignment : overrides)
        document.applyOverride(assignment);
    const auto resolved = document.resolve(catalogue());
    if (!resolved.scenario)
        throw std::runtime_error(file.string() + ": " + resolved.problems.front().text());
    return {std::move(document), sim::simulate(*resolved.scenario)};
}

/// By the number that its name begins with: "42".
inline Opened openNumber(const std::string& number, const std::vector<std::string>& overrides = {})
{
    for (const auto& file : galleryFiles())
        if (file.filename().string().starts_with(number + "-"))
            return open(file, overrides);
    throw std::runtime_error("no file " + number);
}

} // namespace test
