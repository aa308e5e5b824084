#include "sim/analysis/explain/explain_whole_run.h"

#include "sim/analysis/explain/explain_goodput.h"
#include "sim/analysis/explain/explainer.h"
#include "sim/analysis/goodput.h"
#include "sim/analysis/whole_run.h"
#include "sim/text/duration_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace sim {
namespace {

constexpr double kSecondsOfHour = 3600;

/// Told by the largest of the shares that leave nothing for training.
std::string neverEndsText(const RunShares& shares)
{
    const std::array<std::pair<double, const char*>, 4> lost{{{shares.repeated, "what is trained is undone before it is saved"},
                                                              {shares.restarting, "restarts fail before training goes on"},
                                                              {shares.waiting, "it waits for nodes that failed to be replaced"},
                                                              {shares.saving, "nearly all of its time goes into saves"}}};
    const auto most = std::max_element(lost.begin(), lost.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return std::string("It practically never ends: ") + most->second + ".";
}

Explanation steps(const Simulation& simulation, const WholeRun& run)
{
    const Training& t = simulation.scenario().training;
    Account account("optimizer steps", "N", run.steps, Unit::count);
    account.term("D", run.tokens, Unit::count,
                 t.tokens > 0 ? "tokens to train on, as given"
                              : "tokens to train on, supposed, to compare jobs by: the scenario names none");
    account.term("B", t.globalBatchSize, Unit::count, "sequences in the global batch");
    account.term("s", t.sequenceLength, Unit::count, "tokens a sequence");
    return account.close({}, "⌈D / (B × s)⌉: the last step may have more tokens than are left.", "");
}

std::string lastsText(const WholeRun& run)
{
    return durationText(run.days * 24 * kSecondsOfHour);
}

} // namespace

Explanation explainRunTime(const Simulation& simulation, double tokens)
{
    const WholeRun run = lastingRun(simulation, tokens);
    Account account("Time of the whole run", "T_run", run.days * 24 * kSecondsOfHour, Unit::seconds);
    Formula time = account.term(steps(simulation, run));
    time *= account.term(explain(simulation, MetricId::stepTime));
    const auto failing = goodput(simulation, tokens);
    const std::string told = lastsText(wholeRun(simulation, tokens)) + " of one step after the other";
    if (!failing)
        return account.close(std::move(time), told + ", without pauses and failures.", "");
    if (!std::isfinite(run.days))
        return account.close({}, neverEndsText(failing->shares), "");
    return account.close(time / account.term(explainGoodput(simulation, *failing)),
                         told + ", over the share of the time that trains: " + lastsText(run) + ".", "");
}

Explanation explainRunGpuHours(const Simulation& simulation, double tokens)
{
    const WholeRun run = lastingRun(simulation, tokens);
    Account account("GPU hours of the whole run", "H", run.gpuHours, Unit::number);
    const auto failing = goodput(simulation, tokens);
    if (failing && !std::isfinite(run.days))
        return account.close({}, neverEndsText(failing->shares), "");
    const Formula time = account.term(explainRunTime(simulation, tokens));
    const Formula ranks = account.term("W", simulation.metrics().worldSize, Unit::count, "GPUs of the job");
    const int spares = failing ? failing->job.spares * std::max(1, simulation.scenario().cluster.gpusPerNode) : 0;
    const Formula gpus =
        spares > 0 ? Formula::sum({ranks, account.term("S", spares, Unit::count, "GPUs of nodes that stand by")}) : ranks;
    return account.close(time * gpus / Formula::number(kSecondsOfHour), "", "");
}

} // namespace sim
