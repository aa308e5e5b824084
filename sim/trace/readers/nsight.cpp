// Nsight Systems' SQLite export. Tables appear only where something was recorded, columns differ between versions: what is there
// is asked for. Facts of the tables: NVIDIA's exporter documentation.
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/readers/json_scan.h"
#include "sim/trace/readers/nccl_ranges.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"
#include "sim/trace/readers/sqlite_file.h"

#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace sim {
namespace {

struct Closes {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

constexpr std::int64_t kProcessOfThread = static_cast<std::int64_t>(0xFFFFFFFFFF000000ULL);

class NsightReader {
public:
    explicit NsightReader(const ReadingFile& file) : m_file(file)
    {
        m_builder.file() = {.path = file.path,
                            .format = "Nsight Systems",
                            .bytes = file.bytes,
                            .textBytes = file.bytes,
                            .events = 0,
                            .isComplete = true};
        sqlite3* database = nullptr;
        const int result =
            sqlite3_open_v2(file.path.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_PRIVATECACHE, nullptr);
        m_database.reset(database);
        if (result != SQLITE_OK)
            fail();
        // What a stranger's schema asks for is not run.
        sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
        m_wholeBytes = bytesOfWholeDatabase(file.path);
        m_isCut = file.bytes < m_wholeBytes;
        if (m_isCut) // else SQLite does not begin; what it allows besides is writing, and the file is opened to be read
            sqlite3_db_config(database, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
        // A row takes about an instruction a byte. Pages that name one another would be walked over for ever.
        constexpr std::uint64_t kLeast = 200, kBytesOfACall = kInstructionsOfACall / 10;
        m_callsLeft = kLeast + file.bytes / kBytesOfACall;
        sqlite3_progress_handler(
            database, kInstructionsOfACall,
            [](void* reader) { return cancelRequested() || static_cast<NsightReader*>(reader)->m_callsLeft-- == 0 ? 1 : 0; },
            this);
    }

    Recording read()
    {
        readTables();
        const bool isExported = m_tables.contains("StringIds") && (m_tables.contains("META_DATA_EXPORT") ||
                                                                   m_tables.contains("EXPORT_META_DATA")); // as before 2022
        if (!m_tables.contains("StringIds") ||
            (!m_tables.contains("CUPTI_ACTIVITY_KIND_KERNEL") && !m_tables.contains("NVTX_EVENTS") &&
             !m_tables.contains("CUPTI_ACTIVITY_KIND_RUNTIME") && !m_tables.contains("MPI_RANKS") &&
             !m_tables.contains(kGraphTable)))
            throw Error(m_file.path +
                        (isExported
                             ? ": Nsight Systems exported it, but neither kernels, calls of CUDA, NVTX nor MPI were recorded: "
                               "record with `nsys profile -t cuda,nvtx`"
                             : ": is a database, but none that Nsight Systems exported: it has no table of strings, kernels, "
                               "NVTX or MPI"));
        readStrings();
        readKernels();
        readGraphs();
        readCopies("CUPTI_ACTIVITY_KIND_MEMCPY", RecordedKind::memcpy, "copy");
        readCopies("CUPTI_ACTIVITY_KIND_MEMSET", RecordedKind::memset, "memset");
        readRuntime();
        readPayloadSchemas();
        readNvtx();
        m_nccl.settle(m_builder);
        readMpi();
        skipRows("OSRT_API", "what threads waited for in the operating system is left out");
        tellDamage();
        return finish();
    }

private:
    using Statement = std::unique_ptr<sqlite3_stmt, Closes>;

    [[noreturn]] void fail() const
    {
        checkCancelled();
        if (m_callsLeft > std::numeric_limits<std::uint64_t>::max() / 2) // counted below 0
            throw Error(m_file.path + ": is damaged: its tables are longer than a file of " + std::to_string(m_file.bytes) +
                        " bytes can hold");
        throw Error(m_file.path + ": is damaged, or no database: " +
                    (m_database ? meantBytes(sqlite3_errmsg(m_database.get())) : std::string("there is no memory for it")));
    }

    Statement prepare(const std::string& query) const
    {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(m_database.get(), query.c_str(), -1, &statement, nullptr) != SQLITE_OK)
            fail();
        return Statement(statement);
    }
    bool step(const Statement& statement) const
    {
        const int result = sqlite3_step(statement.get());
        if (result != SQLITE_ROW && result != SQLITE_DONE)
            fail();
        return result == SQLITE_ROW;
    }
    /// Where the table's pages are damaged, or lie behind the end of the file, it ends there.
    bool step(const Statement& statement, const std::string& table)
    {
        const int result = sqlite3_step(statement.get());
        if (result == SQLITE_CORRUPT) {
            if (m_damaged.insert(table).second)
                m_damage = sqlite3_errmsg(m_database.get());
            return false;
        }
        if (result != SQLITE_ROW && result != SQLITE_DONE)
            fail();
        return result == SQLITE_ROW;
    }
    /// Of a file that is cut, or tables that are damaged; throws where nothing is left.
    void tellDamage()
    {
        RecordedFile& file = m_builder.file();
        file.isComplete = !m_isCut && m_damaged.empty();
        if (file.isComplete)
            return;
        std::string text =
            m_isCut ? "it ends too early, at byte " + std::to_string(file.bytes) + " of " + std::to_string(m_wholeBytes)
                    : "it is damaged (" + meantBytes(m_damage) + ")";
        if (file.events == 0)
            throw Error(m_file.path + ": " + text + ", and no event in it can be read");
        text += "; " + std::to_string(file.events) + " events can be read and are kept";
        std::string separator = ", and lack what followed in ";
        for (const std::string& table : m_damaged)
            text += std::exchange(separator, ", ") + table;
        m_builder.recording.problems.push_back(m_file.path + ": " + text);
    }
    static std::string text(const Statement& statement, int column)
    {
        const unsigned char* bytes = sqlite3_column_text(statement.get(), column);
        return bytes == nullptr ? std::string() : meantBytes(reinterpret_cast<const char*>(bytes));
    }
    static std::int64_t number(const Statement& statement, int column) { return sqlite3_column_int64(statement.get(), column); }

