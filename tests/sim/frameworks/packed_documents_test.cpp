// Documents that are packed into sequences: how long they are no settings say, and a person is asked.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using test::importedText;
using testing::HasSubstr;

const std::string kTrl = "model_name_or_path: Qwen/Qwen3-4B\ndataset_name: trl-lib/Capybara\nlearning_rate: 2.0e-5\n"
                         "per_device_train_batch_size: 2\ngradient_accumulation_steps: 8\nmax_length: 4096\n";

bool isAsked(const test::ImportedText& out)
{
    const auto& unknown = out.imported.unknown;
    return std::find(unknown.begin(), unknown.end(), "/training/documents") != unknown.end();
}

const sim::Note* noteOf(const test::ImportedText& out, const std::string& setting)
{
    for (const sim::Note& note : out.imported.notes)
        if (note.setting == setting)
            return &note;
    return nullptr;
}

TEST(PackedDocuments, AreAskedForInEveryFramework)
{
    struct Packed {
        std::string text, setting;
    };
    const std::string swift = " --model Qwen/Qwen3-8B --max_length 8192 --tuner_type full ";
    const std::vector<Packed> all = {
        {"NPROC_PER_NODE=8 swift sft" + swift + "--packing true\n", "--packing"},
        {"NPROC_PER_NODE=8 megatron sft" + swift + "--packing true\n", "--packing"},
        {"model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\ncutoff_len: 8192\ntemplate: qwen\n"
         "neat_packing: true\n",
         "neat_packing"},
        {"base_model: Qwen/Qwen3-8B\nsequence_len: 8192\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\n"
         "sample_packing: true\n",
         "sample_packing"},
        {kTrl + "packing: true\n", "packing"},
        {"name: megatron_gpt_finetuning\ntrainer:\n  devices: 8\n  num_nodes: 1\n  precision: bf16\nmodel:\n"
         "  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n  data:\n    train_ds:\n"
         "      packed_sequence: true\n      max_seq_length: 8192\n      micro_batch_size: 1\n      global_batch_size: 8\n",
         "model.data.train_ds.packed_sequence"},
        {"base_output_directory: gs://x\nmodel_name: llama3.1-8b\nper_device_batch_size: 1\nmax_target_length: 8192\n"
         "ici_fsdp_parallelism: 8\npacking: true\n",
         "packing"},
    };
    for (const Packed& one : all) {
        const auto out = importedText(one.text, 8);
        EXPECT_TRUE(isAsked(out)) << one.text;
        const sim::Note* const note = noteOf(out, one.setting);
        ASSERT_NE(note, nullptr) << one.text;
        EXPECT_EQ(note->became, sim::Became::notRepresentable) << one.text;
        EXPECT_EQ(note->pointer, "/training/documents") << one.text;
        EXPECT_THAT(note->text, HasSubstr("training.documents.lengths")) << one.text;
        EXPECT_EQ(out.became("training.documents"), "unknown") << one.text;
    }
}

TEST(PackedDocuments, ThatAreNotPackedAreNotAskedFor)
{
    const std::string swift = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --max_length 8192 --tuner_type full ";
    EXPECT_FALSE(isAsked(importedText(swift + "--packing false\n")));
    EXPECT_FALSE(isAsked(importedText(swift + "\n")));
}

/// configs/base.yml of MaxText has packing: true; synthetic data has one document a sequence all the same.
TEST(PackedDocuments, AreMaxTextsDefault)
{
    const auto of = [](const std::string& more) {
        return importedText("base_output_directory: gs://x\nmodel_name: llama3.1-8b\nper_device_batch_size: 1\n"
                            "max_target_length: 8192\nici_fsdp_parallelism: 8\n" +
                                more,
                            8);
    };
    const auto left = of("");
    EXPECT_EQ(left.became("packing"), "default");
    EXPECT_THAT(left.textOn("packing"), HasSubstr("documents are packed"));
    EXPECT_EQ(of("packing: false\n").became("packing"), "harmless");
    EXPECT_EQ(of("packing: true\ndataset_type: synthetic\n").became("packing"), "harmless");
    EXPECT_EQ(noteOf(of("dataset_type: synthetic\n"), "packing"), nullptr);
}

/// LLaMA-Factory's packing keeps documents apart beside neat_packing alone, TRL's unless it is the wrapped one.
TEST(PackedDocuments, ThatSeeOneAnotherAreAsSimulated)
{
    const auto factory = importedText("model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\ncutoff_len: 8192\n"
                                      "template: qwen\npacking: true\n",
                                      8);
    EXPECT_FALSE(isAsked(factory));
    EXPECT_THAT(factory.textOn("packing"), HasSubstr("neat_packing"));
    const auto wrapped = importedText(kTrl + "packing: true\npacking_strategy: wrapped\n", 8);
    EXPECT_FALSE(isAsked(wrapped));
}

} // namespace
