// Classes of models of Megatron-Bridge (NVIDIA-NeMo/Megatron-Bridge at 067f987, src/megatron/bridge/models) and NeMo 2
// (NVIDIA/NeMo at 8cfedd7, nemo/collections/llm/gpt/model): a family, then perhaps a size, around "ModelProvider" or "Config".
#include "sim/frameworks/dialects/recipe_model.h"

#include "sim/text/characters.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <regex>
#include <span>

namespace sim::frameworks {
namespace {

struct Spelling {
    std::string_view own, name;
};

std::string replacedEnd(std::string text, std::string_view end, std::string_view with)
{
    if (text.ends_with(end))
        text.replace(text.size() - end.size(), end.size(), with);
    return text;
}

/// "1.5b" of "1P5B", "0.5b" of "500M", "235b-a22b" of "235B_A22B".
std::string sizeOfClass(std::string_view text)
{
    std::string size;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool isPoint = text[i] == 'P' && i > 0 && isDigit(text[i - 1]) && i + 1 < text.size() && isDigit(text[i + 1]);
        size += isPoint ? '.' : text[i] == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
    }
    if (size.size() == 4 && size.ends_with("m") && std::all_of(size.begin(), size.end() - 1, isDigit))
        size = "0." + size.substr(0, size.find_last_not_of("0m") + 1) + "b";
    return size;
}

/// Where the part of a class's name begins that says what it is, and where it ends.
std::pair<std::size_t, std::size_t> kindOfClass(std::string_view name)
{
    for (const std::string_view word : {"ModelProvider", "Provider", "ModelConfig", "Config"})
        if (const std::size_t at = name.find(word); at != std::string_view::npos)
            return {at, at + word.size()};
    return {name.size(), name.size()};
}

/// "llama3_8b" and "llama3-70b" as the catalogue has them. Both frameworks mean Llama 3 by that, whose frequencies are not scaled
/// (Bridge, recipes/llama/llama3.py: meta-llama/Meta-Llama-3-8B; NeMo, recipes/llama3_8b.py: Llama3Config8B), and have names with
/// "31" for 3.1, whose entry is the catalogue's "llama3-8b".
std::string nameOfRecipe(const std::string& given)
{
    static const std::regex kLlama30("llama3[_-](8b|70b)", std::regex::icase);
    return std::regex_replace(given, kLlama30, "llama3.0-$1");
}

/// Made of Megatron's own defaults, or of what the file says.
bool isMegatronsOwn(const std::string& family)
{
    return family == "gpt" || family == "gptmodel" || family == "hybrid" || family == "mamba" || family == "mla" ||
           family == "t5";
}

/// Which of the catalogue's is of the family, and near in width.
std::string entryOfFamily(const Catalogue& catalogue, const std::string& family, int hiddenSize)
{
    const auto letters = [](std::string_view text) {
        std::string out;
        for (const char c : text)
            if (isLetter(c) || isDigit(c))
                out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return out;
    };
    const std::string wanted = letters(family);
    std::string best;
    double distance = 1e9;
    for (const Catalogue::Entry& entry : catalogue.models()) {
        if (wanted.size() < 4 || !letters(entry.id).starts_with(wanted))
            continue;
        const int hidden = memberOr<int>(*catalogue.modelJson(entry.id), "hidden_size", 0);
        const double away = hidden > 0 && hiddenSize > 0 ? std::abs(std::log(1.0 * hidden / hiddenSize)) : 1e8;
        if (away < distance) {
            distance = away;
            best = entry.id;
        }
    }
    return best;
}

int sizeIn(const Reading& reading, std::string_view name, int otherwise)
{
    const Json* const value = reading.peek(name);
    return value == nullptr ? otherwise : valueAs<int>(*value).value_or(otherwise);
}

/// "deepseek_v3_pretrain_1024gpu_h100_bf16_config", "llama3_70b": a recipe's name or words.
void putModelByWords(Job& job, const std::vector<std::string>& words)
{
    static const std::regex kSize("([a-z][a-z0-9.]*(?:[_-][a-z0-9.]+){0,3}?[_-]?[0-9]+(?:x[0-9]+)?b(?:[_-]a[0-9]+b)?)");
    static const std::regex kOfModule(
        "([a-z][a-z0-9_]{1,60})\\.(?:pretrain|finetune)_recipe"); // llm.llama31_70b.pretrain_recipe(…)
    static const std::regex kRecipe("([a-z][a-z0-9_.]{1,60}?)_(?:pretrain|sft|peft|finetune)");
    const auto put = [&job](const std::string& name) {
        const std::string id = modelByName(job.catalogue, nameOfRecipe(name));
        if (id.empty())
            return;
        job.model["base"] = id;
        job.reading.addNote(name, Became::used, "a recipe's name: the catalogue's " + id, "/model/base");
    };
    for (const std::string& file : job.fileNames) // deepseek_v3.py
        if (const std::string stem = file.substr(file.find_last_of('/') + 1);
            !job.model.contains("base") &&
            !modelByName(job.catalogue, nameOfRecipe(stem.substr(0, stem.rfind('.'))), WholeName::yes).empty())
            put(stem.substr(0, stem.rfind('.')));
    std::smatch match;
    for (const std::regex* const form : {&kOfModule, &kRecipe})
        for (const std::string& text : words)
            if (!job.model.contains("base") && std::regex_search(text, match, *form))
                put(match[1].str());
    for (const std::string& text : words)
        for (std::sregex_iterator at(text.begin(), text.end(), kSize), end; at != end && !job.model.contains("base"); ++at)
            put((*at)[1].str());
    if (job.model.contains("base"))
        job.reading.addNote("base recipe", Became::unknown,
                            "sizes that a base recipe sets are not in this file: the catalogue's stand for them");
}

/// Something to stand in its place: of the width that buffers of tensor-parallel overlap are named after, or with experts.
std::string standIn(Job& job)
{
    Reading& reading = job.reading;
    if (reading.peek("expert_model_parallel_size") != nullptr)
        job.layout["ep"] = std::clamp(sizeIn(reading, "expert_model_parallel_size", 1), 1, 1 << 12);
    std::string guess = guessedModel(job, 0);
    static const std::regex kHidden("_h([0-9]{3,6})_");
    const Json* const overlap = reading.peek("tp_comm_overlap_cfg");
    const std::string buffers = overlap != nullptr ? shownValue(*overlap).substr(0, 300) : "";
    if (std::smatch match; std::regex_search(buffers, match, kHidden))
        for (const char* id : {"llama3-8b", "llama3-70b", "llama3-405b", "mixtral-8x7b", "mixtral-8x22b", "gpt3-175b"})
            if (const Json* const model = job.catalogue.modelJson(id);
                model != nullptr && memberOr<int>(*model, "hidden_size", 0) == std::stoi(match[1].str()))
                guess = id;
    return guess;
}

std::string familyOf(std::string_view className)
{
    std::string family;
    for (const char c : className.substr(0, kindOfClass(className).first))
        family += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return family;
}

} // namespace

