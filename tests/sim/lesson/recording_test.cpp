// What is recorded from the window is a lesson that the check accepts.
#include "sim/lesson/check.h"
#include "sim/lesson/play.h"
#include "sim/lesson/recording.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sim {
namespace {

ScenarioDocument gallery(const char* name)
{
    return ScenarioDocument::readFile(std::string(RANKSCOPE_SOURCE_DIR "/scenarios/") + name + ".json");
}

ScenarioDocument changed(ScenarioDocument document, const char* pointer, const char* value)
{
    document.set(pointer, value);
    document.setFileName({});
    return document;
}

std::string problemsOf(const LessonValue& file)
{
    std::string all;
    for (const Problem& problem : checkLesson(parseLesson(file.dump(), "recorded.json", test::catalogue()), test::catalogue()))
        all += problem.text();
    return all;
}

LessonRecording recorded()
{
    const ScenarioDocument gpipe = gallery("16-schedule-gpipe");
    LessonRecording recording{"My first lesson!", "1F1B is faster", {}};
    recording.steps.push_back({gpipe, LessonValue{{"pictures", {"timeline"}}}, "GPipe.", "Wait for it.", {}});
    recording.steps.push_back({changed(gpipe, "/schedule/kind", "\"1f1b\""),
                               {},
                               "And 1F1B.",
                               {},
                               RecordedQuestion{"peak_memory_gib", RecordedQuestion::Kind::number, {}}});
    recording.steps.push_back(
        {gpipe, {}, {}, {}, RecordedQuestion{"bubble_fraction", RecordedQuestion::Kind::compared, "And the bubble?"}});
    return recording;
}

} // namespace

TEST(LessonRecording, IsALessonThatTheCheckAccepts)
{
    const LessonValue file = recorded().file(lessonIdOf("My first lesson!"), test::catalogue());
    EXPECT_EQ(problemsOf(file), "");
    EXPECT_EQ(file.at("id"), "my-first-lesson");
    EXPECT_EQ(file.at("cases").at("case_1"), (LessonValue{{"scenario", "16-schedule-gpipe"}})) << "the gallery's by its name";
    EXPECT_EQ(file.at("cases").at("case_2"), (LessonValue{{"from", "case_1"}, {"set", {{"/schedule/kind", "1f1b"}}}}));
    EXPECT_EQ(file.at("cases").size(), 2U) << "what is shown again is one case";
    EXPECT_EQ(file.at("steps").size(), 5U);
    EXPECT_EQ(file.at("steps").at(0).at("notes"), "Wait for it.");
    EXPECT_EQ(file.at("steps").at(1).at("predict").at("answer"), "case_2.peak_memory_gib") << "no answer is typed in";
    EXPECT_EQ(file.at("steps").at(2).at("reveal").at("compare"), "case_1");
    EXPECT_NO_THROW(LessonPlay(parseLesson(file.dump(), "recorded.json", test::catalogue()), 1, test::catalogue()));
}

/// The question stands beside the picture of the step before: unasked words say of what it is.
TEST(LessonRecording, WordsThatNobodyWroteAreOfTheScenarioThatComesNext)
{
    LessonRecording recording = recorded();
    recording.steps[2].question->ask.clear();
    const LessonValue file = recording.file("words", test::catalogue());
    EXPECT_EQ(problemsOf(file), "");
    const LessonValue& question = file.at("steps").at(1).at("predict");
    EXPECT_EQ(question.at("ask"), "How much is the peak memory with kind 1f1b?");
    EXPECT_EQ(file.at("steps").at(3).at("predict").at("ask"), "What becomes of the bubble with kind gpipe?");
    const LessonPlay play(parseLesson(file.dump(), "recorded.json", test::catalogue()), 1, test::catalogue());
    EXPECT_GT(question.at("range").at(1).get<double>(),
              Expression::parse("case_1.peak_memory_gib").evaluate(play.cases()).get<double>())
        << "that nothing changes is an answer, too";
}

