#include "sim/answers/answers.h"

#include "sim/model/parameters.h"
#include "sim/scenario/document.h"

namespace sim {

Answer describeAnswer(const Simulation& simulation)
{
    const Scenario& scenario = simulation.scenario();
    auto json = Answer::parse(resolvedText(scenario));
    json["parameters"] = parameterCount(scenario.model);
    json["active_parameters"] = activeParameterCount(scenario.model);
    json["world_size"] = scenario.layout.worldSize();
    json["parameters_per_rank"] = Answer::array();
    for (const PipelineRankMetrics& rank : simulation.metrics().perPipelineRank)
        json["parameters_per_rank"].push_back(rank.parameters);
    return json;
}

} // namespace sim