    void readTables()
    {
        // Neither views nor virtual tables, which have no page of their own: both are programs.
        const Statement tables = prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0");
        while (step(tables))
            m_tables[text(tables, 0)];
        for (auto& [table, columns] : m_tables) {
            std::string quoted;
            for (const char c : table)
                quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
            const Statement info = prepare("PRAGMA table_info(\"" + quoted + "\")");
            while (step(info))
                columns.insert(text(info, 1));
        }
    }
    bool has(const std::string& table, const std::string& column) const
    {
        const auto found = m_tables.find(table);
        return found != m_tables.end() && found->second.contains(column);
    }
    /// The column, or 0 where this version has none.
    std::string orZero(const std::string& table, const std::string& column) const { return has(table, column) ? column : "0"; }

    void readStrings()
    {
        if (!has("StringIds", "id") || !has("StringIds", "value"))
            return;
        const Statement strings = prepare("SELECT id, value FROM StringIds");
        while (step(strings, "StringIds"))
            m_strings[number(strings, 0)] = m_builder.recording.names.add(text(strings, 1));
    }
    std::uint32_t nameOf(std::int64_t id) const
    {
        const auto found = m_strings.find(id);
        return found == m_strings.end() ? 0 : found->second;
    }

    /// Empty where start and end are no span.
    std::optional<std::uint32_t> add(std::uint32_t track, std::int64_t start, std::int64_t end, std::uint32_t name,
                                     RecordedKind kind)
    {
        ++m_builder.file().events;
        m_poll();
        if (start < -kMostTraceNs || end > kMostTraceNs || end < start) {
            m_builder.skip("damaged event", "it ends before it starts, or never ends");
            return std::nullopt;
        }
        return m_builder.addSpan(track, start, end - start, name, kind);
    }
    std::string processOf(std::int64_t globalId)
    {
        std::string process = std::to_string(globalId & kProcessOfThread);
        m_processes.insert(globalId & kProcessOfThread);
        return process;
    }
    std::uint32_t streamOf(std::int64_t process, std::int64_t device, std::int64_t stream)
    {
        const std::uint32_t track =
            m_builder.track(processOf(process), "stream " + std::to_string(device) + "/" + std::to_string(stream));
        RecordedTrack& row = m_builder.at(track);
        row.isDevice = true;
        row.device = static_cast<int>(std::clamp<std::int64_t>(device, -1, 1 << 20));
        ++m_spansOf[row.device];
        row.number = stream;
        row.name = "stream " + std::to_string(stream);
        return track;
    }
    std::uint32_t threadOf(std::int64_t globalTid)
    {
        const std::int64_t thread = globalTid & ~kProcessOfThread;
        const std::uint32_t track = m_builder.track(processOf(globalTid), std::to_string(thread));
        return track;
    }
    /// Correlations are counted a process.
    static std::int64_t correlationOf(std::int64_t process, std::int64_t correlation)
    {
        return correlation == 0 ? 0
                                : static_cast<std::int64_t>(static_cast<std::uint64_t>(process & kProcessOfThread) * 31 +
                                                            static_cast<std::uint64_t>(correlation));
    }

