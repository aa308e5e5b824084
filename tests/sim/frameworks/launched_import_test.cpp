// What stands around Megatron's settings in other people's files: batch systems, launchers, branches that only a run decides,
// sections of YAML, other dashes. Every file here is this project's own text.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string kSizesOfJob = "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                                "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 ";

TEST(LaunchedImport, EachBatchSystemSaysHowManyNodesThereAre)
{
    for (const char* head : {"#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n", "#PBS -l select=4:ncpus=8:mpiprocs=8:ngpus=8\n",
                             "#PBS -l nodes=4:ppn=8:gpus=8\n", "#PJM -L \"rscgrp=large,node=4\"\nNUM_GPUS_PER_NODE=8\n",
                             "#BSUB -nnodes 4\nGPUS_PER_NODE=8\n", "#COBALT -n 4\nGPUS_PER_NODE=8\n"}) {
        const auto out = importedText(std::string("#!/bin/bash\n") + head + "python pretrain_gpt.py " + kSizesOfJob);
        EXPECT_EQ(out.at("/layout/dp"), 32) << head;
        EXPECT_EQ(out.at("/cluster/nodes"), 4) << head;
    }
}

TEST(LaunchedImport, MpirunCountsItsRanks)
{
    const auto out = importedText(
        "mpirun -np 64 --npernode 4 --map-by slot --bind-to none -x PATH -x A=$B python pretrain_gpt.py " + kSizesOfJob);
    EXPECT_EQ(out.at("/layout/dp"), 64);
    EXPECT_EQ(out.at("/cluster/gpus_per_node"), 4);
    EXPECT_EQ(out.became("--map-by"), "harmless");
    EXPECT_EQ(importedText("mpiexec -n 16 -ppn 8 python pretrain_gpt.py " + kSizesOfJob).at("/cluster/nodes"), 2);
}

TEST(LaunchedImport, WhatStandsBeforeTheInterpreterIsTheLaunchers)
{
    const auto out =
        importedText("srun --nodes 2 --cpus-per-task 8 numactl --membind=0-3 python3 pretrain_gpt.py " + kSizesOfJob, 16);
    EXPECT_EQ(out.became("--membind"), "harmless");
    EXPECT_EQ(out.count(Became::unknown), importedText("python3 pretrain_gpt.py " + kSizesOfJob, 16).count(Became::unknown));
}

TEST(LaunchedImport, NodesThatTheEnvironmentCountsAreAskedFor)
{
    const auto out = importedText("torchrun --nproc_per_node 8 --nnodes $HOW_MANY pretrain_gpt.py " + kSizesOfJob);
    EXPECT_THAT(out.imported.unknown, Contains("/layout/dp"));
    const auto one = importedText("torchrun --nproc_per_node 8 pretrain_gpt.py " + kSizesOfJob);
    EXPECT_THAT(one.imported.unknown, Not(Contains("/layout/dp"))) << "a launcher that is not told starts one node";
}

TEST(LaunchedImport, WhatAnArgumentOfTheScriptDecidesIsAskedFor)
{
    const auto out = importedText("TP=$1\npython pretrain_gpt.py --tensor-model-parallel-size $TP " + kSizesOfJob, 8);
    EXPECT_THAT(out.imported.unknown, Contains("/layout/tp"));
    for (const sim::Note& note : out.imported.notes)
        if (note.became == Became::byDefault && note.pointer == "/layout/tp") {
            EXPECT_THAT(note.text, HasSubstr("decided outside"));
        }
}

TEST(LaunchedImport, SettingsOfABranchThatNobodyCanTellSayWhichOne)
{
    const auto out = importedText(
        "if [ $PR = bf16 ]; then\n  pr=\" --bf16\"\nelif [ $PR = fp8 ]; then\n  pr=\" --bf16 \\\n --fp8-format hybrid\"\n"
        "fi\npython pretrain_gpt.py $pr " +
            kSizesOfJob,
        8);
    EXPECT_EQ(out.at("/training/precision"), "fp8");
    EXPECT_THAT(out.textOn("--fp8-format"), HasSubstr("stands in a branch of line 3"));
    EXPECT_THAT(out.textOn("if"), HasSubstr("the last one counts"));
    EXPECT_THAT(out.textOn("--num-layers"), Not(HasSubstr("branch")));
}

