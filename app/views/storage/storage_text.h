// The storage picture's words for tensors and their slices.
#pragma once

#include "app/views/storage/storage_painter.h"

#include <string>

namespace app {

/// "4,096 × 14,336", of experts "128 × 4,096 × 1,536".
std::string sizeText(const sim::TensorHolding&);
/// "columns 0–1,791 of 14,336", "experts 16–23 of 128": what of a tensor lies at a place; or wholeText().
std::string sliceText(const sim::TensorHolding&, int expertBlock, int piece);
const char* wholeText();
/// "column-parallel", "row-parallel", "expert-parallel", "whole".
std::string splitText(const sim::TensorHolding&);
/// What a slice covers along the tensor's cut; all of it where it is whole.
sim::IndexRange sliceRange(const sim::TensorHolding&, int piece);
/// "MLP gate, columns 0–1,791 of 14,336" and how it is marked: not whose it is.
std::string markedText(const sim::TensorHolding&, const PointedSlice&);
/// "MLP gate, 4,096 × 14,336 …": tensor, slice and whose it is, in lines.
std::string pointedText(const StorageScene&, const PointedSlice&);

} // namespace app
