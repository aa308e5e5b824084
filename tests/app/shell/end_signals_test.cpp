#include "app/shell/window/end_signals.h"

#include <QEventLoop>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>

using namespace app;

TEST(EndSignals, EndTheProgramOnceWorkIsSafe)
{
    for (const int signal : {SIGTERM, SIGINT, SIGHUP})
        EXPECT_EXIT(
            {
                const EndSignals ends([] { std::fputs("kept safe", stderr); });
                std::raise(signal);
                QEventLoop().exec();
            },
            testing::KilledBySignal(signal), "^kept safe$");
}

TEST(EndSignals, ASecondDoesNotWait)
{
    EXPECT_EXIT(
        {
            const EndSignals ends([] { std::fputs("kept safe", stderr); });
            std::raise(SIGTERM);
            std::raise(SIGTERM); // while the window does something else
        },
        testing::KilledBySignal(SIGTERM), "^$");
}
