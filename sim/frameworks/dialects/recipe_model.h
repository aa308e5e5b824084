// Which model a recipe trains: by the id that it is loaded from, the class that makes it, or the recipe's own name.
#pragma once

#include "sim/frameworks/job.h"

#include <string>
#include <string_view>
#include <vector>

namespace sim::frameworks {

struct RecipeModel {
    bool hasSizes = false;     ///< layers and width stand in the file
    std::string ownClass{};    ///< of which what it does not say are defaults that the file does not hold; else empty
    bool isClassKnown = false; ///< the catalogue has this very model
};
/// `words`: comments and names that may name the model. Asks for it where nothing does, with an entry in its place.
RecipeModel putRecipeModel(Job&, const std::vector<std::string>& words);
/// After the file's own settings: what a class of its own sets is the catalogue entry's, not Megatron's default.
void takeClassDefaults(Job&, const RecipeModel&);
/// "qwen3-235b-a22b" of "Qwen3MoEModelProvider235B_A22B"; "gpt" of "GPTModelProvider".
std::string modelNameOfClass(std::string_view className);

} // namespace sim::frameworks
