// A job that is planned once for all tests of a program, and the pictures of its plan.
#pragma once

#include "app/canvas/recorder_canvas.h"
#include "app/views/common/theme.h"
#include "app/views/plan/plan_view.h"
#include "tests/support/catalogue.h"

#include <memory>
#include <optional>
#include <vector>

namespace app {

inline constexpr Rect kPlanArea{0, 0, 700, 420};

inline constexpr const char* kPlannedJob = R"({
  "format": "rankscope-scenario", "version": 1,
  "model": {"num_hidden_layers": 8, "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32,
            "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 4096},
  "cluster": {"base": "h100-sxm-ib400"},
  "layout": {"tp": 4, "pp": 2, "dp": 2},
  "training": {"sequence_length": 4096, "global_batch_size": 16}
})";

inline const std::shared_ptr<const sim::PlanAnswer>& foundPlan()
{
    static const auto kFound = [] {
        const sim::PlanRequest request{.document = sim::ScenarioDocument::parse(kPlannedJob)};
        return std::make_shared<const sim::PlanAnswer>(sim::plan(request, ::test::catalogue()));
    }();
    return kFound;
}

inline PlanPicture pictureOfPlan(const std::shared_ptr<const sim::PlanAnswer>& answer)
{
    return {answer, sim::PlanObjective::time, 80};
}

struct ShownPlan {
    PlanChoicePtr choice = std::make_shared<std::optional<PlanChoice>>();
    PlanHeatMap map{choice, lightTheme()};
    PlanBestLayouts best{choice, lightTheme()};
    PlanScatter scatter{choice, lightTheme()};
    explicit ShownPlan(const PlanPicture& picture)
    {
        for (PlanView* view : all())
            view->setPicture(std::make_shared<const PlanPicture>(picture));
    }
    std::vector<PlanView*> all() { return {&map, &best, &scatter}; }
};

inline RecorderCanvas drawnPlan(View& view, Rect area = kPlanArea)
{
    RecorderCanvas canvas(area);
    view.draw(canvas);
    return canvas;
}

} // namespace app
