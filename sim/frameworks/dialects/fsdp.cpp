#include "sim/frameworks/dialects/fsdp.h"

#include "sim/frameworks/catalogue_models.h"
#include "sim/frameworks/stacks.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace sim::frameworks {
std::string smallWord(std::string word)
{
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return word;
}

void dropIdleFsdp(Reading& reading, const std::string& prefix)
{
    const Json* const type = reading.peek(prefix + "distributed_type");
    const bool isAlone = prefix.empty(); // beside what it launches a trainer may be told of FSDP without a type
    if (type == nullptr ? !isAlone : smallWord(shownValue(*type)) == "fsdp")
        return;
    const std::string block = prefix + "fsdp_config.", idle = "@without_fsdp.";
    reading.rename([&](const std::string& name) { return name.starts_with(block) ? idle + name.substr(block.size()) : name; });
    const std::string all = idle + "*";
    reading.harmless(std::array{std::string_view(all)}, "has no effect: distributed_type is not FSDP");
}

FsdpFacts readFsdp(Reading& reading, const std::string& prefix)
{
    FsdpFacts facts{.stage = 3};
    std::string strategy;
    if (const auto words = reading.any("fsdp", "/layout/zero_stage")) // of Transformers' Trainer: full_shard auto_wrap
        for (const std::string& word : wordsOfList(*words)) {
            if (word.find("shard") != std::string::npos)
                strategy = word;
            else if (word == "offload")
                reading.addNote("fsdp", Became::notRepresentable, "offload: parameters on the host have no key");
        }
    for (const std::string& name : {prefix + "fsdp_sharding_strategy", prefix + "sharding_strategy"})
        if (const auto word = reading.word(name, "/layout/zero_stage"))
            strategy = *word;
    for (const std::string& name : {prefix + "fsdp_reshard_after_forward", prefix + "reshard_after_forward"})
        if (const auto value = reading.word(name, "/layout/zero_stage")) {
            strategy = strategy.empty() || smallWord(*value) == "true" || smallWord(*value) == "false" ? *value : strategy;
            // fully_shard takes a number of ranks to shard over after the forward pass; Accelerate's file has true, false and
            // words.
            if (const auto ranks = wholeNumber<int>(valueOf(*value)); ranks && *ranks > 5)
                reading.say(name, Became::notRepresentable,
                            *value +
                                " ranks that parameters are sharded over after the forward pass have no key: all of the group's "
                                "are imported",
                            "/layout/zero_stage");
        }
    strategy = smallWord(strategy);
    if (strategy == "shard_grad_op" || strategy == "2" || strategy == "false")
        facts.stage = 2;
    else if (strategy == "no_shard" || strategy == "3")
        facts.stage = 0;
    else if (strategy == "hybrid_shard" || strategy == "4")
        facts.isHybrid = true;
    else if (strategy == "hybrid_shard_zero2" || strategy == "5") {
        facts.stage = 2;
        facts.isHybrid = true;
    } else if (strategy.empty()) {
        reading.byDefault(prefix + "fsdp_sharding_strategy", "FULL_SHARD", "/layout/zero_stage");
    }
    const std::string prefetch = prefix + "fsdp_backward_prefetch";
    const Json* const version = reading.peek(prefix + "fsdp_version");
    const bool isFirst = version == nullptr || *version == Json(1);
    if (const auto given = reading.word(prefetch, "/training/overlap/param_gather"); given && !isFirst)
        reading.say(prefetch, Became::harmless, "counts only in version 1");
    else if (given && smallWord(*given) == "no_prefetch" && facts.stage == 3)
        reading.say(prefetch, Became::notRepresentable,
                    "parameters are gathered for the backward pass no sooner than it needs them: overlap is one for both passes "
                    "here, and true is imported",
                    "/training/overlap/param_gather");
    return facts;
}

