// Keys of a config.json that no scenario says.
#pragma once

#include "live/huggingface/model_class.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace live::huggingface {

/// The keys that make the model another one than the class without them, each in words; empty: there are none.
std::vector<std::string> foreignMathematics(const nlohmann::json& config, ModelClass);

/// What is written for a model that was read with this config.json: all its keys, those that no scenario knows too, but what the
/// files that are written say otherwise. `ours`: as for one that was not read.
nlohmann::ordered_json keptConfig(const nlohmann::ordered_json& read, const nlohmann::ordered_json& ours);

} // namespace live::huggingface
