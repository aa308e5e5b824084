// Draws what a rank stores: a row for each kind of tensor, with its slice and the state that ZeRO leaves it. Reads only;
// StorageView moves things.
#pragma once

#include "app/views/common/because.h"

#include "app/step/selection.h"
#include "app/views/common/theme.h"
#include "app/views/storage/storage_layout.h"
#include "sim/simulate/simulation.h"

#include <optional>
#include <string>

namespace app {

/// A slice under the pointer.
struct PointedSlice {
    int line = 0;
    StoredState state = StoredState::parameters;
    int expertBlock = 0, piece = 0;
    std::optional<int> shard; ///< of the own slice: which rank of the ZeRO group keeps what is there
    int owner = 0;
    Rect rect;
    bool operator==(const PointedSlice&) const = default;
};

struct StorageScene {
    const sim::Simulation& simulation;
    const sim::Holdings& holdings;
    const StorageTable& table;
    const Theme& theme;
    const Selection& selection;
    StorageFrame frame;
    float scrollY = 0;
    std::optional<PointedSlice> pointed;
    int marked = -1;                                     ///< line that is spoken of; -1: none
    DrawnNumbers* numbers = nullptr;                     ///< what was written can be asked; nullptr: nothing
    std::shared_ptr<const sim::Holdings> kept = nullptr; ///< `holdings`, to ask later

    const sim::TensorHolding* tensor(const StorageLine& line) const
    {
        return line.tensor < 0
                   ? nullptr
                   : &holdings.groups[static_cast<std::size_t>(line.group)].tensors[static_cast<std::size_t>(line.tensor)];
    }
    /// Of a line's picture.
    Rect cell(const StorageLine&, StoredState) const;
};

void paintStorage(Canvas&, const StorageScene&);

} // namespace app
