#include "tests/bench_app/lesson_bench.h"

#include "app/lessons/lesson_panel.h"
#include "app/shell/window/main_window.h"

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QDir>
#include <QEventLoop>
#include <QFileInfo>
#include <QImage>
#include <QRadioButton>

#include <algorithm>
#include <cstdio>
#include <ctime>

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

/// What the person waits for, one after the other: all threads until the step is there, then the window's until it is painted.
/// What the worker does at leisure beside the painting (legal values of the form, findings) holds nobody up.
struct WaitedFor {
    double there = 0, painted = 0;
    double milliseconds() const { return there + painted; }
};

/// Until the lesson is there and its step on screen, painted. `since`: processor time of all threads.
WaitedFor untilPainted(MainWindow& window, QImage& picture, double since)
{
    const QDeadlineTimer deadline(kLongestWaitForLessonMs);
    while (!deadline.hasExpired() && (window.desk().isSimulating() || !window.lesson().isPlaying()))
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    const double there = processorMilliseconds(CLOCK_PROCESS_CPUTIME_ID) - since;
    const double before = processorMilliseconds(CLOCK_THREAD_CPUTIME_ID);
    window.render(&picture);
    return {there, processorMilliseconds(CLOCK_THREAD_CPUTIME_ID) - before};
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
    QImage picture(kLessonWindow, QImage::Format_RGB32);
    std::printf("%-28s %8s %8s %8s  %s\n", "lesson", "open ms", "answer", "reveal", "slowest step");
    double slowestOpen = 0, slowestAnswer = 0, slowestReveal = 0;
    for (const QFileInfo& file :
         QDir(QStringLiteral(RANKSCOPE_SOURCE_DIR "/assets/lessons")).entryInfoList({QString::fromLocal8Bit(only) + QStringLiteral("*.json")})) {
        readFor(window);
        const double before = processorMilliseconds(CLOCK_PROCESS_CPUTIME_ID);
        if (!window.openLesson(file.filePath()).empty()) {
            std::printf("%-28s cannot be opened\n", qPrintable(file.fileName()));
            return 1;
        }
        const double open = untilPainted(window, picture, before).milliseconds();
        LessonPanel& lesson = window.lesson();
        double committed = 0, revealed = 0;
        std::size_t slowest = 0;
        for (const std::size_t steps = lesson.play()->steps(); lesson.at() + 1 < steps;) {
            if (lesson.masks()) {
                readFor(window);
                answer(lesson);
                const double asked = processorMilliseconds(CLOCK_PROCESS_CPUTIME_ID);
                lesson.commit();
                committed = std::max(committed, untilPainted(window, picture, asked).milliseconds());
            }
            readFor(window);
            const double turned = processorMilliseconds(CLOCK_PROCESS_CPUTIME_ID);
            lesson.next();
            const double next = untilPainted(window, picture, turned).milliseconds();
            if (qEnvironmentVariableIsSet("VERB")) std::printf("  step %zu %.1f\n", lesson.at() + 1, next);
            slowest = next > revealed ? lesson.at() + 1 : slowest;
            revealed = std::max(revealed, next);
        }
        std::printf("%-28s %8.1f %8.1f %8.1f  %zu\n", qPrintable(file.completeBaseName()), open, committed, revealed, slowest);
        std::fflush(stdout);
        slowestOpen = std::max(slowestOpen, open);
        slowestAnswer = std::max(slowestAnswer, committed);
        slowestReveal = std::max(slowestReveal, revealed);
    }
    std::printf("%-28s %8.1f %8.1f %8.1f\n", "slowest", slowestOpen, slowestAnswer, slowestReveal);
    return 0;
}

} // namespace app
