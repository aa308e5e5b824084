// A plan for a framework is of layouts that its export writes and that mean the same job there.
#include "sim/planner/planner.h"

#include "sim/memory_limit.h"
#include "sim/planner/reasons.h"

#include "sim/frameworks/frameworks.h"
#include "sim/frameworks/limits.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"
#include "sim/simulate/simulation.h"
#include "tests/sim/planner/tiny_job.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>

using namespace sim;

namespace {

class Dice {
public:
    explicit Dice(unsigned seed) : m_engine(seed) {}
    template <typename T>
    T of(const std::vector<T>& values)
    {
        return values[m_engine() % values.size()];
    }
    bool isHeads() { return m_engine() % 2 == 0; }

private:
    std::mt19937 m_engine;
};

ScenarioDocument jobOf(Dice& dice)
{
    ScenarioDocument job = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
        "model": {"base": "llama3-8b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 1},
        "training": {"sequence_length": 2048, "global_batch_size": 16}})");
    job.set("model.base", dice.of<std::string>({"\"llama3-8b\"", "\"llama2-7b\"", "\"qwen3-30b-a3b\"", "\"deepseek-v2-lite\""}));
    for (const char* overlap : {"grad_reduce", "param_gather", "tp_comm", "p2p"})
        if (dice.isHeads())
            job.set("training.overlap." + std::string(overlap), dice.isHeads() ? "true" : "false");
    return job;
}

/// The pointers of a scenario that its export says otherwise.
std::string exported(const Framework& framework, const Scenario& scenario)
{
    return exportProblem(framework, scenario, test::catalogue());
}

} // namespace

TEST(PlannerFrameworks, LimitsAreWhatTheExportRefusesAndWhatItCannotSay)
{
    Dice dice(7);
    std::map<std::string_view, int> able, unable;
    for (int tried = 0; tried < 300; ++tried) {
        ScenarioDocument job = jobOf(dice);
        if (job.get("model.base")->find("llama") != std::string::npos && dice.isHeads())
            job.set("model.num_hidden_layers", "30");
        int left = dice.of<int>({1, 2, 4, 8, 16});
        const auto take = [&](const char* pointer) {
            const int size = dice.of<int>({1, 1, 2, 4});
            const int taken = left % size == 0 ? size : 1;
            left /= taken;
            job.set(pointer, std::to_string(taken));
            return taken;
        };
        const int tp = take("layout.tp"), cp = take("layout.cp"), pp = take("layout.pp");
        job.set("layout.dp", std::to_string(left));
        const int ep = dice.of<int>({1, 1, 2, 4});
        if (job.get("model.base")->find("llama") == std::string::npos) {
            job.set("layout.ep", std::to_string(ep));
            if (dice.isHeads())
                job.set("layout.etp", std::to_string(dice.of<int>({1, tp})));
        }
        job.set("layout.zero_stage", std::to_string(dice.of<int>({0, 1, 2, 3})));
        if (dice.isHeads())
            job.set("layout.dp_shard", std::to_string(dice.of<int>({2, 4, cp * left})));
        job.set("layout.sequence_parallel", tp > 1 && dice.isHeads() ? "true" : "false");
        job.set("layout.order", dice.of<std::string>({"\"tp-cp-ep-dp-pp\"", "\"tp-cp-ep-dp-pp\"", "\"tp-cp-ep-pp-dp\""}));
        job.set("training.micro_batch_size", std::to_string(dice.of<int>({1, 2})));
        job.set("training.recompute",
                dice.of<std::string>({"\"none\"", "\"full\"", "\"selective\"", R"({"kind":"full","layers":1})",
                                      R"({"kind":"selective","modules":["core_attn","mlp"]})"}));
        if (pp > 1) {
            job.set("schedule.kind", dice.of<std::string>({"\"1f1b\"", "\"gpipe\"", "\"interleaved-1f1b\"", "\"looped-bfs\"",
                                                           "\"zb-v\"", "\"dualpipe-v\"", "\"zb-h1\"", "\"interleaved-zb\""}));
            job.set("schedule.virtual_stages", std::to_string(dice.of<int>({1, 2, 3})));
        }
        const auto resolved = job.resolve(test::catalogue());
        if (!resolved.scenario)
            continue;
        for (const Framework& framework : frameworkList()) {
            Scenario scenario = *resolved.scenario;
            scenario.training.overlap = overlapOf(framework.id, scenario);
            const std::string limit = frameworkLimit(framework.id, scenario), said = exported(framework, scenario);
            ++(limit.empty() ? able : unable)[framework.id];
            EXPECT_EQ(limit.empty(), said.empty()) << framework.id << "\nlimit: " << limit << "\nexport: " << said << "\n"
                                                   << job.text();
            EXPECT_EQ(limit.empty(), !breaksLimit(framework.id, scenario));
        }
    }
    for (const Framework& framework : frameworkList()) {
        EXPECT_GT(able[framework.id], 4) << framework.id;
        EXPECT_GT(unable[framework.id], 20) << framework.id;
    }
}

