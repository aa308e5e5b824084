// A search that is split among machines: its parts together say what the whole does, and what is no such part is refused.
#include "sim/planner/planner.h"

#include "sim/answers/plan.h"
#include "sim/scenario/files.h"
#include "tests/sim/planner/tiny_job.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
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

/// What the search in one piece says of ties, by a layout's settings.
std::map<std::string, bool> tiesOf(const Answer& all)
{
    std::map<std::string, bool> ties;
    const auto note = [&](const Answer& layout) {
        const auto [known, isNew] = ties.emplace(layout.at("settings").dump(), layout.at("tie_with_first").get<bool>());
        EXPECT_EQ(known->second, layout.at("tie_with_first")) << layout.dump();
    };
    for (const char* list : {"best", "pareto"})
        for (const Answer& layout : all.at(list))
            note(layout);
    for (const Answer& grid : all.at("rejected"))
        if (!grid.at("best").is_null())
            note(grid.at("best"));
    return ties;
}

TEST(Planner, MergesTiesAsTheWholeSaysThem)
{
    PlanRequest small = tinyJob(), framed = tinyJob();
    small.fixed = {{"schedule.kind", "1f1b"}};
    framed.framework = "deepspeed"; // whose software is another with ZeRO 3
    for (PlanRequest whole : {small, framed})
        for (const PlanObjective objective : {PlanObjective::time, PlanObjective::headroom}) {
            whole.objective = objective;
            whole.top = 1000;
            const std::map<std::string, bool> expected = tiesOf(planAnswer(plan(whole, test::catalogue()), whole));
            const std::vector<Answer> parts = partsOf(whole, 3);
            const Answer merged = mergedPlans(parts, 1000);
            SCOPED_TRACE(whole.framework + (objective == PlanObjective::time ? " by time" : " by headroom"));
            int ties = 0, apart = 0, compared = 0;
            const auto check = [&](const Answer& layout) {
                ASSERT_TRUE(layout.at("tie_with_first").is_boolean()) << layout.dump();
                const auto found = expected.find(layout.at("settings").dump());
                compared += found != expected.end() ? 1 : 0;
                if (found != expected.end()) {
                    EXPECT_EQ(layout.at("tie_with_first"), found->second) << layout.dump();
                }
                ++(layout.at("tie_with_first").get<bool>() ? ties : apart);
            };
            for (const char* list : {"best", "pareto"})
                for (const Answer& layout : merged.at(list))
                    check(layout);
            for (const Answer& grid : merged.at("rejected"))
                if (!grid.at("best").is_null())
                    check(grid.at("best"));
            EXPECT_GT(compared, 3);
            EXPECT_GT(apart, 0);
            EXPECT_EQ(ties > 0, objective == PlanObjective::time);
            EXPECT_FALSE(merged.contains("sure"));
            std::vector<Answer> before = parts; // as parts of earlier versions
            for (Answer& part : before)
                part.erase("sure");
            const Answer unsure = mergedPlans(before, 1000);
            EXPECT_TRUE(std::any_of(unsure.at("best").begin(), unsure.at("best").end(), [&](const Answer& layout) {
                return layout.at("tie_with_first").is_null() == (objective == PlanObjective::time);
            }));
        }
}

/// The best of a grid that lost, too.
TEST(Planner, SaysOfTheBestOfEachGridWhetherItIsATie)
{
    constexpr std::size_t kMostBytes = 1 << 20;
    PlanRequest request{.document = ScenarioDocument::parse(
                            readFile(RANKSCOPE_SOURCE_DIR "/scenarios/05-dp2-tp4-pp2-sixteen-gpus.json", kMostBytes))};
    request.top = 100'000;
    const PlanAnswer answer = plan(request, test::catalogue());
    int ties = 0;
    for (const RejectedGrid& grid : answer.rejected) {
        if (!grid.best)
            continue;
        const auto same = std::find_if(answer.best.begin(), answer.best.end(),
                                       [&](const PlannedLayout& layout) { return layout.settings == grid.best->settings; });
        ASSERT_NE(same, answer.best.end()) << grid.grid.text();
        EXPECT_EQ(grid.best->tieWithFirst, same->tieWithFirst) << grid.grid.text();
        ties += same->tieWithFirst ? 1 : 0;
    }
    EXPECT_GT(ties, 0);
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
