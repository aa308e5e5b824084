// What runs settings of Transformers' Trainer and of Accelerate.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Json;
using test::importedText;
using testing::HasSubstr;

const std::string kOfAxolotl = "base_model: meta-llama/Meta-Llama-3-8B\nsequence_len: 4096\nmicro_batch_size: 1\nbf16: true\n";
const std::string kOfFactory = "model_name_or_path: meta-llama/Meta-Llama-3-8B\nstage: sft\ntemplate: llama3\ncutoff_len: 2048\n"
                               "finetuning_type: full\nbf16: true\n";
const std::string kOfAccelerate =
    "compute_environment: LOCAL_MACHINE\nnum_machines: 1\nnum_processes: 8\nmixed_precision: bf16\n";

/// The software of a scenario, and what is told of it: "huggingface", "huggingface, assumed" where the files do not say, "none".
std::string stackOfImport(const std::vector<sim::SettingsFile>& files)
{
    const sim::Imported out = sim::importSettings(files, {.gpus = 8}, test::catalogue());
    const Json scenario = Json::parse(out.scenario);
    const Json given = scenario["training"].value("stack", Json("none"));
    const std::string stack = given.is_object() ? given["base"] : given; // beside it, DeepSpeed's buffer
    const auto told =
        std::find_if(out.notes.begin(), out.notes.end(), [](const sim::Note& note) { return note.pointer == "/training/stack"; });
    EXPECT_EQ(told != out.notes.end(), stack != "none");
    if (told == out.notes.end())
        return stack;
    if (told->became == sim::Became::unknown) {
        EXPECT_THAT(told->text, HasSubstr("are assumed; with --set training.stack="));
        return stack + ", assumed";
    }
    EXPECT_EQ(told->became, sim::Became::used);
    EXPECT_THAT(told->text, HasSubstr(stack));
    return stack;
}
std::string stackOfImport(const std::string& text)
{
    return stackOfImport({{"file", text}});
}

TEST(TransformersStack, IsTakenWhereOnlyItsTrainerReadsTheFile)
{
    EXPECT_EQ(stackOfImport(kOfAxolotl + "fsdp_config:\n  reshard_after_forward: true\n"), "huggingface");
    EXPECT_EQ(stackOfImport(kOfAxolotl), "huggingface");
    EXPECT_EQ(stackOfImport(kOfAxolotl + "deepspeed: zero3.json\n"), "deepspeed-2023");
    EXPECT_EQ(stackOfImport(kOfAxolotl + "deepspeed: zero2.json\n"), "huggingface");
    EXPECT_EQ(stackOfImport(kOfAxolotl + "torch_compile: true\n"), "none") << "a compiler is other software";
    EXPECT_EQ(stackOfImport(kOfFactory), "huggingface");
    EXPECT_EQ(stackOfImport(kOfFactory + "deepspeed: ds_z3_config.json\n"), "deepspeed-2023");
    for (const char* other : {"use_mca: true\n", "use_unsloth: true\n", "use_kt: true\n", "tensor_model_parallel_size: 2\n"})
        EXPECT_EQ(stackOfImport(kOfFactory + other), "none") << other;
    EXPECT_EQ(stackOfImport(kOfFactory + "use_mca: false\ntensor_model_parallel_size: 1\n"), "huggingface");
    EXPECT_EQ(stackOfImport(kOfAccelerate + "distributed_type: FSDP\n"), "huggingface");
    EXPECT_EQ(stackOfImport(kOfAccelerate + "distributed_type: FSDP\ndynamo_config:\n  dynamo_backend: INDUCTOR\n"), "none");
    EXPECT_EQ(stackOfImport(kOfAccelerate + "distributed_type: FSDP\ndynamo_config:\n  dynamo_backend: 'NO'\n"), "huggingface");
    EXPECT_EQ(stackOfImport(kOfAccelerate + "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n"),
              "deepspeed-2023");
    EXPECT_EQ(stackOfImport(kOfAccelerate + "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\n"), "huggingface");
    for (const char* other : {"distributed_type: MULTI_GPU\n", "distributed_type: MEGATRON_LM\n"})
        EXPECT_EQ(stackOfImport(kOfAccelerate + other), "none") << other;
}

