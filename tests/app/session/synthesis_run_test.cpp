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

std::shared_ptr<const sim::Simulation> now()
{
    return sim::simulate(scenario(document("17-schedule-1f1b.json")));
}

TEST(SynthesisRun, FindsAScheduleAndSaysHowFarItIsFromTheBest)
{
    SynthesisRun run(autoScenario(40), now());
    std::optional<SynthesisState> state;
    QObject::connect(&run, &SynthesisRun::progressed, [&](const SynthesisState& now) { state = now; });
    ASSERT_TRUE(waitFor([&] { return state && !state->running; }));
    EXPECT_TRUE(sim::checkSchedule(state->best.schedule).empty());
    EXPECT_GT(state->best.bound, 0);
    EXPECT_GE(state->best.times.span, state->best.bound * (1 - 1e-12));
    EXPECT_FALSE(state->best.constructions.empty());
    EXPECT_EQ(state->now.stepSeconds, now()->metrics().stepTimeSeconds);
    EXPECT_TRUE(state->improves());
    EXPECT_LT(state->change(), -0.01);
    EXPECT_LT(state->step.stepSeconds, state->now.stepSeconds);
    EXPECT_TRUE(state->step.keepsCap);
}

TEST(SynthesisRun, PausesAndGoesOnBeyondItsPlan)
{
    SynthesisRun run(autoScenario(14), now()); // tight: not solved by a construction
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
    SynthesisRun run(autoScenario(3), now());
    QString message;
    QObject::connect(&run, &SynthesisRun::failed, [&](const QString& text) { message = text; });
    ASSERT_TRUE(waitFor([&] { return !message.isEmpty(); }));
    EXPECT_TRUE(message.startsWith(QLatin1String("no order keeps a GPU within 3 GiB"))) << message.toStdString();
    EXPECT_TRUE(message.contains(QLatin1String("nearest cap that works: "))) << message.toStdString();
}

TEST(SynthesisRun, EndsAtOnceWhenItIsNoLongerWanted)
{
    for (int i = 0; i < 5; ++i)
        SynthesisRun(autoScenario(14), now());
}

} // namespace
} // namespace app
