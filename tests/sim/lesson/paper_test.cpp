// Papers: the same seed, the same questions; keys that mark as right; exams that draw from lessons.
#include "sim/lesson/paper.h"
#include "tests/sim/lesson/lessons.h"

#include <gtest/gtest.h>

#include <set>

using namespace sim;

namespace {

LessonValue answersOf(const LessonValue& key)
{
    LessonValue answers = LessonValue::object();
    for (const LessonValue& question : key.at("questions"))
        answers[question.at("id").get<std::string>()] = question.at("answer");
    for (const LessonValue& challenge : key.at("challenges"))
        answers[challenge.at("id").get<std::string>()] = challenge.at("solved_by")[0];
    return {{"format", "rankscope-answers"}, {"version", 1},     {"lesson", key.at("lesson")},
            {"seed", key.at("seed")},        {"learner", "Ada"}, {"answers", std::move(answers)}};
}

} // namespace

TEST(Paper, ItsKeyMarksAsRight)
{
    for (const std::uint64_t seed : {1U, 2U, 99U}) {
        const Paper paper(test::lesson(), seed, test::catalogue());
        const LessonValue result = paper.mark(answersOf(paper.key()), "a.json");
        EXPECT_EQ(result.at("right"), result.at("of")) << result.dump(1);
        EXPECT_EQ(result.at("learner"), "Ada");
        EXPECT_FALSE(result.contains("problems"));
    }
}

TEST(Paper, EachMistakeIsMarkedWrongWithItsReason)
{
    const Paper paper(test::lesson(), 1, test::catalogue());
    LessonValue answers = answersOf(paper.key());
    answers["answers"]["peak"] = LessonValue{{"value", 8}, {"sure", 0.9}, {"seconds", 12}};
    answers["answers"]["same"] = 1;
    answers["answers"]["two"] = LessonValue::object();
    answers["answers"].erase("bars");
    answers["answers"]["curve"] = "flat";
    answers["answers"]["peek"] = 1;
    const LessonValue result = paper.mark(answers, "a.json");
    EXPECT_EQ(result.at("right").get<int>(), result.at("of").get<int>() - 5);
    EXPECT_EQ(result.at("problems")[0], "there is no question \"peek\"; nearest: \"peak\", \"peers\"");
    const auto mark = [&](const std::string& id) {
        for (const LessonValue& one : result.at("marks"))
            if (one.at("id") == id)
                return one;
        return LessonValue();
    };
    EXPECT_EQ(mark("peak").at("reason"), "GPipe's 8.");
    EXPECT_EQ(mark("peak").at("sure"), 0.9);
    EXPECT_EQ(mark("same").at("reason"), "Both take 33.");
    EXPECT_TRUE(mark("bars").at("given").is_null());
    EXPECT_EQ(mark("curve").at("problem"), "a list of 4 numbers is expected");
    EXPECT_FALSE(mark("two").at("right").get<bool>());
}

TEST(Paper, AShareInPerCentIsMarkedForWhatIsMeant)
{
    const Paper paper(test::lesson(), 1, test::catalogue());
    LessonValue answers = answersOf(paper.key());
    answers["answers"]["idle"] = 27.3;
    const LessonValue result = paper.mark(answers, "a.json");
    EXPECT_EQ(result.at("right"), result.at("of"));
    for (const LessonValue& mark : result.at("marks"))
        EXPECT_EQ(mark.contains("meant"), mark.at("id") == "idle") << mark.dump();
}

TEST(Paper, RefusesAnswersToAnother)
{
    const Paper paper(test::lesson(), 1, test::catalogue());
    LessonValue answers = answersOf(paper.key());
    answers["seed"] = 2;
    EXPECT_THROW(paper.mark(answers, "a.json"), ScenarioError);
    answers["seed"] = 1;
    answers["lesson"] = "large";
    EXPECT_THROW(paper.mark(answers, "a.json"), ScenarioError);
    EXPECT_THROW(paper.mark(LessonValue::array(), "a.json"), ScenarioError);
    EXPECT_THROW(paper.mark(LessonValue(3), "a.json"), ScenarioError);
}

TEST(Paper, TheSameSeedIsTheSamePaper)
{
    const auto key = [](std::uint64_t seed) { return Paper(test::lesson(), seed, test::catalogue()).key().dump(); };
    EXPECT_EQ(key(5), key(5));
    std::set<std::string> papers;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        LessonValue one = LessonValue::parse(key(seed));
        one.erase("seed");
        papers.insert(one.dump());
    }
    EXPECT_EQ(papers.size(), 2U) << "one number varies, over two values";
}
