// `schedule` against the orders that frameworks' own generators made, and their times.
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace {

using nlohmann::json;
using test::lines;
using test::run;
using test::runJson;
using testing::HasSubstr;

json goldens(const std::string& name)
{
    return json::parse(test::read(RANKSCOPE_TEST_DATA "/schedules/" + name + ".json")).at("cases");
}

/// `--kind … --group`, or nothing where the command line has no word for the case.
std::string optionsFor(const std::string& kind, const json& golden)
{
    const int ranks = golden.at("pp"), virtualStages = golden.at("v"), microbatches = golden.at("m");
    std::string options =
        "--kind " + kind + " --stages " + std::to_string(ranks) + " --microbatches " + std::to_string(microbatches);
    if (virtualStages > 1)
        options += " --virtual " + std::to_string(virtualStages);
    if (kind != "interleaved-1f1b")
        return options;
    if (!golden.contains("params")) // PyTorch's rounds
        return options + " --group " + std::to_string(microbatches / std::max(1, microbatches / ranks));
    if (golden.at("params").at("overlap_moe_expert_parallel_comm"))
        return {};
    return options + " --group " + golden.at("params").at("microbatch_group_size_per_vp_stage").dump();
}

TEST(ScheduleCommand, PrintsTheFrameworksOrders)
{
    const std::vector<std::pair<std::string, std::string>> families{{"pytorch_gpipe", "gpipe"},
                                                                    {"pytorch_1f1b", "1f1b"},
                                                                    {"megatron_1f1b", "1f1b"},
                                                                    {"pytorch_interleaved1f1b", "interleaved-1f1b"},
                                                                    {"megatron_interleaved", "interleaved-1f1b"},
                                                                    {"pytorch_loopedbfs", "looped-bfs"},
                                                                    {"pytorch_zbv", "zb-v"},
                                                                    {"sail_vhalf", "v-half"},
                                                                    {"sail_vmin", "v-min"},
                                                                    {"pytorch_interleavedzerobubble", "interleaved-zb"},
                                                                    {"deepseek_dualpipe", "dualpipe"},
                                                                    {"deepseek_dualpipev", "dualpipe-v"}};
    int compared = 0;
    for (const auto& [file, kind] : families)
        for (const json& golden : goldens(file)) {
            const std::string options = optionsFor(kind, golden);
            if (options.empty())
                continue;
            SCOPED_TRACE(golden.at("id").get<std::string>());
            std::vector<std::string> rows = golden.at("ranks");
            for (std::string& row : rows)
                std::replace(row.begin(), row.end(), ' ', ',');
            EXPECT_EQ(lines(run("schedule " + options + " --format csv").out), rows);
            ++compared;
        }
    EXPECT_GT(compared, 80);
}

TEST(ScheduleCommand, TimesThemAsAnIndependentSimulatorDoes)
{
    for (const auto& [file, kind] :
         std::vector<std::pair<std::string, std::string>>{{"pytorch_1f1b", "1f1b"}, {"pytorch_loopedbfs", "looped-bfs"}})
        for (const json& golden : goldens(file)) {
            SCOPED_TRACE(golden.at("id").get<std::string>());
            for (const json& timing : golden.at("refsim")) {
                const std::string times = timing.at("f").dump() + "," + timing.at("b").dump() + "," + timing.at("w").dump() +
                                          "," + timing.at("comm").dump();
                const json ours = runJson("schedule " + optionsFor(kind, golden) + " --format json --times " + times);
                EXPECT_EQ(ours.at("ranks"), golden.at("ranks"));
                EXPECT_EQ(ours.at("stage_to_rank"), golden.at("stage_to_rank"));
                EXPECT_EQ(ours.at("peak_activations"), golden.at("peak_activations"));
                EXPECT_NEAR(ours.at("makespan").get<double>(), timing.at("makespan").get<double>(), 1e-9);
                EXPECT_NEAR(ours.at("span").get<double>(), timing.at("zb_cost").get<double>(), 1e-9);
                EXPECT_EQ(ours.at("busy"), timing.at("busy"));
            }
        }
}

TEST(ScheduleCommand, PlansByTheGivenTimesAndMemory)
{
    int compared = 0;
    for (const json& golden : goldens("sail_zb_auto")) {
        const json& params = golden.at("params");
        const double limit = params.at("mem_limit").get<double>() / params.at("mem_f").get<double>() / golden.at("pp").get<int>();
        if (limit != 1 && limit != 2)
            continue;
        SCOPED_TRACE(golden.at("id").get<std::string>());
        const json ours = runJson("schedule " + optionsFor(limit == 1 ? "zb-1p" : "zb-2p", golden) + " --format json --times " +
                                  params.at("f").dump() + "," + params.at("b").dump() + "," + params.at("w").dump() + "," +
                                  params.at("comm").dump() + " --memory " + params.at("mem_f").dump() + "," +
                                  std::to_string(-params.at("mem_w").get<long>()));
        EXPECT_EQ(ours.at("ranks"), golden.at("ranks"));
        ++compared;
    }
    EXPECT_GT(compared, 15);
}

TEST(ScheduleCommand, WritesBlocksAndKnowsHowManyChunksAKindTakes)
{
    const json ours = runJson("schedule --kind dualpipe-v --stages 2 --microbatches 4 --format json");
    EXPECT_EQ(ours.at("ranks").at(0), "0F0 0F1 0F2 3F0 3I0 3W0 3F1 (0F3;3B1)OVERLAP_F_B (3F2;0B0)OVERLAP_F_B 3B2 "
                                      "(3F3;0B1)OVERLAP_F_B 3B3 0I2 0W2 0I3 0W3");
    EXPECT_EQ(ours.at("stage_to_rank"), (json{0, 1, 1, 0}));
    EXPECT_EQ(ours.at("makespan"), 26);
}

TEST(ScheduleCommand, CountsFromTheContractsDefaults)
{
    const json ours = runJson("schedule --kind 1f1b --stages 4 --microbatches 8 --format json");
    EXPECT_EQ(ours.at("makespan"), 33) << "(m + p - 1)(F + B)";
    EXPECT_EQ(ours.at("span"), 33);
    EXPECT_EQ(ours.at("busy"), (json{24, 24, 24, 24}));
    EXPECT_EQ(ours.at("peak_activations"), (json{4, 3, 2, 1}));
    EXPECT_EQ(ours.at("stage_to_rank"), (json{0, 1, 2, 3}));
    EXPECT_NEAR(ours.at("bubble").at("over_ideal").get<double>(), 3.0 / 8, 1e-12);
    EXPECT_NEAR(ours.at("bubble").at("of_makespan").get<double>(), 9.0 / 33, 1e-12);
    EXPECT_NEAR(ours.at("bubble").at("of_span").get<double>(), 9.0 / 33, 1e-12);
    const json heavy = runJson("schedule --kind 1f1b --stages 4 --microbatches 8 --format json --memory 2.5,1");
    EXPECT_EQ(heavy.at("peak_activations"), (json{10, 7.5, 5, 2.5}));
}

TEST(ScheduleCommand, ReadsItFromAScenario)
{
    EXPECT_EQ(run("schedule " + test::gallery("17-")).out, run("schedule --kind 1f1b --stages 4 --microbatches 8").out);
    const std::string byHand = run("schedule " + test::gallery("20-")).out;
    EXPECT_THAT(byHand, testing::StartsWith("0F0,0F1,0F2,0F3,0I0,0W0"));
    EXPECT_EQ(
        run("schedule " + test::gallery("17-") + " --set training.global_batch_size=4 --set training.micro_batch_size=1").out,
        run("schedule --kind 1f1b --stages 4 --microbatches 4").out);
}

TEST(ScheduleCommand, DrawsATimeline)
{
    EXPECT_EQ(run("schedule --kind 1f1b --stages 2 --microbatches 3 --format ascii").out,
              "rank 0  F0 F1       B0--- F2 B1---    B2---\n"
              "rank 1     F0 B0--- F1 B1--- F2 B2---\n"
              "\n"
              "makespan 12, span 12; idle 25.0 % of the makespan as the mean of the ranks, 33.3 % over ideal; at most 2 "
              "activations held\n");
    const std::string chunks = run("schedule --kind interleaved-1f1b --stages 2 --virtual 2 --microbatches 2 --format ascii").out;
    EXPECT_THAT(chunks, HasSubstr("rank 0  0F0 0F1 2F0 2F1"));
    const std::string longOne = run("schedule --kind gpipe --stages 2 --microbatches 900 --format ascii").out;
    EXPECT_THAT(longOne, HasSubstr("the first 400 of 2703 columns"));
    const std::string farOne = run("schedule --kind 1f1b --stages 2 --microbatches 2 --times 1e-12,1e12,0,0 --format ascii").out;
    EXPECT_THAT(farOne, HasSubstr("(the first 400 columns)")) << "more than can be counted";
}

TEST(Schedule, SaysWhatAnOptionWithoutItsValueNeeds)
{
    for (const char* option : {"--format", "--streams", "--receives", "--dialect"}) {
        const test::Outcome outcome = run(std::string("schedule ") + option);
        EXPECT_EQ(outcome.code, 2);
        EXPECT_NE(outcome.err.find(std::string(option) + " needs WORD"), std::string::npos) << outcome.err;
    }
}

TEST(ScheduleCommand, NamesWhatWouldWork)
{
    const test::Outcome unknown = run("schedule --kind 1f1c --stages 2 --microbatches 2");
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("nearest: \"1f1b\""));
    const test::Outcome group = run("schedule --kind interleaved-1f1b --stages 4 --virtual 2 --microbatches 6");
    EXPECT_EQ(group.code, 2);
    EXPECT_THAT(group.err, HasSubstr("6"));
}

