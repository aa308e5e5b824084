// Megatron-Bridge's recipes and NeMo 2's overrides: what a call says, what a later assignment replaces, which function is meant.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;
using testing::HasSubstr;

TEST(RecipeImport, ACallOfOneWordIsThatWord)
{
    const std::string recipe = "def llama3_8b_pretrain_8gpu_h100_config():\n    cfg = llama3_8b_pretrain_config()\n";
    const auto precision = [&](const std::string& call) {
        return importedText(recipe + "    cfg.mixed_precision = " + call + "\n    cfg.train.global_batch_size = 128\n")
            .at("/training/precision");
    };
    EXPECT_EQ(precision("_perf_precision(\"fp8_cs\")"), "fp8");
    EXPECT_EQ(precision("_perf_precision(\"fp8_mx\")"), "mxfp8");
    EXPECT_EQ(precision("_perf_precision(\"nvfp4\")"), "nvfp4");
    EXPECT_EQ(precision("\"bf16_mixed\""), "bf16");
}

TEST(RecipeImport, LayoutsAreGivenToAFunction)
{
    const auto out =
        importedText("def deepseek_v3_pretrain_1024gpu_h100_bf16_config():\n    cfg = deepseek_v3_pretrain_config()\n"
                     "    cfg.model.tensor_model_parallel_size = 2\n    cfg.model.pipeline_model_parallel_size = 8\n"
                     "    cfg.model.virtual_pipeline_model_parallel_size = 4\n"
                     "    cfg.model.expert_model_parallel_size = 64\n    cfg.model.sequence_parallel = True\n"
                     "    cfg.train.global_batch_size = 16384\n    cfg.train.micro_batch_size = 1\n"
                     "    set_deepseek_v3_pipeline_model_parallel_layout(cfg.model, \"Et|(tt|)*30mL\")\n"
                     "    cfg.env_vars = {\n        **COMMON_PERF_ENV_VARS,\n        # a comment, with a comma\n"
                     "        \"CUDA_DEVICE_MAX_CONNECTIONS\": 1,\n    }\n    return cfg\n");
    EXPECT_EQ(out.at("/schedule/virtual_stages"), 4);
    EXPECT_EQ(out.at("/schedule/layers_per_stage/0"), 1);
    EXPECT_EQ(out.at("/schedule/layers_per_stage/31"), 0);
    EXPECT_EQ(out.at("/model/num_experts"), 256);
    EXPECT_EQ(out.at("/layout/ep"), 64);
    EXPECT_EQ(out.became("cfg.env_vars.CUDA_DEVICE_MAX_CONNECTIONS"), "harmless");
}

TEST(RecipeImport, ALaterAssignmentTakesTheEarlierOnesPlace)
{
    const auto out =
        importedText("def llama3_8b_pretrain_8gpu_config():\n    cfg = base()\n    cfg.train.global_batch_size = 128\n"
                     "    cfg.train.global_batch_size = 256\n    cfg.model.tensor_model_parallel_size = 2\n");
    EXPECT_EQ(out.at("/training/global_batch_size"), 256);
    EXPECT_EQ(out.count(Became::contradictory), 0);
    EXPECT_THAT(out.textOn("cfg.train.global_batch_size"), HasSubstr("assigned again on line 4"));
}

TEST(RecipeImport, OfSeveralFunctionsTheFirstIsReadWithThoseItCalls)
{
    const auto out = importedText(
        "LENGTH = 4096\n\ndef _common(cfg):\n    cfg.model.seq_length = LENGTH\n    cfg.model.sequence_parallel = True\n\n"
        "def llama3_70b_pretrain_64gpu_config():\n    cfg = llama3_70b_pretrain_config()\n    _common(cfg)\n"
        "    cfg.model.tensor_model_parallel_size = 4\n    cfg.train.global_batch_size = 128\n    return cfg\n\n"
        "def llama3_70b_pretrain_128gpu_config():\n    cfg = llama3_70b_pretrain_64gpu_config()\n"
        "    cfg.model.tensor_model_parallel_size = 8\n    return cfg\n");
    EXPECT_EQ(out.at("/layout/tp"), 4);
    EXPECT_EQ(out.at("/training/sequence_length"), 4096);
    EXPECT_EQ(out.at("/layout/sequence_parallel"), true);
    EXPECT_EQ(out.became("def llama3_70b_pretrain_128gpu_config"), "unknown");
    EXPECT_EQ(out.count(Became::contradictory), 0);
}

