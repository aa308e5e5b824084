#include "app/views/storage/storage_text.h"

#include "app/views/common/labels.h"

namespace app {
namespace {

/// "columns 0–1,791 of 14,336"; the last piece of what does not divide is padded.
std::string rangeText(const char* what, sim::IndexRange range, std::int64_t size)
{
    const std::string last = range.length() == 1 ? "" : "–" + countText(range.end - 1);
    return what + countText(range.begin) + last + " of " + countText(size) + (range.end > size ? ", padded" : "");
}

} // namespace

const char* wholeText()
{
    return "all of it";
}

std::string sizeText(const sim::TensorHolding& tensor)
{
    std::string text = tensor.rows == 1 ? countText(tensor.columns) : countText(tensor.rows) + " × " + countText(tensor.columns);
    if (tensor.isRouted())
        text = countText(tensor.experts) + " × " + text;
    return text;
}

std::string sliceText(const sim::TensorHolding& tensor, int expertBlock, int piece)
{
    sim::TensorHolding there = tensor;
    there.expertBlock = expertBlock;
    there.piece = piece;
    std::string text;
    if (tensor.isRouted() && tensor.expertBlocks > 1)
        text = rangeText("experts ", there.expertRange(), tensor.experts);
    const std::string before = text.empty() ? "" : text + ", ";
    if (tensor.split == sim::TensorSplit::columns && tensor.pieces > 1)
        text = before + rangeText("columns ", there.columnRange(), tensor.columns);
    if (tensor.split == sim::TensorSplit::rows && tensor.pieces > 1)
        text = before + rangeText("rows ", there.rowRange(), tensor.rows);
    return text.empty() ? wholeText() : text;
}

std::string splitText(const sim::TensorHolding& tensor)
{
    if (tensor.isRouted() && tensor.expertBlocks > 1)
        return "expert-parallel";
    if (tensor.pieces <= 1 || tensor.split == sim::TensorSplit::whole)
        return "whole";
    return tensor.split == sim::TensorSplit::columns ? "column-parallel" : "row-parallel";
}

sim::IndexRange sliceRange(const sim::TensorHolding& tensor, int piece)
{
    sim::TensorHolding there = tensor;
    there.piece = piece;
    return tensor.split == sim::TensorSplit::rows ? there.rowRange() : there.columnRange();
}

std::string markedText(const sim::TensorHolding& tensor, const PointedSlice& at)
{
    return std::string(tensor.name) + ", " + sliceText(tensor, at.expertBlock, at.piece) +
           "\nDrag over the part that is asked for";
}

std::string pointedText(const StorageScene& scene, const PointedSlice& at)
{
    const StorageLine& line = scene.table.lines[static_cast<std::size_t>(at.line)];
    const sim::TensorHolding& tensor = *scene.tensor(line);
    std::string text = std::string(tensor.name) + ", " + sizeText(tensor) + "\n" + splitText(tensor) + ": " +
                       sliceText(tensor, at.expertBlock, at.piece);
    const auto shards = static_cast<std::int64_t>(shardsOf(scene.holdings, tensor).ranks.size());
    if (at.shard)
        text += "\n" +
                std::string(at.state == StoredState::parameters  ? "parameters"
                            : at.state == StoredState::gradients ? "gradients"
                                                                 : "optimizer states") +
                ": part " + countText(*at.shard + 1) + " of " + countText(shards) + " of the slice (ZeRO " +
                countText(scene.holdings.zeroStage) + ")";
    if (const std::int64_t bytes = tensor.bytes.total(); bytes > 0)
        text +=
            "\n" + bytesText(static_cast<double>(bytes)) + " of it on rank " + countText(scene.holdings.rank) + ", in all layers";
    text += "\nrank " + countText(at.owner) + (at.owner == scene.holdings.rank ? ", this one" : "") + "  ·  " +
            coordinatesText(scene.simulation.mesh(), at.owner);
    return text;
}

} // namespace app
