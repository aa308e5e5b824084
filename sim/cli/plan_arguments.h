// What plan was asked on the command line, for the files that answer it. Private to sim/cli.
#pragma once

#include "sim/cli/command.h"
#include "sim/planner/planner.h"

#include <string>
#include <vector>

namespace sim::cli {

struct PlanArguments {
    ScenarioArguments scenario;
    int gpus = 0;
    std::string objective = "time";
    double price = 0;
    std::vector<std::string> fixed, freed, why;
    double margin = 0;
    std::string framework;
    int top = 5, jobs = 0, most = 0;
    double days = 0;
    std::string sizes, rampBatch, phases;
    std::string part;
    std::vector<std::string> merge;
    bool json = false, sensitivity = false, robust = false, leastChange = false;
};

/// Of `option`: "layout.tp=8". Throws UsageError.
PlanSetting settingOf(const std::string& assignment, const char* option);
/// Of --why: "layout.tp=4,layout.pp=2" are two settings of one question. Commas of JSON, and such as no other setting follows,
/// are of the value. Throws UsageError.
std::vector<PlanSetting> questionOf(const std::string& asked);
/// Throws UsageError, and Error of the file.
PlanRequest requestOf(const PlanArguments&);

/// The best layout of each phase of a run whose sequences grow.
void runPhases(const PlanArguments&, PlanRequest);
/// The winner of each number of GPUs.
void runSizes(const PlanArguments&, PlanRequest);

} // namespace sim::cli
