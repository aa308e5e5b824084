// What a class answers: counted, binned, typed; and results that can be marked again.
#include "sim/lesson/results.h"
#include "sim/lesson/room.h"
#include "tests/sim/lesson/lessons.h"

#include <gtest/gtest.h>

namespace sim {
namespace {

Paper classPaper()
{
    return Paper(readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json", test::catalogue()), 1, test::catalogue());
}

const AskedQuestion& askedOf(const Paper& paper, const std::string& id)
{
    for (const PaperQuestion& question : paper.questions())
        if (question.id == id)
            return *question.asked;
    throw Error("no question " + id);
}

LessonValue answersOf(const std::string& learner, LessonValue given)
{
    return {{"format", "rankscope-answers"}, {"version", 1}, {"lesson", "one-f-one-b"}, {"seed", 1}, {"learner", learner},
            {"answers", std::move(given)}};
}

} // namespace

TEST(RoomVotes, EveryOptionHasABarAndTheEnginesIsMarked)
{
    const Paper paper = classPaper();
    RoomVotes room(askedOf(paper, "bubble"));
    for (const auto& [answer, times] : typedVotes(askedOf(paper, "bubble"), "A x 12; b x 3"))
        room.add(0, answer, times);
    for (const auto& [answer, times] : typedVotes(askedOf(paper, "bubble"), "A x 2\nB × 13"))
        room.add(1, answer, times);
    const auto bars = room.bars();
    ASSERT_EQ(bars.size(), 3U);
    EXPECT_EQ(bars[0].counts, (std::vector<int>{12, 2}));
    EXPECT_EQ(bars[1].counts, (std::vector<int>{3, 13}));
    EXPECT_EQ(bars[2].counts, (std::vector<int>{0, 0}));
    EXPECT_TRUE(bars[1].isRight);
    EXPECT_FALSE(bars[0].isRight);
    EXPECT_DOUBLE_EQ(room.rightShare(0), 0.2);
    EXPECT_DOUBLE_EQ(room.rightShare(1), 13.0 / 15);
    room.clear(1);
    EXPECT_FALSE(room.hasVoted(1));
    EXPECT_EQ(room.answers(0), 15);
}

TEST(RoomVotes, ManyNumbersShareTenBarsAndOneHoldsTheEnginesAnswer)
{
    const Paper paper = classPaper();
    const AskedQuestion& asked = askedOf(paper, "peak");
    RoomVotes room(asked);
    int given = 0;
    for (int i = 0; i < 24; ++i, ++given)
        room.add(0, asked.range().first + i * (asked.range().second - asked.range().first) / 24);
    const auto bars = room.bars();
    ASSERT_EQ(bars.size(), 10U);
    int counted = 0, right = 0;
    const double engines = asked.rightAnswer().get<double>();
    for (const RoomBar& bar : bars) {
        counted += bar.counts[0];
        right += bar.isRight ? 1 : 0;
        if (bar.isRight) {
            EXPECT_LE(bar.from, engines);
            EXPECT_GE(bar.to, engines);
        }
    }
    EXPECT_EQ(counted, given);
    EXPECT_EQ(right, 1);
}

TEST(RoomVotes, WhatIsNoAnswerIsToldWithItsPlace)
{
    const Paper paper = classPaper();
    const AskedQuestion &choice = askedOf(paper, "bubble"), &number = askedOf(paper, "peak");
    const auto why = [](const AskedQuestion& asked, const char* text) -> std::string {
        try {
            typedVotes(asked, text);
            return "";
        } catch (const Error& error) {
            return error.what();
        }
    };
    EXPECT_NE(why(choice, "A; D x 2").find("answer 2"), std::string::npos);
    EXPECT_NE(why(choice, "D").find("A to C"), std::string::npos);
    EXPECT_NE(why(number, "17.5 x many").find("no number of people"), std::string::npos);
    EXPECT_NE(why(number, "a lot").find("no number"), std::string::npos);
    EXPECT_NE(why(number, "nan").find("no number"), std::string::npos);
    EXPECT_EQ(typedVotes(number, " 17.5 x 4 ;; 20\n").size(), 2U);
    RoomVotes room(choice);
    EXPECT_THROW(room.add(0, 1, -1), Error);
    EXPECT_THROW(room.add(0, 7), Error);
    room.add(0, 1, RoomVotes::kMostAnswers);
    EXPECT_THROW(room.add(0, 1), Error);
}

TEST(LessonResults, AreMarkedAgainFromJsonAndFromCsvAlike)
{
    const Paper paper = classPaper();
    const double peak = askedOf(paper, "peak").rightAnswer().get<double>();
    const std::vector<AnswerSheet> sheets{
        {answersOf("Ada, \"the first\"", {{"peak", {{"value", peak}, {"sure", 0.6}, {"seconds", 12.5}}}, {"bubble", 1}}),
         "a.json"},
        {answersOf("=Grace", {{"peak", 1.0}}), "b.json"}};
    const LessonValue results = resultsOf(paper, sheets, "0.9");
    EXPECT_EQ(results.at("scenario_hash").get<std::string>().size(), 16U);
    EXPECT_EQ(results.at("learners").at(0).at("right"), 2);
    EXPECT_EQ(results.at("learners").at(1).at("right"), 0);
    const std::string csv = resultsCsv(results), json = results.dump();
    EXPECT_EQ(csv.substr(0, csv.find('\n')),
              "learner,lesson,seed,question,answer,engine,right,sure,seconds,scenario_hash,version");
    EXPECT_NE(csv.find("\n\"'=Grace\","), std::string::npos) << "no formula for a spreadsheet: " << csv;
    for (const std::string& file : {json, csv}) {
        const auto again = answersIn(file, "results");
        ASSERT_EQ(again.size(), 2U);
        EXPECT_EQ(again[0].at("learner"), "Ada, \"the first\"");
        EXPECT_EQ(again[1].at("learner"), "=Grace");
        EXPECT_EQ(resultsOf(paper, {{again[0], "results"}, {again[1], "results"}}, "0.9"), results);
        EXPECT_EQ(changedSince(file, "results", results.at("scenario_hash"), "0.9"), "");
        EXPECT_NE(changedSince(file, "results", "0000", "1.0").find("version 0.9, now by 1.0"), std::string::npos);
    }
}

TEST(LessonResults, WhatIsWrongWithASheetIsToldOfTheFileThatHasIt)
{
    const Paper paper = classPaper();
    const auto whyNot = [&](const std::vector<AnswerSheet>& sheets) {
        try {
            static_cast<void>(resultsOf(paper, sheets, "0.9"));
        } catch (const ScenarioError& error) {
            return error.problems().front().file + error.problems().front().pointer;
        }
        return std::string();
    };
    LessonValue good = answersOf("Ada", {{"peak", 1.0}}), other = good, nameless = good;
    other["lesson"] = "another";
    nameless["learner"] = 5;
    EXPECT_EQ(whyNot({{good, "a.json"}}), "");
    EXPECT_EQ(whyNot({{good, "a.json"}, {other, "b.json"}}), "b.json/lesson");
    EXPECT_EQ(whyNot({{good, "a.json"}, {nameless, "b.json"}}), "b.json/learner");
    LessonValue results = resultsOf(paper, {{good, "a.json"}, {good, "b.json"}}, "0.9");
    results["learners"][1]["learner"] = 5;
    try {
        static_cast<void>(answersIn(results.dump(), "results.json"));
        FAIL() << "a number is no name";
    } catch (const ScenarioError& error) {
        EXPECT_EQ(error.problems().front().pointer, "/learners/1/learner");
    }
}

TEST(LessonResults, TheHashFollowsTheScenariosAndNotTheWords)
{
    const auto hashOf = [](const std::function<void(Lesson&)>& change) {
        Lesson lesson = readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json", test::catalogue());
        change(lesson);
        const LessonCases cases(lesson, test::catalogue());
        return scenarioHash(lesson, cases);
    };
    const std::string same = hashOf([](Lesson&) {});
    EXPECT_EQ(hashOf([](Lesson& lesson) { lesson.steps[0].say = "Other words."; }), same);
    EXPECT_NE(hashOf([](Lesson& lesson) {
                  for (CaseDefinition& each : lesson.cases)
                      if (each.name == "fb_twice")
                          each.given["set"]["/training/global_batch_size"] = 128;
              }),
              same);
}

TEST(LessonResults, FilesThatAreNoneAreToldApart)
{
    EXPECT_THROW(answersIn("{", "broken.json"), Error);
    EXPECT_THROW(answersIn("learner,lesson\n", "short.csv"), ScenarioError);
    EXPECT_THROW(answersIn("learner,lesson,question,answer\n", "empty.csv"), ScenarioError);
    EXPECT_THROW(answersIn("learner,lesson,question,answer\nA,b,c,\"1\n", "open.csv"), ScenarioError);
    EXPECT_THROW(answersIn(R"({"format":"rankscope-results","version":1,"learners":[]})", "none.json"), ScenarioError);
    EXPECT_THROW(answersIn(R"({"format":"rankscope-results","version":2,"learners":[{}]})", "later.json"), ScenarioError);
}

} // namespace sim