void putMixedPrecisionOfFsdp(Job& job, const std::string& prefix)
{
    constexpr const char *kPointer = "/training/gradient_dtype", *kProducts = "/training/precision";
    Reading& reading = job.reading;
    const std::string precision = memberOr<std::string>(job.training, "precision", "fp32");
    for (const std::string& policy : {prefix + "fsdp_mixed_precision_policy", prefix + "mixed_precision_policy"}) {
        if (const Json* const given = reading.peek(policy); given != nullptr && given->is_array()) {
            reading.say(policy, Became::unknown,
                        shownValue(*given) +
                            ": a list is no policy, which is a word or param_dtype and reduce_dtype; not imported",
                        kPointer);
            continue;
        }
        // A word for all, or one for each; FSDP reduces gradients in the one and keeps what comes of it beside the parameters.
        for (const std::string& name : {policy, policy + ".reduce_dtype"})
            if (const auto given = reading.word(name, kPointer)) {
                const std::string format = precisionWord(*given);
                if (format.empty()) {
                    reading.say(name, Became::unknown, quotedText(*given) + " is no number format known here", kPointer);
                    continue;
                }
                job.training["gradient_dtype"] = format == "fp32" ? "fp32" : "bf16"; // or fp16, as wide
                if (format != "fp32" && format != "bf16" && format != "fp16")
                    reading.say(name, Became::notRepresentable,
                                "gradients that are reduced in " + quotedText(*given) + " have no key: bf16 is imported",
                                kPointer);
            }
        for (const std::string& name : {policy, policy + ".param_dtype"})
            if (const auto given = reading.word(name, kProducts)) {
                const std::string format = precisionWord(*given);
                if (format.empty() && name != policy) // else it is told already
                    reading.say(name, Became::unknown,
                                quotedText(*given) + " is no number format known here: " + precision +
                                    ", the job's precision, is imported",
                                kProducts);
                else if (format != precision && (name != policy || format == "fp32" || format == "bf16" || format == "fp16"))
                    reading.say(name, Became::contradictory,
                                quotedText(*given) + " is what products are in, and the precision is " + precision +
                                    ": that is imported",
                                kProducts);
            }
    }
}

void putOverlapOfFsdp(Job& job, bool isSharded)
{
    job.put("/training/overlap/grad_reduce", true);
    job.put("/training/overlap/param_gather", isSharded);
    job.put("/training/overlap/tp_comm", false);
    job.reading.byDefault("FSDP prefetch", true, "/training/overlap/grad_reduce",
                          "gradients are reduced beside the backward pass");
}

void putShardGroup(Job& job, const FsdpFacts& facts, std::optional<int> shard, int replicate)
{
    job.layout["zero_stage"] = facts.stage;
    if (facts.stage == 0)
        return;
    const int all = job.dp * job.cp;
    if (shard && replicate > 1 && 1LL * *shard * job.cp < all && all % (*shard * job.cp) == 0)
        job.layout["dp_shard"] = *shard * job.cp;
    else if (facts.isHybrid) {
        const int perNode = std::max(1, job.gpusPerNode.value_or(8) / std::max(1, job.tp));
        if (perNode < all && all % perNode == 0)
            job.layout["dp_shard"] = perNode;
    }
}

namespace {

constexpr long long kReduceBucket = 500'000'000; // deepspeed/runtime/zero/config.py

/// DeepSpeed's file has the stage, so that what it leaves out is DeepSpeed's own default: it is neither a trainer's flag, which
/// fills a file of its own, nor the name of a file that is not given.
bool isOfDeepSpeedsFile(const Reading& reading, const std::string& prefix)
{
    const std::string stage = prefix + "stage";
    return reading.peek(stage) != nullptr && !reading.spelled(stage).starts_with("-");
}

void setReduceBucket(Job& job, long long elements)
{
    Json& stack = job.training["stack"];
    if (stack.is_string())
        stack = {{"base", stack}};
    stack["reduce_bucket"] = elements;
}

} // namespace

void putDefaultReduceBucket(Job& job, std::string_view setting, int stage)
{
    if (stage < 2)
        return;
    setReduceBucket(job, kReduceBucket);
    job.reading.byDefault(setting, kReduceBucket, "/training/stack/reduce_bucket", "cannot be given here: DeepSpeed's default");
}

