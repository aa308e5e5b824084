// The command plan: what is asked, refused and printed.
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using nlohmann::json;
using test::gallery;
using test::Outcome;
using test::run;
using test::runJson;
using test::write;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const std::string kPlan = "plan " + gallery("60-") + " -j 1 ";

TEST(PlanCommand, KeepsTheNumberOfGpusWhateverIsHeld)
{
    for (const char* held : {"layout.tp=4", "layout.tp=1", "layout.pp=1", "/layout/dp=1"}) {
        const json answer = runJson(kPlan + "--top 1 --json --fix " + held);
        EXPECT_EQ(answer["gpus"], 8) << held;
        const json& settings = answer["best"][0]["settings"];
        const auto sizeOf = [&](const char* pointer) {
            return settings.contains(pointer) ? settings[pointer].get<int>() : answer["held_fixed"][pointer].get<int>();
        };
        EXPECT_EQ(sizeOf("/layout/tp") * sizeOf("/layout/cp") * sizeOf("/layout/pp") * sizeOf("/layout/dp"), 8) << held;
    }
}

/// The step of the file with a layout's settings in it.
double secondsWith(const std::string& file, const json& settings)
{
    std::string command = "simulate " + file + " --json";
    for (const auto& [pointer, value] : settings.items())
        command += " --set '" + pointer + "=" + value.dump() + "'";
    return runJson(command).at("step_time_s").get<double>();
}

TEST(PlanCommand, SettingsHaveWhatIsHeldAndAskedFor)
{
    const std::string file = gallery("60-");
    const json answer = runJson(
        kPlan + "--top 1 --json --fix schedule.kind=1f1b --fix layout.pp=4 --why layout.pp=2,training.micro_batch_size=1");
    const json &best = answer.at("best").at(0), &why = answer.at("why").at(0).at("best");
    EXPECT_EQ(best.at("settings").at("/schedule/kind"), "1f1b");
    EXPECT_EQ(best.at("settings").at("/layout/pp"), 4);
    EXPECT_EQ(secondsWith(file, best.at("settings")), best.at("step_time_s"));
    EXPECT_EQ(why.at("settings").at("/schedule/kind"), "1f1b");
    EXPECT_EQ(why.at("settings").at("/layout/pp"), 2);
    EXPECT_EQ(why.at("settings").at("/training/micro_batch_size"), 1);
    EXPECT_EQ(secondsWith(file, why.at("settings")), why.at("step_time_s"));
    for (const json& layout : answer.at("pareto"))
        EXPECT_EQ(secondsWith(file, layout.at("settings")), layout.at("step_time_s"));
}

TEST(PlanCommand, HoldsValuesThatAFileTakesAndTellsRulesApart)
{
    const std::string file = gallery("60-");
    for (const std::string more : {"", "--ramp-batch 8:8 ", "--free layout.order --free schedule.layers_per_stage "}) {
        const json answer = runJson(kPlan + "--top 1 --json " + more);
        json all = answer.at("best").at(0).at("settings");
        all.update(answer.at("held_fixed"));
        EXPECT_EQ(secondsWith(file, all), answer.at("best").at(0).at("step_time_s")) << more;
        for (const auto& [pointer, rule] : answer.at("held_rules").items()) {
            EXPECT_TRUE(rule.is_string()) << pointer;
            EXPECT_THAT(run(kPlan + "--top 1 " + more).out, HasSubstr("\n  " + pointer + ": " + rule.get<std::string>() + "\n"));
        }
        EXPECT_THAT(answer.at("held_rules").at("/schedule/kind").get<std::string>(), HasSubstr("not seq-1f1b"));
    }
}

TEST(PlanCommand, HoldsAnEntryOfAListThatTheFileLeavesToItsBase)
{
    const std::string job = "plan " + gallery("05-") + " --top 1 --json --fix layout.pp=2 ",
                      wide = "cluster.tiers.1.bandwidth_gbs=100";
    const json held = runJson(job + "--fix " + wide), set = runJson(job + "--set " + wide);
    EXPECT_EQ(held["best"][0]["step_time_s"], set["best"][0]["step_time_s"]);
    EXPECT_LT(held["best"][0]["step_time_s"], runJson(job)["best"][0]["step_time_s"]);
}

