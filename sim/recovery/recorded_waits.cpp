#include "sim/recovery/recorded_waits.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

/// From what the walk tells to links: what kernels of one pass wait for inside it belongs to them, as do copies between them.
class LinkMaker {
public:
    struct Work {
        std::optional<Action> pass;
        std::int64_t passStartNs = INT64_MAX;
        bool isOptimizer = false, isCopy = false;
        int pipelineRank = -1;
        std::uint32_t rank = 0;
        /// Of one pass of a stage, at which its ranks may have worked in turn; of no pass, of one rank.
        bool isSame(const Work& o) const
        {
            return pass == o.pass && isOptimizer == o.isOptimizer && isCopy == o.isCopy &&
                   (pass ? pipelineRank == o.pipelineRank : rank == o.rank);
        }
    };
    LinkMaker(RecordedWait& out, std::int64_t originNs) : m_out(out), m_originNs(originNs) {}

    void computing(const PathSegment& segment, const Work& work)
    {
        if (m_isOpen && m_work.isSame(work)) {
            RecordedWaitLink& link = m_out.links.back();
            for (const Pending& one : m_pending)
                if (one.segment.part == PathPart::launching)
                    link.hostNs += one.segment.endNs - one.segment.startNs;
            m_pending.clear();
            extend(segment, work);
        } else if (m_isOpen && work.isCopy && !m_work.isCopy) {
            m_pending.push_back({segment, 0});
        } else {
            flush();
            open(segment, work);
        }
    }
    /// `mayBeInside` of a pass: what axes do inside passes.
    void communicating(const PathSegment& segment, std::uint32_t span, bool mayBeInside)
    {
        m_pending.push_back({segment, span});
        if (!m_isOpen || m_work.isCopy || !mayBeInside)
            flush();
    }
    void between(const PathSegment& segment)
    {
        m_pending.push_back({segment, 0});
        if (!m_isOpen)
            flush();
    }
    void flush()
    {
        for (const Pending& one : std::exchange(m_pending, {})) {
            const std::int64_t took = one.segment.endNs - one.segment.startNs;
            m_isOpen = false;
            if (one.segment.part == PathPart::idling) {
                if (took > m_longestUnexplained) {
                    m_longestUnexplained = took;
                    m_out.unexplainedRank = one.segment.rank;
                }
                m_out.unexplainedNs += took;
            } else if (one.segment.part == PathPart::computing || one.segment.part == PathPart::copying) {
                open(one.segment, {.pass = {}, .isCopy = true, .rank = one.segment.rank});
            } else if (one.segment.part == PathPart::communicating) {
                m_out.links.push_back(linkOf(one.segment, RecordedWaitLink::Kind::communicating));
                m_out.links.back().span = one.span;
            } else if (static_cast<double>(took) < kWaitWorthALink * static_cast<double>(m_out.gap.lengthNs())) {
                m_out.hostNs += took;
            } else {
                m_out.links.push_back(linkOf(one.segment, RecordedWaitLink::Kind::launching));
            }
        }
    }

private:
    struct Pending {
        PathSegment segment;
        std::uint32_t span = 0;
    };
    void open(const PathSegment& segment, const Work& work)
    {
        m_isOpen = true;
        m_work = work;
        m_out.links.push_back(linkOf(segment, RecordedWaitLink::Kind::computing));
        m_out.links.back().pass = work.pass;
        m_out.links.back().isOptimizer = work.isOptimizer;
        m_out.links.back().isCopy = work.isCopy;
        extend(segment, work);
    }
    void extend(const PathSegment& segment, const Work& work)
    {
        const std::int64_t took = segment.endNs - segment.startNs;
        RecordedWaitLink& link = m_out.links.back();
        link.beginNs = segment.startNs - m_originNs;
        ++link.kernels;
        link.isRest = work.passStartNs < segment.startNs - kShortestWaitNs;
        if (took > link.longest) {
            link.longest = took;
            link.name = segment.name;
            link.rank = segment.rank;
        }
    }
    RecordedWaitLink linkOf(const PathSegment& segment, RecordedWaitLink::Kind kind) const
    {
        return {.kind = kind,
                .rank = segment.rank,
                .beginNs = segment.startNs - m_originNs,
                .endNs = segment.endNs - m_originNs,
                .pass = {},
                .name = segment.name};
    }

    RecordedWait& m_out;
    std::int64_t m_originNs;
    std::int64_t m_longestUnexplained = 0;
    std::vector<Pending> m_pending; ///< of the pass that goes on behind them, or not
    bool m_isOpen = false;          ///< the last link is of kernels, and may go on
    Work m_work;
};

} // namespace

