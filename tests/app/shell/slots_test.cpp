// The window answers while scenarios are opened: nothing holds its thread for seconds. How long exactly is measured by
// rankscope-app-bench --slots; here only what a person would call hanging is wrong.
#include "app/shell/gallery/gallery_page.h"
#include "tests/app/shell/window_fixture.h"

#include <QElapsedTimer>
#include <QTimer>

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using namespace test;

class AnsweringWindow : public WindowTest {
protected:
    AnsweringWindow()
    {
        beat.setInterval(1);
        QObject::connect(&beat, &QTimer::timeout, [this] {
            if (since.isValid())
                longestMs = std::max(longestMs, since.elapsed());
            since.start();
        });
        beat.start();
    }
    QTimer beat;
    QElapsedTimer since;
    qint64 longestMs = 0;
};

TEST_F(AnsweringWindow, IsNeverHeldForSecondsByOpeningFromTheGallery)
{
    constexpr qint64 kHangMs = 2000;
    for (const char* name : {kTiny, "31-megatron-weak-scaling-1t.json", kLarge, "54-deepseek-v3-2048-h800.json",
                             "73-schedule-auto.json", kSixteen}) {
        longestMs = 0;
        since.invalidate();
        Q_EMIT window.gallery().openRequested(galleryFile(name));
        settle();
        EXPECT_LT(longestMs, kHangMs * ::test::patience()) << name;
        EXPECT_TRUE(since.isValid()) << "the beat was heard while " << name << " was opened";
        window.run(CommandId::gallery);
        settle();
    }
}

TEST_F(AnsweringWindow, IsNeverHeldForSecondsByReadingARecordedRun)
{
    constexpr qint64 kHangMs = 2000;
    longestMs = 0;
    since.invalidate();
    ASSERT_TRUE(window.openFile(QStringLiteral(RANKSCOPE_TEST_DATA "/kineto/nccl_data.json.gz")).empty());
    settle();
    EXPECT_TRUE(window.isRecordedShown());
    EXPECT_LT(longestMs, kHangMs * ::test::patience());
    EXPECT_TRUE(since.isValid()) << "the beat was heard while it was read";
}

} // namespace
} // namespace app
