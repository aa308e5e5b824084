// A folder as Hugging Face's transformers reads and writes it: config.json, and model.safetensors or the files that
// model.safetensors.index.json lists.
#pragma once

#include "live/runtime/phases.h"
#include "live/runtime/rank.h"

#include <filesystem>
#include <vector>

namespace live::huggingface {

/// Sets the ranks' weights. One call on each process, with its ranks, which read no more than they hold. Throws sim::Error on all
/// of them: the folder is of another model (every key, name or shape that differs), of a class that is not known, or damaged.
void readWeights(const std::filesystem::path& folder, const sim::Scenario&, const std::vector<Rank*>&, int process = 0,
                 const ExchangeTexts& = exchangeWithNobody);

/// Throws sim::Error if no class has all of the model: to learn it before a run.
void checkCanBeWritten(const sim::Model&);

/// Writes model.safetensors and config.json; other files of the folder stay as they are. One call on each process, with its
/// ranks. Throws sim::Error on all of them, with file, reason and sizes; a model.safetensors that was there is then still there.
void writeWeights(const std::filesystem::path& folder, const sim::Scenario&, const std::vector<Rank*>&, int process = 0,
                  const ExchangeTexts& = exchangeWithNobody);

} // namespace live::huggingface
