#include "sim/recovery/hang_text.h"

#include "sim/index.h"
#include "sim/recovery/named_ranks.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace sim {
namespace {

constexpr const char* kUntold = "Whether the device has begun it is not recorded";
constexpr const char* kCountedAlone =
    "Only counts are recorded of it: whether it is a collective, a send or a receive, and whether a device has begun it, is not";

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

const char* haveText(const std::vector<int>& ranks)
{
    return ranks.size() == 1 ? " has" : " have";
}

std::string inSentences(const std::vector<std::string>& told)
{
    std::string text;
    for (const std::string& sentence : told)
        text += (text.empty() ? "" : " ") + sentence + ".";
    return text;
}

/// What a call is called of which nothing else is known.
const char* unnamedCall(const CallsOfGroup& calls)
{
    return calls.empty() ? "call" : "collective";
}

} // namespace

std::string HangText::groupText(std::int32_t group) const
{
    const GroupEvidence& of = m_standing.evidence().groups[asIndex(group)];
    return "group " + (of.description.empty() ? of.name : of.description);
}

void HangText::describeStopped(Hang& hang) const
{
    constexpr std::size_t kMostTold = 4;
    std::vector<std::string> told;
    for (const auto& [rank, call] : m_standing.stopped()) {
        if (told.size() < kMostTold)
            told.push_back("Rank " + std::to_string(rank) + " has not seen the end of " +
                           std::string(exchangeName(call->exchange)) + " " + std::to_string(call->sequence) + " of " +
                           groupText(call->group) + askedAt(*call));
    }
    if (m_standing.stopped().size() > kMostTold)
        told.push_back("And " + std::to_string(m_standing.stopped().size() - kMostTold) + " more");
    told.emplace_back("What runs on the device, or who watches it, has stopped there");
    hang.title = capitalised(namedRanks(hang.waiting)) + (m_standing.stopped().size() == 1 ? " stands" : " stand") +
                 " still in what others have ended";
    hang.detail = inSentences(told);
}

const char* HangText::recordedOf(const std::vector<int>& unknown) const
{
    const std::size_t cut = m_standing.cutAmong(unknown).size();
    return cut == 0                ? "nothing is recorded"
           : cut == unknown.size() ? "the end is not recorded"
                                   : "nothing, or not the end, is recorded";
}

void HangText::tellUnknown(const std::vector<int>& unknown, std::vector<std::string>& told) const
{
    const std::vector<int> cut = m_standing.cutAmong(unknown);
    if (!cut.empty())
        told.push_back("What " + namedRanks(cut) + " asked for last is not in " + (cut.size() == 1 ? "its dump" : "their dumps") +
                       ", which " + (cut.size() == 1 ? "ends" : "end") + " too early");
    if (cut.size() < unknown.size())
        told.emplace_back("Without a dump of its own a rank has ended, or does not answer");
}

void HangText::describeCounts(Hang& hang, const std::vector<int>& over) const
{
    hang.title =
        "Call " + std::to_string(hang.sequence) + " of " + groupText(hang.group) + " is over on " + namedRanks(over) +
        ", and not on " + namedRanks(hang.waiting) +
        (hang.absent.empty() ? std::string() : "; " + namedRanks(hang.absent) + haveText(hang.absent) + " asked for fewer");
    std::vector<std::string> told{kCountedAlone, "A recorder counts an end a moment after it: in a job that ran on while it was "
                                                 "dumped this may be no more than that"};
    if (!hang.unknown.empty())
        told.push_back("Of " + namedRanks(hang.unknown) + " " + recordedOf(hang.unknown));
    hang.detail = inSentences(told);
}

void HangText::describeBoth(Hang& hang, const CallOfRank& send, const CallOfRank& receive) const
{
    hang.title = "Rank " + std::to_string(send.rank) + "'s send to rank " + std::to_string(receive.rank) +
                 (hang.hasBegunOnAll ? " has begun on both, and never ended" : " never ended");
    std::vector<std::string> told;
    for (const CallOfRank& end : {send, receive})
        if (!m_standing.canBeIn(end))
            told.push_back("The device of rank " + std::to_string(end.rank) +
                           " has not begun it: what was asked for before is not over");
    if (!m_standing.areStartsTold())
        told.emplace_back(kUntold);
    if (!send.call->asker.empty())
        told.push_back("It was asked for at " + send.call->asker);
    hang.detail = inSentences(told);
}

