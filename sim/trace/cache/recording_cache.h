// A Recording in a file that is mapped into memory and not read: opening it costs what its table of contents costs, whatever it
// holds, and a rank's spans are looked at when somebody asks for the rank.
//
// The file, little-endian, sections at multiples of 64 bytes:
//
//     0   8  "RKSCACHE"
//     8   4  version of this format and of the readers (kVersion)
//    12   4  0
//    16   8  bytes of the whole file
//    24   8  place, 32 8 bytes, 40 8 hash of the table of contents
//    48   8  hash of the 48 bytes before
//    56   8  0
//    64      one section a rank
//            one section for each thing that was found out of the recording
//            the table of contents
//
// A rank's section: columns of spans (start 8, duration 8, name 4; meaning 4 and micro-batch 4 where Rankscope's own files say
// them; kind 1), launches (from 4, to 4, kind 1, 3 of 0), annotations (4), each at a multiple of 64, then the rank's tracks,
// collectives, shapes, steps and counters as records. 21 bytes a span (29 in Rankscope's own files), 12 a launch. The table of
// contents: what the cache was made of, all that ranks share, and of each rank what its files say of it, where its section lies,
// and the section's hash; at the end the names of what was found out, and where each lies, with its hash. Records: numbers and
// enumerations as they lie in memory, texts and lists after their length (8).
#pragma once

#include "sim/trace/cache/mapped_file.h"
#include "sim/trace/recording.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// A file that a recording was made of, as it was then.
struct CacheSource {
    std::string path;         ///< behind what was opened: "" for a file that was named itself, "a/rank0.json.gz" in a folder
    std::uint32_t opened = 0; ///< which of the files and folders that were named
    std::uint64_t bytes = 0;
    std::int64_t modifiedNs = 0; ///< since 1970
    std::uint64_t headHash = 0;  ///< of its first 4,096 bytes
    bool operator==(const CacheSource&) const = default;
};

struct CacheOrigin {
    std::vector<CacheSource> sources;
    bool pythonFunctions = false; ///< the frames of Python stacks were kept
    bool operator==(const CacheOrigin&) const = default;
};

/// What somebody found out of a recording and keeps beside it. The cache does not look into it.
struct CacheAttachment {
    std::string name; ///< with the version of what is in it
    std::string bytes;
};

/// Writes the file whole or not at all, also where it is cancelled. `opened`: the files and folders as they were named; texts
/// that begin with such a name are kept so that another spelling of it can stand there. Throws Error if it cannot. Returns the
/// file's bytes.
std::uint64_t writeRecordingCache(const Recording&, const CacheOrigin&, const std::vector<std::filesystem::path>& opened,
                                  const std::filesystem::path& cache, const std::vector<CacheAttachment>& attachments = {});

class RecordingCache {
public:
    /// Maps the file and checks the table of contents. `opened`: as they are named now. Throws Error, with what is wrong, where
    /// the file is none, of another version, cut off or damaged.
    RecordingCache(const std::filesystem::path& cache, const std::vector<std::filesystem::path>& opened);
    /// Bytes in memory, for tests and fuzzers, which would never guess a hash; they must stay.
    RecordingCache(std::span<const std::byte> bytes, const std::vector<std::filesystem::path>& opened, bool checksHashes = true);

    const CacheOrigin& origin() const { return m_origin; }
    std::uint64_t bytes() const { return m_bytes.size(); }
    std::size_t ranks() const { return m_sections.size(); }
    std::size_t spanCount() const; ///< of all ranks, as the table of contents says
    /// A rank with all that its section holds, whose columns lie in the file; others may be asked for in other threads meanwhile.
    /// Throws Error where the section is damaged. O(spans).
    RankRecording rank(std::size_t) const;
    /// Who was recorded, and of each the columns, of which nobody has looked at a byte: neither checked nor with the records of
    /// the section (tracks, collectives, steps). To count spans, not to read them. O(ranks).
    Recording outline() const;
    /// What was kept under a name; nothing where there is none. Throws Error where it is damaged.
    std::optional<std::span<const std::byte>> attachment(std::string_view name) const;
    /// All that was recorded. Throws Error where anything of it is damaged. `threads` as forEachInParallel has them.
    Recording recording(std::size_t threads = 0) const;

private:
    struct Section {
        RankRecording about; ///< without what lies in the section
        std::uint64_t place = 0, bytes = 0, hash = 0;
        std::uint64_t spans = 0, links = 0, annotations = 0;
        bool isOwn = false; ///< has meanings and micro-batches
    };
    struct Attached {
        std::string name;
        std::uint64_t place = 0, bytes = 0, hash = 0;
    };
    void readContents(const std::vector<std::filesystem::path>& opened);

    std::shared_ptr<const MappedFile> m_file; ///< null: bytes in memory
    std::shared_ptr<const void> m_keeper;     ///< of the bytes
    std::span<const std::byte> m_bytes;
    bool m_checksHashes = true;
    CacheOrigin m_origin;
    std::shared_ptr<Recording> m_shared; ///< without ranks
    std::vector<Section> m_sections;
    std::vector<Attached> m_attached;
};

} // namespace sim
