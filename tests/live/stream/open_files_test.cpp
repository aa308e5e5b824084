// Where too few files may be open it is said with the numbers, before anybody is left waiting.
#include "live/stream/open_files.h"

#include <algorithm>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

TEST(OpenFiles, AreCountedAndTheirSoftLimitIsRaisedToTheHardOne)
{
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const live::OpenFiles first = live::openFiles();
    const int one = ::open("/dev/null", O_RDONLY | O_CLOEXEC), two = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(live::openFiles().open, first.open + 2);
    rlimit low = before;
    low.rlim_cur = static_cast<rlim_t>(std::max(one, two)) + 1;
    ::setrlimit(RLIMIT_NOFILE, &low);
    const live::OpenFiles full = live::openFiles();
    EXPECT_EQ(full.allowed, static_cast<std::int64_t>(low.rlim_cur));
    live::raiseOpenFiles();
    rlimit raised{};
    ::getrlimit(RLIMIT_NOFILE, &raised);
    EXPECT_EQ(raised.rlim_cur, before.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &before);
    ::close(one);
    ::close(two);
}

TEST(OpenFiles, ThatAreTooFewAreToldWithTheNumbers)
{
    EXPECT_EQ(live::whyTooFewFiles(13, {.open = 7, .allowed = 20}), "");
    EXPECT_EQ(live::whyTooFewFiles(13, {.open = 7, .allowed = 19}),
              "it needs 13 more open files, 7 are open and 19 allowed; nearest: ulimit -n 20 before it is started");
    // 512 ranks at two files each are 1,024, beside the 24 that are open.
    EXPECT_EQ(live::whyTooFewFilesForRanks(512, 0, {.open = 24, .allowed = 1048}), "");
    EXPECT_EQ(live::whyTooFewFilesForRanks(513, 1, {.open = 26, .allowed = 1050}), "");
    EXPECT_EQ(live::whyTooFewFilesForRanks(600, 1, {.open = 26, .allowed = 1024}),
              "of 600 ranks 500 can come in: each needs 2 open files, 26 are open and 1,024 allowed; nearest: ulimit -n 1224 "
              "before it is started");
    EXPECT_EQ(live::whyTooFewFilesForRanks(2, 2, {.open = 20, .allowed = 20}), "");
}

} // namespace
