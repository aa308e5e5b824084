#include "sim/frameworks/dialects/primus.h"

#include "sim/frameworks/dialects/megatron_experts.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sim::frameworks {
namespace {

constexpr std::string_view kOverrides = ".overrides.", kPrimusModel = "@primus.model";

/// recompute_layer_ids: which layers of the model are run again, each as a whole.
void readRecomputedLayers(Job& job)
{
    Reading& reading = job.reading;
    const auto ids = reading.any("recompute_layer_ids", "/training/recompute/layers");
    const std::size_t count = ids ? wordsOfList(*ids).size() : 0;
    if (count == 0)
        return;
    const int chunks = job.pp * std::max(1, memberOr<int>(job.schedule, "virtual_stages", 1));
    const int each = std::max(1, (static_cast<int>(std::min<std::size_t>(count, 100000)) + chunks / 2) / chunks);
    job.training["recompute"] = {{"kind", "full"}, {"layers", each}};
    reading.say("recompute_layer_ids", Became::notRepresentable,
                std::to_string(count) + " layers by number: as many of each chunk of a stage, " + std::to_string(each) +
                    ", are imported",
                "/training/recompute/layers");
    if (reading.has("recompute_granularity")) // which Megatron's own takes with a method alone
        reading.say("recompute_granularity", Became::used, "of the layers that are named", "/training/recompute");
}

void readPrimusAdapters(Job& job)
{
    Reading& reading = job.reading;
    if (!reading.flag("@lora.enabled", "/training/lora").value_or(reading.has("@lora.dim")))
        return;
    constexpr int kUsualRank = 32;
    const std::optional<int> rank = reading.size("@lora.dim", "/training/lora/rank");
    if (!rank)
        reading.byDefault("lora.dim", kUsualRank, "/training/lora/rank");
    job.training["lora"] = {{"rank", rank.value_or(kUsualRank)}};
    if (const auto dropout = reading.real("@lora.dropout", "/training/lora/dropout"); dropout && *dropout > 0 && *dropout < 1)
        job.training["lora"]["dropout"] = *dropout;
    readMegatronTargets(job, "@lora.target_modules", "linear_qkv,linear_proj,linear_fc1,linear_fc2");
}

} // namespace

bool openPrimus(Reading& reading)
{
    if (!reading.hasPrefix("modules."))
        return false;
    reading.rename([](const std::string& name) {
        if (const std::size_t at = name.find(kOverrides); at != std::string::npos)
            return name.substr(at + kOverrides.size());
        return name.ends_with(".model") ? std::string(kPrimusModel) : "@primus." + name;
    });
    reading.harmless(
        std::array<std::string_view, 4>{"@primus.work_group", "@primus.user_name", "@primus.exp_name", "@primus.workspace"});
    reading.harmless(std::array<std::string_view, 2>{"@primus.modules.*", "*_sink_level"});
    return true;
}

std::optional<std::string> modelOfPrimus(const Reading& reading)
{
    const Json* const file = reading.peek(kPrimusModel);
    if (file == nullptr || !file->is_string())
        return std::nullopt;
    const std::string name = file->get<std::string>();
    return name.substr(0, name.rfind(".yaml"));
}

MegatronRules rulesOfPrimus(const Reading& reading, MegatronRules rules)
{
    const Json* const trainer = reading.peek("framework") != nullptr ? reading.peek("config") : nullptr;
    if (trainer == nullptr)
        return rules;
    rules.precision = "bf16";
    if (*trainer == Json("pre_trainer.yaml")) {
        rules.shardsOptimizer = true;
        rules.microBatch = 2;
        rules.globalBatch = 16;
    } else if (*trainer == Json("sft_trainer.yaml")) {
        rules.microBatch = 1;
        rules.globalBatch = 128;
    }
    return rules;
}

void readPrimusOverMegatron(Job& job)
{
    Reading& reading = job.reading;
    readRecomputedLayers(job);
    readPrimusAdapters(job);
    if (job.model.contains("base")) // which says its own
        for (const char* name : {"norm_epsilon", "layernorm_epsilon"})
            if (const auto epsilon = reading.real(name, "/model/rms_norm_eps"); epsilon && *epsilon > 0 && *epsilon < 1)
                reading.say(name, Became::harmless, "a small number that no time depends on");
    if (reading.has("multi_latent_attention") && job.model.contains("base"))
        reading.say("multi_latent_attention", Became::harmless, "attention is the named model's");
    reading.harmless(std::array<std::string_view, 10>{"@lora.*", "auto_continue_train", "disable_last_saving",
                                                      "no_fp8_weight_transpose_cache", "disable_wandb", "disable_tensorboard",
                                                      "trainable", "stage", "wall_clock_step_timer", "pp_warmup"});
}

} // namespace sim::frameworks
