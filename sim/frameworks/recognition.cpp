// How a file of settings is recognised: by its ending and by words in it.
#include "sim/frameworks/recognition.h"

#include "sim/frameworks/read/setting.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {

char firstCharacter(const std::string& text)
{
    std::size_t at = text.find_first_not_of(" \t\n");
    while (at != std::string::npos && (text.compare(at, 2, "//") == 0 || text.compare(at, 2, "/*") == 0)) {
        const std::size_t end = text[at + 1] == '/' ? text.find('\n', at) : text.find("*/", at + 2);
        at = end == std::string::npos ? end : text.find_first_not_of(" \t\n", text[end] == '*' ? end + 2 : end);
    }
    return at == std::string::npos ? ' ' : text[at];
}

namespace {

/// "name:" at the beginning of a line, with blanks and quotes in front allowed.
bool hasKey(const std::string& text, std::string_view key)
{
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
        std::size_t before = at;
        while (before > 0 && (text[before - 1] == ' ' || text[before - 1] == '"' || text[before - 1] == '\''))
            --before;
        std::size_t after = at + key.size();
        while (after < text.size() && (text[after] == '"' || text[after] == '\'' || text[after] == ' '))
            ++after;
        if ((before == 0 || text[before - 1] == '\n' || text[before - 1] == '{' || text[before - 1] == ',') &&
            after < text.size() && text[after] == ':')
            return true;
    }
    return false;
}

} // namespace

bool contains(const std::string& text, std::initializer_list<std::string_view> words)
{
    return std::any_of(words.begin(), words.end(),
                       [&text](std::string_view word) { return text.find(word) != std::string::npos; });
}

bool isMappingOfFlags(const std::string& text)
{
    int mapped = 0, others = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::size_t start = text.find_first_not_of(" \t\"'", at);
        if (start != std::string::npos && start < end && text.compare(start, 2, "--") == 0) {
            const std::size_t stop = std::min(text.find_first_of(" \t:=\"'\n", start), text.size());
            const std::size_t colon = text.find_first_not_of("\"' ", stop);
            ++(colon != std::string::npos && text[colon] == ':' ? mapped : others);
        }
        at = end + 1;
    }
    return mapped > others;
}

namespace {

bool isMegatronText(const std::string& text)
{
    return contains(text, {"tensor-model-parallel-size", "pipeline-model-parallel-size", "--num-layers", "--hidden-size",
                           "--micro-batch-size", "--global-batch-size", "tensor_model_parallel_size ..", "--model-parallel-size",
                           "--seq-length", "--expert-model-parallel-size"}) ||
           // with other dashes: epfLLM's Megatron, ms-swift's "megatron sft"
           contains(text, {"--tensor_model_parallel_size", "--pipeline_model_parallel_size", "--expert_model_parallel_size",
                           "--hidden_size", "megatron sft ", "megatron pt ", "megatron rlhf "});
}

} // namespace

bool isNeoxText(const std::string& text)
{
    return hasKey(text, "pipe_parallel_size") || hasKey(text, "pipe-parallel-size");
}

bool isYamlInBraces(const std::string& name, const std::string& text)
{
    const std::size_t start = text.starts_with('#') ? text.find("\n{") : 0;
    return (name.ends_with(".yml") || name.ends_with(".yaml")) && start != std::string::npos &&
           firstCharacter(text.substr(start)) == '{';
}

bool isTitanRegistry(const std::string& text)
{
    return contains(text, {"from torchtitan", "import torchtitan"}) && contains(text, {"Trainer.Config", "JobConfig("});
}

bool isPrimusText(const std::string& text)
{
    return hasKey(text, "modules") && hasKey(text, "framework") && hasKey(text, "overrides");
}