TEST(ScheduleCommand, SynthesisesUnderAMemoryCapAndSaysHowGoodItIs)
{
    const std::string options = "schedule --kind auto --stages 4 --microbatches 8 --times 10,12,8,1 --memory 4,3";
    const json made = runJson(options + " --memory-cap 12 --format json");
    for (const double peak : made.at("peak_activations"))
        EXPECT_LE(peak, 12);
    const double span = made.at("span"), bound = made.at("lower_bound");
    EXPECT_GE(span, bound);
    EXPECT_NEAR(made.at("gap").get<double>(), span / bound - 1, 1e-12);
    EXPECT_FALSE(made.at("construction").get<std::string>().empty());
    EXPECT_LE(runJson(options + " --memory-cap 16 --format json").at("span").get<double>(), span);

    const auto csv = run(options + " --memory-cap 12");
    EXPECT_EQ(lines(csv.out).size(), 4U);
    EXPECT_THAT(csv.err, HasSubstr("no order of whole micro-batches on a line is below "));
    EXPECT_THAT(run(options + " --memory-cap 3").err, HasSubstr("nearest cap that works: 4"));
}

/// The command of docs/measurements.md.
TEST(ScheduleCommand, SynthesisesWhatWasMeasured)
{
    const std::string page = test::read(RANKSCOPE_SOURCE_DIR "/docs/measurements.md"),
                      named = "`rankscope-sim schedule --kind auto";
    const std::size_t begin = page.find(named) + std::string("`rankscope-sim ").size();
    const json told = runJson(page.substr(begin, page.find('`', begin) - begin) + " --format json");
    EXPECT_EQ(told.at("gap"), 0);
    EXPECT_NEAR(told.at("bubble").at("of_span").get<double>(), 0.0210, 0.00005);
}

