#include "app/step/instant.h"

#include "sim/cancel.h"
#include "sim/index.h"
#include "sim/simulate/action_class.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace app {
namespace {

using sim::asIndex;

std::int64_t endOf(const sim::Track& track, std::size_t span)
{
    return track.startNs[span] + track.durationNs[span];
}

bool isOneAfterTheOther(const sim::Track& track)
{
    for (std::size_t span = 1; span < track.size(); ++span)
        if (track.startNs[span] < endOf(track, span - 1))
            return false;
    return true;
}

/// The first span that starts later.
std::size_t after(const sim::Track& track, std::int64_t timeNs)
{
    return asIndex(std::upper_bound(track.startNs.begin(), track.startNs.end(), timeNs) - track.startNs.begin());
}

} // namespace

Instants::Instants(TracePtr trace) : m_trace(std::move(trace)), m_rows(m_trace->processes.size())
{
    for (std::uint32_t t = 0; t < m_trace->tracks.size(); ++t) {
        sim::checkCancelled();
        const sim::Track& track = m_trace->tracks[t];
        if (asIndex(track.process) < m_rows.size()) {
            Row& row = m_rows[asIndex(track.process)];
            if (track.role == sim::TrackRole::actions && row.actions == kNone)
                row.actions = t;
            else if (track.role == sim::TrackRole::communication)
                row.communication.push_back(t);
        }
        const bool asked = track.role == sim::TrackRole::actions || track.role == sim::TrackRole::communication;
        m_orders.push_back(asked ? orderOf(track) : Order{});
        m_knowsTransfers = m_knowsTransfers || track.role == sim::TrackRole::communication;
    }
    findMessages();
}

Instants::Order Instants::orderOf(const sim::Track& track)
{
    Order order;
    if (isOneAfterTheOther(track))
        return order;
    order.span.resize(track.size());
    std::iota(order.span.begin(), order.span.end(), 0U);
    if (!std::is_sorted(track.startNs.begin(), track.startNs.end()))
        std::stable_sort(order.span.begin(), order.span.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return track.startNs[a] < track.startNs[b]; });
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();
    for (const std::uint32_t span : order.span) {
        order.startNs.push_back(track.startNs[span]);
        order.latestEndNs.push_back(latest = std::max(latest, endOf(track, span)));
    }
    return order;
}

std::optional<Doing> Instants::running(std::uint32_t trackIndex, std::int64_t timeNs) const
{
    const sim::Track& track = m_trace->tracks[trackIndex];
    const Order& order = m_orders[trackIndex];
    const auto doing = [&](std::size_t span) {
        const auto share = static_cast<double>(timeNs - track.startNs[span]) / static_cast<double>(track.durationNs[span]);
        return Doing{
            {trackIndex, static_cast<std::uint32_t>(span)}, m_trace->kinds[track.kind[span]].opClass, static_cast<float>(share)};
    };
    if (order.span.empty()) {
        const std::size_t next = after(track, timeNs);
        return next > 0 && endOf(track, next - 1) > timeNs ? std::optional(doing(next - 1)) : std::nullopt;
    }
    auto i = std::upper_bound(order.startNs.begin(), order.startNs.end(), timeNs) - order.startNs.begin();
    // Spans of a row hardly ever overlap; where they do, the one that began last counts.
    while (i-- > 0 && order.latestEndNs[asIndex(i)] > timeNs) {
        const std::uint32_t span = order.span[asIndex(i)];
        if (endOf(track, span) > timeNs)
            return doing(span);
    }
    return std::nullopt;
}

std::optional<Doing> Instants::action(int process, std::int64_t timeNs) const
{
    const std::uint32_t track = m_rows[asIndex(process)].actions;
    return track == kNone ? std::nullopt : running(track, timeNs);
}

std::optional<Doing> Instants::communication(int process, std::int64_t timeNs) const
{
    std::optional<Doing> last;
    std::int64_t lastStart = 0;
    for (const std::uint32_t track : m_rows[asIndex(process)].communication)
        if (const std::optional<Doing> now = running(track, timeNs)) {
            const std::int64_t start = m_trace->tracks[track].startNs[now->span.span];
            if (!last || start > lastStart) {
                last = now;
                lastStart = start;
            }
        }
    return last;
}

const char* opClassLetter(sim::OpClass c)
{
    switch (c) {
    case sim::OpClass::forward:
        return "F";
    case sim::OpClass::backward:
        return "B";
    case sim::OpClass::backwardInput:
        return "I";
    case sim::OpClass::backwardWeight:
        return "W";
    case sim::OpClass::recompute:
        return "R";
    case sim::OpClass::optimizer:
        return "O";
    default:
        return "";
    }
}

std::string Instants::label(SpanRef ref) const
{
    return sim::spanName(*m_trace, ref.track, ref.span);
}

/// The last action of that stage and micro-batch that has begun by then: it may send before it is over.
std::optional<std::uint32_t> Instants::actionBefore(int process, std::int64_t timeNs, int stage, std::int32_t microbatch) const
{
    const std::uint32_t row = m_rows[asIndex(process)].actions;
    if (row == kNone)
        return std::nullopt;
    const sim::Track& track = m_trace->tracks[row];
    for (std::size_t i = after(track, timeNs); i-- > 0;)
        if (track.microbatch[i] == microbatch && m_trace->kinds[track.kind[i]].stage == stage)
            return static_cast<std::uint32_t>(i);
    return std::nullopt;
}

