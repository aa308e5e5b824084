// Kernels that do several sends and receives at once name no peer (torch's batch_isend_irecv): what the host asked for tells it.
#pragma once

#include "sim/recovery/evidence.h"

namespace sim {

/// Of transfers whose AskedTransfer::kernel is known: sets the kernel's group and bytes, and makes a kernel of a single one a
/// send or a receive like others, which then is asked for no longer. O(n log n).
void joinAskedTransfers(RankEvidence& rank);

} // namespace sim
