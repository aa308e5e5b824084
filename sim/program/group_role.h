// The communicators of a step, apart from what runs on them.
#pragma once

#include <cstdint>

namespace sim {

/// The communicators that ops use. dpShard and dpReplicate split dp_cp into sharding groups and their replicas; copies joins the
/// two pipeline ranks that hold the same parts of the model where one pipeline trains two copies of it.
enum class GroupRole : std::uint8_t { none, tp, cp, ep, exptTp, dpShard, dpReplicate, exptDp, embd, copies, pp };
inline constexpr int kGroupRoleCount = 11;
const char* groupRoleName(GroupRole);

} // namespace sim