    void readKernels()
    {
        const std::string table = "CUPTI_ACTIVITY_KIND_KERNEL";
        if (!has(table, "start") || !has(table, "end"))
            return;
        const Statement rows =
            prepare("SELECT start, end, " + orZero(table, "deviceId") + ", " + orZero(table, "streamId") + ", " +
                    orZero(table, "correlationId") + ", " + orZero(table, "globalPid") + ", " +
                    (has(table, "demangledName") ? "demangledName" : orZero(table, "shortName")) + " FROM " + table);
        while (step(rows, table)) {
            const std::uint32_t name = nameOf(number(rows, 6));
            const std::string& kernel = m_builder.recording.names[name];
            const bool isCommunication = isCommunicationKernel(kernel);
            const std::int64_t process = number(rows, 5);
            const auto span = add(streamOf(process, number(rows, 2), number(rows, 3)), number(rows, 0), number(rows, 1), name,
                                  isCommunication ? RecordedKind::communication : RecordedKind::kernel);
            if (!span)
                continue;
            if (const std::int64_t correlation = correlationOf(process, number(rows, 4)); correlation != 0)
                m_builder.addLaunched(correlation, *span);
            if (isCommunication) {
                RecordedCollective collective;
                collective.span = *span;
                const std::string said = collectiveOfKernelName(kernel);
                collective.name = m_builder.recording.names.add(said);
                collective.isPointToPoint = isPointToPointName(said);
                m_nccl.addKernel(correlationOf(process, number(rows, 4)), collective);
            }
        }
    }

    /// Whole CUDA graphs, as they are recorded unless somebody asks for their nodes: the device works, at what nobody says.
    void readGraphs()
    {
        const std::string table = kGraphTable;
        if (!has(table, "start") || !has(table, "end"))
            return;
        const Statement rows = prepare("SELECT start, end, " + orZero(table, "deviceId") + ", " + orZero(table, "streamId") +
                                       ", " + orZero(table, "correlationId") + ", " + orZero(table, "globalPid") + ", " +
                                       orZero(table, "graphId") + " FROM " + table);
        std::size_t graphs = 0;
        while (step(rows, table)) {
            const std::uint32_t name = m_builder.recording.names.add("CUDA graph " + std::to_string(number(rows, 6)));
            const auto span = add(streamOf(number(rows, 5), number(rows, 2), number(rows, 3)), number(rows, 0), number(rows, 1),
                                  name, RecordedKind::kernel);
            if (!span)
                continue;
            ++graphs;
            if (const std::int64_t correlation = correlationOf(number(rows, 5), number(rows, 4)); correlation != 0)
                m_builder.addLaunched(correlation, *span);
        }
        if (graphs > 0)
            m_builder.recording.skipped.push_back(
                {"kernels of CUDA graphs", graphs,
                 "whole graphs were recorded, each stands there as one kernel: record with `nsys profile "
                 "--cuda-graph-trace=node` to see what is in them",
                 -1, m_file.path});
    }

    void readCopies(const std::string& table, RecordedKind kind, const char* name)
    {
        if (!has(table, "start") || !has(table, "end"))
            return;
        const std::uint32_t id = m_builder.recording.names.add(name);
        const Statement rows =
            prepare("SELECT start, end, " + orZero(table, "deviceId") + ", " + orZero(table, "streamId") + ", " +
                    orZero(table, "correlationId") + ", " + orZero(table, "globalPid") + " FROM " + table);
        while (step(rows, table)) {
            const auto span =
                add(streamOf(number(rows, 5), number(rows, 2), number(rows, 3)), number(rows, 0), number(rows, 1), id, kind);
            if (const std::int64_t correlation = correlationOf(number(rows, 5), number(rows, 4)); span && correlation != 0)
                m_builder.addLaunched(correlation, *span);
        }
    }

