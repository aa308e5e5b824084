#include "app/session/edit.h"
#include "app/session/schedule_candidates.h"
#include "sim/legal/schedule_request.h"
#include "sim/schedule/families/families.h"
#include "sim/simulate/simulation.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using namespace test;

constexpr const char* kFourStages = "17-schedule-1f1b.json";
constexpr const char* kByHand = "20-schedule-by-hand.json";

ScheduleCandidates candidatesOf(const char* file, const sim::Schedule* present = nullptr, const sim::Trace* trace = nullptr)
{
    const sim::ScenarioDocument d = document(file);
    return scheduleCandidates(d, catalogue(), scenario(d), present, trace);
}

const ScheduleCandidate& find(const ScheduleCandidates& candidates, std::string_view kind)
{
    const auto found = std::find_if(candidates.all.begin(), candidates.all.end(), [&](const auto& c) { return c.kind == kind; });
    if (found == candidates.all.end())
        throw std::runtime_error("no candidate " + std::string(kind));
    return *found;
}

TEST(PassTimes, AreMediansOfTheTraceAndReproduceThePipeline)
{
    const auto simulation = sim::simulate(scenario(document(kFourStages)));
    const sim::Trace trace = simulation->trace(sim::TraceDetail::actions);
    const MeasuredPasses passes = measurePasses(trace, simulation->schedule(), simulation->scenario().schedule.layersPerStage);
    ASSERT_EQ(passes.times.size(), 4U);
    EXPECT_FALSE(passes.splitIsMeasured);
    std::int64_t lastPass = 0;
    for (const sim::Track& track : trace.tracks)
        for (std::size_t i = 0; i < track.size(); ++i)
            if (trace.kinds[track.kind[i]].opClass != sim::OpClass::optimizer)
                lastPass = std::max(lastPass, track.startNs[i] + track.durationNs[i]);
    const sim::PassMemory memory{};
    const double makespan =
        sim::evaluateSchedule(simulation->schedule(), passTimesFor(passes, simulation->schedule(), passes.layers),
                              std::span(&memory, 1))
            .makespan;
    EXPECT_NEAR(makespan / static_cast<double>(lastPass), 1, 0.02) << "the pipeline alone, as it was simulated";
}

TEST(PassTimes, AnotherCutTakesLayersAndEndsWithIt)
{
    MeasuredPasses passes; // a layer takes 10 forwards; the embedding 2, the head 6
    passes.layers = {2, 4, 3};
    passes.times = {{.forward = 22, .backwardInput = 2, .backwardWeight = 2, .comm = 1},
                    {.forward = 40, .backwardInput = 4, .backwardWeight = 4, .comm = 1},
                    {.forward = 36, .backwardInput = 3, .backwardWeight = 3, .comm = 1}};
    const sim::Schedule finer =
        sim::makeSchedule({.kind = "interleaved-1f1b", .ranks = 3, .virtualStages = 2, .microbatches = 3});
    const std::vector<int> layers{2, 2, 2, 1, 1, 1};
    const auto times = passTimesFor(passes, finer, layers);
    ASSERT_EQ(times.size(), layers.size());
    for (std::size_t part = 0; part < layers.size(); ++part) {
        EXPECT_DOUBLE_EQ(times[part].forward, 10.0 * layers[part] + (part == 0 ? 2 : part == 5 ? 6 : 0)) << part;
        EXPECT_DOUBLE_EQ(times[part].backward(), 2.0 * layers[part]) << part;
        EXPECT_DOUBLE_EQ(times[part].comm, 1);
    }
    const sim::Schedule sliced = sim::makeSchedule({.kind = "seq-1f1b", .ranks = 3, .microbatches = 3, .slices = 2});
    EXPECT_DOUBLE_EQ(passTimesFor(passes, sliced, passes.layers)[1].forward, 20) << "half of a sequence";
}

TEST(ScheduleCandidates, ListEveryFamilyThatCanBeMade)
{
    const ScheduleCandidates candidates = candidatesOf(kFourStages);
    std::size_t available = 0;
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies())
        available += family.kind != "custom" ? 1U : 0U;
    EXPECT_EQ(candidates.all.size(), available);
    EXPECT_TRUE(find(candidates, "1f1b").isCurrent);
    for (const ScheduleCandidate& c : candidates.all) {
        EXPECT_FALSE(c.character.empty());
        EXPECT_TRUE(c.sketch) << c.kind;
        EXPECT_NE(c.whyNot.empty(), !c.worth.has_value()) << c.kind << ": numbers or a reason";
    }
    EXPECT_TRUE(find(candidatesOf(kByHand), "custom").isCurrent);
}

