// NCCL's recorders and Nsight Systems.
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/readers/pickle.h"
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace {

using sim::Recording;
using testing::HasSubstr;

const std::filesystem::path kNcclData = std::filesystem::path(RANKSCOPE_TEST_DATA) / "nccl";

std::string bytesOf(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string refusal(const std::string& bytes)
{
    try {
        sim::readRecording(bytes.data(), bytes.size(), "dump");
    } catch (const sim::Error& error) {
        return error.what();
    }
    return {};
}

TEST(FlightRecorder, JsonAndPickleOfEveryProtocolSayTheSame)
{
    for (const char* name : {"flight_rank_1.json", "flight_protocol2_rank_1.pickle", "flight_protocol4_rank_1.pickle"}) {
        SCOPED_TRACE(name);
        const Recording recording = sim::readRecording({kNcclData / name});
        ASSERT_EQ(recording.ranks.size(), 1U);
        const sim::RankRecording& rank = recording.ranks[0];
        EXPECT_EQ(rank.rank, 1);
        EXPECT_EQ(recording.worldSize, 2);
        EXPECT_EQ(recording.groups.at(0).ranks, (std::vector<int>{0, 1}));
        ASSERT_EQ(rank.collectives.size(), 4U);
        EXPECT_EQ(recording.names[rank.collectives[0].name], "all_reduce");
        EXPECT_EQ(rank.collectives[0].sequence, 1);
        EXPECT_EQ(rank.collectives[0].inElements, 12);
        EXPECT_EQ(rank.collectives[0].startNs, 1700000000000000100);
        EXPECT_EQ(rank.collectives[1].durationNs, 500000);
        EXPECT_EQ(rank.collectives[2].durationNs, -1); // hangs
        EXPECT_FALSE(rank.collectives[2].isEnqueuedOnly);
        EXPECT_TRUE(rank.collectives[3].isEnqueuedOnly);
        EXPECT_THAT(recording.problems.at(0), HasSubstr("2 of 4 collectives never ended"));
    }
}

TEST(FlightRecorder, WhatIsRetiredIsOverThoughNobodyTimedIt)
{
    // As Gloo's recorder writes it: states stay "scheduled".
    const auto entry = [](int number, const char* retired) {
        return R"({"record_id":0,"pg_id":1,"process_group":["1","mesh_pp"],"profiling_name":"gloo:all_reduce","is_p2p":false,)"
               R"("collective_seq_id":)" +
               std::to_string(number) + R"(,"p2p_seq_id":0,"state":"scheduled","time_created_ns":1700000000000000100,)" +
               R"("time_discovered_started_ns":0,"time_discovered_completed_ns":0,"retired":)" + retired + "}";
    };
    const std::string dump = R"({"version":"2.10","pg_config":{"":{"desc":"","name":"","ranks":"[0, 1]"}},)"
                             R"("pg_status":{"1":{"last_completed_collective":"2"}},"entries":[)" +
                             entry(1, "true") + "," + entry(2, "false") + "," + entry(3, "false") + "]}";
    const Recording recording = sim::readRecording(dump.data(), dump.size(), "fr_rank_3.json");
    const sim::RankRecording& rank = recording.ranks.at(0);
    ASSERT_EQ(rank.collectives.size(), 3U);
    EXPECT_EQ(rank.collectives[0].durationNs, sim::kUntimed);
    EXPECT_FALSE(rank.collectives[0].isEnqueuedOnly);
    EXPECT_EQ(rank.collectives[1].durationNs, sim::kUntimed); // by the count of its group
    EXPECT_EQ(rank.collectives[2].durationNs, -1);
    EXPECT_TRUE(rank.collectives[2].isEnqueuedOnly);
    EXPECT_THAT(recording.problems.at(0), HasSubstr("1 of 3 collectives never ended"));
    for (const sim::RecordedGroup& group : recording.groups) // of places in a group no ranks are made
        EXPECT_TRUE(group.ranks.empty()) << group.name;
}

/// A rank's dump with one entry that never ended, or with none.
void writeOpenDump(const std::filesystem::path& folder, int rank, std::int64_t createdNs, const std::string& group)
{
    std::filesystem::create_directories(folder);
    std::ofstream(folder / ("dump_rank_" + std::to_string(rank) + ".json"))
        << R"({"version":"2.9","pg_config":{"7":{"name":"7","desc":"mesh_tp","ranks":")" << group
        << R"("}},"pg_status":{"1":{"last_enqueued_collective":8,"last_started_collective":-1,"last_completed_collective":7}},"entries":[)"
        << (createdNs == 0 ? std::string()
                           : R"({"record_id":0,"pg_id":1,"process_group":["7","mesh_tp"],"collective_seq_id":8,"p2p_seq_id":0,)"
                             R"("profiling_name":"nccl:all_reduce","state":"scheduled","is_p2p":false,"time_created_ns":)" +
                                 std::to_string(createdNs) + "}")
        << "]}";
}