    void readRuntime()
    {
        const std::string table = "CUPTI_ACTIVITY_KIND_RUNTIME";
        if (!has(table, "start") || !has(table, "end") || !has(table, "globalTid"))
            return;
        const Statement rows = prepare("SELECT start, end, globalTid, " + orZero(table, "correlationId") + ", " +
                                       orZero(table, "nameId") + " FROM " + table);
        while (step(rows, table)) {
            const auto span =
                add(threadOf(number(rows, 2)), number(rows, 0), number(rows, 1), nameOf(number(rows, 4)), RecordedKind::runtime);
            const std::int64_t correlation = correlationOf(number(rows, 2), number(rows, 3));
            if (!span || correlation == 0)
                continue;
            m_builder.addLaunch(correlation, *span);
            if (m_nccl.launches(correlation))
                m_nccl.addLaunch(correlation, number(rows, 2), number(rows, 0));
        }
    }

    void readPayloadSchemas()
    {
        const std::string table = "NVTX_PAYLOAD_SCHEMA_ENTRIES";
        if (!has(table, "schemaId") || !has(table, "idx") || !has(table, "type") || !has(table, "name"))
            return;
        const Statement rows = prepare("SELECT " + orZero(table, "domainId") + ", schemaId, type, name, " +
                                       (has(table, "offset") ? "offset" : "-1") + " FROM " + table + " ORDER BY 1, 2, idx");
        while (step(rows, table))
            m_payloads.addEntry(number(rows, 0), number(rows, 1), number(rows, 2), text(rows, 3),
                                sqlite3_column_type(rows.get(), 4) == SQLITE_NULL ? -1 : number(rows, 4));
    }

    void readNvtx()
    {
        const std::string table = "NVTX_EVENTS";
        if (!has(table, "start") || !has(table, "end") || !has(table, "globalTid"))
            return;
        const bool hasType = has(table, "eventType");
        const Statement rows = prepare("SELECT start, end, globalTid, " + std::string(has(table, "text") ? "text" : "NULL") +
                                       ", " + (has(table, "textId") ? "textId" : "NULL") + ", " + (hasType ? "eventType" : "59") +
                                       ", " + (has(table, "binaryData") ? "binaryData" : "NULL") + " FROM " + table);
        enum NvtxType : std::int64_t { kPushPop = 59, kStartEnd = 60, kPushPopThread = 70, kStartEndThread = 71 };
        while (step(rows, table)) {
            const std::int64_t type = number(rows, 5);
            const bool isRange = type == kPushPop || type == kStartEnd || type == kPushPopThread || type == kStartEndThread;
            if (!isRange || sqlite3_column_type(rows.get(), 1) == SQLITE_NULL) {
                ++m_builder.file().events;
                m_builder.skip(isRange ? "NVTX range without an end" : "NVTX mark", "what has no length is no span");
                continue;
            }
            const bool hasText = sqlite3_column_type(rows.get(), 3) != SQLITE_NULL;
            std::uint32_t name = hasText ? m_builder.recording.names.add(text(rows, 3)) : nameOf(number(rows, 4));
            const std::string& written = m_builder.recording.names[name];
            const std::string_view torch = nameOfTorchRange(written);
            const bool isNccl = written.starts_with("nccl") || torch == "record_param_comms";
            const RecordedKind kind = isNccl                   ? RecordedKind::hostCommunication
                                      : isTorchOperator(torch) ? RecordedKind::cpuOp
                                                               : RecordedKind::annotation;
            if (!torch.empty())
                name = m_builder.recording.names.add(std::string(torch));
            const auto span = add(threadOf(number(rows, 2)), number(rows, 0), number(rows, 1), name, kind);
            if (span && isNccl && torch.empty())
                m_nccl.addRange(number(rows, 2), number(rows, 0), number(rows, 1), m_builder.recording.names[name], *span,
                                m_payloads.read(static_cast<const unsigned char*>(sqlite3_column_blob(rows.get(), 6)),
                                                static_cast<std::size_t>(sqlite3_column_bytes(rows.get(), 6))));
        }
    }

