// What a window knows of the one before it, and what it asks before it goes.
#include "app/lessons/lesson_panel.h"
#include "app/session/settings.h"
#include "app/shell/details/details_panel.h"
#include "app/shell/dialogs/settings_import_dialog.h"
#include "app/shell/form/scenario_form.h"
#include "app/shell/gallery/gallery_page.h"
#include "sim/trace/export.h"
#include "tests/app/shell/window_fixture.h"

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QStatusBar>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using namespace test;

class RememberingWindowTest : public WindowTest {
protected:
    RememberingWindowTest() : WindowTest(false) {}
    ~RememberingWindowTest() override
    {
        QDir(autosaveFolder()).removeRecursively();
        userSettings().clear();
    }

    /// Presses a button of the question that comes up.
    static void answer(QMessageBox::StandardButton button)
    {
        QTimer::singleShot(0, [button] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            ASSERT_TRUE(box);
            box->button(button)->click();
        });
    }
};

TEST_F(RememberingWindowTest, TextSizesThatAreChosenQuicklyAreOneChange)
{
    const double before = window.devicePixelRatioF();
    for (int press = 0; press < 3; ++press)
        window.run(CommandId::textLarger);
    EXPECT_EQ(window.statusBar()->currentMessage(), QStringLiteral("Text, controls and pictures at 150 %"));
    EXPECT_EQ(window.devicePixelRatioF(), before) << "nothing is arranged anew in between";
    EXPECT_TRUE(waitFor([&] { return window.devicePixelRatioF() == before * 1.5; })) << window.devicePixelRatioF();
    const auto* goes = window.statusBar()->findChild<QTimer*>();
    ASSERT_TRUE(goes && goes->isActive());
    EXPECT_LE(goes->interval(), 5000) << "what is told goes again";
}

TEST_F(RememberingWindowTest, ClosingAsksOnlyIfSomethingChanged)
{
    open(kSixteen);
    window.form().row(Control::tp)->spinBox()->stepBy(1);
    settle();
    answer(QMessageBox::Cancel);
    EXPECT_FALSE(window.close());
    EXPECT_TRUE(window.isVisible());
    window.session().undoStack().undo();
    EXPECT_TRUE(window.close()) << "nothing to lose, nothing asked";
}

TEST_F(RememberingWindowTest, ClosingAsksAboutWhatIsTypedAndNotConfirmed)
{
    open(kSixteen);
    LegalSpinBox* spin = window.form().row(Control::tp)->spinBox();
    spin->setFocus();
    spin->selectAll();
    QTest::keyClicks(spin, QStringLiteral("4"));
    answer(QMessageBox::Cancel);
    EXPECT_FALSE(window.close());
    EXPECT_TRUE(window.session().isModified());
    answer(QMessageBox::Discard);
    EXPECT_TRUE(window.close());
}

TEST_F(RememberingWindowTest, ClosingAsksAboutTheOrderThatIsEdited)
{
    open("17-schedule-1f1b.json");
    window.run(CommandId::editOrder);
    EXPECT_TRUE(window.workspace().isEditing());
    for (int i = 0; i < 9; ++i)
        window.workspace().editor().canvas().runCommand(ViewCommand::next);
    window.run(CommandId::moveLater);
    answer(QMessageBox::Cancel);
    EXPECT_FALSE(window.close());
    ASSERT_TRUE(window.workspace().editor().hasMoves());
    QTimer answers; // the order first, then the file
    QObject::connect(&answers, &QTimer::timeout, [] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (box == nullptr)
            return;
        for (QAbstractButton* button : box->buttons())
            if (button->text().remove(QLatin1Char('&')) == QStringLiteral("Save as Custom"))
                return button->click();
        box->button(QMessageBox::Cancel)->click();
    });
    answers.start(5);
    EXPECT_FALSE(window.close());
    answers.stop();
    EXPECT_TRUE(window.session().isModified());
    EXPECT_EQ(window.session().scenario()->schedule.kind, "custom");
    answer(QMessageBox::Discard);
    EXPECT_TRUE(window.close());
}

TEST_F(RememberingWindowTest, AWindowThatClosesKeepsWhatAnotherHasChosen)
{
    MainWindow other(catalogue(), {.reproducible = false, .theme = {}, .renderer = Renderer::software});
    other.run(CommandId::themeDark);
    ASSERT_TRUE(other.close());
    ASSERT_EQ(readSettings().theme, ThemeChoice::dark);
    window.run(CommandId::textLarger);
    EXPECT_TRUE(waitFor([] { return readSettings().sizePercent == 110; }));
    EXPECT_TRUE(window.close());
    EXPECT_EQ(readSettings().theme, ThemeChoice::dark);
    EXPECT_EQ(readSettings().sizePercent, 110);
}

