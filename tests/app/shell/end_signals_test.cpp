#include "app/shell/window/end_signals.h"

#include <QEventLoop>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

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

TEST(EndSignals, WhatWasIgnoredStaysIgnored)
{
    EXPECT_EXIT(
        {
            std::signal(SIGHUP, SIG_IGN); // as nohup has it
            {
                const EndSignals ends([] { std::fputs("heard", stderr); });
                std::raise(SIGHUP);
            }
            std::raise(SIGHUP);
            std::_Exit(0);
        },
        testing::ExitedWithCode(0), "^$");
}

TEST(EndSignals, EndTheProgramAlsoWhereWorkCannotBeKept)
{
    EXPECT_EXIT(
        {
            const EndSignals ends([] { throw std::runtime_error("the disk is full"); });
            std::raise(SIGTERM);
            QEventLoop().exec();
        },
        testing::KilledBySignal(SIGTERM), "");
}
