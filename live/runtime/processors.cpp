#include "live/runtime/processors.h"

#include "live/runtime/control_groups.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sched.h>
#include <sstream>
#include <thread>

namespace live {
namespace {

/// "max 100000", "150000 100000"; of version 1 in two files, -1 for none.
std::optional<double> processorsOf(const ControlGroup& group)
{
    std::string text;
    const auto append = [&](const char* file) {
        std::ifstream in(group.folder / file);
        std::string line;
        std::getline(in, line);
        text += line + " ";
    };
    if (group.version == 2) {
        append("cpu.max");
    } else {
        append("cpu.cfs_quota_us");
        append("cpu.cfs_period_us");
    }
    std::istringstream words(text);
    double quota = 0, period = 0;
    if (!(words >> quota >> period) || quota <= 0 || period <= 0)
        return {};
    return quota / period;
}

} // namespace

Processors processors(const std::filesystem::path& root)
{
    Processors found{static_cast<int>(std::max(1U, std::thread::hardware_concurrency())), "the machine's"};
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        if (const int count = CPU_COUNT(&allowed); count > 0 && count < found.usable)
            found = {count, "those that the process may run on"};
    for (const ControlGroup& group : controlGroups("cpu", root))
        if (const auto most = processorsOf(group); most && std::ceil(*most) < found.usable)
            found = {std::max(1, static_cast<int>(std::ceil(*most))),
                     group.name + (group.version == 2 ? " (cpu.max)" : " (cpu.cfs_quota_us)")};
    return found;
}

} // namespace live
