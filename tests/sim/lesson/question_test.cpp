// What is asked, what is right, and what is said to who is wrong.
#include "sim/lesson/challenge.h"
#include "sim/lesson/live_text.h"
#include "sim/lesson/play.h"
#include "sim/lesson/question.h"
#include "tests/sim/lesson/class_paper.h"
#include "tests/sim/lesson/lessons.h"

#include <gtest/gtest.h>

#include <set>

using namespace sim;

namespace {

class Asked : public testing::Test {
protected:
    const Question& named(const std::string& id) const
    {
        for (const Question* question : m_lesson.questions())
            if (question->id == id)
                return *question;
        return m_lesson.remember.front();
    }
    AskedQuestion asked(const std::string& id) { return AskedQuestion(named(id), m_cases); }
    bool isRight(const std::string& id, const LessonValue& given)
    {
        const AskedQuestion question(named(id), m_cases);
        EXPECT_EQ(question.whyNoAnswer(given), "");
        return question.isRight(given);
    }
    std::string whyNone(const std::string& id, const LessonValue& given)
    {
        return AskedQuestion(named(id), m_cases).whyNoAnswer(given);
    }
    std::string reason(const std::string& id, const LessonValue& given)
    {
        return AskedQuestion(named(id), m_cases).reasonFor(given);
    }

    Lesson m_lesson = test::lesson();
    LessonCases m_cases{m_lesson, test::catalogue()};
};

TEST(LessonQuestion, AnEndThatIsStillInTheSliceIsToldWhy)
{
    const sim::Catalogue& catalogue = test::catalogue();
    const sim::LessonPlay play(sim::readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/cut-the-matrix.json", catalogue), 1,
                               catalogue);
    for (std::size_t at = 0; at < play.steps(); ++at)
        if (play.id(at) == "slice") {
            const sim::AskedQuestion& asked = *play.asked(at);
            EXPECT_EQ(asked.rightAnswer(), sim::LessonValue::array({5184, 6912}));
            EXPECT_NE(asked.reasonFor({5184, 6911}).find("6912, not 6911"), std::string::npos) << asked.reasonFor({5184, 6911});
            EXPECT_EQ(asked.reasonFor({5184, 6000}), "");
            return;
        }
    FAIL() << "the lesson asks for a slice";
}

/// What a newcomer answered, and the idea that led there: each is refuted by itself.
TEST(LessonQuestion, AWrongIdeaOfTheCourseHasItsOwnReason)
{
    struct Wrong {
        const char *lesson, *id;
        sim::LessonValue given;
        const char* told;
    };
    const std::vector<Wrong> all{
        {"two-copies", "more", {12.5, 25}, "Twice the servers"},
        {"two-copies", "more", {18.7, 43.6}, "everybody told everybody"},
        {"two-copies", "overlap", 0.163, "No change?"},
        {"share-the-states", "activations", 17.6, "More?"},
        {"share-the-states", "stages", {122, 61, 40, 30}, "no number of GPUs"},
        {"share-the-states", "stages", {122, 56, 34, 15.2}, "you shared activations too"},
        {"share-the-states", "stages", {15.2, 15.2, 15.2, 15.2}, "Stage 0 shares nothing"},
    };
    for (const Wrong& wrong : all) {
        const Lesson lesson =
            readLesson(std::string(RANKSCOPE_SOURCE_DIR "/assets/lessons/") + wrong.lesson + ".json", test::catalogue());
        const LessonCases cases(lesson, test::catalogue());
        for (const Question* question : lesson.questions())
            if (question->id == wrong.id) {
                const std::string reason = AskedQuestion(*question, cases).reasonFor(wrong.given);
                EXPECT_NE(reason.find(wrong.told), std::string::npos) << wrong.id << " " << wrong.given << ": " << reason;
            }
    }
}

TEST(LessonPaperWords, ALaterTextDoesNotTellWhatAnEarlierOneAsksFor)
{
    const LessonPlay play(readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/two-copies.json", test::catalogue()), 1,
                          test::catalogue());
    const auto at = [&](const std::string& id) {
        std::size_t place = 0;
        while (play.id(place) != id)
            ++place;
        return place;
    };
    const std::string bytes = writtenValue(play.asked(at("bytes"))->rightAnswer(), ".2");
    EXPECT_NE(play.text(at("more")).find(bytes), std::string::npos) << "beside the engine's answer it may be said";
    EXPECT_EQ(play.textOnPaper(at("more")).find(bytes), std::string::npos) << play.textOnPaper(at("more"));
    EXPECT_NE(play.textOnPaper(at("more")).find("a rank sends (answer 2) GB"), std::string::npos) << play.textOnPaper(at("more"));
    EXPECT_EQ(play.textOnPaper(at("bytes")), play.text(at("bytes"))) << "nothing was asked of it before";
    EXPECT_EQ(play.textOnPaper(at("hide")), play.text(at("hide")));
}

TEST(LessonMask, AnotherNameOfTheScenarioOnScreenIsThatScenario)
{
    const auto shows = [](const std::string& answer) {
        const LessonPlay play(test::lesson(R"({"format":"rankscope-lesson","version":1,"id":"twin","title":"Twin",
"cases":{"seen":{"scenario":"57-tiny-dp4"},"twin":{"from":"seen"},"other":{"from":"seen","set":{"/layout/dp":2}}},
"steps":[{"say":"{twin.world_size} {other.world_size}","show":"seen"},
         {"predict":{"id":"q","ask":"?","input":"number","answer":")" +
                                           answer + R"("}}]})"),
                              1, test::catalogue());
        return play.showsWhatIsAsked(1);
    };
    EXPECT_TRUE(shows("seen.step_time_s"));
    EXPECT_TRUE(shows("seen .step_time_s"));
    EXPECT_TRUE(shows("twin.step_time_s"));
    EXPECT_FALSE(shows("other.step_time_s"));
}

