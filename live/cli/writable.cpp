#include "live/cli/writable.h"

#include "live/comm/socket.h"
#include "sim/error.h"
#include "sim/text/quoted.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace live::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuseOutput(const char* flag, const fs::path& path, const std::string& why)
{
    throw sim::Error(std::string(flag) + ": " + sim::shownPlace(path.string()) + why);
}

/// What is there. Throws where the system does not even say that, as of a name that is too long.
fs::file_status statusOf(const fs::path& path, const char* flag)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::status_known(status))
        refuseOutput(flag, path, ": " + error.message());
    return status;
}

/// Tried, not asked for: of the superuser the system says that it may write everywhere.
void checkTakesFiles(const fs::path& folder, const char* flag)
{
    const std::string trial = (folder / (".rankscope-trial-" + std::to_string(::getpid()))).string();
    const int file = ::open(trial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0)
        throw sim::Error(std::string(flag) + ": no file can be made in the folder " + sim::shownPlace(folder.string()) + ": " +
                         systemError(errno));
    ::close(file);
    ::unlink(trial.c_str());
}

} // namespace

void checkWritable(const std::string& file, const char* flag)
{
    if (file.empty())
        return;
    const fs::path folder = fs::absolute(file).parent_path();
    if (const fs::file_status status = statusOf(folder, flag); !fs::is_directory(status))
        throw sim::Error(std::string(flag) + ": " +
                         (fs::exists(status) ? sim::shownPlace(folder.string()) + " is no folder"
                                             : "there is no folder " + sim::shownPlace(folder.string())));
    const fs::file_status status = statusOf(file, flag);
    if (fs::exists(status) && !fs::is_regular_file(status))
        refuseOutput(flag, file, fs::is_directory(status) ? " is a folder, not a file" : " is not an ordinary file");
    if (fs::exists(status) && ::access(file.c_str(), W_OK) != 0)
        refuseOutput(flag, file, " cannot be written: " + systemError(errno));
    checkTakesFiles(folder, flag);
}

void checkCanBeFolder(const std::string& path, const char* flag)
{
    if (path.empty())
        return;
    constexpr const char* kLongestBelow = "step-00000000.part/second_moments.safetensors"; // of what is written into it
    fs::path there = fs::absolute(path);
    statusOf(there / kLongestBelow, flag);
    for (; !fs::exists(statusOf(there, flag)) && there != there.parent_path(); there = there.parent_path())
        if (fs::is_symlink(there))
            refuseOutput(flag, there, " is a link to nothing");
    if (!fs::is_directory(statusOf(there, flag)))
        refuseOutput(flag, there, " is no folder");
    checkTakesFiles(there, flag);
}

} // namespace live::cli