namespace {

/// The step of a scenario that went out to a framework's settings and came back, with what those leave to others: the cluster,
/// details of the model, what the program is told, and the software where they do not make it certain.
std::int64_t stepOfRoundTrip(const Framework& framework, const Scenario& scenario)
{
    std::vector<SettingsFile> files{{"job", exportSettings(scenario, framework.kind, test::catalogue()).text}};
    const bool hasNoModel = framework.id == "deepspeed" || framework.id == "huggingface";
    if (hasNoModel)
        files.push_back({"config.json", exportSettings(scenario, "huggingface", test::catalogue()).text});
    const Imported back =
        importSettings(files, {.kind = std::string(framework.kind), .gpus = scenario.layout.worldSize()}, test::catalogue());
    ScenarioDocument document = ScenarioDocument::parse(back.scenario);
    const Json want = Json::parse(resolvedText(scenario));
    document.set("cluster", want["cluster"].dump());
    document.set("model", want["model"].dump());
    if (!document.get("training.stack"))
        document.set("training.stack", want["training"]["stack"].dump());
    for (const char* key : {"sequence_length", "micro_batch_size", "global_batch_size", "recompute"})
        if (isLeftToProgram(framework.kind, scenario, std::string("/training/") + key))
            document.set(std::string("training.") + key, want["training"][key].dump());
    if (isLeftToProgram(framework.kind, scenario, "/schedule/layers_per_stage")) // nanotron deals layers by what they compute
        document.set("schedule.layers_per_stage", want["schedule"]["layers_per_stage"].dump());
    return std::llround(simulate(resolvedScenario(document, test::catalogue()))->metrics().stepTimeSeconds * 1e9);
}

} // namespace

TEST(PlannerFrameworks, WinnersAreExportedAndComeBackAsTheSameStep)
{
    Dice dice(11);
    for (const Framework& framework : frameworkList())
        for (int job = 0; job < 3; ++job) {
            PlanRequest request{.document = jobOf(dice)};
            request.gpus = dice.of<int>({4, 6, 8});
            request.document.set("training.global_batch_size", "24");
            request.framework = framework.id;
            request.mostSimulated = 10;
            const PlanAnswer answer = plan(request, test::catalogue());
            if (answer.best.empty()) {
                for (const RejectedGrid& rejected : answer.rejected)
                    EXPECT_TRUE(rejected.reason == PlanReason::memory ||
                                (rejected.reason == PlanReason::rule && rejected.text.starts_with("/")))
                        << framework.id << ": " << rejected.text;
                continue;
            }
            for (const PlannedLayout& layout : answer.best) {
                const Scenario scenario = resolvedScenario(withSettings(request, layout.settings), test::catalogue());
                EXPECT_EQ(stepOfRoundTrip(framework, scenario), std::llround(layout.stepSeconds * 1e9))
                    << framework.id << "\n"
                    << withSettings(request, layout.settings).text();
            }
        }
}

