// By what one file is told from another that has its name: its length and a checksum, of large files one of pieces spread over
// them, so that terabytes need not be read to know which they are.
#pragma once

#include "live/runtime/tensor_file.h"

#include <cstdint>
#include <string>

namespace live {

struct FileMark {
    std::uint64_t bytes = 0;
    std::uint32_t crc32 = 0; ///< of what markOf() reads: of a file that is no longer than that, its own
    bool operator==(const FileMark&) const = default;
};

/// As much of a file as is read for its mark.
inline constexpr std::uint64_t kMostMarkedBytes = std::uint64_t{64} << 20U;

/// Of a file of more than `mostBytes`, so many of it: pieces of 64 KiB (at least one), as far from each other as they can be, the
/// file's beginning and end among them, one behind the other. Throws sim::Error.
FileMark markOf(const PlacedFile&, std::uint64_t mostBytes = kMostMarkedBytes);

/// "1115394 bytes with checksum 2839301"
std::string markText(const FileMark&);

} // namespace live
