// Collectives that name no group, where the trace lists the groups: gloo's and MPI's calls in PyTorch's traces.
#pragma once

#include "sim/recovery/evidence.h"

#include <string_view>

namespace sim {

/// Whether it tells one machine from others: "localhost" does not.
bool isNameOfHost(std::string_view);
/// One machine recorded all ranks, so that their times can be compared as they stand. By the host's name.
bool isOfOneHost(const RunEvidence&);

/// For each rank's collectives that name no group: the one of its listed groups whose recorded members all make the same calls in
/// the same order. Of several such groups, where one machine recorded all ranks, the one whose calls no member ends before the
/// last has begun. Sends and receives of a group of two go to the other one. Sets CommSpan::group and ::peer; leaves open what is
/// not told apart. O(groups · calls).
void groupByLists(RunEvidence&);

} // namespace sim
