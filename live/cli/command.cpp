#include "live/cli/command.h"

#include <iostream>

namespace live::cli {

void ScenarioArguments::addTo(CLI::App& command, bool required)
{
    command.add_option("FILE", file, "Scenario file")->type_name("")->required(required);
    command.add_option("--set", overrides, "Override a key of the file, such as layout.tp=4 or /layout/tp=4; repeatable")
        ->type_name("POINTER=VALUE")
        ->allow_extra_args(false);
}

sim::Scenario ScenarioArguments::read() const
{
    return readScenario(file, sim::Catalogue::load(sim::Catalogue::findAssets()), overrides);
}

sim::Scenario readScenario(const std::string& file, const sim::Catalogue& catalogue, const std::vector<std::string>& overrides)
{
    std::vector<sim::Problem> warnings;
    sim::Scenario scenario = sim::readScenario(file, catalogue, overrides, &warnings);
    for (const sim::Problem& warning : warnings)
        std::cerr << warning.text() << "\n";
    return scenario;
}

} // namespace live::cli
