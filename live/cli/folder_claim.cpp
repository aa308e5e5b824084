#include "live/cli/folder_claim.h"

#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace live::cli {
namespace {

/// Whoever ends removes the file: another may have made a new one before this one's lock was had.
bool isStillThere(int descriptor, const std::filesystem::path& file)
{
    struct stat open {
    }, there{};
    return ::fstat(descriptor, &open) == 0 && ::stat(file.c_str(), &there) == 0 && open.st_ino == there.st_ino &&
           open.st_dev == there.st_dev;
}

[[noreturn]] void refuseTakenFolder(const std::filesystem::path& folder, const char* topic)
{
    throw sim::Error(std::string(topic) + ": another run writes to " + folder.string() + "; give this one a folder of its own");
}

const std::filesystem::path& madeFolder(const std::filesystem::path& folder)
{
    std::error_code none;
    std::filesystem::create_directories(folder, none);
    return folder;
}

} // namespace

bool isOfThisMachine(const std::filesystem::path& folder)
{
    // linux/magic.h: ext, XFS, Btrfs, tmpfs, overlayfs, F2FS, ramfs, and ZFS's own.
    constexpr std::array<unsigned long, 8> kLocal = {0xEF53,     0x58465342, 0x9123683E, 0x01021994,
                                                     0x794C7630, 0xF2F52010, 0x858458F6, 0x2FC12FC1};
    struct statfs told {};
    return ::statfs(folder.c_str(), &told) == 0 &&
           std::find(kLocal.begin(), kLocal.end(), static_cast<unsigned long>(told.f_type)) != kLocal.end();
}

FolderClaim::FolderClaim(const std::filesystem::path& folder, const char* topic)
    : FolderClaim(folder, topic, !isOfThisMachine(madeFolder(folder)))
{
}

FolderClaim::FolderClaim(const std::filesystem::path& folder, const char* topic, bool withFile)
    : m_file(folder / ".rankscope-lock")
{
    m_folderDescriptor = ::open(madeFolder(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m_folderDescriptor >= 0 && ::flock(m_folderDescriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        ::close(m_folderDescriptor);
        refuseTakenFolder(folder, topic);
    }
    if (withFile)
        lockFile(folder, topic);
}

void FolderClaim::lockFile(const std::filesystem::path& folder, const char* topic)
{
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
        m_fileDescriptor = ::open(m_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
        if (m_fileDescriptor < 0)
            return;
        const bool isLocked = ::flock(m_fileDescriptor, LOCK_EX | LOCK_NB) == 0;
        if (isLocked && isStillThere(m_fileDescriptor, m_file))
            return;
        const int error = isLocked ? 0 : errno;
        ::close(std::exchange(m_fileDescriptor, -1));
        if (error == EWOULDBLOCK) {
            ::close(std::exchange(m_folderDescriptor, -1));
            refuseTakenFolder(folder, topic);
        }
        if (error != 0) {
            m_problem = std::string(topic) + ": nothing keeps a run on another machine from writing to " + folder.string() +
                        " too, as its file system has no locks (" + std::strerror(error) + ")"; // NOLINT(concurrency-mt-unsafe)
            ::unlink(m_file.c_str());
            return;
        }
    }
}

FolderClaim::~FolderClaim()
{
    if (m_fileDescriptor >= 0) {
        ::unlink(m_file.c_str()); // before the lock goes
        ::close(m_fileDescriptor);
    }
    if (m_folderDescriptor >= 0)
        ::close(m_folderDescriptor);
}

} // namespace live::cli
