#include "app/session/edit.h"
#include "app/session/pass_times.h"
#include "app/session/schedule_candidates.h"
#include "sim/legal/schedule_request.h"
#include "sim/schedule/families/families.h"
#include "sim/simulate/memory_cap.h"
#include "sim/simulate/simulation.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using namespace test;

constexpr const char* kFourStages = "17-schedule-1f1b.json";
constexpr const char* kByHand = "20-schedule-by-hand.json";

ScheduleCandidates weighedOf(const sim::ScenarioDocument& of, const sim::Scenario& lastLegal)
{
    ScheduleCandidates out = listedCandidates(lastLegal);
    for (ScheduleCandidate& candidate : out)
        candidate = weighedCandidate(candidate, of, catalogue(), lastLegal);
    return out;
}

ScheduleCandidates candidatesOf(const char* file)
{
    const sim::ScenarioDocument d = document(file);
    return weighedOf(d, scenario(d));
}

const ScheduleCandidate& find(const ScheduleCandidates& candidates, std::string_view kind)
{
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](const auto& c) { return c.kind == kind; });
    if (found == candidates.end())
        throw std::runtime_error("no candidate " + std::string(kind));
    return *found;
}

TEST(PassTimes, AreMediansOfTheTraceAndReproduceThePipeline)
{
    const auto simulation = sim::simulate(scenario(document(kFourStages)));
    const sim::Trace trace = simulation->trace(sim::TraceDetail::actions);
    const std::vector<sim::PassTimes> passes = measurePasses(trace, simulation->schedule());
    ASSERT_EQ(passes.size(), 4U);
    std::int64_t lastPass = 0;
    for (const sim::Track& track : trace.tracks)
        for (std::size_t i = 0; i < track.size(); ++i)
            if (trace.kinds[track.kind[i]].opClass != sim::OpClass::optimizer)
                lastPass = std::max(lastPass, track.startNs[i] + track.durationNs[i]);
    const sim::PassMemory memory{};
    const double makespan = sim::evaluateSchedule(simulation->schedule(), passes, std::span(&memory, 1)).makespan;
    EXPECT_NEAR(makespan / static_cast<double>(lastPass), 1, 0.02) << "the pipeline alone, as it was simulated";
}

TEST(ScheduleCandidates, ListEveryFamilyThatCanBeMade)
{
    const ScheduleCandidates candidates = candidatesOf(kFourStages);
    std::size_t available = 0;
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies())
        available += family.kind != "custom" ? 1U : 0U;
    EXPECT_EQ(candidates.size(), available);
    EXPECT_TRUE(find(candidates, "1f1b").isCurrent);
    for (const ScheduleCandidate& c : candidates) {
        EXPECT_FALSE(c.character.empty());
        EXPECT_TRUE(c.sketch) << c.kind;
        EXPECT_NE(c.whyNot.empty(), !c.worth.has_value()) << c.kind << ": numbers or a reason";
    }
    EXPECT_TRUE(find(candidatesOf(kByHand), "custom").isCurrent);
}

TEST(ScheduleCandidates, ThoseForChunksHaveSome)
{
    const ScheduleCandidates candidates = candidatesOf(kFourStages);
    EXPECT_EQ(find(candidates, "looped-bfs").virtualStages, 2) << "with one chunk it is GPipe";
    EXPECT_EQ(find(candidates, "interleaved-zb").virtualStages, 2) << "with one chunk it is ZB-H1";
    EXPECT_EQ(find(candidates, "gpipe").virtualStages, 1);
    sim::ScenarioDocument d = document(kFourStages);
    d.set("/schedule/kind", "\"looped-bfs\"");
    EXPECT_EQ(find(weighedOf(d, scenario(d)), "looped-bfs").virtualStages, 1) << "as the file says";
}

TEST(ScheduleCandidates, AreDrawnAsThisJobRunsWhereItsPassesCanBeToldApart)
{
    sim::ScenarioDocument d = document(kFourStages);
    d.set("/training/global_batch_size", "64"); // sixteen micro-batches: the small ones have eight
    const sim::Scenario s = scenario(d);
    for (const ScheduleCandidate& c : weighedOf(d, s)) {
        EXPECT_EQ(c.isSketchOwn, c.worth.has_value()) << c.kind;
        if (!c.isSketchOwn)
            continue;
        EXPECT_EQ(c.sketch->schedule.ranks, s.layout.pp) << c.kind;
        EXPECT_EQ(c.sketch->schedule.microbatches, s.microbatches() * c.sketch->schedule.slices) << c.kind;
        EXPECT_NEAR(c.sketch->times.makespan, c.worth->stepSeconds * 1e9, c.worth->stepSeconds * 1e9 * 0.3)
            << c.kind << ": passes as long as they take in it";
    }
}

