// Out and in again: what an export does not name as lost comes back as it was, for the gallery and every kind.
#include "tests/support/catalogue.h"

#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/limits.h"
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

sim::Scenario scenarioWith(const std::string& model, std::initializer_list<std::pair<const char*, const char*>> values)
{
    auto document =
        sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": {"base": ")" + model +
                                     R"("}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1}, "training": {}})");
    for (const auto& [pointer, value] : values)
        document.set(pointer, value);
    return sim::resolvedScenario(document, test::catalogue());
}

std::string refusalOf(const sim::Scenario& scenario, std::string_view kind)
{
    try {
        sim::exportSettings(scenario, kind, test::catalogue());
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "written";
}

TEST(Export, MegatronsFullyShardedParametersStartWithItsOwnCheckpointsAndManyConnections)
{
    const auto sharded =
        sim::exportSettings(scenarioWith("llama3-8b", {{"layout.tp", "2"}, {"layout.dp", "4"}, {"layout.zero_stage", "3"}}),
                            "megatron-args", test::catalogue());
    EXPECT_THAT(sharded.text, testing::Not(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS")));
    EXPECT_THAT(sharded.text, HasSubstr("--ckpt-format fsdp_dtensor"));
    const auto usual =
        sim::exportSettings(scenarioWith("llama3-8b", {{"layout.tp", "2"}, {"layout.dp", "4"}, {"layout.zero_stage", "1"}}),
                            "megatron-args", test::catalogue());
    EXPECT_THAT(usual.text, HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS=1"));
    EXPECT_THAT(usual.text, testing::Not(HasSubstr("--ckpt-format")));
}

TEST(Export, TorchtitansStagesAreWrittenInFieldsThatItHas)
{
    struct Case {
        const char *kind, *chunks, *counts, *written;
    };
    for (const Case& one :
         {Case{"\"1f1b\"", "1", "[8, 8, 8, 8]", "first_stage_less_layers = 0\npipeline_parallel_last_stage_less_layers = 0"},
          Case{"\"1f1b\"", "1", "[8, 9, 8, 7]", "first_stage_less_layers = 1\npipeline_parallel_last_stage_less_layers = 1"},
          Case{"\"1f1b\"", "1", "[4, 12, 6, 10]", "module_fqns_per_model_part = [\n    [\"tok_embeddings\", \"layers.0\""},
          Case{"\"interleaved-1f1b\"", "4", "[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]", "layers_per_stage = 2"},
          Case{"\"interleaved-1f1b\"", "2", "[4, 4, 4, 4, 4, 4, 4, 4]", "first_stage_less_layers = 0"}}) {
        const sim::Scenario scenario = scenarioWith("llama3-8b", {{"layout.pp", "4"},
                                                                  {"layout.zero_stage", "2"},
                                                                  {"layout.dp", "2"},
                                                                  {"schedule.kind", one.kind},
                                                                  {"schedule.virtual_stages", one.chunks},
                                                                  {"schedule.layers_per_stage", one.counts},
                                                                  {"training.global_batch_size", "16"}});
        const sim::Exported out = sim::exportSettings(scenario, "torchtitan-toml", test::catalogue());
        EXPECT_THAT(out.text, HasSubstr(one.written)) << one.counts;
        EXPECT_THAT(out.text, testing::Not(HasSubstr("split_points")));
        for (const sim::Note& note : out.notes)
            EXPECT_FALSE(note.pointer.starts_with("/schedule")) << one.counts << ": " << note.text;
    }
}

TEST(Export, MegatronsLayoutHasItsPredictionModules)
{
    const sim::Scenario scenario = scenarioWith("llama3-8b", {{"model.num_nextn_predict_layers", "2"},
                                                              {"layout.pp", "2"},
                                                              {"schedule.kind", "\"interleaved-1f1b\""},
                                                              {"schedule.virtual_stages", "2"},
                                                              {"schedule.layers_per_stage", "[9, 9, 9, 5]"},
                                                              {"training.global_batch_size", "8"}});
    const sim::Exported out = sim::exportSettings(scenario, "megatron-args", test::catalogue());
    EXPECT_THAT(out.text, HasSubstr("--mtp-num-layers 2"));
    EXPECT_THAT(out.text, HasSubstr("'Et*9|t*9|t*9|t*5m*2L'"));
}

TEST(Export, AnOptimizerOnTheHostIsMegatronsPrecisionAwareOne)
{
    const auto with = [](const char* zero, const char* optimizer) {
        return scenarioWith("llama3-8b", {{"layout.dp", "8"},
                                          {"layout.zero_stage", zero},
                                          {"training.offload.optimizer", "1"},
                                          {"training.optimizer", optimizer}});
    };
    const std::string text = sim::exportSettings(with("1", "\"adamw\""), "megatron-args", test::catalogue()).text;
    EXPECT_THAT(text, HasSubstr("--use-precision-aware-optimizer\n    --optimizer-cpu-offload"));
    EXPECT_THAT(refusalOf(with("0", "\"adamw\""), "megatron-args"), HasSubstr("only in its distributed optimizer"));
    EXPECT_THAT(refusalOf(with("1", "\"sgd\""), "megatron-args"), HasSubstr("adam alone"));
    EXPECT_THAT(refusalOf(scenarioWith("llama3-8b",
                                       {{"layout.dp", "8"}, {"layout.zero_stage", "0"}, {"training.moment_dtype", "\"bf16\""}}),
                          "megatron-args"),
                HasSubstr("/training/moment_dtype"));
}

TEST(Export, FewerMicrobatchesThanRanksGoWhereTheFrameworkTakesThem)
{
    const auto of = [](const char* kind, const char* chunks, const char* batch, const char* group) {
        return scenarioWith("llama3-8b", {{"layout.pp", "4"},
                                          {"schedule.kind", kind},
                                          {"schedule.virtual_stages", chunks},
                                          {"schedule.microbatch_group", group},
                                          {"training.overlap.p2p", "false"},
                                          {"training.global_batch_size", batch}});
    };
    EXPECT_EQ(refusalOf(of("\"interleaved-1f1b\"", "2", "3", "3"), "torchtitan-toml"), "written");
    EXPECT_THAT(
        refusalOf(of("\"interleaved-1f1b\"", "2", "3", "3"), "megatron-args"),
        HasSubstr("takes no fewer micro-batches than pipeline ranks, not 3 micro-batches on 4 pipeline ranks; nearest: 4"));
    EXPECT_THAT(refusalOf(of("\"1f1b\"", "1", "3", "4"), "torchtitan-toml"), HasSubstr("GPipe and 1F1B take no fewer"));
    EXPECT_EQ(refusalOf(of("\"1f1b\"", "1", "3", "4"), "megatron-args"), "written");
    EXPECT_THAT(refusalOf(of("\"interleaved-1f1b\"", "2", "11", "7"), "torchtitan-toml"), HasSubstr("equal rounds"));
}

TEST(Export, MegatronHidesTransfersWhereItCan)
{
    const auto interleaved = [](const char* pp, const char* p2p) {
        return scenarioWith("llama3-8b", {{"layout.pp", pp},
                                          {"schedule.kind", "\"interleaved-1f1b\""},
                                          {"schedule.virtual_stages", "2"},
                                          {"training.overlap.p2p", p2p},
                                          {"training.global_batch_size", "8"}});
    };
    EXPECT_THAT(refusalOf(interleaved("2", "false"), "megatron-args"), HasSubstr("/training/overlap/p2p"));
    EXPECT_EQ(refusalOf(interleaved("2", "true"), "megatron-args"), "written");
    EXPECT_EQ(refusalOf(interleaved("4", "false"), "megatron-args"), "written");
    const auto experts = [](const char* ep, const char* recompute, const char* pp, const char* chunks) {
        return scenarioWith("mixtral-8x7b",
                            {{"layout.dp", "8"},
                             {"layout.ep", ep},
                             {"layout.pp", pp},
                             {"schedule.virtual_stages", chunks},
                             {"schedule.kind", std::string_view(chunks) == "1" ? "\"1f1b\"" : "\"interleaved-1f1b\""},
                             {"training.recompute", recompute},
                             {"training.overlap.ep_comm", "true"},
                             {"training.global_batch_size", "64"}});
    };
    EXPECT_EQ(refusalOf(experts("8", "\"none\"", "1", "1"), "megatron-args"), "written");
    EXPECT_EQ(refusalOf(experts("8", "\"none\"", "2", "2"), "megatron-args"), "written");
    for (const auto& refused :
         {experts("1", "\"none\"", "1", "1"), experts("8", "\"full\"", "1", "1"),
          experts("8", R"({"kind": "selective", "modules": ["moe"]})", "1", "1"), experts("8", "\"none\"", "2", "1")})
        EXPECT_THAT(refusalOf(refused, "megatron-args"), HasSubstr("/training/overlap/ep_comm"));
}

TEST(Export, DeepSpeedShardsTheOptimizerOfAPipelineInBf16ByItself)
{
    const auto noted = [](const char* zero, const char* precision) {
        const auto notes = sim::exportSettings(scenarioWith("llama3-8b", {{"layout.dp", "4"},
                                                                          {"layout.pp", "2"},
                                                                          {"layout.zero_stage", zero},
                                                                          {"training.precision", precision},
                                                                          {"training.global_batch_size", "16"}}),
                                               "deepspeed-json", test::catalogue())
                               .notes;
        return std::any_of(notes.begin(), notes.end(),
                           [](const sim::Note& note) { return note.pointer == "/layout/zero_stage"; });
    };
    EXPECT_TRUE(noted("0", "\"bf16\""));
    EXPECT_FALSE(noted("1", "\"bf16\""));
    EXPECT_FALSE(noted("0", "\"fp16\""));
}

} // namespace

/// A run is whole steps; where one of them is begun for what is left over, how many tokens these are is told.
TEST(Export, SaysHowLongTheRunIs)
{
    const auto exported = [](const std::string& kind, double tokens) {
        sim::Scenario scenario = scenarioWith("llama3-8b", {{"layout.dp", "8"},
                                                            {"layout.zero_stage", kind == "megatron-args" ? "1" : "0"},
                                                            {"training.sequence_length", "2048"},
                                                            {"training.global_batch_size", "64"}});
        scenario.training.tokens = tokens;
        return sim::exportSettings(scenario, kind, test::catalogue());
    };
    struct Case {
        const char *kind, *written;
    };
    for (const Case& one : {Case{"megatron-args", "--train-iters 500"}, Case{"nemo-yaml", "max_steps: 500"},
                            Case{"bridge-python", "cfg.train.train_iters = 500"}, Case{"torchtitan-toml", "\nsteps = 500\n"},
                            Case{"nanotron-yaml", "train_steps: 500"}, Case{"picotron-json", "\"total_train_steps\": 500"},
                            Case{"maxtext", "\nsteps: 500\n"}}) {
        const sim::Exported whole = exported(one.kind, 65536000);
        EXPECT_THAT(whole.text, HasSubstr(one.written)) << one.kind;
        for (const sim::Note& note : whole.notes)
            EXPECT_NE(note.pointer, "/training/tokens") << one.kind << ": " << note.text;
        const auto back = sim::importSettings({{"job", whole.text}}, {.kind = one.kind, .gpus = 8}, test::catalogue());
        EXPECT_EQ(Json::parse(back.scenario)["training"]["tokens"], 65536000) << one.kind;
        const sim::Exported begun = exported(one.kind, 65536001);
        const auto note = std::find_if(begun.notes.begin(), begun.notes.end(),
                                       [](const sim::Note& of) { return of.pointer == "/training/tokens"; });
        ASSERT_NE(note, begun.notes.end()) << one.kind;
        EXPECT_EQ(note->became, sim::Became::used);
        EXPECT_THAT(note->text, HasSubstr("501 of them have 65667072"));
        EXPECT_THAT(begun.text, testing::Not(HasSubstr("training/tokens")));
    }
    for (const char* kind : {"deepspeed-json", "accelerate-yaml"}) {
        const sim::Exported out = exported(kind, 65536000);
        EXPECT_TRUE(std::any_of(out.notes.begin(), out.notes.end(), [](const sim::Note& of) {
            return of.pointer == "/training/tokens" && of.text == "is said to the program that reads this form, and not in it";
        })) << kind;
    }
    EXPECT_THAT(exported("picotron-json", 0).text, HasSubstr("\"total_train_steps\": 200"));
}

/// Kernels come with the software's name; what a file says of them besides is no setting of any framework but DeepSpeed's buffer.
TEST(Export, TellsEachKeyOfTheSoftwareThatIsTheScenariosOwn)
{
    const auto toldOf =
        [](const std::string& stack, const char* kind) {
            const sim::Scenario scenario = sim::resolvedScenario(sim::ScenarioDocument::parse(R"({
          "format": "rankscope-scenario", "version": 1, "model": "llama3-8b", "cluster": "h100-sxm-ib400",
          "layout": {"tp": 1, "dp": 8, "zero_stage": )" + std::string(kind == std::string("megatron-args") ? "1" : "2") +
                                                                                              R"(},
          "training": {"sequence_length": 4096, "global_batch_size": 16, "stack": )" + stack + "}}"),
                                                                 test::catalogue());
            std::map<std::string, std::string> told;
            for (const sim::Note& note : sim::exportSettings(scenario, kind, test::catalogue()).notes)
                if (note.pointer.starts_with("/training/stack"))
                    told[note.pointer] = note.text;
            return told;
        };
    const auto megatron =
        toldOf(R"({"base": "megatron-te-2024", "launch_us": 9, "norm": {"launches": [3, 3]}})", "megatron-args");
    EXPECT_EQ(megatron.size(), 2U);
    EXPECT_THAT(megatron.at("/training/stack/launch_us"), HasSubstr("there it is 6"));
    EXPECT_TRUE(megatron.contains("/training/stack/norm/launches"));
    EXPECT_TRUE(toldOf(R"("megatron-te-2024")", "megatron-args").empty());
    const auto own = toldOf(R"({"id": "my-software", "launch_us": 50})", "megatron-args");
    EXPECT_EQ(own.size(), 2U) << "the name, which the catalogue does not know, and what it does otherwise";
    EXPECT_TRUE(own.contains("/training/stack"));
    EXPECT_THAT(own.at("/training/stack/launch_us"), HasSubstr("there it is 6"));
    const auto nemo = toldOf(R"({"base": "pytorch-eager", "step_ms": 1.5})", "nemo-yaml");
    EXPECT_TRUE(nemo.contains("/training/stack"));
    EXPECT_TRUE(nemo.contains("/training/stack/step_ms")) << "beside the name that is not said";
    const auto deepSpeed = toldOf(R"({"base": "huggingface", "reduce_bucket": 5000000000, "launch_us": 9})", "deepspeed-json");
    EXPECT_FALSE(deepSpeed.contains("/training/stack/reduce_bucket")) << "reduce_bucket_size says it";
    EXPECT_TRUE(deepSpeed.contains("/training/stack/launch_us"));
}

TEST(Export, SaysHeadsThatAreExchangedWhereTheFrameworkHasAWordForIt)
{
    const auto with = [](const char* stack, const char* cp) {
        return sim::resolvedScenario(sim::ScenarioDocument::parse(std::string(R"({
          "format": "rankscope-scenario", "version": 1, "model": "llama3-8b", "cluster": "h100-sxm-ib400",
          "layout": {"dp": 1, "zero_stage": 1, "cp": )") + cp + R"(},
          "training": {"sequence_length": 8192, "global_batch_size": 16,
                       "stack": {"base": ")" + stack + R"(", "exchanges_heads": true}}})"),
                                     test::catalogue());
    };
    const auto tells = [](const sim::Exported& out) {
        return std::any_of(out.notes.begin(), out.notes.end(),
                           [](const sim::Note& note) { return note.pointer == "/training/stack/exchanges_heads"; });
    };
    const auto written = [&](const char* stack, const char* kind, const char* cp = "8") {
        return sim::exportSettings(with(stack, cp), kind, test::catalogue());
    };
    const sim::Exported megatron = written("megatron-te-2025", "megatron-args");
    EXPECT_THAT(megatron.text, HasSubstr("--cp-comm-type a2a"));
    EXPECT_FALSE(tells(megatron));
    const sim::Exported deepSpeed = written("huggingface", "deepspeed-json");
    EXPECT_THAT(deepSpeed.text, HasSubstr("\"sequence_parallel_size\": 8"));
    EXPECT_THAT(deepSpeed.text, HasSubstr("\"data_parallel_size\": 1"));
    EXPECT_FALSE(tells(deepSpeed));
    for (const char* kind : {"torchtitan-toml", "nanotron-yaml"})
        EXPECT_TRUE(tells(written("pytorch-eager", kind))) << kind;
    // Transformer Engine deals key-value heads out, and copies none; DeepSpeed has no ring.
    EXPECT_THAT(sim::frameworkLimit("megatron", with("megatron-te-2025", "16")), HasSubstr("key-value heads of a rank, 8"));
    EXPECT_EQ(sim::frameworkLimit("deepspeed", with("huggingface", "16")).find("/layout/cp"), std::string::npos);
    sim::Scenario ring = with("huggingface", "8");
    ring.training.stack.exchangesHeads = false;
    EXPECT_THAT(sim::frameworkLimit("deepspeed", ring), HasSubstr("no ring of keys and values"));
}

/// Another stands in its place, whose layers the rest does not divide.
TEST(Export, TellsNothingElseAsLostWhereTorchtitanHasNoNameForTheModel)
{
    const sim::Scenario scenario = sim::resolvedScenario(sim::ScenarioDocument::parse(R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"vocab_size": 4096, "max_position_embeddings": 2048, "num_hidden_layers": 2, "hidden_size": 256,
                "intermediate_size": 1024, "num_attention_heads": 4},
      "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "pp": 3, "dp": 2, "zero_stage": 2},
      "training": {"sequence_length": 512, "global_batch_size": 12}})"),
                                                         test::catalogue());
    const sim::Exported out = sim::exportSettings(scenario, "torchtitan-toml", test::catalogue());
    bool tellsModel = false;
    for (const sim::Note& note : out.notes) {
        EXPECT_THAT(note.text, testing::Not(HasSubstr("there it is null"))) << note.setting;
        EXPECT_THAT(note.setting, testing::Not(testing::StartsWith("/layout")));
        tellsModel = tellsModel || note.setting == "/model/num_hidden_layers";
    }
    EXPECT_TRUE(tellsModel);
}
