#include "app/views/common/captioned_view.h"

#include "app/canvas/recorder_canvas.h"
#include "app/views/common/labels.h"

#include <gtest/gtest.h>

namespace app {
namespace {

class Inner final : public View {
public:
    std::string title() const override { return "Inner"; }
    void draw(Canvas& canvas) override
    {
        area = canvas.area();
        canvas.text({area.left + 4, area.top + 4}, "inside", lightTheme().text);
        canvas.node({.id = 1, .role = "cell", .name = "inside", .rect = area});
    }
    Rect area;
};

constexpr Rect kPage{0, 0, 380, 260};

TEST(CaptionedView, WithoutWordsThePictureHasItAll)
{
    Inner inner;
    RecorderCanvas canvas(kPage);
    CaptionedView figure(inner, lightTheme(), {});
    figure.draw(canvas);
    EXPECT_EQ(inner.area, kPage);
    EXPECT_EQ(figure.title(), "Inner");
    EXPECT_EQ(canvas.nodes().size(), 1U);
}

TEST(CaptionedView, WordsAreWholeAndThePictureLiesBetweenThem)
{
    const std::string title = "Llama 3.1 405B on 16,384 H100, 8K context, as The Llama 3 Herd of Models has it in table 4";
    const std::string caption = "16,384 GPUs · tp 8 · pp 16 · dp 128. Step 5.06 s, MFU 41.3 %, bubble 8.1 %. Simulated.";
    Inner inner;
    RecorderCanvas canvas(kPage);
    CaptionedView(inner, lightTheme(), {title, caption}).draw(canvas);
    EXPECT_TRUE(canvas.cutTexts().empty());
    EXPECT_TRUE(canvas.clipsAreBalanced());
    std::string above, below;
    for (const Primitive& p : canvas.primitives()) {
        if (p.kind != Primitive::Kind::text || p.text == "inside")
            continue;
        EXPECT_GE(p.rect.left, 0);
        EXPECT_LE(p.rect.right, kPage.right);
        std::string& words = p.rect.bottom <= inner.area.top ? above : below;
        EXPECT_TRUE(p.rect.bottom <= inner.area.top || p.rect.top >= inner.area.bottom) << p.text;
        words += (words.empty() ? "" : " ") + p.text;
    }
    EXPECT_EQ(above, title);
    EXPECT_EQ(below, caption);
    EXPECT_GT(inner.area.height(), 100);
}

TEST(CaptionedView, WhereThereIsNoRoomForAPictureNothingIsDrawnOutside)
{
    Inner inner;
    RecorderCanvas canvas({0, 0, 120, 40});
    CaptionedView(inner, lightTheme(), {"A title of several words", "A caption of several words, too"}).draw(canvas);
    EXPECT_TRUE(canvas.clipsAreBalanced());
}

} // namespace
} // namespace app
