#include "sim/error.h"
#include "sim/trace/atomic_stream.h"
#include "sim/trace/export.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace sim {

namespace fs = std::filesystem;

namespace {

/// What the name of an unfinished file begins with: that of `path`, cut where the rest would make it longer than names may be.
std::string beginOfUnfinished(const fs::path& path)
{
    constexpr std::size_t kMostBytes = 235; // of 255
    std::string name = path.filename().string();
    if (name.size() > kMostBytes) {
        std::size_t end = kMostBytes;
        while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) // within a character of UTF-8
            --end;
        name.resize(end);
    }
    return name + ".";
}

/// "NAME.PID.part" beside `path` of programs that run no more; of one on another machine too, after an hour.
void removeLeftOvers(const fs::path& path)
{
    std::error_code none;
    const std::string begin = beginOfUnfinished(path), end = ".part";
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    for (fs::directory_iterator entry(folder, none), last; !none && entry != last; entry.increment(none)) {
        const std::string name = entry->path().filename().string();
        if (name.size() <= begin.size() + end.size() || !name.starts_with(begin) || !name.ends_with(end))
            continue;
        const std::string number = name.substr(begin.size(), name.size() - begin.size() - end.size());
        int pid = 0;
        const auto [rest, problem] = std::from_chars(number.data(), number.data() + number.size(), pid);
        const auto written = fs::last_write_time(entry->path(), none);
        if (problem == std::errc() && rest == number.data() + number.size() && pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH &&
            !none && fs::file_time_type::clock::now() - written > std::chrono::hours(1))
            fs::remove(entry->path(), none);
    }
}

} // namespace

AtomicStream::AtomicStream(const fs::path& path) : m_path(path), m_temporary(path)
{
    std::error_code none;
    if (fs::exists(path, none) && !fs::is_regular_file(path, none)) // its name would be taken over, a device's as well
        throw Error(path.string() + ": is not an ordinary file");
    removeLeftOvers(path);
    m_temporary.replace_filename(beginOfUnfinished(path) + std::to_string(::getpid()) + ".part");
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    m_unnamed = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (m_unnamed >= 0)
        m_stream.open("/proc/self/fd/" + std::to_string(m_unnamed), std::ios::binary | std::ios::trunc);
    if (m_unnamed >= 0 && !m_stream) {
        ::close(m_unnamed);
        m_unnamed = -1;
        m_stream.clear();
    }
    if (m_unnamed < 0)
        m_stream.open(m_temporary, std::ios::binary | std::ios::trunc);
    if (!m_stream)
        throw Error(path.string() + ": cannot be written: " + std::strerror(errno));
}

AtomicStream::~AtomicStream()
{
    if (m_unnamed >= 0)
        ::close(m_unnamed);
    if (m_committed)
        return;
    m_stream.close();
    std::error_code ignored;
    fs::remove(m_temporary, ignored);
}

void AtomicStream::commit()
{
    m_stream.close();
    if (!m_stream)
        throw Error(m_path.string() + ": cannot be written: the disk took only a part of it");
    std::error_code error;
    if (m_unnamed >= 0) { // a link takes nobody's place: it has a name of its own for a moment
        fs::remove(m_temporary, error);
        const std::string unnamed = "/proc/self/fd/" + std::to_string(m_unnamed);
        if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, m_temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
            throw Error(m_path.string() + ": cannot be written: " + std::strerror(errno));
    }
    fs::rename(m_temporary, m_path, error);
    if (error)
        throw Error(m_path.string() + ": cannot be written: " + error.message());
    m_committed = true;
}

std::string traceNameProblem(const fs::path& path)
{
    const std::string ending = path.extension().string();
    if (ending == ".pftrace" || ending == ".json")
        return {};
    const bool isPacked = ending == ".gz" || ending == ".zst";
    return "\"" + path.string() + "\" names no format" + (isPacked ? " that is written" : "") +
           ": a trace is written as .pftrace (Perfetto) or .json (Chrome trace events)" +
           (isPacked ? "; gzip and zstd pack it, and what they packed is read" : "");
}

void checkTraceDestination(const fs::path& path)
{
    if (const std::string problem = traceNameProblem(path); !problem.empty())
        throw Error(problem);
    std::error_code none;
    const fs::file_status status = fs::status(path, none);
    if (!fs::status_known(status)) // of a name that is too long
        throw Error(path.string() + ": cannot be written: " + none.message());
    if (fs::exists(status) && !fs::is_regular_file(status))
        throw Error(path.string() + ": is not an ordinary file");
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, none))
        throw Error(path.string() + ": cannot be written: " + folder.string() + ": " + std::strerror(ENOENT));
    if (::access(folder.c_str(), W_OK) != 0)
        throw Error(path.string() + ": cannot be written: " + std::strerror(errno));
}

void saveTrace(const Trace& trace, const fs::path& path)
{
    checkTraceDestination(path);
    const std::string ending = path.extension().string();
    AtomicStream file(path);
    if (ending == ".json")
        writeChromeJson(trace, file.stream());
    else
        writePerfetto(trace, file.stream());
    file.commit();
}

} // namespace sim
