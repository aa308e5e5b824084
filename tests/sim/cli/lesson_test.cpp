// `lesson check`, `key` and `mark` as scripts and teachers call them.
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using test::run;
using test::runJson;
using testing::HasSubstr;

const std::string kLesson = RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json";

TEST(LessonCommand, CheckIsSilentWhereAllIsRight)
{
    const auto checked = run("lesson check " RANKSCOPE_SOURCE_DIR "/assets/lessons/*.json");
    EXPECT_EQ(checked.code, 0);
    EXPECT_EQ(checked.out, "");
    EXPECT_EQ(checked.err, "");
}

TEST(LessonCommand, CheckNamesFilePointerAndValues)
{
    json lesson = json::parse(test::read(kLesson));
    lesson["holds"].push_back("gpipe.fits and not gpipe.fits");
    const std::string file = test::write("wrong.json", lesson.dump());
    const auto checked = run("lesson check " + file + " " + kLesson);
    EXPECT_EQ(checked.code, 1);
    EXPECT_EQ(checked.out, file + ": /holds/" + std::to_string(lesson["holds"].size() - 1) +
                               ": gpipe.fits and not gpipe.fits does not hold: gpipe.fits is true, gpipe.fits is true\n");
    const auto asJson = run("lesson check --json " + file);
    EXPECT_EQ(asJson.code, 1);
    EXPECT_FALSE(json::parse(asJson.out).at("good").get<bool>());
    const auto nowhere = run("lesson check nowhere.json");
    EXPECT_EQ(nowhere.code, 1);
    EXPECT_EQ(nowhere.out, "nowhere.json: cannot be read: No such file or directory\n") << "named once";
    EXPECT_EQ(run("lesson check /dev/zero").out, "/dev/zero: is not an ordinary file\n");
    EXPECT_EQ(run("lesson check").code, 2);
    EXPECT_EQ(run("lesson").code, 2);
}

TEST(LessonCommand, KeyPrintsTheEnginesAnswersAndMarkTakesThem)
{
    const json key = runJson("lesson key --json --seed 3 " + kLesson);
    json answers{{"format", "rankscope-answers"}, {"version", 1}, {"lesson", "one-f-one-b"}, {"seed", 3}, {"learner", "Ada"}};
    for (const json& question : key.at("questions"))
        answers["answers"][question.at("id").get<std::string>()] = question.at("answer");
    for (const json& challenge : key.at("challenges"))
        answers["answers"][challenge.at("id").get<std::string>()] = challenge.at("solved_by")[0];
    const std::string file = test::write("answers.json", answers.dump());
    const json marks = runJson("lesson mark --json " + kLesson + " --learner " + file);
    EXPECT_EQ(marks.at("right"), marks.at("of"));
    EXPECT_EQ(run("lesson mark --json --csv " + kLesson + " --learner " + file).code, 2) << "one of them";
    answers["answers"]["bubble"] = 0;
    const auto marked = run("lesson mark " + kLesson + " --learner " + test::write("one-wrong.json", answers.dump()));
    EXPECT_EQ(marked.code, 0);
    EXPECT_THAT(marked.out, HasSubstr("wrong  bubble: 0, the engine says 1\n       The first micro-batch"));
    EXPECT_THAT(run("lesson key " + kLesson).out, HasSubstr("about the same"));
}

TEST(LessonCommand, AKeysBarsAreReadAsTheyAreDrawn)
{
    const auto keyOf = [](const std::string& lesson) {
        return run("lesson key " + std::string(RANKSCOPE_SOURCE_DIR "/assets/lessons/") + lesson + ".json").out;
    };
    EXPECT_THAT(keyOf("ring-for-long-texts"), testing::ContainsRegex("8,192: [0-9.]+ %; 32,768: [0-9.]+ %; 65,536: [0-9.]+ %\n"));
    EXPECT_THAT(keyOf("cut-finer"), testing::Not(HasSubstr("[")));
}

TEST(LessonCommand, AnswersToNothingAreRefused)
{
    const std::string bad = test::write("bad.json", "[1]");
    const auto marked = run("lesson mark " + kLesson + " --learner " + bad);
    EXPECT_EQ(marked.code, 1);
    EXPECT_THAT(marked.err, HasSubstr("rankscope-answers"));
    EXPECT_EQ(run("lesson mark " + kLesson).code, 2);
    EXPECT_EQ(run("lesson key --seed x " + kLesson).code, 2);
}

} // namespace