TEST(RecipeImport, TheModelIsWhatTheBridgeIsMadeOf)
{
    const auto out =
        importedText("def pretrain():\n    cfg = _pretrain_common()\n"
                     "    cfg.model = "
                     "AutoBridge.from_hf_pretrained(\"deepseek-ai/DeepSeek-V2-Lite\").to_megatron_provider(load_weights=False)\n"
                     "    cfg.model.mtp_num_layers = 0\n    cfg.model.expert_model_parallel_size = 8\n",
                     8);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 27);
    EXPECT_EQ(out.became("cfg.model.mtp_num_layers"), "used");
}

TEST(RecipeImport, OverridesOfTheSecondNemoAreRecognised)
{
    const auto out =
        importedText("ENV_VARS:\n  SKIP_PYTEST: 1\nMODEL_ARGS:\n  trainer.num_nodes: 1\n  trainer.devices: 8\n"
                     "  trainer.strategy.tensor_model_parallel_size: 2\n  trainer.strategy.sequence_parallel: True\n"
                     "  model.config.num_layers: 12\n  model.config.hidden_size: 768\n  model.config.num_attention_heads: 16\n"
                     "  data.micro_batch_size: 4\n  data.global_batch_size: 64\n  data.seq_length: 2048\nTEST_TYPE: regular\n");
    EXPECT_EQ(out.imported.kind, "bridge-python");
    EXPECT_EQ(out.at("/layout/tp"), 2);
    EXPECT_EQ(out.at("/layout/dp"), 4);
    EXPECT_EQ(out.at("/model/hidden_size"), 768);
    EXPECT_EQ(out.at("/training/global_batch_size"), 64);
    EXPECT_EQ(out.at("/training/sequence_length"), 2048);
}

TEST(RecipeImport, ExpertsThatFitOnlyUncutAreNotCut)
{
    const auto recipe = [](const std::string& gpus) {
        return importedText("def kimi_k2_pretrain_" + gpus +
                            "gpu_h100_bf16_config():\n    cfg = kimi_k2_pretrain_config()\n"
                            "    cfg.model.tensor_model_parallel_size = 8\n    cfg.model.pipeline_model_parallel_size = 16\n"
                            "    cfg.model.expert_model_parallel_size = 64\n    cfg.model.sequence_parallel = True\n"
                            "    cfg.train.global_batch_size = 4096\n    cfg.train.micro_batch_size = 1\n");
    };
    const auto out = recipe("1024");
    EXPECT_EQ(out.at("/layout/etp"), 1);
    EXPECT_THAT(out.imported.unknown, testing::Contains("/layout/etp"));
    EXPECT_EQ(recipe("8192").at("/layout/etp"), 8);
}

TEST(RecipeImport, AClassNamesTheCataloguesModel)
{
    const auto modelOf = [](const std::string& made) {
        return sim::Json::parse(importedText("def pretrain():\n    cfg = _pretrain_common()\n    cfg.model = " + made +
                                                 "\n    cfg.train.global_batch_size = 128\n",
                                             8)
                                    .imported.scenario)["model"]["base"];
    };
    EXPECT_EQ(modelOf("Llama31ModelProvider405B()"), "llama3-405b");
    EXPECT_EQ(modelOf("Llama31ModelProvider8B()"), "llama3-8b");
    EXPECT_EQ(modelOf("Llama3ModelProvider8B()"), "llama3.0-8b");
    EXPECT_EQ(modelOf("run.Config(llm.Llama3Config70B)"), "llama3.0-70b");
    EXPECT_EQ(modelOf("Llama32ModelProvider1B(seq_length=8192)"), "llama3.2-1b");
    EXPECT_EQ(modelOf("Qwen3MoEModelProvider235B_A22B(\n        seq_length=4096,\n    )"), "qwen3-235b-a22b");
    EXPECT_EQ(modelOf("Qwen3ModelProvider600M()"), "qwen3-0.6b");
    EXPECT_EQ(modelOf("DeepSeekV3ModelProvider()"), "deepseek-v3");
    EXPECT_EQ(modelOf("run.Config(llm.MixtralConfig8x7B)"), "mixtral-8x7b");
    EXPECT_EQ(modelOf("run.Config(GPTConfig175B)"), "gpt3-175b");
    EXPECT_EQ(modelOf("llm.Llama4Experts16Config()"), "llama4-scout");
}

