// `simulate`, `memory` and `sweep`: their forms, and that they say the same as each other and as the library.
#include "tests/sim/cli/program.h"

#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"
#include "sim/text/number_text.h"
#include "sim/trace/export.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>

namespace {

using nlohmann::json;
using test::gallery;
using test::lines;
using test::Outcome;
using test::run;
using test::runJson;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Without what may differ from run to run.
json withoutEffort(json metrics)
{
    metrics.erase("wall_ms");
    metrics.erase("simulated_ops");
    return metrics;
}

TEST(Simulate, HasEveryKeyOfTheContract)
{
    const json metrics = runJson("simulate --json " + gallery("05-"));
    for (const char* key : {"step_time_s", "tokens_per_second", "tokens_per_second_per_gpu", "model_tflops_per_gpu",
                            "hardware_tflops_per_gpu", "mfu", "mfu_full_attention", "hfu", "bubble_fraction", "peak_memory_gib",
                            "parameters", "world_size", "simulated_ops", "wall_ms"})
        EXPECT_GT(metrics.at(key).get<double>(), 0) << key;
    EXPECT_TRUE(metrics.at("fits").is_boolean());
    for (const char* axis : {"tp", "cp", "ep", "pp", "dp"})
        EXPECT_TRUE(metrics.at("exposed_comm_fraction").at(axis).is_number()) << axis;
    ASSERT_THAT(metrics.at("per_pipeline_rank"), SizeIs(2));
    for (const char* key : {"busy_s", "bubble_s", "comm_s", "peak_memory_gib"})
        EXPECT_TRUE(metrics.at("per_pipeline_rank")[0].at(key).is_number()) << key;
}

TEST(Simulate, SaysWhatFailuresLeaveOfARun)
{
    const std::string failing = gallery("42-") + R"( --set 'perturbations=[{"kind":"failure","mtbf_hours":45565,"days":54}]')";
    const json without = runJson("simulate --json " + gallery("42-")), with = runJson("simulate --json " + failing);
    EXPECT_FALSE(without.contains("goodput"));
    EXPECT_EQ(with.at("step_time_s"), without.at("step_time_s")) << "a step is as without";
    const json& goodput = with.at("goodput");
    EXPECT_NEAR(goodput.at("failures").get<double>(), 466, 0.5);
    double sum = 0;
    for (const auto& [what, share] : goodput.at("shares").items())
        sum += share.get<double>();
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_LT(goodput.at("months").at("interval").at(0), goodput.at("goodput"));
    EXPECT_GT(goodput.at("months").at("interval").at(1), goodput.at("goodput"));
    const Outcome told = run("simulate " + failing);
    EXPECT_THAT(told.out, HasSubstr("466 in 54.0 days, one in 2.78 h"));
    EXPECT_THAT(told.out, HasSubstr("\ngoodput "));
    const json because = runJson("simulate --json --explain " + failing).at("because");
    EXPECT_EQ(because.back().at("key"), "goodput.goodput");
    EXPECT_EQ(because.back().at("value"), goodput.at("goodput"));
    const Outcome twice = run("validate " + gallery("42-") + R"( --set 'perturbations=[{"kind":"failure"},{"kind":"failure"}]')");
    EXPECT_EQ(twice.code, 1);
    EXPECT_THAT(twice.out, HasSubstr("/perturbations/1/kind: failures are described once"));
}

TEST(Simulate, SaysOfWhatTheBubbleIsAShare)
{
    // The source that it names defines it over the ideal time.
    const std::string told = run("simulate --explain " + gallery("17-")).out;
    EXPECT_THAT(told, testing::ContainsRegex(
                          "Bubble: [^\n]+\n[^\n]+\n( +t_[^\n]+\n| +T: [^\n]+\n)+ +Mean over ranks, of the whole step"));
}

TEST(Simulate, TellsSmallNumbersInTheirOwnUnits)
{
    const std::string told = run("simulate --explain " + gallery("57-")).out;
    EXPECT_THAT(told, HasSubstr(" GFLOP/s a GPU)"));
    EXPECT_THAT(told, testing::ContainsRegex("peak memory +[0-9.]+ MiB of 2 GiB"));
    EXPECT_THAT(told, testing::Not(testing::ContainsRegex("[+-]0\\.0 %")));
    EXPECT_THAT(run("simulate " + gallery("05-")).out, testing::ContainsRegex("peak memory +[0-9]+\\.[0-9][0-9] of 80 GiB"));
}

TEST(Simulate, TellsWaitingForTheHostApartFromCommunication)
{
    const std::string job = gallery("86-") + " --set training.offload.optimizer=1";
    const std::string told = run("simulate " + job).out;
    EXPECT_THAT(told, HasSubstr("\nwaiting for the host "));
    EXPECT_THAT(told, testing::ContainsRegex("pipeline rank +computing +exposed comm +host +bubble"));
    const json answer = runJson("simulate --json " + job);
    const json& rank = answer.at("per_pipeline_rank")[0];
    double exposed = 0;
    for (const auto& [axis, share] : answer.at("exposed_comm_fraction").items())
        exposed += share.get<double>();
    const double step = answer.at("step_time_s").get<double>(), host = rank.at("host_s").get<double>();
    EXPECT_GT(host, 0.3 * step);
    EXPECT_NEAR(rank.at("comm_s").get<double>() - host, exposed * step, 1e-6 * step);
    EXPECT_THAT(run("simulate --set training.stack.cuda_graphs=step --set training.stack.step_ms=0 " + gallery("86-")).out,
                testing::Not(HasSubstr(" host ")));
}

TEST(Simulate, PricesARunWithItsFailuresToo)
{
    const std::string failing = gallery("42-") + R"( --set 'perturbations=[{"kind":"failure","mtbf_hours":45565,"days":54}]')";
    const json priced = runJson("simulate --json --price 2 " + failing + " --set training.tokens=");
    const std::string told = run("simulate --price 2 " + failing + " --set training.tokens=").out;
    const std::string with = sim::numberText(priced.at("goodput").at("run").at("price").get<double>(), sim::Unit::number);
    EXPECT_THAT(told, HasSubstr(with)) << told;
    EXPECT_THAT(told.substr(told.find("goodput")), HasSubstr("such a run"));
}

TEST(Simulate, TellsTheTimesOfManySteps)
{
    const std::string jittered = gallery("05-") + R"( --set 'perturbations=[{"kind":"jitter","sigma":0.05,"seed":3}]')";
    const json answer = runJson("simulate --json --steps 40 " + jittered);
    const json& times = answer.at("step_times");
    EXPECT_EQ(times.at("steps"), 40);
    EXPECT_LT(times.at("min_s"), times.at("p10_s"));
    EXPECT_LT(times.at("p10_s"), times.at("median_s"));
    EXPECT_LT(times.at("median_s"), times.at("p90_s"));
    EXPECT_LE(times.at("p90_s"), times.at("max_s"));
    EXPECT_EQ(runJson("simulate --json --steps 1 " + jittered).at("step_times").at("mean_s"), answer.at("step_time_s"));
    EXPECT_THAT(run("simulate --steps 40 " + jittered).out, HasSubstr("step times: "));
    EXPECT_FALSE(runJson("simulate --json " + jittered).contains("step_times"));
    for (const char* wrong : {"0", "1001", "x", "1e2", "99999999999999999999"})
        EXPECT_EQ(run(std::string("simulate --steps ") + wrong + " " + jittered).code, 2) << wrong;
    const Outcome much = run("simulate --steps 1000 " + gallery("45-") + " --set training.global_batch_size=512" +
                             R"( --set 'perturbations=[{"kind":"jitter","sigma":0.1}]')");
    EXPECT_EQ(much.code, 2);
    EXPECT_THAT(much.err, HasSubstr("; nearest: "));
}

TEST(Simulate, TellsNoIntervalOfACpu)
{
    const json answer = runJson("simulate --json --explain " + gallery("56-"));
    const json& interval = answer.at("interval");
    const double step = answer.at("step_time_s");
    EXPECT_EQ(interval.at("step_time_s"), json({step / 2, step * 2}))
        << "scripts get two numbers, and that no share of steps lies there";
    EXPECT_EQ(interval.at("level"), 0);
    EXPECT_THAT(run("simulate " + gallery("56-")).out, Not(HasSubstr("likely")));
    EXPECT_EQ(interval.at("basis"), "no steps of CPUs were measured");
    for (const json& because : answer.at("because"))
        EXPECT_THAT(because.at("key").get<std::string>(), Not(HasSubstr("interval.")));
    EXPECT_THAT(answer.dump(), Not(HasSubstr("no interval of their own")));
    for (const json& finding : answer.at("findings"))
        for (const json& edit : finding.value("tried", json::array()))
            if (!edit.contains("error")) {
                EXPECT_EQ(edit.at("level"), 0) << edit.dump();
                EXPECT_FALSE(edit.at("can_tell")) << edit.dump();
            }
}

TEST(Simulate, SaysHowSureWhatWasTriedIs)
{
    const json answer = runJson("simulate --json --explain " + gallery("17-"));
    int tried = 0;
    for (const json& finding : answer.at("findings"))
        for (const json& edit : finding.at("tried")) {
            EXPECT_THAT(edit.at("interval"), SizeIs(2));
            EXPECT_TRUE(edit.at("can_tell").is_boolean());
            ++tried;
        }
    EXPECT_GT(tried, 0);
}

TEST(Simulate, PrintsEveryDigitTheLibraryHas)
{
    const std::string file = gallery("41-");
    const sim::Metrics m = sim::simulate(sim::readScenario(file, sim::Catalogue::load(sim::Catalogue::findAssets())))->metrics();
    const json printed = runJson("simulate --json " + file);
    EXPECT_EQ(printed.at("step_time_s").get<double>(), m.stepTimeSeconds);
    EXPECT_EQ(printed.at("mfu").get<double>(), m.mfu);
    EXPECT_EQ(printed.at("bubble_fraction").get<double>(), m.bubbleFraction);
    EXPECT_EQ(printed.at("peak_memory_gib").get<double>(), m.peakMemoryGib);
    EXPECT_EQ(printed.at("per_pipeline_rank")[3].at("busy_s").get<double>(), m.perPipelineRank[3].busySeconds);
}

TEST(Simulate, GivesTheSameNumbersRankByRank)
{
    for (const char* name : {"21-", "09-", "51-"}) { // a slow GPU in 64 ranks; all four dimensions; experts
        SCOPED_TRACE(name);
        const std::string file = gallery(name);
        const json folded = runJson("simulate --json " + file);
        const json full = runJson("simulate --json --full " + file);
        EXPECT_EQ(withoutEffort(folded), withoutEffort(full));
        EXPECT_GT(full.at("simulated_ops").get<double>(), folded.at("simulated_ops").get<double>());
    }
}

TEST(Simulate, IsTheSameEachTime)
{
    const std::string command = "simulate --json " + gallery("52-");
    EXPECT_EQ(withoutEffort(runJson(command)), withoutEffort(runJson(command)));
}

TEST(Simulate, SpeaksToPeople)
{
    const Outcome outcome = run("simulate " + gallery("42-"));
    EXPECT_EQ(outcome.code, 0);
    for (const char* part : {"step time", "MFU", "of 80 GiB", "405,853,388,800", "16,384 in 16 classes", "where the time goes",
                             "exposed tp communication", "bubble", "pipeline rank"})
        EXPECT_THAT(outcome.out, HasSubstr(part));
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("exposed cp"))) << "there is no context parallelism";
}