TEST(LaunchedImport, VariablesWithoutFlagsBelongToNoFlagOfTheOneBefore)
{
    const auto out =
        importedText("ARGS=(\n  --num-layers 24 --hidden-size 2048 --num-attention-heads 16\n  --seq-length 2048 --bf16\n"
                     "  --micro-batch-size 1 --global-batch-size 64\n  --attention-backend fused\n)\n"
                     "export MARGIN=16\nexport OTHER=(a b)\n",
                     8);
    EXPECT_EQ(out.valueOf("--attention-backend"), "fused");
}

TEST(LaunchedImport, AVariableOfSeveralPartsIsOneWord)
{
    const auto out = importedText(
        "NAME=run--${X}--$(date)\nARGS=(" + kSizesOfJob + ")\nARGS+=(--save ${NAME} --attention-backend flash)\n", 8);
    for (const sim::Note& note : out.imported.notes)
        EXPECT_FALSE(note.setting == "--" || note.setting == "---") << note.text;
    EXPECT_EQ(out.valueOf("--attention-backend"), "flash");
}

TEST(LaunchedImport, AListWithoutElementsIsNoWord)
{
    const auto out = importedText("MORE=()\nARGS=(--attention-backend unfused)\ntorchrun pretrain_gpt.py " + kSizesOfJob +
                                      "--attention-dropout 0.1 \"${MORE[@]}\" \"${ARGS[@]}\" \"$@\"\n",
                                  8);
    EXPECT_EQ(out.valueOf("--attention-backend"), "unfused");
    EXPECT_EQ(out.at("/training/flash_attention"), false);
    EXPECT_EQ(out.at("/model/attention_dropout"), 0.1);
}

TEST(LaunchedImport, MpirunOfLaunchersCountsNodes)
{
    const auto gpus = [](const std::string& start) {
        const auto out = importedText(start + " pretrain_gpt.py " + kSizesOfJob + "--tensor-model-parallel-size 8\n");
        return out.at("/layout/tp").get<int>() * out.at("/layout/dp").get<int>();
    };
    EXPECT_EQ(gpus("mpirun -np 32 python"), 32);
    EXPECT_EQ(gpus("mpirun -np 4 -npernode 1 torchrun --nnodes 4 --nproc_per_node 8"), 32);
    EXPECT_EQ(gpus("mpirun -np 4 torchrun --nproc_per_node 8"), 32);
}

TEST(LaunchedImport, WhatFollowsTheLastFlagIsNoValueOfIt)
{
    for (const char* tail :
         {"2>&1 | tee log.txt", "2> errors.txt", "> log.txt 2>&1", "$EXTRA_ARGS", "${EXTRA_ARGS}", "\"$@\"", ""}) {
        const auto out =
            importedText("python pretrain_gpt.py " + kSizesOfJob + "--position-embedding-type rope " + tail + "\n", 8);
        EXPECT_EQ(out.at("/model/position_embedding"), "rope") << tail;
        if (std::string_view(tail).starts_with("$"))
            continue; // may be the flag's own value, and is asked for
        const auto flag = importedText("python pretrain_gpt.py " + kSizesOfJob + "--swiglu " + tail + "\n", 8);
        EXPECT_EQ(flag.at("/model/hidden_act"), "silu") << tail;
    }
    EXPECT_THAT(importedText("python pretrain_gpt.py " + kSizesOfJob + "--position-embedding-type rope $EXTRA_ARGS\n", 8)
                    .textOn("${EXTRA_ARGS}"),
                HasSubstr("decided outside"));
}

TEST(LaunchedImport, AFlagAndItsValueInOneQuoteAreTwoWords)
{
    const auto out = importedText(
        "ARGS=(\"--num-layers 24\" \"--hidden-size 2048\" '--num-attention-heads 16'\n  \"--seq-length 2048\" --bf16 "
        "\"--micro-batch-size 1\" \"--global-batch-size 64\")\n",
        8);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 24);
    EXPECT_EQ(out.at("/training/global_batch_size"), 64);
}

TEST(LaunchedImport, AQuoteThatIsNotClosedIsTold)
{
    const auto out =
        importedText("python pretrain_gpt.py " + kSizesOfJob + "\\\n --save \"checkpoints\n --tensor-model-parallel-size 2\n", 8);
    EXPECT_THAT(out.textOn("\""), HasSubstr("is not closed"));
    EXPECT_EQ(importedText("python pretrain_gpt.py " + kSizesOfJob + "--save \"a b\" 'c d'\n", 8).became("\""), "no note");
}

