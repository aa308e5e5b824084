// Several searches one after the other: of each phase of a run, and for each number of GPUs.
#include "sim/cli/number_lists.h"
#include "sim/cli/plan_arguments.h"
#include "sim/cli/plan_print.h"
#include "sim/cli/table.h"
#include "sim/cli/until_interrupted.h"

#include "sim/answers/plan.h"
#include "sim/planner/phases.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <iostream>

namespace sim::cli {
namespace {

constexpr int kMostNumber = 1 << 20;

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
    double mostGib = 0;
    for (const PlannedPhase& each : planned)
        mostGib = std::max(mostGib, each.answer.best.empty() ? 0 : each.answer.best.front().peakMemoryGib);
    const MemoryColumn memory(mostGib);
    Table table({"sequence", "batch", "step", "tokens a day", memory.name(), "", "layout", "with the last one's"});
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
                   memory.text(best.peakMemoryGib), proofOf(answer), best.grid.text(),
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
    double mostGib = 0;
    for (const PlanAnswer& plan : plans)
        mostGib = std::max(mostGib, plan.best.empty() ? 0 : plan.best.front().peakMemoryGib);
    const MemoryColumn memory(mostGib);
    header.insert(header.end(), {memory.name(), "", "layout"});
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
            row.insert(row.end(), {memory.text(best.peakMemoryGib), proofOf(plan), best.grid.text()});
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

} // namespace

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

} // namespace sim::cli