RecordedWaits::RecordedWaits(std::shared_ptr<const Recovered> recovered, std::size_t step)
    : m_recovered(std::move(recovered)), m_evidence(m_recovered->evidence), m_step(m_recovered->steps.steps.at(step)),
      m_stepIndex(step), m_walk(*m_recovered, step), m_axes(*m_recovered),
      m_endNs(m_step.isOneClock ? m_step.endNs - m_step.startNs : m_step.longestNs), m_ofRanks(m_evidence.ranks.size())
{
    if (const auto last = m_walk.lastEnd(); last && m_step.isOneClock)
        m_endNs = std::max(m_endNs, last->ns - m_step.startNs);
}

RecordedWaits::OfRank& RecordedWaits::of(std::uint32_t rank)
{
    std::unique_ptr<OfRank>& known = m_ofRanks[rank];
    if (known)
        return *known;
    known = std::make_unique<OfRank>(OfRank{.passes = StepPasses(*m_recovered, m_stepIndex, rank), .gaps = {}});
    for (const StepPass& pass : known->passes.all())
        known->hasStages |= pass.action.stage != known->passes.all().front().action.stage;
    if (!whyNone(rank).empty()) {
        known->gaps = communicationsOf(rank);
        return *known;
    }
    const std::vector<WorkSpan>& work = m_evidence.ranks[rank].work;
    const bool isOneClock = m_recovered->clock.isAligned; // else a rank's own time is all there is
    std::int64_t busyUntil = isOneClock ? m_step.startNs : m_step.rankStartNs[rank];
    const WorkSpan* last = nullptr;
    for (auto span = std::lower_bound(work.begin(), work.end(), m_step.rankStartNs[rank],
                                      [](const WorkSpan&of, std::int64_t ns) { return of.startNs < ns; });
         span != work.end() && span->startNs < m_step.rankEndNs[rank]; ++span) {
        if (span->work != DeviceWork::kernel)
            continue;
        if (span->startNs - busyUntil >= kShortestWaitNs) {
            const StepPass* pass = last == nullptr ? nullptr : known->passes.of(*last);
            known->gaps.push_back({.rank = rank,
                                   .beginNs = busyUntil - m_step.startNs,
                                   .endNs = span->startNs - m_step.startNs,
                                   .next = static_cast<std::uint32_t>(span - work.begin()),
                                   .isInsidePass = pass != nullptr && pass == known->passes.of(*span)});
            if (known->gaps.back().isInsidePass)
                known->insidePassesNs += known->gaps.back().lengthNs();
        }
        if (last == nullptr || span->endNs > busyUntil)
            last = &*span;
        busyUntil = std::max(busyUntil, span->endNs);
    }
    const std::int64_t endNs = isOneClock ? m_endNs + m_step.startNs : m_step.rankEndNs[rank];
    if (last != nullptr && endNs - busyUntil >= kShortestWaitNs)
        known->gaps.push_back({.rank = rank, .beginNs = busyUntil - m_step.startNs, .endNs = endNs - m_step.startNs, .next = {}});
    return *known;
}

/// In the order of their begins and of their ends: none that lies within another.
std::vector<RecordedGap> RecordedWaits::communicationsOf(std::uint32_t rank) const
{
    std::vector<RecordedGap> gaps;
    const std::vector<CommSpan>& comms = m_evidence.ranks[rank].comms;
    for (auto span = std::lower_bound(comms.begin(), comms.end(), m_step.rankStartNs[rank],
                                      [](const CommSpan&one, std::int64_t ns) { return one.startNs < ns; });
         span != comms.end() && span->startNs < m_step.rankEndNs[rank]; ++span) {
        const std::int64_t beginNs = span->startNs - m_step.startNs, endNs = span->endNs - m_step.startNs;
        if (endNs - beginNs < kShortestWaitNs || (!gaps.empty() && endNs <= gaps.back().endNs))
            continue;
        gaps.push_back({.rank = rank,
                        .beginNs = beginNs,
                        .endNs = endNs,
                        .next = {},
                        .comm = static_cast<std::uint32_t>(span - comms.begin())});
    }
    return gaps;
}