void putReduceBucket(Job& job)
{
    constexpr const char* kPointer = "/training/stack/reduce_bucket";
    Reading& reading = job.reading;
    for (const std::string prefix : {"zero_optimization.", "ds_config.zero_optimization."}) {
        const std::string name = prefix + "reduce_bucket_size";
        const Json* const given = reading.peek(name);
        const Json* const joins = reading.peek(prefix + "contiguous_gradients");
        if ((joins != nullptr && *joins == Json(false)) || memberOr<int>(job.layout, "zero_stage", 0) < 2)
            continue;
        long long elements = 0;
        if (given == nullptr) {
            if (!isOfDeepSpeedsFile(reading, prefix))
                continue;
            elements = kReduceBucket;
            reading.byDefault(name, kReduceBucket, kPointer, "is not given: DeepSpeed's default");
        } else if (*given == Json("auto")) {
            const Json& model = job.modelBeside.empty() ? job.model : job.modelBeside;
            const Json* const base = job.catalogue.modelJson(memberOr<std::string>(model, "base", ""));
            const long long hidden = memberOr<int>(model, "hidden_size", base ? memberOr<int>(*base, "hidden_size", 0) : 0);
            if (hidden <= 0 || hidden >= (1 << 20)) {
                reading.say(name, Became::unknown,
                            "\"auto\" is the square of the hidden size, and the model is not given: no buffer is imported",
                            kPointer);
                continue;
            }
            elements = hidden * hidden;
            reading.say(name, Became::used, "the square of the hidden size", kPointer);
        } else if (const std::optional<double> size = reading.real(name, kPointer)) {
            constexpr double kMost = 1e12; // of the key; more is all gradients at once, too
            if (*size >= 1)
                elements = static_cast<long long>(std::min(*size, kMost));
            else
                reading.say(name, Became::unknown, shownValue(*given) + " is less than 1, and not imported", kPointer);
        }
        if (elements > 0)
            setReduceBucket(job, elements);
    }
}

void putStackOfTransformers(Job& job, bool isZero3)
{
    putReduceBucket(job);
    const std::string_view stack = isZero3 ? stacks::kTransformersZero3 : stacks::kTransformers;
    if (Json& block = job.training["stack"]; block.is_object()) // what a setting says of it stays
        block["base"] = stack;
    else
        block = stack;
    if (isZero3 && job.training.contains("overlap"))
        job.training["overlap"].erase("param_gather"); // as the software does of itself
}

void putStackOfTransformers(Job& job, std::string_view setting, bool isZero3)
{
    putStackOfTransformers(job, isZero3);
    job.reading.addNote(setting, Became::used,
                        isZero3 ? "Transformers' models run by its Trainer or Accelerate, with ZeRO stage 3: deepspeed-2023"
                                : "Transformers' models run by its Trainer or Accelerate, module by module: huggingface",
                        "/training/stack");
}

void putFusedLoss(Job& job, std::string_view setting)
{
    constexpr const char* kPointer = "/training/loss_chunk_tokens";
    if (!job.reading.flag(setting, kPointer).value_or(false))
        return;
    job.training["loss_chunk_tokens"] = kFusedLossChunk;
    job.reading.addNote(setting, Became::used, "no file says how long a chunk is: 1,024 tokens stand for it", kPointer);
}

