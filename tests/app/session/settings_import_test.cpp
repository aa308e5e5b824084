#include "app/session/settings_import.h"

#include "tests/app/session/session_fixtures.h"
#include "tests/support/interop_cases.h"

#include <QFile>
#include <QTemporaryDir>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace app {
namespace {

using testing::HasSubstr;

constexpr const char* kScript = "#!/bin/bash\n"
                                "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
                                "--max-position-embeddings 4096 --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 "
                                "--micro-batch-size 1 --global-batch-size 256 --bf16 --foo-bar 3\n";

/// Neither how many GPUs there are nor how many share a matrix: pp 2 is all that is sure.
constexpr const char* kScriptOfArguments =
    "#!/bin/bash\nTP=$1\n"
    "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
    "--max-position-embeddings 4096 --tensor-model-parallel-size $TP --pipeline-model-parallel-size 2 "
    "--micro-batch-size 1 --global-batch-size 256 --bf16\n";

SettingsImport imported(const std::string& text)
{
    return {{{"run.sh", text}}, test::catalogue()};
}

const SettingsQuestion* questionOn(const SettingsImport& settings, const std::string& pointer)
{
    const auto& all = settings.questions();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const SettingsQuestion& question) { return question.pointer == pointer; });
    return found == all.end() ? nullptr : &*found;
}

QString written(const QTemporaryDir& folder, const char* name, const QByteArray& text)
{
    QFile file(folder.filePath(QString::fromUtf8(name)));
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
    return file.fileName();
}

TEST(SettingsImportTest, AsksWhatTheFilesDoNotSay)
{
    const SettingsImport settings = imported(kScript);
    EXPECT_EQ(settings.kind().id, "megatron-args");
    for (const char* pointer : {"/layout/dp", "/model/vocab_size", "/cluster"}) {
        const SettingsQuestion* question = questionOn(settings, pointer);
        ASSERT_TRUE(question) << pointer;
        EXPECT_FALSE(question->label.isEmpty()) << pointer;
        EXPECT_FALSE(question->why.isEmpty()) << pointer;
        EXPECT_THAT(question->why.toStdString(), testing::Not(HasSubstr("--"))) << "flags of the command line are no help here";
        EXPECT_FALSE(question->value.empty()) << pointer;
    }
    EXPECT_EQ(questionOn(settings, "/layout/dp")->value, "8");
    EXPECT_GT(questionOn(settings, "/cluster")->options.size(), 5U);
    EXPECT_THAT(questionOn(settings, "/cluster")->why.toStdString(), testing::Not(HasSubstr("h100-sxm-ib400")))
        << "it is called as its chooser calls it";
    const auto description = settings.document().get("description");
    ASSERT_TRUE(description);
    EXPECT_THAT(*description, HasSubstr("Imported from Megatron-LM"));
    EXPECT_THAT(*description, testing::Not(HasSubstr("megatron-args")));
}

TEST(SettingsImportTest, NoQuestionOrNoteSpeaksOfTheCommandLine)
{
    const SettingsImport settings({{"ds.json",
                                    R"({"train_batch_size": 128, "train_micro_batch_size_per_gpu": 1,
                                        "zero_optimization": {"stage": 1}, "bf16": {"enabled": true}})"}},
                                  test::catalogue());
    ASSERT_TRUE(questionOn(settings, "/training/stack"));
    for (const SettingsQuestion& question : settings.questions())
        EXPECT_THAT(question.why.toStdString(), testing::Not(HasSubstr("--"))) << question.pointer;
    EXPECT_THAT(questionOn(settings, "/training/stack")->why.toStdString(), testing::EndsWith("are assumed"));
    EXPECT_THAT(questionOn(settings, "/model")->why.toStdString(), HasSubstr("Llama 3.1 8B stands in its place"));
    for (const sim::Note& note : settings.notes())
        EXPECT_THAT(withoutFlags(note.text), testing::Not(HasSubstr("--set"))) << note.setting;
    EXPECT_EQ(withoutFlags("--transformer-impl local: none"), "--transformer-impl local: none") << "the files' own flag";
}

