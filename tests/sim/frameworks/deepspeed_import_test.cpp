// DeepSpeed's JSON alone and as Accelerate, axolotl and LLaMA-Factory start it: what it does where it is told nothing.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;
using testing::HasSubstr;
using testing::Not;

std::string deepSpeedJson(const std::string& more)
{
    return R"({"train_micro_batch_size_per_gpu": 1, "train_batch_size": 16, )" + more + "}";
}

TEST(DeepSpeedImport, GradientsAreAddedUpInTheModelsOwnFormat)
{
    // runtime/engine.py, get_data_types
    const std::string stage = R"("zero_optimization": {"stage": 2}, )";
    const auto bf16 = importedText(deepSpeedJson(stage + R"("bf16": {"enabled": true})"), 16);
    EXPECT_EQ(bf16.at("/training/gradient_dtype"), "bf16");
    EXPECT_THAT(bf16.textOn("data_types.grad_accum_dtype"), HasSubstr("own format"));
    EXPECT_EQ(importedText(deepSpeedJson(stage + R"("fp16": {"enabled": true})"), 16).at("/training/gradient_dtype"), "bf16")
        << "two bytes";
    EXPECT_EQ(importedText(deepSpeedJson(R"("zero_optimization": {"stage": 2})"), 16).at("/training/gradient_dtype"), "fp32");
    EXPECT_EQ(importedText(deepSpeedJson(stage + R"("bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"})"), 16)
                  .at("/training/gradient_dtype"),
              "fp32");
    const auto refused = importedText(
        deepSpeedJson(
            R"("zero_optimization": {"stage": 0}, "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"})"),
        16);
    EXPECT_EQ(refused.became("data_types.grad_accum_dtype"), "contradictory");
}

TEST(DeepSpeedImport, TheProgramIsTakenToRunModelsOfTransformers)
{
    const auto of = [](int stage) {
        return importedText(
            deepSpeedJson(R"("bf16": {"enabled": true}, "zero_optimization": {"stage": )" + std::to_string(stage) + "}"), 16);
    };
    EXPECT_EQ(of(2).at("/training/stack/id"), "huggingface");
    EXPECT_EQ(of(3).at("/training/stack/id"), "deepspeed-2023");
    EXPECT_EQ(of(3).at("/training/overlap/param_gather"), false) << "it gathers where it needs";
    EXPECT_THAT(of(2).imported.unknown, testing::Contains("/training/stack"));
}