TEST(FlightRecorder, OfJobsOfOtherTimesOrGridsAreNotReadAsOne)
{
    const std::filesystem::path folder =
        std::filesystem::path(testing::TempDir()) / ("flight-of-jobs-" + std::to_string(::getpid()));
    constexpr std::int64_t kAt = 1'700'000'000'000'000'000, kHour = 3'600'000'000'000;
    for (const auto& [laterNs, members] :
         std::vector<std::pair<std::int64_t, std::string>>{{8 * kHour, "[0, 1]"}, {0, "[1, 2]"}}) {
        for (const int rank : {0, 1}) // nothing is open on the second, which does not say when it was written
            writeOpenDump(folder / "b", rank, rank == 0 ? kAt : 0, "[0, 1]");
        writeOpenDump(folder / "a", 1, kAt + laterNs, members);
        const Recording recording = sim::readRecording({folder});
        ASSERT_EQ(recording.otherRuns.size(), 1U) << members;
        EXPECT_THAT(recording.otherRuns[0].why,
                    HasSubstr(laterNs > 0 ? "recorded 8 hours later" : "of other members of group \"7\""));
        ASSERT_EQ(recording.ranks.size(), 2U);
        EXPECT_EQ(recording.ranks[1].rank, 1);
        EXPECT_TRUE(recording.ranks[1].collectives.empty()) << "that of its own folder";
        ASSERT_EQ(recording.ranks[1].progress.size(), 1U);
        EXPECT_EQ(recording.ranks[1].progress[0].lastOver, 7);
        EXPECT_EQ(recording.ranks[1].progress[0].lastAsked, 8);
        std::filesystem::remove_all(folder);
    }
}

TEST(FlightRecorder, OfThePastIsAListWithOneNumber)
{
    // A pickle of protocol 2 as PyTorch 2.2 wrote it: [{'seq_id': 3, 'profiling_name': 'nccl:all_reduce', 'time_created_ns': …}].
    std::string dump("\x80\x02]}(", 5);
    const auto key = [&dump](const std::string& text) {
        dump += std::string("X") + static_cast<char>(text.size()) + std::string(3, 0) + text;
    };
    key("seq_id");
    dump += std::string("K\x03", 2);
    key("profiling_name");
    key("nccl:all_reduce");
    key("time_created_ns");
    dump += std::string("\x8a\x08\x00\x00\x5a\x98\xd2\x9d\x97\x17", 10);
    key("state");
    key("completed");
    dump += "ua.";
    const Recording recording = sim::readRecording(dump.data(), dump.size(), "nccl_trace_rank_1");
    const sim::RankRecording& rank = recording.ranks.at(0);
    EXPECT_EQ(rank.rank, 1);
    ASSERT_EQ(rank.collectives.size(), 1U);
    EXPECT_EQ(rank.collectives[0].sequence, 3);
    EXPECT_EQ(recording.names[rank.collectives[0].name], "all_reduce");
    const std::string other("\x80\x02]K\x01\x61.");
    EXPECT_THAT(refusal(other), HasSubstr("entries"));
}

TEST(FlightRecorder, FindsMembersOfItsGroupsInAnotherFileOfTheRank)
{
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "flight-and-kineto";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "dump_rank_2.json")
        << R"({"version":"2.10","pg_config":{},"entries":[{"record_id":0,"pg_id":1,"process_group":["1","mesh_pp"],)"
           R"("profiling_name":"gloo:all_reduce","collective_seq_id":1,"state":"completed","time_created_ns":1700000000000000100,)"
           R"("time_discovered_started_ns":1700000000000000200,"time_discovered_completed_ns":1700000000000000300}]})";
    std::ofstream(folder / "trace_rank_2.json")
        << R"({"schemaVersion":1,"distributedInfo":{"backend":"gloo","rank":2,"world_size":4,"pg_config":[{"pg_name":"1",)"
           R"("pg_desc":"mesh_pp","pg_size":2,"ranks":[0,2]}]},"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,)"
           R"("tid":1,"ts":1700000000000000,"dur":5}]})";
    const Recording recording = sim::readRecording({folder});
    std::filesystem::remove_all(folder);
    ASSERT_EQ(recording.ranks.size(), 1U);
    ASSERT_EQ(recording.groups.size(), 1U);
    EXPECT_EQ(recording.groups[0].ranks, (std::vector<int>{0, 2}));
    ASSERT_EQ(recording.ranks[0].collectives.size(), 1U);
    EXPECT_EQ(recording.ranks[0].collectives[0].group, 0);
}

