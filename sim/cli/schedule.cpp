#include "sim/analysis/plan_schedule.h"
#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/scenario/schedule_kinds.h"
#include "sim/schedule/csv.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/families.h"
#include "sim/schedule/synthesis.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

namespace sim::cli {
namespace {

struct Arguments {
    ScenarioArguments scenario;
    ScheduleRequest request{.kind = "", .ranks = 0, .virtualStages = 0, .microbatches = 0};
    std::string times = "1,1,1,0", memory = "1,1";
    double memoryCap = 0;
    std::string format = "csv";
};

/// "1,1.5,0.5,0": as many numbers as the option takes, none below 0.
template <std::size_t N>
std::array<double, N> numbersOf(const char* option, const std::string& text)
{
    std::array<double, N> numbers{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::size_t i = 0; i < N; ++i) {
        const auto [rest, error] = std::from_chars(at, end, numbers[i]);
        const bool closed = rest == end ? i + 1 == N : *rest == ',' && i + 1 < N;
        if (error != std::errc() || !closed || !std::isfinite(numbers[i]) || numbers[i] < 0)
            throw UsageError(std::string(option) + " " + text + ": give " + std::to_string(N) +
                             " numbers of at least 0, with commas between them");
        at = rest + 1;
    }
    return numbers;
}

/// What is printed; `synthesis` for auto only.
struct Made {
    Schedule schedule;
    std::optional<Synthesis> synthesis;
};

ScheduleRequest requestOf(const Arguments& arguments, const PassTimes& times, const PassMemory& memory)
{
    const bool byOptions = !arguments.request.kind.empty();
    if (byOptions != arguments.scenario.file.empty())
        throw UsageError("give either a FILE or --kind, --stages and --microbatches");
    if (!byOptions)
        return planningRequest(arguments.scenario.read());
    ScheduleRequest request = arguments.request;
    if (request.ranks == 0 || request.microbatches == 0)
        throw UsageError("--kind " + request.kind + " needs --stages and --microbatches");
    if (arguments.memoryCap > 0 && request.kind != "auto")
        throw UsageError("--memory-cap is for --kind auto; " + request.kind + " takes what its order needs");
    if (request.virtualStages == 0)
        request.virtualStages = chunksOfKind(request.kind).least;
    request.times = {times};
    request.memory = {memory};
    request.memoryCap = arguments.memoryCap;
    return request;
}

Made makeFrom(const ScheduleRequest& request)
{
    const ScheduleFamily* family = findScheduleFamily(request.kind);
    if (request.kind != "auto" || family->unmet(request))
        return {makeSchedule(request), {}};
    Synthesis synthesis = synthesise(synthesisRequest(request));
    synthesis.schedule.kind = request.kind;
    return {synthesis.schedule, std::move(synthesis)};
}

/// The timeline as text: a line a rank, a column the time of the shortest pass; F3 is the forward of micro-batch 3, 1F3 that of
/// stage 1 where a rank holds several.
void printAscii(const Schedule& schedule, const ScheduleTimes& times, const PassTimes& passes)
{
    constexpr std::size_t kMostColumns = 400;
    double slot = passes.forward + passes.backwardInput + passes.backwardWeight;
    for (const double time : {passes.forward, passes.backwardInput, passes.backwardWeight})
        if (time > 0)
            slot = std::min(slot, time);
    if (slot <= 0)
        throw UsageError("--times 0,0,0: passes that take no time cannot be drawn");
    const std::size_t stageDigits = schedule.virtualStages > 1 ? std::to_string(schedule.stages() - 1).size() : 0;
    const std::size_t width = stageDigits + 1 + std::to_string(schedule.microbatches - 1).size() + 1; // of a column
    const auto columnOf = [&](double time) { return static_cast<std::size_t>(std::lround(time / slot)); };
    const std::size_t columns = columnOf(times.makespan);
    const std::size_t rankDigits = std::to_string(schedule.ranks - 1).size();
    for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank) {
        const std::string number = std::to_string(rank);
        std::string line = "rank ";
        line.append(rankDigits - number.size(), ' ').append(number).append("  ");
        const std::size_t margin = line.size();
        const auto& actions = schedule.actions[rank];
        for (std::size_t i = 0; i < actions.size(); ++i) {
            const std::size_t first = columnOf(times.start[rank][i]);
            const std::size_t last = std::max(first + 1, columnOf(times.end[rank][i]));
            if (last > kMostColumns)
                break;
            std::string text = stageDigits > 0 ? std::to_string(actions[i].stage) : std::string();
            text += actionLetter(actions[i].kind) + std::to_string(actions[i].microbatch);
            text.resize(std::max(text.size(), (last - first) * width - 1), last - first > 1 ? '-' : ' ');
            line.resize(std::max(line.size(), margin + first * width), ' ');
            line += text + " ";
        }
        line.erase(line.find_last_not_of(' ') + 1);
        std::cout << line << "\n";
    }
    if (columns > kMostColumns)
        std::cout << "(the first " << kMostColumns << " of " << columns << " columns)\n";
    const double peak = *std::max_element(times.peakActivations.begin(), times.peakActivations.end());
    std::cout << "\nmakespan " << times.makespan << ", span " << times.span << "; bubble " << percent(times.bubbleOfMakespan)
              << " of the makespan, " << percent(times.bubbleOverIdeal) << " over ideal; at most " << peak
              << (peak == 1 ? " activation" : " activations") << " held\n";
}

void printJson(const Schedule& schedule, const ScheduleTimes& times, const std::optional<Synthesis>& synthesis)
{
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& actions : schedule.actions) {
        std::string row;
        for (std::size_t i = 0; i < actions.size();) {
            const ActionBlock block = blockAt(actions, i);
            row += (row.empty() ? "" : " ") + blockText(block, schedule.slices);
            i += block.size();
        }
        rows.push_back(std::move(row));
    }
    nlohmann::ordered_json json{
        {"kind", schedule.kind},
        {"ranks", rows},
        {"stage_to_rank", schedule.stageToRank},
        {"makespan", times.makespan},
        {"span", times.span},
        {"busy", times.busy},
        {"bubble",
         {{"of_makespan", times.bubbleOfMakespan}, {"of_span", times.bubbleOfSpan}, {"over_ideal", times.bubbleOverIdeal}}},
        {"peak_activations", times.peakActivations}};
    if (synthesis) {
        json["lower_bound"] = synthesis->bound;
        json["gap"] = synthesis->gap();
        json["construction"] = synthesis->construction;
    }
    std::cout << json.dump() << "\n";
}

