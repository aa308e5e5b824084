#include "sim/recovery/run_findings.h"

#include "sim/index.h"
#include "sim/recovery/busy_time.h"
#include "sim/recovery/hang.h"
#include "sim/recovery/host_meanwhile.h"
#include "sim/recovery/named_ranks.h"
#include "sim/recovery/slow_links.h"
#include "sim/recovery/slow_ranks.h"
#include "sim/recovery/unexplained_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sim {
namespace {

class Findings {
public:
    Findings(const Recovered& recovered, const RunAnswers& answers) : m_recovered(recovered), m_answers(answers) {}

    std::vector<RunFinding> find()
    {
        add(slowLinks(m_recovered, m_answers));
        lateRank();
        exposed();
        if (!isStepCut())
            unevenStages();
        unevenExperts();
        if (!isStepCut()) {
            add(slowHosts(m_recovered, m_answers));
            slowRank();
        }
        hostBound();
        add(unexplainedTime(m_recovered, m_answers, m_found));
        outliers();
        std::stable_sort(m_found.begin(), m_found.end(), [this](const RunFinding& a, const RunFinding& b) {
            return std::pair(isEffect(a), -ofEachStep(a)) < std::pair(isEffect(b), -ofEachStep(b));
        });
        hangs();
        cut();
        return std::move(m_found);
    }

private:
    void cut();
    void hangs();
    void lateRank();
    void exposed();
    void unevenStages();
    void unevenExperts();
    void slowRank();
    void hostBound();
    void outliers();
    void explainOutlier(RunFinding&, std::size_t step) const;

