// torchtitan's files of each year: what its flavours stand for, and the names of its first spring.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedText;

std::string model(const std::string& name, const std::string& flavour)
{
    return "[model]\nname = \"" + name + "\"\nflavor = \"" + flavour + "\"\n[training]\nlocal_batch_size = 2\nseq_len = 2048\n";
}

TEST(TorchtitanImport, KnowsTheNamesOfItsFirstSpring)
{
    const auto out = importedText("[model]\nname = \"llama\"\nflavor = \"13B\"\n[training]\nbatch_size = 8\nseq_len = 4096\n"
                                  "data_parallel_degree = -1\nsequence_parallel_degree = 8\npipeline_parallel_degree = 1\n"
                                  "fp8_linear = \"dynamic\"\ncheckpoint_interval = 3600\n",
                                  64);
    EXPECT_EQ(out.at("/layout/tp"), 8);
    EXPECT_EQ(out.at("/layout/dp"), 8);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 40);
    EXPECT_EQ(out.at("/training/precision"), "fp8");
    EXPECT_EQ(out.became("training.checkpoint_interval"), "harmless");
}

TEST(TorchtitanImport, DealsMicrobatchesAsPyTorchDoes)
{
    const auto of = [](const char* schedule, int sequences) {
        return importedText(
            "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = " + std::to_string(sequences) +
                "\nseq_len = 2048\n[parallelism]\npipeline_parallel_degree = 4\n"
                "pipeline_parallel_microbatch_size = 1\npipeline_parallel_schedule = \"" +
                schedule + "\"\n",
            8);
    };
    EXPECT_EQ(of("Interleaved1F1B", 8).at("/schedule/microbatch_group"), 4);
    for (const auto& [sequences, group] : {std::pair{3, 3}, {6, 6}, {10, 5}}) {
        const auto out = of("Interleaved1F1B", sequences);
        EXPECT_EQ(out.at("/schedule/microbatch_group"), group);
        const auto scenario = sim::ScenarioDocument::parse(out.scenario.dump()).resolve(test::catalogue());
        ASSERT_TRUE(scenario.scenario) << sequences;
        EXPECT_NE(sim::exportSettings(*scenario.scenario, "torchtitan-toml", test::catalogue()).text, "");
    }
    EXPECT_EQ(of("Interleaved1F1B", 11).became("micro-batches"), "contradictory") << "no two equal rounds";
    EXPECT_EQ(of("1F1B", 3).became("micro-batches"), "contradictory");
    EXPECT_EQ(of("1F1B", 4).became("micro-batches"), "no note");
}

TEST(TorchtitanImport, FlavoursAreTheModelsOfItsRegistry)
{
    EXPECT_EQ(importedText(model("qwen3", "1.7B"), 8).at("/model/hidden_size"), 2048);
    EXPECT_EQ(importedText(model("qwen3", "1.7B"), 8).at("/model/tie_word_embeddings"), true);
    EXPECT_EQ(importedText(model("deepseek_v3", "debugmodel"), 8).at("/model/num_experts_per_tok"), 3);
    EXPECT_EQ(importedText(model("llama4", "debugmodel"), 8).at("/model/moe_layer_freq"), 2);
    EXPECT_EQ(importedText(model("gpt_oss", "debugmodel"), 8).at("/model/num_hidden_layers"), 4);
    EXPECT_EQ(importedText(model("llama3", "debugmodel"), 8).at("/model/num_hidden_layers"), 6);
    for (const auto& [name, flavour] : {std::pair{"llama3_simple_fsdp", "8B"}, {"llama3", "8B_flex"}, {"llama3_ft", "8B"}})
        EXPECT_EQ(importedText(model(name, flavour), 8).at("/model/intermediate_size"), 14336) << name << " " << flavour;
}

TEST(TorchtitanImport, AModelOfHuggingFaceIsNamedInATableOfItsOwn)
{
    const auto out =
        importedText(model("transformers_backend", "debugmodel") + "[hf_transformers]\nmodel = \"Qwen/Qwen3-8B\"\n", 8);
    EXPECT_EQ(out.at("/model/hidden_size"), 4096);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 36);
}

