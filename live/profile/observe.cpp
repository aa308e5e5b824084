#include "live/profile/observe.h"

#include "live/runtime/run.h"
#include "live/stream/as_if_parallel.h"
#include "live/tasks/worker_pool.h"

#include <algorithm>

namespace live {

ObservedRun observeRun(const sim::Scenario& scenario, const ObserveOptions& options)
{
    WorkerPool pool(options.workers);
    const std::unique_ptr<Device> device =
        makeCpuDevice(scenario.live.dtype == "fp64" ? DType::f64 : DType::f32, options.workers > 1 ? &pool : nullptr);
    const std::unique_ptr<Communicator> communicator = makeLocalCommunicator(pool);
    Run run(scenario, {.pool = &pool, .device = device.get(), .communicator = communicator.get()});
    ObservedRun observed{.scenario = scenario};
    run.train(options.warmUp + options.steps, [&](const StepReport& report) {
        std::vector<RankSpan> spans;
        for (Recorder* recorder : run.recorders()) {
            std::vector<SpanRecord> records;
            recorder->spans.drain(records);
            for (const SpanRecord& record : records)
                spans.push_back({recorder->rank, record});
        }
        if (report.step > options.warmUp) {
            observed.steps.push_back(std::move(spans));
            observed.wallSeconds.push_back(report.seconds);
        }
        return Verdict::goOn;
    });
    for (std::uint32_t i = 0; i < run.spanKinds().size(); ++i)
        observed.kinds.push_back(run.spanKinds().at(i));
    for (const std::vector<RankSpan>& step : observed.steps) {
        std::int64_t kernelNs = 0;
        for (const RankSpan& each : step)
            if (each.span.track == SpanTrack::compute)
                kernelNs += each.span.cpuNs > 0 ? each.span.cpuNs : each.span.endNs - each.span.startNs;
        observed.kernelSeconds.push_back(static_cast<double>(kernelNs) * 1e-9 / run.mesh().worldSize());
        observed.asIfParallelSeconds.push_back(
            static_cast<double>(asIfParallel(step, run.mesh().worldSize(), {}, observed.kinds).stepNs) * 1e-9);
    }
    return observed;
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
