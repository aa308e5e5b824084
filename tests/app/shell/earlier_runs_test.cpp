#include "app/shell/live/earlier_runs.h"
#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"

#include <gtest/gtest.h>

namespace app {
namespace {

std::string resolvedText(const std::string& file, const std::vector<std::string>& overrides = {})
{
    const auto document = sim::readDocument(test::catalogue().scenarios() / file, test::catalogue(), overrides);
    return sim::resolvedText(*document.resolve(test::catalogue()).scenario);
}

TEST(EarlierRuns, OnlyWhatLearnsTheSameIsComparable)
{
    const std::string one = learnedBy(resolvedText("56-tiny-one-rank.json"));
    EXPECT_EQ(learnedBy(resolvedText("57-tiny-dp4.json")), one) << "another layout of the same job";
    EXPECT_EQ(learnedBy(resolvedText("56-tiny-one-rank.json", {"live.steps=7", "live.dtype=fp64"})), one);
    EXPECT_NE(learnedBy(resolvedText("64-tiny-4d-sixteen-ranks.json")), one) << "another model";
    for (const char* other :
         {"live.seed=2", "live.learning_rate=0.5", "training.global_batch_size=4", "training.sequence_length=64"})
        EXPECT_NE(learnedBy(resolvedText("56-tiny-one-rank.json", {other})), one) << other;
    EXPECT_EQ(learnedBy("no scenario"), "");

    EarlierRuns runs;
    runs.keep({"one rank", one, {{.step = 1, .loss = 5.5}}});
    runs.keep({"sixteen", "else", {{.step = 1, .loss = 4.5}}});
    runs.keep({"never began", one, {}});
    ASSERT_TRUE(runs.comparableWith(one));
    EXPECT_EQ(runs.comparableWith(one)->name, "one rank") << "though another job was watched since";
    runs.keep({"", "", {{.step = 1, .loss = 1}}});
    EXPECT_FALSE(runs.comparableWith("")) << "a job that told no scenario";
    EXPECT_FALSE(runs.comparableWith("third"));
}

} // namespace
} // namespace app
