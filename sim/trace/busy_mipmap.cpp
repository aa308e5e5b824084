#include "sim/trace/busy_mipmap.h"

#include <algorithm>
#include <cassert>

namespace sim {
namespace {

bool anyOverlap(const Track& track)
{
    for (std::size_t i = 1; i < track.size(); ++i)
        if (track.startNs[i] < track.startNs[i - 1] + track.durationNs[i - 1])
            return true;
    return false;
}

/// One piece of a span, as long as it is on top.
void addPiece(Track& flat, std::int64_t beginNs, std::int64_t endNs, std::uint32_t kind)
{
    if (endNs <= beginNs)
        return;
    flat.startNs.push_back(beginNs);
    flat.durationNs.push_back(endNs - beginNs);
    flat.kind.push_back(kind);
}

} // namespace

BusyMipmap::BusyMipmap(const Track& track, const std::vector<SpanKind>& kinds)
{
    assert(std::is_sorted(track.startNs.begin(), track.startNs.end()));
    m_classOfKind.reserve(kinds.size());
    for (const SpanKind& kind : kinds)
        m_classOfKind.push_back(static_cast<std::uint8_t>(kind.opClass));

    const Track* source = &track;
    if (anyOverlap(track)) {
        flatten(track);
        source = m_flat.get();
    }
    m_startNs = source->startNs;
    m_durationNs = source->durationNs;
    m_kind = source->kind;
    const std::size_t spans = m_startNs.size();
    if (spans == 0)
        return;

    m_totals.reserve((spans + kBlock - 1) / kBlock);
    BusyByClass total{};
    for (std::size_t i = 0; i < spans; ++i) {
        if (i % kBlock == 0)
            m_totals.push_back(total);
        total[m_classOfKind[m_kind[i]]] += m_durationNs[i];
    }

    // About one slot for 8 spans: half a byte a span. Never fewer than two: no slot holds both sides of time 0.
    const auto slotLimit = static_cast<std::int64_t>(spans / 8 + 2);
    while ((m_startNs.back() >> m_slotShift) - (m_startNs.front() >> m_slotShift) >= slotLimit)
        ++m_slotShift;
    m_firstNs = m_startNs.front() >> m_slotShift << m_slotShift;
    const auto slots = static_cast<std::size_t>((m_startNs.back() - m_firstNs) >> m_slotShift) + 1;
    m_firstOfSlot.reserve(slots + 1);
    for (std::size_t i = 0; i < spans; ++i) {
        const auto slot = static_cast<std::size_t>((m_startNs[i] - m_firstNs) >> m_slotShift);
        while (m_firstOfSlot.size() <= slot)
            m_firstOfSlot.push_back(static_cast<std::uint32_t>(i));
    }
    m_firstOfSlot.push_back(static_cast<std::uint32_t>(spans));
}

/// Cuts spans that overlap into pieces: at each instant the span that began last and still runs.
void BusyMipmap::flatten(const Track& track)
{
    struct Running {
        std::int64_t endNs;
        std::uint32_t kind;
    };
    m_flat = std::make_unique<Track>();
    std::vector<Running> running; // the top is what is seen
    std::int64_t now = 0;
    const auto advance = [&](std::int64_t untilNs, bool toTheEnd) {
        while (!running.empty() && (toTheEnd || now < untilNs)) {
            const Running top = running.back();
            if (top.endNs <= now) {
                running.pop_back();
                continue;
            }
            const std::int64_t pieceEnd = toTheEnd ? top.endNs : std::min(top.endNs, untilNs);
            addPiece(*m_flat, now, pieceEnd, top.kind);
            now = pieceEnd;
        }
    };
    for (std::size_t i = 0; i < track.size(); ++i) {
        advance(track.startNs[i], false);
        now = track.startNs[i];
        running.push_back({now + track.durationNs[i], track.kind[i]});
    }
    advance(0, true);
    m_flat->startNs.shrink_to_fit();
    m_flat->durationNs.shrink_to_fit();
    m_flat->kind.shrink_to_fit();
}

std::size_t BusyMipmap::startedBy(std::int64_t timeNs) const
{
    if (m_startNs.empty() || timeNs < m_startNs.front())
        return 0;
    if (timeNs >= m_startNs.back())
        return m_startNs.size();
    const auto slot = static_cast<std::size_t>((timeNs - m_firstNs) >> m_slotShift);
    const auto first = m_startNs.begin() + m_firstOfSlot[slot];
    const auto last = m_startNs.begin() + m_firstOfSlot[slot + 1];
    return static_cast<std::size_t>(std::upper_bound(first, last, timeNs) - m_startNs.begin());
}

BusyByClass BusyMipmap::busyUntil(std::int64_t timeNs) const
{
    const std::size_t started = startedBy(timeNs);
    if (started == 0)
        return {};
    const std::size_t last = started - 1; // the only one that may still run
    const std::size_t block = last / kBlock;
    BusyByClass busy = m_totals[block];
    for (std::size_t i = block * kBlock; i < last; ++i)
        busy[m_classOfKind[m_kind[i]]] += m_durationNs[i];
    busy[m_classOfKind[m_kind[last]]] += std::min(m_durationNs[last], timeNs - m_startNs[last]);
    return busy;
}

BusyByClass BusyMipmap::busyNs(std::int64_t beginNs, std::int64_t endNs) const
{
    if (endNs <= beginNs)
        return {};
    BusyByClass busy = busyUntil(endNs);
    const BusyByClass before = busyUntil(beginNs);
    for (std::size_t c = 0; c < busy.size(); ++c)
        busy[c] -= before[c];
    return busy;
}

/// From edge to edge it goes on where it is: between two of them there are mostly few spans, or none.
class BusyMipmap::Walk {
public:
    explicit Walk(const BusyMipmap& of) : m_of(of) {}
    /// Busy time before a time that is not before the last one asked for.
    BusyByClass until(std::int64_t timeNs)
    {
        const auto& starts = m_of.m_startNs;
        if (starts.empty() || timeNs < starts.front())
            return {};
        const std::size_t furthest = std::min(m_last + kBlock, starts.size() - 1);
        while (m_last < furthest && starts[m_last + 1] <= timeNs) {
            m_before[m_of.classOf(m_last)] += m_of.m_durationNs[m_last];
            ++m_last;
        }
        if (m_last == furthest && m_last + 1 < starts.size() && starts[m_last + 1] <= timeNs)
            jump(m_of.startedBy(timeNs) - 1);
        BusyByClass busy = m_before;
        busy[m_of.classOf(m_last)] += std::min(m_of.m_durationNs[m_last], timeNs - starts[m_last]);
        return busy;
    }

private:
    void jump(std::size_t span)
    {
        m_last = span;
        m_before = m_of.m_totals[span / kBlock];
        for (std::size_t i = span / kBlock * kBlock; i < span; ++i)
            m_before[m_of.classOf(i)] += m_of.m_durationNs[i];
    }
    const BusyMipmap& m_of;
    std::size_t m_last = 0; ///< the only span that may still run
    BusyByClass m_before{}; ///< of all spans before it
};

void BusyMipmap::columns(std::span<const std::int64_t> edgesNs, std::span<BusyByClass> out) const
{
    assert(edgesNs.size() == out.size() + 1);
    Walk walk(*this);
    BusyByClass before = walk.until(edgesNs.front());
    for (std::size_t i = 0; i < out.size(); ++i) {
        assert(edgesNs[i] <= edgesNs[i + 1]);
        const BusyByClass busy = walk.until(edgesNs[i + 1]);
        for (std::size_t c = 0; c < busy.size(); ++c)
            out[i][c] = busy[c] - before[c];
        before = busy;
    }
}

std::size_t BusyMipmap::memoryBytes() const
{
    std::size_t bytes =
        m_classOfKind.capacity() + m_totals.capacity() * sizeof(BusyByClass) + m_firstOfSlot.capacity() * sizeof(std::uint32_t);
    if (m_flat)
        bytes += m_flat->startNs.capacity() * sizeof(std::int64_t) + m_flat->durationNs.capacity() * sizeof(std::int64_t) +
                 m_flat->kind.capacity() * sizeof(std::uint32_t);
    return bytes;
}

} // namespace sim
