// ms-swift's trainers on Transformers.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

namespace {

using sim::Json;
using test::importedText;
using testing::Contains;
using testing::HasSubstr;

TEST(SwiftImport, ItsPresetsOfDeepSpeedAreKnown)
{
    const auto out =
        importedText("nproc_per_node=2\nCUDA_VISIBLE_DEVICES=0,1 \\\nNPROC_PER_NODE=$nproc_per_node \\\nswift sft \\\n"
                     "    --model Qwen/Qwen2.5-1.5B --tuner_type full --dataset 'a#500' 'b#500' \\\n"
                     "    --torch_dtype bfloat16 --per_device_train_batch_size 1 \\\n"
                     "    --gradient_accumulation_steps $(expr 16 / $nproc_per_node) --max_length 2048 \\\n"
                     "    --deepspeed zero2\n");
    EXPECT_EQ(out.imported.kind, "swift-args");
    EXPECT_EQ(out.at("/layout/dp"), 2);
    EXPECT_EQ(out.at("/layout/zero_stage"), 2);
    EXPECT_EQ(out.became("--deepspeed"), "used");
    EXPECT_EQ(out.at("/training/overlap/grad_reduce"), false) << "its files switch overlap_comm off";
    EXPECT_EQ(out.at("/training/lora"), Json());
    EXPECT_EQ(out.at("/training/master_weights"), true);
    EXPECT_EQ(out.at("/training/recompute"), "full");
    const auto three = importedText("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --train_type full --max_length 2048 "
                                    "--deepspeed zero3_offload\n");
    EXPECT_EQ(three.at("/layout/zero_stage"), 3);
    EXPECT_EQ(three.at("/training/offload/optimizer"), 1.0);
    EXPECT_EQ(three.at("/training/stack/id"), "deepspeed-2023");
}

TEST(SwiftImport, ItsDefaultsAreAdaptersAndSixteenExamples)
{
    const auto out = importedText("NPROC_PER_NODE=4 swift sft --model Qwen/Qwen3-8B --dataset x --max_length 4096\n");
    EXPECT_EQ(out.at("/training/lora/rank"), 8);
    EXPECT_EQ(out.at("/training/lora/targets").size(), 7U) << "all-linear";
    EXPECT_EQ(out.at("/training/micro_batch_size"), 1);
    EXPECT_EQ(out.at("/training/global_batch_size"), 16);
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.at("/layout/zero_stage"), 0);
    EXPECT_EQ(importedText("swift sft --model Qwen/Qwen3-8B --dataset x --max_length 4096\n").at("/layout/dp"), 1)
        << "without NPROC_PER_NODE there is one process";
    EXPECT_EQ(importedText("NPROC_PER_NODE=8 swift pt --model Qwen/Qwen3-8B --max_length 512\n").at("/training/lora"), Json());
}

TEST(SwiftImport, FullTuningWithoutSharesUpdatesItsWeightsAsTheyAre)
{
    const auto out = importedText("swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --torch_dtype bfloat16 "
                                  "--max_length 2048\n");
    EXPECT_EQ(out.at("/training/master_weights"), false);
}

TEST(SwiftImport, UlyssesCutsTheProcesses)
{
    const auto out = importedText("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --tuner_type full --max_length 65536 "
                                  "--sequence_parallel_size 4 --deepspeed zero3 --packing true\n");
    EXPECT_EQ(out.at("/layout/cp"), 4);
    EXPECT_EQ(out.at("/layout/dp"), 2);
    EXPECT_EQ(out.became("--sequence_parallel_size"), "used");
    EXPECT_EQ(out.at("/training/stack/exchanges_heads"), true);
    EXPECT_EQ(out.became("--packing"), "not_representable");
}

TEST(SwiftImport, ReinforcementIsTold)
{
    const auto out = importedText("NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B --tuner_type full "
                                  "--max_length 2048 --max_completion_length 1024 --num_generations 8 --deepspeed zero3\n");
    EXPECT_EQ(out.at("/training/sequence_length"), 3072);
    EXPECT_EQ(out.became("--rlhf_type"), "not_representable");
    EXPECT_THAT(out.textOn("--rlhf_type"), HasSubstr("generation"));
    const auto dpo = importedText("NPROC_PER_NODE=8 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B --max_length 2048 "
                                  "--per_device_train_batch_size 2 --gradient_accumulation_steps 1\n");
    EXPECT_EQ(dpo.at("/training/micro_batch_size"), 4);
    EXPECT_EQ(dpo.at("/training/global_batch_size"), 32);
}

