// The window answers while scenarios are opened: nothing holds its thread for seconds. How long exactly is measured by
// rankscope-app-bench --slots; here only what a person would call hanging is wrong.
#include "app/shell/compare/compare_page.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/live/live_panel.h"
#include "app/shell/recorded/recorded_panel.h"
#include "app/shell/widgets/scenario_header.h"
#include "tests/app/shell/window_fixture.h"

#include <QElapsedTimer>
#include <QFile>
#include <QLabel>
#include <QTemporaryDir>
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

/// The label that names the scenario which is open.
QLabel* nameLabel(MainWindow& window)
{
    for (QLabel* label : window.findChild<ScenarioHeader*>()->findChildren<QLabel*>())
        if (label->text() == window.desk().session().displayName())
            return label;
    return nullptr;
}

/// Frames of the workspace's head, and those that name the scenario before.
class Watched : public QObject {
public:
    explicit Watched(QLabel* title) : m_title(title), m_before(title->text()) { title->installEventFilter(this); }
    int paints = 0, paintsOfBefore = 0;

private:
    bool eventFilter(QObject*, QEvent* event) override
    {
        if (event->type() == QEvent::Paint) {
            ++paints;
            paintsOfBefore += m_title->text() == m_before ? 1 : 0;
        }
        return false;
    }
    QLabel* m_title;
    QString m_before;
};

class Counted : public QObject {
public:
    Counted(QObject& of, QEvent::Type type, int& count) : m_type(type), m_count(count) { of.installEventFilter(this); }

private:
    bool eventFilter(QObject*, QEvent* event) override
    {
        m_count += event->type() == m_type ? 1 : 0;
        return false;
    }
    QEvent::Type m_type;
    int& m_count;
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

TEST_F(AnsweringWindow, OpensFromTheGalleryInTwoTurnsAndNeverShowsTheScenarioBefore)
{
    open(kTiny);
    QLabel* const title = nameLabel(window);
    ASSERT_TRUE(title);
    const QString before = title->text();
    window.run(CommandId::gallery);
    settle();
    Watched watched(title);
    Q_EMIT window.gallery().openRequested(galleryFile(kSixteen));
    EXPECT_TRUE(window.isGalleryShown()) << "what is read and what is shown are turns of their own";
    EXPECT_EQ(window.desk().session().scenario()->layout.worldSize(), 16);
    settle();
    EXPECT_FALSE(window.isGalleryShown());
    EXPECT_GT(watched.paints, 0);
    EXPECT_NE(title->text(), before);
    EXPECT_EQ(watched.paintsOfBefore, 0) << "a frame of the scenario before was shown";
    EXPECT_FALSE(window.findChild<RecordedPanel*>() || window.findChild<ComparePage*>() || window.findChild<LivePanel*>())
        << "a page that nobody wants costs no start";
    EXPECT_FALSE(window.isAncestorOf(window.form().rowAt("/live/seed"))) << "what nobody has seen costs no change of theme";
}

TEST_F(AnsweringWindow, ArrangesItsPicturesOnceForTheRoomTheyGet)
{
    int resized = 0;
    Counted counted(window.workspace().canvas(Picture::grid), QEvent::Resize, resized);
    Q_EMIT window.gallery().openRequested(galleryFile(kTiny));
    settle();
    EXPECT_GT(resized, 0);
    EXPECT_LE(resized, 3) << "laid out again and again on the way to its size";
}

TEST_F(AnsweringWindow, FindsOutBesideItWhatALargeFileIs)
{
    const QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("job.toml")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("[training]\nsteps = 1\n" + QByteArray("# words\n").repeated(300'000));
    file.close();
    longestMs = 0;
    since.invalidate();
    (void)window.openFile(file.fileName());
    EXPECT_TRUE(since.isValid()) << "the beat was heard while it was read";
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
