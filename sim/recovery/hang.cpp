#include "sim/recovery/hang.h"

#include "sim/index.h"
#include "sim/recovery/named_ranks.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace sim {
namespace {

std::string capitalised(std::string text)
{
    if (!text.empty())
        text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text;
}

std::string askedAt(const LastCall& call)
{
    return call.asker.empty() ? std::string() : ", asked for at " + call.asker;
}

/// How far a rank has come in a group.
struct StandingInGroup {
    std::int64_t asked = -1, over = -1;
    bool isCounted = false; ///< by its library, also where no call is known
};

class HangFinder {
public:
    explicit HangFinder(const RunEvidence& evidence) : m_evidence(evidence)
    {
        std::set<std::int32_t> withTransfers;
        for (const RankEvidence& rank : evidence.ranks) {
            m_areStartsTold = m_areStartsTold || rank.areStartsTold;
            for (const LastCall& call : rank.lastCalls)
                m_calls[call.group].push_back({rank.rank, &call});
            for (const GroupProgress& of : rank.progress)
                if (of.areTransfersCounted)
                    withTransfers.insert(of.group);
        }
        for (const RankEvidence& rank : evidence.ranks) {
            for (const LastCall& call : rank.lastCalls)
                if (call.sequence >= 0) { // a group's collectives end in their order: what is before an open one is over
                    StandingInGroup& standing = m_standing[{call.group, rank.rank}];
                    standing.asked = std::max(standing.asked, call.sequence);
                    if (call.isOver)
                        standing.over = std::max(standing.over, call.sequence);
                }
            for (const GroupProgress& of : rank.progress)
                if (!withTransfers.contains(of.group)) {
                    StandingInGroup& standing = m_standing[{of.group, rank.rank}];
                    standing.asked = std::max(standing.asked, of.lastAsked);
                    standing.over = std::max(standing.over, of.lastOver);
                    standing.isCounted = true;
                }
            std::map<std::int32_t, std::int64_t> open; // group -> the first
            for (const LastCall& call : rank.lastCalls)
                if (call.sequence >= 0 && !call.isOver) {
                    std::int64_t& first = open.try_emplace(call.group, call.sequence).first->second;
                    first = std::min(first, call.sequence);
                }
            for (const auto& [group, first] : open) {
                StandingInGroup& standing = m_standing[{group, rank.rank}];
                standing.over = std::max(standing.over, first - 1);
            }
        }
        for (const auto& [of, standing] : m_standing) {
            std::int64_t& over = m_over.try_emplace(of.first, -1).first->second;
            over = std::max(over, standing.over);
        }
        for (const auto& of : m_over)
            if (isGroup(of.first)) {
                std::int64_t& least = m_leastAsked.try_emplace(of.first, INT64_MAX).first->second;
                for (const int rank : membersOf(of.first))
                    if (isTold(rank, of.first))
                        least = std::min(least, standingOf(of.first, rank).asked);
            }
        for (const RankEvidence& rank : evidence.ranks)
            if (const LastCall* first = firstOpen(rank); first != nullptr && isOverElsewhere(*first))
                m_stopped.emplace(rank.rank, first);
    }

    std::vector<Hang> find()
    {
        std::vector<Hang> hangs;
        for (const auto& of : m_over)
            m_calls.try_emplace(of.first); // without calls: of the group only counts are known
        for (const auto& [group, calls] : m_calls)
            if (isGroup(group)) {
                if (auto hang = hangOf(group, calls))
                    hangs.push_back(*std::move(hang));
                addTransfers(group, calls, hangs);
            }
        std::vector<Hang> overElsewhere;
        for (const auto& [group, calls] : m_calls)
            if (isGroup(group))
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
        if (!hangs.empty() && !m_stopped.empty())
            hangs.insert(hangs.begin(), stoppedRanks());
        hangs.insert(hangs.begin(), std::make_move_iterator(overElsewhere.begin()), std::make_move_iterator(overElsewhere.end()));
        return hangs;
    }

private:
    struct CallOfRank {
        int rank = 0;
        const LastCall* call = nullptr;
    };
    using Calls = std::vector<CallOfRank>;

