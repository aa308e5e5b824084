// Inputs of operators as Kineto writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Whether an operator's inputs tell its arithmetic: matrix products and attention.
bool isShapedOperator(std::string_view name);

/// "[[2, 2048], [], [2048, 1]]", also in quotes; of a list of tensors nothing.
std::vector<std::vector<std::int64_t>> inputDims(std::string_view written);

/// Of ["", "c10::BFloat16", "Scalar"] the first that is a tensor's.
std::string firstTensorType(std::string_view written);

} // namespace sim
