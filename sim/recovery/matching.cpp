#include "sim/recovery/matching.h"

#include "sim/recovery/joined_parts.h"
#include "sim/recovery/listed_groups.h"
#include "sim/recovery/named_ranks.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace sim {
namespace {

/// What must agree for two kernels to be of one collective. Bytes of an all-to-all differ by rank.
struct Likeness {
    Exchange exchange = Exchange::unknown;
    std::int64_t bytes = 0;
    auto operator<=>(const Likeness&) const = default;
};

Likeness likenessOf(const CommSpan& span)
{
    return {span.exchange, span.exchange == Exchange::allToAll ? 0 : span.bytes};
}

using Row = std::vector<std::uint32_t>; ///< comms of a rank in one group, by start

/// How a row of kernels may lie over another: its i-th is the other's (i + shift)-th.
struct Shifts {
    std::vector<int> best; ///< those with the longest run of alike kernels, the smallest first
    std::size_t run = 0;   ///< its length
};

/// `areAlike`: of a place in the base and one in the row. O(row · shifts) where much repeats; less where little does.
template <typename Alike>
Shifts longestRuns(std::size_t base, std::size_t row, const Alike& areAlike)
{
    constexpr std::ptrdiff_t kFurthest = 64; // from where both begin, and from where both end
    const std::ptrdiff_t atEnds = static_cast<std::ptrdiff_t>(base) - static_cast<std::ptrdiff_t>(row);
    std::set<std::ptrdiff_t> all;
    for (std::ptrdiff_t distance = -kFurthest; distance <= kFurthest; ++distance)
        all.insert({distance, atEnds + distance});
    std::vector<std::ptrdiff_t> inTurn(all.begin(), all.end());
    std::stable_sort(inTurn.begin(), inTurn.end(), [](std::ptrdiff_t a, std::ptrdiff_t b) {
        return std::abs(a) != std::abs(b) ? std::abs(a) < std::abs(b) : a > b;
    });
    Shifts shifts;
    for (const std::ptrdiff_t shift : inTurn) {
        const std::ptrdiff_t first = std::max<std::ptrdiff_t>(0, -shift);
        const std::ptrdiff_t last = std::min(static_cast<std::ptrdiff_t>(row), static_cast<std::ptrdiff_t>(base) - shift);
        std::size_t run = 0, longest = 0;
        for (std::ptrdiff_t i = first; i < last; ++i) {
            run = areAlike(static_cast<std::size_t>(i + shift), static_cast<std::size_t>(i)) ? run + 1 : 0;
            longest = std::max(longest, run);
            if (longest < shifts.run && run + static_cast<std::size_t>(last - i - 1) < shifts.run)
                break; // it will not become as long
        }
        if (longest > shifts.run)
            shifts = {{}, longest};
        if (longest == shifts.run && longest > 0)
            shifts.best.push_back(static_cast<int>(shift));
        if (base == row && shifts.run == row)
            break; // from end to end, as no other can be
    }
    return shifts;
}

class Matcher {
public:
    explicit Matcher(const RunEvidence& evidence) : m_evidence(evidence) {}

    Meetings match()
    {
        collectRows();
        for (auto& [group, rows] : m_rows)
            matchGroup(group, rows);
        matchTransfers();
        std::sort(m_result.meetings.begin(), m_result.meetings.end(), [this](const Meeting& a, const Meeting& b) {
            return std::tuple(a.parts[0].rank, spanOf(a.parts[0]).startNs) <
                   std::tuple(b.parts[0].rank, spanOf(b.parts[0]).startNs);
        });
        return std::move(m_result);
    }

private:
    const CommSpan& spanOf(const Part& part) const { return m_evidence.ranks[part.rank].comms[part.span]; }
    void collectRows();
    void matchGroup(std::int32_t group, std::map<std::uint32_t, Row>& rows);
    void layAlike(std::int32_t group, const std::map<std::uint32_t, Row>& rows);
    void layOver(std::int32_t group, const std::map<std::uint32_t, Row>& rows);
    /// A send or a receive: all that a kernel does, or one of what it does at once.
    struct TransferEnd {
        Part part;
        std::int32_t group = -1;
        std::int64_t bytes = 0, message = -1;
    };
    using TransferEnds = std::vector<TransferEnd>;
    void matchTransfers();
    void layTransfers(const TransferEnds& sends, const TransferEnds& receives);
    void addTransfer(const TransferEnd& send, const TransferEnd& receive);
    std::size_t windowOf(const Part&) const;
    std::vector<TransferEnds> byWindow(const TransferEnds&, std::size_t windows) const;
    std::int64_t stepAt(const Part&) const;
    template <typename Alike>
    std::optional<int> chosenShift(const std::vector<Part>& base, const std::vector<Part>& row, const Shifts&,
                                   const Alike&) const;
    void add(std::int32_t group, std::vector<Part> parts);

