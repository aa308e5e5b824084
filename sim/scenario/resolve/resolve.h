// From what the author wrote to a scenario with every base and default filled in. Reports what cannot be filled in; rules between
// the values are those of sim/legal.
#pragma once

#include "sim/legal/legal.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// A block of the file that lies over an entry of the catalogue.
struct Based {
    std::string pointer; ///< "/cluster/gpu"
    const Json* entry;
    std::string id;
};

/// Where values came from, so that messages can say which of them nobody wrote, is looked up in what was read: hardly anybody
/// asks.
struct Resolution : Provenance {
    explicit Resolution(const Json& root) : file(&root) {}
    Scenario scenario;
    const Json* file;
    std::vector<Based> based;
    std::vector<Problem> problems;
    std::set<std::string, std::less<>> broken; ///< pointers whose value could not be used: rules on them are not looked at
    bool isSound(std::string_view pointer) const override; ///< neither it, nor what holds it, nor what is in it is broken
    /// Shape problems inside an object break its keys one by one; inside a list they break the list.
    bool isUsable(std::string_view pointer, const Json& value) const;
    bool isGiven(std::string_view pointer) const override;
    bool isWritten(std::string_view pointer) const override { return isGiven(pointer); }
    /// "", " (of llama3-405b)" or " (default)".
    std::string originOf(std::string_view pointer) const override;
};

/// `root` and the catalogue must outlive what comes back. `shape`: all that the schema found. Files that the scenario names
/// (actions, a hardware profile) are read beside `file`.
Resolution resolveScenario(const Json& root, const std::string& file, std::vector<Problem> shape, const Catalogue&);

} // namespace sim
