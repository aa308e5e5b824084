// What an import says of each word of a file: nothing is dropped, nothing unusable is used, and each note is of its own file.
#include "sim/frameworks/frameworks.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Became;
using sim::Imported;
using sim::Json;
using sim::Note;
using testing::HasSubstr;

Imported imported(const std::string& name, const std::string& text)
{
    return sim::importSettings({{name, text}}, {}, test::catalogue());
}

TEST(ImportNotes, DropsNoWordOfACommandWithoutANote)
{
    const Imported out =
        imported("run.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py \xE2\x80\x94tensor-model-parallel-size 2 "
                           "--num-layers 8 --hidden-size 128 --num-attention-heads 4 "
                           "--seq-length 128 pipeline-model-parallel-size 2 -tp 4 --bf16 stray\n");
    const auto becameOf = [&](const std::string& setting) {
        for (const Note& note : out.notes)
            if (note.setting == setting)
                return note.text;
        return std::string("no note");
    };
    EXPECT_THAT(becameOf("\xE2\x80\x94tensor-model-parallel-size"), HasSubstr("--tensor-model-parallel-size is meant"));
    EXPECT_THAT(becameOf("pipeline-model-parallel-size"), HasSubstr("stands behind --seq-length"));
    EXPECT_THAT(becameOf("-tp"), HasSubstr("one dash"));
    EXPECT_THAT(becameOf("4"), HasSubstr("no flag"));
    EXPECT_TRUE(std::any_of(out.notes.begin(), out.notes.end(), [](const Note& note) {
        return note.setting == "--bf16" && note.became == Became::unknown && note.value == "stray";
    })) << "a word is no value of it";
}

TEST(ImportNotes, TellsWhatLibrariesReadOfTheEnvironment)
{
    const Imported out = imported("run.sh", "export NCCL_IB_DISABLE=1 NCCL_DEBUG=INFO\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                                            "export NVTE_BWD_LAYERNORM_SM_MARGIN=16\nexport CUDA_LAUNCH_BLOCKING=0\nPATHS=/tmp\n"
                                            "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 128 "
                                            "--num-attention-heads 4 --seq-length 128 --micro-batch-size 1\n");
    const auto becameOf = [&](const std::string& setting) {
        for (const Note& note : out.notes)
            if (note.setting == setting)
                return std::string(sim::wordOf(note.became));
        return std::string("no note");
    };
    EXPECT_EQ(becameOf("NCCL_IB_DISABLE"), "not_representable") << "another network than the cluster's";
    EXPECT_EQ(becameOf("NCCL_DEBUG"), "harmless");
    EXPECT_EQ(becameOf("CUDA_DEVICE_MAX_CONNECTIONS"), "harmless");
    EXPECT_EQ(becameOf("NVTE_BWD_LAYERNORM_SM_MARGIN"), "not_representable");
    EXPECT_EQ(becameOf("CUDA_LAUNCH_BLOCKING"), "harmless");
    EXPECT_EQ(becameOf("PATHS"), "no note") << "no setting of anything";
}

TEST(ImportNotes, CallsNoMisspeltSettingHarmless)
{
    const Imported out = imported("job.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[activation_checkpoint]\nmodes = "
                                              "\"full\"\n[compile]\nenabled = true\n[experimental]\ncustom_import = \"x\"\n"
                                              "mystery = 1\n");
    const auto becameOf = [&](const std::string& setting) {
        for (const Note& note : out.notes)
            if (note.setting == setting)
                return note.became;
        return Became::used;
    };
    EXPECT_EQ(becameOf("activation_checkpoint.modes"), Became::unknown);
    EXPECT_EQ(becameOf("compile.enabled"), Became::unknown);
    EXPECT_EQ(becameOf("experimental.mystery"), Became::unknown);
    EXPECT_EQ(becameOf("experimental.custom_import"), Became::harmless);
}

TEST(ImportNotes, TellsNoWordAsUnsayableThatIsTakenOver)
{
    const Imported yaml =
        imported("job.yaml", "language_model:\n  num_layers: 8\n  hidden_size: 128\n  num_attention_heads: 4\n"
                             "  activation_func: squared_relu\nmodel_parallel:\n  tensor_model_parallel_size: 2\n"
                             "micro_batch_size: 1\nglobal_batch_size: 8\nseq_length: 128\n");
    EXPECT_EQ(Json::parse(yaml.scenario).at("model").at("hidden_act"), "relu2");
    for (const Note& note : yaml.notes)
        if (note.setting == "language_model.activation_func") {
            EXPECT_EQ(note.became, Became::used);
        }
    const Imported script =
        imported("run.sh", "deepspeed --num_gpus 8 run_clm.py --model_name_or_path meta-llama/Llama-2-7b-hf "
                           "--per_device_train_batch_size 4 --bf16 --torch_dtype bfloat16 --block_size 2048\n");
    for (const Note& note : script.notes)
        if (note.setting == "--torch_dtype") {
            EXPECT_EQ(note.became, Became::harmless);
        }
}

