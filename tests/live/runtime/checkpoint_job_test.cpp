// Which run a checkpoint is of: by what its scenario computes and learns from, not by names and shapes alone.
#include "live/runtime/checkpoint_job.h"
#include "live/runtime/crc32.h"
#include "live/runtime/data.h"
#include "sim/error.h"
#include "sim/scenario/document.h"
#include "tests/live/support/jobs.h"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace live::test {
namespace {

CheckpointInfo infoOf(const sim::Scenario& scenario, int step = 8)
{
    return {.step = step, .scenarioJson = sim::resolvedText(scenario), .seed = scenario.live.seed};
}

/// "" where a checkpoint of the first job is taken by the second.
std::string refusalOfModel(const Settings& its, const Settings& mine)
{
    try {
        checkIsOfModel("ck", infoOf(job(its)), job(mine));
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "";
}

TEST(CheckpointJob, RefusesAModelOfTheSameShapesThatComputesOtherwise)
{
    const std::string heads = refusalOfModel(
        kLlama, kLlama + Settings{"model.num_attention_heads=8", "model.head_dim=4", "model.num_key_value_heads=4"});
    EXPECT_NE(heads.find("model.num_attention_heads is 4 there, 8 here"), std::string::npos) << heads;
    EXPECT_NE(heads.find("model.head_dim is 8 there, 4 here"), std::string::npos) << heads;
    EXPECT_NE(heads.find("--set model.num_attention_heads=4"), std::string::npos) << heads;
    const struct {
        const char *setting, *told;
    } cases[] = {
        {"model.hidden_act=gelu", R"(model.hidden_act is "silu" there, "gelu" here; nearest: --set model.hidden_act=silu)"},
        {"model.sliding_window=2", "model.sliding_window is 0 there, 2 here; nearest: --set model.sliding_window=0"},
        {"model.position_embedding=none", R"(model.position_embedding is "rope" there, "none" here)"},
        {"model.rope_theta=500000", "model.rope_theta is 10000 there, 500000 here; nearest: --set model.rope_theta=10000"},
        {"model.rms_norm_eps=0.001", "model.rms_norm_eps is 1e-05 there, 0.001 here"},
        {"training.causal=false", "training.causal is true there, false here; nearest: --set training.causal=true"},
    };
    for (const auto& [setting, told] : cases)
        EXPECT_NE(refusalOfModel(kLlama, kLlama + Settings{setting}).find(told), std::string::npos)
            << setting << ": " << refusalOfModel(kLlama, kLlama + Settings{setting});
}

TEST(CheckpointJob, TakesAModelThatDiffersInWhatItDoesNotComputeWith)
{
    EXPECT_EQ(refusalOfModel(kLlama, kLlama), "");
    for (const char* setting :
         {"model.name=other", "layout.tp=2", "live.seed=2", "model.hidden_dropout=0.1", "model.sliding_window=16"})
        EXPECT_EQ(refusalOfModel(kLlama, kLlama + Settings{setting}), "") << setting;
    EXPECT_EQ(refusalOfModel({}, {"model.rope_theta=500000"}), "") << "its positions are learned";
    EXPECT_EQ(refusalOfModel({}, {"model.rms_norm_eps=0.001"}), "") << "it has layer norms";
    EXPECT_EQ(refusalOfModel({}, {"model.routed_scaling_factor=2"}), "") << "it has no experts";
    EXPECT_NE(refusalOfModel(kExperts, kExperts + Settings{"model.routed_scaling_factor=2"}), "");
    // The same layers in two spellings.
    const Settings windows = kLlama + Settings{"model.sliding_window=2"};
    EXPECT_EQ(refusalOfModel(windows + Settings{"model.sliding_window_pattern=2"},
                             windows + Settings{R"(model.layer_types=["sliding_attention","full_attention",)"
                                                R"("sliding_attention","full_attention"])"}),
              "");
    EXPECT_NE(refusalOfModel(windows, windows + Settings{"model.sliding_window_pattern=2"}), "");
}

TEST(CheckpointJob, SaysNothingWhereItsScenarioIsNotReadHere)
{
    EXPECT_NO_THROW(checkIsOfModel("ck", {.step = 1, .scenarioJson = "{}", .seed = 1}, job({})));
    EXPECT_EQ(otherSettings({.step = 1, .scenarioJson = "{}", .seed = 1}, job({})), "");
    EXPECT_EQ(otherSettings({.step = 1, .scenarioJson = "{}", .seed = 5}, job({})), "live.seed is 5 there, 1 here");
}

TEST(CheckpointJob, TellsByWhichSettingsARunLearnsOtherwise)
{
    const CheckpointInfo info = infoOf(job({}));
    EXPECT_EQ(otherSettings(info, job({"live.seed=2"})), "live.seed is 1 there, 2 here");
    EXPECT_EQ(otherSettings(info, job({"live.learning_rate=0.1"})), "live.learning_rate is 0.001 there, 0.1 here");
    EXPECT_EQ(otherSettings(info, job({"live.data=x.txt"})), R"(live.data is "builtin" there, "x.txt" here)");
    EXPECT_EQ(otherSettings(info, job({"training.global_batch_size=8"})), "training.global_batch_size is 4 there, 8 here");
    for (const char* setting : {"live.steps=7", "live.device=cpu", "layout.tp=2", "live.aux_loss=0.5", "name=other"})
        EXPECT_EQ(otherSettings(info, job({setting})), "") << setting;
}

/// "" where a checkpoint of that run is gone on from by this one.
std::string refusalOfData(const CheckpointInfo& info, const sim::Scenario& mine)
{
    try {
        checkIsOfData("ck", info, mine);
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "";
}

TEST(CheckpointJob, RefusesDataThatChangedUnderTheirName)
{
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "rankscope_changed_data";
    const auto write = [&](const char* name, const std::string& text) {
        std::filesystem::create_directories((folder / name).parent_path());
        std::ofstream(folder / name) << text;
        return job({"live.data=" + (folder / name).string()});
    };
    const std::string text = "What is trained on, and again.", other = "What is trained on, and AGAIN.";
    const auto checksum = [](const std::string& of) { return std::to_string(crc32(of.data(), of.size())); };
    const sim::Scenario mine = write("text.txt", text);
    CheckpointInfo info = infoOf(mine);
    const CheckpointInfo unmarked = info; // of before marks were kept
    info.data = markOfData(mine.live.data);
    EXPECT_EQ(refusalOfData(info, mine), "");
    EXPECT_EQ(refusalOfData(info, write("moved/text.txt", text)), "");
    write("text.txt", other);
    EXPECT_EQ(refusalOfData(info, mine), "checkpoint: ck is of other data: live.data, text.txt, is 30 bytes with checksum " +
                                             checksum(text) + " there, 30 bytes with checksum " + checksum(other) +
                                             " here; nearest: the file as it was; to go on with what it holds now, give it "
                                             "another name");
    EXPECT_EQ(refusalOfData(unmarked, mine), "");
    write("text.txt", text + "!");
    EXPECT_NE(refusalOfData(info, mine).find("is 30 bytes with checksum " + checksum(text) + " there, 31 bytes"),
              std::string::npos);
    EXPECT_NE(refusalOfData(info, write("moved/text.txt", other)), "") << "of the same name, elsewhere";
    // By another name it is another setting, which is told.
    const sim::Scenario renamed = write("other.txt", other);
    std::filesystem::remove(folder / "text.txt");
    EXPECT_EQ(refusalOfData(info, renamed), "");
    EXPECT_NE(otherSettings(info, renamed).find("live.data is "), std::string::npos) << "though the file is gone";
    EXPECT_EQ(otherSettings(unmarked, renamed), "") << "who knows what it held";
    EXPECT_EQ(otherSettings(info, write("copy.txt", text)), "");
    std::filesystem::remove_all(folder);
}

class CheckpointFolder : public testing::Test {
protected:
    CheckpointFolder() { std::filesystem::create_directories(m_folder); }
    ~CheckpointFolder() override { std::filesystem::remove_all(m_folder); }

    std::filesystem::path add(const sim::Scenario& scenario, int step,
                              const nlohmann::json& more = nlohmann::json::object()) const
    {
        const std::filesystem::path path = m_folder / ("step-0000000" + std::to_string(step));
        nlohmann::json manifest = {{"format", "rankscope-checkpoint"},
                                   {"version", 2},
                                   {"step", step},
                                   {"seed", scenario.live.seed},
                                   {"scenario", sim::resolvedText(scenario)},
                                   {"files", nlohmann::json::object()}};
        manifest.update(more);
        const std::string text = manifest.dump();
        manifest["crc32"] = crc32(text.data(), text.size());
        std::filesystem::create_directories(path);
        std::ofstream(path / "manifest.json") << manifest.dump(1);
        return path;
    }
    /// "" where a run may write there.
    std::string refusal(const Settings& mine, const std::filesystem::path& resumed = {}, int stepsDone = 0,
                        const std::optional<WeightsOrigin>& weights = {}) const
    {
        try {
            checkHoldsNoOtherRun(m_folder, resumed, stepsDone, job(mine), weights);
        } catch (const sim::Error& error) {
            return error.what();
        }
        return "";
    }

    const std::filesystem::path m_folder = // each test's own: they run beside each other
        std::filesystem::path(testing::TempDir()) /
        (std::string("rankscope_checkpoint_folder_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(CheckpointFolder, OfAnotherRunIsRefusedUnlessItIsThisOnesPast)
{
    EXPECT_EQ(refusal({"live.seed=2"}), "") << "it is empty";
    const std::filesystem::path fourth = add(job({}), 4), eighth = add(job({}), 8);
    EXPECT_EQ(refusal({}), "");
    EXPECT_EQ(refusal({"layout.tp=2", "live.steps=3"}), "") << "the same run, laid out otherwise";
    for (const char* setting : {"live.seed=2", "live.learning_rate=0.1", "live.data=x.txt", "model.hidden_act=relu2"})
        EXPECT_NE(refusal({setting}).find(eighth.string() + " is of another run: "), std::string::npos) << setting;
    EXPECT_EQ(refusal({"live.seed=2"}, eighth, 8), "");
    EXPECT_EQ(refusal({"live.seed=2"}, eighth / "", 8), "");
    EXPECT_NE(refusal({"live.seed=2"}, fourth, 4), "") << "its step 8 would stay";
    EXPECT_NE(refusal({"live.seed=2"}, m_folder.parent_path(), 8), "") << "it goes on from elsewhere";
}

TEST_F(CheckpointFolder, OfARunThatBeganWithOtherWeightsIsRefused)
{
    const auto begin = [&](const std::optional<WeightsOrigin>& weights) { return refusal({}, {}, 0, weights); };
    const WeightsOrigin one{.folder = "/models/one", .mark = {.bytes = 10, .crc32 = 1}},
        copy{.folder = "/models/copy", .mark = one.mark}, other{.folder = "/models/other", .mark = {.bytes = 10, .crc32 = 2}};
    add(job({}), 4);
    EXPECT_EQ(begin(one), "") << "nobody knows what it began with";
    add(job({}), 4, {{"weights", {{"folder", "/models/one"}, {"bytes", 10}, {"crc32", 1}}}});
    EXPECT_EQ(begin(one), "");
    EXPECT_EQ(begin(copy), "");
    EXPECT_EQ(begin({}), "") << "that is not known";
    EXPECT_NE(begin(other).find("is of another run: weights at the beginning are of /models/one (10 bytes with checksum 1) "
                                "there, of /models/other (10 bytes with checksum 2) here; nearest: a folder of its own"),
              std::string::npos)
        << begin(other);
    EXPECT_NE(begin(WeightsOrigin{}).find("(10 bytes with checksum 1) there, random here"), std::string::npos);
    add(job({}), 8, {{"weights", nullptr}});
    EXPECT_EQ(begin(WeightsOrigin{}), "");
    EXPECT_NE(begin(one).find("weights at the beginning are random there, of /models/one"), std::string::npos);
}

TEST_F(CheckpointFolder, OfDataThatChangedSinceIsOfAnotherRun)
{
    const std::filesystem::path file = m_folder / "text.txt";
    std::ofstream(file) << "What is trained on, and again.";
    const std::string data = "live.data=" + file.string();
    const FileMark mark = markOfData(file.string());
    add(job({data}), 4, {{"data", {{"bytes", mark.bytes}, {"crc32", mark.crc32}}}});
    EXPECT_EQ(refusal({data}), "");
    std::ofstream(file, std::ios::app) << "!";
    EXPECT_NE(refusal({data}).find("is of another run: live.data, text.txt, is 30 bytes with checksum "), std::string::npos)
        << refusal({data});
}

TEST_F(CheckpointFolder, DataAreWhatTheFilesHoldWhereverTheyLie)
{
    const std::filesystem::path data = m_folder / "data", copies = m_folder / "copies";
    const auto write = [](const std::filesystem::path& file, const std::string& text) {
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
        return "live.data=" + file.string();
    };
    const std::string text = "What is trained on, and again.";
    const std::string first = write(data / "text.txt", text), copy = write(copies / "copy.txt", text),
                      ids = write(copies / "copy.bin", text), longer = write(copies / "longer.txt", text + "!"),
                      other = write(copies / "other.txt", "What is trained on, and AGAIN.");
    add(job({first}), 8);
    EXPECT_EQ(refusal({copy}), "");
    EXPECT_EQ(refusal({"live.data=" + (data / ".." / "data" / "text.txt").string()}), "");
    for (const std::string& another : {other, longer, ids, std::string("live.data=builtin")})
        EXPECT_NE(refusal({another}).find("is of another run: live.data is "), std::string::npos) << another;
    std::filesystem::remove_all(data);
    EXPECT_EQ(refusal({other}), "") << "who knows what it held";
    EXPECT_NE(refusal({ids}), "") << "it was a text";
    EXPECT_NE(refusal({other, "live.seed=2"}).find("is of another run: live.seed is 1 there, 2 here; nearest"),
              std::string::npos);
}

} // namespace
} // namespace live::test