/// Closed forms for F = I = W = 1, p = 4, m = 8 (bubble of the longest span; memory against 1F1B's p micro-batches).
TEST(ScheduleCandidates, WorthIsThatOfTheClosedForms)
{
    const ScheduleCandidates candidates = candidatesOf(kFourStages);
    EXPECT_FALSE(candidates.isMeasured);
    const auto worth = [&](std::string_view kind) { return *find(candidates, kind).worth; };
    EXPECT_DOUBLE_EQ(worth("1f1b").makespanNs, (8 + 3) * 3);
    EXPECT_DOUBLE_EQ(worth("1f1b").peakOver1f1b, 1);
    EXPECT_DOUBLE_EQ(worth("gpipe").peakOver1f1b, 2) << "all eight instead of four";
    EXPECT_DOUBLE_EQ(worth("zb-h1").idleOfSpan, 3.0 / (24 + 3)) << "mT + (p - 1) I";
    EXPECT_DOUBLE_EQ(worth("zb-h2").idleOfSpan, 0);
    EXPECT_DOUBLE_EQ(worth("zb-h2").peakOver1f1b, 7.0 / 4);
    EXPECT_DOUBLE_EQ(worth("zb-v").idleOfSpan, 0);
    EXPECT_DOUBLE_EQ(worth("zb-v").peakOver1f1b, 1) << "2p chunks, each half of a stage";
}

/// What the chooser foretells, against simulating each: the pipeline alone, kernels priced anew for every cut.
TEST(ScheduleCandidates, ForetellWhatSimulatingShows)
{
    const sim::ScenarioDocument d = document(kFourStages);
    const sim::Scenario s = scenario(d);
    const auto present = sim::simulate(s);
    const sim::Trace trace = present->trace(sim::TraceDetail::actions);
    const ScheduleCandidates candidates = scheduleCandidates(d, catalogue(), s, &present->schedule(), &trace);
    EXPECT_TRUE(candidates.isMeasured);
    for (const ScheduleCandidate& c : candidates.all) {
        if (!c.worth)
            continue;
        sim::ScenarioDocument chosen = d;
        apply(chosen, makeScheduleEdit(d, &s, c.kind));
        const sim::Trace real = sim::simulate(scenario(chosen))->trace(sim::TraceDetail::actions);
        std::int64_t lastPass = 0;
        for (const sim::Track& track : real.tracks)
            for (std::size_t i = 0; i < track.size(); ++i)
                if (real.kinds[track.kind[i]].opClass != sim::OpClass::optimizer)
                    lastPass = std::max(lastPass, track.startNs[i] + track.durationNs[i]);
        RecordProperty(c.kind, std::to_string(c.worth->makespanNs / static_cast<double>(lastPass)));
        EXPECT_NEAR(c.worth->makespanNs / static_cast<double>(lastPass), 1, 0.12) << c.kind;
    }
}

TEST(ScheduleCandidates, SayTheStepThatChoosingThemGives)
{
    for (const char* file : {kFourStages, "45-llama3-70b-64-gpus.json"}) {
        const sim::ScenarioDocument d = document(file);
        const sim::Scenario s = scenario(d);
        const auto present = sim::simulate(s);
        const sim::Trace trace = present->trace(sim::TraceDetail::actions);
        int said = 0;
        for (const ScheduleCandidate& c : scheduleCandidates(d, catalogue(), s, &present->schedule(), &trace).all) {
            if (!c.worth || c.kind == "auto") // a search each: proved where it is searched
                continue;
            sim::ScenarioDocument chosen = d;
            apply(chosen, makeScheduleEdit(d, &s, c.kind));
            EXPECT_EQ(c.worth->stepSeconds, sim::simulate(scenario(chosen))->metrics().stepTimeSeconds) << file << " " << c.kind;
            ++said;
        }
        EXPECT_GT(said, 8) << file;
    }
}

TEST(ScheduleCandidates, WhatCannotBeHadSaysWhy)
{
    sim::ScenarioDocument d = document(kFourStages);
    d.set("/training/global_batch_size", "12"); // three micro-batches of four
    const ScheduleCandidates candidates = scheduleCandidates(d, catalogue(), scenario(d), nullptr, nullptr);
    const ScheduleCandidate& dualpipe = find(candidates, "dualpipe-v");
    EXPECT_FALSE(dualpipe.worth);
    EXPECT_NE(dualpipe.whyNot.find("micro-batch"), std::string::npos) << dualpipe.whyNot;
    EXPECT_TRUE(find(candidates, "1f1b").worth);
}

TEST(ScheduleCandidates, AreWhatChoosingThemGives)
{
    const sim::ScenarioDocument d = document(kFourStages);
    const sim::Scenario s = scenario(d);
    for (const ScheduleCandidate& c : scheduleCandidates(d, catalogue(), s, nullptr, nullptr).all) {
        sim::ScenarioDocument chosen = d;
        apply(chosen, makeScheduleEdit(d, &s, c.kind));
        const auto resolved = chosen.resolve(catalogue());
        ASSERT_EQ(resolved.scenario.has_value(), c.whyNot.empty()) << c.kind;
        if (resolved.scenario) {
            EXPECT_EQ(resolved.scenario->schedule.virtualStages, c.virtualStages) << c.kind;
        }
    }
}

} // namespace
} // namespace app
