// Where each step ends and the next begins, on every rank: no time between two is lost, none is counted twice.
#pragma once

#include "sim/recovery/steps.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sim {

/// Since and until when a rank's host was in a step, beyond what its device did of it: as StepMark's.
using HostInStep = std::pair<std::int64_t, std::int64_t>;

/// Of steps by time with what each rank did of each. A step lasts until the next one begins, the last one until its host leaves
/// it. Where the device idles in between, the next begins when its host does; what still runs is cut there. Of several
/// recordings each has a last step. `hosts`: [step][rank]; empty where nothing was said of hosts. On one clock a rank that is
/// done waits in the step that goes on, and else in its own. O(steps · ranks).
void boundSteps(RecoveredSteps&, const RunEvidence&, const std::vector<std::vector<HostInStep>>& hosts, bool isOneClock);

} // namespace sim