TEST(DeepSpeedImport, GradientsAreJoinedInABufferOfTheGivenSize)
{
    const auto of = [](int stage, const std::string& more) {
        return importedText(deepSpeedJson(R"("bf16": {"enabled": true}, "model_name_or_path": "meta-llama/Llama-3.1-8B", )"
                                          R"("zero_optimization": {"stage": )" +
                                          std::to_string(stage) + R"(, "reduce_bucket_size": )" + more + "}"),
                            16);
    };
    for (const int stage : {2, 3})
        EXPECT_EQ(of(stage, "500000000").at("/training/stack/reduce_bucket"), 500'000'000) << stage;
    EXPECT_EQ(of(3, "5e8").at("/training/stack/reduce_bucket"), 500'000'000);
    EXPECT_EQ(of(3, "500000000").at("/training/stack/id"), "deepspeed-2023");
    EXPECT_EQ(of(3, "\"auto\"").at("/training/stack/reduce_bucket"), 4096 * 4096);
    EXPECT_EQ(of(1, "500000000").at("/training/stack/reduce_bucket"), 0) << "stage 1 has none";
    EXPECT_EQ(of(3, "5e9").at("/training/stack/reduce_bucket"), 5'000'000'000) << "more than 2^31";
    EXPECT_EQ(of(3, "\"5e8\"").at("/training/stack/reduce_bucket"), 500'000'000) << "Pydantic makes a number of it";
    for (const char* none : {"0", "\"big\"", "[1, 2]"}) {
        EXPECT_EQ(of(3, none).became("zero_optimization.reduce_bucket_size"), "unknown") << none;
        EXPECT_EQ(of(3, none).at("/training/stack/reduce_bucket"), 0) << none;
    }
    EXPECT_EQ(
        importedText(
            deepSpeedJson(R"("bf16": {"enabled": true}, "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"})"), 8)
            .became("zero_optimization.reduce_bucket_size"),
        "unknown")
        << "of a model that nobody names";
    EXPECT_EQ(of(3, R"(500000000, "contiguous_gradients": false)").at("/training/stack/reduce_bucket"), 0);
}

// Transformers' trainer_config_finalize and Accelerate's prepare: hidden_size squared, whoever starts DeepSpeed.
TEST(DeepSpeedImport, AnOpenBucketIsMadeFromTheTrainersModel)
{
    const sim::SettingsFile zero{"ds_z3_config.json",
                                 R"({"train_batch_size": "auto", "bf16": {"enabled": "auto"},
            "zero_optimization": {"stage": 3, "contiguous_gradients": true, "reduce_bucket_size": "auto"}})"};
    const std::string setting = "zero_optimization.reduce_bucket_size";
    const auto imported = [&](const std::vector<sim::SettingsFile>& files) {
        test::ImportedText out{.imported = sim::importSettings(files, {.gpus = 8}, test::catalogue()), .scenario = {}};
        out.scenario = Json::parse(out.imported.scenario);
        return out;
    };
    const std::string factory = "stage: sft\ncutoff_len: 2048\nfinetuning_type: full\nbf16: true\ndeepspeed: ds_z3_config.json\n";
    for (const sim::SettingsFile& trainer :
         {sim::SettingsFile{"q.yaml", "model_name_or_path: Qwen/Qwen2.5-7B\n" + factory},
          {"ax.yaml", "base_model: Qwen/Qwen2.5-7B\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\n"
                      "deepspeed: ds_z3_config.json\n"},
          {"t.sh", "accelerate launch --num_processes 8 trl sft --model_name_or_path Qwen/Qwen2.5-7B "
                   "--per_device_train_batch_size 1 --bf16 --max_length 2048 --deepspeed ds_z3_config.json\n"}}) {
        const auto out = imported({trainer, zero});
        EXPECT_EQ(out.at("/training/stack/reduce_bucket"), 3584 * 3584) << trainer.name;
        int notes = 0;
        for (const sim::Note& note : out.imported.notes)
            if (note.setting.ends_with("reduce_bucket_size")) {
                EXPECT_EQ(note.became, sim::Became::used) << trainer.name;
                EXPECT_EQ(note.text, "the square of the hidden size") << trainer.name;
                ++notes;
            }
        EXPECT_EQ(notes, 1) << trainer.name;
    }
    const sim::SettingsFile model{"config.json",
                                  R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 1024,
                                      "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 4096,
                                      "vocab_size": 32000})"};
    EXPECT_EQ(imported({{"q.yaml", "model_name_or_path: ./mine\n" + factory}, zero, model}).at("/training/stack/reduce_bucket"),
              1024 * 1024)
        << "the model's file counts";
    const auto alone = imported({{"acc.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_machines: 1\n"
                                              "num_processes: 8\nmixed_precision: bf16\ndeepspeed_config:\n"
                                              "  deepspeed_config_file: ds_z3_config.json\n"},
                                 zero});
    EXPECT_EQ(alone.became(setting), "unknown") << "no file says the model";
}

// deepspeed/runtime/zero/config.py: reduce_bucket_size 5e8, contiguous_gradients on.
TEST(DeepSpeedImport, TheBufferThatNobodyNamesIsDeepSpeedsDefault)
{
    const auto of = [](const std::string& zero) {
        return importedText(deepSpeedJson(R"("bf16": {"enabled": true}, "zero_optimization": {)" + zero + "}"), 16)
            .at("/training/stack/reduce_bucket");
    };
    EXPECT_EQ(of(R"("stage": 2)"), 500'000'000);
    EXPECT_EQ(of(R"("stage": 3)"), 500'000'000);
    EXPECT_EQ(of(R"("stage": 1)"), 0);
    EXPECT_EQ(of(R"("stage": 3, "contiguous_gradients": false)"), 0);
    const std::string megatron =
        "deepspeed --num_gpus 8 pretrain_gpt.py --deepspeed --no-pipeline-parallel --deepspeed_config ds.json --num-layers 24 "
        "--hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 --global-batch-size 64";
    EXPECT_EQ(importedText(megatron + " --zero-stage 2", 8).at("/training/stack/reduce_bucket"), 0)
        << "the file is not there, and may say another";
    for (const auto& [more, bucket] : {std::pair{"", 500'000'000}, std::pair{R"(, "reduce_bucket_size": 2e8)", 200'000'000}}) {
        const sim::SettingsFile file{.name = "ds.json",
                                     .text = std::string(R"({"train_batch_size": 64, "bf16": {"enabled": true}, )") +
                                             R"("zero_optimization": {"stage": 2)" + more + "}}"};
        const Json scenario = Json::parse(
            sim::importSettings({{.name = "train.sh", .text = megatron + "\n"}, file}, {.gpus = 8}, test::catalogue()).scenario);
        EXPECT_EQ(scenario["training"]["stack"]["reduce_bucket"], bucket);
        EXPECT_EQ(scenario["training"]["stack"]["base"], "megatron-deepspeed");
    }
}

