#include "sim/cli/command.h"

#include <iostream>

namespace sim::cli {

const Catalogue& catalogue()
{
    static const Catalogue loaded = Catalogue::load(Catalogue::findAssets());
    return loaded;
}

void ScenarioArguments::addTo(CLI::App& command)
{
    command.add_option("FILE", file, "Scenario file")->required();
    command.add_option("--set", overrides, "Override a key of the file: POINTER=VALUE, such as layout.tp=4; repeatable")
        ->expected(1)
        ->take_all();
}

Scenario ScenarioArguments::read() const
{
    std::vector<Problem> warnings;
    Scenario scenario = readScenario(file, catalogue(), overrides, &warnings);
    for (const Problem& warning : warnings)
        std::cerr << warning.text() << "\n";
    return scenario;
}

} // namespace sim::cli
