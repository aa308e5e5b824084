// torchtitan's registry of models: which sizes a name and a flavour stand for; and how it deals layers out over stages.
#pragma once

#include "sim/scenario/json_text.h"

#include <string>
#include <string_view>
#include <vector>

namespace sim::frameworks {

/// One of the two is there, or neither where the flavour is not known here.
struct TitanFlavour {
    std::string base{}; ///< in the catalogue
    Json numbers = Json::object();
};
/// `isOld`: before the summer of 2025, when the model for tests had more layers.
TitanFlavour titanFlavour(std::string name, std::string flavour, bool isOld);

struct TitanName {
    std::string_view name, flavour, base; ///< base: in the catalogue
    bool isGone = false;                  ///< of torchtitan's first year alone
};
/// Null where it has none for an entry of the catalogue.
const TitanName* titanName(std::string_view base);

/// Decoder layers of each stage as generate_llm_fqn_per_model_part (distributed/pipeline_parallel.py) deals them, where embedding
/// and output count as so many layers; it refuses where a count is less than 0.
std::vector<int> titanLayers(int layers, int stages, int first, int last);

} // namespace sim::frameworks
