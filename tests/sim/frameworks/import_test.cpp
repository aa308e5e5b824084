// Forms, spellings and hostile files: what is read does not depend on how it is written, and nothing is lost without a note.
#include "tests/support/catalogue.h"

#include "sim/frameworks/frameworks.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace {

using sim::Became;
using sim::Json;
using testing::HasSubstr;

sim::Imported importText(const std::string& text, const std::string& kind = "", std::optional<int> gpus = 16)
{
    return sim::importSettings({{"file", text}}, {.kind = kind, .gpus = gpus}, test::catalogue());
}

/// The blocks that say what the job is.
Json meaningOf(const sim::Imported& imported)
{
    const Json scenario = Json::parse(imported.scenario);
    Json out;
    for (const char* block : {"model", "layout", "schedule", "training"})
        out[block] = scenario.contains(block) ? scenario[block] : Json();
    return out;
}

const sim::Note* noteOn(const sim::Imported& imported, const std::string& setting)
{
    for (const sim::Note& note : imported.notes)
        if (note.setting == setting)
            return &note;
    return nullptr;
}

const std::string kFlags =
    "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 2 --global-batch-size 64 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --bf16";

TEST(ImportForms, OrderEqualsSignsQuotesCommentsAndLineEndsDoNotMatter)
{
    const Json plain = meaningOf(importText("python pretrain_gpt.py " + kFlags));
    for (const std::string& text : std::vector<std::string>{
             std::string("torchrun pretrain_gpt.py --bf16 --pipeline-model-parallel-size=4 --tensor-model-parallel-size \"2\" "
                         "\\\r\n  --global-batch-size 64 "
                         "--micro-batch-size=2 --max-position-embeddings '2048' --seq-length 2048 --num-attention-heads 16 "
                         "--hidden-size 2048 --num-layers 24\r\n"),
             "ARGS=(\n  --num-layers 24 # layers\n  --hidden-size $((16 * 128))\n" + kFlags.substr(kFlags.find("--num-att")) +
                 "\n)\nsrun python pretrain_gpt.py ${ARGS[@]}\n",
             "TP=${TP:-2}\nOPTIONS=\" \\\n  " + kFlags.substr(0, kFlags.find("--tensor")) +
                 " \\\n  --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size $((TP * 2)) --bf16\"\n"
                 "run_cmd=\"torchrun pretrain_gpt.py ${OPTIONS}\"\neval $run_cmd\n",
             "MODEL_ARGS:\n  --num-layers: 24\n  --hidden-size: 2048\n  --num-attention-heads: 16\n  --seq-length: 2048\n  "
             "--max-position-embeddings: 2048\n  --micro-batch-size: 2\n"
             "  --global-batch-size: 64\n  --tensor-model-parallel-size: 2\n  --pipeline-model-parallel-size: 4\n  --bf16: "
             "true\n"}) {
        EXPECT_EQ(meaningOf(importText(text)), plain) << text;
    }
}

TEST(ImportForms, AScriptSaysItsGpusInBatchLinesAndLaunchers)
{
    const Json a = Json::parse(
        importText("#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gres=gpu:8\npython pretrain_gpt.py " + kFlags, "", std::nullopt)
            .scenario);
    EXPECT_EQ(a["layout"]["dp"], 4);
    const Json b =
        Json::parse(importText("GPUS=8\nNNODES=2\ntorchrun --nproc_per_node $GPUS --nnodes ${NNODES} pretrain_gpt.py " + kFlags,
                               "", std::nullopt)
                        .scenario);
    EXPECT_EQ(b["layout"]["dp"], 2);
    const sim::Imported none = importText("python pretrain_gpt.py " + kFlags, "", std::nullopt);
    EXPECT_THAT(none.unknown, testing::Contains("/layout/dp"));
}

TEST(ImportForms, ConditionsThatFollowFromTheScriptChoose)
{
    const std::string script = "SIZE=small\nif [ \"$SIZE\" = small ]; then\n  N=12\nelse\n  N=48\nfi\npython pretrain_gpt.py " +
                               kFlags.substr(kFlags.find("--hidden")) + " --num-layers $N\n";
    EXPECT_EQ(meaningOf(importText(script))["model"]["num_hidden_layers"], 12);
}

