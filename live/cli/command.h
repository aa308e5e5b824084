// The commands of rankscope-live: each registers itself on the program and runs when it was chosen. Results go to standard
// output, messages to standard error; input that is bad is a sim::Error.
#pragma once

#include "sim/scenario/document.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace live::cli {

/// Exit codes: docs/live.md.
enum ExitCode : int { kGood = 0, kBadInput = 1, kCalledWrongly = 2 };

/// FILE and --set of a command.
struct ScenarioArguments {
    std::string file;
    std::vector<std::string> overrides;
    void addTo(CLI::App&, bool required = true);
    sim::Scenario read() const;
};

/// Warnings are printed on standard error.
sim::Scenario readScenario(const std::string& file, const sim::Catalogue&, const std::vector<std::string>& overrides);

void addRun(CLI::App&);
void addCollect(CLI::App&);
void addKeys(CLI::App&);
void addProfile(CLI::App&);
void addValidate(CLI::App&);
void addDoctor(CLI::App&);

} // namespace live::cli
