// Random small jobs, everything of them tried: the planner says the same of each objective and under each constraint.
#include "tests/sim/planner/every_layout.h"

#include "sim/planner/sizes.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

using namespace sim;
using test::EveryLayout;
using test::jobText;
using test::kNoLayout;
using test::leastOf;
using test::PlanDice;
using test::someMargin;
using test::TriedLayout;

namespace {

/// Of jobs that are tried many times over: fewer layouts are left.
void holdZero(PlanRequest& request)
{
    std::erase_if(request.fixed, [](const PlanSetting& fixed) { return fixed.first == "layout.zero_stage"; });
    request.fixed.emplace_back("layout.zero_stage", "1");
}

} // namespace

TEST(PlannerBruteForce, FindsTheBestByEveryObjective)
{
    constexpr std::array kObjectives{PlanObjective::time, PlanObjective::headroom, PlanObjective::gpuHours, PlanObjective::cost,
                                     PlanObjective::tokens};
    PlanDice dice(3);
    int withLayouts = 0;
    for (int tried = 0; tried < test::tries(100); ++tried) {
        PlanRequest request = test::randomJob(dice, {2, 3, 4, 5, 6, 8});
        test::holdSome(request, dice);
        const EveryLayout every(request);
        request.marginGib = someMargin(every.all(), dice, 80);
        request.price = 2.5;
        request.document.set("training.tokens", "1e9");
        for (const PlanObjective objective : kObjectives) {
            request.objective = objective;
            const PlanAnswer answer = plan(request, test::catalogue());
            SCOPED_TRACE(std::to_string(tried) + " by " + std::to_string(static_cast<int>(objective)) + ": " + jobText(request));
            EXPECT_EQ(answer.covered, static_cast<std::int64_t>(every.all().size()));
            EXPECT_TRUE(answer.proved);
            const auto [first, second] = leastOf(every.all(), 80 - request.marginGib, objective);
            ASSERT_EQ(answer.best.empty(), first == kNoLayout);
            if (answer.best.empty())
                continue;
            ++withLayouts;
            const PlannedLayout& best = answer.best.front();
            const bool byHeadroom = objective == PlanObjective::headroom;
            EXPECT_EQ(byHeadroom ? best.peakMemoryGib : best.stepSeconds, first);
            EXPECT_EQ(byHeadroom ? best.stepSeconds : best.peakMemoryGib, second);
            EXPECT_DOUBLE_EQ(best.headroomGib, 80 - best.peakMemoryGib);
            const double tokens = std::stod(*request.document.get("training.global_batch_size")) *
                                  std::stod(*request.document.get("training.sequence_length"));
            const double runSeconds = std::ceil(1e9 / tokens) * best.stepSeconds;
            EXPECT_NEAR(best.tokensPerSecond, tokens / best.stepSeconds, 1e-9 * best.tokensPerSecond);
            EXPECT_NEAR(best.runDays * 86400, runSeconds, 1e-3 * runSeconds);
            EXPECT_NEAR(best.gpuHours, request.gpus * best.runDays * 24, 1e-9 * best.gpuHours);
            EXPECT_NEAR(best.cost, 2.5 * best.gpuHours, 1e-9 * best.cost);
        }
    }
    EXPECT_GT(withLayouts, 0);
}

TEST(PlannerBruteForce, FindsTheBestOfEveryKindAndDepthOfRecomputation)
{
    PlanDice dice(5);
    for (int tried = 0; tried < test::tries(25); ++tried) {
        PlanRequest request = test::randomJob(dice, {2, 3, 4});
        for (const char* held : {"layout.zero_stage", "training.micro_batch_size"})
            request.fixed.emplace_back(held, "1");
        request.fixed.emplace_back("layout.sequence_parallel", "true");
        if (dice.oneIn(2))
            request.fixed.emplace_back("schedule.kind", dice.word({"1f1b", "interleaved-1f1b", "zb-1p", "dualpipe-v"}));
        const EveryLayout every(request);
        request.marginGib = someMargin(every.all(), dice, 80);
        for (const PlanObjective objective : {PlanObjective::time, PlanObjective::headroom}) {
            request.objective = objective;
            const PlanAnswer answer = plan(request, test::catalogue());
            SCOPED_TRACE(std::to_string(tried) + ": " + jobText(request));
            EXPECT_EQ(answer.covered, static_cast<std::int64_t>(every.all().size()));
            const auto [first, second] = leastOf(every.all(), 80 - request.marginGib, objective);
            ASSERT_EQ(answer.best.empty(), first == kNoLayout);
            if (answer.best.empty())
                continue;
            EXPECT_TRUE(answer.proved);
            EXPECT_EQ(objective == PlanObjective::time ? answer.best.front().stepSeconds : answer.best.front().peakMemoryGib,
                      first);
        }
    }
}