namespace {

/// Megatron's arguments in sections of somebody's own: FlagScale's system and model, Primus' overrides.
bool isMegatronInSections(const std::string& text)
{
    return (hasKey(text, "system") || hasKey(text, "overrides")) &&
           (hasKey(text, "tensor_model_parallel_size") || (hasKey(text, "num_layers") && hasKey(text, "hidden_size")));
}

/// ms-swift's trainers on Transformers.
bool isSwiftText(const std::string& text)
{
    return contains(text, {"swift sft", "swift pt ", "swift pt\\", "swift rlhf", "swift/cli/sft.py", "swift/cli/rlhf.py",
                           "swift/cli/pt.py"}) &&
           contains(text, {"--", ".yaml", ".yml", ".json"});
}

/// A command that starts TRL, or another program with the arguments of Transformers' Trainer, without DeepSpeed's launcher.
bool isTrlText(const std::string& text)
{
    const auto hasCommand = [&text](std::string_view word) {
        const std::size_t at = text.find(word);
        return at != std::string::npos && (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n' || text[at - 1] == '/');
    };
    const bool isOfTrl = hasCommand("trl sft") || hasCommand("trl dpo") || hasCommand("trl grpo") || hasCommand("trl kto") ||
                         hasCommand("trl reward") || hasCommand("trl rloo");
    const bool isOfTrainer = contains(text, {"--per_device_train_batch_size", "--per-device-train-batch-size"});
    const bool byDeepSpeed = hasCommand("deepspeed "); // its launcher
    const bool isOfItsScripts =
        contains(text, {"accelerate launch"}) &&
        contains(text, {"/sft", "run_sft", "/dpo", "run_dpo", "/orpo", "run_orpo", "/grpo", "/kto", "/ppo"});
    return isOfTrl || isOfItsScripts ||
           (isOfTrainer && !byDeepSpeed && contains(text, {"accelerate launch", "torchrun", "torch.distributed", "python"}));
}

} // namespace

bool isTrainersFile(const std::string& text)
{
    return hasKey(text, "model_name_or_path") && !hasKey(text, "finetuning_type") && !hasKey(text, "cutoff_len") &&
           !hasKey(text, "stage") && !hasKey(text, "template") &&
           (hasKey(text, "per_device_train_batch_size") || hasKey(text, "gradient_accumulation_steps") ||
            hasKey(text, "dataset_name") || hasKey(text, "learning_rate"));
}

bool isSwiftFile(const std::string& text)
{
    return (hasKey(text, "model") || hasKey(text, "model_id_or_path")) &&
           (hasKey(text, "train_type") || hasKey(text, "tuner_type") || hasKey(text, "sft_type") || hasKey(text, "rlhf_type")) &&
           !hasKey(text, "tensor_model_parallel_size"); // "megatron sft", Megatron's
}

namespace {

/// Without lines that are comments: there a YAML says how to start the program that reads it, in another one's words.
std::string withoutCommentLines(const std::string& text)
{
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        const std::size_t first = text.find_first_not_of(" \t", at);
        if (first >= end || text[first] != '#')
            out.append(text, at, end - at);
        at = end;
    }
    return out;
}

std::string kindOfWords(const std::string& name, const std::string& text)
{
    const bool isJson = firstCharacter(text) == '{';
    const auto isRecipe = [&text] {
        return contains(text,
                        {"cfg.model", "cfg.train.", "cfg.mixed_precision", "ConfigContainer", "megatron.bridge",
                         // NeMo 2
                         "nemo_run", "nemo.collections.llm", "nemo.collections import llm", "MegatronStrategy", "run.Partial("});
    };
    if (name.ends_with(".py") && isRecipe()) // whose words say how to start it, too
        return "bridge-python";
    if (isPrimusText(text))
        for (const auto& [framework, kind] :
             {std::pair{"framework: torchtitan", "torchtitan-toml"}, std::pair{"framework: maxtext", "maxtext"},
              std::pair{"framework: megatron\n", "megatron-yaml"}})
            if (contains(text, {framework}))
                return kind;
    if (isNeoxText(text))
        return "megatron-deepspeed";
    if (contains(text, {"ds_train_huggingface"})) // Pai-Megatron-Patch's, with Megatron's names
        return "deepspeed-json";
    if (isMegatronText(text) || looksLikeArgumentDump(text))
        return contains(text, {"--deepspeed", "--zero-stage", "ds_config"}) ? "megatron-deepspeed" : "megatron-args";
    if (contains(text, {"--parallelism.", "--training.local_batch_size", "--training.seq_len"}))
        return "torchtitan-toml";
    if (isTrainersFile(text))
        return "trl-args";
    if (isSwiftText(text) || isSwiftFile(text))
        return "swift-args";
    if (isTrlText(text))
        return "trl-args";
    if (!isJson && contains(text, {"deepspeed ", "openrlhf.cli."}) &&
        contains(text, {"--per_device_train_batch_size", "--per_device_training_batch_size", "--micro_train_batch_size",
                        "--train_batch_size", "--train.micro_batch_size", "--train.batch_size"}))
        return "deepspeed-json"; // what its launcher starts
    if (contains(text, {"ici_fsdp_parallelism", "ici_tensor_parallelism", "ici_data_parallelism", "dcn_data_parallelism",
                        "dcn_fsdp_parallelism", "base_emb_dim", "max_target_length", "per_device_batch_size"}))
        return "maxtext";
    if (contains(text, {"zero_optimization", "train_micro_batch_size_per_gpu"}) && isJson)
        return "deepspeed-json";
    if (isJson && contains(text, {"\"tp_size\"", "\"pp_engine\""}))
        return "picotron-json";
    if (isJson && contains(text, {"tensor_parallel_degree", "data_parallel_shard_degree"}))
        return "torchtitan-toml";
    if (isJson && contains(text, {"\"model_type\"", "\"architectures\"", "\"num_hidden_layers\"", "\"n_layer\""}))
        return "huggingface";
    if (isJson && hasKey(text, "train_batch_size") &&
        (hasKey(text, "gradient_accumulation_steps") || hasKey(text, "steps_per_print") || hasKey(text, "optimizer") ||
         hasKey(text, "fp16") || hasKey(text, "bf16")))
        return "deepspeed-json";
    if (name.ends_with(".toml") || contains(text, {"[parallelism]", "[training]", "[activation_checkpoint]"}))
        return "torchtitan-toml";
    if (hasKey(text, "parallelism") && hasKey(text, "tokens"))
        return "nanotron-yaml";
    if (hasKey(text, "distributed_type") || hasKey(text, "parallelism_config"))
        return "accelerate-yaml";
    if (hasKey(text, "model_name_or_path") &&
        (hasKey(text, "finetuning_type") || hasKey(text, "cutoff_len") || hasKey(text, "stage")))
        return "llamafactory-yaml";
    if (hasKey(text, "model") && (hasKey(text, "dist_config") || hasKey(text, "model_class")))
        return "llamafactory-yaml"; // version 1
    if (hasKey(text, "model") && hasKey(text, "data") && hasKey(text, "train") &&
        (hasKey(text, "train_path") || hasKey(text, "accelerator") || hasKey(text, "data_parallel_mode")))
        return "veomni-yaml";
    if (hasKey(text, "base_model"))
        return "axolotl-yaml";
    if (hasKey(text, "language_model") || hasKey(text, "model_parallel") || isMegatronInSections(text))
        return "megatron-yaml";
    const bool isDump = hasKey(text, "_target_") || contains(text, {"- _target_:"}); // and not in a comment alone
    if (isRecipe() || (isDump && !contains(text, {"nemo_automodel", "verl."})) ||
        contains(text, {"trainer.strategy.", "megatron.bridge", "recipe.model", "model.tensor_model_parallel_size =",
                        "model.tensor_model_parallel_size=", "model.pipeline_model_parallel_size ="}))
        return "bridge-python";
    if (hasKey(text, "trainer") && hasKey(text, "model"))
        return "nemo-yaml";
    if (hasKey(text, "tensor_model_parallel_size"))
        return hasKey(text, "train") ? "bridge-python" : "nemo-yaml";
    return "";
}

} // namespace

std::string kindOfText(const std::string& name, const std::string& text)
{
    const bool isPlainData = name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".toml");
    std::string kind = isPlainData ? kindOfWords(name, withoutCommentLines(text)) : std::string();
    return kind.empty() ? kindOfWords(name, text) : kind; // or its comments alone tell
}

} // namespace sim::frameworks
