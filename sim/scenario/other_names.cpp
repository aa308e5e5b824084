#include "sim/scenario/other_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

namespace sim {
namespace {

struct OtherName {
    std::string_view word; ///< in lower case, without "-" and "_"
    std::string_view own;
};

// Megatron-LM's arguments.py, DeepSpeed's and torchtitan's configurations, Hugging Face's config.json, and what people say.
constexpr std::array kKeys = {OtherName{"seqlen", "training.sequence_length"},
                              OtherName{"seqlength", "training.sequence_length"},
                              OtherName{"contextlength", "training.sequence_length"},
                              OtherName{"mbs", "training.micro_batch_size"},
                              OtherName{"microbatch", "training.micro_batch_size"},
                              OtherName{"globalbatchtokens", "training.global_batch_size, which counts sequences"},
                              OtherName{"globalbatchsizetokens", "training.global_batch_size, which counts sequences"},
                              OtherName{"batchtokens", "training.global_batch_size, which counts sequences"},
                              OtherName{"batchsizetokens", "training.global_batch_size, which counts sequences"},
                              OtherName{"tokensperbatch", "training.global_batch_size, which counts sequences"},
                              OtherName{"tokensperstep", "training.global_batch_size, which counts sequences"},
                              OtherName{"numtokenspertrainstep", "training.global_batch_size, which counts sequences"},
                              OtherName{"gbs", "training.global_batch_size"},
                              OtherName{"batch", "training.global_batch_size"},
                              OtherName{"batchsize", "training.global_batch_size"},
                              OtherName{"globalbatch", "training.global_batch_size"},
                              OtherName{"dtype", "training.precision"},
                              OtherName{"bf16", "training.precision"},
                              OtherName{"fp16", "training.precision"},
                              OtherName{"fp8", "training.precision"},
                              OtherName{"activationcheckpointing", "training.recompute"},
                              OtherName{"activationcheckpoint", "training.recompute"},
                              OtherName{"gradientcheckpointing", "training.recompute"},
                              OtherName{"checkpointing", "training.recompute"},
                              OtherName{"ac", "training.recompute"},
                              OtherName{"tensorparallel", "layout.tp"},
                              OtherName{"tensormodelparallelsize", "layout.tp"},
                              OtherName{"pipelineparallel", "layout.pp"},
                              OtherName{"pipelinemodelparallelsize", "layout.pp"},
                              OtherName{"contextparallel", "layout.cp"},
                              OtherName{"contextparallelsize", "layout.cp"},
                              OtherName{"dataparallel", "layout.dp"},
                              OtherName{"ddp", "layout.dp"},
                              OtherName{"expertparallel", "layout.ep"},
                              OtherName{"expertmodelparallelsize", "layout.ep"},
                              OtherName{"zero", "layout.zero_stage"},
                              OtherName{"fsdp", "layout.zero_stage"},
                              OtherName{"hsdp", "layout.dp_shard"},
                              OtherName{"distributedoptimizer", "layout.zero_stage"},
                              OtherName{"sp", "layout.sequence_parallel"},
                              OtherName{"vp", "schedule.virtual_stages"},
                              OtherName{"vpp", "schedule.virtual_stages"},
                              OtherName{"virtualpipeline", "schedule.virtual_stages"},

                              OtherName{"ppschedule", "schedule.kind"},
                              OtherName{"numlayers", "model.num_hidden_layers"},
                              OtherName{"layers", "model.num_hidden_layers"},
                              OtherName{"heads", "model.num_attention_heads"},
                              OtherName{"kvheads", "model.num_key_value_heads"},
                              OtherName{"numquerygroups", "model.num_key_value_heads"},
                              OtherName{"ffnhiddensize", "model.intermediate_size"},
                              OtherName{"experts", "model.num_experts"},
                              OtherName{"topk", "model.num_experts_per_tok"},
                              OtherName{"moeroutertopk", "model.num_experts_per_tok"},
                              OtherName{"numgpus", "cluster.nodes times cluster.gpus_per_node"},
                              OtherName{"gpus", "cluster.nodes times cluster.gpus_per_node"},
                              OtherName{"nnodes", "cluster.nodes"},
                              OtherName{"gpuspernode", "cluster.gpus_per_node"},
                              OtherName{"nprocpernode", "cluster.gpus_per_node"}};

constexpr std::array kKinds = {OtherName{"zerobubble", "zb-h1, zb-v or interleaved-zb"},
                               OtherName{"zb", "zb-h1, zb-v or interleaved-zb"},
                               OtherName{"zbvzerobubble", "zb-v"},
                               OtherName{"interleavedzerobubble", "interleaved-zb"},
                               OtherName{"vpp", "interleaved-1f1b"},
                               OtherName{"virtualpipeline", "interleaved-1f1b"},
                               OtherName{"onefoneb", "1f1b"},
                               OtherName{"pipedream", "1f1b"},
                               OtherName{"pipedreamflush", "1f1b"},
                               OtherName{"afab", "gpipe"},
                               OtherName{"bfs", "looped-bfs"}};

std::string plainOf(std::string_view word)
{
    std::string plain;
    for (const char letter : word)
        if (letter != '-' && letter != '_' && letter != ' ')
            plain += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return plain;
}

template <std::size_t N>
std::string_view ownNameIn(const std::array<OtherName, N>& names, const std::string& plain)
{
    const auto found = std::find_if(names.begin(), names.end(), [&](const OtherName& name) { return name.word == plain; });
    return found == names.end() ? std::string_view() : found->own;
}

} // namespace

std::string_view ownKey(std::string_view word)
{
    return ownNameIn(kKeys, plainOf(word));
}

std::string_view ownKind(std::string_view word)
{
    return ownNameIn(kKinds, plainOf(word));
}

std::string withoutUnitText(std::string_view text)
{
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    while (!unit.empty() && unit.front() == ' ')
        unit.remove_prefix(1);
    constexpr std::size_t kLongestUnit = 6;
    if (error != std::errc() || !std::isfinite(number) || unit.size() > kLongestUnit ||
        !std::all_of(unit.begin(), unit.end(),
                     [](unsigned char c) { return std::isalpha(c) != 0 || c == '%' || c == '/' || c == '$'; }))
        return {};
    const auto plain = [](double value) {
        std::array<char, 32> digits{};
        const bool isWhole = value == std::floor(value) && std::abs(value) < 1e9; // a batch is no 4e+06
        char* const last = digits.data() + digits.size();
        return std::string(digits.data(), (isWhole ? std::to_chars(digits.data(), last, value, std::chars_format::fixed)
                                                   : std::to_chars(digits.data(), last, value))
                                              .ptr);
    };
    if (unit.empty())
        return "; a number stands without quotes: " + plain(number);
    const std::string said = "; a number has no unit here";
    if (unit == "k" || unit == "K")
        return said + ": " + plain(number * 1024) + " or " + plain(number * 1000);
    constexpr std::array<std::pair<std::string_view, double>, 5> kScales = {
        {{"mM", 1e6}, {"bB", 1e9}, {"gG", 1e9}, {"tT", 1e12}, {"%", 0.01}}};
    for (const auto& [letters, scale] : kScales)
        if (unit.size() == 1 && letters.find(unit.front()) != std::string_view::npos)
            return said + ": " + plain(number * scale);
    return said + ", the key's name says it";
}

} // namespace sim
