// The settings that a plan searches, as the panel lists them. Private to app/shell/plan.
#pragma once

#include <array>

namespace app {

inline constexpr int kMostPlannedByHand = 1 << 20; ///< GPUs

/// What is searched, in the order of the menu; `order` is not unless it is asked for.
inline constexpr std::array kSearchedKeys{"layout.tp",
                                          "layout.cp",
                                          "layout.pp",
                                          "layout.dp",
                                          "layout.ep",
                                          "layout.etp",
                                          "schedule.kind",
                                          "schedule.virtual_stages",
                                          "training.micro_batch_size",
                                          "layout.sequence_parallel",
                                          "layout.zero_stage",
                                          "layout.dp_shard",
                                          "training.recompute"};

} // namespace app
