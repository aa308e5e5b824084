#include "sim/frameworks/dialects/megatron_experts.h"

#include "sim/frameworks/dialects/fsdp.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

constexpr const char *kOnce = "/training/moe/send_once_per_node", *kKind = "moe_token_dispatcher_type",
                     *kBackend = "moe_flex_dispatcher_backend", *kDeepEp = "moe_enable_deepep", *kTurbo = "use_turbo_deepep";

/// Names of Megatron-Core's matrices (Megatron-Bridge, peft/lora.py and canonical_lora.py) and NeMo 1's by PEFT's words.
struct Matrix {
    std::string_view name, targets;
    bool isPart = false; ///< with an adapter of its own beside others of the same product
};
constexpr std::array kMatrices = {Matrix{"linear_qkv", "q_proj,k_proj,v_proj"},
                                  Matrix{"attention_qkv", "q_proj,k_proj,v_proj"},
                                  Matrix{"q_proj", "q_proj", true}, // PEFT's own words
                                  Matrix{"k_proj", "k_proj", true},
                                  Matrix{"v_proj", "v_proj", true},
                                  Matrix{"o_proj", "o_proj"},
                                  Matrix{"gate_proj", "gate_proj", true},
                                  Matrix{"up_proj", "up_proj", true},
                                  Matrix{"down_proj", "down_proj"},
                                  Matrix{"linear_q", "q_proj", true},
                                  Matrix{"linear_k", "k_proj", true},
                                  Matrix{"linear_v", "v_proj", true},
                                  Matrix{"linear_proj", "o_proj"},
                                  Matrix{"attention_dense", "o_proj"},
                                  Matrix{"attention", "q_proj,k_proj,v_proj,o_proj"},
                                  Matrix{"linear_fc1", "gate_proj,up_proj"},
                                  Matrix{"mlp_fc1", "gate_proj,up_proj"},
                                  Matrix{"linear_fc1_gate", "gate_proj", true},
                                  Matrix{"linear_fc1_up", "up_proj", true},
                                  Matrix{"linear_fc2", "down_proj"},
                                  Matrix{"mlp_fc2", "down_proj"},
                                  Matrix{"mlp", "gate_proj,up_proj,down_proj"},
                                  Matrix{"all", "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"},
                                  Matrix{"all-linear", "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"}};

} // namespace

void readDispatcher(Job& job, BackendAlone alone)
{
    Reading& reading = job.reading;
    const std::optional<std::string> kind = reading.word(kKind, kOnce), backend = reading.word(kBackend, kOnce);
    const std::optional<bool> deepEp = reading.flag(kDeepEp, kOnce), turbo = reading.flag(kTurbo, kOnce);
    const bool isFlex = kind == "flex";
    const bool isNamed = backend && *backend != "none" && *backend != "None";
    const bool isOnce = isFlex || turbo.value_or(false) || (!kind && isNamed && alone == BackendAlone::yes);
    if (isOnce)
        job.training["moe"]["send_once_per_node"] = true;
    if (isFlex && !isNamed && !deepEp.value_or(false) && !turbo.value_or(false))
        reading.say(kKind, Became::used, "a dispatcher that sends a token to a node once: DeepEP's unless a backend is named",
                    kOnce);
    if (kind && *kind == "allgather")
        reading.say(kKind, Became::harmless, "is the default");
    // arguments.py of Megatron-LM: choices of --moe-token-dispatcher-type; alltoall_seq until 0.13.
    if (kind && *kind != "allgather" && *kind != "alltoall" && *kind != "alltoall_seq" && *kind != "flex")
        reading.say(kKind, Became::unknown,
                    quotedText(*kind) + " is no dispatcher: Megatron has allgather, alltoall, flex, and had alltoall_seq; a copy "
                                        "for each chosen expert is imported",
                    kOnce);
    if (isOnce)
        return;
    if (deepEp.value_or(false))
        reading.say(kDeepEp, Became::contradictory,
                    "counts beside " + reading.spelled(kKind) + " flex alone, which is " +
                        (kind ? quotedText(*kind) + " in " + reading.placeOf(kKind) : std::string("not given")) +
                        ": the framework refuses it; a copy for each chosen expert is imported",
                    kOnce);
    if (isNamed)
        reading.say(kBackend, Became::harmless,
                    "counts beside " + reading.spelled(kKind) + " flex alone, which is " +
                        (kind ? quotedText(*kind) : std::string("not given")));
}

void readMegatronTargets(Job& job, const char* setting, std::string_view unlessGiven)
{
    Reading& reading = job.reading;
    constexpr const char* kPointer = "/training/lora/targets";
    const auto given = reading.any(setting, kPointer);
    std::string targets;
    std::vector<std::string> others;
    bool hasParts = false;
    for (const std::string& word : wordsOfList(given.value_or(Json(unlessGiven)))) {
        const std::string_view last = std::string_view(word).substr(word.rfind('.') + 1); // of "*.self_attention.linear_qkv"
        const auto found =
            std::find_if(kMatrices.begin(), kMatrices.end(), [last](const Matrix& one) { return one.name == last; });
        if (found != kMatrices.end()) {
            targets += (targets.empty() ? "" : ",") + std::string(found->targets);
            hasParts = hasParts || found->isPart;
        } else {
            others.push_back(word);
        }
    }
    if (!given)
        reading.byDefault(setting, unlessGiven, kPointer, "is not given: the framework's default");
    Json& lora = job.training["lora"];
    lora["fused"] = !hasParts;
    std::vector<std::string> names = wordsOfList(Json(targets));
    names.insert(names.end(), others.begin(), others.end());
    lora["targets"] =
        importedLoraTargets(job, setting, names, {.rank = memberOr<int>(lora, "rank", 0), .oneAdapter = OneAdapter(!hasParts)});
}

} // namespace sim::frameworks