/// All that the dialog shows.
std::vector<std::string> shownBy(const SettingsImport& settings)
{
    std::vector<std::string> texts;
    for (const SettingsQuestion& question : settings.questions())
        texts.push_back(question.why.toStdString());
    for (const sim::Note& note : settings.notes())
        texts.push_back(withoutFlags(note.text));
    return texts;
}

TEST(SettingsImportTest, NothingThatIsShownNamesAFlagOfTheCommandLine)
{
    std::vector<std::vector<sim::SettingsFile>> all = {
        {{"run.sh", "#!/bin/bash\ndeepspeed --include localhost:0,1 --hostfile hosts train.py --model_name_or_path "
                    "meta-llama/Llama-2-7b-hf --per_device_train_batch_size 1 --bf16 --deepspeed ds.json\n"},
         {"ds.json", R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}})"}},
        {{"base.yml", "model_name: llama2-7b\nici_fsdp_parallelism: -1\nici_tensor_parallelism: 4\nper_device_batch_size: 1\n"}},
        {{"run.sh", kScript}},
        {{"run.sh", kScriptOfArguments}}};
    for (const std::string& name : ::test::interopCases())
        all.push_back(::test::writtenOut(::test::interopCase(name)).second);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(RANKSCOPE_TEST_DATA "/huggingface"))
        if (entry.path().filename() == "config.json")
            all.push_back({{"config.json", ::test::textOfFile(entry.path())}});
    const testing::Matcher<std::string> namesOne =
        testing::AnyOf(HasSubstr("--set"), HasSubstr("--gpus"), HasSubstr("--from"), HasSubstr("--all-notes"));
    int spoken = 0; // by the library
    for (const std::vector<sim::SettingsFile>& files : all) {
        try {
            const SettingsImport settings(files, test::catalogue());
            for (const std::string& text : shownBy(settings))
                EXPECT_THAT(text, testing::Not(namesOne)) << files.front().name;
            for (const sim::Note& note : settings.notes())
                spoken += testing::Value(note.text, namesOne) ? 1 : 0;
        } catch (const sim::Error& error) {
            EXPECT_THAT(std::string(error.what()), testing::Not(namesOne)) << files.front().name;
        }
    }
    EXPECT_GT(spoken, 100) << "there was something to leave out";
    EXPECT_EQ(withoutFlags("which hosts: say how many GPUs they have with --gpus"), "which hosts");
    EXPECT_EQ(withoutFlags("counts only beside --gpus-per-node"), "counts only beside --gpus-per-node") << "another's flag";
}

TEST(SettingsImportTest, WhatIsNoSettingIsToldWithoutFlags)
{
    try {
        const SettingsImport settings({{"notes.txt", "hello world\n"}}, test::catalogue());
        FAIL() << "it is none";
    } catch (const sim::Error& error) {
        EXPECT_THAT(std::string(error.what()), HasSubstr("none of the kinds"));
        EXPECT_THAT(std::string(error.what()), testing::Not(HasSubstr("--from")));
    }
}

TEST(SettingsImportTest, AnAnswerIsTakenAndItsQuestionStays)
{
    SettingsImport settings = imported(kScript);
    settings.answer("/layout/dp", "64");
    settings.answer("/cluster", "\"dgx-a100\"");
    settings.answer("/model/vocab_size", "50304");
    ASSERT_TRUE(settings.resolved().scenario);
    const sim::Scenario& scenario = *settings.resolved().scenario;
    EXPECT_EQ(scenario.layout.dp, 8);
    EXPECT_EQ(scenario.layout.worldSize(), 64);
    EXPECT_EQ(scenario.cluster.nodes, 8);
    EXPECT_EQ(settings.document().get("/cluster/base"), "\"dgx-a100\"");
    EXPECT_EQ(scenario.model.vocabSize, 50304);
    ASSERT_TRUE(questionOn(settings, "/layout/dp"));
    EXPECT_EQ(questionOn(settings, "/layout/dp")->value, "64");
    EXPECT_EQ(questionOn(settings, "/cluster")->value, "\"dgx-a100\"");
}

