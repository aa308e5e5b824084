// The search runs by itself, tells how far it is, pauses and goes on, and stops where it is proven the best.
#include "app/session/synthesis_run.h"

#include "sim/schedule/check.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

sim::Scenario autoScenario(int memoryGib)
{
    sim::ScenarioDocument job = document("17-schedule-1f1b.json");
    job.set("/schedule/kind", "auto");
    job.set("/schedule/memory_cap_gib", std::to_string(memoryGib));
    return scenario(job);
}

TEST(SynthesisRun, FindsAScheduleAndSaysHowFarItIsFromTheBest)
{
    SynthesisRun run(autoScenario(40));
    std::optional<SynthesisState> state;
    QObject::connect(&run, &SynthesisRun::progressed, [&](const SynthesisState& now) { state = now; });
    ASSERT_TRUE(waitFor([&] { return state && !state->running; }));
    EXPECT_TRUE(sim::checkSchedule(state->best.schedule).empty());
    EXPECT_GT(state->best.bound, 0);
    EXPECT_GE(state->best.times.span, state->best.bound * (1 - 1e-12));
    EXPECT_FALSE(state->best.constructions.empty());
}

TEST(SynthesisRun, PausesAndGoesOnBeyondItsPlan)
{
    SynthesisRun run(autoScenario(14)); // tight: not solved by a construction
    std::optional<SynthesisState> state;
    QObject::connect(&run, &SynthesisRun::progressed, [&](const SynthesisState& now) { state = now; });
    ASSERT_TRUE(waitFor([&] { return state.has_value(); }));
    run.pause();
    ASSERT_TRUE(waitFor([&] { return !state->running; }));
    const auto moves = state->progress.moves;
    const double span = state->best.times.span;
    run.resume();
    ASSERT_TRUE(waitFor([&] { return state->progress.moves > moves || state->best.optimal(); }));
    EXPECT_LE(state->best.times.span, span);
}

TEST(SynthesisRun, SaysWhatMemoryWouldDo)
{
    SynthesisRun run(autoScenario(3));
    QString message;
    QObject::connect(&run, &SynthesisRun::failed, [&](const QString& text) { message = text; });
    ASSERT_TRUE(waitFor([&] { return !message.isEmpty(); }));
}

TEST(SynthesisRun, EndsAtOnceWhenItIsNoLongerWanted)
{
    for (int i = 0; i < 5; ++i)
        SynthesisRun(autoScenario(14));
}

} // namespace
} // namespace app