    /// Which rank a process is, and its calls of MPI. What other end a call names is its place in a communicator of which nothing
    /// else is said.
    void readMpi()
    {
        if (has("MPI_RANKS", "globalTid") && has("MPI_RANKS", "rank")) {
            const Statement ranks = prepare("SELECT globalTid, rank FROM MPI_RANKS");
            while (step(ranks, "MPI_RANKS"))
                if (const std::int64_t rank = number(ranks, 1); rank >= 0 && rank < kMostRanksOfAJob)
                    m_mpiRanks[number(ranks, 0) & kProcessOfThread] = static_cast<int>(rank);
        }
        for (const char* table : {"MPI_COLLECTIVES_EVENTS", "MPI_P2P_EVENTS"})
            readMpiCalls(table, RecordedKind::hostCommunication);
        readMpiCalls("MPI_START_WAIT_EVENTS", RecordedKind::synchronization);
        readMpiCalls("MPI_OTHER_EVENTS", RecordedKind::other);
    }
    void readMpiCalls(const std::string& table, RecordedKind kind)
    {
        if (!has(table, "start") || !has(table, "end") || !has(table, "globalTid"))
            return;
        const Statement rows = prepare("SELECT start, end, globalTid, " + orZero(table, "textId") + ", " + orZero(table, "size") +
                                       ", " + orZero(table, "recvSize") + " FROM " + table);
        while (step(rows, table)) {
            const std::uint32_t name = nameOf(number(rows, 3));
            const auto span = add(threadOf(number(rows, 2)), number(rows, 0), number(rows, 1), name, kind);
            if (!span || kind != RecordedKind::hostCommunication)
                continue;
            RecordedCollective call;
            call.hostSpan = *span;
            const std::string said = callOfMpi(m_builder.recording.names[name]);
            call.name = m_builder.recording.names.add(said);
            call.isPointToPoint = isPointToPointName(said);
            if (const std::int64_t bytes = std::max(number(rows, 4), number(rows, 5)); bytes > 0 && bytes <= kMostMessageBytes)
                call.bytes = bytes;
            m_builder.addCollective(call, 0);
        }
    }
    /// "MPI_Iallreduce": "allreduce"; "MPI_Isend": "isend".
    static std::string callOfMpi(const std::string& written)
    {
        if (const std::string known = collectiveOfKernelName(written); !known.empty())
            return known;
        constexpr std::string_view kStart = "mpi_";
        std::string lower;
        for (const char c : written)
            lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return lower.starts_with(kStart) ? lower.substr(kStart.size()) : lower;
    }

    /// Of what torch's emit_nvtx writes, the name alone: "aten::mm, seq = 45, op_id = 990, sizes = [[4, 8], [8, 2]]". Each call
    /// would have a name of its own. "" of other ranges.
    static std::string_view nameOfTorchRange(std::string_view written)
    {
        std::size_t end = std::string_view::npos;
        for (const std::string_view word : {", seq = ", ", op_id = ", ", sizes = "})
            end = std::min(end, written.find(word));
        return end == std::string_view::npos ? std::string_view() : written.substr(0, end);
    }
    static bool isTorchOperator(std::string_view name)
    {
        return name.starts_with("aten::") || name.starts_with("c10d::") || name.starts_with("autograd::engine::");
    }

    void skipRows(const std::string& table, const char* why)
    {
        if (!m_tables.contains(table))
            return;
        const Statement count = prepare("SELECT COUNT(*) FROM " + table);
        if (!step(count, table) || number(count, 0) <= 0)
            return;
        m_builder.file().events += static_cast<std::size_t>(number(count, 0));
        m_builder.recording.skipped.push_back({table, static_cast<std::size_t>(number(count, 0)), why, -1, m_file.path});
    }