/// One collective that was asked for at 0 ms, and whose end the watchdog saw at 100 ms.
std::string flightDump(const std::string& more)
{
    return R"({"version":"2.10","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}},"entries":[{"record_id":0,)"
           R"("process_group":["0","default_pg"],"profiling_name":"nccl:all_reduce","collective_seq_id":1,"state":"completed",)"
           R"("time_created_ns":1700000000000000000,"time_discovered_completed_ns":1700000000100000000,"retired":true)" +
           more + "}]}";
}

TEST(FlightRecorder, LastsAsLongAsTheDeviceSaysAndNotAsItWasQueued)
{
    const auto collective = [](const std::string& more) {
        const std::string dump = flightDump(more);
        return sim::readRecording(dump.data(), dump.size(), "flight_rank_1.json").ranks.at(0).collectives.at(0);
    };
    for (const char* started : {"", R"(,"time_discovered_started_ns":1700000000100000000)"}) {
        const sim::RecordedCollective timed = collective(std::string(started) + R"(,"duration_ms":1.25)");
        EXPECT_EQ(timed.durationNs, 1'250'000);
        EXPECT_EQ(timed.startNs + timed.durationNs, 1700000000100000000);
    }
    EXPECT_EQ(collective("").durationNs, sim::kUntimed);
    EXPECT_FALSE(collective("").isEnqueuedOnly);
    EXPECT_EQ(collective("").startNs, 1700000000000000000); // where it was asked for
    EXPECT_EQ(collective(R"(,"time_discovered_started_ns":1700000000040000000)").durationNs, 60'000'000);
}

TEST(FlightRecorder, CollectivesWhoseEndsWereSeenAtOnceRanInTurn)
{
    std::string dump = R"({"version":"2.10","entries":[)";
    for (int number = 1; number <= 3; ++number)
        dump +=
            (number == 1 ? "" : ",") +
            (R"({"process_group":["0","default_pg"],"profiling_name":"nccl:all_reduce","state":"completed","duration_ms":2,)"
             R"("time_created_ns":1700000000000000000,"time_discovered_completed_ns":1700000000100000000,"collective_seq_id":)" +
             std::to_string(number) + "}");
    dump += "]}";
    const Recording recording = sim::readRecording(dump.data(), dump.size(), "flight_rank_1.json");
    const auto& collectives = recording.ranks.at(0).collectives;
    ASSERT_EQ(collectives.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(collectives[i].sequence, static_cast<std::int64_t>(i + 1));
        EXPECT_EQ(collectives[i].durationNs, 2'000'000);
        EXPECT_EQ(collectives[i].startNs, 1700000000094000000 + static_cast<std::int64_t>(i) * 2'000'000);
    }
}

TEST(FlightRecorder, ANumberInItsNameIsNoRankThatItsGroupsDoNotHave)
{
    const std::string dump = flightDump("");
    const auto rankOf = [&](const char* name) { return sim::readRecording(dump.data(), dump.size(), name).ranks.at(0).rank; };
    EXPECT_EQ(rankOf("dump_4242.json"), -1);
    EXPECT_EQ(rankOf("dump_rank_1.json"), 1);
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "flight-numbered";
    std::filesystem::create_directories(folder);
    for (const char* name : {"dump_0.json", "dump_1.json", "dump_2.json"})
        std::ofstream(folder / name) << dump;
    std::vector<int> ranks;
    for (const sim::RankRecording& rank : sim::readRecording({folder}).ranks)
        ranks.push_back(rank.rank);
    std::filesystem::remove_all(folder);
    EXPECT_EQ(ranks, (std::vector<int>{0, 1, -1}));
}

TEST(FlightRecorder, RunsNothingThatAPickleAsksFor)
{
    EXPECT_THAT(refusal(bytesOf(kNcclData / "flight_evil.pickle")), HasSubstr(".print, which is not run"));
}

