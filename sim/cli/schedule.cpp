#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/cli/schedule_print.h"
#include "sim/cli/table.h"
#include "sim/simulate/plan_schedule.h"

#include "sim/answers/schedule.h"
#include "sim/engine/in_order.h"
#include "sim/legal/schedule_request.h"
#include "sim/scenario/files.h"
#include "sim/schedule/check.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/search/synthesis.h"
#include "sim/schedule/text/csv.h"
#include "sim/schedule/text/export.h"
#include "sim/text/quoted.h"

#include <array>
#include <charconv>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace sim::cli {
namespace {

struct ScheduleArguments {
    ScenarioArguments scenario;
    ScheduleRequest request{.kind = "", .ranks = 0, .virtualStages = 0, .microbatches = 0, .slices = 0};
    std::string times = "1,1,1,0", memory = "1,1";
    double memoryCap = 0;
    double overlapped = -1;
    std::string import, dialect = "auto";
    std::string streams = "shared", receives = "when-sent";
    std::string format = "csv";
};

const std::map<std::string, ScheduleFormat> kDialects = {{"auto", ScheduleFormat::automatic},
                                                         {"pytorch", ScheduleFormat::pytorch},
                                                         {"pytorch-2024", ScheduleFormat::pytorch2024},
                                                         {"megatron", ScheduleFormat::megatron},
                                                         {"sail", ScheduleFormat::sail}};
const std::map<std::string, CommStreams> kStreams = {{"shared", CommStreams::shared}, {"per-peer", CommStreams::perPeer}};
const std::map<std::string, ReceivePlacement> kReceives = {{"when-sent", ReceivePlacement::whenSent},
                                                           {"before-use", ReceivePlacement::beforeUse}};

template <class Value>
std::vector<std::string> namesOf(const std::map<std::string, Value>& table)
{
    std::vector<std::string> names;
    names.reserve(table.size());
    for (const auto& [name, value] : table)
        names.push_back(name);
    return names;
}

std::vector<std::string> namesOfFamilies()
{
    std::vector<std::string> names;
    for (const ScheduleFamily& family : scheduleFamilies())
        names.emplace_back(family.kind);
    return names;
}

/// What a schedule adds up stays a number.
constexpr double kMostCost = 1e12;

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
        if (error != std::errc() || !closed || !std::isfinite(numbers[i]) || numbers[i] < 0 || numbers[i] > kMostCost)
            throw UsageError(std::string(option) + " " + shownText(text) + ": give " + std::to_string(N) +
                             " numbers from 0 to 1e12, with commas between them");
        at = rest + 1;
    }
    return numbers;
}

ScheduleRequest requestOf(const ScheduleArguments& arguments, const std::optional<Scenario>& scenario, const PassTimes& times,
                          const PassMemory& memory)
{
    const bool byOptions = !arguments.request.kind.empty();
    if (byOptions != arguments.scenario.file.empty())
        throw UsageError("Give either a FILE, or --kind, --stages and --microbatches, or --import FILE");
    if (scenario)
        return attributed(arguments.scenario.file, [&] { return planningRequest(*scenario); });
    ScheduleRequest request = arguments.request;
    if (request.ranks == 0 || request.microbatches == 0)
        throw UsageError("--kind " + shownText(request.kind) + " needs --stages and --microbatches");
    const ScheduleFamily& family = scheduleFamily(request.kind);
    if (arguments.memoryCap > 0 && !family.isSearched)
        throw UsageError("--memory-cap is for --kind " + kindsWith([](const ScheduleFamily& of) { return of.isSearched; }) +
                         "; " + shownText(request.kind) + " takes what its order needs");
    if (request.virtualStages == 0)
        request.virtualStages = family.chunks.least;
    if (request.slices == 0)
        request.slices = family.usualSlices;
    request.times = {times};
    request.memory = {memory};
    request.memoryCap = arguments.memoryCap;
    return request;
}

/// What cannot be made was asked for in the call, and in no file.
ChosenSchedule scheduleAsked(const ScheduleRequest& request)
{
    try {
        return chooseSchedule(request);
    } catch (const Error& error) {
        throw UsageError(error.what());
    }
}

