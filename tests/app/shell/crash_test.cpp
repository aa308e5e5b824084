// The program dies with unsaved work; the next one offers it.
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/window/main_window.h"
#include "tests/app/session/session_fixtures.h"

#include <QProcess>
#include <QProcessEnvironment>
#include <QPushButton>
#include <QTemporaryDir>

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using namespace test;

TEST(Crash, WorkOfAKilledProgramIsOfferedByTheNext)
{
    QProcess program;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment(); // the tests' own settings and data folders
    environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
    program.setProcessEnvironment(environment);
    program.start(QStringLiteral(RANKSCOPE_BIN_DIR "/rankscope"),
                  {galleryFile(kSixteen), QStringLiteral("--set"), QStringLiteral("layout.tp=4"), QStringLiteral("--set"),
                   QStringLiteral("layout.dp=1")});
    ASSERT_TRUE(program.waitForStarted());
    const auto isWritten = [] {
        const QDir folder(autosaveFolder());
        return !folder.entryList({QStringLiteral("*.autosave")}, QDir::Files).isEmpty();
    };
    ASSERT_TRUE(waitFor(isWritten));
    EXPECT_TRUE(Autosave::recoverable(autosaveFolder()).empty()) << "it is still at work";
    program.kill(); // SIGKILL: nothing can be tidied up
    ASSERT_TRUE(program.waitForFinished());
    EXPECT_EQ(program.exitStatus(), QProcess::CrashExit);

    MainWindow next(catalogue(), {.reproducible = false, .theme = {}, .renderer = Renderer::software});
    next.showGallery();
    next.show();
    const auto buttons = next.gallery().findChildren<QPushButton*>();
    const auto restore =
        std::find_if(buttons.begin(), buttons.end(), [](const QPushButton* b) { return b->text() == QLatin1String("Restore"); });
    ASSERT_NE(restore, buttons.end());
    (*restore)->click();
    ASSERT_TRUE(waitFor([&] { return next.isSettled(); }));
    EXPECT_EQ(next.session().scenario()->layout.tp, 4);
    EXPECT_TRUE(next.isWindowModified());
    QDir(autosaveFolder()).removeRecursively();
    userSettings().clear();
}

} // namespace
} // namespace app
