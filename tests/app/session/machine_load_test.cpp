// Who else uses this machine.
#include "app/session/machine_load.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QThread>

#include <gtest/gtest.h>

#include <array>

namespace app {
namespace {

/// This thread's core, for a while.
void work(int ms)
{
    QElapsedTimer timer;
    timer.start();
    volatile double sum = 0;
    while (timer.elapsed() < ms)
        sum = sum + 1;
}

TEST(MachineLoad, OursIsNotThatOfOthers)
{
    if (!QFile::exists(QStringLiteral("/proc/stat")))
        GTEST_SKIP() << "nothing tells";
    const std::array ours{QCoreApplication::applicationPid()};
    MachineLoad withUs, withoutUs;
    EXPECT_FALSE(withUs.othersCores(ours)) << "nothing to compare with yet";
    EXPECT_FALSE(withoutUs.othersCores({}));
    EXPECT_FALSE(withUs.othersCores(ours)) << "too soon";
    constexpr int kLongMs = 700;
    work(kLongMs);
    const auto others = withUs.othersCores(ours), all = withoutUs.othersCores({});
    ASSERT_TRUE(others && all);
    EXPECT_GE(*others, 0);
    EXPECT_LE(*all, QThread::idealThreadCount());
    EXPECT_GT(*all - *others, 0.1) << "what this process did is told only by who does not know that it is ours";
}

} // namespace
} // namespace app
