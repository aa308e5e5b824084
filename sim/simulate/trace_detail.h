#pragma once

#include <cstdint>

namespace sim {

enum class TraceDetail : std::uint8_t {
    actions, ///< one span an action (0F3), on a track "actions"; transfers between pipeline ranks as flows
    kernels  ///< actions, and every kernel and collective on the track of its stream
};

} // namespace sim
