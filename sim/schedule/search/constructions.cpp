#include "sim/schedule/search/constructions.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/schedule/families/family_parts.h"
#include "sim/schedule/families/zb_greedy.h"
#include "sim/schedule/search/list_scheduler.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace sim {

namespace {

/// Every B as I and W: the gradient leaves earlier, nothing else changes. The k-th pass of a kind on a stage takes micro-batch k:
/// micro-batches are alike.
Schedule normalised(const PipelineProblem& problem, const Schedule& from)
{
    Schedule schedule = problem.frame;
    schedule.actions.assign(problem.ranks(), {});
    std::vector<std::array<int, 3>> counts(problem.stages());
    CancelPoll poll;
    for (std::size_t rank = 0; rank < from.actions.size(); ++rank)
        for (const Action& action : from.actions[rank]) {
            poll();
            auto& count = counts[static_cast<std::size_t>(action.stage)];
            auto& actions = schedule.actions[rank];
            if (action.kind == ActionKind::forward)
                actions.push_back(forwardOf(action.stage, count[0]++));
            if (action.kind == ActionKind::backward || action.kind == ActionKind::backwardInput)
                actions.push_back(inputGradientOf(action.stage, count[1]++));
            if (action.kind == ActionKind::backward || action.kind == ActionKind::backwardWeight)
                actions.push_back(weightGradientOf(action.stage, count[2]++));
        }
    return schedule;
}

double mostOf(const std::vector<double>& values)
{
    return *std::max_element(values.begin(), values.end());
}

ScheduleTimes timesOf(const PipelineProblem& problem, const Schedule& schedule)
{
    return evaluateSchedule(schedule, problem.times, problem.memory);
}

Schedule oneByOne(const PipelineProblem& problem)
{
    Schedule schedule = problem.frame;
    schedule.actions.assign(problem.ranks(), {});
    const int stages = schedule.stages();
    CancelPoll poll;
    for (int microbatch = 0; microbatch < schedule.microbatches; ++microbatch) {
        poll(3 * problem.stages());
        const auto put = [&](Action action) {
            schedule.actions[problem.rankOf(static_cast<std::size_t>(action.stage))].push_back(action);
        };
        for (int stage = 0; stage < stages; ++stage)
            put(forwardOf(stage, microbatch));
        for (int stage = stages; stage-- > 0;) {
            put(inputGradientOf(stage, microbatch));
            put(weightGradientOf(stage, microbatch));
        }
    }
    return schedule;
}

std::string number(double value)
{
    std::ostringstream text;
    text << value;
    return text.str();
}

/// "1 1 1 1, 1 3 1": strides, turns.
std::string textOf(const BuildingBlock& block)
{
    std::string text;
    for (const int stride : block.stride)
        text += (text.empty() ? "" : " ") + std::to_string(stride);
    text += ",";
    for (const int turn : block.turn)
        text += " " + std::to_string(turn);
    return text;
}

/// The family's schedule on the problem's placement; what it cannot do goes to whyNot.
std::optional<Schedule> familySchedule(const PipelineProblem& problem, const std::string& kind, std::string& whyNot)
{
    const ScheduleRequest request{.kind = kind,
                                  .ranks = problem.frame.ranks,
                                  .virtualStages = problem.frame.virtualStages,
                                  .microbatches = problem.frame.microbatches,
                                  .times = problem.times,
                                  .memory = problem.memory};
    const ScheduleFamily* family = findScheduleFamily(kind);
    if (const auto unmet = family->unmet(request)) {
        whyNot = *unmet;
        return std::nullopt;
    }
    return family->make(request);
}

std::optional<Schedule> scheduleFor(const PipelineProblem& problem, const Construction& construction, std::string& whyNot)
{
    switch (construction.kind) {
    case Construction::Kind::oneByOne:
        return oneByOne(problem);
    case Construction::Kind::family:
        return familySchedule(problem, construction.family, whyNot);
    case Construction::Kind::greedy: {
        auto plan =
            planZeroBubble(problem.frame.ranks, problem.frame.microbatches, problem.times, problem.memory, construction.limit);
        if (plan)
            return std::move(plan->schedule);
        whyNot = "finds no order within " + number(construction.limit);
        return std::nullopt;
    }
    case Construction::Kind::list:
        return listSchedule(problem, listRules(problem.frame.virtualStages > 1)[construction.listRules]);
    case Construction::Kind::block:
        return repeatedBlock(problem, construction.block);
    case Construction::Kind::given:
        return construction.schedule;
    }
    return std::nullopt;
}

} // namespace

