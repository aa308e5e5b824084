// The settings that a plan searches, as the panel lists them. Private to app/shell/plan.
#pragma once

#include <QtGlobal>

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

/// What is searched besides where it is asked for: in the menu, and in the line of what was asked.
struct BesidesFree {
    const char *pointer, *text, *brief;
};
inline constexpr std::array<BesidesFree, 4> kBesidesFree{
    {{"layout.order", QT_TRANSLATE_NOOP("app::PlanPanel", "Order of the axes on the ranks"),
      QT_TRANSLATE_NOOP("app::PlanPanel", "any order")},
     {"layout.placement", QT_TRANSLATE_NOOP("app::PlanPanel", "Placement of the ranks on the nodes"),
      QT_TRANSLATE_NOOP("app::PlanPanel", "any placement")},
     {"schedule.layers_per_stage", QT_TRANSLATE_NOOP("app::PlanPanel", "Layers of each stage, by what stages cost"),
      QT_TRANSLATE_NOOP("app::PlanPanel", "uneven stages")},
     {"training.global_batch_size", QT_TRANSLATE_NOOP("app::PlanPanel", "Global batch, at most as large as it is"),
      QT_TRANSLATE_NOOP("app::PlanPanel", "smaller batches, too")}}};

} // namespace app