TEST(FlightRecorder, OfADumpThatEndsTooEarlyTheEntriesBeforeAreKept)
{
    const std::string text = bytesOf(kNcclData / "flight_rank_1.json");
    const std::string cut = text.substr(0, 1500); // in the third entry
    const Recording recording = sim::readRecording(cut.data(), cut.size(), "dump_rank_1.json");
    EXPECT_EQ(recording.ranks.at(0).collectives.size(), 2U);
    EXPECT_EQ(recording.groups.at(0).ranks, (std::vector<int>{0, 1}));
    EXPECT_FALSE(recording.files.at(0).isComplete);
    EXPECT_THAT(recording.problems.at(0), HasSubstr("it ends too early, at byte 1500; the 2 entries that can be read are kept"));
    EXPECT_THAT(refusal(text.substr(0, 300)), HasSubstr("it ends too early, at byte 300, and no entry before that is whole"));
    for (const char* name : {"flight_protocol2_rank_1.pickle", "flight_protocol4_rank_1.pickle"}) {
        const std::string pickle = bytesOf(kNcclData / name);
        std::size_t before = 0;
        for (std::size_t size = 2; size < pickle.size(); ++size) {
            SCOPED_TRACE(name + std::to_string(size));
            const std::string start = pickle.substr(0, size), why = refusal(start);
            if (!why.empty()) {
                ASSERT_EQ(before, 0U);
                ASSERT_THAT(why, HasSubstr("it ends too early, at byte " + std::to_string(size)));
                continue;
            }
            const Recording part = sim::readRecording(start.data(), size, "dump_rank_1");
            ASSERT_GE(part.ranks.at(0).collectives.size(), std::max<std::size_t>(before, 1));
            ASSERT_EQ(part.groups.at(0).ranks, (std::vector<int>{0, 1}));
            ASSERT_FALSE(part.files.at(0).isComplete);
            before = part.ranks[0].collectives.size();
        }
        EXPECT_EQ(before, 4U) << name;
    }
}

TEST(FlightRecorder, DamageCostsAnEntryAndIsSaidWithItsByte)
{
    std::string text = bytesOf(kNcclData / "flight_rank_1.json");
    const std::size_t colon = text.find(':', text.find("\"state\"", 900)); // of the second entry
    text[colon] = '!';
    const Recording recording = sim::readRecording(text.data(), text.size(), "dump_rank_1.json");
    EXPECT_EQ(recording.ranks.at(0).collectives.size(), 3U);
    EXPECT_THAT(recording.problems.at(0),
                HasSubstr("it is damaged at byte " + std::to_string(colon) + " of 2255; the 3 entries"));
    std::mt19937 random(3);
    const std::string pickle = bytesOf(kNcclData / "flight_protocol4_rank_1.pickle");
    for (int round = 0; round < 2000; ++round) {
        std::string bytes = pickle;
        bytes[random() % bytes.size()] = static_cast<char>(random());
        bytes.resize(bytes.size() - random() % 2 * (random() % bytes.size()));
        refusal(bytes); // refused or read, and no more
    }
}

TEST(Pickle, ValuesThatReferToEachOtherAreBounded)
{
    std::string doubling = "\x80\x02]q"; // a list, kept as 0; then forty lists of the one before, twice each
    doubling += '\0';
    for (int i = 0; i < 60; ++i)
        doubling += std::string("]q") + static_cast<char>(i + 1) + "(h" + static_cast<char>(i) + "h" + static_cast<char>(i) + "e";
    EXPECT_THROW(sim::readPickleStart(doubling + "."), sim::Error);
    std::string ownMember = "\x80\x02]q";
    ownMember += std::string("\0h\0a.", 5);
    EXPECT_THROW(sim::readPickleStart(ownMember), sim::Error);
}

