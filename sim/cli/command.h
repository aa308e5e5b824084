// The commands of rankscope-sim: each registers itself on the program and runs when it was chosen. Results go to standard output,
// messages to standard error; input that is bad is a sim::Error.
#pragma once

#include "sim/cli/options.h"
#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sim::cli {

/// --beside, where the file may be a pipe: it has no folder that names in it could be relative to.
CLI::Option* addBeside(CLI::App&, std::string& folder);
/// Reads a file, which may be a pipe, as if it lay in `beside`, where that is given: its problems then are to be told with
/// nameFile(). Throws ScenarioError.
ScenarioDocument documentBeside(const std::string& beside, const std::string& file, const std::vector<std::string>& overrides);

/// The name of a document that is read as if it lay there.
std::string standInBeside(const std::string& folder);
/// Of problems that name none, or such a stand-in.
void nameFile(std::vector<Problem>& problems, const std::string& file);

/// FILE and --set of a command.
struct ScenarioArguments {
    std::string file, beside;
    std::vector<std::string> overrides;
    /// Returns the option FILE.
    CLI::Option* addTo(CLI::App&);
    ScenarioDocument document() const;
    /// Throws Error where `out` is what the scenario was read from: its file, or one that it names.
    void keepFiles(const ScenarioDocument&, const std::string& out) const;
    /// Warnings are printed on standard error.
    Scenario read() const { return resolved(document()); }
    Scenario resolved(const ScenarioDocument&) const;
    /// Reads and simulates; says on standard error what is wrong with the outcome.
    std::shared_ptr<const Simulation> simulated(const SimulateOptions& options = {}) const
    {
        return simulated(document(), options);
    }
    std::shared_ptr<const Simulation> simulated(const ScenarioDocument&, const SimulateOptions&) const;
};

/// FILE, --set and --json.
struct AnswerArguments {
    ScenarioArguments scenario;
    bool json = false;
};

/// A command on a scenario that answers with --json too; `run` is given its arguments, which may be more.
template <typename Arguments = AnswerArguments>
CLI::App* addAnswer(CLI::App& app, const char* name, const char* help, void (*run)(const Arguments&),
                    const std::shared_ptr<Arguments>& arguments = std::make_shared<Arguments>(),
                    const char* jsonHelp = "One JSON document")
{
    CLI::App* command = app.add_subcommand(name, help);
    arguments->scenario.addTo(*command);
    command->add_flag("--json", arguments->json, jsonHelp);
    command->callback([arguments, run] { run(*arguments); });
    return command;
}

/// What `work` throws about a scenario, with the scenario's file in front where it names none. What a command was asked besides
/// is not the file's: UsageError goes on as it is.
template <typename Work>
auto attributed(const std::string& file, Work&& work)
{
    try {
        return work();
    } catch (const UsageError&) {
        throw;
    } catch (const ScenarioError& error) {
        std::vector<Problem> problems = error.problems();
        nameFile(problems, file);
        throw ScenarioError(std::move(problems));
    } catch (const Error& error) {
        throw Error(Problem{.file = file, .pointer = "", .message = error.what()}.text());
    }
}

void addValidate(CLI::App&);
void addDescribe(CLI::App&);
void addGroups(CLI::App&);
void addSchedule(CLI::App&);
void addSimulate(CLI::App&);
void addMemory(CLI::App&);
void addTraffic(CLI::App&);
void addOps(CLI::App&);
void addSweep(CLI::App&);
void addBatch(CLI::App&);
void addPlan(CLI::App&);
void addLesson(CLI::App&);
void addTrace(CLI::App&);
void addImport(CLI::App&);
void addExport(CLI::App&);

const Catalogue& catalogue();

/// On standard error, that the scenario's memory cap is not kept.
void warnOfMissedCap(const std::string& file, const Simulation&);

/// "Llama 3 405B, 16,384 H100s", or the file's name where it has no name of its own.
std::string titleOf(const Scenario&, const ScenarioArguments&);

} // namespace sim::cli
