#include "sim/text/spoken_name.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace sim {
namespace {

using Word = std::pair<std::string_view, std::string_view>;

constexpr std::array<Word, 11> kParts{{{"attn", "attention"},
                                       {"mlp", "MLP"},
                                       {"moe", "experts"},
                                       {"shared", "shared expert"},
                                       {"head", "output head"},
                                       {"mtp", "multi-token prediction"},
                                       {"embed", "embedding"},
                                       {"grad", "gradient"},
                                       {"param", "parameter"},
                                       {"loss", "loss"},
                                       {"receive", "received activations"}}};
/// What reads badly with a space for the underscore.
constexpr std::array<Word, 30> kDetails{{{"qkv", "QKV"},
                                         {"q", "Q"},
                                         {"q_up", "Q up"},
                                         {"q_down", "Q down"},
                                         {"q_norm", "Q norm"},
                                         {"qk_norm", "QK norm"},
                                         {"kv_up", "KV up"},
                                         {"kv_down", "KV down"},
                                         {"kv_norm", "KV norm"},
                                         {"rope", "RoPE"},
                                         {"out", "output"},
                                         {"act", "activation function"},
                                         {"reduce", "reduction"},
                                         {"gather", "gathering"},
                                         {"regather", "gathering again"},
                                         {"q_gather", "Q gathering"},
                                         {"q_regather", "Q gathering again"},
                                         {"kv_gather", "KV gathering"},
                                         {"kv_regather", "KV gathering again"},
                                         {"k_rope_gather", "gathering of rotated keys"},
                                         {"lora_dropout", "LoRA dropout"},
                                         {"lora_a", "LoRA A"},
                                         {"lora_b", "LoRA B"},
                                         {"lora_add", "LoRA sum"},
                                         {"lora_gather", "LoRA gathering"},
                                         {"lora_reduce", "LoRA reduction"},
                                         {"lora_output", "LoRA output"},
                                         {"embed", "embedding"},
                                         {"sync", "agreement"},
                                         {"concat", "concatenation"}}};
constexpr std::array<Word, 3> kPasses{{{"dgrad", "input gradient"}, {"wgrad", "weight gradient"}, {"backward", "backward"}}};
constexpr std::array<Word, 7> kModules{{{"core_attn", "core attention"},
                                        {"moe_act", "activation functions of experts"},
                                        {"layernorm", "norms"},
                                        {"mla_up_proj", "up-projections of latent attention"},
                                        {"mlp", "MLP"},
                                        {"moe", "experts"},
                                        {"operators", "every other product"}}};
constexpr std::array<Word, 8> kGroups{{{"embd", "tied embedding"},
                                       {"pos_embd", "position embedding"},
                                       {"dp_replicate", "dp replicas"},
                                       {"expt_dp", "expert dp"},
                                       {"expt_replicate", "expert dp replicas"},
                                       {"expt_tp", "expert tp"},
                                       {"mp", "model copy"},
                                       {"copies", "model copies"}}};
constexpr std::array<Word, 5> kGroupSymbols{
    {{"embd", "emb"}, {"dp_replicate", "rep"}, {"expt_dp", "edp"}, {"expt_replicate", "erep"}, {"expt_tp", "etp"}}};
constexpr std::array<Word, 7> kNetworks{{{"nvlink", "NVLink"},
                                         {"memory", "shared memory"}, // of a host whose processes are the ranks
                                         {"infiniband", "InfiniBand"},
                                         {"roce", "RoCE"},
                                         {"pcie", "PCIe"},
                                         {"slingshot", "Slingshot"},
                                         {"xgmi", "xGMI"}}};

const std::string_view* wordOf(std::span<const Word> words, std::string_view name)
{
    const auto found = std::find_if(words.begin(), words.end(), [name](const Word& word) { return word.first == name; });
    return found == words.end() ? nullptr : &found->second;
}

std::string replaced(std::string_view text, char what, std::string_view instead)
{
    std::string out;
    for (const char c : text)
        out += c == what ? std::string(instead) : std::string(1, c);
    return out;
}

} // namespace

std::string spokenPass(std::string_view name)
{
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    const bool isPass =
        digits > 0 && digits + 1 == name.size() && std::string_view("FBIW").find(name.back()) != std::string_view::npos;
    return isPass ? std::string(1, name.back()) + " of stage " + std::string(name.substr(0, digits)) : std::string(name);
}

std::string spokenOp(std::string_view name)
{
    const std::size_t dot = name.find('.');
    const std::string_view* const part = wordOf(kParts, name.substr(0, dot));
    if (dot == std::string_view::npos || part == nullptr)
        return spokenPass(name);
    std::string out(*part);
    for (std::string_view rest = name.substr(dot + 1); !rest.empty();) {
        const std::string_view next = rest.substr(0, rest.find('.'));
        rest.remove_prefix(std::min(rest.size(), next.size() + 1));
        if (const std::string_view* const pass = wordOf(kPasses, next))
            out += (*pass == "backward" ? " " : ", ") + std::string(*pass);
        else if (const std::string_view* const detail = wordOf(kDetails, next))
            out += " " + std::string(*detail);
        else
            out += " " + replaced(next, '_', " ");
    }
    return out;
}

std::string spokenModule(std::string_view name)
{
    const std::string_view* const word = wordOf(kModules, name);
    return word != nullptr ? std::string(*word) : replaced(name, '_', " ");
}

std::string spokenGroup(std::string_view name)
{
    const std::string_view* const word = wordOf(kGroups, name);
    return word != nullptr ? std::string(*word) : replaced(name, '_', " × ");
}

std::string symbolOfGroup(std::string_view name)
{
    const std::string_view* const word = wordOf(kGroupSymbols, name);
    return word != nullptr ? std::string(*word) : replaced(name, '_', "");
}

std::string spokenNetwork(std::string_view name)
{
    const std::string_view* const word = wordOf(kNetworks, name);
    return std::string(word != nullptr ? *word : name);
}

} // namespace sim
