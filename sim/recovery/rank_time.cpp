#include "sim/recovery/rank_time.h"

#include "sim/recovery/busy_time.h"
#include "sim/recovery/group_role.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

namespace sim {
namespace {

constexpr std::int64_t RankTime::*kRankTimeParts[] = {&RankTime::windowNs, &RankTime::computingNs, &RankTime::exposedCommNs,
                                                      &RankTime::copyNs,   &RankTime::idleNs,      &RankTime::hostBoundNs,
                                                      &RankTime::commNs};

BusyTime joined(std::vector<BusyTime::Span> a, const std::vector<BusyTime::Span>& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return BusyTime(std::move(a));
}

RankTime timeOfRank(const Recovered& recovered, const AxesOfGroups& axes, std::size_t r,
                    const std::pair<std::int64_t, std::int64_t>& window)
{
    const RankEvidence& rank = recovered.evidence.ranks[r];
    const auto [from, to] = window;
    std::vector<BusyTime::Span> work, copies, comms;
    std::map<std::string, std::vector<BusyTime::Span>> byAxis;
    for (const WorkSpan& span : rank.work)
        (span.work == DeviceWork::kernel ? work : copies).emplace_back(span.startNs, span.endNs);
    for (const CommSpan& span : rank.comms) {
        comms.emplace_back(span.startNs, span.endNs);
        byAxis[axes.of(span.group, span.exchange)].push_back(comms.back());
    }
    const BusyTime computing(work), communicating(comms), both = joined(work, comms), copying(copies),
                                                          all = joined(copies, both.spans());
    RankTime time;
    time.windowNs = to - from;
    time.computingNs = computing.within(from, to);
    time.commNs = communicating.within(from, to);
    time.exposedCommNs = communicating.beyond(computing, from, to);
    time.copyNs = copying.beyond(both, from, to);
    time.idleNs = time.windowNs - time.computingNs - time.exposedCommNs - time.copyNs;
    for (auto& [axis, spans] : byAxis) {
        const BusyTime of(std::move(spans));
        time.commByAxis[axis] = of.within(from, to);
        time.exposedByAxis[axis] = of.beyond(computing, from, to);
    }
    // A gap's end is a kernel's begin; when it was asked for says whether the host kept the device waiting.
    const auto& busy = all.spans();
    for (const WorkSpan& span : rank.work) {
        if (span.launchNs == INT64_MIN || span.startNs <= from || span.startNs > to)
            continue;
        const auto here = std::lower_bound(busy.begin(), busy.end(), span.startNs,
                                           [](const BusyTime::Span& b, std::int64_t at) { return b.first < at; });
        if (here == busy.end() || here->first != span.startNs || here == busy.begin())
            continue;
        const std::int64_t gapBegins = std::max(from, std::prev(here)->second);
        time.hostBoundNs += std::max<std::int64_t>(0, std::min(span.launchNs, span.startNs) - gapBegins);
    }
    return time;
}

/// By the trace's own words: "ep 0", "mesh_ep", "EXPERT_MODEL_PARALLEL_GROUP".
bool isNamedForExperts(const GroupEvidence& group)
{
    std::string_view name = group.name;
    const std::size_t last = name.find_last_not_of("0123456789");
    name = name.substr(0, last == std::string_view::npos ? 0 : last + 1);
    if (name.ends_with(' '))
        name.remove_suffix(1);
    return roleFromDescription(group.description) == GroupRole::expert || roleFromDescription(name) == GroupRole::expert;
}

/// Whether the ranks are one of each place on the axis.
bool liesAlong(const RecoveredAxis& axis, const std::vector<int>& ranks)
{
    std::set<int> places;
    for (const int rank : ranks)
        places.insert(RecoveredAxes::coordinate(axis, rank));
    return ranks.size() == places.size() && static_cast<int>(places.size()) == axis.size;
}

} // namespace

std::string axesOfGroup(const RecoveredAxes& axes, const std::vector<int>& ranks)
{
    std::string text;
    const auto join = [&text](const std::string& name) { text += (text.empty() ? "" : "_") + name; };
    const RecoveredAxis* expert = axes.find("ep");
    int size = 1;
    for (const RecoveredAxis& axis : axes.axes) {
        if (axis.name.empty() || axis.name == "ep")
            continue;
        const int first = ranks.empty() ? 0 : RecoveredAxes::coordinate(axis, ranks.front());
        const bool differs =
            std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return RecoveredAxes::coordinate(axis, rank) != first; });
        if (differs) {
            join(axis.name);
            size *= axis.size;
        }
    }
    if (expert != nullptr && static_cast<int>(ranks.size()) == expert->size && size != expert->size)
        return "ep"; // folded over others
    return text;
}