namespace {

constexpr std::string_view kAllLoraTargets = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj";

/// A name in a list of target modules by a scenario's; empty where it has none. PEFT takes a module whose path ends in the name
/// (tuners/tuners_utils.py): "self_attn.q_proj".
std::string_view loraTargetOf(std::string_view name)
{
    // w1, w3 and w2 are Mixtral's and InternLM2's: silu(w1 x) * w3 x is what w2 reads.
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kTargets = {{{"q_proj", "q_proj"},
                                                                                                {"k_proj", "k_proj"},
                                                                                                {"v_proj", "v_proj"},
                                                                                                {"o_proj", "o_proj"},
                                                                                                {"gate_proj", "gate_proj"},
                                                                                                {"up_proj", "up_proj"},
                                                                                                {"down_proj", "down_proj"},
                                                                                                {"w1", "gate_proj"},
                                                                                                {"w3", "up_proj"},
                                                                                                {"w2", "down_proj"},
                                                                                                {"wo", "o_proj"}}};
    // axolotl, monkeypatch/models/llama4/modeling.py: one layer for each expert, "experts.gate_projs.7".
    for (const std::string_view matrix : {"gate", "up", "down"})
        if (name.find("experts." + std::string(matrix) + "_projs.") != std::string_view::npos)
            return matrix == "gate" ? "gate_proj" : matrix == "up" ? "up_proj" : "down_proj";
    const std::string_view last = name.substr(name.rfind('.') + 1); // of none: from 0
    const auto found = std::find_if(kTargets.begin(), kTargets.end(), [last](const auto& one) { return one.first == last; });
    return found == kTargets.end() ? std::string_view() : found->second;
}

bool hasTarget(const Json& targets, std::string_view name)
{
    return std::find(targets.begin(), targets.end(), Json(name)) != targets.end();
}

Json loraTargets(const std::vector<std::string>& names)
{
    Json targets = Json::array();
    for (const std::string& name : names)
        if (const std::string_view target = loraTargetOf(name); !target.empty() && !hasTarget(targets, target))
            targets.push_back(target);
    return targets;
}

/// Of targets that are asked for, what a scenario's adapters are beside, and what is to be told of the rest.
struct KeptTargets {
    Json targets;
    std::string text{};
    Became became = Became::used;
};

enum class ExpertsReached : std::uint8_t { yes, areNoLayers, notByName };

ExpertsReached expertsReached(const std::string& base, const std::vector<std::string>& names, const LoraAsked& how)
{
    // Parameters of three dimensions are no linear layers, and target_modules reaches none of them (transformers,
    // models/gpt_oss and models/llama4; PEFT has target_parameters for them).
    if (how.oneAdapter == OneAdapter::no && !how.areExpertsLinear && (base.starts_with("gpt-oss") || base.starts_with("llama4")))
        return ExpertsReached::areNoLayers;
    const bool areNamed = std::any_of(names.begin(), names.end(), [&how](const std::string& name) {
        const std::string_view target = loraTargetOf(name);
        return (target.starts_with("gate") || target.starts_with("up") || target.starts_with("down")) &&
               (how.areExpertsLinear ? name.find("experts.") != std::string::npos
                                     : name.find("shared_expert") == std::string::npos);
    });
    return how.areAll || areNamed ? ExpertsReached::yes : ExpertsReached::notByName;
}

/// Those of attention where the model has experts, beside which adapters are not simulated.
KeptTargets withoutExperts(const Job& job, const Json& asked, const LoraAsked& how, ExpertsReached reached)
{
    const std::string base = memberOr<std::string>(job.model, "base", "");
    const Json* const model = base.empty() ? &job.model : job.catalogue.modelJson(base);
    if (model == nullptr)
        return {asked};
    const int experts = memberOr<int>(job.model, "num_experts", numberIn(*model, "num_experts"));
    Json kept = Json::array();
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
        if (hasTarget(asked, name))
            kept.push_back(name);
    if (experts < 2 || kept.size() == asked.size())
        return {asked};
    const bool isOnlyExperts = kept.empty();
    if (isOnlyExperts) // all that there is to import
        kept = {"q_proj", "k_proj", "v_proj", "o_proj"};
    const int dense = numberIn(*model, "first_k_dense_replace"), every = std::max(1, numberIn(*model, "moe_layer_freq"));
    const bool hasDense = !how.areParameters && (dense > 0 || every > 1);
    const bool hasShared = !how.areParameters && numberIn(*model, "num_shared_experts") > 0;
    const std::string others = hasShared && hasDense ? "its shared experts and dense layers"
                               : hasShared           ? "its shared experts"
                               : hasDense            ? "its dense layers"
                                                     : "";
    const bool isOfPeft = how.oneAdapter == OneAdapter::no;
    if (reached != ExpertsReached::yes) {
        const std::string why = reached == ExpertsReached::areNoLayers
                                    ? "the experts of " + base + " are fused parameters, which are no linear layers"
                                    : "these names reach no experts";
        return {kept,
                why + ": adapters are beside attention" + (others.empty() ? " alone, " : " and " + others + "; imported are ") +
                    shownValue(kept) + (isOnlyExperts ? ", in the place of what is named" : "") +
                    (others.empty() ? "" : ": those beside " + others + " are not simulated"),
                others.empty() && !isOnlyExperts ? Became::used : Became::notRepresentable};
    }
    const double hidden = numberIn(*model, "hidden_size");
    const int own = numberIn(*model, "moe_intermediate_size");
    const double width = own > 0 ? own : numberIn(*model, "intermediate_size");
    const int layers = numberIn(*model, "num_hidden_layers") - dense;
    double each = 0; // A and B of all targets
    const bool isGated = memberOr<bool>(job.model, "gated_mlp", memberOr<bool>(*model, "gated_mlp", false));
    for (const char* name : {"gate_proj", "up_proj", "down_proj"})
        each += hasTarget(asked, name) && (isGated || name != std::string_view("gate_proj")) ? hidden + width : 0;
    if (!isOfPeft && isGated && hasTarget(asked, "gate_proj") && hasTarget(asked, "up_proj"))
        each -= hidden;
    const double millions = each * how.rank * experts * layers / every / 1e6;
    char left[64];
    std::snprintf(left, sizeof left, millions < 10 ? "%.1f" : "%.0f", millions);
    return {kept,
            "adapters beside experts are not simulated: imported are those of attention, " + shownValue(kept) +
                (isOnlyExperts ? ", in the place of what is named" : "") + "; left out are about " + left +
                " million trained parameters beside " + std::to_string(experts) + " experts a layer" +
                (others.empty() ? "" : ", and those beside " + others) + ", with their work and memory" +
                (isOfPeft && !how.areExpertsLinear
                     ? " (Transformers from 5 on has experts as fused parameters, beside which PEFT puts none)"
                     : ""),
            Became::notRepresentable};
}

} // namespace