TEST(TorchtitanImport, TheLossIsCompiledWhereItsTableSaysSo)
{
    const std::string head = model("llama3", "8B");
    const auto stack = [&](const std::string& tail) { return importedText(head + tail, 8).at("/training/stack/id"); };
    EXPECT_EQ(stack("compile = true\n"), "pytorch-compiled") << "before the table, layers alone were";
    EXPECT_EQ(stack("[compile]\nenable = true\n"), "pytorch-compiled-2025");
    EXPECT_EQ(stack("[compile]\nenable = true\ncomponents = [\"model\"]\n"), "pytorch-compiled");
    EXPECT_EQ(stack("[compile]\nenable = true\ncomponents = [\"loss\"]\n"), "pytorch-eager");
    EXPECT_EQ(stack("[compile]\nenable = false\n"), "pytorch-eager");
    EXPECT_EQ(importedText(head + "[compile]\nenable = true\ncomponents = [\"model\"]\n", 8).became("compile.components"),
              "used");
}

TEST(TorchtitanImport, AWholeLossOnEachRankIsNotSilent)
{
    const auto out = importedText(model("llama3", "8B") + "disable_loss_parallel = true\n", 8);
    EXPECT_EQ(out.became("training.disable_loss_parallel"), "not_representable");
}

const std::string kPipeline = "[parallelism]\npipeline_parallel_degree = 4\ndata_parallel_shard_degree = 8\n";

TEST(TorchtitanImport, AccumulationBesideAPipelineIsSeveralOfThem)
{
    const std::string head = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\nseq_len = 8192\n";
    const auto out = importedText(head + "global_batch_size = 512\n" + kPipeline);
    EXPECT_EQ(out.at("/training/global_batch_size"), 64) << "one flush of 8 micro-batches";
    EXPECT_EQ(out.at("/training/micro_batch_size"), 1);
    EXPECT_EQ(out.became("training.global_batch_size"), "not_representable");
    EXPECT_THAT(out.textOn("training.global_batch_size"), testing::HasSubstr("8 times for a global batch of 512"));
    EXPECT_THAT(out.textOn("training.global_batch_size"), testing::HasSubstr("with 8 micro-batches"));
    EXPECT_EQ(importedText(head + "global_batch_size = 64\n" + kPipeline).became("training.global_batch_size"), "used");
    EXPECT_EQ(importedText(head + "global_batch_size = 100\n" + kPipeline).became("training.global_batch_size"), "contradictory");
    EXPECT_EQ(importedText(head + "global_batch_size = 512\n", 8).at("/training/global_batch_size"), 512) << "without a pipeline";
}

TEST(TorchtitanImport, ABudgetOfMemoryIsTheCompilersChoice)
{
    const std::string head = model("llama3", "8B") + "[activation_checkpoint]\nmode = \"memory_budget\"\n";
    const auto half = importedText(head + "memory_budget = 0.5\n", 8);
    EXPECT_EQ(half.became("activation_checkpoint.mode"), "not_representable");
    EXPECT_THAT(half.textOn("activation_checkpoint.mode"), testing::HasSubstr("budget of 0.5"));
    EXPECT_EQ(importedText(head + "memory_budget = 1.0\n", 8).at("/training/recompute"), "none");
    EXPECT_EQ(importedText(head + "memory_budget = 0\n", 8).at("/training/recompute"), "full");
}

TEST(TorchtitanImport, StagesAreGivenByModulesOrAsTheyOnceWereByPoints)
{
    const std::string head = model("llama3", "debugmodel"); // 6 layers
    const std::string pp = "[parallelism]\npipeline_parallel_degree = 2\n";
    const auto stages = [&](const std::string& tail) {
        return importedText(head + pp + tail, 8).at("/schedule/layers_per_stage");
    };
    EXPECT_EQ(stages("module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\"],\n  [\"layers.1\", \"layers.2\", "
                     "\"layers.3\", \"layers.4\", \"layers.5\", \"norm\", \"output\"]]\n"),
              sim::Json({1, 5}));
    EXPECT_EQ(stages("pipeline_parallel_split_points = [\"layers.2\"]\n"), sim::Json({2, 4}));
    EXPECT_EQ(stages("pipeline_parallel_first_stage_less_layers = 2\npipeline_parallel_last_stage_less_layers = 0\n"),
              sim::Json({2, 4}));
    EXPECT_GT(importedText(head + pp + "module_fqns_per_model_part = [[\"layers.0\"], [\"layers.1\"], [\"layers.2\"]]\n", 8)
                  .count(sim::Became::contradictory),
              0)
        << "three are no stages of two ranks";
}

