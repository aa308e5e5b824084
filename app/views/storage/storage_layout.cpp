#include "app/views/storage/storage_layout.h"

#include "app/views/common/measures.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace app {
namespace {

constexpr float kScrollBar = 10;
constexpr float kHeadingLine = 26, kVectorLine = 24, kLowestMatrixLine = 40, kHighestMatrixLine = 64;
constexpr float kMostSqueezed = 0.75F; ///< of these heights: lower lines have no room for their words
constexpr float kVectorSide = 6;       ///< pixels of a side that is one or two elements long

bool isVector(const sim::TensorHolding& tensor)
{
    return tensor.rows <= 2;
}

float sideOf(std::int64_t elements, std::int64_t largest, float room)
{
    constexpr double kSmallest = 64; // elements that are drawn at a third of the room
    if (elements <= 2)
        return std::min(kVectorSide, room);
    const double range = std::log2(std::max(static_cast<double>(largest), 2 * kSmallest) / kSmallest);
    const double share = std::clamp(std::log2(static_cast<double>(elements) / kSmallest) / range, 0.0, 1.0);
    return std::max(kVectorSide, std::round(room * static_cast<float>(0.34 + 0.66 * share)));
}

/// The index-th of `count` equal parts along an edge, in whole pixels.
std::pair<float, float> partOf(float begin, float length, int index, int count)
{
    const auto edge = [&](int i) { return begin + std::round(length * static_cast<float>(i) / static_cast<float>(count)); };
    return {edge(index), edge(index + 1)};
}

bool shardsCutRows(const sim::TensorHolding& tensor)
{
    return tensor.split == sim::TensorSplit::columns && !isVector(tensor);
}

} // namespace

StorageTable::StorageTable(const sim::Holdings& holdings, float room, bool compact)
{
    float fixed = 0;
    int matrices = 0;
    for (const sim::HoldingGroup& group : holdings.groups) {
        fixed += kHeadingLine;
        for (const sim::TensorHolding& tensor : group.tensors) {
            matrices += isVector(tensor) ? 0 : 1;
            fixed += isVector(tensor) ? kVectorLine : 0.0F;
        }
    }
    const float matrixLine = std::floor(std::clamp((room - fixed) / static_cast<float>(std::max(1, matrices)),
                                                   compact ? kVectorLine : kLowestMatrixLine, kHighestMatrixLine));
    const float all = fixed + matrixLine * static_cast<float>(matrices);
    const float squeeze = compact ? std::clamp(room / std::max(1.0F, all), kMostSqueezed, 1.0F) : 1;
    const auto add = [&](int group, int tensor, float lineHeight) {
        lines.push_back({group, tensor, height, lineHeight * squeeze});
        height += lineHeight * squeeze;
    };
    for (std::size_t g = 0; g < holdings.groups.size(); ++g) {
        add(static_cast<int>(g), -1, kHeadingLine);
        const auto& tensors = holdings.groups[g].tensors;
        for (std::size_t t = 0; t < tensors.size(); ++t)
            add(static_cast<int>(g), static_cast<int>(t), isVector(tensors[t]) ? kVectorLine : matrixLine);
    }
}

StorageFrame::StorageFrame(Rect area)
{
    const bool low = area.height() < 220;
    const Rect inner{area.left + kMargin, area.top + 4, area.right - kMargin, area.bottom - 6};
    title = {inner.left, inner.top, inner.right, inner.top + 26};
    bar = {inner.left, title.bottom + 2, inner.right, title.bottom + (low ? 2.0F : 22.0F)};
    headings = {inner.left, bar.bottom + (low ? 0.0F : 6.0F), inner.right, bar.bottom + (low ? 18.0F : 26.0F)};
    legend = {inner.left, inner.bottom - (area.height() >= 340 ? 20.0F : 0.0F), inner.right, inner.bottom};
    table = {inner.left, headings.bottom, inner.right - kScrollBar, legend.top};
    scroll = {inner.right - kScrollBar + 2, table.top, inner.right, table.bottom};

    constexpr float kBytes = 66, kLeastPicture = 56, kMostPicture = 280, kGap = 14;
    const float nameWidth = std::floor(std::clamp(table.width() * 0.27F, 128.0F, 300.0F));
    const float room = table.width() - nameWidth;
    const float each = std::floor(room / 3);
    states = each - kBytes - kGap >= kLeastPicture ? 3 : 1;
    const float column = states == 3 ? each : room;
    names = {table.left, table.top, table.left + nameWidth - kGap, table.bottom};
    for (int i = 0; i < states; ++i) {
        const float left = table.left + nameWidth + column * static_cast<float>(i);
        const float width = std::min(column - kBytes - kGap, kMostPicture);
        pictures[static_cast<std::size_t>(i)] = {left, table.top, left + width, table.bottom};
        bytes[static_cast<std::size_t>(i)] = {left + width + 6, table.top, left + width + 6 + kBytes, table.bottom};
    }
}

