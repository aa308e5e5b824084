#include "sim/recovery/rank_time.h"

#include "sim/parallel.h"
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

BusyTime joined(const BusyTime& a, const BusyTime& b)
{
    std::vector<BusyTime::Span> both(a.spans().size() + b.spans().size());
    std::merge(a.spans().begin(), a.spans().end(), b.spans().begin(), b.spans().end(), both.begin());
    return BusyTime(std::move(both));
}

/// What a rank's device did all along, asked of any window. Built in O(spans log spans).
class RankBusy {
public:
    RankBusy(const Recovered& recovered, const AxesOfGroups& axes, std::size_t r) : m_rank(recovered.evidence.ranks[r])
    {
        std::vector<BusyTime::Span> work, copies, comms;
        std::map<std::string, std::vector<BusyTime::Span>> byAxis;
        const auto note = [this](const auto& span) {
            if (span.launchNs != INT64_MIN)
                m_launches.emplace_back(span.startNs, span.launchNs);
        };
        for (const WorkSpan& span : m_rank.work) {
            (span.work == DeviceWork::kernel ? work : copies).emplace_back(span.startNs, span.endNs);
            note(span);
        }
        for (const CommSpan& span : m_rank.comms) {
            note(span);
            comms.emplace_back(span.startNs, span.endNs);
            byAxis[axes.of(span.group, span.exchange)].push_back(comms.back());
        }
        std::sort(m_launches.begin(), m_launches.end());
        m_computing = BusyTime(std::move(work));
        m_communicating = BusyTime(std::move(comms));
        m_both = joined(m_computing, m_communicating);
        m_copying = BusyTime(std::move(copies));
        m_all = joined(m_copying, m_both);
        for (auto& [axis, spans] : byAxis) {
            m_axes.push_back(axis);
            m_byAxis.emplace_back(std::move(spans));
        }
        for (std::size_t axis = 0; axis < m_byAxis.size(); ++axis)
            for (const auto& [start, end] : m_byAxis[axis].spans()) {
                m_edges.push_back({start, axis, true});
                m_edges.push_back({end, axis, false});
            }
        std::sort(m_edges.begin(), m_edges.end(), [](const Edge& a, const Edge& b) { return a.ns < b.ns; });
    }

    RankTime within(std::int64_t from, std::int64_t to) const
    {
        RankTime time;
        time.windowNs = to - from;
        time.computingNs = m_computing.within(from, to);
        time.commNs = m_communicating.within(from, to);
        time.exposedCommNs = m_communicating.beyond(m_computing, from, to);
        time.copyNs = m_copying.beyond(m_both, from, to);
        time.idleNs = time.windowNs - time.computingNs - time.exposedCommNs - time.copyNs;
        for (std::size_t axis = 0; axis < m_axes.size(); ++axis) {
            const std::int64_t all = m_byAxis[axis].within(from, to);
            time.commByAxis[m_axes[axis]] = all;
            time.hiddenByAxis[m_axes[axis]] = all - m_byAxis[axis].beyond(m_computing, from, to);
            time.exposedByAxis[m_axes[axis]] = 0;
        }
        shareExposed(time, from, to);
        // A gap's end is the begin of a kernel or a collective; when it was asked for says whether the host kept the device
        // waiting. What then passes until it begins is the host's too. It may begin after the window.
        const auto& busy = m_all.spans();
        auto first = std::upper_bound(m_launches.begin(), m_launches.end(), std::pair(from, INT64_MAX));
        std::int64_t countedNs = INT64_MIN;
        for (; first != m_launches.end(); ++first) {
            const auto& [startNs, launchNs] = *first;
            const auto here = std::lower_bound(busy.begin(), busy.end(), std::pair(startNs, INT64_MIN));
            if (startNs > to && (here == busy.begin() || std::prev(here)->second >= to))
                break;
            if (here == busy.end() || here->first != startNs || startNs == countedNs)
                continue;
            const std::int64_t gapBegins = here == busy.begin() ? from : std::max(from, std::prev(here)->second);
            if (launchNs <= gapBegins)
                continue;
            countedNs = startNs; // of several that begin with it none has a gap of its own
            time.hostBoundNs += std::max<std::int64_t>(0, std::min(startNs, to) - gapBegins);
        }
        return time;
    }

private:
    struct Edge {
        std::int64_t ns = 0;
        std::size_t axis = 0;
        bool begins = false;
    };
    /// Each instant once: where several axes communicate, they have equal parts of it.
    void shareExposed(RankTime& time, std::int64_t from, std::int64_t to) const
    {
        std::vector<bool> runs(m_axes.size(), false);
        std::int64_t since = from, count = 0;
        const auto share = [&](std::int64_t until) {
            const std::int64_t begin = std::max(since, from), end = std::min(until, to);
            std::int64_t exposed = count > 0 && end > begin ? end - begin - m_computing.within(begin, end) : 0;
            std::int64_t left = count;
            for (std::size_t axis = 0; exposed > 0 && axis < runs.size(); ++axis)
                if (runs[axis]) {
                    const std::int64_t part = exposed / left--;
                    time.exposedByAxis[m_axes[axis]] += part;
                    exposed -= part;
                }
            since = until;
        };
        for (std::size_t axis = 0; axis < runs.size(); ++axis) {
            runs[axis] = m_byAxis[axis].holds(from);
            count += runs[axis] ? 1 : 0;
        }
        auto first = std::upper_bound(m_edges.begin(), m_edges.end(), from,
                                      [](std::int64_t at, const Edge& edge) { return at < edge.ns; });
        for (; first != m_edges.end(); ++first) {
            const Edge& edge = *first;
            if (edge.ns > since)
                share(edge.ns);
            if (edge.ns >= to)
                break;
            runs[edge.axis] = edge.begins;
            count += edge.begins ? 1 : -1;
        }
    }

