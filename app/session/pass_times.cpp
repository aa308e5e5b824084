#include "app/session/pass_times.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

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

void spreadOverLayers(const MeasuredPasses& measured, const std::vector<int>& layers, double sim::PassTimes::*pass,
                      std::vector<sim::PassTimes>& out)
{
    double layer = std::numeric_limits<double>::infinity();
    for (std::size_t part = 0; part < measured.times.size(); ++part)
        if (measured.layers[part] > 0)
            layer = std::min(layer, measured.times[part].*pass / measured.layers[part]);
    for (std::size_t part = 0; part < out.size(); ++part)
        out[part].*pass = layer * layers[part];
    out.front().*pass += measured.times.front().*pass - layer * measured.layers.front();
    if (measured.times.size() > 1)
        out.back().*pass += measured.times.back().*pass - layer * measured.layers.back();
}

} // namespace

MeasuredPasses measurePasses(const sim::Trace& trace, const sim::Schedule& schedule, std::vector<int> layersOfParts)
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
    MeasuredPasses out{.layers = std::move(layersOfParts)};
    for (auto& [forward, backward, input, weight] : durations) {
        sim::PassTimes times{.forward = median(forward), .comm = comm.value_or(0)};
        if (!input.empty()) {
            out.splitIsMeasured = true;
            times.backwardInput = median(input);
            times.backwardWeight = weight.empty() ? 0 : median(weight);
            if (!backward.empty()) // an order of both
                times.fused = median(backward);
        } else {
            times.backwardInput = times.backwardWeight = median(backward) / 2;
        }
        out.times.push_back(times);
    }
    return out;
}

std::vector<sim::PassTimes> passTimesFor(const MeasuredPasses& measured, const sim::Schedule& schedule,
                                         const std::vector<int>& layersOfParts)
{
    std::vector<sim::PassTimes> times = measured.times;
    if (layersOfParts != measured.layers) {
        times.assign(layersOfParts.size(), {.comm = measured.times.front().comm});
        for (double sim::PassTimes::*pass :
             {&sim::PassTimes::forward, &sim::PassTimes::backwardInput, &sim::PassTimes::backwardWeight})
            spreadOverLayers(measured, layersOfParts, pass, times);
    }
    for (sim::PassTimes& part : times) {
        part.forward /= schedule.slices;
        part.backwardInput /= schedule.slices;
        part.backwardWeight /= schedule.slices;
        part.fused /= schedule.slices;
    }
    return times;
}

} // namespace app
