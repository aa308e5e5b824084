// Which ranks processes are of which NCCL's recorders tell only their places in communicators. The largest that one process is in
// need not be the job's: NCCL makes those that are used, and a job may use none that holds all.
#pragma once

#include "sim/trace/recording.h"

#include <vector>

namespace sim {

/// Whether a file's rank is no more than its place in the largest communicator that it names.
bool isNumberedByCommunicator(const Recording& file);

/// Of all such files together. Where one communicator holds all of a job's processes, their places in it are their ranks. Else
/// they are numbered in the order of their hosts and process numbers, as far as their places in communicators, which ascend with
/// ranks, do not say otherwise; a problem of the job's first file says so. O(n log n) by processes and places.
void numberProcesses(std::vector<Recording>& files);

} // namespace sim
