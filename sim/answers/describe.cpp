#include "sim/answers/answers.h"

#include "sim/model/parameters.h"
#include "sim/scenario/document.h"

#include <optional>
#include <string>
#include <utility>

namespace sim {

Answer problemAnswer(const Problem& problem)
{
    return {{"file", problem.file},
            {"pointer", problem.pointer},
            {"message", problem.message},
            {"severity", problem.severity == Severity::error ? "error" : "warning"}};
}

Answer describeAnswer(const Scenario& scenario, const std::vector<std::int64_t>& parametersOfRanks,
                      const ScenarioDocument* document)
{
    auto json = Answer::parse(resolvedText(scenario));
    if (document != nullptr)
        for (const char* block : {"view", "cases", "holds"})
            if (const std::optional<std::string> text = document->get(block))
                json[block] = Answer::parse(*text);
    // A scenario that opens again: the reader leaves `derived` out, and at the top what says the same.
    Answer derived{{"parameters", parameterCount(scenario.model)},
                   {"active_parameters", activeParameterCount(scenario.model)},
                   {"mtp_parameters", predictionParameterCount(scenario.model)},
                   {"trainable_parameters", trainableParameterCount(scenario.model)},
                   {"world_size", scenario.layout.worldSize()},
                   {"parameters_per_rank", parametersOfRanks}};
    json.update(derived); // where scripts look for them
    json["derived"] = std::move(derived);
    return json;
}

Answer describeAnswer(const Simulation& simulation)
{
    std::vector<std::int64_t> parameters;
    for (const PipelineRankMetrics& rank : simulation.metrics().perPipelineRank)
        parameters.push_back(rank.parameters);
    return describeAnswer(simulation.scenario(), parameters);
}

} // namespace sim
