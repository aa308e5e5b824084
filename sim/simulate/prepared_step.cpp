#include "sim/simulate/prepared_step.h"

#include "sim/simulate/plan_schedule.h"

namespace sim {

PreparedStep::PreparedStep(const Scenario& given, const SimulateOptions& options)
    : scenario(given), schedule(planSchedule(scenario)), mesh(scenario.layout, endsOf(schedule)),
      placement(scenario.layout, scenario.cluster), program(lowerProgram(scenario, schedule)),
      classes(makeRankClasses(scenario, mesh, placement, schedule, options.full)),
      prices(priceProgram(scenario, program, classes)), memory{scenario, options.full, options.memoryLimitBytes}
{
    requireMemoryForStep(program, classes, memory);
}

} // namespace sim
