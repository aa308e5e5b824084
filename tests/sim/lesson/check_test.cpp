// What is wrong with a lesson is found and told where it stands; the project's own lessons are right by the engine of today.
#include "sim/lesson/play.h"
#include "tests/sim/lesson/lessons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <variant>

using namespace sim;
using test::lessonWith;
using test::problemsOf;

namespace {

class LessonFile : public testing::TestWithParam<std::filesystem::path> {};

/// The words of a lesson, and these without live numbers, code, other lessons' numbers and ranks in binary.
bool isProse(const std::string& key)
{
    return key == "say" || key == "ask" || key == "because" || key == "text" || key == "hints" || key == "notes";
}
std::string withoutLiveNumbers(const std::string& text)
{
    return std::regex_replace(text, std::regex("\\{[^}]*\\}|`[^`]*`|lessons? [0-9]+|\\b[01]{4}\\b"), " ");
}

/// Every number in a text: of an expression, or typed among words. Not those of a name: 7B, fp16, GPT-2, Llama 3.
void addNumbersOf(const std::string& text, std::set<double>& out)
{
    static const std::regex number("(^|[^A-Za-z0-9_.])([0-9][0-9,]*(\\.[0-9]+)?)(?![0-9A-Za-z_])");
    for (std::sregex_iterator each(text.begin(), text.end(), number), end; each != end; ++each) {
        std::string digits = (*each)[2].str();
        std::erase(digits, ',');
        const double value = std::stod(digits);
        out.insert(value);
    }
}

/// What the engine works with: all numbers of the file but those of its words, and of what its scenarios resolve to.
void addKnown(const LessonValue& value, std::set<double>& out)
{
    if (value.is_number())
        out.insert(value.get<double>());
    if (value.is_string())
        addNumbersOf(value.get<std::string>(), out);
    if (value.is_object()) {
        for (const auto& [key, inside] : value.items())
            if (!isProse(key))
                addKnown(inside, out);
    } else if (value.is_array()) {
        for (const LessonValue& inside : value)
            addKnown(inside, out);
    }
}

void addTyped(const LessonValue& value, bool prose, std::map<double, std::string>& out)
{
    if (value.is_string() && prose) {
        std::set<double> numbers;
        addNumbersOf(withoutLiveNumbers(value.get<std::string>()), numbers);
        for (const double number : numbers)
            out.emplace(number, value.get<std::string>());
    } else if (value.is_object()) {
        for (const auto& [key, inside] : value.items())
            addTyped(inside, isProse(key), out);
    } else if (value.is_array()) {
        for (const LessonValue& inside : value)
            addTyped(inside, prose, out);
    }
}

TEST(LessonCheck, WhatIsSaidBesideAPictureIsSaidOfWhatItShows)
{
    const auto saying = [](const std::string& text) {
        return test::problemsOf(test::lessonWith({{"{tiny.world_size} ranks.", text}}));
    };
    EXPECT_EQ(saying("pp {cut.world_size} ranks."), "") << "the same number in both";
    EXPECT_EQ(saying("On screen is tiny; cut has pp {cut.describe.layout.pp}."), "") << "it says what is there";
    const std::string other = saying("It has pp {cut.describe.layout.pp}.");
    EXPECT_NE(other.find("/steps/0/say: {cut.describe.layout.pp} says 2 of \"cut\", but on screen is \"tiny\", where it is 1"),
              std::string::npos)
        << other;
}

TEST(LessonCheck, AQuestionTellsNumbersOfWhatIsOnScreenOrOfWhatItSupposes)
{
    const auto asking = [](const std::string& ask) { return test::problemsOf(test::lessonWith({{"Rank 0's replicas?", ask}})); };
    EXPECT_EQ(asking("Rank 0's replicas, dp {tiny.describe.layout.dp}?"), "");
    const std::string other = asking("Rank 0's replicas, pp {cut.describe.layout.pp}?");
    EXPECT_NE(other.find("/predict/ask: {cut.describe.layout.pp} says 2 of \"cut\", but on screen is \"tiny\""),
              std::string::npos)
        << other;
    EXPECT_EQ(asking("Of cut, not on screen: dp {cut.describe.layout.dp}?"), "") << "it says so";
    EXPECT_EQ(test::problemsOf(test::lessonWith({{"Rank 0's replicas?", "With pp {cut.describe.layout.pp}: rank 0's replicas?"},
                                                 {R"("answer":"tiny.groups(0).dp")", R"("answer":"cut.groups(0).dp")"},
                                                 {R"("near":"cut.groups(0).dp")", R"("near":"tiny.groups(0).dp")"}})),
              "")
        << "what is asked for may be supposed";
}

} // namespace

