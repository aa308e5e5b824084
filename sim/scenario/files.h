// Reading and replacing whole files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sim {

/// Throws Error if the file cannot be read or is larger than `mostBytes`.
std::string readFile(const std::filesystem::path&, std::size_t mostBytes);

/// Writes a temporary file in the same folder, syncs it and renames it over `path` (the file a link points to, keeping its mode).
/// Throws Error; the old file then is untouched.
void replaceFile(const std::filesystem::path&, std::string_view text);

} // namespace sim