TEST(TransformersStack, IsThatOfADeepSpeedFileThatItFillsIn)
{
    const auto file = [](const std::string& more, int stage) {
        return R"({"zero_optimization": {"stage": )" + std::to_string(stage) + R"(}, "bf16": {"enabled": true}, )" + more + "}";
    };
    const std::string filled = R"("train_micro_batch_size_per_gpu": "auto")", given = R"("train_micro_batch_size_per_gpu": 2)";
    EXPECT_EQ(stackOfImport(file(filled, 3)), "deepspeed-2023");
    EXPECT_EQ(stackOfImport(file(filled, 2)), "huggingface");
    EXPECT_EQ(stackOfImport(file(given, 3)), "deepspeed-2023, assumed") << "who reads it is not known";
    EXPECT_EQ(stackOfImport(file(filled + R"(, "autotuning": {"enabled": true})", 3)), "deepspeed-2023, assumed")
        << "DeepSpeed's tuner says it so, too";
    const std::string start = "deepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Meta-Llama-3-8B --bf16 "
                              "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 ";
    EXPECT_EQ(stackOfImport({{"run.sh", start + "--deepspeed ds.json\n"}, {"ds.json", file(filled, 3)}}), "deepspeed-2023");
    EXPECT_EQ(stackOfImport(start + "--zero_stage 3 --deepspeed\n"), "deepspeed-2023, assumed") << "DeepSpeed-Chat's";
}

TEST(TransformersStack, ReducesGradientsWithTheLastMicrobatch)
{
    const auto reduces = [](const std::string& text) { return importedText(text, 8).at("/layout/reduce_each_microbatch"); };
    const std::string four = "gradient_accumulation_steps: 4\n";
    for (const char* reshards : {"true", "false"}) // ZeRO 3 and 2
        EXPECT_EQ(reduces(kOfAxolotl + four + "fsdp_config:\n  reshard_after_forward: " + reshards + "\n"), false);
    EXPECT_EQ(reduces(kOfAxolotl + "fsdp_config:\n  reshard_after_forward: true\n"), true) << "one micro-batch a step";
    EXPECT_EQ(reduces(kOfAxolotl + four + "deepspeed: zero3.json\n"), true);
    EXPECT_EQ(reduces(kOfAxolotl + four +
                      "fsdp_config:\n  reshard_after_forward: true\n"
                      "accelerator_config:\n  gradient_accumulation_kwargs:\n    sync_each_batch: true\n"),
              true);
    EXPECT_EQ(reduces(kOfAccelerate + four + "distributed_type: FSDP\n"), false);
}

TEST(TransformersStack, GathersParametersWhereTheyAreNeeded)
{
    const auto gathers = [](const std::string& text) { return importedText(text, 8).at("/training/overlap/param_gather"); };
    EXPECT_EQ(gathers(kOfAxolotl + "deepspeed: zero3.json\n"), false);
    EXPECT_EQ(gathers(kOfAxolotl + "fsdp_config:\n  reshard_after_forward: true\n"), true);
}

TEST(TransformersStack, IsToldOfAnExportWhereTheScenarioHasAnotherOne)
{
    const auto lost = [](const std::string& stack) {
        const sim::Scenario scenario = sim::resolvedScenario(
            sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": {"base": "llama3-8b"},
                "cluster": {"base": "h100-sxm-ib400"}, "layout": {"dp": 8, "zero_stage": 3}, "training": {"stack": ")" +
                                         stack + "\"}}"),
            test::catalogue());
        for (const sim::Note& note : sim::exportSettings(scenario, "accelerate-yaml", test::catalogue()).notes)
            if (note.pointer == "/training/stack")
                return note.text;
        return std::string("nothing");
    };
    EXPECT_EQ(lost("huggingface"), "nothing");
    EXPECT_THAT(lost("pytorch-eager"), HasSubstr("there it is huggingface"));
}