TEST(PlanCommand, SaysWhatIsNoKeyBeforeItSearches)
{
    const auto refused = [](const std::string& arguments) {
        const Outcome outcome = run(kPlan + arguments);
        EXPECT_EQ(outcome.code, 1) << arguments;
        EXPECT_EQ(outcome.out, "") << arguments;
        return outcome.err;
    };
    EXPECT_THAT(refused("--fix layot.tp=4"), HasSubstr("nearest: \"layout\""));
    EXPECT_THAT(refused("--fix layout.ttp=4"), HasSubstr("nearest: \"tp\""));
    EXPECT_THAT(refused("--fix layout.tp=two"), HasSubstr("whole number"));
    EXPECT_THAT(refused("--fix schedule.kind=1f1bb"), HasSubstr("nearest: \"1f1b\""));
    EXPECT_THAT(refused("--why layout.ttp=4"), HasSubstr("nearest: \"tp\""));
    EXPECT_THAT(refused("--fix layout.tp=2 --fix /layout/tp=4"), HasSubstr("at 2 and at 4"));
    EXPECT_THAT(refused("--fix layout.tp=2 --free layout.tp"), HasSubstr("and to be free"));
    EXPECT_THAT(refused("--fix 'layout={\"tp\":8}'"), HasSubstr("as layout.tp"));
    EXPECT_THAT(refused("--fix training.recompute.layers=2"), HasSubstr("searched as a whole"));
    EXPECT_THAT(refused("--gpus 16 --fix cluster.nodes=4"), HasSubstr("are 2 nodes of 8"));
    EXPECT_THAT(refused("--margin 90"), HasSubstr("leaves nothing of the 2 GiB"));
    for (const char* wrong : {"--margin nan", "--margin -1", "--gpus 0", "--gpus 99999999999", "--top 0", "--price inf",
                              "--objective fast", "--part 3/2", "--part 1", "--fix layout.tp", "--for nope", "--free layout.tpp",
                              "--set =x", "--price 1e308", "--for ''", "--merge ''"})
        EXPECT_EQ(run(kPlan + wrong).code, 2) << wrong;
    EXPECT_THAT(run(kPlan + "--for megatro").err, HasSubstr("is none of megatron, torchtitan, "));
    EXPECT_THAT(run(kPlan + "--for megatro").err, HasSubstr("; nearest: \"megatron\""));
    EXPECT_THAT(run(kPlan + "--free layout.tpp").err, HasSubstr("nearest: \"layout.tp\""));
    EXPECT_THAT(run(kPlan + "--price 1e308").err, HasSubstr("--price: \"1e308\" is more than 1e12, the most that is taken"));
}

TEST(PlanCommand, ChangesAsLittleAsMakesItFit)
{
    const std::string job = gallery("05-") + " --set cluster.gpu.memory_gib=18 ";
    const json change = runJson("plan " + job + "--least-change -j 1 --json");
    ASSERT_TRUE(change.at("found").get<bool>());
    EXPECT_TRUE(change.at("proved").get<bool>());
    std::string sets;
    for (const auto& [pointer, value] : change.at("set").items()) {
        std::string key = pointer.substr(1);
        for (char& c : key)
            c = c == '/' ? '.' : c;
        sets += " --set '" + key + "=" + value.dump() + "'";
    }
    const json step = runJson("simulate " + job + sets + " --json");
    EXPECT_EQ(step.at("step_time_s"), change.at("after").at("step_time_s"));
    EXPECT_LE(step.at("peak_memory_gib").get<double>(), 18);
    const Outcome text = run("plan " + job + "--least-change -j 1");
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr(change.at("text").get<std::string>()));
    EXPECT_THAT(text.out, HasSubstr("--set "));
    EXPECT_THAT(text.out, HasSubstr("(" + std::to_string(change.at("sets_tried").get<int>()) + " sets of them tried"));
    EXPECT_THAT(run("plan " + gallery("05-") + " --least-change").out, HasSubstr("fits as it is"));
    const Outcome none = run("plan " + gallery("05-") + " --set cluster.gpu.memory_gib=0.1 --gpus 16 --least-change -j 1");
    EXPECT_NE(none.code, 0);
    EXPECT_THAT(none.err, HasSubstr("no change of recompute"));
}

TEST(PlanCommand, ListsTheBestOfEachNumberOfGpus)
{
    const std::string job = "plan " + gallery("05-") + " --fix schedule.kind=1f1b -j 1 ";
    const json sizes = runJson(job + "--sizes 32,16 --json").at("sizes");
    ASSERT_EQ(sizes.size(), 2U);
    for (const auto& [place, gpus] : {std::pair{0, 16}, {1, 32}}) {
        EXPECT_EQ(sizes.at(place).at("gpus"), gpus);
        EXPECT_EQ(sizes.at(place).at("best").at(0), runJson(job + "--gpus " + std::to_string(gpus) + " --json").at("best").at(0));
    }
    EXPECT_THAT(run(job + "--sizes 16").out, AllOf(HasSubstr("billion"), Not(HasSubstr("days"))));
    EXPECT_THAT(run(job + "--sizes 16 --set training.tokens=1e11").out, HasSubstr("GPU hours\n"));
    EXPECT_THAT(run(job + "--sizes 16 --set training.tokens=1e11 --price 2").out,
                AllOf(HasSubstr("cost"), HasSubstr("Sooner done or for less than any other of these: 16 GPUs in ")));
    EXPECT_THAT(run(job + "--objective tokens").out, AllOf(HasSubstr("proved best in tokens a day"), HasSubstr(" billion ")));
    EXPECT_THAT(run(job + "--sizes 16,x").err, HasSubstr("--sizes takes numbers of GPUs"));
}

