// Which of Hugging Face's model classes a scenario's model is, and what its config.json says.
#pragma once

#include "sim/scenario/scenario.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace live::huggingface {

enum class ModelClass : std::uint8_t { llama, mistral, qwen2, qwen3, mixtral, qwen3Moe, deepseekV3, gpt2 };
inline constexpr std::array kModelClasses = {ModelClass::llama,   ModelClass::mistral,  ModelClass::qwen2,      ModelClass::qwen3,
                                             ModelClass::mixtral, ModelClass::qwen3Moe, ModelClass::deepseekV3, ModelClass::gpt2};
const char* architectureOf(ModelClass); ///< "LlamaForCausalLM"

/// The class that holds the model. Throws sim::Error with what none of them has.
ModelClass classOf(const sim::Model&);
/// Of a config.json. Throws sim::Error: none that is known.
ModelClass classOf(const nlohmann::json& config);

/// What a config.json says of the model, with its class.
nlohmann::ordered_json configOf(const sim::Scenario&, ModelClass);
/// What the config.json says otherwise than the scenario, or what the class has not, each in words; empty: the same model.
std::vector<std::string> differences(const nlohmann::json& config, const sim::Scenario&, ModelClass);

} // namespace live::huggingface
