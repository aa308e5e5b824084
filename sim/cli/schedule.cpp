#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/schedule/csv.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/families.h"
#include "sim/schedule/request.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct Arguments {
    std::string file;
    std::vector<std::string> overrides;
    ScheduleRequest request{.kind = ""};
    std::vector<double> times, memory;
    double memoryCap = 0;
    std::string format = "csv";
};

Schedule scheduleOf(const Arguments& arguments)
{
    const bool byOptions = !arguments.request.kind.empty();
    if (byOptions == !arguments.file.empty())
        throw UsageError("give either a FILE or --kind, --stages and --microbatches");
    if (byOptions && (arguments.request.ranks < 1 || arguments.request.microbatches < 1))
        throw UsageError("--kind needs --stages and --microbatches");
    if (!byOptions)
        return makeSchedule(scheduleRequest(readScenario(arguments.file, catalogue(), arguments.overrides)));
    return makeSchedule(arguments.request);
}

/// One row a rank, one column a slot of the shortest pass; F with its micro-batch, B, I and W likewise.
void printAscii(const Schedule& schedule, const ScheduleTimes& times, const PassTimes& passes)
{
    constexpr int kMostColumns = 400;
    double slot = passes.forward;
    for (const double t : {passes.backwardInput, passes.backwardWeight})
        if (t > 0)
            slot = std::min(slot, t);
    if (slot <= 0)
        throw Error("the shortest pass takes no time; give --times above 0 to draw it");
    const std::size_t digits = std::to_string(schedule.microbatches - 1).size();
    const std::size_t stageDigits = schedule.virtualStages > 1 ? std::to_string(schedule.stages() - 1).size() : 0;
    const std::size_t cell = stageDigits + 1 + digits;
    const auto columns = static_cast<std::size_t>(std::ceil(times.makespan / slot - 1e-9));
    const bool cut = columns > kMostColumns;
    for (int rank = 0; rank < schedule.ranks; ++rank) {
        std::string line((std::min<std::size_t>(columns, kMostColumns) + 1) * (cell + 1), ' ');
        const auto& actions = schedule.actions[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < actions.size(); ++i) {
            const double begin = times.start[static_cast<std::size_t>(rank)][i],
                         end = times.end[static_cast<std::size_t>(rank)][i];
            const auto first = static_cast<std::size_t>(std::lround(begin / slot));
            const auto last = std::max(first + 1, static_cast<std::size_t>(std::lround(end / slot)));
            if (last > kMostColumns)
                break;
            std::string text = stageDigits > 0 ? std::to_string(actions[i].stage) : std::string();
            text += actionLetter(actions[i].kind) + std::to_string(actions[i].microbatch);
            text.resize((last - first) * (cell + 1) - 1, last - first > 1 ? '-' : ' ');
            line.replace(first * (cell + 1), text.size(), text);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        std::cout << line << "\n";
    }
    std::cout << "makespan " << times.makespan << ", bubble " << percent(times.bubbleOfMakespan) << " of it";
    if (cut)
        std::cout << " (the first " << kMostColumns << " of " << columns << " slots are drawn)";
    std::cout << "\n";
}

void printJson(const Schedule& schedule, const ScheduleTimes& times)
{
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& actions : schedule.actions) {
        std::string row;
        for (const Action& action : actions)
            row += (row.empty() ? "" : " ") + actionText(action);
        rows.push_back(std::move(row));
    }
    const nlohmann::ordered_json json{
        {"kind", schedule.kind},
        {"ranks", rows},
        {"stage_to_rank", schedule.stageToRank},
        {"makespan", times.makespan},
        {"span", times.span},
        {"busy", times.busy},
        {"bubble",
         {{"of_makespan", times.bubbleOfMakespan}, {"of_span", times.bubbleOfSpan}, {"over_ideal", times.bubbleOverIdeal}}},
        {"peak_activations", times.peakActivations}};
    std::cout << json.dump() << "\n";
}

void run(const Arguments& arguments)
{
    const Schedule schedule = scheduleOf(arguments);
    if (arguments.format == "csv") {
        std::cout << scheduleCsv(schedule);
        return;
    }
    PassTimes passes;
    if (!arguments.times.empty())
        passes = {arguments.times[0], arguments.times[1], arguments.times[2], arguments.times[3]};
    PassMemory memory;
    if (!arguments.memory.empty())
        memory = {arguments.memory[0], arguments.memory[1]};
    const ScheduleTimes times = evaluateSchedule(schedule, passes, memory);
    if (arguments.format == "json")
        printJson(schedule, times);
    else
        printAscii(schedule, times, passes);
}

} // namespace

void addSchedule(CLI::App& app)
{
    CLI::App* command =
        app.add_subcommand("schedule", "The action table of a pipeline, one line a rank, in PyTorch's CSV grammar");
    auto arguments = std::make_shared<Arguments>();
    arguments->request.ranks = 0;
    arguments->request.microbatches = 0;
    command->add_option("FILE", arguments->file, "Scenario file");
    command->add_option("--set", arguments->overrides, "Override a key of the file: POINTER=VALUE; repeatable")
        ->expected(1)
        ->take_all();
    command->add_option("--kind", arguments->request.kind, "Schedule family");
    command->add_option("--stages", arguments->request.ranks, "Pipeline ranks")->check(CLI::PositiveNumber);
    command->add_option("--virtual", arguments->request.virtualStages, "Chunks a rank holds")->check(CLI::PositiveNumber);
    command->add_option("--microbatches", arguments->request.microbatches, "Micro-batches")->check(CLI::PositiveNumber);
    command->add_option("--group", arguments->request.microbatchGroup, "Interleaving group; default as many as ranks")
        ->check(CLI::PositiveNumber);
    command->add_option("--times", arguments->times, "F,I,W,COMM: times of one chunk; default 1,1,1,0")
        ->delimiter(',')
        ->expected(4)
        ->check(CLI::NonNegativeNumber);
    command
        ->add_option("--memory", arguments->memory, "MB,MW: activation of one micro-batch and its part held until W; default 1,1")
        ->delimiter(',')
        ->expected(2)
        ->check(CLI::NonNegativeNumber);
    command->add_option("--memory-cap", arguments->memoryCap, "For auto: the peak of activations it may reach")
        ->check(CLI::PositiveNumber);
    command->add_option("--format", arguments->format, "csv, json or ascii")->check(CLI::IsMember({"csv", "json", "ascii"}));
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