TEST(Simulate, SharesOfTheStepAddUpAsTheyAreRead)
{
    for (const char* file : {"05-", "17-", "42-", "52-", "65-"}) {
        long ofStep = 0;
        static const std::regex kShare("([0-9]+)\\.([0-9]) %");
        for (const std::string& line : lines(run("simulate " + gallery(file)).out)) {
            std::vector<long> tenths;
            for (std::sregex_iterator at(line.begin(), line.end(), kShare), end; at != end; ++at)
                tenths.push_back(10 * std::stol((*at)[1]) + std::stol((*at)[2]));
            const bool isRank = !tenths.empty() && line.front() == ' ';
            if (isRank)
                EXPECT_EQ(std::accumulate(tenths.begin(), tenths.end(), 0L), 1000) << file << " " << line;
            else if (line.starts_with("computing") || line.starts_with("exposed") || line.starts_with("waiting for the host") ||
                     line.starts_with("bubble"))
                ofStep += tenths.at(0);
        }
        EXPECT_EQ(ofStep, 1000) << file;
    }
}

TEST(Simulate, WhatIsWaitedForReadsAsInFindings)
{
    for (const char* step : {"17- --set training.global_batch_size=8", "17-", "42-"}) { // of the first most is bubble
        const std::string command = "simulate " + gallery(std::string(step).substr(0, 3)) + std::string(step).substr(3);
        const json answer = runJson(command + " --json");
        const std::string bubble = sim::percentText(answer.at("bubble_fraction").get<double>());
        EXPECT_THAT(run(command).out, testing::ContainsRegex("\nbubble +" + bubble)) << command;
        for (const json& finding : answer.at("findings")) {
            if (finding.at("kind") == "bubble") {
                EXPECT_THAT(finding.at("title").get<std::string>(), testing::StartsWith(bubble)) << command;
            }
        }
    }
}

