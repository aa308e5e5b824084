// What the schema says of one key: the only source of descriptions, ranges and words for forms and help.
#pragma once

#include "sim/scenario/catalogue.h"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

enum class KeyType { object, list, text, word, boolean, integer, number };

struct KeyFacts {
    KeyType type = KeyType::text; ///< of alternatives: the first
    std::string description;
    std::vector<std::string> words; ///< that a word may be
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    bool lowIsOpen = false; ///< `low` itself is too small
};

/// Of "/layout/tp" or "/cluster/tiers/*/span"; nothing if the schema has no such key.
std::optional<KeyFacts> keyFacts(const Catalogue&, std::string_view pointer);

} // namespace sim