ChosenSchedule importedFrom(const ScheduleArguments& arguments)
{
    if (!arguments.request.kind.empty() || !arguments.scenario.file.empty())
        throw UsageError("--import brings a schedule of its own: give no FILE and no --kind with it");
    constexpr std::size_t kMostBytes = 256U << 20U;
    const std::string text = readFile(arguments.import, kMostBytes, Pipes::read);
    std::vector<std::string> problems;
    ImportedSchedule imported;
    try {
        imported = importSchedule(text, kDialects.at(arguments.dialect));
        problems = imported.communication ? checkInOrder(*imported.communication, kStreams.at(arguments.streams))
                                          : checkSchedule(imported.schedule);
    } catch (const Error& error) {
        problems = {error.what()};
    }
    std::string message;
    for (const std::string& problem : problems)
        message += (message.empty() ? "" : "\n") + shownPlace(arguments.import) + ": " + problem;
    if (!message.empty())
        throw Error(message);
    if (imported.format == ScheduleFormat::pytorch2024 && arguments.dialect == "auto")
        std::cerr << shownPlace(arguments.import)
                  << ": read in PyTorch's dialect of 2024, where B is the input gradient and BW the full backward\n";
    return {.schedule = std::move(imported.schedule), .communication = std::move(imported.communication)};
}

CommSchedule communicationOf(const ChosenSchedule& chosen, const ScheduleArguments& arguments)
{
    return chosen.communication ? *chosen.communication
                                : lowerCommunication(chosen.schedule, {.receives = kReceives.at(arguments.receives)});
}

/// Prints the formats that other programs read; false for the others.
bool printExported(const ChosenSchedule& chosen, const ScheduleArguments& arguments)
{
    const Schedule& schedule = chosen.schedule;
    const std::string& format = arguments.format;
    if (format == "csv") {
        if (schedule.slices > 1 || schedule.chains > 1)
            std::cerr << "note: PyTorch has no words for "
                      << (schedule.slices > 1 ? "slices of a sequence" : "two copies of the model")
                      << "; rankscope-sim alone reads this table\n";
        writeScheduleCsv(std::cout, schedule);
        return true;
    }
    if (format == "csv-2024") {
        writePytorchCsv(std::cout, schedule, ScheduleFormat::pytorch2024);
        return true;
    }
    if (format == "megatron" || format == "sail") {
        std::cout << (format == "sail" ? sailStrings(schedule) : megatronOrder(schedule));
        return true;
    }
    requireMemoryForTimes(schedule);
    if (format == "comms")
        writePytorchCommsCsv(std::cout, communicationOf(chosen, arguments));
    return format == "comms";
}

void run(const ScheduleArguments& arguments)
{
    const auto [forward, inputGradient, weightGradient, comm] = numbersOf<4>("--times", arguments.times);
    const PassTimes passes{forward, inputGradient, weightGradient, comm, arguments.overlapped};
    const auto [full, untilWeightGradient] = numbersOf<2>("--memory", arguments.memory);
    const PassMemory memory{full, untilWeightGradient};
    if (memory.weight > memory.full) {
        const std::string all = arguments.memory.substr(0, arguments.memory.find(','));
        throw UsageError("--memory " + shownText(arguments.memory) +
                         ": MW is the part of MB that stays until the weight gradient, and no more than all of it; nearest: " +
                         shownText(all + "," + all));
    }
    ChosenSchedule chosen;
    PassPrices prices{.times = {passes}, .memory = {memory}};
    if (arguments.import.empty()) {
        const std::optional<Scenario> scenario =
            arguments.scenario.file.empty() ? std::nullopt : std::optional(arguments.scenario.read());
        const ScheduleRequest request = requestOf(arguments, scenario, passes, memory);
        if (scenario) {
            chosen = attributed(arguments.scenario.file, [&] { return chooseScheduleOf(*scenario, request); });
            prices = judgedBy(request, std::move(prices), chosen);
            if (chosen.missedCap)
                std::cerr << chosen.missedCap->text() << "; this order needs least\n";
        } else {
            chosen = scheduleAsked(request);
        }
    } else {
        chosen = importedFrom(arguments);
    }
    if (chosen.synthesis && arguments.format != "json")
        std::cerr << synthesisText(*chosen.synthesis, arguments.scenario.file.empty() ? "" : " ms") << "\n";
    if (printExported(chosen, arguments))
        return;
    const InOrderOutcome inOrder =
        runInOrder(communicationOf(chosen, arguments), prices.times, kStreams.at(arguments.streams), arguments.streams);
    const ScheduleTimes times = evaluateSchedule(chosen.schedule, prices.times, prices.memory);
    if (arguments.format == "json")
        std::cout << scheduleAnswer(chosen, times, inOrder).dump() << "\n";
    else
        printAscii(chosen.schedule, times, prices.times.front(), inOrder);
}

} // namespace