TEST(Simulate, EveryGalleryFileCanBeSimulated)
{
    for (const auto& file : test::tried(test::galleryFiles()))
        EXPECT_EQ(run("simulate " + file.string()).code, 0) << file;
}

TEST(SimulateTrace, IsWhatTheLibraryWrites)
{
    const std::string file = gallery("09-");
    const auto simulation = sim::simulate(sim::readScenario(file, sim::Catalogue::load(sim::Catalogue::findAssets())));
    const auto expected = [&](sim::TraceDetail detail, void (*writeTrace)(const sim::Trace&, std::ostream&)) {
        std::ostringstream out;
        writeTrace(simulation->trace(detail), out);
        return out.str();
    };
    const std::string chrome = (test::scratch() / "t.json").string(), perfetto = (test::scratch() / "t.pftrace").string();
    ASSERT_EQ(run("simulate " + file + " --trace " + chrome).code, 0);
    EXPECT_TRUE(test::read(chrome) == expected(sim::TraceDetail::kernels, sim::writeChromeJson));
    ASSERT_EQ(run("simulate " + file + " --trace " + perfetto + " --trace-detail actions").code, 0);
    EXPECT_TRUE(test::read(perfetto) == expected(sim::TraceDetail::actions, sim::writePerfetto));
    ASSERT_EQ(run("simulate " + file + " --trace " + perfetto + " --trace-detail kernels --json").code, 0);
    EXPECT_TRUE(test::read(perfetto) == expected(sim::TraceDetail::kernels, sim::writePerfetto));
}

