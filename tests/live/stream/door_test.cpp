// Who may open the socket file of a run while it is being made.
#include "live/stream/publisher.h"
#include "run_for_tests.h"

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

mode_t modeBeforeChange = 0; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): what the function below has seen

} // namespace

/// In place of the C library's, in this program: notes what could be opened until now.
extern "C" int chmod(const char* path, mode_t mode) noexcept
{
    struct stat status {};
    if (::stat(path, &status) == 0)
        modeBeforeChange = status.st_mode;
    return static_cast<int>(::syscall(SYS_fchmodat, AT_FDCWD, path, mode));
}

namespace {

TEST(Door, ItsSocketFileIsNeverOpenToOthers)
{
    const auto folder = std::filesystem::temp_directory_path() / ("rankscope-door-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const mode_t before = ::umask(0);
    {
        test::Run run;
        const live::Publisher publisher(*run.collector, {.endpoint = "ipc://" + (folder / "run").string()});
        EXPECT_TRUE(S_ISSOCK(modeBeforeChange));
        EXPECT_EQ(modeBeforeChange & 0077U, 0U);
    }
    EXPECT_EQ(::umask(before), 0U) << "it is as it was";
    std::filesystem::remove_all(folder);
}

} // namespace