TEST_F(RememberingWindowTest, NobodyIsAskedAboutChangesForTheSakeOfWhatCannotBeOpened)
{
    open(kSixteen);
    window.form().row(Control::tp)->spinBox()->stepBy(1);
    settle();
    int asked = 0;
    QTimer answers;
    QObject::connect(&answers, &QTimer::timeout, [&asked] {
        if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
            ++asked;
            box->button(QMessageBox::Cancel)->click();
        }
    });
    answers.start(5);
    QTemporaryDir folder;
    QFile cut(folder.filePath(QStringLiteral("cut.json")));
    ASSERT_TRUE(cut.open(QIODevice::WriteOnly));
    cut.write("{\"format\": \"rankscope-scenario\", \"mod");
    cut.close();
    QFile lesson(folder.filePath(QStringLiteral("lesson.json")));
    ASSERT_TRUE(lesson.open(QIODevice::WriteOnly));
    lesson.write("{\"format\": \"rankscope-lesson\", \"version\": 1}");
    lesson.close();
    for (const QString& bad :
         {QStringLiteral("rankscope:AAAA"), cut.fileName(), lesson.fileName(), folder.filePath(QStringLiteral("no"))}) {
        EXPECT_FALSE(window.openFile(bad).empty()) << bad.toStdString();
        EXPECT_EQ(asked, 0) << bad.toStdString();
    }
    EXPECT_TRUE(window.session().isModified());
    EXPECT_TRUE(window.openFile(galleryFile(kTiny)).empty());
    EXPECT_EQ(asked, 1) << "for what can be opened, somebody is asked";
    EXPECT_TRUE(window.session().isModified()) << "and it was not to be opened";
}

/// What is opened again is what has just been saved into it.
TEST_F(RememberingWindowTest, AFileThatIsOpenedAnewIsReadAfterItsChangesWereSaved)
{
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("job.json"));
    ASSERT_TRUE(QFile::copy(galleryFile(kSixteen), path));
    QFile(path).setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner);
    ASSERT_TRUE(window.openFile(path).empty());
    settle();
    const int before = window.session().scenario()->training.globalBatchSize;
    window.form().row(Control::globalBatchSize)->spinBox()->stepBy(1);
    settle();
    const int changed = window.session().scenario()->training.globalBatchSize;
    ASSERT_NE(changed, before);
    answer(QMessageBox::Save);
    ASSERT_TRUE(window.openFile(path).empty());
    EXPECT_EQ(window.session().scenario()->training.globalBatchSize, changed);
    EXPECT_FALSE(window.session().isModified());
}

/// The first case comes when the engine has worked its answers out: what may go has been asked before.
TEST_F(RememberingWindowTest, ALessonAsksOnceForWhatItReplacesAndLeavesTheDocksAsWideAsTheyWere)
{
    window.resize(1280, 720);
    open(kSixteen);
    const int width = window.details().width();
    window.form().row(Control::tp)->spinBox()->stepBy(1);
    settle();
    int asked = 0;
    QTimer answers;
    QObject::connect(&answers, &QTimer::timeout, [&asked] {
        if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget()))
            box->button(++asked == 1 ? QMessageBox::Discard : QMessageBox::Cancel)->click();
    });
    answers.start(5);
    ASSERT_TRUE(window.openLesson(QStringLiteral("one-f-one-b")).empty());
    ASSERT_TRUE(waitFor([this] { return window.lesson().isPlaying(); }));
    settle();
    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(window.session().path().isEmpty()) << "the lesson's own case";
    open(kSixteen); // which leaves it
    EXPECT_NEAR(window.details().width(), width, 2);

    ASSERT_TRUE(window.openLesson(QStringLiteral("one-f-one-b")).empty());
    window.form().row(Control::tp)->spinBox()->stepBy(1); // while the engine works
    ASSERT_TRUE(waitFor([&asked] { return asked == 2; }));
    settle();
    EXPECT_FALSE(window.lesson().isPlaying()) << "never beside another scenario than its own";
    EXPECT_EQ(window.session().path(), galleryFile(kSixteen));
}

