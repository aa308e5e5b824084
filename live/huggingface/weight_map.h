// Where a scenario's weights lie in the tensors of a Hugging Face model: under other names, some fused, some transposed, the
// rotated rows of some in another order.
#pragma once

#include "live/huggingface/model_class.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace live::huggingface {

/// One of the trainer's matrices in one of theirs.
struct Place {
    std::string tensor;
    std::int64_t rows = 1, columns = 1; ///< of ours
    std::int64_t begin = 0;             ///< their element of our first one
    std::int64_t rowStride = 0, columnStride = 1;
    std::vector<std::int64_t> order; ///< our row r is their order[r]-th from `begin`; empty: in order

    std::int64_t element(std::int64_t row, std::int64_t column) const
    {
        const std::int64_t theirs = order.empty() ? row : order[static_cast<std::size_t>(row)];
        return begin + theirs * rowStride + column * columnStride;
    }
    /// Our elements are theirs, side by side.
    bool isRun() const { return order.empty() && columnStride == 1 && rowStride == columns; }
};

struct WeightMap {
    std::map<std::string, Place> places;                      ///< by our name
    std::map<std::string, std::vector<std::int64_t>> tensors; ///< theirs, with their shapes
};

/// How files of one class may differ.
struct FileStyle {
    bool stacked = false;          ///< all experts of a layer in one tensor, gate and up fused (transformers 5 in memory)
    bool interleaved = true;       ///< DeepSeek: rotated pairs side by side; else halves, as here
    std::string prefix = "model."; ///< before all names but the head's
};

WeightMap mapWeights(const sim::Model&, ModelClass, const FileStyle&);

} // namespace live::huggingface
