#include "live/cli/writable.h"

#include "live/comm/socket.h"
#include "sim/error.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace live::cli {
namespace {

/// Tried, not asked for: of the superuser the system says that it may write everywhere.
void checkTakesFiles(const std::filesystem::path& folder, const char* flag)
{
    const std::string trial = (folder / (".rankscope-trial-" + std::to_string(::getpid()))).string();
    const int file = ::open(trial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0)
        throw sim::Error(std::string(flag) + ": no file can be made in the folder " + folder.string() + ": " +
                         systemError(errno));
    ::close(file);
    ::unlink(trial.c_str());
}

} // namespace

void checkWritable(const std::string& file, const char* flag)
{
    if (file.empty())
        return;
    const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
    if (!std::filesystem::is_directory(folder))
        throw sim::Error(std::string(flag) + ": there is no folder " + folder.string());
    if (std::filesystem::exists(file) && !std::filesystem::is_regular_file(file))
        throw sim::Error(std::string(flag) + ": " + file +
                         (std::filesystem::is_directory(file) ? " is a folder, not a file" : " is not an ordinary file"));
    checkTakesFiles(folder, flag);
}

void checkCanBeFolder(const std::string& path, const char* flag)
{
    if (path.empty())
        return;
    std::error_code none;
    std::filesystem::path there = std::filesystem::absolute(path);
    while (!std::filesystem::exists(there, none) && there != there.parent_path())
        there = there.parent_path();
    if (!std::filesystem::is_directory(there))
        throw sim::Error(std::string(flag) + ": " + there.string() + " is no folder");
    checkTakesFiles(there, flag);
}

} // namespace live::cli
