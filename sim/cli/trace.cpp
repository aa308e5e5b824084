#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/cli/table.h"
#include "sim/cli/until_interrupted.h"

#include "sim/answers/recording.h"
#include "sim/calibration/calibrate.h"
#include "sim/error.h"
#include "sim/recovery/recovered_json.h"
#include "sim/recovery/run_answers.h"
#include "sim/recovery/run_difference.h"
#include "sim/recovery/run_digest.h"
#include "sim/scenario/files.h"
#include "sim/scenario/named_files.h"
#include "sim/text/number_text.h"
#include "sim/trace/cache/cached_reading.h"
#include "sim/trace/cache/mapped_file.h"
#include "sim/trace/export.h"
#include "sim/trace/readers/read_recording.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/recorded_trace.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <unistd.h>

namespace sim::cli {
namespace {

struct TraceArguments {
    std::vector<std::string> files;
    std::string out;
    bool json = false, pythonFunctions = false, cache = false;
    std::optional<std::int64_t> step; ///< its number
    std::string grid;                 ///< "tp=2,dp=4", the fastest first
    std::vector<std::string> ranks;   ///< "FILE=3"
};

/// The number behind "tp=" or "FILE=": -1 where there is none, kMostRanksOfAJob + 1 for all that are larger.
int numberAfter(std::size_t equals, const std::string& text)
{
    if (equals == std::string::npos)
        return -1;
    const char* const end = text.data() + text.size();
    std::uint32_t number = 0;
    const auto read = std::from_chars(text.data() + equals + 1, end, number);
    if (read.ec == std::errc::invalid_argument || read.ptr != end)
        return -1;
    constexpr std::uint32_t kAbove = kMostRanksOfAJob + 1;
    return static_cast<int>(read.ec == std::errc() ? std::min(number, kAbove) : kAbove);
}

/// "tp=2,pp=4,ep=2" as recover() takes a grid. Throws UsageError.
std::vector<NamedAxis> gridSaid(const std::string& text)
{
    std::vector<std::pair<std::string, int>> sizes;
    int experts = 0; // not said
    std::int64_t ranks = 1;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string part = text.substr(at, comma - at);
        const std::size_t equals = part.find('=');
        const std::string name = part.substr(0, equals);
        const int size = numberAfter(equals, part);
        const bool isAxis = name == "tp" || name == "cp" || name == "dp" || name == "pp" || name == "ep";
        const bool isTwice = (name == "ep" && experts > 0) ||
                             std::any_of(sizes.begin(), sizes.end(), [&](const auto& of) { return of.first == name; });
        if (!isAxis || isTwice || size < 1)
            throw UsageError(
                "--grid " + quotedText(text) + ": " + quotedText(part) +
                (isTwice ? " says an axis twice" : " is no axis with its size") +
                "; e.g. --grid tp=2,dp=4,pp=2, the axis whose ranks lie next to each other first, of tp, cp, dp, pp, ep");
        if (name == "ep")
            experts = size;
        else
            sizes.emplace_back(name, size);
        ranks *= name == "ep" ? 1 : size;
        if (std::max<std::int64_t>(ranks, experts) > kMostRanksOfAJob)
            throw UsageError("--grid " + quotedText(text) + ": a job has at most " + std::to_string(kMostRanksOfAJob) + " ranks");
        at = comma + 1;
    }
    return namedGrid(sizes, experts);
}

/// Gives ranks of files the numbers that somebody says. Throws UsageError.
void numberRanks(Recording& recording, const std::vector<std::string>& said)
{
    for (const std::string& text : said) {
        const std::size_t equals = text.rfind('=');
        const int number = numberAfter(equals, text);
        if (number < 0)
            throw UsageError("--rank " + quotedText(text) + " is no file with its rank; e.g. --rank worker-a.json=3");
        if (number >= kMostRanksOfAJob)
            throw UsageError("--rank " + quotedText(text) + ": a rank is at most " + std::to_string(kMostRanksOfAJob - 1));
        const std::filesystem::path name(text.substr(0, equals));
        std::vector<RankRecording*> of;
        for (RankRecording& rank : recording.ranks) {
            const std::filesystem::path file(recording.files[static_cast<std::size_t>(rank.file)].path);
            if (file == name || file.filename() == name)
                of.push_back(&rank);
        }
        if (of.size() != 1)
            throw UsageError(
                "--rank " + quotedText(text) + ": " +
                (of.empty() ? "no file that was read is called so"
                            : counted(static_cast<std::int64_t>(of.size()), "rank") + " were read of files that are called so"));
        for (const RankRecording& other : recording.ranks)
            if (&other != of.front() && other.rank == number)
                throw UsageError("--rank " + quotedText(text) + ": rank " + std::to_string(number) + " is that of another file");
        of.front()->rank = number;
        of.front()->rankEvidence = "--rank";
    }
}

/// One line that is written over, where somebody watches; gone at the end.
class ProgressLine {
public:
    ReadOptions options(const TraceArguments& arguments)
    {
        ReadOptions options;
        options.pythonFunctions = arguments.pythonFunctions;
        if (isatty(STDERR_FILENO) == 1)
            options.progress = [this](const ReadProgress& progress) { show(progress); };
        return options;
    }
    ~ProgressLine()
    {
        if (m_isShown)
            std::cerr << "\r\x1b[K" << std::flush;
    }

private:
    void show(const ReadProgress& progress)
    {
        constexpr auto kPause = std::chrono::milliseconds(200);
        const auto now = std::chrono::steady_clock::now();
        if (now - m_last < kPause)
            return;
        m_last = now;
        m_isShown = true;
        std::cerr << "\r\x1b[K" << progress.filesDone << " of " << counted(static_cast<std::int64_t>(progress.files), "file")
                  << ", "
                  << percent(progress.bytes == 0 ? 0
                                                 : static_cast<double>(progress.bytesDone) / static_cast<double>(progress.bytes))
                  << std::flush;
    }
    std::chrono::steady_clock::time_point m_last = std::chrono::steady_clock::now();
    bool m_isShown = false;
};

/// Whether a cache is there from which the window opens at once: one of an earlier version knows less.
bool hasDigest(const std::vector<std::filesystem::path>& paths, const ReadOptions& options)
{
    try {
        const OpenedCache kept = openCache(paths, options);
        const auto bytes = kept.cache ? kept.cache->attachment(kDigestName) : std::nullopt;
        if (bytes)
            readDigest(*bytes);
        return bytes.has_value();
    } catch (const Error&) {
        return false;
    }
}

/// Files of a run, read; and kept where that was asked for, once what was asked of them is answered.
class ReadRun {
public:
    ReadRun(const std::vector<std::string>& files, const TraceArguments& arguments) : m_paths(files.begin(), files.end())
    {
        {
            ProgressLine line;
            m_options = line.options(arguments);
            m_read = readRecordingOrCache(m_paths, m_options);
            m_options.progress = nullptr; // of the line that is gone
        }
        numberRanks(m_read.recording, arguments.ranks);
        if (!m_read.whyNot.empty())
            std::cerr << linesForAPerson(m_read.whyNot);
        m_isToBeKept = arguments.cache && (!m_read.isFromCache || !hasDigest(m_paths, m_options));
    }
    explicit ReadRun(const TraceArguments& arguments) : ReadRun(arguments.files, arguments) {}