TEST(Pickle, BytesThatEachMakeAValueAreBounded)
{
    const auto refusalOf = [](const std::string& pickle) {
        try {
            sim::readPickleStart(pickle);
        } catch (const sim::Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(refusalOf("\x80\x02" + std::string(std::size_t{24} << 20, ']')), HasSubstr("take more than 512 MiB"));
}

TEST(NcclInspector, RankscopesOwnLinesCountAllMembersAlready)
{
    const std::string lines =
        bytesOf(std::filesystem::path(RANKSCOPE_TEST_DATA).parent_path() / "fuzz" / "seeds" / "recording" / "nccl_plugin.jsonl");
    const Recording recording = sim::readRecording(lines.data(), lines.size(), "nccl-node1-1.jsonl");
    const auto& collectives = recording.ranks.at(0).collectives;
    ASSERT_FALSE(collectives.empty());
    EXPECT_EQ(recording.names[collectives[0].name], "allgather");
    EXPECT_EQ(collectives[0].bytes, 16000);
}

TEST(NcclInspector, ALineTooLongIsPassedOverAndNotHeld)
{
    const std::string line =
        R"({"header":{"id":"0x7f8","rank":2,"n_ranks":8},"coll_perf":{"coll":"AllReduce","coll_sn":1,"coll_exec_time_us":5,"event_trace_ts":{"coll_start_ts":17000}}})";
    std::string text = line + "\n" + line.substr(0, line.size() - 1) + ",\"more\":\"" + std::string(std::size_t{5} << 20, 'x') +
                       "\"}\n" + line + "\n";
    const Recording recording = sim::readRecording(text.data(), text.size(), "long.log");
    EXPECT_EQ(recording.ranks.at(0).collectives.size(), 2U); // before and after it
    ASSERT_EQ(recording.skipped.size(), 1U);
    EXPECT_THAT(recording.skipped[0].why, HasSubstr("is longer than 1048576 bytes"));
    text.resize(std::size_t{3} << 20); // cut inside it
    EXPECT_EQ(sim::readRecording(text.data(), text.size(), "long.log").ranks.at(0).collectives.size(), 1U);
}

TEST(Pipes, ThatNobodyWritesToDoNotKeepTheReaderWaiting)
{
    const std::filesystem::path pipe = std::filesystem::path(testing::TempDir()) / "trace_pipe.json";
    std::filesystem::remove(pipe);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::jthread writer([&] { // a pipe that is written to is read as a file is
        std::ofstream out(pipe);
        out << R"([{"ph":"X","name":"k","cat":"kernel","pid":0,"tid":7,"ts":1,"dur":2}])";
    });
    EXPECT_EQ(sim::readRecording({pipe}).spanCount(), 1U);
    writer.join();
    // One whose writer thinks before its first byte, longer than nobody would be waited for, has a writer.
    writer = std::jthread([&] {
        std::ofstream out(pipe);
        std::this_thread::sleep_for(std::chrono::milliseconds(5300));
        out << R"([{"ph":"X","name":"k","cat":"kernel","pid":0,"tid":7,"ts":1,"dur":2}])";
    });
    EXPECT_EQ(sim::readRecording({pipe}).spanCount(), 1U);
    writer.join();
    const sim::CancelScope cancelled([] { return true; }); // what waits can be stopped
    EXPECT_THROW(sim::readRecording({pipe}), sim::Cancelled);
    std::filesystem::remove(pipe);
}

TEST(NcclInspector, LinesTakeTheirHeaderFromThemselvesOrTheLineBefore)
{
    const std::string before =
        R"({"header":{"id":"0x7f8","rank":2,"n_ranks":8,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0","dump_timestamp_us":1748030377748202,"hostname":"node-3","pid":1},"coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":1024,"coll_exec_time_us":61974}})";
    const std::string after =
        R"({"dump_stats":{"header":{"id":"0x7f8","rank":2,"n_ranks":8,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.3","dump_timestamp_us":1748030377748202,"hostname":"node-3","pid":1}}})"
        "\n"
        R"({"coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":1024,"coll_exec_time_us":61974}})";
    for (const std::string& text : {before, after}) {
        const std::string lines = text + "\nnot json\n" + text + "\n{\"cut\":";
        const Recording recording = sim::readRecording(lines.data(), lines.size(), "node-3-pid1.log");
        const sim::RankRecording& rank = recording.ranks.at(0);
        EXPECT_EQ(rank.rank, 2);
        EXPECT_EQ(rank.host, "node-3");
        EXPECT_EQ(recording.worldSize, 8);
        ASSERT_EQ(rank.collectives.size(), 2U);
        EXPECT_EQ(rank.collectives[0].sequence, 1407);
        EXPECT_EQ(rank.collectives[0].bytes, 1024);
        EXPECT_EQ(rank.collectives[0].durationNs, 61'974'000);
        EXPECT_EQ(rank.collectives[0].startNs + rank.collectives[0].durationNs, 1748030377748202000);
        EXPECT_EQ(recording.groups.at(0).size, 8);
        EXPECT_FALSE(recording.files[0].isComplete);
        EXPECT_THAT(recording.skipped, testing::Contains(testing::Field(&sim::RecordedSkip::what, "damaged event")));
    }
}

TEST(NcclInspector, KernelsSayWhenAndBytesAreThoseOfAllMembers)
{
    // As with NCCL_INSPECTOR_DUMP_VERBOSE: the collective's own times are those of its being enqueued.
    const auto line = [](const char* collective, int number) {
        return R"({"header":{"id":"0x7f8","rank":0,"n_ranks":4,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.2",)"
               R"("dump_timestamp_us":1748030377748202,"hostname":"a","pid":1},"coll_perf":{"coll":")" +
               std::string(collective) + R"(","coll_sn":)" + std::to_string(number) +
               R"(,"coll_msg_size_bytes":1024,"coll_exec_time_us":40,"coll_timing_source":"kernel_gpu","event_trace_ts":)"
               R"({"coll_start_ts":1748030377700000,"coll_stop_ts":1748030377700010,"kernel_events":[)"
               R"({"channel_id":0,"kernel_start_ts":1748030377700100,"kernel_stop_ts":1748030377700150},)"
               R"({"channel_id":1,"kernel_start_ts":1748030377700090,"kernel_stop_ts":1748030377700145}]}}})"
               "\n";
    };
    const std::string lines = line("AllGather", 1) + line("AllReduce", 2) + line("ReduceScatter", 3);
    const Recording recording = sim::readRecording(lines.data(), lines.size(), "a-pid1.log");
    const auto& collectives = recording.ranks.at(0).collectives;
    ASSERT_EQ(collectives.size(), 3U);
    for (const sim::RecordedCollective& collective : collectives) {
        EXPECT_EQ(collective.durationNs, 40'000);
        EXPECT_EQ(collective.startNs + collective.durationNs, 1748030377700150000);
        EXPECT_EQ(collective.bytes, recording.names[collective.name] == "allreduce" ? 1024 : 4096);
    }
}

