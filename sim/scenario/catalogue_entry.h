// One file of the catalogue. Private to this folder.
#pragma once

#include "sim/scenario/json_text.h"
#include "sim/scenario/schema.h"

#include <string>
#include <string_view>

namespace sim {

struct CatalogueEntry {
    std::string family; ///< entries of one are neighbours
    double size = 0;    ///< orders them; only the ratio matters
    std::string name;   ///< for people; empty if it has none
    Json json;          ///< the object, without the keys that only a catalogue has
};

/// `definition`: what an entry of this kind is in the schema ("model", "gpu", "cluster"). Throws ScenarioError with every
/// problem.
CatalogueEntry readCatalogueEntry(std::string_view text, const std::string& file, const Schema&, std::string_view definition);

} // namespace sim