TEST(SimulateTrace, IsNotWrittenOverTheScenario)
{
    const std::string text = test::read(gallery("09-")), file = test::write("own.json", text);
    const Outcome outcome = run("simulate " + file + " --trace " + file);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("is a file that was read: write to another name"));
    EXPECT_EQ(test::read(file), text);
    const std::string constants = R"({"gemm": 0.5})", profile = test::write("own-profile.json", constants);
    for (const std::string& name : {profile, std::string("own-profile.json")}) { // the file lies beside it
        const Outcome named = run("simulate " + file + " --set cluster.efficiency=" + name + " --trace " + profile);
        EXPECT_EQ(named.code, 1);
        EXPECT_THAT(named.err, HasSubstr("is a file that was read: write to another name"));
        EXPECT_EQ(test::read(profile), constants);
    }
}

TEST(SimulateTrace, HasAProcessForEachClassAndFlowsForwardInTime)
{
    const std::string path = (test::scratch() / "flows.json").string();
    ASSERT_EQ(run("simulate " + gallery("09-") + " --trace " + path).code, 0);
    const json file = json::parse(test::read(path));
    std::map<int, double> sent;
    std::set<int> processes;
    std::map<std::int64_t, std::set<double>> ends; // of a collective
    int flows = 0;
    for (const json& event : file.at("traceEvents")) {
        const std::string phase = event.at("ph");
        if (phase == "s") {
            sent[event.at("id")] = event.at("ts");
            ++flows;
        }
        if (phase == "X") {
            processes.insert(event.at("pid").get<int>());
            if (event.at("args").contains("correlation"))
                ends[event.at("args").at("correlation")].insert(
                    std::round((event.at("ts").get<double>() + event.at("dur").get<double>()) * 1000));
        }
    }
    for (const json& event : file.at("traceEvents"))
        if (event.at("ph") == "f") {
            EXPECT_GE(event.at("ts").get<double>(), sent.at(event.at("id"))) << "flow " << event.at("id");
            --flows;
        }
    EXPECT_EQ(flows, 0);
    EXPECT_GE(processes.size(), 2U) << "one for each pipeline rank at least";
    EXPECT_GE(sent.size(), 8U) << "one send a micro-batch, forward and backward";
    EXPECT_GT(ends.size(), 100U);
    for (const auto& [correlation, times] : ends)
        EXPECT_EQ(times.size(), 1U) << "members of collective " << correlation << " end together";
}

