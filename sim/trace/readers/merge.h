// Recordings of several files as one.
#pragma once

#include "sim/trace/recording.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sim {

/// Files one after the other: names, groups and meanings become one. Ranks stand behind those that are there, until
/// arrangeRanks(). Each file costs what it holds, however many were before it.
class RecordingMerger {
public:
    void add(Recording&& from);
    Recording finish();

private:
    std::vector<std::int32_t> placesOf(std::vector<RecordedGroup>&& groups);

    Recording m_into;
    std::map<std::pair<std::string, std::vector<int>>, std::int32_t> m_places; ///< name, ranks -> Recording::groups
    bool m_isSaidThatClocksDiffer = false;
};
/// Orders by rank, and joins files of one rank: of other recorders, or of other times. Where two of one recorder say they are the
/// same rank at the same time, the second becomes an unknown one, and a problem says so.
void arrangeRanks(Recording&);

/// Recorders inside NCCL know a communicator by its id and how many are in it, not who: those whose files name it, where they are
/// that many. Places in groups become ranks, in ascending order as frameworks make their groups, or -1; and what one member gives
/// becomes what all do.
void nameMembers(Recording&);

/// Members of groups that the world does not have are left out, and said; so are ranks beyond the world said. Files without any
/// event are said to be so.
void checkWorld(Recording&);

} // namespace sim
