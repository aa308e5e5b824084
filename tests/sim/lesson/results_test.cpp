// Results of a class that can be taken away and marked again.
#include "sim/lesson/results.h"
#include "tests/sim/lesson/class_paper.h"
#include "tests/sim/lesson/lessons.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace sim {
namespace {

using test::askedOf, test::classPaper;

LessonValue answersOf(const std::string& learner, LessonValue given)
{
    return {{"format", "rankscope-answers"}, {"version", 1}, {"lesson", "one-f-one-b"}, {"seed", 1}, {"learner", learner},
            {"answers", std::move(given)}};
}

} // namespace

TEST(LessonResults, WhatIsAskedDaysLaterCountsOnlyWhereItWasAnswered)
{
    const Paper paper = classPaper();
    LessonValue given = LessonValue::object();
    std::string later;
    for (const PaperQuestion& question : paper.questions())
        if (question.isToRemember)
            later = question.id;
        else
            given[question.id] = question.asked->rightAnswer();
    given[paper.lesson().challenges().front()->id] = paper.lesson().challenges().front()->solvedBy.front();
    ASSERT_FALSE(later.empty());
    const LessonValue played = paper.mark(answersOf("Ada", given), "a.json");
    EXPECT_EQ(played.at("right"), 5);
    EXPECT_EQ(played.at("of"), 5) << "the end of the lesson says so, too: " << played.dump(1);
    given[later] = askedOf(paper, later).rightAnswer();
    EXPECT_EQ(paper.mark(answersOf("Ada", given), "a.json").at("of"), 6);
}

TEST(LessonResults, AChallengeWhoseSolutionWasShownIsNotRight)
{
    const Paper paper = classPaper();
    const Challenge& goal = *paper.lesson().challenges().front();
    const AnswerSheet sheet{answersOf("Ada", {{goal.id, {{"value", goal.solvedBy.front()}, {"solution_shown", true}}}}),
                            "a.json"};
    const LessonValue results = resultsOf(paper, {sheet}, "0.9");
    EXPECT_EQ(results.at("learners").at(0).at("right"), 0);
    EXPECT_EQ(results.at("learners").at(0).at("marks").back().at("reason"), "a solution was shown");
    for (const std::string& file : {results.dump(), resultsCsv({results})})
        EXPECT_EQ(resultsOf(paper, answersIn(file, "results"), "0.9"), results) << "marked again";
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
    const std::string csv = resultsCsv({results}), json = results.dump();
    EXPECT_EQ(csv.substr(0, csv.find('\n')),
              "learner,sheet,lesson,seed,question,answer,engine,right,solution_shown,sure,seconds,scenario_hash,version");
    EXPECT_NE(csv.find("\n\"'=Grace\","), std::string::npos) << "no formula for a spreadsheet: " << csv;
    for (const std::string& file : {json, csv}) {
        const auto again = answersIn(file, "results");
        ASSERT_EQ(again.size(), 2U);
        EXPECT_EQ(again[0].answers.at("learner"), "Ada, \"the first\"");
        EXPECT_EQ(again[1].answers.at("learner"), "=Grace");
        EXPECT_EQ(resultsOf(paper, again, "0.9"), results);
        EXPECT_EQ(changedSince(again[1], results.at("scenario_hash"), "0.9"), "");
        EXPECT_NE(changedSince(again[1], "0000", "1.0").find("version 0.9, now by 1.0; marked with scenarios "),
                  std::string::npos);
    }
}

TEST(LessonResults, WhoGivesNoNameIsSomebodyAllTheSame)
{
    const Paper paper = classPaper();
    const LessonValue one = answersOf("", {{"peak", 1.0}}), other = answersOf("", {{"peak", 2.0}, {"bubble", 1}});
    const std::string both = resultsCsv({resultsOf(paper, {{one, "a.json"}, {other, "b.json"}}, "0.9")});
    std::string joined; // of tables that each learner saved, by hand
    for (const LessonValue& each : {one, other}) {
        const std::string own = resultsCsv({resultsOf(paper, {{each, "a.json"}}, "0.9")});
        joined += joined.empty() ? own : own.substr(own.find('\n') + 1);
    }
    for (const std::string& table : {both, joined}) {
        const auto sheets = answersIn(table, "class.csv");
        ASSERT_EQ(sheets.size(), 2U) << table;
        EXPECT_EQ(sheets[0].answers.at("answers").at("peak").at("value"), 1.0);
        EXPECT_EQ(sheets[1].answers.at("answers").at("peak").at("value"), 2.0);
        EXPECT_FALSE(sheets[0].answers.at("answers").contains("bubble"));
    }
}

