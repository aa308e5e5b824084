// The kinds of collectives, and what each sends. How long one takes is in sim/cost/collectives.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sim {

enum class CollectiveKind : std::uint8_t { allReduce, allGather, reduceScatter, allToAll, ringShift };

/// What each of n members sends of a tensor of M bytes.
enum class CollectiveSends : std::uint8_t {
    twiceRound, ///< 2M(n-1)/n, round a ring; M(n+1)/n where switches add
    onceRound,  ///< M(n-1)/n, round a ring
    toEach,     ///< M/n to each other
    whole       ///< M, to the next
};

struct CollectiveFacts {
    const char* plural; ///< in a sentence
    const char* curve;  ///< of measured profiles: the name in assets/scenario.schema.json
    CollectiveSends sends;
};
/// By CollectiveKind.
inline constexpr std::array<CollectiveFacts, 5> kCollectiveFacts{{
    {"all-reduces", "all_reduce", CollectiveSends::twiceRound},
    {"all-gathers", "all_gather", CollectiveSends::onceRound},
    {"reduce-scatters", "reduce_scatter", CollectiveSends::onceRound},
    {"all-to-alls", "all_to_all", CollectiveSends::toEach},
    {"ring shifts", "ring_shift", CollectiveSends::whole},
}};
static_assert(kCollectiveFacts.size() == static_cast<std::size_t>(CollectiveKind::ringShift) + 1);

constexpr const CollectiveFacts& factsOf(CollectiveKind kind)
{
    return kCollectiveFacts[static_cast<std::size_t>(kind)];
}

} // namespace sim
