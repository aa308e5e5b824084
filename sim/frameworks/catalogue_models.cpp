#include "sim/frameworks/catalogue_models.h"

#include "sim/text/characters.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace sim::frameworks {
namespace {

constexpr std::array<std::string_view, 4> kOtherInputs = {"vl", "vision", "omni", "audio"};

/// Names of models that have another's sizes: letters and digits as `plainModelName` has them at the beginning. Words in
/// between come first, as Qwen2.5-Coder's.
struct SameSizes {
    std::string_view name, as;
};
constexpr std::array kSameSizes = {
    // Qwen2 kept its sizes as Qwen2.5, whose coders and mathematicians have them, too
    SameSizes{"qwen25coder", "qwen25"}, SameSizes{"qwen25math", "qwen25"}, SameSizes{"qwen3coder30b", "qwen330b"},
    SameSizes{"qwen205b", "qwen2505b"}, SameSizes{"qwen215b", "qwen2515b"}, SameSizes{"qwen27b", "qwen257b"},
    SameSizes{"qwen272b", "qwen2572b"}, SameSizes{"qwq32b", "qwen2532b"},
    // DeepSeek-R1 and what was distilled from it; that of 1.5B has a head of its own
    SameSizes{"deepseekr1distillqwen7b", "qwen257b"}, SameSizes{"deepseekr1distillqwen14b", "qwen2514b"},
    SameSizes{"deepseekr1distillqwen32b", "qwen2532b"}, SameSizes{"deepseekr1distillllama8b", "llama38b"},
    SameSizes{"deepseekr1distillllama70b", "llama370b"}, SameSizes{"deepseekr10528qwen38b", "qwen38b"},
    SameSizes{"deepseekr10528", "deepseekv3"}, SameSizes{"deepseekr1zero", "deepseekv3"},
    // tuned by others
    SameSizes{"llama7b", "llama27b"}, SameSizes{"llama13b", "llama213b"}, SameSizes{"vicuna7b", "llama27b"},
    SameSizes{"vicuna13b", "llama213b"}, SameSizes{"zephyr7bgemma", "gemma7b"}, SameSizes{"zephyr7b", "mistral7b"},
    SameSizes{"phi35mini", "phi3mini"}, SameSizes{"mistral7binstructv03", "mistral7bv03"},
    SameSizes{"internlm257b", "internlm27b"}, SameSizes{"tinyllamav11", "tinyllama11b"}};

/// Whether Llama 3 is meant, and not 3.1, whose frequencies are scaled: Hugging Face's Meta-Llama-3-8B and what was made of it,
/// with a mark between the words. "llama3-8b" is the catalogue's name of 3.1. `name`: small letters and marks.
bool isLlama30(std::string_view name)
{
    for (const std::string_view part : {"llama-3-8b", "llama-3-70b", "llama_3_8b", "llama_3_70b", "llama-3_8b", "llama-3_70b"})
        if (name.find(part) != std::string_view::npos)
            return true;
    return false;
}

/// Letters and digits, small; versions and endings of Llama's and others' names made one.
std::string plainModelName(std::string_view given)
{
    std::string name, marked;
    const std::size_t slash = given.rfind('/');
    for (const char c : slash == std::string_view::npos ? given : given.substr(slash + 1)) {
        marked += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (isLetter(c) || isDigit(c))
            name += marked.back();
    }
    const auto replaceStart = [&name](std::string_view from, std::string_view to) {
        if (name.starts_with(from))
            name = std::string(to) + name.substr(from.size());
    };
    replaceStart("metallama", "llama");
    for (const char* version : {"llama318b", "llama3170b", "llama31405b", "llama3370b"})
        replaceStart(version, "llama3" + std::string(version).substr(7));
    if (name.starts_with("llama3370b"))
        name = "llama370b";
    if (name == "deepseekr1")
        name = "deepseekv3";
    for (const SameSizes& one : kSameSizes)
        replaceStart(one.name, one.as);
    if (const std::size_t at = name.find("llama3"); isLlama30(marked) && at != std::string::npos)
        name.insert(at + std::string_view("llama3").size(), "0"); // as the catalogue's llama3.0-8b
    return name;
}

/// Whether another model's name goes on behind the part that is one of the catalogue's: "DeepSeek-V3.2", "Qwen3-8B-VL"; not
/// behind "-Instruct" or a date. `rest`: letters and digits behind it.
bool namesAnother(std::string_view given, std::size_t rest)
{
    std::size_t at = given.size();
    for (; at > 0 && rest > 0; --at)
        rest -= isLetter(given[at - 1]) || isDigit(given[at - 1]) ? 1 : 0;
    const std::string_view tail = given.substr(at);
    std::string small;
    for (const char c : tail)
        small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool isVersion = !tail.empty() && at > 0 && isDigit(tail.front()) &&
                           (isDigit(given[at - 1]) || (given[at - 1] == '.' && at > 1 && isDigit(given[at - 2])));
    return isVersion || std::any_of(std::begin(kOtherInputs), std::end(kOtherInputs),
                                    [&](std::string_view word) { return small.find(word) != std::string::npos; });
}

/// Names of models of images whose text tower has another name than what is left without "VL".
constexpr std::array kTextTowers = {
    SameSizes{"qwen2vl2b", "qwen2.5-1.5b"},   SameSizes{"qwen3vl2b", "qwen3-1.7b"},     SameSizes{"llava157b", "llama2-7b"},
    SameSizes{"llavav157b", "llama2-7b"},     SameSizes{"llava1513b", "llama2-13b"},    SameSizes{"llavav1513b", "llama2-13b"},
    SameSizes{"internvl31b", "qwen2.5-0.5b"}, SameSizes{"internvl32b", "qwen2.5-1.5b"}, SameSizes{"internvl38b", "qwen2.5-7b"},
    SameSizes{"internvl314b", "qwen2.5-14b"}, SameSizes{"internvl338b", "qwen2.5-32b"}, SameSizes{"internvl378b", "qwen2.5-72b"}};

/// The catalogue's model that reads text beside an encoder of images: "Qwen2.5-VL-7B-Instruct" is Qwen2.5 7B with one. Empty: not
/// known to be any.
std::string textTowerByName(const Catalogue& catalogue, const std::string& name)
{
    const std::string plain = plainModelName(name);
    for (const SameSizes& one : kTextTowers)
        if (plain.starts_with(one.name))
            return std::string(one.as);
    std::string small = name.substr(name.rfind('/') + 1);
    std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (std::size_t at = small.find("vl"); at != std::string::npos; at = small.find("vl", at + 1)) {
        const bool isWord = at > 0 && (small[at - 1] == '-' || small[at - 1] == '_') &&
                            (at + 2 == small.size() || small[at + 2] == '-' || small[at + 2] == '_');
        if (isWord && small.starts_with("qwen"))
            return modelByName(catalogue, small.substr(0, at - 1) + small.substr(at + 2));
    }
    return {};
}

/// A size of a model; where it is not written, what follows from others.
int impliedSize(const Json& model, const std::string& key)
{
    const int written = numberIn(model, key);
    if (key == "num_experts")
        return std::max(1, written); // one is a dense layer
    if (written == 0 && key == "num_key_value_heads")
        return numberIn(model, "num_attention_heads");
    return written == 0 && key == "intermediate_size" ? 4 * std::min(numberIn(model, "hidden_size"), 1 << 26) : written;
}

} // namespace

