// Where a job stands still: ranks that stopped in what others have ended, the first collective of a group that some members wait
// in, and who has not come to it; sends and receives whose other end did not come.
#pragma once

#include "sim/recovery/evidence.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

struct Hang {
    std::int32_t group = -1;       ///< index into RunEvidence::groups
    std::int64_t sequence = -1;    ///< the library's count in it; -1: of a send or a receive
    std::vector<int> waiting{};    ///< recorded members that have come to it, ascending
    std::vector<int> absent{};     ///< recorded members that have not
    std::vector<int> unknown{};    ///< members of which nothing is recorded
    bool hasBegunOnAll = false;    ///< on the devices of those that wait
    std::string title{}, detail{}; ///< for a person
};

/// Of each group that a recorded member never left: the first of its collectives that is over on none and not on all, and the
/// sends and receives that are not over. A collective is over where a member's recorder says so, or has later ones open.
/// First, where anything is open, the ranks that wait before all else in what is over; then what others wait behind: those that
/// some absent member keeps who waits nowhere else, of these first those whose absent members all do so, the most of them first,
/// and those that all have begun; where there is such, no transfer besides. Where all wait for each other the first says round
/// which ranks. Of a rank of which counts alone say that something is open these tell: the first call of its group that none has
/// ended, and before all else the first that others have. Of a group without a list of members the ranks whose dumps name it are
/// its members. O(calls · members + transfers²).
std::vector<Hang> hangsOf(const RunEvidence&);

} // namespace sim
