// Files that are opened again and again, from a cache beside them while they stay as they are. A cache is written where the
// person agreed, and only there.
#pragma once

#include "sim/trace/cache/recording_cache.h"
#include "sim/trace/readers/read_recording.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sim {

inline constexpr const char* kCacheEnding = ".rankscope-cache";

/// "run.rankscope-cache" beside the folder "run", "rank0.json.gz.rankscope-cache" beside that file; of several that are opened
/// together "rank0.json.gz+7-5e1a02c9.rankscope-cache" beside the first: the number is of the others' names, and another set that
/// begins with the same file has a cache of its own.
std::filesystem::path cachePathOf(const std::vector<std::filesystem::path>& opened);

/// The files as they are now. Nothing where one is no ordinary file, or named as what is open already (/dev/stdin): a pipe can be
/// read only once. Throws Error as traceFiles().
std::optional<CacheOrigin> cacheOriginOf(const std::vector<std::filesystem::path>& opened, const ReadOptions&);

struct CachedReading {
    Recording recording;
    bool isFromCache = false;
    /// The files as they were before they were read. Nothing: they cannot be cached.
    std::optional<CacheOrigin> origin;
    std::string whyNot; ///< a cache is there, and was not taken: a sentence for a person
};

/// The cache beside the files, where there is one that is of them as they are; else nullptr, and `whyNot` says why one that is
/// there was not taken. What it holds is not looked at: O(files + ranks).
struct OpenedCache {
    std::unique_ptr<const RecordingCache> cache;
    std::optional<CacheOrigin> origin; ///< as of CachedReading
    std::string whyNot;
};
OpenedCache openCache(const std::vector<std::filesystem::path>& opened, const ReadOptions& = {});

/// From the cache where one lies beside the files and is of them as they are; else as readRecording() does.
CachedReading readRecordingOrCache(const std::vector<std::filesystem::path>& opened, const ReadOptions& = {});

/// Writes the cache of what was read, with what was found out. Throws Error where the files have changed meanwhile, or it cannot
/// be written. Returns its bytes.
std::uint64_t keepCache(const Recording&, const std::optional<CacheOrigin>&, const std::vector<std::filesystem::path>& opened,
                        const ReadOptions& = {}, const std::vector<CacheAttachment>& attachments = {});

} // namespace sim
