// Which run a checkpoint is of, beside one that would go on from it or write next to it: by the scenario in its manifest, as
// names and shapes of tensors are those of many models.
#pragma once

#include "live/runtime/checkpoint.h"
#include "sim/scenario/scenario.h"

#include <filesystem>
#include <string>

namespace live {

/// Refuses one of a model that computes otherwise with the same weights: by the model's keys, and whether attention looks ahead.
/// Names make no difference, nor what neither model computes with (rotary frequencies without rotary positions, a window that
/// holds the whole sequence). A scenario that this version does not read says nothing. Throws sim::Error with both values.
void checkIsOfModel(const std::filesystem::path& checkpoint, const CheckpointInfo&, const sim::Scenario& mine);

/// Refuses one that was trained on what a file of the same name no longer holds: the sequences of the steps to come would be
/// others than those that follow. Of before marks were kept, or of data by another name, which otherSettings() tells: nothing.
/// Throws sim::Error with both sizes and checksums.
void checkIsOfData(const std::filesystem::path& checkpoint, const CheckpointInfo&, const sim::Scenario& mine);

/// By which the same model learns otherwise than it did: data and their order, batch, rates; "" where there are none. Layouts and
/// devices are none, nor is another name of data that hold the same, or of which nobody knows any more.
/// "live.seed is 1 there, 2 here; …"
std::string otherSettings(const CheckpointInfo&, const sim::Scenario& mine);

/// Refuses a folder whose newest checkpoint is of another run, by model, settings, data or the weights that it began with: steps
/// of both would lie side by side, and who goes on from there takes the latest, whosever it is. Unless it is the past of this
/// one, which goes on in the folder of `resumed` (empty: it begins) after `stepsDone`. `weights`: that this one began with, where
/// that is known. Throws sim::Error.
void checkHoldsNoOtherRun(const std::filesystem::path& folder, const std::filesystem::path& resumed, int stepsDone,
                          const sim::Scenario& mine, const std::optional<WeightsOrigin>& weights = std::nullopt);

} // namespace live
