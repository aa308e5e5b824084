// Records packed column by column: what is kept in memory, sent and stored. A column is its smallest value (8 bytes), the width
// of a difference to it (0, 1, 2, 4 or 8 bytes) and the differences; all little-endian. Exact for every value. Reading trusts
// nothing. Private to live/stream.
#pragma once

#include "live/stream/history.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace live {

inline constexpr std::size_t kMaxRecordsOfBlock = 8192;

std::string packSpans(std::span<const RankSpan>);
std::string packMemory(std::span<const RankMemory>);
std::string packSteps(std::span<const StepSummary>);

/// What values may be; beyond it they are refused.
struct PackLimits {
    int worldSize = 0;
    std::size_t kinds = 0;
};
/// Append. Throw sim::Error for anything that the functions above cannot have written, or that is outside the limits.
void unpackSpans(std::string_view, const PackLimits&, std::vector<RankSpan>&);
void unpackMemory(std::string_view, const PackLimits&, std::vector<RankMemory>&);
void unpackSteps(std::string_view, std::vector<StepSummary>&);
/// How many records a block says that it has, before it is unpacked; 0 if it is too short to say.
std::size_t recordsOf(std::string_view block);

} // namespace live