TEST(DeepSpeedImport, MegatronDeepSpeedsWordsTellItsYear)
{
    const std::string job =
        "deepspeed --num_gpus 8 pretrain_gpt.py --deepspeed --zero-stage 1 --num-layers 24 --hidden-size 2048 "
        "--num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 --global-batch-size 64 ";
    EXPECT_EQ(importedText(job, 8).at("/training/stack/id"), "megatron-deepspeed");
    const auto later = importedText(job + "--swiglu", 8);
    EXPECT_EQ(later.at("/training/stack/id"), "megatron-deepspeed-2023");
    EXPECT_THAT(later.textOn("--software"), HasSubstr("--swiglu"));
}

TEST(DeepSpeedImport, APartOfTheOptimizerIsOnTheHostAtStageThreeAlone)
{
    const auto of = [](int stage) {
        return importedText(deepSpeedJson(R"("bf16": {"enabled": true}, "zero_optimization": {"stage": )" +
                                          std::to_string(stage) + R"(, "offload_optimizer": {"device": "cpu", "ratio": 0.25}})"),
                            16);
    };
    EXPECT_EQ(of(3).at("/training/offload/optimizer"), 0.25);
    EXPECT_EQ(of(2).at("/training/offload/optimizer"), 1);
    EXPECT_THAT(of(2).textOn("zero_optimization.offload_optimizer.ratio"), HasSubstr("stage 3 alone"));
}

const std::string kStagedAccelerate = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nmixed_precision: bf16\n"
                                      "num_machines: 2\nnum_processes: 16\ndeepspeed_config:\n  gradient_accumulation_steps: 4\n";

TEST(AccelerateImport, DeepSpeedHidesAndKeepsWhatItsOwnFileWould)
{
    const auto two =
        importedText(kStagedAccelerate + "  zero_stage: 2\n  offload_optimizer_device: cpu\n  offload_param_device: none\n");
    EXPECT_EQ(two.at("/training/overlap/grad_reduce"), false) << "overlap_comm is on at stage 3 alone";
    EXPECT_EQ(two.became("FSDP prefetch"), "no note");
    EXPECT_EQ(two.at("/training/gradient_dtype"), "bf16");
    EXPECT_EQ(two.at("/training/offload/optimizer"), 1);
    EXPECT_EQ(two.became("deepspeed_config.offload_optimizer_device"), "used");
    EXPECT_EQ(two.at("/training/global_batch_size"), 64);
    EXPECT_EQ(two.at("/training/stack/reduce_bucket"), 500'000'000) << "it has no word for it";
    std::string told;
    for (const sim::Note& note : two.imported.notes)
        if (note.pointer == "/training/global_batch_size" && note.became == Became::unknown)
            told = note.text;
    EXPECT_THAT(told, HasSubstr("64 = micro-batch 1 x accumulation 4 x dp 16"));
    const auto three = importedText(kStagedAccelerate + "  zero_stage: 3\n  offload_optimizer_device: nvme\n");
    EXPECT_EQ(three.at("/training/overlap/grad_reduce"), true);
    EXPECT_EQ(three.became("deepspeed_config.offload_optimizer_device"), "not_representable");
    const auto none = importedText(kStagedAccelerate + "  zero_stage: 3\n  offload_optimizer_device: none\n");
    EXPECT_EQ(none.became("deepspeed_config.offload_optimizer_device"), "harmless");
}

