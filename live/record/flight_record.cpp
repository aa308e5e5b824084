#include "live/record/flight_record.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace live {
namespace {

std::string seconds(std::int64_t ns)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) * 1e-9);
    return text;
}

std::string groupText(const FlightEntry& entry)
{
    if (!entry.group || !entry.ranks)
        return "";
    std::string text = *entry.group + " {";
    for (const int rank : *entry.ranks)
        text += std::to_string(rank) + ",";
    text.back() = '}';
    return text;
}

} // namespace

std::uint64_t FlightRecord::issued(const FlightEntry& entry)
{
    const std::lock_guard lock(m_mutex);
    ++m_progress;
    m_entries[m_next % kKept] = entry;
    return m_next++;
}

void FlightRecord::done(std::uint64_t number, std::int64_t doneNs)
{
    const std::lock_guard lock(m_mutex);
    ++m_progress;
    if (m_next - number <= kKept)
        m_entries[number % kKept].doneNs = doneNs;
}

void FlightRecord::enter(std::string action, std::int64_t nowNs)
{
    const std::lock_guard lock(m_mutex);
    ++m_progress;
    m_action = std::move(action);
    m_sinceNs = nowNs;
}

void FlightRecord::moves()
{
    const std::lock_guard lock(m_mutex);
    ++m_progress;
}

void FlightRecord::waits(bool now)
{
    const std::lock_guard lock(m_mutex);
    ++m_progress;
    m_waits = now;
}

FlightRecord::State FlightRecord::state() const
{
    const std::lock_guard lock(m_mutex);
    State state{.action = m_action, .sinceNs = m_sinceNs, .progress = m_progress, .waits = m_waits};
    for (std::uint64_t i = m_next > kKept ? m_next - kKept : 0; i < m_next; ++i)
        state.entries.push_back(m_entries[i % kKept]);
    return state;
}

std::vector<StalledRank> stalledRanks(const std::vector<const FlightRecord*>& records, std::int64_t nowNs)
{
    std::vector<StalledRank> ranks;
    for (const FlightRecord* record : records) {
        const FlightRecord::State state = record->state();
        StalledRank& rank = ranks.emplace_back();
        rank.rank = record->rank;
        rank.action = state.action;
        rank.actionNs = nowNs - state.sinceNs;
        for (const FlightEntry& entry : state.entries) {
            StalledRank::Request& request = rank.requests.emplace_back();
            request.group = groupText(entry);
            request.what = std::string(entry.kind) + " " + std::string(entry.what) +
                           (request.group.empty() ? "" : " of group " + request.group);
            if (entry.ranks)
                request.ranks = *entry.ranks;
            request.sequence = entry.sequence;
            request.waitedNs = nowNs - entry.issuedNs;
            request.isPending = entry.doneNs == 0;
        }
    }
    return ranks;
}

std::string describeStall(const std::vector<StalledRank>& ranks)
{
    std::map<int, const StalledRank*> byRank;
    std::map<int, const StalledRank::Request*> waiting; // by rank: what it has waited for longest
    for (const StalledRank& rank : ranks) {
        byRank[rank.rank] = &rank;
        for (const StalledRank::Request& request : rank.requests)
            if (request.isPending && !waiting.contains(rank.rank))
                waiting[rank.rank] = &request;
    }
    const auto oldest = std::max_element(waiting.begin(), waiting.end(),
                                         [](const auto& a, const auto& b) { return a.second->waitedNs < b.second->waitedNs; });
    // From who waits to whom he waits for, as long as that one waits too.
    std::string text;
    std::vector<int> told;
    for (auto wait = oldest; wait != waiting.end();) {
        if (const auto first = std::find(told.begin(), told.end(), wait->first); first != told.end()) {
            text += "; they wait for each other in a circle: rank ";
            for (auto rank = first; rank != told.end(); ++rank)
                text += std::to_string(*rank) + " -> ";
            text += std::to_string(*first);
            break;
        }
        told.push_back(wait->first);
        const StalledRank::Request& request = *wait->second;
        text += (text.empty() ? "rank " : "; rank ") + std::to_string(wait->first) + " has waited " + seconds(request.waitedNs) +
                " in " + request.what;
        const auto absent = std::find_if(request.ranks.begin(), request.ranks.end(), [&](int rank) {
            const auto there = byRank.find(rank);
            return there == byRank.end() ||
                   std::none_of(there->second->requests.begin(), there->second->requests.end(),
                                [&](const StalledRank::Request& other) {
                                    return other.group == request.group && other.sequence == request.sequence;
                                });
        });
        if (absent == request.ranks.end()) {
            text += ", to which all have come: the transfer itself does not end";
            break;
        }
        const auto there = byRank.find(*absent);
        text += ", to which rank " + std::to_string(*absent) + " has not come" +
                (there == byRank.end() || there->second->action.empty() ? "" : ": it is in " + there->second->action);
        wait = waiting.find(*absent);
    }
    for (const StalledRank& rank : ranks)
        if (text.empty() && !rank.action.empty()) // on a GPU, whose requests are done when they are on its stream
            text = "rank " + std::to_string(rank.rank) + " has been in " + rank.action + " for " + seconds(rank.actionNs);
    return text;
}

} // namespace live
