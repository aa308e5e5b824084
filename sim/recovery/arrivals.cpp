#include "sim/recovery/arrivals.h"

#include "sim/index.h"
#include "sim/parallel.h"
#include "sim/recovery/busy_time.h"
#include "sim/recovery/drain.h"
#include "sim/recovery/host_meanwhile.h"
#include "sim/recovery/late_roots.h"
#include "sim/recovery/named_ranks.h"
#include "sim/recovery/rank_time.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>

namespace sim {
namespace {

/// What a rank did between the end of its last meeting and its arrival at the next.
struct Approach {
    std::int64_t computes = 0, communicates = 0, idles = 0;
};

/// What a rank spends in collectives of groups that are known, in usual steps.
struct TimeInGroups {
    std::int64_t allNs = 0, partNs = 0;            ///< in all; in groups of which some members are not recorded
    std::map<std::int32_t, std::int64_t> partNsOf; ///< each of these
};

class ArrivalFinder {
public:
    explicit ArrivalFinder(const Recovered& recovered) : m_recovered(recovered), m_evidence(recovered.evidence) {}

    Arrivals find()
    {
        m_result.ranks.resize(m_evidence.ranks.size());
        if (!m_recovered.clock.isAligned && m_evidence.ranks.size() > 1) {
            m_result.text = "who comes late cannot be told, as clocks are " + m_recovered.clock.why;
            return std::move(m_result);
        }
        m_work.resize(m_evidence.ranks.size());
        m_comms.resize(m_evidence.ranks.size());
        m_usual.resize(m_evidence.ranks.size());
        forEachInParallel(m_evidence.ranks.size(), 0, [&](std::size_t r) {
            const RankEvidence& rank = m_evidence.ranks[r];
            std::vector<BusyTime::Span> work, comms;
            m_usual[r] = usualStepsOf(m_recovered, r);
            for (const WorkSpan& span : rank.work)
                work.emplace_back(span.startNs, span.endNs);
            for (const CommSpan& span : rank.comms)
                comms.emplace_back(span.startNs, span.endNs);
            m_work[r] = BusyTime(std::move(work));
            m_comms[r] = BusyTime(std::move(comms));
        });
        findUnrecorded();
        measure();
        explain();
        sumByAxis();
        return std::move(m_result);
    }

private:
    const CommSpan& spanOf(const Part& part) const { return m_evidence.ranks[part.rank].comms[part.span]; }
    /// How much of the rank's usual steps is over.
    std::int64_t ofUsual(std::uint32_t rank, std::int64_t ns) const { return m_usual[rank].within(INT64_MIN / 2, ns); }
    Approach approachOf(std::uint32_t rank, std::int64_t from, std::int64_t to) const;
    void measure();
    void explain();
    void sumByAxis();
    /// Whose way to the meeting is like that of the last one: of several stages those of its own.
    bool isFellow(const Arrival& arrival, const Part& part) const
    {
        const std::vector<int>& stageOf = m_recovered.passes.pipelineRank;
        return arrival.drainedNs == INT64_MIN || stageOf[part.rank] == stageOf[arrival.last];
    }
    double computesLonger(std::size_t rank) const;
    void findUnrecorded();
    void lookForUnrecorded(std::size_t rank);
    bool isWorthwhile(const RankArrivals&, double idlesLonger) const;
    /// Else a device may idle for what nobody recorded.
    bool anyLaunchIsKnown() const
    {
        return std::any_of(m_evidence.ranks.begin(), m_evidence.ranks.end(), [](const RankEvidence& rank) {
            return !rank.work.empty() && rank.work.front().launchNs != INT64_MIN;
        });
    }
    std::string doneMeanwhile(std::size_t rank) const;
    std::string seenByNetworks() const;
    std::optional<double> ofRecordedMembers(std::int64_t) const;
    std::string receivesText() const;
    std::string unseenText() const;
    std::string drainText() const;

