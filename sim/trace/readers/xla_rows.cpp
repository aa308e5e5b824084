#include "sim/trace/readers/xla_rows.h"

#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {
namespace {

enum class XlaRow { none, stream, ops, steps, drawn };

/// N of "/device:TPU:N", also where more follows.
std::optional<int> deviceOf(std::string_view process)
{
    for (const std::string_view start : {"/device:GPU:", "/device:TPU:"})
        if (process.starts_with(start)) {
            int number = -1;
            const auto [after, error] = std::from_chars(process.data() + start.size(), process.data() + process.size(), number);
            if (error == std::errc() && number >= 0 && number < kMostRanksOfAJob)
                return number;
        }
    return std::nullopt;
}

/// Of a GPU its streams are what ran, of a TPU the row of operators; the rows beside tell the same again by module and scope.
XlaRow kindOfRow(std::string_view process, std::string_view thread)
{
    if (thread == "Steps")
        return XlaRow::steps;
    const bool isTpu = process.find("TPU") != std::string_view::npos;
    if (isTpu ? thread == "XLA Ops" : thread.starts_with("Stream #"))
        return isTpu ? XlaRow::ops : XlaRow::stream;
    return XlaRow::drawn;
}

/// The collective that an operator of XLA is, in torch's word; "" where it is none.
std::string collectiveOfOperator(std::string name)
{
    std::replace(name.begin(), name.end(), '-', '_');
    constexpr auto kStarts = std::to_array<std::string_view>({"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                                              "ragged_all_to_all", "async_all_reduce", "collective_broadcast"});
    if (name.starts_with("collective_permute") || name.starts_with("send.") || name.starts_with("recv."))
        return "sendrecv";
    const bool isOne =
        std::any_of(kStarts.begin(), kStarts.end(), [&](std::string_view start) { return name.starts_with(start); });
    return isOne ? collectiveOfKernelName(name) : std::string();
}

/// "all-reduce-start.7", whose "all-reduce-done.7" follows.
bool isAsked(std::string_view name)
{
    const std::string_view operation = name.substr(0, name.find('.'));
    return operation.ends_with("-start") || operation.ends_with("_start");
}

} // namespace

bool settleXlaRows(RecordingBuilder& builder)
{
    std::vector<XlaRow> rows(builder.trackCount(), XlaRow::none);
    std::vector<std::string> devices; // processes, in their order
    for (std::uint32_t track = 0; track < rows.size(); ++track) {
        RecordedTrack& row = builder.at(track);
        const std::string& process = builder.processName(row.process);
        const auto device = deviceOf(process);
        if (!device)
            continue;
        rows[track] = kindOfRow(process, row.name);
        row.isDevice = true;
        row.device = *device;
        if (std::find(devices.begin(), devices.end(), row.process) == devices.end())
            devices.push_back(row.process);
    }
    if (devices.empty())
        return false;
    for (std::uint32_t span = 0; span < builder.spanCount(); ++span) {
        const XlaRow row = rows[builder.trackOf(span)];
        const std::string& name = builder.recording.names[builder.nameOf(span)];
        if (row == XlaRow::none || builder.kind(span) != RecordedKind::other)
            continue;
        if (row == XlaRow::steps || row == XlaRow::drawn) {
            builder.setKind(span, RecordedKind::gpuAnnotation);
            std::int64_t number = -1;
            const auto [after, error] = std::from_chars(name.data(), name.data() + name.size(), number);
            if (row == XlaRow::steps && error == std::errc() && after == name.data() + name.size() && number >= 0)
                builder.addStep(number, span, true);
            continue;
        }
        const std::string collective = row == XlaRow::ops            ? collectiveOfOperator(name)
                                       : isCommunicationKernel(name) ? collectiveOfKernelName(name)
                                                                     : std::string();
        const bool isCommunication = !collective.empty() || isCommunicationKernel(name);
        builder.setKind(span, isCommunication                                          ? RecordedKind::communication
                              : name.starts_with("Memcpy") || name.starts_with("copy") ? RecordedKind::memcpy
                              : name.starts_with("Memset")                             ? RecordedKind::memset
                                                                                       : RecordedKind::kernel);
        // An asynchronous one is told twice: where it is asked for, and where its result is waited for.
        if (!isCommunication || isAsked(name))
            continue;
        RecordedCollective of;
        of.span = span;
        of.name = builder.recording.names.add(collective);
        of.isPointToPoint = isPointToPointName(collective);
        builder.addCollective(of, 0);
    }
    if (devices.size() == 1) {
        builder.about.device = *deviceOf(builder.processName(devices.front()));
        return false;
    }
    for (std::uint32_t track = 0; track < rows.size(); ++track)
        if (rows[track] == XlaRow::none)
            builder.at(track).process = devices.front();
    builder.splitByProcess();
    return true;
}

void shareXlaSteps(Recording& recording)
{
    const auto said = std::find_if(recording.ranks.begin(), recording.ranks.end(),
                                   [](const RankRecording& rank) { return !rank.steps.empty(); });
    for (RankRecording& rank : recording.ranks)
        if (said != recording.ranks.end() && rank.steps.empty())
            rank.steps = said->steps;
}

} // namespace sim