/// Bridge's recipes/llama/llama3.py loads meta-llama/Meta-Llama-3-8B, NeMo's recipes/llama3_8b.py has Llama3Config8B: neither
/// scales frequencies. Those with "31" in their names do.
TEST(RecipeImport, Llama3IsNot31)
{
    const auto scalingOf = [](const std::string& recipe, const std::string& file = "job.py") {
        return importedText(recipe, 8, file).at("/model/rope_scaling");
    };
    const auto ofNemo = [](const std::string& name) {
        return "from nemo.collections import llm\nimport nemo_run as run\nrecipe = llm." + name +
               ".pretrain_recipe(dir=\"/x\", name=\"y\", num_nodes=1, num_gpus_per_node=8)\n"
               "recipe.trainer.strategy.tensor_model_parallel_size = 1\n";
    };
    const auto ofBridge = [](const std::string& name) {
        return "from megatron.bridge.recipes.llama import " + name + "_config\ncfg = " + name +
               "_config()\ncfg.model.tensor_model_parallel_size = 1\ncfg.train.global_batch_size = 128\n";
    };
    for (const std::string& recipe : {ofNemo("llama3_8b"), ofNemo("llama3_8b_16k"), ofNemo("llama3_70b"),
                                      ofBridge("llama3_8b_pretrain"), ofBridge("llama3_70b_sft")})
        EXPECT_TRUE(scalingOf(recipe).is_null()) << recipe;
    for (const std::string& recipe : {ofNemo("llama31_8b"), ofNemo("llama31_70b"), ofBridge("llama31_8b_pretrain")})
        EXPECT_EQ(scalingOf(recipe)["factor"], 8) << recipe;
    const std::string plain = "cfg.model.tensor_model_parallel_size = 1\ncfg.train.global_batch_size = 128\n";
    EXPECT_TRUE(scalingOf(plain, "llama3_8b.py").is_null()) << "by the file's name";
    EXPECT_EQ(scalingOf(plain, "llama31_8b.py")["factor"], 8);
}

TEST(RecipeImport, AClassThatTheCatalogueDoesNotHaveIsAskedFor)
{
    const auto next = importedText("def pretrain():\n    cfg = _pretrain_common()\n"
                                   "    cfg.model = Qwen3NextModelProvider80B_A3B(tensor_model_parallel_size=2)\n"
                                   "    cfg.train.global_batch_size = 128\n",
                                   8);
    EXPECT_THAT(next.imported.unknown, testing::Contains("/model"));
    EXPECT_EQ(next.became("cfg.model"), "unknown");
    EXPECT_THAT(next.textOn("cfg.model"), HasSubstr("nearest: qwen3"));
    EXPECT_EQ(next.at("/layout/tp"), 2);
    // With sizes, too: what the class sets besides is not Megatron's default of 2019.
    const auto gemma = importedText(
        "def pretrain():\n    cfg.model = Gemma3ModelProvider(num_layers=26, hidden_size=1152,\n"
        "        num_attention_heads=4, ffn_hidden_size=6912, vocab_size=262_144)\n"
        "    cfg.train.global_batch_size = 512\n    cfg.train.micro_batch_size = 1\n    cfg.model.seq_length = 8192\n",
        8);
    EXPECT_THAT(gemma.imported.unknown, testing::Contains("/model"));
    EXPECT_EQ(gemma.at("/model/num_hidden_layers"), 26);
    EXPECT_EQ(gemma.at("/model/normalization"), "rmsnorm");
    EXPECT_EQ(gemma.at("/model/position_embedding"), "rope");
    // Megatron's own class has Megatron's defaults.
    const auto gpt = importedText("def pretrain():\n    cfg.model = GPTModelProvider(num_layers=12, hidden_size=768,\n"
                                  "        num_attention_heads=12, vocab_size=50257)\n    cfg.train.global_batch_size = 64\n"
                                  "    cfg.model.seq_length = 1024\n",
                                  8);
    EXPECT_EQ(gpt.at("/model/normalization"), "layernorm");
    EXPECT_THAT(gpt.imported.unknown, testing::Not(testing::Contains("/model")));
}

