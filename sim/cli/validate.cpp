#include "sim/cli/command.h"
#include "sim/cli/options.h"

#include "sim/answers/answers.h"
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
    std::string beside;
    bool holds = false, json = false;
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

/// What is wrong with a file, and what it says of itself that is not so; warnings too.
std::vector<Problem> problemsOf(const std::string& file, const ValidateArguments& arguments)
{
    std::vector<Problem> problems;
    try {
        const ScenarioDocument document = documentBeside(arguments.beside, file, arguments.overrides);
        make(file, resolvedScenario(document, catalogue(), &problems));
        if (arguments.holds)
            for (Problem& problem : checkHolds(document, catalogue()))
                problems.push_back(std::move(problem));
    } catch (const ScenarioError& error) {
        problems = error.problems();
    } catch (const Error& error) {
        problems.push_back({.file = {}, .pointer = {}, .message = error.what()});
    }
    nameFile(problems, file);
    return problems;
}

void run(const ValidateArguments& arguments)
{
    bool allGood = true;
    Answer listed = Answer::array();
    for (const std::string& file : arguments.files)
        for (const Problem& problem : problemsOf(file, arguments)) {
            const bool isError = problem.severity == Severity::error;
            allGood = allGood && !isError;
            if (arguments.json)
                listed.push_back(problemAnswer(problem));
            else
                (isError ? std::cout : std::cerr) << linesForAPerson(problem.text());
        }
    if (arguments.json)
        std::cout << Answer({{"problems", listed}}).dump(-1, ' ', false, Answer::error_handler_t::replace) << "\n";
    if (!allGood)
        throw CLI::RuntimeError(kBadInput);
}

} // namespace

void addValidate(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("validate", "One line a problem; nothing when all files are good");
    auto arguments = std::make_shared<ValidateArguments>();
    command->add_option("FILE", arguments->files, "Scenario files")->type_name("")->required()->check(notEmpty());
    addOverrides(*command, arguments->overrides);
    addBeside(*command, arguments->beside);
    command->add_flag("--holds", arguments->holds,
                      "Also that every sentence and number of the description is proven (scenarios/README.md)");
    command->add_flag("--json", arguments->json, "One JSON document: all problems, place by place");
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