Rect tensorRect(const sim::TensorHolding& tensor, Rect cell, std::int64_t largest)
{
    const int blocks = std::max(1, tensor.expertBlocks);
    const bool routed = tensor.isRouted();
    // Experts lie beside each other: all of the width, in blocks.
    const float width = routed && blocks > 1 ? cell.width() : sideOf(tensor.columns, largest, cell.width());
    const float height = sideOf(tensor.rows, largest, cell.height());
    const float top = std::floor((cell.top + cell.bottom - height) / 2);
    return {cell.left, top, cell.left + std::floor(width), top + height};
}

std::vector<TensorSlice> tensorSlices(const sim::TensorHolding& tensor, Rect whole)
{
    std::vector<TensorSlice> slices;
    const int blocks = std::max(1, tensor.expertBlocks), pieces = tensor.split == sim::TensorSplit::whole ? 1 : tensor.pieces;
    for (int block = 0; block < blocks; ++block) {
        auto [left, right] = partOf(whole.left, whole.width(), block, blocks);
        if (block + 1 < blocks && right - left >= 8)
            right -= 2; // tensors of their own, not pieces of one
        for (int piece = 0; piece < pieces; ++piece) {
            TensorSlice slice{.rect = {left, whole.top, right, whole.bottom}, .expertBlock = block, .piece = piece};
            if (tensor.split == sim::TensorSplit::rows)
                std::tie(slice.rect.top, slice.rect.bottom) = partOf(whole.top, whole.height(), piece, pieces);
            else
                std::tie(slice.rect.left, slice.rect.right) = partOf(left, right - left, piece, pieces);
            slice.own = block == tensor.expertBlock && (pieces == 1 || piece == tensor.piece);
            slice.owner = tensor.owners[static_cast<std::size_t>(block * pieces + piece)];
            slices.push_back(slice);
        }
    }
    return slices;
}

Rect shardRect(const sim::TensorHolding& tensor, Rect slice, int index, int count)
{
    constexpr float kThinnest = 3; // must be seen
    const bool rows = shardsCutRows(tensor);
    const float begin = rows ? slice.top : slice.left, length = rows ? slice.height() : slice.width();
    const float size = std::min(length, std::max(kThinnest, std::round(length / static_cast<float>(count))));
    const float first =
        begin + std::min(length - size, std::round(length * static_cast<float>(index) / static_cast<float>(count)));
    return rows ? Rect{slice.left, first, slice.right, first + size} : Rect{first, slice.top, first + size, slice.bottom};
}

int shardAt(const sim::TensorHolding& tensor, Rect slice, Point at, int count)
{
    const bool rows = shardsCutRows(tensor);
    const float share = rows ? (at.y - slice.top) / slice.height() : (at.x - slice.left) / slice.width();
    return std::clamp(static_cast<int>(share * static_cast<float>(count)), 0, count - 1);
}

std::int64_t largestSide(const sim::Holdings& holdings)
{
    std::int64_t largest = 1;
    for (const sim::HoldingGroup& group : holdings.groups)
        for (const sim::TensorHolding& tensor : group.tensors)
            largest = std::max({largest, tensor.rows, tensor.columns});
    return largest;
}

bool isShared(const sim::Holdings& holdings, StoredState state)
{
    // Stage 1 shares out the optimizer's states, 2 the gradients too, 3 the parameters as well.
    const int stage = 3 - static_cast<int>(state);
    return holdings.zeroStage >= stage && std::max(holdings.dense.ranks.size(), holdings.routed.ranks.size()) > 1;
}

const sim::ShardGroup& shardsOf(const sim::Holdings& holdings, const sim::TensorHolding& tensor)
{
    return tensor.isRouted() ? holdings.routed : holdings.dense;
}

} // namespace app