/// What is said, and what was answered before, may be seen; and a comparison with what is not on screen is not told by it.
TEST(LessonMask, BeforeAQuestionTheScreenDoesNotTellItsAnswer)
{
    const LessonPlay play(test::lesson(R"({"format":"rankscope-lesson","version":1,"id":"ahead","title":"Ahead",
"cases":{"seen":{"scenario":"57-tiny-dp4"},"twin":{"from":"seen"},"other":{"from":"seen","set":{"/layout/dp":2}}},
"steps":[{"say":"{seen.world_size} {other.world_size}","show":"seen"},
         {"predict":{"id":"more","ask":"?","input":"choice","options":[{"text":"yes","if":"seen.peak_memory_gib > 0"},
             {"text":"no","if":"seen.peak_memory_gib <= 0"}]}},
         {"predict":{"id":"peak","ask":"?","input":"number","answer":"twin.peak_memory_gib"}},
         {"say":"So it is."},
         {"predict":{"id":"ratio","ask":"?","input":"number","answer":"other.step_time_s / seen.step_time_s"}},
         {"predict":{"id":"size","ask":"?","input":"number","answer":"seen.world_size * seen.peak_memory_gib"}},
         {"predict":{"id":"bars","ask":"{seen.step_time_s}","input":"bars","range":[0,1],"bars":[
             {"text":"told","answer":"seen.step_time_s"},{"text":"not","answer":"seen.mfu"},{"text":"other","answer":"other.mfu"}]}},
         {"say":"Now the other.","show":"other"}]})"),
                          1, test::catalogue());
    const std::vector<std::size_t> all{1, 2, 6}, both{2, 6}, bars{6}, none;
    EXPECT_EQ(play.answersAhead(0), all);
    EXPECT_EQ(play.answersAhead(1), both) << "a choice tells no number";
    for (const std::size_t at : {2, 3, 4, 5})
        EXPECT_EQ(play.answersAhead(at), bars) << at;
    EXPECT_EQ(play.answersAhead(6), none);
    EXPECT_EQ(play.answersAhead(7), none);
}