TEST(LaunchedImport, AHereDocumentThatIsNoJsonIsToldAndTheRestRead)
{
    const auto out =
        importedText("cat <<EOT > ds.json\n{ \"train_batch_size\" 64 }\nEOT\npython pretrain_gpt.py " + kSizesOfJob, 8);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 24);
    EXPECT_THAT(out.textOn("<<EOT"), HasSubstr("is no JSON"));
}

TEST(LaunchedImport, ATemplatesBareWordsAreDecidedOutside)
{
    const auto out = importedText("{\n  \"train_batch_size\": CONFIG_BATCH_SIZE,\n  \"zero_optimization\": {\"stage\": 2},\n"
                                  "  \"bf16\": {\"enabled\": CONFIG_BF16}\n}\n",
                                  8, "template.json");
    EXPECT_EQ(out.at("/layout/zero_stage"), 2);
    EXPECT_EQ(out.became("train_batch_size"), "unknown");
    EXPECT_THAT(out.textOn("train_batch_size"), HasSubstr("decided outside"));
    EXPECT_THAT(out.imported.unknown, Contains("/training/global_batch_size"));
}

const std::string kTrainer = "deepspeed --num_gpus 8 --num_nodes 2 main.py --model_name_or_path meta-llama/Llama-2-7b-hf "
                             "--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --max_seq_len 2048 "
                             "--gradient_checkpointing ";

TEST(DeepSpeedScriptImport, TheLaunchersAndTheTrainersFlagsMakeAJob)
{
    const auto out = importedText(kTrainer + "--zero_stage 3 --dtype bf16 --deepspeed --output_dir out");
    EXPECT_EQ(out.imported.kind, "deepspeed-json");
    EXPECT_EQ(out.at("/layout/dp"), 16);
    EXPECT_EQ(out.at("/layout/zero_stage"), 3);
    EXPECT_EQ(out.at("/training/global_batch_size"), 128);
    EXPECT_EQ(out.at("/training/sequence_length"), 2048);
    EXPECT_EQ(out.at("/training/recompute"), "full");
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.at("/model/intermediate_size"), 11008);
    EXPECT_EQ(importedText(kTrainer + "--zero_stage 2 --deepspeed").at("/training/precision"), "fp16")
        << "DeepSpeed-Chat's default";
}

TEST(DeepSpeedScriptImport, FillsInWhatItsFileLeavesOpen)
{
    const sim::SettingsFile script{.name = "run.sh", .text = kTrainer + "--deepspeed ds.json --bf16\n"};
    const sim::SettingsFile file{.name = "ds.json",
                                 .text = "{\"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": \"auto\",\n"
                                         "\"gradient_accumulation_steps\": \"auto\", \"bf16\": {\"enabled\": \"auto\"},\n"
                                         "\"zero_optimization\": {\"stage\": 1}}"};
    for (const auto& files : {std::vector{script, file}, std::vector{file, script}}) {
        const sim::Imported out = sim::importSettings(files, {}, test::catalogue());
        const Json scenario = Json::parse(out.scenario);
        EXPECT_EQ(scenario["layout"]["zero_stage"], 1);
        EXPECT_EQ(scenario["training"]["global_batch_size"], 128);
        EXPECT_EQ(scenario["training"]["precision"], "bf16");
        for (const sim::Note& note : out.notes)
            EXPECT_NE(note.became, Became::contradictory) << note.setting << ": " << note.text;
    }
}

TEST(DeepSpeedScriptImport, AHereDocumentMayHoldTheCommand)
{
    const auto out =
        importedText("read -r -d '' args <<EOF\ntrainer.sft \\\n  --train.batch_size 256 --train.micro_batch_size 2 \\\n"
                     "  --data.max_len 2048 --model.model_name_or_path meta-llama/Meta-Llama-3-8B \\\n"
                     "  --ds.zero_stage 2 --ds.param_dtype bf16 --model.gradient_checkpointing_enable\nEOF\n"
                     "if [[ ${1} != \"slurm\" ]]; then\n  deepspeed --module $args\nfi\n",
                     8);
    EXPECT_EQ(out.at("/layout/zero_stage"), 2);
    EXPECT_EQ(out.at("/training/global_batch_size"), 256);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 2);
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.at("/training/recompute"), "full");
    EXPECT_EQ(out.at("/model/intermediate_size"), 14336);
}

