#include "live/runtime/file_mark.h"

#include "live/runtime/crc32.h"

#include <algorithm>

namespace live {

FileMark markOf(const PlacedFile& file, std::uint64_t mostBytes)
{
    constexpr std::uint64_t kPieceBytes = std::uint64_t{64} << 10U;
    const std::uint64_t bytes = file.size();
    const bool isWhole = bytes <= std::max(mostBytes, 2 * kPieceBytes);
    const std::uint64_t pieces =
        isWhole ? (bytes + kPieceBytes - 1) / kPieceBytes : std::max<std::uint64_t>(2, mostBytes / kPieceBytes);
    PiecewiseCrc32 crc(isWhole ? bytes : pieces * kPieceBytes);
    std::string piece;
    for (std::uint64_t i = 0; i < pieces; ++i) {
        const std::uint64_t at = i * kPieceBytes; // in what is read
        // A step between pieces is rounded down, and what that leaves is shared out: no product is larger than the file.
        const std::uint64_t steps = std::max<std::uint64_t>(1, pieces - 1), room = isWhole ? 0 : bytes - kPieceBytes;
        const std::uint64_t inFile = isWhole ? at : i * (room / steps) + i * (room % steps) / steps;
        piece.resize(std::min(kPieceBytes, bytes - inFile));
        file.read(inFile, piece.data(), piece.size());
        crc.add(at, piece.data(), piece.size());
    }
    return {.bytes = bytes, .crc32 = crc.value()};
}

std::string markText(const FileMark& mark)
{
    return std::to_string(mark.bytes) + " bytes with checksum " + std::to_string(mark.crc32);
}

} // namespace live