TEST(ScheduleCommand, PlansByTheGivenTimes)
{
    const std::string options = "schedule --kind zb-2p --stages 4 --microbatches 8 --times 10,12,8,1 --format json";
    EXPECT_NE(runJson(options).at("ranks"),
              runJson("schedule --kind zb-2p --stages 4 --microbatches 8 --format json").at("ranks"));
}

TEST(ScheduleCommand, HoldsNoMoreUntilTheWeightGradientThanAll)
{
    for (const char* kind : {"1f1b", "zb-h1", "auto"}) {
        const std::string job = std::string("schedule --stages 4 --microbatches 8 --kind ") + kind + " --memory ";
        const test::Outcome outcome = run(job + "1,5");
        EXPECT_EQ(outcome.code, 2) << kind;
        EXPECT_THAT(outcome.err, testing::HasSubstr("no more than all of it; nearest: 1,1")) << kind;
        EXPECT_EQ(run(job + "1,1").code, 0) << kind;
    }
}

TEST(ScheduleCommand, RefusesBillionsOfActionsAndTimesOfManyMillions)
{
    const test::Outcome billions = run("schedule --kind 1f1b --stages 1000 --microbatches 1000000");
    EXPECT_NE(billions.code, 0);
    EXPECT_THAT(billions.err,
                testing::HasSubstr("1f1b on 1,000 pipeline ranks with 1 virtual stage and 1,000,000 micro-batches is more "
                                   "than 100,000,000 actions; nearest: 33,333 micro-batches"));
    const test::Outcome times = run("schedule --kind 1f1b --stages 8 --microbatches 1000000 --format json");
    EXPECT_NE(times.code, 0);
    EXPECT_THAT(times.err, testing::HasSubstr("GiB of memory, the limit is 1.0 GiB; nearest: "));
}

} // namespace
