#include "sim/cli/command.h"

#include "sim/scenario/named_files.h"
#include "sim/simulate/memory_cap.h"
#include "sim/text/quoted.h"

#include <iostream>

namespace sim::cli {
namespace {

/// What a document is called that is read as if it lay in another folder. No file is.
constexpr const char* kStandIn = "(read as if it lay here)";

} // namespace

const Catalogue& catalogue()
{
    static const Catalogue loaded = Catalogue::load(Catalogue::findAssets());
    return loaded;
}

CLI::Option* addBeside(CLI::App& command, std::string& folder)
{
    return command
        .add_option("--beside", folder, "Folder that files named in the scenario are relative to; default the scenario's own")
        ->type_name("FOLDER")
        ->check(existingFolder());
}

ScenarioDocument documentBeside(const std::string& beside, const std::string& file, const std::vector<std::string>& overrides)
{
    ScenarioDocument document = readDocument(file, catalogue(), overrides);
    if (!beside.empty())
        document.setFileName(standInBeside(beside));
    return document;
}

std::string standInBeside(const std::string& folder)
{
    return (std::filesystem::path(folder) / kStandIn).string();
}

void nameFile(std::vector<Problem>& problems, const std::string& file)
{
    for (Problem& problem : problems)
        if (problem.file.empty() || std::filesystem::path(problem.file).filename() == kStandIn)
            problem.file = file;
}

CLI::Option* ScenarioArguments::addTo(CLI::App& command)
{
    CLI::Option* option = command.add_option("FILE", file, "Scenario file")->type_name("")->required()->check(notEmpty());
    addOverrides(command, overrides);
    addBeside(command, beside);
    return option;
}

ScenarioDocument ScenarioArguments::document() const
{
    return documentBeside(beside, file, overrides);
}

void ScenarioArguments::keepFiles(const ScenarioDocument& document, const std::string& out) const
{
    keepInputs({file}, out); // the document may be read as if it lay elsewhere
    keepInputs(filesOf(document, catalogue()), out);
}

Scenario ScenarioArguments::resolved(const ScenarioDocument& document) const
{
    std::vector<Problem> warnings;
    Scenario scenario = attributed(file, [&] { return resolvedScenario(document, catalogue(), &warnings); });
    nameFile(warnings, file);
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