/// The first one that has not begun before.
std::optional<std::uint32_t> Instants::actionAfter(int process, std::int64_t timeNs, int stage, std::int32_t microbatch) const
{
    const std::uint32_t row = m_rows[asIndex(process)].actions;
    if (row == kNone)
        return std::nullopt;
    const sim::Track& track = m_trace->tracks[row];
    for (std::size_t i = after(track, timeNs - 1); i < track.size(); ++i)
        if (track.microbatch[i] == microbatch && m_trace->kinds[track.kind[i]].stage == stage)
            return static_cast<std::uint32_t>(i);
    return std::nullopt;
}

void Instants::findMessages()
{
    std::map<std::pair<int, int>, std::int64_t> fastestNs; // from, to
    sim::CancelPoll poll;
    m_messages.reserve(m_trace->flows.size());
    for (const sim::Flow& flow : m_trace->flows) {
        poll();
        const sim::Track &from = m_trace->tracks[flow.fromTrack], &to = m_trace->tracks[flow.toTrack];
        Message message{.from = from.process, .to = to.process};
        if (from.role == sim::TrackRole::actions && to.role == sim::TrackRole::actions) {
            message.fromSpan = flow.fromSpan;
            message.toSpan = flow.toSpan;
            message.sentNs = endOf(from, flow.fromSpan);
            message.hereNs = std::max(message.sentNs, to.startNs[flow.toSpan]);
            const auto [fastest, isNew] = fastestNs.try_emplace({message.from, message.to}, message.hereNs - message.sentNs);
            fastest->second = std::min(fastest->second, message.hereNs - message.sentNs);
        } else { // a send and its receive: the receive lasts as long as the transfer
            message.sentNs = to.startNs[flow.toSpan];
            message.hereNs = endOf(to, flow.toSpan);
            const auto sender = actionBefore(message.from, from.startNs[flow.fromSpan],
                                             m_trace->kinds[from.kind[flow.fromSpan]].stage, from.microbatch[flow.fromSpan]);
            const auto receiver =
                actionAfter(message.to, message.hereNs, m_trace->kinds[to.kind[flow.toSpan]].stage, to.microbatch[flow.toSpan]);
            if (!sender || !receiver)
                continue;
            message.fromSpan = *sender;
            message.toSpan = *receiver;
        }
        m_messages.push_back(message);
    }
    for (Message& message : m_messages)
        if (const auto fastest = fastestNs.find({message.from, message.to}); fastest != fastestNs.end())
            message.hereNs = message.sentNs + fastest->second;
    std::sort(m_messages.begin(), m_messages.end(), [&](const Message& a, const Message& b) {
        poll();
        return std::tie(a.sentNs, a.from, a.fromSpan, a.to, a.toSpan) < std::tie(b.sentNs, b.from, b.fromSpan, b.to, b.toSpan);
    });
    // The receivers themselves are sorted: their messages lie far apart.
    std::vector<std::tuple<int, std::uint32_t, std::uint32_t>> byReceiver; // process, span, place of the message
    byReceiver.reserve(m_messages.size());
    for (std::uint32_t i = 0; i < m_messages.size(); ++i) {
        const Message& message = m_messages[i];
        byReceiver.emplace_back(message.to, message.toSpan, i);
        m_longestNs = std::max(m_longestNs, message.hereNs - message.sentNs);
    }
    std::sort(byReceiver.begin(), byReceiver.end(), [&](const auto& a, const auto& b) {
        poll();
        return a < b;
    });
    m_byReceiver.reserve(byReceiver.size());
    for (const auto& [process, span, place] : byReceiver)
        m_byReceiver.push_back(place);
}

std::vector<const Message*> Instants::underWay(std::int64_t timeNs, std::int64_t lingerNs) const
{
    const std::int64_t earliest = timeNs - m_longestNs - lingerNs;
    auto i = std::lower_bound(m_messages.begin(), m_messages.end(), earliest,
                              [](const Message& m, std::int64_t time) { return m.sentNs < time; });
    std::vector<const Message*> found;
    for (; i != m_messages.end() && i->sentNs <= timeNs; ++i)
        if (timeNs < i->hereNs + lingerNs)
            found.push_back(&*i);
    return found;
}

std::optional<Waiting> Instants::waiting(int process, std::int64_t timeNs) const
{
    if (action(process, timeNs))
        return std::nullopt;
    Waiting waiting{.process = process};
    const std::uint32_t row = m_rows[asIndex(process)].actions;
    if (row == kNone)
        return waiting;
    const sim::Track& track = m_trace->tracks[row];
    const std::size_t next = after(track, timeNs);
    if (next == track.size())
        return waiting;
    waiting.next = static_cast<std::uint32_t>(next);
    const auto before = [&](std::uint32_t place, std::pair<int, std::uint32_t> wanted) {
        return std::pair(m_messages[place].to, m_messages[place].toSpan) < wanted;
    };
    const std::pair wanted(process, *waiting.next);
    const Message* missing = nullptr; // the last to come
    for (auto i = std::lower_bound(m_byReceiver.begin(), m_byReceiver.end(), wanted, before); i != m_byReceiver.end(); ++i) {
        const Message& message = m_messages[*i];
        if (std::pair(message.to, message.toSpan) != wanted)
            break;
        if (message.hereNs > timeNs && (missing == nullptr || message.hereNs > missing->hereNs))
            missing = &message;
    }
    if (missing != nullptr) {
        waiting.waitsFor = missing->from;
        waiting.messageUnderWay = missing->sentNs <= timeNs;
    }
    return waiting;
}

std::vector<int> Instants::waitChain(int process, std::int64_t timeNs) const
{
    std::vector<int> chain{process};
    for (;;) {
        const std::optional<Waiting> now = waiting(chain.back(), timeNs);
        if (!now || now->waitsFor < 0 || std::find(chain.begin(), chain.end(), now->waitsFor) != chain.end())
            return chain;
        chain.push_back(now->waitsFor);
        if (now->messageUnderWay)
            return chain;
    }
}

} // namespace app