TEST(PlannerBruteForce, ParetoSetsAreOfLayoutsThatNoOtherOfThemBeatsFromTheFastestOn)
{
    PlanDice dice(9);
    for (int tried = 0; tried < test::tries(40); ++tried) {
        PlanRequest request = test::randomJob(dice, {2, 4, 6});
        test::holdSome(request, dice);
        request.top = 1000;
        const PlanAnswer answer = plan(request, test::catalogue());
        SCOPED_TRACE(std::to_string(tried) + ": " + jobText(request));
        const EveryLayout every(request);
        ASSERT_EQ(answer.pareto.empty(), answer.best.empty());
        for (std::size_t i = 0; i < answer.pareto.size(); ++i) {
            const PlannedLayout& one = answer.pareto[i];
            EXPECT_TRUE(std::any_of(every.all().begin(), every.all().end(), [&](const TriedLayout& of) {
                return of.stepSeconds == one.stepSeconds && of.peakMemoryGib == one.peakMemoryGib && of.grid == one.grid;
            }));
            if (i == 0) {
                EXPECT_EQ(std::pair(one.stepSeconds, one.peakMemoryGib), leastOf(every.all(), 80, PlanObjective::time));
                continue;
            }
            EXPECT_GT(one.stepSeconds, answer.pareto[i - 1].stepSeconds);
            EXPECT_LT(one.peakMemoryGib, answer.pareto[i - 1].peakMemoryGib);
        }
    }
}

TEST(PlannerBruteForce, TakesOfSmallerBatchesTheOneWhoseTokensTakeLeast)
{
    PlanDice dice(13);
    for (int tried = 0; tried < test::tries(15); ++tried) {
        PlanRequest request = test::randomJob(dice, {2, 3, 4});
        test::holdSome(request, dice);
        holdZero(request);
        request.freed = {"training.global_batch_size"};
        const EveryLayout every(request);
        request.marginGib = someMargin(every.all(), dice, 80);
        const int most = std::stoi(*request.document.get("training.global_batch_size"));
        double first = kNoLayout;
        for (const TriedLayout& layout : every.all())
            if (layout.peakMemoryGib <= 80 - request.marginGib)
                first = std::min(first, layout.stepSeconds * most / layout.batch);
        const PlanAnswer answer = plan(request, test::catalogue());
        SCOPED_TRACE(std::to_string(tried) + ": " + jobText(request));
        EXPECT_EQ(answer.covered, static_cast<std::int64_t>(every.all().size()));
        EXPECT_TRUE(answer.proved);
        ASSERT_EQ(answer.best.empty(), first == kNoLayout);
        if (!answer.best.empty()) {
            EXPECT_DOUBLE_EQ(answer.best.front().paceSeconds(), first);
        }
    }
}

TEST(PlannerBruteForce, FindsTheSmallestClusterInTimeAndWhichSizesNoOtherBeats)
{
    constexpr std::array kSizes{1, 2, 3, 4, 6};
    PlanDice dice(17);
    int found = 0, none = 0;
    for (int tried = 0; tried < test::tries(15); ++tried) {
        PlanRequest request = test::randomJob(dice, {1});
        test::holdSome(request, dice);
        holdZero(request);
        request.document.set("training.tokens", "1e9");
        request.price = 1;
        const double tokens = std::stod(*request.document.get("training.global_batch_size")) *
                              std::stod(*request.document.get("training.sequence_length"));
        std::map<int, double> days; // of the best of each size
        std::vector<PlannedLayout> bests;
        for (const int gpus : kSizes) {
            request.gpus = gpus;
            const EveryLayout every(request);
            if (gpus == 1)
                request.marginGib = someMargin(every.all(), dice, 80);
            const double step = leastOf(every.all(), 80 - request.marginGib, PlanObjective::time).first;
            days[gpus] = step * std::ceil(1e9 / tokens) / 86400;
            const PlanAnswer answer = plan(request, test::catalogue());
            if (!answer.best.empty())
                bests.push_back(answer.best.front());
        }
        SCOPED_TRACE(std::to_string(tried) + ": " + jobText(request));
        for (const auto& [gpus, of] : days) {
            if (of == kNoLayout)
                continue;
            for (const double deadline : {of * 1.000001, of * 0.999999}) {
                int fewest = 0;
                for (const auto& [other, takes] : days)
                    if (takes <= deadline && fewest == 0)
                        fewest = other;
                const SizeAnswer answer =
                    fewestGpus({.job = request, .days = deadline, .sizes = {kSizes.begin(), kSizes.end()}}, test::catalogue());
                EXPECT_EQ(answer.gpus, fewest);
                EXPECT_EQ(answer.isFewest, fewest > 0);
                ++(fewest > 0 ? found : none);
                if (fewest > 0) {
                    EXPECT_NEAR(answer.bestDays, days[fewest], 1e-9 * days[fewest]);
                }
            }
        }
        std::vector<std::size_t> unbeaten;
        for (std::size_t i = 0; i < bests.size(); ++i)
            if (std::none_of(bests.begin(), bests.end(), [&](const PlannedLayout& other) {
                    return other.runDays <= bests[i].runDays && other.gpuHours <= bests[i].gpuHours &&
                           (other.runDays < bests[i].runDays || other.gpuHours < bests[i].gpuHours);
                }))
                unbeaten.push_back(i);
        EXPECT_THAT(daysAgainstHours(bests), testing::UnorderedElementsAreArray(unbeaten));
    }
    EXPECT_GT(found, 0);
    EXPECT_GT(none, 0);
}
