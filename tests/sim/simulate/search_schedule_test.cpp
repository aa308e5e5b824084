// The search for a schedule, judged by the step that is simulated: never slower than any kind for the same stages, honest where
// the memory cap cannot be kept.
#include "sim/simulate/search_schedule.h"

#include "sim/cancel.h"
#include "sim/legal/schedule_request.h"
#include "sim/memory_limit.h"
#include "sim/scenario/document.h"
#include "sim/schedule/check.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/simulate/simulation.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sim;

namespace {

Scenario withKind(Scenario scenario, const std::string& kind)
{
    scenario.schedule.kind = kind;
    return scenario;
}

} // namespace

TEST(PassCosts, AreOfSplitAndOfWholeBackwards)
{
    // Sequence parallelism gathers the input again for weight gradients, and a whole backward hides one gradient's transfers
    // under the other's kernels.
    const PassCosts parallel = measurePassCosts(test::smallScenario(4, 4, 1, 8));
    for (const PassTimes& times : parallel.times) {
        EXPECT_GT(times.fused, 0);
        EXPECT_LT(times.fused, times.split());
    }
    for (const PassTimes& times : measurePassCosts(test::smallScenario(1, 4, 1, 8)).times)
        EXPECT_NEAR(times.fused, times.split(), 0.02 * times.split()) << "nothing to hide";
}

TEST(SearchSchedule, IsNoSlowerThanTheInterleavedOrderThatALargeJobHas)
{
    const auto opened = test::openNumber("45");
    const double now = opened.simulation->metrics().stepTimeSeconds;
    const auto found = simulate(withKind(opened.simulation->scenario(), "auto"));
    EXPECT_LE(found->metrics().stepTimeSeconds, now);
    EXPECT_TRUE(found->metrics().fits);

    const Scenario scenario = withKind(opened.simulation->scenario(), "auto");
    const SearchedSchedule searched = searchSchedule(scenario, planningRequest(scenario));
    EXPECT_LE(searched.synthesis.bound * 1e-9, now) << "claims that there is no order that short";
    EXPECT_EQ(searched.synthesis.schedule.actions, searched.schedule.actions) << "what it tells is of what it returns";
    EXPECT_GE(searched.synthesis.times.span, searched.synthesis.bound);
}

TEST(SearchSchedule, IsNoSlowerThanAnyKindThatKeepsTheCap)
{
    std::mt19937 random(45);
    int jobs = 0, kinds = 0;
    while (jobs < test::tries(40)) {
        const Scenario job = test::randomScenario(random, 32);
        if (job.layout.pp < 2 || job.modelCopies() > 1 || job.schedule.sequenceSlices > 1 ||
            job.stages() * job.microbatches() > 120)
            continue;
        ++jobs;
        SCOPED_TRACE(test::describe(job));
        const auto now = simulate(job);
        Scenario asked = withKind(job, "auto");
        asked.schedule.memoryCapGib = now->metrics().peakMemoryGib * (1 + static_cast<double>(random() % 3) / 4);
        const ScheduleRequest request = planningRequest(asked);
        const SearchedSchedule searched = searchSchedule(asked, request);
        EXPECT_THAT(checkSchedule(searched.schedule), testing::IsEmpty());
        const auto found = simulate(asked);
        EXPECT_EQ(found->schedule().actions, searched.schedule.actions) << "deterministic";
        EXPECT_LE(found->metrics().peakMemoryGib, asked.schedule.memoryCapGib);
        EXPECT_LE(found->metrics().stepTimeSeconds, now->metrics().stepTimeSeconds) << "slower than what was there";
        EXPECT_GE(searched.synthesis.times.span, searched.synthesis.bound * (1 - 1e-9));
        const PassCosts costs = measurePassCosts(asked);
        OrderJudge judge(asked, memoryCapGib(asked));
        for (const Schedule& order : otherOrders(asked, request)) {
            judge.consider(order);
            ++kinds;
            // Whatever keeps the cap when simulated, also where planning counts memory with caution.
            OrderJudge alone(asked, memoryCapGib(asked));
            alone.consider(order);
            EXPECT_LE((costs.leastStates + costs.leastKept) / kBytesPerGib, alone.verdict().peakGib * (1 + 1e-9)) << order.kind;
            if (alone.verdict().keepsCap) {
                EXPECT_GE(evaluateSchedule(order, request.times, request.memory).span, searched.synthesis.bound * (1 - 1e-9))
                    << order.kind;
            }
        }
        if (judge.verdict().keepsCap) {
            EXPECT_LE(found->metrics().stepTimeSeconds, judge.verdict().stepSeconds);
        }
    }
    EXPECT_GT(kinds, test::tries(100));
}

