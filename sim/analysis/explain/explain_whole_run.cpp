#include "sim/analysis/explain/explain_whole_run.h"

#include "sim/analysis/explain/explain_goodput.h"
#include "sim/analysis/explain/explainer.h"
#include "sim/analysis/goodput.h"
#include "sim/analysis/whole_run.h"
#include "sim/text/duration_text.h"

#include <algorithm>
#include <cmath>

namespace sim {
namespace {

constexpr double kSecondsOfHour = 3600;
constexpr const char* kNeverEnds = "It practically never ends: what is trained is undone before it is saved.";

Explanation steps(const Simulation& simulation, const WholeRun& run)
{
    const Training& t = simulation.scenario().training;
    Account account("optimizer steps", "N", run.steps, Unit::count);
    account.term("D", run.tokens, Unit::count,
                 t.tokens > 0 ? "tokens to train on, as given" : "tokens to train on, to compare by: the scenario does not say");
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
        return account.close({}, kNeverEnds, "");
    return account.close(time / account.term(explainGoodput(simulation, *failing)),
                         told + ", over the share of the time that trains: " + lastsText(run) + ".", "");
}

Explanation explainRunGpuHours(const Simulation& simulation, double tokens)
{
    const WholeRun run = lastingRun(simulation, tokens);
    Account account("GPU hours of the whole run", "H", run.gpuHours, Unit::number);
    if (!std::isfinite(run.days))
        return account.close({}, kNeverEnds, "");
    const Formula time = account.term(explainRunTime(simulation, tokens));
    const Formula ranks = account.term("W", simulation.metrics().worldSize, Unit::count, "GPUs of the job");
    const auto failing = goodput(simulation, tokens);
    const int spares = failing ? failing->job.spares * std::max(1, simulation.scenario().cluster.gpusPerNode) : 0;
    const Formula gpus =
        spares > 0 ? Formula::sum({ranks, account.term("S", spares, Unit::count, "GPUs of nodes that stand by")}) : ranks;
    return account.close(time * gpus / Formula::number(kSecondsOfHour), "", "");
}

} // namespace sim