std::string modelByName(const Catalogue& catalogue, std::string_view name, WholeName whole)
{
    const std::string plain = plainModelName(name);
    std::string best;
    std::size_t length = 0;
    for (const Catalogue::Entry& entry : catalogue.models()) {
        const std::string id = plainModelName(entry.id);
        if (entry.id.starts_with("tiny-")) { // the catalogue's own, for tests: TinyLlama is another
            if (name == entry.id)
                return entry.id;
            continue;
        }
        if (plain == id)
            return entry.id;
        if (whole == WholeName::no && id.size() > length && id.size() >= 6 && plain.find(id) != std::string::npos &&
            !namesAnother(name, plain.size() - plain.find(id) - id.size())) {
            best = entry.id;
            length = id.size();
        }
    }
    return best;
}

std::vector<std::string> modelsBySizes(const Catalogue& catalogue, const Json& sizes)
{
    std::vector<std::string> all;
    for (const Catalogue::Entry& entry : catalogue.models()) {
        const Json* const model = catalogue.modelJson(entry.id);
        bool matches = model != nullptr;
        for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size",
                                "num_key_value_heads", "num_experts"})
            matches = matches && impliedSize(*model, key) == impliedSize(sizes, key);
        if (matches)
            all.push_back(entry.id);
    }
    std::stable_partition(all.begin(), all.end(), [](const std::string& id) { return id.starts_with("llama"); });
    constexpr const char* kTheta = "rope_theta"; // tells Llama 2 and 3 apart
    if (const double theta = memberOr<double>(sizes, kTheta, 0); theta > 0)
        std::stable_partition(all.begin(), all.end(), [&](const std::string& id) {
            return memberOr<double>(*catalogue.modelJson(id), kTheta, 10000) == theta;
        });
    return all;
}