TEST(NcclInspector, SendsAndReceivesAreOfTheRanksThatTheirCommunicatorHasThere)
{
    // Two pipelines of two ranks each, 0 with 2 and 1 with 3; one communicator of all says which ranks these are.
    const auto line = [](int rank, const char* id, int place, int members, const std::string& what) {
        return R"({"header":{"id":")" + std::string(id) + R"(","rank":)" + std::to_string(place) + R"(,"n_ranks":)" +
               std::to_string(members) + R"(},"metadata":{"dump_timestamp_us":1748030377748202,"hostname":"a","pid":)" +
               std::to_string(10 + rank) + "}," + what + "}\n";
    };
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "rankscope_inspector_pipelines";
    std::filesystem::create_directories(folder);
    for (int rank = 0; rank < 4; ++rank) {
        const bool sends = rank < 2;
        std::ofstream(folder / ("a-pid" + std::to_string(10 + rank) + ".log"))
            << line(rank, "0x1", rank, 4,
                    R"("coll_perf":{"coll":"AllReduce","coll_sn":0,"coll_msg_size_bytes":8,"coll_exec_time_us":9})")
            << line(rank, rank % 2 == 0 ? "0x2" : "0x3", rank / 2, 2,
                    std::string(R"("p2p_perf":{"p2p":")") + (sends ? "Send" : "Recv") + R"(","p2p_sn":4,"p2p_peer":)" +
                        (sends ? "1" : "0") + R"(,"p2p_msg_size_bytes":64,"p2p_exec_time_us":7})");
    }
    const Recording recording = sim::readRecording({folder.string()});
    std::filesystem::remove_all(folder);
    ASSERT_EQ(recording.ranks.size(), 4U);
    for (const sim::RankRecording& rank : recording.ranks) {
        const auto transfer = std::find_if(rank.collectives.begin(), rank.collectives.end(),
                                           [](const sim::RecordedCollective& of) { return of.isPointToPoint; });
        ASSERT_NE(transfer, rank.collectives.end());
        const bool sends = rank.rank < 2;
        EXPECT_EQ(recording.names[transfer->name], sends ? "send" : "recv");
        EXPECT_EQ(sends ? transfer->destinationRank : transfer->sourceRank, sends ? rank.rank + 2 : rank.rank - 2);
    }
}

class NsightFile {
public:
    explicit NsightFile(const std::string& statements)
        : m_path(std::filesystem::temp_directory_path() / ("rankscope_nsight_" + std::to_string(::getpid()) + "_rank7.sqlite"))
    {
        std::filesystem::remove(m_path);
        sqlite3* database = nullptr;
        sqlite3_open(m_path.c_str(), &database);
        EXPECT_EQ(sqlite3_exec(database, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
        sqlite3_close(database);
    }
    ~NsightFile() { std::filesystem::remove(m_path); }
    const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

constexpr const char* kNsightTables = R"(
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES(1, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (2, 'gemm'), (3, 'cudaLaunchKernel'), (4, 'forward');
CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000000000000);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(100, 200, 0, 7, 5, 16777216, 2), (150, 400, 0, 9, 6, 16777216, 1), (500, 400, 0, 7, 8, 16777216, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(50, 60, 16777217, 5, 3);
CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES(10, 90, 59, NULL, 4, 16777217), (20, NULL, 34, 'mark', NULL, 16777217);
CREATE TABLE OSRT_API(start INTEGER, end INTEGER);
INSERT INTO OSRT_API VALUES(1, 2), (3, 4);
)";

TEST(Nsight, ReadsKernelsLaunchesAndRanges)
{
    const NsightFile file(kNsightTables);
    const Recording recording = sim::readRecording({file.path()});
    const sim::RankRecording& rank = recording.ranks.at(0);
    EXPECT_EQ(rank.rank, 7);
    EXPECT_EQ(sim::kernelCount(rank), 2U);
    EXPECT_EQ(sim::communicationCount(rank), 1U);
    EXPECT_EQ(sim::busyNs(rank), 300);
    EXPECT_EQ(rank.firstNs, 1700000000000000010);
    EXPECT_EQ(recording.events(), 8U);
    ASSERT_EQ(rank.links.size(), 1U);
    EXPECT_EQ(recording.names[rank.spans.name[rank.links[0].to]], "gemm");
    EXPECT_EQ(recording.names[rank.spans.name[rank.annotations[0]]], "forward");
    EXPECT_EQ(recording.names[rank.collectives.at(0).name], "allreduce");
    EXPECT_THAT(recording.skipped, testing::Contains(testing::Field(&sim::RecordedSkip::what, "OSRT_API")));
    EXPECT_THAT(recording.skipped, testing::Contains(testing::Field(&sim::RecordedSkip::what, "damaged event")));
}

TEST(Nsight, KnowsOperatorsThatTorchNamesAnewWithEachCall)
{
    const NsightFile file((std::string(kNsightTables) + R"(
INSERT INTO NVTX_EVENTS VALUES(100, 110, 59, 'aten::mm, seq = 45, op_id = 990, sizes = [[4, 8], [8, 2]]', NULL, 16777217);
INSERT INTO NVTX_EVENTS VALUES(120, 130, 59, 'aten::mm, op_id = 991', NULL, 16777217);
INSERT INTO NVTX_EVENTS VALUES(140, 150, 59, 'nccl:all_to_all, op_id = 992', NULL, 16777217);
INSERT INTO NVTX_EVENTS VALUES(160, 170, 59, 'PP:0F3, op_id = 993', NULL, 16777217);)")
                              .c_str());
    const Recording recording = sim::readRecording({file.path()});
    const sim::RankRecording& rank = recording.ranks.at(0);
    EXPECT_EQ(rank.device, 0);
    std::map<std::string, std::vector<sim::RecordedKind>> kinds;
    for (std::size_t span = 0; span < rank.spans.size(); ++span)
        kinds[recording.names[rank.spans.name[span]]].push_back(rank.spans.kind[span]);
    using Kinds = std::vector<sim::RecordedKind>;
    EXPECT_EQ(kinds["aten::mm"], (Kinds{sim::RecordedKind::cpuOp, sim::RecordedKind::cpuOp}));
    EXPECT_EQ(kinds["nccl:all_to_all"], Kinds{sim::RecordedKind::hostCommunication});
    EXPECT_EQ(kinds["PP:0F3"], Kinds{sim::RecordedKind::annotation});
}

TEST(Nsight, WholeGraphsKeepTheDeviceBusyAndAreTold)
{
    const NsightFile file((std::string(kNsightTables) + R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, deviceId INTEGER, graphId INTEGER, graphExecId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(1000, 3000, 0, 12, 13, 7, 40, 16777216);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(900, 910, 16777217, 40, 3);)")
                              .c_str());
    const Recording recording = sim::readRecording({file.path()});
    const sim::RankRecording& rank = recording.ranks.at(0);
    EXPECT_EQ(sim::busyNs(rank), 300 + 2000);
    ASSERT_EQ(rank.links.size(), 2U);
    EXPECT_EQ(recording.names[rank.spans.name[rank.links[1].to]], "CUDA graph 12");
    const auto told = std::find_if(recording.skipped.begin(), recording.skipped.end(),
                                   [](const sim::RecordedSkip& skip) { return skip.what == "kernels of CUDA graphs"; });
    ASSERT_NE(told, recording.skipped.end());
    EXPECT_EQ(told->count, 1U);
    EXPECT_THAT(told->why, HasSubstr("--cuda-graph-trace=node"));
}

TEST(Nsight, ExportedWithoutWhatIsReadIsTold)
{
    for (const char* about : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
        const NsightFile idle((std::string("CREATE TABLE StringIds(id INTEGER, value TEXT); CREATE TABLE ") + about +
                               "(name TEXT, value TEXT); CREATE TABLE OSRT_API(start INTEGER, end INTEGER, globalTid INTEGER);"));
        try {
            sim::readRecording({idle.path()});
            ADD_FAILURE() << "was read";
        } catch (const sim::Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("Nsight Systems exported it, but neither kernels")) << about;
            EXPECT_THAT(error.what(), HasSubstr("-t cuda,nvtx"));
        }
    }
}

TEST(Nsight, RunsNoViewOfAStranger)
{
    const NsightFile endless(R"(
CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, text TEXT, globalTid INTEGER);
CREATE VIEW StringIds(id, value) AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT i, 'x' FROM n;)");
    try {
        sim::readRecording({endless.path()});
        ADD_FAILURE() << "was read";
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("none that Nsight Systems exported"));
    }
}

/// Each inner page names the next inner one in all its places: a table of 60^10 rows and more.
TEST(Nsight, GivesUpWherePagesNameOneAnother)
{
    const NsightFile file(R"(
PRAGMA page_size = 512;
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, text TEXT, globalTid INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30000) INSERT INTO StringIds SELECT i, 'text ' || i FROM n;)");
    std::string bytes = bytesOf(file.path());
    const auto byteAt = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
    constexpr std::size_t kPage = 512;
    constexpr char kInner = 5;
    std::vector<std::size_t> inner;
    for (std::size_t page = kPage; page + kPage <= bytes.size() && inner.size() < 16; page += kPage)
        if (bytes[page] == kInner)
            inner.push_back(page);
    ASSERT_GT(inner.size(), 10U);
    ASSERT_EQ(inner.front(), kPage); // of StringIds, the first table
    for (std::size_t i = 0; i + 1 < inner.size(); ++i) {
        const std::size_t page = inner[i], next = inner[i + 1] / kPage + 1;
        const std::string child{0, 0, static_cast<char>(next >> 8), static_cast<char>(next)};
        bytes.replace(page + 8, 4, child);
        for (std::size_t cell = 0; cell < byteAt(page + 3) * 256U + byteAt(page + 4); ++cell)
            bytes.replace(page + byteAt(page + 12 + 2 * cell) * 256U + byteAt(page + 13 + 2 * cell), 4, child);
    }
    std::ofstream(file.path(), std::ios::binary) << bytes;
    try {
        sim::readRecording({file.path()});
        ADD_FAILURE() << "was read";
    } catch (const sim::Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("its tables are longer than a file of"));
    }
}

