// Whatever runs when the window closes, or when something else is wanted, makes room at once. The limits here only tell a wait
// from a hang; how long it took stands in the test's output.
#include "app/session/desk.h"
#include "app/session/synthesis_run.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

namespace app {
namespace {

using namespace test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kHang = 3s; ///< sanitizers, and a machine that does other things too

sim::ScenarioDocument searching()
{
    sim::ScenarioDocument job = document("42-llama3-405b-16384-gpus.json");
    job.set("/schedule/kind", "auto");
    return job;
}

sim::ScenarioDocument jittering()
{
    sim::ScenarioDocument job = document("41-llama3-405b-8192-gpus.json");
    job.set("/perturbations", R"([{"kind":"jitter","sigma":0.02,"seed":1}])");
    return job;
}

struct LongThing {
    const char* name;
    std::function<void(Desk&)> ask;
};

void show(Desk& desk, const sim::ScenarioDocument& document)
{
    desk.session().replaceContent(document, QStringLiteral("another"));
}

const std::vector<LongThing> kLongThings = {{"a simulation of every rank", [](Desk& desk) { show(desk, jittering()); }},
                                            {"a search", [](Desk& desk) { show(desk, searching()); }},
                                            {"kernels", [](Desk& desk) { desk.setKernels(true); }},
                                            {"legal values and findings", [](Desk&) {}},
                                            {"candidates", [](Desk& desk) { desk.requestCandidates(); }},
                                            {"candidates of a search", [](Desk& desk) {
                                                 show(desk, searching());
                                                 desk.requestCandidates();
                                             }}};

/// With a large step on it that is not looked into yet.
std::unique_ptr<Desk> largeDesk()
{
    auto desk = std::make_unique<Desk>(catalogue(), QString());
    EXPECT_TRUE(desk->session().open(galleryFile(kLarge)).empty());
    EXPECT_TRUE(waitFor([&] { return desk->simulation() != nullptr; }));
    return desk;
}

double milliseconds(Clock::duration time)
{
    return std::chrono::duration<double, std::milli>(time).count();
}

TEST(Closing, WaitsForNothingThatTakesLong)
{
    for (const LongThing& thing : kLongThings) {
        Clock::duration longest{};
        for (const auto after : {5ms, 40ms, 120ms, 300ms, 700ms}) {
            auto desk = largeDesk();
            thing.ask(*desk);
            std::this_thread::sleep_for(after);
            const auto begin = Clock::now();
            desk.reset();
            longest = std::max(longest, Clock::now() - begin);
        }
        EXPECT_LT(longest, kHang) << thing.name;
        std::printf("closing during %s: at most %.0f ms\n", thing.name, milliseconds(longest));
    }
}

TEST(Closing, ASearchThatIsWatchedEndsAtOnce)
{
    const auto now = sim::simulate(scenario(document("42-llama3-405b-16384-gpus.json")));
    Clock::duration longest{};
    for (const auto after : {0ms, 10ms, 100ms, 400ms}) {
        auto run = std::make_unique<SynthesisRun>(scenario(searching()), now);
        std::this_thread::sleep_for(after);
        const auto begin = Clock::now();
        run.reset();
        longest = std::max(longest, Clock::now() - begin);
    }
    EXPECT_LT(longest, kHang);
    std::printf("closing during a watched search: at most %.0f ms\n", milliseconds(longest));
}

TEST(Closing, ANewRequestIsServedWhateverRuns)
{
    const sim::Scenario tiny = scenario(document(kTiny));
    for (const LongThing& thing : kLongThings) {
        const auto desk = largeDesk();
        thing.ask(*desk);
        std::this_thread::sleep_for(60ms);
        const auto begin = Clock::now();
        show(*desk, document(kTiny));
        ASSERT_TRUE(waitFor([&] { return desk->simulation()->mesh().worldSize() == tiny.layout.worldSize(); })) << thing.name;
        const auto took = Clock::now() - begin;
        EXPECT_LT(took, kHang) << thing.name;
        std::printf("another request during %s: after %.0f ms\n", thing.name, milliseconds(took));
    }
}

} // namespace
} // namespace app