TEST(ImportNotes, TellsEachOfManyWordsBehindASwitch)
{
    constexpr int kWords = 30'000;
    std::string text = "pretrain_gpt.py --num-layers 8 --hidden-size 128 --num-attention-heads 4 --bf16";
    for (int i = 0; i < kWords; ++i)
        text += " w" + std::to_string(i);
    const Imported out = imported("run.sh", text + "\n");
    EXPECT_EQ(std::count_if(out.notes.begin(), out.notes.end(),
                            [](const Note& note) { return note.text.starts_with("stands behind --bf16"); }),
              kWords);
}

TEST(ImportNotes, TellsOfAssignmentsThatCallFunctions)
{
    const Imported out = imported("recipe.py", "cfg.model.tensor_model_parallel_size = __import__(\"os\").system(\"true\")\n"
                                               "cfg.model.pipeline_model_parallel_size = 2\ncfg.train.global_batch_size = 16\n");
    EXPECT_TRUE(std::any_of(out.notes.begin(), out.notes.end(), [](const Note& note) {
        return note.setting == "cfg.model.tensor_model_parallel_size" && note.became == Became::unknown;
    }));
}

TEST(ImportNotes, UsesNoValueThatNothingCanHave)
{
    const Imported out = imported("run.sh", "pretrain_gpt.py --num-layers 0 --hidden-size -128 --num-attention-heads 0 "
                                            "--seq-length 128 --micro-batch-size 1 --global-batch-size 99999999999999\n");
    for (const Note& note : out.notes)
        if (note.setting == "--num-layers" || note.setting == "--hidden-size" || note.setting == "--num-attention-heads") {
            EXPECT_EQ(note.became, Became::unknown) << note.setting;
            EXPECT_THAT(note.text, HasSubstr("less than 1"));
        } else if (note.setting == "--global-batch-size") {
            EXPECT_THAT(note.text, HasSubstr("none is above"));
        }
    EXPECT_TRUE(sim::ScenarioDocument::parse(out.scenario).resolve(test::catalogue()).scenario);
}

TEST(ImportNotes, AModelsConfigBesideSaysTheModelAndNoJob)
{
    const Imported out = sim::importSettings(
        {{"ds.json", R"({"train_batch_size": 512, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
                         "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": true}})"},
         {"config.json", R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
                             "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
                             "max_position_embeddings": 8192})"}},
        {}, test::catalogue());
    const Json scenario = Json::parse(out.scenario);
    EXPECT_EQ(scenario["layout"]["dp"], 64);
    EXPECT_EQ(scenario["training"]["sequence_length"], 8192);
    EXPECT_EQ(scenario["training"]["offload"]["optimizer"], 1);
    int assumed = 0;
    for (const Note& note : out.notes) {
        assumed += note.pointer == "/training/sequence_length" ? 1 : 0;
        EXPECT_THAT(note.text, testing::Not(HasSubstr("replica of"))) << note.setting;
        EXPECT_THAT(note.text, testing::Not(HasSubstr("micro-batch is not"))) << note.setting;
        if (note.setting == "hidden_size") {
            EXPECT_EQ(note.file, "config.json");
        }
    }
    EXPECT_EQ(assumed, 1);
}

TEST(ImportNotes, GuessesTheVocabularyOfTheModelWithTheSameSizes)
{
    const Imported out = imported("run.sh", "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 "
                                            "--num-attention-heads 32 --seq-length 2048 --micro-batch-size 1\n");
    EXPECT_EQ(Json::parse(out.scenario)["model"]["vocab_size"], 32000);
}

TEST(ImportNotes, TellsTheLineWhereAWordOfAnArrayStands)
{
    const Imported out = imported("run.sh", "A=(\n  --num-layers 8\n  --hidden-size 128\n)\nB=(\n  --num-attention-heads 4\n"
                                            ")\ntorchrun train.py \"${A[@]}\" \"${B[@]}\" --seq-length 64\n");
    for (const Note& note : out.notes) {
        const int line = note.setting == "--num-layers"            ? 2
                         : note.setting == "--hidden-size"         ? 3
                         : note.setting == "--num-attention-heads" ? 6
                         : note.setting == "--seq-length"          ? 8
                                                                   : note.line;
        EXPECT_EQ(note.line, line) << note.setting;
    }
}

} // namespace

TEST(ImportNotes, ANameSpeaksOfAGpuWhereNothingElseIsMeant)
{
    const auto clusterOf = [](const std::string& name) {
        const sim::Imported out = sim::importSettings({{name, "--num-layers 24 --hidden-size 2048 --num-attention-heads 16"}},
                                                      {.kind = "megatron-args", .gpus = 8}, test::catalogue());
        return nlohmann::ordered_json::parse(out.scenario)["cluster"]["base"].get<std::string>();
    };
    for (const char* none : {"gpt_l24_h2048.sh", "batch2048.sh", "epoch20.sh"})
        EXPECT_EQ(clusterOf(none), "h100-sxm-ib400") << none;
    EXPECT_EQ(clusterOf("pretrain_8xh20.sh"), "h20-ib400");
    EXPECT_EQ(clusterOf("dgx-a100x8.sh"), "dgx-a100");
    EXPECT_EQ(clusterOf("h200_run.sh"), "dgx-h200");
}
