// What a pipeline rank computes and sends in turn, where no annotation names passes: forwards, gradients and weight gradients by
// what their kernels are called or who launched them, each send by where it goes. Schedules are told apart by it.
#pragma once

#include "sim/recovery/pass_events.h"
#include "sim/recovery/passes.h"
#include "sim/schedule/schedule.h"

#include <utility>
#include <vector>

namespace sim {

/// What a rank did in turn. A forward has a letter only right before a send: recomputed ones have none, nor those of the last
/// stage, but where they are told by their losses.
struct RankTokens {
    std::vector<PassToken> all;        ///< without those that losses tell
    std::vector<PassToken> withLosses; ///< kForwardToken for each run of kernels of losses too
    std::size_t losses = 0;
    std::size_t sends = 0;
};
/// Of a recorded rank, of the step within `window`. O(spans log spans).
RankTokens recordedTokens(const RankEvidence&, const RecoveredAxis& pipeline, const std::pair<std::int64_t, std::int64_t>& window,
                          const TokenWords&);

/// Recorded tokens beside what a schedule would have the rank do, told by the same rules: with losses where they are as many as
/// its forwards of the last stage, or a multiple.
struct TokenRows {
    std::vector<PassToken> recorded, schedule;
    std::vector<bool> ofBlock; ///< of each send of the schedule: two passes at once come before it, and it may be of either
};
TokenRows tokensBeside(const RankTokens&, const Schedule&, int rank, const TokenWords&);

/// The passes of a rank that has the tokens of that schedule: kernels between two sends are dealt to the actions between them, by
/// letter, and among actions of one letter in equal numbers. Where a forward is run again ahead of a backward without a send
/// between, it counts to the forward. Empty where the sends are not the schedule's, or a whole backward runs right beside a
/// gradient.
std::vector<RecoveredPass> passesByTokens(const RankEvidence&, const RecoveredAxis& pipeline,
                                          const std::pair<std::int64_t, std::int64_t>& window, const TokenWords&,
                                          const Schedule&);

} // namespace sim
