#include "tests/bench_app/slot_bench.h"

#include "app/shell/form/number_row.h"
#include "app/shell/gallery/gallery_page.h"
#include "app/shell/window/main_window.h"

#include <QDeadlineTimer>
#include <QEvent>
#include <QEventLoop>
#include <QFileInfo>
#include <QMetaEnum>
#include <QSlider>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <map>

namespace app {
namespace {

constexpr double kGoalMs = 50;
constexpr qint64 kLongestWaitMs = 60'000;

double threadMilliseconds()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

constexpr QSize kWindow{1600, 900};

/// Events one by one until the window rests, and a little longer.
void rest(MainWindow& window)
{
    constexpr qint64 kAfterMs = 60;
    QDeadlineTimer deadline(kLongestWaitMs), after(QDeadlineTimer::Forever);
    bool rests = false;
    while (!deadline.hasExpired() && !(rests && after.hasExpired())) {
        QCoreApplication::processEvents(QEventLoop::AllEvents);
        if (!rests && window.isSettled()) {
            rests = true;
            after.setRemainingTime(kAfterMs);
        }
    }
}

} // namespace

bool TimedApplication::notify(QObject* receiver, QEvent* event)
{
    if (m_depth > 0)
        return GuardedApplication::notify(receiver, event);
    const QString type = QString::fromLatin1(QMetaEnum::fromType<QEvent::Type>().valueToKey(event->type()));
    const QString of = QString::fromLatin1(receiver->metaObject()->className()); // it may be deleted on the way
    ++m_depth;
    const double before = threadMilliseconds();
    const bool handled = GuardedApplication::notify(receiver, event);
    const double spent = threadMilliseconds() - before;
    --m_depth;
    if (spent > m_longest.milliseconds)
        m_longest = {spent, type + QStringLiteral(" of ") + of};
    return handled;
}

TimedApplication::Slot TimedApplication::takeLongest()
{
    return std::exchange(m_longest, {});
}

int benchSlots(TimedApplication& application)
{
    MainWindow window(sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets"), {.reproducible = true, .theme = {}});
    window.setFixedSize(kWindow);
    window.show();
    window.showGallery();
    rest(window);
    const TimedApplication::Slot start = application.takeLongest();
    std::printf("%-44s %10s %10s  %s\n", "scenario", "open ms", "back ms", "longest slot");
    std::printf("%-44s %10.1f %10s  %s\n", "the gallery itself", start.milliseconds, "", qPrintable(start.what));
    std::vector<QString> paths;
    for (const GalleryEntry& entry : window.gallery().entries())
        if (!entry.lesson)
            paths.push_back(entry.path);
    double slowest = 0;
    int over = 0;
    std::map<QString, int> culprits;
    for (const QString& path : paths) {
        QMetaObject::invokeMethod( // a click is a slot of its own
            &window, [&] { Q_EMIT window.gallery().openRequested(path); }, Qt::QueuedConnection);
        rest(window);
        const TimedApplication::Slot opened = application.takeLongest();
        QMetaObject::invokeMethod(
            &window, [&] { window.run(CommandId::gallery); }, Qt::QueuedConnection);
        rest(window);
        const TimedApplication::Slot back = application.takeLongest();
        const TimedApplication::Slot& longest = opened.milliseconds > back.milliseconds ? opened : back;
        std::printf("%-44s %10.1f %10.1f  %s\n", qPrintable(QFileInfo(path).completeBaseName()), opened.milliseconds,
                    back.milliseconds, qPrintable(longest.what));
        std::fflush(stdout);
        slowest = std::max(slowest, longest.milliseconds);
        if (longest.milliseconds > kGoalMs) {
            ++over;
            ++culprits[longest.what];
        }
    }
    std::printf("%-44s %10.1f\n", "longest of all", slowest);
    std::printf("%d of %zu scenarios hold the window longer than %.0f ms\n", over, paths.size(), kGoalMs);
    for (const auto& [what, times] : culprits)
        std::printf("  %3d × %s\n", times, qPrintable(what));
    return 0;
}

namespace {

/// A slider of the form one place up and down again; how long that holds the window.
void moveSlider(TimedApplication& application, MainWindow& window, NumberRow& row, const QString& seen)
{
    auto* slider = row.findChild<QSlider*>();
    if (!slider->isEnabled() || !slider->isVisible())
        return;
    application.takeLongest();
    std::array<TimedApplication::Slot, 2> moves;
    for (std::size_t move = 0; move < moves.size(); ++move) {
        const auto way = move == 0 ? QAbstractSlider::SliderSingleStepAdd : QAbstractSlider::SliderSingleStepSub;
        QMetaObject::invokeMethod(
            slider, [=] { slider->triggerAction(way); }, Qt::QueuedConnection);
        rest(window);
        moves[move] = application.takeLongest();
    }
    const auto& [more, less] = moves;
    std::printf("%-12s %-44s %10.1f %10.1f  %s\n", qPrintable(seen), row.pointer().c_str(), more.milliseconds, less.milliseconds,
                qPrintable((more.milliseconds > less.milliseconds ? more : less).what));
    std::fflush(stdout);
}

} // namespace

int benchSliderSlots(TimedApplication& application, const QStringList& files)
{
    MainWindow window(sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets"), {.reproducible = true, .theme = {}});
    window.setFixedSize(kWindow);
    window.show();
    for (const QString& file : files) {
        if (!window.openFile(file).empty()) {
            std::printf("%s cannot be opened\n", qPrintable(file));
            return 1;
        }
        rest(window);
        std::printf("%s\n%-12s %-44s %10s %10s  %s\n", qPrintable(QFileInfo(file).completeBaseName()), "seen", "slider",
                    "more ms", "less ms", "longest slot");
        for (NumberRow* row : window.findChildren<NumberRow*>())
            moveSlider(application, window, *row, QStringLiteral("usual"));
        const auto moveFew = [&](const QString& seen) {
            rest(window);
            for (const auto pointer : {Control::globalBatchSize, Control::tp})
                moveSlider(application, window, *window.form().row(pointer), seen);
        };
        for (const PictureInfo& info : pictures()) {
            window.showOnly(info.picture);
            moveFew(QString::fromUtf8(info.name));
        }
        for (const CommandId dock : {CommandId::showOps, CommandId::showPlan}) {
            window.run(dock);
            moveFew(plainText(command(dock)));
        }
        window.run(CommandId::pinBaseline);
        moveFew(QStringLiteral("baseline"));
        window.run(CommandId::forgetBaseline);
        for (const CommandId look : {CommandId::themeDark, CommandId::themeLight, CommandId::textLarger, CommandId::textUsual}) {
            rest(window);
            application.takeLongest();
            QMetaObject::invokeMethod(
                &window, [&] { window.run(look); }, Qt::QueuedConnection);
            rest(window);
            const TimedApplication::Slot longest = application.takeLongest();
            std::printf("%-57s %10.1f %10s  %s\n", qPrintable(plainText(command(look))), longest.milliseconds, "",
                        qPrintable(longest.what));
        }
    }
    return 0;
}

} // namespace app
