#include "tests/bench_app/live_bench.h"

#include "app/shell/live/live_panel.h"
#include "app/shell/window/main_window.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QImage>
#include <QTimer>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <vector>

namespace app {
namespace {

constexpr QSize kLiveWindow{1600, 900};
constexpr int kRounds = 5, kPictures = 60, kIdleMs = 3000, kWaitMs = 30'000;

double milliseconds(const QElapsedTimer& timer)
{
    return static_cast<double>(timer.nsecsElapsed()) * 1e-6;
}

bool waitUntil(const std::function<bool()>& condition)
{
    QElapsedTimer waited;
    waited.start();
    while (!condition()) {
        if (waited.hasExpired(kWaitMs))
            return false;
        QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
    }
    return true;
}

double at(std::vector<double> values, double share)
{
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Paints of any widget.
class PaintCounter : public QObject {
public:
    int paints = 0;
    bool eventFilter(QObject*, QEvent* event) override
    {
        paints += event->type() == QEvent::Paint ? 1 : 0;
        return false;
    }
};

/// Processor time of this process, all threads.
double processMilliseconds()
{
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void print(const char* what, double median, double worst)
{
    std::printf("%-64s %8.1f ms %8.1f ms\n", what, median, worst);
    std::fflush(stdout);
}

} // namespace

int benchLive()
{
    const sim::Catalogue catalogue = sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets");
    sim::Scenario scenario = sim::readScenario(RANKSCOPE_SOURCE_DIR "/scenarios/64-tiny-4d-sixteen-ranks.json", catalogue);
    constexpr int kForever = 1'000'000;
    scenario.live.steps = kForever;
    MainWindow window(catalogue, {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.setFixedSize(kLiveWindow);
    window.show();
    QImage picture(kLiveWindow, QImage::Format_RGB32);
    std::printf("%-64s %11s %11s\n", "sixteen ranks, four dimensions, fp64", "median", "worst");

    std::vector<double> firstStep, firstPicture;
    for (int round = 0; round < kRounds; ++round) {
        QElapsedTimer timer;
        timer.start();
        window.train(scenario);
        if (!waitUntil([&] { return !window.live().steps().empty(); })) {
            std::fprintf(stderr, "no step came: %s\n", qPrintable(window.live().status().headline));
            return 1;
        }
        window.render(&picture);
        firstStep.push_back(milliseconds(timer));
        waitUntil([&] { return window.live().isComplete(); });
        window.render(&picture);
        firstPicture.push_back(milliseconds(timer));
    }
    print("start of training to its first step on screen", at(firstStep, 0.5), at(firstStep, 1));
    print("start of training to its first timeline on screen", at(firstPicture, 0.5), at(firstPicture, 1));

    std::vector<double> costs; // of the window's thread; the picture was prepared on another one
    LiveUpdate update;
    StepPicturePtr last;
    QObject::connect(window.liveRun(), &LiveRun::updated, &window, [&](const LiveUpdate& news) { update = news; });
    while (costs.size() < kPictures) {
        update = {};
        if (!waitUntil([&] { return update.picture && update.picture != last; }))
            return 1;
        last = update.picture;
        QElapsedTimer timer;
        timer.start();
        window.live().show(update);
        window.render(&picture);
        costs.push_back(milliseconds(timer));
    }
    print("one picture: update, whole window painted", at(costs, 0.5), at(costs, 1));

    window.liveRun()->pause();
    waitUntil([&] { return window.live().status().phase == LivePhase::paused; });
    constexpr int kSettleMs = 500;
    QElapsedTimer idle;
    idle.start();
    while (!idle.hasExpired(kSettleMs))
        QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
    PaintCounter counter;
    qApp->installEventFilter(&counter);
    const double before = processMilliseconds();
    QEventLoop loop;
    QTimer::singleShot(kIdleMs, &loop, &QEventLoop::quit);
    loop.exec();
    std::printf("%-64s %8d paints, %.2f ms of processor time a second\n", "paused", counter.paints,
                (processMilliseconds() - before) * 1e3 / kIdleMs);
    return 0;
}

} // namespace app