TEST(Fsdp, OfTheTrainersListOneWordIsTheStrategy)
{
    const auto of = [](const std::string& fsdp) {
        return test::importedText("base_model: meta-llama/Llama-3.1-8B\nsequence_len: 2048\nmicro_batch_size: 1\n" + fsdp, 16);
    };
    EXPECT_EQ(of("fsdp:\n  - full_shard\n  - auto_wrap\n").at("/layout/zero_stage"), 3);
    const auto hybrid = of("fsdp:\n  - hybrid_shard\n  - auto_wrap\n");
    EXPECT_EQ(hybrid.at("/layout/zero_stage"), 3);
    EXPECT_EQ(hybrid.at("/layout/dp_shard"), 8);
    EXPECT_EQ(of("fsdp:\n  - shard_grad_op\n  - offload\n").at("/layout/zero_stage"), 2);
    EXPECT_EQ(of("fsdp:\n  - shard_grad_op\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n").at("/layout/zero_stage"), 3)
        << "its own table says it";
    for (const char* empty :
         {"deepspeed:\nfsdp:\nfsdp_config:\n", "fsdp:\nfsdp_config:\n#  fsdp_offload_params: true\n", "fsdp_version: 2\n"})
        EXPECT_EQ(of(empty).at("/layout/zero_stage"), 0) << empty;
}

/// accelerate/utils/fsdp_utils.py: MixedPrecisionPolicy(param_dtype, reduce_dtype), in which fully_shard reduces gradients.
TEST(FsdpPolicy, SaysWhatGradientsAreReducedIn)
{
    const auto of = [](const std::string& policy) {
        return importedText(kOfAxolotl + "fsdp_version: 2\nfsdp_config:\n  fsdp_mixed_precision_policy: " + policy + "\n", 8);
    };
    const std::string reduce = "fsdp_config.fsdp_mixed_precision_policy.reduce_dtype";
    EXPECT_EQ(of("{param_dtype: bf16, reduce_dtype: float32}").at("/training/gradient_dtype"), "fp32");
    EXPECT_EQ(of("{param_dtype: bfloat16, reduce_dtype: bfloat16}").at("/training/gradient_dtype"), "bf16");
    EXPECT_EQ(of("{reduce_dtype: torch.float32}").became(reduce), "used");
    EXPECT_EQ(of("{reduce_dtype: sixteen}").became(reduce), "unknown");
    EXPECT_EQ(of("{param_dtype: float32}").became("fsdp_config.fsdp_mixed_precision_policy.param_dtype"), "contradictory");
    const auto axolotl = importedText(kOfAxolotl + "fsdp_config:\n  mixed_precision_policy: {reduce_dtype: fp32}\n", 8);
    EXPECT_EQ(axolotl.at("/training/gradient_dtype"), "fp32");
}

/// accelerate/utils/launch.py has no variable for it, so that the program which it starts never hears of it.
TEST(FsdpPolicy, OfAcceleratesFileReachesNoProgram)
{
    const std::string job = kOfAccelerate + "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n";
    const auto out = importedText(job + "  fsdp_mixed_precision_policy: {reduce_dtype: float32}\n", 8);
    EXPECT_EQ(out.became("fsdp_config.fsdp_mixed_precision_policy.reduce_dtype"), "harmless");
    EXPECT_EQ(out.at("/training/gradient_dtype"), importedText(job, 8).at("/training/gradient_dtype"));
}

TEST(FsdpPolicy, ANumberOfRanksToShardOverIsTold)
{
    const auto out = importedText(
        kOfAccelerate + "distributed_type: FSDP\nfsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: 8}\n", 8);
    EXPECT_EQ(out.became("fsdp_config.fsdp_reshard_after_forward"), "not_representable");
    EXPECT_EQ(out.at("/layout/zero_stage"), 3);
}

/// axolotl, utils/schemas/config.py: gradient_checkpointing may be "offload".
TEST(AxolotlImport, CheckpointsOnTheHostAreTold)
{
    const auto out = importedText(kOfAxolotl + "gradient_checkpointing: offload\n", 8);
    EXPECT_EQ(out.at("/training/recompute"), "full");
    EXPECT_EQ(out.became("gradient_checkpointing"), "not_representable");
}