TEST(SwiftImport, ItsYamlIsReadAloneAndBesideTheCommandThatNamesIt)
{
    const std::string yaml = "model: Qwen/Qwen3-8B\ntrain_type: full\ntorch_dtype: bfloat16\nmax_length: 8192\n"
                             "per_device_train_batch_size: 2\ngradient_accumulation_steps: 4\ndeepspeed: zero3\n"
                             "dataset:\n  - AI-ModelScope/alpaca-gpt4-data-zh#500\noutput_dir: out\n";
    const auto alone = importedText(yaml, 8, "sft.yaml");
    EXPECT_EQ(alone.imported.kind, "swift-args");
    EXPECT_EQ(alone.at("/layout/zero_stage"), 3);
    EXPECT_EQ(alone.at("/training/sequence_length"), 8192);
    EXPECT_EQ(alone.at("/training/global_batch_size"), 64);
    EXPECT_EQ(alone.count(sim::Became::unknown),
              importedText("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --max_length 1\n").count(sim::Became::unknown))
        << "the cluster alone is asked for";
    const std::string script = "NPROC_PER_NODE=4 swift sft configs/sft.yaml\n";
    for (const bool isYamlFirst : {false, true}) {
        std::vector<sim::SettingsFile> files{{"run.sh", script}, {"sft.yaml", yaml}};
        if (isYamlFirst)
            std::swap(files[0], files[1]);
        const sim::Imported both = sim::importSettings(files, {}, test::catalogue());
        const Json scenario = Json::parse(both.scenario);
        EXPECT_EQ(scenario.at("layout").at("dp"), 4);
        EXPECT_EQ(scenario.at("training").at("global_batch_size"), 32);
        EXPECT_EQ(scenario.at("layout").at("zero_stage"), 3);
    }
    const auto lacking = importedText(script);
    EXPECT_EQ(lacking.imported.kind, "swift-args");
    EXPECT_EQ(lacking.became("configs/sft.yaml"), "unknown");
    EXPECT_THAT(lacking.textOn("configs/sft.yaml"), HasSubstr("give it as a further FILE"));
    EXPECT_EQ(lacking.at("/layout/dp"), 4);
    EXPECT_EQ(importedText("NPROC_PER_NODE=2 swift rlhf dpo.yaml\n", std::nullopt, "run.sh").became("dpo.yaml"), "unknown");
    const auto dpo = importedText("rlhf_type: dpo\nmodel: Qwen/Qwen3-8B\nper_device_train_batch_size: 2\nmax_length: 1024\n", 8);
    EXPECT_EQ(dpo.at("/training/micro_batch_size"), 4) << "pairs";
}

TEST(SwiftImport, AModelOfImagesIsItsTextTowerAndSaysSo)
{
    for (const auto& [name, layers, hidden] : {std::tuple{"Qwen/Qwen2.5-VL-7B-Instruct", 28, 3584},
                                               {"Qwen/Qwen3-VL-8B-Instruct", 36, 4096},
                                               {"Qwen/Qwen2-VL-2B-Instruct", 28, 1536},
                                               {"Qwen/Qwen3-VL-30B-A3B-Instruct", 48, 2048},
                                               {"OpenGVLab/InternVL3-8B", 28, 3584},
                                               {"llava-hf/llava-1.5-7b-hf", 32, 4096}}) {
        const auto out =
            importedText(std::string("NPROC_PER_NODE=8 swift sft --model ") + name + " --max_length 4096 --deepspeed zero2\n");
        EXPECT_EQ(out.at("/model/num_hidden_layers"), layers) << name;
        EXPECT_EQ(out.at("/model/hidden_size"), hidden) << name;
        EXPECT_EQ(out.became("--model"), "not_representable") << name;
        EXPECT_THAT(out.textOn("--model"), HasSubstr("its text tower"));
    }
    const auto sound = importedText("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2-Audio-7B-Instruct --max_length 4096\n");
    EXPECT_EQ(sound.became("--model"), "unknown") << "another model's";
}

} // namespace
