// plan --json of rankscope-sim, and putting parts of one together.
#pragma once

#include "sim/answers/answers.h"
#include "sim/planner/planner.h"

#include <vector>

namespace sim {

Answer planAnswer(const PlanAnswer&, const PlanRequest&);
Answer whyAnswer(const PlanWhy&);

/// The answers of all parts of one search as one: throws Error where they are not parts of the same.
Answer mergedPlans(const std::vector<Answer>&, int top);

} // namespace sim
