// The commands of rankscope-sim: each registers itself on the program and runs when it was chosen. Results go to standard output,
// messages to standard error; input that is bad is a sim::Error.
#pragma once

#include "sim/scenario/document.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace sim::cli {

/// Exit codes of the contract.
enum ExitCode : int { kGood = 0, kBadInput = 1, kCalledWrongly = 2 };

/// Called wrongly in a way that CLI11 cannot see.
class UsageError : public Error {
public:
    using Error::Error;
};

/// FILE and --set of a command.
struct ScenarioArguments {
    std::string file;
    std::vector<std::string> overrides;
    void addTo(CLI::App&);
    /// Warnings are printed on standard error.
    Scenario read() const;
};

void addValidate(CLI::App&);
void addDescribe(CLI::App&);
void addGroups(CLI::App&);
void addSchedule(CLI::App&);
void addSimulate(CLI::App&);
void addMemory(CLI::App&);
void addSweep(CLI::App&);

const Catalogue& catalogue();

} // namespace sim::cli