Paper paperOf(const std::string& lesson)
{
    return {sim::readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/" + lesson + ".json", test::catalogue()), 1, test::catalogue()};
}

TEST(LessonQuestion, BesideAShareOfNothingNoOtherWritingIsRight)
{
    const Paper paper = paperOf("stay-in-the-node");
    const AskedQuestion& talk = test::askedOf(paper, "talk");
    ASSERT_EQ(talk.rightAnswer().get<double>(), 0);
    EXPECT_TRUE(talk.isRight(0.004));
    for (const double given : {0.4, 0.5, 0.2, 40.0}) {
        EXPECT_FALSE(talk.isRight(given)) << given;
        EXPECT_EQ(talk.meant(given), given);
    }
}

TEST(LessonQuestion, WhatASliderStopsAtIsReadAsItShows)
{
    const Paper paper = paperOf("three-utilisations");
    const AskedQuestion& hfu = test::askedOf(paper, "hfu");
    const double right = hfu.rightAnswer().get<double>();
    ASSERT_NEAR(right, 0.5, 0.025);
    EXPECT_FALSE(hfu.isRight(0.005)) << "its first notch";
    EXPECT_EQ(hfu.meant(0.005), 0.005);
    EXPECT_EQ(hfu.reasonFor(0.005), "") << "nobody wrote it";
    EXPECT_TRUE(hfu.isRight(0.00512)) << "0.512 is typed: the slider does not stop there";
    EXPECT_TRUE(hfu.isRight(right));
}

TEST(SliderNotches, AreRoundedToTheDigitsOfAStepUnlessTheQuestionHasItsOwn)
{
    EXPECT_DOUBLE_EQ(SliderNotches(0, 100, 0).at(1), 0.5);
    EXPECT_DOUBLE_EQ(SliderNotches(0, 50, 0).at(1), 0.3) << "a step of 0.25";
    EXPECT_DOUBLE_EQ(SliderNotches(1, 17, 0).at(200), 17);
    EXPECT_DOUBLE_EQ(SliderNotches(0, 100, 0.25).at(1), 0.25);
    EXPECT_DOUBLE_EQ(SliderNotches(0, 100, 1e-3).at(1), 0.5) << "more notches than a slider has";
}

} // namespace

TEST_F(Asked, NumbersAreRightWithinTheirTolerance)
{
    EXPECT_TRUE(isRight("peak", 4.5));
    EXPECT_FALSE(isRight("peak", 4.6));
    EXPECT_EQ(reason("peak", 8.2), "GPipe's 8.");
    EXPECT_EQ(reason("peak", 6), "");
    const double idle = 3.0 / 11; // (p - 1) / (m + p - 1)
    EXPECT_TRUE(isRight("idle", idle));
    EXPECT_TRUE(isRight("idle", idle * 1.09)) << "what is measured has a tenth";
    EXPECT_FALSE(isRight("idle", idle * 1.11));
    EXPECT_EQ(whyNone("peak", "four"), "a number is expected");
}

TEST_F(Asked, AShareIsRightInEitherWriting)
{
    const double right = 3.0 / 11; // of a makespan
    EXPECT_TRUE(isRight("idle", right));
    EXPECT_TRUE(isRight("idle", right / 100)) << "0.27 typed where per cent are";
    EXPECT_TRUE(isRight("idle", right * 100)) << "27.3 written where shares of one are";
    EXPECT_FALSE(isRight("idle", 2 * right / 100));
    EXPECT_FALSE(isRight("idle", right * 10));
    EXPECT_DOUBLE_EQ(asked("idle").meant(right / 100).get<double>(), right);
    EXPECT_EQ(asked("idle").meant(0.5), 0.5) << "wrong in either";
    EXPECT_EQ(reason("idle", 0.005), "This counts as 0.5 %. If a share of one was meant, it is 50 %.");
    EXPECT_EQ(reason("idle", 50), "This counts as 5,000 %. If per cent were meant, it is 50 %, or as a share of one 0.5.");
    EXPECT_EQ(reason("idle", 0.5), "");
    EXPECT_EQ(reason("idle", 0.01), "") << "a share of one would be all of it";
    EXPECT_FALSE(isRight("peak", 0.04)) << "no per cent are asked for";
}

TEST_F(Asked, OfSeveralOptionsWhatIsMissedIsSaid)
{
    EXPECT_EQ(reason("some", LessonValue::array({1})), "Missed: GPipe.");
    EXPECT_EQ(reason("some", LessonValue::array()), "Missed: GPipe.");
    EXPECT_EQ(reason("some", LessonValue::array({0, 1})), "") << "nothing is missed, and the wrong one says nothing";
    const Lesson lesson = readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/mesh-of-two.json", test::catalogue());
    const LessonCases cases(lesson, test::catalogue());
    for (const Question* question : lesson.questions())
        if (question->id == "fits") {
            const std::string told = AskedQuestion(*question, cases).reasonFor(LessonValue::array({1, 4}));
            EXPECT_NE(told.find("A quarter of the states each"), std::string::npos) << told;
            EXPECT_NE(told.find("Missed: FSDP alone, on two nodes."), std::string::npos) << told;
            return;
        }
    FAIL() << "the lesson asks for several";
}

