// torchtitan's registry of models: which sizes a name and a flavour stand for.
#pragma once

#include "sim/scenario/json_text.h"

#include <string>

namespace sim::frameworks {

/// One of the two is there, or neither where the flavour is not known here.
struct TitanFlavour {
    std::string base{}; ///< in the catalogue
    Json numbers = Json::object();
};
/// `isOld`: before the summer of 2025, when the model for tests had more layers.
TitanFlavour titanFlavour(std::string name, std::string flavour, bool isOld);

} // namespace sim::frameworks
