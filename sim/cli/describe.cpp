#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/model/parameters.h"
#include "sim/schedule/families.h"
#include "sim/simulation.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct Arguments {
    ScenarioArguments scenario;
    bool json = false;
};

void print(const Scenario& s, const std::vector<PipelineRankMetrics>& ranks)
{
    const Layout& l = s.layout;
    Table table({s.name.empty() ? "scenario" : s.name, ""});
    table.add({"model",
               s.model.name + ", " + grouped(s.model.numHiddenLayers) + " layers, hidden size " + grouped(s.model.hiddenSize)});
    table.add(
        {"parameters", grouped(parameterCount(s.model)) +
                           (s.model.numExperts > 0 ? ", active " + grouped(activeParameterCount(s.model)) : std::string())});
    table.add({"cluster", grouped(s.cluster.nodes) + " nodes x " + grouped(s.cluster.gpusPerNode) + " " + s.cluster.gpu.name});
    table.add({"layout", "tp " + std::to_string(l.tp) + " x cp " + std::to_string(l.cp) + " x pp " + std::to_string(l.pp) +
                             " x dp " + std::to_string(l.dp) + " = " + grouped(l.worldSize()) + " ranks" +
                             (l.ep > 1 ? ", ep " + std::to_string(l.ep) + " x etp " + std::to_string(l.etp) : std::string())});
    table.add({"order", l.order + (l.sequenceParallel ? ", sequence parallel" : "") + ", ZeRO " + std::to_string(l.zeroStage)});
    table.add({"schedule", s.schedule.kind + ", " + std::to_string(s.stages()) + " stages, " + grouped(s.microbatches()) +
                               " micro-batches of " + std::to_string(s.training.microBatchSize)});
    table.add({"batch", grouped(s.training.globalBatchSize) + " sequences of " + grouped(s.training.sequenceLength) + " tokens"});
    std::int64_t most = 0;
    for (const PipelineRankMetrics& rank : ranks)
        most = std::max(most, rank.parameters);
    table.add({"parameters of a rank", "at most " + grouped(most)});
    table.print(std::cout);
}

void run(const Arguments& arguments)
{
    const Scenario scenario = arguments.scenario.read();
    const auto simulation = simulate(scenario);
    const auto& ranks = simulation->metrics().perPipelineRank;
    if (!arguments.json)
        return print(scenario, ranks);
    auto json = nlohmann::ordered_json::parse(resolvedText(scenario));
    json["parameters"] = parameterCount(scenario.model);
    json["active_parameters"] = activeParameterCount(scenario.model);
    json["world_size"] = scenario.layout.worldSize();
    json["parameters_per_rank"] = nlohmann::ordered_json::array();
    for (const PipelineRankMetrics& rank : ranks)
        json["parameters_per_rank"].push_back(rank.parameters);
    std::cout << json.dump(2) << "\n";
}

} // namespace

void addDescribe(CLI::App& app)
{
    CLI::App* command = app.add_subcommand(
        "describe", "The scenario with every base and default filled in; its parameters, also per pipeline rank");
    auto arguments = std::make_shared<Arguments>();
    arguments->scenario.addTo(*command);
    command->add_flag("--json", arguments->json, "One JSON document");
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