/// The batch of 256 is a multiple of what tp 1 leaves of 96 GPUs (48 replicas: 240, 288), and not of what tp 2 leaves (24).
TEST(SettingsImportTest, NotesFollowTheAnswers)
{
    SettingsImport settings = imported(kScriptOfArguments);
    const auto noteOnBatch = [&settings] {
        for (const sim::Note& note : settings.notes())
            if (note.setting == "global batch" && note.became == sim::Became::contradictory)
                return note.text;
        return std::string();
    };
    settings.answer("/layout/dp", "96");
    EXPECT_THAT(noteOnBatch(), HasSubstr("dp 48"));
    settings.answer("/layout/tp", "2");
    EXPECT_THAT(noteOnBatch(), HasSubstr("dp 24")) << "not of the one rank that was guessed";
    settings.answer("/layout/tp", "3");
    EXPECT_EQ(noteOnBatch(), "") << "256 is a multiple of 16";
}

TEST(SettingsImportTest, NodesAreTheHostsOfTheClusterThatIsChosen)
{
    SettingsImport settings = imported(std::string(kScript) + "#SBATCH --nodes=36\n#SBATCH --gpus-per-node=4\n");
    settings.answer("/cluster", "\"gb200-nvl72\"");
    EXPECT_EQ(settings.document().get("/cluster/gpus_per_node"), std::nullopt) << "the catalogue's 4";
    EXPECT_EQ(settings.document().get("/cluster/nodes"), "36");
}

TEST(SettingsImportTest, ABadAnswerChangesNothing)
{
    SettingsImport settings = imported(kScript);
    const std::string before = settings.document().text();
    for (const char* value : {"0", "-1", "many", "", "99999999999"})
        EXPECT_THROW(settings.answer("/layout/dp", value), sim::Error) << value;
    EXPECT_THROW(settings.answer("/cluster", "\"dgx-a10\""), sim::Error);
    EXPECT_EQ(settings.document().text(), before);
}

