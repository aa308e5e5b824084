// A trace of any size for benchmarks: spans of random length with short gaps, as in a pipeline.
#pragma once

#include "sim/trace/trace.h"

#include <algorithm>
#include <memory>
#include <random>

namespace test {

inline std::shared_ptr<const sim::Trace> manySpans(std::size_t spans, int tracks)
{
    std::mt19937 random(1);
    auto trace = std::make_shared<sim::Trace>();
    // As in a pipeline: forward, backward and weight gradient mixed.
    for (const auto c : {sim::OpClass::forward, sim::OpClass::backwardInput, sim::OpClass::backwardWeight})
        trace->kinds.push_back({.name = "op", .opClass = c});
    for (int t = 0; t < tracks; ++t) {
        trace->processes.push_back({.rank = t});
        sim::Track track{.process = t, .name = "actions", .role = sim::TrackRole::actions};
        std::int64_t now = 0;
        for (std::size_t i = 0; i < spans / static_cast<std::size_t>(tracks); ++i) {
            const auto length = static_cast<std::int64_t>(1 + random() % 20000);
            track.startNs.push_back(now);
            track.durationNs.push_back(length);
            track.kind.push_back(static_cast<std::uint32_t>(random() % trace->kinds.size()));
            track.microbatch.push_back(static_cast<std::int32_t>(i % 100));
            now += length + static_cast<std::int64_t>(random() % 4000);
        }
        trace->endNs = std::max(trace->endNs, now);
        trace->tracks.push_back(std::move(track));
    }
    return trace;
}

} // namespace test