/// The cells of the first row below a heading, by column. Cells are at least two blanks apart.
std::map<std::string, std::string> firstRow(const std::string& text, const std::string& heading)
{
    const std::vector<std::string> all = test::lines(text);
    const auto cells = [](const std::string& line) {
        std::vector<std::string> found;
        for (std::size_t at = 0; (at = line.find_first_not_of(' ', at)) != std::string::npos;) {
            const std::size_t end = std::min(line.find("  ", at), line.size());
            found.push_back(line.substr(at, end - at));
            at = end;
        }
        return found;
    };
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        if (all[i].find(heading) == std::string::npos)
            continue;
        const std::vector<std::string> names = cells(all[i]);
        std::vector<std::string> values = cells(all[i + 1]);
        if (values.size() > names.size()) // its place has no name
            values.erase(values.begin());
        for (std::size_t j = 0; j < std::min(names.size(), values.size()); ++j)
            row[names[j]] = values[j];
        break;
    }
    return row;
}

TEST(PlanCommand, ShowsOfTheBestWhatIsHeldToo)
{
    const auto row = firstRow(run(kPlan + "--top 1 --fix layout.tp=2 --fix schedule.kind=1f1b --fix layout.zero_stage=1 "
                                          "--fix training.micro_batch_size=1 --fix training.recompute=none")
                                  .out,
                              "schedule");
    EXPECT_EQ(row.at("tp"), "2");
    EXPECT_EQ(row.at("schedule"), "1f1b");
    EXPECT_EQ(row.at("zero"), "1");
    EXPECT_EQ(row.at("micro-batch"), "1");
    EXPECT_EQ(row.at("recompute"), "none");
}

TEST(PlanCommand, ShowsWhatWasAskedForAPriceOf)
{
    const std::string job = kPlan + "--top 1 --price 5 ";
    const auto isShown = [](const std::map<std::string, std::string>& row, const char* column, double value) {
        ASSERT_TRUE(row.contains(column)) << column;
        EXPECT_NEAR(std::stod(row.at(column)), value, 0.01 * value);
    };
    const json best = runJson(job + "--objective cost --json").at("best").at(0);
    isShown(firstRow(run(job + "--objective cost").out, "schedule"), "cost of a step", best.at("cost"));
    isShown(firstRow(run(kPlan + "--top 1 --objective gpu-hours").out, "schedule"), "GPU hours of a step", best.at("gpu_hours"));
    const std::string tokens = "--set training.tokens=1e6 ";
    isShown(firstRow(run(job + tokens).out, "schedule"), "cost of the run",
            runJson(job + tokens + "--json").at("best").at(0).at("cost"));
    const std::string sizes = run("plan " + gallery("60-") + " -j 1 --sizes 4,8 --price 5").out;
    EXPECT_TRUE(firstRow(sizes, "GPUs").contains("cost of a step")) << sizes;
    EXPECT_THAT(sizes, HasSubstr("follow from training.tokens"));
    EXPECT_THAT(run("plan " + gallery("60-") + " -j 1 --sizes 4").out, Not(HasSubstr("training.tokens")));
}

/// The best trains fewer sequences a step than what its hours are for.
TEST(PlanCommand, SaysOfAFreeBatchHowManySequencesItsHoursAreFor)
{
    const std::string job = "plan " + gallery("05-") + " -j 1 --fix layout.pp=1 --free training.global_batch_size ";
    const json best = runJson(job + "--gpus 24 --top 1 --json").at("best").at(0);
    ASSERT_EQ(best.at("settings").at("/training/global_batch_size"), 48);
    const double ofAStep = best.at("step_time_s").get<double>() * 24 / 3600;
    EXPECT_NEAR(best.at("gpu_hours").get<double>(), ofAStep * 64 / 48, 1e-6 * ofAStep);
    for (const auto& [asked, heading] : {std::pair{"--objective gpu-hours", "GPU hours for 64"}, {"--price 2", "cost for 64"}})
        for (const std::string form : {"--sizes 24 ", "--gpus 24 --top 1 "})
            EXPECT_THAT(run(job + form + asked).out, AllOf(HasSubstr(heading), Not(HasSubstr(" of a step"))));
}

TEST(PlanCommand, SaysOfLittleMemoryHowMuchItIs)
{
    const json best = runJson(kPlan + "--top 1 --json").at("best").at(0);
    const double mib = 1024 * best.at("peak_memory_gib").get<double>();
    ASSERT_LT(mib, 1024);
    const std::string text = run(kPlan + "--top 1 --objective headroom --why layout.pp=1").out;
    EXPECT_THAT(text, Not(HasSubstr("0.0 GiB")));
    EXPECT_NEAR(std::stod(firstRow(run(kPlan + "--top 1").out, "schedule").at("MiB")), mib, 0.06);
}