TEST_F(Asked, ChoicesAreRightByTheEngine)
{
    EXPECT_TRUE(isRight("same", 0));
    EXPECT_FALSE(isRight("same", 1));
    EXPECT_EQ(reason("same", 1), "Both take 33.");
    EXPECT_EQ(whyNone("same", 2), "the place of an option is expected, 0 to 1");
    EXPECT_TRUE(isRight("some", LessonValue::array({0})));
    EXPECT_FALSE(isRight("some", LessonValue::array({0, 1})));
    EXPECT_FALSE(isRight("some", LessonValue::array()));
    EXPECT_NE(whyNone("some", LessonValue::array({0, 0})), "");
}

TEST_F(Asked, RanksCardsBarsAndCurves)
{
    EXPECT_TRUE(isRight("peers", LessonValue::array({3, 1, 0, 2})));
    EXPECT_FALSE(isRight("peers", LessonValue::array({0, 1, 2})));
    EXPECT_EQ(asked("cards").rightAnswer(), LessonValue::array({1, 2, 0}));
    EXPECT_TRUE(isRight("cards", LessonValue::array({1, 2, 0})));
    EXPECT_FALSE(isRight("cards", LessonValue::array({0, 2, 1})));
    EXPECT_NE(whyNone("cards", LessonValue::array({0, 1})), "");
    EXPECT_NE(whyNone("cards", LessonValue::array({0, 1, 3})), "");
    EXPECT_TRUE(isRight("bars", LessonValue::array({4.3, 1})));
    EXPECT_FALSE(isRight("bars", LessonValue::array({4.3, 1.2})));
    EXPECT_TRUE(isRight("curve", LessonValue::array({4, 3.5, 2, 1.5})));
    EXPECT_FALSE(isRight("curve", LessonValue::array({4, 4, 4, 4})));
}