/// The job is 4 x 2 = 8 ranks a replica.
TEST(SettingsImportTest, GpusThatTheLayoutCannotFillAreRefusedWithTheNearest)
{
    SettingsImport settings = imported(kScript);
    settings.answer("/layout/dp", "64");
    const auto refusal = [&](const char* gpus) {
        try {
            settings.answer("/layout/dp", gpus);
        } catch (const sim::Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(refusal("100"), testing::AllOf(HasSubstr("100 GPUs"), testing::EndsWith("nearest: 96, 104")));
    EXPECT_THAT(refusal("20"), testing::EndsWith("nearest: 16, 24"));
    EXPECT_THAT(refusal("3"), testing::EndsWith("nearest: 8"));
    EXPECT_THAT(refusal("1600000000"), testing::EndsWith("nearest: 1048576"));
    EXPECT_EQ(questionOn(settings, "/layout/dp")->value, "64");
}

TEST(SettingsImportTest, ReplicasOfAnAnsweredSizeFillTheGpusInAnyOrder)
{
    using Answer = std::pair<const char*, const char*>;
    constexpr Answer kGpus{"/layout/dp", "64"}, kTensor{"/layout/tp", "8"};
    for (const auto& [first, second] : {std::pair{kGpus, kTensor}, std::pair{kTensor, kGpus}}) {
        SettingsImport settings = imported(kScriptOfArguments);
        ASSERT_TRUE(questionOn(settings, "/layout/tp"));
        settings.answer(first.first, first.second);
        settings.answer(second.first, second.second);
        EXPECT_EQ(settings.document().get("/layout/tp"), "8");
        EXPECT_EQ(settings.document().get("/layout/dp"), "4") << "64 / (8 x 2)";
        EXPECT_EQ(questionOn(settings, "/layout/dp")->value, "64");
    }
}

TEST(SettingsImportTest, AnAnsweredReplicaThatDoesNotFillTheGpusIsRefusedWithTheNearest)
{
    SettingsImport settings = imported(kScriptOfArguments);
    settings.answer("/layout/dp", "64");
    try {
        settings.answer("/layout/tp", "3");
        FAIL() << "64 are no multiple of 6";
    } catch (const sim::Error& error) {
        EXPECT_THAT(std::string(error.what()), testing::AllOf(HasSubstr("64 GPUs"), testing::EndsWith("nearest: 60, 66")));
    }
    EXPECT_EQ(settings.document().get("/layout/tp"), "1");
    EXPECT_EQ(settings.document().get("/layout/dp"), "32");
}

/// 20 are no multiple of 4 x 2, nor 24 of 5 x 2.
TEST(SettingsImportTest, AnswersThatAreRightOnlyTogetherAreTakenTogether)
{
    SettingsImport settings = imported(kScriptOfArguments);
    settings.answer("/layout/dp", "24");
    settings.answer("/layout/tp", "4");
    EXPECT_THROW(settings.answer("/layout/dp", "20"), sim::Error);
    EXPECT_THROW(settings.answer("/layout/tp", "5"), sim::Error);
    settings.answer({{"/layout/dp", "20"}, {"/layout/tp", "5"}});
    EXPECT_EQ(settings.document().get("/layout/tp"), "5");
    EXPECT_EQ(settings.document().get("/layout/dp"), "2");
}

TEST(SettingsImportTest, WhatWasAssumedIsToldUntilItIsAnswered)
{
    SettingsImport settings = imported(kScript);
    for (const auto& [pointer, value] :
         {std::pair{"/layout/dp", "64"}, {"/cluster", "\"dgx-a100\""}, {"/model/vocab_size", "50304"}}) {
        EXPECT_THAT(questionOn(settings, pointer)->why.toStdString(), HasSubstr("assumed")) << pointer;
        settings.answer(pointer, value);
        EXPECT_EQ(questionOn(settings, pointer)->why.toStdString(), "") << pointer;
    }
}

TEST(SettingsImportTest, WhatIsLostOrGuessedNeedsALook)
{
    const SettingsImport settings = imported(kScript);
    const auto& notes = settings.notes();
    const auto foo = std::find_if(notes.begin(), notes.end(), [](const sim::Note& note) { return note.setting == "--foo-bar"; });
    ASSERT_NE(foo, notes.end());
    EXPECT_TRUE(settings.needsALook(*foo));
    const auto used =
        std::find_if(notes.begin(), notes.end(), [](const sim::Note& note) { return note.setting == "--num-layers"; });
    ASSERT_NE(used, notes.end());
    EXPECT_FALSE(settings.needsALook(*used));
    const auto vocabulary =
        std::find_if(notes.begin(), notes.end(), [](const sim::Note& note) { return note.pointer == "/model/vocab_size"; });
    ASSERT_NE(vocabulary, notes.end());
    EXPECT_FALSE(settings.needsALook(*vocabulary)) << "it is asked";
}

TEST(SettingsImportTest, OnlySettingsAreTakenForSettings)
{
    const QTemporaryDir folder;
    const QString script = written(folder, "run.sh", kScript);
    EXPECT_EQ(SettingsImport::kindOf({script}), "megatron-args");
    EXPECT_EQ(SettingsImport::kindOf({written(folder, "notes.txt", "to do: buy milk\n")}), "");
    EXPECT_EQ(SettingsImport::kindOf({written(folder, "empty.json", "")}), "");
    EXPECT_EQ(SettingsImport::kindOf({folder.filePath(QStringLiteral("missing"))}), "");
    EXPECT_EQ(SettingsImport::kindOf({folder.path()}), "");
    for (const auto& entry : std::filesystem::directory_iterator(test::catalogue().scenarios()))
        EXPECT_EQ(SettingsImport::kindOf({QString::fromStdString(entry.path().string())}), "") << entry.path();
    const QString broken = written(folder, "broken.json", "{ \"format\": \"rankscope-scenario\", --num-layers 3");
    EXPECT_EQ(SettingsImport::kindOf({broken}), "") << "it is a scenario, and its error is told";
    EXPECT_EQ(SettingsImport::kindOf({script, broken}), "");
}

} // namespace
} // namespace app
