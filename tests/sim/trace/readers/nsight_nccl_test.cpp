// NCCL's own words in Nsight Systems' files: payloads of its NVTX ranges, laid out as NCCL's src/include/nvtx_payload_schemas.h
// defines them, and MPI's numbers of processes.
#include "sim/trace/readers/nccl_ranges.h"
#include "sim/trace/readers/read_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace {

using sim::Recording;

constexpr std::int64_t kProcess = 1 << 24; // of process 1; 2 * kProcess of process 2

std::string bigEndianOf(std::uint64_t number, int bytes)
{
    std::string text;
    constexpr const char* kDigits = "0123456789ABCDEF";
    for (int i = 0; i < bytes; ++i, number >>= 8) {
        text += kDigits[(number >> 4) & 0xF];
        text += kDigits[number & 0xF];
    }
    return text;
}

/// As Nsight exports it: domain, schema, size, end, and the fields.
std::string payload(std::uint64_t schema, const std::vector<std::pair<std::uint64_t, int>>& fields, std::uint64_t size)
{
    std::string text = "X'" + bigEndianOf(1, 8) + bigEndianOf(schema, 8) + bigEndianOf(size, 8) + bigEndianOf(32 + size, 8);
    std::uint64_t written = 0;
    for (const auto& [number, bytes] : fields) {
        text += bigEndianOf(number, bytes);
        written += static_cast<std::uint64_t>(bytes);
    }
    return text + bigEndianOf(0, static_cast<int>(size - written)) + "'";
}

constexpr std::uint64_t kInit = 16777218, kReduce = 16777220, kTransfer = 16777225;

