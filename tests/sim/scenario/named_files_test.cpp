// Files that a scenario names: they go into it, or their names lead to them from another folder.
#include "sim/scenario/hardware_profile.h"
#include "sim/scenario/named_files.h"
#include "tests/support/catalogue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace sim;
using test::catalogue;

namespace {

namespace fs = std::filesystem;

class NamedFiles : public testing::Test {
protected:
    NamedFiles() : folder(fs::canonical(testing::TempDir()) / ("named_files_" + std::to_string(::getpid())))
    {
        fs::create_directories(folder / "runs");
        fs::create_directories(folder / "else, where");
        write("runs/measured.json",
              hardwareProfileText("mine", {.device = "here", .kernels = {{"adamw", {{.m = 1, .n = 5, .microseconds = 1}}}}}));
        write("runs/order.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
    }
    ~NamedFiles() override { fs::remove_all(folder); }
    void write(const char* name, const std::string& text) const { std::ofstream(folder / name) << text; }
    ScenarioDocument named(const std::string& efficiency, const std::string& actions) const
    {
        return ScenarioDocument::parse(
            R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","layout":{"pp":2},"training":{"global_batch_size":2},
            "cluster":{"base":"laptop","efficiency":)" +
                efficiency + R"(},"schedule":{"kind":"custom","actions":)" + actions + "}}",
            (folder / "runs" / "job.json").string());
    }
    ScenarioDocument named() const { return named("\"measured.json\"", "\"order.csv\""); }
    static Scenario meaning(const ScenarioDocument& document)
    {
        const auto resolved = document.resolve(catalogue());
        EXPECT_TRUE(resolved.scenario) << resolved.problems.front().text();
        return resolved.scenario.value_or(Scenario{});
    }

    fs::path folder;
};

TEST_F(NamedFiles, GoIntoAScenarioThatIsReadElsewhere)
{
    const Scenario here = meaning(named());
    ASSERT_EQ(here.cluster.efficiency.profile.device, "here");
    ASSERT_EQ(here.schedule.actions.size(), 2U);
    ScenarioDocument inside = withFilesInside(named(), catalogue());
    inside.setFileName("/nowhere/job.json");
    EXPECT_EQ(meaning(inside), here);
    const std::string own = R"({"id":"mine","gemm":0.5})", lines = R"(["0F0,0F1,0B0,0B1","1F0,1B0,1F1,1B1"])";
    for (const ScenarioDocument& without :
         {named(own, lines), named("\"h100-sxm\"", lines), named("\"gone.json\"", "\"./gone\"")})
        EXPECT_EQ(withFilesInside(without, catalogue()).text(), without.text());
}

TEST_F(NamedFiles, AreNamedFromAnotherFolder)
{
    const Scenario here = meaning(named());
    const ScenarioDocument moved = movedTo(folder / "job.json", named(), catalogue());
    EXPECT_EQ(moved.get("/cluster/efficiency"), "\"runs/measured.json\"");
    EXPECT_EQ(moved.get("/schedule/actions"), "\"runs/order.csv\"");
    EXPECT_EQ(meaning(moved), here);
    const ScenarioDocument back = movedTo(folder / "runs" / "again.json", moved, catalogue());
    EXPECT_EQ(back.get("/cluster/efficiency"), "\"./measured.json\"");
    EXPECT_EQ(meaning(back), here);
    EXPECT_EQ(movedTo(folder / "runs" / "other.json", named(), catalogue()).text(), named().text()) << "the same folder";
    const ScenarioDocument gone = named("\"gone.json\"", "\"./gone\"");
    EXPECT_EQ(movedTo(folder / "job.json", gone, catalogue()).text(), gone.text());
}

/// To be trained on; the job may be written where names are relative to another folder, as a window does that starts it.
TEST_F(NamedFiles, OfDataAreFoundBesideTheScenarioAndThenInTheWorkingDirectory)
{
    const std::string here = "data_" + std::to_string(::getpid()) + ".txt"; // in the working directory
    std::ofstream(here) << "To be";
    const auto document = [&](const std::string& data) {
        ScenarioDocument out = named();
        out.set("/live/data", '"' + data + '"');
        return out;
    };
    write("runs/text.txt", "Or not");
    const ScenarioDocument beside = document("text.txt");
    EXPECT_EQ(meaning(beside).live.data, (folder / "runs" / "text.txt").string());
    EXPECT_EQ(meaning(ScenarioDocument::parse(resolvedText(meaning(beside)), "/nowhere/job.json")).live.data,
              meaning(beside).live.data);
    EXPECT_EQ(movedTo(folder / "job.json", beside, catalogue()).get("/live/data"), "\"runs/text.txt\"");
    EXPECT_EQ(filesOf(beside, catalogue()).back(), folder / "runs" / "text.txt");
    ScenarioDocument detour = beside;
    detour.setFileName((folder / "." / "runs" / ".." / "runs" / "job.json").string());
    EXPECT_EQ(meaning(detour).live.data, meaning(beside).live.data);
    fs::create_directory_symlink(folder / "else, where", folder / "runs" / "link");
    write("text.txt", "Whether");
    EXPECT_TRUE(fs::equivalent(meaning(document("link/../text.txt")).live.data, folder / "text.txt")) << "not runs/text.txt";
    EXPECT_EQ(meaning(document(here)).live.data, fs::absolute(here).string());
    write(("runs/" + here).c_str(), "That is the question");
    EXPECT_EQ(meaning(document(here)).live.data, (folder / "runs" / here).string());
    fs::remove(here);
    EXPECT_EQ(meaning(document("builtin")).live.data, "builtin");
}

/// All but training can do without.
TEST_F(NamedFiles, OfDataThatAreNotThereAreToldAndNothingElseIsRefused)
{
    for (const std::string& name : {std::string("gone.txt"), folder.string()}) { // a folder is no file
        ScenarioDocument document = named();
        document.set("/live/data", '"' + name + '"');
        const auto resolved = document.resolve(catalogue());
        ASSERT_TRUE(resolved.scenario);
        EXPECT_EQ(resolved.scenario->live.data, name);
        ASSERT_FALSE(resolved.problems.empty());
        EXPECT_EQ(resolved.problems.back().text(),
                  (folder / "runs" / "job.json").string() + ": /live/data: warning: there is no file \"" + name +
                      "\" beside the scenario, nor in the working directory; training needs it; nearest: builtin");
    }
}

/// A name with a comma would be read as actions.
TEST_F(NamedFiles, OfActionsGoInWhereTheWayThereHasAComma)
{
    const Scenario here = meaning(named());
    fs::rename(folder / "runs", folder / "ru,ns");
    ScenarioDocument document = named();
    document.setFileName((folder / "ru,ns" / "job.json").string());
    const ScenarioDocument moved = movedTo(folder / "job.json", document, catalogue());
    EXPECT_EQ(moved.get("/cluster/efficiency"), "\"ru,ns/measured.json\"");
    EXPECT_EQ(meaning(moved), here);
}

} // namespace
