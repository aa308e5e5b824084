#include "sim/analysis/whole_run.h"

#include "sim/text/number_text.h"

#include <cmath>

namespace sim {

std::string WholeRun::text() const
{
    return numberText(tokens, Unit::number) + " tokens: " + numberText(steps, Unit::count) +
           (steps == 1 ? " step, " : " steps, ") + numberText(days, Unit::number) + " days, " +
           numberText(gpuHours, Unit::number) + " GPU hours";
}

std::optional<WholeRun> wholeRun(const Simulation& simulation)
{
    constexpr double kSecondsAnHour = 3600, kHoursADay = 24;
    const Training& t = simulation.scenario().training;
    if (t.tokens <= 0)
        return std::nullopt;
    WholeRun run{.tokens = t.tokens};
    run.steps = std::ceil(t.tokens / (1.0 * t.globalBatchSize * t.sequenceLength));
    const double hours = run.steps * simulation.metrics().stepTimeSeconds / kSecondsAnHour;
    run.days = hours / kHoursADay;
    run.gpuHours = hours * simulation.metrics().worldSize;
    return run;
}

} // namespace sim
