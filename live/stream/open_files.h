// How many files, connections among them, this process has open and may have.
#pragma once

#include <cstdint>
#include <string>

namespace live {

/// That a connected rank or viewer takes: its connection, and a second name of that by which it is watched (Line).
inline constexpr std::int64_t kFilesOfConnection = 2;

struct OpenFiles {
    std::int64_t open = 0, allowed = 0; ///< the soft limit, ulimit -n
};
OpenFiles openFiles();

/// The soft limit becomes the hard one: it is low by default for programs that cannot hold more, which this one can.
void raiseOpenFiles();

/// "" where `more` can be opened; else "it needs 13 more open files, 7 are open and 12 allowed; nearest: ulimit -n 20 …".
std::string whyTooFewFiles(std::int64_t more, const OpenFiles& = openFiles());

/// "" where all ranks of a job can come in, `connected` of which have; else how many can.
std::string whyTooFewFilesForRanks(std::int64_t ranks, std::int64_t connected, const OpenFiles& = openFiles());

} // namespace live