void run(const Arguments& arguments)
{
    const auto [forward, inputGradient, weightGradient, comm] = numbersOf<4>("--times", arguments.times);
    const PassTimes passes{forward, inputGradient, weightGradient, comm};
    const auto [full, untilWeightGradient] = numbersOf<2>("--memory", arguments.memory);
    const PassMemory memory{full, untilWeightGradient};
    const ScheduleRequest request = requestOf(arguments, passes, memory);
    const auto [schedule, synthesis] = makeFrom(request);
    if (synthesis && arguments.format != "json")
        std::cerr << synthesisText(*synthesis) << "\n";
    if (arguments.format == "csv") {
        std::cout << scheduleCsv(schedule);
        return;
    }
    // A file's planned schedule is judged by what it was planned for, in nanoseconds and bytes.
    const bool ownCosts = findScheduleFamily(request.kind)->plansByCost && !arguments.scenario.file.empty();
    const ScheduleTimes times =
        ownCosts ? evaluateSchedule(schedule, request.times, request.memory) : evaluateSchedule(schedule, passes, memory);
    if (arguments.format == "json")
        printJson(schedule, times, synthesis);
    else
        printAscii(schedule, times, ownCosts ? request.times.front() : passes);
}

} // namespace

void addSchedule(CLI::App& app)
{
    CLI::App* command =
        app.add_subcommand("schedule", "The action table of a pipeline, one line a rank, in PyTorch's CSV grammar");
    auto arguments = std::make_shared<Arguments>();
    CLI::Option* file = arguments->scenario.addTo(*command)->required(false);
    command->get_option("--set")->needs(file);
    ScheduleRequest& request = arguments->request;
    CLI::Option* kind = command->add_option("--kind", request.kind, "Schedule family, without a FILE")->type_name("KIND");
    const auto addCount = [&](const char* name, int& value, const char* help) {
        command->add_option(name, value, help)->type_name("N")->check(CLI::PositiveNumber)->needs(kind);
    };
    addCount("--stages", request.ranks, "Pipeline ranks");
    addCount("--virtual", request.virtualStages, "Chunks a rank holds; default the fewest that the kind takes");
    addCount("--microbatches", request.microbatches, "Micro-batches");
    addCount("--group", request.microbatchGroup, "Interleaving group; default as many as ranks");
    command
        ->add_option("--memory-cap", arguments->memoryCap,
                     "For auto: the peak of activations it may reach, in units of --memory; default as 1F1B")
        ->type_name("X")
        ->check(CLI::PositiveNumber)
        ->needs(kind);
    command->add_option("--times", arguments->times, "Times of one chunk; default 1,1,1,0. auto, zb-1p and zb-2p plan by them")
        ->type_name("F,I,W,COMM");
    command
        ->add_option("--memory", arguments->memory,
                     "Activation of one micro-batch on one chunk, and its part held until W; default 1,1")
        ->type_name("MB,MW");
    command->add_option("--format", arguments->format, "csv (default), json with times, or ascii: a drawing")
        ->type_name("")
        ->check(CLI::IsMember({"csv", "json", "ascii"}));
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