TEST(SimulateTrace, RefusesOtherEndings)
{
    const Outcome outcome = run("simulate " + gallery("09-") + " --trace " + (test::scratch() / "t.xyz").string());
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(".pftrace"));
    EXPECT_THAT(outcome.out, IsEmpty());
}

TEST(Memory, AddsUpAndAgreesWithSimulate)
{
    const std::string file = gallery("42-");
    const json memory = runJson("memory --json " + file);
    const json metrics = runJson("simulate --json " + file);
    EXPECT_EQ(memory.at("unit"), "GiB");
    ASSERT_THAT(memory.at("per_pipeline_rank"), SizeIs(16));
    double largest = 0;
    for (std::size_t p = 0; p < 16; ++p) {
        const json& rank = memory.at("per_pipeline_rank")[p];
        double sum = 0;
        for (const char* part : {"parameters", "gradients", "optimizer", "activations", "buffers"})
            sum += rank.at(part).get<double>();
        EXPECT_NEAR(sum, rank.at("total").get<double>(), 1e-9);
        EXPECT_EQ(rank.at("total"), metrics.at("per_pipeline_rank")[p].at("peak_memory_gib"));
        largest = std::max(largest, rank.at("total").get<double>());
    }
    EXPECT_EQ(largest, metrics.at("peak_memory_gib").get<double>());
    EXPECT_EQ(memory.at("fits"), largest <= memory.at("capacity").get<double>());
}

TEST(Memory, OfTinyJobsIsToldInTheirOwnUnit)
{
    const std::string tiny = gallery("64-");
    const auto cellsAreSaid = [](const std::string& out, const std::string& heading) {
        EXPECT_THAT(out, HasSubstr(heading));
        EXPECT_THAT(out, Not(testing::ContainsRegex(" GiB\n|GiB  "))) << out;
    };
    cellsAreSaid(lines(run("memory " + tiny).out).at(2) + "\n", "total MiB");
    EXPECT_THAT(run("memory " + tiny).out, testing::ContainsRegex("The fullest rank holds [0-9.]+ MiB of [0-9.]+ GiB: "));
    cellsAreSaid(lines(run("traffic " + gallery("57-")).out).at(2) + "\n", "a rank MiB");
    EXPECT_THAT(run("simulate " + tiny).out, HasSubstr("peak MiB\n"));
    EXPECT_THAT(run("sweep " + gallery("56-") + " --vary training.micro_batch_size=1,2").out, HasSubstr("peak MiB"));
    EXPECT_THAT(run("memory " + gallery("45-")).out, HasSubstr("total GiB"));
    EXPECT_THAT(run("traffic " + gallery("05-")).out, HasSubstr("total GiB"));
}

TEST(Memory, SaysHowMuchIsLeftOrMissing)
{
    EXPECT_THAT(run("memory " + gallery("45-")).out, HasSubstr("left"));
    EXPECT_THAT(run("memory " + gallery("45-") + " --set training.micro_batch_size=2").out, HasSubstr("too much"));
}

TEST(Memory, OfAStepThatBarelyDoesNotFitReadsAsMoreThanThereIs)
{
    const std::string file = gallery("17-");
    const double peak = runJson("simulate --json " + file).at("peak_memory_gib");
    const double has = std::floor(peak * 1000) / 1000 - 0.001; // less by one to two thousandths
    std::ostringstream set;
    set << std::fixed << std::setprecision(3) << " --set cluster.gpu.memory_gib=" << has;
    for (const auto& [command, pattern] : {std::pair("simulate ", "([0-9.]+) of ([0-9.]+) GiB: does not fit"),
                                           std::pair("memory ", "holds ([0-9.]+) of ([0-9.]+) GiB: [0-9.]+ too much")}) {
        const std::string said = run(command + file + set.str()).out;
        std::smatch found;
        ASSERT_TRUE(std::regex_search(said, found, std::regex(pattern))) << said;
        EXPECT_GT(std::stod(found[1]), std::stod(found[2])) << found[0];
    }
}

