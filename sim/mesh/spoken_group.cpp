#include "sim/mesh/spoken_group.h"

#include "sim/text/spoken_name.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sim {

std::string spokenGroup(std::string_view name, const Layout& layout)
{
    const std::array<std::pair<std::string_view, int>, 5> sizes{
        {{"tp", layout.tp}, {"cp", layout.cp}, {"pp", layout.pp}, {"dp", layout.dp}, {"ep", layout.ep}}};
    std::string wider;
    for (std::string_view rest = name; !rest.empty();) {
        const std::string_view axis = rest.substr(0, rest.find('_'));
        rest.remove_prefix(std::min(rest.size(), axis.size() + 1));
        const auto size = std::find_if(sizes.begin(), sizes.end(), [axis](const auto& of) { return of.first == axis; });
        if (size == sizes.end()) // not made of axes: "expt_dp", "embd"
            return spokenGroup(name);
        if (size->second > 1)
            wider += (wider.empty() ? "" : "_") + std::string(axis);
    }
    return spokenGroup(wider.empty() ? name : wider);
}

} // namespace sim
