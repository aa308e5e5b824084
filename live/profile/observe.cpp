#include "live/profile/observe.h"

#include "live/comm/gpu_modules.h"
#include "live/kernels/modules.h"
#include "live/runtime/run.h"
#include "live/stream/as_if_parallel.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace live {

namespace {

/// Experts get other tokens in each step: their lengths differ by right.
bool isRouted(const sim::SpanKind& kind)
{
    return kind.name.starts_with("moe.");
}

} // namespace

ObservedRun observeRun(const sim::Scenario& scenario, const ObserveOptions& options)
{
    const bool onGpu = options.device == "cuda";
    if (const int world = scenario.layout.worldSize(); onGpu && world > 1)
        throw sim::Error(
            std::to_string(world) +
            " ranks would share the GPU and hold each other up; nearest: a scenario of one rank, or --device cpu, where "
            "ranks take turns");
    WorkerPool pool(options.workers);
    const std::unique_ptr<Device> device =
        chooseDevice(options.device, activationType(scenario), options.workers > 1 ? &pool : nullptr).device;
    const std::unique_ptr<Communicator> communicator = onGpu ? makeLocalGpuCommunicator(pool) : makeLocalCommunicator(pool);
    if (onGpu)
        pool.setPoller([&communicator] { return communicator->poll(); });
    RunParts parts{.pool = &pool, .device = device.get(), .communicator = communicator.get()};
    std::optional<Run> run;
    run.emplace(scenario, parts);
    observeSteps(*run, options.warmUp);
    ObservedRun observed = observeSteps(*run, options.steps);
    observed.onGpu = onGpu;
    if (onGpu) {
        observed.wallSeconds.clear();
        run.reset(); // not both in the GPU's memory
        parts.record = false;
        Run(scenario, parts).train(options.warmUp + options.steps, [&](const StepReport& report) {
            if (report.step > options.warmUp)
                observed.wallSeconds.push_back(report.seconds);
            return Verdict::goOn;
        });
    }
    return observed;
}

ObservedRun observeSteps(Run& run, int steps)
{
    for (Recorder* recorder : run.recorders())
        recorder->keepsRouting = true;
    ObservedRun observed{.scenario = run.scenario(), .worldSize = run.mesh().worldSize()};
    run.train(steps, [&](const StepReport& report) {
        std::vector<RankSpan> spans;
        for (Recorder* recorder : run.recorders()) {
            std::vector<SpanRecord> records;
            recorder->spans.drain(records);
            for (const SpanRecord& record : records)
                spans.push_back({recorder->rank, record});
            std::move(recorder->routings.begin(), recorder->routings.end(), std::back_inserter(observed.routings));
            recorder->routings.clear();
        }
        observed.steps.push_back(std::move(spans));
        observed.wallSeconds.push_back(report.seconds);
        return Verdict::goOn;
    });
    observed.kinds = run.spanKinds().from();
    return observed;
}

void ObservedRun::append(const ObservedRun& other)
{
    std::vector<std::uint32_t> kindOf; // runs number kinds as they meet them
    for (const sim::SpanKind& kind : other.kinds) {
        const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const sim::SpanKind& mine) {
            return std::tie(mine.name, mine.opClass, mine.stage, mine.layer, mine.group, mine.bytes) ==
                   std::tie(kind.name, kind.opClass, kind.stage, kind.layer, kind.group, kind.bytes);
        });
        kindOf.push_back(static_cast<std::uint32_t>(known - kinds.begin()));
        if (known == kinds.end())
            kinds.push_back(kind);
    }
    for (std::vector<RankSpan> step : other.steps) {
        for (RankSpan& span : step)
            span.span.kind = kindOf.at(span.span.kind);
        steps.push_back(std::move(step));
    }
    routings.insert(routings.end(), other.routings.begin(), other.routings.end());
    membersOf.insert(other.membersOf.begin(), other.membersOf.end());
    wallSeconds.insert(wallSeconds.end(), other.wallSeconds.begin(), other.wallSeconds.end());
}

std::vector<std::vector<RankSpan>> ObservedRun::undisturbedSteps() const
{
    // Which of the equal spans of a step: rank, kind, micro-batch, how many came before.
    using Place = std::tuple<int, std::uint32_t, std::int32_t, int>;
    std::map<Place, std::vector<double>> lengths;
    const auto visit = [this](const std::vector<RankSpan>& step, const auto& each) {
        std::map<Place, int> seen;
        for (std::size_t i = 0; i < step.size(); ++i) {
            const SpanRecord& span = step[i].span;
            if (span.track == SpanTrack::actions || isRouted(kinds[span.kind]))
                continue;
            Place place{step[i].rank, span.kind, span.microbatch, 0};
            std::get<3>(place) = seen[place]++;
            each(i, place);
        }
    };
    for (const std::vector<RankSpan>& step : steps)
        visit(step,
              [&](std::size_t i, const Place& place) { lengths[place].push_back(static_cast<double>(lengthNs(step[i].span))); });
    std::map<Place, std::int64_t> medians;
    for (auto& [place, values] : lengths)
        medians[place] = std::max<std::int64_t>(1, std::llround(median(std::move(values)))); // 0 would say "not measured"
    std::vector<std::vector<RankSpan>> result = steps;
    for (std::vector<RankSpan>& step : result)
        visit(step, [&](std::size_t i, const Place& place) { step[i].span.cpuNs = medians.at(place); });
    return result;
}

std::vector<double> asIfParallelSeconds(std::span<const std::vector<RankSpan>> steps, const ObservedRun& run)
{
    std::vector<double> seconds;
    for (const std::vector<RankSpan>& step : steps)
        seconds.push_back(static_cast<double>(asIfParallel(step, run.worldSize, {}, run.kinds).stepNs) * 1e-9);
    return seconds;
}

std::vector<double> kernelSeconds(std::span<const std::vector<RankSpan>> steps, const ObservedRun& run)
{
    std::vector<double> seconds;
    for (const std::vector<RankSpan>& step : steps) {
        std::int64_t sum = 0;
        for (const RankSpan& each : step)
            if (each.span.track == SpanTrack::compute)
                sum += lengthNs(each.span);
        seconds.push_back(static_cast<double>(sum) * 1e-9 / run.worldSize);
    }
    return seconds;
}

double median(std::vector<double> values)
{
    if (values.empty())
        return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace live