    const RunEvidence& m_evidence;
    std::map<std::int32_t, std::map<std::uint32_t, Row>> m_rows; ///< group -> rank -> its kernels
    Meetings m_result;
};

void Matcher::collectRows()
{
    for (std::uint32_t r = 0; r < m_evidence.ranks.size(); ++r)
        for (std::uint32_t i = 0; i < m_evidence.ranks[r].comms.size(); ++i) {
            const CommSpan& span = m_evidence.ranks[r].comms[i];
            // What sends and receives at once is of two ranks or three, and others run fewer of it or more.
            const bool isCollective =
                !isTransfer(span.exchange) || (span.exchange == Exchange::sendReceive && span.sequence >= 0);
            if (span.group >= 0 && isCollective)
                m_rows[span.group][r].push_back(i);
        }
}

void Matcher::add(std::int32_t group, std::vector<Part> parts)
{
    if (parts.size() < 2) {
        m_result.unmatched += parts.size();
        return;
    }
    m_result.matched += parts.size();
    m_result.meetings.push_back({.group = group, .exchange = spanOf(parts.front()).exchange, .parts = std::move(parts)});
}

void Matcher::matchGroup(std::int32_t group, std::map<std::uint32_t, Row>& rows)
{
    // Where the library counts, its numbers say which belong together. Sequences may repeat where a counter began anew.
    const bool counted = std::all_of(rows.begin(), rows.end(), [this](const auto& row) {
        return std::all_of(row.second.begin(), row.second.end(),
                           [&](std::uint32_t i) { return m_evidence.ranks[row.first].comms[i].sequence >= 0; });
    });
    if (counted) {
        std::map<std::tuple<std::int64_t, Exchange, int>, std::vector<Part>> bySequence;
        for (const auto& [rank, row] : rows) {
            std::map<std::pair<std::int64_t, Exchange>, int> times;
            for (const std::uint32_t i : row) {
                const CommSpan& span = m_evidence.ranks[rank].comms[i];
                const int time = times[{span.sequence, span.exchange}]++;
                bySequence[{span.sequence, span.exchange, time}].push_back({rank, i});
            }
        }
        for (auto& [key, parts] : bySequence)
            add(group, std::move(parts));
        return;
    }

    // Each of several recordings began by itself.
    const std::size_t windows = m_evidence.ranks[rows.begin()->first].windows.size();
    const bool areAsMany = std::all_of(rows.begin(), rows.end(),
                                       [&](const auto& row) { return m_evidence.ranks[row.first].windows.size() == windows; });
    if (windows < 2 || !areAsMany) {
        layAlike(group, rows);
        return;
    }
    std::vector<std::map<std::uint32_t, Row>> ofWindow(windows);
    for (const auto& [rank, row] : rows)
        for (const std::uint32_t i : row)
            ofWindow[std::min(windowOf({rank, i}), windows - 1)][rank].push_back(i);
    for (const std::map<std::uint32_t, Row>& part : ofWindow)
        if (!part.empty())
            layAlike(group, part);
}

/// Ranks of which some recorded one kind and size and others another have no collective together: each such part by itself.
void Matcher::layAlike(std::int32_t group, const std::map<std::uint32_t, Row>& rows)
{
    JoinedParts joined(rows.size());
    std::map<Likeness, std::size_t> first; // place in rows
    std::size_t place = 0;
    for (const auto& [rank, row] : rows) {
        for (const std::uint32_t i : row)
            joined.join(first.try_emplace(likenessOf(m_evidence.ranks[rank].comms[i]), place).first->second, place);
        ++place;
    }
    std::map<std::size_t, std::map<std::uint32_t, Row>> parts;
    place = 0;
    for (const auto& [rank, row] : rows)
        parts[joined.partOf(place++)].emplace(rank, row);
    const auto largest = std::max_element(parts.begin(), parts.end(),
                                          [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    for (auto part = parts.begin(); part != parts.end(); ++part) {
        const std::map<std::uint32_t, Row>& alike = part->second;
        layOver(group, alike);
        if (part == largest)
            continue;
        std::vector<int> ranks;
        for (const auto& [rank, row] : alike)
            ranks.push_back(m_evidence.ranks[rank].rank);
        const auto count = static_cast<std::int64_t>(alike.begin()->second.size());
        m_result.problems.push_back(
            "group \"" + m_evidence.groups[static_cast<std::size_t>(group)].name + "\": " + namedRanks(ranks) + " recorded " +
            (ranks.size() == 1 ? countedText(count, "collective") : "collectives") +
            ", and none has the kind and size of one that rank " +
            std::to_string(m_evidence.ranks[largest->second.begin()->first].rank) +
            " recorded: " + (ranks.size() == 1 ? "they have no partner" : "they are of these ranks alone"));
    }
}

/// When a recorder began nobody says: the order of kernels does, and the clocks where the order alone fits in several ways.
void Matcher::layOver(std::int32_t group, const std::map<std::uint32_t, Row>& rows)
{
    std::map<std::uint32_t, std::vector<Likeness>> likeness;
    std::map<std::size_t, std::size_t> ranksWith; // so many
    for (const auto& [rank, row] : rows) {
        ++ranksWith[row.size()];
        for (const std::uint32_t i : row)
            likeness[rank].push_back(likenessOf(m_evidence.ranks[rank].comms[i]));
    }
    std::size_t usual = 0; // the longer of those that as many ranks have
    for (const auto& [size, ranks] : ranksWith)
        usual = usual == 0 || ranks >= ranksWith[usual] ? size : usual;
    const auto base =
        std::find_if(likeness.begin(), likeness.end(), [usual](const auto& of) { return of.second.size() == usual; });
    const auto partsOf = [&rows](std::uint32_t rank) {
        std::vector<Part> parts;
        for (const std::uint32_t i : rows.at(rank))
            parts.push_back({rank, i});
        return parts;
    };
    const std::vector<Part> baseParts = partsOf(base->first);
    std::map<std::ptrdiff_t, std::vector<Part>> byPlace;
    for (const auto& [rank, row] : rows) {
        int shift = 0;
        if (rank != base->first) {
            const std::vector<Likeness>& own = likeness[rank];
            const auto areAlike = [&](std::size_t there, std::size_t here) { return base->second[there] == own[here]; };
            const Shifts shifts = longestRuns(base->second.size(), row.size(), areAlike);
            const std::optional<int> chosen = chosenShift(baseParts, partsOf(rank), shifts, areAlike);
            if (!chosen) {
                m_result.unmatched += row.size();
                m_result.problems.push_back("group \"" + m_evidence.groups[static_cast<std::size_t>(group)].name + "\": rank " +
                                            std::to_string(m_evidence.ranks[rank].rank) + " recorded " +
                                            countedText(static_cast<std::int64_t>(row.size()), "collective") + ", rank " +
                                            std::to_string(m_evidence.ranks[base->first].rank) + " recorded " +
                                            std::to_string(baseParts.size()) + ", and they fit each other in " +
                                            std::to_string(shifts.best.size()) +
                                            " ways: which are the same is not told, and those of rank " +
                                            std::to_string(m_evidence.ranks[rank].rank) + " have no partner");
                continue;
            }
            if (shifts.best.empty()) // both are as what others recorded
                m_result.problems.push_back("group \"" + m_evidence.groups[static_cast<std::size_t>(group)].name + "\": rank " +
                                            std::to_string(m_evidence.ranks[rank].rank) + " recorded " +
                                            countedText(static_cast<std::int64_t>(row.size()), "collective") +
                                            ", and none is alike where they could lie over those of rank " +
                                            std::to_string(m_evidence.ranks[base->first].rank) +
                                            ": they go by their order alone");
            shift = *chosen;
        }
        if (shift != 0)
            m_result.problems.push_back("rank " + std::to_string(m_evidence.ranks[rank].rank) + " began recording " +
                                        std::to_string(std::abs(shift)) + " collectives " + (shift > 0 ? "later" : "earlier") +
                                        " than rank " + std::to_string(m_evidence.ranks[base->first].rank) + " in group \"" +
                                        m_evidence.groups[static_cast<std::size_t>(group)].name + "\"; those have no partner");
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(i) + shift;
            std::vector<Part>& parts = byPlace[place];
            const bool fits = parts.empty() || likenessOf(spanOf(parts.front())) == likeness[rank][i];
            if (fits)
                parts.push_back({rank, row[i]});
            else
                ++m_result.unmatched;
        }
    }
    for (auto& [place, parts] : byPlace)
        add(group, std::move(parts));
}

std::size_t Matcher::windowOf(const Part& part) const
{
    const auto& windows = m_evidence.ranks[part.rank].windows;
    const std::int64_t at = spanOf(part).startNs;
    return static_cast<std::size_t>(
        std::find_if(windows.begin(), windows.end(), [at](const auto& window) { return at <= window.second; }) - windows.begin());
}

std::vector<Matcher::TransferEnds> Matcher::byWindow(const TransferEnds& ends, std::size_t windows) const
{
    std::vector<TransferEnds> of(windows);
    for (const TransferEnd& end : ends)
        of[windows == 1 ? 0 : std::min(windowOf(end.part), windows - 1)].push_back(end);
    return of;
}

/// The number of the step that it begins in; -1: none is marked there.
std::int64_t Matcher::stepAt(const Part& part) const
{
    const std::vector<StepMark>& steps = m_evidence.ranks[part.rank].steps;
    const auto after = std::upper_bound(steps.begin(), steps.end(), spanOf(part).startNs,
                                        [](std::int64_t ns, const StepMark& step) { return ns < step.startNs; });
    return after == steps.begin() ? -1 : std::prev(after)->number;
}

/// Of shifts that fit equally: none where both rows are as long, for they then begin and end together; else that of the steps'
/// numbers, of the clock that ranks share, or, where clocks differ by nobody knows how much, of the rhythm: ends come in the same
/// intervals where they are of the same collectives. Nothing where none of these tells.
template <typename Alike>
std::optional<int> Matcher::chosenShift(const std::vector<Part>& base, const std::vector<Part>& row, const Shifts& shifts,
                                        const Alike& areAlike) const
{
    if (shifts.best.size() <= 1)
        return shifts.best.empty() ? 0 : shifts.best.front();
    if (base.size() == row.size() && shifts.best.front() == 0)
        return 0;
    struct Told {
        int shift = 0;
        double inOneStep = 0, apartNs = 0, wandersNs = 0;
        std::size_t pairs = 0;
    };
    std::vector<Told> told;
    for (const int shift : shifts.best) {
        Told of{.shift = shift};
        std::vector<double> apart, wander;
        double before = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) + shift;
            if (at < 0 || at >= static_cast<std::ptrdiff_t>(base.size()) || !areAlike(static_cast<std::size_t>(at), i))
                continue;
            const Part& there = base[static_cast<std::size_t>(at)];
            const std::int64_t step = stepAt(row[i]);
            of.inOneStep += step >= 0 && step == stepAt(there) ? 1 : 0;
            const auto difference = static_cast<double>(spanOf(row[i]).endNs - spanOf(there).endNs);
            apart.push_back(std::abs(difference));
            if (apart.size() > 1)
                wander.push_back(std::abs(difference - before));
            before = difference;
        }
        const auto middle = [](std::vector<double>& values) {
            const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
            std::nth_element(values.begin(), half, values.end());
            return values.empty() ? 0.0 : *half;
        };
        of.pairs = apart.size();
        of.apartNs = middle(apart);
        of.wandersNs = middle(wander);
        told.push_back(of);
    }
    /// The two that are best by what is told.
    const auto first = [&told](double Told::*by) {
        std::partial_sort(told.begin(), told.begin() + 2, told.end(),
                          [by](const Told& a, const Told& b) { return a.*by < b.*by; });
        return std::pair(told[0], told[1]);
    };
    for (Told& of : told)
        of.inOneStep = -of.inOneStep;
    if (const auto [best, next] = first(&Told::inOneStep); best.inOneStep < next.inOneStep)
        return best.shift;
    constexpr double kClearly = 2, kNoiseNs = 20'000;
    if (m_evidence.isOneClock || isOfOneHost(m_evidence)) {
        const auto [best, next] = first(&Told::apartNs);
        if (next.apartNs > kClearly * best.apartNs + kNoiseNs)
            return best.shift;
    }
    constexpr std::size_t kFewest = 5;
    constexpr double kByFar = 4;
    const auto [best, next] = first(&Told::wandersNs);
    if (best.pairs >= kFewest && next.wandersNs > kByFar * best.wandersNs + kNoiseNs)
        return best.shift;
    return std::nullopt;
}