TEST(LessonResults, TablesAreReadAsSpreadsheetsSaveThemAgain)
{
    for (const char* table : {"lesson,question,answer,learner,seed\none-f-one-b,peak,17.5,Ada,1\n",
                              "\xEF\xBB\xBFquestion;answer;lesson;seed;learner\r\npeak;17,5;one-f-one-b;1;Ada\r\n",
                              "question\tanswer\tlesson\tseed\tlearner\npeak\t17,5\tone-f-one-b\t1\tAda\n"}) {
        const auto sheets = answersIn(table, "class.csv");
        ASSERT_EQ(sheets.size(), 1U) << table;
        EXPECT_EQ(sheets[0].answers.at("answers").at("peak").at("value"), 17.5) << table;
        EXPECT_EQ(sheets[0].answers.at("learner"), "Ada");
        EXPECT_EQ(sheets[0].answers.at("seed"), 1);
    }
    const auto lists = answersIn("lesson;question;answer\ncut;ranks;[0, 4]\n", "class.csv");
    EXPECT_EQ(lists[0].answers.at("answers").at("ranks").at("value"), LessonValue::array({0, 4}));
    const Paper paper = classPaper();
    const std::string csv = resultsCsv({resultsOf(paper, {{answersOf("\n=1+1", {{"peak", 1.0}}), "a.json"}}, "0.9")});
    EXPECT_NE(csv.find("\"'\n=1+1\""), std::string::npos) << "no formula for a spreadsheet: " << csv;
    EXPECT_EQ(answersIn(csv, "class.csv")[0].answers.at("learner"), "\n=1+1");
    for (const char* name : {"'=1,2", "''=1,2", "'Ada, the first"}) {
        const std::string named = resultsCsv({resultsOf(paper, {{answersOf(name, {{"peak", 1.0}}), "a.json"}}, "0.9")});
        EXPECT_EQ(answersIn(named, "class.csv")[0].answers.at("learner"), name) << named;
    }
    EXPECT_THROW(answersIn("lesson,question,answer,learner\na,b,1,Jos\xE9\n", "latin.csv"), ScenarioError);
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
        static_cast<void>(resultsOf(paper, answersIn(results.dump(), "results.json"), "0.9"));
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
        return scenarioHash(Paper(std::move(lesson), 1, test::catalogue()));
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

/// Its path and name are what a case that follows a question's numbers says of it; also what an exam draws counts.
TEST(LessonResults, TheHashFollowsFilesOfCasesThatAreMadeAnewForEveryAsking)
{
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "rankscope-results-test";
    std::filesystem::create_directories(folder);
    const auto hashWith = [&](const char* name) {
        ScenarioDocument mine = namedScenario("57-tiny-dp4", "small.json", "", test::catalogue());
        mine.set("/name", LessonValue(name).dump());
        std::ofstream(folder / "mine.json") << mine.text();
        Lesson lesson = test::lesson();
        lesson.fileName = (folder / "small.json").string();
        lesson.cases.push_back({"varied", "/cases/varied", {{"scenario", "mine"}, {"set", {{"/layout/dp", "=p"}}}}});
        return scenarioHash(Paper(std::move(lesson), 1, test::catalogue()));
    };
    const std::string one = hashWith("one");
    EXPECT_EQ(hashWith("one"), one);
    EXPECT_NE(hashWith("other"), one);
    std::filesystem::remove_all(folder);
    const Paper exam(readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/exam.json", test::catalogue()), 1, test::catalogue());
    EXPECT_GT(exam.sources().size(), 1U);
    EXPECT_NE(scenarioHash(exam), "cbf29ce484222325") << "of nothing";
}

TEST(LessonResults, WhatChangedIsToldOfEverySheet)
{
    const auto sheets = answersIn("learner,lesson,seed,question,answer,scenario_hash,version\n"
                                  "Ada,one-f-one-b,1,peak,1,0123,0.9\n"
                                  "Grace,one-f-one-b,2,peak,1,4567,0.8\n",
                                  "old.csv");
    ASSERT_EQ(sheets.size(), 2U);
    EXPECT_EQ(changedSince(sheets[0], "0123", "0.9"), "");
    EXPECT_EQ(changedSince(sheets[1], "0123", "0.9"),
              "marked by version 0.8, now by 0.9; marked with scenarios 4567, now with 0123");
}

TEST(LessonResults, FilesThatAreNoneAreToldApart)
{
    EXPECT_THROW(answersIn("{", "broken.json"), Error);
    EXPECT_THROW(answersIn("learner,lesson\n", "short.csv"), ScenarioError);
    EXPECT_THROW(answersIn("", "nothing.csv"), ScenarioError);
    EXPECT_THROW(answersIn("\n", "nothing.csv"), ScenarioError);
    EXPECT_THROW(answersIn("learner,lesson,question,answer\n", "empty.csv"), ScenarioError);
    EXPECT_THROW(answersIn("learner,lesson,question,answer\nA,b,c,\"1\n", "open.csv"), ScenarioError);
    EXPECT_THROW(answersIn(R"({"format":"rankscope-results","version":1,"learners":[]})", "none.json"), ScenarioError);
    EXPECT_THROW(answersIn(R"({"format":"rankscope-results","version":2,"learners":[{}]})", "later.json"), ScenarioError);
}

} // namespace sim
