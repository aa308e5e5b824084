// Files of any profiler that is known, or folders of them, as one Recording. What a file is, its bytes say, never its name.
#pragma once

#include "sim/trace/readers/byte_source.h"
#include "sim/trace/recording.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct ReadProgress {
    std::size_t filesDone = 0, files = 0;
    std::uint64_t bytesDone = 0, bytes = 0; ///< on the disk
};

struct ReadOptions {
    bool pythonFunctions = false; ///< keep the frames of Python stacks: most of the events where they were recorded
    std::size_t threads = 0;      ///< files at once; 0: as many as there are cores
    std::size_t windowBytes = std::size_t{8} << 20;    ///< of text held at once, a file
    std::function<void(const ReadProgress&)> progress; ///< called by one thread at a time, whichever reads
};

/// The files of a folder, and of those in it to a depth of eight, in the order of their names; hidden ones are left out. A file
/// is itself. Throws Error where there is nothing, or more than 100,000 files.
std::vector<std::filesystem::path> traceFiles(const std::filesystem::path&);

/// Whether a file that begins so (inflated or packed) is to be read as a recording, and is no scenario: some tens of kilobytes
/// tell.
bool looksLikeTrace(std::string_view firstBytes);

/// Files in folders that are no traces are skipped, and counted; a file that was named itself and is none is an Error, as is when
/// nothing is left. Files that contradict each other are of several runs: the largest is read (one_run.h), and a problem names
/// the others. Files that end too early are kept as far as they go, and a problem says so. The caller's CancelScope ends it with
/// Cancelled.
Recording readRecording(const std::vector<std::filesystem::path>&, const ReadOptions& = {});

/// The same of bytes in memory under a name: for tests and fuzzers. Nsight's databases need a file.
Recording readRecording(const char* data, std::size_t size, const std::string& name, const ReadOptions& = {});

} // namespace sim
