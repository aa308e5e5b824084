// Normal deviates as a function of a seed, a stream and an index, many at a time: a billion parameters are drawn before the first
// step.
#pragma once

#include <cstdint>
#include <span>

namespace live {

/// Writes the deviates [first, first + values.size()) of stream `stream`: mean 0, deviation 1. Which piece is asked for changes
/// no value. Philox's words through the transformation of Box & Muller 1958, with a logarithm, sine and cosine of our own, within
/// 2e-15 of libm's: series without branches, which compilers turn into vectors, and the same bits on every machine.
void normalDeviates(std::uint64_t seed, std::uint64_t stream, std::int64_t first, std::span<double> values);

} // namespace live