TEST(RecipeImport, OfAnotherVersionOrOtherInputsNoneIsTaken)
{
    const auto unknownOf = [](const std::string& id) {
        return importedText("def pretrain():\n    cfg.model = AutoBridge.from_hf_pretrained(\"" + id +
                                "\").to_megatron_provider()\n    cfg.train.global_batch_size = 128\n",
                            8)
            .imported.unknown;
    };
    EXPECT_THAT(unknownOf("deepseek-ai/DeepSeek-V3.2-Exp"), testing::Contains("/model"));
    EXPECT_THAT(unknownOf("moonshotai/Kimi-K2.5"), testing::Contains("/model"));
    for (const char* same : {"deepseek-ai/DeepSeek-V3-0324", "moonshotai/Kimi-K2-Instruct-0905",
                             "meta-llama/Llama-3.1-8B-Instruct", "mistralai/Mixtral-8x7B-v0.1"})
        EXPECT_THAT(unknownOf(same), testing::Not(testing::Contains("/model"))) << same;
}

TEST(RecipeImport, NemosFunctionsAreCalledWithWhatTheyAreGiven)
{
    const auto out = importedText(
        "def model():\n    conf = run.Config(Llama31Config70B)\n    return run.Config(LlamaModel, config=conf)\n\n"
        "def trainer(\n    tensor_parallelism: int = 4,\n    pipeline_parallelism: int = 4,\n"
        "    context_parallelism: Optional[int] = 2,\n    num_nodes: int = 4,\n    num_gpus_per_node: int = 8,\n"
        ") -> run.Config[nl.Trainer]:\n    strategy = run.Config(\n        nl.MegatronStrategy,\n"
        "        tensor_model_parallel_size=tensor_parallelism,\n        pipeline_model_parallel_size=pipeline_parallelism,\n"
        "        context_parallel_size=context_parallelism,\n    )\n    trainer = run.Config(nl.Trainer, "
        "devices=num_gpus_per_node, num_nodes=num_nodes, strategy=strategy)\n    return trainer\n\n"
        "def pretrain_recipe(num_nodes: int = 8, performance_mode: bool = False):\n    recipe = run.Partial(\n        fn,\n"
        "        model=model(),\n        trainer=trainer(num_nodes=num_nodes, pipeline_parallelism=2),\n"
        "        data=run.Config(MockDataModule, seq_length=8192, global_batch_size=512, micro_batch_size=1),\n    )\n"
        "    if performance_mode:\n        recipe.trainer.strategy.tensor_model_parallel_size = 8\n    return recipe\n");
    EXPECT_EQ(out.imported.kind, "bridge-python");
    EXPECT_EQ(sim::Json::parse(out.imported.scenario)["model"]["base"], "llama3-70b");
    EXPECT_EQ(out.at("/layout/tp"), 4) << "performance_mode is off";
    EXPECT_EQ(out.at("/layout/pp"), 2) << "as the call says";
    EXPECT_EQ(out.at("/layout/cp"), 2) << "as the function has it";
    EXPECT_EQ(out.at("/layout/dp"), 4) << "8 nodes of 8";
    EXPECT_EQ(out.at("/training/global_batch_size"), 512);
    const auto elsewhere = importedText("def pretrain_recipe(tensor_parallelism: int = 4):\n    recipe = run.Partial(\n"
                                        "        fn, trainer=qwen3_trainer(tensor_parallelism=tensor_parallelism, "
                                        "num_nodes=2, num_gpus_per_node=8))\n    recipe.model.config.seq_length = 4096\n");
    EXPECT_EQ(elsewhere.at("/layout/tp"), 4);
    EXPECT_EQ(elsewhere.at("/layout/dp"), 4);
}

