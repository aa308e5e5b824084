// What the flight recorder's dumps of a job that stands still tell: in which collective, and who has not come to it.
#include "sim/recovery/hang.h"
#include "sim/recovery/recovered_json.h"
#include "sim/recovery/run_answers.h"
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// One entry of a dump.
struct Called {
    int number = 0;
    std::string state = "completed";
    std::string what = "all_reduce";
    std::string group = "0";
    std::string asker = "train.py";
    bool isTransfer = false;
    int at = 0; ///< in 10 ms, where its number does not tell in which order it was asked for
};

std::string entryOf(const Called& of)
{
    const std::int64_t created = 1'700'000'000'000'000'000 + (of.at > 0 ? of.at : of.number) * std::int64_t{10'000'000};
    const auto ns = [&](bool is, std::int64_t after) { return is ? std::to_string(created + after) : std::string("null"); };
    return R"({"record_id":)" + std::to_string(of.number) + R"(,"pg_id":)" + of.group + R"(,"process_group":[")" + of.group +
           R"(","undefined"],"collective_seq_id":)" + std::to_string((of.isTransfer ? 0 : of.number)) + R"(,"p2p_seq_id":)" +
           std::to_string(of.isTransfer ? of.number : 0) + R"(,"profiling_name":"nccl:)" + of.what + R"(","time_created_ns":)" +
           std::to_string(created) +
           R"(,"input_sizes":[[1024]],"input_dtypes":["BFloat16"],"output_sizes":[[1024]],"output_dtypes":["BFloat16"],"state":")" +
           of.state + R"(","time_discovered_started_ns":)" + ns(of.state != "scheduled" && !of.state.empty(), 100'000) +
           R"(,"time_discovered_completed_ns":)" + ns(of.state == "completed", 5'000'000) + R"(,"is_p2p":)" +
           (of.isTransfer ? "true" : "false") +
           R"(,"frames":[{"name":"all_reduce","filename":"/lib/torch/distributed/c10d.py","line":9},{"name":"step",)"
           R"("filename":"/job/)" +
           of.asker + R"(","line":7}]})";
}

/// `cut`: the rank whose dump ends inside its last entry. `status`: of each rank, as "pg_status" has it.
sim::Recording dumps(const std::vector<std::vector<Called>>& ranks, const std::string& groups, std::size_t cut = SIZE_MAX,
                     const std::vector<std::string>& status = {})
{
    static int count = 0;
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("hang." + std::to_string(::getpid()) + "." + std::to_string(++count));
    std::filesystem::create_directories(folder);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (ranks[rank].empty() && status.empty())
            continue; // of which there is no dump
        std::string entries;
        for (const Called& of : ranks[rank])
            entries += (entries.empty() ? "" : ",") + entryOf(of);
        const std::string dump = R"({"version":"2.10","pg_config":{)" + groups + R"(},"pg_status":{)" +
                                 (status.empty() ? std::string() : status[rank]) + R"(},"entries":[)" + entries + "]}";
        std::ofstream(folder / ("nccl_trace_rank_" + std::to_string(rank) + ".json"))
            << dump.substr(0, rank == cut ? dump.size() - 10 : dump.size());
    }
    sim::Recording recording = sim::readRecording({folder});
    std::filesystem::remove_all(folder);
    return recording;
}

const std::string kFour = R"("0":{"name":"0","desc":"default_pg","ranks":"[0, 1, 2, 3]"})";