constexpr std::size_t kSmallPage = 1024;

std::string tablesOfManyPages()
{
    return "PRAGMA page_size = " + std::to_string(kSmallPage) + ";" + kNsightTables + R"(
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000)
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1000 * i, 1000 * i + 500, 0, 7, 100 + i, 16777216, 2 FROM n;)";
}

TEST(Nsight, OfADatabaseThatEndsTooEarlyRowsBeforeAreKept)
{
    const NsightFile file(tablesOfManyPages().c_str());
    const std::string bytes = bytesOf(file.path());
    const Recording uncut = sim::readRecording({file.path()});
    EXPECT_TRUE(uncut.files.at(0).isComplete);
    EXPECT_THAT(uncut.problems, testing::IsEmpty());
    const std::size_t whole = sim::kernelCount(uncut.ranks.at(0));
    ASSERT_GT(whole, 3000U);
    const std::size_t size = bytes.size() * 6 / 10;
    std::ofstream(file.path(), std::ios::binary) << bytes.substr(0, size);
    const Recording recording = sim::readRecording({file.path()});
    EXPECT_GT(sim::kernelCount(recording.ranks.at(0)), whole / 3);
    EXPECT_LT(sim::kernelCount(recording.ranks.at(0)), whole);
    EXPECT_FALSE(recording.files.at(0).isComplete);
    EXPECT_THAT(recording.problems.at(0),
                HasSubstr("it ends too early, at byte " + std::to_string(size) + " of " + std::to_string(bytes.size()) + "; " +
                          std::to_string(recording.events()) +
                          " events can be read and are kept, and lack what followed in CUPTI_ACTIVITY_KIND_KERNEL"));
    std::ofstream(file.path(), std::ios::binary) << bytes.substr(0, 1500);
    EXPECT_THROW(sim::readRecording({file.path()}), sim::Error);
}

