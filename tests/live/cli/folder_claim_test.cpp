// What keeps other runs away from a folder: on this machine, and on others that share it.
#include "live/cli/folder_claim.h"

#include "sim/error.h"
#include "tests/live/cli/child.h"

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <sys/file.h>
#include <unistd.h>

namespace {

using live::cli::FolderClaim;

bool isRefused(const std::filesystem::path& folder, bool withFile)
{
    try {
        const FolderClaim claim(folder, "checkpoint", withFile);
        EXPECT_EQ(claim.problem(), "");
        return false;
    } catch (const sim::Error& error) {
        EXPECT_EQ(error.what(), "checkpoint: another run writes to " + folder.string() + "; give this one a folder of its own");
        return true;
    }
}

TEST(FolderClaim, IsOneRunsAtATimeAndLeavesNothingBehind)
{
    const std::filesystem::path folder = test::scratch() / "claimed";
    for (const bool withFile : {false, true}) {
        {
            const FolderClaim claim(folder, "checkpoint", withFile);
            EXPECT_TRUE(isRefused(folder, withFile));
        }
        EXPECT_TRUE(std::filesystem::is_empty(folder));
        EXPECT_FALSE(isRefused(folder, withFile));
    }
}

/// NFS locks files that are open for writing, and no folders: a run on another machine is known by its file.
TEST(FolderClaim, SeesRunsOfOtherMachinesByAFile)
{
    const std::filesystem::path folder = test::scratch() / "claimed from afar";
    std::filesystem::create_directories(folder);
    const int theirs = ::open((folder / ".rankscope-lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(::flock(theirs, LOCK_EX | LOCK_NB), 0);
    EXPECT_TRUE(isRefused(folder, true));
    EXPECT_FALSE(isRefused(folder, false));
    ::close(theirs);
    EXPECT_FALSE(isRefused(folder, true));
}

TEST(FolderClaim, NoOtherMachineWritesToThisOnesMemory)
{
    if (std::filesystem::is_directory("/dev/shm")) { // a tmpfs
        EXPECT_TRUE(live::cli::isOfThisMachine("/dev/shm"));
    }
    EXPECT_FALSE(live::cli::isOfThisMachine("/proc")) << "none that is known to be";
}

} // namespace