class Profile {
public:
    explicit Profile(const std::string& name)
        : m_path(std::filesystem::temp_directory_path() / ("rankscope_" + std::to_string(::getpid()) + "_" + name))
    {
        m_sql << R"(
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES(1, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (2, 'gemm'), (3, 'cudaLaunchKernel'),
  (4, 'ncclDevKernel_SendRecv'), (5, 'ncclDevKernel_AllGather_RING_LL'), (6, 'MPI_Allreduce'), (7, 'MPI_Waitall');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER,
  domainId INTEGER, binaryData TEXT);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId INTEGER, schemaId INTEGER, idx INTEGER, type INTEGER, name TEXT, offset INTEGER);
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES
  (1, 16777218, 0, 18, 'NCCL communicator ID', NULL), (1, 16777218, 1, 5, 'No. of ranks', 8), (1, 16777218, 2, 5, 'Rank', 12),
  (1, 16777218, 3, 5, 'CUDA device', 16),
  (1, 16777220, 0, 18, 'NCCL communicator ID', NULL), (1, 16777220, 1, 22, 'Message size [bytes]', 8),
  (1, 16777225, 0, 18, 'NCCL communicator ID', NULL), (1, 16777225, 1, 22, 'Message size [bytes]', 8),
  (1, 16777225, 2, 5, 'Peer rank', 16);
)";
    }
    ~Profile() { std::filesystem::remove(m_path); }
    Profile(const Profile&) = delete;
    Profile& operator=(const Profile&) = delete;

    void range(std::int64_t process, std::int64_t start, std::int64_t end, const std::string& name,
               const std::string& bytes = "NULL")
    {
        m_sql << "INSERT INTO NVTX_EVENTS VALUES(" << start << "," << end << ",59,'" << name << "',NULL,"
              << process * kProcess + 1 << ",1," << bytes << ");\n";
    }
    /// A kernel and its launch.
    void kernel(std::int64_t process, std::int64_t launch, std::int64_t start, std::int64_t end, int name)
    {
        ++m_correlation;
        m_sql << "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(" << launch << "," << launch + 1 << "," << process * kProcess + 1
              << "," << m_correlation << ",3);\n"
              << "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" << start << "," << end << "," << process - 1 << ",7,"
              << m_correlation << "," << process * kProcess << "," << name << ");\n";
    }
    void sql(const std::string& statements) { m_sql << statements; }
    Recording read() const
    {
        std::filesystem::remove(m_path);
        sqlite3* database = nullptr;
        sqlite3_open(m_path.c_str(), &database);
        EXPECT_EQ(sqlite3_exec(database, m_sql.str().c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
        sqlite3_close(database);
        return sim::readRecording({m_path});
    }

private:
    std::filesystem::path m_path;
    std::ostringstream m_sql;
    int m_correlation = 0;
};

std::string transfer(std::uint64_t bytes, std::uint64_t peer)
{
    return payload(kTransfer, {{0xABC, 8}, {bytes, 8}, {peer, 4}}, 24);
}
std::string message(std::uint64_t bytes)
{
    return payload(kReduce, {{0xABC, 8}, {bytes, 8}}, 16);
}

TEST(NsightOfNccl, RangesSayWhoMeetsAndHowMuchGoesOver)
{
    Profile profile("nccl.sqlite");
    for (const std::uint64_t process : {1U, 2U}) {
        const auto of = static_cast<std::int64_t>(process);
        // Processes are not numbered as their places are.
        profile.range(of, 10, 20, "ncclCommInitRank",
                      payload(kInit, {{0xABC, 8}, {2, 4}, {2 - process, 4}, {process - 1, 4}}, 24));
        profile.range(of, 100, 120, "ncclAllReduce", message(4096));
        profile.kernel(of, 110, 200, 300, 1);
        // Into a graph: asked for, and not launched here.
        profile.range(of, 310, 320, "ncclAllReduce", message(7));
        // Both ways at once, launched by the group's end.
        profile.range(of, 400, 401, "ncclGroupStart");
        profile.range(of, 410, 420, "ncclSend", transfer(1024, process - 1));
        profile.range(of, 430, 440, "ncclRecv", transfer(512, process - 1));
        profile.range(of, 450, 480, "ncclGroupEnd");
        profile.kernel(of, 460, 500, 600, 4);
        // Two in a group, a kernel each.
        profile.range(of, 700, 701, "ncclGroupStart");
        profile.range(of, 702, 703, "ncclAllGather", message(100));
        profile.range(of, 704, 705, "ncclAllGather", message(200));
        profile.range(of, 710, 750, "ncclGroupEnd");
        profile.kernel(of, 720, 800, 810, 5);
        profile.kernel(of, 730, 820, 840, 5);
        profile.range(of, 900, 920, "ncclSend", transfer(64, process - 1));
        profile.kernel(of, 910, 930, 940, 4);
        // Launched by a graph.
        profile.sql("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(950, 960, 0, 7, 0, " + std::to_string(of * kProcess) +
                    ", 1);\n");
    }
    const Recording recording = profile.read();
    ASSERT_EQ(recording.ranks.size(), 2U);
    ASSERT_EQ(recording.groups.size(), 1U);
    EXPECT_EQ(recording.groups[0].ranks, (std::vector<int>{0, 1}));
    EXPECT_EQ(recording.groups[0].name, "0xabc");
    EXPECT_EQ(recording.worldSize, 2);
    for (const sim::RankRecording& rank : recording.ranks) {
        SCOPED_TRACE(rank.rank);
        EXPECT_EQ(rank.rank, 1 - rank.device); // by the communicator
        ASSERT_EQ(rank.collectives.size(), 6U);
        const int other = 1 - rank.rank;
        const auto& [reduce, both, first, second, send, graph] =
            std::tie(rank.collectives[0], rank.collectives[1], rank.collectives[2], rank.collectives[3], rank.collectives[4],
                     rank.collectives[5]);
        EXPECT_EQ(recording.names[reduce.name], "allreduce");
        EXPECT_EQ(reduce.bytes, 4096);
        EXPECT_EQ(reduce.group, 0);
        EXPECT_EQ(recording.names[both.name], "sendrecv");
        EXPECT_TRUE(both.isPointToPoint);
        EXPECT_EQ(both.bytes, 1536);
        EXPECT_EQ(first.inElements, 100);
        EXPECT_EQ(first.outElements, 200); // of both members
        EXPECT_EQ(second.inElements, 200);
        EXPECT_EQ(recording.names[send.name], "send");
        EXPECT_EQ(send.bytes, 64);
        EXPECT_EQ(send.destinationRank, other);
        EXPECT_EQ(both.sourceRank, other);
        EXPECT_EQ(both.destinationRank, other);
        EXPECT_EQ(graph.group, -1);
        EXPECT_EQ(graph.bytes, -1);
    }
}

TEST(NsightOfNccl, PlacesThatTwoProcessesHaveNumberNobody)
{
    // Two pairs, and nobody who says how they stand to each other.
    Profile profile("pairs.sqlite");
    for (const std::uint64_t process : {1U, 2U, 3U, 4U}) {
        const auto of = static_cast<std::int64_t>(process);
        profile.range(of, 10, 20, "ncclCommInitRank",
                      payload(kInit, {{0xA + process / 3, 8}, {2, 4}, {(process - 1) % 2, 4}, {process - 1, 4}}, 24));
        profile.range(of, 100, 120, "ncclAllReduce", message(4096));
        profile.kernel(of, 110, 200, 300, 1);
    }
    const Recording recording = profile.read();
    ASSERT_EQ(recording.ranks.size(), 4U);
    for (const sim::RankRecording& rank : recording.ranks)
        EXPECT_EQ(rank.rank, -1);
}

TEST(NsightOfNccl, PayloadsAreReadWithinTheirBytes)
{
    sim::NcclPayloads payloads;
    payloads.addEntry(1, 5, 18, "NCCL communicator ID", -1);
    payloads.addEntry(1, 5, 5, "No. of ranks", -1);
    payloads.addEntry(1, 5, 5, "Rank", -1);
    payloads.addEntry(1, 5, 22, "Message size [bytes]", 4000);
    std::array<unsigned char, 48> bytes{};
    bytes[0] = 1;
    bytes[8] = 5;
    bytes[32] = 9;
    bytes[40] = 4;
    bytes[44] = 3;
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        const auto read = payloads.read(bytes.data(), size);
        EXPECT_EQ(read.has_value(), size >= 32);
        EXPECT_EQ(read && read->communicator == 9, size >= 40);
        EXPECT_EQ(read && read->size == 4, size >= 44);
        EXPECT_EQ(read && read->rank == 3, size >= 48);
        EXPECT_TRUE(!read || read->bytes == -1);
    }
    bytes[8] = 6;
    EXPECT_FALSE(payloads.read(bytes.data(), bytes.size()));
}

