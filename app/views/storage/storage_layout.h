// Where the storage picture's rows, tensors and their slices lie. Pure geometry: no canvas.
#pragma once

#include "app/canvas/canvas.h"
#include "sim/analysis/holdings.h"

#include <array>
#include <optional>
#include <vector>

namespace app {

/// What a rank keeps of a tensor: the weights and what belongs to them. In the order of columns.
enum class StoredState : std::uint8_t { parameters, gradients, optimizer };
inline constexpr std::array kStoredStates{StoredState::parameters, StoredState::gradients, StoredState::optimizer};

/// A row of the table: a group's heading, or one of its tensors.
struct StorageLine {
    int group = 0, tensor = -1; ///< -1: the heading
    float top = 0, height = 0;  ///< from the top of the table
};

struct StorageTable {
    std::vector<StorageLine> lines;
    float height = 0;
    StorageTable() = default;
    /// Matrices are as high as fits, vectors are low. `compact`: where nobody can scroll, matrices become as low as vectors,
    /// and then all rows as low as their words, before any row is left out.
    StorageTable(const sim::Holdings&, float room, bool compact = false);
};

/// The view's area, divided.
struct StorageFrame {
    Rect title, bar;                         ///< whose it is; all of it, stacked
    Rect headings;                           ///< of the columns
    Rect table, scroll;                      ///< rows
    Rect legend;                             ///< what filled, outlined and pale mean; no height where room is short
    Rect names;                              ///< column of the table
    int states = 3;                          ///< columns of pictures: all states, or the parameters alone
    std::array<Rect, 3> pictures{}, bytes{}; ///< columns of the table, by state
    explicit StorageFrame(Rect area);
};

/// A part of a tensor that one rank holds (and those that hold the same).
struct TensorSlice {
    Rect rect;
    int expertBlock = 0, piece = 0;
    int owner = 0;
    bool own = false;
};

/// The tensor's outline in a cell: sides grow with the logarithm of rows and columns; the largest side fills the cell.
Rect tensorRect(const sim::TensorHolding&, Rect cell, std::int64_t largestSide);
/// All slices; each side by side as its tensor is cut, experts in blocks beside each other.
std::vector<TensorSlice> tensorSlices(const sim::TensorHolding&, Rect tensor);
/// The part of a slice that the index-th of so many ranks keeps under ZeRO: cut across the slice's own cut.
Rect shardRect(const sim::TensorHolding&, Rect slice, int index, int count);
/// Which one is there: the inverse.
int shardAt(const sim::TensorHolding&, Rect slice, Point, int count);

std::int64_t largestSide(const sim::Holdings&);
/// Does ZeRO share this state out?
bool isShared(const sim::Holdings&, StoredState);
const sim::ShardGroup& shardsOf(const sim::Holdings&, const sim::TensorHolding&);

} // namespace app