TEST(PlanCommand, SaysOfWhatTheFirstHasThatItHasIt)
{
    const json best = runJson(kPlan + "--top 1 --json").at("best").at(0);
    const std::string asked = "layout.tp=" + best.at("settings").at("/layout/tp").dump();
    const json why = runJson(kPlan + "--top 1 --json --why " + asked).at("why").at(0);
    EXPECT_EQ(why.at("is_first"), true);
    EXPECT_EQ(why.at("text"), "the first has it");
    const std::string text = run(kPlan + "--top 1 --why " + asked).out;
    EXPECT_THAT(text, HasSubstr("? The first has it.\n"));
    EXPECT_THAT(text, Not(HasSubstr("()")));
    const std::string other = asked == "layout.tp=1" ? "layout.tp=2" : "layout.tp=1";
    EXPECT_EQ(runJson(kPlan + "--top 1 --json --why " + other).at("why").at(0).at("is_first"), false);
    // Less is a minus as in the sentences of --explain, and no hyphen.
    for (const char* objective : {"", " --objective headroom"}) {
        const std::string terms = run(kPlan + "--top 1 --why " + other + objective).out;
        EXPECT_THAT(terms.substr(terms.rfind("Why not")), Not(testing::ContainsRegex("\n  [^\n]* -[0-9]"))) << terms;
        if (*objective == 0) { // which has terms that are less
            EXPECT_THAT(terms.substr(terms.rfind("Why not")), HasSubstr(" −")) << terms;
        }
    }
}

TEST(PlanCommand, TakesSettingsWithACommaBetweenAsOneQuestion)
{
    const std::string job = "plan " + gallery("05-") + " --fix schedule.kind=1f1b -j 1 --top 1 ";
    const json why = runJson(job + "--json --why layout.tp=4,layout.pp=2").at("why");
    ASSERT_EQ(why.size(), 1U);
    const json held = runJson(job + "--json --fix layout.tp=4 --fix layout.pp=2").at("best").at(0);
    EXPECT_EQ(why.at(0).at("best").at("step_time_s"), held.at("step_time_s"));
    EXPECT_THAT(run(job + "--why layout.tp=4,layout.pp=2").out, HasSubstr("Why not /layout/tp = 4, /layout/pp = 2? "));
    // Commas of a value are its own.
    const std::string full = "'training.recompute={\"kind\":\"full\",\"layers\":2}'";
    EXPECT_EQ(runJson(job + "--json --why " + full).at("why").at(0).at("asked").at("value").at("layers"), 2);
}

TEST(PlanCommand, MarksWhatFitsByAHair)
{
    const std::string job = "plan " + gallery("05-") + " --fix schedule.kind=1f1b -j 1 ";
    const json best = runJson(job + "--gpus 16 --top 1 --json").at("best").at(0);
    const double gib = best.at("peak_memory_gib").get<double>();
    const auto withMemory = [&](double factor) {
        return job + "--set cluster.gpu.memory_gib=" + std::to_string(factor * gib) + " ";
    };
    for (const char* form : {"--gpus 16 --top 1", "--sizes 16"}) {
        const std::string tight = run(withMemory(1.001) + form).out, roomy = run(withMemory(1.2) + form).out;
        EXPECT_THAT(tight, testing::ContainsRegex("only [0-9]+ MiB of [0-9.]+ GiB left")) << form;
        EXPECT_THAT(tight, testing::ContainsRegex("Tight: .* may not fit \\(--margin [0-9.]+ keeps [0-9.]+ GiB free\\)")) << form;
        EXPECT_THAT(roomy, Not(HasSubstr(" left"))) << form;
        EXPECT_THAT(roomy, Not(HasSubstr("--margin"))) << form;
    }
}

TEST(PlanCommand, SaysWhatAsksForMoreMemoryWhereThatIsSearched)
{
    const std::string job = "plan " + gallery("05-") + " --objective headroom -j 1 --gpus 16 --why training.recompute=none ";
    const json answer = runJson(job + "--json"), why = answer.at("why").at(0);
    const auto gibOf = [](const json& layout) { return layout.at("peak_memory_gib").get<double>(); };
    const double more = gibOf(why.at("best")) - gibOf(answer.at("best").at(0));
    EXPECT_GT(more, 0);
    EXPECT_NEAR(why.at("delta_gib").get<double>(), more, 1e-9);
    double sum = 0;
    for (const json& term : why.at("memory_terms"))
        sum += term.at("delta_gib").get<double>();
    EXPECT_NEAR(sum, more, 1e-9);
    EXPECT_THAT(run(job).out,
                AllOf(HasSubstr("The best with it holds "), HasSubstr(" GiB more:\n"), HasSubstr("  activations +")));
    EXPECT_FALSE(
        runJson("plan " + gallery("05-") + " -j 1 --gpus 16 --why layout.tp=2 --json").at("why").at(0).contains("delta_gib"));
}

