#include "sim/recovery/hang.h"

#include "sim/recovery/call_standing.h"
#include "sim/recovery/hang_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace sim {
namespace {

class HangFinder {
public:
    explicit HangFinder(const RunEvidence& evidence) : m_standing(evidence), m_text(m_standing) {}

    std::vector<Hang> find()
    {
        std::vector<Hang> hangs;
        for (const auto& [group, calls] : m_standing.calls())
            if (m_standing.isGroup(group)) {
                if (auto hang = hangOf(group, calls))
                    hangs.push_back(*std::move(hang));
                addTransfers(group, calls, hangs);
            }
        std::vector<Hang> overElsewhere;
        for (const auto& [group, calls] : m_standing.calls())
            if (m_standing.isGroup(group))
                if (auto hang = overElsewhereByCounts(group, calls))
                    overElsewhere.push_back(*std::move(hang));
        const auto isRoot = [this](const Hang& hang) {
            return !hang.unknown.empty() || (hang.absent.empty() && hang.hasBegunOnAll) ||
                   std::any_of(hang.absent.begin(), hang.absent.end(), [&](int rank) { return !m_waiting.contains(rank); });
        };
        const auto others = std::stable_partition(hangs.begin(), hangs.end(), isRoot);
        // Whom nobody keeps elsewhere is among the absent of all that wait behind it: where only such are, it begins, and where
        // all of them are is told first.
        std::stable_sort(hangs.begin(), others, [this](const Hang& a, const Hang& b) { return placeOf(a) < placeOf(b); });
        std::stable_sort(others, hangs.end(), [this](const Hang& a, const Hang& b) { return behindOf(a) < behindOf(b); });
        if (others != hangs.begin()) // down a pipeline each stage waits for the one before: where that begins is enough
            hangs.erase(std::remove_if(others, hangs.end(), [](const Hang& hang) { return hang.sequence < 0; }), hangs.end());
        else
            tellCircle(hangs);
        if (!hangs.empty() && !m_standing.stopped().empty())
            hangs.insert(hangs.begin(), stoppedRanks());
        hangs.insert(hangs.begin(), std::make_move_iterator(overElsewhere.begin()), std::make_move_iterator(overElsewhere.end()));
        return hangs;
    }

private:
    /// Numbers of calls begin at 1.
    static std::int64_t after(std::int64_t over) { return std::max<std::int64_t>(0, over) + 1; }
    /// Of those that wait in it: who asked for something else before.
    std::ptrdiff_t behindOf(const Hang& hang) const
    {
        return std::count_if(hang.waiting.begin(), hang.waiting.end(), [&](int rank) {
            const LastCall* first = m_standing.firstOpen(rank);
            return first == nullptr || first->group != hang.group || first->sequence != hang.sequence;
        });
    }
    /// Among what others wait behind.
    std::tuple<bool, std::ptrdiff_t, std::ptrdiff_t> placeOf(const Hang& hang) const
    {
        const bool isKept =
            std::any_of(hang.absent.begin(), hang.absent.end(), [this](int rank) { return m_waiting.contains(rank); });
        const std::ptrdiff_t away = std::ssize(hang.absent) + std::ssize(hang.unknown);
        return {isKept, isKept ? away : -away, behindOf(hang)};
    }

    Hang stoppedRanks() const
    {
        Hang hang{.group = m_standing.stopped().begin()->second->group};
        for (const auto& of : m_standing.stopped())
            hang.waiting.push_back(of.first);
        m_text.describeStopped(hang);
        return hang;
    }

    /// What one member waits in and another has ended is over, though the first has not noticed.
    std::optional<Hang> hangOf(std::int32_t group, const CallsOfGroup& calls)
    {
        std::int64_t first = INT64_MAX;
        for (const auto& [rank, call] : calls)
            if (!call->isOver && call->sequence >= 0 && !m_standing.isOverElsewhere(*call))
                first = std::min(first, call->sequence);
        const std::int64_t next = after(m_standing.lastOver(group));
        for (const int rank : m_standing.openByCounts(group, calls))
            if (m_standing.of(group, rank).asked >= next)
                first = std::min(first, next);
        if (first == INT64_MAX)
            return std::nullopt;
        Hang hang{.group = group, .sequence = first};
        AskedOfHang asked;
        for (const int rank : m_standing.membersOf(group)) {
            const auto call = std::find_if(calls.begin(), calls.end(), [=](const CallOfRank& of) {
                return of.rank == rank && !of.call->isOver && of.call->sequence == first;
            });
            if (call != calls.end()) {
                hang.waiting.push_back(rank);
                asked.exchanges[call->call->exchange].push_back(rank);
                asked.askers[call->call->asker].push_back(rank);
                if (!call->call->isBegun)
                    asked.notBegun.push_back(rank);
            } else if (m_standing.of(group, rank).asked >= first) { // its entry is not kept
                hang.waiting.push_back(rank);
                asked.notBegun.push_back(rank);
            } else {
                (m_standing.isTold(rank, group) ? hang.absent : hang.unknown).push_back(rank);
            }
        }
        for (const int rank : hang.waiting)
            if (!m_standing.stopped().contains(rank)) // else it waits there for nobody
                m_waiting.insert(rank);
        hang.hasBegunOnAll = asked.notBegun.empty();
        m_text.describe(hang, calls, asked);
        return hang;
    }