    const RankEvidence& m_rank;
    std::vector<std::pair<std::int64_t, std::int64_t>> m_launches; ///< by start: when the host asked for what starts then
    BusyTime m_computing, m_communicating, m_both, m_copying, m_all;
    std::vector<std::string> m_axes;
    std::vector<BusyTime> m_byAxis; ///< [m_axes]
    std::vector<Edge> m_edges;      ///< by time
};

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
    bool isKnown = true; // what a group joins beside a known axis may be what it is for
    for (const RecoveredAxis& axis : axes.axes) {
        if (axis.name == "ep")
            continue;
        const int first = ranks.empty() ? 0 : RecoveredAxes::coordinate(axis, ranks.front());
        const bool differs =
            std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return RecoveredAxes::coordinate(axis, rank) != first; });
        if (differs && axis.name.empty())
            isKnown = false;
        else if (differs) {
            join(axis.name);
            size *= axis.size;
        }
    }
    if (expert != nullptr && static_cast<int>(ranks.size()) == expert->size && size != expert->size)
        return "ep"; // folded over others
    return isKnown ? text : std::string();
}

AxesOfGroups::AxesOfGroups(const Recovered& recovered)
{
    const RecoveredAxis* experts = recovered.axes.find("ep");
    for (const GroupEvidence& group : recovered.evidence.groups) {
        std::string axes = axesOfGroup(recovered.axes, group.ranks);
        const bool fits = experts != nullptr && liesAlong(*experts, group.ranks);
        if (fits && isNamedForExperts(group))
            axes = "ep";
        const bool isUntold = recovered.axes.allToAlls && liesAlong(*recovered.axes.allToAlls, group.ranks);
        // Ranks of a sequence or of a cut matrix have all-to-alls of their own.
        const bool haveOwn = axes == "cp" || axes == "tp";
        m_ofAllToAlls.push_back(haveOwn ? axes : fits ? "ep" : isUntold ? std::string(kAllToAllUse) : axes);
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

bool anyRan(const std::vector<RankTime>& ranks)
{
    return std::any_of(ranks.begin(), ranks.end(), [](const RankTime& rank) { return rank.computingNs > 0 || rank.copyNs > 0; });
}

BusyTime usualStepsOf(const Recovered& recovered, std::size_t rank)
{
    std::vector<BusyTime::Span> spans;
    for (const std::size_t step : recovered.steps.usual())
        spans.emplace_back(recovered.steps.steps[step].rankStartNs[rank], recovered.steps.steps[step].rankEndNs[rank]);
    if (spans.empty())
        spans.emplace_back(INT64_MIN / 2, INT64_MAX / 2);
    return BusyTime(std::move(spans));
}

std::vector<std::vector<RankTime>> timesOfSteps(const Recovered& recovered, const std::vector<std::size_t>& steps)
{
    const AxesOfGroups axes(recovered);
    const std::size_t ranks = recovered.evidence.ranks.size();
    std::vector<std::vector<RankTime>> times(steps.size(), std::vector<RankTime>(ranks));
    forEachInParallel(ranks, 0, [&](std::size_t r) {
        const RankBusy busy(recovered, axes, r);
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const RecoveredStep& of = recovered.steps.steps[steps[i]];
            times[i][r] = busy.within(of.rankStartNs[r], of.rankEndNs[r]);
        }
    });
    return times;
}

std::vector<RankTime> meanTimesOf(const Recovered& recovered, const std::vector<std::size_t>& steps)
{
    const AxesOfGroups axes(recovered);
    std::vector<RankTime> means(recovered.evidence.ranks.size());
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(1, steps.size()));
    forEachInParallel(means.size(), 0, [&](std::size_t r) {
        const RankBusy busy(recovered, axes, r);
        RankTime sum;
        for (const std::size_t step : steps) {
            const RecoveredStep& of = recovered.steps.steps[step];
            const RankTime time = busy.within(of.rankStartNs[r], of.rankEndNs[r]);
            for (std::int64_t RankTime::*part : kRankTimeParts)
                sum.*part += time.*part;
            for (const auto& [axis, ns] : time.exposedByAxis)
                sum.exposedByAxis[axis] += ns;
            for (const auto& [axis, ns] : time.commByAxis)
                sum.commByAxis[axis] += ns;
            for (const auto& [axis, ns] : time.hiddenByAxis)
                sum.hiddenByAxis[axis] += ns;
        }
        for (std::int64_t RankTime::*part : kRankTimeParts)
            sum.*part /= count;
        for (auto* byAxis : {&sum.exposedByAxis, &sum.commByAxis, &sum.hiddenByAxis})
            for (auto& [axis, ns] : *byAxis)
                ns /= count;
        means[r] = std::move(sum);
    });
    return means;
}

RunTimes timesOf(const Recovered& recovered)
{
    RunTimes times;
    const auto window = recovered.typicalStep();
    if (window.empty())
        return times;
    std::unordered_map<std::uint32_t, KernelTime> kernels;
    std::map<int, StageTime> stages;
    times.ranks = meanTimesOf(recovered, recovered.steps.usual());
    for (std::size_t r = 0; r < recovered.evidence.ranks.size(); ++r) {
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
            stages[stage].computingNs += static_cast<double>(times.ranks[r].computingNs);
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
