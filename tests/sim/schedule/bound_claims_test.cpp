// Every claim "no order is shorter" held against orders of all sixteen kinds: none that it speaks of is, whether its backwards
// are whole, split, or either as it likes, whatever a whole one costs. And nothing that a search returns is longer than what it
// was given.
#include "sim/schedule/check.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/search/bounds.h"
#include "sim/schedule/search/pipeline_problem.h"
#include "sim/schedule/search/synthesis.h"
#include "tests/sim/schedule/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace {

using sim::PassMemory;
using sim::PassTimes;
using sim::Schedule;
using sim::ScheduleTimes;

/// Passes of any length, W cheap or dear, whole backwards shorter or longer than split ones, transfers that take time.
std::vector<PassTimes> randomTimes(std::mt19937& random, std::size_t stages, bool blocks)
{
    const auto number = [&](unsigned least, unsigned most) {
        return static_cast<double>(least + random() % (most - least + 1)) / 4;
    };
    const unsigned dearest = random() % 2 == 0 ? 2 : 16; // of W
    std::vector<PassTimes> times(random() % 3 == 0 ? 1 : stages);
    for (PassTimes& of : times) {
        of = {number(1, 9), number(1, 9), number(0, dearest), number(0, 4)};
        if (random() % 3 != 0)
            of.fused = of.split() * number(2, 5);
        if (blocks)
            of.overlapped = (of.forward + of.backward()) * number(2, 4);
    }
    return times;
}

std::vector<PassMemory> randomMemory(std::mt19937& random, std::size_t stages)
{
    std::vector<PassMemory> memory(random() % 2 == 0 ? 1 : stages);
    for (PassMemory& of : memory) {
        of.full = static_cast<double>(1 + random() % 8) / 2;
        of.weight = of.full * static_cast<double>(random() % 5) / 4;
    }
    return memory;
}

double peakOf(const ScheduleTimes& times)
{
    return *std::max_element(times.peakActivations.begin(), times.peakActivations.end());
}

