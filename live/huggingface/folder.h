// A folder as Hugging Face's transformers reads and writes it: config.json, and model.safetensors or the files that
// model.safetensors.index.json lists.
#pragma once

#include "live/runtime/file_mark.h"
#include "live/runtime/phases.h"
#include "live/runtime/rank.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace live::huggingface {

/// Sets the ranks' weights and returns the config.json. One call on each process, with its ranks, which read no more than they
/// hold. Throws sim::Error on all of them: the folder is of another model (every key, name or shape that differs), of a class
/// that is not known, damaged, or holds what is no number.
nlohmann::ordered_json readWeights(const std::filesystem::path& folder, const sim::Scenario&, const std::vector<Rank*>&,
                                   int process = 0, const ExchangeTexts& = exchangeWithNobody);

/// Which weights a folder holds: the bytes of its files of tensors, and the checksum of a line for each, "NAME: 16 bytes with
/// checksum 7\n", in the order of their names; they share what is read for a mark. Throws sim::Error.
FileMark markOfWeights(const std::filesystem::path& folder);

/// Throws sim::Error if no class has all of the model: to learn it before a run.
void checkCanBeWritten(const sim::Model&);

/// Whether writeWeights() could write now: makes the file, with room for all of it, finds it on each process, and takes it away
/// with what a run that was killed left of one. Nobody else may be writing to the folder. Throws as writeWeights().
void proveCanBeWritten(const std::filesystem::path& folder, const sim::Scenario&, const std::vector<Rank*>&, int process = 0,
                       const ExchangeTexts& = exchangeWithNobody);

/// Writes model.safetensors and config.json; other files of the folder stay as they are. `config`: of a model that was read
/// and trained on, whose class and keys stay; null: there was none. One call on each process, with its ranks. Throws sim::Error
/// on all of them, with file, reason and sizes; what was there is then still there. At no moment do weights and a config.json
/// that do not belong together lie side by side.
void writeWeights(const std::filesystem::path& folder, const sim::Scenario&, const std::vector<Rank*>&, int process = 0,
                  const ExchangeTexts& = exchangeWithNobody, const nlohmann::ordered_json& config = {});

} // namespace live::huggingface
