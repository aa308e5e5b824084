// What a class answers: counted, binned, typed.
#include "sim/lesson/room.h"
#include "tests/sim/lesson/class_paper.h"
#include "tests/sim/lesson/lessons.h"

#include <gtest/gtest.h>

namespace sim {

using test::askedOf, test::classPaper;

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

TEST(RoomVotes, AFractionIsAShareOfOne)
{
    const Paper paper(test::lesson(), 1, test::catalogue());
    for (const PaperQuestion& question : paper.questions())
        if (question.id == "idle") {
            EXPECT_EQ(typedVotes(*question.asked, "3/8 x 2").front().first, 0.375);
            EXPECT_EQ(typedVotes(*question.asked, "37.5 %").front().first, 0.375);
            return;
        }
    FAIL() << "the lesson asks for a share";
}

TEST(RoomVotes, AShareThatIsWrittenOtherwiseStandsInTheBarOfWhatIsMeant)
{
    const Paper paper(test::lesson(), 1, test::catalogue());
    const AskedQuestion& asked = askedOf(paper, "idle");
    const double right = asked.rightAnswer().get<double>();
    RoomVotes room(asked);
    for (const double given : {right, right / 100, right * 100, 0.5})
        room.add(0, given);
    auto bars = room.bars();
    ASSERT_EQ(bars.size(), 2U);
    EXPECT_TRUE(bars[0].isRight);
    EXPECT_EQ(bars[0].counts[0], 3);
    EXPECT_FALSE(bars[1].isRight);
    for (int i = 0; i < 12; ++i) // too many for a bar each
        room.add(0, 0.6 + i / 100.0);
    bars = room.bars();
    ASSERT_EQ(bars.size(), 10U);
    EXPECT_LT(bars.back().to, 1) << "27.3 is not 2,730 %";
    for (const RoomBar& bar : bars)
        EXPECT_TRUE(!bar.isRight || bar.counts[0] == 3) << bar.counts[0];
    EXPECT_DOUBLE_EQ(room.rightShare(0), 3.0 / 16);
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
    EXPECT_EQ(typedVotes(number, "17,5 x 4").front().first, 17.5) << "as in the learner's own field";
    EXPECT_NE(why(number, "1,234").find("1234 or 1.234"), std::string::npos);
    RoomVotes room(choice);
    EXPECT_THROW(room.add(0, 1, -1), Error);
    EXPECT_THROW(room.add(0, 7), Error);
    room.add(0, 1, RoomVotes::kMostAnswers);
    EXPECT_THROW(room.add(0, 1), Error);
}

} // namespace sim
