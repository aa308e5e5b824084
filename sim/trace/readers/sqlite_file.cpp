#include "sim/trace/readers/sqlite_file.h"

#include <array>
#include <cstddef>
#include <fstream>

namespace sim {

std::uint64_t bytesOfWholeDatabase(const std::string& path)
{
    // SQLite's file format, 1.3: numbers are written big end first.
    constexpr std::size_t kHeader = 100, kPageSize = 16, kChanges = 24, kPages = 28, kChangesOfPages = 92;
    std::array<char, kHeader> header{};
    if (!std::ifstream(path, std::ios::binary).read(header.data(), kHeader))
        return 0;
    const auto number = [&header](std::size_t at, std::size_t bytes) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < bytes; ++i)
            value = value << 8 | static_cast<unsigned char>(header[at + i]);
        return value;
    };
    if (number(kChanges, 4) != number(kChangesOfPages, 4)) // written by a library that did not count them
        return 0;
    const std::uint64_t pageSize = number(kPageSize, 2) == 1 ? 65536 : number(kPageSize, 2);
    return number(kPages, 4) * pageSize;
}

} // namespace sim
