// A run of four ranks (pp2, tp2) that exists only as its records, for tests of what is done with them.
#pragma once

#include "live/stream/collector.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace test {

inline live::RunDescription smallRun(int worldSize = 4)
{
    live::RunDescription run;
    run.runId = "0123456789abcdef";
    run.name = "small run";
    run.scenarioJson = "{}";
    run.device = "test";
    run.host = "here";
    run.worldSize = worldSize;
    for (int rank = 0; rank < worldSize; ++rank)
        run.rankNames.push_back("rank " + std::to_string(rank) + " (dp0 pp" + std::to_string(rank / 2) + " cp0 tp" +
                                std::to_string(rank % 2) + ")");
    run.groupSizes = {{"tp", 2}, {"pp", 2}};
    return run;
}

/// Kinds that the spans below name.
struct SmallKinds {
    live::SpanKinds all;
    std::uint32_t forwardAction = all.id({.name = "0F", .opClass = sim::OpClass::forward, .stage = 0});
    std::uint32_t kernel = all.id({.name = "mlp.fc1", .opClass = sim::OpClass::forward, .stage = 0, .layer = 1});
    std::uint32_t allReduce = all.id({.name = "tp all-reduce", .opClass = sim::OpClass::tpComm, .group = "tp", .bytes = 4096});
    std::uint32_t send = all.id({.name = "send", .opClass = sim::OpClass::ppComm, .group = "pp"});
    std::uint32_t receive = all.id({.name = "receive", .opClass = sim::OpClass::ppComm, .group = "pp"});
};

inline live::SpanRecord computeSpan(const SmallKinds& kinds, std::int64_t startNs, std::int64_t endNs, int step = 0)
{
    return {.startNs = startNs, .endNs = endNs, .readyNs = startNs, .kind = kinds.kernel, .microbatch = 0, .step = step};
}

inline live::SpanRecord commSpan(live::SpanTrack track, std::uint32_t kind, std::int64_t arrivedNs, std::int64_t readyNs,
                                 std::int64_t endNs, std::uint64_t correlation, int step = 0)
{
    return {.startNs = arrivedNs,
            .endNs = endNs,
            .readyNs = readyNs,
            .bytes = 4096,
            .correlation = correlation,
            .kind = kind,
            .microbatch = 0,
            .step = step,
            .track = track};
}

/// A run in this process: recorders to push to, and the collector that empties them.
struct Run {
    SmallKinds kinds;
    std::vector<std::unique_ptr<live::Recorder>> recorders;
    std::unique_ptr<live::Collector> collector;

    explicit Run(live::CollectorOptions options = {}, int worldSize = 4, std::size_t capacity = 1 << 16)
    {
        std::vector<live::Recorder*> all;
        for (int rank = 0; rank < worldSize; ++rank) {
            recorders.push_back(std::make_unique<live::Recorder>(rank, capacity));
            all.push_back(recorders.back().get());
        }
        collector = std::make_unique<live::Collector>(smallRun(worldSize), kinds.all, all, options);
    }
    /// One kernel a rank and step, `count` steps from `first` on.
    void train(int first, int count)
    {
        for (int step = first; step < first + count; ++step) {
            for (const auto& recorder : recorders)
                recorder->spans.push(computeSpan(kinds, 1000 * (step + 1), 1000 * (step + 1) + 500, step));
            collector->stepDone({.step = step, .loss = 10.0 - step, .startNs = 1000 * (step + 1), .endNs = 1000 * (step + 2)});
        }
        collector->collect();
    }
};

/// Waits until it is true, or gives up after a time that only a hanging test takes.
inline bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds most = std::chrono::milliseconds(8000))
{
    const auto end = std::chrono::steady_clock::now() + most;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

} // namespace test