void addSchedule(CLI::App& app)
{
    CLI::App* command =
        app.add_subcommand("schedule", "The action table of a pipeline, one line a rank, in PyTorch's CSV grammar");
    auto arguments = std::make_shared<ScheduleArguments>();
    CLI::Option* file = arguments->scenario.addTo(*command)->required(false);
    command->get_option("--set")->needs(file);
    ScheduleRequest& request = arguments->request;
    CLI::Option* kind = command->add_option("--kind", request.kind, "Schedule family, without a FILE")
                            ->type_name("KIND")
                            ->check(oneOf(namesOfFamilies()));
    const auto addCount = [&](const char* name, int& value, const char* help) {
        command->add_option(name, value, help)->type_name("N")->check(wholeNumberFrom(1))->needs(kind);
    };
    const auto addWord = [&](const char* name, std::string& value, const char* help, std::vector<std::string> words) {
        return command->add_option(name, value, help)->type_name("WORD")->check(oneOf(std::move(words)));
    };
    addCount("--stages", request.ranks, "Pipeline ranks");
    addCount("--virtual", request.virtualStages, "Chunks a rank holds; default the fewest that the kind takes");
    addCount("--microbatches", request.microbatches, "Micro-batches");
    addCount("--group", request.microbatchGroup, "Interleaving group; default as many as ranks");
    addCount("--slices", request.slices, "For seq-1f1b: parts of a sequence; default 4");
    command
        ->add_flag("--overlap", request.overlapExpertComm,
                   "For 1f1b and interleaved-1f1b: forward and backward as one block, to hide expert communication")
        ->needs(kind);
    CLI::Option* import = command->add_option("--import", arguments->import, "A schedule of PyTorch, Megatron or sail instead")
                              ->type_name("FILE")
                              ->check(notEmpty());
    addWord("--dialect", arguments->dialect, "What --import reads: auto (default), pytorch, pytorch-2024, megatron, sail",
            namesOf(kDialects))
        ->needs(import);
    command
        ->add_option("--memory-cap", arguments->memoryCap,
                     "For auto: the peak of activations it may reach, in units of --memory; default as 1F1B")
        ->type_name("X")
        ->check(positiveNumber(Zero::refused))
        ->needs(kind);
    command
        ->add_option(
            "--times", arguments->times,
            "Times of one chunk; default 1,1,1,0. auto, zb-1p and zb-2p plan by them; of a FILE they take its own, in ms and GiB")
        ->type_name("F,I,W,COMM");
    command
        ->add_option("--memory", arguments->memory,
                     "Activation of one micro-batch on one chunk, and its part held until W; default 1,1")
        ->type_name("MB,MW");
    command
        ->add_option("--overlapped", arguments->overlapped, "Time of an overlapped block; default as long as one after the other")
        ->type_name("X")
        ->check(positiveNumber(Zero::taken));
    addWord("--streams", arguments->streams, "Sends and receives in order: shared (default: on one stream a rank), per-peer",
            namesOf(kStreams));
    addWord("--receives", arguments->receives, "Where a receive is posted: when-sent (default, as PyTorch 2.8), before-use",
            namesOf(kReceives));
    addWord("--format", arguments->format,
            "csv (default), json, ascii, csv-2024, comms, megatron, sail; json has times, ascii is a drawing, the last are for "
            "other programs",
            {"csv", "csv-2024", "comms", "megatron", "sail", "json", "ascii"});
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
