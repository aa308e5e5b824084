// From torchtitan/models/*/__init__.py at 64997d2 (December 2025), and its first year's llama.
#include "sim/frameworks/dialects/torchtitan_flavours.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sim::frameworks {
namespace {

constexpr std::array kInCatalogue = {TitanName{"llama2", "7B", "llama2-7b", true},
                                     TitanName{"llama2", "13B", "llama2-13b", true},
                                     TitanName{"llama2", "70B", "llama2-70b", true},
                                     TitanName{"llama3", "8B", "llama3-8b"},
                                     TitanName{"llama3", "70B", "llama3-70b"},
                                     TitanName{"llama3", "405B", "llama3-405b"},
                                     TitanName{"llama4", "17bx16e", "llama4-scout"},
                                     TitanName{"llama4", "17bx128e", "llama4-maverick"},
                                     TitanName{"deepseek_v3", "16B", "deepseek-v2-lite"},
                                     TitanName{"deepseek_v3", "236B", "deepseek-v2"},
                                     TitanName{"deepseek_v3", "671B", "deepseek-v3"},
                                     TitanName{"qwen3", "0.6B", "qwen3-0.6b"},
                                     TitanName{"qwen3", "8B", "qwen3-8b"},
                                     TitanName{"qwen3", "32B", "qwen3-32b"},
                                     TitanName{"qwen3", "30B-A3B", "qwen3-30b-a3b"},
                                     TitanName{"qwen3", "235B-A22B", "qwen3-235b-a22b"},
                                     TitanName{"gpt_oss", "20b", "gpt-oss-20b"},
                                     TitanName{"gpt_oss", "120b", "gpt-oss-120b"}};

Json dense(int layers, int hidden, int heads, int keyHeads, int ffn, int vocab, int length)
{
    return {{"num_hidden_layers", layers},      {"hidden_size", hidden},    {"num_attention_heads", heads},
            {"num_key_value_heads", keyHeads},  {"intermediate_size", ffn}, {"vocab_size", vocab},
            {"max_position_embeddings", length}};
}

Json qwen3(int layers, int hidden, int heads, int ffn, int vocab, bool isTied)
{
    Json model = dense(layers, hidden, heads, 8, ffn, vocab, 4096);
    model["head_dim"] = 128;
    model["qk_norm"] = true;
    model["rope_theta"] = 1000000;
    model["tie_word_embeddings"] = isTied;
    return model;
}

Json withExperts(Json model, int experts, int chosen, int ffn, int shared)
{
    model["num_experts"] = experts;
    model["num_experts_per_tok"] = chosen;
    model["moe_intermediate_size"] = ffn;
    model["num_shared_experts"] = shared;
    return model;
}

/// Those that the catalogue has not.
Json numbersOf(std::string_view name, std::string_view flavour, bool isOld)
{
    const bool isForTests = flavour == "debugmodel";
    if (name == "qwen3") {
        if (flavour == "1.7B")
            return qwen3(28, 2048, 16, 6144, 151936, true);
        if (flavour == "4B")
            return qwen3(36, 2560, 32, 9728, 151936, true);
        if (flavour == "14B")
            return qwen3(40, 5120, 40, 17408, 151936, false);
        if (isForTests)
            return qwen3(8, 256, 16, 3072, 2048, true);
        if (flavour == "debugmodel_moe")
            return withExperts(qwen3(8, 256, 16, 3072, 2048, false), 64, 8, 768, 0);
    }
    if (!isForTests)
        return Json::object();
    if (name == "deepseek_v3") {
        Json model = withExperts(dense(6, 256, 16, 16, 1024, 2048, 16384), 8, 3, 256, 2);
        model["first_k_dense_replace"] = 1;
        model["kv_lora_rank"] = 512;
        model["qk_nope_head_dim"] = 128;
        model["qk_rope_head_dim"] = 64;
        model["v_head_dim"] = 128;
        return model;
    }
    if (name == "gpt_oss") {
        Json model = withExperts(dense(4, 256, 64, 8, 2880, 201088, 131072), 8, 4, 2880, 0);
        model["head_dim"] = 64;
        model["sliding_window"] = 128;
        model["sliding_window_pattern"] = 2;
        model["attention_sinks"] = true;
        return model;
    }
    Json model = dense(isOld ? 8 : 6, 256, 16, 16, 768, 2048, 8192);
    if (name == "llama4") { // each second layer of experts that share the width of a dense one
        model = withExperts(std::move(model), 8, 1, 512, 1);
        model["first_k_dense_replace"] = 1;
        model["moe_layer_freq"] = 2;
        model["scoring_func"] = "sigmoid";
    }
    return model;
}

} // namespace

TitanFlavour titanFlavour(std::string name, std::string flavour, bool isOld)
{
    for (const std::string_view kernel : {"_flex_attn", "_flex", "_varlen_attn", "_irope"}) // how attention is computed
        if (flavour.ends_with(kernel))
            flavour.erase(flavour.size() - kernel.size());
    for (const std::string_view known : {"llama2", "llama3", "llama4", "deepseek_v3", "qwen3", "gpt_oss"}) // llama3_simple_fsdp
        if (name.find(known) != std::string::npos)
            name = known;
    if (name == "llama") // spring 2024
        name = "llama2";
    for (const TitanName& one : kInCatalogue)
        if (one.name == name && one.flavour == flavour)
            return {.base = std::string(one.base)};
    if (name == "flux" || name.find("vlm") != std::string::npos)
        return {};
    return {.numbers = numbersOf(name, flavour, isOld)};
}

const TitanName* titanName(std::string_view base)
{
    const auto found =
        std::find_if(kInCatalogue.begin(), kInCatalogue.end(), [base](const TitanName& one) { return one.base == base; });
    return found == kInCatalogue.end() ? nullptr : &*found;
}

std::vector<int> titanLayers(int layers, int stages, int first, int last)
{
    const int units = layers + first + last;
    std::vector<int> counts;
    for (int stage = 0; stage < stages; ++stage)
        counts.push_back(units / stages + (stage < units % stages ? 1 : 0) - (stage == 0 ? first : 0) -
                         (stage == stages - 1 ? last : 0));
    return counts;
}

} // namespace sim::frameworks