TEST(TorchtitanImport, OneMicroBatchFillsThePipelineUnlessTold)
{
    // config/configs.py of 2026: num_pp_microbatches
    const std::string command = "torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b "
                                "--parallelism.pipeline_parallel_degree 4 --parallelism.data_parallel_shard_degree 2 "
                                "--training.num_tokens_per_microbatch_per_dp_rank 8192 --training.max_context_length 8192 ";
    const auto one = importedText(command);
    EXPECT_EQ(one.at("/training/global_batch_size"), 2);
    EXPECT_EQ(one.became("parallelism.num_pp_microbatches"), "default");
    EXPECT_EQ(importedText(command + "--parallelism.num_pp_microbatches 4").at("/training/global_batch_size"), 8);
}

TEST(TorchtitanImport, WhatARegisteredConfigSetsIsAskedFor)
{
    const auto out = importedText("torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b "
                                  "--parallelism.context_parallel_degree 1\n");
    EXPECT_EQ(out.at("/layout/dp"), 8) << "a launcher that is not told starts one node";
    for (const char* pointer : {"/layout/tp", "/training/sequence_length", "/training/micro_batch_size", "/training/recompute"})
        EXPECT_THAT(out.imported.unknown, testing::Contains(pointer));
    EXPECT_THAT(out.imported.unknown, testing::Not(testing::Contains("/layout/dp")));
    for (const char* pointer : {"/layout/pp", "/training/precision", "/training/stack"})
        EXPECT_THAT(out.imported.unknown, testing::Contains(pointer));
    for (const char* pointer : {"/layout/cp", "/layout/ep", "/training/overlap/tp_comm"}) // given, or without meaning
        EXPECT_THAT(out.imported.unknown, testing::Not(testing::Contains(pointer)));
    EXPECT_EQ(out.became("training.seq_len"), "no note") << "no default of the framework's";
    const auto told = importedText("torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b "
                                   "--training.seq_len 4096 --parallelism.tensor_parallel_degree 2\n");
    EXPECT_THAT(told.imported.unknown, testing::Not(testing::Contains("/layout/tp")));
    EXPECT_THAT(told.imported.unknown, testing::Not(testing::Contains("/training/sequence_length")));
}

TEST(TorchtitanImport, EightBitsHaveHadThreeNames)
{
    const std::string head = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
    for (const char* named : {"[training]\nenable_fp8_linear = true\n", "[training]\nenable_float8_linear = true\n",
                              "[float8]\nenable_float8_linear = true\n"})
        EXPECT_EQ(importedText(head + named, 8, "job.toml").at("/training/precision"), "fp8") << named;
    EXPECT_EQ(importedText(head + "[training]\nenable_fp8_linear = false\n", 8, "job.toml").at("/training/precision"), "bf16");
}

TEST(TorchtitanImport, AShareOfEachSequenceIsAChunkOfTheLoss)
{
    const auto chunk = [](const std::string& more) {
        return importedText("torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b "
                            "--training.seq_len 8192 --training.local_batch_size 2 " +
                            more + "\n");
    };
    EXPECT_EQ(chunk("--loss.num_chunks 4").at("/training/loss_chunk_tokens"), 2 * 8192 / 4);
    EXPECT_EQ(chunk("--loss.num_chunks 3").at("/training/loss_chunk_tokens"), 2 * 2731) << "the last one is shorter";
    const auto cut = chunk("--loss.num_chunks 8 --parallelism.context_parallel_degree 2");
    EXPECT_EQ(cut.at("/training/loss_chunk_tokens"), 2 * 8192 / 2 / 8);
    EXPECT_EQ(cut.became("--loss.num_chunks"), "used");
    // Registered configs (models/llama3/config_registry.py of 2026) take it in eight, but those that are called otherwise.
    const auto open = chunk("");
    EXPECT_EQ(open.at("/training/loss_chunk_tokens"), 2 * 8192 / 8);
    EXPECT_THAT(open.imported.unknown, testing::Contains("/training/loss_chunk_tokens"));
    EXPECT_THAT(cut.imported.unknown, testing::Not(testing::Contains("/training/loss_chunk_tokens")));
    EXPECT_EQ(importedText(
                  "torchrun -m torchtitan.train --module llama3 --config llama3_debugmodel_ce_loss --training.seq_len 8192\n", 8)
                  .at("/training/loss_chunk_tokens"),
              0);
}