void Matcher::addTransfer(const TransferEnd& send, const TransferEnd& receive)
{
    m_result.matched += 2;
    m_result.transfers.push_back({.group = send.group, .exchange = Exchange::send, .parts = {send.part, receive.part}});
}

/// By their order, as collectives are laid over each other. What a file does not say of one fits anything.
void Matcher::layTransfers(const TransferEnds& sends, const TransferEnds& receives)
{
    if (sends.empty() || receives.empty()) {
        m_result.unmatched += sends.size() + receives.size();
        return;
    }
    const auto areAlike = [&](std::size_t send, std::size_t receive) {
        const TransferEnd &from = sends[send], &to = receives[receive];
        return (from.group == to.group || from.group < 0 || to.group < 0) &&
               (from.bytes == to.bytes || from.bytes <= 0 || to.bytes <= 0);
    };
    const Shifts shifts = longestRuns(sends.size(), receives.size(), areAlike);
    if (shifts.run == 0 && sends.size() == receives.size()) { // each end counts in its own way
        for (std::size_t i = 0; i < sends.size(); ++i)
            addTransfer(sends[i], receives[i]);
        return;
    }
    const auto partsOf = [](const TransferEnds& ends) {
        std::vector<Part> parts;
        for (const TransferEnd& end : ends)
            parts.push_back(end.part);
        return parts;
    };
    const std::optional<int> shift =
        shifts.run == 0 ? std::nullopt : chosenShift(partsOf(sends), partsOf(receives), shifts, areAlike);
    if (!shift) {
        const std::string from = std::to_string(m_evidence.ranks[sends.front().part.rank].rank),
                          to = std::to_string(m_evidence.ranks[receives.front().part.rank].rank);
        m_result.unmatched += sends.size() + receives.size();
        m_result.problems.push_back("rank " + from + " recorded " + countedText(static_cast<std::int64_t>(sends.size()), "send") +
                                    " to rank " + to + ", which recorded " +
                                    countedText(static_cast<std::int64_t>(receives.size()), "receive") + " from it, and " +
                                    (shifts.run == 0 ? std::string("no two are alike")
                                                     : "they fit each other in " + std::to_string(shifts.best.size()) + " ways") +
                                    ": which belong together is not told");
        return;
    }
    std::size_t both = 0;
    for (std::size_t i = 0; i < receives.size(); ++i) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) + *shift;
        if (at < 0 || at >= static_cast<std::ptrdiff_t>(sends.size()) || !areAlike(static_cast<std::size_t>(at), i))
            continue;
        addTransfer(sends[static_cast<std::size_t>(at)], receives[i]);
        ++both;
    }
    m_result.unmatched += sends.size() + receives.size() - 2 * both;
}