TEST_F(Asked, AnOrderOfActionsMeetsTheGoalOrSaysNothing)
{
    EXPECT_TRUE(isRight("drag", LessonValue::array({"0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"})));
    EXPECT_FALSE(isRight("drag", LessonValue::array({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"})));
    EXPECT_FALSE(isRight("drag", LessonValue::array({"0B0 0F0 0F1 0B1", "1F0 1B0 1F1 1B1"}))) << "it hangs";
    EXPECT_FALSE(isRight("drag", LessonValue::array({"nonsense"})));
}

TEST_F(Asked, AnOrderTellsWhatItComesToAndWhichGoalItMisses)
{
    const AskedQuestion& drag = asked("drag");
    const OrderOutcome good = drag.outcomeOf(LessonValue::array({"0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"}));
    EXPECT_EQ(good.mostHeld, 2);
    EXPECT_GT(good.bubbleOverIdeal, 0);
    EXPECT_TRUE(good.unmet.empty());
    const OrderOutcome start = drag.outcomeOf(LessonValue::array({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"}));
    ASSERT_EQ(start.unmet.size(), 1U);
    EXPECT_NE(start.unmet[0].find("mine.peak_activations[1] is 2"), std::string::npos) << start.unmet[0];
    EXPECT_TRUE(start.problem.empty());
    const std::string hangs = drag.outcomeOf(LessonValue::array({"0B0 0F0 0F1 0B1", "1F0 1B0 1F1 1B1"})).problem;
    EXPECT_TRUE(hangs.starts_with("0B0")) << hangs << ": no word of the expression that asks for its numbers";
    EXPECT_FALSE(drag.outcomeOf(LessonValue::array({"nonsense"})).unmet.empty());
}

TEST_F(Asked, AnOrderThatHangsSaysWhoWaits)
{
    Cases cases("", test::catalogue());
    cases.add({"crossed", "/cases/crossed",
               LessonValue::parse(R"({"schedule":{"kind":"custom","actions":["0F0 0B0 0F1 0B1","1F1 1B1 1F0 1B0"]}})")});
    const auto value = [&](const std::string& text) { return Expression::parse(text).evaluate(cases); };
    EXPECT_EQ(value("crossed.hangs"), true);
    EXPECT_EQ(value("count(crossed.waits)"), 2);
    EXPECT_EQ(value("crossed.waits[0].blocked"), "0B0");
    EXPECT_EQ(value("crossed.waits[1].blocked"), "1F1");
    EXPECT_TRUE(whyNot("crossed.makespan > 0", cases).has_value());
}

TEST_F(Asked, AnotherNameOfACaseIsTheSameCaseWorkedOutOnce)
{
    Cases cases("", test::catalogue());
    cases.add({"pipe", "/cases/pipe", LessonValue::parse(R"({"schedule":{"kind":"1f1b","stages":4,"microbatches":8}})")});
    Cases above(&cases);
    above.putSame("mine", "pipe");
    EXPECT_EQ(std::get<const Names*>(above.find("mine")), std::get<const Names*>(cases.find("pipe")));
    EXPECT_EQ(Expression::parse("mine.makespan").evaluate(above), Expression::parse("pipe.makespan").evaluate(cases));
    EXPECT_THROW(above.putSame("mine", "pine"), Error);
    above.putNumber("seven", 7);
    EXPECT_THROW(above.putSame("mine", "seven"), Error) << "a number is no case";
}

TEST_F(Asked, VariedQuestionsHaveCasesOfTheirOwn)
{
    const Question& later = m_lesson.remember.front();
    ASSERT_EQ(combinationsOf(later), 2U);
    for (const std::size_t i : {0U, 1U}) {
        const AskedQuestion question(later, m_cases, combination(later, i));
        const double stages = i == 0 ? 2 : 4;
        EXPECT_EQ(question.text(), writtenValue(stages, "") + " stages: how many?");
        EXPECT_TRUE(question.isRight(stages));
        EXPECT_FALSE(question.isRight(stages + 1)) << "what is counted is right or not";
        EXPECT_EQ(question.reasonFor(2 * stages), "GPipe's");
    }
}

TEST_F(Asked, DrawsAreTheSameForTheSameSeedAndReachEverything)
{
    std::set<std::size_t> seen;
    SeededDraw a(7), b(7);
    for (int i = 0; i < 200; ++i) {
        const std::size_t drawn = a.below(6);
        EXPECT_EQ(drawn, b.below(6));
        EXPECT_LT(drawn, 6U);
        seen.insert(drawn);
    }
    EXPECT_EQ(seen.size(), 6U);
}

TEST_F(Asked, ChallengesCountTheControlsThatWereMoved)
{
    const Challenge& two = *m_lesson.challenges()[1];
    const auto state = [&](const std::string& keys) {
        CaseSubject mine = startOf(two, m_cases.all());
        setKeys(mine, LessonValue::parse(keys));
        return stateOf(two, mine, m_cases.all());
    };
    EXPECT_EQ(state("{}").text(), "mine.describe.layout.pp == 2 does not hold: mine.describe.layout.pp is 1");
    EXPECT_TRUE(state(R"({"/layout/dp":2,"/layout/pp":2})").isReached()) << "dp that keeps the GPUs is free";
    const ChallengeState more = state(R"({"/layout/dp":2,"/layout/pp":2,"/layout/zero_stage":1})");
    EXPECT_FALSE(more.isReached());
    EXPECT_EQ(more.text(), "/layout/zero_stage may not be changed here");
    EXPECT_TRUE(more.isTooMuch());
    EXPECT_TRUE(state(R"({"/layout/dp":2,"/layout/pp":2,"/name":"mine"})").isReached()) << "a name is no change";
    EXPECT_NE(state(R"({"/layout/tp":3})").problem, "");
    const ChallengeState kind = // the form gives another kind as many chunks as it has at least
        state(R"({"/layout/dp":2,"/layout/pp":2,"/schedule/kind":"interleaved-1f1b","/schedule/virtual_stages":2})");
    EXPECT_EQ(kind.changed, (std::vector<std::string>{"/layout/pp", "/schedule/kind"}));
}

TEST_F(Asked, WhatFollowsTheControlThatWasMovedIsFree)
{
    using Keys = std::vector<std::string>;
    const auto changed = [&](const std::string& keys, const Cases& cases, const Challenge& challenge) {
        CaseSubject mine = startOf(challenge, cases);
        setKeys(mine, LessonValue::parse(keys));
        return stateOf(challenge, mine, cases).changed;
    };
    const Challenge& two = *m_lesson.challenges()[1]; // four ranks on one node of four GPUs
    const auto moved = [&](const std::string& keys) { return changed(keys, m_cases.all(), two); };
    EXPECT_EQ(moved(R"({"/layout/dp":8,"/cluster/nodes":2})"), Keys{"/layout/dp"}) << "as many nodes as its ranks need";
    EXPECT_EQ(moved(R"({"/layout/pp":2,"/cluster/nodes":2})"), Keys{"/layout/pp"});
    EXPECT_EQ(moved(R"({"/layout/pp":2,"/layout/dp":8,"/cluster/nodes":4})"), Keys{"/layout/pp"}) << "after another size";
    EXPECT_EQ(moved(R"({"/layout/dp":8,"/cluster/nodes":4})"), (Keys{"/cluster/nodes", "/layout/dp"})) << "more than they need";
    EXPECT_EQ(moved(R"({"/cluster/nodes":2})"), Keys{"/cluster/nodes"});

    const Lesson sharded = test::lesson(test::lessonWith({{R"("four":{)", R"("shards":{"from":"tiny","set":{
        "/layout/zero_stage":3,"/layout/dp_shard":4}},"four":{)"}}));
    const LessonCases cases(sharded, test::catalogue());
    Challenge shards = two;
    shards.from = "shards";
    EXPECT_EQ(changed(R"({"/layout/pp":2,"/layout/dp":2,"/layout/dp_shard":2})", cases.all(), shards), Keys{"/layout/pp"});
    EXPECT_EQ(changed(R"({"/layout/dp_shard":2})", cases.all(), shards), Keys{"/layout/dp_shard"});
}

TEST(LessonChallenge, LayersDealtEvenlyToOtherStagesFollowTheKind)
{
    const Lesson lesson = readLesson(RANKSCOPE_SOURCE_DIR "/assets/lessons/one-f-one-b.json", test::catalogue());
    const LessonCases cases(lesson, test::catalogue());
    const Challenge& fit = *lesson.challenges().front(); // four stages of twelve layers
    const auto state = [&](const std::string& keys) {
        CaseSubject mine = startOf(fit, cases.all());
        setKeys(mine, LessonValue::parse(keys));
        return stateOf(fit, mine, cases.all());
    };
    using Keys = std::vector<std::string>;
    for (const char* layers : {"[6,6,6,6,6,6,6,6]", "null"}) {
        const ChallengeState folded = state(
            R"({"/schedule/kind":"zb-v","/schedule/virtual_stages":2,"/schedule/layers_per_stage":)" + std::string(layers) + "}");
        EXPECT_EQ(folded.changed, Keys{"/schedule/kind"}) << layers;
        EXPECT_TRUE(folded.isReached()) << folded.text();
    }
    EXPECT_EQ(state(R"({"/schedule/kind":"1f1b","/schedule/layers_per_stage":[13,13,12,10]})").changed,
              (Keys{"/schedule/kind", "/schedule/layers_per_stage"}))
        << "another division of the same stages is somebody's choice";
    EXPECT_EQ(
        state(R"({"/schedule/kind":"zb-v","/schedule/virtual_stages":2,"/schedule/layers_per_stage":[7,7,7,7,7,7,5,1]})").changed,
        (Keys{"/schedule/kind", "/schedule/layers_per_stage"}))
        << "and so is an uneven one";
}

TEST(LiveText, WritesNumbersAsTheFormatSays)
{
    EXPECT_EQ(writtenValue(17.6144, "gib"), "17.6 GiB");
    EXPECT_EQ(writtenValue(6.23e9, "gb"), "6.23 GB");
    EXPECT_EQ(writtenValue(0.335, "percent"), "33.5 %");
    EXPECT_EQ(writtenValue(8, ""), "8");
    EXPECT_EQ(writtenValue(8.5665, ""), "8.57");
    EXPECT_EQ(writtenValue(16384, ""), "16,384");
    EXPECT_EQ(writtenValue(1.25, ".1"), "1.2");
    EXPECT_EQ(writtenValue(8.1, "times"), "8.10 ×");
    EXPECT_EQ(writtenValue(LessonValue::array({4, 3}), ""), "4, 3");
    EXPECT_EQ(writtenValue("1f1b", ""), "1f1b");
    EXPECT_THROW(writtenValue("1f1b", "gib"), Error);
    const Cases none("", test::catalogue());
    EXPECT_EQ(filledIn("{{1, 2}} {1 + 1} {0.5|percent}", none), "{1, 2} 2 50.0 %");
    EXPECT_THROW(filledIn("{1 +}", none), Error);
    EXPECT_THROW(filledIn("{1/0}", none), Error);
}
