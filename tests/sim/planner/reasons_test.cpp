// Why a grid was not chosen, and why not that: with the numbers of what was laid out.
#include "sim/planner/reasons.h"

#include "sim/cancel.h"
#include "sim/planner/planner.h"
#include "sim/simulate/simulation.h"
#include "tests/sim/planner/tiny_job.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

using namespace sim;
using test::kTinyJob;
using test::requestOf;
using test::tinyJob;

namespace {

/// Milliseconds of "…: bubble +1.20 ms, exposed tp −0.30 ms".
double sumOfTerms(std::string text)
{
    double sum = 0;
    for (std::size_t minus = 0; (minus = text.find("−")) != std::string::npos;)
        text.replace(minus, std::string("−").size(), "-");
    for (std::size_t at = text.find_first_of("+-"); at != std::string::npos; at = text.find_first_of("+-", at + 1)) {
        std::size_t digits = 0;
        const double value = std::stod(text.substr(at), &digits);
        sum += text.substr(at + digits).starts_with(" ms") ? value : 1e3 * value;
    }
    return sum;
}

} // namespace

TEST(Planner, SaysOfWhatDoesNotFitWhatItsLeanestLayoutHolds)
{
    PlanRequest request = tinyJob();
    request.marginGib = 79.95;
    const PlanAnswer answer = plan(request, test::catalogue());
    const double capacity = 80 - request.marginGib;
    int told = 0;
    for (const RejectedGrid& rejected : answer.rejected) {
        if (rejected.reason != PlanReason::memory)
            continue;
        ++told;
        EXPECT_GT(rejected.needGib, capacity) << rejected.text;
        const auto step = simulate(resolvedScenario(withSettings(request, rejected.needSettings), test::catalogue()));
        EXPECT_NEAR(step->metrics().peakMemoryGib, rejected.needGib, 1e-9) << rejected.text;
        EXPECT_THAT(rejected.text, testing::HasSubstr("the leanest layout of it that was found"));
    }
    EXPECT_GE(told, 3);
}

/// A replica with thousands of micro-batches is long to lay out, and only to say of it how much too large it is.
TEST(Planner, LaysOutNoLongStepToSayWhatIsTooLarge)
{
    PlanRequest request = tinyJob();
    request.document.set("training.global_batch_size", "4096");
    request.fixed = {{"training.micro_batch_size", "1"}};
    request.marginGib = 79.93;
    const PlanAnswer answer = plan(request, test::catalogue());
    int shorter = 0, longer = 0;
    for (const RejectedGrid& rejected : answer.rejected)
        if (rejected.reason == PlanReason::memory) {
            const bool isLaidOut = rejected.text.find("the leanest layout of it that was found") != std::string::npos;
            EXPECT_EQ(isLaidOut, 4 * 4096 / rejected.grid.dp <= 10240) << rejected.grid.text() << ": " << rejected.text;
            ++(isLaidOut ? shorter : longer);
            EXPECT_GT(rejected.text.size(), 20U);
        }
    std::printf("%d laid out, %d not\n", shorter, longer);
    EXPECT_GT(shorter, 0);
    EXPECT_GT(longer, 0);
}

TEST(Planner, CallsAFloorOfAGridWhatNothingOfItIsBelow)
{
    PlanRequest request{.document =
                            ScenarioDocument::readFile(RANKSCOPE_SOURCE_DIR "/scenarios/05-dp2-tp4-pp2-sixteen-gpus.json"),
                        .fixed = {{"schedule.kind", "1f1b"}, {"training.recompute", "none"}, {"training.micro_batch_size", "1"}}};
    request.top = 100;
    const PlanAnswer answer = plan(request, test::catalogue());
    int told = 0;
    for (const RejectedGrid& rejected : answer.rejected)
        if (rejected.best) {
            ++told;
            EXPECT_GT(rejected.leastFloorSeconds, 0) << rejected.grid.text();
            EXPECT_LE(rejected.leastFloorSeconds, rejected.best->stepSeconds) << rejected.grid.text();
            EXPECT_THAT(rejected.text, testing::Not(testing::HasSubstr("+0.00 ms"))) << "what rounds to nothing is no reason";
            EXPECT_NEAR(sumOfTerms(rejected.text), 1e3 * (rejected.best->stepSeconds - answer.best.front().stepSeconds), 0.0051)
                << rejected.text;
        }
    EXPECT_GE(told, 2);
}

