// Dropout of a micro-batch's rows, the same mask on every layout. Also its own gradient.
#pragma once

#include "live/model/input.h"
#include "live/model/rank_context.h"
#include "live/model/shape.h"

namespace live {

enum class DropoutSite : std::uint8_t { embedding, attention, mlp };

/// In place, on this rank's rows outside tensor-parallel regions. Does nothing where the scenario has no dropout.
void dropoutRows(RankContext&, const Shape&, const Input&, int layer, DropoutSite, const Tensor& rows);

} // namespace live