/// Some of its I followed by their W become one B.
Schedule withSomeWhole(Schedule schedule, std::mt19937& random)
{
    for (auto& actions : schedule.actions)
        for (std::size_t i = 0; i + 1 < actions.size(); ++i) {
            const sim::Action &input = actions[i], weight = actions[i + 1];
            if (input.kind != sim::ActionKind::backwardInput || weight.kind != sim::ActionKind::backwardWeight ||
                input.stage != weight.stage || input.microbatch != weight.microbatch || random() % 2 == 0)
                continue;
            actions[i].kind = sim::ActionKind::backward;
            actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
    return schedule;
}

/// What a bound speaks of: whole micro-batches through one copy of the model.
bool isSpokenOf(const Schedule& schedule)
{
    return schedule.chains == 1 && schedule.slices == 1;
}

TEST(BoundClaims, HoldForOrdersOfEveryKindUnderTheMemoryThatTheyTake)
{
    std::mt19937 random(2026);
    std::map<std::string, int> held;
    for (int round = 0; round < 4000; ++round) {
        const sim::ScheduleRequest asked = oracle::randomRequest(random);
        const Schedule whole = sim::makeSchedule(asked);
        const Schedule split = oracle::withSplitBackwards(whole, random);
        for (const Schedule& schedule : {whole, split, withSomeWhole(split, random)}) {
            if (!isSpokenOf(schedule))
                continue;
            const auto parts = static_cast<std::size_t>(schedule.stages());
            const auto times = randomTimes(random, parts, random() % 4 == 0);
            const auto memory = randomMemory(random, parts);
            const ScheduleTimes really = sim::evaluateSchedule(schedule, times, memory);
            Schedule frame = schedule;
            frame.actions.clear();
            const sim::PipelineProblem problem = sim::pipelineProblem("its own", frame, times, memory, peakOf(really));
            for (const sim::SpanBound& bound : {sim::workBound(problem), sim::firstGradientBound(problem),
                                                sim::longestPathBound(problem), sim::memoryBound(problem)})
                ASSERT_GE(really.span, bound.span * (1 - 1e-9))
                    << bound.name << ", " << schedule.kind << " p " << schedule.ranks << " v " << schedule.virtualStages << " m "
                    << schedule.microbatches << " round " << round;
            EXPECT_GE(really.makespan, really.span * (1 - 1e-9));
            ++held[asked.kind];
        }
    }
    // Two kinds run another job: two copies of the model, and cut micro-batches (uncut, it is 1F1B). `custom` is any of these,
    // `auto` comes below.
    EXPECT_EQ(held.size(), 14U);
    EXPECT_FALSE(held.contains("dualpipe"));
}

sim::SynthesisRequest searchFor(const Schedule& present, const std::vector<PassTimes>& times,
                                const std::vector<PassMemory>& memory)
{
    sim::SynthesisRequest request{.ranks = present.ranks,
                                  .microbatches = present.microbatches,
                                  .virtualStages = present.virtualStages,
                                  .times = times,
                                  .memory = memory};
    request.moves = 2000;
    request.threads = 1;
    request.present = present;
    return request;
}

TEST(Synthesis, IsNeverLongerThanThePresentOrderAndClaimsNothingThatItRefutes)
{
    std::mt19937 random(11);
    int improved = 0, kept = 0, whole = 0;
    for (int round = 0; round < 300; ++round) {
        sim::ScheduleRequest asked = oracle::randomRequest(random);
        Schedule present = sim::makeSchedule(asked);
        if (!isSpokenOf(present) || present.stages() * present.microbatches > 150)
            continue;
        if (random() % 3 == 0)
            present = withSomeWhole(oracle::withSplitBackwards(present, random), random);
        SCOPED_TRACE(asked.kind + " p " + std::to_string(asked.ranks) + " v " + std::to_string(asked.virtualStages) + " m " +
                     std::to_string(asked.microbatches) + " round " + std::to_string(round));
        const auto parts = static_cast<std::size_t>(present.stages());
        const auto times = randomTimes(random, parts, false);
        const auto memory = randomMemory(random, parts);
        const ScheduleTimes now = sim::evaluateSchedule(present, times, memory);
        sim::SynthesisRequest request = searchFor(present, times, memory);
        request.memoryCap = peakOf(now) * (1 + static_cast<double>(random() % 3) / 4);
        if (request.memoryCap == 0)
            continue;
        sim::Synthesiser search(request);
        while (!search.done())
            search.step(request.moves);
        const sim::Synthesis made = search.result();
        for (const sim::ConstructionOutcome& outcome : made.constructions)
            if (outcome.name.starts_with("the present order")) {
                EXPECT_EQ(outcome.span, now.span) << "what is made from it, with all backwards split or whole, is another order";
            }
        for (const sim::ConstructionOutcome& outcome : made.constructions)
            if (outcome.name.starts_with("an order like")) {
                EXPECT_TRUE(outcome.name.ends_with(", split backwards") || outcome.name.ends_with(", whole backwards"))
                    << outcome.name << ": which of the two";
            }
        EXPECT_THAT(sim::checkSchedule(made.schedule), testing::IsEmpty());
        EXPECT_LE(made.times.span, now.span * (1 + 1e-12)) << "longer than what was there";
        EXPECT_GE(now.span, made.bound * (1 - 1e-9)) << "claims that no order is shorter than " << made.bound;
        EXPECT_GE(made.times.span, made.bound * (1 - 1e-9));
        EXPECT_LE(made.peak, request.memoryCap * (1 + 1e-9));
        EXPECT_EQ(made.times.span, sim::evaluateSchedule(made.schedule, times, memory).span);
        const std::vector<Schedule> finalists = search.finalists();
        EXPECT_EQ(finalists.front().actions, made.schedule.actions);
        for (const Schedule& order : finalists) {
            EXPECT_THAT(sim::checkSchedule(order), testing::IsEmpty());
            EXPECT_LE(peakOf(sim::evaluateSchedule(order, times, memory)), request.memoryCap * (1 + 1e-9));
        }
        const bool isWhole = std::any_of(made.schedule.actions.front().begin(), made.schedule.actions.front().end(),
                                         [](const sim::Action& action) { return action.kind == sim::ActionKind::backward; });
        ++(made.times.span < now.span * (1 - 1e-9) ? improved : kept);
        whole += isWhole ? 1 : 0;
        // Every other kind for the same stages that keeps the cap.
        for (const sim::ScheduleFamily& family : sim::scheduleFamilies()) {
            sim::ScheduleRequest other = asked;
            other.kind = family.kind;
            other.overlapExpertComm = false;
            other.slices = 1;
            if (other.kind == "auto" || other.kind == "custom" || family.unmet(other))
                continue;
            const Schedule order = sim::makeSchedule(other);
            if (!isSpokenOf(order))
                continue;
            const ScheduleTimes really = sim::evaluateSchedule(order, times, memory);
            if (peakOf(really) <= request.memoryCap) {
                EXPECT_GE(really.span, made.bound * (1 - 1e-9)) << other.kind;
            }
        }
    }
    EXPECT_GT(improved, 50);
    EXPECT_GT(kept, 5);
    EXPECT_GT(whole, 20) << "orders of whole backwards are in its space";
}

TEST(Synthesis, TakesWholeBackwardsWhereTheyAreCheaper)
{
    // What a whole backward gathers once, a split one gathers twice: 1F1B then is better than any split order.
    sim::SynthesisRequest asked{
        .ranks = 4, .microbatches = 24, .times = {{.forward = 10, .backwardInput = 16, .backwardWeight = 12}}};
    asked.moves = 20'000;
    const sim::Synthesis split = sim::synthesise(asked);
    asked.times.front().fused = 20;
    const sim::Synthesis made = sim::synthesise(asked);
    const double oneFOneB =
        sim::evaluateSchedule(sim::makeSchedule({.kind = "1f1b", .ranks = 4, .microbatches = 24}), asked.times, asked.memory)
            .span;
    EXPECT_EQ(oneFOneB, (24 + 3) * 30);
    EXPECT_LE(made.times.span, oneFOneB);
    EXPECT_LT(oneFOneB, split.times.span);
    EXPECT_LE(made.bound, oneFOneB);
    EXPECT_EQ(made.scope, "a line");
}

TEST(Synthesis, SaysOfWhichPlacementsItsBoundIs)
{
    sim::SynthesisRequest asked{.ranks = 2, .microbatches = 4, .virtualStages = 2};
    asked.moves = 1000;
    EXPECT_THAT(sim::synthesisText(sim::synthesise(asked)),
                testing::HasSubstr("no order of whole micro-batches on a V or a loop is below"));
    // A placement of its own joins those that are tried.
    Schedule present = sim::makeSchedule({.kind = "interleaved-1f1b", .ranks = 2, .virtualStages = 2, .microbatches = 4});
    for (int& rank : present.stageToRank)
        rank = 1 - rank;
    std::swap(present.actions[0], present.actions[1]);
    asked.present = present;
    const sim::Synthesis made = sim::synthesise(asked);
    EXPECT_THAT(made.scope, testing::HasSubstr("placement like the present one's"));
    EXPECT_LE(made.times.span, sim::evaluateSchedule(present).span);
}

} // namespace