TEST(LessonRecording, AQuestionNobodyWroteIsASentence)
{
    LessonRecording recording = recorded();
    recording.steps[1].question = RecordedQuestion{"step_time_s", RecordedQuestion::Kind::number, {}};
    const LessonValue file = recording.file("words", test::catalogue());
    EXPECT_THAT(file.at("steps").at(1).at("predict").at("ask").get<std::string>(), testing::StartsWith("How long is the step"));
    for (const RecordedMetric& metric : recordedMetrics())
        EXPECT_TRUE(metric.asks.starts_with("How ")) << metric.name;
}

TEST(LessonRecording, EveryNumberThatIsOfferedCanBeAskedFor)
{
    for (const RecordedMetric& metric : recordedMetrics()) {
        SCOPED_TRACE(metric.name);
        LessonRecording recording = recorded();
        recording.steps[1].question->metric = metric.name;
        recording.steps[2].question->metric = metric.name;
        EXPECT_EQ(problemsOf(recording.file("each", test::catalogue())), "");
    }
}

TEST(LessonRecording, KeysThatWereTakenOutAndWholeScenariosAreKept)
{
    LessonRecording recording{"Taken out", {}, {}};
    ScenarioDocument own = changed(gallery("16-schedule-gpipe"), "/description", "\"mine\"");
    recording.steps.push_back({own, {}, "one", {}, {}});
    own.erase("/description");
    recording.steps.push_back({own, {}, "two", {}, {}});
    const LessonValue file = recording.file("out", test::catalogue());
    EXPECT_TRUE(file.at("cases").at("case_1").at("scenario").is_object());
    EXPECT_EQ(file.at("cases").at("case_2").at("set"), (LessonValue{{"/description", nullptr}}));
    EXPECT_EQ(problemsOf(file), "");
}

TEST(LessonRecording, SaysWhatIsMissing)
{
    const auto why = [](const LessonRecording& recording) -> std::string {
        try {
            static_cast<void>(recording.file("x", test::catalogue()));
            return "";
        } catch (const Error& error) {
            return error.what();
        }
    };
    EXPECT_NE(why({"Title", {}, {}}).find("add a step"), std::string::npos);
    LessonRecording recording = recorded();
    recording.title.clear();
    EXPECT_NE(why(recording).find("no title"), std::string::npos);
    recording = recorded();
    recording.steps.erase(recording.steps.begin(), recording.steps.begin() + 2);
    EXPECT_NE(why(recording).find("step 1: the first step has none before it"), std::string::npos) << why(recording);
    recording = recorded();
    recording.steps[1].shown.set("/layout/pp", "5");
    EXPECT_NE(why(recording).find("step 2: "), std::string::npos);
    EXPECT_EQ(lessonIdOf("Ünïcode & 3 D's"), "n-code-3-d-s");
    EXPECT_EQ(lessonIdOf("…"), "lesson");
}

/// A step that asks first is two in the file; whoever recorded it counts one.
TEST(LessonRecording, TellsWhatIsWrongByTheStepsAsTheyWereRecorded)
{
    LessonRecording recording = recorded();
    EXPECT_TRUE(recording.problems(test::catalogue()).empty());
    recording.title.clear();
    EXPECT_TRUE(recording.problems(test::catalogue()).empty()) << "it may be given at last";
    recording.steps[1].say = "{case_9.mfu|percent}";
    recording.steps[2].question->ask = "{case_1.nothing}?";
    const auto told = recording.problems(test::catalogue());
    ASSERT_EQ(told.size(), 2U);
    EXPECT_TRUE(told[0].starts_with("step 2, ")) << told[0];
    EXPECT_NE(told[0].find("case_9"), std::string::npos) << told[0];
    EXPECT_TRUE(told[1].starts_with("step 3, ")) << told[1];
}

} // namespace sim
