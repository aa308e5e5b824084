#include "live/cli/command.h"

#include "live/model/shape.h"
#include "live/stream/keys.h"
#include "sim/cli/options.h"
#include "sim/scenario/named_files.h"

#include <iostream>
#include <utility>

namespace live::cli {

void ScenarioArguments::addTo(CLI::App& command, bool required)
{
    command.add_option("FILE", file, "Scenario file")->type_name("")->required(required)->check(sim::cli::notEmpty());
    sim::cli::addOverrides(command, overrides);
}

sim::Scenario ScenarioArguments::read(const std::vector<std::string>& outputs) const
{
    return readScenario(file, sim::Catalogue::load(sim::Catalogue::findAssets()), overrides, outputs);
}

sim::Scenario readScenario(const std::string& file, const sim::Catalogue& catalogue, const std::vector<std::string>& overrides,
                           const std::vector<std::string>& outputs)
{
    const sim::ScenarioDocument document = sim::readDocument(file, catalogue, overrides);
    for (const std::string& out : outputs)
        sim::keepInputs(sim::filesOf(document, catalogue), out);
    std::vector<sim::Problem> warnings;
    sim::Scenario scenario = sim::resolvedScenario(document, catalogue, &warnings);
    for (const sim::Problem& warning : warnings)
        std::cerr << sim::cli::linesForAPerson(warning.text());
    return scenario;
}

void nameFile(std::vector<sim::Problem>& problems, const std::string& file)
{
    for (sim::Problem& problem : problems)
        if (problem.file.empty())
            problem.file = file;
}

void checkCanBeTrained(const sim::Scenario& scenario, const std::string& file, std::vector<sim::Problem> others)
{
    std::vector<sim::Problem> problems = problemsOfTraining(scenario);
    problems.insert(problems.end(), others.begin(), others.end());
    nameFile(problems, file);
    if (!problems.empty())
        throw sim::ScenarioError(std::move(problems));
}

CLI::Validator anEndpoint()
{
    return CLI::Validator(
        [](const std::string& text) {
            try {
                checkEndpoint(text);
                return std::string();
            } catch (const sim::Error& error) {
                return std::string(error.what());
            }
        },
        "");
}

} // namespace live::cli