TEST(Hangs, NameTheCollectiveAndWhoHasNotComeToIt)
{
    const std::vector<Called> waits{{5}, {6}, {7, "started"}}, lags{{5}, {.number = 6, .asker = "evaluate.py"}};
    const sim::Recording recording = dumps({waits, waits, lags, waits}, kFour);
    const sim::Recovered run = sim::recover(recording);
    const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_EQ(hangs[0].sequence, 7);
    EXPECT_THAT(hangs[0].absent, ElementsAre(2));
    EXPECT_THAT(hangs[0].waiting, ElementsAre(0, 1, 3));
    EXPECT_EQ(hangs[0].title, "All-reduce 7 of group default_pg waits for rank 2, which has not come to it");
    EXPECT_THAT(hangs[0].detail, HasSubstr("Ranks 0, 1 and 3 have begun it. It was asked for at step (train.py:7)."));
    EXPECT_THAT(hangs[0].detail, HasSubstr("Rank 2 ended all-reduce 6 last, asked for at step (evaluate.py:7)."));
    const sim::RunAnswers answers = sim::answersOf(run);
    ASSERT_FALSE(answers.findings.empty());
    EXPECT_EQ(answers.findings[0].kind, "hang");
    EXPECT_THAT(answers.findings[0].ranks, ElementsAre(2));
    EXPECT_THAT(sim::answersText(run, answers), HasSubstr(hangs[0].title));
    EXPECT_THAT(sim::recoveredText(run), HasSubstr("3 ranks: 3 collectives begun and never ended"));
}

TEST(Hangs, BeginWhereNobodyWaitsElsewhere)
{
    // Ranks 0 and 1 wait in their own group for rank 1, which waits for rank 3 with all others.
    const std::string groups = kFour + R"(,"1":{"name":"1","desc":"mesh_tp","ranks":"[0, 1]"})";
    const Called all{.number = 8, .state = "started"}, pair{.number = 3, .state = "started", .group = "1"};
    const sim::Recovered run = sim::recover(dumps({{{7}, pair}, {{7}, all}, {{7}, all}, {{7}}}, groups));
    const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_EQ(hangs.size(), 2U);
    EXPECT_EQ(hangs[0].sequence, 8);
    EXPECT_THAT(hangs[0].absent, ElementsAre(0, 3));
    EXPECT_THAT(hangs[1].absent, ElementsAre(1));
    EXPECT_THAT(hangs[1].detail, HasSubstr("it is in all-reduce 8 of group default_pg"));
}

