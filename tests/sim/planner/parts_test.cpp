// A search that is split among machines: its parts together say what the whole does, and what is no such part is refused.
#include "sim/planner/planner.h"

#include "sim/answers/plan.h"
#include "tests/sim/planner/tiny_job.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace sim;
using test::tinyJob;

namespace {

/// The answers of the parts of a search.
std::vector<Answer> partsOf(const PlanRequest& whole, int count)
{
    std::vector<Answer> parts;
    for (int part = 0; part < count; ++part) {
        PlanRequest request = whole;
        request.part = part;
        request.parts = count;
        parts.push_back(planAnswer(plan(request, test::catalogue()), request));
    }
    return parts;
}

} // namespace

TEST(Planner, MergesTheOnlyPart)
{
    PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}});
    request.isPart = true;
    const Answer whole = planAnswer(plan(request, test::catalogue()), request);
    EXPECT_EQ(whole["part"], Answer({1, 1}));
    EXPECT_EQ(mergedPlans({whole}, 1)["best"][0], whole["best"][0]);
}

TEST(Planner, MergesPartsIntoWhatTheWholeSays)
{
    for (const PlanObjective objective : {PlanObjective::time, PlanObjective::headroom})
        for (const int count : {2, 3, 12}) { // of ten grids: some parts have none
            PlanRequest whole = tinyJob();
            whole.objective = objective;
            const std::vector<Answer> parts = partsOf(whole, count);
            const Answer merged = mergedPlans(parts, 5), all = planAnswer(plan(whole, test::catalogue()), whole);
            SCOPED_TRACE(std::to_string(count) + " parts for " + all["objective"].get<std::string>());
            ASSERT_EQ(all["proved"], true);
            for (const char* key :
                 {"gpus", "objective", "covered", "too_large", "proved", "gap", "stopped", "held_fixed", "held_rules"})
                EXPECT_EQ(merged[key].dump(), all[key].dump()) << key;
            for (const char* key : {"evaluated", "tightened", "simulated"}) {
                std::int64_t sum = 0;
                for (const Answer& part : parts)
                    sum += part[key].get<std::int64_t>();
                EXPECT_EQ(merged[key], sum) << key;
            }
            ASSERT_EQ(merged["best"].size(), 5U);
            EXPECT_EQ(merged["best"][0].dump(), all["best"][0].dump());
            const char* const by = objective == PlanObjective::time ? "step_time_s" : "peak_memory_gib";
            for (std::size_t i = 1; i < merged["best"].size(); ++i) {
                EXPECT_LE(merged["best"][i - 1][by], merged["best"][i][by]);
                EXPECT_NE(merged["best"][i - 1]["settings"], merged["best"][i]["settings"]);
            }
            ASSERT_FALSE(merged["pareto"].empty());
            for (std::size_t i = 1; i < merged["pareto"].size(); ++i) {
                EXPECT_LE(merged["pareto"][i - 1]["step_time_s"], merged["pareto"][i]["step_time_s"]);
                EXPECT_LT(merged["pareto"][i - 1]["headroom_gib"], merged["pareto"][i]["headroom_gib"]);
            }
            ASSERT_EQ(merged["rejected"].size(), all["rejected"].size()) << "every grid but the first one's, once";
            for (std::size_t i = 0; i < all["rejected"].size(); ++i) {
                const Answer &grid = merged["rejected"][i], &expected = all["rejected"][i];
                for (const char* size : {"tp", "cp", "pp", "dp", "ep", "etp"})
                    EXPECT_EQ(grid[size], expected[size]) << size;
                EXPECT_FALSE(grid["text"].get<std::string>().empty());
                if (expected["reason"] == "rule") {
                    EXPECT_EQ(grid.dump(), expected.dump());
                } else if (grid["reason"] == "slower") {
                    EXPECT_GE(grid["best"][by], merged["best"][0][by]);
                }
            }
        }
}

TEST(Planner, MergesNoProofThatAPartDoesNotHave)
{
    const std::vector<Answer> parts = partsOf(tinyJob(), 3);
    const std::size_t of = [&] { // the part that has the first of all
        const Answer merged = mergedPlans(parts, 5);
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (!parts[i]["best"].empty() && parts[i]["best"][0] == merged["best"][0])
                return i;
        return parts.size();
    }();
    ASSERT_LT(of, parts.size());
    const std::size_t other = (of + 1) % parts.size();
    const double best = parts[of]["order"][0];

    std::vector<Answer> changed = parts; // stopped before it found anything
    changed[other].update(
        {{"best", Answer::array()}, {"order", Answer::array()}, {"open", 0}, {"proved", false}, {"stopped", true}});
    EXPECT_EQ(mergedPlans(changed, 5)["proved"], false);
    EXPECT_EQ(mergedPlans(changed, 5)["gap"], 1);
    EXPECT_EQ(mergedPlans(changed, 5)["stopped"], true);
    changed[other].update({{"open", 0.75 * best}}); // it was stopped, what it has left may be faster
    EXPECT_EQ(mergedPlans(changed, 5)["proved"], false);
    EXPECT_NEAR(mergedPlans(changed, 5)["gap"].get<double>(), 0.25, 1e-12);
    changed[other].update({{"open", 1.25 * best}}); // what it has left is slower
    EXPECT_EQ(mergedPlans(changed, 5)["proved"], true);
    EXPECT_EQ(mergedPlans(changed, 5)["gap"], 0);

    PlanRequest tight = tinyJob(); // nothing fits: that is proved, part by part and of the whole
    tight.marginGib = 79.999;
    EXPECT_TRUE(plan(tight, test::catalogue()).best.empty());
    EXPECT_EQ(mergedPlans(partsOf(tight, 3), 5)["proved"], true);
    EXPECT_EQ(mergedPlans(partsOf(tight, 3), 5)["gap"], 0);
}

TEST(Planner, RefusesToMergeWhatIsNotAllOfOneSearch)
{
    const std::vector<Answer> parts = partsOf(tinyJob(), 3);
    EXPECT_THROW(mergedPlans({parts[0], parts[1]}, 5), Error);
    EXPECT_THROW(mergedPlans({parts[0], parts[1], parts[1]}, 5), Error);
    EXPECT_THROW(mergedPlans({parts[0], parts[1], partsOf(tinyJob({{"training.sequence_length", "256"}}), 3)[2]}, 5), Error);
    std::vector<Answer> changed = parts;
    changed[0]["part"] = {1, 4'000'000'000'000}; // so many are not made room for
    EXPECT_THROW(mergedPlans(changed, 5), Error);
    changed = parts;
    changed[1].erase("order");
    EXPECT_THROW(mergedPlans(changed, 5), Error);
    for (const std::size_t i : {1U, 0U}) {
        changed[i] = Answer::array({1, 2});
        EXPECT_THROW(mergedPlans(changed, 5), Error);
    }
}

/// Files that the document names, as of a cluster's efficiency, may change between two parts.
TEST(Planner, PartsOfJobsWithTheSameTextAreOfAnotherWhereFilesThatItNamesChange)
{
    PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}});
    request.isPart = true;
    PlanAnswer answer = plan(request, test::catalogue());
    const Answer before = planAnswer(answer, request);
    EXPECT_THAT(answer.base, testing::HasSubstr("\"efficiency\""));
    const std::size_t at = answer.base.find("\"gemm\":");
    ASSERT_NE(at, std::string::npos);
    answer.base.insert(at + 7, "0.1");
    EXPECT_NE(planAnswer(answer, request)["job"], before["job"]);
}
