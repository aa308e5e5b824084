// Which keys of two scenarios differ.
#pragma once

#include "sim/scenario/scenario.h"

#include <optional>
#include <string>
#include <vector>

namespace sim {

struct ChangedKey {
    std::string pointer;             ///< "/layout/tp"
    std::optional<std::string> a, b; ///< JSON text; nothing: the key is not there
    bool operator==(const ChangedKey&) const = default;
};

/// Of the scenarios with bases and defaults filled in, in the order of the file. A part under another name or id (a model, a GPU)
/// is one key, and so is a list. What is only told (name, description, source) is left out, and what neither can use: how experts
/// would be cut without any, groups of micro-batches where the schedule deals in none.
std::vector<ChangedKey> changedKeys(const Scenario& a, const Scenario& b);

} // namespace sim
