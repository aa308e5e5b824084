// What readers of single formats share: what was asked, how far they are, and what they are given.
#pragma once

#include "sim/trace/readers/byte_source.h"
#include "sim/trace/recording.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// One file that is being read. Readers throw Error where it is not of their format at all; what is damaged inside is counted.
struct ReadingFile {
    std::string path;
    std::uint64_t bytes = 0;      ///< on the disk; 0 unknown
    bool pythonFunctions = false; ///< keep frames of Python stacks
    std::size_t windowBytes = std::size_t{8} << 20;
    std::function<void(std::uint64_t fileBytesRead)>
        progress; ///< called a few times a second, on the reader's thread; may be empty
};

/// Chrome trace events, as Kineto writes them and as chrome://tracing does: an object with traceEvents, or an array.
Recording readChromeTrace(ByteSource&, const ReadingFile&);
/// Perfetto's protobuf: Rankscope's own and TrackEvent of others.
Recording readPerfettoTrace(ByteSource&, const ReadingFile&);
/// Nsight Systems' SQLite export: one file may hold several processes, each a worker of its own.
Recording readNsightSqlite(const ReadingFile&);
/// PyTorch's NCCL flight recorder: JSON, or the pickle of plain data.
Recording readFlightRecorderJson(ByteSource&, const ReadingFile&);
Recording readFlightRecorderPickle(ByteSource&, const ReadingFile&);
/// NCCL Inspector: lines of JSON.
Recording readNcclInspector(ByteSource&, const ReadingFile&);

/// All of a source that has to be held at once. Throws Error beyond `most` bytes.
std::string readAll(ByteSource&, const ReadingFile&, std::size_t most);

/// RankRecording::rankEvidence of a number alone at a name's end, which may count anything: doubtNumberedFiles() looks at all
/// files.
inline constexpr std::string_view kNumberOfFile = "number in the file name";
/// RankRecording::rankEvidence of a place in the largest communicator that a file names, and the name of one whose file says
/// none: numberProcesses() looks at all files.
inline constexpr std::string_view kLargestCommunicator = "largest communicator";
inline constexpr std::string_view kNamelessCommunicator = "?";
/// Of a rank that its file does not name, by the file's name: rank-3, rank3_trace, worker3_step, trace_rank_3, 3.pt.trace.
void nameRankByFile(RankRecording&, const std::string& path);

/// What a name with "nccl" says of the collective: "allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "sendrecv",
/// "all_to_all"; "" where it says none.
std::string collectiveOfKernelName(const std::string& name);
/// Whether a collective's name is one of a send or receive: "send", "recv", "isend", "sendrecv", …
bool isPointToPointName(const std::string& name);
/// Above any job's: numbers from here on are no ranks.
inline constexpr int kMostRanksOfAJob = 1 << 24;
/// For the other end of a transfer of which a file knows only its place in the group: nameMembers() makes a rank of it.
constexpr int placeInGroup(int place)
{
    return -2 - place;
}
/// RecordedGroup::evidence of communicators that only NVTX ranges of NCCL in Nsight's files tell of.
inline constexpr std::string_view kNcclRanges = "NCCL's ranges";
/// "[0, 1, …]" or "0,1": the ranks in it, ascending; empty where the list is cut ("...") or holds anything else.
std::vector<int> ranksOfText(const std::string& text);

} // namespace sim