/// loaders/adapter.py of axolotl and extras/misc.py of LLaMA-Factory: all linear layers, those of experts among them where they
/// are layers. Adapters there are not simulated, and what that leaves out is told with its number.
TEST(LoraTargets, OfExpertsAreToldWithTheirNumber)
{
    const auto toldOf = [](const test::ImportedText& out, const std::string& setting) {
        std::string text;
        for (const sim::Note& note : out.imported.notes)
            if (note.setting == setting && note.pointer == "/training/lora/targets")
                text += note.text;
        return text;
    };
    const std::string mixtral = "base_model: mistralai/Mixtral-8x7B-v0.1\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\n"
                                "adapter: lora\nlora_r: 16\n";
    const std::string factory = "model_name_or_path: mistralai/Mixtral-8x7B-v0.1\nstage: sft\ntemplate: mistral\n"
                                "cutoff_len: 2048\nfinetuning_type: lora\nlora_rank: 16\nlora_target: ";
    // A and B of three matrices of 4096 x 14336: 3 (4096 + 14336) 16, beside 8 experts in 32 layers.
    const auto linear = importedText(mixtral + "lora_target_linear: true\n", 8);
    EXPECT_THAT(toldOf(linear, "lora_target_linear"), HasSubstr("about 226 million"));
    EXPECT_EQ(linear.at("/training/lora/targets"), Json::parse(R"(["q_proj", "k_proj", "v_proj", "o_proj"])"));
    EXPECT_THAT(toldOf(importedText(factory + "all\n", 8), "lora_target"), HasSubstr("about 226 million"));
    EXPECT_THAT(toldOf(importedText(factory + "w1,w2,w3\n", 8), "lora_target"), HasSubstr("about 226 million"));
    EXPECT_THAT(toldOf(importedText(factory + "q_proj,v_proj,w2\n", 8), "lora_target"), HasSubstr("about 75 million"));
    EXPECT_THAT(toldOf(importedText(mixtral + "lora_target_modules: [q_proj, w1]\n", 8), "lora_target_modules"),
                HasSubstr("about 75 million"));
    const auto fused = importedText("base_model: openai/gpt-oss-20b\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\n"
                                    "adapter: lora\nlora_r: 16\nlora_target_linear: true\n",
                                    8);
    EXPECT_THAT(toldOf(fused, "lora_target_linear"), HasSubstr("are fused parameters"));
    EXPECT_THAT(toldOf(fused, "lora_target_linear"), testing::Not(HasSubstr("million")));
    const auto dense = importedText(kOfAxolotl + "adapter: lora\nlora_r: 16\nlora_target_linear: true\n", 8);
    EXPECT_EQ(dense.at("/training/lora/targets").size(), 7U);
}