TEST(LaunchedImport, FlagsMayHaveOtherDashes)
{
    const auto out = importedText(
        "NPROC_PER_NODE=8 \\\nmegatron sft \\\n    --model Qwen/Qwen3-30B-A3B-Base \\\n    --tensor_model_parallel_size 2 \\\n"
        "    --expert_model_parallel_size 4 --sequence_parallel true --recompute_granularity full \\\n"
        "    --micro_batch_size 1 --global_batch_size 16 --max_length 4096 --tuner_type lora --lora_rank 16\n");
    EXPECT_EQ(out.at("/model/num_experts"), 128);
    EXPECT_EQ(out.at("/layout/tp"), 2);
    EXPECT_EQ(out.at("/layout/dp"), 4);
    EXPECT_EQ(out.at("/training/sequence_length"), 4096);
    EXPECT_EQ(out.at("/training/lora/rank"), 16);
    EXPECT_EQ(out.at("/training/precision"), "bf16");
}

TEST(MegatronYamlImport, SectionsOfSomebodysOwnAreReadThrough)
{
    const auto out = importedText(
        "system:\n  tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 2\n  use_distributed_optimizer: true\n"
        "  precision:\n    bf16: true\nmodel:\n  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n"
        "  seq_length: 4096\n  swiglu: true\n  micro_batch_size: 1\n  global_batch_size: 64\n  norm_epsilon: 1.0e-6\n"
        "data:\n  tokenizer:\n    vocab_size: 128256\n",
        16);
    EXPECT_EQ(out.imported.kind, "megatron-yaml");
    EXPECT_EQ(out.at("/layout/tp"), 4);
    EXPECT_EQ(out.at("/layout/pp"), 2);
    EXPECT_EQ(out.at("/layout/zero_stage"), 1);
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.at("/model/vocab_size"), 128256);
    EXPECT_EQ(out.became("system.tensor_model_parallel_size"), "used");
    EXPECT_EQ(out.became("model.norm_epsilon"), "used") << "no model is named that has its own";
}

TEST(MegatronYamlImport, AModelNamedBesideOverridesIsTheCatalogues)
{
    const auto out =
        importedText("modules:\n  pre_trainer:\n    framework: megatron\n    model: llama3.1_8B.yaml\n    overrides:\n"
                     "      tensor_model_parallel_size: 2\n      micro_batch_size: 2\n      global_batch_size: 128\n"
                     "      seq_length: 8192\n      recompute_granularity: full\n      recompute_method: block\n"
                     "      recompute_num_layers: 4\n",
                     8);
    EXPECT_EQ(out.at("/model/intermediate_size"), 14336);
    EXPECT_EQ(out.at("/layout/tp"), 2);
    EXPECT_EQ(out.at("/training/recompute/layers"), 4);
}

TEST(MegatronYamlImport, ItsActivationAloneSaysWhetherTheMlpIsGated)
{
    // yaml_arguments.py, core_config_from_args: "swiglu" is SiLU with a gate, whatever gated_linear_unit says
    const std::string job =
        "language_model:\n  num_layers: 4\n  hidden_size: 1024\n  num_attention_heads: 16\n  gated_linear_unit: False\n"
        "  add_bias_linear: False\n  activation_func: swiglu\nmodel_parallel:\n  tensor_model_parallel_size: 1\n"
        "  bf16: True\nmicro_batch_size: 1\nglobal_batch_size: 8\nseq_length: 1024\n";
    const auto out = importedText(job, 8);
    EXPECT_EQ(out.at("/model/hidden_act"), "silu");
    EXPECT_EQ(out.at("/model/gated_mlp"), true);
    EXPECT_EQ(out.at("/model/bias"), false);
    EXPECT_EQ(out.valueOf("language_model.add_bias_linear"), "false") << "as the file has it, not what it stands for here";
}

