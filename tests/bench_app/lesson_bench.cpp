#include "tests/bench_app/lesson_bench.h"

#include "app/lessons/lesson_panel.h"
#include "app/shell/window/main_window.h"

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QDir>
#include <QEventLoop>
#include <QFileInfo>
#include <QRadioButton>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>

namespace app {
namespace {

constexpr QSize kLessonWindow{1600, 900};
constexpr qint64 kLongestWaitForLessonMs = 60'000;

/// Processor time, so that what else runs on the machine does not count.
double processorMilliseconds(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// Processor time of all threads, and that of the window's alone: what the worker does at leisure beside it (legal values of the
/// form, findings) holds nobody up, what it makes of a step does.
struct WaitedFor {
    double all = processorMilliseconds(CLOCK_PROCESS_CPUTIME_ID), window = processorMilliseconds(CLOCK_THREAD_CPUTIME_ID);
    double clock = processorMilliseconds(CLOCK_MONOTONIC);

    WaitedFor since(const WaitedFor& before) const { return {all - before.all, window - before.window, clock - before.clock}; }
    void takeLonger(const WaitedFor& other)
    {
        all = std::max(all, other.all);
        window = std::max(window, other.window);
        clock = std::max(clock, other.clock);
    }
};

/// Until the lesson is there and its step on screen, painted.
WaitedFor untilPainted(MainWindow& window, const WaitedFor& before)
{
    const QDeadlineTimer deadline(kLongestWaitForLessonMs);
    while (!deadline.hasExpired() && (window.desk().isSimulating() || !window.lesson().isPlaying()))
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    QCoreApplication::sendPostedEvents(); // what waits to be laid out and painted
    return WaitedFor().since(before);
}

/// The person reads, and what is made at leisure is made: findings, the form's values, what comes next.
void readFor(MainWindow& window)
{
    const QDeadlineTimer deadline(kLongestWaitForLessonMs);
    while (!deadline.hasExpired() && !(window.isSettled() && window.desk().isResting()))
        QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
}

void answer(LessonPanel& lesson)
{
    lesson.input()->setValue(lesson.play()->asked(lesson.at())->rightAnswer());
    for (QRadioButton* sure : lesson.findChildren<QRadioButton*>())
        if (sure->text() == QStringLiteral("certain"))
            sure->setChecked(true);
}

} // namespace

int benchLessons(const char* only)
{
    MainWindow window(sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets"), {.reproducible = true, .theme = {}});
    window.setFixedSize(kLessonWindow);
    window.show();
    std::printf("%-28s %17s %17s %17s  %s\n", "lesson, ms of all threads", "open / clock", "answer / window", "next / window",
                "slowest step");
    WaitedFor slowestOpen{0, 0, 0}, slowestAnswer{0, 0, 0}, slowestNext{0, 0, 0};
    const auto tell = [](const std::string& name, const WaitedFor& open, const WaitedFor& answered, const WaitedFor& turned) {
        std::printf("%-28s %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f", name.c_str(), open.all, open.clock, answered.all,
                    answered.window, turned.all, turned.window);
    };
    for (const QFileInfo& file : QDir(QStringLiteral(RANKSCOPE_SOURCE_DIR "/assets/lessons"))
                                     .entryInfoList({QString::fromLocal8Bit(only) + QStringLiteral("*.json")})) {
        readFor(window);
        const WaitedFor before;
        if (!window.openLesson(file.filePath()).empty()) {
            std::printf("%-28s cannot be opened\n", qPrintable(file.fileName()));
            return 1;
        }
        const WaitedFor open = untilPainted(window, before);
        LessonPanel& lesson = window.lesson();
        WaitedFor answered{0, 0, 0}, turned{0, 0, 0};
        std::size_t slowest = 0;
        for (const std::size_t steps = lesson.play()->steps(); lesson.at() + 1 < steps;) {
            if (lesson.masks()) {
                readFor(window);
                answer(lesson);
                const WaitedFor asked;
                lesson.commit();
                answered.takeLonger(untilPainted(window, asked));
            }
            readFor(window);
            const WaitedFor read;
            lesson.next();
            const WaitedFor next = untilPainted(window, read);
            slowest = next.all > turned.all ? lesson.at() + 1 : slowest;
            turned.takeLonger(next);
        }
        tell(file.completeBaseName().toStdString(), open, answered, turned);
        std::printf("  %zu\n", slowest);
        std::fflush(stdout);
        slowestOpen.takeLonger(open);
        slowestAnswer.takeLonger(answered);
        slowestNext.takeLonger(turned);
    }
    tell("slowest", slowestOpen, slowestAnswer, slowestNext);
    std::printf("\n");
    return 0;
}

} // namespace app