TEST(PlanCommand, KeepsToTheRampOfABatchAndPlansPhasesOfGrowingSequences)
{
    const std::string job = "plan " + gallery("05-") + " --fix layout.tp=1 --fix layout.pp=1 --fix training.recompute=none -j 1 ";
    // Of 64 sequences 16 replicas have four each, of 8 at the beginning half of them none.
    EXPECT_EQ(runJson(job + "--json").at("best").at(0).at("settings").at("/layout/dp"), 16);
    const json ramped = runJson(job + "--ramp-batch 8:8 --json");
    EXPECT_EQ(ramped.at("best").at(0).at("settings").at("/layout/dp"), 8);
    EXPECT_THAT(ramped.at("held_rules").at("/training/global_batch_size"), HasSubstr("from 8 to 64 in 7 steps"));
    EXPECT_THAT(run(job + "--ramp-batch 16").err, HasSubstr("--ramp-batch takes FIRST:STEP"));
    EXPECT_THAT(run(job + "--ramp-batch 16:17").err, HasSubstr("30 in steps of 17 does"));
    EXPECT_THAT(run(job + "--ramp-batch 10:100").err, HasSubstr("from 10 one step of 54 does"));

    const json phases = runJson(job + "--phases 2048:128,4096:64 --json").at("phases");
    ASSERT_EQ(phases.size(), 2U);
    EXPECT_EQ(phases.at(1).at("best").at(0), runJson(job + "--top 1 --json").at("best").at(0));
    EXPECT_EQ(phases.at(0).at("phase").at("sequence_length"), 2048);
    EXPECT_EQ(phases.at(1).at("phase").at("changes"), "micro_batch_size 2");
    EXPECT_EQ(phases.at(1).at("phase").at("read_gib"), 0) << "what each GPU holds stays where it is";
    EXPECT_EQ(phases.at(1).at("phase").at("kept").at("step_time_s"), phases.at(1).at("best").at(0).at("step_time_s"));
    EXPECT_EQ(phases.at(1).at("phase").at("kept").at("gpu_hours"), phases.at(1).at("best").at(0).at("gpu_hours"));
    EXPECT_THAT(run(job + "--phases 2048:128,4096:64").out, HasSubstr("with the last one's"));
    for (const char* wrong : {"2048:", "2048,", ",2048", "2048:0", "2048:1:1", "x"})
        EXPECT_THAT(run(job + "--phases " + wrong).err, HasSubstr("--phases takes SEQUENCE")) << wrong;
    EXPECT_THAT(run(job + "--phases ''").err, HasSubstr("nothing is given"));
    EXPECT_THAT(run(job + "--phases 2048 --fix training.sequence_length=4096").err,
                HasSubstr("training.sequence_length is to be held at 4096, and a phase has 2048"));
    EXPECT_EQ(run(job + "--phases 2048 --sizes 8").code, 2);
}

/// What plan says when Ctrl-C, or another signal, comes as soon as it can be told.
Outcome interrupted(const std::string& arguments, const std::string& signal = "INT")
{
    const std::string program = RANKSCOPE_BIN_DIR "/rankscope-sim ";
    // The signals that a process catches, as the kernel writes them: SIGINT is the second bit.
    return test::shell(program + arguments +
                       " & pid=$!; until grep -q rankscope /proc/$pid/comm && grep -q 'SigCgt:.*[2367abef]$' /proc/$pid/status; "
                       "do sleep 0.01; done;"
                       " kill -" +
                       signal + " $pid; wait $pid");
}

TEST(PlanCommand, NamesWhatItDidNotComeToWhenItIsStopped)
{
    const std::string job = "plan " + gallery("42-") + " -j 1 ";
    const Outcome sizes = interrupted(job + "--sizes 4096,8192,16384");
    EXPECT_EQ(sizes.code, 1) << "none was found";
    EXPECT_THAT(sizes.err, EndsWith("no layout on 4,096 GPUs was found that is legal and fits before it was stopped\n"));
    EXPECT_THAT(sizes.out, HasSubstr("Stopped; not begun: 8,192 GPUs, 16,384 GPUs\n"));
    for (const char* signal : {"INT", "TERM", "HUP"})
        EXPECT_EQ(json::parse(interrupted(job + "--sizes 4096,8192 --json", signal).out).at("not_begun"), json({8192})) << signal;
    EXPECT_THAT(interrupted(job + "--phases 4096,8192,131072:128").out,
                HasSubstr("Stopped; not begun: 8,192 tokens; 131,072 tokens, 128 sequences a step\n"));
    EXPECT_EQ(json::parse(interrupted(job + "--phases 4096,8192:64 --json").out).at("not_begun"),
              json({{{"sequence_length", 8192}, {"global_batch_size", 64}}}));
    EXPECT_THAT(interrupted(job + "--sensitivity").out,
                AllOf(EndsWith("how far each constant may move.\n"), Not(HasSubstr("while one constant moves"))));
}

TEST(PlanCommand, SaysOnceOfAllGridsThatItDidNotComeTo)
{
    const std::string text = interrupted("plan " + gallery("42-") + " -j 1").out;
    const std::string untold = "open: not looked at yet: the search was stopped before\n";
    const std::size_t at = text.find(untold);
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(text.find(untold, at + 1), std::string::npos) << "once";
    EXPECT_THAT(text, testing::ContainsRegex("  [0-9,]+ grids, as tp [0-9]+, cp [0-9]+, pp [0-9]+, dp [0-9]+, ep [0-9]+[^:]*: " +
                                             untold));
}

