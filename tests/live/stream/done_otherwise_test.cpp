// What a prediction has otherwise than the training beside which it stands.
#include "live/stream/difference.h"
#include "live/stream/done_otherwise.h"
#include "run_for_tests.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> keysOf(const sim::Scenario& scenario)
{
    std::vector<std::string> keys;
    for (const sim::Problem& problem : live::doneOtherwise(scenario)) {
        EXPECT_EQ(problem.severity, sim::Severity::warning);
        EXPECT_THAT(problem.message, HasSubstr("; the simulator "));
        keys.push_back(problem.pointer.substr(std::string_view("/training/stack/").size()));
    }
    return keys;
}

sim::Scenario job(int tp, int cp, int dp)
{
    sim::Scenario scenario = test::smallScenario(tp, 1, dp);
    scenario.layout.cp = cp;
    scenario.training.stack = {};
    test::resolve(scenario);
    return scenario;
}

TEST(DoneOtherwise, NothingOfWhatBothDo)
{
    for (const auto& scenario : {job(1, 1, 1), job(2, 1, 2), job(1, 2, 1)})
        EXPECT_THAT(keysOf(scenario), IsEmpty());
}

/// And where there is nothing to do otherwise, nothing is told.
TEST(DoneOtherwise, EachKeyOfTheStackThatTheTrainerDoesNotKnow)
{
    const auto with = [](sim::Scenario scenario, std::initializer_list<bool sim::Stack::*> flags) {
        for (bool sim::Stack::*flag : flags)
            scenario.training.stack.*flag = true;
        return keysOf(scenario);
    };
    using sim::Stack;
    EXPECT_THAT(with(job(2, 1, 1), {&Stack::plainTensorParallel}), ElementsAre("plain_tensor_parallel"));
    EXPECT_THAT(with(job(2, 1, 1), {&Stack::plainTensorParallel, &Stack::gathersApart}), ElementsAre("gathers_apart"));
    EXPECT_THAT(with(job(2, 1, 1), {&Stack::gathersApart}), IsEmpty()) << "it counts beside the other alone";
    EXPECT_THAT(with(job(2, 1, 1), {&Stack::wholeEmbedding, &Stack::wholeHead}), ElementsAre("whole_embedding", "whole_head"));
    EXPECT_THAT(with(job(2, 1, 1), {&Stack::gathersLogits}), ElementsAre("gathers_logits"));
    EXPECT_THAT(with(job(1, 2, 1), {&Stack::exchangesHeads}), ElementsAre("exchanges_heads"));
    EXPECT_THAT(with(job(1, 1, 2), {&Stack::plainTensorParallel, &Stack::gathersApart, &Stack::wholeEmbedding, &Stack::wholeHead,
                                    &Stack::gathersLogits, &Stack::exchangesHeads}),
                IsEmpty())
        << "neither tp nor cp";
    sim::Scenario sharded = job(1, 1, 2);
    sharded.layout.zeroStage = 1;
    EXPECT_THAT(with(sharded, {&Stack::sendsShards}), ElementsAre("sends_shards"));
    EXPECT_THAT(with(sharded, {&Stack::reducesWhole}), ElementsAre("reduces_whole"));
    sharded.layout.zeroStage = 2;
    EXPECT_THAT(with(sharded, {&Stack::sendsShards}), IsEmpty());
}

TEST(DoneOtherwise, KeyValueHeadsThatRanksShare)
{
    sim::Scenario scenario = job(4, 1, 1);
    scenario.model.numKeyValueHeads = 1;
    scenario.model.headDim = 32;
    scenario.training.stack.gathersHeads = true;
    EXPECT_THAT(keysOf(scenario), IsEmpty()) << "both gather";
    scenario.model.headDim = 30;
    ASSERT_THAT(keysOf(scenario), ElementsAre("gathers_heads"));
    EXPECT_THAT(live::doneOtherwise(scenario)[0].message,
                HasSubstr("copies of key-value heads, whose 30 elements (head_dim) 4 ranks cannot cut into equal parts"));
    scenario.training.stack.gathersHeads = false;
    ASSERT_THAT(keysOf(scenario), ElementsAre("gathers_heads"));
    EXPECT_THAT(live::doneOtherwise(scenario)[0].message, HasSubstr("leaves that sum out"));
}

TEST(DoneOtherwise, IsAPartOfTheDifference)
{
    sim::Scenario scenario = job(2, 1, 1);
    scenario.training.stack.wholeHead = true;
    const auto prediction = sim::simulate(scenario);
    const test::SmallKinds kinds;
    const std::vector<live::RankSpan> step = {{0, test::computeSpan(kinds, 0, 100)}, {1, test::computeSpan(kinds, 0, 100)}};
    const live::Difference difference = live::explainDifference(*prediction, step);
    ASSERT_EQ(difference.otherwise.size(), 1U);
    EXPECT_THAT(difference.text(), HasSubstr("a part of the head's vocabulary; the simulator gives each the whole\n"));
}

} // namespace
