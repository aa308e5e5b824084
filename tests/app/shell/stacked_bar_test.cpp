// A bar of parts with its legend: told apart by colour, and where contrast is high by patterns, too.
#include "app/shell/widgets/stacked_bar.h"

#include "app/views/common/theme.h"

#include <QImage>

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace app {
namespace {

/// How the signs of the legend look, all parts being of one colour.
std::set<std::vector<QRgb>> signsOf(const Theme& theme, int parts)
{
    StackedBar bar;
    bar.setTheme(theme);
    std::vector<StackedBar::Segment> segments;
    for (int i = 0; i < parts; ++i)
        segments.push_back({QStringLiteral("part"), 1, QStringLiteral("1"), QColor(0xE6, 0x9F, 0x00)});
    bar.setSegments(segments, 0);
    bar.resize(bar.sizeHint());
    const QImage image = bar.grab().toImage();
    constexpr int kFirstLine = 18, kLine = 18, kSign = 12;
    std::set<std::vector<QRgb>> out;
    for (int i = 0; i < parts; ++i) {
        std::vector<QRgb> sign;
        for (int y = 0; y < kLine; ++y)
            for (int x = 0; x < kSign; ++x)
                sign.push_back(image.pixel(x, kFirstLine + i * kLine + y));
        out.insert(std::move(sign));
    }
    return out;
}

TEST(StackedBar, PartsHavePatternsWhereContrastIsHigh)
{
    EXPECT_EQ(signsOf(highContrastTheme(), 6).size(), 6U);
    EXPECT_EQ(signsOf(lightTheme(), 6).size(), 1U) << "colours do";
    EXPECT_EQ(signsOf(darkTheme(), 6).size(), 1U);
}

} // namespace
} // namespace app
