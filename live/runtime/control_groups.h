// The control groups that this process is in (containers, Slurm): each limits it, and those above it do, too.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace live {

struct ControlGroup {
    std::string name; ///< "the control group /slurm/job"
    std::filesystem::path folder;
    int version = 2; ///< 1 or 2: what the files in it are called
};

/// Those of a controller ("memory", "cpu"), from the process's own up. root: where proc and sys are found.
std::vector<ControlGroup> controlGroups(const std::string& controller, const std::filesystem::path& root);

} // namespace live