TEST(Sweep, HasARowForEveryCombinationInOrder)
{
    const Outcome outcome = run("sweep --csv " + gallery("35-") + " --vary layout.tp=2,3,8 --vary training.micro_batch_size=1,2");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const std::vector<std::string> rows = lines(outcome.out);
    ASSERT_THAT(rows, SizeIs(7));
    EXPECT_EQ(rows[0], "layout.tp,training.micro_batch_size,step_time_s,tokens_per_second,model_tflops_per_gpu,mfu,"
                       "bubble_fraction,exposed_comm_fraction,peak_memory_gib,fits,problem");
    const char* starts[] = {"2,1,", "2,2,", "3,1,", "3,2,", "8,1,", "8,2,"};
    for (std::size_t i = 0; i < 6; ++i)
        EXPECT_THAT(rows[i + 1], testing::StartsWith(starts[i]));
    EXPECT_THAT(rows[3], HasSubstr(",,,,,,,,\"/layout/tp: 3 does not divide num_attention_heads"));
}

TEST(Sweep, AnswersWithOneDocumentOfItsRows)
{
    const std::string file = gallery("35-");
    const json rows = runJson("sweep --json " + file + " --vary layout.tp=3,4 --vary schedule.kind=1f1b").at("rows");
    ASSERT_THAT(rows, SizeIs(2));
    EXPECT_EQ(rows[0].at("settings"), json({{"/layout/tp", 3}, {"/schedule/kind", "1f1b"}}));
    EXPECT_TRUE(rows[0].at("step_time_s").is_null());
    EXPECT_TRUE(rows[0].at("fits").is_null());
    EXPECT_THAT(rows[0].at("problem").get<std::string>(), HasSubstr("/layout/tp: 3 does not divide num_attention_heads"));
    EXPECT_EQ(rows[1].at("settings").at("/layout/tp"), 4);
    EXPECT_TRUE(rows[1].at("problem").is_null());
    const json simulated = runJson("simulate --json " + file + " --set layout.tp=4 --set schedule.kind=1f1b");
    for (const char* key :
         {"step_time_s", "tokens_per_second", "model_tflops_per_gpu", "mfu", "bubble_fraction", "peak_memory_gib", "fits"})
        EXPECT_EQ(rows[1].at(key), simulated.at(key)) << key;
    EXPECT_TRUE(rows[1].at("exposed_comm_fraction").is_number());
    EXPECT_EQ(run("sweep --json --csv " + file + " --vary layout.tp=4").code, 2);
    const Outcome none = run("sweep --json " + file + " --vary layout.tp=3,5");
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(json::parse(none.out).at("rows"), SizeIs(2));
    EXPECT_EQ(run("sweep --json " + file + " --vary layout.tp=4 --part 1/2").code, 2);
}

TEST(Sweep, SaysWhatSimulateSays)
{
    const std::string file = gallery("35-");
    std::istringstream row(lines(run("sweep --csv " + file + " --vary layout.tp=4").out).at(1));
    std::vector<std::string> cells;
    for (std::string cell; std::getline(row, cell, ',');)
        cells.push_back(cell);
    const json metrics = runJson("simulate --json " + file + " --set layout.tp=4");
    EXPECT_EQ(std::stod(cells.at(1)), metrics.at("step_time_s").get<double>());
    EXPECT_EQ(std::stod(cells.at(2)), metrics.at("tokens_per_second").get<double>());
    EXPECT_EQ(std::stod(cells.at(4)), metrics.at("mfu").get<double>());
    EXPECT_EQ(std::stod(cells.at(7)), metrics.at("peak_memory_gib").get<double>());
    EXPECT_EQ(cells.at(8) == "yes", metrics.at("fits").get<bool>());
}

TEST(Sweep, NamesTheFastestThatFits)
{
    const Outcome outcome = run("sweep " + gallery("35-") + " --vary layout.tp=4,8 --vary training.micro_batch_size=1,2");
    EXPECT_THAT(outcome.out, HasSubstr("Fastest that fits: layout.tp=8 training.micro_batch_size=1\n"));
    EXPECT_THAT(outcome.out, HasSubstr("tokens a second"));
}

