// The gallery's files, read and simulated, for tests of what must hold on all of them. Wants RANKSCOPE_SOURCE_DIR.
#pragma once

#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

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
