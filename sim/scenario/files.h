// Reading and replacing whole files.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace sim {

/// Whether a file may be a pipe (or a socket), as `<(command)` of a shell and /dev/stdin are.
enum class Pipes { refused, read };

/// Throws Error if the file cannot be read, is larger than `mostBytes`, or is neither an ordinary file nor a pipe that may be
/// read: a device never ends. A pipe whose writer is silent for `silence`, or has not ended after six times that, is given up.
std::string readFile(const std::filesystem::path&, std::size_t mostBytes, Pipes = Pipes::refused,
                     std::chrono::milliseconds silence = std::chrono::seconds(5));

/// Writes a temporary file in the same folder, syncs it and renames it over `path` (the file a link points to, keeping its mode).
/// Throws Error; the old file then is untouched.
void replaceFile(const std::filesystem::path&, std::string_view text);

} // namespace sim
