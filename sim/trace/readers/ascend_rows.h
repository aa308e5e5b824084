// Rows of Ascend's profilers (torch_npu, msprof) in their Chrome trace: but for operators of the framework its events have no
// categories, what a row holds is in the name of its process. Facts: Ascend/mstt, profiler/msprof_analyze (process names, its
// test's trace_view.json); MindStudio's user guide (names of operations of HCCL); both name flows "HostToDevice", from calls of
// CANN to tasks, and "async_npu", from operators to tasks, which ChromeEvents takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

class RecordingBuilder;

class AscendRows {
public:
    /// A span without category, and its arguments as written: a task of the device and the call that asked for it have one
    /// "connection_id".
    void note(std::uint32_t span, std::string_view args);
    /// Once all is there: rows of "Ascend Hardware" become a device's, operations of "Communication" ("HCCL") collectives, calls
    /// of "CANN" what launched them. "Overlap Analysis" tells the device's times again, and is the profiler's own. Other files
    /// are left as they are. Whether the file is one of Ascend's.
    bool settle(RecordingBuilder&) const;

private:
    std::vector<std::pair<std::int64_t, std::uint32_t>> m_connections; ///< id, span
};

/// The rank that a file beside says, as torch_npu lays it there: profiler_info_3.json in the folder of trace_view.json or the one
/// above; -1: none, or several.
int rankOfProfilerInfo(const std::string& path);

} // namespace sim
