#include "sim/cli/command.h"
#include "sim/cli/number_lists.h"
#include "sim/cli/options.h"
#include "sim/cli/part.h"
#include "sim/cli/plan_print.h"
#include "sim/cli/table.h"
#include "sim/cli/until_interrupted.h"
#include "sim/scenario/files.h"
#include "sim/scenario/json_text.h"
#include "sim/scenario/pointer_text.h"

#include "sim/answers/plan.h"
#include "sim/memory_limit.h"
#include "sim/planner/least_change.h"
#include "sim/planner/phases.h"
#include "sim/planner/planner.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <iterator>
#include <optional>
#include <unistd.h>

namespace sim::cli {
namespace {

constexpr std::chrono::seconds kBetweenLines{30}; // of progress in a log

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

PlanSetting settingOf(const std::string& assignment, const char* option)
{
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == assignment.size())
        throw UsageError(std::string(option) + " takes POINTER=VALUE, as layout.tp=8; it got " + shownText(assignment));
    return {assignment.substr(0, equals), assignment.substr(equals + 1)};
}

/// Of --why: "layout.tp=4,layout.pp=2" are two settings of one question. Commas of JSON, and such as no other setting follows,
/// are of the value.
std::vector<PlanSetting> questionOf(const std::string& asked)
{
    std::vector<PlanSetting> settings;
    int depth = 0;
    bool isQuoted = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= asked.size(); ++i) {
        const char c = i < asked.size() ? asked[i] : ',';
        isQuoted = isQuoted != (c == '"' && (i == 0 || asked[i - 1] != '\\'));
        depth += isQuoted ? 0 : c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        if (i < asked.size() && (c != ',' || isQuoted || depth > 0 || asked.find('=', i) == std::string::npos))
            continue;
        settings.push_back(settingOf(asked.substr(begin, i - begin), "--why"));
        begin = i + 1;
    }
    return settings;
}

/// Of --free: what is wrong with a pointer, written either way.
std::string searchedKey(const std::string& pointer)
{
    const std::vector<std::string_view> keys = plannedKeys();
    const std::vector<std::string> known(keys.begin(), keys.end());
    std::string asked = dotted(pointer);
    return std::find(known.begin(), known.end(), asked) != known.end() ? std::string() : oneOf(known)(asked);
}

constexpr int kMostNumber = 1 << 20;

