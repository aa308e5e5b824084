#include "sim/analysis/closed_forms.h"

#include "sim/analysis/number_text.h"

#include <algorithm>

namespace sim {

std::optional<BubbleForm> bubbleForm(const Scenario& scenario)
{
    const std::string& kind = scenario.schedule.kind;
    const int p = scenario.layout.pp, v = scenario.schedule.virtualStages, m = scenario.microbatches();
    const bool interleaved = kind == "interleaved-1f1b";
    if (p < 2 || (!interleaved && kind != "1f1b" && kind != "gpipe"))
        return std::nullopt;
    const int all = v * m + p - 1;
    BubbleForm out{.share = static_cast<double>(p - 1) / all};
    out.text = std::string(interleaved ? "(p − 1) / (v × m + p − 1) = " : "(p − 1) / (m + p − 1) = ") + std::to_string(p - 1) +
               " / " + numberText(all, Unit::count) + " = " + percentText(out.share);
    out.source = interleaved       ? "Narayanan et al. 2021, section 2.2.2"
                 : kind == "gpipe" ? "Huang et al. 2019 (GPipe), section 2.3"
                                   : "Narayanan et al. 2021, section 2.2.1";
    return out;
}

std::optional<UnevenStages> unevenStages(const Metrics& metrics)
{
    constexpr double kUneven = 0.01;
    const auto& rows = metrics.perPipelineRank;
    const auto slowest =
        std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.busySeconds < b.busySeconds; });
    double mean = 0;
    for (const PipelineRankMetrics& row : rows)
        mean += row.busySeconds / static_cast<double>(rows.size());
    if (rows.size() < 2 || slowest->busySeconds <= (1 + kUneven) * mean)
        return std::nullopt;
    return UnevenStages{static_cast<int>(slowest - rows.begin()), slowest->busySeconds / mean - 1};
}

std::string unevenStagesText(const Metrics& metrics)
{
    const auto uneven = unevenStages(metrics);
    return uneven ? "These stages are not equal: pipeline rank " + std::to_string(uneven->slowest) + " computes " +
                        percentText(uneven->lag) + " longer than their mean."
                  : "";
}

} // namespace sim