AxesOfGroups::AxesOfGroups(const Recovered& recovered)
{
    const RecoveredAxis* experts = recovered.axes.find("ep");
    for (const GroupEvidence& group : recovered.evidence.groups) {
        std::string axes = axesOfGroup(recovered.axes, group.ranks);
        const bool fits = experts != nullptr && liesAlong(*experts, group.ranks);
        if (fits && isNamedForExperts(group))
            axes = "ep";
        // Ranks of a sequence or of a cut matrix have all-to-alls of their own.
        m_ofAllToAlls.push_back(fits && axes != "cp" && axes != "tp" ? "ep" : axes);
        m_axes.push_back(std::move(axes));
    }
}

const std::string& AxesOfGroups::of(std::int32_t group, Exchange exchange) const
{
    static const std::string kUnknown;
    if (group < 0)
        return kUnknown;
    return (exchange == Exchange::allToAll ? m_ofAllToAlls : m_axes)[static_cast<std::size_t>(group)];
}

std::vector<RankTime> meanTimesOf(const Recovered& recovered, const std::vector<std::size_t>& steps)
{
    const AxesOfGroups axes(recovered);
    std::vector<RankTime> means;
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(1, steps.size()));
    for (std::size_t r = 0; r < recovered.evidence.ranks.size(); ++r) {
        RankTime sum;
        for (const std::size_t step : steps) {
            const RecoveredStep& of = recovered.steps.steps[step];
            const RankTime time = timeOfRank(recovered, axes, r, {of.rankStartNs[r], of.rankEndNs[r]});
            for (std::int64_t RankTime::*part : kRankTimeParts)
                sum.*part += time.*part;
            for (const auto& [axis, ns] : time.exposedByAxis)
                sum.exposedByAxis[axis] += ns;
            for (const auto& [axis, ns] : time.commByAxis)
                sum.commByAxis[axis] += ns;
        }
        for (std::int64_t RankTime::*part : kRankTimeParts)
            sum.*part /= count;
        for (auto* byAxis : {&sum.exposedByAxis, &sum.commByAxis})
            for (auto& [axis, ns] : *byAxis)
                ns /= count;
        means.push_back(std::move(sum));
    }
    return means;
}

RunTimes timesOf(const Recovered& recovered)
{
    RunTimes times;
    const auto window = recovered.middleStep();
    if (window.empty())
        return times;
    const AxesOfGroups axes(recovered);
    std::unordered_map<std::uint32_t, KernelTime> kernels;
    std::map<int, StageTime> stages;
    for (std::size_t r = 0; r < recovered.evidence.ranks.size(); ++r) {
        times.ranks.push_back(timeOfRank(recovered, axes, r, window[r]));
        for (const WorkSpan& span : recovered.evidence.ranks[r].work) {
            if (span.work != DeviceWork::kernel || span.startNs < window[r].first || span.startNs > window[r].second)
                continue;
            KernelTime& kernel = kernels[span.name];
            const std::int64_t took = span.endNs - span.startNs;
            kernel.shortestNs = kernel.count == 0 ? took : std::min(kernel.shortestNs, took);
            kernel.longestNs = std::max(kernel.longestNs, took);
            kernel.totalNs += took;
            ++kernel.count;
        }
        const int stage = recovered.passes.pipelineRank[r];
        if (recovered.passes.pipelineRanks > 1 && stage >= 0) {
            stages[stage].pipelineRank = stage;
            stages[stage].computingNs += static_cast<double>(times.ranks.back().computingNs);
            ++stages[stage].ranks;
        }
    }
    for (auto& [name, kernel] : kernels) {
        kernel.name = recovered.evidence.names[name];
        times.kernels.push_back(std::move(kernel));
    }
    std::sort(times.kernels.begin(), times.kernels.end(), [](const KernelTime& a, const KernelTime& b) {
        return a.totalNs != b.totalNs ? a.totalNs > b.totalNs : a.name < b.name;
    });
    double sum = 0, most = 0;
    for (auto& [rank, stage] : stages) {
        stage.computingNs /= static_cast<double>(stage.ranks);
        sum += stage.computingNs;
        most = std::max(most, stage.computingNs);
        times.stages.push_back(stage);
    }
    if (sum > 0)
        times.imbalance = most * static_cast<double>(times.stages.size()) / sum;
    return times;
}

} // namespace sim
