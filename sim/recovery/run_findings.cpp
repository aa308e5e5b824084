#include "sim/recovery/run_findings.h"

#include "sim/recovery/busy_time.h"
#include "sim/recovery/hang.h"
#include "sim/recovery/named_ranks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sim {
namespace {

std::string axisText(const std::string& axis)
{
    return axis.empty() ? "groups of unknown use" : axis;
}

class Findings {
public:
    Findings(const Recovered& recovered, const RunAnswers& answers) : m_recovered(recovered), m_answers(answers) {}

    std::vector<RunFinding> find()
    {
        lateRank();
        exposed();
        unevenStages();
        unevenExperts();
        slowHosts();
        hostBound();
        outliers();
        slowGroups();
        std::stable_sort(m_found.begin(), m_found.end(),
                         [](const RunFinding& a, const RunFinding& b) { return a.seconds > b.seconds; });
        hangs();
        return std::move(m_found);
    }

private:
    void hangs();
    void lateRank();
    void exposed();
    void unevenStages();
    void unevenExperts();
    void slowHosts();
    void hostBound();
    void outliers();
    void slowGroups();

    void showLongest(RunFinding&, std::size_t rank, const std::string* axis) const;
    double windowNs() const;

    const Recovered& m_recovered;
    const RunAnswers& m_answers;
    std::vector<RunFinding> m_found;
};

/// Before all others: what it costs has no end.
void Findings::hangs()
{
    constexpr std::size_t kMostHangs = 8;
    std::vector<RunFinding> found;
    for (Hang& hang : hangsOf(m_recovered.evidence)) {
        if (found.size() == kMostHangs)
            break;
        found.push_back({.kind = "hang",
                         .title = std::move(hang.title),
                         .detail = std::move(hang.detail),
                         .ranks = hang.absent.empty() ? std::move(hang.waiting) : std::move(hang.absent)});
    }
    m_found.insert(m_found.begin(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

void Findings::lateRank()
{
    const Arrivals& arrivals = m_answers.arrivals;
    if (arrivals.straggler < 0)
        return;
    const auto index = static_cast<std::size_t>(arrivals.straggler);
    const RankEvidence& rank = m_recovered.evidence.ranks[index];
    RunFinding finding{
        .kind = "late-rank", .title = "Rank " + std::to_string(rank.rank) + " keeps the others waiting", .detail = arrivals.text};
    const double steps = std::max<double>(1, static_cast<double>(m_recovered.steps.usual().size()));
    finding.seconds = secondsOf(static_cast<double>(arrivals.ranks[index].causedNs)) /
                      std::max<double>(1, static_cast<double>(m_recovered.evidence.ranks.size()) - 1) / steps;
    finding.ranks = {rank.rank};
    std::int64_t longest = -1;
    for (const Arrival& arrival : arrivals.list)
        if (arrival.root == index && arrival.waited() > longest) {
            longest = arrival.waited();
            finding.endNs = arrival.lastStartNs + arrival.transferNs;
            finding.startNs = arrival.lastStartNs - *std::max_element(arrival.waitNs.begin(), arrival.waitNs.end());
        }
    m_found.push_back(std::move(finding));
}

void Findings::exposed()
{
    std::map<std::string, double> byAxis;
    double window = 0;
    for (const RankTime& rank : m_answers.times.ranks) {
        window += static_cast<double>(rank.windowNs);
        for (const auto& [axis, ns] : rank.exposedByAxis)
            byAxis[axis] += static_cast<double>(ns);
    }
    const double ranks = std::max<double>(1, static_cast<double>(m_answers.times.ranks.size()));
    if (!anyRan(m_answers.times.ranks)) // what they compute meanwhile was not recorded
        return;
    // With clocks apart a step lasts as long as its longest rank's own time, and the mean of ranks is less.
    const std::string own = m_recovered.clock.isAligned || m_answers.times.ranks.size() < 2 ? " of a step" : " of its own step";
    for (const auto& [axis, ns] : byAxis) {
        if (window <= 0 || ns <= 0.1 * window)
            continue;
        RunFinding finding{.kind = "exposed-communication",
                           .title = percentText(ns / window) + " of the step waits for " +
                                    (axis.empty() ? "communication in " + axisText(axis) : axis + " communication"),
                           .detail = "In the mean of ranks and of " +
                                     countedText(static_cast<std::int64_t>(m_recovered.steps.usual().size()), "step") +
                                     ", a rank spends " + timeText(secondsOf(ns / ranks)) + " of the " +
                                     timeText(secondsOf(window / ranks)) + own +
                                     " in it while it computes nothing; waiting for late ranks is in it.",
                           .seconds = secondsOf(ns / ranks)};
        const auto exposedOf = [&of = axis](const RankTime& rank) {
            const auto found = rank.exposedByAxis.find(of);
            return found == rank.exposedByAxis.end() ? 0 : found->second;
        };
        const auto most = std::max_element(m_answers.times.ranks.begin(), m_answers.times.ranks.end(),
                                           [&](const RankTime& a, const RankTime& b) { return exposedOf(a) < exposedOf(b); });
        showLongest(finding, static_cast<std::size_t>(most - m_answers.times.ranks.begin()), &axis);
        m_found.push_back(std::move(finding));
    }
}

/// Mean of ranks and usual steps.
double Findings::windowNs() const
{
    double sum = 0;
    for (const RankTime& rank : m_answers.times.ranks)
        sum += static_cast<double>(rank.windowNs);
    return sum / std::max<double>(1, static_cast<double>(m_answers.times.ranks.size()));
}

/// Where on the rank the longest stretch lies that an axis is exposed for; without an axis that its device waits for its host.
void Findings::showLongest(RunFinding& finding, std::size_t rank, const std::string* axis) const
{
    const RankEvidence& of = m_recovered.evidence.ranks[rank];
    finding.ranks = {of.rank};
    std::vector<BusyTime::Span> computing, all;
    for (const WorkSpan& span : of.work) {
        if (span.work == DeviceWork::kernel)
            computing.emplace_back(span.startNs, span.endNs);
        all.emplace_back(span.startNs, span.endNs);
    }
    for (const CommSpan& span : of.comms)
        all.emplace_back(span.startNs, span.endNs);
    const BusyTime computes(std::move(computing)), busy(std::move(all));
    std::int64_t longest = 0;
    const auto take = [&](std::int64_t startNs, std::int64_t endNs, std::int64_t ns) {
        const auto& steps = m_recovered.steps.steps;
        if (ns > longest && std::any_of(steps.begin(), steps.end(), [&](const RecoveredStep& step) {
                return startNs >= step.rankStartNs[rank] && startNs < step.rankEndNs[rank];
            })) {
            longest = ns;
            finding.startNs = startNs;
            finding.endNs = endNs;
        }
    };
    if (axis != nullptr) {
        const AxesOfGroups axes(m_recovered);
        for (const CommSpan& span : of.comms)
            if (axes.of(span.group, span.exchange) == *axis)
                take(span.startNs, span.endNs, span.endNs - span.startNs - computes.within(span.startNs, span.endNs));
        return;
    }
    const auto& spans = busy.spans();
    for (const WorkSpan& span : of.work) {
        const auto here = std::lower_bound(spans.begin(), spans.end(), span.startNs,
                                           [](const BusyTime::Span& one, std::int64_t ns) { return one.first < ns; });
        if (here != spans.begin() && here != spans.end() && here->first == span.startNs &&
            span.launchNs > std::prev(here)->second)
            take(std::prev(here)->second, span.startNs, span.startNs - std::prev(here)->second);
    }
}

void Findings::unevenStages()
{
    if (m_answers.times.stages.size() < 2)
        return;
    constexpr double kClearly = 1.05;
    constexpr double kWorthwhile = 0.02; // of the step: where little is computed at all, its stages hold nobody up
    // A rank that is slower than its peers of the same layers is no stage's doing.
    std::vector<StageTime> stages;
    std::vector<int> slow;
    for (const StageTime& stage : m_answers.times.stages) {
        std::vector<double> computing;
        for (std::size_t r = 0; r < m_answers.times.ranks.size(); ++r)
            if (m_recovered.passes.pipelineRank[r] == stage.pipelineRank)
                computing.push_back(static_cast<double>(m_answers.times.ranks[r].computingNs));
        const auto middle = computing.begin() + static_cast<std::ptrdiff_t>((computing.size() - 1) / 2);
        std::nth_element(computing.begin(), middle, computing.end());
        const double usual = *middle;
        StageTime& like = stages.emplace_back(StageTime{.pipelineRank = stage.pipelineRank});
        for (std::size_t r = 0; r < m_answers.times.ranks.size(); ++r) {
            const auto own = static_cast<double>(m_answers.times.ranks[r].computingNs);
            if (m_recovered.passes.pipelineRank[r] != stage.pipelineRank)
                continue;
            if (own > kClearly * usual) {
                slow.push_back(m_recovered.evidence.ranks[r].rank);
                continue;
            }
            like.computingNs += own;
            ++like.ranks;
        }
        like.computingNs /= std::max<double>(1, static_cast<double>(like.ranks));
    }
    const auto slowest = std::max_element(stages.begin(), stages.end(),
                                          [](const StageTime& a, const StageTime& b) { return a.computingNs < b.computingNs; });
    double mean = 0;
    for (const StageTime& stage : stages)
        mean += stage.computingNs / static_cast<double>(stages.size());
    if (mean <= 0 || slowest->computingNs < kClearly * mean || slowest->computingNs - mean < kWorthwhile * windowNs())
        return;
    const std::string without = slow.empty() ? std::string() : namedRanks(slow, 4);
    RunFinding finding{.kind = "uneven-stages",
                       .title = "Pipeline rank " + std::to_string(slowest->pipelineRank) + " computes " +
                                percentText(slowest->computingNs / mean - 1) + " longer than the mean",
                       .detail = timeText(secondsOf(slowest->computingNs)) + " against " + timeText(secondsOf(mean)) +
                                 (without.empty() ? ""
                                                  : ", without " + without +
                                                        (slow.size() == 1 ? ", which is slower than its peers"
                                                                          : ", which are slower than their peers")) +
                                 "; fewer layers there would let the others wait less.",
                       .seconds = secondsOf(slowest->computingNs - mean)};
    for (std::size_t r = 0; r < m_recovered.evidence.ranks.size(); ++r)
        if (m_recovered.passes.pipelineRank[r] == slowest->pipelineRank)
            finding.ranks.push_back(m_recovered.evidence.ranks[r].rank);
    // Where a stage and its hosts are the same ranks, the recording cannot tell which of them is slow.
    std::map<std::string, bool> isOfStage; // host -> it has ranks of no other
    for (std::size_t r = 0; r < m_recovered.evidence.ranks.size(); ++r) {
        const bool isSlow = m_recovered.passes.pipelineRank[r] == slowest->pipelineRank;
        const auto [host, isNew] = isOfStage.try_emplace(m_recovered.evidence.ranks[r].host, isSlow);
        host->second = host->second && isSlow;
    }
    std::set<std::string> hosts;
    bool haveHosts = !isOfStage.contains("") && stages.size() <= isOfStage.size();
    for (std::size_t r = 0; r < m_recovered.evidence.ranks.size(); ++r)
        if (m_recovered.passes.pipelineRank[r] == slowest->pipelineRank) {
            hosts.insert(m_recovered.evidence.ranks[r].host);
            haveHosts = haveHosts && isOfStage.at(m_recovered.evidence.ranks[r].host);
        }
    if (haveHosts)
        finding.detail += " Its ranks have " + (hosts.size() == 1 ? *hosts.begin() : std::to_string(hosts.size()) + " hosts") +
                          " to themselves: that their GPUs are slow would look the same.";
    m_found.push_back(std::move(finding));
}

/// The group that waits most for whoever has most tokens.
void Findings::unevenExperts()
{
    const std::vector<GroupLoad>& loads = m_answers.experts;
    const auto isUneven = [](const GroupLoad& of) {
        constexpr double kClearly = 0.1, kBeyondGpus = 0.05; // a slow GPU is slow everywhere
        return of.ofSection >= kClearly && of.ofSection >= of.ofSectionElsewhere + kBeyondGpus;
    };
    const auto found = std::find_if(loads.begin(), loads.end(), isUneven);
    if (found == loads.end())
        return;
    const GroupLoad& load = *found;
    const auto same = std::count_if(loads.begin(), loads.end(), isUneven);
    const bool isOneRank = load.longer > load.ofSection / 2; // else another has most each time
    RunFinding finding{
        .kind = "uneven-experts",
        .title = isOneRank ? "Rank " + std::to_string(load.busiest) + " computes " + percentText(load.longer) +
                                 " longer in its experts than its group"
                           : "Experts are uneven: the busiest rank computes " + percentText(load.ofSection) + " longer",
        .detail = "Between all-to-alls of " + std::to_string(load.ranks.size()) + " ranks, " + std::to_string(load.sections) +
                  " times a step, whoever has most tokens computes " + percentText(load.ofSection) +
                  " longer than the mean, and the others wait " + timeText(secondsOf(load.waitedNs)) + " a step for it" +
                  (loads.size() > 1
                       ? "; so it is in " + std::to_string(same) + " of " + std::to_string(loads.size()) + " groups of experts"
                       : std::string()) +
                  ". A stronger balancing loss, or a limit on the tokens of an expert, would even it out.",
        .seconds = secondsOf(load.waitedNs)};
    finding.ranks = isOneRank ? std::vector<int>{load.busiest} : load.ranks;
    m_found.push_back(std::move(finding));
}

/// Ranks of one host beside those of the same stage on others: a host that is slow in all of its ranks keeps no single one late.
void Findings::slowHosts()
{
    const std::vector<RankEvidence>& ranks = m_recovered.evidence.ranks;
    std::map<std::pair<int, std::string>, std::vector<double>> computing; // of a stage on a host
    for (std::size_t r = 0; r < m_answers.times.ranks.size(); ++r)
        computing[{m_recovered.passes.pipelineRank[r], ranks[r].host}].push_back(
            static_cast<double>(m_answers.times.ranks[r].computingNs));
    const auto median = [](std::vector<double> values) {
        std::sort(values.begin(), values.end());
        return values.size() % 2 == 1 ? values[values.size() / 2]
                                      : (values[values.size() / 2 - 1] + values[values.size() / 2]) / 2;
    };
    std::map<std::string, std::vector<std::pair<double, double>>> slower; // host -> of each stage: how many times, by how much
    for (const auto& [place, own] : computing) {
        std::vector<double> others;
        for (const auto& [beside, times] : computing)
            if (beside.first == place.first && beside.second != place.second)
                others.push_back(median(times));
        if (place.second.empty() || others.empty() || median(others) <= 0)
            continue;
        constexpr double kClearly = 1.05;
        const double usual = median(others);
        // One slow rank of it is not its host's doing.
        const bool areAll = std::all_of(own.begin(), own.end(), [&](double time) { return time > kClearly * usual; });
        slower[place.second].emplace_back(areAll && own.size() > 1 ? median(own) / usual : 1, median(own) - usual);
    }
    for (const auto& [host, stages] : slower) {
        const auto least = std::min_element(stages.begin(), stages.end());
        if (least->first <= 1)
            continue;
        RunFinding finding{.kind = "slow-host",
                           .title = "All ranks on " + host + " compute " + percentText(least->first - 1) +
                                    " longer than their peers on other hosts",
                           .detail = "What they share may be slow, such as power, cooling "
                                     "or clocks of that host.",
                           .seconds = secondsOf(least->second)};
        for (const RankEvidence& rank : ranks)
            if (rank.host == host)
                finding.ranks.push_back(rank.rank);
        m_found.push_back(std::move(finding));
    }
}

void Findings::hostBound()
{
    double idle = 0, host = 0, window = 0;
    for (const RankTime& rank : m_answers.times.ranks) {
        idle += static_cast<double>(rank.idleNs);
        host += static_cast<double>(rank.hostBoundNs);
        window += static_cast<double>(rank.windowNs);
    }
    const double ranks = std::max<double>(1, static_cast<double>(m_answers.times.ranks.size()));
    if (window <= 0 || host <= 0.1 * window)
        return;
    RunFinding finding{
        .kind = "host-bound",
        .title = percentText(host / window) + " of the step the device waits for its host",
        .detail = timeText(secondsOf(host / ranks)) + " of " + timeText(secondsOf(idle / ranks)) +
                  " idle a rank ends with a kernel or a collective that was asked for only after the device had run dry; "
                  "fewer and larger kernels, or CUDA graphs, would fill it.",
        .seconds = secondsOf(host / ranks)};
    const auto most = std::max_element(m_answers.times.ranks.begin(), m_answers.times.ranks.end(),
                                       [](const RankTime& a, const RankTime& b) { return a.hostBoundNs < b.hostBoundNs; });
    showLongest(finding, static_cast<std::size_t>(most - m_answers.times.ranks.begin()), nullptr);
    m_found.push_back(std::move(finding));
}

void Findings::outliers()
{
    for (const RecoveredStep& step : m_recovered.steps.steps)
        if (step.isOutlier && step.seconds() > m_recovered.steps.medianSeconds)
            m_found.push_back({.kind = "outlier-step",
                               .title = "Step " + std::to_string(step.number) + " takes " + timeText(step.seconds()) +
                                        ", the others " + timeText(m_recovered.steps.medianSeconds),
                               .detail = "It alone is " + timeText(step.seconds() - m_recovered.steps.medianSeconds) +
                                         " longer than the median.",
                               .seconds = step.seconds() - m_recovered.steps.medianSeconds,
                               .ranks = {},
                               .startNs = step.startNs,
                               .endNs = step.endNs});
}

/// Of collectives that are alike but for their group: the group whose transfers take clearly longer than those of its siblings.
void Findings::slowGroups()
{
    const AxesOfGroups axes(m_recovered);
    std::map<std::tuple<std::string, Exchange, std::int64_t>, std::map<std::int32_t, std::vector<double>>> alike;
    for (const Arrival& arrival : m_answers.arrivals.list) {
        if (!arrival.isUsual)
            continue;
        const Meeting& meeting = m_recovered.meetings.meetings[arrival.meeting];
        const Part& first = meeting.parts.front();
        const CommSpan& span = m_recovered.evidence.ranks[first.rank].comms[first.span];
        const std::vector<int>& members = m_recovered.evidence.groups[static_cast<std::size_t>(meeting.group)].ranks;
        if (meeting.parts.size() == members.size() && span.bytes > 0 && meeting.exchange != Exchange::allToAll)
            alike[{axes.of(meeting.group, meeting.exchange), meeting.exchange, span.bytes}][meeting.group].push_back(
                static_cast<double>(arrival.transferNs));
    }
    const auto median = [](std::vector<double> values) { // of two the lower one
        std::sort(values.begin(), values.end());
        return values[(values.size() - 1) / 2];
    };
    std::map<std::int32_t, std::pair<double, double>> slowest; // group -> ratio, ns
    for (const auto& [what, groups] : alike) {
        if (groups.size() < 2)
            continue;
        std::map<std::int32_t, double> medians;
        for (const auto& [group, times] : groups)
            medians[group] = median(times);
        for (const auto& [group, times] : groups) {
            const double own = medians.at(group);
            std::vector<double> others;
            for (const auto& [sibling, its] : medians)
                if (sibling != group)
                    others.push_back(its);
            const double usual = median(std::move(others));
            if (usual > 0 && own > 1.3 * usual) {
                auto& [ratio, ns] = slowest[group];
                ratio = std::max(ratio, own / usual);
                ns += (own - usual) * static_cast<double>(times.size());
            }
        }
    }
    const double steps = std::max<double>(1, static_cast<double>(m_recovered.steps.usual().size()));
    constexpr double kWorthwhile = 0.01; // of the step
    std::erase_if(slowest, [&](const auto& of) { return of.second.second < kWorthwhile * steps * windowNs(); });
    // Of several groups with one rank in common it is that rank's link.
    std::vector<int> common;
    for (const auto& [group, slow] : slowest) {
        const std::vector<int>& members = m_recovered.evidence.groups[static_cast<std::size_t>(group)].ranks;
        std::vector<int> both;
        std::set_intersection(common.begin(), common.end(), members.begin(), members.end(), std::back_inserter(both));
        common = group == slowest.begin()->first ? members : both;
    }
    const bool isOfOneRank = slowest.size() >= 2 && common.size() == 1;
    for (const auto& [group, slow] : slowest) {
        const std::vector<int>& members = m_recovered.evidence.groups[static_cast<std::size_t>(group)].ranks;
        std::string names;
        for (std::size_t i = 0; i < std::min<std::size_t>(members.size(), 8); ++i)
            names += (i > 0 ? ", " : "") + std::to_string(members[i]);
        names += members.size() > 8 ? ", …" : "";
        m_found.push_back(
            {.kind = "slow-group",
             .title = "The " + axisText(axes.of(group, Exchange::unknown)) + " group of ranks " + names + " is " +
                      numberText(slow.first, Unit::number) + " times slower than its siblings",
             .detail =
                 std::string(
                     "The same collectives of the same size take longer there once all are present: a link between these ranks "
                     "is slow, not their computing.") +
                 (isOfOneRank ? " Rank " + std::to_string(common.front()) + " is in all " + std::to_string(slowest.size()) +
                                    " slow groups, and no other rank is."
                              : std::string()),
             .seconds = secondsOf(slow.second) / steps,
             .ranks = members});
    }
}

} // namespace

std::vector<RunFinding> findingsOf(const Recovered& recovered, const RunAnswers& answers)
{
    return Findings(recovered, answers).find();
}

} // namespace sim
