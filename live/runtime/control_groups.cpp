#include "live/runtime/control_groups.h"

#include <fstream>

namespace live {

std::vector<ControlGroup> controlGroups(const std::string& controller, const std::filesystem::path& root)
{
    std::vector<ControlGroup> found;
    std::ifstream groups(root / "proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) { // "0::/user.slice" (version 2), "4:memory:/job" (version 1)
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const bool isSecond = controllers == ",,";
        if (!isSecond && controllers.find("," + controller + ",") == std::string::npos)
            continue;
        const std::filesystem::path mount = root / "sys/fs/cgroup" / (isSecond ? "" : controller);
        for (auto at = std::filesystem::path(line.substr(second + 1)).relative_path();; at = at.parent_path()) {
            found.push_back({"the control group /" + at.string(), mount / at, isSecond ? 2 : 1});
            if (at.empty())
                break;
        }
    }
    return found;
}

} // namespace live
