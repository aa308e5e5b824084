// Recorded waits in words: how long, for what, who came last, and what was not recorded.
#include "sim/index.h"
#include "sim/recovery/named_ranks.h"
#include "sim/recovery/recorded_waits.h"
#include "sim/text/characters.h"
#include "sim/text/number_text.h"
#include "sim/text/spoken_name.h"
#include "sim/text/wait_lines.h"

#include <algorithm>

namespace sim {
namespace {

constexpr double kWorthTelling = 0.01; ///< of the gap, in sum

constexpr std::string_view kNoClock = ": the ranks' clocks could not be laid over each other";

std::string duration(std::int64_t ns)
{
    return numberText(static_cast<double>(ns) * 1e-9, Unit::seconds);
}

/// Of a kernel's demangled name what tells it apart: without its template arguments and parameters.
std::string briefName(std::string name)
{
    constexpr std::string_view kVoid = "void ", kNobodys = "(anonymous namespace)::";
    constexpr std::size_t kLongest = 60;
    if (name.starts_with(kVoid))
        name.erase(0, kVoid.size());
    for (std::size_t at = name.find(kNobodys); at != std::string::npos; at = name.find(kNobodys))
        name.erase(at, kNobodys.size());
    if (const std::size_t end = name.find_first_of("<("); end != std::string::npos && end > 0)
        name.resize(end);
    while (name.ends_with(' '))
        name.pop_back();
    return name.size() > kLongest ? name.substr(0, cutBetweenCharacters(name, kLongest)) + "…" : spokenOp(name);
}

} // namespace

bool RecordedWaits::hasLaunches(std::uint32_t rank) const
{
    const std::vector<WorkSpan>& work = m_evidence.ranks[rank].work;
    return std::any_of(work.begin(), work.end(), [](const WorkSpan& span) { return span.launchNs != INT64_MIN; });
}

std::string RecordedWaits::rankText(std::uint32_t rank) const
{
    const std::string name = "rank " + std::to_string(m_evidence.ranks[rank].rank);
    const int pp = pipelineRankOf(rank);
    return pp < 0 ? name : "pp " + std::to_string(pp) + " (" + name + ")";
}

std::string RecordedWaits::passText(std::uint32_t rank, const Action& pass)
{
    return actionName(pass, m_evidence.slices, of(rank).hasStages);
}

std::string RecordedWaits::linkText(const RecordedWaitLink& link)
{
    const std::string rank = rankText(link.rank);
    if (link.kind == RecordedWaitLink::Kind::launching)
        return "the host of " + rank + ", which has not asked for it yet";
    if (link.kind == RecordedWaitLink::Kind::computing) {
        const std::string rest = link.isRest ? "the rest of " : "";
        if (link.pass)
            return rest + passText(link.rank, *link.pass) + " of " + rank;
        if (link.isOptimizer)
            return "the optimizer of " + rank;
        const std::string longest = briefName(m_evidence.names[link.name]);
        return link.kernels == 1 ? longest + " of " + rank
                                 : (link.isCopy ? std::to_string(link.kernels) + " copies"
                                                : countedText(static_cast<std::int64_t>(link.kernels), "kernel")) +
                                       " of " + rank + ", the longest " + longest;
    }
    const CommSpan& comm = m_evidence.ranks[link.rank].comms[link.span];
    if (const Meeting* transfer = m_walk.transferOf(link.rank, link.span))
        return "the message from " + rankText(transfer->parts[0].rank);
    const std::string& axes = m_axes.of(comm.group, comm.exchange);
    const std::string what = comm.exchange == Exchange::unknown ? spokenOp(briefName(m_evidence.names[comm.name]))
                                                                : std::string(exchangeName(comm.exchange));
    return "the " + what + (axes.empty() || axes == kAllToAllUse ? " of " + rank : " in " + spokenGroup(axes));
}

/// Of the collective that the rank waits in: who came last. It is named where that is not what is waited for first. Of several in
/// a row of that where it matters most, for after it all members come at once.
std::string RecordedWaits::aboutMembers(const std::vector<RecordedWaitLink>& links)
{
    const auto startOf = [this](const Part& part) { return m_evidence.ranks[part.rank].comms[part.span].startNs; };
    std::pair<Part, Part> members; // the first and the last to come
    std::string whose;
    std::int64_t mostApart = -1;
    for (const RecordedWaitLink& link : links) {
        const bool communicates = link.kind == RecordedWaitLink::Kind::communicating;
        if (!communicates && mostApart >= 0)
            break;
        const Meeting* meeting = communicates ? m_walk.meetingOf(link.rank, link.span) : nullptr;
        if (meeting == nullptr)
            continue;
        const auto [first, last] = std::minmax_element(meeting->parts.begin(), meeting->parts.end(),
                                                       [&](const Part& a, const Part& b) { return startOf(a) < startOf(b); });
        if (const std::int64_t apart = startOf(*last) - startOf(*first); apart > mostApart) {
            mostApart = apart;
            members = {*first, *last};
            whose = linkText(link) == linkText(links.front()) ? "its " : "of " + linkText(link) + " the ";
        }
    }
    if (mostApart < kShortestWaitNs)
        return mostApart < 0 ? std::string() : whose + "members come at the same time";
    return whose + "last member is " + rankText(members.second.rank) + ", " + duration(mostApart) + " after the first, " +
           rankText(members.first.rank);
}

/// What was not recorded and would tell more of a communication; empty where all was.
std::string RecordedWaits::missingOf(const RecordedWaitLink& link) const
{
    const CommSpan& comm = m_evidence.ranks[link.rank].comms[link.span];
    const auto isRecorded = [this](int rank) {
        return std::any_of(m_evidence.ranks.begin(), m_evidence.ranks.end(), [=](const auto& of) { return of.rank == rank; });
    };
    const std::string own = "rank " + std::to_string(m_evidence.ranks[link.rank].rank);
    const std::string seen =
        comm.waitNs > 0 ? "; NCCL on " + own + " waited for its peers for " + duration(comm.waitNs) + " of it" : "";
    if (isTransfer(comm.exchange)) {
        if (m_walk.transferOf(link.rank, link.span) != nullptr || comm.exchange == Exchange::send)
            return {};
        if (comm.exchange == Exchange::sendReceive)
            return "one kernel sends and receives here: who is late with what is not recorded" + seen;
        if (comm.peer < 0)
            return "who sends it is not recorded" + seen;
        const std::string sender = "rank " + std::to_string(comm.peer);
        if (!isRecorded(comm.peer))
            return sender + ", which sends it, is not recorded" + seen;
        return (m_recovered->clock.isAligned ? "its send on " + sender + " was not found"
                                             : "when " + sender + " sends it cannot be told" + std::string(kNoClock)) +
               seen;
    }
    if (comm.group < 0)
        return "which ranks take part in it is not recorded, so who comes last is not known" + seen;
    std::vector<int> absent;
    const std::vector<int>& members = m_evidence.groups[asIndex(comm.group)].ranks;
    std::copy_if(members.begin(), members.end(), std::back_inserter(absent), [&](int rank) { return !isRecorded(rank); });
    if (m_walk.meetingOf(link.rank, link.span) != nullptr)
        return absent.empty() ? std::string()
                              : namedRanks(absent, 4) + " of its " + std::to_string(members.size()) + " members " +
                                    (absent.size() == 1 ? "is" : "are") + " not recorded and may have come later" + seen;
    if (absent.size() + 1 >= members.size())
        return "of its " + countedText(static_cast<std::int64_t>(members.size()), "member") + " only " + own +
               " is recorded, so who comes last is not known" + seen;
    return (m_recovered->clock.isAligned
                ? "it was not found among what its other members recorded, so who comes last is not known"
                : "who comes last cannot be told" + std::string(kNoClock)) +
           seen;
}

/// In what else the rank is for much of the wait: it may be pointed at there.
std::string RecordedWaits::besides(const RecordedWait& wait)
{
    constexpr double kMuch = 0.25;
    const auto textOf = [this, &wait](std::uint32_t place) {
        return linkText({.kind = RecordedWaitLink::Kind::communicating, .rank = wait.gap.rank, .pass = {}, .span = place});
    };
    std::vector<std::string> told;
    for (const RecordedWaitLink& link : wait.links)
        if (link.kind == RecordedWaitLink::Kind::communicating)
            told.push_back(linkText(link));
    const std::int64_t fromNs = wait.gap.beginNs + m_step.startNs, toNs = wait.gap.endNs + m_step.startNs;
    const std::vector<CommSpan>& comms = m_evidence.ranks[wait.gap.rank].comms;
    std::string text;
    for (auto span = std::lower_bound(comms.begin(), comms.end(), m_step.rankStartNs[wait.gap.rank],
                                      [](const CommSpan&one, std::int64_t ns) { return one.startNs < ns; });
         span != comms.end() && span->startNs < toNs; ++span) {
        const std::int64_t during = std::min(span->endNs, toNs) - std::max(span->startNs, fromNs);
        if (static_cast<double>(during) < kMuch * static_cast<double>(wait.gap.lengthNs()))
            continue;
        const std::string one = textOf(static_cast<std::uint32_t>(span - comms.begin()));
        if (std::find(told.begin(), told.end(), one) != told.end())
            continue;
        told.push_back(one);
        text += (text.empty() ? "meanwhile the rank is also in " : " and ") + one;
    }
    return text;
}

/// Of a rank without kernels: who is late, and what is known of why.
std::vector<std::string> RecordedWaits::linesOfCommunication(const RecordedWait& wait)
{
    const RecordedWaitLink own{.kind = RecordedWaitLink::Kind::communicating,
                               .rank = wait.gap.rank,
                               .beginNs = wait.gap.beginNs,
                               .endNs = wait.gap.endNs,
                               .pass = {},
                               .span = *wait.gap.comm};
    std::vector<std::string> out{duration(wait.gap.lengthNs()) + " in " + linkText(own)};
    if (const std::string who = aboutMembers({own}); !who.empty())
        out.push_back(who);
    std::vector<WaitedFor> told;
    const Meeting* const met = m_walk.meetingOf(own.rank, own.span);
    for (const RecordedWaitLink& link : wait.links) {
        const bool communicates = link.kind == RecordedWaitLink::Kind::communicating;
        const bool isItself = communicates && ((link.rank == own.rank && link.span == own.span) ||
                                               (met != nullptr && m_walk.meetingOf(link.rank, link.span) == met));
        const bool isMessage = communicates && m_walk.transferOf(link.rank, link.span) != nullptr; // of others, too
        if (!isItself)
            told.push_back(
                {linkText(link) + (isMessage ? " to " + rankText(link.rank) : std::string()) + ", " + duration(link.lengthNs()),
                 link.lengthNs()});
    }
    std::vector<std::string> chain = waitLines(told, false);
    if (out.size() > 1 && !chain.empty())
        chain.front() = "it " + chain.front(); // the last member
    out.insert(out.end(), chain.begin(), chain.end());
    if (const std::string what = missingOf(own); !what.empty())
        out.push_back(what);
    if (wait.unexplainedNs >= kShortestWaitNs &&
        static_cast<double>(wait.unexplainedNs) >= kWorthTelling * static_cast<double>(wait.gap.lengthNs()))
        out.push_back("for " + duration(wait.unexplainedNs) + " of it " + rankText(wait.unexplainedRank) +
                      " does what was not recorded");
    return out;
}

std::vector<std::string> RecordedWaits::lines(const RecordedWait& wait)
{
    if (wait.gap.comm)
        return linesOfCommunication(wait);
    const RecordedGap& gap = wait.gap;
    const RankEvidence& rank = m_evidence.ranks[gap.rank];
    std::vector<WaitedFor> told;
    for (std::size_t i = 0; i < wait.links.size(); ++i) {
        const RecordedWaitLink& link = wait.links[i];
        const RecordedWaitLink* made = i + 1 < wait.links.size() ? &wait.links[i + 1] : nullptr;
        const Meeting* transfer =
            link.kind == RecordedWaitLink::Kind::communicating ? m_walk.transferOf(link.rank, link.span) : nullptr;
        std::string text = linkText(link);
        std::int64_t ns = link.lengthNs();
        if (transfer != nullptr && made != nullptr && made->kind == RecordedWaitLink::Kind::computing && made->pass &&
            pipelineRankOf(transfer->parts[0].rank) ==
                pipelineRankOf(made->rank)) { // a pass and the message that brings its result are told as one
            told.push_back({linkText(*made) + ", " + duration(made->lengthNs()) + ", and its message, " + duration(ns),
                            made->lengthNs() + ns});
            ++i;
            continue;
        }
        int times = 1;
        for (; link.kind == RecordedWaitLink::Kind::communicating && i + 1 < wait.links.size() &&
               wait.links[i + 1].kind == link.kind && linkText(wait.links[i + 1]) == text;
             ++i, ++times)
            ns += wait.links[i + 1].lengthNs();
        text += (times > 1 ? ", " + std::to_string(times) + " in a row, " : ", ") + duration(ns);
        if (static_cast<double>(link.hostNs) > kWaitWorthALink * static_cast<double>(ns))
            text += ", " + duration(link.hostNs) + " of it until its host asked";
        told.push_back({text, ns});
    }
    std::vector<std::string> out = waitLines(told, !gap.next);
    const auto communicates = [](const RecordedWaitLink& link) { return link.kind == RecordedWaitLink::Kind::communicating; };
    if (const std::string who = aboutMembers(wait.links); !who.empty())
        out.push_back(who);
    if (const std::string also = besides(wait); !also.empty())
        out.push_back(also);
    std::vector<std::string> missing;
    for (const RecordedWaitLink& link : wait.links)
        if (const std::string what = communicates(link) ? missingOf(link) : std::string();
            !what.empty() && std::find(missing.begin(), missing.end(), what) == missing.end())
            missing.push_back(what);
    constexpr std::size_t kMostMissing = 2;
    missing.resize(std::min(missing.size(), kMostMissing));
    out.insert(out.end(), missing.begin(), missing.end());
    const auto isWorthTelling = [&](std::int64_t ns) {
        return static_cast<double>(ns) >= kWorthTelling * static_cast<double>(gap.lengthNs());
    };
    if (wait.links.empty())
        out.push_back(gap.next && rank.work[*gap.next].launchNs != INT64_MIN
                          ? "its host had asked for it before, and nothing else was recorded meanwhile"
                          : "nothing was recorded meanwhile; when its host asked for it is not in the files either");
    else if (wait.unexplainedNs > 0 && isWorthTelling(wait.unexplainedNs))
        out.push_back("and " + duration(wait.unexplainedNs) + " in which nothing was recorded" +
                      (hasLaunches(gap.rank) ? "" : "; when hosts ask for kernels is not in the files"));
    if (wait.hostNs > 0 && isWorthTelling(wait.hostNs))
        out.push_back("and " + duration(wait.hostNs) + " until hosts asked for kernels");
    const auto nameOfPass = [&](std::uint32_t kernel) {
        const StepPass* pass = of(gap.rank).passes.of(rank.work[kernel]);
        return pass == nullptr ? std::string() : passText(gap.rank, pass->action);
    };
    std::string where = " to the end of the step: the rank is done";
    if (gap.next) {
        const WorkSpan& next = rank.work[*gap.next];
        const std::string kernel = isOptimizer(next) ? "the optimizer" : briefName(m_evidence.names[next.name]);
        const std::string pass = nameOfPass(*gap.next);
        where =
            gap.isInsidePass ? " idle inside " + pass + ", before " + kernel : " idle before " + (pass.empty() ? kernel : pass);
    }
    out.insert(out.begin(), duration(gap.lengthNs()) + where);
    const auto ofStep = [&](std::int64_t ns) {
        return percentText(static_cast<double>(ns) / static_cast<double>(m_endNs)) + " of the step";
    };
    const std::string each = rank.multiplicity > 1 ? " on each of " + countedText(rank.multiplicity, "rank") : std::string();
    if (gap.isInsidePass)
        out.push_back("all waits inside passes together are " + ofStep(of(gap.rank).insidePassesNs) + " long" + each +
                      ", this one " + ofStep(gap.lengthNs()));
    else if (gap.next) // to be done early costs nothing
        out.push_back("is " + ofStep(gap.lengthNs()) + " long" + each);
    return out;
}

} // namespace sim
