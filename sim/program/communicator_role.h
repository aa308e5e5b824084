// The communicators of a step, apart from what runs on them.
#pragma once

#include "sim/mesh/dimension.h"

#include <cstdint>

namespace sim {

/// What a communicator is to its ranks' ops; a ProcessGroup (sim/mesh/mesh.h) is what people and frameworks name. dpShard and
/// dpReplicate split dp_cp into sharding groups and their replicas, exptDp and exptReplicate likewise expt_dp; copies joins the
/// two pipeline ranks that hold the same parts of the model where one pipeline trains two copies of it.
enum class CommunicatorRole : std::uint8_t {
    none,
    tp,
    cp,
    ep,
    exptTp,
    dpShard,
    dpReplicate,
    exptDp,
    exptReplicate,
    embd,
    copies,
    pp
};
inline constexpr int kCommunicatorRoleCount = 12;
const char* communicatorRoleName(CommunicatorRole);
/// What its transfers are for.
Dimension dimensionOf(CommunicatorRole);

} // namespace sim
