#include "sim/cli/command.h"
#include "sim/cli/options.h"

#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/schedule/families.h"
#include "sim/schedule/request.h"

#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct Arguments {
    std::vector<std::string> files;
    std::vector<std::string> overrides;
};

/// What only the making of mesh and schedule can tell: the actions of a custom schedule, for example.
void make(const Scenario& scenario)
{
    const Mesh mesh(scenario.layout);
    const Placement placement(scenario.layout, scenario.cluster);
    makeScheduleOf(scheduleRequest(scenario));
}

bool isGood(const std::string& file, const std::vector<std::string>& overrides)
{
    try {
        std::vector<Problem> warnings;
        attributed(file, [&] { make(readScenario(file, catalogue(), overrides, &warnings)); });
        for (const Problem& warning : warnings)
            std::cerr << linesForAPerson(warning.text());
        return true;
    } catch (const ScenarioError& error) {
        for (const Problem& problem : error.problems())
            (problem.severity == Severity::error ? std::cout : std::cerr) << linesForAPerson(problem.text());
    } catch (const Error& error) {
        std::cout << linesForAPerson(error.what());
    }
    return false;
}

void run(const Arguments& arguments)
{
    bool allGood = true;
    for (const std::string& file : arguments.files)
        allGood = isGood(file, arguments.overrides) && allGood;
    if (!allGood)
        throw CLI::RuntimeError(kBadInput);
}

} // namespace

void addValidate(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("validate", "One line a problem; nothing when all files are good");
    auto arguments = std::make_shared<Arguments>();
    command->add_option("FILE", arguments->files, "Scenario files")->type_name("")->required();
    addOverrides(*command, arguments->overrides);
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