TEST(RecipeImport, ClustersThatAreGuessedHaveThePrecision)
{
    const auto out =
        importedText("def llama3_8b_pretrain_8gpu_config():\n    cfg = base()\n"
                     "    cfg.mixed_precision = _perf_precision(\"nvfp4\")\n    cfg.train.global_batch_size = 128\n");
    EXPECT_EQ(out.at("/training/precision"), "nvfp4");
    EXPECT_EQ(sim::Json::parse(out.imported.scenario)["cluster"]["base"], "dgx-b200");
    EXPECT_EQ(importedText("def gpt_oss_20b_pretrain_8gpu_config():\n    cfg = base()\n"
                           "    cfg.mixed_precision = _gpt_oss_20b_fp8mx_precision()\n    cfg.train.global_batch_size = 64\n")
                  .at("/training/precision"),
              "mxfp8");
}

std::string bridgeRecipe(const std::string& more)
{
    return "def llama3_8b_pretrain_8gpu_config():\n    cfg = llama3_8b_pretrain_config()\n"
           "    cfg.model.tensor_model_parallel_size = 2\n    cfg.train.global_batch_size = 128\n"
           "    cfg.train.micro_batch_size = 1\n" +
           more;
}

TEST(RecipeImport, TheOptimizerIsWholeWhereBothSayIt)
{
    // training/config.py, _validate_and_sync_distributed_optimizer_settings: one that is on puts the other on
    const std::string ddp = "    cfg.ddp.use_distributed_optimizer = False\n",
                      own = "    cfg.optimizer.use_distributed_optimizer = False\n";
    EXPECT_EQ(importedText(bridgeRecipe(ddp + own)).at("/layout/zero_stage"), 0);
    const auto one = importedText(bridgeRecipe(ddp));
    EXPECT_EQ(one.at("/layout/zero_stage"), 1);
    EXPECT_EQ(one.became("cfg.ddp.use_distributed_optimizer"), "contradictory");
    EXPECT_EQ(importedText(bridgeRecipe("")).at("/layout/zero_stage"), 1);
}

TEST(RecipeImport, RecipesHideTheTransfersOfDataParallelism)
{
    // recipes/common.py; training/comm_overlap.py, _get_optimizer_overlap_cfgs
    const auto out = importedText(bridgeRecipe(""));
    EXPECT_EQ(out.at("/training/overlap/grad_reduce"), true);
    EXPECT_EQ(out.at("/training/overlap/param_gather"), true);
    const std::string off = "    cfg.ddp.overlap_grad_reduce = False\n    cfg.ddp.overlap_param_gather = False\n";
    EXPECT_EQ(importedText(bridgeRecipe(off)).at("/training/overlap/grad_reduce"), false);
    EXPECT_EQ(importedText(bridgeRecipe(off)).at("/training/overlap/param_gather"), false);
    const auto planned = importedText(bridgeRecipe(off + "    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True)\n"));
    EXPECT_EQ(planned.at("/training/overlap/grad_reduce"), true);
    EXPECT_EQ(planned.became("cfg.ddp.overlap_grad_reduce"), "contradictory");
    const auto told = importedText(
        bridgeRecipe(off + "    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True, overlap_grad_reduce=False)\n"));
    EXPECT_EQ(told.at("/training/overlap/grad_reduce"), false);
}