    const Recording& recording() const { return m_read.recording; }
    bool isToBeKept() const { return m_isToBeKept; }

    /// To be called last, when the answer is out: that takes time, may fail and may be stopped. `answers`: of the usual step.
    void keep(const Recovered& recovered, const RunAnswers& answers) const
    {
        if (!m_isToBeKept || MappedFile::wasAnyCutOff()) // what was read of one that is cut off is none
            return;
        std::cout.flush();
        try {
            const UntilInterrupted writing;
            const std::vector<DigestedStep> steps = digestSteps(recording(), recovered, answers);
            const std::uint64_t bytes = keepCache(recording(), m_read.origin, m_paths, m_options,
                                                  {{std::string(kDigestName), digestBytes(recovered, answers, steps)}});
            std::cerr << linesForAPerson(cachePathOf(m_paths).string() + " keeps what was read, in " +
                                         numberText(static_cast<double>(bytes), Unit::bytes) +
                                         ": it is read instead of the files for as long as they stay as they are");
        } catch (const Error& error) {
            std::cerr << linesForAPerson("no cache was kept: " + std::string(error.what()));
        } catch (const Cancelled&) {
            std::cerr << "no cache was kept: it was stopped\n";
        }
    }
    void keep(const Recovered& recovered) const
    {
        if (m_isToBeKept)
            keep(recovered, answersOf(recording(), recovered, catalogue()));
    }

private:
    std::vector<std::filesystem::path> m_paths;
    ReadOptions m_options;
    CachedReading m_read;
    bool m_isToBeKept = false;
};

void addCache(CLI::App& command, TraceArguments& arguments)
{
    command.add_flag("--cache", arguments.cache,
                     "Keep what was read beside the files (run.rankscope-cache), to be read instead of them from then on");
}

/// What a trace need not say, and who made it knows.
void addWhoIsWho(CLI::App& command, TraceArguments& arguments)
{
    CLI::Option* const cache = command.get_option("--cache"); // which keeps what files say
    command
        .add_option("--grid", arguments.grid,
                    "How the ranks lie, where that is known better: tp=2,dp=4,pp=2, the fastest axis first")
        ->type_name("AXES")
        ->check(notEmpty())
        ->excludes(cache);
    command.add_option("--rank", arguments.ranks, "Which rank a file is of that does not say it; may be given several times")
        ->type_name("FILE=NUMBER")
        ->allow_extra_args(false)
        ->check(notEmpty())
        ->excludes(cache);
}

Recovered recoverRun(const Recording& recording, const TraceArguments& arguments)
{
    return recover(recording, {.corrections = {}, .grid = gridSaid(arguments.grid)});
}

void warn(const Recording& recording)
{
    for (const std::string& problem : recording.problems)
        std::cerr << linesForAPerson(problem);
}

std::string lasting(std::int64_t ns)
{
    return seconds(static_cast<double>(ns) * 1e-9);
}

/// As the files list them; of those that they only name, what was found out instead, where anything was.
std::vector<RecordedGroup> groupsToShow(const Recording& recording, const Recovered& recovered)
{
    std::vector<RecordedGroup> groups;
    const auto isOnlyNamed = [](const RecordedGroup& group) { return group.ranks.empty() && group.size <= 0; };
    if (recovered.groups.empty() || std::none_of(recording.groups.begin(), recording.groups.end(), isOnlyNamed))
        return recording.groups;
    std::remove_copy_if(recording.groups.begin(), recording.groups.end(), std::back_inserter(groups), isOnlyNamed);
    const std::size_t listed = groups.size();
    for (const KnownGroup& found : recovered.groups)
        if (std::none_of(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(listed),
                         [&](const RecordedGroup& group) { return group.ranks == found.ranks; })) {
            RecordedGroup& group = groups.emplace_back();
            group.name = found.name;
            group.description = found.description;
            group.ranks = found.ranks;
            group.size = static_cast<int>(found.ranks.size());
            group.evidence = found.evidence;
        }
    return groups;
}

void printInfo(const Recording& recording, const Recovered& recovered)
{
    constexpr std::size_t kMostRows = 64;
    const auto count = [](std::size_t number) { return grouped(static_cast<std::int64_t>(number)); };
    std::cout << counted(static_cast<std::int64_t>(recording.files.size()), "file") << ", " << count(recording.events())
              << " events, " << count(recording.spanCount()) << " spans";
    if (recording.worldSize > 0)
        std::cout << ", a world of " << counted(recording.worldSize, "rank");
    std::cout << "\n\n";
    Table ranks({"rank", "host", "device", "events", "kernels", "collectives, messages", "lasts", "occupied", "file"});
    for (const RankRecording& rank : recording.ranks) {
        if (&rank - recording.ranks.data() >= static_cast<std::ptrdiff_t>(kMostRows))
            break;
        ranks.add({rank.rank >= 0 ? std::to_string(rank.rank) : "?", rank.host.empty() ? "-" : shownText(rank.host, 40),
                   rank.device >= 0 ? std::to_string(rank.device) : "-", count(rank.events), count(kernelCount(rank)),
                   count(communicationCount(rank)), lasting(rank.lastNs - rank.firstNs), lasting(busyNs(rank)),
                   shownText(std::filesystem::path(recording.files[static_cast<std::size_t>(rank.file)].path).filename().string(),
                             60)});
    }
    ranks.print(std::cout);
    if (recording.ranks.size() > kMostRows)
        std::cout << "… and " << count(recording.ranks.size() - kMostRows) << " ranks more; --json has them all\n";
    const auto fullest =
        std::max_element(recording.ranks.begin(), recording.ranks.end(),
                         [](const RankRecording& a, const RankRecording& b) { return peakMemoryBytes(a) < peakMemoryBytes(b); });
    if (fullest != recording.ranks.end() && peakMemoryBytes(*fullest) > 0)
        std::cout << "memory: at most " << numberText(peakMemoryBytes(*fullest), Unit::bytes) << " at once"
                  << (fullest->rank >= 0 && recording.ranks.size() > 1 ? ", on rank " + std::to_string(fullest->rank) : "")
                  << "\n";
    if (const std::vector<RecordedGroup> all = groupsToShow(recording, recovered); !all.empty()) {
        std::cout << "\n";
        Table groups({"group", "description", "size", "ranks", "known from"});
        for (std::size_t i = 0; i < std::min(all.size(), kMostRows); ++i) {
            const RecordedGroup& group = all[i];
            std::string members;
            for (const int rank : group.ranks) {
                members += (members.empty() ? "" : " ") + std::to_string(rank);
                if (members.size() > 40) {
                    members += " …";
                    break;
                }
            }
            groups.add({group.name.empty() ? "-" : shownText(group.name, 24),
                        group.description.empty() ? "-" : shownText(group.description, 40),
                        group.size > 0 ? std::to_string(group.size) : "?", members.empty() ? "?" : members, group.evidence});
        }
        groups.print(std::cout);
        if (all.size() > kMostRows)
            std::cout << "… and " << counted(static_cast<std::int64_t>(all.size() - kMostRows), "group")
                      << " more; --json has them all\n";
    }
    std::size_t steps = 0;
    for (const RankRecording& rank : recording.ranks)
        steps = std::max(steps, rank.steps.size());
    if (steps > 0)
        std::cout << "\n" << counted(static_cast<std::int64_t>(steps), "step") << " marked\n";
    if (!recording.skipped.empty()) {
        std::cout << "\nLeft out:\n";
        std::map<std::string, RecordedSkip> skipped; // of all files
        for (const RecordedSkip& skip : recording.skipped) {
            constexpr std::size_t kMostNamed = 16;
            const bool isNamed = skip.what == "file" && skipped.size() < kMostNamed; // each for a reason of its own
            RecordedSkip& sum = skipped[isNamed ? skip.what + " " + skip.file : skip.what];
            const std::size_t before = sum.count;
            if (before == 0)
                sum = skip;
            sum.count = before + skip.count;
        }
        for (const auto& [what, skip] : skipped)
            std::cout << "  " << count(skip.count) << " × " << shownText(skip.what, 60) << ": " << shownText(skip.why, 300)
                      << "\n";
    }
}

/// The index of a step by its number. Throws Error with those that there are.
std::size_t stepNumbered(const RecoveredSteps& steps, std::int64_t number)
{
    std::string there;
    for (const RecoveredStep& step : steps.steps) {
        if (step.number == number)
            return static_cast<std::size_t>(&step - steps.steps.data());
        constexpr std::size_t kMostNamed = 16;
        const auto place = static_cast<std::size_t>(&step - steps.steps.data());
        if (place < kMostNamed)
            there += (there.empty() ? "" : ", ") + std::to_string(step.number);
        else if (place == kMostNamed)
            there += ", … " + std::to_string(steps.steps.back().number);
    }
    throw Error("--step " + std::to_string(number) + ": no such step was recovered" +
                (there.empty()             ? ", nor any other"
                 : steps.steps.size() == 1 ? "; there is one only, " + there
                                           : "; there are steps " + there));
}

void info(const TraceArguments& arguments)
{
    const ReadRun run(arguments);
    const Recording& recording = run.recording();
    const Recovered recovered = recoverRun(recording, arguments);
    std::optional<std::size_t> step;
    if (arguments.step)
        step = stepNumbered(recovered.steps, *arguments.step);
    const RunAnswers answers = answersOf(recording, recovered, catalogue(), step);
    if (arguments.json) {
        nlohmann::ordered_json parts = recoveredJson(recovered);
        parts["answers"] = answersJson(recovered, answers);
        // Names in a trace need not be UTF-8.
        std::cout << traceInfoAnswer(recording, &parts).dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                  << "\n";
    } else {
        printInfo(recording, recovered);
        std::cout << "\n"
                  << linesForAPerson(recoveredText(recovered)) << "\n"
                  << linesForAPerson(answersText(recovered, answers));
        warn(recording);
    }
    if (step)
        run.keep(recovered);
    else
        run.keep(recovered, answers);
}

void convert(TraceArguments arguments)
{
    if (arguments.files.size() < 2)
        throw UsageError("trace convert needs what to read and what to write: trace convert IN… OUT");
    arguments.out = arguments.files.back();
    arguments.files.pop_back();
    const std::string ending = std::filesystem::path(arguments.out).extension().string();
    if (const std::string problem = traceNameProblem(arguments.out); !problem.empty())
        throw UsageError(problem);
    for (const std::string& in : arguments.files)
        for (const std::filesystem::path& file : traceFiles(in))
            if (std::error_code none; std::filesystem::equivalent(file, arguments.out, none))
                throw UsageError(
                    quotedText(arguments.out) + " is one of the files to read" +
                    (file == in ? "" : ", of the folder " + quotedText(in)) + ": write to another name, e.g. " +
                    quotedText(std::filesystem::path(arguments.out).replace_extension("").string() + "-converted" + ending));
    const ReadRun run(arguments);
    warn(run.recording());
    saveTrace(traceToWrite(run.recording()), arguments.out);
    if (run.isToBeKept())
        run.keep(recover(run.recording()));
}

void compare(const TraceArguments& arguments)
{
    std::vector<Recovered> runs;
    std::vector<std::optional<ReadRun>> toBeKept; // others need not stay in memory
    std::vector<std::string> problems;
    for (const std::string& file : arguments.files) {
        std::optional<ReadRun> run(std::in_place, std::vector{file}, arguments);
        warn(run->recording());
        runs.push_back(recover(run->recording()));
        if (!run->isToBeKept())
            run.reset();
        toBeKept.push_back(std::move(run));
        if (std::all_of(runs.back().evidence.ranks.begin(), runs.back().evidence.ranks.end(),
                        [](const RankEvidence& rank) { return rank.work.empty() && rank.comms.empty(); }))
            problems.push_back(quotedText(file) + ": holds no kernel and no collective of a rank that is known, so it cannot be "
                                                  "compared; trace info says what it holds");
    }
    if (!problems.empty()) {
        std::string all;
        for (const std::string& problem : problems)
            all += (all.empty() ? "" : "\n") + problem;
        throw Error(all);
    }
    const RunDifference difference = differenceOf(runs[0], runs[1]);
    if (arguments.json)
        std::cout << differenceJson(difference).dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    else
        std::cout << linesForAPerson(differenceText(difference));
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (toBeKept[i])
            toBeKept[i]->keep(runs[i]);
}

struct CalibrateArguments {
    TraceArguments trace;
    ScenarioArguments scenario;
    std::string out;
};

void calibrateRun(const CalibrateArguments& arguments)
{
    const ReadRun run(arguments.trace);
    warn(run.recording());
    const Recovered recovered = recoverRun(run.recording(), arguments.trace);
    std::vector<UnknownKey> unknown;
    const ScenarioDocument document = arguments.scenario.document();
    const Scenario base = arguments.scenario.resolved(document);
    arguments.scenario.keepFiles(document, arguments.out);
    keepInputs({arguments.trace.files.begin(), arguments.trace.files.end()}, arguments.out);
    const RunCalibration calibration = attributed(arguments.scenario.file, [&] {
        return calibrate(run.recording(), recovered, scenarioOfRun(recovered, base, catalogue(), unknown));
    });
    if (!arguments.out.empty())
        replaceFile(arguments.out, calibratedProfileText(std::filesystem::path(arguments.out).stem().string(), calibration));
    if (arguments.trace.json) {
        nlohmann::ordered_json json = calibrationJson(calibration, unknown);
        json["profile"]["file"] = arguments.out.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(arguments.out);
        std::cout << json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    } else {
        std::cout << linesForAPerson(calibrationText(calibration, unknown));
        if (!arguments.out.empty())
            std::cout << quotedText(arguments.out) << " holds what was measured: name it in a scenario's cluster.efficiency\n";
    }
    run.keep(recovered);
}

/// What was read from a cache that somebody cut off meanwhile was not what it had held.
void requireWholeCaches()
{
    std::cout.flush();
    if (MappedFile::wasAnyCutOff())
        throw Error(
            "a cache was cut off while it was read: what was told of it is not what it held; the next call reads the files");
}

} // namespace

