#include "live/record/flight_record.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace live {
namespace {

std::string seconds(std::int64_t ns)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) * 1e-9);
    return text;
}

std::string describe(const FlightEntry& entry)
{
    std::string text = std::string(entry.kind) + " " + std::string(entry.what);
    if (entry.group && entry.ranks) {
        text += " of group " + *entry.group + " {";
        for (const int rank : *entry.ranks)
            text += std::to_string(rank) + ",";
        text.back() = '}';
    }
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

std::string describeStall(const std::vector<const FlightRecord*>& records, std::int64_t nowNs)
{
    std::map<int, FlightEntry> waiting; // by rank: what it has waited for longest
    std::map<int, FlightRecord::State> states;
    for (const FlightRecord* record : records) {
        FlightRecord::State& state = states[record->rank] = record->state();
        for (const FlightEntry& entry : state.entries)
            if (entry.doneNs == 0 && !waiting.contains(record->rank))
                waiting[record->rank] = entry;
    }
    const auto oldest = std::min_element(waiting.begin(), waiting.end(),
                                         [](const auto& a, const auto& b) { return a.second.issuedNs < b.second.issuedNs; });
    // From who waits to whom he waits for, as long as that one waits too.
    std::string text;
    std::set<int> told;
    for (auto wait = oldest; wait != waiting.end() && told.insert(wait->first).second;) {
        const FlightEntry& entry = wait->second;
        text += (text.empty() ? "rank " : "; rank ") + std::to_string(wait->first) + " has waited " +
                seconds(nowNs - entry.issuedNs) + " in " + describe(entry);
        const auto absent = std::find_if(entry.ranks->begin(), entry.ranks->end(), [&](int rank) {
            const auto state = states.find(rank);
            return state == states.end() ||
                   std::none_of(state->second.entries.begin(), state->second.entries.end(), [&](const FlightEntry& other) {
                       return other.group == entry.group && other.sequence == entry.sequence;
                   });
        });
        if (absent == entry.ranks->end()) {
            text += ", to which all have come: the transfer itself does not end";
            break;
        }
        const auto state = states.find(*absent);
        text += ", to which rank " + std::to_string(*absent) + " has not come" +
                (state == states.end() || !state->second.inStep() ? "" : ": it is in " + state->second.action);
        wait = waiting.find(*absent);
    }
    for (const auto& [rank, state] : states)
        if (text.empty() && state.inStep()) // on a GPU, whose requests are done when they are on its stream
            text = "rank " + std::to_string(rank) + " has been in " + state.action + " for " + seconds(nowNs - state.sinceNs);
    return text;
}

} // namespace live
