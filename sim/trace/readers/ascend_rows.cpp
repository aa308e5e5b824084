#include "sim/trace/readers/ascend_rows.h"

#include "sim/trace/readers/chrome_members.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

namespace sim {
namespace {

enum class AscendRow { none, hardware, operations, host, analysis };

AscendRow kindOfAscendRow(std::string_view process, std::string_view thread)
{
    if (process == "Ascend Hardware")
        return AscendRow::hardware;
    if (process == "Communication" || process == "HCCL") // rows beside ("Plane 3") hold an operation's parts
        return thread.starts_with("Group ") ? AscendRow::operations : AscendRow::analysis;
    if (process == "CANN")
        return AscendRow::host;
    return process == "Overlap Analysis" ? AscendRow::analysis : AscendRow::none;
}

constexpr std::string_view kOperation = "hcom_";

/// A device's row holds what it computes, and what it waits for or marks between.
RecordedKind kindOfTask(std::string_view name)
{
    const auto has = [name](std::string_view word) { return name.find(word) != std::string_view::npos; };
    if (name.starts_with(kOperation))
        return RecordedKind::communication;
    if (has("MEMCPY") || has("SDMA"))
        return RecordedKind::memcpy;
    if (has("EVENT_") || has("NOTIFY_") || has("Notify_"))
        return RecordedKind::synchronization;
    return RecordedKind::kernel;
}

/// "hcom_allReduce__606_0_1": what it does, and the group by the end of its hash.
struct Operation {
    std::string collective, group;
};
Operation operationOf(std::string_view name)
{
    name.remove_prefix(kOperation.size());
    const std::string_view word = name.substr(0, name.find('_'));
    Operation of;
    of.collective = word == "receive" ? std::string("recv")
                    : word == "send"  ? std::string("send")
                                      : collectiveOfKernelName(std::string(word));
    const std::size_t hash = name.find("__");
    if (hash != std::string_view::npos)
        of.group = name.substr(hash + 2, name.find('_', hash + 2) - hash - 2);
    return of;
}

} // namespace

void AscendRows::note(std::uint32_t span, std::string_view args)
{
    if (args.find("\"connection_id\"") == std::string_view::npos)
        return;
    forEachMember(args, [&](std::string_view key, std::string_view value) {
        if (const auto id = key == "connection_id" ? wholeNumber(inside(value)) : std::nullopt; id && *id > 0)
            m_connections.emplace_back(*id, span);
    });
}

bool AscendRows::settle(RecordingBuilder& builder) const
{
    std::vector<AscendRow> rows(builder.trackCount(), AscendRow::none);
    bool hasHardware = false;
    for (std::uint32_t track = 0; track < rows.size(); ++track) {
        const RecordedTrack& row = builder.at(track);
        rows[track] = kindOfAscendRow(builder.processName(row.process), row.name);
        hasHardware = hasHardware || rows[track] == AscendRow::hardware;
    }
    if (!hasHardware)
        return false;
    for (std::uint32_t track = 0; track < rows.size(); ++track)
        if (rows[track] == AscendRow::hardware || rows[track] == AscendRow::operations)
            builder.at(track).isDevice = true;
    for (std::uint32_t span = 0; span < builder.spanCount(); ++span) {
        const AscendRow row = rows[builder.trackOf(span)];
        if (row == AscendRow::none || builder.kind(span) != RecordedKind::other)
            continue;
        const std::string& name = builder.recording.names[builder.nameOf(span)];
        const bool isOperation = row == AscendRow::operations && name.starts_with(kOperation);
        builder.setKind(span, row == AscendRow::hardware ? kindOfTask(name)
                              : isOperation              ? RecordedKind::communication
                              : row == AscendRow::host   ? RecordedKind::runtime
                                                         : RecordedKind::overhead);
        if (!isOperation)
            continue;
        const Operation operation = operationOf(name);
        RecordedCollective of;
        of.span = span;
        of.name = builder.recording.names.add(operation.collective);
        of.isPointToPoint = isPointToPointName(operation.collective);
        if (!operation.group.empty())
            of.group = builder.group(operation.group, "", {}, 0, "names of HCCL's operations");
        builder.addCollective(of, 0);
    }
    for (const auto& [id, span] : m_connections)
        if (rows[builder.trackOf(span)] == AscendRow::host)
            builder.addLaunch(id, span);
        else if (isDeviceWork(builder.kind(span)))
            builder.addLaunched(id, span);
    return true;
}

int rankOfProfilerInfo(const std::string& path)
{
    namespace fs = std::filesystem;
    constexpr std::string_view kStart = "profiler_info_", kEnd = ".json";
    constexpr int kMostLookedAt = 4096;
    std::error_code error;
    const fs::path folder = fs::absolute(path, error).parent_path();
    for (const fs::path& beside : {folder, folder.parent_path()}) {
        int found = -1, count = 0, looked = 0;
        for (fs::directory_iterator at(beside, fs::directory_options::skip_permission_denied, error), end;
             !error && at != end && looked < kMostLookedAt; at.increment(error), ++looked) {
            const std::string name = at->path().filename().string();
            if (!name.starts_with(kStart) || !name.ends_with(kEnd) || name.size() < kStart.size() + kEnd.size())
                continue;
            const char* const last = name.data() + name.size() - kEnd.size();
            int rank = -1;
            const auto [after, wrong] = std::from_chars(name.data() + kStart.size(), last, rank);
            if (wrong == std::errc() && after == last && rank >= 0 && rank < kMostRanksOfAJob) {
                found = rank;
                ++count;
            }
        }
        if (count > 0)
            return count == 1 ? found : -1;
    }
    return -1;
}

} // namespace sim
