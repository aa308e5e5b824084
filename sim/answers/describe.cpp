#include "sim/answers/answers.h"

#include "sim/model/parameters.h"
#include "sim/scenario/document.h"

#include <utility>

namespace sim {

Answer describeAnswer(const Simulation& simulation)
{
    const Scenario& scenario = simulation.scenario();
    auto json = Answer::parse(resolvedText(scenario));
    // A scenario that opens again: the reader leaves `derived` out, and at the top what says the same.
    Answer derived{{"parameters", parameterCount(scenario.model)},
                   {"active_parameters", activeParameterCount(scenario.model)},
                   {"world_size", scenario.layout.worldSize()},
                   {"parameters_per_rank", Answer::array()}};
    for (const PipelineRankMetrics& rank : simulation.metrics().perPipelineRank)
        derived["parameters_per_rank"].push_back(rank.parameters);
    json.update(derived); // where scripts look for them
    json["derived"] = std::move(derived);
    return json;
}

} // namespace sim