/// By the message's number where the trace has one. Else a rank's sends to another and the receives there lie over each other in
/// their order.
void Matcher::matchTransfers()
{
    std::map<std::pair<int, int>, std::pair<TransferEnds, TransferEnds>> links; // (from, to) -> sends, receives
    for (std::uint32_t r = 0; r < m_evidence.ranks.size(); ++r) {
        const RankEvidence& rank = m_evidence.ranks[r];
        const auto take = [&](Exchange exchange, int peer, const TransferEnd& end) {
            if (peer >= 0 && exchange == Exchange::send)
                links[{rank.rank, peer}].first.push_back(end);
            else if (peer >= 0 && exchange == Exchange::receive)
                links[{peer, rank.rank}].second.push_back(end);
        };
        for (std::uint32_t i = 0; i < rank.comms.size(); ++i) {
            const CommSpan& span = rank.comms[i];
            take(span.exchange, span.peer, {{r, i}, span.group, span.bytes, span.message});
        }
        for (const AskedTransfer& transfer : rank.asked)
            if (transfer.kernel >= 0)
                take(transfer.exchange, transfer.peer,
                     {{r, static_cast<std::uint32_t>(transfer.kernel)}, transfer.group, transfer.bytes});
    }
    for (auto& [link, ends] : links) {
        auto& [sends, receives] = ends;
        const auto isNumbered = [](const TransferEnd& end) { return end.message >= 0; };
        if (std::all_of(sends.begin(), sends.end(), isNumbered) && std::all_of(receives.begin(), receives.end(), isNumbered)) {
            std::unordered_map<std::int64_t, const TransferEnd*> sendOf;
            for (const TransferEnd& send : sends)
                sendOf.emplace(send.message, &send);
            std::size_t both = 0;
            for (const TransferEnd& to : receives)
                if (const auto from = sendOf.find(to.message); from != sendOf.end()) {
                    ++both;
                    m_result.transfers.push_back(
                        {.group = to.group, .exchange = Exchange::send, .parts = {from->second->part, to.part}});
                }
            m_result.matched += 2 * both;
            m_result.unmatched += sends.size() + receives.size() - 2 * both;
            continue;
        }
        // Some kernels do one transfer and others several: all of them in the order in which they ran.
        for (TransferEnds* either : {&sends, &receives})
            std::stable_sort(either->begin(), either->end(),
                             [](const TransferEnd& a, const TransferEnd& b) { return a.part.span < b.part.span; });
        const std::size_t there = sends.empty() ? 0 : m_evidence.ranks[sends.front().part.rank].windows.size();
        const std::size_t here = receives.empty() ? 0 : m_evidence.ranks[receives.front().part.rank].windows.size();
        const std::size_t windows = there == here && there >= 2 ? there : 1;
        const auto sendsOf = byWindow(sends, windows), receivesOf = byWindow(receives, windows);
        for (std::size_t window = 0; window < windows; ++window)
            layTransfers(sendsOf[window], receivesOf[window]);
    }
}

} // namespace