TEST(ImportForms, OldSpellingsAreTheNewOnes)
{
    const std::vector<std::pair<std::string, std::string>> pairs = {
        {"--checkpoint-activations", "--recompute-granularity full"},
        {"--recompute-activations", "--recompute-granularity selective"},
        {"--activations-checkpoint-method block --activations-checkpoint-num-layers 2",
         "--recompute-granularity full --recompute-method block --recompute-num-layers 2"},
        {"--use-rotary-position-embeddings", "--position-embedding-type rope"},
        {"--use-flash-attn", "--attention-backend flash"},
        {"--fp8-hybrid", "--fp8-format hybrid"},
        {"--use-custom-fsdp --data-parallel-sharding-strategy optim",
         "--use-megatron-fsdp --data-parallel-sharding-strategy optim"}};
    const auto meant = [](const std::string& flags) {
        Json meaning = meaningOf(importText("python x.py " + kFlags + " " + flags));
        meaning["training"].erase("stack"); // an old spelling says the year, too
        return meaning;
    };
    for (const auto& [old, today] : pairs)
        EXPECT_EQ(meant(old), meant(today)) << old;
    const std::string titan = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
    EXPECT_EQ(
        meaningOf(
            importText(titan + "[training]\nbatch_size = 4\ntensor_parallel_degree = 2\ndata_parallel_degree = -1\n"))["layout"],
        meaningOf(importText(
            titan +
            "[training]\nlocal_batch_size = 4\n[parallelism]\ntensor_parallel_degree = 2\ndata_parallel_shard_degree = -1\n"))
            ["layout"]);
}

TEST(ImportNotes, AStrangerChangesNothingAndIsNamedWithItsLine)
{
    const sim::Imported plain = importText("python x.py " + kFlags);
    const sim::Imported with = importText("python x.py " + kFlags + " \\\n  --no-such-thing 7");
    EXPECT_EQ(meaningOf(with), meaningOf(plain));
    const sim::Note* const note = noteOn(with, "--no-such-thing");
    ASSERT_NE(note, nullptr);
    EXPECT_EQ(note->became, Became::unknown);
    EXPECT_EQ(note->line, 2);
}

TEST(ImportNotes, AContradictionNamesBothPlaces)
{
    const sim::Imported imported = importText("python x.py " + kFlags + " \\\n --hidden-size 4096");
    const sim::Note* const note = noteOn(imported, "--hidden-size");
    ASSERT_NE(note, nullptr);
    EXPECT_EQ(note->became, Became::contradictory);
    EXPECT_THAT(note->text, HasSubstr("\"2048\" on line 1"));
    EXPECT_THAT(note->text, HasSubstr("\"4096\" on line 2"));
    EXPECT_EQ(meaningOf(imported)["model"]["hidden_size"], 4096) << "the later one counts";
    EXPECT_EQ(meaningOf(importText("python x.py " + kFlags, "", 12))["layout"]["dp"], 2) << "12 GPUs are no multiple of 8";
}

TEST(ImportNotes, WhatIsThrownAwayIsNotCalledUsed)
{
    const sim::Imported none = importText("python x.py " + kFlags + " --context-parallel-size -4");
    ASSERT_NE(noteOn(none, "--context-parallel-size"), nullptr);
    EXPECT_EQ(noteOn(none, "--context-parallel-size")->became, Became::unknown);
    EXPECT_THAT(noteOn(none, "--context-parallel-size")->text, HasSubstr("-4 is less than 1"));
    EXPECT_EQ(meaningOf(none)["layout"]["cp"], 1);
    const sim::Imported both = importText(R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 7},
        "fp16": {"enabled": true}, "bf16": {"enabled": true}})",
                                          "deepspeed-json", 8);
    EXPECT_EQ(noteOn(both, "zero_optimization.stage")->became, Became::unknown);
    EXPECT_THAT(noteOn(both, "zero_optimization.stage")->text, HasSubstr("0 to 3, not 7: 3"));
    EXPECT_EQ(noteOn(both, "fp16.enabled")->became, Became::contradictory);
}

TEST(ImportNotes, AConfigBesideAScriptContradictsItWhereTheyDiffer)
{
    const std::vector<sim::SettingsFile> files{
        {"run.sh", "python pretrain_gpt.py " + kFlags},
        {"config.json", R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16,
           "vocab_size": 32000, "max_position_embeddings": 8192, "intermediate_size": 8192, "attention_sink_colour": "blue"})"}};
    const sim::Imported imported = sim::importSettings(files, {.gpus = 8}, test::catalogue());
    const sim::Note* const positions = noteOn(imported, "--max-position-embeddings");
    ASSERT_NE(positions, nullptr);
    EXPECT_EQ(positions->became, Became::contradictory) << positions->text;
    EXPECT_THAT(positions->text, HasSubstr("config.json says 8192"));
    EXPECT_EQ(noteOn(imported, "--hidden-size")->became, Became::used) << "both say the same";
    const sim::Note* const stranger = noteOn(imported, "attention_sink_colour");
    ASSERT_NE(stranger, nullptr) << "no setting of a second file is lost";
    EXPECT_EQ(stranger->became, Became::unknown);
}