PlanRequest requestOf(const PlanArguments& arguments)
{
    PlanRequest request{.document = arguments.scenario.document()};
    request.gpus = arguments.gpus;
    request.objective = arguments.objective == "headroom"    ? PlanObjective::headroom
                        : arguments.objective == "gpu-hours" ? PlanObjective::gpuHours
                        : arguments.objective == "cost"      ? PlanObjective::cost
                        : arguments.objective == "tokens"    ? PlanObjective::tokens
                                                             : PlanObjective::time;
    request.price = arguments.price;
    if (request.objective == PlanObjective::cost && request.price <= 0)
        throw UsageError("--objective cost needs --price, of a GPU for an hour");
    for (const std::string& assignment : arguments.fixed)
        attributed(arguments.scenario.file, [&] { hold(request, settingOf(assignment, "--fix"), catalogue()); });
    request.freed = arguments.freed;
    request.marginGib = arguments.margin;
    if (!arguments.rampBatch.empty()) {
        const std::vector<int> numbers = splitNumbers(arguments.rampBatch, ':', "--ramp-batch takes FIRST:STEP, as 16:16");
        if (numbers.size() != 2)
            throw UsageError("--ramp-batch takes FIRST:STEP, as 16:16; it got " + shownText(arguments.rampBatch));
        attributed(arguments.scenario.file,
                   [&] { request.rampBatches = rampedBatches(request, catalogue(), numbers[0], numbers[1]); });
    }
    request.framework = arguments.framework;
    request.top = arguments.top;
    request.jobs = arguments.jobs;
    request.mostSimulated = arguments.most;
    const Part part = partOf(arguments.part);
    request.part = part.index;
    request.parts = part.count;
    request.isPart = !arguments.part.empty();
    return request;
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

std::vector<int> numbersOf(const std::string& list)
{
    std::vector<int> numbers =
        splitNumbers(list, ',', "--sizes takes numbers of GPUs from 1 to " + grouped(kMostNumber) + ", as 8,16,32", kMostNumber);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

/// "8192:2048,131072:128".
std::vector<Phase> phasesOf(const std::string& list)
{
    const std::string usage = "--phases takes SEQUENCE or SEQUENCE:BATCH of each phase, as 8192:2048,131072:128";
    std::vector<Phase> phases;
    for (const std::string& word : splitWords(list, ',')) {
        if (word.empty())
            throw UsageError(usage + "; it got " + shownText(list));
        const std::vector<int> numbers = splitNumbers(word, ':', usage);
        if (numbers.size() > 2)
            throw UsageError(usage + "; it got " + shownText(word));
        phases.push_back({.sequenceLength = numbers[0], .batch = numbers.size() > 1 ? numbers[1] : 0});
    }
    return phases;
}

/// "131,072 tokens, 8 sequences a step"
std::string phaseText(const Phase& phase)
{
    return counted(phase.sequenceLength, "token") + (phase.batch > 0 ? ", " + counted(phase.batch, "sequence") + " a step" : "");
}

/// Whether the first of a search is the best; nothing where there is none, which stands where it would.
std::string proofOf(const PlanAnswer& answer)
{
    const std::string proof = answer.stopped ? "stopped" : answer.best.empty() ? "-" : answer.proved ? "proved" : "not proved";
    const std::string tight =
        answer.best.empty() ? "" : tightText(answer.best.front().peakMemoryGib, answer.best.front().headroomGib);
    return tight.empty() ? proof : proof + "; " + tight;
}

/// Of the winners of several searches: on the one that leaves the least of its GPU's memory free.
std::string tightestRemark(const std::vector<const PlanAnswer*>& answers)
{
    const PlannedLayout* tightest = nullptr;
    for (const PlanAnswer* answer : answers)
        if (!answer->best.empty() && (tightest == nullptr || answer->best.front().headroomGib < tightest->headroomGib))
            tightest = &answer->best.front();
    return tightest == nullptr ? std::string() : tightRemark(tightest->peakMemoryGib, tightest->headroomGib);
}

/// What was asked for after what a search was stopped at.
void printNotBegun(const std::vector<std::string>& names, const char* between)
{
    for (std::size_t i = 0; i < names.size(); ++i)
        std::cout << (i == 0 ? "Stopped; not begun: " : between) << names[i];
    if (!names.empty())
        std::cout << "\n";
}

void printPhases(const std::vector<PlannedPhase>& planned, const std::vector<Phase>& asked)
{
    Table table({"sequence", "batch", "step", "tokens a day", "GiB", "", "layout", "with the last one's"});
    for (const PlannedPhase& each : planned) {
        const PlanAnswer& answer = each.answer;
        const std::string batch = each.phase.batch > 0 ? grouped(each.phase.batch) : "as given";
        if (answer.best.empty()) {
            table.add({grouped(each.phase.sequenceLength), batch, "-", "-", "-", proofOf(answer),
                       answer.proved ? "nothing fits" : "none found that fits", "-"});
            continue;
        }
        const PlannedLayout& best = answer.best.front();
        table.add({grouped(each.phase.sequenceLength), batch, seconds(best.stepSeconds), tokensADay(best.tokensPerSecond),
                   fixed(best.peakMemoryGib, 1), proofOf(answer), best.grid.text(),
                   each.kept                 ? seconds(each.kept->stepSeconds)
                   : each.whyNotKept.empty() ? "-"
                                             : "not possible"});
    }
    table.print(std::cout);
    std::vector<const PlanAnswer*> answers;
    for (const PlannedPhase& each : planned)
        answers.push_back(&each.answer);
    std::cout << tightestRemark(answers);
    for (const PlannedPhase& each : planned) {
        if (!each.changes.empty())
            std::cout << "Before " << grouped(each.phase.sequenceLength) << " changes: " << each.changes
                      << (each.readGib > 0
                              ? "; each GPU reads " + fixed(each.readGib, 1) + " GiB of parameters and optimizer at most"
                              : "; parameters and optimizer stay where they are")
                      << "\n";
        if (!each.whyNotKept.empty())
            std::cout << "The last phase's layout in that of " << grouped(each.phase.sequenceLength) << ": " << each.whyNotKept
                      << "\n";
    }
    std::vector<std::string> notBegun;
    for (std::size_t i = planned.size(); i < asked.size(); ++i)
        notBegun.push_back(phaseText(asked[i]));
    printNotBegun(notBegun, "; ");
}

/// The best layout of each phase of a run whose sequences grow.
void runPhases(const PlanArguments& arguments, PlanRequest request)
{
    const std::vector<Phase> phases = phasesOf(arguments.phases);
    request.top = 1;
    std::vector<PlannedPhase> planned;
    attributed(arguments.scenario.file, [&] {
        const UntilInterrupted search;
        planned = planPhases(request, catalogue(), phases);
    });
    if (arguments.json)
        std::cout << phasesAnswer(planned, phases, request).dump() << "\n";
    else
        printPhases(planned, phases);
    for (const PlannedPhase& each : planned) // a run that cannot go all the way
        if (each.answer.best.empty())
            throw Error(arguments.scenario.file + ": the phase of " + phaseText(each.phase) + ": " +
                        nothingFits(planAnswer(each.answer, ofPhase(request, each.phase))));
}

void printBySize(const std::vector<PlanAnswer>& plans, const Answer& answer, const PlanRequest& request)
{
    const bool hasRun = !answer.at("pareto").empty();
    const int paceBatch = plans.empty() ? 0 : plans.front().paceBatch;
    std::vector<std::string> header{"GPUs", "step", "tokens a day"};
    const char* const paid = request.price > 0 ? "cost" : "GPU hours";
    const bool asksPrice = request.price > 0 || request.objective == PlanObjective::gpuHours;
    if (hasRun)
        header.insert(header.end(), {"days", paid});
    else if (asksPrice)
        header.push_back(paid + ofBatch(paceBatch));
    if (paceBatch > 0)
        header.emplace_back("batch");
    header.insert(header.end(), {"GiB", "", "layout"});
    Table table(header);
    for (const PlanAnswer& plan : plans) {
        std::vector<std::string> row{grouped(plan.gpus)};
        if (plan.best.empty()) {
            row.insert(row.end(), header.size() - 3, "-");
            row.insert(row.end(), {proofOf(plan), !plan.proved        ? "none found that fits"
                                                  : plan.covered == 0 ? "nothing is legal"
                                                                      : "nothing fits"});
        } else {
            const PlannedLayout& best = plan.best.front();
            row.insert(row.end(), {seconds(best.stepSeconds), tokensADay(best.tokensPerSecond)});
            if (hasRun)
                row.push_back(threeDigits(best.runDays));
            if (hasRun || asksPrice)
                row.push_back(amount(request.price > 0 ? best.cost : best.gpuHours));
            for (const auto& [pointer, value] : best.settings)
                if (paceBatch > 0 && pointer == "training.global_batch_size")
                    row.push_back(value);
            row.insert(row.end(), {fixed(best.peakMemoryGib, 1), proofOf(plan), best.grid.text()});
        }
        table.add(std::move(row));
    }
    table.print(std::cout);
    std::vector<const PlanAnswer*> answers;
    for (const PlanAnswer& each : plans)
        answers.push_back(&each);
    std::cout << tightestRemark(answers);
    if (hasRun)
        std::cout << worthTheirPrice(answer.at("pareto")) << "\n";
    else if (asksPrice)
        std::cout << "Days, and what the run costs, follow from training.tokens: --set training.tokens=15e12\n";
    std::vector<std::string> names;
    for (const Answer& gpus : answer.at("not_begun"))
        names.push_back(countedText(gpus.get<int>(), "GPU"));
    printNotBegun(names, ", ");
}

/// The winner of each number of GPUs.
void runSizes(const PlanArguments& arguments, PlanRequest request)
{
    const std::vector<int> sizes = numbersOf(arguments.sizes);
    request.top = 1;
    std::vector<PlanAnswer> plans;
    {
        const UntilInterrupted search;
        for (const int gpus : sizes) {
            request.gpus = gpus;
            attributed(arguments.scenario.file, [&] { plans.push_back(plan(request, catalogue())); });
            if (plans.back().stopped)
                break;
        }
    }
    const std::vector<int> notBegun(sizes.begin() + static_cast<std::ptrdiff_t>(plans.size()), sizes.end());
    const Answer answer = sizesAnswer(plans, notBegun, request);
    if (arguments.json)
        std::cout << answer.dump() << "\n";
    else
        printBySize(plans, answer, request);
    if (std::all_of(plans.begin(), plans.end(), [](const PlanAnswer& plan) { return plan.best.empty(); }))
        throw Error(arguments.scenario.file + ": " + nothingFits(answer.at("sizes").back()));
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
        whys.push_back(whyAnswer(why));
    if (!whys.empty())
        json["why"] = whys;
    if (arguments.sensitivity)
        json["sensitivity"] = planSensitivityAnswer(turns);
    if (arguments.robust)
        json["robust"] = robustAnswer(robust);
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
                     "Only what this framework can do, timed with its software where the file names none (training.stack): "
                     "megatron, torchtitan, ...")
        ->check(oneOf({frameworks.begin(), frameworks.end()}));
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
            "the search in one piece says them; further layouts and why grids lost stand under \"parts\", beside each "
            "part's own first")
        ->take_all()
        ->check(notEmpty())
        ->excludes(part);
    for (CLI::Option* other : others)
        command->get_option("--merge")->excludes(other);
    command->add_flag("--json", arguments->json, "One JSON document");
    command->callback([arguments] { runPlan(*arguments); });
}

} // namespace sim::cli
