// What tells a pipeline's passes apart without annotations: what each kernel is for, and whom a rank sends to in between.
#pragma once

#include "sim/recovery/axes.h"
#include "sim/recovery/evidence.h"
#include "sim/recovery/kernel_words.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sim {

/// A send's destination (a pipeline rank), or one of the letters below 0.
using PassToken = std::int32_t;
inline constexpr PassToken kForwardToken = -1, kGradientToken = -2, kWeightToken = -3, kWholeBackwardToken = -4;

/// How far kernels tell passes apart.
struct TokenWords {
    KernelWords kernels;
    bool tellsGradients = false; ///< forward from backward; else there are no letters, and sends alone
    bool tellsWeights = false;   ///< weight gradients from others; else all of a backward is a gradient
};
TokenWords tokenWordsOf(const RunEvidence&);

/// A kernel counts when it ends, a send when it begins: a little later, as clocks of streams are not that exact and what is sent
/// ended before.
struct PassEvent {
    std::int64_t ns = 0;
    PassToken token = 0; ///< never kWholeBackwardToken
    std::uint32_t name = 0;
    std::int64_t startNs = 0, endNs = 0; ///< of a kernel
};
/// By time. Kernels, but for an optimizer's, only where words tell gradients.
std::vector<PassEvent> passEventsOf(const RankEvidence&, const RecoveredAxis& pipeline,
                                    const std::pair<std::int64_t, std::int64_t>& window, const TokenWords&);

} // namespace sim
