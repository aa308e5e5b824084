// Recordings of one worker that were made one after another, as torch.profiler's schedule writes a file each time that it is
// active.
#pragma once

#include "sim/trace/recording.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// By what such files are known where they name no rank: host, process and device. "" where they do not say the process.
std::string workerKey(const RankRecording&);

/// Before `from` is joined to `into`: both were recorded by themselves.
void noteWindows(RankRecording& into, const RankRecording& from);

/// Rows of the same thread or stream become one, of all windows. Returns where each span went; empty where nothing moved.
std::vector<std::uint32_t> joinRows(RankRecording&);

} // namespace sim