TEST(Hangs, OfARankWithoutADumpSaySo)
{
    const std::vector<Called> waits{{6}, {7, "started"}};
    const std::vector<sim::Hang> hangs = sim::hangsOf(sim::recover(dumps({waits, waits, {}, waits}, kFour)).evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_TRUE(hangs[0].absent.empty());
    EXPECT_THAT(hangs[0].unknown, ElementsAre(2));
    EXPECT_EQ(hangs[0].title, "All-reduce 7 of group default_pg never ended, and of rank 2 nothing is recorded");
}

TEST(Hangs, DoNotBlameARankWhoseDumpIsCut)
{
    const std::vector<Called> waits{{6}, {7, "started"}};
    const std::vector<sim::Hang> hangs = sim::hangsOf(sim::recover(dumps({waits, waits, waits, waits}, kFour, 2)).evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_TRUE(hangs[0].absent.empty());
    EXPECT_THAT(hangs[0].unknown, ElementsAre(2));
    EXPECT_EQ(hangs[0].title, "All-reduce 7 of group default_pg never ended, and of rank 2 the end is not recorded");
    EXPECT_THAT(hangs[0].detail, HasSubstr("What rank 2 asked for last is not in its dump, which ends too early."));
}

TEST(Hangs, OfRanksWithoutADumpAndWithACutOneSayBoth)
{
    const std::vector<Called> waits{{6}, {7, "started"}};
    const std::vector<sim::Hang> hangs = sim::hangsOf(sim::recover(dumps({waits, {}, waits, waits}, kFour, 2)).evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_THAT(hangs[0].unknown, ElementsAre(1, 2));
    EXPECT_EQ(hangs[0].title,
              "All-reduce 7 of group default_pg never ended, and of ranks 1 and 2 nothing, or not the end, is recorded");
}

TEST(Hangs, OfAllThatCameSayWhatDiffers)
{
    const std::vector<Called> waits{{6}, {7, "started"}}, gathers{{6}, {7, "started", "all_gather"}}, asks{{6}, {7, "scheduled"}};
    EXPECT_EQ(sim::hangsOf(sim::recover(dumps({waits, gathers, waits, waits}, kFour)).evidence).at(0).title,
              "Collective 7 of group default_pg is not the same on all its ranks");
    EXPECT_EQ(sim::hangsOf(sim::recover(dumps({waits, asks, waits, waits}, kFour)).evidence).at(0).title,
              "All-reduce 7 of group default_pg has not begun on rank 1, and never ended");
}

Called transfer(int number, const std::string& what, const std::string& state = "started")
{
    return {.number = number, .state = state, .what = what, .isTransfer = true};
}

TEST(Hangs, DownAPipelineBeginWhereNobodyWaits)
{
    // Stage 1 is in its own code, 2 and 3 wait for what it would send.
    const sim::Recovered run = sim::recover(dumps({{{5}, transfer(9, "send 0->1", "completed")},
                                                   {{5}, transfer(9, "recv 1<-0", "completed")},
                                                   {{5}, transfer(9, "recv 2<-1")},
                                                   {{5}, transfer(9, "recv 3<-2")}},
                                                  kFour));
    const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_EQ(hangs[0].title, "Rank 2 waits to receive from rank 1, which has not asked for the send");
    EXPECT_THAT(hangs[0].absent, ElementsAre(1));
    EXPECT_THAT(hangs[0].detail, HasSubstr("It was asked for at step (train.py:7). Rank 1 ended all-reduce 5 last"));
}

TEST(Hangs, OfTransfersInTheWrongOrderGoRound)
{
    const sim::Recovered run =
        sim::recover(dumps({{{5}, transfer(9, "recv 0<-1")}, {{5}, transfer(9, "recv 1<-0")}, {{5}}, {{5}}}, kFour));
    const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_EQ(hangs.size(), 2U);
    EXPECT_EQ(hangs[0].title, "Rank 0 waits to receive from rank 1, which has not asked for the send");
    EXPECT_THAT(hangs[0].detail, HasSubstr("They wait in a circle: rank 0 for 1, 1 for 0."));
}

TEST(Hangs, OfATransferThatBothEndsCameToSaySo)
{
    const auto hangs = [](const char* receiver) {
        return sim::hangsOf(
            sim::recover(dumps({{{5}, transfer(9, "send 0->1")}, {{5}, transfer(9, "recv 1<-0", receiver)}, {}, {}}, kFour))
                .evidence);
    };
    ASSERT_EQ(hangs("started").size(), 1U);
    EXPECT_EQ(hangs("started")[0].title, "Rank 0's send to rank 1 has begun on both, and never ended");
    EXPECT_THAT(hangs("scheduled").at(0).detail, HasSubstr("The device of rank 1 has not begun it"));
}

/// batch_isend_irecv: the single ones stay "scheduled", and one entry behind them has begun.
TEST(Hangs, OfTransfersGivenAsOneAreThoseOfTheWhole)
{
    Called whole = transfer(9, "coalesced");
    whole.isTransfer = true;
    const sim::Recovered run = sim::recover(
        dumps({{{5}}, {{5}, transfer(9, "recv 1<-0", "scheduled"), transfer(9, "send 1->2", "scheduled"), whole}, {{5}}, {{5}}},
              kFour));
    const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_FALSE(hangs.empty());
    EXPECT_EQ(hangs[0].title, "Rank 1 waits to receive from rank 0, which has not asked for the send");
}

TEST(Hangs, AreNoneWhereAnotherHasEndedIt)
{
    const std::vector<Called> waits{{6}, {7, "started"}}, over{{6}, {7}};
    EXPECT_TRUE(sim::hangsOf(sim::recover(dumps({waits, over, over, over}, kFour)).evidence).empty())
        << "its recorder has not noticed yet";
    EXPECT_TRUE(sim::hangsOf(sim::recover(dumps({over, over, over, over}, kFour)).evidence).empty());
}

TEST(Hangs, BeginWithWhomNobodyKeepsElsewhere)
{
    // tp [0, 1] and [2, 3], dp [0, 2] and [1, 3] of two halves of a world of eight. Rank 3's host never asks for its second sum
    // in tp: 2 waits for it there, 0 and 1 in dp, the other half in the world.
    std::string groups = R"("0":{"name":"0","desc":"default_pg","ranks":"[0, 1, 2, 3, 4, 5]"})";
    for (const auto& [name, ranks] :
         std::vector<std::pair<std::string, std::string>>{{"1", "[0, 1]"}, {"2", "[2, 3]"}, {"3", "[0, 2]"}, {"4", "[1, 3]"}})
        groups += ",\"" + name + R"(":{"name":")" + name + R"(","desc":"of two","ranks":")" + ranks + "\"}";
    const auto pair = [](int number, const char* group, const char* state = "completed") {
        return Called{.number = number, .state = state, .group = group};
    };
    const std::vector<std::vector<Called>> ranks{{{1}, pair(2, "1"), pair(1, "3", "started")},
                                                 {{1}, pair(2, "1"), pair(1, "4", "started")},
                                                 {{1}, pair(1, "2"), pair(2, "2", "started")},
                                                 {{1}, pair(1, "2")},
                                                 {{1}, {2, "started"}},
                                                 {{1}, {2, "started"}}};
    const std::vector<sim::Hang> hangs = sim::hangsOf(sim::recover(dumps(ranks, groups)).evidence);
    ASSERT_EQ(hangs.size(), 4U);
    EXPECT_THAT(hangs[0].absent, ElementsAre(3)) << hangs[0].title;
    EXPECT_THAT(hangs[1].absent, ElementsAre(3)) << hangs[1].title;
    EXPECT_THAT(hangs[2].absent, ElementsAre(0, 1, 2, 3)) << hangs[2].title;
}

/// A group's counts in "pg_status". Without NCCL's timing no start is ever recorded.
std::string countedTo(const std::string& group, int asked, int over)
{
    return "\"" + group + R"(":{"last_enqueued_collective":)" + std::to_string(asked) +
           R"(,"last_started_collective":-1,"last_completed_collective":)" + std::to_string(over) + "}";
}
Called openCall(int number, const std::string& group = "0", int at = 0)
{
    return {.number = number, .state = "scheduled", .group = group, .at = at};
}

TEST(Hangs, OfADumpInWhichNothingIsOpenGoByWhatItCounts)
{
    const std::string waits = countedTo("0", 8, 7);
    const sim::Recording recording =
        dumps({{openCall(8)}, {openCall(8)}, {}, {openCall(8)}}, kFour, SIZE_MAX, {waits, waits, countedTo("0", 7, 7), waits});
    EXPECT_THAT(recording.problems, testing::Contains(HasSubstr("holds no entry, only how far its rank has come in each group")));
    const sim::Recovered run = sim::recover(recording);
    const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_EQ(hangs[0].title, "All-reduce 8 of group default_pg waits for rank 2, which has not come to it");
    EXPECT_THAT(hangs[0].detail, HasSubstr("Rank 2 ended collective 7 last, and asked for nothing after it."));
    EXPECT_THAT(hangs[0].detail,
                HasSubstr("Ranks 0, 1 and 3 have asked for it. Whether the device has begun it is not recorded."));
    EXPECT_THAT(sim::recoveredText(run), HasSubstr("3 collectives asked for and never ended"));
}

TEST(Hangs, NameRanksThatStoppedInWhatOthersHaveEnded)
{
    // Rank 3's device failed in 6; all others ended 7, and wait for it in 8. Both ends have asked for a send that is behind that.
    const std::string groups = kFour + R"(,"1":{"name":"1","desc":"mesh_pp","ranks":"[0, 3]"})";
    const Called sent{.number = 9, .state = "scheduled", .what = "send 1->0", .group = "1", .isTransfer = true},
        received{.number = 9, .state = "scheduled", .what = "recv 0<-1", .group = "1", .isTransfer = true};
    const std::string waits = countedTo("0", 8, 7);
    for (const bool isCounted : {true, false}) { // their entries alone tell, too
        const auto run = sim::recover(
            dumps({{openCall(8), received}, {openCall(8)}, {openCall(8)}, {openCall(6), openCall(7), sent}}, groups, SIZE_MAX,
                  isCounted ? std::vector{waits, waits, waits, countedTo("0", 7, 5)} : std::vector<std::string>(4)));
        const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
        ASSERT_EQ(hangs.size(), 2U) << isCounted << hangs[0].title << ": " << hangs[0].detail;
        EXPECT_EQ(hangs[0].title, "Rank 3 stands still in what others have ended");
        EXPECT_THAT(hangs[0].waiting, ElementsAre(3));
        EXPECT_THAT(hangs[0].detail, HasSubstr("Rank 3 has not seen the end of all-reduce 6 of group default_pg, asked for at"));
        EXPECT_EQ(hangs[1].title, "All-reduce 8 of group default_pg waits for rank 3, which has not come to it");
        EXPECT_THAT(hangs[1].detail, HasSubstr("Rank 3 ended collective 5 last, and asked for nothing after 7."));
        EXPECT_THAT(sim::answersOf(run).findings.at(0).ranks, ElementsAre(3));
    }
}

TEST(Hangs, ABroadcastThatItsRootHasEndedWaitsForWhoHasNotCome)
{
    // It ends on its root when that has sent, and a reduction on a leaf likewise.
    for (const char* what : {"broadcast", "reduce"}) {
        const Called over{.number = 5, .what = what}, open{.number = 5, .state = "scheduled", .what = what};
        const sim::Recovered run = sim::recover(dumps({{over}, {{.number = 4}}, {open}, {over}}, kFour));
        const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
        ASSERT_EQ(hangs.size(), 1U) << what;
        EXPECT_THAT(hangs[0].title, testing::EndsWith(" 5 of group default_pg waits for rank 1, which has not come to it"));
    }
}

TEST(Hangs, TellFirstOfAllWhoKeepOthersTogether)
{
    // tp [0, 1] and [2, 3]: 1 and 3 asked for nothing more in either, nor in the world.
    const std::string groups = kFour + R"(,"1":{"name":"1","desc":"mesh_tp","ranks":"[0, 1]"},)"
                                       R"("2":{"name":"2","desc":"mesh_tp","ranks":"[2, 3]"})";
    const sim::Recovered run = sim::recover(
        dumps({{openCall(8, "0", 1), openCall(5, "1", 2)}, {}, {openCall(8, "0", 1), openCall(5, "2", 2)}, {}}, groups, SIZE_MAX,
              {countedTo("0", 8, 7) + "," + countedTo("1", 5, 4) + "," + countedTo("2", 0, 0),
               countedTo("0", 7, 7) + "," + countedTo("1", 4, 4) + "," + countedTo("2", 0, 0),
               countedTo("0", 8, 7) + "," + countedTo("1", 0, 0) + "," + countedTo("2", 5, 4),
               countedTo("0", 7, 7) + "," + countedTo("1", 0, 0) + "," + countedTo("2", 4, 4)}));
    const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_EQ(hangs.size(), 3U);
    EXPECT_THAT(hangs[0].absent, ElementsAre(1, 3));
    EXPECT_THAT(hangs[1].absent, ElementsAre(1));
    EXPECT_THAT(hangs[2].absent, ElementsAre(3));
}

TEST(Hangs, TakeCountsThatAreOfTransfersForNothing)
{
    // The library counts sends and receives on: 13998 is no collective.
    const Called behind = openCall(8);
    const Called received{.number = 13998, .state = "scheduled", .what = "recv 0<-1", .isTransfer = true, .at = 9};
    const Called passed{.number = 13998, .state = "scheduled", .what = "send 1->2", .isTransfer = true, .at = 9};
    const Called taken{.number = 13998, .state = "scheduled", .what = "recv 2<-1", .isTransfer = true, .at = 9};
    const std::string counts = countedTo("0", 13998, 13997);
    const sim::Recovered run = sim::recover(
        dumps({{behind, received}, {behind, passed}, {behind, taken}, {}}, kFour, SIZE_MAX, {counts, counts, counts, counts}));
    const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_EQ(hangs[0].title, "All-reduce 8 of group default_pg waits for rank 3, which has not come to it");
}

TEST(Hangs, OfManyGroupsSayHowManyMoreThereAre)
{
    std::string groups = kFour;
    std::vector<Called> open;
    for (int group = 1; group <= 11; ++group) {
        const std::string name = std::to_string(group);
        groups += ",\"" + name + R"(":{"name":")" + name + R"(","desc":"mesh","ranks":"[0, 1, 2, 3]"})";
        open.push_back(openCall(5, name, group));
    }
    const sim::Recovered run = sim::recover(dumps({open, open, open, {openCall(4, "1")}}, groups));
    const std::vector<sim::RunFinding> findings = sim::answersOf(run).findings;
    const auto isHang = [](const sim::RunFinding& of) { return of.kind == "hang"; };
    ASSERT_EQ(std::count_if(findings.begin(), findings.end(), isHang), 9);
    EXPECT_EQ(findings[8].title, "And 4 more that never ended");
}

TEST(Hangs, AreToldByCountsWhereDumpsHoldNothingElse)
{
    const std::string waits = countedTo("0", 10, 9), all = countedTo("0", 9, 9);
    const sim::Recovered behind = sim::recover(dumps({{}, {}, {}, {}}, kFour, SIZE_MAX, {waits, waits, all, waits}));
    std::vector<sim::Hang> hangs = sim::hangsOf(behind.evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_EQ(hangs[0].title, "Call 10 of group default_pg is not over on ranks 0, 1 and 3; rank 2 has asked for fewer");
    EXPECT_THAT(hangs[0].absent, ElementsAre(2));
    EXPECT_THAT(hangs[0].detail,
                HasSubstr("Only counts are recorded of it: whether it is a collective, a send or a receive, "
                          "and whether a device has begun it, is not; were it a collective, it would wait for rank 2."));
    EXPECT_THAT(hangs[0].detail, HasSubstr("Rank 2 ended call 9 last, and asked for nothing after it."));
    const sim::Recovered together = sim::recover(dumps({{}, {}, {}, {}}, kFour, SIZE_MAX, {waits, waits, waits, waits}));
    hangs = sim::hangsOf(together.evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_EQ(hangs[0].title, "Call 10 of group default_pg never ended, though all its ranks have asked for it");
    EXPECT_THAT(hangs[0].detail, testing::Not(HasSubstr("has not begun it")));
    const sim::Recovered done = sim::recover(dumps({{}, {}, {}, {}}, kFour, SIZE_MAX, {all, all, all, all}));
    EXPECT_THAT(sim::hangsOf(done.evidence), testing::IsEmpty());
    EXPECT_THAT(sim::answersText(done, sim::answersOf(done)),
                testing::AllOf(HasSubstr("only counts are recorded, by which each rank has ended all that it asked for"),
                               testing::Not(HasSubstr("nothing stands out"))));
}

TEST(Hangs, OfCountsNameWhoHasNotEndedWhatOthersHave)
{
    const std::string waits = countedTo("0", 10, 9), over = countedTo("0", 10, 10), fewer = countedTo("0", 9, 9);
    const sim::Recovered run = sim::recover(dumps({{}, {}, {}, {}}, kFour, SIZE_MAX, {over, waits, waits, waits}));
    std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_EQ(hangs[0].title, "Call 10 of group default_pg is over on rank 0, and not on ranks 1, 2 and 3");
    EXPECT_THAT(hangs[0].detail, HasSubstr("in a job that ran on while it was dumped this may be no more than that"));
    EXPECT_THAT(sim::answersText(run, sim::answersOf(run)), testing::Not(HasSubstr("only counts are recorded, by which")));
    // One has gone two further: what it waits in is told as well.
    const sim::Recovered further =
        sim::recover(dumps({{}, {}, {}, {}}, kFour, SIZE_MAX, {countedTo("0", 12, 11), waits, waits, fewer}));
    hangs = sim::hangsOf(further.evidence);
    ASSERT_EQ(hangs.size(), 2U);
    EXPECT_EQ(hangs[0].title,
              "Call 10 of group default_pg is over on rank 0, and not on ranks 1 and 2; rank 3 has asked for fewer");
    EXPECT_THAT(hangs[0].absent, ElementsAre(3));
    EXPECT_EQ(hangs[1].title, "Call 12 of group default_pg is not over on rank 0; ranks 1, 2 and 3 have asked for fewer");
}

TEST(Hangs, OfCountsAreToldBesideARankThatKeepsOldEntries)
{
    const std::string waits = countedTo("0", 10, 9);
    const sim::Recovered run = sim::recover(
        dumps({{{.number = 8}, {.number = 9}}, {}, {}, {}}, kFour, SIZE_MAX, {countedTo("0", 9, 9), waits, waits, waits}));
    const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_EQ(hangs[0].title, "Call 10 of group default_pg is not over on ranks 1, 2 and 3; rank 0 has asked for fewer");
    EXPECT_THAT(hangs[0].detail, HasSubstr("Rank 0 ended all-reduce 9 last"));
}

TEST(Hangs, AreNotMadeOfCountsThatDoNotSayWhatEnded)
{
    const std::string asked = R"("0":{"last_enqueued_collective":57})";
    const sim::Recovered run = sim::recover(dumps({{}, {}, {}, {}}, kFour, SIZE_MAX, {asked, asked, asked, asked}));
    EXPECT_THAT(sim::hangsOf(run.evidence), testing::IsEmpty());
    EXPECT_THAT(sim::answersText(run, sim::answersOf(run)), testing::Not(HasSubstr("only counts are recorded")));
    // -1 says that none has.
    const std::string none = countedTo("0", 1, -1);
    const sim::Recovered first = sim::recover(dumps({{}, {}, {}, {}}, kFour, SIZE_MAX, {none, none, none, none}));
    ASSERT_EQ(sim::hangsOf(first.evidence).size(), 1U);
    EXPECT_EQ(sim::hangsOf(first.evidence)[0].title,
              "Call 1 of group default_pg never ended, though all its ranks have asked for it");
}

TEST(Hangs, OfAPartOfTheRanksAreNotDeniedForAll)
{
    const std::string all = countedTo("0", 9, 9);
    const sim::Recovered part = sim::recover(dumps({{}, {}}, kFour, SIZE_MAX, {all, all}));
    EXPECT_THAT(sim::answersText(part, sim::answersOf(part)),
                HasSubstr("only counts are recorded, by which all that the 2 of 4 ranks that are recorded asked for is over"));
}

TEST(Hangs, OfAGroupWithoutAListAreOfTheRanksWhoseDumpsNameIt)
{
    const std::vector<Called> waits{{5}, {6}, {7, "started"}}, lags{{5}, {6}};
    const sim::Recovered run = sim::recover(dumps({waits, waits, lags, waits}, ""));
    const std::vector<sim::Hang> hangs = sim::hangsOf(run.evidence);
    ASSERT_EQ(hangs.size(), 1U);
    EXPECT_THAT(hangs[0].title, testing::StartsWith("All-reduce 7 of group "));
    EXPECT_THAT(hangs[0].title, testing::EndsWith(" waits for rank 2, which has not come to it"));
    EXPECT_THAT(hangs[0].detail,
                HasSubstr("Who belongs to the group is not recorded: these are the ranks whose dumps name it, and "
                          "there may be others."));
}

TEST(Hangs, AreNotMadeOfEntriesThatSayNeitherAStateNorATime)
{
    const std::vector<Called> untold{{5, ""}, {6, ""}};
    const sim::Recording recording = dumps({untold, untold, untold, untold}, kFour);
    const auto leftOut = [](const sim::RecordedSkip& of) { return of.what == "collective without a state" && of.count == 2; };
    EXPECT_EQ(std::count_if(recording.skipped.begin(), recording.skipped.end(), leftOut), 4);
    const sim::Recovered run = sim::recover(recording);
    EXPECT_THAT(sim::hangsOf(run.evidence), testing::IsEmpty());
    EXPECT_THAT(sim::answersText(run, sim::answersOf(run)), testing::Not(HasSubstr("nothing stands out")));
}

} // namespace