TEST(ImportNotes, DocumentsAfterTheFirstAreTold)
{
    const sim::Imported imported = importText("trainer:\n  num_nodes: 1\n  devices: 8\nmodel:\n  tensor_model_parallel_size: 2\n"
                                              "  num_layers: 4\n---\nmodel:\n  num_layers: 8\n",
                                              "nemo-yaml");
    const bool isTold = std::any_of(imported.notes.begin(), imported.notes.end(), [](const sim::Note& note) {
        return note.text.find("documents after the first") != std::string::npos;
    });
    EXPECT_TRUE(isTold);
}

TEST(ImportNotes, EachKeyOfTheScenarioIsGivenOrADefault)
{
    const sim::Imported imported = importText("python x.py " + kFlags);
    for (const char* pointer :
         {"/layout/tp", "/layout/cp", "/layout/ep", "/layout/etp", "/layout/zero_stage", "/model/hidden_act", "/model/bias",
          "/training/overlap/grad_reduce", "/training/recompute", "/training/precision"})
        EXPECT_TRUE(std::any_of(imported.notes.begin(), imported.notes.end(), [&](const sim::Note& note) {
            return note.pointer == pointer;
        })) << pointer;
    EXPECT_EQ(imported.unknown, (std::vector<std::string>{"/model/vocab_size", "/cluster"}));
}

TEST(ImportKinds, PicotronAndHuggingFace)
{
    const Json picotron = meaningOf(importText(
        R"({"distributed":{"tp_size":2,"cp_size":1,"pp_size":2,"dp_size":4,"pp_engine":"afab","backend":"nccl","use_cpu":false},
        "model":{"name":"HuggingFaceTB/SmolLM-360M-Instruct","num_hidden_layers":17,"num_attention_heads":16,"num_key_value_heads":4,"dtype":"bfloat16"},
        "training":{"seq_length":1024,"micro_batch_size":32,"gradient_accumulation_steps":3}})"));
    EXPECT_EQ(picotron["layout"]["order"], "tp-cp-pp-dp");
    EXPECT_EQ(picotron["schedule"]["kind"], "gpipe");
    EXPECT_EQ(picotron["schedule"]["layers_per_stage"], Json::array({9, 8}));
    EXPECT_EQ(picotron["training"]["global_batch_size"], 32 * 3 * 4);

    const Json mixtral = meaningOf(importText(
        R"({"model_type":"mixtral","vocab_size":32000,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,
        "num_attention_heads":32,"num_key_value_heads":8,"num_local_experts":8,"num_experts_per_tok":2,"tie_word_embeddings":false,"max_position_embeddings":32768})"))
        ["model"];
    EXPECT_EQ(mixtral["num_experts"], 8);
    EXPECT_EQ(mixtral["moe_intermediate_size"], 14336);
    EXPECT_EQ(mixtral["hidden_act"], "silu");
    const Json gpt2 = meaningOf(importText(
        R"({"model_type":"gpt2","vocab_size":50257,"n_positions":1024,"n_embd":768,"n_layer":12,"n_head":12,"n_inner":null})"))
        ["model"];
    EXPECT_EQ(gpt2["intermediate_size"], 3072);
    EXPECT_EQ(gpt2["tie_word_embeddings"], true);
    EXPECT_EQ(gpt2["position_embedding"], "learned");
    EXPECT_EQ(gpt2["normalization"], "layernorm");
    const Json deepseek = meaningOf(importText(
        R"({"model_type":"deepseek_v3","vocab_size":129280,"hidden_size":7168,"intermediate_size":18432,"moe_intermediate_size":2048,
        "num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"n_shared_experts":1,"n_routed_experts":256,"routed_scaling_factor":2.5,"kv_lora_rank":512,
        "q_lora_rank":1536,"qk_rope_head_dim":64,"v_head_dim":128,"qk_nope_head_dim":128,"n_group":8,"topk_group":4,"num_experts_per_tok":8,"first_k_dense_replace":3})"))
        ["model"];
    EXPECT_EQ(deepseek["first_k_dense_replace"], 3);
    EXPECT_EQ(deepseek["qk_nope_head_dim"], 128);
    EXPECT_EQ(deepseek["num_experts"], 256);
}