TEST_F(RememberingWindowTest, GivingUpChangesLeavesNothingToRestore)
{
    open(kSixteen);
    window.form().row(Control::tp)->spinBox()->stepBy(1);
    settle();
    answer(QMessageBox::Discard);
    EXPECT_TRUE(window.close());
    EXPECT_TRUE(Autosave::recoverable(autosaveFolder()).empty());
}

TEST_F(RememberingWindowTest, OpenedFilesAreRecent)
{
    clearRecentFiles();
    open(kSixteen);
    open(kTiny);
    EXPECT_EQ(recentFiles(), (QStringList{galleryFile(kTiny), galleryFile(kSixteen)}));
}

TEST_F(RememberingWindowTest, ImportedSettingsAreRecent)
{
    clearRecentFiles();
    const QTemporaryDir folder;
    QFile script(folder.filePath(QStringLiteral("run.sh")));
    ASSERT_TRUE(script.open(QIODevice::WriteOnly));
    script.write("pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
                 "--micro-batch-size 1 --global-batch-size 8 --bf16\n");
    script.close();
    ASSERT_TRUE(window.openFile(script.fileName()).empty());
    auto* dialog = window.findChild<SettingsImportDialog*>();
    ASSERT_TRUE(dialog);
    EXPECT_EQ(recentFiles(), QStringList()) << "nothing is open yet";
    Q_EMIT dialog->chosen(document(kTiny));
    EXPECT_EQ(recentFiles(), QStringList{script.fileName()});
}

TEST_F(RememberingWindowTest, ARecordedRunIsRecentOnceItIsRead)
{
    clearRecentFiles();
    const QTemporaryDir folder;
    const QString whole = folder.filePath(QStringLiteral("whole.pftrace")), cut = folder.filePath(QStringLiteral("cut.pftrace"));
    sim::saveTrace(sim::simulate(scenario(document(kTiny)))->trace(sim::TraceDetail::kernels), whole.toStdString());
    QFile from(whole), to(cut);
    ASSERT_TRUE(from.open(QIODevice::ReadOnly) && to.open(QIODevice::WriteOnly));
    to.write(from.read(300)); // nothing of it can be read
    to.close();
    for (const QString& path : {whole, cut}) {
        ASSERT_TRUE(window.openFile(path).empty());
        ASSERT_TRUE(window.isRecordedShown());
        settle();
    }
    EXPECT_EQ(recentFiles(), QStringList{whole});
}

TEST_F(RememberingWindowTest, SaysOnceThatNothingCanBeRemembered)
{
    const QString before = QDir::cleanPath(QFileInfo(userSettings().fileName()).absolutePath() + QStringLiteral("/.."));
    const QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("no-folder")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    const auto told = [this] { return window.statusBar()->currentMessage(); };
    EXPECT_FALSE(told().contains(QStringLiteral("cannot be kept")));
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, file.fileName());
    open(kSixteen);
    EXPECT_TRUE(told().startsWith(QStringLiteral("Settings, layout and recent files cannot be kept: ")) &&
                told().contains(userSettings().fileName()))
        << told().toStdString();
    window.statusBar()->clearMessage();
    open(kTiny);
    EXPECT_FALSE(told().contains(QStringLiteral("cannot be kept"))) << "once";
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, before);
}

TEST_F(RememberingWindowTest, RecentFilesOfOneNameAreToldApart)
{
    clearRecentFiles();
    const QTemporaryDir folder;
    for (const char* name : {"first", "second"}) {
        ASSERT_TRUE(QDir(folder.path()).mkdir(QLatin1String(name)));
        const QString file = folder.filePath(QLatin1String(name)) + QStringLiteral("/a&b.json");
        ASSERT_TRUE(QFile::copy(galleryFile(kTiny), file));
        ASSERT_TRUE(window.openFile(file).empty());
    }
    QStringList names;
    for (const QMenu* menu : window.findChildren<QMenu*>())
        if (menu->title() == QStringLiteral("Open &Recent")) {
            Q_EMIT const_cast<QMenu*>(menu)->aboutToShow();
            for (const QAction* action : menu->actions())
                names << action->text();
        }
    EXPECT_EQ(names.mid(0, 2), (QStringList{QStringLiteral("a&&b.json – second"), QStringLiteral("a&&b.json – first")}));
}

