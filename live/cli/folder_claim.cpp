#include "live/cli/folder_claim.h"

#include "sim/error.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

namespace live::cli {

FolderClaim::FolderClaim(const std::filesystem::path& folder, const char* topic)
{
    std::error_code none;
    std::filesystem::create_directories(folder, none);
    m_descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m_descriptor < 0 || ::flock(m_descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return;
    ::close(m_descriptor);
    throw sim::Error(std::string(topic) + ": another run writes to " + folder.string() + "; give this one a folder of its own");
}

FolderClaim::~FolderClaim()
{
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

} // namespace live::cli