/// No answer is typed in: a number among the words is one that the engine was given, or that an expression of the same lesson
/// proves. Ten and less are counts of what the sentence names.
TEST_P(LessonFile, TypesNoNumberThatNothingProves)
{
    std::ifstream file(GetParam());
    const LessonValue json = LessonValue::parse(std::string(std::istreambuf_iterator<char>(file), {}));
    const Lesson lesson = readLesson(GetParam(), test::catalogue());
    const LessonPlay play(lesson, 1, test::catalogue());
    std::set<double> known;
    addKnown(json, known);
    for (const CaseDefinition& each : lesson.cases)
        if (const CaseSubject* subject = play.cases().subject(each.name); subject != nullptr && subject->index() == 0)
            addKnown(Expression::parse(each.name + ".describe").evaluate(play.cases()), known);
    std::map<double, std::string> typed;
    addTyped(json.at("steps"), false, typed);
    if (json.contains("remember"))
        addTyped(json.at("remember"), false, typed);
    constexpr double kMostCounted = 10;
    for (const auto& [number, words] : typed) {
        const bool isCount = number <= kMostCounted && number == std::floor(number);
        const auto stands = [&](double value) {
            return std::any_of(known.begin(), known.end(), [&](double k) { return std::abs(k - value) < 1e-9 * (1 + value); });
        };
        EXPECT_TRUE(isCount || stands(number) || stands(number / 100)) << number << " in: " << words;
    }
}

TEST_P(LessonFile, IsRightByTheEngineOfToday)
{
    const Lesson lesson = readLesson(GetParam(), test::catalogue());
    EXPECT_EQ(lesson.id, GetParam().stem().string()) << "a lesson is found by its id";
    for (const Problem& problem : checkLesson(lesson, test::catalogue()))
        ADD_FAILURE() << problem.text();
    for (const std::string& before : lesson.after)
        EXPECT_TRUE(std::filesystem::exists(GetParam().parent_path() / (before + ".json"))) << before;
}

INSTANTIATE_TEST_SUITE_P(Course, LessonFile, testing::ValuesIn(test::lessonFiles()), [](const auto& file) {
    std::string name = file.param.stem().string();
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
});

/// peak_memory_gib is the fullest rank's, whichever that is: a sentence about rank 0 takes per_pipeline_rank[0].
TEST_P(LessonFile, GivesARankItsOwnMemory)
{
    const std::function<void(const LessonValue&)> look = [&](const LessonValue& value) {
        if (value.is_structured())
            for (const LessonValue& each : value)
                look(each);
        if (!value.is_string())
            return;
        const std::regex sentence("[^.?!]*(\\.[^ ][^.?!]*)*"), rank("[Rr]ank [0-9]|([Ff]irst|last|second) (rank|GPU|stage)");
        const auto text = value.get<std::string>();
        for (std::sregex_iterator each(text.begin(), text.end(), sentence), end; each != end; ++each)
            if (const std::string words = each->str(); words.find("peak_memory_gib") != std::string::npos) {
                EXPECT_TRUE(!std::regex_search(words, rank) || words.find("fullest") != std::string::npos) << words;
            }
    };
    std::ifstream file(GetParam());
    look(LessonValue::parse(std::string(std::istreambuf_iterator<char>(file), {})));
}

TEST(LessonCheck, FindsNothingInALessonThatIsRight)
{
    EXPECT_EQ(problemsOf(test::kLesson), "");
}

