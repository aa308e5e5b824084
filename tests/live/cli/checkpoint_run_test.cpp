// What a run of rankscope-live goes on from and leaves: checkpoints, and models as Hugging Face stores them.
#include "tests/live/cli/child.h"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <regex>

namespace {

using nlohmann::json;
using test::Child;
using test::environmentOf;
using test::gallery;
using test::reportOf;
using test::scratch;
using namespace std::chrono_literals;

TEST(RankscopeLive, GoesOnFromACheckpointOfAnotherLayout)
{
    const std::string folder = (scratch() / "checkpoints").string();
    const std::vector<std::string> wide = {"--set", "live.dtype=fp64"};
    const std::vector<std::string> narrow = {"--set", "live.dtype=fp64", "--set", "layout={\"dp\":4,\"zero_stage\":3}",
                                             "--set", "schedule={}"};
    const auto with = [&](std::vector<std::string> first, const std::vector<std::string>& more) {
        first.insert(first.end(), more.begin(), more.end());
        return first;
    };
    const json whole = reportOf(with({"run", gallery("60-"), "--steps", "5"}, wide));
    reportOf(with({"run", gallery("60-"), "--steps", "3", "--checkpoint", folder, "--every", "2"}, wide));
    EXPECT_TRUE(std::filesystem::exists(folder + "/step-00000002/manifest.json"));
    const json rest = reportOf(with({"run", gallery("60-"), "--steps", "5", "--resume", folder}, narrow));
    ASSERT_EQ(rest["losses"].size(), 2U);
    EXPECT_NEAR(rest["losses"][1], whole["losses"][4], 1e-11);
    EXPECT_NEAR(rest["final_parameters_norm"], whole["final_parameters_norm"], 1e-9);
}

TEST(RankscopeLive, EndsEverywhereWhereOneProcessFindsACheckpointDamaged)
{
    const std::string folder = (scratch() / "damaged").string();
    reportOf({"run", gallery("61-"), "--steps", "1", "--checkpoint", folder});
    const std::string weights = folder + "/step-00000001/weights.safetensors";
    const auto size = std::filesystem::file_size(weights);
    {
        std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
        for (std::uintmax_t at = size / 2; at < size; at += 4096) { // what one of the two proves
            file.seekp(static_cast<std::streamoff>(at));
            file.put('?');
        }
    }
    const std::string port = std::to_string(test::freePort());
    std::vector<std::unique_ptr<Child>> children;
    for (const std::string& number : {std::string("0"), std::string("1")})
        children.push_back(std::make_unique<Child>(
            std::vector<std::string>{"run", gallery("61-"), "--steps", "3", "--resume", folder, "--device", "cpu"},
            environmentOf(number, "2", port)));
    for (const auto& child : children) {
        EXPECT_EQ(child->wait(20s), 1);
        EXPECT_NE(child->err().find("is damaged"), std::string::npos) << child->err();
    }
}

TEST(RankscopeLive, BeginsWithAHuggingFaceModelAndSavesOneOverProcessesToo)
{
    const std::string reference = RANKSCOPE_TEST_DATA "/huggingface/llama", saved = (scratch() / "saved").string();
    const auto arguments = [&](const std::string& weights, const std::string& steps) {
        return std::vector<std::string>{
            "run",
            gallery("60-"),
            "--set",
            R"(model={"num_hidden_layers":2,"hidden_size":16,"intermediate_size":24,"num_attention_heads":4,"head_dim":4,)"
            R"("num_key_value_heads":2,"vocab_size":29,"max_position_embeddings":16,"rope_theta":500})",
            "--set",
            R"(training={"sequence_length":8,"global_batch_size":4,"precision":"fp32"})",
            "--set",
            "live.dtype=fp64",
            "--set",
            R"(schedule={"kind":"1f1b"})",
            "--steps",
            steps,
            "--weights",
            weights};
    };
    const auto save = [&](std::vector<std::string> all, const std::string& to) {
        all.insert(all.end(), {"--save-weights", to});
        return all;
    };
    const json first = reportOf(save(arguments(reference, "2"), saved));
    EXPECT_NEAR(first["losses"][0].get<double>(), 4.03, 0.1) << "of a random model of this text with weights as large";
    const json again = reportOf(arguments(saved, "1"));
    EXPECT_LT(again["losses"][0], first["losses"][0]);

    const std::string port = std::to_string(test::freePort()), report = (scratch() / "weights.json").string(),
                      several = (scratch() / "several").string();
    std::vector<std::unique_ptr<Child>> children;
    for (const std::string& number : {std::string("0"), std::string("1")}) {
        std::vector<std::string> all = save(arguments(reference, "2"), several);
        all.insert(all.end(), {"--report", report});
        children.push_back(std::make_unique<Child>(all, environmentOf(number, "2", port)));
    }
    for (const auto& child : children)
        ASSERT_EQ(child->wait(), 0) << child->err();
    EXPECT_EQ(json::parse(std::ifstream(report))["losses"], first["losses"]);
    const auto bytesOf = [](const std::string& folder) {
        std::ifstream in(folder + "/model.safetensors", std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    EXPECT_FALSE(bytesOf(saved).empty());
    EXPECT_EQ(bytesOf(saved), bytesOf(several));

    Child other(arguments(RANKSCOPE_TEST_DATA "/huggingface/qwen3", "1"));
    EXPECT_EQ(other.wait(), 1);
    EXPECT_NE(other.err().find("head_dim is 6 there, 4 in the scenario"), std::string::npos) << other.err();
}

TEST(RankscopeLive, WarnsWhereAModelThatWasReadIsGivenTheBytesOfAText)
{
    const std::string folder = (scratch() / "of 300 tokens").string(), ids = (scratch() / "ids.bin").string();
    const std::vector<std::string> arguments = {"run", gallery("56-"), "--set", "model.vocab_size=300", "--steps", "1"};
    const auto with = [&](std::vector<std::string> all, const std::vector<std::string>& more) {
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    reportOf(with(arguments, {"--save-weights", folder}));
    const std::string warning =
        "warning: live.data is a text, whose bytes are the tokens 0 to 255; to a model with a vocabulary of 300";
    Child text(with(arguments, {"--weights", folder}));
    EXPECT_EQ(text.wait(), 0);
    EXPECT_NE(text.err().find(warning), std::string::npos) << text.err();
    std::ofstream(ids) << std::string(10'000, '\1'); // 257, 257…
    Child tokens(with(arguments, {"--weights", folder, "--set", "live.data=" + ids}));
    EXPECT_EQ(tokens.wait(), 0) << tokens.err();
    EXPECT_EQ(tokens.err().find("warning"), std::string::npos) << tokens.err();
}

TEST(RankscopeLive, ProvesBeforeTheFirstStepThatWeightsCanBeSavedAndLetsOneRunAloneDoSo)
{
    const auto folder = scratch() / "weights";
    const std::string part = (folder / "model.safetensors.part").string();
    Child full({"run", gallery("58-"), "--steps", "2", "--save-weights", folder.string()}, {}, 100'000);
    EXPECT_EQ(full.wait(), 1);
    EXPECT_NE(full.err().find("weights: cannot write all"), std::string::npos) << full.err();
    EXPECT_EQ(full.err().find("step 1"), std::string::npos) << full.err();
    EXPECT_TRUE(std::filesystem::is_empty(folder));

    std::filesystem::create_directories(folder / "config.json");
    Child taken({"run", gallery("58-"), "--steps", "2", "--save-weights", folder.string()});
    EXPECT_EQ(taken.wait(), 1);
    EXPECT_NE(taken.err().find("config.json: it is no ordinary file"), std::string::npos) << taken.err();
    EXPECT_EQ(taken.err().find("step 1"), std::string::npos) << taken.err();
    std::filesystem::remove(folder / "config.json");

    std::ofstream(part) << "as one killed while it wrote leaves it";
    Child first({"run", gallery("58-"), "--steps", "100000", "--save-weights", folder.string()});
    ASSERT_TRUE(first.says("step 2/")) << first.err();
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    Child second({"run", gallery("58-"), "--steps", "1", "--save-weights", folder.string()});
    EXPECT_EQ(second.wait(), 1);
    EXPECT_NE(second.err().find("weights: another run writes to " + folder.string()), std::string::npos) << second.err();
    first.signal(SIGKILL);
    first.wait();
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    Child third({"run", gallery("58-"), "--steps", "1", "--save-weights", folder.string(), "--checkpoint", folder.string()});
    EXPECT_EQ(third.wait(), 0) << third.err();
    EXPECT_TRUE(std::filesystem::exists(folder / "model.safetensors"));
    EXPECT_FALSE(std::filesystem::exists(part));
}

/// The limit's signal ends a program that does not look out for it.
TEST(RankscopeLive, OutlivesTheSignalOfAFileThatMayNotGrow)
{
    const auto folder = scratch() / "limited";
    Child child({"-c", "ulimit -f 100; exec " RANKSCOPE_BIN_DIR "/rankscope-live run " + gallery("58-") +
                           " --steps 1 --checkpoint " + folder.string()},
                {}, 0, "/bin/bash");
    EXPECT_EQ(child.wait(), 1) << child.err();
    EXPECT_NE(child.err().find("cannot write all"), std::string::npos) << child.err();
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(RankscopeLive, LetsOneRunAloneWriteToAFolder)
{
    const std::string folder = (scratch() / "shared").string();
    Child first({"run", gallery("58-"), "--steps", "100000", "--checkpoint", folder});
    ASSERT_TRUE(first.says("step 2/")) << first.err();
    Child second({"run", gallery("58-"), "--steps", "1", "--checkpoint", folder});
    EXPECT_EQ(second.wait(), 1);
    EXPECT_NE(second.err().find("another run writes to " + folder), std::string::npos) << second.err();
    first.signal(SIGKILL);
    first.wait();
    std::filesystem::create_directories(folder + "/step-00000007.part"); // as one killed while it wrote leaves it
    Child third({"run", gallery("58-"), "--steps", "1", "--checkpoint", folder});
    EXPECT_EQ(third.wait(), 0) << third.err();
    EXPECT_FALSE(std::filesystem::exists(folder + "/step-00000007.part"));
    EXPECT_TRUE(std::filesystem::exists(folder + "/step-00000001/manifest.json"));
}

TEST(RankscopeLive, MixesNoTwoRunsInAFolderAndGoesOnWithNoOtherModel)
{
    const std::string folder = (scratch() / "mixed").string();
    const std::vector<std::string> base = {"run", gallery("57-"), "--device", "cpu", "--set", "live.seed=1"};
    const auto run = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = base;
        arguments.insert(arguments.end(), more.begin(), more.end());
        Child child(arguments);
        const int code = child.wait();
        return std::pair(code, child.err());
    };
    EXPECT_EQ(run({"--steps", "2", "--checkpoint", folder}).first, 0);
    const auto mixed = run({"--steps", "1", "--checkpoint", folder, "--set", "live.seed=2"});
    EXPECT_EQ(mixed.first, 1);
    EXPECT_NE(mixed.second.find("is of another run: live.seed is 1 there, 2 here"), std::string::npos) << mixed.second;
    EXPECT_FALSE(std::filesystem::exists(folder + "/step-00000001"));
    const auto other = run({"--steps", "3", "--resume", folder, "--set", "model.hidden_act=relu2"});
    EXPECT_EQ(other.first, 1);
    EXPECT_NE(other.second.find("is of another model: model.hidden_act is "), std::string::npos) << other.second;
    const auto gone = run({"--steps", "3", "--resume", folder, "--checkpoint", folder, "--set", "live.seed=2"});
    EXPECT_EQ(gone.first, 0) << gone.second;
    EXPECT_NE(gone.second.find("is of a run with other settings: live.seed is 1 there, 2 here"), std::string::npos)
        << gone.second;
    EXPECT_TRUE(std::filesystem::exists(folder + "/step-00000003"));
}

TEST(RankscopeLive, GoesOnWithNoDataThatChangedAndKeepsWhichWeightsARunBeganWith)
{
    const std::string folder = (scratch() / "of a text").string(), text = (scratch() / "text.txt").string(),
                      weights = (scratch() / "of a model").string();
    std::ofstream(text) << std::string(5000, 'a');
    const auto run = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = {"run", gallery("58-"), "--device", "cpu", "--set", "live.data=" + text};
        arguments.insert(arguments.end(), more.begin(), more.end());
        Child child(arguments);
        const int code = child.wait();
        return std::pair(code, child.err());
    };
    const auto manifest = [&](const std::string& step) {
        return json::parse(std::ifstream(folder + "/step-0000000" + step + "/manifest.json"));
    };
    ASSERT_EQ(run({"--steps", "1", "--save-weights", weights}).first, 0);
    const auto begun = run({"--steps", "1", "--checkpoint", folder, "--weights", weights});
    ASSERT_EQ(begun.first, 0) << begun.second;
    EXPECT_EQ(manifest("1").at("data").at("bytes"), 5000);
    const json origin = manifest("1").at("weights");
    EXPECT_EQ(origin.at("folder"), weights);
    EXPECT_EQ(origin.at("bytes"), std::filesystem::file_size(weights + "/model.safetensors"));
    const auto goOn = [&](const std::string& steps) {
        return run({"--steps", steps, "--resume", folder, "--checkpoint", folder});
    };
    const auto same = goOn("2");
    EXPECT_EQ(same.first, 0) << same.second;
    EXPECT_EQ(manifest("2").at("weights"), origin) << "what the run that it goes on from began with";
    const auto random = run({"--steps", "1", "--checkpoint", folder});
    EXPECT_EQ(random.first, 1);
    EXPECT_NE(random.second.find("weights at the beginning are of " + weights), std::string::npos) << random.second;

    std::ofstream(text, std::ios::app) << "b";
    const auto changed = goOn("3");
    EXPECT_EQ(changed.first, 1);
    EXPECT_NE(changed.second.find("is of other data: live.data, text.txt, is 5000 bytes with checksum " +
                                  std::to_string(manifest("1").at("data").at("crc32").get<std::uint32_t>()) +
                                  " there, 5001 bytes with checksum "),
              std::string::npos)
        << changed.second;
    EXPECT_FALSE(std::filesystem::exists(folder + "/step-00000003"));
    const std::string renamed = (scratch() / "longer.txt").string();
    std::filesystem::rename(text, renamed);
    const auto told = run({"--steps", "3", "--resume", folder, "--set", "live.data=" + renamed});
    EXPECT_EQ(told.first, 0) << told.second;
    EXPECT_NE(told.second.find("is of a run with other settings: live.data is "), std::string::npos) << told.second;
}

TEST(RankscopeLive, SaysWhenTheDiskIsFull)
{
    const std::string folder = (scratch() / "full").string();
    Child child({"run", gallery("58-"), "--steps", "1", "--checkpoint", folder}, {}, 100'000);
    EXPECT_EQ(child.wait(), 1);
    EXPECT_NE(child.err().find("cannot write"), std::string::npos) << child.err();
    EXPECT_TRUE(std::regex_search(child.err(), std::regex("all [0-9,]+,[0-9]{3} bytes \\([0-9,]+ are free\\) of ")))
        << child.err();
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << "neither what looks complete nor what fills the disk on";
}

} // namespace
