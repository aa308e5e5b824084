#include "sim/trace/readers/merge.h"

#include <algorithm>

namespace sim {

void checkWorld(Recording& recording)
{
    for (const RecordedFile& file : recording.files)
        if (file.events == 0)
            recording.problems.push_back(file.path + ": holds no event, so nothing is known from it");
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
