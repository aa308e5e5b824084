// Whatever the bytes are, they are refused with Error, or are a recording that is whole in itself and can be drawn and told.
#include "sim/answers/recording.h"
#include "sim/error.h"
#include "sim/trace/readers/read_recording.h"
#include "sim/trace/recorded_trace.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

void mustBeWhole(const sim::Recording& recording)
{
    for (const sim::RankRecording& rank : recording.ranks) {
        const std::size_t spans = rank.spans.size();
        std::uint32_t at = 0;
        for (const sim::RecordedTrack& track : rank.tracks) {
            if (track.first != at || track.last < track.first)
                std::abort();
            at = track.last;
        }
        if (at != spans || rank.spans.durationNs.size() != spans || rank.spans.name.size() != spans ||
            rank.spans.kind.size() != spans)
            std::abort();
        for (std::size_t span = 0; span < spans; ++span)
            if (rank.spans.durationNs[span] < 0 || rank.spans.name[span] >= recording.names.size())
                std::abort();
        for (const sim::RecordedLink& link : rank.links)
            if (link.from >= spans || link.to >= spans)
                std::abort();
        for (const sim::RecordedCollective& collective : rank.collectives)
            if ((collective.span != sim::kNoSpan && collective.span >= spans) ||
                (collective.hostSpan != sim::kNoSpan && collective.hostSpan >= spans) ||
                (collective.group >= 0 && static_cast<std::size_t>(collective.group) >= recording.groups.size()))
                std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    try {
        const sim::Recording recording =
            sim::readRecording(reinterpret_cast<const char*>(data), size, "no such file", {.windowBytes = 64});
        mustBeWhole(recording);
        static_cast<void>(sim::recordedTrace(recording));
        static_cast<void>(sim::traceInfoAnswer(recording).dump(-1, ' ', false,
                                                               nlohmann::json::error_handler_t::replace)); // as the command does
    } catch (const sim::Error&) {
    }
    return 0;
}