std::optional<RecordedWait> RecordedWaits::longestIn(std::uint32_t rank, std::int64_t fromNs, std::int64_t toNs)
{
    const std::vector<RecordedGap>& gaps = of(rank).gaps;
    const RecordedGap* longest = nullptr;
    auto gap = std::upper_bound(gaps.begin(), gaps.end(), fromNs,
                                [](std::int64_t ns, const RecordedGap& one) { return ns < one.endNs; });
    for (; gap != gaps.end() && (gap->beginNs <= fromNs || gap->beginNs < toNs); ++gap)
        if (longest == nullptr || gap->lengthNs() > longest->lengthNs())
            longest = &*gap;
    return longest == nullptr ? std::nullopt : std::optional(waitOf(*longest));
}

std::optional<RecordedWait> RecordedWaits::firstFrom(std::uint32_t rank, std::int64_t fromNs, std::int64_t leastNs)
{
    const std::vector<RecordedGap>& gaps = of(rank).gaps;
    const auto gap = std::find_if(gaps.begin(), gaps.end(),
                                  [&](const RecordedGap& one) { return one.beginNs >= fromNs && one.lengthNs() >= leastNs; });
    return gap == gaps.end() ? std::nullopt : std::optional(waitOf(*gap));
}

std::optional<RecordedWait> RecordedWaits::lastUntil(std::uint32_t rank, std::int64_t untilNs, std::int64_t leastNs)
{
    const std::vector<RecordedGap>& gaps = of(rank).gaps;
    const auto gap = std::find_if(gaps.rbegin(), gaps.rend(),
                                  [&](const RecordedGap& one) { return one.endNs <= untilNs && one.lengthNs() >= leastNs; });
    return gap == gaps.rend() ? std::nullopt : std::optional(waitOf(*gap));
}

std::string RecordedWaits::whyNone(std::uint32_t rank) const
{
    const std::vector<WorkSpan>& work = m_evidence.ranks[rank].work;
    if (std::any_of(work.begin(), work.end(), [](const WorkSpan& span) { return span.work == DeviceWork::kernel; }))
        return {};
    return "why: of rank " + std::to_string(m_evidence.ranks[rank].rank) +
           " no kernel was recorded, only communication, so when it computes and when it waits is not known";
}

RecordedWait RecordedWaits::waitOf(const RecordedGap& gap)
{
    RecordedWait wait{.gap = gap, .links = {}};
    CauseWalk::End from{gap.rank, gap.endNs + m_step.startNs};
    std::int64_t launchNs = INT64_MIN;
    if (gap.next)
        launchNs = m_evidence.ranks[gap.rank].work[*gap.next].launchNs;
    else if (gap.comm)
        launchNs = INT64_MIN;
    else if (const auto last = m_recovered->clock.isAligned ? m_walk.lastEnd() : m_walk.lastEndOf(gap.rank))
        from.rank = last->rank;
    LinkMaker links(wait, m_step.startNs);
    m_walk.back(from, launchNs, gap.beginNs + m_step.startNs, [&](const PathSegment& segment, const DeviceSpan* span) {
        const RankEvidence& rank = m_evidence.ranks[segment.rank];
        if (span == nullptr)
            return links.between(segment);
        if (span->isComm) {
            const CommSpan& comm = rank.comms[span->place];
            const std::string& axes = m_axes.of(comm.group, comm.exchange);
            return links.communicating(segment, span->place,
                                       axes == "tp" || axes == "cp" || axes == "ep" || axes == kAllToAllUse);
        }
        const WorkSpan& work = rank.work[span->place];
        LinkMaker::Work made{.pass = {},
                             .isOptimizer = isOptimizer(work),
                             .isCopy = work.work == DeviceWork::copy,
                             .pipelineRank = pipelineRankOf(segment.rank),
                             .rank = segment.rank};
        if (const StepPass* pass = made.isOptimizer || made.isCopy ? nullptr : of(segment.rank).passes.of(work)) {
            made.pass = pass->action;
            made.pass->overlapsNext = false;
            if (of(segment.rank).passes.onDeviceAt(work.startNs) != nullptr)
                made.passStartNs = pass->startNs;
        }
        links.computing(segment, made);
    });
    links.flush();
    return wait;
}

/// As who launched it says, or the name in Rankscope's own files.
bool RecordedWaits::isOptimizer(const WorkSpan& span) const
{
    return span.opClass == OpClass::optimizer || m_evidence.names[span.name] == "optimizer";
}

/// -1 without a pipeline.
int RecordedWaits::pipelineRankOf(std::uint32_t rank) const
{
    const RecoveredAxis* const pipeline = m_recovered->axes.find("pp");
    return pipeline == nullptr || pipeline->size < 2 ? -1 : RecoveredAxes::coordinate(*pipeline, m_evidence.ranks[rank].rank);
}

} // namespace sim