TEST(LessonCheck, FindsEachPlantedMistake)
{
    struct Planted {
        std::string from, to, found;
    };
    const std::vector<Planted> all = {
        {"tiny.world_size == 4", "tiny.world_size == 8", "/holds/0: tiny.world_size == 8 does not hold: tiny.world_size is 4\n"},
        {"\"range\":[0,16]", "\"range\":[4,16]", "/steps/1/predict/range: the answer, 4, is not inside 4 to 16\n"},
        {"\"range\":[0,16]", "\"range\":[\"tent.peak_activations[0]\",16]",
         "/steps/1/predict/range: the answer, 4, is not inside 8 to 16\n"},
        {"\"near\":\"tent.peak_activations[0]\"", "\"near\":\"four.peak_activations[0] + 0.5\"",
         "/steps/1/predict/mistakes/0/near: this mistake's 4.5 is within the tolerance of the right answer, 4\n"},
        {"four.makespan != tent.makespan", "four.makespan == tent.makespan",
         "/steps/3/predict: 2 options are right; exactly one should be\n"},
        {"tiny.groups(0).dp", "tiny.groups(0).dp[0]",
         "/steps/5/predict/answer: the engine's answer is 0; a list of ranks is expected\n"},
        {"\"1F0 1B0 1F1 1B1\"", "\"1F0 1F1 1B0 1B1\"", "/steps/9/predict/solved_by/0: this order does not meet the goal\n"},
        {"mine.peak_activations[1] <= 1", "mine.peak_activations[1] <= 2",
         "/steps/9/predict/goal: the order that it starts with meets the goal\n"},
        {"{\"/stages\":2}", "{\"/microbatches\":3}",
         "/steps/11/challenge/solved_by/0: max(mine.peak_activations) <= 2 does not hold"},
        {"\"from\":\"four\",\"goal\":[\"max(mine.peak_activations) <= 2\"]",
         "\"from\":\"four\",\"goal\":[\"max(mine.peak_activations) <= 4\"]",
         "/steps/11/challenge/goal: the start reaches the goal before anything is changed\n"},
        {"[\"/layout/pp\"]", "[\"/schedule\"]", "/steps/12/challenge/solved_by/0: /layout/pp may not be changed here\n"},
        {"\"near\":\"2 * p\"", "\"near\":\"p\"",
         "/remember/0/mistakes/0/near: with p 2: this mistake's 2 is within the tolerance of the right answer, 2\n"},
        {"{p} stages", "{q} stages", "/remember/0/ask: with p 2: {q}: character 1: there is no \"q\""},
        {"\"show\":\"tiny\"", "\"show\":\"tinny\"", "/steps/0/show: there is no case \"tinny\"; nearest: \"tiny\"\n"},
        {"57-tiny-dp4", "57-tiny-dp5", "/cases/tiny/scenario: there is no scenario \"57-tiny-dp5\"; nearest: \"57-tiny-dp4\""},
        {"\"stages\":4", "\"stages\":0", "/cases/four: /stages: 0 is too small; nearest: 1"},
        {"\"kind\":\"gpipe\"", "\"kind\":\"gpip\"", ""},
        {"{tiny.world_size} ranks", "{tiny.world_size ranks", "/steps/0/say: nothing closes the {"},
        {"{tiny.world_size} ranks", "{tiny.world_size|gbi} ranks", "there is no format \"gbi\"; nearest: \"gib\", \"gb\""},
        {"\"id\":\"idle\"", "\"id\":\"peak\"", "/steps/2/predict/id: \"peak\" is the id of another question\n"},
        {"\"input\":\"number\",\"unit\"", "\"input\":\"numbr\",\"unit\"",
         "/steps/2/predict/input: \"numbr\": unknown input; nearest: \"number\"\n"},
        {"\"sure\":true", "\"many\":true", "/steps/1/predict/many: means nothing to input \"slider\"\n"},
        {"\"on\":\"mine_to_be\",", "", "/steps/9/predict: input \"actions\" needs \"on\"\n"},
        {"four.bubble.of_makespan", "four.bubble.of_makespan +", "/steps/2/predict/answer: character"},
        {"\"notes\":\"wait\"", "\"note\":\"wait\"", "/steps/0/note: unknown key; nearest: \"notes\"\n"},
        {"\"notes\":\"wait\"", "\"view\":{\"ranks\":[4]}",
         "/steps/0: the view selects rank 4, and \"tiny\" has ranks 0 to 3; give the step a view of its own\n"},
        {"\"notes\":\"wait\"", "\"view\":{\"pictures\":[\"timelin\"]}",
         "/steps/0/view/pictures/0: \"timelin\": unknown word; nearest: \"timeline\"\n"},
        {"\"notes\":\"wait\"", "\"view\":{\"lens\":\"memry\"}",
         "/steps/0/view/lens: \"memry\": unknown lens; nearest: \"memory\"\n"},
        {"\"notes\":\"wait\"", "\"view\":{\"rankz\":[1]}", "/steps/0/view/rankz: unknown key; nearest: \"ranks\""},
        {"\"notes\":\"wait\"", "\"point\":[{\"text\":\"here\",\"rank\":4}]",
         "/steps/0/point/0/rank: \"tiny\" has ranks 0 to 3, not 4\n"},
        {"\"notes\":\"wait\"", "\"point\":[{\"text\":\"here\",\"tensor\":\"MLP upp\"}]",
         "/steps/0/point/0/tensor: there is no tensor \"MLP upp\"; nearest: \"MLP up\""},
        {"\"minutes\":2", "\"after\":[\"bubbel\"]", "/after/0: there is no lesson \"bubbel\"; nearest: \"bubble\""},
        {"[\"/layout/pp\"]", "[\"/layout/pp\",\"/layuot\"]",
         "/steps/12/challenge/allow/1: a scenario has no \"/layuot\"; /layout/tp and /training are such pointers\n"},
        {"\"notes\":\"wait\"",
         "\"chart\":{\"bars\":[{\"text\":\"a\",\"value\":\"0 - 1\"},{\"text\":\"b\",\"value\":\"tiny.world_size\"}]}",
         "/steps/0/chart: 0 - 1 is -1; a bar is no shorter than 0\n"},
        {"\"notes\":\"wait\"",
         "\"chart\":{\"bars\":[{\"text\":\"a\",\"value\":\"1\"},{\"text\":\"b\",\"value\":\"tiny.world\"}]}", "/steps/0/chart: "},
        {"\"predict\":{\"id\":\"idle\"",
         "\"chart\":{\"bars\":[{\"text\":\"a\",\"value\":\"1\"},{\"text\":\"b\",\"value\":\"2\"}]},\"predict\":{\"id\":\"idle\"",
         "/steps/2/chart: a chart tells its numbers: it stands in a step that asks nothing\n"},
        {"\"from\":\"four\",\"set\"", "\"from\":\"five\",\"set\"", "/cases/tent/from: there is no case \"five\" to start from"},
        {"\"version\":1", "\"version\":2", "/version: 2 is too large; nearest: 1\n"},
        {"\"four\":{\"schedule\"", "\"spare\":{\"scenario\":\"57-tiny-dp4\"},\"four\":{\"schedule\"",
         "/cases/spare: nothing uses this case\n"}};
    for (const Planted& planted : all) {
        SCOPED_TRACE(planted.to);
        if (planted.found.empty())
            continue;
        EXPECT_THAT(problemsOf(lessonWith({{planted.from, planted.to}})), testing::HasSubstr(planted.found));
    }
}

