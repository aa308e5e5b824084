// How many streams the ranks of one GPU use, those of NCCL's communicators among them. Streams that share one of its hardware
// queues hold each other up, and could wait for each other in a circle.
#pragma once

#include <algorithm>
#include <cstddef>

namespace live {

inline constexpr std::size_t kHardwareQueues = 32;
/// Of all groups whose members are on this GPU alone.
inline constexpr std::size_t kStreamsOfLocalGroups = 8;
/// Of a group that has members elsewhere: ours, and one that NCCL makes for each communicator, on which a wait is put for every
/// kernel, sends, too. (It makes another for CUDA's graphs. Nothing comes on that here, and it is assumed to take nobody's
/// place.)
inline constexpr std::size_t kStreamsOfGroup = 2;

/// outside, inside: groups of more than one member, with members elsewhere and without.
constexpr std::size_t gpuStreams(std::size_t ranks, std::size_t outside, std::size_t inside)
{
    return ranks + kStreamsOfGroup * outside + std::min(inside, kStreamsOfLocalGroups);
}

} // namespace live
