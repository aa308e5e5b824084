// Parts of plan and of sweep: which one a launcher says, and putting them together.
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>

namespace {

using nlohmann::json;
using test::gallery;
using test::Outcome;
using test::run;
using test::runJson;
using test::write;
using testing::HasSubstr;

const std::string kPlanInParts = "plan " + gallery("60-") + " -j 1 ";

/// Variables of a launcher, for as long as it lives.
class Launcher {
public:
    explicit Launcher(std::map<std::string, std::string> variables) : m_variables(std::move(variables))
    {
        for (const auto& [name, value] : m_variables)
            setenv(name.c_str(), value.c_str(), 1);
    }
    ~Launcher()
    {
        for (const auto& [name, value] : m_variables)
            unsetenv(name.c_str());
    }
    Launcher(const Launcher&) = delete;
    Launcher& operator=(const Launcher&) = delete;

private:
    std::map<std::string, std::string> m_variables;
};

TEST(PlanParts, TakesAPartWithoutGridsForAnAnswer)
{
    const std::string job = "plan " + gallery("04-") + " --gpus 2 -j 1 --fix schedule.kind=1f1b --fix training.recompute=none ";
    const Outcome empty = run(job + "--part 5/5");
    EXPECT_EQ(empty.code, 0) << empty.err;
    EXPECT_EQ(empty.err, "");
    EXPECT_THAT(empty.out, HasSubstr("nothing is of part 5 of 5: there are fewer grids than parts"));
    EXPECT_THAT(run(job + "--part 1/3 --why layout.tp=4").out,
                HasSubstr("Why not /layout/tp = 4 of part 1 of 3? no grid of part 1 of 3 has it on 2 GPUs"));
    std::string files;
    for (const char* part : {"1", "2", "3", "4", "5"})
        files += " --merge " + write("of5_" + std::string(part) + ".json", run(job + "--json --part " + part + "/5").out);
    EXPECT_EQ(runJson("plan --json" + files)["best"][0], runJson(job + "--json")["best"][0]);
    // No part can tell what the others find; all of them together can.
    const std::string tooLittle = job + "--set cluster.gpu.memory_gib=0.002 --json --part ";
    EXPECT_EQ(run(tooLittle + "1/1").code, 0);
    const Outcome none = run("plan --merge " + write("none.json", run(tooLittle + "1/1").out));
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("no layout on 2 GPUs was found that is legal and fits; the leanest"));
}

TEST(PlanParts, SayTogetherWhatTheLeastIsThatAnyLayoutHolds)
{
    const std::string job = "plan " + gallery("53-") + " --gpus 8 -j 1 --json ";
    const Outcome whole = run(job);
    EXPECT_EQ(whole.code, 1);
    EXPECT_THAT(whole.err, AllOf(HasSubstr("the fullest GPU of any holds at least"), HasSubstr("fewer than ")));
    std::string files;
    for (const char* part : {"1", "2", "3"})
        files += " --merge " + write("least_" + std::string(part) + ".json", run(job + "--part " + part + "/3").out);
    const Outcome merged = run("plan --json" + files);
    EXPECT_EQ(merged.code, 1);
    EXPECT_EQ(json::parse(merged.out).at("least"), json::parse(whole.out).at("least"));
    EXPECT_EQ(json::parse(whole.out).at("simulated"), 0);
    EXPECT_THAT(run("plan --merge " + write("least_whole.json", run(job + "--part 1/1").out)).out,
                HasSubstr("; none fits: the fullest GPU of any holds at least"));
}

