#include "app/session/playback.h"

#include <gtest/gtest.h>

#include <QCoreApplication>

#include <vector>

namespace app {
namespace {

constexpr std::int64_t kStepNs = 3'000'000;

class PlaybackTest : public testing::Test {
protected:
    PlaybackTest()
    {
        playback.setSpan({0, kStepNs});
        QObject::connect(&playback, &Playback::moved, [this](qint64 ns) { seen.push_back(ns); });
    }
    Playback playback;
    std::vector<std::int64_t> seen;
};

TEST_F(PlaybackTest, TakesTenSecondsAtSpeedOneWhateverTheStepTakes)
{
    playback.play();
    playback.advance(Playback::kSecondsASpan / 4);
    EXPECT_EQ(playback.positionNs(), kStepNs / 4);
    playback.setSpeed(2);
    playback.advance(Playback::kSecondsASpan / 8);
    EXPECT_EQ(playback.positionNs(), kStepNs / 2);
}

TEST_F(PlaybackTest, ManySmallTicksGoAsFarAsALargeOne)
{
    playback.setSpan({0, 77}); // 7.7 ns a second
    playback.play();
    for (int i = 0; i < 500; ++i)
        playback.advance(0.01);
    EXPECT_NEAR(static_cast<double>(playback.positionNs()), 38.5, 1);
}

TEST_F(PlaybackTest, StopsAtTheEndAndBeginsAnew)
{
    playback.play();
    playback.advance(100);
    EXPECT_EQ(playback.positionNs(), kStepNs);
    EXPECT_FALSE(playback.isPlaying());
    playback.play();
    EXPECT_TRUE(playback.isPlaying());
    EXPECT_EQ(seen.back(), 0);
}

TEST_F(PlaybackTest, RepeatsWithinTheSelectedRange)
{
    playback.setSpan({1000, 2000});
    EXPECT_EQ(playback.positionNs(), 1000);
    playback.setRepeating(true);
    playback.play();
    playback.advance(Playback::kSecondsASpan * 1.25);
    EXPECT_EQ(playback.positionNs(), 1250);
    EXPECT_TRUE(playback.isPlaying());
}

TEST_F(PlaybackTest, NothingIsNotPlayed)
{
    playback.play();
    playback.setSpan({0, 0});
    EXPECT_FALSE(playback.isPlaying());
    playback.play();
    EXPECT_FALSE(playback.isPlaying());
    playback.advance(1);
    EXPECT_TRUE(seen.empty());
}

} // namespace
} // namespace app