TEST(AccelerateImport, AxesThatItRefusesTogetherAreTold)
{
    // parallelism_config.py, __post_init__
    const auto of = [](const std::string& axes) {
        std::string text = "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\nnum_processes: 16\nparallelism_config:\n";
        std::istringstream in(axes);
        for (std::string axis; in >> axis;)
            text += "  parallelism_config_" + axis.substr(0, axis.find('=')) + ": " + axis.substr(axis.find('=') + 1) + "\n";
        return importedText(text);
    };
    const std::string prefix = "parallelism_config.parallelism_config_";
    const auto ring = of("dp_replicate_size=2 dp_shard_size=1 cp_size=4 sp_size=2");
    EXPECT_EQ(ring.became(prefix + "sp_size"), "contradictory");
    EXPECT_THAT(ring.textOn(prefix + "sp_size"), HasSubstr("line 8"));
    EXPECT_EQ(ring.became(prefix + "dp_replicate_size"), "contradictory");
    EXPECT_THAT(ring.textOn(prefix + "dp_replicate_size"), HasSubstr("cp_size of line 8"));
    EXPECT_EQ(of("dp_replicate_size=2 dp_shard_size=8 sp_size=1").became(prefix + "dp_replicate_size"), "used");
    EXPECT_EQ(of("dp_replicate_size=2 dp_shard_size=2 cp_size=4").became(prefix + "dp_replicate_size"), "used");
    EXPECT_EQ(of("dp_replicate_size=8 dp_shard_size=1 tp_size=2").became(prefix + "dp_replicate_size"), "contradictory");
    const auto heads = of("dp_shard_size=8 sp_size=2");
    EXPECT_EQ(heads.became(prefix + "sp_size"), "used");
    EXPECT_EQ(heads.at("/training/stack/exchanges_heads"), true);
}

TEST(DeepSpeedImport, TheOldestFilesSayWhetherThereIsZero)
{
    // runtime/zero/config.py, read_zero_config_deprecated
    EXPECT_EQ(importedText(deepSpeedJson(R"("zero_optimization": true)"), 16).at("/layout/zero_stage"), 1);
    EXPECT_EQ(importedText(deepSpeedJson(R"("zero_optimization": true)"), 16).became("zero_optimization"), "used");
    EXPECT_EQ(importedText(deepSpeedJson(R"("zero_optimization": false)"), 16).at("/layout/zero_stage"), 0);
}

TEST(DeepSpeedImport, CheckpointsThatAreSharedOrElsewhereAreTold)
{
    const std::string head = R"("zero_optimization": {"stage": 1}, "activation_checkpointing": {)";
    const auto out = importedText(deepSpeedJson(head + R"("partition_activations": true, "cpu_checkpointing": true})"), 16);
    EXPECT_EQ(out.became("activation_checkpointing.partition_activations"), "not_representable");
    EXPECT_EQ(out.became("activation_checkpointing.cpu_checkpointing"), "not_representable");
    EXPECT_EQ(importedText(deepSpeedJson(head + R"("partition_activations": false})"), 16)
                  .became("activation_checkpointing.partition_activations"),
              "harmless");
}

TEST(AccelerateImport, ParametersThatAreNotGatheredAheadAreTold)
{
    const auto became = [](const std::string& more) {
        return importedText("distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n" +
                            more)
            .became("fsdp_config.fsdp_backward_prefetch");
    };
    EXPECT_EQ(became("  fsdp_backward_prefetch: NO_PREFETCH\n"), "not_representable");
    EXPECT_EQ(became("  fsdp_backward_prefetch: BACKWARD_PRE\n"), "used");
    EXPECT_EQ(became("  fsdp_version: 2\n  fsdp_backward_prefetch: NO_PREFETCH\n"), "harmless");
}