TEST(TorchtitanImport, TrainingInBf16AloneKeepsNothingInFp32)
{
    const auto out = importedText(model("llama3", "8B") + "dtype = \"bfloat16\"\n", 8);
    EXPECT_EQ(out.at("/training/moment_dtype"), "bf16");
    EXPECT_EQ(out.at("/training/gradient_dtype"), "bf16");
    EXPECT_EQ(out.became("training.dtype"), "not_representable");
    const auto usual = importedText(model("llama3", "8B") + "dtype = \"float32\"\n", 8);
    EXPECT_EQ(usual.at("/training/moment_dtype"), "fp32");
    EXPECT_EQ(usual.at("/training/gradient_dtype"), "fp32");
}

TEST(TorchtitanImport, ExpertsDegreesThatItRefusesAreTold)
{
    const auto of = [](const std::string& degrees) {
        return importedText(model("deepseek_v3", "16B") + "[parallelism]\ntensor_parallel_degree = 2\n" + degrees, 16);
    };
    const std::string ep = "parallelism.expert_parallel_degree", etp = "parallelism.expert_tensor_parallel_degree";
    EXPECT_EQ(of("expert_parallel_degree = 4\nexpert_tensor_parallel_degree = 4\n").became(etp), "contradictory");
    EXPECT_EQ(of("expert_parallel_degree = 3\n").became(ep), "contradictory");
    EXPECT_EQ(of("expert_parallel_degree = 4\nexpert_tensor_parallel_degree = 2\n").became(etp), "used");
    EXPECT_EQ(of("expert_parallel_degree = 8\n").became(ep), "used");
}

TEST(TorchtitanImport, WhatChangesTheStepIsNotHarmless)
{
    const auto out = importedText(model("llama3", "8B") + "[optimizer]\nname = \"AdamW\"\nearly_step_in_backward = true\n", 8);
    EXPECT_EQ(out.became("optimizer.early_step_in_backward"), "not_representable");
    EXPECT_EQ(importedText(model("llama3", "8B") + "[quantize.linear.float8]\nenable_fsdp_float8_all_gather = true\n", 8)
                  .became("quantize.linear.float8.enable_fsdp_float8_all_gather"),
              "not_representable");
}

TEST(TorchtitanImport, ExpertsTakeContextAndTensorParallelRanksWhole)
{
    const auto became = [](const std::string& degrees) {
        return importedText(model("deepseek_v3", "16B") + "[parallelism]\ndata_parallel_shard_degree = 8\n" + degrees, 64)
            .became("parallelism.expert_parallel_degree");
    };
    EXPECT_EQ(became("tensor_parallel_degree = 4\nexpert_parallel_degree = 2\n"), "contradictory") << "no multiple of tp";
    EXPECT_EQ(became("tensor_parallel_degree = 4\nexpert_parallel_degree = 4\n"), "used");
    EXPECT_EQ(became("tensor_parallel_degree = 4\nexpert_parallel_degree = 2\nexpert_tensor_parallel_degree = 4\n"), "used");
    EXPECT_EQ(became("context_parallel_degree = 4\nexpert_parallel_degree = 2\n"), "contradictory");
    EXPECT_EQ(became("expert_parallel_degree = 16\n"), "contradictory") << "more than the shards";
}

/// "--parallelism.no-enable-sequence-parallel": what is true unless somebody refuses it.
TEST(TorchtitanImport, UnderstandsWhatACommandLineRefuses)
{
    const auto of = [](const std::string& flags) {
        return importedText("torchrun --nproc_per_node=8 -m torchtitan.train --module llama3 --config llama3_8b "
                            "--parallelism.tensor_parallel_degree 8 " +
                                flags + "\n",
                            8, "run.sh");
    };
    EXPECT_EQ(of("").at("/layout/sequence_parallel"), true);
    for (const char* refused : {"--parallelism.no-enable-sequence-parallel", "--parallelism.no_enable_sequence_parallel"})
        EXPECT_EQ(of(refused).at("/layout/sequence_parallel"), false) << refused;
    EXPECT_EQ(of("--compile.no-enable").at("/training/stack/id"), of("--compile.enable=False").at("/training/stack/id"));
    EXPECT_EQ(of("--parallelism.enable_fsdp_symm_mem").became("--parallelism.enable_fsdp_symm_mem"), "not_representable");
}