TEST(HostileSettings, AreRefusedInWordsWithALine)
{
    const auto refusal = [](const std::string& text, const std::string& kind) -> std::string {
        try {
            importText(text, kind);
        } catch (const sim::Error& error) {
            return error.what();
        }
        return "taken";
    };
    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + "," + before + "," + before + "," +
                before + "," + before + "]\n";
    }
    EXPECT_THAT(refusal(bomb, "nemo-yaml"), HasSubstr("unfolds to more than"));
    std::string sums = "A0=1\n"; // sixty times sixty times …: what a thousand lines of arithmetic would take
    for (int i = 1; i < 7; ++i) {
        sums += "A" + std::to_string(i) + "=\"0";
        for (int k = 0; k < 60; ++k)
            sums += "+A" + std::to_string(i - 1);
        sums += "\"\n";
    }
    EXPECT_EQ(refusal(sums + "python x.py " + kFlags + " --context-parallel-size $((A6))", "megatron-args"), "taken");
    EXPECT_THAT(refusal("a: " + std::string(300, '['), "nemo-yaml"), HasSubstr("file:1"));
    EXPECT_THAT(refusal("{\"a\":" + std::string(300, '[') + std::string(300, ']') + "}", "deepspeed-json"),
                HasSubstr("nested more than 64 levels"));
    EXPECT_THAT(refusal("[a]\nb = ", "torchtitan-toml"), HasSubstr("file:2: is no TOML"));
    EXPECT_THAT(refusal("{\n\"a\": 1,\n}", "deepspeed-json"), HasSubstr("file:3: is no JSON"));
    EXPECT_THAT(refusal(std::string(2U << 20U, 'x'), "megatron-args"), HasSubstr("in one line"));
    EXPECT_THAT(refusal(
                    "A=xxxxxxxxxxxxxxxx\n" +
                        [] {
                            std::string text;
                            for (int i = 0; i < 40; ++i)
                                text += "A=\"$A$A\"\n";
                            return text;
                        }() +
                        "python x.py --num-layers 2 --hidden-size $A",
                    "megatron-args"),
                HasSubstr("expands to more than"));
    EXPECT_THAT(refusal("hello", ""), HasSubstr("--from"));
    EXPECT_NE(refusal("python x.py --num-layers 99999999999 --hidden-size -3 --tensor-model-parallel-size 0 "
                      "--pipeline-model-parallel-size 1000000000",
                      "megatron-args"),
              "");
    EXPECT_NE(refusal("python x.py --num-layers 8 --pipeline-model-parallel-layout '((((t*999999)*999999)*99999)' "
                      "--pipeline-model-parallel-size 2",
                      "megatron-args"),
              "");
}

// A rack of 72 is 18 hosts of four; its NVLink reaching over all of them is the cluster's to say.
TEST(Import, NodesAreTheHostsOfTheClusterThatIsMeant)
{
    const std::string text = "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
                             "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 144 --bf16\n";
    const auto clusterOf = [&](const std::string& file, const std::string& asked) {
        return Json::parse(sim::importSettings({{file, text}}, {.kind = {}, .gpus = 144, .cluster = asked}, test::catalogue())
                               .scenario)["cluster"];
    };
    EXPECT_EQ(clusterOf("gb200.sh", ""), (Json{{"base", "gb200-nvl72"}, {"nodes", 36}}));
    EXPECT_EQ(clusterOf("run.sh", "gb200-nvl72"), (Json{{"base", "gb200-nvl72"}, {"nodes", 36}}));
    EXPECT_EQ(clusterOf("gb200.sh", "dgx-a100"), (Json{{"base", "dgx-a100"}, {"nodes", 18}})) << "what is asked counts";
    EXPECT_THAT(
        [&] {
            try {
                clusterOf("run.sh", "dgx-a10");
            } catch (const sim::Error& error) {
                return std::string(error.what());
            }
            return std::string();
        }(),
        HasSubstr("dgx-a100"));
}

TEST(ImportForms, ACommandLineCountsInWhateverOrderTheFilesAreGiven)
{
    const sim::SettingsFile file{"job.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 4\n"
                                             "[parallelism]\ntensor_parallel_degree = 2\n"};
    const sim::SettingsFile command{"run.sh",
                                    "torchrun --nproc_per_node 8 -m torchtitan.train --parallelism.tensor_parallel_degree 4 "
                                    "--training.seq_len 4096\n"};
    for (const auto& files : {std::vector{file, command}, std::vector{command, file}}) {
        const sim::Imported out = sim::importSettings(files, {.gpus = 16}, test::catalogue());
        EXPECT_EQ(meaningOf(out)["layout"]["tp"], 4) << files.front().name;
        EXPECT_EQ(meaningOf(out)["training"]["sequence_length"], 4096);
        const bool isTold = std::any_of(out.notes.begin(), out.notes.end(), [](const sim::Note& note) {
            return note.became == Became::contradictory && note.file == "job.toml" &&
                   note.text.find("\"4\" on line 1 of run.sh: the command line counts") != std::string::npos;
        });
        EXPECT_TRUE(isTold) << files.front().name;
    }
}

} // namespace