TEST(LessonCheck, AToleranceTellsOtherIdeasApart)
{
    const auto with = [](const std::string& more) {
        return problemsOf(
            lessonWith({{"\"answer\":\"four.bubble.of_makespan\"", "\"answer\":\"four.bubble.of_makespan\"" + more}}));
    };
    // 27.3 % is right; 33.3 % with a stage more, 37.5 % over the ideal time.
    EXPECT_EQ(with(",\"tolerance\":{\"absolute\":0.05}"), "");
    EXPECT_THAT(
        with(",\"tolerance\":{\"absolute\":0.07}"),
        testing::HasSubstr("/steps/2/predict/tolerance: 0.333333, that of a stage more, p for p - 1, would be taken for"));
    EXPECT_THAT(with(",\"tolerance\":{\"absolute\":0.11}"),
                testing::HasSubstr("0.375, the same share of another whole (four.bubble.over_ideal), would be taken for"));
    // What another question of the lesson knows as a mistake, as it stands and of this question's case.
    const std::string other = R"({"predict":{"id":"also","ask":"?","input":"number","unit":"%","answer":"tent.bubble.over_ideal",
        "tolerance":{"absolute":0.01},"mistakes":[{"near":"1/4","say":"No."},{"near":"tent.bubble.of_makespan / 1.1","say":"No."}]}},)";
    const std::string found =
        problemsOf(lessonWith({{"{\"predict\":{\"id\":\"same\"", other + "{\"predict\":{\"id\":\"same\""}}));
    EXPECT_THAT(found, testing::HasSubstr("0.25, what \"also\" lists as a mistake (1/4), would be taken for"));
    EXPECT_THAT(found, testing::HasSubstr("what \"also\" lists as a mistake (tent.bubble.of_makespan / 1.1) of \"four\""));
}