TEST(GptNeoxImport, OneTableHasMegatronsAndDeepSpeedsSettings)
{
    const auto out = importedText(
        "# for 96 GPUs\n{\n  # layout\n  \"pipe_parallel_size\": 4,\n  \"model_parallel_size\": 2,\n"
        "  \"num_layers\": 44, \"hidden_size\": 6144, \"num_attention_heads\": 64,\n"
        "  \"seq_length\": 2048, \"max_position_embeddings\": 2048,\n  \"norm\": \"rmsnorm\", \"pos_emb\": \"rotary\",\n"
        "  \"no_weight_tying\": true, \"gpt_j_residual\": true,\n  \"attention_config\": [[[\"flash\"], 44]],\n"
        "  \"optimizer\": {\"type\": \"Adam\", \"params\": {\"lr\": 1e-4,}},\n"
        "  \"zero_optimization\": {\"stage\": 1, \"overlap_comm\": True,},\n"
        "  \"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 32,\n"
        "  \"checkpoint_activations\": true, \"checkpoint_num_layers\": 1,\n"
        "  \"fp16\": {\"enabled\": true, \"loss_scale\": 0},\n}\n",
        96, "20B.yml");
    EXPECT_EQ(out.imported.kind, "megatron-deepspeed");
    EXPECT_EQ(out.at("/layout/pp"), 4);
    EXPECT_EQ(out.at("/layout/tp"), 2);
    EXPECT_EQ(out.at("/layout/dp"), 12);
    EXPECT_EQ(out.at("/layout/zero_stage"), 1);
    EXPECT_EQ(out.at("/training/global_batch_size"), 4 * 32 * 12);
    EXPECT_EQ(out.at("/training/precision"), "fp16");
    EXPECT_EQ(out.at("/training/recompute"), "full");
    EXPECT_EQ(out.at("/training/overlap/grad_reduce"), true);
    EXPECT_EQ(out.at("/training/flash_attention"), true);
    EXPECT_EQ(out.at("/model/position_embedding"), "rope");
    EXPECT_EQ(out.at("/model/normalization"), "rmsnorm");
    EXPECT_EQ(out.at("/model/tie_word_embeddings"), false);
    EXPECT_EQ(out.at("/model/hidden_dropout"), 0);
    EXPECT_EQ(out.became("gpt_j_residual"), "not_representable");
    EXPECT_EQ(out.at("/training/stack/id"), "pytorch-megatron");
    EXPECT_EQ(out.at("/training/stack/gathers_logits"), false);
}

TEST(GptNeoxImport, AWindowCountsTheTokensBeforeEach)
{
    const auto out = importedText(
        "{\n  \"pipe_parallel_size\": 1,\n  \"model_parallel_size\": 2,\n  \"num_layers\": 32, \"hidden_size\": 4096,\n"
        "  \"num_attention_heads\": 32, \"num_kv_heads\": 8, \"seq_length\": 8192,\n  \"pos_emb\": \"rotary\",\n"
        "  \"max_position_embeddings\": 8192, \"sliding_window_width\": 4095,\n  \"warmup_iters\": 10,\n}\n",
        8, "7B.yml");
    EXPECT_EQ(out.at("/model/sliding_window"), 4096);
    EXPECT_EQ(out.became("warmup_iters"), "harmless");
}

TEST(GptNeoxImport, BothHalvesOfItsTableAreYamlInBraces)
{
    const std::vector<sim::SettingsFile> files = {
        {"13B.yml", "{\n  \"pipe_parallel_size\": 2,\n  \"model_parallel_size\": 1, \"num_layers\": 40, \"hidden_size\": 5120,\n"
                    "  \"num_attention_heads\": 40, \"seq_length\": 2048,\n}\n"},
        {"train_config.yml",
         "{\n  # finetuning option\n  \"finetune\": true,\n  \"zero_optimization\": {\"stage\": 1, "
         "\"overlap_comm\": True,},\n  \"train_micro_batch_size_per_gpu\": 4,\n  \"data_impl\": \"mmap\",\n}\n"}};
    const auto imported = sim::importSettings(files, {.gpus = 8}, test::catalogue());
    const Json scenario = Json::parse(imported.scenario);
    EXPECT_EQ(scenario["layout"]["pp"], 2);
    EXPECT_EQ(scenario["layout"]["zero_stage"], 1);
    EXPECT_EQ(scenario["training"]["micro_batch_size"], 4);
}