TEST(PlanCommand, TellsTheMemoryOfSmallModelsInMebibytes)
{
    const std::string job = "plan " + gallery("60-") + " -j 1 --fix schedule.kind=1f1b ";
    EXPECT_THAT(run(job + "--sizes 4,8").out, AllOf(HasSubstr("MiB"), Not(HasSubstr(" 0.0 "))));
    EXPECT_THAT(run(job + "--phases 128,64").out, AllOf(HasSubstr("MiB"), Not(HasSubstr(" 0.0 "))));
}

TEST(PlanCommand, TellsNoTiesWhereNoStepsWereMeasured)
{
    const std::string job = "plan " + gallery("64-") + " -j 1 --top 5";
    const std::string text = run(job).out, untold = "Ties cannot be told: no steps of CPUs were measured\n";
    EXPECT_THAT(text, AllOf(HasSubstr(untold), Not(HasSubstr("tie with the first"))));
    const json answer = runJson(job + " --json");
    EXPECT_EQ(answer.at("no_ties"), "no steps of CPUs were measured");
    ASSERT_GT(answer.at("best").size(), 1U);
    for (const json& layout : answer.at("best"))
        EXPECT_EQ(layout.at("tie_with_first"), false);
    EXPECT_FALSE(runJson("plan " + gallery("05-") + " --fix schedule.kind=1f1b -j 1 --json").contains("no_ties"));
}

TEST(PlanCommand, SaysWhyNothingFitsAPhase)
{
    const std::string job = "plan " + gallery("60-") + " -j 1 --set cluster.gpu.memory_gib=0.001 --fix schedule.kind=1f1b ";
    for (const char* asked : {"--phases 128,64", "--sizes 8"}) {
        const Outcome outcome = run(job + asked);
        EXPECT_EQ(outcome.code, 1) << asked;
        EXPECT_THAT(outcome.out, AllOf(HasSubstr("nothing fits"), Not(HasSubstr("proved")))) << asked;
        EXPECT_THAT(outcome.err, HasSubstr("no layout on 8 GPUs was found that is legal and fits; the leanest")) << asked;
    }
}

TEST(PlanCommand, SaysWhatToTypeForTheFirst)
{
    const std::string job = gallery("60-");
    const Outcome text = run("plan " + job + " -j 1 --gpus 4 --fix layout.pp=1 --fix training.recompute=none");
    const std::vector<std::string> all = test::lines(text.out);
    const auto at = std::find(all.begin(), all.end(), "The first, for any command that reads the file:");
    ASSERT_NE(at, all.end()) << text.out;
    const json answer = runJson("plan " + job + " -j 1 --gpus 4 --fix layout.pp=1 --fix training.recompute=none --json");
    EXPECT_EQ(runJson("simulate " + job + " " + *std::next(at) + " --json").at("step_time_s"),
              answer.at("best").at(0).at("step_time_s"));
    ASSERT_GT(answer.at("pareto").size(), 1U);
    EXPECT_THAT(text.out, HasSubstr("Faster or leaner, of what was simulated: "));
}

TEST(PlanCommand, CountsNoMoreThanThereIs)
{
    const json answer = runJson(kPlan + "--top 1 --json --fix layout.tp=4 --fix schedule.kind=1f1b");
    EXPECT_LE(answer["evaluated"], answer["covered"]);
    EXPECT_LE(answer["simulated"], answer["tightened"]);
    const Outcome one = run("plan " + gallery("56-") + " -j 1 --top 1");
    EXPECT_THAT(one.out, HasSubstr(" on 1 GPU,"));
    EXPECT_THAT(one.out, Not(HasSubstr("1 GPUs")));
    EXPECT_EQ(one.err, "") << "a log is told of progress every half minute";
}

/// What to type after the line that says so.
std::string lastLine(const std::string& text)
{
    const std::vector<std::string> all = test::lines(text);
    return all.empty() ? std::string() : all.back();
}

