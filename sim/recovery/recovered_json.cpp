#include "sim/recovery/recovered_json.h"

#include "sim/text/duration_text.h"
#include "sim/text/number_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

namespace sim {
namespace {

using Json = nlohmann::ordered_json;

/// To so many parts of one: 0.95 and not 0.9500000000000001.
double rounded(double value, double parts)
{
    return std::round(value * parts) / parts;
}

Json axisJson(const RecoveredAxis& axis)
{
    Json entry{{"name", axis.name.empty() ? Json() : Json(axis.name)},
               {"size", axis.size},
               {"stride", axis.stride},
               {"evidence", axis.evidence},
               {"sure", rounded(axis.sure, 100)}};
    if (axis.parts.size() > 1)
        for (std::size_t i = 0; i < axis.parts.size(); ++i) {
            const bool hasName = i < axis.partNames.size();
            entry["parts"].push_back({{"name", hasName ? Json(axis.partNames[i]) : Json()},
                                      {"size", axis.parts[i].size},
                                      {"stride", axis.parts[i].stride}});
        }
    return entry;
}

Json axesJson(const RecoveredAxes& axes)
{
    Json list = Json::array();
    for (const RecoveredAxis& axis : axes.axes)
        list.push_back(axisJson(axis));
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
              {"sure", rounded(schedule->sure, 100)},
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
                        {"drift_ppm", clock.isDriftTold ? Json(rounded(clock.driftPpm, 1000)) : Json()},
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

/// Of "rank 3: 12 collectives name no group": 3, 12, and the rest. False of others.
bool isOfSomeSpans(const std::string& problem, int& rank, std::int64_t& count, std::string& rest)
{
    constexpr std::string_view kRank = "rank ";
    constexpr std::size_t kMostDigits = 9;
    std::size_t at = kRank.size();
    const auto number = [&](std::int64_t& value) {
        const std::size_t begin = at;
        for (value = 0; at < problem.size() && (std::isdigit(static_cast<unsigned char>(problem[at])) != 0 || problem[at] == ',');
             ++at)
            if (problem[at] != ',')
                value = 10 * value + (problem[at] - '0');
        return at > begin && at - begin <= kMostDigits;
    };
    std::int64_t of = 0;
    if (!problem.starts_with(kRank) || !number(of) || problem.compare(at, 2, ": ") != 0)
        return false;
    at += 2;
    if (!number(count) || at >= problem.size() || problem[at] != ' ')
        return false;
    rank = static_cast<int>(of);
    rest = problem.substr(at);
    if (constexpr std::string_view kOne = " collective names "; rest.starts_with(kOne))
        rest = " collectives name " + rest.substr(kOne.size());
    else if (constexpr std::string_view kAnyOne = " collective "; rest.starts_with(kAnyOne))
        rest = " collectives " + rest.substr(kAnyOne.size());
    return true;
}

} // namespace

bool hasPipeline(const Recovered& recovered)
{
    return recovered.schedule && recovered.schedule->stages > 1;
}

std::vector<std::string> toldProblems(const Recovered& recovered)
{
    struct Sum {
        std::size_t place = 0, times = 0;
        std::int64_t count = 0;
        std::set<int> ranks;
    };
    std::vector<std::string> told;
    std::map<std::string, Sum> sums; // by what is the same of all
    for (const std::string& problem : recovered.problems) {
        int rank = 0;
        std::int64_t count = 0;
        std::string rest;
        if (problem == "clocks: " + recovered.clock.why)
            continue;
        if (!isOfSomeSpans(problem, rank, count, rest)) {
            told.push_back(problem);
            continue;
        }
        Sum& sum = sums.try_emplace(rest, Sum{.place = told.size(), .ranks = {}}).first->second;
        if (++sum.times == 1)
            told.push_back(problem);
        sum.count += count;
        sum.ranks.insert(rank);
    }
    for (const auto& [rest, sum] : sums)
        if (sum.times > 1)
            told[sum.place] = (sum.ranks.size() == 1 ? "rank " + std::to_string(*sum.ranks.begin())
                                                     : std::to_string(sum.ranks.size()) + " ranks") +
                              ": " + numberText(static_cast<double>(sum.count), Unit::count) + rest;
    return told;
}

nlohmann::ordered_json recoveredJson(const Recovered& recovered)
{
    Json json{{"axes", axesJson(recovered.axes)},    {"schedule", scheduleJson(recovered.schedule)},
              {"clock", clockJson(recovered)},       {"groups", groupsJson(recovered.groups)},
              {"steps", stepsJson(recovered.steps)}, {"problems", recovered.problems}};
    if (recovered.axes.allToAlls)
        json["all_to_alls"] = axisJson(*recovered.axes.allToAlls);
    return json;
}

std::string recoveredText(const Recovered& recovered)
{
    std::string text = "axes\n";
    for (const RecoveredAxis& axis : recovered.axes.axes)
        text += "  " + (axis.name.empty() ? std::string("?") : axis.name) + " " + std::to_string(axis.size) + ", ranks " +
                std::to_string(axis.stride) + " apart, " + chosenPercentText(rounded(axis.sure, 100)) +
                " sure: " + axis.evidence + "\n";
    if (const auto& exchanging = recovered.axes.allToAlls)
        text += "  all-to-alls of " + std::to_string(exchanging->size) + " ranks, " + std::to_string(exchanging->stride) +
                " apart, " + chosenPercentText(rounded(exchanging->sure, 100)) + " sure: " + exchanging->evidence + "\n";
    if (recovered.axes.axes.empty())
        text += "  none were recovered\n";
    text += "schedule\n";
    if (!hasPipeline(recovered))
        text += "  no pipeline was found" +
                (recovered.schedule && recovered.schedule->microbatches > 1
                     ? "; " + std::to_string(recovered.schedule->microbatches) + " micro-batches a step"
                     : std::string()) +
                "\n";
    else
        text += "  " + (recovered.schedule->kind.empty() ? std::string("unknown") : recovered.schedule->kind) + ", " +
                countedText(recovered.schedule->stages, "stage") + ", " +
                (recovered.schedule->rows.empty() && recovered.schedule->kind.empty()
                     ? std::string()
                     : std::to_string(recovered.schedule->microbatches) + " micro-batch" +
                           (recovered.schedule->microbatches == 1 ? "" : "es") + ", ") +
                chosenPercentText(rounded(recovered.schedule->sure, 100)) + " sure: " + recovered.schedule->evidence + "\n";
    text += "clock\n  " + recovered.clock.why + "\n";
    text += "steps\n";
    for (const RecoveredStep& step : recovered.steps.steps)
        text += "  " + std::to_string(step.number) + ": " + numberText(step.seconds(), Unit::seconds) +
                (step.isOutlier ? ", " + std::string(step.unlikeText()) + " (the others " +
                                      numberText(recovered.steps.usualSeconds(), Unit::seconds) + ")"
                                : "") +
                "\n";
    if (!recovered.steps.evidence.empty())
        text += "  " + recovered.steps.evidence + "\n";
    const std::vector<std::string> problems = toldProblems(recovered);
    if (!problems.empty())
        text += "to know\n";
    for (const std::string& problem : problems)
        text += "  " + problem + "\n";
    return text;
}

} // namespace sim
