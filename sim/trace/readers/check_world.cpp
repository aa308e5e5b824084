#include "sim/trace/readers/merge.h"

#include <algorithm>

namespace sim {

void checkWorld(Recording& recording)
{
    for (std::size_t i = 0; i < recording.files.size(); ++i) {
        const std::string& path = recording.files[i].path;
        if (recording.files[i].events != 0)
            continue;
        // A flight recorder with nothing open still says how far its rank has come.
        const bool isCounted = std::any_of(recording.ranks.begin(), recording.ranks.end(), [i](const RankRecording& rank) {
            return static_cast<std::size_t>(rank.file) == i && !rank.progress.empty();
        });
        recording.problems.push_back(path + (isCounted ? ": holds no entry, only how far its rank has come in each group"
                                                       : ": holds no event, so nothing is known from it"));
    }
    const int world = recording.worldSize;
    if (world <= 0)
        return;
    for (const RankRecording& rank : recording.ranks)
        if (rank.rank >= world)
            recording.problems.push_back(recording.files[static_cast<std::size_t>(rank.file)].path + ": is of rank " +
                                         std::to_string(rank.rank) + " of a world of " + std::to_string(world) +
                                         (world == 1 ? " rank" : " ranks") + ", whose last is " + std::to_string(world - 1));
    for (RecordedGroup& group : recording.groups) {
        const std::size_t before = group.ranks.size();
        const auto isBeyond = [world](int rank) { return rank < 0 || rank >= world; };
        const auto first = std::find_if(group.ranks.begin(), group.ranks.end(), isBeyond);
        if (first == group.ranks.end())
            continue;
        const int example = *first;
        std::erase_if(group.ranks, isBeyond);
        recording.problems.push_back("group \"" + group.name + "\": " + std::to_string(before - group.ranks.size()) + " of its " +
                                     std::to_string(before) + " members are no ranks of a world of " + std::to_string(world) +
                                     ", the first " + std::to_string(example) + "; they are left out");
    }
}

} // namespace sim