    void add(std::vector<RunFinding> found)
    {
        m_found.insert(m_found.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    }
    /// What everybody sees, and somebody causes.
    static bool isEffect(const RunFinding& finding) { return finding.kind == "exposed-communication"; }
    /// What one step alone costs is little in the others.
    double ofEachStep(const RunFinding& finding) const
    {
        const double steps = finding.kind == "outlier-step" ? static_cast<double>(m_recovered.steps.steps.size()) : 1;
        return finding.seconds / std::max(1.0, steps);
    }

    /// A file ends too early in a step that means are taken over: how long its ranks compute in it is not known.
    bool isStepCut() const
    {
        const std::vector<std::size_t> usual = m_recovered.steps.usual();
        return !m_recovered.evidence.cuts.empty() && !usual.empty() && usual.back() + 1 == m_recovered.steps.steps.size();
    }
    void showLongest(RunFinding&, std::size_t rank, const std::string* axis) const;
    double windowNs() const;
    double waitedForLateRank(const std::string& axis) const;

    const Recovered& m_recovered;
    const RunAnswers& m_answers;
    std::vector<RunFinding> m_found;
};

/// Before all others, as what is missing may change them.
void Findings::cut()
{
    const std::vector<std::string>& cuts = m_recovered.evidence.cuts;
    if (cuts.empty())
        return;
    m_found.insert(m_found.begin(),
                   {.kind = "cut-recording",
                    .title = (cuts.size() == 1 ? "A file" : std::to_string(cuts.size()) + " files") +
                             std::string(" of this recording ") + (cuts.size() == 1 ? "is" : "are") + " not read whole",
                    .detail = (cuts.size() == 1 ? "" : "The first: ") + cuts.front() + "." +
                              (isStepCut() ? " Of the last step a part may be missing, which counts as idle: who computes "
                                             "longer than others in it is not told."
                                           : "")});
}

/// What it costs has no end.
void Findings::hangs()
{
    constexpr std::size_t kMostHangs = 8;
    std::vector<RunFinding> found;
    std::vector<Hang> hangs = hangsOf(m_recovered.evidence);
    const std::size_t more = hangs.size() > kMostHangs ? hangs.size() - kMostHangs : 0;
    hangs.resize(hangs.size() - more);
    for (Hang& hang : hangs)
        found.push_back({.kind = "hang",
                         .title = std::move(hang.title),
                         .detail = std::move(hang.detail),
                         .ranks = hang.absent.empty() ? std::move(hang.waiting) : std::move(hang.absent)});
    if (more > 0)
        found.push_back({.kind = "hang",
                         .title = "And " + std::to_string(more) + " more that never ended",
                         .detail = "Collectives and transfers that wait behind these, or for the same ranks."});
    m_found.insert(m_found.begin(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

void Findings::lateRank()
{
    const Arrivals& arrivals = m_answers.arrivals;
    if (arrivals.straggler < 0)
        return;
    const auto index = static_cast<std::size_t>(arrivals.straggler);
    const RankEvidence& rank = m_recovered.evidence.ranks[index];
    // Who is longer in other communication over a slow link is late by that.
    if (arrivals.ranks[index].why == Lateness::communicates &&
        std::any_of(m_found.begin(), m_found.end(), [&](const RunFinding& found) {
            return (found.kind == "slow-link" || found.kind == "slow-group") &&
                   std::find(found.ranks.begin(), found.ranks.end(), rank.rank) != found.ranks.end();
        }))
        return;
    RunFinding finding{
        .kind = "late-rank", .title = "Rank " + std::to_string(rank.rank) + " keeps the others waiting", .detail = arrivals.text};
    if (const RankArrivals& of = arrivals.ranks[index]; !of.unrecorded.empty()) {
        const std::string axis = AxesOfGroups(m_recovered).of(of.unrecordedGroup, Exchange::allReduce);
        finding.title = "Rank " + std::to_string(rank.rank) + " is late as it waits" + (axis.empty() ? "" : " in " + axis) +
                        " with " + namedRanks(of.unrecorded, 4) + ", of which nothing is recorded";
    }
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
        if (window <= 0 || ns <= kWorthTelling * window)
            continue;
        RunFinding finding{.kind = "exposed-communication",
                           .title = percentText(ns / window) + " of the step waits for " +
                                    (axis.empty() ? "communication in " + axisText(axis) : axis + " communication"),
                           .detail = "In the mean of " + m_recovered.evidence.summedRanks() + " and of " +
                                     countedText(static_cast<std::int64_t>(m_recovered.steps.usual().size()), "step") +
                                     ", a rank spends " + timeText(secondsOf(ns / ranks)) + " of the " +
                                     timeText(secondsOf(window / ranks)) + own +
                                     " in it while it computes nothing; waiting for late ranks is in it.",
                           .seconds = secondsOf(ns / ranks)};
        if (const double late = waitedForLateRank(axis); late > 0.1 * ns / ranks)
            finding.detail.insert(finding.detail.size() - 1,
                                  ", " + timeText(secondsOf(std::min(late, ns / ranks))) + " of it for rank " +
                                      std::to_string(m_recovered.evidence.ranks[asIndex(m_answers.arrivals.straggler)].rank));
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

/// In collectives of an axis; mean of ranks and usual steps.
double Findings::waitedForLateRank(const std::string& axis) const
{
    const Arrivals& arrivals = m_answers.arrivals;
    if (arrivals.straggler < 0)
        return 0;
    const AxesOfGroups axes(m_recovered);
    double waited = 0;
    for (const Arrival& arrival : arrivals.list) {
        const Meeting& meeting = m_recovered.meetings.meetings[arrival.meeting];
        if (arrival.root == asIndex(arrivals.straggler) && meeting.group >= 0 && axes.of(meeting.group, meeting.exchange) == axis)
            waited += static_cast<double>(arrival.waited());
    }
    return waited / static_cast<double>(m_recovered.evidence.ranks.size()) /
           std::max<double>(1, static_cast<double>(m_recovered.steps.usual().size()));
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

/// Of ranks that are slow, and that nothing else has told of.
void Findings::slowRank()
{
    std::vector<int> told;
    for (const RunFinding& finding : m_found)
        if (finding.kind == "late-rank" || finding.kind == "slow-host")
            told.insert(told.end(), finding.ranks.begin(), finding.ranks.end());
    add(slowRanks(m_recovered, m_answers, told));
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
    if (window <= 0 || host <= kWorthTelling * window)
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
    std::vector<std::size_t> longerOnes;
    for (std::size_t i = 0; i < m_recovered.steps.steps.size(); ++i)
        if (m_recovered.steps.steps[i].isOutlier && m_recovered.steps.steps[i].seconds() > m_recovered.steps.medianSeconds)
            longerOnes.push_back(i);
    const double usualSeconds = m_recovered.steps.usualSeconds();
    constexpr std::size_t kMostAlone = 4;
    if (longerOnes.size() > kMostAlone) { // so many have something in common: they are no single events
        const auto secondsOfStep = [this](std::size_t i) { return m_recovered.steps.steps[i].seconds(); };
        const auto [least, most] = std::minmax_element(longerOnes.begin(), longerOnes.end(), [&](std::size_t a, std::size_t b) {
            return secondsOfStep(a) < secondsOfStep(b);
        });
        const RecoveredStep& longest = m_recovered.steps.steps[*most];
        RunFinding finding{.kind = "outlier-step",
                           .title = std::to_string(longerOnes.size()) + " of " +
                                    countedText(static_cast<std::int64_t>(m_recovered.steps.steps.size()), "step") + " take " +
                                    timeText(secondsOfStep(*least)) + " to " + timeText(secondsOfStep(*most)) + ", the others " +
                                    timeText(usualSeconds),
                           .detail = "The longest is step " + std::to_string(longest.number) + ".",
                           .seconds = 0,
                           .ranks = {},
                           .startNs = longest.startNs,
                           .endNs = longest.endNs};
        for (const std::size_t i : longerOnes)
            finding.seconds += secondsOfStep(i) - usualSeconds;
        m_found.push_back(std::move(finding));
        return;
    }
    for (const std::size_t i : longerOnes) {
        const RecoveredStep& step = m_recovered.steps.steps[i];
        const double longer = step.seconds() - usualSeconds;
        RunFinding finding{.kind = "outlier-step",
                           .title = "Step " + std::to_string(step.number) + " takes " + timeText(step.seconds()) +
                                    ", the others " + timeText(usualSeconds),
                           .detail = "It alone is " + timeText(longer) + " longer than their median.",
                           .seconds = longer,
                           .ranks = {},
                           .startNs = step.startNs,
                           .endNs = step.endNs};
        explainOutlier(finding, i);
        m_found.push_back(std::move(finding));
    }
}

/// What grew in a step that is longer than the others by `finding.seconds`, on the rank that the others wait for in it where most
/// of that begins with one, else on all.
void Findings::explainOutlier(RunFinding& finding, std::size_t index) const
{
    const RecoveredStep& step = m_recovered.steps.steps[index];
    const std::vector<RankEvidence>& ranks = m_recovered.evidence.ranks;
    std::vector<double> caused(ranks.size(), 0);
    for (const Arrival& arrival : m_answers.arrivals.list) {
        if (arrival.lastStartNs < step.rankStartNs[arrival.last] || arrival.lastStartNs >= step.rankEndNs[arrival.last])
            continue;
        for (const std::int64_t ns : arrival.waitNs)
            caused[arrival.root] += static_cast<double>(ns);
    }
    const auto most = std::max_element(caused.begin(), caused.end());
    const bool isOfOne = ranks.size() > 1 && most != caused.end() &&
                         secondsOf(*most) / static_cast<double>(ranks.size() - 1) > finding.seconds / 2;
    const std::vector<RankTime> times = meanTimesOf(m_recovered, {index});
    const auto culprit = static_cast<std::size_t>(most - caused.begin());
    struct Part {
        const char* what;
        std::int64_t RankTime::*ns;
        double longer = 0;
    };
    std::array<Part, 4> parts{{{"computes", &RankTime::computingNs},
                               {"communicates while nothing computes for", &RankTime::exposedCommNs},
                               {"copies for", &RankTime::copyNs},
                               {"idles", &RankTime::idleNs}}};
    double counted = 0;
    for (std::size_t r = 0; r < times.size(); ++r) {
        if (isOfOne && r != culprit)
            continue;
        counted += 1;
        for (Part& part : parts)
            part.longer += secondsOf(static_cast<double>(times[r].*part.ns - m_answers.times.ranks[r].*part.ns));
    }
    const auto grew =
        std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.longer < b.longer; });
    const double longer = grew->longer / std::max(1.0, counted);
    if (longer < finding.seconds / 4 || !anyRan(times))
        return;
    finding.detail += isOfOne ? " The others wait in it for rank " + std::to_string(ranks[culprit].rank) + ", which "
                              : " A rank, in the mean, ";
    finding.detail += std::string(grew->what) + " " + timeText(longer) + " longer than in its other steps";
    if (isOfOne) {
        finding.ranks = {ranks[culprit].rank};
        if (grew->ns == &RankTime::idleNs)
            if (const std::string doing =
                    hostMeanwhile(m_recovered.evidence, culprit, {{step.rankStartNs[culprit], step.rankEndNs[culprit]}});
                !doing.empty())
                finding.detail += ", its host in " + doing;
    }
    finding.detail += ".";
}

} // namespace

std::vector<RunFinding> findingsOf(const Recovered& recovered, const RunAnswers& answers)
{
    return Findings(recovered, answers).find();
}

} // namespace sim
