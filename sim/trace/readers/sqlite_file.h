// What a file of SQLite says of itself before a database is made of it.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

/// A database says in its first page how many it has: as many bytes. 0 where it does not, or where there is no file.
std::uint64_t bytesOfWholeDatabase(const std::string& path);

} // namespace sim
