// Checkpoints: the whole model's weights and moments on disk, in pieces that name their place in it, so that any layout can go on
// from any other's. A folder FOLDER/step-00000020 holds a manifest and one file a rank; it appears only when it is complete.
#pragma once

#include "live/runtime/snapshot.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace live {

struct CheckpointInfo {
    int step = 0; ///< that was done last
    std::string scenarioJson;
};

/// One call on each process, with its ranks; `barrier` returns when all processes have come to it (empty: only one), process 0
/// completes the folder. Throws sim::Error with file and reason (a full disk, no permission); what was there before stays as it
/// was.
std::filesystem::path writeCheckpoint(const std::filesystem::path& folder, const CheckpointInfo&, const std::vector<Rank*>&,
                                      int process = 0, const std::function<void()>& barrier = {});

/// The newest complete checkpoint in the folder, or the folder itself if it is one. Throws sim::Error if there is none.
std::filesystem::path findCheckpoint(const std::filesystem::path& folder);
CheckpointInfo readCheckpointInfo(const std::filesystem::path& checkpoint);
/// Sets weights and moments of these ranks, whatever layout wrote them. Throws sim::Error if a file is damaged or the model is
/// another one; the ranks then are in no usable state.
void readCheckpoint(const std::filesystem::path& checkpoint, const std::vector<Rank*>&);

} // namespace live
