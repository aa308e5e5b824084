#include "live/runtime/check_serial.h"

#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <numeric>

namespace live {
namespace {

/// Largest |a - b| / |a| over the steps.
double apart(const std::vector<double>& a, const std::vector<double>& b)
{
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double relative = a[i] == b[i] ? 0 : std::abs(a[i] - b[i]) / std::max(std::abs(a[i]), 1e-300);
        largest = relative <= largest ? largest : relative; // NaN stays
    }
    return largest;
}

} // namespace

TrainedSteps trainSteps(const sim::Scenario& scenario, const TrainOptions& options)
{
    if (scenario.live.dtype != "fp64" && scenario.live.dtype != "fp32")
        throw sim::Error("/live/dtype: layouts are compared on the CPU, in fp64 or fp32; this is " + scenario.live.dtype +
                         "; nearest: --set live.dtype=fp32");
    WorkerPool pool(options.workers);
    const auto device = makeCpuDevice(scenario.live.dtype == "fp64" ? DType::f64 : DType::f32, &pool);
    const auto communicator = makeLocalCommunicator(pool);
    return trainSteps(scenario, options, pool, *device, *communicator);
}

TrainedSteps trainSteps(const sim::Scenario& scenario, const TrainOptions& options, WorkerPool& pool, Device& device,
                        Communicator& communicator)
{
    Run run(scenario, {.pool = &pool,
                       .device = &device,
                       .communicator = &communicator,
                       .firstRank = options.firstRank,
                       .rankCount = options.rankCount,
                       .options = options.training,
                       .record = options.record});
    TrainedSteps trained;
    std::mutex mutex;
    for (Rank* rank : run.ranks())
        rank->onGradients([&](Rank& self) {
            if (self.context().step != 1)
                return;
            const std::lock_guard lock(mutex);
            addToSnapshot(self, Quantity::gradient, trained.firstGradients);
        });
    run.train(options.steps, [&](const StepReport& report) {
        trained.losses.push_back(report.result.loss);
        trained.auxiliaryLosses.push_back(report.result.auxiliaryLoss);
        trained.gradientNorms.push_back(report.result.gradientNorm);
        return Verdict::goOn;
    });
    for (Rank* rank : run.ranks()) {
        addToSnapshot(*rank, Quantity::value, trained.values);
        if (scenario.training.optimizer == sim::Optimizer::adamw)
            addToSnapshot(*rank, Quantity::firstMoment, trained.firstMoments);
    }
    return trained;
}

sim::Scenario serialTwin(const sim::Scenario& scenario)
{
    sim::Scenario serial = scenario;
    serial.layout = {};
    serial.layout.dpShard = 1;
    serial.schedule = {};
    serial.schedule.kind = "gpipe";
    serial.schedule.layersPerStage = {scenario.model.numHiddenLayers};
    serial.schedule.microbatchGroup = 1;
    serial.perturbations.clear();
    return serial;
}

SerialCheck compareSteps(const TrainedSteps& serial, const TrainedSteps& hybrid)
{
    SerialCheck check;
    check.loss = std::max(apart(serial.losses, hybrid.losses), apart(serial.auxiliaryLosses, hybrid.auxiliaryLosses));
    check.gradientNorm = apart(serial.gradientNorms, hybrid.gradientNorms);
    check.firstStepNorm = apart({serial.gradientNorms.front()}, {hybrid.gradientNorms.front()});
    check.gradients = compare(serial.firstGradients, hybrid.firstGradients);
    check.values = compare(serial.values, hybrid.values);
    check.hasTensors = !serial.values.empty();
    check.identical = check.loss == 0 && check.gradientNorm == 0 && check.gradients.identical && check.values.identical &&
                      compare(serial.firstMoments, hybrid.firstMoments).identical;
    return check;
}

TrainedSteps trainSerially(const sim::Scenario& scenario, const TrainOptions& options)
{
    TrainOptions reference = options;
    reference.training.separateTiedGradients = true;
    return trainSteps(serialTwin(scenario), reference);
}

SerialCheck checkSerial(const sim::Scenario& scenario, const TrainOptions& options)
{
    return compareSteps(trainSerially(scenario, options), trainSteps(scenario, options));
}

void TrainedSteps::addPart(const TrainedSteps& part)
{
    const auto add = [](Snapshot& to, const Snapshot& from) {
        for (const auto& [name, some] : from) {
            std::vector<double>& all = to[name];
            all.resize(some.size()); // what a process does not hold is 0
            for (std::size_t i = 0; i < some.size(); ++i)
                all[i] += some[i];
        }
    };
    add(firstGradients, part.firstGradients);
    add(values, part.values);
    add(firstMoments, part.firstMoments);
}

bool SerialCheck::isRounding(const std::string& dtype) const
{
    // Some thousand times what correct layouts of the gallery show: 1e-15 in fp64, 3e-7 in fp32.
    const double most = dtype == "fp64" ? 1e-11 : 1e-3;
    return loss <= most && firstStepNorm <= most && gradients.relative <= most;
}

std::string SerialCheck::text() const
{
    if (identical)
        return std::string("equal to serial training bit for bit: losses") +
               (hasTensors ? ", gradient norms, gradients of step 1, weights and moments\n" : " and gradient norms\n");
    std::string out = "largest relative difference from serial training\n";
    const auto line = [&](const char* name, double value, const std::string& where = {}) {
        char number[32];
        std::snprintf(number, sizeof number, "%.2e", value);
        out += std::string("  ") + name + number + (where.empty() || value == 0 ? "" : "  (" + where + ")") + "\n";
    };
    line("loss                   ", loss);
    line("gradient norm, step 1  ", firstStepNorm);
    line("gradient norm          ", gradientNorm);
    if (!hasTensors)
        return out;
    line("gradients of step 1    ", gradients.relative, gradients.worst);
    line("weights at the end     ", values.relative, values.worst);
    return out;
}

} // namespace live
