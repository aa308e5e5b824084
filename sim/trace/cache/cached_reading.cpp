#include "sim/trace/cache/cached_reading.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/cache/cache_bytes.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {
namespace {

namespace fs = std::filesystem;

/// False where it is no ordinary file.
bool describeSource(const fs::path& path, CacheSource& source)
{
    constexpr std::size_t kHead = 4096;
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    source.bytes = static_cast<std::uint64_t>(about.st_size);
    source.modifiedNs = static_cast<std::int64_t>(about.st_mtim.tv_sec) * 1'000'000'000 + about.st_mtim.tv_nsec;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    std::array<std::byte, kHead> head;
    const ssize_t size = ::read(file, head.data(), head.size());
    ::close(file);
    if (size < 0)
        return false;
    source.headHash = hashOfBytes(std::span(head).first(static_cast<std::size_t>(size)));
    return true;
}

/// Whether it is a name of something that is open already, as "<(command)" of a shell and /dev/stdin are: nothing lies beside it,
/// and the next time it is another.
bool isOpenedBefore(const fs::path& path)
{
    const std::string name = fs::absolute(path).lexically_normal().string();
    return name == "/dev/stdin" || name.starts_with("/dev/fd/") || name.starts_with("/proc/");
}

/// What of `was` is not so `now`.
std::string changeOf(const CacheOrigin& was, const CacheOrigin& now, const std::vector<fs::path>& opened)
{
    if (was.pythonFunctions != now.pythonFunctions)
        return now.pythonFunctions ? "it was made without the frames of Python stacks"
                                   : "it was made with the frames of Python stacks";
    const auto nameOf = [&](const CacheSource& source) {
        return !source.path.empty() || source.opened >= opened.size() ? source.path : opened[source.opened].filename().string();
    };
    for (const CacheSource& file : now.sources) {
        const auto same = std::find_if(was.sources.begin(), was.sources.end(), [&](const CacheSource& other) {
            return other.path == file.path && other.opened == file.opened;
        });
        if (same == was.sources.end())
            return nameOf(file) + " is new";
        if (*same != file)
            return nameOf(file) + " has changed";
    }
    return std::to_string(was.sources.size() - std::min(was.sources.size(), now.sources.size())) + " of its files are gone";
}

} // namespace

fs::path cachePathOf(const std::vector<fs::path>& opened)
{
    fs::path first = fs::absolute(opened.front()).lexically_normal();
    if (!first.has_filename())
        first = first.parent_path(); // "run/"
    std::string name = first.string();
    if (opened.size() > 1) {
        std::string others; // as they lie from the first: the whole set may be moved
        for (const fs::path& other : std::span(opened).subspan(1))
            others += fs::absolute(other).lexically_normal().lexically_relative(first.parent_path()).string() + '\n';
        std::array<char, 9> number{};
        std::snprintf(number.data(), number.size(), "%08x",
                      static_cast<unsigned>(hashOfBytes(std::as_bytes(std::span(others))) & 0xffffffffU));
        name += "+" + std::to_string(opened.size() - 1) + "-" + number.data();
    }
    return name + kCacheEnding;
}

std::optional<CacheOrigin> cacheOriginOf(const std::vector<fs::path>& opened, const ReadOptions& options)
{
    CacheOrigin origin{.sources = {}, .pythonFunctions = options.pythonFunctions};
    if (std::any_of(opened.begin(), opened.end(), isOpenedBefore))
        return {};
    for (std::uint32_t i = 0; i < opened.size(); ++i) {
        std::error_code none;
        const bool isFolder = fs::is_directory(opened[i], none);
        for (const fs::path& file : traceFiles(opened[i])) {
            checkCancelled();
            CacheSource source{.path = isFolder ? file.lexically_relative(opened[i]).string() : std::string(), .opened = i};
            if (!describeSource(file, source))
                return {};
            origin.sources.push_back(std::move(source));
        }
    }
    return origin;
}

namespace {

std::string notTaken(const fs::path& cache, const Error& error)
{
    return cache.string() + ": " + error.what() + "; the files themselves were read";
}

} // namespace

OpenedCache openCache(const std::vector<fs::path>& opened, const ReadOptions& options)
{
    OpenedCache out;
    out.origin = cacheOriginOf(opened, options);
    const fs::path path = cachePathOf(opened);
    std::error_code none;
    if (!out.origin || !fs::is_regular_file(path, none))
        return out;
    try {
        auto cache = std::make_unique<const RecordingCache>(path, opened);
        if (cache->origin() != *out.origin)
            throw Error("is of the files as they were: " + changeOf(cache->origin(), *out.origin, opened));
        out.cache = std::move(cache);
    } catch (const Error& error) {
        out.whyNot = notTaken(path, error);
    }
    return out;
}

CachedReading readRecordingOrCache(const std::vector<fs::path>& opened, const ReadOptions& options)
{
    CachedReading out;
    OpenedCache kept = openCache(opened, options);
    out.origin = std::move(kept.origin);
    out.whyNot = std::move(kept.whyNot);
    if (kept.cache) {
        try {
            out.recording = kept.cache->recording(options.threads);
            out.isFromCache = true;
            return out;
        } catch (const Error& error) {
            out.whyNot = notTaken(cachePathOf(opened), error);
        }
    }
    out.recording = readRecording(opened, options);
    return out;
}

std::uint64_t keepCache(const Recording& recording, const std::optional<CacheOrigin>& origin, const std::vector<fs::path>& opened,
                        const ReadOptions& options, const std::vector<CacheAttachment>& attachments)
{
    if (!origin)
        throw Error("a run that comes through a pipe is read only once, and has no place for one beside it");
    const fs::path path = cachePathOf(opened);
    const std::optional<CacheOrigin> now = cacheOriginOf(opened, options);
    if (!now || *now != *origin)
        throw Error(path.string() + ": is not written: the files changed while they were read" +
                    (now ? ": " + changeOf(*origin, *now, opened) : std::string()));
    std::string begin(8, '\0');
    if (std::ifstream there(path, std::ios::binary);
        there.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin != "RKSCACHE")
        throw Error(path.string() + ": is no cache, and is not written over: move it away first");
    return writeRecordingCache(recording, *origin, opened, path, attachments);
}

} // namespace sim
