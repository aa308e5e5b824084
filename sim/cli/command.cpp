#include "sim/cli/command.h"
#include "sim/cli/options.h"

#include "sim/simulate/memory_cap.h"
#include "sim/text/quoted.h"

#include <iostream>

namespace sim::cli {

const Catalogue& catalogue()
{
    static const Catalogue loaded = Catalogue::load(Catalogue::findAssets());
    return loaded;
}

CLI::Option* addOverrides(CLI::App& command, std::vector<std::string>& overrides)
{
    return command
        .add_option("--set", overrides,
                    "Override a key of the file, such as layout.tp=4 or /layout/tp=4; layout.tp= erases it; repeatable")
        ->type_name("POINTER=VALUE")
        ->allow_extra_args(false)
        ->check([](const std::string& text) {
            return text.find('=') == std::string::npos ? "POINTER=VALUE, as layout.tp=4; it got " + shownText(text)
                                                       : std::string();
        });
}

CLI::Option* addBeside(CLI::App& command, std::string& folder)
{
    return command
        .add_option("--beside", folder, "Folder that files named in the scenario are relative to; default the scenario's own")
        ->type_name("FOLDER")
        ->check(CLI::ExistingDirectory);
}

ScenarioDocument documentBeside(const std::string& beside, const std::string& file, const std::vector<std::string>& overrides)
{
    ScenarioDocument document = readDocument(file, catalogue(), overrides);
    if (!beside.empty())
        document.setFileName((std::filesystem::path(beside) / "scenario.json").string());
    return document;
}

CLI::Option* ScenarioArguments::addTo(CLI::App& command)
{
    CLI::Option* option = command.add_option("FILE", file, "Scenario file")->type_name("")->required();
    addOverrides(command, overrides);
    addBeside(command, beside);
    return option;
}

ScenarioDocument ScenarioArguments::document() const
{
    return documentBeside(beside, file, overrides);
}

Scenario ScenarioArguments::resolved(const ScenarioDocument& document) const
{
    std::vector<Problem> warnings;
    Scenario scenario = resolvedScenario(document, catalogue(), &warnings);
    for (const Problem& warning : warnings)
        std::cerr << linesForAPerson(warning.text());
    return scenario;
}

std::shared_ptr<const Simulation> ScenarioArguments::simulated(const ScenarioDocument& document,
                                                               const SimulateOptions& options) const
{
    const Scenario scenario = resolved(document);
    auto simulation = attributed(file, [&] { return simulate(scenario, options); });
    warnOfMissedCap(file, *simulation);
    return simulation;
}

void warnOfMissedCap(const std::string& file, const Simulation& simulation)
{
    if (const auto missed = missedCap(simulation))
        std::cerr << linesForAPerson(Problem{file, "/schedule/memory_cap_gib", missed->text(), Severity::warning}.text());
}

std::string titleOf(const Scenario& scenario, const ScenarioArguments& arguments)
{
    constexpr std::size_t kLongest = 500;
    return shownText(scenario.name.empty() ? arguments.file : scenario.name, kLongest);
}

} // namespace sim::cli