TEST(RecipeImport, ADumpNamesTheClassOfItsModel)
{
    const auto out = importedText("_target_: nemo.collections.llm.api.pretrain\nmodel:\n"
                                  "  _target_: nemo.collections.llm.gpt.model.llama.LlamaModel\n  config:\n"
                                  "    _target_: nemo.collections.llm.gpt.model.llama.Llama3Config70B\n    seq_length: 8192\n"
                                  "trainer:\n  devices: 8\n  num_nodes: 4\n  strategy:\n"
                                  "    _target_: nemo.lightning.MegatronStrategy\n    tensor_model_parallel_size: 4\n"
                                  "    pipeline_model_parallel_size: 8\n"
                                  "data:\n  global_batch_size: 128\n  micro_batch_size: 1\n");
    EXPECT_EQ(Json::parse(out.imported.scenario)["model"]["base"], "llama3.0-70b");
    EXPECT_EQ(out.at("/layout/pp"), 8);
    EXPECT_EQ(out.count(Became::contradictory), 0) << "80 layers divide over 8 stages";
    EXPECT_THAT(out.imported.unknown, testing::Not(testing::Contains("/model")));
}

TEST(RecipeImport, ADumpHasFunctionsAndTypesInMappingsOfTheirOwn)
{
    const auto out = importedText("_target_: megatron.bridge.training.config.ConfigContainer\nmodel:\n"
                                  "  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider\n"
                                  "  activation_func:\n    _call_: false\n    _target_: torch.nn.functional.silu\n"
                                  "  attention_backend:\n    _args_:\n    - 3\n    _call_: true\n"
                                  "    _target_: megatron.core.transformer.enums.AttnBackend\n"
                                  "  transformer_layer_spec:\n    _call_: false\n"
                                  "    _target_: megatron.bridge.models.gpt_provider.default_layer_spec\n"
                                  "  gated_linear_unit: true\n  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n"
                                  "  seq_length: 8192\n  vocab_size: 128256\noptimizer:\n  use_precision_aware_optimizer: true\n"
                                  "  exp_avg_dtype:\n    _call_: false\n    _target_: torch.bfloat16\n"
                                  "  exp_avg_sq_dtype:\n    _call_: false\n    _target_: torch.bfloat16\n"
                                  "train:\n  global_batch_size: 128\n  micro_batch_size: 1\n",
                                  8);
    EXPECT_EQ(out.at("/model/hidden_act"), "silu");
    EXPECT_EQ(out.at("/model/gated_mlp"), true);
    EXPECT_EQ(out.at("/training/moment_dtype"), "bf16");
    EXPECT_EQ(out.at("/training/flash_attention"), false);
    EXPECT_EQ(out.valueOf("model.activation_func"), "torch.nn.functional.silu");
    for (const sim::Note& note : out.imported.notes)
        EXPECT_FALSE(note.became == Became::unknown && note.line > 0) << note.setting << " " << note.text;
    const auto swish =
        importedText("def llama3_8b_pretrain_config():\n    cfg.model.num_layers = 8\n    cfg.model.hidden_size = 64\n"
                     "    cfg.model.num_attention_heads = 8\n    cfg.model.activation_func = F.relu\n",
                     8);
    EXPECT_EQ(swish.became("cfg.model.activation_func"), "not_representable");
}

const std::string kQuickStart =
    "import nemo_run as run\nfrom nemo.collections import llm\n"
    "recipe = llm.llama31_70b.pretrain_recipe(dir=\"/c\", name=\"x\", num_nodes=8, num_gpus_per_node=8)\n"
    "recipe.trainer.strategy.tensor_model_parallel_size = 4\nrecipe.trainer.strategy.sequence_parallel = True\n"
    "recipe.data.global_batch_size = 256\n";

TEST(RecipeImport, OfTheSecondNemoACallNamesTheModelAndTheNodes)
{
    const auto out = importedText(kQuickStart);
    EXPECT_EQ(out.imported.kind, "bridge-python");
    EXPECT_EQ(out.at("/model/hidden_size"), 8192);
    EXPECT_EQ(out.at("/layout/dp"), 16);
    EXPECT_EQ(out.count(Became::contradictory), 0);
}

