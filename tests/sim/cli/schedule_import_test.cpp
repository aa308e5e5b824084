// `schedule --import` and the formats of other programs.
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
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kArtifacts = RANKSCOPE_TEST_DATA "/schedules/pytorch_csv/";

TEST(ScheduleImport, ReadsPyTorchsArtifactsOfBothDialects)
{
    const test::Outcome now = run("schedule --import " + kArtifacts + "zb1p_2rank_2stagep_compute.csv");
    EXPECT_EQ(now.code, 0);
    EXPECT_THAT(now.err, IsEmpty());
    EXPECT_THAT(now.out, StartsWith("0F0,0F1,2F0,2F1,2I0,2W0,0F2,"));
    const std::string artifact = kArtifacts + "legacy_zb1p_2rank_2stagep_compute_15380b18.csv";
    const test::Outcome legacy = run("schedule --import " + artifact);
    EXPECT_EQ(legacy.out, now.out);
    EXPECT_THAT(legacy.err, HasSubstr("dialect of 2024"));
    EXPECT_THAT(run("schedule --import " + artifact + " --dialect pytorch-2024").err, IsEmpty()) << "asked for, not news";
    const test::Outcome misread = run("schedule --import " + artifact + " --dialect pytorch");
    EXPECT_EQ(misread.code, 1);
    EXPECT_THAT(misread.err, HasSubstr("2W0 on rank 0 comes after 2B0, which already contains it"));
    EXPECT_THAT(run("schedule --import " + artifact + " --format csv-2024").out, StartsWith("0F0,0F1,2F0,2F1,2B0,2W0,0F2,"));
}

TEST(ScheduleImport, KeepsTheCommunicationOfAFile)
{
    const std::string artifact = kArtifacts + "zb1p_2rank_2stagep_comms.csv";
    EXPECT_EQ(run("schedule --import " + artifact + " --format comms").out, test::read(artifact));
    const json timed = runJson("schedule --import " + artifact + " --format json --times 1,1,1,0.5").at("in_order");
    EXPECT_EQ(timed.at("streams"), "shared");
    EXPECT_GT(timed.at("blocked").get<double>(), 0);
}

TEST(ScheduleImport, TakesWhatItWritesInEveryFormat)
{
    const auto passOn = [](const std::string& options, const std::string& format) {
        const test::Outcome written = run("schedule " + options + " --format " + format);
        EXPECT_EQ(written.code, 0) << written.err;
        return run("schedule --import " + test::write("order." + format, written.out));
    };
    const std::string loop = "--kind interleaved-1f1b --stages 4 --virtual 2 --microbatches 8";
    for (const char* format : {"csv", "csv-2024", "comms", "megatron", "sail"})
        EXPECT_EQ(passOn(loop, format).out, run("schedule " + loop).out) << format;
    const std::string vee = "--kind zb-v --stages 4 --virtual 2 --microbatches 8";
    for (const char* format : {"csv", "csv-2024", "comms", "sail"})
        EXPECT_EQ(passOn(vee, format).out, run("schedule " + vee).out) << format;
    EXPECT_THAT(run("schedule " + vee + " --format megatron").err, HasSubstr("places them in a loop"));
    EXPECT_THAT(lines(run("schedule --kind zb-h1 --stages 2 --microbatches 2 --format megatron").out),
                ElementsAre("1 1 -1 -1.5 -1 -1.5", "1 -1 1 -1 -1.5 -1.5"));
}