std::vector<std::string> moduleNames(const Json& given)
{
    if (!given.is_array())
        return wordsOfList(given);
    std::vector<std::string> names;
    for (const Json& item : given) {
        const std::string name = shownValue(item);
        if (name.find('[') != std::string::npos) // a pattern
            names.push_back(name);
        else
            for (std::string& word : wordsOfList(item))
                names.push_back(std::move(word));
    }
    return names;
}

bool namesAllLinear(const std::vector<std::string>& modules)
{
    return std::any_of(modules.begin(), modules.end(), [](const std::string& given) {
        const std::string name = smallWord(given);
        return name == "all" || name == "all-linear" || name == "all_linear";
    });
}

Json importedLoraTargets(Job& job, const std::string& setting, const std::vector<std::string>& names, const LoraAsked& how)
{
    constexpr const char* kPointer = "/training/lora/targets";
    Reading& reading = job.reading;
    const std::vector<std::string> all = wordsOfList(Json(kAllLoraTargets));
    std::string without; // names that a scenario has no adapters beside
    for (const std::string& name : names)
        if (loraTargetOf(name).empty() && !(how.areAll && namesAllLinear({name})))
            without += (without.empty() ? "" : ", ") + name;
    const Json asked = loraTargets(how.areAll ? all : names);
    const std::string base = memberOr<std::string>(job.model, "base", "");
    const KeptTargets kept = withoutExperts(job, asked.empty() ? loraTargets(all) : asked, how, expertsReached(base, names, how));
    const bool areOthers = asked.empty();
    if (areOthers)
        job.ask(kPointer, "none of the layers named has adapters here: " + shownValue(kept.targets) + " stand in their place");
    if (!without.empty() || areOthers) {
        const std::string what = without.empty() ? std::string("no layer is named")
                                                 : quotedText(without) + ": adapters beside these layers are not simulated";
        reading.say(setting, Became::notRepresentable,
                    what + "; imported are " + shownValue(kept.targets) + (areOthers ? ", in their place" : ""), kPointer);
    }
    if (!kept.text.empty() && !areOthers)
        reading.addNote(how.allBy.empty() ? setting : how.allBy, kept.became, kept.text, kPointer);
    return kept.targets;
}

void tellTargetParameters(Job& job, const std::string& setting)
{
    const Json* const given = job.reading.peek(setting);
    if (given == nullptr || !job.training.contains("lora"))
        return;
    const std::vector<std::string> names = wordsOfList(*given);
    if (names.empty())
        return;
    job.reading.say(setting, Became::notRepresentable, "adapters beside parameters that are no layers have no key",
                    "/training/lora/targets");
    Json& lora = job.training["lora"];
    const Json layers = lora.contains("targets") ? lora["targets"] : Json::array();
    Json all = layers;
    const auto add = [&all](const char* name) {
        if (!hasTarget(all, name))
            all.push_back(name);
    };
    for (const std::string& name : names) {
        if (name.find("experts") == std::string::npos)
            continue;
        if (name.ends_with("gate_up_proj")) {
            add("gate_proj");
            add("up_proj");
        } else if (name.ends_with("down_proj")) {
            add("down_proj");
        }
    }
    if (all.size() == layers.size())
        return;
    const KeptTargets kept =
        withoutExperts(job, all, {.rank = memberOr<int>(lora, "rank", 0), .oneAdapter = OneAdapter::yes, .areParameters = true},
                       ExpertsReached::yes);
    if (kept.text.empty()) // a model without experts
        return;
    job.reading.addNote(setting, kept.became, kept.text, "/training/lora/targets");
    lora["targets"] = kept.targets;
}

} // namespace sim::frameworks
