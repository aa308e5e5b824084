// How many processors this process may use.
#pragma once

#include <filesystem>
#include <string>

namespace live {

struct Processors {
    int usable = 1;
    std::string why; ///< what limits them: "the machine's", "the control group /docker/1 (cpu.max)"
};

/// Of those that it may run on, what control groups give it the time of, rounded up. root: where proc and sys are found.
Processors processors(const std::filesystem::path& root = "/");

} // namespace live