TEST_F(RememberingWindowTest, ThemeAndDocksAreRemembered)
{
    open(kTiny);
    window.run(CommandId::themeDark);
    window.run(CommandId::showForm);
    window.run(CommandId::showForm);
    ASSERT_TRUE(window.close());
    MainWindow next(catalogue(), {.reproducible = false, .theme = {}, .renderer = Renderer::software});
    next.showGallery();
    next.show();
    ASSERT_TRUE(next.openFile(galleryFile(kTiny)).empty());
    EXPECT_FALSE(next.form().isVisible());
    EXPECT_TRUE(next.details().isVisible());
    EXPECT_LT(QApplication::palette().color(QPalette::Window).lightness(), 100);
}

/// As a large screen is left in a lesson; the next window is small until it is shown.
TEST_F(RememberingWindowTest, ComesUpMaximisedWithTheDocksOfALesson)
{
    window.resize(1900, 1000);
    ASSERT_TRUE(window.openLesson(QStringLiteral("one-f-one-b")).empty());
    ASSERT_TRUE(waitFor([this] { return window.lesson().isPlaying(); }));
    settle();
    ASSERT_TRUE(window.close());
    QWidget maximised;
    maximised.setGeometry(10, 10, 640, 480);
    maximised.setWindowState(Qt::WindowMaximized);
    userSettings().setValue(QStringLiteral("window/geometry"), sealed(maximised.saveGeometry()));
    MainWindow next(catalogue(), {.reproducible = false, .theme = {}, .renderer = Renderer::software});
    ASSERT_TRUE(next.openFile(galleryFile(kTiny)).empty());
    next.show();
    ASSERT_TRUE(waitFor([&] { return next.isSettled(); }));
    for (int round = 0; round < 10; ++round)
        QCoreApplication::processEvents();
    EXPECT_TRUE(next.windowState() & Qt::WindowMaximized);
    EXPECT_TRUE(next.form().isVisible() || next.details().isVisible());
}

/// A laptop's screen between two sessions at a large one.
TEST_F(RememberingWindowTest, DocksOfALargeScreenSurviveASmallOne)
{
    window.resize(1600, 960);
    open(kTiny);
    const QSize form = window.form().size(), details = window.details().size();
    const QSize grid = window.workspace().canvas(Picture::grid).size();
    ASSERT_TRUE(window.close());
    for (const QSize size : {QSize(1100, 660), QSize(1600, 960)}) {
        MainWindow next(catalogue(), {.reproducible = false, .theme = {}, .renderer = Renderer::software});
        next.setMinimumSize(size);
        next.resize(size);
        next.showGallery();
        next.show();
        next.resize(size);
        ASSERT_TRUE(next.openFile(galleryFile(kTiny)).empty());
        ASSERT_TRUE(waitFor([&] { return next.isSettled(); }));
        for (int round = 0; round < 10; ++round)
            QCoreApplication::processEvents();
        EXPECT_EQ(next.size(), size);
        if (size.width() == 1600) {
            constexpr int kAbout = 8; // of some 400: two docks share what a tab bar took
            EXPECT_NEAR(next.form().width(), form.width(), kAbout);
            EXPECT_NEAR(next.details().width(), details.width(), kAbout);
            EXPECT_NEAR(next.details().height(), details.height(), kAbout);
            EXPECT_NEAR(next.workspace().canvas(Picture::grid).width(), grid.width(), kAbout);
            EXPECT_NEAR(next.workspace().canvas(Picture::grid).height(), grid.height(), kAbout);
        }
        ASSERT_TRUE(next.close());
    }
}

TEST_F(RememberingWindowTest, WorkThatACrashLeftCanBeRestored)
{
    {
        Autosave crashed(autosaveFolder());
        sim::ScenarioDocument work = document(kSixteen);
        work.set("layout.tp", "4");
        work.set("layout.dp", "1");
        ASSERT_TRUE(crashed.write(galleryFile(kSixteen), {}, {}, QString::fromStdString(work.text())));
    }
    window.showGallery();
    const auto buttons = window.gallery().findChildren<QPushButton*>();
    const auto restore =
        std::find_if(buttons.begin(), buttons.end(), [](const QPushButton* b) { return b->text() == QLatin1String("Restore"); });
    ASSERT_NE(restore, buttons.end());
    (*restore)->click();
    settle();
    EXPECT_EQ(shownLayout().tp, 4);
    EXPECT_TRUE(window.isWindowModified());
    EXPECT_EQ(window.session().path(), galleryFile(kSixteen));
}

} // namespace
} // namespace app