TEST(Nsight, OfADamagedTableRowsBeforeAreKept)
{
    const NsightFile file(tablesOfManyPages().c_str());
    std::string bytes = bytesOf(file.path());
    bytes.replace(bytes.size() * 6 / 10 / kSmallPage * kSmallPage, kSmallPage, kSmallPage, '\xff');
    std::ofstream(file.path(), std::ios::binary) << bytes;
    const Recording recording = sim::readRecording({file.path()});
    EXPECT_GT(sim::kernelCount(recording.ranks.at(0)), 1000U);
    EXPECT_LT(sim::kernelCount(recording.ranks.at(0)), 3000U);
    EXPECT_FALSE(recording.files.at(0).isComplete);
    EXPECT_THAT(recording.problems.at(0), HasSubstr("it is damaged ("));
    EXPECT_THAT(recording.problems.at(0), HasSubstr("and lack what followed in CUPTI_ACTIVITY_KIND_KERNEL"));
}

TEST(Nsight, RefusesOtherAndDamagedDatabases)
{
    const NsightFile other("CREATE TABLE mine(a INTEGER);");
    EXPECT_THROW(sim::readRecording({other.path()}), sim::Error);
    std::string bytes;
    {
        const NsightFile whole(kNsightTables);
        bytes = bytesOf(whole.path());
    }
    std::mt19937 random(4);
    for (int round = 0; round < 100; ++round) {
        std::string damaged = bytes;
        for (int change = 0; change < 50; ++change)
            damaged[16 + random() % (damaged.size() - 16)] = static_cast<char>(random());
        const auto path =
            std::filesystem::temp_directory_path() / ("rankscope_damaged_" + std::to_string(::getpid()) + ".sqlite");
        std::ofstream(path, std::ios::binary) << damaged;
        try {
            sim::readRecording({path});
        } catch (const sim::Error&) {
        }
        std::filesystem::remove(path);
    }
}

} // namespace
