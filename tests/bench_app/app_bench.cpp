// How long the window keeps a person waiting, for every gallery file: from an edit to the repainted pictures (median of several),
// and from starting the program to its first picture. Offscreen, software canvas. An argument chooses files by a part of their
// name; --frames measures single frames, an idle window and the start of the gallery, with WIDTH HEIGHT behind it in a window of
// this size (times QT_SCALE_FACTOR); --live the Live view of a real training; --slots the longest that the window's thread is
// held while the gallery is clicked through, or with files behind it while each slider of the form is moved; --lessons how long
// lessons keep a learner waiting.
#include "app/shell/form/scenario_form.h"
#include "app/shell/window/application.h"
#include "app/shell/window/main_window.h"
#include "tests/bench_app/frame_bench.h"
#include "tests/bench_app/lesson_bench.h"
#include "tests/bench_app/live_bench.h"
#include "tests/bench_app/slot_bench.h"

#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QFileInfo>
#include <QImage>
#include <QProcess>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kEdits = 5;
constexpr QSize kWindow{1600, 900};
constexpr const char* kFirstPicture = "--first-picture"; // FILE: what the parent starts to measure a start

double milliseconds(const QElapsedTimer& timer)
{
    return static_cast<double>(timer.nsecsElapsed()) * 1e-6;
}

/// Runs the event loop until the newest result is in the window, then paints it. False if there is none.
bool paintResult(app::MainWindow& window, const app::SimulationPtr& before, QImage& picture)
{
    bool failed = false;
    const QObject until;
    QObject::connect(&window.desk(), &app::Desk::stepFailed, &until, [&] { failed = true; });
    QEventLoop loop;
    while (!failed && (window.desk().simulation() == before || !window.desk().simulation()))
        loop.processEvents(QEventLoop::WaitForMoreEvents);
    window.render(&picture);
    return !failed;
}

/// One more micro-batch count up or down: what a drag of the batch slider does.
app::Edit nextEdit(app::MainWindow& window, int round)
{
    const app::Session& session = window.session();
    const int unit = session.scenario()->training.microBatchSize * session.scenario()->layout.dp * session.scenario()->layout.pp;
    const int now = app::controlValue(session.document(), session.scenario(), app::Control::globalBatchSize);
    return app::makeEdit(session.document(), session.scenario(), app::Control::globalBatchSize,
                         round % 2 == 0 ? now + unit : now - unit, app::LayoutRule::keepGpus);
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// From starting this program with a file to its first picture.
double startMilliseconds(const QString& file)
{
    std::vector<double> times;
    for (int round = 0; round < 3; ++round) {
        QElapsedTimer timer;
        timer.start();
        QProcess process;
        process.start(QCoreApplication::applicationFilePath(), {QLatin1String(kFirstPicture), file});
        process.waitForReadyRead();
        times.push_back(milliseconds(timer));
        process.waitForFinished();
    }
    return median(times);
}

int showFirstPicture(app::MainWindow& window, const QString& file, QImage& picture)
{
    if (!window.openFile(file).empty())
        return 1;
    window.show();
    const bool painted = paintResult(window, nullptr, picture);
    std::puts(painted ? "painted" : "failed");
    return painted ? 0 : 1;
}

} // namespace

int main(int argc, char** argv)
{
    app::keepMemory(); // as the program does
    qputenv("QT_QPA_PLATFORM", "offscreen");
    app::TimedApplication application(argc, argv);
    qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
    if (argc == 2 && qstrcmp(argv[1], "--live") == 0)
        return app::benchLive();
    if (argc >= 2 && qstrcmp(argv[1], "--slots") == 0)
        return argc == 2 ? app::benchSlots(application) : app::benchSliderSlots(application, application.arguments().mid(2));
    if (argc >= 2 && qstrcmp(argv[1], "--lessons") == 0)
        return app::benchLessons(argc > 2 ? argv[2] : "");
    if (argc == 2 && qstrcmp(argv[1], "--frames") == 0)
        return app::benchFrames();
    if (argc == 4 && qstrcmp(argv[1], "--frames") == 0)
        return app::benchFrames({std::atoi(argv[2]), std::atoi(argv[3])});
    if (argc == 2 && qstrcmp(argv[1], "--gallery") == 0)
        return app::showGalleryOnce();
    app::MainWindow window(sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets"), {.reproducible = true, .theme = {}});
    window.setFixedSize(kWindow);
    QImage picture(kWindow, QImage::Format_RGB32);
    if (argc == 3 && qstrcmp(argv[1], kFirstPicture) == 0)
        return showFirstPicture(window, QString::fromLocal8Bit(argv[2]), picture);

    const QString pattern = QLatin1Char('*') + QString::fromLocal8Bit(argc > 1 ? argv[1] : "") + QStringLiteral("*.json");
    window.show();
    std::printf("%-44s %10s %10s %10s\n", "scenario", "ranks", "edit ms", "start ms");
    double slowestEdit = 0, slowestStart = 0;
    for (const QFileInfo& file : QDir(QStringLiteral(RANKSCOPE_SOURCE_DIR "/scenarios")).entryInfoList({pattern})) {
        const app::SimulationPtr none = window.desk().simulation();
        if (!window.openFile(file.filePath()).empty()) {
            std::printf("%-44s cannot be opened\n", qPrintable(file.fileName()));
            return 1;
        }
        paintResult(window, none, picture);
        std::vector<double> times;
        for (int round = 0; round < kEdits; ++round) {
            const app::SimulationPtr before = window.desk().simulation();
            const app::Edit edit = nextEdit(window, round);
            QElapsedTimer timer;
            timer.start();
            window.session().edit(edit);
            if (!window.session().isLegal() || !paintResult(window, before, picture))
                break; // a scenario that only works as it is
            times.push_back(milliseconds(timer));
        }
        const double edit = times.empty() ? 0 : median(times), start = startMilliseconds(file.filePath());
        slowestEdit = std::max(slowestEdit, edit);
        slowestStart = std::max(slowestStart, start);
        std::printf("%-44s %10d %10.1f %10.0f\n", qPrintable(file.completeBaseName()),
                    window.session().scenario()->layout.worldSize(), edit, start);
        std::fflush(stdout);
    }
    std::printf("%-44s %10s %10.1f %10.0f\n", "slowest", "", slowestEdit, slowestStart);
    return 0;
}
