// Ranks of processes of which NCCL's recorders know only their places in communicators.
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using sim::Recording;
using testing::ElementsAre;
using testing::HasSubstr;

struct MemberOf {
    std::string communicator;
    int place = 0, size = 0;
};

struct LoggedProcess {
    std::string host;
    int id = 0;
    std::vector<MemberOf> in;
    std::int64_t atUs = 0;
};

/// By file, in the order of the processes.
class LoggedJob {
public:
    LoggedJob() : m_folder(std::filesystem::path(testing::TempDir()) / ("logged-job-" + std::to_string(getpid())))
    {
        std::filesystem::remove_all(m_folder);
        std::filesystem::create_directories(m_folder);
    }
    ~LoggedJob() { std::filesystem::remove_all(m_folder); }
    LoggedJob(const LoggedJob&) = delete;
    LoggedJob& operator=(const LoggedJob&) = delete;

    void add(const LoggedProcess& process)
    {
        const std::string name = process.host + "-pid" + std::to_string(process.id) + ".log";
        std::ofstream file(m_folder / name);
        std::int64_t at = 1751234567000000 + process.atUs;
        for (int call = 1; call <= 3; ++call)
            for (const MemberOf& member : process.in) {
                file << R"({"header":{"id":")" << member.communicator << R"(","rank":)" << member.place << R"(,"n_ranks":)"
                     << member.size << R"(},"metadata":{"dump_timestamp_us":)" << at + 100 << R"(,"hostname":")" << process.host
                     << R"(","pid":)" << process.id << R"(},"coll_perf":{"coll":"AllReduce","coll_sn":)" << call
                     << R"(,"coll_msg_size_bytes":64,"coll_exec_time_us":50,"event_trace_ts":{"coll_start_ts":)" << at
                     << R"(,"coll_stop_ts":)" << at + 50 << "}}}\n";
                at += 100;
            }
        m_names.push_back(name);
    }
    Recording read() const { return sim::readRecording({m_folder}); }
    /// Of each process that was added; -1: left out, or unknown.
    std::vector<int> ranks() const
    {
        const Recording recording = read();
        std::map<std::string, int> rankOf;
        for (const sim::RankRecording& rank : recording.ranks)
            rankOf[std::filesystem::path(recording.files.at(static_cast<std::size_t>(rank.file)).path).filename()] = rank.rank;
        std::vector<int> all;
        for (const std::string& name : m_names)
            all.push_back(rankOf.contains(name) ? rankOf[name] : -1);
        return all;
    }

private:
    std::filesystem::path m_folder;
    std::vector<std::string> m_names;
};

/// Rank r of tp 2 (neighbours) and dp `replicas`.
std::vector<MemberOf> tensorAndData(int rank, int replicas)
{
    return {{"tp" + std::to_string(rank / 2), rank % 2, 2}, {"dp" + std::to_string(rank % 2), rank / 2, replicas}};
}

TEST(ProcessNumbers, WithoutACommunicatorOfTheWorldAreInTheOrderOfProcesses)
{
    LoggedJob job;
    for (int rank = 0; rank < 8; ++rank)
        job.add({"node0", 10000 + rank, tensorAndData(rank, 4)});
    EXPECT_THAT(job.ranks(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    const Recording recording = job.read();
    EXPECT_EQ(recording.worldSize, 8);
    EXPECT_TRUE(recording.otherRuns.empty());
    std::map<std::string, std::vector<int>> members;
    for (const sim::RecordedGroup& group : recording.groups)
        members[group.name] = group.ranks;
    EXPECT_THAT(members["tp2"], ElementsAre(4, 5));
    EXPECT_THAT(members["dp1"], ElementsAre(1, 3, 5, 7));
    EXPECT_THAT(recording.problems,
                ElementsAre(HasSubstr("no communicator holds all of these 8 processes, so that nothing says which ranks they "
                                      "are: they are looked at as ranks 0 to 7, in the order of their hosts")));
}

TEST(ProcessNumbers, FollowPlacesInCommunicatorsWhereHostsAreInAnotherOrder)
{
    LoggedJob job;
    for (int rank = 0; rank < 8; ++rank)
        job.add({rank < 4 ? "node10" : "node2", 10000 + rank, tensorAndData(rank, 4)});
    EXPECT_THAT(job.ranks(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    LoggedJob byName; // of which no communicator tells
    for (int rank = 0; rank < 4; ++rank)
        byName.add({rank < 2 ? "node2" : "node10", 10000 + rank, {{"tp" + std::to_string(rank / 2), rank % 2, 2}}});
    EXPECT_THAT(byName.ranks(), ElementsAre(0, 1, 2, 3));
}

TEST(ProcessNumbers, ArePlacesInTheCommunicatorThatHoldsAll)
{
    LoggedJob job;
    for (int rank = 0; rank < 8; ++rank) {
        std::vector<MemberOf> in = tensorAndData(rank, 4);
        if (rank != 3) // whose file is cut
            in.push_back({"world", rank, 8});
        job.add({"node0", 10000 - rank, in});
    }
    EXPECT_THAT(job.ranks(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_THAT(job.read().problems,
                ElementsAre(HasSubstr("1 of 8 processes do not name the communicator that holds the others")));
}

TEST(ProcessNumbers, OfJobsWithCommunicatorsOfTheirOwnAreNotMixed)
{
    LoggedJob jobs;
    for (const char* of : {"a", "b"})
        for (int rank = 0; rank < 4; ++rank) {
            std::vector<MemberOf> in = tensorAndData(rank, 2);
            for (MemberOf& member : in)
                member.communicator += of;
            in.push_back({std::string("world ") + of, rank, 4});
            jobs.add({"node0", 100 + 10 * (*of - 'a') + rank, in});
        }
    EXPECT_THAT(jobs.ranks(), ElementsAre(0, 1, 2, 3, -1, -1, -1, -1));
    ASSERT_EQ(jobs.read().otherRuns.size(), 1U);
}

TEST(ProcessNumbers, OfOneJobAfterAnotherBeginAnew)
{
    LoggedJob jobs;
    for (int rank = 0; rank < 4; ++rank)
        jobs.add({"node0", 100 + rank, {{"dp" + std::to_string(rank % 2), rank / 2, 2}}});
    for (int rank = 0; rank < 4; ++rank)
        jobs.add({"node0", 200 + rank, {{"later dp" + std::to_string(rank % 2), rank / 2, 2}}, 60'000'000});
    std::vector<int> ranks;
    for (const sim::RankRecording& rank : jobs.read().ranks)
        ranks.push_back(rank.rank);
    EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 3));
}

} // namespace