bool endsForAll(const RunEvidence& evidence, const Meeting& meeting)
{
    if (synchronises(meeting.exchange))
        return true;
    if (!evidence.isOneClock || meeting.exchange == Exchange::send || meeting.exchange == Exchange::receive)
        return false;
    constexpr std::int64_t kTogetherNs = 50'000;
    std::int64_t first = INT64_MAX, last = INT64_MIN;
    for (const Part& part : meeting.parts) {
        const std::int64_t end = evidence.ranks[part.rank].comms[part.span].endNs;
        first = std::min(first, end);
        last = std::max(last, end);
    }
    return last - first <= kTogetherNs;
}

bool isWhole(const RunEvidence& evidence, const Meeting& meeting)
{
    if (meeting.exchange == Exchange::send || meeting.group < 0)
        return true;
    std::size_t members = 0;
    for (const Part& part : meeting.parts)
        members += static_cast<std::size_t>(std::max(1, evidence.ranks[part.rank].multiplicity));
    return members >= evidence.groups[static_cast<std::size_t>(meeting.group)].ranks.size();
}

std::vector<std::vector<std::int64_t>> shortestOfMembers(const RunEvidence& evidence, const Meetings& meetings)
{
    std::vector<std::vector<std::int64_t>> shortest;
    for (const RankEvidence& rank : evidence.ranks)
        shortest.emplace_back(rank.comms.size(), -1);
    for (const std::vector<Meeting>* list : {&meetings.meetings, &meetings.transfers})
        for (const Meeting& meeting : *list) {
            std::int64_t least = INT64_MAX;
            for (const Part& part : meeting.parts) {
                const CommSpan& span = evidence.ranks[part.rank].comms[part.span];
                least = std::min(least, span.endNs - span.startNs);
            }
            for (const Part& part : meeting.parts) {
                std::int64_t& of = shortest[part.rank][part.span];
                of = of < 0 ? least : std::min(of, least);
            }
        }
    return shortest;
}

Meetings matchCollectives(const RunEvidence& evidence)
{
    return Matcher(evidence).match();
}

} // namespace sim
