// What limits the memory of this process, and how much of it is left: the machine, control groups (containers, Slurm), ulimit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace live {

struct MemoryLimit {
    std::string name; ///< "the machine's memory (MemAvailable)", "ulimit -v"
    std::int64_t free = 0, all = 0;
    bool isShared = false; ///< with the other processes of this machine
};

/// root: where proc and sys are found.
std::vector<MemoryLimit> hostMemoryLimits(const std::filesystem::path& root = "/");

/// 71.2 GiB
std::string bytesText(std::int64_t bytes);

/// Most that this process has held of the machine's memory (VmHWM); 0 where it cannot be had.
std::int64_t peakResidentBytes();

} // namespace live
