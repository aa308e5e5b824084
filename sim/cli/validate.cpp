#include "sim/cli/command.h"
#include "sim/cli/options.h"

#include "sim/legal/schedule_request.h"
#include "sim/lesson/holds.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/schedule/families/families.h"
#include "sim/simulate/prepared_step.h"

#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct ValidateArguments {
    std::vector<std::string> files;
    std::vector<std::string> overrides;
    bool holds = false;
};

/// What only the making of a step can tell: that the actions of a custom schedule hang, that its sums are more than is counted;
/// and of an order that is searched for under a memory cap, only the step itself.
void make(const std::string& file, const Scenario& scenario)
{
    if (scheduleFamily(scenario.schedule.kind).isSearched && scenario.schedule.memoryCapGib > 0)
        warnOfMissedCap(file, *simulate(scenario));
    else
        const PreparedStep step(scenario, {});
}

/// Is everything so that the file says of itself?
bool keepsItsWord(const std::string& file, const std::vector<std::string>& overrides)
{
    ScenarioDocument document = ScenarioDocument::readFile(file);
    for (const std::string& assignment : overrides)
        document.applyOverride(assignment);
    const auto problems = checkHolds(document, catalogue());
    for (const Problem& problem : problems)
        std::cout << linesForAPerson(problem.text());
    return problems.empty();
}

bool isGood(const std::string& file, const ValidateArguments& arguments)
{
    const std::vector<std::string>& overrides = arguments.overrides;
    try {
        std::vector<Problem> warnings;
        attributed(file, [&] { make(file, readScenario(file, catalogue(), overrides, &warnings)); });
        for (const Problem& warning : warnings)
            std::cerr << linesForAPerson(warning.text());
        return !arguments.holds || keepsItsWord(file, overrides);
    } catch (const ScenarioError& error) {
        for (const Problem& problem : error.problems())
            (problem.severity == Severity::error ? std::cout : std::cerr) << linesForAPerson(problem.text());
    } catch (const Error& error) {
        std::cout << linesForAPerson(error.what());
    }
    return false;
}

void run(const ValidateArguments& arguments)
{
    bool allGood = true;
    for (const std::string& file : arguments.files)
        allGood = isGood(file, arguments) && allGood;
    if (!allGood)
        throw CLI::RuntimeError(kBadInput);
}

} // namespace

void addValidate(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("validate", "One line a problem; nothing when all files are good");
    auto arguments = std::make_shared<ValidateArguments>();
    command->add_option("FILE", arguments->files, "Scenario files")->type_name("")->required();
    addOverrides(*command, arguments->overrides);
    command->add_flag("--holds", arguments->holds,
                      "Also that every sentence and number of the description is proven (scenarios/README.md)");
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
