#include "app/views/common/labels.h"

#include "app/canvas/recorder_canvas.h"
#include "app/views/common/theme.h"

#include <gtest/gtest.h>

namespace app {
namespace {

TEST(Labels, KnowWhereADifferenceDoesNotLookLikeWhatStandsBesideIt)
{
    EXPECT_FALSE(addsUpAsTold("25.4 ms", "44.4 ms", "19.1 ms")) << "25.35 and 44.41";
    EXPECT_FALSE(addsUpAsTold("44.4 ms", "25.4 ms", "19.1 ms"));
    EXPECT_TRUE(addsUpAsTold("25.4 ms", "44.4 ms", "19.0 ms"));
    EXPECT_FALSE(addsUpAsTold("34,879", "17,743", "17,137"));
    EXPECT_FALSE(addsUpAsTold("1.05 s", "1.00 s", "0.06 s"));
    EXPECT_FALSE(addsUpAsTold("7.52 s", "14.8 s", "7.26 s")) << "7.28, and 14.8 is no finer than what is told";
    EXPECT_FALSE(addsUpAsTold("99.6 ms", "101 ms", "1.50 ms")) << "101.1";
    EXPECT_TRUE(addsUpAsTold("25.5 GiB", "15.6 GiB", "9.94 GiB")) << "rounds to what they differ by";
    EXPECT_FALSE(addsUpAsTold("25.5 GiB", "15.6 GiB", "9.99 GiB"));
    EXPECT_TRUE(addsUpAsTold("412 ms", "1.20 s", "788 ms")) << "not in one unit";
    EXPECT_TRUE(addsUpAsTold("412 ms", "412 ms", "12.0 µs")) << "too small to be seen";
    EXPECT_TRUE(addsUpAsTold("–", "412 ms", "412 ms"));
}

TEST(Labels, OfWhatDoesNotFitSayMoreThanThereIs)
{
    constexpr double kGib = 1073741824.0;
    EXPECT_EQ(bytesBesideLimit(93.14 * kGib, 80 * kGib), std::pair(bytesText(93.14 * kGib), bytesText(80 * kGib)));
    EXPECT_EQ(bytesBesideLimit(80 * kGib, 80 * kGib), std::pair(bytesText(80 * kGib), bytesText(80 * kGib)));
    EXPECT_EQ(bytesBesideLimit(80.003 * kGib, 80 * kGib), std::pair(std::string("80.003 GiB"), std::string("80 GiB")));
}

TEST(Labels, OfAPictureWithoutAnythingSayWhyInAsManyLinesAsThatTakes)
{
    const std::string why = "This job told no scenario: rankscope-live collect FILE lays its ranks out, and predicts them.";
    for (const float width : {1000.0F, 490.0F, 240.0F}) {
        RecorderCanvas canvas({0, 0, width, 170});
        drawEmpty(canvas, lightTheme(), "No ranks yet", why);
        std::string said;
        for (const std::string& line : canvas.texts())
            said += (said.empty() ? "" : " ") + line;
        EXPECT_EQ(said, "No ranks yet " + why) << width;
    }
}

TEST(Labels, NumbersAreSeparatedAndShort)
{
    EXPECT_EQ(countText(7), "7");
    EXPECT_EQ(countText(999), "999");
    EXPECT_EQ(countText(16384), "16,384");
    EXPECT_EQ(countText(-1234567), "-1,234,567");
    EXPECT_EQ(threeDigits(3.214), "3.21");
    EXPECT_EQ(threeDigits(99.96), "100");
    EXPECT_EQ(threeDigits(1234.4), "1,234");
}

TEST(Labels, UnitsChangeWhereThreeDigitsRunOut)
{
    EXPECT_EQ(durationText(0), "0");
    EXPECT_EQ(durationText(812), "812 ns");
    EXPECT_EQ(durationText(999.7), "1.00 µs");
    EXPECT_EQ(durationText(412.3e6), "412 ms");
    EXPECT_EQ(durationText(5.3e9), "5.30 s");
    EXPECT_EQ(bytesText(512), "512 B");
    EXPECT_EQ(bytesText(80.0 * 1024 * 1024 * 1024), "80.0 GiB");
    EXPECT_EQ(percentText(0.4126), "41.3 %");
    EXPECT_EQ(percentText(1), "100 %");
}

TEST(Labels, RanksThatCountOnAreARange)
{
    EXPECT_EQ(rankListText({8, 9, 10, 11, 12, 13, 14, 15}), "8–15");
    EXPECT_EQ(rankListText({5, 13}), "5, 13");
    EXPECT_EQ(rankListText({0, 1}), "0, 1");
    EXPECT_EQ(rankListText({8, 136, 264, 392, 16264}), "8, 136, 264 … 16,264");
    EXPECT_EQ(rankListText({}), "none");
}

} // namespace
} // namespace app