std::string nearestModel(const Catalogue& catalogue, int hiddenSize, const std::string& position)
{
    std::string best = "llama3-8b";
    double distance = 1e9;
    for (const Catalogue::Entry& entry : catalogue.models()) {
        const int hidden = numberIn(*catalogue.modelJson(entry.id), "hidden_size");
        if (hidden == 0 || hiddenSize <= 0 ||
            (!position.empty() &&
             memberOr<std::string>(*catalogue.modelJson(entry.id), "position_embedding", "rope") != position))
            continue;
        const double away = std::abs(std::log(static_cast<double>(hidden) / hiddenSize));
        if (away < distance) {
            distance = away;
            best = entry.id;
        }
    }
    return best;
}

std::string guessedModel(const Job& job, int hiddenSize)
{
    // Experts that are laid out over ranks want a model that has as many.
    if (const int ep = memberOr<int>(job.layout, "ep", 1); ep > 1)
        for (const char* id : {"mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3", "kimi-k2"})
            if (const Json* const model = job.catalogue.modelJson(id);
                model != nullptr && numberIn(*model, "num_experts") > 0 && numberIn(*model, "num_experts") % ep == 0)
                return id;
    return hiddenSize > 0 ? nearestModel(job.catalogue, hiddenSize) : std::string("llama3-8b");
}

std::string modelsNear(const Catalogue& catalogue, const std::string& name)
{
    // Those that share the most letters at the beginning.
    const std::string plain = plainModelName(name);
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const Catalogue::Entry& entry : catalogue.models()) {
        const std::string id = plainModelName(entry.id);
        const auto [a, b] = std::mismatch(id.begin(), id.end(), plain.begin(), plain.end());
        found.emplace_back(static_cast<std::size_t>(a - id.begin()), entry.id);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr std::size_t kLettersAlike = 3; // fewer are chance
    std::string text;
    for (std::size_t i = 0; i < found.size() && i < 3 && found[i].first >= kLettersAlike; ++i)
        text += (i > 0 ? ", " : "; nearest: ") + found[i].second;
    return text;
}

void putModelByName(Job& job, std::string_view setting, const std::string& name)
{
    const std::string id = modelByName(job.catalogue, name);
    if (!id.empty()) {
        job.model["base"] = id;
        job.reading.say(setting, Became::used, "the catalogue's " + id, "/model/base");
        return;
    }
    if (const std::string tower = textTowerByName(job.catalogue, name); !tower.empty()) {
        job.model["base"] = tower;
        job.reading.say(
            setting, Became::notRepresentable,
            "reads images, which has no key: the catalogue's " + tower +
                ", its text tower, is imported; the encoder's parameters and passes are not counted, and the tokens of "
                "images only as far as the sequence length has them",
            "/model/base");
        return;
    }
    job.reading.say(setting, Became::unknown,
                    quotedText(name) + " is not in the catalogue" + modelsNear(job.catalogue, name) +
                        " (--set model.base=…, or give its config.json too)",
                    "/model/base");
}

} // namespace sim::frameworks
