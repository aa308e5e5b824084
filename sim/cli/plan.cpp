#include "sim/cli/command.h"
#include "sim/cli/number_lists.h"
#include "sim/cli/options.h"
#include "sim/cli/part.h"
#include "sim/cli/table.h"
#include "sim/scenario/files.h"
#include "sim/scenario/pointer_text.h"

#include "sim/answers/plan.h"
#include "sim/memory_limit.h"
#include "sim/planner/least_change.h"
#include "sim/planner/phases.h"
#include "sim/planner/planner.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace sim::cli {
namespace {

constexpr std::chrono::seconds kBetweenLines{30}; // of progress in a log

std::atomic<bool> isInterrupted{false};
extern "C" void interruptPlan(int)
{
    isInterrupted = true;
}

/// While it lives Ctrl-C ends what is searched, and what was found by then is told.
class UntilInterrupted {
public:
    UntilInterrupted() : m_before((isInterrupted = false, std::signal(SIGINT, interruptPlan))) {}
    ~UntilInterrupted() { std::signal(SIGINT, m_before); }
    UntilInterrupted(const UntilInterrupted&) = delete;
    UntilInterrupted& operator=(const UntilInterrupted&) = delete;

private:
    void (*m_before)(int);
    CancelScope m_scope{isInterrupted};
};

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

constexpr int kMostNumber = 1 << 20;

PlanRequest requestOf(const PlanArguments& arguments)
{
    PlanRequest request{.document = arguments.scenario.document()};
    request.gpus = arguments.gpus;
    request.objective = arguments.objective == "headroom"    ? PlanObjective::headroom
                        : arguments.objective == "gpu-hours" ? PlanObjective::gpuHours
                        : arguments.objective == "cost"      ? PlanObjective::cost
                                                             : PlanObjective::time;
    request.price = arguments.price;
    if (request.objective == PlanObjective::cost && request.price <= 0)
        throw UsageError("--objective cost needs --price, of a GPU for an hour");
    for (const std::string& assignment : arguments.fixed)
        request.fixed.push_back(settingOf(assignment, "--fix"));
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

std::string valueIn(const Answer& settings, const char* pointer)
{
    if (!settings.contains(pointer))
        return "-";
    const Answer& value = settings.at(pointer);
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string gridIn(const Answer& grid)
{
    std::string text;
    for (const char* key : {"tp", "cp", "pp", "dp", "ep"})
        text += (text.empty() ? "" : ", ") + std::string(key) + " " + std::to_string(grid.at(key).get<int>());
    return text;
}

/// Grids that are not legal, by the key whose rule they break, with one of each.
void printRules(const Answer& answer, std::ostream& out)
{
    std::map<std::string, std::pair<int, const Answer*>> byKey;
    for (const Answer& grid : answer.at("rejected"))
        if (grid.at("reason") == "rule") {
            const std::string text = grid.at("text").get<std::string>();
            auto& [count, first] = byKey[text.substr(0, text.find(':'))];
            if (count++ == 0)
                first = &grid;
        }
    for (const auto& [key, of] : byKey)
        out << "  " << countedText(of.first, "grid") << (of.first > 1 ? ", as " : ", ") << gridIn(*of.second)
            << ": rule: " << of.second->at("text").get<std::string>() << "\n";
}

/// Why there is no layout: the rule that forbids most, or what the leanest holds.
std::string whyNothing(const Answer& answer)
{
    const Answer& rejected = answer.at("rejected");
    if (rejected.empty())
        return "; no sizes of tp, cp, pp, dp have this product with what is held: fewer --fix, or another --gpus";
    const Answer* leanest = nullptr;
    std::map<std::string, int> rules;
    for (const Answer& grid : rejected) {
        if (grid.at("reason") == "rule")
            ++rules[grid.at("text").get<std::string>().substr(0, grid.at("text").get<std::string>().find(':'))];
        if (grid.contains("need_gib") &&
            (leanest == nullptr || grid.at("need_gib").get<double>() < leanest->at("need_gib").get<double>()))
            leanest = &grid;
    }
    if (leanest != nullptr)
        return "; the leanest that was laid out, " + gridIn(*leanest) + ", holds " +
               fixed(leanest->at("need_gib").get<double>(), 1) +
               " GiB on its fullest GPU: more GPUs (--gpus), a smaller --margin or "
               "fewer --fix may help";
    if (answer.at("covered").get<std::int64_t>() > 0)
        return "; more GPUs (--gpus), a smaller --margin or fewer --fix may help";
    const auto most =
        std::max_element(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const Answer& grid : rejected)
        if (most != rules.end() && grid.at("text").get<std::string>().starts_with(most->first))
            return "; a rule forbids each, as of " + gridIn(grid) + ": " + grid.at("text").get<std::string>();
    return {};
}

/// From the JSON, so that what is merged prints like what was searched.
void print(const Answer& answer, std::ostream& out)
{
    const Answer& best = answer.at("best");
    out << planProof(answer) << "\n";
    if (!best.empty()) {
        out << "\n";
        Table table({"", "tp", "cp", "pp", "dp", "ep", "schedule", "v", "micro-batch", "zero", "shard", "sp", "recompute", "step",
                     "closed form", "GiB", ""});
        int place = 0;
        for (const Answer& layout : best) {
            const Answer& settings = layout.at("settings");
            const auto value = [&](const char* pointer) { return valueIn(settings, pointer); };
            table.add({std::to_string(++place), value("/layout/tp"), value("/layout/cp"), value("/layout/pp"),
                       value("/layout/dp"), value("/layout/ep"), value("/schedule/kind"), value("/schedule/virtual_stages"),
                       value("/training/micro_batch_size"), value("/layout/zero_stage"), value("/layout/dp_shard"),
                       value("/layout/sequence_parallel"), value("/training/recompute"),
                       seconds(layout.at("step_time_s").get<double>()), seconds(layout.at("closed_form_s").get<double>()),
                       fixed(layout.at("peak_memory_gib").get<double>(), 1),
                       layout.at("tie_with_first").get<bool>() ? "tie with the first" : ""});
        }
        table.print(out);
        if (best.size() > 1)
            out << "Places after the first are of what was simulated; others between them may not have been.\n";
        place = 0;
        for (const Answer& layout : best)
            if (++place; layout.at("settings").contains("/schedule/layers_per_stage"))
                out << "Layers of each stage of " << place << ": " << valueIn(layout.at("settings"), "/schedule/layers_per_stage")
                    << "\n";
    }
    std::map<std::string, int> reasons;
    for (const Answer& grid : answer.at("rejected"))
        ++reasons[grid.at("reason").get<std::string>()];
    out << "\nGrids not chosen:";
    for (const auto& [reason, number] : reasons)
        out << " " << number << " " << reason;
    out << "\n";
    printRules(answer, out);
    for (const Answer& grid : answer.at("rejected")) {
        if (grid.at("reason") == "rule")
            continue;
        out << "  tp " << grid.at("tp") << ", cp " << grid.at("cp") << ", pp " << grid.at("pp") << ", dp " << grid.at("dp");
        if (grid.at("ep") != 1)
            out << ", ep " << grid.at("ep") << ", etp " << grid.at("etp");
        out << ": " << grid.at("reason").get<std::string>() << ": " << grid.at("text").get<std::string>() << "\n";
    }
    out << "\nHeld:";
    for (const auto& [pointer, value] : answer.at("held_fixed").items())
        out << " " << pointer << "=" << value.dump();
    out << "\n";
}

std::string threeDigits(double value)
{
    return numberText(value, Unit::number);
}

/// What was tried on the way to the fewest GPUs in time.
void printSizes(const Answer& answer, std::ostream& out)
{
    const Answer& deadline = answer.at("deadline");
    const std::string days = threeDigits(deadline.at("days").get<double>()) + " days";
    for (const Answer& size : deadline.at("tried")) {
        out << "  " << countedText(size.at("gpus").get<std::int64_t>(), "GPU") << ": ";
        if (size.at("meets").get<bool>())
            out << "in time\n";
        else if (size.contains("problem"))
            out << size.at("problem").get<std::string>() << "\n";
        else if (size.at("least_days").is_null())
            out << "nothing fits\n";
        else
            out << (size.at("proved").get<bool>() ? "takes " : "not known to be in time: takes ")
                << threeDigits(size.at("least_days").get<double>()) << " days at least\n";
    }
    const std::int64_t gpus = answer.at("gpus").get<std::int64_t>();
    const std::string tokens = threeDigits(deadline.at("tokens").get<double>() / 1e9) + " billion tokens in " + days;
    if (gpus == 0)
        out << "None of these trains " << tokens << (answer.at("stopped").get<bool>() ? ", as far as was looked\n\n" : "\n\n");
    else
        out << (deadline.at("fewest").get<bool>() ? "The fewest of these that train " : "The fewest that were found to train ")
            << tokens << ": " << grouped(gpus) << ", in " << threeDigits(deadline.at("run_days").get<double>())
            << " days of steps\n\n";
}

void printRobust(const RobustChoice& choice)
{
    if (choice.layouts.empty())
        return;
    const auto letter = [](std::size_t i) { return std::string(1, static_cast<char>('A' + i)); };
    std::cout << "\nWhere not all goes as planned, of the layouts near the first:\n";
    std::vector<std::string> header{"case"};
    for (std::size_t i = 0; i < choice.layouts.size(); ++i) {
        std::cout << "  " << letter(i) << "  " << choice.names[i] << "\n";
        header.push_back(letter(i));
    }
    std::cout << "\n";
    Table table(header);
    for (std::size_t of = 0; of < choice.cases.size(); ++of) {
        std::vector<std::string> row{choice.cases[of].name};
        for (const std::vector<double>& ofLayout : choice.seconds)
            row.push_back(seconds(ofLayout[of]));
        table.add(std::move(row));
    }
    std::vector<std::string> worst{"most behind the best of them"};
    for (std::size_t i = 0; i < choice.layouts.size(); ++i)
        worst.push_back(percent(choice.worstRegret(i)));
    table.add(std::move(worst));
    table.print(std::cout);
    std::cout << "\n" << robustText(choice) << "\n";
}

void printWhy(const Answer& why)
{
    std::cout << "\nWhy not " << why.at("asked").at("pointer").get<std::string>() << " = " << why.at("asked").at("value").dump()
              << "? ";
    if (why.at("best").is_null()) {
        std::cout << why.at("text").get<std::string>() << "\n";
        return;
    }
    if (const double tokens = why.at("tokens_ratio").get<double>(); tokens != 1) { // a step of other work: per token
        std::cout << (why.at("proved").get<bool>() ? "The best with it takes " : "The best with it of those simulated takes ")
                  << seconds(why.at("best").at("step_time_s").get<double>()) << " for " << threeDigits(tokens)
                  << " times the tokens of a step: per token "
                  << threeDigits(std::abs(why.at("per_token").get<double>() - 1) * 100) << " % "
                  << (why.at("per_token").get<double>() >= 1 ? "more" : "less") << "\n";
        return;
    }
    const double delta = why.at("delta_s").get<double>();
    std::cout << (why.at("proved").get<bool>() ? "The best with it takes " : "The best with it of those simulated takes ")
              << seconds(why.at("best").at("step_time_s").get<double>()) << ", " << seconds(std::abs(delta))
              << (delta >= 0 ? " more" : " less") << " (" << why.at("sure").get<std::string>() << "):\n";
    for (const Answer& term : why.at("terms")) {
        const double seconds_ = term.at("delta_s").get<double>();
        std::cout << "  " << term.at("part").get<std::string>() << (seconds_ >= 0 ? " +" : " -") << seconds(std::abs(seconds_))
                  << "\n";
    }
}

/// "best 9.802 s, floor 9.363 s", or of bytes where those are made least.
std::string standing(const PlanProgress& now)
{
    const auto either = [&](double ofSeconds, double ofBytes) {
        return ofBytes > 0     ? fixed(ofBytes / kBytesPerGib, 1) + " GiB"
               : ofSeconds > 0 ? seconds(ofSeconds)
                               : std::string("none yet");
    };
    return "best " + either(now.floorBytes > 0 ? 0 : now.bestSeconds, now.bestBytes) + ", floor " +
           either(now.floorSeconds, now.floorBytes);
}

Answer mergedOf(const PlanArguments& arguments)
{
    std::vector<Answer> parts;
    for (const std::string& file : arguments.merge) {
        constexpr std::size_t kMostBytes = std::size_t{256} << 20;
        Answer part = Answer::parse(readFile(file, kMostBytes, Pipes::read), nullptr, false);
        if (part.is_discarded())
            throw Error(file + ": is not JSON");
        if (!part.is_object() || !part.contains("part"))
            throw Error(file + ": is no answer of plan --part I/N --json: it does not say which part it is");
        parts.push_back(std::move(part));
    }
    return mergedPlans(parts, arguments.top);
}

/// What to type for it: "--set layout.zero_stage=1".
std::string overridesOf(const SuggestedEdit& edit)
{
    std::string words;
    for (const Change& change : edit.changes) {
        const std::string assignment = dotted(change.pointer) + (change.json ? "=" + *change.json : std::string());
        words += (words.empty() ? "" : " ") + std::string("--set ") +
                 (assignment.find_first_of("{\"[ ") == std::string::npos ? assignment : "'" + assignment + "'");
    }
    return words;
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
    if (arguments.json) {
        std::cout << phasesAnswer(planned, request).dump() << "\n";
        return;
    }
    Table table({"sequence", "batch", "step", "tokens a day", "GiB", "", "layout", "with the last one's"});
    for (const PlannedPhase& each : planned) {
        const PlanAnswer& answer = each.answer;
        const std::string proof = answer.stopped ? "stopped" : answer.proved ? "proved" : "not proved";
        const std::string batch = each.phase.batch > 0 ? grouped(each.phase.batch) : "as given";
        if (answer.best.empty()) {
            table.add({grouped(each.phase.sequenceLength), batch, "-", "-", "-", proof,
                       answer.proved ? "nothing fits" : "none found that fits", "-"});
            continue;
        }
        const PlannedLayout& best = answer.best.front();
        table.add({grouped(each.phase.sequenceLength), batch, seconds(best.stepSeconds),
                   numberText(best.tokensPerSecond * 86400 / 1e9, Unit::number) + " billion", fixed(best.peakMemoryGib, 1), proof,
                   best.grid.text(),
                   each.kept                 ? seconds(each.kept->stepSeconds)
                   : each.whyNotKept.empty() ? "-"
                                             : "not possible"});
    }
    table.print(std::cout);
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
}

/// The winner of each number of GPUs.
void runSizes(const PlanArguments& arguments, PlanRequest request)
{
    const std::vector<int> sizes = numbersOf(arguments.sizes);
    request.top = 1;
    Answer all = Answer::array();
    Table table({"GPUs", "step", "tokens a day", "GiB", "", "layout"});
    std::optional<UntilInterrupted> search(std::in_place);
    for (const int gpus : sizes) {
        request.gpus = gpus;
        PlanAnswer answer;
        attributed(arguments.scenario.file, [&] { answer = plan(request, catalogue()); });
        all.push_back(planAnswer(answer, request));
        const std::string proof = answer.stopped ? "stopped" : answer.proved ? "proved" : "not proved";
        if (answer.best.empty()) {
            table.add({grouped(gpus), "-", "-", "-", proof, answer.proved ? "nothing fits" : "none found that fits"});
        } else {
            const PlannedLayout& best = answer.best.front();
            table.add({grouped(gpus), seconds(best.stepSeconds),
                       numberText(best.tokensPerSecond * 86400 / 1e9, Unit::number) + " billion", fixed(best.peakMemoryGib, 1),
                       proof, best.grid.text()});
        }
        if (answer.stopped)
            break;
    }
    search.reset();
    if (arguments.json)
        std::cout << Answer{{"sizes", all}}.dump() << "\n";
    else
        table.print(std::cout);
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
            std::cout << (change.proved ? "No fewer settings are enough, and of as many none are faster, of " : "Not proved, of ")
                      << countedText(change.setsTried, "set") << " of settings that were tried with all their values\n"
                      << overridesOf(change.edit) << "\n";
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
        std::ostringstream text;
        try {
            if (!arguments.json)
                print(merged, text);
        } catch (const Answer::exception&) {
            throw Error("What is merged are answers of plan --part I/N --json; one of them lacks something");
        }
        std::cout << (arguments.json ? merged.dump() + "\n" : text.str());
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
            requirePlannable(request, catalogue(), settingOf(asked, "--why"));
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
            reasons.push_back(whyNot(request, catalogue(), answer, settingOf(asked, "--why")));
        try {
            if (arguments.sensitivity) {
                const auto layouts = comparedLayouts(request, catalogue(), answer);
                compared = layouts.size();
                turns = planSensitivities(request, catalogue(), layouts);
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
    if (arguments.json) {
        std::cout << json.dump() << "\n";
    } else {
        if (arguments.days > 0)
            printSizes(json, std::cout);
        if (arguments.days <= 0 || sizes.gpus > 0)
            print(json, std::cout);
        for (const Answer& why : whys)
            printWhy(why);
        if (arguments.sensitivity)
            std::cout << "\nThe first beside the " << compared
                      << " nearest layouts, itself among them, while one constant moves:\n";
        for (const PlanSensitivity& turn : turns)
            std::cout << "  " << sensitivityText(turn) << "\n";
        if (arguments.robust)
            printRobust(robust);
    }
    if (arguments.days > 0) {
        if (sizes.gpus == 0)
            throw Error(arguments.scenario.file + ": no number of GPUs that was tried is done in " + threeDigits(arguments.days) +
                        " days; more GPUs (--gpus), more --days or fewer --fix may help");
    } else if (answer.best.empty())
        throw Error(arguments.scenario.file + ": no layout on " + std::to_string(answer.gpus) +
                    (answer.gpus == 1 ? " GPU" : " GPUs") + " was found that is legal and fits" +
                    (answer.stopped ? " before it was stopped" : "") + whyNothing(json));
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
        ->check(oneOf({"time", "headroom", "gpu-hours", "cost"}));
    command->add_option("--price", arguments->price, "Of a GPU for an hour")->check(positiveNumber(Zero::refused));
    command->add_option("--fix", arguments->fixed, "POINTER=VALUE: held there, as layout.tp=8; repeatable")->take_all();
    command->add_option("--free", arguments->freed, "POINTER: searched as well, as layout.order; repeatable")->take_all();
    command->add_option("--margin", arguments->margin, "GiB of each GPU that stay free")->check(positiveNumber(Zero::taken));
    CLI::Option* ramp = command
                            ->add_option("--ramp-batch", arguments->rampBatch,
                                         "FIRST:STEP: the run begins with batches of FIRST and adds STEP up to the file's, as "
                                         "Megatron's --rampup-batch-size; a layout has to be legal with each of them")
                            ->check(something());
    command->add_option("--for", arguments->framework, "Only what this framework can do: megatron, torchtitan, ...")
        ->check(something());
    command->add_option("--top", arguments->top, "So many of the best")->check(wholeNumber(1, 1000));
    command->add_option("--why", arguments->why, "POINTER=VALUE: the best with it beside the best of all; repeatable")
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
            ->check(something());
    for (const char* other : {"--why", "--top", "--gpus", "--sensitivity", "--robust", "--days"})
        bySize->excludes(command->get_option(other));
    CLI::Option* phases = command
                              ->add_option("--phases", arguments->phases,
                                           "SEQUENCE[:BATCH],...: a run whose sequences grow: the best layout of each phase, "
                                           "what changes between them, and what "
                                           "each takes with the last one's")
                              ->check(something());
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
    const std::vector<CLI::Option*> others = command->get_options([](const CLI::Option* option) {
        return option->get_name() != "--top" && option->get_name() != "--help" && !option->get_positional();
    });
    CLI::Option* part = command
                            ->add_option("--part", arguments->part,
                                         "I/N: the I-th of N parts of the grids; auto: as mpirun, srun or a Slurm array says")
                            ->check(something());
    part->excludes(days)->excludes(sensitivity)->excludes(robust)->excludes(least)->excludes(bySize)->excludes(phases);
    command
        ->add_option(
            "--merge", arguments->merge,
            "Puts the --json of all parts together: the first of all, whether it is proved, and grids that break a rule, as "
            "the search in one piece says them; further layouts and why grids lost stand under \"parts\", beside each "
            "part's own first")
        ->take_all()
        ->excludes(part);
    for (CLI::Option* other : others)
        command->get_option("--merge")->excludes(other);
    command->add_flag("--json", arguments->json, "One JSON document");
    command->callback([arguments] { runPlan(*arguments); });
}

} // namespace sim::cli
