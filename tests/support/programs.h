// Programs of scenarios, as the simulator lowers them.
#pragma once

#include "sim/legal/schedule_request.h"
#include "sim/program/program.h"
#include "sim/schedule/schedule.h"

#include <functional>
#include <string_view>

namespace test {

inline sim::Program programOf(const sim::Scenario& scenario)
{
    return sim::lowerProgram(scenario, sim::makeSchedule(sim::scheduleRequest(scenario)));
}

/// Over all steps of the first rank: a sum over the ops of one name, or of all whose name begins with it.
inline double sumOf(const sim::Program& program, std::string_view name,
                    const std::function<double(const sim::Op&, const sim::OpShape&)>& value)
{
    double sum = 0;
    for (const sim::Step& step : program.ranks[0].steps)
        for (std::size_t i = 0; i < program.passes[step.pass].ops.size(); ++i)
            if (const sim::Op& op = program.passes[step.pass].ops[i]; program.labels[op.label].starts_with(name))
                sum += value(op, program.passes[step.pass].shapes[i]);
    return sum;
}

inline double bytesOf(const sim::Program& program, std::string_view name)
{
    return sumOf(program, name, [](const sim::Op&, const sim::OpShape& shape) { return static_cast<double>(shape.bytes); });
}

inline double countOf(const sim::Program& program, std::string_view name)
{
    return sumOf(program, name, [](const sim::Op&, const sim::OpShape&) { return 1.0; });
}

} // namespace test
