// Out and in again: what an export does not name as lost comes back as it was, for the gallery and every kind.
#include "tests/support/catalogue.h"

#include "sim/frameworks/frameworks.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace {

using sim::Json;
using testing::HasSubstr;

sim::Scenario galleryScenario(const std::filesystem::path& path)
{
    return sim::readScenario(path, test::catalogue());
}

std::vector<std::filesystem::path> galleryFiles()
{
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios"))
        if (entry.path().extension() == ".json")
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

TEST(Export, EveryKindWritesWhatItsImporterRecognisesAndReadsBack)
{
    std::map<std::string, int> written;
    for (const auto& file : galleryFiles()) {
        const sim::Scenario scenario = galleryScenario(file);
        for (const sim::FrameworkKind& kind : sim::frameworkKinds()) {
            if (!kind.isExported)
                continue;
            sim::Exported out;
            try {
                out = sim::exportSettings(scenario, kind.id, test::catalogue());
            } catch (const sim::Error& error) {
                EXPECT_TRUE(std::string_view(error.what()).starts_with("/")) << file << ": " << error.what();
                continue;
            }
            ++written[std::string(kind.id)];
            EXPECT_EQ(sim::recognisedKind({"exported" + std::string(kind.ending), out.text}), kind.id) << file;
            if (kind.id != "megatron-args")
                continue;
            for (const sim::Note& note : out.notes) // sizes and layout are what such a file is for
                for (const char* pointer : {"/layout/tp", "/layout/pp", "/layout/dp", "/layout/cp", "/layout/ep", "/layout/order",
                                            "/schedule/layers_per_stage", "/schedule/virtual_stages", "/model/hidden_size",
                                            "/training/recompute", "/training/global_batch_size", "/training/precision"})
                    EXPECT_NE(note.pointer, pointer) << file << ": " << note.text;
        }
    }
    for (const sim::FrameworkKind& kind : sim::frameworkKinds())
        if (kind.isExported) {
            EXPECT_GT(written[std::string(kind.id)], 5) << kind.id;
        }
}

TEST(Export, EndsWithTheWorld)
{
    const sim::Scenario scenario = galleryScenario(RANKSCOPE_SOURCE_DIR "/scenarios/45-llama3-70b-64-gpus.json");
    const std::string text = sim::exportSettings(scenario, "megatron-args", test::catalogue()).text;
    EXPECT_THAT(text, HasSubstr("--num-virtual-stages-per-pipeline-rank 5"));
    EXPECT_THAT(text, HasSubstr("--nproc_per_node 8\n    --nnodes 8"));
    EXPECT_TRUE(text.ends_with("# 8 nodes x 8 GPUs: tp 4 x cp 1 x pp 8 x dp 2 = 64; m 64 micro-batches of 1\n")) << text;
}

TEST(Export, RefusesWhatTheFrameworkWould)
{
    sim::Scenario scenario = galleryScenario(RANKSCOPE_SOURCE_DIR "/scenarios/45-llama3-70b-64-gpus.json");
    const auto refusal = [&](std::string_view kind) -> std::string {
        try {
            sim::exportSettings(scenario, kind, test::catalogue());
        } catch (const sim::Error& error) {
            return error.what();
        }
        return "written";
    };
    scenario.layout.zeroStage = 2;
    EXPECT_THAT(refusal("megatron-args"), HasSubstr("no ZeRO-2"));
    scenario.layout.zeroStage = 1;
    scenario.schedule.kind = "zb-h1";
    EXPECT_THAT(refusal("megatron-args"), HasSubstr("/schedule/kind"));
    scenario.schedule.kind = "interleaved-1f1b";
    scenario.layout.tp = 16;
    EXPECT_THAT(refusal("torchtitan-toml"), HasSubstr("tp 16 must divide the 8"));
    EXPECT_THAT(refusal("accelerate-yaml"), HasSubstr("/layout/pp"));
    EXPECT_THAT(refusal("no-such"), HasSubstr("there are"));
}

TEST(Export, WhatMegatronHasAFlagForIsNotCalledInexpressible)
{
    sim::Scenario oss = galleryScenario(RANKSCOPE_SOURCE_DIR "/scenarios/53-gpt-oss-120b-ep8.json");
    oss.training.momentBytes = 2;
    const sim::Exported out = sim::exportSettings(oss, "megatron-args", test::catalogue());
    for (const char* flag : {"--softmax-type learnable", "--window-size '127,0'", "--window-attn-skip-freq 2",
                             "--moe-token-dispatcher-type alltoall", "--exp-avg-dtype bf16", "--use-precision-aware-optimizer"})
        EXPECT_THAT(out.text, HasSubstr(flag));
    for (const sim::Note& note : out.notes)
        for (const char* pointer : {"/model/attention_sinks", "/model/sliding_window_pattern", "/training/moment_dtype"})
            EXPECT_NE(note.pointer, pointer) << note.text;
}

TEST(Export, AttentionThatIsNotFusedComesBack)
{
    const sim::Scenario old = galleryScenario(RANKSCOPE_SOURCE_DIR "/scenarios/38-gpt3-175b-1024-gpus.json");
    const sim::Exported out = sim::exportSettings(old, "megatron-args", test::catalogue());
    EXPECT_THAT(out.text, HasSubstr("--attention-backend unfused"));
    for (const sim::Note& note : out.notes)
        EXPECT_FALSE(note.pointer.starts_with("/training/flash_attention") || note.pointer == "/training/attention") << note.text;
}

TEST(Export, AScriptForSeveralNodesSaysWhereTheyMeet)
{
    const sim::Scenario many = galleryScenario(RANKSCOPE_SOURCE_DIR "/scenarios/45-llama3-70b-64-gpus.json");
    EXPECT_THAT(sim::exportSettings(many, "megatron-args", test::catalogue()).text, HasSubstr("--master_addr"));
    const sim::Scenario one = galleryScenario(RANKSCOPE_SOURCE_DIR "/scenarios/06-tp4-pp2-one-node.json");
    EXPECT_THAT(sim::exportSettings(one, "megatron-args", test::catalogue()).text, testing::Not(HasSubstr("--master_addr")));
}

} // namespace