TEST(Sweep, FitsWhereSimulateAndMemoryDo)
{
    const std::string file = gallery("86-") + " --set training.offload.optimizer=1", small = " --set cluster.host.memory_gib=30";
    for (const char* command : {"simulate --json ", "memory --json "}) {
        EXPECT_EQ(runJson(command + file).at("fits"), true) << command;
        const json full = runJson(command + file + small);
        EXPECT_EQ(full.at("fits"), false) << command << "the host is full";
        EXPECT_EQ(full.at("offload").at("host_fits"), false) << command;
    }
    EXPECT_THAT(run("memory " + file + small).out, HasSubstr("The fullest host holds 37.65 of 30.00 GiB: 7.65 too much\n"));
    const Outcome swept = run("sweep " + file + " --vary cluster.host.memory_gib=30,200");
    EXPECT_THAT(swept.err,
                HasSubstr("cluster.host.memory_gib=30: /cluster/host/memory_gib: what is offloaded takes 37.7 GiB of a "
                          "host, and it has 30.0"));
    EXPECT_THAT(swept.err, Not(HasSubstr("memory_gib=200")));

    const std::string capped = gallery("73-") + " --set schedule.memory_cap_gib=";
    EXPECT_EQ(runJson("simulate --json " + capped + "3").at("fits"), false) << "no order keeps it";
    EXPECT_EQ(runJson("memory --json " + capped + "16").at("fits"), true);
    const std::string csv = run("sweep --csv " + gallery("73-") + " --vary schedule.memory_cap_gib=3,16").out;
    EXPECT_THAT(lines(csv).at(1), HasSubstr(",no,"));
    EXPECT_THAT(lines(csv).at(2), HasSubstr(",yes"));
}

TEST(Sweep, FailsOnlyWhenNothingCanBeSimulated)
{
    const Outcome nothing = run("sweep " + gallery("35-") + " --vary layout.tp=3,5");
    EXPECT_EQ(nothing.code, 1);
    EXPECT_THAT(nothing.out, HasSubstr("5  /layout/tp: 5 does not divide")) << "each row still has its reason";
    EXPECT_EQ(run("sweep " + gallery("35-") + " --vary layout.tp=3,8").code, 0);
    const Outcome missing = run("sweep /nowhere.json --vary layout.tp=1,2");
    EXPECT_EQ(missing.code, 1);
    EXPECT_THAT(missing.out, IsEmpty());
}

TEST(Sweep, TakesListsAsValues)
{
    const Outcome outcome = run("sweep --csv " + gallery("58-") + " --vary 'schedule.layers_per_stage=[1,1,1,1],[2,1,1,0]'");
    ASSERT_EQ(lines(outcome.out).size(), 3U) << outcome.out << outcome.err;
    EXPECT_THAT(lines(outcome.out)[1], testing::StartsWith("\"[1,1,1,1]\","));
}

TEST(Sweep, LeavesCommasWithinTextsAlone)
{
    const Outcome outcome = run("sweep --csv " + gallery("58-") + R"( --vary 'name="a,\"b",c')");
    ASSERT_EQ(lines(outcome.out).size(), 3U) << outcome.out << outcome.err;
    EXPECT_THAT(lines(outcome.out)[2], testing::StartsWith("c,"));
}

TEST(Sweep, VariesAKeyOnce)
{
    const Outcome outcome = run("sweep " + gallery("58-") + " --vary layout.tp=1 --vary /layout/tp=2");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("/layout/tp is given twice"));
    EXPECT_THAT(outcome.out, IsEmpty());
}

TEST(Sweep, RefusesMoreCombinationsThanCanBeCounted)
{
    std::string values = "1";
    for (int i = 2; i <= 64; ++i)
        values += "," + std::to_string(i);
    std::string arguments = "sweep " + gallery("35-");
    for (int axis = 1; axis <= 11; ++axis) { // 2^66
        arguments += " --vary key" + std::to_string(axis) + "=" + values;
        if (axis < 4)
            continue;
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr("combinations are more than 1,000,000"));
    }
}

TEST(Simulate, RefusesWhatItHasNotTheMemoryFor)
{
    const Outcome outcome = run("simulate --full " + gallery("42-") + " --set training.global_batch_size=131072");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err,
                testing::AllOf(HasSubstr("GiB of memory, the limit is 8.0 GiB; nearest: "), HasSubstr("micro-batches")));
}

TEST(Simulate, RefusesTracesThatWouldTakeTheNameOfWhatIsNoFile)
{
    const std::filesystem::path pipe = test::scratch() / "pipe.json";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const Outcome outcome = run("simulate " + gallery("58-") + " --trace " + pipe.string());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("is not an ordinary file"));
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
    EXPECT_EQ(run("simulate " + gallery("58-") + " --trace ''").code, 2);
}