    /// Counts tell no more than how far each rank has come: whoever has not ended what another has is told beside that one, the
    /// first such call of the group.
    std::optional<Hang> overElsewhereByCounts(std::int32_t group, const CallsOfGroup& calls) const
    {
        std::int64_t first = INT64_MAX;
        for (const int rank : m_standing.openByCounts(group, calls))
            first = std::min(first, after(m_standing.of(group, rank).over));
        if (first == INT64_MAX || first > m_standing.lastOver(group))
            return std::nullopt;
        Hang hang{.group = group, .sequence = first};
        std::vector<int> over;
        for (const int rank : m_standing.membersOf(group)) {
            const StandingInGroup standing = m_standing.of(group, rank);
            if (standing.over >= first)
                over.push_back(rank);
            else if (standing.asked >= first)
                hang.waiting.push_back(rank);
            else
                (m_standing.isTold(rank, group) ? hang.absent : hang.unknown).push_back(rank);
        }
        m_text.describeCounts(hang, over);
        return hang;
    }

    /// Sends and receives that are not over: whether the other end has come.
    void addTransfers(std::int32_t group, const CallsOfGroup& calls, std::vector<Hang>& hangs)
    {
        const auto isWaiting = [](const LastCall& call) {
            return !call.isOver && call.peer >= 0 && (call.exchange == Exchange::send || call.exchange == Exchange::receive);
        };
        std::set<std::tuple<int, int, Exchange>> told; // once, however many transfers wait behind the first
        for (const auto& [rank, call] : calls) {
            if (!isWaiting(*call) || !told.emplace(rank, call->peer, call->exchange).second)
                continue;
            const auto other = std::find_if(calls.begin(), calls.end(), [&, rank = rank, call = call](const CallOfRank& of) {
                return of.rank == call->peer && isWaiting(*of.call) && of.call->peer == rank &&
                       of.call->exchange != call->exchange;
            });
            if (other == calls.end() && m_standing.canBeIn({rank, call})) {
                hangs.push_back(oneCame(group, {rank, call}, calls));
                m_waiting.insert(rank);
            } else if (other != calls.end() && call->exchange == Exchange::send) {
                const bool isIn = m_standing.canBeIn({rank, call}), isOtherIn = m_standing.canBeIn(*other);
                if (isIn || isOtherIn)
                    hangs.push_back(bothCame(group, {rank, call}, *other));
                if (isIn)
                    m_waiting.insert(rank);
                if (isOtherIn)
                    m_waiting.insert(other->rank);
            }
        }
    }

    Hang bothCame(std::int32_t group, const CallOfRank& send, const CallOfRank& receive) const
    {
        Hang hang{.group = group, .waiting = {std::min(send.rank, receive.rank), std::max(send.rank, receive.rank)}};
        hang.hasBegunOnAll = send.call->isBegun && receive.call->isBegun;
        m_text.describeBoth(hang, send, receive);
        return hang;
    }

    Hang oneCame(std::int32_t group, const CallOfRank& came, const CallsOfGroup& calls) const
    {
        Hang hang{.group = group, .waiting = {came.rank}};
        hang.hasBegunOnAll = came.call->isBegun;
        (m_standing.isTold(came.call->peer) ? hang.absent : hang.unknown).push_back(came.call->peer);
        m_text.describeOne(hang, came, calls);
        return hang;
    }

    /// Where everybody that somebody waits for waits, too: round which ranks.
    static void tellCircle(std::vector<Hang>& hangs)
    {
        std::map<int, int> next; // rank -> one that it waits for
        for (const Hang& hang : hangs)
            for (const int rank : hang.waiting)
                if (!hang.absent.empty())
                    next.try_emplace(rank, hang.absent.front());
        if (next.empty())
            return;
        int rank = next.begin()->first;
        std::set<int> seen;
        while (next.contains(rank) && seen.insert(rank).second)
            rank = next[rank];
        if (!next.contains(rank))
            return;
        std::vector<int> circle{rank};
        for (int at = next[rank]; at != rank; at = next[at])
            circle.push_back(at);
        const auto isOfCircle = [&](const Hang& hang) {
            return std::any_of(hang.waiting.begin(), hang.waiting.end(),
                               [&](int of) { return std::find(circle.begin(), circle.end(), of) != circle.end(); });
        };
        std::stable_partition(hangs.begin(), hangs.end(), isOfCircle);
        hangs.front().detail += (hangs.front().detail.empty() ? "" : " ") + HangText::circleText(circle);
    }

    const CallStanding m_standing;
    const HangText m_text;
    std::set<int> m_waiting; ///< ranks that are in what is not over
};

} // namespace

std::vector<Hang> hangsOf(const RunEvidence& evidence)
{
    return HangFinder(evidence).find();
}

} // namespace sim