TEST(RecipeImport, OfTheSecondNemoAPluginSaysThePrecision)
{
    EXPECT_EQ(importedText(kQuickStart).at("/training/precision"), "bf16");
    const auto out = importedText(kQuickStart + "recipe.trainer.strategy.ddp = run.Config(DDP, grad_reduce_in_fp32=True)\n"
                                                "recipe.trainer.plugins = bf16_with_fp8_mixed()\n"
                                                "recipe.trainer.plugins.grad_reduce_in_fp32 = False\n"
                                                "recipe.optim.config.use_precision_aware_optimizer = True\n");
    EXPECT_EQ(out.at("/training/precision"), "fp8");
    EXPECT_EQ(out.at("/training/gradient_dtype"), "bf16");
    EXPECT_EQ(out.became("recipe.optim.config.use_precision_aware_optimizer"), "used");
    EXPECT_EQ(out.became("recipe.trainer.strategy.ddp.grad_reduce_in_fp32"), "contradictory");
    const auto dump = importedText("_target_: nemo.collections.llm.api.pretrain\nmodel:\n  config:\n"
                                   "    _target_: nemo.collections.llm.gpt.model.llama.Llama31Config70B\ntrainer:\n  devices: 8\n"
                                   "  num_nodes: 8\n  plugins:\n    _target_: nemo.lightning.MegatronMixedPrecision\n"
                                   "    precision: bf16-mixed\n    fp8: hybrid\n    grad_reduce_in_fp32: false\n"
                                   "  callbacks:\n  - _target_: nemo.lightning.MegatronCommOverlapCallback\n"
                                   "    tp_comm_overlap: true\n  strategy:\n    tensor_model_parallel_size: 4\n"
                                   "    sequence_parallel: true\n    ddp:\n      grad_reduce_in_fp32: true\n"
                                   "data:\n  global_batch_size: 512\n  seq_length: 8192\n");
    EXPECT_EQ(dump.at("/training/precision"), "fp8");
    EXPECT_EQ(dump.at("/training/gradient_dtype"), "bf16");
    EXPECT_EQ(dump.at("/training/overlap/tp_comm"), true);
    EXPECT_EQ(dump.became("trainer.strategy.ddp.grad_reduce_in_fp32"), "contradictory");
}

TEST(RecipeImport, OfTheSecondNemoACallbackOverlaps)
{
    for (const std::string callback :
         {"recipe.trainer.callbacks.append(run.Config(MegatronCommOverlapCallback, tp_comm_overlap=True))\n",
          "mcomm_overlap_callback = run.Config(MegatronCommOverlapCallback, tp_comm_overlap=True)\n"})
        EXPECT_EQ(importedText(kQuickStart + callback).at("/training/overlap/tp_comm"), true) << callback;
}

TEST(RecipeImport, OfTheSecondNemoWholeRecipesAreRecognised)
{
    const auto out = importedText(
        "import nemo_run as run\nfrom nemo import lightning as nl\n\ndef trainer(tensor_parallelism: int = 4, num_nodes: int = "
        "4):\n"
        "    strategy = run.Config(nl.MegatronStrategy, tensor_model_parallel_size=tensor_parallelism, "
        "gradient_as_bucket_view=True)\n    trainer = run.Config(nl.Trainer, devices=8, num_nodes=num_nodes, strategy=strategy)\n"
        "    return trainer\n\ndef pretrain_recipe(num_nodes: int = 4):\n    recipe = run.Partial(pretrain,\n"
        "        model=run.Config(LlamaModel, config=run.Config(Llama3Config70B)),\n        "
        "trainer=trainer(num_nodes=num_nodes),\n"
        "        data=run.Config(MockDataModule, seq_length=8192, global_batch_size=512, micro_batch_size=1))\n    return "
        "recipe\n",
        std::nullopt, "llama3_70b.py");
    EXPECT_EQ(out.imported.kind, "bridge-python");
    EXPECT_EQ(out.at("/layout/tp"), 4);
    EXPECT_EQ(out.at("/layout/dp"), 8);
    for (const sim::Note& note : out.imported.notes) {
        EXPECT_NE(note.setting, "trainer.strategy") << "what the variable holds is read";
        EXPECT_FALSE(note.setting.ends_with("gradient_as_bucket_view") && note.became == Became::unknown);
    }
}

