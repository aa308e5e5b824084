// Checkpoints: the whole model's weights and moments on disk, whatever layout wrote them, so that any layout can go on from any
// other's. A folder FOLDER/step-00000020 holds one safetensors file a quantity, each with all of the model's tensors under their
// names, and manifest.json, which lists them with their places and checksums; it appears only when it is complete and on the
// disk. docs/live.md has the format.
#pragma once

#include "live/runtime/file_mark.h"
#include "live/runtime/phases.h"
#include "live/runtime/snapshot.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace live {

/// The weights that a run began with.
struct WeightsOrigin {
    std::string folder; ///< of a Hugging Face model (--weights); empty: random ones of the seed
    FileMark mark;      ///< of its files (huggingface::markOfWeights)
};

struct CheckpointInfo {
    int step = 0; ///< that was done last
    std::string scenarioJson;
    std::uint64_t seed = 0;
    std::optional<FileMark> data;         ///< that was trained on; nothing: of before this was kept
    std::optional<WeightsOrigin> weights; ///< likewise; of a run that went on from others, what the first of them began with
    bool gradients = false;               ///< that step's too: to be compared, not to go on from
    std::uint32_t crc32 = 0; ///< of its manifest, which has those of all tensors: which checkpoint it is; once it is written
};

/// One call on each process, with its ranks. Throws sim::Error on all of them, with file, reason and sizes (a full disk, no
/// permission); what was there before stays as it was, and nothing of the new one stays.
std::filesystem::path writeCheckpoint(const std::filesystem::path& folder, const CheckpointInfo&, const std::vector<Rank*>&,
                                      int process = 0, const ExchangeTexts& = exchangeWithNobody);

/// Removes what runs that were killed left half written, and gives back its place to what they were about to replace. Nobody else
/// may be writing to the folder.
void removeUnfinishedCheckpoints(const std::filesystem::path& folder);

/// The newest complete checkpoint in the folder, or the folder itself if it is one. Throws sim::Error if there is none.
std::filesystem::path findCheckpoint(const std::filesystem::path& folder);
CheckpointInfo readCheckpointInfo(const std::filesystem::path& checkpoint);
/// Sets weights and moments of these ranks, whatever layout wrote them; reads no more of the tensors than they hold, once the
/// checksums are proved (of several processes each proves its share). One call on each process, with its ranks. Throws
/// sim::Error on all of them if a file is damaged or not of this model; the ranks then are in no usable state.
void readCheckpoint(const std::filesystem::path& checkpoint, const std::vector<Rank*>&, int process = 0,
                    const ExchangeTexts& = exchangeWithNobody);

} // namespace live
