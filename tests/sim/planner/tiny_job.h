// A job of four layers on few GPUs, all of whose layouts are planned in a moment.
#pragma once

#include "sim/answers/plan.h"
#include "sim/planner/planner.h"
#include "tests/support/catalogue.h"

#include <string>
#include <utility>
#include <vector>

namespace test {

inline constexpr const char* kTinyJob = R"({
  "format": "rankscope-scenario", "version": 1,
  "model": {"num_hidden_layers": 4, "hidden_size": 512, "intermediate_size": 1408, "num_attention_heads": 8,
            "num_key_value_heads": 4, "vocab_size": 4096, "max_position_embeddings": 1024},
  "cluster": {"base": "h100-sxm-ib400"},
  "layout": {"tp": 2, "pp": 2, "dp": 1},
  "training": {"sequence_length": 512, "global_batch_size": 8}
})";

inline sim::PlanRequest tinyJob(std::vector<sim::PlanSetting> fixed = {})
{
    return {.document = sim::ScenarioDocument::parse(kTinyJob), .fixed = std::move(fixed)};
}

inline sim::PlanRequest requestOf(const char* job, int gpus, std::vector<sim::PlanSetting> fixed)
{
    sim::PlanRequest request{.document = sim::ScenarioDocument::parse(job), .fixed = std::move(fixed)};
    request.gpus = gpus;
    request.jobs = 1;
    return request;
}

/// All that an answer says, but for how long it took.
inline std::string said(const sim::PlanRequest& request)
{
    sim::Answer answer = sim::planAnswer(sim::plan(request, catalogue()), request);
    answer.erase("seconds");
    return answer.dump();
}

} // namespace test
