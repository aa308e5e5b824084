// The commands of rankscope-live: each registers itself on the program and runs when it was chosen. Results go to standard
// output, messages to standard error; input that is bad is a sim::Error, and what is wrong with the call itself a
// sim::cli::UsageError.
#pragma once

#include "sim/scenario/document.h"

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

namespace live::cli {

/// FILE and --set of a command.
struct ScenarioArguments {
    std::string file;
    std::vector<std::string> overrides;
    void addTo(CLI::App&, bool required = true);
    sim::Scenario read(const std::vector<std::string>& outputs = {}) const;
};

/// Warnings are printed on standard error. `outputs`: files that are to be written; throws sim::Error where one of them is what
/// the scenario is read from.
sim::Scenario readScenario(const std::string& file, const sim::Catalogue&, const std::vector<std::string>& overrides,
                           const std::vector<std::string>& outputs = {});

/// Throws sim::ScenarioError with all that live training does not do of this file's scenario, and with what else is wrong with
/// it.
void checkCanBeTrained(const sim::Scenario&, const std::string& file, std::vector<sim::Problem> others = {});

/// Of problems that name no file: it is this one.
void nameFile(std::vector<sim::Problem>&, const std::string& file);

/// What `work` finds wrong with the scenario, with its file in front.
template <typename Work>
void withFileNamed(const std::string& file, Work&& work)
{
    try {
        work();
    } catch (const sim::ScenarioError& error) {
        std::vector<sim::Problem> problems = error.problems();
        nameFile(problems, file);
        throw sim::ScenarioError(std::move(problems));
    }
}

/// What is no address at all, whether or not a run may listen there.
CLI::Validator anEndpoint();

void addRun(CLI::App&);
void addCollect(CLI::App&);
void addKeys(CLI::App&);
void addProfile(CLI::App&);
void addValidate(CLI::App&);
void addDoctor(CLI::App&);

} // namespace live::cli