TEST(ScheduleCandidates, DoNotFitWhereTheHostIsTooFull)
{
    sim::ScenarioDocument d = document(kFourStages);
    d.set("/training/offload", R"({"optimizer":1})");
    d.set("/cluster/host/memory_gib", "0.001");
    const sim::Scenario s = scenario(d);
    int weighed = 0;
    bool isOfHost = false;
    for (const ScheduleCandidate& c : weighedOf(d, s))
        if (c.worth) {
            ASSERT_TRUE(c.worth->misfit) << c.kind;
            isOfHost = isOfHost || c.worth->misfit->of == sim::Misfit::Of::host;
            ++weighed;
        }
    EXPECT_GT(weighed, 0);
    EXPECT_TRUE(isOfHost);
}

TEST(ScheduleCandidates, SayWhatChoosingThemGives)
{
    for (const char* file : {kFourStages, "45-llama3-70b-64-gpus.json"}) {
        const sim::ScenarioDocument d = document(file);
        const sim::Scenario s = scenario(d);
        int said = 0;
        for (const ScheduleCandidate& c : weighedOf(d, s)) {
            if (!c.worth || c.kind == "auto") // a search each: proved where it is searched
                continue;
            sim::ScenarioDocument chosen = d;
            apply(chosen, makeScheduleEdit(d, &s, c.kind));
            const auto simulation = sim::simulate(scenario(chosen));
            const sim::Metrics& metrics = simulation->metrics();
            EXPECT_EQ(c.worth->stepSeconds, metrics.stepTimeSeconds) << file << " " << c.kind;
            EXPECT_EQ(!c.worth->misfit, sim::fitsEverywhere(*simulation)) << file << " " << c.kind;
            std::int64_t fullest = 0;
            for (int i = 0; i < simulation->classCount(); ++i)
                fullest = std::max(fullest, simulation->memoryOfClass(i).total());
            int fullestRanks = 0;
            for (int i = 0; i < simulation->classCount(); ++i) {
                const sim::MemoryBreakdown memory = simulation->memoryOfClass(i);
                fullestRanks += memory.total() == fullest && memory.activations == c.worth->activationBytes ? 1 : 0;
            }
            EXPECT_GT(fullestRanks, 0) << file << " " << c.kind;
            ++said;
        }
        EXPECT_GT(said, 8) << file;
    }
}

/// Whatever is in use when they are asked for.
TEST(ScheduleCandidates, DoNotDependOnTheScheduleInUse)
{
    const sim::ScenarioDocument d = document(kFourStages);
    const sim::Scenario s = scenario(d);
    sim::ScenarioDocument other = d;
    apply(other, makeScheduleEdit(d, &s, "zb-h1"));
    const ScheduleCandidates before = weighedOf(d, s);
    const ScheduleCandidates after = weighedOf(other, scenario(other));
    for (const char* kind : {"gpipe", "1f1b", "zb-h1", "zb-h2", "zb-v", "v-half", "dualpipe-v", "seq-1f1b"}) {
        EXPECT_EQ(find(before, kind).worth->idleOfSpan, find(after, kind).worth->idleOfSpan) << kind;
        EXPECT_EQ(find(before, kind).worth->activationBytes, find(after, kind).worth->activationBytes) << kind;
    }
}

TEST(ScheduleCandidates, IdleIsTheTimeBetweenPassesOfTheSlowestRank)
{
    const ScheduleCandidates candidates = candidatesOf(kFourStages);
    const auto simulation = sim::simulate(scenario(document(kFourStages)));
    const auto& last = simulation->metrics().perPipelineRank.back(); // the head makes it the slowest
    const sim::Trace trace = simulation->trace(sim::TraceDetail::actions);
    const sim::Track& first = trace.tracks.front();
    const std::size_t passes = first.size() - 1; // then the optimizer
    const auto span = static_cast<double>(first.startNs[passes - 1] + first.durationNs[passes - 1] - first.startNs[0]) * 1e-9;
    const double busy = last.busySeconds - static_cast<double>(last.use[sim::StepPart::optimizer]) * 1e-9;
    EXPECT_NEAR(find(candidates, "1f1b").worth->idleOfSpan, 1 - busy / span, 0.002);
    EXPECT_DOUBLE_EQ(find(candidates, "1f1b").worth->peakMicrobatches, 4);
    EXPECT_DOUBLE_EQ(find(candidates, "gpipe").worth->peakMicrobatches, 8);
    EXPECT_DOUBLE_EQ(find(candidates, "zb-v").worth->peakMicrobatches, 4) << "2p chunks, each half of a stage";
}

TEST(ScheduleCandidates, WhatCannotBeHadSaysWhy)
{
    sim::ScenarioDocument d = document(kFourStages);
    d.set("/training/global_batch_size", "12"); // three micro-batches of four
    const ScheduleCandidates candidates = weighedOf(d, scenario(d));
    const ScheduleCandidate& dualpipe = find(candidates, "dualpipe-v");
    EXPECT_FALSE(dualpipe.worth);
    EXPECT_NE(dualpipe.whyNot.find("micro-batch"), std::string::npos) << dualpipe.whyNot;
    EXPECT_TRUE(find(candidates, "1f1b").worth);
}

TEST(ScheduleCandidates, AreWhatChoosingThemGives)
{
    const sim::ScenarioDocument d = document(kFourStages);
    const sim::Scenario s = scenario(d);
    for (const ScheduleCandidate& c : weighedOf(d, s)) {
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
