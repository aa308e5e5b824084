#include "sim/cli/options.h"
#include "sim/cli/plan_arguments.h"
#include "sim/cli/plan_print.h"
#include "sim/cli/table.h"
#include "sim/cli/until_interrupted.h"
#include "sim/scenario/files.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/pointer_text.h"

#include "sim/answers/plan.h"
#include "sim/planner/least_change.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <optional>
#include <unistd.h>

namespace sim::cli {
namespace {

constexpr std::chrono::seconds kBetweenLines{30}; // of progress in a log

/// Of --free: what is wrong with a pointer, written either way.
std::string searchedKey(const std::string& pointer)
{
    const std::vector<std::string_view> keys = plannedKeys();
    const std::vector<std::string> known(keys.begin(), keys.end());
    std::string asked = dotted(pointer);
    return std::find(known.begin(), known.end(), asked) != known.end() ? std::string() : oneOf(known)(asked);
}

/// A part of a search, as its file has it.
Answer partIn(const std::string& file)
{
    constexpr std::size_t kMostBytes = std::size_t{256} << 20;
    const std::string text = readFile(file, kMostBytes, Pipes::read);
    const Answer part = parseStrict(text, file); // the library's own reader compares each key of an object with all before it
    if (!part.is_object() || !part.contains("part"))
        throw Error(file + ": is no answer of plan --part I/N --json: it does not say which part it is");
    if (!part.contains("digest"))
        throw Error(file + ": has no digest, as parts of earlier versions of this program have none: work that part out again");
    if (part.at("digest") != partDigest(part))
        throw Error(file +
                    ": was damaged or edited after plan --part I/N --json wrote it: its digest is not that of what it says");
    return part;
}

Answer mergedOf(const PlanArguments& arguments)
{
    std::vector<Answer> parts;
    std::transform(arguments.merge.begin(), arguments.merge.end(), std::back_inserter(parts), partIn);
    return mergedPlans(parts, arguments.top, arguments.merge);
}

/// What to type for it: "--set layout.zero_stage=1".
std::string overridesOf(const std::vector<Change>& changes)
{
    std::string words;
    for (const Change& change : changes) {
        const std::string assignment = dotted(change.pointer) + "=" + change.json.value_or(""); // nothing: the key goes
        words += (words.empty() ? "" : " ") + std::string("--set ") +
                 (assignment.find_first_of("{\"[ ") == std::string::npos ? assignment : "'" + assignment + "'");
    }
    return words;
}

/// What the file does not say of a layout already.
std::vector<Change> changesTo(const PlannedLayout& layout, const PlanRequest& request)
{
    std::vector<Change> changes;
    const ScenarioDocument document = withSettings(request, layout.settings);
    for (const std::vector<PlanSetting>* settings : {&request.fixed, &layout.settings})
        for (const auto& [pointer, value] : *settings)
            if (const auto json = document.get(dotted(pointer)); json != request.document.get(dotted(pointer)))
                changes.push_back({slashed(pointer), json});
    if (request.document.get("schedule.actions") && !document.get("schedule.actions"))
        changes.push_back({"/schedule/actions", std::nullopt});
    return changes;
}

/// The fewest settings to change so that it fits.
void runLeastChange(const PlanArguments& arguments, const PlanRequest& request)
{
    LeastChange change;
    try {
        const UntilInterrupted search;
        attributed(arguments.scenario.file, [&] { change = leastChange(request, catalogue()); });
    } catch (const Cancelled&) {
        throw Error(arguments.scenario.file + ": stopped before a change was found with which it fits");
    }
    if (arguments.json) {
        std::cout << leastChangeAnswer(change).dump() << "\n";
    } else if (change.found() || change.fitsAlready) {
        std::cout << change.text() << "\n";
        if (change.found())
            std::cout << change.proofText() << "\n" << overridesOf(change.edit.changes) << "\n";
    }
    if (!change.found() && !change.fitsAlready)
        throw Error(arguments.scenario.file + ": " + change.text());
}

void runPlan(const PlanArguments& arguments)
{
    if (!arguments.merge.empty()) {
        if (!arguments.scenario.file.empty())
            throw UsageError("--merge puts answers together and reads no scenario: leave out " +
                             shownText(arguments.scenario.file));
        const Answer merged = mergedOf(arguments);
        if (arguments.json)
            std::cout << merged.dump() << "\n";
        else
            printPlan(merged, std::cout);
        if (merged.at("best").empty())
            throw Error("Of all parts: " + nothingFits(merged));
        return;
    }
    if (arguments.scenario.file.empty())
        throw UsageError("plan needs a FILE, or --merge with the answers of parts");
    const PlanRequest request = requestOf(arguments);
    if (request.objective == PlanObjective::headroom && (arguments.sensitivity || arguments.robust || arguments.days > 0))
        throw UsageError(std::string(arguments.sensitivity ? "--sensitivity"
                                     : arguments.robust    ? "--robust"
                                                           : "--days") +
                         " asks how long a step takes: leave out --objective headroom");
    if (!arguments.sizes.empty()) {
        runSizes(arguments, request);
        return;
    }
    if (!arguments.phases.empty()) {
        runPhases(arguments, request);
        return;
    }
    if (arguments.leastChange) {
        runLeastChange(arguments, request);
        return;
    }
    std::optional<UntilInterrupted> search(std::in_place);
    const bool isTerminal = isatty(STDERR_FILENO) == 1;
    auto toldAt = std::chrono::steady_clock::now();
    bool told = false;
    PlanAnswer answer;
    SizeAnswer sizes;
    std::vector<PlanWhy> reasons;
    std::vector<PlanSensitivity> turns;
    std::size_t compared = 0;
    RobustChoice robust;
    attributed(arguments.scenario.file, [&] {
        requirePlannable(request, catalogue());
        for (const std::string& asked : arguments.why)
            requirePlannable(request, catalogue(), questionOf(asked));
        const auto tell = [&](const std::string& size, const PlanProgress& now) {
            const auto at = std::chrono::steady_clock::now();
            if (!isTerminal && at - toldAt < kBetweenLines)
                return;
            toldAt = at;
            std::cerr << (isTerminal ? "\rplan: " : "plan: ") << size;
            if (now.gridsDone < now.grids)
                std::cerr << now.gridsDone << " of " << now.grids << " grids judged";
            else
                std::cerr << now.tightened << " laid out, " << now.simulated << " simulated, " << standing(now);
            std::cerr << (isTerminal ? "   " : "\n") << std::flush;
            told = isTerminal;
        };
        if (arguments.days > 0) {
            SizeRequest within{.job = request, .days = arguments.days};
            if (request.gpus > 0)
                within.most = request.gpus;
            within.job.gpus = 0;
            sizes =
                fewestGpus(within, catalogue(), [&](int gpus, const PlanProgress& now) { tell(grouped(gpus) + " GPUs: ", now); });
            answer = sizes.best;
            return;
        }
        answer = plan(request, catalogue(), [&](const PlanProgress& now) { tell({}, now); });
        for (const std::string& asked : arguments.why)
            reasons.push_back(whyNot(request, catalogue(), answer, questionOf(asked)));
        try {
            if (arguments.sensitivity) {
                const auto layouts = comparedLayouts(request, catalogue(), answer);
                compared = layouts.size();
                turns = planSensitivities(request, catalogue(), layouts, isSoonSearched(answer));
            }
            if (arguments.robust)
                robust = robustChoice(request, catalogue(), robustLayouts(request, catalogue(), answer));
        } catch (const Cancelled&) {
            answer.stopped = true;
        }
    });
    search.reset();
    if (told)
        std::cerr << "\n";
    Answer json = arguments.days > 0 ? sizeAnswer(sizes, request) : planAnswer(answer, request);
    Answer whys = Answer::array();
    for (const PlanWhy& why : reasons)
        whys.push_back(whyAnswer(why, request));
    if (!whys.empty())
        json["why"] = whys;
    if (arguments.sensitivity)
        json["sensitivity"] = planSensitivityAnswer(turns, request);
    if (arguments.robust)
        json["robust"] = robustAnswer(robust, request);
    if (request.isPart)
        json["digest"] = partDigest(json);
    if (arguments.json) {
        std::cout << json.dump() << "\n";
    } else {
        if (arguments.days > 0)
            printSizes(json, std::cout);
        if (arguments.days <= 0 || sizes.gpus > 0)
            printPlan(json, std::cout);
        if (!answer.best.empty())
            if (const auto changes = changesTo(answer.best.front(), request); !changes.empty())
                std::cout << "\nThe first, for any command that reads the file:\n" << overridesOf(changes) << "\n";
        for (const Answer& why : whys)
            printWhy(why, request.partText(), std::cout);
        if (!turns.empty() && turns.front().isSearched)
            std::cout << "\nThe first while one constant moves, searched anew before each turn:\n";
        else if (!turns.empty())
            std::cout << "\nThe first beside the " << compared
                      << " nearest layouts, itself among them, while one constant moves:\n";
        else if (arguments.sensitivity && answer.stopped)
            std::cout << "\nStopped before it was known how far each constant may move.\n";
        for (const PlanSensitivity& turn : turns)
            std::cout << "  " << sensitivityText(turn) << "\n";
        if (arguments.robust)
            printRobust(robust, std::cout);
    }
    if (arguments.days > 0) {
        if (sizes.gpus == 0)
            throw Error(arguments.scenario.file + ": no number of GPUs that was tried is done in " + threeDigits(arguments.days) +
                        " days; more GPUs (--gpus), more --days or fewer --fix may help");
    } else if (answer.best.empty() && !request.isOfPart()) // a part is a whole answer, whatever the others find
        throw Error(arguments.scenario.file + ": " + nothingFits(json));
}

} // namespace

void addPlan(CLI::App& app)
{
    const auto arguments = std::make_shared<PlanArguments>();
    CLI::App* command = app.add_subcommand("plan", "The best layout of a job, proved by the engine, and why each other one lost");
    arguments->scenario.addTo(*command)->required(false);
    command->add_option("--gpus", arguments->gpus, "Ranks; as many as the file's layout has unless given")
        ->check(wholeNumber(1, 1 << 20));
    command->add_option("--objective", arguments->objective, "What is best")
        ->check(oneOf({"time", "tokens", "headroom", "gpu-hours", "cost"}, Words::listed));
    command->add_option("--price", arguments->price, "Of a GPU for an hour")->check(positiveNumber(Zero::refused));
    command->add_option("--fix", arguments->fixed, "POINTER=VALUE: held there, as layout.tp=8; repeatable")->take_all();
    command
        ->add_option("--free", arguments->freed,
                     "POINTER: searched as well: layout.order, layout.placement, schedule.layers_per_stage, and "
                     "training.global_batch_size, batches of at most the file's by the time that a token takes; repeatable")
        ->take_all()
        ->check(searchedKey);
    command->add_option("--margin", arguments->margin, "GiB of each GPU that stay free")->check(positiveNumber(Zero::taken));
    CLI::Option* ramp = command
                            ->add_option("--ramp-batch", arguments->rampBatch,
                                         "FIRST:STEP: the run begins with batches of FIRST and adds STEP up to the file's, as "
                                         "Megatron's --rampup-batch-size; a layout has to be legal with each of them")
                            ->check(notEmpty());
    const std::vector<std::string_view> frameworks = plannedFrameworks();
    command
        ->add_option("--for", arguments->framework,
                     "Only what this framework can do, timed with its software where the file names none (training.stack)")
        ->check(oneOf({frameworks.begin(), frameworks.end()}, Words::listed));
    command->add_option("--top", arguments->top, "So many of the best")->check(wholeNumber(1, 1000));
    command
        ->add_option("--why", arguments->why,
                     "POINTER=VALUE[,POINTER=VALUE...]: the best with all of it beside the best of all; repeatable")
        ->take_all();
    command->add_option("-j,--jobs", arguments->jobs, "Threads; the answer is the same for any number")
        ->check(wholeNumber(1, 4096));
    CLI::Option* sensitivity =
        command->add_flag("--sensitivity", arguments->sensitivity,
                          "How far each constant of the cluster may move before another layout near it is first");
    CLI::Option* robust = command->add_flag(
        "--robust", arguments->robust,
        "The layouts near the first where not all goes as planned: slower products, links and GPUs, busier experts; and the one "
        "that loses least in any case");
    CLI::Option* days =
        command
            ->add_option("--days", arguments->days,
                         "The fewest GPUs whose best layout trains the file's tokens (training.tokens) in so many days; --gpus "
                         "then is the most that are tried, 16,384 unless given")
            ->check(positiveNumber(Zero::refused))
            ->excludes("--why")
            ->excludes(sensitivity)
            ->excludes(robust);
    CLI::Option* bySize =
        command->add_option("--sizes", arguments->sizes, "N,N,...: the best layout of each number of GPUs, a row each")
            ->check(notEmpty());
    for (const char* other : {"--why", "--top", "--gpus", "--sensitivity", "--robust", "--days"})
        bySize->excludes(command->get_option(other));
    CLI::Option* phases = command
                              ->add_option("--phases", arguments->phases,
                                           "SEQUENCE[:BATCH],...: a run whose sequences grow: the best layout of each phase, "
                                           "what changes between them, and what "
                                           "each takes with the last one's")
                              ->check(notEmpty());
    for (const char* other : {"--why", "--top", "--sensitivity", "--robust", "--days", "--sizes"})
        phases->excludes(command->get_option(other));
    phases->excludes(ramp);
    CLI::Option* least =
        command->add_flag("--least-change", arguments->leastChange,
                          "Of a job that does not fit: the fewest settings to change so that it does, of those the "
                          "fastest, and what it costs; --fix holds as ever, --gpus then is the most that may be used");
    for (const char* other : {"--why", "--top", "--objective", "--price", "--free", "--sensitivity", "--robust", "--days",
                              "--sizes", "--phases", "--ramp-batch"})
        least->excludes(command->get_option(other));
    command
        ->add_option("--simulations", arguments->most,
                     "So many at most, 200 and of small jobs up to 4,000 unless given; the answer says what is left unproved")
        ->check(wholeNumber(1, 1'000'000));
    const std::vector<CLI::Option*> others = command->get_options(
        [](const CLI::Option* option) { return option->get_name() != "--help" && !option->get_positional(); });
    CLI::Option* part = command
                            ->add_option("--part", arguments->part,
                                         "I/N: the I-th of N parts of the grids; auto: as mpirun, srun or a Slurm array says")
                            ->check(notEmpty());
    part->excludes(days)->excludes(sensitivity)->excludes(robust)->excludes(least)->excludes(bySize)->excludes(phases);
    command
        ->add_option(
            "--merge", arguments->merge,
            "Puts the --json of all parts together: the first of all, whether it is proved, and grids that break a rule, as "
            "the search in one piece says them; further layouts and why grids lost as each part says them beside its own first")
        ->take_all()
        ->check(notEmpty())
        ->excludes(part);
    for (CLI::Option* other : others)
        command->get_option("--merge")->excludes(other);
    command->add_flag("--json", arguments->json, "One JSON document");
    command->callback([arguments] { runPlan(*arguments); });
}

} // namespace sim::cli
