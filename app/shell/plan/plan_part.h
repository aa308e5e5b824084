// The pictures of the Plan view, and what those beside the map are called on the command line.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace app {

enum class PlanPart { map, best, scatter, cost, guide, robust, sizes };

inline constexpr std::array<std::pair<std::string_view, PlanPart>, 5> kPlanPages{{{"best", PlanPart::best},
                                                                                  {"memory", PlanPart::scatter},
                                                                                  {"cost", PlanPart::cost},
                                                                                  {"guide", PlanPart::guide},
                                                                                  {"robust", PlanPart::robust}}};

} // namespace app
