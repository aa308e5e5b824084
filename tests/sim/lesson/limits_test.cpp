// Lessons and answers from anybody: what takes too long ends, what is no pipeline is told, a curve that is far off somewhere is
// wrong.
#include "sim/lesson/challenge.h"
#include "sim/lesson/paper.h"
#include "sim/lesson/time_limit.h"
#include "tests/sim/lesson/lessons.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sim {
namespace {

const char* const kPipelineLesson = R"({
"format":"rankscope-lesson","version":1,"id":"pipe","title":"Pipe",
"cases":{"four":{"schedule":{"kind":"gpipe","stages":4,"microbatches":8}}},
"steps":[
  {"predict":{"id":"curve","ask":"Sketch","input":"sketch","range":[0,20],"over":"[0, 1, 2, 3]","answer":"[10, 10, 10, 10]","tolerance":{"absolute":1}}},
  {"challenge":{"id":"less","ask":"Hold less","from":"four","goal":["mine.peak_activations[0] <= 4"],"changes":1,"solved_by":[{"/kind":"1f1b"}]}}]})";

Paper pipelinePaper()
{
    return Paper(parseLesson(kPipelineLesson, "pipe.json", test::catalogue()), 1, test::catalogue());
}

LessonValue markOf(const LessonValue& given, const char* id)
{
    const LessonValue result = pipelinePaper().mark(
        {{"format", "rankscope-answers"}, {"version", 1}, {"lesson", "pipe"}, {"answers", {{id, given}}}}, "answers.json");
    for (const LessonValue& mark : result.at("marks"))
        if (mark.at("id") == id)
            return mark;
    return {};
}

} // namespace

TEST(LessonTime, WhatTakesTooLongEndsAndSaysSo)
{
    const auto forever = []() -> int {
        for (;;)
            checkCancelled();
    };
    try {
        withinTime("slow.json", forever, std::chrono::milliseconds(30));
        FAIL();
    } catch (const ScenarioError& error) {
        ASSERT_EQ(error.problems().size(), 1U);
        EXPECT_EQ(error.problems().front().file, "slow.json");
        EXPECT_NE(error.problems().front().message.find("fewer cases"), std::string::npos);
    }
    EXPECT_EQ(withinTime("quick.json", [] { return 7; }), 7);
}

/// As on a machine that others keep busy: it waits for the processor, and the lesson is as good as ever.
TEST(LessonTime, IsTheProcessorsNotTheClocks)
{
    const auto waits = [] {
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        checkCancelled();
        return 7;
    };
    EXPECT_EQ(withinTime("good.json", waits, std::chrono::milliseconds(30)), 7);
}

TEST(LessonTime, WhatNobodyWaitsForIsCancelledAsEver)
{
    const std::atomic<bool> isCancelled{true};
    const CancelScope around(isCancelled);
    EXPECT_THROW(withinTime("any.json",
                            []() -> int {
                                checkCancelled();
                                return 0;
                            }),
                 Cancelled);
}

/// One large expression takes milliseconds; a file may have thousands of them.
TEST(LessonTime, EachExpressionLooksWhetherSomebodyStillWaits)
{
    const std::atomic<bool> isCancelled{true};
    const CancelScope around(isCancelled);
    const Cases none("any.json", test::catalogue());
    EXPECT_THROW(Expression::parse("1 + 1").evaluate(none), Cancelled);
    EXPECT_THROW(Paper(parseLesson(kPipelineLesson, "pipe.json", test::catalogue()), 1, test::catalogue()).key(), Cancelled);
}

TEST(LessonChallenge, ValuesThatAreNoPipelineAreToldAndNotSimulated)
{
    EXPECT_EQ(markOf({{"/kind", "1f1b"}}, "less").at("right"), true);
    for (const LessonValue& wrong : {LessonValue{{"/stages", "four"}}, LessonValue{{"/stages", -1}},
                                     LessonValue{{"/kinds", "1f1b"}}, LessonValue{{"/kind", 3}}}) {
        const LessonValue mark = markOf(wrong, "less");
        EXPECT_EQ(mark.at("right"), false) << wrong;
        ASSERT_TRUE(mark.contains("reason") || mark.contains("problem")) << mark;
        const std::string why = mark.value("reason", mark.value("problem", ""));
        const std::string key = wrong.begin().key().substr(1);
        EXPECT_NE(why.find(key), std::string::npos) << why;
    }
}

TEST(SketchedCurve, MayBeOffOnTheWholeAndNowhereByFar)
{
    EXPECT_EQ(markOf({10, 10.9, 9.2, 10}, "curve").at("right"), true);
    EXPECT_EQ(markOf({11.5, 11.5, 11.5, 11.5}, "curve").at("right"), false);
    EXPECT_EQ(markOf({10, 10, 13.9, 10}, "curve").at("right"), false) << "its mean is near, its third place is not";
}

} // namespace sim