TEST(DeepSpeedImport, SectionsThatChangeNoStepAreHarmless)
{
    const std::string start =
        R"({"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 2, "bf16": {"enabled": true},
        "zero_optimization": {"stage": 1}, )";
    const auto off = importedText(start + R"("hybrid_engine": {"enabled": false}, "nebula": {"enabled": false},
        "eigenvalue": {"enabled": false}, "progressive_layer_drop": {"enabled": false, "theta": 0.5},
        "data_efficiency": {"enabled": false, "seed": 1}, "compile": {"deepcompile": false},
        "tensor_parallel": {"autotp_size": 2, "tp_grain_size": 64}, "use_data_before_expert_parallelism": false})",
                                  8);
    for (const sim::Note& note : off.imported.notes)
        EXPECT_FALSE(note.line > 0 && note.became == sim::Became::unknown) << note.setting;
    const auto on = importedText(start + R"("progressive_layer_drop": {"enabled": true}, "data_efficiency": {"enabled": true},
        "compile": {"deepcompile": true}})",
                                 8);
    for (const char* setting : {"progressive_layer_drop.enabled", "data_efficiency.enabled", "compile.deepcompile"})
        EXPECT_EQ(on.became(setting), "not_representable") << setting;
    const auto ulysses = importedText(start + R"("sequence_parallel_size": 4})", 32);
    EXPECT_EQ(ulysses.at("/layout/cp"), 4);
    EXPECT_EQ(ulysses.at("/layout/dp"), 8);
    EXPECT_EQ(ulysses.became("sequence_parallel_size"), "used");
    EXPECT_EQ(ulysses.at("/training/stack/exchanges_heads"), true);
    EXPECT_EQ(Json::parse(ulysses.imported.scenario)["training"]["stack"]["base"], "huggingface");
}

TEST(MegatronDeepSpeedImport, TheStageOfAFileThatIsNotGivenIsAskedFor)
{
    const std::string flags = "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                              "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 "
                              "--no-pipeline-parallel --deepspeed ";
    const auto out = importedText("deepspeed pretrain_gpt.py " + flags + "--deepspeed_config ds_config.json\n", 8);
    EXPECT_THAT(out.imported.unknown, testing::Contains("/layout/zero_stage"));
    EXPECT_EQ(out.became("--deepspeed_config"), "unknown");
    const auto told =
        importedText("deepspeed pretrain_gpt.py " + flags + "--deepspeed_config ds_config.json --zero-stage 2\n", 8);
    EXPECT_EQ(told.at("/layout/zero_stage"), 2);
    EXPECT_THAT(told.imported.unknown, testing::Not(testing::Contains("/layout/zero_stage")));
    const auto named = importedText("deepspeed pretrain_gpt.py " + flags + "--deepspeed_config ds_zero2.json\n", 8);
    EXPECT_EQ(named.at("/layout/zero_stage"), 2);
    const auto experts = importedText("deepspeed pretrain_gpt.py " + flags + "--num-experts 8 --zero-stage 1\n", 8);
    EXPECT_EQ(experts.at("/model/router_bias"), false) << "its gates have no bias";
}

TEST(DeepSpeedImport, AFileWithoutZeroOfDeepSpeedsOwnKeysIsRecognised)
{
    const auto out =
        importedText("{\"train_batch_size\": 16, \"gradient_accumulation_steps\": 2, \"optimizer\": {\"type\": \"Adam\"},\n"
                     "\"fp16\": {\"enabled\": true}}\n",
                     8);
    EXPECT_EQ(out.imported.kind, "deepspeed-json");
    EXPECT_EQ(out.at("/layout/zero_stage"), 0);
    EXPECT_EQ(out.at("/training/global_batch_size"), 16);
    EXPECT_EQ(out.at("/training/precision"), "fp16");
}

TEST(DeepSpeedImport, OfDeepSpeedChatsThirdStepTheActorIsRead)
{
    const auto out = importedText(
        "deepspeed --num_gpus 8 main.py --actor_model_name_or_path facebook/opt-66b --critic_model_name_or_path "
        "facebook/opt-350m "
        "--per_device_generation_batch_size 4 --per_device_training_batch_size 4 --max_answer_seq_len 256 --max_prompt_seq_len "
        "512 "
        "--gradient_accumulation_steps 1 --deepspeed --actor_zero_stage 3 --critic_zero_stage 2 --actor_gradient_checkpointing "
        "--actor_lora_dim 128 --enable_hybrid_engine\n");
    EXPECT_EQ(out.imported.kind, "deepspeed-json");
    EXPECT_EQ(out.at("/layout/zero_stage"), 3);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 4);
    EXPECT_EQ(out.at("/training/sequence_length"), 768);
    EXPECT_EQ(out.at("/training/recompute"), "full");
    EXPECT_EQ(out.at("/training/lora/rank"), 128);
    EXPECT_EQ(out.at("/training/precision"), "fp16");
    EXPECT_EQ(out.became("--critic_zero_stage"), "not_representable");
}

} // namespace