TEST(ScheduleImport, ListsAllThatIsWrong)
{
    const std::string spoilt = test::write("spoilt.csv", "0F0,0F0,0B0\n1F0,1I0\n");
    const test::Outcome outcome = run("schedule --import " + spoilt);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(lines(outcome.err), ElementsAre(spoilt + ": 0F0 on rank 0 comes twice",
                                                spoilt + ": stage 1 on rank 1 misses the weight gradient (W) of micro-batch 0"));
    const std::string hang = test::write("hang.csv", "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                                     "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n");
    const test::Outcome hanging = run("schedule --import " + hang + " --format ascii");
    EXPECT_EQ(hanging.code, 1);
    EXPECT_THAT(lines(hanging.err),
                ElementsAre(hang +
                            ": deadlock: rank 0 waits at 0SEND_F1 for 1RECV_F1 of rank 1, which comes after 1SEND_B0, which "
                            "waits for 0RECV_B0 of rank 0, which comes after 0SEND_F1"));
    const std::string cell = test::write("cell.csv", "0F0,0X0\n");
    EXPECT_THAT(lines(run("schedule --import " + cell).err),
                ElementsAre(StartsWith(cell + ": line 1 (rank 0), cell 2: \"0X0\"")));
    EXPECT_EQ(run("schedule --import /nowhere.csv").code, 1);
    EXPECT_THAT(run("schedule --import /nowhere.csv").err, HasSubstr("/nowhere.csv: cannot be read"));
}

TEST(ScheduleImport, IsCalledAlone)
{
    for (const std::string arguments :
         {"--import x.csv --kind gpipe --stages 2 --microbatches 2", "--dialect sail --kind gpipe --stages 2 --microbatches 2",
          "--import x.csv --dialect cobol", "--import x.csv --format xml", "--import x.csv --slices 2"})
        EXPECT_EQ(run("schedule " + arguments).code, 2) << arguments;
    EXPECT_EQ(run("schedule " + test::gallery("17-") + " --import x.csv").code, 2);
}

TEST(ScheduleCommand, TellsWhatTheOrderOfCommunicationCosts)
{
    const std::string loop = "schedule --kind interleaved-1f1b --stages 4 --virtual 2 --microbatches 8 --times 1,1,1,0.1";
    const json shared = runJson(loop + " --format json");
    EXPECT_NEAR(shared.at("makespan").get<double>(), 58.4, 1e-9);
    EXPECT_NEAR(shared.at("in_order").at("makespan").get<double>() - 58.4, shared.at("in_order").at("blocked").get<double>(),
                1e-9);
    EXPECT_GT(shared.at("in_order").at("blocked").get<double>(), 1);
    const json apart = runJson(loop + " --format json --streams per-peer").at("in_order");
    EXPECT_EQ(apart.at("streams"), "per-peer");
    EXPECT_LT(apart.at("blocked").get<double>(), shared.at("in_order").at("blocked").get<double>());
    EXPECT_THAT(run(loop + " --format ascii").out, HasSubstr("in order on one stream a rank: makespan"));
    const json late = runJson("schedule --kind 1f1b --stages 2 --microbatches 3 --receives before-use --format json");
    EXPECT_THAT(late.at("in_order").at("problems").at(0).get<std::string>(), StartsWith("deadlock: rank 0 waits at 0SEND_F1"));
}

TEST(ScheduleCommand, DrawsBlocksAndSlices)
{
    EXPECT_THAT(run("schedule --kind 1f1b --stages 2 --microbatches 3 --overlap --overlapped 2 --format ascii").out,
                StartsWith("rank 0  F0 F1 F2    B0--- B1--- B2---\n"
                           "rank 1     F0 F1&B0 F2&B1 B2---\n"));
    EXPECT_THAT(run("schedule --kind seq-1f1b --stages 2 --microbatches 1 --slices 2 --format ascii").out,
                StartsWith("rank 0  F0.0 F0.1                B0.1----- B0.0-----\n"
                           "rank 1       F0.0 F0.1 B0.1----- B0.0-----\n"));
    EXPECT_EQ(runJson("schedule --kind 1f1b --stages 2 --microbatches 2 --overlap --format json").at("ranks"),
              (json{"0F0 0F1 0B0 0B1", "1F0 (1F1;1B0)OVERLAP_F_B 1B1"}));
    const test::Outcome sliced = run("schedule --kind seq-1f1b --stages 1 --microbatches 1");
    EXPECT_EQ(sliced.out, "0F0.0,0F0.1,0F0.2,0F0.3,0B0.3,0B0.2,0B0.1,0B0.0\n");
    EXPECT_THAT(sliced.err, HasSubstr("PyTorch has no words for slices"));
    EXPECT_EQ(run("schedule --kind seq-1f1b --stages 1 --microbatches 1 --format comms").code, 1);
    EXPECT_EQ(run("schedule --kind gpipe --stages 1 --microbatches 1 --slices 2").code, 2);
}

} // namespace