TEST(Simulate, RefusesNamesThatNobodyCouldRead)
{
    const Outcome outcome = run("simulate " + gallery("58-") + " --set name=" + std::string(100'000, 'n'));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("/name: the text has 100,000 characters; at most 1,000 are possible"));
    EXPECT_LT(outcome.err.size(), 1000U);
}

TEST(Simulate, SaysWhatAttentionInFullCountsWhereItIsMoreThanAll)
{
    const Outcome outcome = run(
        "simulate " + gallery("03-") +
        " --set training.sequence_length=1048576 --set model.max_position_embeddings=1048576"
        " --set training.global_batch_size=2 --set training.attention=flash2 --set cluster.efficiency.attention.flash2=[1,1]");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("%, which counts work that causal kernels leave out"));
}

TEST(Simulate, SaysWhereComputingGoesAndHowSureItIs)
{
    const json answer = runJson("simulate --json " + gallery("42-"));
    const json& computing = answer.at("computing");
    double sum = 0;
    for (const char* key : {"gemm_s", "attention_s", "other_s", "recompute_s", "optimizer_s"}) {
        EXPECT_GE(computing.at(key).get<double>(), 0) << key;
        sum += computing.at(key).get<double>();
    }
    double busy = 0;
    for (const json& rank : answer.at("per_pipeline_rank"))
        busy += rank.at("busy_s").get<double>() / static_cast<double>(answer.at("per_pipeline_rank").size());
    EXPECT_NEAR(sum, busy, 1e-9 * busy);
    EXPECT_GT(computing.at("gemm_s").get<double>(), computing.at("attention_s").get<double>());
    for (const char* key : {"step_time_s", "peak_memory_gib"}) {
        const json& interval = answer.at("interval").at(key);
        EXPECT_LT(interval.at(0).get<double>(), answer.at(key).get<double>()) << key;
        EXPECT_GT(interval.at(1).get<double>(), answer.at(key).get<double>()) << key;
    }
    EXPECT_EQ(answer.at("interval").at("level"), 0.8);
    EXPECT_THAT(answer.at("interval").at("basis").get<std::string>(), HasSubstr("h100-sxm with megatron-te-2024"));
    EXPECT_EQ(answer.at("findings").back().at("kind"), "composition");
}

TEST(Simulate, ALineAScenarioIsALineAnAnswer)
{
    const std::string line =
        R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":"laptop","layout":{"dp":DP}})";
    const auto with = [&line](const char* dp) { return std::string(line).replace(line.find("DP"), 2, dp); };
    const std::filesystem::path file = std::filesystem::temp_directory_path() / ("rankscope_batch_" + std::to_string(::getpid()));
    std::ofstream(file) << with("1") << "\n" << with("2") << "\n" << with("0") << "\n";
    for (const char* jobs : {"1", "3"}) {
        const Outcome outcome = run("batch " + file.string() + " --jobs " + jobs);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        std::istringstream lines(outcome.out);
        std::string text;
        std::vector<json> answers;
        while (std::getline(lines, text))
            answers.push_back(json::parse(text));
        ASSERT_EQ(answers.size(), 3U);
        EXPECT_EQ(answers[0].at("simulate").at("world_size"), 1);
        EXPECT_EQ(answers[1].at("simulate").at("world_size"), 2);
        EXPECT_EQ(answers[1].at("simulate").at("findings"), json::array()) << "there without any, too";
        EXPECT_TRUE(answers[1].at("memory").contains("per_pipeline_rank"));
        EXPECT_THAT(answers[2].at("error").get<std::string>(), HasSubstr("line 3: /layout/dp"));
    }
    std::istringstream alike(run("batch " + file.string() + " --set layout.dp=2").out);
    std::string answer;
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(std::getline(alike, answer));
        EXPECT_EQ(json::parse(answer).at("simulate").at("world_size"), 2);
    }
    EXPECT_EQ(run("batch " + file.string() + " --set layout.dp=2").code, 0);
    const Outcome bad = run("batch " + file.string() + " --set layout.pd=2");
    EXPECT_EQ(bad.code, 1);
    EXPECT_THAT(bad.out, HasSubstr("/layout/pd: unknown key"));
    EXPECT_THAT(bad.err, HasSubstr("no line could be simulated"));
    std::ofstream(file) << "{bad\n{}\n";
    EXPECT_EQ(run("batch " + file.string()).code, 1);
    std::filesystem::remove(file);
}

} // namespace
