#include "app/session/pass_times.h"

#include <algorithm>
#include <array>
#include <optional>

namespace app {
namespace {

double median(std::vector<double>& values)
{
    if (values.empty())
        return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::optional<std::size_t> columnOf(sim::OpClass c)
{
    switch (c) {
    case sim::OpClass::forward:
        return 0;
    case sim::OpClass::backward:
        return 1;
    case sim::OpClass::backwardInput:
        return 2;
    case sim::OpClass::backwardWeight:
        return 3;
    default:
        return std::nullopt;
    }
}

} // namespace

std::vector<sim::PassTimes> measurePasses(const sim::Trace& trace, const sim::Schedule& schedule)
{
    const auto parts = static_cast<std::size_t>(std::max(1, schedule.chainLength()));
    std::vector<std::array<std::vector<double>, 4>> durations(parts); // F, B, I, W
    for (const sim::Track& track : trace.tracks) {
        if (track.role != sim::TrackRole::actions)
            continue;
        for (std::size_t i = 0; i < track.size(); ++i) {
            const sim::SpanKind& kind = trace.kinds[track.kind[i]];
            if (const auto column = columnOf(kind.opClass); column && kind.stage >= 0)
                durations[static_cast<std::size_t>(kind.stage) % parts][*column].push_back(
                    static_cast<double>(track.durationNs[i]));
        }
    }
    std::optional<double> comm;
    for (const sim::Flow& flow : trace.flows) {
        const sim::Track& from = trace.tracks[flow.fromTrack];
        const std::int64_t end = from.startNs[flow.fromSpan] + from.durationNs[flow.fromSpan];
        const auto gap = static_cast<double>(trace.tracks[flow.toTrack].startNs[flow.toSpan] - end);
        comm = std::max(0.0, std::min(comm.value_or(gap), gap));
    }
    std::vector<sim::PassTimes> out;
    for (auto& [forward, backward, input, weight] : durations) {
        sim::PassTimes times{.forward = median(forward), .comm = comm.value_or(0)};
        if (!input.empty()) {
            times.backwardInput = median(input);
            times.backwardWeight = weight.empty() ? 0 : median(weight);
            if (!backward.empty()) // an order of both
                times.fused = median(backward);
        } else {
            times.backwardInput = times.backwardWeight = median(backward) / 2;
        }
        out.push_back(times);
    }
    return out;
}

} // namespace app
