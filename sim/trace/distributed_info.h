// What a trace file says of the job as a whole, in the words of Kineto's distributedInfo: world, process groups, the grid of
// ranks.
#pragma once

#include "sim/trace/trace.h"

#include <string>

namespace sim {

/// One JSON object, or "" where the trace says nothing of the job: `world_size`, `clocks` ("several" where nobody aligned those
/// of its processes), `pg_config` (pg_name, pg_desc, backend_config, pg_size, ranks), and beside Kineto's words DeviceMesh's
/// (`mesh_dim_names`, `mesh_shape`, with `mesh_strides`) and `ranks`: of each process its name, host_name, device, device_name,
/// backend, world_size, first_ns, last_ns. Long lists of ranks that are evenly apart are global_rank_start and global_rank_stride
/// instead.
std::string distributedInfoText(const Trace&);
/// Kineto's "Process Group Name" for a span, or null.
const TraceGroup* groupOfSpan(const Trace&, const Track&, std::size_t span);
/// What a span's recorder said of its collective, or null; and the number of its launch, or 0. O(log spans).
const TraceCollective* collectiveOfSpan(const Trace&, std::uint32_t track, std::uint32_t span);
std::uint64_t launchOfSpan(const Trace&, std::uint32_t track, std::uint32_t span);
/// Whether a transfer's name is that of its sending end.
bool isSendName(const std::string&);

} // namespace sim