TEST(NsightOfMpi, NumbersProcessesAndItsCallsAreCollectives)
{
    Profile profile("mpi.sqlite");
    for (const std::int64_t process : {1, 2})
        profile.kernel(process, 50, 100, 200, 2);
    profile.sql(
        "CREATE TABLE MPI_RANKS(globalTid INTEGER, rank INTEGER);\n"
        "INSERT INTO MPI_RANKS VALUES(16777217, 5), (33554433, 4);\n"
        "CREATE TABLE MPI_COLLECTIVES_EVENTS(start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, size INTEGER, "
        "recvSize INTEGER, rootRank INTEGER);\n"
        "INSERT INTO MPI_COLLECTIVES_EVENTS VALUES(300, 400, 16777217, 6, 64, 64, 0), (310, 400, 33554433, 6, 64, 64, 0);\n"
        "CREATE TABLE MPI_START_WAIT_EVENTS(start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER);\n"
        "INSERT INTO MPI_START_WAIT_EVENTS VALUES(410, 420, 16777217, 7);\n");
    const Recording recording = profile.read();
    ASSERT_EQ(recording.ranks.size(), 2U);
    EXPECT_EQ(recording.ranks[0].rank, 4);
    EXPECT_EQ(recording.ranks[1].rank, 5);
    EXPECT_EQ(recording.ranks[1].rankEvidence, "MPI");
    EXPECT_EQ(recording.ranks[1].device, 0);
    for (const sim::RankRecording& rank : recording.ranks) {
        ASSERT_EQ(rank.collectives.size(), 1U);
        EXPECT_EQ(recording.names[rank.collectives[0].name], "allreduce");
        EXPECT_EQ(rank.collectives[0].bytes, 64);
    }
}

} // namespace