/// What is told and what is imported are of one set: whatever is named, the notes that speak of what is imported say what stands
/// in the scenario.
TEST(LoraTargets, AreToldAsTheyAreImported)
{
    struct Case {
        std::string text, setting, without; ///< names that are told to have no adapters here; empty: nothing is told
        Json targets;
    };
    const std::string lora = "adapter: lora\nlora_r: 16\n";
    const std::string qwen = "base_model: Qwen/Qwen1.5-MoE-A2.7B\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\n";
    const std::string factory = "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\ntemplate: llama3\ncutoff_len: 2048\n"
                                "finetuning_type: lora\nlora_rank: 16\nlora_target: ";
    const Json all = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
    const Json ofAttention = {"q_proj", "k_proj", "v_proj", "o_proj"};
    const std::string modules = "lora_target_modules";
    for (const Case& one : {
             Case{kOfAxolotl + lora + "lora_target_linear: true\nlora_target_modules: [q_proj, lm_head]\n", modules, "lm_head",
                  all},
             Case{kOfAxolotl + lora + "lora_target_modules: [q_proj, lm_head]\n", modules, "lm_head", Json::array({"q_proj"})},
             Case{kOfAxolotl + lora + "lora_target_modules: [self_attn.q_proj, mlp.up_proj]\n", modules, "",
                  Json::array({"q_proj", "up_proj"})},
             Case{kOfAxolotl + lora + "lora_target_modules: [lm_head]\n", modules, "lm_head", all},
             Case{qwen + lora + "lora_target_modules: [lm_head, w1]\n", modules, "lm_head", ofAttention},
             Case{qwen + lora + "lora_target_modules: [lm_head]\n", modules, "lm_head", ofAttention},
             Case{factory + "wqkv,lm_head\n", "lora_target", "wqkv, lm_head", all},
             Case{factory + "[all]\n", "lora_target", "", all},
             Case{factory + "q_proj,v_proj\n", "lora_target", "", Json::array({"q_proj", "v_proj"})},
         }) {
        const auto out = importedText(one.text, 8);
        EXPECT_EQ(out.at("/training/lora/targets"), one.targets) << one.text;
        std::string imported;
        for (const Json& target : one.targets)
            imported += (imported.empty() ? "" : " ") + target.get<std::string>();
        std::string told;
        for (const sim::Note& note : out.imported.notes)
            if (note.pointer == "/training/lora/targets" && note.text.find("imported are") != std::string::npos) {
                EXPECT_THAT(note.text, HasSubstr(imported)) << one.text;
                EXPECT_EQ(note.became, sim::Became::notRepresentable) << one.text;
                told += note.text;
            }
        if (one.without.empty())
            EXPECT_EQ(told, "") << one.text;
        else
            EXPECT_THAT(told, HasSubstr('"' + one.without + "\": adapters beside these layers are not simulated")) << one.text;
        const bool isAsked = std::find(out.imported.unknown.begin(), out.imported.unknown.end(), "/training/lora/targets") !=
                             out.imported.unknown.end();
        EXPECT_EQ(isAsked, one.text.find("[lm_head]") != std::string::npos || one.text.find("wqkv") != std::string::npos)
            << one.text;
    }
}

/// axolotl, monkeypatch/models/llama4/modeling.py: the experts of Llama 4 as one layer each, "experts.gate_projs.7".
TEST(LoraTargets, ReachLinearExpertsOfLlama4)
{
    const std::string scout =
        "base_model: meta-llama/Llama-4-Scout-17B-16E\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\n"
        "adapter: lora\nlora_r: 16\n";
    const auto toldOf = [&](const std::string& more) {
        const auto out = importedText(scout + more, 8);
        for (const sim::Note& note : out.imported.notes)
            if (note.pointer == "/training/lora/targets" && note.text.find("adapters are beside") != std::string::npos)
                return std::pair(note.became, note.text);
            else if (note.text.find("adapters beside experts") != std::string::npos)
                return std::pair(note.became, note.text);
        return std::pair(sim::Became::used, std::string());
    };
    const std::string linear = "lora_target_linear: true\n", layers = "llama4_linearized_experts: true\n";
    const auto fused = toldOf(linear);
    EXPECT_THAT(fused.second, HasSubstr("fused parameters"));
    EXPECT_THAT(fused.second, HasSubstr("those beside its shared experts are not simulated"));
    EXPECT_EQ(fused.first, sim::Became::notRepresentable) << "something is lost";
    // A and B of three matrices of 5120 x 8192: 3 (5120 + 8192) 16, beside 16 experts in 48 layers.
    const auto all = toldOf(linear + layers);
    EXPECT_THAT(all.second, HasSubstr("about 491 million"));
    EXPECT_EQ(all.first, sim::Became::notRepresentable);
    EXPECT_THAT(toldOf(layers + "lora_target_modules: [q_proj, 'experts.gate_projs.[0-9]+$']\n").second,
                HasSubstr("about 164 million"));
    EXPECT_THAT(toldOf(layers + "lora_target_modules: [q_proj, shared_expert.gate_proj]\n").second,
                HasSubstr("those beside its shared experts are not simulated"));
    EXPECT_EQ(importedText(scout + linear + layers, 8).became("llama4_linearized_experts"), "used");
    // As axolotl's own example has it (examples/llama-4/scout-qlora-single-h100-flex.yaml).
    EXPECT_EQ(
        importedText(scout + layers + "lora_target_modules: [self_attn.q_proj, self_attn.o_proj, shared_expert.up_proj]\n", 8)
            .at("/training/lora/targets"),
        Json::array({"q_proj", "o_proj"}));
}