void addTrace(CLI::App& app)
{
    CLI::App* trace = app.add_subcommand(
        "trace", "Recorded timelines: of PyTorch, Chrome, Perfetto, Nsight Systems, NCCL, and Rankscope's own");
    trace->require_subcommand(1);
    trace->failure_message(callFailed);
    const auto add = [&](const char* name, const char* help, void (*run)(const TraceArguments&)) {
        const auto arguments = std::make_shared<TraceArguments>();
        CLI::App* command = trace->add_subcommand(name, help);
        command->add_flag("--python-functions", arguments->pythonFunctions, "Keep the frames of Python stacks");
        addCache(*command, *arguments);
        command->callback([arguments, run] {
            run(*arguments);
            requireWholeCaches();
        });
        return std::pair(command, arguments);
    };
    const auto [infoCommand, infoArguments] =
        add("info", "What files of one run hold: ranks, kernels, collectives, groups, steps", info);
    infoCommand->add_option("FILE_OR_FOLDER", infoArguments->files, "Files of the run's ranks, or the folder they lie in")
        ->required()
        ->check(notEmpty());
    addWhoIsWho(*infoCommand, *infoArguments);
    infoCommand->add_flag("--json", infoArguments->json, "One JSON document");
    infoCommand->add_option("--step", infoArguments->step, "Number of the step whose critical path is told; else a typical one")
        ->type_name("NUMBER")
        ->check(wholeNumber(0, std::numeric_limits<std::int64_t>::max()));
    const auto [convertCommand, convertArguments] =
        add("convert", "Writes what the files hold as one trace", [](const TraceArguments& arguments) { convert(arguments); });
    convertCommand->add_option("IN OUT", convertArguments->files, "Files or folders to read, then the .pftrace or .json to write")
        ->required()
        ->check(notEmpty());
    const auto [compareCommand, compareArguments] = add(
        "compare", "What takes longer in the second of two recorded runs: kernels, collectives, ranks, stages, steps", compare);
    compareCommand->add_option("A B", compareArguments->files, "The first run and the second, each a file or a folder")
        ->required()
        ->expected(2)
        ->check(notEmpty());
    compareCommand->add_flag("--json", compareArguments->json, "One JSON document");
    const auto calibrateArguments = std::make_shared<CalibrateArguments>();
    CLI::App* calibrateCommand = trace->add_subcommand(
        "calibrate", "A recorded run against the simulation of its job: measured over predicted, as a profile to predict with");
    calibrateCommand->add_option("IN", calibrateArguments->trace.files, "Files of the run's ranks, or the folder they lie in")
        ->required()
        ->check(notEmpty());
    calibrateCommand
        ->add_option("--scenario", calibrateArguments->scenario.file, "Scenario with the run's model, cluster and batch")
        ->required()
        ->check(notEmpty());
    calibrateCommand->add_option("--out", calibrateArguments->out, "Hardware profile to write")
        ->type_name("PROFILE.json")
        ->check(notEmpty());
    addOverrides(*calibrateCommand, calibrateArguments->scenario.overrides);
    addBeside(*calibrateCommand, calibrateArguments->scenario.beside);
    addCache(*calibrateCommand, calibrateArguments->trace);
    addWhoIsWho(*calibrateCommand, calibrateArguments->trace);
    calibrateCommand->add_flag("--json", calibrateArguments->trace.json, "One JSON document");
    calibrateCommand->callback([calibrateArguments] {
        calibrateRun(*calibrateArguments);
        requireWholeCaches();
    });
}

} // namespace sim::cli
