#include "sim/recovery/recovered_json.h"

#include "sim/text/duration_text.h"
#include "sim/text/number_text.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace sim {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value, double step)
{
    return std::round(value / step) * step;
}

Json axesJson(const RecoveredAxes& axes)
{
    Json list = Json::array();
    for (const RecoveredAxis& axis : axes.axes) {
        Json entry{{"name", axis.name.empty() ? Json() : Json(axis.name)},
                   {"size", axis.size},
                   {"stride", axis.stride},
                   {"evidence", axis.evidence},
                   {"sure", rounded(axis.sure, 0.01)}};
        if (axis.parts.size() > 1)
            for (std::size_t i = 0; i < axis.parts.size(); ++i) {
                const bool hasName = i < axis.partNames.size();
                entry["parts"].push_back({{"name", hasName ? Json(axis.partNames[i]) : Json()},
                                          {"size", axis.parts[i].size},
                                          {"stride", axis.parts[i].stride}});
            }
        list.push_back(std::move(entry));
    }
    return list;
}

Json scheduleJson(const std::optional<RecoveredSchedule>& schedule)
{
    if (!schedule)
        return {};
    Json json{{"kind", schedule->kind.empty() ? Json() : Json(schedule->kind)},
              {"stages", schedule->stages},
              {"virtual_stages", schedule->virtualStages},
              {"microbatches", schedule->rows.empty() && schedule->kind.empty() ? Json() : Json(schedule->microbatches)},
              {"sure", rounded(schedule->sure, 0.01)},
              {"evidence", schedule->evidence}};
    if (schedule->slices > 1)
        json["slices"] = schedule->slices;
    if (!schedule->alsoPossible.empty())
        json["also_possible"] = schedule->alsoPossible;
    return json;
}

Json clockJson(const Recovered& recovered)
{
    Json list = Json::array();
    if (!recovered.clock.isAligned)
        return list;
    for (std::size_t r = 0; r < recovered.clock.ranks.size(); ++r) {
        const RankClock& clock = recovered.clock.ranks[r];
        list.push_back({{"rank", recovered.evidence.ranks[r].rank},
                        {"offset_ns", static_cast<std::int64_t>(std::llround(clock.offsetNs))},
                        {"drift_ppm", rounded(clock.driftPpm, 0.001)},
                        {"residual_p95_ns", static_cast<std::int64_t>(std::llround(clock.residualP95Ns))}});
    }
    return list;
}

Json groupsJson(const std::vector<KnownGroup>& groups)
{
    Json list = Json::array();
    for (const KnownGroup& group : groups)
        list.push_back(
            {{"name", group.name}, {"description", group.description}, {"ranks", group.ranks}, {"evidence", group.evidence}});
    return list;
}

Json stepsJson(const RecoveredSteps& steps)
{
    Json list = Json::array();
    for (const RecoveredStep& step : steps.steps)
        list.push_back({{"number", step.number},
                        {"start_ns", step.startNs},
                        {"end_ns", step.endNs},
                        {"seconds", step.seconds()},
                        {"outlier", step.isOutlier},
                        {"evidence", steps.evidence},
                        {"sure", steps.sure}});
    return list;
}

} // namespace

nlohmann::ordered_json recoveredJson(const Recovered& recovered)
{
    return {{"axes", axesJson(recovered.axes)},    {"schedule", scheduleJson(recovered.schedule)},
            {"clock", clockJson(recovered)},       {"groups", groupsJson(recovered.groups)},
            {"steps", stepsJson(recovered.steps)}, {"problems", recovered.problems}};
}

std::string recoveredText(const Recovered& recovered)
{
    std::string text = "axes\n";
    for (const RecoveredAxis& axis : recovered.axes.axes)
        text += "  " + (axis.name.empty() ? std::string("?") : axis.name) + " " + std::to_string(axis.size) + ", ranks " +
                std::to_string(axis.stride) + " apart, " + chosenPercentText(rounded(axis.sure, 0.01)) +
                " sure: " + axis.evidence + "\n";
    if (recovered.axes.axes.empty())
        text += "  none were recovered\n";
    text += "schedule\n";
    if (!recovered.schedule)
        text += "  no pipeline was found\n";
    else
        text += "  " + (recovered.schedule->kind.empty() ? std::string("unknown") : recovered.schedule->kind) + ", " +
                countedText(recovered.schedule->stages, "stage") + ", " +
                (recovered.schedule->rows.empty() && recovered.schedule->kind.empty()
                     ? std::string()
                     : std::to_string(recovered.schedule->microbatches) + " micro-batch" +
                           (recovered.schedule->microbatches == 1 ? "" : "es") + ", ") +
                chosenPercentText(rounded(recovered.schedule->sure, 0.01)) + " sure: " + recovered.schedule->evidence + "\n";
    text += "clock\n  " + recovered.clock.why + "\n";
    text += "steps\n";
    for (const RecoveredStep& step : recovered.steps.steps)
        text += "  " + std::to_string(step.number) + ": " + numberText(step.seconds(), Unit::seconds) +
                (step.isOutlier ? ", unlike the others (" + numberText(recovered.steps.medianSeconds, Unit::seconds) + ")" : "") +
                "\n";
    if (!recovered.steps.evidence.empty())
        text += "  " + recovered.steps.evidence + "\n";
    if (!recovered.problems.empty())
        text += "to know\n";
    for (const std::string& problem : recovered.problems)
        text += "  " + problem + "\n";
    return text;
}

} // namespace sim
