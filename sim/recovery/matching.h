// Which kernels on different ranks are one collective.
#pragma once

#include "sim/recovery/evidence.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// One rank's part: index into RunEvidence::ranks and into its comms.
struct Part {
    std::uint32_t rank = 0, span = 0;
};

/// A collective as its recorded members took part in it.
struct Meeting {
    std::int32_t group = -1; ///< index into RunEvidence::groups
    Exchange exchange = Exchange::unknown;
    std::vector<Part> parts; ///< by rank; two and more
};

struct Meetings {
    std::vector<Meeting> meetings; ///< in the order of the lowest member's clock
    /// Sends with their receives: parts[0] sends, parts[1] receives. A kernel that does several at once is in several.
    std::vector<Meeting> transfers;
    std::size_t matched = 0, unmatched = 0; ///< kernels
    std::vector<std::string> problems;      ///< "rank 3 began recording 2 collectives late in group …"
};

/// By (group, sequence) where the library counts; else by order in the group, once the sequences of (exchange, bytes) are laid
/// over each other by their longest common run, and of runs that are as long by the steps' numbers, by the clock or by the rhythm
/// of the ends; what still fits in several ways has no partner, and `problems` says so. Sends and receives likewise, by (group,
/// bytes), also of kernels that do several at once; those whose peers are not known are nobody's. O(kernels log kernels), and O(n
/// · shift) for groups that must be laid over each other.
Meetings matchCollectives(const RunEvidence&);

/// Whether all members end together, whoever begins last: by what is exchanged, or by the ends themselves where all ranks have
/// one clock (Rankscope's own files call their collectives by what they are for).
bool endsForAll(const RunEvidence&, const Meeting&);

/// Whether all members are recorded, or those that are stand for all: else what they wait for may be another.
bool isWhole(const RunEvidence&, const Meeting&);

/// [rank][comm]: the shortest of the times of all that it met, which is the transfer: what is longer waited. Of a kernel that
/// does several transfers at once, of all of theirs. -1: it met none.
std::vector<std::vector<std::int64_t>> shortestOfMembers(const RunEvidence&, const Meetings&);

} // namespace sim