TEST(OrderJudge, TimesAnOrderAsTheSimulationDoes)
{
    std::mt19937 random(3);
    for (int i = 0; i < 20; ++i) {
        const Scenario job = test::randomScenario(random, 32);
        SCOPED_TRACE(test::describe(job));
        const auto simulation = simulate(job);
        OrderJudge judge(job, 80);
        judge.consider(simulation->schedule());
        EXPECT_DOUBLE_EQ(judge.verdict().stepSeconds, simulation->metrics().stepTimeSeconds);
        EXPECT_DOUBLE_EQ(judge.verdict().peakGib, simulation->metrics().peakMemoryGib);
    }
    OrderJudge cancelled(test::smallScenario(1, 2), 80);
    const Schedule order = makeSchedule({.kind = "1f1b", .ranks = 2, .microbatches = 4});
    const std::atomic<bool> flag = true;
    const CancelScope scope(flag);
    EXPECT_THROW(cancelled.consider(order), Cancelled);
    EXPECT_FALSE(cancelled.best());
}

TEST(SearchSchedule, KeepsTheLeastMemoryWhereTheCapCannotBeKept)
{
    for (const char* cap : {"0.1", "3", "10"}) {
        const auto opened = test::openNumber("73", {"schedule.memory_cap_gib=" + std::string(cap)});
        const Scenario& scenario = opened.simulation->scenario();
        EXPECT_THAT(checkSchedule(opened.simulation->schedule()), testing::IsEmpty());
        EXPECT_GT(opened.simulation->metrics().peakMemoryGib, memoryCapGib(scenario));
        EXPECT_TRUE(opened.simulation->metrics().fits) << "the GPU has room";
        const auto missed = missedCap(*opened.simulation);
        ASSERT_TRUE(missed);
        EXPECT_THAT(missed->text(), testing::HasSubstr("; nearest cap that works: 10.9 GiB"));
        EXPECT_TRUE(missed->byAnyOrder) << missed->text();
    }
    const auto enough = test::openNumber("73", {"schedule.memory_cap_gib=10.9"});
    EXPECT_LE(enough.simulation->metrics().peakMemoryGib, 10.9) << "what is named as the nearest works";
    EXPECT_FALSE(missedCap(*enough.simulation));
}

TEST(SearchSchedule, CountsWhatPassesReallyKeepUnderRecomputation)
{
    // Plans count a whole layer's activations for each micro-batch, of which 1F1B keeps but the input: by them nothing below 52
    // GiB could be.
    const auto opened = [](const char* capGib) {
        const auto document = ScenarioDocument::parse(
            R"({"format":"rankscope-scenario","version":1,"model":{"base":"llama3-70b"},"cluster":{"base":"h100-sxm-ib400","nodes":4},
                "layout":{"tp":8,"pp":4,"dp":1},"schedule":{"kind":"auto","memory_cap_gib":)" +
            std::string(capGib) + R"(},"training":{"sequence_length":8192,"global_batch_size":8,"recompute":"full"}})");
        return simulate(*document.resolve(test::catalogue()).scenario);
    };
    const auto oneAtATime = opened("42"), threeAtATime = opened("47");
    EXPECT_LE(oneAtATime->metrics().peakMemoryGib, 42);
    EXPECT_LE(threeAtATime->metrics().peakMemoryGib, 47);
    EXPECT_LT(threeAtATime->metrics().stepTimeSeconds, oneAtATime->metrics().stepTimeSeconds / 2);
    const auto tooLittle = missedCap(*opened("41"));
    ASSERT_TRUE(tooLittle);
    EXPECT_LE(oneAtATime->metrics().peakMemoryGib, tooLittle->nearestGib);
    EXPECT_FALSE(missedCap(*opened(std::to_string(tooLittle->nearestGib).c_str()))) << "what is named as the nearest works";
}

TEST(Misfit, NamesWhatIsTooSmall)
{
    const auto textOf = [](const char* number, const std::vector<std::string>& settings) {
        const auto found = misfit(*test::openNumber(number, settings).simulation);
        return found ? found->text() : std::string();
    };
    EXPECT_EQ(textOf("73", {}), "");
    EXPECT_THAT(textOf("73", {"schedule.memory_cap_gib=3"}), testing::EndsWith(" of 3 GiB of the schedule's cap"));
    EXPECT_THAT(textOf("17", {"cluster.gpu.memory_gib=2"}), testing::EndsWith(" of 2 GiB"));
    EXPECT_EQ((Misfit{Misfit::Of::host, 400, 256}).text(), "400 of 256 GiB of a host");
    EXPECT_EQ((Misfit{Misfit::Of::gpu, 80.003, 80}).text(), "80.003 of 80 GiB");
    EXPECT_EQ((Misfit{Misfit::Of::gpu, 79.63, 79.62}).text(), "79.63 of 79.62 GiB");
}

TEST(MissedCap, NamesCapsWithTheirDigits)
{
    MissedCap missed{.capGib = 152, .gpuGib = 192, .peakGib = 152.27, .nearestGib = 152.3};
    EXPECT_EQ(missed.text(),
              "the order found does not keep a GPU within 152 GiB: a rank takes 152.27 GiB; nearest cap that works: 152.3 GiB");
    missed.gpuGib = 80;
    EXPECT_THAT(missed.text(), testing::EndsWith("nearest cap that works: 152.3 GiB, more than the 80 GiB of the GPU"));
    missed.peakGib = 152.003;
    EXPECT_THAT(missed.text(), testing::HasSubstr("within 152 GiB: a rank takes 152.003 GiB;"));
}
