// What families of Hugging Face's models (model_type of their config.json) have of their own: names, experts.
#pragma once

#include "sim/frameworks/job.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace sim::frameworks {

/// The family of text models that a model_type belongs to: "qwen3_moe" of "qwen3_vl_moe_text".
std::string familyOfType(const std::string& type);
bool isFamily(const std::string& family, std::initializer_list<std::string_view> families);
/// Settings that one family spells in its own way get the others' names.
void useFamilyNames(Reading&, const std::string& family);
/// What the family always has and its configurations do not say, or say harmlessly: told on the type.
void tellFamilyWays(Reading&, const std::string& family);
/// Experts, whose names and defaults differ most.
void readHuggingFaceExperts(Job&, const std::string& family);

} // namespace sim::frameworks
