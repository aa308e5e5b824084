#include "sim/recovery/named_axes.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace sim {
namespace {

/// Ascending strides without gaps, from 1 to the world; experts lie across.
bool isGridOf(std::vector<NamedAxis> axes, int world)
{
    const bool fits = std::all_of(axes.begin(), axes.end(), [world](const NamedAxis& axis) {
        return axis.size >= 2 && axis.stride >= 1 && world % axis.size == 0 && axis.stride < world;
    });
    if (!fits)
        return false;
    std::erase_if(axes, [](const NamedAxis& axis) { return axis.name == "ep"; });
    std::sort(axes.begin(), axes.end(), [](const NamedAxis& a, const NamedAxis& b) { return a.stride < b.stride; });
    std::int64_t stride = 1;
    for (const NamedAxis& axis : axes) {
        if (axis.stride != stride)
            return false;
        stride *= axis.size;
    }
    return !axes.empty() && stride == world;
}

/// Empty, or the first rank whose name says another place than the grid.
std::string contradiction(const std::vector<NamedAxis>& axes, const std::vector<RankEvidence>& ranks)
{
    for (const RankEvidence& rank : ranks)
        for (const auto& [name, place] : rank.coordinates) {
            const auto axis =
                std::find_if(axes.begin(), axes.end(), [&axisName = name](const NamedAxis& a) { return a.name == axisName; });
            const int expected = axis == axes.end() ? 0 : rank.rank / axis->stride % axis->size;
            if (place != expected)
                return "rank " + std::to_string(rank.rank) + " is named " + name + std::to_string(place) + " and stands at " +
                       name + std::to_string(expected) + " of the grid";
        }
    return {};
}

/// Sizes from the highest places, strides from ranks that differ from the first in one place.
std::vector<NamedAxis> axesOfCoordinates(const std::vector<RankEvidence>& ranks)
{
    std::map<std::string, int> sizes;
    for (const RankEvidence& rank : ranks)
        for (const auto& [name, place] : rank.coordinates)
            sizes[name] = std::max(sizes[name], place + 1);
    std::vector<NamedAxis> axes;
    for (const auto& [name, size] : sizes) {
        if (size < 2)
            continue;
        NamedAxis axis{.name = name, .size = size, .stride = 0};
        for (const RankEvidence& rank : ranks) {
            const bool isNeighbour = std::all_of(rank.coordinates.begin(), rank.coordinates.end(),
                                                 [&](const auto& at) { return at.second == (at.first == axis.name ? 1 : 0); });
            if (isNeighbour && !rank.coordinates.empty())
                axis.stride = rank.rank;
        }
        axes.push_back(axis);
    }
    return axes;
}

} // namespace

std::vector<std::pair<std::string, int>> coordinatesOfName(std::string_view name)
{
    std::vector<std::pair<std::string, int>> places;
    const std::size_t open = name.find('(');
    if (!name.starts_with("rank ") || open == std::string_view::npos)
        return places;
    std::string_view rest = name.substr(open + 1);
    rest = rest.substr(0, rest.find(')'));
    while (!rest.empty()) {
        const std::size_t space = std::min(rest.find(' '), rest.size());
        const std::string_view word = rest.substr(0, space);
        rest.remove_prefix(std::min(space + 1, rest.size()));
        for (const std::string_view axis : {"dp", "pp", "cp", "tp"}) {
            int place = -1;
            const char* const end = word.data() + word.size();
            if (word.starts_with(axis) && std::from_chars(word.data() + axis.size(), end, place).ptr == end && place >= 0 &&
                place < (1 << 24))
                places.emplace_back(axis, place);
        }
    }
    constexpr std::size_t kAxes = 4; // a host may be called pp1
    return places.size() == kAxes ? places : decltype(places)();
}

void nameAxes(RunEvidence& evidence, std::vector<NamedAxis> said)
{
    const int world = evidence.worldOrHighest();
    const bool isNamed = !evidence.ranks.empty() && std::all_of(evidence.ranks.begin(), evidence.ranks.end(),
                                                                [](const RankEvidence& r) { return !r.coordinates.empty(); });
    const bool isSaid = !said.empty();
    if (!isSaid && isNamed && !evidence.isPart())
        said = axesOfCoordinates(evidence.ranks);
    if (said.empty())
        return;
    const std::string wrong = isGridOf(said, world)
                                  ? contradiction(said, evidence.ranks)
                                  : "the axes that are named are no grid of " + std::to_string(world) + " ranks";
    if (!wrong.empty()) {
        evidence.problems.push_back("names of ranks are not gone by: " + wrong);
        return;
    }
    evidence.axes = std::move(said);
    evidence.axesEvidence =
        isSaid ? "the trace names the axis, and its ranks' names agree" : "the names of all ranks say their places";
    if (isSaid && !isNamed)
        evidence.axesEvidence = "the trace names the axis";
}

} // namespace sim
