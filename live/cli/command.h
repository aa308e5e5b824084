// The commands of rankscope-live: each registers itself on the program and runs when it was chosen. Results go to standard
// output, messages to standard error; input that is bad is a sim::Error.
#pragma once

#include "sim/scenario/document.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace live::cli {

/// Exit codes of the contract.
enum ExitCode : int { kGood = 0, kBadInput = 1, kCalledWrongly = 2 };

/// FILE and --set of a command.
struct ScenarioArguments {
    std::string file;
    std::vector<std::string> overrides;
    void addTo(CLI::App&);
    /// Warnings are printed on standard error.
    sim::Scenario read() const;
};

void addRun(CLI::App&);
void addKeys(CLI::App&);
void addProfile(CLI::App&);
void addValidate(CLI::App&);

} // namespace live::cli