TEST(FsdpPolicy, UnknownAndNarrowFormatsAreTold)
{
    const auto became = [](const std::string& policy, const std::string& of = "") {
        return importedText(kOfAxolotl + "fsdp_version: 2\nfsdp_config:\n  mixed_precision_policy: " + policy + "\n", 8)
            .became("fsdp_config.mixed_precision_policy" + of);
    };
    EXPECT_EQ(became("{param_dtype: sixteen, reduce_dtype: fp32}", ".param_dtype"), "unknown");
    EXPECT_EQ(became("{param_dtype: bfloat16}", ".param_dtype"), "used");
    EXPECT_EQ(became("{reduce_dtype: fp8}", ".reduce_dtype"), "not_representable");
    EXPECT_EQ(became("{reduce_dtype: bf16}", ".reduce_dtype"), "used");
    EXPECT_EQ(became("sixteen"), "unknown");
    EXPECT_EQ(became("fp8"), "not_representable");
    EXPECT_EQ(became("bf16"), "used");
}

/// accelerate/utils/launch.py hands FSDP's settings to a program only where it is FSDP's.
TEST(Fsdp, OfAnotherTypesFileSaysNothing)
{
    const std::string left = "fsdp_config:\n  fsdp_activation_checkpointing: true\n  fsdp_reshard_after_forward: true\n"
                             "  fsdp_mixed_precision_policy: {reduce_dtype: float32, param_dtype: float32}\n";
    for (const char* type : {"distributed_type: MULTI_GPU\n", "distributed_type: 'NO'\n",
                             "distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 2}\n"}) {
        const auto with = importedText(kOfAccelerate + type + left, 8), without = importedText(kOfAccelerate + type, 8);
        EXPECT_EQ(with.imported.scenario, without.imported.scenario) << type;
        for (const char* name : {"fsdp_activation_checkpointing", "fsdp_reshard_after_forward",
                                 "fsdp_mixed_precision_policy.reduce_dtype", "fsdp_mixed_precision_policy.param_dtype"}) {
            EXPECT_EQ(with.became(std::string("fsdp_config.") + name), "harmless") << type << name;
            EXPECT_THAT(with.textOn(std::string("fsdp_config.") + name), HasSubstr("has no effect")) << type << name;
        }
    }
    EXPECT_EQ(importedText(kOfAccelerate + "distributed_type: FSDP\n" + left, 8).at("/training/recompute"), "full");
}

/// loaders/adapter.py hands lora_r to PEFT as it is; without a usable one a job is still one of adapters.
TEST(AxolotlImport, AdaptersWithoutAUsableRankHavePeftsOwn)
{
    const std::string lora = kOfAxolotl + "adapter: lora\nlora_target_linear: true\n";
    const auto none = importedText(lora, 8);
    EXPECT_EQ(none.at("/training/lora/rank"), 8);
    EXPECT_EQ(none.became("lora_r"), "default");
    EXPECT_THAT(none.textOn("lora_r"), HasSubstr("PEFT's own"));
    EXPECT_EQ(none.at("/training/lora/targets").size(), 7U);
    const auto negative = importedText(lora + "lora_r: -4\n", 8);
    EXPECT_EQ(negative.at("/training/lora/rank"), 8);
    EXPECT_EQ(negative.became("lora_r"), "unknown");
    EXPECT_THAT(negative.textOn("lora_r"), HasSubstr("-4 is less than 1, and not imported"));
    EXPECT_EQ(importedText(kOfAxolotl + "adapter: qlora\n", 8).at("/training/lora/base_dtype"), "nf4");
}

