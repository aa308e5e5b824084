#include "live/runtime/memory_limits.h"

#include "live/runtime/control_groups.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <sys/resource.h>

namespace live {
namespace {

using Path = std::filesystem::path;

constexpr std::int64_t kKib = 1024;

/// "Name: 123 kB" or "name 123", a line each; in bytes.
std::map<std::string, std::int64_t> readTable(const Path& file)
{
    std::map<std::string, std::int64_t> table;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string name, unit;
        std::int64_t value = 0;
        if (!(words >> name >> value))
            continue;
        words >> unit;
        if (!name.empty() && name.back() == ':')
            name.pop_back();
        table[name] = unit == "kB" ? value * kKib : value;
    }
    return table;
}

/// A file with one number; nothing where there is none, or "max".
std::optional<std::int64_t> readNumber(const Path& file)
{
    std::ifstream in(file);
    std::string word;
    in >> word;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || end != word.data() + word.size())
        return {};
    return value;
}

struct GroupFiles {
    const char *limit, *used, *cached;
};

/// Each group limits, and those above it do.
void addControlGroups(const Path& root, std::vector<MemoryLimit>& limits)
{
    constexpr std::int64_t kUnlimited = std::int64_t{1} << 60; // version 1 says so with a number
    constexpr GroupFiles kFiles[] = {{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
                                     {"memory.max", "memory.current", "inactive_file"}};
    for (const ControlGroup& group : controlGroups("memory", root)) {
        const GroupFiles& files = kFiles[group.version - 1];
        const auto limit = readNumber(group.folder / files.limit);
        if (!limit || *limit >= kUnlimited)
            continue;
        const auto statistics = readTable(group.folder / "memory.stat");
        const auto cached = statistics.find(files.cached); // files that are given up first
        const std::int64_t used =
            readNumber(group.folder / files.used).value_or(0) - (cached == statistics.end() ? 0 : cached->second);
        limits.push_back({group.name + " (" + files.limit + ")",
                          std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, used)), *limit, true});
    }
}

void addUserLimit(int resource, const char* name, std::int64_t used, std::vector<MemoryLimit>& limits)
{
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    const auto all = static_cast<std::int64_t>(
        std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(std::numeric_limits<std::int64_t>::max())));
    limits.push_back({name, std::max<std::int64_t>(0, all - used), all, false});
}

} // namespace

std::vector<MemoryLimit> hostMemoryLimits(const Path& root)
{
    std::vector<MemoryLimit> limits;
    const auto machine = readTable(root / "proc/meminfo");
    if (machine.contains("MemAvailable") && machine.contains("MemTotal"))
        limits.push_back({"the machine's memory (MemAvailable)", machine.at("MemAvailable"), machine.at("MemTotal"), true});
    addControlGroups(root, limits);
    auto own = readTable(root / "proc/self/status");
    addUserLimit(RLIMIT_AS, "ulimit -v", own["VmSize"], limits);
    addUserLimit(RLIMIT_DATA, "ulimit -d", own["VmData"], limits);
    return limits;
}

std::string bytesText(std::int64_t bytes)
{
    return sim::numberText(static_cast<double>(bytes), sim::Unit::bytes);
}

std::int64_t peakResidentBytes()
{
    return readTable("/proc/self/status")["VmHWM"];
}

} // namespace live