    Recording finish()
    {
        std::int64_t base = 0;
        if (has("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")) {
            const Statement start = prepare("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1");
            if (step(start, "TARGET_INFO_SESSION_START_TIME"))
                base = std::clamp<std::int64_t>(number(start, 0), 0, kMostTraceNs);
        }
        RankRecording& about = m_builder.about;
        if (has("TARGET_INFO_GPU", "name")) {
            const Statement gpu = prepare("SELECT name FROM TARGET_INFO_GPU LIMIT 1");
            if (step(gpu, "TARGET_INFO_GPU"))
                about.deviceName = text(gpu, 0);
        }
        if (has("TARGET_INFO_SYSTEM_ENV", "name") && has("TARGET_INFO_SYSTEM_ENV", "value")) {
            const Statement host = prepare("SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname' LIMIT 1");
            if (step(host, "TARGET_INFO_SYSTEM_ENV"))
                about.host = text(host, 0);
        }
        const bool isSplit = m_processes.size() > 1;
        if (isSplit) {
            m_builder.splitByProcess();
        } else {
            nameRankByFile(about, m_file.path);
            const auto most = std::max_element(m_spansOf.begin(), m_spansOf.end(),
                                               [](const auto& a, const auto& b) { return a.second < b.second; });
            about.device = most == m_spansOf.end() ? -1 : most->first;
        }
        m_builder.recording.isEpoch = base != 0;
        Recording recording = m_builder.finish(base);
        numberRanks(recording, isSplit);
        return recording;
    }

    /// MPI's own numbers go before the file's name, and NCCL's places number the processes of a file that nothing else does.
    void numberRanks(Recording& recording, bool isSplit)
    {
        const auto places =
            isSplit && m_mpiRanks.empty() ? m_nccl.places(kProcessOfThread) : std::map<std::int64_t, NcclRanges::Place>();
        std::map<std::string, RecordedGroup*> groupOf;
        for (RecordedGroup& group : recording.groups) {
            group.toldBy.clear();
            groupOf.emplace(group.name, &group);
        }
        const std::map<std::int64_t, NcclRanges::PlacesByName> communicators = m_nccl.communicators(kProcessOfThread);
        for (RankRecording& rank : recording.ranks) {
            const std::int64_t process = isSplit && !rank.tracks.empty() ? std::stoll(rank.tracks.front().process)
                                         : m_processes.empty()           ? 0
                                                                         : *m_processes.begin();
            if (const auto said = m_mpiRanks.find(process); said != m_mpiRanks.end()) {
                rank.rank = said->second;
                rank.rankEvidence = "MPI";
            } else if (const auto place = places.find(process); place != places.end()) {
                rank.rank = place->second.rank;
                rank.worldSize = place->second.worldSize;
                rank.rankEvidence = "place in NCCL's largest communicator";
                recording.worldSize = std::max(recording.worldSize, rank.worldSize);
            }
            const auto named = communicators.find(process);
            if (named == communicators.end())
                continue;
            for (const auto& [communicator, place] : named->second)
                if (const auto found = groupOf.find(communicator); found != groupOf.end()) {
                    found->second->toldBy.push_back(rank.rank);
                    if (place >= 0 && rank.rank >= 0)
                        found->second->places.emplace_back(place, rank.rank);
                }
        }
        for (RecordedGroup& group : recording.groups)
            std::sort(group.toldBy.begin(), group.toldBy.end());
    }

    static constexpr int kInstructionsOfACall = 10'000;
    static constexpr const char* kGraphTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
    const ReadingFile& m_file;
    std::uint64_t m_callsLeft = 0;
    std::unique_ptr<sqlite3, Closes> m_database;
    RecordingBuilder m_builder;
    std::map<std::string, std::set<std::string>> m_tables; ///< and columns
    std::unordered_map<std::int64_t, std::uint32_t> m_strings;
    std::set<std::int64_t> m_processes;
    NcclPayloads m_payloads;
    NcclRanges m_nccl;
    std::map<std::int64_t, int> m_mpiRanks; ///< by process
    std::map<int, std::size_t> m_spansOf;   ///< devices
    CancelPoll m_poll;
    std::uint64_t m_wholeBytes = 0;  ///< as bytesOfWholeDatabase() has it
    bool m_isCut = false;            ///< the file is shorter
    std::set<std::string> m_damaged; ///< tables that end where they cannot be read
    std::string m_damage;
};

} // namespace

Recording readNsightSqlite(const ReadingFile& file)
{
    return NsightReader(file).read();
}

} // namespace sim
