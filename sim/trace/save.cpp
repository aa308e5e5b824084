#include "sim/error.h"
#include "sim/text/quoted.h"
#include "sim/trace/atomic_stream.h"
#include "sim/trace/export.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace sim {

namespace fs = std::filesystem;

AtomicStream::AtomicStream(const fs::path& path) : m_path(path), m_temporary(path)
{
    std::error_code none;
    if (fs::exists(path, none) && !fs::is_regular_file(path, none)) // its name would be taken over, a device's as well
        throw Error(path.string() + ": is not an ordinary file");
    m_temporary += "." + std::to_string(::getpid()) + ".part";
    m_stream.open(m_temporary, std::ios::binary | std::ios::trunc);
    if (!m_stream)
        throw Error(path.string() + ": cannot be written: " + std::strerror(errno));
}

AtomicStream::~AtomicStream()
{
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
    return quotedText(path.string()) +
           " names no format: a trace is written as .pftrace (Perfetto) or .json (Chrome trace events)";
}

void checkTraceDestination(const fs::path& path)
{
    if (const std::string problem = traceNameProblem(path); !problem.empty())
        throw Error(problem);
    std::error_code none;
    if (fs::exists(path, none) && !fs::is_regular_file(path, none))
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