TEST(PlanParts, ReadsItsPartFromWhatStartedIt)
{
    const auto partOf = [](std::map<std::string, std::string> variables) {
        const Launcher launcher(std::move(variables));
        return runJson(kPlanInParts + "--top 1 --json --fix schedule.kind=1f1b --part auto")["part"];
    };
    EXPECT_EQ(partOf({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "3"}}), json({2, 3}));
    EXPECT_EQ(partOf({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), json({1, 2}));
    EXPECT_EQ(partOf({{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_STEP_ID", "0"}}), json({3, 3}));
    const std::map<std::string, std::string> array{{"SLURM_ARRAY_TASK_ID", "14"},
                                                   {"SLURM_ARRAY_TASK_MIN", "10"},
                                                   {"SLURM_ARRAY_TASK_STEP", "2"},
                                                   {"SLURM_ARRAY_TASK_COUNT", "3"}};
    EXPECT_EQ(partOf(array), json({3, 3}));
    auto both = array;
    both.insert({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
    EXPECT_EQ(partOf(both), json({6, 6}));
    EXPECT_EQ(run(kPlanInParts + "--part auto").code, 2);
    const Launcher beyond({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}});
    const Outcome outcome = run(kPlanInParts + "--part auto");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("PMI_RANK and PMI_SIZE say 2 of 2"));
}

TEST(PlanParts, MergesNothingThatIsNoAnswer)
{
    std::string files;
    for (const char* part : {"1/2", "2/2"}) {
        const json answer = runJson(kPlanInParts + "--top 1 --json --fix schedule.kind=1f1b --part " + part);
        files += " --merge " + write("part" + std::string(1, part[0]) + ".json", answer.dump());
    }
    const json merged = runJson("plan --json" + files);
    EXPECT_EQ(merged["proved"], true);
    EXPECT_THAT(run("plan" + files).out, HasSubstr("the first is proved best\n"));
    EXPECT_THAT(run(kPlanInParts + "--top 1 --fix schedule.kind=1f1b --part 2/2").out,
                HasSubstr("the first is proved best of part 2 of 2\n"));
    json answer = runJson(kPlanInParts + "--top 1 --json --fix schedule.kind=1f1b");
    EXPECT_NE(runJson("plan --json --part 1/2 --ramp-batch 4:4 " + gallery("60-"))["job"],
              runJson("plan --json --part 1/2 " + gallery("60-"))["job"])
        << "parts of different ramps are no whole";
    EXPECT_EQ(run("plan --merge " + write("whole.json", answer.dump())).code, 1) << "it is in one piece";
    const json first = json::parse(test::read(test::scratch() / "part1.json"));
    for (const char* key : {"best", "order", "rejected", "covered", "open", "gpus", "held_fixed", "objective", "seconds"})
        for (const json& wrong : {json(nullptr), json("x"), json(-1)}) {
            json changed = first;
            changed[key] = wrong;
            write("part1.json", changed.dump());
            const Outcome outcome = run("plan" + files);
            EXPECT_EQ(outcome.code, 1) << key << " " << wrong;
            EXPECT_THAT(outcome.err, HasSubstr("part1.json: was damaged or edited")) << key << " " << wrong;
        }
    write("part1.json", first.dump());
    EXPECT_THAT(
        run("plan --merge " + (test::scratch() / "part1.json").string() + " --merge " + (test::scratch() / "part1.json").string())
            .err,
        HasSubstr("part1.json: part 1 of 2 is there twice"));
    write("part1.json", R"({"part":[1,2],"open":NaN})");
    EXPECT_EQ(run("plan" + files).code, 1);
    for (const char* option : {"--gpus 8", "--top 4"})
        EXPECT_EQ(run("plan " + std::string(option) + files).code, 2) << option;
    EXPECT_EQ(run("plan " + gallery("60-") + files).code, 2);
}

/// Each key of an object was compared with all before it: minutes, of which this allows seconds.
TEST(PlanParts, ReadsPartsInTimeThatGrowsAsTheyDo)
{
    json part{{"part", {1, 1}}, {"digest", "none"}};
    for (int i = 0; i < 200'000; ++i)
        part["held_fixed"]["key" + std::to_string(i)] = i;
    const std::string file = write("many.json", part.dump());
    const Outcome outcome = test::shell("timeout 40 " RANKSCOPE_BIN_DIR "/rankscope-sim plan --merge " + file);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("many.json: was damaged or edited"));
}

TEST(SweepParts, IsTheWholeWhenItsPartsFollowEachOther)
{
    const std::string sweep =
        "sweep " + gallery("60-") + " --vary layout.zero_stage=0,1,2 --vary training.micro_batch_size=1,2 --csv ";
    std::string parts;
    for (const char* part : {"1/4", "2/4", "3/4", "4/4"})
        parts += run(sweep + "--part " + part).out;
    EXPECT_EQ(parts, run(sweep).out);
    EXPECT_EQ(run("sweep " + gallery("60-") + " --vary layout.zero_stage=0,1 --part 1/2").code, 2);
}

TEST(PlanParts, APartThatIsNestedWithoutEndIsRefused)
{
    const std::string deep =
        "{\"part\":[1,1],\"digest\":\"x\",\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
    const Outcome outcome = run("plan --merge " + test::write("deep.json", deep));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("nested more than"));
}

/// Software that is held stands in each layout's settings, and the parts' own surety is of what the job has.
TEST(PlanParts, TellTiesWhereTheSoftwareIsHeld)
{
    const std::string job = "plan " + gallery("25-") + " --gpus 8 -j 1 --fix training.stack=megatron-te-2024 --json";
    std::string files;
    for (const char* part : {"1", "2"})
        files += " --merge " + write("held" + std::string(part) + ".json", run(job + " --part " + part + "/2").out);
    const json best = runJson("plan --json" + files)["best"];
    ASSERT_GT(best.size(), 1U);
    EXPECT_EQ(best[0]["tie_with_first"], false);
    EXPECT_EQ(best[1]["tie_with_first"], true) << best[1]["step_time_s"] << " after " << best[0]["step_time_s"];
    for (const json& layout : best)
        EXPECT_TRUE(layout["tie_with_first"].is_boolean()) << layout;
}

} // namespace