std::string modelNameOfClass(std::string_view className)
{
    static constexpr std::array kFamilies = {Spelling{"gpt", "gpt3"},
                                             Spelling{"llama31", "llama3"},
                                             Spelling{"llama33", "llama3"},
                                             Spelling{"llama32", "llama3.2"},
                                             Spelling{"llama4experts16", "llama4-scout"},
                                             Spelling{"llama4experts128", "llama4-maverick"}};
    std::string family = replacedEnd(familyOf(className), "moe", "");
    const std::string size = sizeOfClass(className.substr(kindOfClass(className).second));
    if (size.empty() && (family == "gpt" || family == "gptmodel"))
        return "gpt";
    for (const Spelling& spelling : kFamilies)
        if (family == spelling.own) {
            family = spelling.name;
            break;
        }
    return size.empty() ? family : family + "-" + size;
}

RecipeModel putRecipeModel(Job& job, const std::vector<std::string>& words)
{
    Reading& reading = job.reading;
    RecipeModel recipe{.hasSizes = reading.peek("hidden_size") != nullptr && reading.peek("num_layers") != nullptr};
    bool isNamed = false;
    if (const auto id = reading.word("hf_model_id", "/model/base"); id && !recipe.hasSizes) {
        isNamed = true;
        putModelByName(job, "hf_model_id", *id);
    }
    const auto className = reading.word("@class", "/model/base");
    if (className && !job.model.contains("base")) {
        const std::string name = modelNameOfClass(*className);
        const std::string family = familyOf(*className);
        const bool isLlama31 = family == "llama31" || family == "llama33"; // names with "31" are those without
        const std::string id = modelByName(job.catalogue, isLlama31 ? name : nameOfRecipe(name), WholeName::yes);
        recipe.isClassKnown = !id.empty();
        if (!id.empty()) {
            reading.say("@class", Became::used, "the catalogue's " + id, "/model/base");
            job.model["base"] = id;
            recipe.ownClass = *className;
        } else if (isMegatronsOwn(family)) {
            reading.say("@class", Became::harmless, "Megatron's own, with the sizes that are given");
        } else {
            isNamed = true;
            recipe.ownClass = *className;
            const std::string near =
                entryOfFamily(job.catalogue, replacedEnd(family, "moe", ""), sizeIn(reading, "hidden_size", 0));
            const std::string guess = near.empty() ? standIn(job) : near;
            job.model["base"] = guess;
            reading.say("@class", Became::unknown,
                        quotedText(*className) + " is not in the catalogue" + modelsNear(job.catalogue, name), "/model/base");
            job.ask("/model", "what " + *className + " sets itself is not in this file: " + guess + " stands in its place" +
                                  (recipe.hasSizes ? " for all but the sizes that are given" : "") +
                                  "; say it with --set model.base=…, or give the model's config.json too");
        }
    }
    if (recipe.hasSizes || job.model.contains("base"))
        return recipe;
    if (!isNamed)
        putModelByWords(job, words);
    if (!job.model.contains("base")) {
        const std::string guess = standIn(job);
        job.model["base"] = guess;
        job.ask("/model", "the model is a base recipe's and not in this file: " + guess +
                              " stands in its place; say it with --set model.base=…");
    }
    return recipe;
}

void takeClassDefaults(Job& job, const RecipeModel& recipe)
{
    if (recipe.ownClass.empty())
        return;
    // Of a model that is not known, sizes that follow from others stay: those of another model would not fit them.
    static constexpr std::array<std::string_view, 9> kKeys = {
        "hidden_act",        "normalization",       "position_embedding", "bias", "tie_word_embeddings", "hidden_dropout",
        "attention_dropout", "num_key_value_heads", "intermediate_size"};
    std::string left;
    for (const std::string_view key : std::span(kKeys).first(recipe.isClassKnown ? kKeys.size() : kKeys.size() - 2)) {
        if (!job.reading.takeDefaults("/model/" + std::string(key)))
            continue;
        job.model.erase(std::string(key));
        if (key == "hidden_act")
            job.model.erase("gated_mlp");
        left += (left.empty() ? "" : ", ") + std::string(key);
    }
    if (!left.empty())
        job.reading.addNote("@class", recipe.isClassKnown ? Became::byDefault : Became::unknown,
                            "sets itself what this file does not say (" + left + "): as " +
                                memberOr<std::string>(job.model, "base", "") + " has it",
                            "/model/base");
}

} // namespace sim::frameworks