TEST(GptNeoxImport, AnMlpWithAGateHasThirdsOfTheWidth)
{
    // configs/llama/13B.yml and 7B.yml: the sizes of LLaMA come out (megatron/model/transformer.py, ParallelMLP)
    const auto width = [](const std::string& more, const std::string& activation = "swiglu") {
        return importedText("{\"pipe_parallel_size\": 1, \"model_parallel_size\": 1, \"num_layers\": 4, \"hidden_size\": 4096,\n"
                            "\"num_attention_heads\": 32, \"seq_length\": 2048, \"activation\": \"" +
                                activation + "\"" + more + "}\n",
                            8, "llama.yml")
            .at("/model/intermediate_size");
    };
    EXPECT_EQ(width(", \"intermediate_size\": 40960, \"mlp_multiple_of\": 256"), 13824);
    EXPECT_EQ(width(", \"intermediate_size\": 32768, \"mlp_multiple_of\": 256"), 11008);
    EXPECT_EQ(width(", \"mlp_multiple_of\": 256"), 5632) << "of 4 h";
    EXPECT_EQ(width(", \"intermediate_size\": 12288"), 4096);
    EXPECT_EQ(width(", \"intermediate_size\": 12288", "gelu"), 12288);
}

TEST(GptNeoxImport, LayersWithoutAttentionAreToldAndHaveHeadsThatDivideTheWidth)
{
    const auto out =
        importedText("{\"pipe_parallel_size\": 0, \"model_parallel_size\": 1, \"num_layers\": 64, \"hidden_size\": 2560,\n"
                     "\"num_attention_heads\": 12, \"seq_length\": 2048, \"attention_config\": [[[\"mamba\"], 64]]}\n",
                     8, "mamba.yml");
    EXPECT_EQ(out.became("attention_config[0][0]"), "not_representable");
    EXPECT_EQ(out.at("/model/num_attention_heads"), 40);
    EXPECT_EQ(out.became("num_attention_heads"), "not_representable");
}

TEST(GptNeoxImport, AFlagOfItsNameIsNotItsTable)
{
    const auto out =
        importedText("deepspeed pretrain_gpt2.py --deepspeed --pipe-parallel-size 2 --model-parallel-size 2 " + kSizesOfJob, 8);
    EXPECT_EQ(out.at("/layout/pp"), 2);
    EXPECT_EQ(out.at("/model/hidden_dropout"), 0.1) << "Megatron's";
}

TEST(KindOfSettings, CommentsMayStandBeforeJson)
{
    EXPECT_EQ(sim::recognisedKind({"ds", "// ours\n/* of\n2023 */\n{\"zero_optimization\": {\"stage\": 1}}"}), "deepspeed-json");
    EXPECT_EQ(importedText("// ours\n{\"zero_optimization\": {\"stage\": 1}, \"train_micro_batch_size_per_gpu\": 2}", 8)
                  .at("/layout/zero_stage"),
              1);
}

TEST(KindOfSettings, AFileOfWrongValuesSaysWhichIsTheFirst)
{
    try {
        importedText("[training]\nseq_len = \"long\"\n[parallelism]\ntensor_parallel_degree = true\n", 8, "a.toml");
        FAIL();
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("line 2: training.seq_len: \"long\" is not a whole number"));
    }
}

TEST(KindOfSettings, AnotherPrograms_target_IsNoRecipe)
{
    EXPECT_EQ(sim::recognisedKind({"sft.yaml", "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n"}),
              "");
}

TEST(YamlImport, WhatAMapSaysItselfReplacesWhatIsMergedWithoutAContradiction)
{
    const auto out =
        importedText("common: &common\n  tp: 2\n  pp: 1\nmore: &more\n  pp_engine: 1f1b\n  tp_mode: ALL_REDUCE\n"
                     "parallelism:\n  tp: 4\n  <<: [*common, *more]\n  dp: 2\ntokens:\n  sequence_length: 2048\n"
                     "  micro_batch_size: 1\nmodel:\n  model_config:\n    hidden_size: 2048\n    num_hidden_layers: 8\n"
                     "    num_attention_heads: 16\n    intermediate_size: 8192\n    vocab_size: 32000\n",
                     std::nullopt, "job.yaml");
    EXPECT_EQ(out.at("/layout/tp"), 4);
    EXPECT_EQ(out.at("/layout/pp"), 1);
    EXPECT_EQ(out.count(Became::contradictory), 0);
}

} // namespace
