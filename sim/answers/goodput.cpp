#include "sim/answers/goodput.h"

namespace sim {

void addGoodput(Answer& answer, const Simulation& simulation)
{
    const std::optional<Goodput> found = goodput(simulation);
    if (!found)
        return;
    const Goodput& g = *found;
    Answer out{{"goodput", g.shares.useful},
               {"tokens_per_second", g.tokensPerSecond},
               {"shares",
                {{"training", g.shares.useful},
                 {"saving", g.shares.saving},
                 {"repeated", g.shares.repeated},
                 {"restarting", g.shares.restarting},
                 {"waiting", g.shares.waiting}}},
               {"days", g.days},
               {"failures", g.failures},
               {"mtbf_s", g.job.mtbf},
               {"checkpoint_every_steps", g.everySteps},
               {"checkpoint_every_s", g.job.every},
               {"best_checkpoint_every_s", g.bestSeconds},
               {"checkpoint_s", g.job.save},
               {"checkpoint_bytes", g.checkpointBytes},
               {"restart_s", g.job.restart},
               {"replace_s", g.job.replace},
               {"spares", g.job.spares}};
    if (g.months)
        out["months"] = {{"played", g.months->months},
                         {"mean", g.months->mean},
                         {"interval", {g.months->low, g.months->high}},
                         {"level", MonthsOfRun::level}};
    if (g.run)
        out["run"] = runAnswer(*g.run);
    answer["goodput"] = std::move(out);
}

} // namespace sim