TEST(LessonCheck, OfManyAskingsEachValueIsTried)
{
    // 720 ways to ask; at one value of the last number no bubble is left.
    const std::string found = problemsOf(
        lessonWith({{"\"vary\":{\"p\":[2,4]}",
                     "\"vary\":{\"p\":[2,4,8,16],\"q\":[1,2,3,4,5,6,7,8,9,10,11,12],\"r\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,0]}"},
                    {"{p} stages: how many?", "{p} stages, {q / r}: how many?"}}));
    EXPECT_NE(found.find("r 0: {q / r}"), std::string::npos) << found;
}

TEST(LessonCheck, QuestionsMayVaryNumbersOfTheirOwn)
{
    const std::string two = R"({"format":"rankscope-lesson","version":1,"id":"two","title":"Two",
"cases":{"stages":{"schedule":{"kind":"1f1b","stages":"=p","microbatches":8}},
         "more":{"from":"stages","set":{"/microbatches":16}},
         "long":{"schedule":{"kind":"1f1b","stages":4,"microbatches":"=m"}}},
"steps":[{"say":"hello"}],
"remember":[{"ask":"{p}?","input":"number","vary":{"p":[2,4]},"answer":"stages.peak_activations[0] + more.peak_activations[0]"},
            {"ask":"{m}?","input":"number","vary":{"m":[8,16]},"answer":"long.peak_activations[0]"}]})";
    EXPECT_EQ(problemsOf(two), "");
    std::string typo = two;
    typo.replace(typo.find("\"=m\""), 4, "\"=n\"");
    EXPECT_NE(problemsOf(typo).find("there is no \"n\""), std::string::npos) << problemsOf(typo);
}

TEST(LessonCheck, TellsAllProblemsAtOnce)
{
    const std::string found = problemsOf(lessonWith({{"tiny.world_size == 4", "tiny.world_size == 8"},
                                                     {"\"range\":[0,16]", "\"range\":[4,16]"},
                                                     {"{\"/stages\":2}", "{\"/stages\":3}"}}));
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 3) << found;
}

TEST(LessonCheck, RefusesWhatIsNoLesson)
{
    EXPECT_THAT(problemsOf("[]"), testing::HasSubstr("a list"));
    EXPECT_THAT(problemsOf("{"), testing::HasSubstr("line 1"));
    EXPECT_THAT(problemsOf("{}"), testing::HasSubstr("key \"format\" is missing"));
    EXPECT_THAT(problemsOf(std::string(2U << 20U, ' ')), testing::HasSubstr("at most 1048576 bytes"));
    const std::string long_ = "1" + std::string(1 << 19, '+') + "1";
    EXPECT_THAT(problemsOf(lessonWith({{"tiny.world_size == 4", long_}})), testing::HasSubstr("/holds/0"));
}
