// From what the author wrote to a scenario with every base and default filled in. Reports what cannot be filled in; rules between
// the values are those of sim/legal.
#pragma once

#include "sim/legal/legal.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Where values came from, so that messages can say which of them nobody wrote.
struct Origins {
    std::set<std::string, std::less<>> given;              ///< pointers in the file
    std::map<std::string, std::string, std::less<>> based; ///< pointer -> catalogue id
    /// "", " (of llama3-405b)" or " (default)".
    std::string of(std::string_view pointer) const;
};

struct Resolution : Provenance {
    Scenario scenario;
    Origins origins;
    std::vector<Problem> problems;
    std::set<std::string, std::less<>> broken; ///< pointers whose value could not be used: rules on them are not looked at
    bool isSound(std::string_view pointer) const override; ///< neither it, nor what holds it, nor what is in it is broken
    bool isGiven(std::string_view pointer) const override { return origins.given.contains(pointer); }
    bool isWritten(std::string_view pointer) const override { return isGiven(pointer); }
    std::string originOf(std::string_view pointer) const override { return origins.of(pointer); }
};

/// `shape`: all that the schema found. Files that the scenario names (actions, a hardware profile) are read beside `file`.
Resolution resolveScenario(const Json& root, const std::string& file, std::vector<Problem> shape, const Catalogue&);

} // namespace sim
