#include "tests/bench_app/frame_bench.h"

#include "app/canvas/qt/canvas_widget.h"
#include "app/shell/window/main_window.h"
#include "app/views/common/theme.h"
#include "app/views/timeline/timeline_view.h"
#include "tests/support/many_spans.h"

#include <QElapsedTimer>
#include <QEventLoop>
#include <QGuiApplication>
#include <QImage>
#include <QMouseEvent>
#include <QProcess>
#include <QTimer>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <vector>

namespace app {
namespace {

constexpr QSize kGalleryWindow{1600, 900};
constexpr int kFrames = 30;

double cpuMilliseconds()
{
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// So many primitives, as a busy picture has them: bars, every fourth with a label.
class BusyView final : public View {
public:
    std::string title() const override { return "busy"; }
    void draw(Canvas& canvas) override
    {
        const Theme& theme = lightTheme();
        canvas.fillRect(canvas.area(), theme.canvas);
        constexpr int kColumns = 100, kRows = 80;
        const float width = canvas.area().width() / kColumns, height = canvas.area().height() / kRows;
        for (int i = 0; i < kColumns * kRows; ++i) {
            const float x = static_cast<float>(i % kColumns) * width, y = static_cast<float>(i / kColumns) * height;
            const auto c = static_cast<sim::OpClass>(i % sim::kOpClassCount);
            canvas.fillRect({x, y, x + width - 1, y + height - 1}, theme.fill(c));
            if (i % 4 == 0)
                canvas.text({x + 2, y}, "F3", theme.label(c), FontFace::small);
        }
    }
};

struct FrameTime {
    double cpu, clock; ///< milliseconds, of all threads
};

/// The middle of many. `before` each frame: what changes the picture.
FrameTime middleOf(const std::function<void()>& frame, const std::function<void(int)>& before)
{
    std::vector<double> cpu, clock;
    for (int i = 0; i < kFrames; ++i) {
        before(i);
        QElapsedTimer timer;
        timer.start();
        const double start = cpuMilliseconds();
        frame();
        cpu.push_back(cpuMilliseconds() - start);
        clock.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
    }
    for (std::vector<double>* times : {&cpu, &clock})
        std::nth_element(times->begin(), times->begin() + kFrames / 2, times->end());
    return {cpu[kFrames / 2], clock[kFrames / 2]};
}

/// As the program has it: from asking for a frame until the window's pixels are as they shall be; and with every pixel filled, as
/// when a picture is shown for the first time.
void measure(
    const QByteArray& what, CanvasWidget& canvas, const std::function<void(int)>& change = [](int) {})
{
    const auto settle = [] {
        for (int round = 0; round < 3; ++round)
            QCoreApplication::processEvents();
    };
    settle();
    const FrameTime frame = middleOf(
        [&] {
            QCoreApplication::processEvents();
            QEvent paint(QEvent::UpdateRequest); // at once, not with the next tick of the screen
            QCoreApplication::sendEvent(canvas.window(), &paint);
        },
        [&](int i) {
            settle();
            change(i);
            canvas.requestFrame();
        });
    QImage picture(canvas.size() * canvas.devicePixelRatioF(), QImage::Format_RGB32);
    picture.setDevicePixelRatio(canvas.devicePixelRatioF());
    const FrameTime whole = middleOf([&] { canvas.render(&picture); },
                                     [&](int i) {
                                         change(i);
                                         canvas.requestFrame();
                                     });
    std::printf("%-58s %7.2f %7.2f %12.2f %7.2f\n", what.constData(), frame.cpu, frame.clock, whole.cpu, whole.clock);
}

void wait(int milliseconds)
{
    QEventLoop loop;
    QTimer::singleShot(milliseconds, &loop, &QEventLoop::quit);
    loop.exec();
}

double startToGallery()
{
    std::vector<double> times;
    for (int round = 0; round < 5; ++round) {
        QElapsedTimer timer;
        timer.start();
        QProcess process;
        process.start(QCoreApplication::applicationFilePath(), {QStringLiteral("--gallery")});
        process.waitForReadyRead();
        times.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
        process.waitForFinished();
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

} // namespace

int benchFrames(QSize size)
{
    std::printf("a window of %dx%d, scale %g\n", size.width(), size.height(), qApp->devicePixelRatio());
    std::printf("%-58s %15s %20s\n", "frame on the software canvas, ms", "CPU   clock", "all filled: CPU   clock");
    BusyView busy;
    CanvasWidget canvas(busy, Renderer::software);
    canvas.resize(size);
    canvas.show();
    measure("10,000 primitives", canvas);
    canvas.hide();

    {
        Selection selection;
        TimelineView timeline(selection, lightTheme());
        const auto trace = test::manySpans(1'000'000, 64);
        timeline.setStep({nullptr, trace});
        timeline.setRows({.grouping = RowGrouping::none}); // every row, not a strip for many
        CanvasWidget shown(timeline, Renderer::software);
        shown.resize(size);
        shown.show();
        for (const int zoom : {1, 4, 16, 64, 256}) {
            const QByteArray what =
                QStringLiteral("timeline, 1,000,000 spans on 64 rows, 1/%1 of them in sight").arg(zoom).toUtf8();
            measure(what, shown, [&](int frame) {
                const std::int64_t begin = trace->endNs / 3 + frame * trace->endNs / zoom / 100;
                timeline.setVisibleRange({begin, begin + trace->endNs / zoom});
            });
        }
    }

    MainWindow window(sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets"),
                      {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.setFixedSize(size);
    window.show();
    if (!window.openFile(QStringLiteral(RANKSCOPE_SOURCE_DIR "/scenarios/42-llama3-405b-16384-gpus.json")).empty())
        return 1;
    QEventLoop loop;
    QObject::connect(&window.desk(), &Desk::settled, &loop, &QEventLoop::quit);
    loop.exec();
    for (const PictureInfo& picture : pictures()) {
        window.showOnly(picture.picture);
        wait(100);
        CanvasWidget& shown = window.workspace().canvas(picture.picture);
        const QByteArray what = QStringLiteral("%1, 16,384 ranks, %2x%3")
                                    .arg(QLatin1String(picture.name))
                                    .arg(shown.width())
                                    .arg(shown.height())
                                    .toUtf8();
        measure(what, shown);
        measure("    the pointer over another place", shown, [&](int frame) {
            const QPointF at(shown.width() * (0.2 + 0.02 * frame), shown.height() * 0.5);
            QMouseEvent move(QEvent::MouseMove, at, shown.mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
            QCoreApplication::sendEvent(&shown, &move);
        });
        if (picture.picture != Picture::timeline)
            continue;
        TimelineView& timeline = window.workspace().timeline();
        const std::int64_t end = window.desk().actions()->endNs;
        for (const int zoom : {1, 10, 100}) { // another range each frame, as the wheel and a drag have it
            const QByteArray zoomed = QStringLiteral("    moved, 1/%1 of the step in sight").arg(zoom).toUtf8();
            measure(zoomed, shown, [&](int frame) {
                timeline.setVisibleRange({(1 + frame) * end / 100, (1 + frame) * end / 100 + end / zoom});
            });
        }
    }

    window.workspace().resetLayout();
    wait(500);
    const auto frames = [&] {
        int sum = 0;
        for (const PictureInfo& picture : pictures())
            sum += window.workspace().canvas(picture.picture).framesDrawn();
        return sum;
    };
    constexpr int kIdleMs = 5000;
    const int framesBefore = frames();
    const double before = cpuMilliseconds();
    wait(kIdleMs);
    std::printf("%-58s %10d\n", "idle window, frames drawn in 5 s", frames() - framesBefore);
    std::printf("%-58s %9.2f%%\n", "idle window, CPU", (cpuMilliseconds() - before) / kIdleMs * 100);
    std::printf("%-58s %10.0f\n", "start of the program to the painted gallery, wall", startToGallery());
    return 0;
}

int showGalleryOnce()
{
    MainWindow window(sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets"),
                      {.reproducible = true, .theme = {}, .renderer = Renderer::software});
    window.setFixedSize(kGalleryWindow);
    window.showGallery();
    window.show();
    QImage picture(kGalleryWindow, QImage::Format_RGB32);
    window.render(&picture);
    std::puts("painted");
    return 0;
}

} // namespace app