TEST(PlannerFrameworks, LayoutsAreTimedWithTheFrameworksSoftwareWhereNoneIsNamed)
{
    const std::map<std::string_view, std::array<std::string, 2>> expected{{"megatron", {"megatron-te-2024", "megatron-te-2024"}},
                                                                          {"torchtitan", {"pytorch-eager", "pytorch-eager"}},
                                                                          {"deepspeed", {"huggingface", "deepspeed-2023"}},
                                                                          {"nanotron", {"pytorch-eager", "pytorch-eager"}},
                                                                          {"picotron", {"pytorch-eager", "pytorch-eager"}},
                                                                          {"huggingface", {"huggingface", "huggingface"}},
                                                                          {"maxtext", {"xla", "xla"}}};
    for (const Framework& framework : frameworkList()) {
        PlanRequest request{.document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "llama2-7b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8},
            "training": {"sequence_length": 2048, "global_batch_size": 16}})"),
                            .framework = std::string(framework.id)};
        const PlanAnswer answer = plan(request, test::catalogue());
        ASSERT_FALSE(answer.best.empty()) << framework.id;
        for (const PlannedLayout& layout : answer.best) {
            const Scenario scenario = resolvedScenario(withSettings(request, layout.settings), test::catalogue());
            const bool isZero3 = scenario.layout.zeroStage == 3;
            EXPECT_EQ(scenario.training.stack.id, expected.at(framework.id)[isZero3 ? 1 : 0]) << framework.id;
            EXPECT_EQ(std::llround(simulate(scenario)->metrics().stepTimeSeconds * 1e9), std::llround(layout.stepSeconds * 1e9));
            EXPECT_EQ(stepOfRoundTrip(framework, scenario), std::llround(layout.stepSeconds * 1e9)) << framework.id;
        }
        EXPECT_THAT(answer.heldRules.at("/training/stack"), testing::AllOf(testing::HasSubstr(expected.at(framework.id)[0]),
                                                                           testing::HasSubstr(expected.at(framework.id)[1]),
                                                                           testing::HasSubstr(std::string(framework.name))));
    }
    // Of one stage of ZeRO alone, too, and not by chance of what is fastest.
    PlanRequest request{.document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "llama2-7b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8},
            "training": {"sequence_length": 2048, "global_batch_size": 16}})"),
                        .fixed = {{"layout.zero_stage", "3"}, {"layout.tp", "1"}, {"layout.pp", "1"}},
                        .framework = "deepspeed"};
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_FALSE(answer.best.empty());
    const Scenario zero3 = resolvedScenario(withSettings(request, answer.best.front().settings), test::catalogue());
    EXPECT_EQ(zero3.training.stack.id, "deepspeed-2023");
    EXPECT_FALSE(zero3.training.overlap.paramGather);
}

TEST(PlannerFrameworks, SoftwareThatTheJobNamesIsKeptAndToldWhereItIsNotTheFrameworks)
{
    PlanRequest request{.document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "llama2-7b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8},
            "training": {"sequence_length": 2048, "global_batch_size": 16, "stack": "xla"}})"),
                        .framework = "torchtitan"};
    request.mostSimulated = 5;
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_FALSE(answer.best.empty());
    EXPECT_EQ(answer.firstDocument(request).get("training.stack"), "\"xla\"");
    EXPECT_EQ(answer.heldRules.at("/training/stack"), "xla, which is not what torchtitan runs: pytorch-eager");
    EXPECT_EQ(
        softwareText("torchtitan", ScenarioDocument::parse(R"({"training": {"stack": "pytorch-compiled"}})"), "pytorch-compiled"),
        "pytorch-compiled");
    EXPECT_EQ(softwareText("", request.document, "xla"), "");
}

/// Floors of layers are shared by all stages of ZeRO, and stages may run with other software: nothing may be below its own floor.
TEST(PlannerFrameworks, FloorsAreBelowStepsWhereStagesOfZeroRunWithOtherSoftware)
{
    PlanRequest request{.document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "llama2-7b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8},
            "training": {"sequence_length": 2048, "global_batch_size": 16}})"),
                        .framework = "deepspeed",
                        .top = 40,
                        .mostSimulated = 40};
    for (const PlannedLayout& layout : plan(request, test::catalogue()).best) {
        EXPECT_LE(layout.floorSeconds, layout.stepSeconds + 1e-8);
        EXPECT_LE(layout.closedFormSeconds, layout.stepSeconds + 1e-8);
    }
}

TEST(PlannerFrameworks, HaveWhatTheirOwnSoftwareDoesOfItself)
{
    // DeepSpeed's stage 3 gathers when it needs, and reduces in 16 bits: no setting says either.
    for (const char* framework : {"deepspeed", "huggingface"}) {
        PlanRequest request{.document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "llama3-8b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8, "zero_stage": 3},
            "training": {"sequence_length": 2048, "global_batch_size": 16, "stack": "deepspeed-2023"}})"),
                            .fixed = {{"layout.zero_stage", "3"}, {"layout.pp", "1"}, {"layout.tp", "1"}}};
        request.gpus = 8;
        request.framework = framework;
        const PlanAnswer answer = plan(request, test::catalogue());
        ASSERT_FALSE(answer.best.empty()) << framework;
        const Scenario scenario = resolvedScenario(withSettings(request, answer.best.front().settings), test::catalogue());
        EXPECT_FALSE(scenario.training.overlap.paramGather) << framework;
        EXPECT_EQ(simulate(scenario)->metrics().stepTimeSeconds, answer.best.front().stepSeconds) << framework;
    }
}

