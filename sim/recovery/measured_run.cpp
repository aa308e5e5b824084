#include "sim/recovery/measured_run.h"

#include "sim/recovery/busy_time.h"
#include "sim/recovery/rank_time.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace sim {
namespace {

class RunReader {
public:
    RunReader(const Recovered& recovered, MeasuredRun& run) : m_recovered(recovered), m_run(run) {}

    void addKernels()
    {
        for (std::size_t r = 0; r < m_recovered.evidence.ranks.size(); ++r)
            for (const WorkSpan& span : m_recovered.evidence.ranks[r].work)
                add(m_run.kernels[m_recovered.evidence.names[span.name]], r, span.startNs, span.endNs - span.startNs);
        std::erase_if(m_run.kernels, [](const auto& of) { return of.second.empty(); });
    }
    void addCollectives(bool isByPurpose);

private:
    /// Index into `kept`, -1 outside of them.
    int stepAt(std::size_t rank, std::int64_t ns) const
    {
        const auto& steps = m_recovered.steps.steps;
        const auto after = std::upper_bound(m_run.kept.begin(), m_run.kept.end(), ns, [&](std::int64_t at, std::size_t step) {
            return at < steps[step].rankStartNs[rank];
        });
        if (after == m_run.kept.begin())
            return -1;
        const auto place = std::prev(after);
        return ns < steps[*place].rankEndNs[rank] ? static_cast<int>(place - m_run.kept.begin()) : -1;
    }
    static constexpr double kSecondsOfOneNs = 1e-9;
    void add(ClassSeries& series, std::size_t rank, std::int64_t startNs, std::int64_t ns) const
    {
        const int step = stepAt(rank, startNs);
        if (step < 0)
            return;
        series.resize(m_recovered.evidence.ranks.size());
        StepSeries& own = series[rank];
        if (!own.any()) {
            own.seconds.assign(m_run.kept.size(), 0);
            own.waiting.assign(m_run.kept.size(), 0);
        }
        own.seconds[static_cast<std::size_t>(step)] += static_cast<double>(ns) * kSecondsOfOneNs;
        own.count += 1;
    }
    struct Wait {
        std::int64_t startNs = 0, endNs = 0;
        ClassSeries* series = nullptr; ///< to which what is waited in was added
    };
    /// In several collectives at once a rank waits once: in what goes on first.
    void addWaits(std::size_t rank, std::vector<Wait>& waits) const
    {
        std::stable_sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) { return a.endNs < b.endNs; });
        CoveredTime covered;
        for (const Wait& wait : waits)
            if (const std::int64_t ns = covered.add(wait.startNs, wait.endNs); ns > 0)
                if (const int step = stepAt(rank, wait.startNs); step >= 0)
                    (*wait.series)[rank].waiting[static_cast<std::size_t>(step)] += static_cast<double>(ns) * kSecondsOfOneNs;
    }

    const Recovered& m_recovered;
    MeasuredRun& m_run;
};

/// What every member spends at least is the transfer; the rest of each is waiting for the last. No clock is needed for that.
void RunReader::addCollectives(bool isByPurpose)
{
    const RunEvidence& evidence = m_recovered.evidence;
    const AxesOfGroups axes(m_recovered);
    const auto classOf = [&](Exchange exchange, const CommSpan& span, bool isWithWaiting) {
        CollectiveClass of;
        if (span.group >= 0) {
            of.axis = axes.of(span.group, exchange);
            of.members = evidence.groups[static_cast<std::size_t>(span.group)].ranks.size();
        }
        of.what = exchange == Exchange::unknown || (isByPurpose && !isTransfer(exchange)) ? evidence.names[span.name]
                                                                                          : std::string(exchangeName(exchange));
        of.isWithWaiting = isWithWaiting;
        return of;
    };
    std::vector<std::vector<bool>> isMet;
    for (const RankEvidence& rank : evidence.ranks)
        isMet.emplace_back(rank.comms.size(), false);
    std::vector<std::vector<Wait>> waits(evidence.ranks.size());
    const auto shortest = shortestOfMembers(evidence, m_recovered.meetings);
    for (const std::vector<Meeting>* list : {&m_recovered.meetings.meetings, &m_recovered.meetings.transfers})
        for (const Meeting& meeting : *list) {
            if (!isWhole(evidence, meeting))
                continue; // each of its members may wait for one that is not recorded
            for (const Part& part : meeting.parts) {
                const CommSpan& span = evidence.ranks[part.rank].comms[part.span];
                if (isMet[part.rank][part.span])
                    continue; // one of several that its kernel does at once
                isMet[part.rank][part.span] = true;
                const std::int64_t transfer = shortest[part.rank][part.span];
                // Both ends of a transfer are one class.
                const Exchange exchange = span.exchange == Exchange::sendReceive ? span.exchange : meeting.exchange;
                ClassSeries& series = m_run.collectives[classOf(exchange, span, false)];
                add(series, part.rank, span.startNs, transfer);
                waits[part.rank].push_back({span.startNs, span.endNs - transfer, &series});
            }
        }
    for (std::size_t r = 0; r < waits.size(); ++r)
        addWaits(r, waits[r]);
    const auto isToldApart = [&](const CollectiveClass& of) { // by others of its kind
        const auto found = m_run.collectives.find(of);
        return found != m_run.collectives.end() && !found->second.empty();
    };
    for (const Meeting& meeting : m_recovered.meetings.meetings) {
        if (isWhole(evidence, meeting))
            continue;
        const CommSpan& first = evidence.ranks[meeting.parts.front().rank].comms[meeting.parts.front().span];
        if (isToldApart(classOf(meeting.exchange, first, false)))
            for (const Part& part : meeting.parts)
                isMet[part.rank][part.span] = true;
    }
    for (std::size_t r = 0; r < evidence.ranks.size(); ++r)
        for (std::size_t i = 0; i < evidence.ranks[r].comms.size(); ++i)
            if (const CommSpan& span = evidence.ranks[r].comms[i]; !isMet[r][i])
                add(m_run.collectives[classOf(span.exchange, span, true)], r, span.startNs, span.endNs - span.startNs);
    std::erase_if(m_run.collectives, [](const auto& of) { return of.second.empty(); });
}