/// Both examples of docs/manual.md, as they stand there.
TEST(PlanCommand, AnswersAsTheManualHasIt)
{
    const std::string manual = test::read(RANKSCOPE_SOURCE_DIR "/docs/manual.md");
    const auto twoDigits = [](const json& seconds) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%.2f s", seconds.get<double>());
        return std::string(text.data());
    };
    const auto isTold = [&](const std::string& text) { EXPECT_THAT(manual, HasSubstr(text)); };
    const json inTime = runJson("plan " + gallery("05-") + " --days 21 --set training.tokens=1e11 --gpus 256 --json");
    EXPECT_EQ(inTime.at("gpus"), 24);
    isTold("24 do it in 20.1, with pp 3, dp 8 in " + twoDigits(inTime.at("best").at(0).at("step_time_s")) + " a step");
    EXPECT_NEAR(inTime.at("deadline").at("run_days").get<double>(), 20.1, 0.05);
    const json& tried = inTime.at("deadline").at("tried");
    const json& before = tried.at(tried.size() - 2);
    EXPECT_EQ(before.at("gpus"), 16);
    EXPECT_NEAR(before.at("least_days").get<double>(), 26.5, 0.05);
    EXPECT_EQ(inTime.at("deadline").at("fewest"), true);

    const json free =
        runJson("plan " + gallery("05-") + " --gpus 24 --free training.global_batch_size --top 1 --json").at("best");
    isTold("trains 48 a step, dp 24 with micro-batches of 2 in " + twoDigits(free.at(0).at("step_time_s")) + ", which is " +
           twoDigits(free.at(0).at("pace_s")) + " for 64");
    EXPECT_EQ(free.at(0).at("settings").at("/training/global_batch_size"), 48);
    const std::string bySize =
        lastLine(run("plan " + gallery("05-") + " --sizes 4,8,16,32,64 --price 2 --margin 4 --set training.tokens=1e11").out);
    std::string told = manual;
    std::replace(told.begin(), told.end(), '\n', ' ');
    EXPECT_THAT(told, HasSubstr(bySize.substr(bySize.find(": ") + 2)));

    const std::size_t begin = manual.find("```sh\n", manual.find("save this as `job.sh`")) + 6;
    const std::string script = write("job.sh", manual.substr(begin, manual.find("```", begin) - begin));
    const Outcome imported = run("import " + script + " --set cluster.base=h100-sxm-ib400");
    EXPECT_THAT(imported.err, Not(HasSubstr("GPU"))) << "the manual: --set says what they are";
    const std::string job = write("job.json", imported.out);
    isTold("`simulate job.json`: " + twoDigits(runJson("simulate " + job + " --json").at("step_time_s")) + ".");
    const Outcome plan = run("plan " + job + " --for megatron");
    const std::string typed = lastLine(plan.out);
    const json step = runJson("simulate " + job + " " + typed + " --json");
    isTold("dp 16 with ZeRO 3 and micro-batches of 2 takes " + twoDigits(step.at("step_time_s")));
    EXPECT_THAT(plan.out, HasSubstr("proved best"));
    EXPECT_THAT(typed,
                AllOf(HasSubstr("layout.dp=16"), HasSubstr("layout.zero_stage=3"), HasSubstr("training.micro_batch_size=2")));
    EXPECT_THAT(run("export " + job + " --to megatron " + typed).out, HasSubstr("--micro-batch-size 2"));
}

TEST(ImportCommand, CountsNodesOfTheClusterThatIsNamed)
{
    const std::string script = write("racks.sh", "python pretrain_gpt.py --num-layers 24 --hidden-size 2048 --seq-length 2048 "
                                                 "--num-attention-heads 16 --max-position-embeddings 2048 --bf16\n");
    const json imported = runJson("import " + script + " --gpus 64 --set cluster.base=gb200-nvl72 --json");
    EXPECT_EQ(imported.at("scenario").at("cluster"), (json{{"base", "gb200-nvl72"}, {"nodes", 16}}));
    EXPECT_EQ(imported.at("problems"), json::array());
}

/// The sentence of docs/manual.md.
TEST(PlanCommand, SaysWhichLayoutLosesLeastWhereNotAllGoesAsPlanned)
{
    const std::string command = "plan " + gallery("05-") + " --robust";
    const json robust = runJson(command + " --json")["robust"];
    EXPECT_EQ(robust["cases"][0]["name"], "as given");
    for (const json& layout : robust["layouts"])
        EXPECT_EQ(layout["step_time_s"].size(), robust["cases"].size());
    EXPECT_THAT(robust["text"].get<std::string>(),
                testing::StartsWith("The first loses least: at most 0.9 % behind the best of these"));
    const Outcome printed = run(command);
    EXPECT_THAT(printed.out, HasSubstr("one GPU's transfers take twice as long"));
    EXPECT_THAT(printed.out,
                HasSubstr("The first loses least: at most 0.9 % behind the best of these (one GPU's transfers take twice"));
    EXPECT_EQ(run(command + " --objective headroom").code, 2);
    EXPECT_EQ(run(command + " --sizes 8,16").code, 2);
}

/// The sentences of docs/manual.md.
TEST(PlanCommand, KeepsMemoryFreeInTheManualsExamples)
{
    const std::string manual = test::read(RANKSCOPE_SOURCE_DIR "/docs/manual.md");
    const json phases = runJson("plan " + gallery("45-") + " --phases 8192,131072:8 --margin 4 --json").at("phases");
    const std::string first = phases.at(0).at("best").at(0).at("step_time_s").dump(),
                      second = phases.at(1).at("best").at(0).at("step_time_s").dump();
    EXPECT_NEAR(std::stod(first), 10.23, 0.005);
    EXPECT_NEAR(std::stod(second), 30.1, 0.05);
    EXPECT_THAT(manual, HasSubstr("--phases 8192,131072:8 --margin 4` plans each phase by itself (cp 2, dp 32 in 10.23 s, then "
                                  "tp 4, cp 8, dp 2 in 30.1 s)"));
    for (const json& phase : phases)
        EXPECT_GE(phase.at("best").at(0).at("headroom_gib").get<double>(), 4);
    const std::string tight = run("plan " + gallery("45-") + " --phases 8192,131072:8").out;
    EXPECT_THAT(tight,
                HasSubstr("Tight: only 159 MiB of 80 GiB left; what the model does not know may not fit (--margin 4 keeps 4 "
                          "GiB free)\n"));
    EXPECT_THAT(manual, HasSubstr("\"Tight: only 159 MiB of 80 GiB left\""));
    const json ramp = runJson("plan " + gallery("05-") + " --ramp-batch 16:16 --margin 4 --json --top 1").at("best").at(0);
    EXPECT_NEAR(ramp.at("step_time_s").get<double>(), 6.39, 0.005);
    EXPECT_EQ(ramp.at("settings").at("/layout/dp"), 8);
    EXPECT_EQ(ramp.at("settings").at("/layout/zero_stage"), 3);
    EXPECT_THAT(manual, HasSubstr("pp 2, dp 8 with ZeRO 3\nin 6.39 s"));
    const std::string sizes =
        run("plan " + gallery("05-") + " --sizes 4,8,16 --price 2 --margin 4 --set training.tokens=1e11").out;
    EXPECT_THAT(sizes, AllOf(HasSubstr("21,487"), HasSubstr("21,525"), Not(HasSubstr("Tight"))));
}