TEST(PlannerFrameworks, HaveAllLayersThatAreCountedAsAllLayers)
{
    for (const int pp : {1, 2}) {
        ScenarioDocument job = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "llama3-8b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8},
            "training": {"sequence_length": 2048, "global_batch_size": 16}})");
        job.set("layout.pp", std::to_string(pp));
        job.set("layout.zero_stage", "1");
        for (const Framework& framework : frameworkList()) {
            const auto problemWith = [&](const std::string& recompute) {
                job.set("training.recompute", recompute);
                Scenario scenario = resolvedScenario(job, test::catalogue());
                scenario.training.overlap = overlapOf(framework.id, scenario);
                return exported(framework, scenario);
            };
            const std::string counted = R"({"kind":"full","layers":)" + std::to_string(32 / pp) + "}";
            EXPECT_EQ(problemWith(counted).empty(), problemWith("\"full\"").empty())
                << framework.id << ": " << problemWith(counted);
        }
    }
}

// Of 32,768 tokens a GPU torchtitan has reserved 83.9 GiB (its benchmarks of 2024-12), which these GPUs do not have.
TEST(PlannerFrameworks, FullRecomputationIsFoundWhereNothingElseFits)
{
    const PlanRequest request{.document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "llama3-8b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8},
            "training": {"sequence_length": 28672, "global_batch_size": 16}})"),
                              .fixed = {{"layout.tp", "1"}, {"layout.cp", "1"}},
                              .framework = "torchtitan",
                              .mostSimulated = 10};
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_FALSE(answer.best.empty());
    EXPECT_THAT(answer.firstDocument(request).get("training.recompute").value_or(""), testing::HasSubstr("full"));
}

// Six micro-batches on four ranks are one round of PyTorch's, three are fewer than the ranks; Megatron takes neither.
TEST(PlannerFrameworks, MicrobatchesAreDealtAsTorchtitanDealsThem)
{
    for (const char* batch : {"3", "6"}) {
        PlanRequest request = test::tinyJob(
            {{"layout.pp", "4"}, {"layout.dp", "1"}, {"schedule.kind", "interleaved-1f1b"}, {"training.micro_batch_size", "1"}});
        request.document.set("training.global_batch_size", batch);
        request.document.set("model.num_hidden_layers", "8");
        request.gpus = 4;
        request.framework = "torchtitan";
        const PlanAnswer answer = plan(request, test::catalogue());
        ASSERT_FALSE(answer.best.empty()) << batch;
        EXPECT_THAT(answer.best.front().settings, testing::Contains(PlanSetting("schedule.microbatch_group", batch)));
        EXPECT_THAT(answer.heldRules.at("/schedule/microbatch_group"), testing::EndsWith("or all of them in one"));
        const Scenario scenario = resolvedScenario(answer.firstDocument(request), test::catalogue());
        EXPECT_EQ(simulate(scenario)->metrics().stepTimeSeconds, answer.best.front().stepSeconds);
        request.framework = "megatron";
        EXPECT_TRUE(plan(request, test::catalogue()).best.empty()) << batch;
    }
}

/// Every layout would be refused for it, one after the other.
TEST(PlannerFrameworks, WhatNoLayoutOfAFrameworkSaysIsRefusedAtOnce)
{
    PlanRequest request{.document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
            "model": {"base": "llama3-8b"}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8},
            "training": {"sequence_length": 2048, "global_batch_size": 16, "gradient_dtype": "bf16", "stack": "megatron-te-2024"}})"),
                        .framework = "torchtitan"};
    try {
        (void)plan(request, test::catalogue());
        ADD_FAILURE() << "planned";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("/training/gradient_dtype"));
    }
}

TEST(PlannerFrameworks, WhatFitsAndIsRefusedIsNotToldAsMemory)
{
    GridRecord record{.legal = 1, .rule = "/training/gradient_dtype: it has no setting for it", .isSurveyed = true};
    record.laid.note(100 * kBytesPerGib, 0, {});
    const RejectedGrid rejected = rejectionOf(record, nullptr, {.capacityBytes = 80 * kBytesPerGib});
    EXPECT_EQ(rejected.reason, PlanReason::rule);
    EXPECT_EQ(rejected.text, record.rule);
}
