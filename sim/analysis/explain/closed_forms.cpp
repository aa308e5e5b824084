#include "sim/analysis/explain/closed_forms.h"

#include "sim/text/number_text.h"

#include <algorithm>

namespace sim {

std::optional<BubbleForm> bubbleForm(const Scenario& scenario)
{
    const ClosedForm form = scheduleFamily(scenario.schedule.kind).bubble;
    if (scenario.layout.pp < 2 || form.of == nullptr)
        return std::nullopt;
    const auto [idle, all] = form.of(scenario.layout.pp, scenario.schedule.virtualStages, scenario.microbatches());
    BubbleForm out{.share = static_cast<double>(idle) / all, .source = std::string(form.source)};
    out.text = std::string(form.formulaFor(scenario.layout.pp, scenario.microbatches())) + " = " + std::to_string(idle) + " / " +
               numberText(all, Unit::count) + " = " + percentText(out.share);
    out.ofIdeal = std::to_string(idle) + " / " + numberText(all - idle, Unit::count) + " = " +
                  percentText(static_cast<double>(idle) / (all - idle));
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
                        percentText(uneven->lag) + " longer than the mean of all."
                  : "";
}

} // namespace sim