/// What both ends of a transfer are one class of: met, they are its send; recorded alone, each is its own.
std::string eitherEndOf(const std::string& what)
{
    return what == exchangeName(Exchange::receive) ? std::string(exchangeName(Exchange::send)) : what;
}

/// Classes of a run without an axis get the one that the other run has for groups of that size, if it has one only.
void nameAxesAs(const MeasuredRun& other, MeasuredRun& run)
{
    std::map<CollectiveClass, ClassSeries> named;
    for (auto& [of, series] : run.collectives) {
        std::set<std::string> axes;
        const auto isNamed = [](const CollectiveClass& one) { return !one.axis.empty() && one.axis != kAllToAllUse; };
        if (!isNamed(of) && !other.collectives.contains(of))
            for (const auto& [its, unused] : other.collectives)
                if (eitherEndOf(its.what) == eitherEndOf(of.what) && its.members == of.members && isNamed(its))
                    axes.insert(its.axis);
        CollectiveClass as = of;
        if (axes.size() == 1)
            as.axis = *axes.begin();
        if (run.collectives.contains(as))
            as = of;
        named.emplace(std::move(as), std::move(series));
    }
    run.collectives = std::move(named);
}

/// Where one run does not say among whom collectives of a kind were, and the other does, nothing tells which of them are the
/// same.
void leaveOutUntold(MeasuredRun& a, MeasuredRun& b, std::vector<std::string>& problems)
{
    const auto isUntold = [](const CollectiveClass& of) { return of.axis.empty() && of.members == 0; };
    std::set<std::string> untold; // what is exchanged
    for (const auto& [run, other] : {std::pair(&a, &b), std::pair(&b, &a)})
        for (const auto& [of, series] : run->collectives)
            if (isUntold(of))
                for (const auto& [its, unused] : other->collectives)
                    if (!isUntold(its) && eitherEndOf(its.what) == eitherEndOf(of.what))
                        untold.insert(eitherEndOf(of.what));
    if (untold.empty())
        return;
    for (MeasuredRun* run : {&a, &b})
        std::erase_if(run->collectives, [&](const auto& of) { return untold.contains(eitherEndOf(of.first.what)); });
    constexpr std::size_t kNamed = 3;
    std::string named;
    std::size_t count = 0;
    for (const std::string& what : untold)
        if (++count <= kNamed)
            named += (named.empty() ? "" : ", ") + what;
    problems.push_back(
        "one run does not say among which ranks its collectives are: " + countedText(static_cast<std::int64_t>(count), "kind") +
        " of them cannot be compared (" + named + (count > kNamed ? ", …" : "") + ")");
}

} // namespace

std::string CollectiveClass::text() const
{
    return what +
           (!axis.empty() && axis != kAllToAllUse ? " over " + axis
            : members == 0                        ? std::string(" of an unknown group")
                                                  : " over " + countedText(static_cast<std::int64_t>(members), "rank")) +
           (isWithWaiting ? ", waiting included" : "");
}

MeasuredRun::MeasuredRun(const Recovered& recovered, bool isByPurpose)
{
    const auto& all = recovered.steps.steps;
    kept = recovered.steps.usual();
    for (const std::size_t i : kept)
        stepSeconds.push_back(all[i].seconds());
    times = meanTimesOf(recovered, kept);
    RunReader reader(recovered, *this);
    reader.addKernels();
    reader.addCollectives(isByPurpose);
}

void makeCollectivesAlike(MeasuredRun& a, MeasuredRun& b, std::vector<std::string>& problems)
{
    nameAxesAs(b, a);
    nameAxesAs(a, b);
    leaveOutUntold(a, b, problems);
    std::set<CollectiveClass> all; // once each, whatever its waiting
    for (const MeasuredRun* run : {&a, &b})
        for (const auto& [of, series] : run->collectives) {
            CollectiveClass either = of;
            either.what = eitherEndOf(of.what);
            either.isWithWaiting = false;
            all.insert(std::move(either));
        }
    std::string apart;
    std::size_t count = 0;
    for (const CollectiveClass& met : all) {
        CollectiveClass unmet = met, received = met;
        unmet.isWithWaiting = received.isWithWaiting = true;
        if (met.what == exchangeName(Exchange::send))
            received.what = exchangeName(Exchange::receive);
        const auto ways = [&](const MeasuredRun& run) {
            return std::pair(run.collectives.contains(met),
                             run.collectives.contains(unmet) || run.collectives.contains(received));
        };
        const auto ofA = ways(a), ofB = ways(b), none = std::pair(false, false);
        if (ofA == ofB || ofA == none || ofB == none)
            continue;
        for (MeasuredRun* run : {&a, &b}) {
            run->collectives.erase(met);
            run->collectives.erase(unmet);
            run->collectives.erase(received);
        }
        constexpr std::size_t kNamed = 3;
        if (++count <= kNamed)
            apart += (apart.empty() ? "" : ", ") + met.text();
    }
    if (count > 0)
        problems.push_back(
            "waiting is in the times of one run, whose other members are not recorded, and not in those of the other: " +
            countedText(static_cast<std::int64_t>(count), "kind") + " of collectives cannot be compared (" + apart +
            (count > 3 ? ", …" : "") + ")");
}

} // namespace sim