std::vector<Construction> constructionsFor(const PipelineProblem& problem)
{
    using Kind = Construction::Kind;
    const std::size_t passes = 3 * problem.stages() * static_cast<std::size_t>(problem.frame.microbatches);
    std::vector<Construction> all{{.kind = Kind::oneByOne, .name = "one micro-batch at a time"}};
    const auto addFamilies = [&](std::initializer_list<const char*> kinds) {
        for (const char* kind : kinds)
            all.push_back({.kind = Kind::family, .name = kind, .family = kind});
    };
    if (problem.whole) {
        if (problem.topology == "line")
            addFamilies({"1f1b", "gpipe"});
        else if (problem.topology == "V")
            addFamilies({"dualpipe-v", "zb-v"});
        else if (problem.topology == "loop")
            addFamilies({"interleaved-1f1b", "looped-bfs"});
    } else if (problem.topology == "line") {
        addFamilies({"1f1b", "zb-h1", "zb-h2"});
        double full = 0;
        for (const PassMemory& memory : problem.memory)
            full = std::max(full, memory.full);
        const double enough = full * problem.frame.microbatches; // a limit beyond it changes nothing
        for (int fewer = 0; fewer <= 3; ++fewer) {
            const double limit = std::min(problem.cap, enough) - fewer * full;
            if (limit >= full)
                all.push_back({.kind = Kind::greedy,
                               .name = fewer == 0 ? "zero-bubble greedy"
                                                  : "zero-bubble greedy with " + std::to_string(fewer) +
                                                        (fewer == 1 ? " activation less" : " activations less"),
                               .limit = limit});
        }
    } else if (problem.topology == "V") {
        addFamilies({"zb-v", "v-half", "v-min"});
        // As many as take a tenth of a second or so.
        const std::vector<BuildingBlock> blocks = buildingBlocks(problem, std::clamp<std::size_t>(400'000 / passes, 16, 400));
        for (const BuildingBlock& block : blocks)
            all.push_back({.kind = Kind::block, .name = "building block " + textOf(block), .block = block});
    } else if (problem.topology == "loop") {
        addFamilies({"interleaved-1f1b", "interleaved-zb"});
    }
    const std::vector<ListRules> rules = listRules(problem.frame.virtualStages > 1);
    // Of very large problems only some, in even steps: seconds instead of minutes.
    constexpr std::size_t kMostPasses = 10'000'000;
    const std::size_t step = 1 + passes * rules.size() / kMostPasses;
    for (std::size_t i = 0; i < rules.size(); i += step)
        all.push_back({.kind = Kind::list, .name = "list, " + rules[i].text(), .listRules = i});
    return all;
}

Candidate construct(const PipelineProblem& problem, const Construction& construction)
{
    Candidate candidate;
    const auto made = scheduleFor(problem, construction, candidate.whyNot);
    if (!made)
        return candidate;
    candidate.schedule = normalised(problem, *made);
    const ScheduleTimes times = timesOf(problem, *candidate.schedule);
    candidate.span = times.span;
    candidate.peak = mostOf(times.peakActivations);
    candidate.fits = problem.fits(candidate.peak);
    if (candidate.fits)
        return candidate;
    candidate.whyNot = "holds " + number(candidate.peak) + " of " + number(problem.cap);
    candidate.repaired = followSchedule(problem, *candidate.schedule);
    candidate.repairedSpan = timesOf(problem, *candidate.repaired).span;
    return candidate;
}

} // namespace sim