    const Recovered& m_recovered;
    const RunEvidence& m_evidence;
    std::vector<BusyTime> m_work, m_comms;
    std::vector<BusyTime> m_usual;              ///< steps
    std::vector<std::uint32_t> m_roots;         ///< of the list
    std::vector<std::vector<int>> m_unrecorded; ///< [group]: its members of which nothing is recorded
    std::vector<TimeInGroups> m_inGroups;       ///< [rank]; empty where there are no such members
    Arrivals m_result;
};

void ArrivalFinder::sumByAxis()
{
    m_result.collectives = m_result.list.size();
    const AxesOfGroups axes(m_recovered);
    for (const Arrival& arrival : m_result.list) {
        const Meeting& meeting = m_recovered.meetings.meetings[arrival.meeting];
        if (meeting.group < 0)
            continue;
        AxisWaits& waits = m_result.byAxis[axes.of(meeting.group, meeting.exchange)];
        waits.waitedNs += arrival.waited();
        waits.meetings += arrival.isUsual ? 1 : 0;
    }
}

void ArrivalFinder::measure()
{
    const auto& meetings = m_recovered.meetings.meetings;
    for (std::size_t i = 0; i < meetings.size(); ++i) {
        const Meeting& meeting = meetings[i];
        if (!endsForAll(m_evidence, meeting))
            continue;
        Arrival arrival{
            .meeting = i, .last = 0, .lastStartNs = INT64_MIN, .transferNs = INT64_MAX, .waitNs = {}, .countedNs = {}};
        for (const Part& part : meeting.parts) {
            const CommSpan& span = spanOf(part);
            if (span.startNs > arrival.lastStartNs) {
                arrival.lastStartNs = span.startNs;
                arrival.last = part.rank;
            }
            arrival.transferNs = std::min(arrival.transferNs, span.endNs - span.startNs);
        }
        // What lasts no time may stand at the very end.
        arrival.isUsual = m_usual[arrival.last].within(arrival.lastStartNs - 1, arrival.lastStartNs + 1) > 0;
        for (const Part& part : meeting.parts) {
            arrival.waitNs.push_back(arrival.lastStartNs - spanOf(part).startNs);
            m_result.ranks[part.rank].meetings += arrival.isUsual ? 1 : 0;
        }
        m_result.list.push_back(std::move(arrival));
    }
    std::stable_sort(m_result.list.begin(), m_result.list.end(),
                     [](const Arrival& a, const Arrival& b) { return a.lastStartNs < b.lastStartNs; });
    std::vector<std::size_t> listed;
    for (const Arrival& arrival : m_result.list)
        listed.push_back(arrival.meeting);
    const std::vector<std::int64_t> drained = drainedAt(m_recovered, listed);
    std::vector<CoveredTime> waits(m_evidence.ranks.size());
    for (std::size_t i = 0; i < drained.size(); ++i) {
        Arrival& arrival = m_result.list[i];
        arrival.drainedNs = drained[i];
        m_result.ranks[arrival.last].last += arrival.isUsual && arrival.hasLast() ? 1 : 0;
        for (const Part& part : meetings[arrival.meeting].parts) {
            const std::int64_t since = std::min(std::max(spanOf(part).startNs, drained[i]), arrival.lastStartNs);
            const std::int64_t from = ofUsual(part.rank, since), to = ofUsual(part.rank, arrival.lastStartNs);
            arrival.countedNs.push_back(arrival.isUsual ? waits[part.rank].add(from, to) : 0);
            m_result.ranks[part.rank].waitedNs += arrival.countedNs.back();
        }
        m_result.causedNs += arrival.waited();
    }
    m_roots = lateRoots(m_recovered, m_result.list);
    for (std::size_t i = 0; i < m_roots.size(); ++i) {
        m_result.list[i].root = m_roots[i];
        m_result.ranks[m_roots[i]].causedNs += m_result.list[i].waited();
    }
}

Approach ArrivalFinder::approachOf(std::uint32_t rank, std::int64_t from, std::int64_t to) const
{
    Approach approach;
    approach.computes = m_work[rank].within(from, to);
    approach.communicates = m_comms[rank].beyond(m_work[rank], from, to);
    approach.idles = std::max<std::int64_t>(0, to - from - approach.computes - approach.communicates);
    return approach;
}

/// Over all usual steps, beside the median of the ranks of its stage. Sums between meetings would not do: fellows that wait
/// in one may have computed before the last one ended.
double ArrivalFinder::computesLonger(std::size_t rank) const
{
    const auto computed = [this](std::size_t r) {
        std::int64_t sum = 0;
        for (const auto& [start, end] : m_usual[r].spans())
            sum += m_work[r].within(start, end);
        return static_cast<double>(sum);
    };
    std::vector<double> fellows;
    for (std::size_t r = 0; r < m_evidence.ranks.size(); ++r)
        if (r != rank && m_recovered.passes.pipelineRank[r] == m_recovered.passes.pipelineRank[rank])
            fellows.push_back(computed(r));
    if (fellows.empty())
        return 0;
    const auto middle = fellows.begin() + static_cast<std::ptrdiff_t>(fellows.size() / 2);
    std::nth_element(fellows.begin(), middle, fellows.end());
    return *middle > 0 ? computed(rank) / *middle - 1 : 0;
}

/// Of which groups some members are not recorded, and what ranks spend in these.
void ArrivalFinder::findUnrecorded()
{
    const std::vector<RankEvidence>& ranks = m_evidence.ranks;
    if (std::any_of(ranks.begin(), ranks.end(), [](const RankEvidence& of) { return of.multiplicity > 1; }))
        return; // others behave as these
    const auto isRecorded = [&ranks](int rank) {
        const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank,
                                            [](const RankEvidence& of, int number) { return of.rank < number; });
        return found != ranks.end() && found->rank == rank;
    };
    bool areWhole = true;
    for (const GroupEvidence& group : m_evidence.groups) {
        std::vector<int>& unrecorded = m_unrecorded.emplace_back();
        std::remove_copy_if(group.ranks.begin(), group.ranks.end(), std::back_inserter(unrecorded), isRecorded);
        areWhole = areWhole && unrecorded.empty();
    }
    if (areWhole)
        return;
    m_inGroups.resize(ranks.size());
    forEachInParallel(ranks.size(), 0, [&](std::size_t r) {
        TimeInGroups& spent = m_inGroups[r];
        for (const CommSpan& span : ranks[r].comms) {
            if (span.group < 0 || !synchronises(span.exchange))
                continue;
            const std::int64_t ns = m_usual[r].within(span.startNs, span.endNs);
            spent.allNs += ns;
            if (m_unrecorded[asIndex(span.group)].empty())
                continue;
            spent.partNs += ns;
            spent.partNsOf[span.group] += ns;
        }
    });
}

/// Of a rank that communicates longer than its fellows: whether that is in a group of which some are not recorded, which may be
/// the ones that are late.
void ArrivalFinder::lookForUnrecorded(std::size_t rank)
{
    if (m_inGroups.empty() || m_inGroups[rank].partNsOf.empty())
        return;
    std::vector<std::int64_t> all, ofParts; // of its fellows
    for (std::size_t r = 0; r < m_evidence.ranks.size(); ++r)
        if (r != rank && m_recovered.passes.pipelineRank[r] == m_recovered.passes.pipelineRank[rank]) {
            all.push_back(m_inGroups[r].allNs);
            ofParts.push_back(m_inGroups[r].partNs);
        }
    if (all.empty())
        return;
    const auto medianOf = [](std::vector<std::int64_t>& values) { // of two the lower one
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    };
    const TimeInGroups& own = m_inGroups[rank];
    if (2 * (own.partNs - medianOf(ofParts)) <= std::max<std::int64_t>(0, own.allNs - medianOf(all)))
        return;
    const auto most = std::max_element(own.partNsOf.begin(), own.partNsOf.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    m_result.ranks[rank].unrecordedGroup = most->first;
    m_result.ranks[rank].unrecorded = m_unrecorded[asIndex(most->first)];
}

/// What the host of a late rank was in while its device idled before the others came.
std::string ArrivalFinder::doneMeanwhile(std::size_t rank) const
{
    std::vector<BusyTime::Span> late; // since its fellows came
    // Or longer ago, with all its kernels since: since the group met before, while the device of the first of its fellows ran.
    std::vector<BusyTime::Span> behind;
    std::map<std::int32_t, std::int64_t> lastEnd; // of a group's meetings
    for (std::size_t i = 0; i < m_result.list.size(); ++i) {
        const Arrival& arrival = m_result.list[i];
        const Meeting& meeting = m_recovered.meetings.meetings[arrival.meeting];
        std::int64_t& before = lastEnd.try_emplace(meeting.group, INT64_MIN).first->second;
        if (arrival.isUsual && arrival.last == rank && m_roots[i] == rank && arrival.hasLast()) {
            const auto longest = std::max_element(arrival.waitNs.begin(), arrival.waitNs.end());
            late.emplace_back(arrival.lastStartNs - *longest, arrival.lastStartNs);
            const std::uint32_t fellow = meeting.parts[asIndex(longest - arrival.waitNs.begin())].rank;
            const std::vector<BusyTime::Span>& ran = m_work[fellow].spans();
            auto span =
                std::partition_point(ran.begin(), ran.end(), [before](const BusyTime::Span& of) { return of.second <= before; });
            for (; before != INT64_MIN && span != ran.end() && span->first < arrival.lastStartNs; ++span)
                behind.emplace_back(std::max(span->first, before), std::min(span->second, arrival.lastStartNs));
        }
        for (const Part& part : meeting.parts)
            before = std::max(before, spanOf(part).endNs);
    }
    // A delay shows at the first collective behind it: of the step, or of what came before.
    for (BusyTime::Span& span : late)
        span.first -= span.second - span.first;
    std::string doing = hostMeanwhile(m_evidence, rank, std::move(late));
    return doing.empty() ? hostMeanwhile(m_evidence, rank, std::move(behind)) : doing;
}

/// What single ranks say of their own waiting.
std::string ArrivalFinder::seenByNetworks() const
{
    std::int64_t waited = 0, all = 0;
    for (const RankEvidence& rank : m_evidence.ranks)
        for (const CommSpan& span : rank.comms)
            if (span.waitNs >= 0) {
                waited += span.waitNs;
                all += span.endNs - span.startNs;
            }
    if (all <= 0)
        return {};
    return "; what passes a network waits for its peers for " +
           percentText(static_cast<double>(waited) / static_cast<double>(all)) + " of its time, " +
           numberText(static_cast<double>(waited) * 1e-9, Unit::seconds) + " of all ranks'";
}

/// Where some member of a group is not recorded, the others may wait for it longer than for each other: the share of a time in
/// what they spend in collectives. Nothing where all members are.
std::optional<double> ArrivalFinder::ofRecordedMembers(std::int64_t ns) const
{
    bool areAll = true;
    std::vector<std::vector<BusyTime::Span>> spent(m_evidence.ranks.size());
    for (const Arrival& arrival : m_result.list) {
        const Meeting& meeting = m_recovered.meetings.meetings[arrival.meeting];
        areAll = areAll && (!arrival.isUsual || isWhole(m_evidence, meeting));
        for (const Part& part : meeting.parts)
            if (arrival.isUsual)
                spent[part.rank].emplace_back(ofUsual(part.rank, spanOf(part).startNs), ofUsual(part.rank, spanOf(part).endNs));
    }
    if (areAll)
        return {};
    std::int64_t sum = 0;
    for (std::vector<BusyTime::Span>& spans : spent)
        sum += BusyTime(std::move(spans)).within(0, INT64_MAX / 2);
    return static_cast<double>(ns) / static_cast<double>(std::max<std::int64_t>(1, sum));
}

/// Of a part of the ranks nobody can say that they wait for none.
std::string ArrivalFinder::unseenText() const
{
    const int missing = m_evidence.missingRanks();
    if (missing == 0)
        return {};
    return "; whether anybody waits for the " +
           (missing == 1 ? std::string("rank that is") : countedText(missing, "rank") + " that are") +
           " not recorded is not seen";
}

/// How long receives wait for their sends: of a pipeline also what its order leaves no other way, which nobody is to blame for.
std::string ArrivalFinder::receivesText() const
{
    std::vector<std::vector<BusyTime::Span>> waits(m_evidence.ranks.size());
    for (const Meeting& transfer : m_recovered.meetings.transfers)
        waits[transfer.parts[1].rank].emplace_back(spanOf(transfer.parts[1]).startNs, spanOf(transfer.parts[0]).startNs);
    std::int64_t waited = 0;
    for (std::vector<BusyTime::Span>& ofRank : waits)
        waited += BusyTime(std::move(ofRank)).within(INT64_MIN / 2, INT64_MAX / 2);
    if (waited <= 0)
        return {};
    return "; receives wait for their sends for " + numberText(static_cast<double>(waited) * 1e-9, Unit::seconds) +
           " of all ranks' time";
}

/// What members wait for later stages as their pipeline drains.
std::string ArrivalFinder::drainText() const
{
    std::vector<std::vector<BusyTime::Span>> waits(m_evidence.ranks.size());
    for (const Arrival& arrival : m_result.list)
        for (const Part& part : m_recovered.meetings.meetings[arrival.meeting].parts)
            waits[part.rank].emplace_back(ofUsual(part.rank, spanOf(part).startNs),
                                          ofUsual(part.rank, std::min(arrival.lastStartNs, arrival.drainedNs)));
    std::int64_t waited = 0;
    for (std::vector<BusyTime::Span>& ofRank : waits)
        waited += BusyTime(std::move(ofRank)).within(INT64_MIN / 2, INT64_MAX / 2);
    return waited <= 0 ? std::string()
                       : " but for stages that end later in the pipeline's order, " +
                             numberText(static_cast<double>(waited) * 1e-9, Unit::seconds) + " of all ranks' time";
}

/// Whether the others would have their steps noticeably sooner: where they wait little in collectives it does not matter for
/// whom. A host that asks late keeps also those that wait in no collective, by what its device `idles` longer in all steps: down
/// a pipeline each stage waits for the one before.
bool ArrivalFinder::isWorthwhile(const RankArrivals& rank, double idlesLonger) const
{
    constexpr double kWorthwhile = 0.025;
    double steps = 0; // of all ranks
    for (std::uint32_t r = 0; r < m_usual.size() && !m_recovered.steps.steps.empty(); ++r)
        steps += static_cast<double>(ofUsual(r, INT64_MAX / 2));
    const auto ranks = static_cast<double>(m_evidence.ranks.size());
    const double ofHost = rank.why == Lateness::idles && anyLaunchIsKnown() ? idlesLonger : 0;
    return std::max(static_cast<double>(rank.causedNs) / std::max(1.0, ranks - 1), ofHost) >= kWorthwhile * steps / ranks;
}

/// Beside the fellows of each meeting where it came last, and nobody had kept it: what it did longer since all had ended their
/// last one.
void ArrivalFinder::explain()
{
    const std::size_t ranks = m_evidence.ranks.size();
    std::vector<std::array<double, 3>> excess(ranks);
    std::map<std::int32_t, std::int64_t> lastEnd; // of a group's meetings
    for (std::size_t i = 0; i < m_result.list.size(); ++i) {
        const Arrival& arrival = m_result.list[i];
        const Meeting& meeting = m_recovered.meetings.meetings[arrival.meeting];
        const auto [before, isFirst] = lastEnd.try_emplace(meeting.group, INT64_MIN);
        const std::int64_t from = before->second;
        if (arrival.isUsual && from != INT64_MIN && from < arrival.lastStartNs && arrival.hasLast() &&
            m_roots[i] == arrival.last) {
            std::array<std::vector<double>, 3> fellows;
            std::array<double, 3> own{};
            for (const Part& part : meeting.parts) {
                const Approach approach = approachOf(part.rank, from, std::max(from, spanOf(part).startNs));
                const std::array<double, 3> values{static_cast<double>(approach.computes),
                                                   static_cast<double>(approach.communicates),
                                                   static_cast<double>(approach.idles)};
                if (part.rank == arrival.last)
                    own = values;
                else if (isFellow(arrival, part))
                    for (std::size_t k = 0; k < 3; ++k)
                        fellows[k].push_back(values[k]);
            }
            for (std::size_t k = 0; k < 3 && !fellows[k].empty(); ++k) {
                const auto middle = fellows[k].begin() + static_cast<std::ptrdiff_t>(fellows[k].size() / 2);
                std::nth_element(fellows[k].begin(), middle, fellows[k].end());
                excess[arrival.last][k] += own[k] - *middle;
            }
        }
        for (const Part& part : meeting.parts)
            before->second = std::max(before->second, spanOf(part).endNs);
    }
    for (std::size_t r = 0; r < ranks; ++r) {
        // Where it comes last by chance alone, its kernels took longer each time, and no longer over all of them.
        constexpr double kNoLonger = 0.01;
        const double longerBy = excess[r][0] > 0 ? computesLonger(r) : 0;
        if (longerBy < kNoLonger) {
            const double byChance = excess[r][0] / 2;
            for (double& of : excess[r])
                of = of >= byChance ? of : 0;
            excess[r][0] = 0;
        }
        const auto most = static_cast<std::size_t>(std::max_element(excess[r].begin(), excess[r].end()) - excess[r].begin());
        if (excess[r][most] <= 0)
            continue;
        m_result.ranks[r].why = static_cast<Lateness>(most + 1);
        if (m_result.ranks[r].why == Lateness::computes)
            m_result.ranks[r].longerBy = longerBy;
        if (m_result.ranks[r].why == Lateness::communicates)
            lookForUnrecorded(r);
    }
    const auto worst = std::max_element(m_result.ranks.begin(), m_result.ranks.end(),
                                        [](const RankArrivals& a, const RankArrivals& b) { return a.causedNs < b.causedNs; });
    if (worst == m_result.ranks.end() || m_result.causedNs <= 0) {
        m_result.text = m_result.list.empty()
                            ? "no collective of several recorded ranks was matched" + seenByNetworks()
                            : "in collectives nobody waits for anybody" + drainText() + receivesText() + unseenText();
        return;
    }
    const auto index = static_cast<std::size_t>(worst - m_result.ranks.begin());
    const RankEvidence& rank = m_evidence.ranks[index];
    const double share = static_cast<double>(worst->causedNs) / static_cast<double>(m_result.causedNs);
    // Of many ranks most wait for others' reasons: there it is clear where a rank is last in most of what it takes part in, as it
    // computes longer than its peers.
    constexpr double kClearlyLonger = 0.1, kTimesTheMean = 10;
    const bool isMuch = share >= 1.0 / 3 && share >= 2.0 / static_cast<double>(ranks) && isWorthwhile(*worst, excess[index][2]);
    const bool isSlow = worst->why == Lateness::computes && worst->longerBy >= kClearlyLonger &&
                        2 * worst->last >= worst->meetings && share >= kTimesTheMean / static_cast<double>(ranks);
    if ((isMuch || isSlow) && worst->meetings > 1) // of one meeting somebody is always the last
        m_result.straggler = static_cast<int>(index);
    m_result.text = "rank " + std::to_string(rank.rank) + (rank.host.empty() ? "" : " on " + rank.host);
    if (worst->last > 0)
        m_result.text += " comes last in " + numberText(static_cast<double>(worst->last), Unit::count) + " of " +
                         numberText(static_cast<double>(worst->meetings), Unit::count) + " collectives and";
    const std::string caused = numberText(static_cast<double>(worst->causedNs) * 1e-9, Unit::seconds);
    const std::optional<double> ofTheirs = ofRecordedMembers(worst->causedNs);
    m_result.text += " causes " + percentText(share) +
                     (ofTheirs ? " of what the recorded ranks wait for each other in collectives, " + caused +
                                     " of their time and " + percentText(*ofTheirs) + " of what they spend in these"
                               : " of the waiting in collectives, " + caused + " of all ranks' time");
    if (worst->why != Lateness::none) {
        const bool hasKernels = std::any_of(m_evidence.ranks.begin(), m_evidence.ranks.end(),
                                            [](const RankEvidence& each) { return !each.work.empty(); });
        m_result.text += ": " + std::string(latenessText(worst->why, hasKernels));
        if (!worst->unrecorded.empty())
            m_result.text +=
                ", most of it in a group with " + namedRanks(worst->unrecorded, 4) + ", of which nothing is recorded";
        if (worst->longerBy > 0.01 && worst->longerBy < 100)
            m_result.text += ", by " + percentText(worst->longerBy);
        if (const std::string doing = worst->why == Lateness::idles ? doneMeanwhile(index) : std::string(); !doing.empty())
            m_result.text += ", which meanwhile was in " + doing;
    }
}

} // namespace

std::string_view latenessText(Lateness lateness, bool areKernelsKnown)
{
    if (lateness == Lateness::idles && !areKernelsKnown)
        return "it comes to them late, and what it computed before was not recorded";
    constexpr std::array<std::string_view, 4> kTexts{"", "its kernels take longer", "it is longer in other communication",
                                                     "its device idles longer, so its host asks late"};
    return kTexts[static_cast<std::size_t>(lateness)];
}

std::int64_t Arrival::waited() const
{
    return std::accumulate(countedNs.begin(), countedNs.end(), std::int64_t{0});
}

bool Arrival::hasLast() const
{
    return lastStartNs > drainedNs && std::any_of(waitNs.begin(), waitNs.end(), [](std::int64_t ns) { return ns > 0; });
}

Arrivals arrivalsOf(const Recovered& recovered)
{
    return ArrivalFinder(recovered).find();
}

} // namespace sim