TEST(RecipeImport, WhatAFunctionOfTheFileReturnsIsReadWhereItIsAssigned)
{
    const auto out =
        importedText("from nemo.collections import llm\n\ndef model():\n    model_config = mixtral_8x7b.model()\n"
                     "    model_config.config.seq_length = 16384\n    return model_config\n\n"
                     "def trainer(num_nodes: int = 4, num_gpus_per_node: int = 8):\n    return mixtral_8x7b.trainer(\n"
                     "        tensor_parallelism=4,\n        pipeline_parallelism=2,\n        context_parallelism=4,\n"
                     "        sequence_parallelism=True,\n        num_nodes=num_nodes,\n        "
                     "num_gpus_per_node=num_gpus_per_node,\n    )\n\n"
                     "def pretrain_recipe(num_nodes: int = 2):\n    recipe = mixtral_8x7b.pretrain_recipe(num_nodes=num_nodes)\n"
                     "    recipe.model = model()\n    recipe.trainer = trainer(num_nodes=num_nodes, num_gpus_per_node=16)\n    "
                     "return recipe\n",
                     std::nullopt, "mixtral_8x7b_16k.py");
    EXPECT_EQ(out.at("/layout/tp"), 4);
    EXPECT_EQ(out.at("/layout/pp"), 2);
    EXPECT_EQ(out.at("/layout/cp"), 4);
    EXPECT_EQ(out.at("/layout/dp"), 1);
    EXPECT_EQ(out.at("/layout/sequence_parallel"), true);
    EXPECT_EQ(out.at("/training/sequence_length"), 16384);
}

TEST(RecipeImport, WhatARecipeOfAnotherFileSetsIsAskedFor)
{
    const std::string body =
        "    cfg.train.micro_batch_size = 1\n    cfg.model.pipeline_model_parallel_size = 2\n    return cfg\n";
    const auto out =
        importedText("def qwen3_30b_a3b_pretrain_16gpu_config():\n    cfg = _qwen3_30b_a3b_default_pretrain_config()\n" + body);
    const auto asks = [](const test::ImportedText& imported, const std::string& pointer) {
        return std::count(imported.imported.unknown.begin(), imported.imported.unknown.end(), pointer) > 0;
    };
    for (const char* pointer : {"/layout/tp", "/layout/ep", "/training/global_batch_size"})
        EXPECT_TRUE(asks(out, pointer)) << pointer;
    EXPECT_FALSE(asks(out, "/layout/pp")) << "the recipe says it";
    EXPECT_EQ(out.became("cfg"), "unknown");
    const auto alone = importedText("def qwen3_30b_a3b_pretrain_16gpu_config():\n    cfg = ConfigContainer()\n" + body);
    EXPECT_FALSE(asks(alone, "/layout/tp")) << "the framework's own";
}

TEST(RecipeImport, HowTheOptimizerOfNemo2LearnsIsHarmless)
{
    const auto out =
        importedText("def pretrain_recipe():\n    recipe = run.Partial(\n        pretrain, model=run.Config(Llama3Config8B),\n"
                     "        optim=distributed_fused_adam_with_cosine_annealing(\n            precision=\"bf16-mixed\", "
                     "warmup_steps=500, constant_steps=0, max_lr=3e-4, clip_grad=1.0))\n    return recipe\n",
                     8, "llama3_8b.py");
    for (const char* name :
         {"recipe.optim.precision", "recipe.optim.warmup_steps", "recipe.optim.constant_steps", "recipe.optim.clip_grad"})
        EXPECT_NE(out.became(name), "unknown") << name;
}

} // namespace