TEST(Planner, GivesEveryGridOneReason)
{
    const PlanAnswer answer = plan(tinyJob(), test::catalogue());
    std::set<PlanGrid> seen{answer.best.front().grid};
    for (const RejectedGrid& rejected : answer.rejected) {
        EXPECT_TRUE(seen.insert(rejected.grid).second) << rejected.grid.text();
        EXPECT_FALSE(rejected.text.empty());
        EXPECT_EQ(rejected.reason == PlanReason::slower, rejected.best.has_value());
        if (rejected.reason == PlanReason::floor) {
            EXPECT_GE(rejected.leastFloorSeconds, answer.best.front().stepSeconds);
        }
        EXPECT_NE(rejected.reason, PlanReason::open) << rejected.text;
    }
    EXPECT_EQ(seen.size(), 10U); // of 4 = tp x cp x pp x dp
}

TEST(Planner, AnswersWhyNotWithTermsThatAddUp)
{
    const PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}});
    const PlanAnswer answer = plan(request, test::catalogue());
    const PlanWhy why = whyNot(request, test::catalogue(), answer, {{"layout.tp", "4"}});
    ASSERT_TRUE(why.other);
    EXPECT_EQ(why.other->grid.tp, 4);
    double sum = 0;
    for (const auto& [part, seconds] : why.terms)
        sum += seconds;
    EXPECT_NEAR(sum, why.deltaSeconds, 1e-12);
    EXPECT_NEAR(why.deltaSeconds, why.other->stepSeconds - answer.best.front().stepSeconds, 1e-12);
    EXPECT_FALSE(whyNot(request, test::catalogue(), answer, {{"layout.tp", "3"}}).other);
}

TEST(Planner, ComparesAnotherBatchByTheToken)
{
    const PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}});
    const PlanAnswer answer = plan(request, test::catalogue());
    const PlanWhy why = whyNot(request, test::catalogue(), answer, {{"training.global_batch_size", "16"}});
    ASSERT_TRUE(why.other);
    EXPECT_EQ(why.tokensRatio, 2);
    EXPECT_NEAR(why.perToken, why.other->stepSeconds / (2 * answer.best.front().stepSeconds), 1e-12);
    EXPECT_LT(why.perToken, 1);
    EXPECT_EQ(whyAnswer(why, request)["tokens_ratio"], 2);
}

TEST(Planner, SaysOfGridsThatItDidNotComeToThatTheyAreOpen)
{
    PlanRequest request = tinyJob();
    request.gpus = 8;
    request.mostSimulated = 1; // and of a search that was cut short by a limit
    std::vector<PlanAnswer> answers{plan(request, test::catalogue())};
    for (const std::int64_t most : {0, 1000, 20'000, 60'000}) {
        std::int64_t looks = 0;
        const CancelScope scope([&] { return looks++ >= most; });
        request = tinyJob();
        request.jobs = 1;
        answers.push_back(plan(request, test::catalogue()));
    }
    int open = 0;
    for (const PlanAnswer& answer : answers)
        for (const RejectedGrid& rejected : answer.rejected) {
            open += rejected.reason == PlanReason::open ? 1 : 0;
            EXPECT_FALSE(rejected.text.empty()) << rejected.grid.text();
            EXPECT_THAT(rejected.text, testing::Not(testing::HasSubstr("inf")));
            if (rejected.reason == PlanReason::floor) {
                ASSERT_FALSE(answer.best.empty());
                EXPECT_GE(rejected.leastFloorSeconds, answer.best.front().stepSeconds) << rejected.text;
            }
        }
    EXPECT_GT(open, 10);
    EXPECT_FALSE(answers.front().proved);
}

TEST(Planner, TellsMemoryAloneWhereMemoryIsWhatCounts)
{
    GridRecord record{.legal = 1, .isSurveyed = true, .bestKey = 5.5 * 1024 * 1024, .best = PlannedLayout{}};
    PlannedLayout first;
    first.use[kStepParts[0]] = 5'000'000;
    const RejectedGrid of = rejectionOf(record, &first, {.bestKey = 5.0 * 1024 * 1024, .byHeadroom = true});
    EXPECT_EQ(of.reason, PlanReason::slower);
    EXPECT_EQ(of.text, "the best of it holds 5.5 MiB, 512.0 KiB more");
}

/// What is left of a grid may be faster than what of it was simulated, and yet slower than the first.
TEST(Planner, CallsNothingTheBestOfAGridThatMayNotBe)
{
    GridRecord record{.legal = 9, .simulated = 1, .isSurveyed = true, .openNs = 7.1e9, .openKey = 7.1e9, .bestKey = 7.792e9};
    record.best = PlannedLayout{};
    const PlannedLayout first;
    const Chosen chosen{.bestKey = 6.337e9};
    EXPECT_EQ(rejectionOf(record, &first, chosen).text,
              "the one of it that was simulated takes 7.792 s, 1.455 s more; the best of it takes at least 7.100 s");
    record.simulated = 3;
    EXPECT_THAT(rejectionOf(record, &first, chosen).text,
                testing::StartsWith("the best of the 3 of it that were simulated takes"));
    record.openKey = 7.8e9;
    EXPECT_EQ(rejectionOf(record, &first, chosen).text, "the best of it takes 7.792 s, 1.455 s more");
}

