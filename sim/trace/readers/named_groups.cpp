#include "sim/trace/readers/named_groups.h"

#include "sim/index.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

void joinNamedGroups(Recording& recording)
{
    std::vector<RecordedGroup>& groups = recording.groups;
    std::map<std::string_view, std::vector<std::int32_t>> listed;
    for (std::size_t i = 0; i < groups.size(); ++i)
        if (!groups[i].name.empty() && !groups[i].ranks.empty())
            listed[groups[i].name].push_back(static_cast<std::int32_t>(i));
    const auto listedFor = [&](const RecordedGroup& named, int rank) {
        std::int32_t only = -1;
        const auto found = listed.find(named.name);
        for (std::size_t i = 0; found != listed.end() && i < found->second.size(); ++i) {
            const RecordedGroup& group = groups[asIndex(found->second[i])];
            const bool fits = (named.size == 0 || named.size == group.size) &&
                              (rank < 0 || std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end());
            if (fits && only >= 0)
                return std::int32_t{-1}; // one of several
            if (fits)
                only = found->second[i];
        }
        return only;
    };
    std::vector<bool> isLeft(groups.size(), true);
    std::vector<bool> isNamed(groups.size(), false);
    for (RankRecording& rank : recording.ranks) {
        std::map<std::int32_t, std::int32_t> places; // of those named
        for (RecordedCollective& collective : rank.collectives) {
            if (collective.group < 0 || !groups[asIndex(collective.group)].ranks.empty())
                continue;
            const auto [place, isNew] = places.try_emplace(collective.group, -1);
            if (isNew)
                place->second = listedFor(groups[asIndex(collective.group)], rank.rank);
            if (place->second >= 0)
                isLeft[asIndex(collective.group)] = false;
            else
                isNamed[asIndex(collective.group)] = true;
            collective.group = place->second >= 0 ? place->second : collective.group;
        }
        for (RecordedProgress& progress : rank.progress) {
            const auto place = places.find(progress.group);
            if (place != places.end() && place->second >= 0)
                progress.group = place->second;
            isLeft[asIndex(progress.group)] = true;
        }
    }
    std::vector<std::int32_t> placeOf(groups.size(), -1);
    std::vector<RecordedGroup> kept;
    for (std::size_t i = 0; i < groups.size(); ++i)
        if (isLeft[i] || isNamed[i]) {
            placeOf[i] = static_cast<std::int32_t>(kept.size());
            kept.push_back(std::move(groups[i]));
        }
    groups = std::move(kept);
    for (RankRecording& rank : recording.ranks) {
        for (RecordedCollective& collective : rank.collectives)
            if (collective.group >= 0)
                collective.group = placeOf[asIndex(collective.group)];
        for (RecordedProgress& progress : rank.progress)
            progress.group = placeOf[asIndex(progress.group)];
    }
}

} // namespace sim