    bool isGroup(std::int32_t group) const { return group >= 0 && asIndex(group) < m_evidence.groups.size(); }
    bool isListed(std::int32_t group) const { return !m_evidence.groups[asIndex(group)].ranks.empty(); }
    /// As listed; of a group without a list the ranks whose dumps name it.
    std::vector<int> membersOf(std::int32_t group) const
    {
        if (isListed(group))
            return m_evidence.groups[asIndex(group)].ranks;
        std::vector<int> ranks;
        for (auto at = m_standing.lower_bound({group, INT_MIN}); at != m_standing.end() && at->first.first == group; ++at)
            ranks.push_back(at->first.second);
        return ranks;
    }
    /// Ranks of which counts alone say that something is open in the group: no entry does.
    std::vector<int> openByCounts(std::int32_t group, const Calls& calls) const
    {
        std::vector<int> ranks;
        for (const int rank : membersOf(group)) {
            const StandingInGroup standing = standingOf(group, rank);
            const bool isEntered = std::any_of(calls.begin(), calls.end(), [rank](const CallOfRank& of) {
                return of.rank == rank && !of.call->isOver && of.call->sequence >= 0;
            });
            if (standing.isCounted && standing.asked > standing.over && !isEntered)
                ranks.push_back(rank);
        }
        return ranks;
    }
    /// Numbers of calls begin at 1.
    static std::int64_t after(std::int64_t over) { return std::max<std::int64_t>(0, over) + 1; }
    /// What the rank asked for first of all that is not over; nullptr: nothing.
    static const LastCall* firstOpen(const RankEvidence& rank)
    {
        const auto first =
            std::find_if(rank.lastCalls.begin(), rank.lastCalls.end(), [](const LastCall& call) { return !call.isOver; });
        return first == rank.lastCalls.end() ? nullptr : &*first;
    }
    bool isFirstOpen(int rank, const LastCall* call) const
    {
        return std::any_of(m_evidence.ranks.begin(), m_evidence.ranks.end(),
                           [=](const RankEvidence& of) { return of.rank == rank && firstOpen(of) == call; });
    }
    /// Another member has ended it, though this one has not noticed. A broadcast ends on its root, and a reduction on a leaf,
    /// when their own part is sent: of these all have to have come, too.
    bool isOverElsewhere(const LastCall& call) const
    {
        const auto over = m_over.find(call.group);
        if (call.sequence < 0 || over == m_over.end() || call.sequence > over->second)
            return false;
        const auto least = m_leastAsked.find(call.group);
        return (call.exchange != Exchange::broadcast && call.exchange != Exchange::reduce) || least == m_leastAsked.end() ||
               call.sequence <= least->second;
    }
    StandingInGroup standingOf(std::int32_t group, int rank) const
    {
        const auto found = m_standing.find({group, rank});
        return found == m_standing.end() ? StandingInGroup{} : found->second;
    }
    /// Of those that wait in it: who asked for something else before.
    std::ptrdiff_t behindOf(const Hang& hang) const
    {
        return std::count_if(hang.waiting.begin(), hang.waiting.end(), [&](int rank) {
            return std::none_of(m_evidence.ranks.begin(), m_evidence.ranks.end(), [&](const RankEvidence& of) {
                const LastCall* first = of.rank == rank ? firstOpen(of) : nullptr;
                return first != nullptr && first->group == hang.group && first->sequence == hang.sequence;
            });
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
    static const char* haveText(const std::vector<int>& ranks) { return ranks.size() == 1 ? " has" : " have"; }
    std::string groupText(std::int32_t group) const
    {
        const GroupEvidence& of = m_evidence.groups[asIndex(group)];
        return "group " + (of.description.empty() ? of.name : of.description);
    }

    Hang stoppedRanks() const
    {
        Hang hang{.group = m_stopped.begin()->second->group};
        constexpr std::size_t kMostTold = 4;
        std::vector<std::string> told;
        for (const auto& [rank, call] : m_stopped) {
            hang.waiting.push_back(rank);
            if (told.size() < kMostTold)
                told.push_back("Rank " + std::to_string(rank) + " has not seen the end of " +
                               std::string(exchangeName(call->exchange)) + " " + std::to_string(call->sequence) + " of " +
                               groupText(call->group) + askedAt(*call));
        }
        if (m_stopped.size() > kMostTold)
            told.push_back("And " + std::to_string(m_stopped.size() - kMostTold) + " more");
        told.emplace_back("What runs on the device, or who watches it, has stopped there");
        hang.title = capitalised(namedRanks(hang.waiting)) + (m_stopped.size() == 1 ? " stands" : " stand") +
                     " still in what others have ended";
        hang.detail = inSentences(told);
        return hang;
    }

    /// Whether what it asked for last in the group is known.
    bool isTold(int rank, std::int32_t group = -1) const
    {
        return (group >= 0 && standingOf(group, rank).isCounted) ||
               std::any_of(m_evidence.ranks.begin(), m_evidence.ranks.end(),
                           [rank](const RankEvidence& of) { return of.rank == rank && !of.isDumpCut; });
    }
    /// Of those that are not told: those of which there is a part of a dump.
    std::vector<int> cutAmong(const std::vector<int>& unknown) const
    {
        std::vector<int> cut;
        for (const RankEvidence& of : m_evidence.ranks)
            if (of.isDumpCut && std::find(unknown.begin(), unknown.end(), of.rank) != unknown.end())
                cut.push_back(of.rank);
        return cut;
    }
    const char* recordedOf(const std::vector<int>& unknown) const
    {
        const std::size_t cut = cutAmong(unknown).size();
        return cut == 0                ? "nothing is recorded"
               : cut == unknown.size() ? "the end is not recorded"
                                       : "nothing, or not the end, is recorded";
    }
    void tellUnknown(const std::vector<int>& unknown, std::vector<std::string>& told) const
    {
        const std::vector<int> cut = cutAmong(unknown);
        if (!cut.empty())
            told.push_back("What " + namedRanks(cut) + " asked for last is not in " +
                           (cut.size() == 1 ? "its dump" : "their dumps") + ", which " + (cut.size() == 1 ? "ends" : "end") +
                           " too early");
        if (cut.size() < unknown.size())
            told.emplace_back("Without a dump of its own a rank has ended, or does not answer");
    }

    /// What one member waits in and another has ended is over, though the first has not noticed.
    std::optional<Hang> hangOf(std::int32_t group, const Calls& calls)
    {
        std::int64_t first = INT64_MAX;
        for (const auto& [rank, call] : calls)
            if (!call->isOver && call->sequence >= 0 && !isOverElsewhere(*call))
                first = std::min(first, call->sequence);
        const std::int64_t next = after(m_over.contains(group) ? m_over.at(group) : 0);
        for (const int rank : openByCounts(group, calls))
            if (standingOf(group, rank).asked >= next)
                first = std::min(first, next);
        if (first == INT64_MAX)
            return std::nullopt;
        Hang hang{.group = group, .sequence = first, .waiting = {}, .absent = {}, .unknown = {}, .title = {}, .detail = {}};
        std::vector<int> asked; // of those that wait: not begun on their devices
        std::map<Exchange, std::vector<int>> exchanges;
        std::map<std::string, std::vector<int>> askers;
        for (const int rank : membersOf(group)) {
            const auto call = std::find_if(calls.begin(), calls.end(), [=](const CallOfRank& of) {
                return of.rank == rank && !of.call->isOver && of.call->sequence == first;
            });
            if (call != calls.end()) {
                hang.waiting.push_back(rank);
                exchanges[call->call->exchange].push_back(rank);
                askers[call->call->asker].push_back(rank);
                if (!call->call->isBegun)
                    asked.push_back(rank);
            } else if (standingOf(group, rank).asked >= first) { // its entry is not kept
                hang.waiting.push_back(rank);
                asked.push_back(rank);
            } else {
                (isTold(rank, group) ? hang.absent : hang.unknown).push_back(rank);
            }
        }
        for (const int rank : hang.waiting)
            if (!m_stopped.contains(rank)) // else it waits there for nobody
                m_waiting.insert(rank);
        hang.hasBegunOnAll = asked.empty();
        describe(hang, calls, exchanges, askers, asked);
        return hang;
    }

    /// Counts tell no more than how far each rank has come: whoever has not ended what another has is told beside that one, the
    /// first such call of the group.
    std::optional<Hang> overElsewhereByCounts(std::int32_t group, const Calls& calls) const
    {
        std::int64_t first = INT64_MAX;
        for (const int rank : openByCounts(group, calls))
            first = std::min(first, after(standingOf(group, rank).over));
        if (first == INT64_MAX || first > m_over.at(group))
            return std::nullopt;
        Hang hang{.group = group, .sequence = first};
        std::vector<int> over;
        for (const int rank : membersOf(group)) {
            const StandingInGroup standing = standingOf(group, rank);
            if (standing.over >= first)
                over.push_back(rank);
            else if (standing.asked >= first)
                hang.waiting.push_back(rank);
            else
                (isTold(rank, group) ? hang.absent : hang.unknown).push_back(rank);
        }
        hang.title =
            "Call " + std::to_string(first) + " of " + groupText(group) + " is over on " + namedRanks(over) + ", and not on " +
            namedRanks(hang.waiting) +
            (hang.absent.empty() ? std::string() : "; " + namedRanks(hang.absent) + haveText(hang.absent) + " asked for fewer");
        std::vector<std::string> told{kCountedAlone,
                                      "A recorder counts an end a moment after it: in a job that ran on while it was "
                                      "dumped this may be no more than that"};
        if (!hang.unknown.empty())
            told.push_back("Of " + namedRanks(hang.unknown) + " " + recordedOf(hang.unknown));
        hang.detail = inSentences(told);
        return hang;
    }

    /// Sends and receives that are not over: whether the other end has come.
    void addTransfers(std::int32_t group, const Calls& calls, std::vector<Hang>& hangs)
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
            if (other == calls.end() && canBeIn({rank, call})) {
                hangs.push_back(oneCame(group, {rank, call}, calls));
                m_waiting.insert(rank);
            } else if (other != calls.end() && call->exchange == Exchange::send) {
                const bool isIn = canBeIn({rank, call}), isOtherIn = canBeIn(*other);
                if (isIn || isOtherIn)
                    hangs.push_back(bothCame(group, {rank, call}, *other));
                if (isIn)
                    m_waiting.insert(rank);
                if (isOtherIn)
                    m_waiting.insert(other->rank);
            }
        }
    }
    /// Else its device waits in what was asked for before. Where starts are not told, it can be in the first that is open alone.
    bool canBeIn(const CallOfRank& of) const { return of.call->isBegun || (!m_areStartsTold && isFirstOpen(of.rank, of.call)); }

    Hang bothCame(std::int32_t group, const CallOfRank& send, const CallOfRank& receive) const
    {
        Hang hang{.group = group, .waiting = {std::min(send.rank, receive.rank), std::max(send.rank, receive.rank)}};
        hang.hasBegunOnAll = send.call->isBegun && receive.call->isBegun;
        hang.title = "Rank " + std::to_string(send.rank) + "'s send to rank " + std::to_string(receive.rank) +
                     (hang.hasBegunOnAll ? " has begun on both, and never ended" : " never ended");
        std::vector<std::string> told;
        for (const CallOfRank& end : {send, receive})
            if (!canBeIn(end))
                told.push_back("The device of rank " + std::to_string(end.rank) +
                               " has not begun it: what was asked for before is not over");
        if (!m_areStartsTold)
            told.emplace_back(kUntold);
        if (!send.call->asker.empty())
            told.push_back("It was asked for at " + send.call->asker);
        hang.detail = inSentences(told);
        return hang;
    }

    Hang oneCame(std::int32_t group, const CallOfRank& came, const Calls& calls) const
    {
        const int peer = came.call->peer;
        const bool sends = came.call->exchange == Exchange::send, isDumped = isTold(peer);
        Hang hang{.group = group, .waiting = {came.rank}};
        hang.hasBegunOnAll = came.call->isBegun;
        (isDumped ? hang.absent : hang.unknown).push_back(peer);
        hang.title = "Rank " + std::to_string(came.rank) + " waits to " + (sends ? "send to" : "receive from") + " rank " +
                     std::to_string(peer) +
                     (isDumped ? std::string(", which has not asked for the ") + (sends ? "receive" : "send")
                               : std::string(", of which ") + recordedOf(hang.unknown));
        std::vector<std::string> told;
        if (!came.call->asker.empty())
            told.push_back("It was asked for at " + came.call->asker);
        if (isDumped)
            told.push_back(lastOf(peer, group, calls));
        tellUnknown(hang.unknown, told);
        hang.detail = inSentences(told);
        return hang;
    }

    static std::string inSentences(const std::vector<std::string>& told)
    {
        std::string text;
        for (const std::string& sentence : told)
            text += (text.empty() ? "" : " ") + sentence + ".";
        return text;
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
        std::string words = "rank " + std::to_string(rank) + " for " + std::to_string(next[rank]);
        for (int at = next[rank]; at != rank; at = next[at]) {
            circle.push_back(at);
            words += ", " + std::to_string(at) + " for " + std::to_string(next[at]);
        }
        const auto isOfCircle = [&](const Hang& hang) {
            return std::any_of(hang.waiting.begin(), hang.waiting.end(),
                               [&](int of) { return std::find(circle.begin(), circle.end(), of) != circle.end(); });
        };
        std::stable_partition(hangs.begin(), hangs.end(), isOfCircle);
        hangs.front().detail += (hangs.front().detail.empty() ? "" : " ") + inSentences({"They wait in a circle: " + words});
    }

    void describe(Hang& hang, const Calls& calls, const std::map<Exchange, std::vector<int>>& exchanges,
                  const std::map<std::string, std::vector<int>>& askers, const std::vector<int>& asked) const
    {
        const std::string number = std::to_string(hang.sequence);
        const bool isCountedAlone = exchanges.empty(); // no entry of it is known
        const bool areStartsTold = m_areStartsTold && !isCountedAlone;
        const auto nameOf = [](Exchange exchange) {
            return exchange == Exchange::unknown ? std::string("collective") : std::string(exchangeName(exchange));
        };
        const std::string what = capitalised(exchanges.size() == 1 ? nameOf(exchanges.begin()->first)
                                             : isCountedAlone      ? "call"
                                                                   : "collective") +
                                 " " + number + " of " + groupText(hang.group);
        if (!hang.absent.empty() && isCountedAlone)
            hang.title = what + " is not over on " + namedRanks(hang.waiting) + "; " + namedRanks(hang.absent) +
                         haveText(hang.absent) + " asked for fewer";
        else if (!hang.absent.empty())
            hang.title = what + " waits for " + namedRanks(hang.absent) + ", which" + haveText(hang.absent) + " not come to it";
        else if (!hang.unknown.empty())
            hang.title = what + " never ended, and of " + namedRanks(hang.unknown) + " " + recordedOf(hang.unknown);
        else if (exchanges.size() > 1)
            hang.title = what + " is not the same on all its ranks";
        else if (!areStartsTold)
            hang.title = what + " never ended, though all its ranks have asked for it";
        else if (!asked.empty())
            hang.title = what + " has not begun on " + namedRanks(asked) + ", and never ended";
        else
            hang.title = what + " has begun on all its ranks, and never ended";

        std::vector<int> begun;
        std::set_difference(hang.waiting.begin(), hang.waiting.end(), asked.begin(), asked.end(), std::back_inserter(begun));
        std::vector<std::string> told;
        if (!begun.empty())
            told.push_back(capitalised(namedRanks(begun)) + haveText(begun) + " begun it");
        if (!asked.empty() && !areStartsTold)
            told.push_back(capitalised(namedRanks(asked)) + haveText(asked) + " asked for it");
        if (isCountedAlone)
            told.push_back(
                std::string(kCountedAlone) +
                (hang.absent.empty() ? std::string() : "; were it a collective, it would wait for " + namedRanks(hang.absent)));
        else if (!areStartsTold)
            told.emplace_back(kUntold);
        else if (!asked.empty())
            told.push_back(capitalised(namedRanks(asked)) + haveText(asked) +
                           " asked for it, and the device has not begun it: what was asked for before is not over");
        if (exchanges.size() > 1)
            for (const auto& [exchange, ranks] : exchanges)
                told.push_back(capitalised(namedRanks(ranks)) + haveText(ranks) + " asked for " + nameOf(exchange));
        for (const auto& [asker, ranks] : askers)
            if (!asker.empty())
                told.push_back("It was asked for at " + asker +
                               (ranks.size() < hang.waiting.size() ? " on " + namedRanks(ranks) : std::string()));
        constexpr std::size_t kMostTold = 4;
        for (std::size_t i = 0; i < std::min(kMostTold, hang.absent.size()); ++i)
            told.push_back(lastOf(hang.absent[i], hang.group, calls));
        if (hang.absent.size() > kMostTold)
            told.push_back("And " + std::to_string(hang.absent.size() - kMostTold) + " more");
        if (!hang.absent.empty() && !hang.unknown.empty())
            told.push_back("Of " + namedRanks(hang.unknown) + " " + recordedOf(hang.unknown));
        if (!hang.unknown.empty() && hang.absent.empty())
            tellUnknown(hang.unknown, told);
        if (!isListed(hang.group))
            told.emplace_back(
                "Who belongs to the group is not recorded: these are the ranks whose dumps name it, and there may be "
                "others");
        hang.detail = inSentences(told);
    }

    /// What a call is called of which nothing else is known.
    static const char* unnamedCall(const Calls& calls) { return calls.empty() ? "call" : "collective"; }

    /// Of a rank that has not come: what it did last in the group, and where it waits meanwhile.
    std::string lastOf(int rank, std::int32_t group, const Calls& calls) const
    {
        const StandingInGroup standing = standingOf(group, rank);
        const auto last = std::find_if(calls.begin(), calls.end(), [&](const CallOfRank& of) {
            return of.rank == rank && of.call->isOver && of.call->sequence == standing.over;
        });
        std::string text = "Rank " + std::to_string(rank);
        if (last != calls.end())
            text += " ended " + std::string(exchangeName(last->call->exchange)) + " " + std::to_string(last->call->sequence) +
                    " last" + askedAt(*last->call);
        else if (standing.over > 0)
            text += std::string(" ended ") + unnamedCall(calls) + " " + std::to_string(standing.over) + " last";
        else if (standing.isCounted && standing.asked < 0)
            text += " has asked for nothing in it";
        else
            text += standing.isCounted ? " has ended nothing in it" : " has ended nothing in it that is recorded";
        if (standing.asked > standing.over)
            text += ", and asked for nothing after " + std::to_string(standing.asked);
        else if (standing.isCounted && standing.asked >= 0)
            text += ", and asked for nothing after it";
        if (m_stopped.contains(rank))
            return text;
        for (const RankEvidence& of : m_evidence.ranks)
            for (const LastCall& call : of.lastCalls)
                if (of.rank == rank && !call.isOver && call.group != group && !isOverElsewhere(call) &&
                    (call.sequence >= 0 || canBeIn({rank, &call}))) {
                    return text + "; it is in " + std::string(exchangeName(call.exchange)) +
                           (call.sequence >= 0 ? " " + std::to_string(call.sequence) : std::string()) +
                           (call.peer >= 0
                                ? (call.exchange == Exchange::send ? " to rank " : " from rank ") + std::to_string(call.peer)
                                : std::string()) +
                           " of " + groupText(call.group) + askedAt(call);
                }
        return text;
    }

    static constexpr const char* kUntold = "Whether the device has begun it is not recorded";
    static constexpr const char* kCountedAlone =
        "Only counts are recorded of it: whether it is a collective, a send or a receive, and whether a device has begun it, is "
        "not";

    const RunEvidence& m_evidence;
    bool m_areStartsTold = false; ///< by any recorder
    std::map<std::int32_t, Calls> m_calls;
    std::map<std::pair<std::int32_t, int>, StandingInGroup> m_standing; ///< by group and rank
    std::map<std::int32_t, std::int64_t> m_over;                        ///< group -> number of the last that a member has ended
    std::map<std::int32_t, std::int64_t> m_leastAsked; ///< group -> what all members that are told have asked for
    std::map<int, const LastCall*> m_stopped;          ///< ranks that wait first in what is over
    std::set<int> m_waiting;                           ///< ranks that are in what is not over
};

} // namespace

std::vector<Hang> hangsOf(const RunEvidence& evidence)
{
    return HangFinder(evidence).find();
}

} // namespace sim
