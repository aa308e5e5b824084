#include "sim/recovery/cause_walk.h"

#include "sim/cancel.h"

#include <algorithm>
#include <array>

namespace sim {
namespace {

std::uint64_t keyOf(std::size_t rank, std::size_t comm)
{
    return (static_cast<std::uint64_t>(rank) << 32U) | comm;
}

const Meeting* found(const std::unordered_map<std::uint64_t, const Meeting*>& map, std::uint64_t key)
{
    const auto of = map.find(key);
    return of == map.end() ? nullptr : of->second;
}

} // namespace

std::string_view pathPartText(PathPart part)
{
    constexpr std::array<std::string_view, 5> kTexts{"computing", "copying", "communicating", "waiting for the host", "idle"};
    return kTexts[static_cast<std::size_t>(part)];
}

CauseWalk::CauseWalk(const Recovered& recovered, std::size_t step)
    : m_evidence(recovered.evidence), m_window(recovered.windowOf(step))
{
    m_spans.resize(m_window.size());
    m_beginNs = INT64_MAX;
    for (std::size_t r = 0; r < m_window.size(); ++r) {
        checkCancelled();
        m_beginNs = std::min(m_beginNs, m_window[r].first);
        std::vector<DeviceSpan>& spans = m_spans[r];
        const auto take = [&](const auto& of, bool isComm) {
            auto first = std::lower_bound(of.begin(), of.end(), m_window[r].first,
                                          [](const auto& span, std::int64_t ns) { return span.startNs < ns; });
            for (; first != of.end() && first->startNs <= m_window[r].second; ++first)
                spans.push_back({static_cast<std::uint32_t>(first - of.begin()), isComm});
        };
        take(m_evidence.ranks[r].work, false);
        take(m_evidence.ranks[r].comms, true);
        std::sort(spans.begin(), spans.end(), [&](DeviceSpan a, DeviceSpan b) {
            const std::int64_t endA = endOf(r, a), endB = endOf(r, b);
            return endA != endB ? endA < endB : startOf(r, a) < startOf(r, b);
        });
        m_count += spans.size();
    }
    if (!recovered.clock.isAligned)
        return;
    const auto isWithin = [this](const Part& part) {
        if (part.rank >= m_window.size())
            return false;
        const std::int64_t startNs = m_evidence.ranks[part.rank].comms[part.span].startNs;
        return startNs >= m_window[part.rank].first && startNs <= m_window[part.rank].second;
    };
    for (const Meeting& meeting : recovered.meetings.meetings)
        if (std::any_of(meeting.parts.begin(), meeting.parts.end(), isWithin) && endsForAll(m_evidence, meeting))
            for (const Part& part : meeting.parts)
                m_meetingOf[keyOf(part.rank, part.span)] = &meeting;
    const auto sentNs = [this](const Meeting& transfer) {
        return m_evidence.ranks[transfer.parts[0].rank].comms[transfer.parts[0].span].startNs;
    };
    for (const Meeting& transfer : recovered.meetings.transfers)
        if (isWithin(transfer.parts[1])) {
            const Meeting*& of = m_receiveOf[keyOf(transfer.parts[1].rank, transfer.parts[1].span)];
            if (of == nullptr || sentNs(transfer) > sentNs(*of)) // of several at once the last to be sent
                of = &transfer;
        }
}

std::int64_t CauseWalk::startOf(std::size_t rank, DeviceSpan span) const
{
    const RankEvidence& of = m_evidence.ranks[rank];
    return span.isComm ? of.comms[span.place].startNs : of.work[span.place].startNs;
}

std::int64_t CauseWalk::endOf(std::size_t rank, DeviceSpan span) const
{
    const RankEvidence& of = m_evidence.ranks[rank];
    return span.isComm ? of.comms[span.place].endNs : of.work[span.place].endNs;
}

std::optional<CauseWalk::End> CauseWalk::lastEndOf(std::uint32_t rank, std::int64_t byNs) const
{
    const DeviceSpan* const last = rank >= m_spans.size() ? nullptr : before(rank, byNs);
    return last == nullptr ? std::nullopt : std::optional(End{rank, endOf(rank, *last)});
}

std::optional<CauseWalk::End> CauseWalk::lastEnd(std::int64_t byNs) const
{
    std::optional<End> last;
    for (std::uint32_t rank = 0; rank < m_spans.size(); ++rank)
        if (const auto end = lastEndOf(rank, byNs); end && (!last || end->ns > last->ns))
            last = end;
    return last;
}

const Meeting* CauseWalk::meetingOf(std::uint32_t rank, std::uint32_t comm) const
{
    return found(m_meetingOf, keyOf(rank, comm));
}

const Meeting* CauseWalk::transferOf(std::uint32_t rank, std::uint32_t comm) const
{
    return found(m_receiveOf, keyOf(rank, comm));
}

const DeviceSpan* CauseWalk::before(std::size_t rank, std::int64_t at) const
{
    const std::vector<DeviceSpan>& spans = m_spans[rank];
    auto after =
        std::upper_bound(spans.begin(), spans.end(), at, [&](std::int64_t t, DeviceSpan span) { return t < endOf(rank, span); });
    // What lasts no time leads nowhere.
    while (after != spans.begin()) {
        --after;
        if (endOf(rank, *after) > startOf(rank, *after))
            return &*after;
    }
    return nullptr;
}

const DeviceSpan* CauseWalk::computingAt(std::size_t rank, std::int64_t at) const
{
    constexpr int kMostStreams = 64; // of each the first to end later may run
    const std::vector<DeviceSpan>& spans = m_spans[rank];
    auto after =
        std::upper_bound(spans.begin(), spans.end(), at, [&](std::int64_t t, DeviceSpan span) { return t < endOf(rank, span); });
    for (int i = 0; i < kMostStreams && after != spans.end(); ++i, ++after)
        if (!after->isComm && startOf(rank, *after) < at && m_evidence.ranks[rank].work[after->place].work == DeviceWork::kernel)
            return &*after;
    return nullptr;
}

CauseWalk::Cause CauseWalk::causeOf(std::uint32_t rank, DeviceSpan span) const
{
    const RankEvidence& own = m_evidence.ranks[rank];
    const std::int64_t from = startOf(rank, span);
    if (!span.isComm)
        return {from, rank, own.work[span.place].launchNs};
    Cause cause{from, rank, own.comms[span.place].launchNs};
    const auto spanOfPart = [this](const Part& part) -> const CommSpan& { return m_evidence.ranks[part.rank].comms[part.span]; };
    if (const Meeting* meeting = meetingOf(rank, span.place)) {
        for (const Part& part : meeting->parts)
            if (const CommSpan& of = spanOfPart(part); of.startNs > cause.fromNs)
                cause = {of.startNs, part.rank, of.launchNs};
    } else if (const Meeting* transfer = transferOf(rank, span.place)) {
        const Part& send = transfer->parts[0];
        // Recorders that begin a receive with its transfer show both starts as one: then what ended last led to it.
        const auto ended = [&](std::size_t r) {
            const DeviceSpan* previous = before(r, from);
            return previous == nullptr ? INT64_MIN : endOf(r, *previous);
        };
        const CommSpan& sent = spanOfPart(send);
        if (sent.startNs > from || (sent.startNs == from && ended(send.rank) > ended(rank)))
            return {sent.startNs, send.rank, sent.launchNs};
    }
    return cause;
}

void CauseWalk::back(End at, std::int64_t launchNs, std::int64_t beginNs, const Tell& tell) const
{
    std::uint32_t rank = at.rank;
    // `until`: the path is known from here to the end. Clocks that differ by microseconds may not lead it forward again.
    std::int64_t until = at.ns;
    const auto add = [&](std::int64_t from, PathSegment segment, const DeviceSpan* span) {
        segment.rank = rank;
        segment.startNs = std::max(from, beginNs);
        segment.endNs = until;
        if (segment.endNs > segment.startNs)
            tell(segment, span);
        until = std::min(until, from);
    };
    for (std::size_t budget = 2 * m_count + 16; until > beginNs && budget > 0; --budget) {
        const DeviceSpan* span = before(rank, until);
        const std::int64_t ended = span == nullptr ? std::max(beginNs, m_window[rank].first) : endOf(rank, *span);
        // What began in the middle of a kernel did so while its rank computed.
        if (const DeviceSpan* const running = ended < until ? computingAt(rank, until) : nullptr; running != nullptr)
            span = running;
        else if (ended < until) // the gap until the host asked is the host's; what then passes until the kernel begins is too
            add(ended, {.part = launchNs > ended ? PathPart::launching : PathPart::idling}, nullptr);
        if (span == nullptr || until <= beginNs)
            break;
        const RankEvidence& of = m_evidence.ranks[rank];
        const Cause cause = causeOf(rank, *span);
        if (span->isComm)
            add(cause.fromNs,
                {.part = PathPart::communicating, .name = of.comms[span->place].name, .group = of.comms[span->place].group},
                span);
        else
            add(cause.fromNs,
                {.part = of.work[span->place].work == DeviceWork::copy ? PathPart::copying : PathPart::computing,
                 .name = of.work[span->place].name},
                span);
        launchNs = cause.launchNs;
        rank = cause.rank;
    }
    if (until > beginNs)
        add(beginNs, {}, nullptr);
}

} // namespace sim
