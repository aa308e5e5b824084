#include "sim/analysis/step_times.h"

#include "sim/engine/documents.h"

#include "sim/parallel.h"
#include "sim/quantile.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace sim {
namespace {

constexpr double kNanosecond = 1e-9;

/// Any odd number far from those that seeds differ by (sim/engine/classes.cpp).
constexpr std::uint64_t kNextStep = 0xD1B54A32D192ED03ULL;

std::int64_t lengthOfStep(const Simulation& simulation, int step)
{
    RankClasses classes = simulation.classes();
    for (RankSlowdown& slowdown : classes.slowdown)
        if (slowdown.jitter > 0)
            slowdown.jitterSeed += static_cast<std::uint64_t>(step) * kNextStep;
    classes.attentionShares = attentionShares(simulation.scenario(), step);
    return runEngine(simulation.program(), classes, simulation.prices()).endNs;
}

void requireFewOps(std::int64_t ops, int steps)
{
    const std::int64_t most = kMostOpsOfSteps / std::max<std::int64_t>(ops, 1);
    if (steps > most)
        throw Error(countedText(steps, "step") + " of " + countedText(ops, "op") + " each are more than " +
                    numberText(static_cast<double>(kMostOpsOfSteps), Unit::count) +
                    " ops; nearest: " + numberText(static_cast<double>(std::max<std::int64_t>(most, 1)), Unit::count));
}

/// So many results of the engine at a time.
int threadsWithRoom(std::int64_t ops, int threads)
{
    constexpr double kBytesAnOp = 24; // what comes out and what is on the way
    const double room = kMemoryLimitBytes / (kBytesAnOp * static_cast<double>(std::max<std::int64_t>(ops, 1)));
    return static_cast<int>(std::clamp(room - 1, 1.0, static_cast<double>(std::max(threads, 1)))); // one is the simulation's own
}

} // namespace

bool varies(const RankClasses& classes)
{
    return !classes.attentionShares.empty() || std::any_of(classes.slowdown.begin(), classes.slowdown.end(),
                                                           [](const RankSlowdown& slowdown) { return slowdown.jitter > 0; });
}

StepTimes stepTimes(const Simulation& simulation, int steps, int threads)
{
    assert(steps > 0);
    StepTimes out;
    out.seconds.assign(static_cast<std::size_t>(steps), simulation.metrics().stepTimeSeconds);
    if (varies(simulation.classes()) && steps > 1) {
        const std::int64_t ops = simulation.times().opCount();
        requireFewOps(ops, steps);
        const auto room = static_cast<std::size_t>(threadsWithRoom(ops, threads));
        forEachInParallel(static_cast<std::size_t>(steps) - 1, room, [&](std::size_t i) {
            checkCancelled();
            out.seconds[i + 1] = static_cast<double>(lengthOfStep(simulation, static_cast<int>(i) + 1)) * kNanosecond;
        });
    }
    std::vector<double> sorted = out.seconds;
    std::sort(sorted.begin(), sorted.end());
    out.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / steps;
    out.least = sorted.front();
    out.p10 = quantileOf(sorted, 0.1);
    out.median = quantileOf(sorted, 0.5);
    out.p90 = quantileOf(sorted, 0.9);
    out.most = sorted.back();
    return out;
}

std::string StepTimes::text() const
{
    constexpr int kDigits = 4; // they differ little
    const auto shown = [](double value) { return numberText(value, Unit::seconds, kDigits); };
    return shown(median) + " in the median of " + countedText(static_cast<std::int64_t>(seconds.size()), "step") + ", " +
           shown(p10) + " to " + shown(p90) + " in 80 % of them, " + shown(least) + " to " + shown(most) + " in all";
}

} // namespace sim
