#include "live/stream/open_files.h"

#include "sim/text/number_text.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <sys/resource.h>

namespace live {
namespace {

std::string filesText(std::int64_t count)
{
    return sim::numberText(static_cast<double>(count), sim::Unit::count);
}

std::string limitOfFiles(const OpenFiles& files, std::int64_t needed)
{
    return filesText(files.open) + (files.open == 1 ? " is" : " are") + " open and " + filesText(files.allowed) +
           " allowed; nearest: ulimit -n " + std::to_string(needed) + " before it is started";
}

} // namespace

OpenFiles openFiles()
{
    OpenFiles files;
    rlimit limit{};
    const bool isLimited = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    files.allowed = isLimited ? static_cast<std::int64_t>(limit.rlim_cur) : std::numeric_limits<std::int64_t>::max();
    std::error_code error;
    std::filesystem::directory_iterator entries("/proc/self/fd", error);
    if (error == std::errc::too_many_files_open) { // none was left to count them with
        files.open = files.allowed;
        return files;
    }
    files.open = std::max<std::int64_t>(0, std::distance(begin(entries), end(entries)) - 1); // but for the one that counts
    return files;
}

void raiseOpenFiles()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit); // a wish: whoever needs more than there are says so
}

std::string whyTooFewFiles(std::int64_t more, const OpenFiles& files)
{
    if (files.open <= files.allowed - more)
        return {};
    return "it needs " + filesText(more) + " more open files, " + limitOfFiles(files, files.open + more);
}

std::string whyTooFewFilesForRanks(std::int64_t ranks, std::int64_t connected, const OpenFiles& files)
{
    const std::int64_t missing = std::max<std::int64_t>(0, ranks - connected);
    if (files.open <= files.allowed - missing * kFilesOfConnection)
        return {};
    const std::int64_t can = connected + std::max<std::int64_t>(0, files.allowed - files.open) / kFilesOfConnection;
    return "of " + sim::countedText(ranks, "rank") + " " + filesText(can) + " can come in: each needs " +
           filesText(kFilesOfConnection) + " open files, " + limitOfFiles(files, files.open + missing * kFilesOfConnection);
}

} // namespace live
