// What a pipeline rank computes and sends in turn, where no annotation names passes: forwards, gradients and weight gradients by
// what their kernels are called or who launched them, each send by where it goes. Schedules are told apart by it.
#pragma once

#include "sim/recovery/axes.h"
#include "sim/recovery/evidence.h"
#include "sim/recovery/kernel_words.h"
#include "sim/recovery/passes.h"
#include "sim/schedule/schedule.h"

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

/// Of a recorded rank, of the step within `window`. A forward has a letter only right before a send: recomputed ones have none,
/// nor those of the last stage. O(spans log spans).
std::vector<PassToken> recordedTokens(const RankEvidence&, const RecoveredAxis& pipeline,
                                      const std::pair<std::int64_t, std::int64_t>& window, const TokenWords&);
/// What a schedule would have a rank do, told by the same rules.
std::vector<PassToken> scheduleTokens(const Schedule&, int rank, const TokenWords&);

/// The passes of a rank that has the tokens of that schedule: kernels between two sends are dealt to the actions between them, by
/// letter, and among actions of one letter in equal numbers. Where a forward is run again ahead of a backward without a send
/// between, it counts to the forward. Empty where the sends are not the schedule's, or a whole backward runs right beside a
/// gradient.
std::vector<RecoveredPass> passesByTokens(const RankEvidence&, const RecoveredAxis& pipeline,
                                          const std::pair<std::int64_t, std::int64_t>& window, const TokenWords&,
                                          const Schedule&);

} // namespace sim
