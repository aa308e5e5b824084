// What the answer about traffic is made of, for the command that prints it as a table.
#pragma once

#include "sim/simulation.h"

#include <array>

namespace sim {

/// Communicators that send, in the order in which they are told.
inline constexpr std::array kTrafficRoles = {GroupRole::tp,   GroupRole::cp,      GroupRole::ep,          GroupRole::exptTp,
                                             GroupRole::pp,   GroupRole::dpShard, GroupRole::dpReplicate, GroupRole::exptDp,
                                             GroupRole::embd, GroupRole::copies};

/// Of the whole step.
LinkLoad loadOfStep(const Simulation&, const TrafficSenders&);

} // namespace sim