/// Of tables that say something of the step each name is known by itself.
TEST(TorchtitanImport, TellsMisspeltNamesOfTheOptimizerAndOfNarrowProducts)
{
    const auto out = importedText(model("llama3", "8B") +
                                      "converters = [\"quantize.linear.float8\"]\n[optimizer]\nlr = 1e-4\nimplementations = "
                                      "\"fused\"\n[quantize.linear.float8]\nrecipe = \"rowwise\"\nfilter_fqns = [\"output\"]\n"
                                      "[loss]\nnum_chunk = 4\n[float8]\nenable_float8 = true\n[metrics]\nlog_freq = 1\n",
                                  8);
    EXPECT_EQ(out.became("optimizer.implementations"), "unknown");
    EXPECT_EQ(out.became("quantize.linear.float8.recipe"), "unknown");
    EXPECT_EQ(out.became("loss.num_chunk"), "unknown");
    EXPECT_EQ(out.became("float8.enable_float8"), "unknown");
    EXPECT_EQ(out.became("optimizer.lr"), "harmless");
    EXPECT_EQ(out.became("metrics.log_freq"), "harmless");
}

TEST(TorchtitanImport, ReadsOfOptimizerAndNarrowProductsWhatHasAKey)
{
    const auto of = [](const std::string& tables, const std::string& converters = "") {
        return importedText("[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + converters +
                                "[training]\nlocal_batch_size = 2\nseq_len = 2048\n" + tables,
                            8);
    };
    EXPECT_EQ(of("[optimizer]\nimplementation = \"fused_opt_states_bf16\"\n").at("/training/moment_dtype"), "bf16");
    EXPECT_EQ(of("[optimizer]\nimplementation = \"fused\"\n").at("/training/moment_dtype"), "fp32");
    EXPECT_EQ(of("[optimizer]\nimplementation = \"for-loop\"\n").became("optimizer.implementation"), "not_representable");
    const std::string float8 = "converters = [\"quantize.linear.float8\"]\n", table = "[quantize.linear.float8]\n";
    EXPECT_EQ(of(table + "filter_fqns = [\"output\"]\n", float8).became("quantize.linear.float8.filter_fqns"), "harmless");
    EXPECT_EQ(of(table + "filter_fqns = [\"output\", \"wk\", \"wv\"]\n", float8).became("quantize.linear.float8.filter_fqns"),
              "not_representable");
    EXPECT_EQ(of(table + "recipe_name = \"tensorwise\"\n").became("quantize.linear.float8.recipe_name"), "harmless")
        << "without the converter";
    for (const char* others : {"converters = []\n", "converters = [\"quantize.linear.mx\"]\n"})
        for (const char* setting : {"recipe_name = \"rowwise\"\n", "filter_fqns = [\"wk\"]\n"}) {
            const auto idle = of(table + setting, others);
            const std::string name = "quantize.linear.float8." + std::string(setting).substr(0, 11);
            EXPECT_EQ(idle.became(name), "harmless") << others;
            EXPECT_THAT(idle.textOn(name), testing::HasSubstr("has no \"quantize.linear.float8\"")) << others;
        }
    EXPECT_EQ(of(table + "recipe_name = \"rowwise\"\n", float8).became("quantize.linear.float8.recipe_name"),
              "not_representable");
    EXPECT_EQ(of("", "converters = [\"quantize.grouped_mm.float8\"]\n").count(sim::Became::notRepresentable),
              of("", float8).count(sim::Became::notRepresentable) + 1)
        << "of experts alone";
}

/// What the registries of 2026 print: a group of parameters has its optimizer's name.
TEST(TorchtitanImport, ReadsTheOptimizersOfGroupsOfParameters)
{
    const auto of = [](const std::string& groups) {
        return importedText(R"({"model": {"name": "llama3", "flavor": "8B"}, "parallelism": {"tensor_parallel_degree": 1,
            "data_parallel_shard_degree": -1}, "training": {"local_batch_size": 1, "seq_len": 2048},
            "optimizer": {"param_groups": [)" +
                                groups + "]}}",
                            8);
    };
    const std::string adam = R"({"pattern": ".*", "optimizer_name": "AdamW", "optimizer_kwargs": {"lr": 0.0003}})";
    EXPECT_EQ(of(adam).became("optimizer.param_groups[0].optimizer_name"), "used");
    EXPECT_EQ(of(adam).became("optimizer.param_groups[0].optimizer_kwargs.lr"), "harmless");
    EXPECT_EQ(of(R"({"pattern": "layers", "optimizer_name": "Muon", "optimizer_kwargs": {}}, )" + adam)
                  .became("optimizer.param_groups[0].optimizer_name"),
              "not_representable");
}

} // namespace
