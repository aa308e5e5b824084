// Whatever takes long ends soon after somebody says so: it looks often, and wherever it looks it can be ended.
#include "sim/analysis/traffic/link_load.h"
#include "sim/cancel.h"

#include "sim/analysis/critical_path.h"
#include "sim/analysis/findings/findings.h"
#include "sim/schedule/check.h"
#include "sim/schedule/search/synthesis.h"
#include "sim/simulate/simulation.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace sim;

namespace {

/// Of this thread: other programs of the machine do not count.
double cpuMs()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// How often this thread is asked, and the longest time between two questions.
class Looks {
public:
    bool look()
    {
        const double now = cpuMs();
        m_longestMs = std::max(m_longestMs, now - m_lastMs);
        m_lastMs = now;
        ++m_count;
        return false;
    }
    double longestMs() const { return m_longestMs; }
    long count() const { return m_count; }

private:
    double m_lastMs = cpuMs(), m_longestMs = 0;
    long m_count = 0;
};

struct LongCall {
    std::string name;
    std::function<void()> run;
};

/// 4,096 ranks, each of them its own class.
Scenario manyRanks()
{
    Scenario scenario = test::smallScenario(8, 8, 64, 2);
    scenario.perturbations.push_back({.kind = PerturbationKind::jitter, .sigma = 0.1, .seed = 3});
    return scenario;
}

Scenario manyMicrobatches(const char* kind, int pp, int microbatches)
{
    Scenario scenario = test::smallScenario(1, pp, 1, microbatches);
    scenario.model.numHiddenLayers = pp;
    scenario.schedule.kind = kind;
    scenario.schedule.virtualStages = scheduleFamily(kind).chunks.least;
    if (scenario.schedule.virtualStages > 1)
        scenario.model.numHiddenLayers *= scenario.schedule.virtualStages;
    scenario.schedule.layersPerStage.clear();
    test::resolve(scenario);
    return scenario;
}

/// Every kind of long call there is, on results made before.
std::vector<LongCall> longCalls()
{
    std::vector<LongCall> calls;
    calls.push_back({"4,096 ranks that differ", [] { simulate(manyRanks()); }});
    calls.push_back({"4,096 ranks one by one", [] { simulate(test::smallScenario(8, 8, 64, 2), {.full = true}); }});
    calls.push_back({"100,000 micro-batches", [] { simulate(manyMicrobatches("1f1b", 1, test::tries(100'000))); }});
    for (const ScheduleFamily& family : scheduleFamilies())
        if (const std::string kind(family.kind); !family.isWrittenOut)
            calls.push_back({"5,000 micro-batches of " + kind,
                             [kind] { simulate(manyMicrobatches(kind.c_str(), 4, 5'000 / test::oneIn() / 8 * 8)); }});
    const auto wide = simulate(manyRanks());
    const auto deep = simulate(manyMicrobatches("1f1b", 2, test::tries(30'000)));
    for (const auto& simulation : {wide, deep}) {
        const std::string of = simulation == wide ? " of many ranks" : " of many micro-batches";
        calls.push_back({"actions" + of, [simulation] { simulation->trace(TraceDetail::actions); }});
        calls.push_back({"kernels" + of, [simulation] { simulation->trace(TraceDetail::kernels); }});
        calls.push_back({"traffic" + of, [simulation] { Traffic(*simulation).senders({}); }});
        calls.push_back({"load" + of, [simulation] {
                             const auto endNs = static_cast<std::int64_t>(simulation->metrics().stepTimeSeconds * 1e9);
                             linkLoad(*simulation, Traffic(*simulation).senders({}), {.beginNs = 0, .endNs = endNs, .bins = 500});
                         }});
        const auto trace = std::make_shared<const Trace>(simulation->trace(TraceDetail::actions));
        calls.push_back({"critical path" + of, [trace] { criticalPath(*trace); }});
    }
    calls.push_back({"memory curves", [deep] { deep->memoryCurves(0); }});
    calls.push_back({"memory contents",
                     [deep] { deep->memoryContents(0, static_cast<std::int64_t>(deep->metrics().stepTimeSeconds * 0.9e9)); }});
    calls.push_back({"checking an order", [deep] { checkSchedule(deep->schedule()); }});
    const auto opened = std::make_shared<const test::Opened>(test::openNumber("42"));
    calls.push_back({"findings", [opened] { findings(*opened->simulation, opened->document, test::catalogue()); }});
    return calls;
}

} // namespace

TEST(Cancelling, EverythingThatTakesLongLooksOften)
{
    constexpr double kHangMs = 1000; // for a slow machine under a sanitizer; an idle one takes less than a twentieth
    double longest = 0;
    for (const LongCall& call : longCalls()) {
        SCOPED_TRACE(call.name);
        const double began = cpuMs();
        Looks looks;
        {
            const CancelScope scope(
                [&looks, asker = std::this_thread::get_id()] { return std::this_thread::get_id() == asker && looks.look(); });
            call.run();
        }
        looks.look();
        EXPECT_LT(looks.longestMs(), kHangMs);
        EXPECT_GT(static_cast<double>(looks.count()) * 50, cpuMs() - began) << "one look in 50 ms in the mean";
        longest = std::max(longest, looks.longestMs());
    }
    RecordProperty("longest_ms", std::to_string(longest));
}

TEST(Cancelling, EndsACallAtWhicheverLook)
{
    for (const LongCall& call : longCalls()) {
        SCOPED_TRACE(call.name);
        std::atomic<long> all = 0;
        {
            const CancelScope scope([&all] { return ++all < 0; });
            call.run();
        }
        if (all < 4) // over before it could be ended
            continue;
        for (const long at : {1L, all / 2, all - all / 5}) { // a search on several threads does not always look as often
            std::atomic<long> looks = 0;
            const CancelScope scope([&] { return ++looks >= at; });
            EXPECT_THROW(call.run(), Cancelled) << "look " << at << " of " << all;
        }
    }
}

TEST(Cancelling, EndsACallFromAnotherThreadAtAnyTime)
{
    std::mt19937 random(5);
    const Scenario scenarios[] = {manyRanks(), manyMicrobatches("1f1b", 1, 200'000), manyMicrobatches("auto", 4, 2'000)};
    for (int i = 0; i < 60; ++i) {
        std::atomic<bool> flag = false;
        std::jthread stops([&flag, wait = std::chrono::microseconds(random() % 40'000)] {
            std::this_thread::sleep_for(wait);
            flag = true;
        });
        const CancelScope scope(flag);
        try {
            for (;;)
                simulate(scenarios[i % 3])->trace(TraceDetail::kernels);
        } catch (const Cancelled&) {
            EXPECT_TRUE(flag);
        }
    }
}

TEST(Cancelling, ReachesAnInnerScopeFromOneAroundItAndNotTheOtherWay)
{
    bool outer = false, inner = false;
    EXPECT_FALSE(cancelRequested());
    const CancelScope around([&] { return outer; });
    {
        const CancelScope within([&] { return inner; });
        EXPECT_FALSE(cancelRequested());
        outer = true;
        EXPECT_TRUE(cancelRequested());
        outer = false;
        inner = true;
        EXPECT_THROW(checkCancelled(), Cancelled);
    }
    EXPECT_FALSE(cancelRequested());
    std::jthread([] { EXPECT_EQ(CancelScope::current(), nullptr) << "a scope belongs to its thread"; });
}