void HangText::describeOne(Hang& hang, const CallOfRank& came, const CallsOfGroup& calls) const
{
    const int peer = came.call->peer;
    const bool sends = came.call->exchange == Exchange::send, isDumped = hang.unknown.empty();
    hang.title = "Rank " + std::to_string(came.rank) + " waits to " + (sends ? "send to" : "receive from") + " rank " +
                 std::to_string(peer) +
                 (isDumped ? std::string(", which has not asked for the ") + (sends ? "receive" : "send")
                           : std::string(", of which ") + recordedOf(hang.unknown));
    std::vector<std::string> told;
    if (!came.call->asker.empty())
        told.push_back("It was asked for at " + came.call->asker);
    if (isDumped)
        told.push_back(lastOf(peer, hang.group, calls));
    tellUnknown(hang.unknown, told);
    hang.detail = inSentences(told);
}

void HangText::describe(Hang& hang, const CallsOfGroup& calls, const AskedOfHang& asked) const
{
    const auto& [exchanges, askers, notBegun] = asked;
    const std::string number = std::to_string(hang.sequence);
    const bool isCountedAlone = exchanges.empty(); // no entry of it is known
    const bool areStartsTold = m_standing.areStartsTold() && !isCountedAlone;
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
    else if (!notBegun.empty())
        hang.title = what + " has not begun on " + namedRanks(notBegun) + ", and never ended";
    else
        hang.title = what + " has begun on all its ranks, and never ended";

    std::vector<int> begun;
    std::set_difference(hang.waiting.begin(), hang.waiting.end(), notBegun.begin(), notBegun.end(), std::back_inserter(begun));
    std::vector<std::string> told;
    if (!begun.empty())
        told.push_back(capitalised(namedRanks(begun)) + haveText(begun) + " begun it");
    if (!notBegun.empty() && !areStartsTold)
        told.push_back(capitalised(namedRanks(notBegun)) + haveText(notBegun) + " asked for it");
    if (isCountedAlone)
        told.push_back(
            std::string(kCountedAlone) +
            (hang.absent.empty() ? std::string() : "; were it a collective, it would wait for " + namedRanks(hang.absent)));
    else if (!areStartsTold)
        told.emplace_back(kUntold);
    else if (!notBegun.empty())
        told.push_back(capitalised(namedRanks(notBegun)) + haveText(notBegun) +
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
    if (!m_standing.isListed(hang.group))
        told.emplace_back("Who belongs to the group is not recorded: these are the ranks whose dumps name it, and there may be "
                          "others");
    hang.detail = inSentences(told);
}

std::string HangText::lastOf(int rank, std::int32_t group, const CallsOfGroup& calls) const
{
    const StandingInGroup standing = m_standing.of(group, rank);
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
    if (m_standing.stopped().contains(rank))
        return text;
    for (const RankEvidence& of : m_standing.evidence().ranks)
        for (const LastCall& call : of.lastCalls)
            if (of.rank == rank && !call.isOver && call.group != group && !m_standing.isOverElsewhere(call) &&
                (call.sequence >= 0 || m_standing.canBeIn({rank, &call}))) {
                return text + "; it is in " + std::string(exchangeName(call.exchange)) +
                       (call.sequence >= 0 ? " " + std::to_string(call.sequence) : std::string()) +
                       (call.peer >= 0
                            ? (call.exchange == Exchange::send ? " to rank " : " from rank ") + std::to_string(call.peer)
                            : std::string()) +
                       " of " + groupText(call.group) + askedAt(call);
            }
    return text;
}

std::string HangText::circleText(const std::vector<int>& circle)
{
    std::string words;
    for (std::size_t i = 0; i < circle.size(); ++i)
        words +=
            (i == 0 ? "rank " : ", ") + std::to_string(circle[i]) + " for " + std::to_string(circle[(i + 1) % circle.size()]);
    return inSentences({"They wait in a circle: " + words});
}

} // namespace sim
