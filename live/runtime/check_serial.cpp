#include "live/runtime/check_serial.h"

#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
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

Snapshot changeOf(const Snapshot& begin, const Snapshot& end)
{
    Snapshot change = end;
    for (auto& [name, values] : change) {
        const std::vector<double>& before = begin.at(name);
        std::transform(values.begin(), values.end(), before.begin(), values.begin(), std::minus{});
    }
    return change;
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
    if (!serial.begin.empty())
        check.updates = compare(changeOf(serial.begin, serial.values), changeOf(serial.begin, hybrid.values));
    check.steps = static_cast<int>(serial.losses.size());
    check.hasTensors = !serial.values.empty();
    check.identical = check.loss == 0 && check.gradientNorm == 0 && check.gradients.identical && check.values.identical &&
                      compare(serial.firstMoments, hybrid.firstMoments).identical;
    return check;
}

TrainedSteps trainSerially(const sim::Scenario& scenario, const TrainOptions& options)
{
    TrainOptions reference = options;
    reference.training.separateTiedGradients = true;
    TrainedSteps trained = trainSteps(serialTwin(scenario), reference);
    reference.steps = 0;
    trained.begin = trainSteps(serialTwin(scenario), reference).values;
    return trained;
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
    // Likewise: 3e-14 and 4e-5, with an epsilon of AdamW's of 1e-5. One of three updates, not made on one rank of 64, is 4e-2.
    const double mostOfUpdates = dtype == "fp64" ? 1e-8 : 1e-2;
    return loss <= most && firstStepNorm <= most && gradients.relative <= most && updates.relative <= mostOfUpdates;
}

std::string SerialCheck::text() const
{
    // Losses and norms are of the weights before a step.
    const std::string unseen =
        hasTensors || steps > 1 ? "" : "  one step: whether weights are updated right is not seen; --steps 2 does\n";
    if (identical)
        return std::string("equal to serial training bit for bit: losses") +
               (hasTensors ? ", gradient norms, gradients of step 1, weights and moments\n" : " and gradient norms\n") + unseen;
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
        return out + unseen;
    line("gradients of step 1    ", gradients.relative, gradients.worst);
    line("weights at the end     ", values.relative, values.worst);
    line("updates of the weights ", updates.relative, updates.worst);
    return out;
}

} // namespace live
