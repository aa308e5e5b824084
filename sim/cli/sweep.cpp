#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/simulation.h"

#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct Axis {
    std::string pointer;
    std::vector<std::string> values;
};

struct Arguments {
    ScenarioArguments scenario;
    std::vector<std::string> vary;
    bool csv = false;
};

/// "layout.tp=1,2,4,8"; a JSON list or object may hold commas of its own.
Axis axisOf(const std::string& text)
{
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
        throw UsageError("--vary " + text + ": write POINTER=VALUE,VALUE,…, such as layout.tp=1,2,4,8");
    Axis axis{text.substr(0, equals), {""}};
    int depth = 0;
    for (const char c : text.substr(equals + 1)) {
        depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        if (c == ',' && depth == 0)
            axis.values.emplace_back();
        else
            axis.values.back() += c;
    }
    return axis;
}

std::vector<std::string> metricCells(const Metrics& m, bool csv)
{
    const int digits = csv ? 9 : 3;
    return {fixed(m.stepTimeSeconds, digits),        fixed(m.tokensPerSecond, csv ? 3 : 0),
            fixed(m.modelTflopsPerGpu, csv ? 6 : 1), fixed(m.mfu, csv ? 9 : 4),
            fixed(m.bubbleFraction, csv ? 9 : 4),    fixed(m.exposedComm.total(), csv ? 9 : 4),
            fixed(m.peakMemoryGib, csv ? 6 : 2),     m.fits ? "yes" : "no"};
}

void run(const Arguments& arguments)
{
    std::vector<Axis> axes;
    std::size_t combinations = 1;
    for (const std::string& text : arguments.vary) {
        axes.push_back(axisOf(text));
        combinations *= axes.back().values.size();
    }
    std::vector<std::string> header;
    for (const Axis& axis : axes)
        header.push_back(axis.pointer);
    for (const char* name : {"step_time_s", "tokens_per_second", "model_tflops_per_gpu", "mfu", "bubble_fraction",
                             "exposed_comm_fraction", "peak_memory_gib", "fits", "problem"})
        header.emplace_back(name);
    Table table(header);
    std::size_t good = 0;
    std::string lastProblem;
    for (std::size_t n = 0; n < combinations; ++n) {
        auto overrides = arguments.scenario.overrides;
        std::vector<std::string> row;
        std::size_t rest = n;
        std::size_t block = combinations;
        for (const Axis& axis : axes) { // the last axis varies fastest
            block /= axis.values.size();
            row.push_back(axis.values[rest / block]);
            rest %= block;
            overrides.push_back(axis.pointer + "=" + row.back());
        }
        try {
            const auto simulation = simulate(readScenario(arguments.scenario.file, catalogue(), overrides));
            for (std::string& cell : metricCells(simulation->metrics(), arguments.csv))
                row.push_back(std::move(cell));
            row.emplace_back();
            ++good;
        } catch (const ScenarioError& error) {
            for (const Problem& problem : error.problems())
                if (problem.severity == Severity::error) {
                    lastProblem = problem.pointer + ": " + problem.message;
                    break;
                }
            row.resize(axes.size() + 8);
            row.push_back(lastProblem);
        } catch (const Error& error) {
            lastProblem = error.what();
            row.resize(axes.size() + 8);
            row.push_back(lastProblem);
        }
        table.add(std::move(row));
    }
    if (good == 0)
        throw Error("no combination can be simulated; the last: " + lastProblem);
    if (arguments.csv)
        table.printCsv(std::cout);
    else
        table.print(std::cout);
}

} // namespace

void addSweep(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("sweep", "One row of metrics for each combination of values");
    auto arguments = std::make_shared<Arguments>();
    arguments->scenario.addTo(*command);
    command->add_option("--vary", arguments->vary, "POINTER=VALUE,VALUE,…; repeatable: all combinations")
        ->required()
        ->expected(1)
        ->take_all();
    command->add_flag("--csv", arguments->csv, "Comma-separated, with all digits");
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