TEST(Planner, AnswersWhyNotOfSeveralSettingsAtOnce)
{
    const PlanRequest request = tinyJob({{"schedule.kind", "1f1b"}});
    const PlanAnswer answer = plan(request, test::catalogue());
    const PlanWhy why = whyNot(request, test::catalogue(), answer, {{"layout.tp", "2"}, {"layout.pp", "2"}});
    ASSERT_TRUE(why.other);
    EXPECT_EQ(why.other->grid.tp, 2);
    EXPECT_EQ(why.other->grid.pp, 2);
    PlanRequest with = request;
    with.fixed.insert(with.fixed.end(), {{"layout.tp", "2"}, {"layout.pp", "2"}});
    EXPECT_EQ(why.other->stepSeconds, plan(with, test::catalogue()).best.front().stepSeconds);
    const Answer json = whyAnswer(why, request);
    EXPECT_EQ(json["asked"]["pointer"], "/layout/tp");
    ASSERT_EQ(json["asked_with"].size(), 1U);
    EXPECT_EQ(json["asked_with"][0]["pointer"], "/layout/pp");
}

TEST(Planner, SaysOfSizesThatAreAskedForTogetherWhatTheyMakeTogether)
{
    PlanRequest request = requestOf(kTinyJob, 16, {{"schedule.kind", "1f1b"}, {"layout.zero_stage", "1"}});
    PlanAnswer answer; // with which what is asked for is compared
    answer.gpus = 16;
    answer.best.emplace_back();
    const auto whyNone = [&](const std::vector<PlanSetting>& asked) {
        return whyNot(request, test::catalogue(), answer, asked).text;
    };
    EXPECT_EQ(whyNone({{"layout.tp", "8"}, {"layout.pp", "4"}}),
              "no grid has it on 16 GPUs; tp 8 x pp 4 = 32 does not divide 16");
    EXPECT_EQ(whyNone({{"layout.tp", "2"}, {"layout.cp", "1"}, {"layout.pp", "2"}, {"layout.dp", "2"}}),
              "no grid has it on 16 GPUs; tp 2 x pp 2 x dp 2 = 8, not 16");
    EXPECT_EQ(whyNone({{"layout.tp", "3"}}), "no grid has it on 16 GPUs; 3 does not divide 16; nearest: 2, 4");
    request.document.set("model.num_experts", "8");
    request.document.set("model.num_experts_per_tok", "2");
    EXPECT_EQ(whyNone({{"layout.ep", "8"}, {"layout.etp", "4"}}),
              "no grid has it on 16 GPUs; ep 8 x etp 4 = 32 does not divide 16");
}

/// Of four layers on sixteen GPUs: six ranks could be filled, and do not divide them.
TEST(Planner, NamesOfPipelinesThatLayersDoNotFillTheNearestThatDividesTheGpus)
{
    const PlanRequest request = requestOf(kTinyJob, 16, {{"schedule.kind", "1f1b"}, {"layout.pp", "16"}});
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_EQ(answer.rejected.size(), 1U);
    EXPECT_THAT(answer.rejected.front().text,
                testing::HasSubstr("cannot fill pp 16 x virtual_stages 1 = 16 stages; nearest: 4, or"));
}

TEST(Planner, SaysOfHeldExpertRanksWhatTheyDoNotDivide)
{
    const auto problemOf = [](const char* ep) -> std::string {
        PlanRequest request = requestOf(kTinyJob, 16, {{"layout.ep", ep}});
        request.document.set("model.num_experts", "8");
        request.document.set("model.num_experts_per_tok", "2");
        try {
            requirePlannable(request, test::catalogue());
        } catch (const Error& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_THAT(problemOf("3"), testing::HasSubstr("layout.ep is to be held at 3, which does not divide the model's 8 experts"));
    EXPECT_THAT(problemOf("16"), testing::HasSubstr("does not divide the model's 8 experts; nearest: 8"));
    EXPECT_EQ(problemOf("4"), "");
    EXPECT_THAT(notDividing("layout.etp", "3", 16, {}), testing::StartsWith("3 does not divide 16; nearest: "));
}