TEST(PlanCommand, DealsLayersByWhatStagesCost)
{
    const std::string command =
        "plan " + gallery("45-") + " --fix layout.tp=4 --fix layout.pp=8 --fix schedule.kind=interleaved-1f1b";
    const json held = runJson(command + " --json")["best"][0];
    EXPECT_NEAR(held["step_time_s"], 11.17, 0.005);
    const auto spread = held["settings"]["/schedule/layers_per_stage"].get<std::vector<int>>();
    ASSERT_EQ(spread.size(), 88U); // for 80 layers: not all stages have one
    for (std::size_t stage = 0; stage < spread.size(); ++stage)
        EXPECT_EQ(spread[stage], stage > 0 && stage <= 80 ? 1 : 0) << stage;
    for (const auto& [chunks, seconds] : {std::pair{"10", 11.18}, std::pair{"5", 11.23}}) { // even: 80 of one, 40 of two
        const json even = runJson(command + " --fix schedule.virtual_stages=" + chunks + " --json")["best"][0];
        EXPECT_NEAR(even["step_time_s"], seconds, 0.005);
    }
    const std::string freed = command + " --free schedule.layers_per_stage --margin 4";
    const json best = runJson(freed + " --json")["best"][0];
    EXPECT_NEAR(best["step_time_s"], 10.64, 0.005);
    const json layers = best["settings"]["/schedule/layers_per_stage"];
    EXPECT_EQ(layers.back(), 0);
    EXPECT_THAT(run(freed + " --top 1").out, HasSubstr("Layers of each stage of 1: " + layers.dump()));
}

TEST(PlanCommand, DealsNoStagesWithoutLayersWhereTheFilesListIsOfAnotherNumber)
{
    const Outcome prime = run("plan " + gallery("60-") + " --gpus 307"); // the file has a list, of two stages
    EXPECT_EQ(prime.code, 1);
    EXPECT_THAT(prime.err, HasSubstr("num_hidden_layers 4 cannot fill pp 307 x virtual_stages 1 = 307 stages"));
}

TEST(PlanCommand, NamesASizeThatDoesNotDivideTheGpus)
{
    EXPECT_THAT(run("plan " + gallery("60-") + " --fix layout.tp=16").err, HasSubstr("; 16 does not divide 8; nearest: 4"))
        << "of 4 heads";
    EXPECT_THAT(run("plan " + gallery("60-") + " --why layout.tp=3").out,
                HasSubstr("no grid has it on 8 GPUs; 3 does not divide 8; nearest: 2, 4"));
    const std::string heads25 = "plan " + gallery("17-") + " -j 1 --fix layout.tp="; // on 4 GPUs
    EXPECT_THAT(run(heads25 + "3").err, HasSubstr("; 3 does not divide 4; nearest: 1\n"));
    EXPECT_THAT(run(heads25 + "2").err,
                AllOf(HasSubstr("num_attention_heads 25"), HasSubstr("; nearest: 1"), Not(HasSubstr("1, 5"))));
}

// Megatron-LM on 64 GPUs, 162 billion parameters (SC21, figure 13): of tensor times pipeline parallelism, 8 x 8 is the fastest.
TEST(PlanCommand, FindsTheSplitThatMegatronsSweepFound)
{
    const json answer =
        runJson("plan " + gallery("35-") +
                " -j 1 --top 1 --json --fix layout.cp=1 --fix layout.dp=1 --fix layout.zero_stage=0 --fix layout.dp_shard=1"
                " --fix layout.sequence_parallel=false --fix training.micro_batch_size=1 --fix training.recompute=full"
                " --fix schedule.kind=1f1b --fix schedule.virtual_stages=1");
    EXPECT_EQ(answer["proved"], true);
    EXPECT_EQ(answer["best"][0]["settings"]["/layout/tp"], 8);
    EXPECT_EQ(answer["best"][0]["settings"]["/layout/pp"], 8);
}

} // namespace
