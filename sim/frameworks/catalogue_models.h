// The catalogue's models for a job that says of its model less than all: by sizes, by the nearest width. Private to
// sim/frameworks; by name: job.h.
#pragma once

#include "sim/frameworks/job.h"

#include <string>
#include <string_view>
#include <vector>

namespace sim::frameworks {

/// A size of a block; 0 where it is not written.
inline int numberIn(const Json& object, std::string_view key)
{
    return memberOr<int>(object, key, 0);
}

/// The catalogue's entries of the sizes of a model whose vocabulary alone is not known. Llama's first, whose sizes others took
/// over.
std::vector<std::string> modelsBySizes(const Catalogue&, const Json& sizes);
/// The entry whose hidden size is nearest, in ratio; of those with the same kind of positions, which came with a tokenizer.
std::string nearestModel(const Catalogue&, int hiddenSize, const std::string& position = {});

} // namespace sim::frameworks