/// PEFT's ParamWrapper: A and B of r rows an expert, one pair beside gate and up, which are one parameter.
TEST(LoraTargets, ParametersOfExpertsAreToldWithTheirNumber)
{
    const std::string parameters = "lora_target_parameters: [mlp.experts.gate_up_proj, mlp.experts.down_proj]\n";
    const auto toldOf = [](const test::ImportedText& out) {
        std::string text;
        for (const sim::Note& note : out.imported.notes)
            if (note.setting.ends_with("target_parameters")) {
                EXPECT_EQ(note.became, sim::Became::notRepresentable);
                text += note.text;
            }
        return text;
    };
    const std::string gptOss = "base_model: openai/gpt-oss-20b\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\n"
                               "adapter: lora\nlora_r: 8\nlora_target_modules: [q_proj, v_proj]\n";
    // (2880 + 2 x 2880) + (2880 + 2880), 8 rows beside each of 32 experts in 24 layers
    const auto out = importedText(gptOss + parameters, 8);
    EXPECT_THAT(toldOf(out), HasSubstr("about 88 million"));
    EXPECT_EQ(out.at("/training/lora/targets"), Json::parse(R"(["q_proj", "v_proj"])"));
    EXPECT_THAT(toldOf(importedText(gptOss + "lora_target_parameters: [mlp.experts.down_proj]\n", 8)),
                HasSubstr("about 35 million"));
    const auto dense = importedText(kOfAxolotl + "adapter: lora\nlora_r: 8\nlora_target_modules: [q_proj]\n" + parameters, 8);
    EXPECT_THAT(toldOf(dense), HasSubstr("have no key"));
    EXPECT_EQ(dense.at("/training/lora/targets"), Json::parse(R"(["q_proj"])"));
    EXPECT_NE(importedText(gptOss + "lora_target_parameters: []\n", 8).became("lora_target_parameters"), "not_representable");
}

TEST(FsdpPolicy, AListIsTold)
{
    const auto out = importedText(kOfAxolotl + "fsdp_version: 2\nfsdp_config:\n  mixed_precision_policy: [bf16, fp32]\n", 8);
    EXPECT_EQ(out.became("fsdp_config.mixed_precision_policy"), "unknown");
    EXPECT_THAT(out.textOn("fsdp_config.mixed_precision_policy"), HasSubstr("a list is no policy"));
}

TEST(AxolotlImport, ActivationsOnTheHostNameTheirKey)
{
    EXPECT_THAT(importedText(kOfAxolotl + "activation_offloading: true\n", 8).textOn("activation_offloading"),
                HasSubstr("training.offload.activation_layers"));
}

/// meta-llama's Meta-Llama-3 has positions up to 8,192 and no scaled frequencies; 3.1 has both.
TEST(CatalogueModels, Llama3IsNot31)
{
    const auto of = [](const std::string& name) {
        return importedText("base_model: " + name + "\nsequence_len: 4096\nmicro_batch_size: 1\n", 8);
    };
    for (const char* name :
         {"meta-llama/Meta-Llama-3-8B-Instruct", "NousResearch/Meta-Llama-3-8B", "unsloth/llama-3-8b-bnb-4bit"}) {
        EXPECT_TRUE(of(name).at("/model/rope_scaling").is_null()) << name;
        EXPECT_EQ(of(name).at("/model/max_position_embeddings"), 8192) << name;
        EXPECT_EQ(of(name).at("/model/rope_theta"), 500000) << name;
    }
    EXPECT_EQ(of("meta-llama/Meta-Llama-3-70B").at("/model/num_hidden_layers"), 80);
    for (const char* name : {"meta-llama/Meta-Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct", "llama3-8b",
                             "deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "NousResearch/Hermes-3-Llama-3.1-8B"})
        EXPECT_EQ(of(name).at("/model/rope_scaling/factor"), 8) << name;
    EXPECT_EQ(of("Qwen/Qwen1.5-MoE-A2.7B-Chat").at("/model/num_experts"), 60);
}

} // namespace
