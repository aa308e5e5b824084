#include "live/comm/clock_sync.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

namespace live {
namespace {

std::string offsetText(const ClockOffset& offset)
{
    std::ostringstream text;
    text << offset.offsetNs << ' ' << offset.uncertaintyNs << ' ' << offset.takenNs;
    return text.str();
}

ClockOffset offsetOf(const std::string& words)
{
    ClockOffset offset;
    std::istringstream(words) >> offset.offsetNs >> offset.uncertaintyNs >> offset.takenNs;
    return offset;
}

std::string roundsKey(int process)
{
    return "clock/rounds/" + std::to_string(process);
}

std::string newestKey(int process)
{
    return "clock/newest/" + std::to_string(process);
}

} // namespace

ClockOffset measureClock(Store& store, int samples)
{
    ClockOffset best;
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < samples; ++i) {
        const Store::ClockSample sample = store.sampleClock();
        const std::int64_t roundTrip = sample.receivedNs - sample.sentNs;
        if (roundTrip >= shortest)
            continue;
        shortest = roundTrip;
        const std::int64_t middle = sample.sentNs + roundTrip / 2;
        best = {sample.serverNs - middle, roundTrip / 2 + 1, middle}; // + 1: the halves are rounded
    }
    return best;
}

std::vector<ClockOffset> alignClocks(Store& store, int round, int samples)
{
    const std::string prefix = "clock/" + std::to_string(round) + "/";
    store.set(prefix + std::to_string(store.process()), offsetText(measureClock(store, samples)));
    std::vector<ClockOffset> all;
    for (int process = 0; process < store.processes(); ++process)
        all.push_back(offsetOf(store.get(prefix + std::to_string(process))));
    return all;
}

ClockRounds::ClockRounds(Store& store, std::chrono::milliseconds every)
    : m_store(store), m_every(every), m_last(std::chrono::steady_clock::now()),
      m_taken(static_cast<std::size_t>(store.processes()))
{
}

std::vector<std::pair<int, ClockOffset>> ClockRounds::next()
{
    constexpr int kSamples = 16;
    std::vector<std::pair<int, ClockOffset>> news;
    const auto now = std::chrono::steady_clock::now();
    if (now - m_last < m_every)
        return news;
    m_last = now;
    if (m_store.process() != 0) {
        m_store.set(newestKey(m_store.process()), offsetText(measureClock(m_store, kSamples)));
        m_store.add(roundsKey(m_store.process()), 1);
        return news;
    }
    for (int process = 1; process < m_store.processes(); ++process) {
        const std::int64_t rounds = m_store.add(roundsKey(process), 0);
        if (std::exchange(m_taken[static_cast<std::size_t>(process)], rounds) != rounds)
            news.emplace_back(process, offsetOf(m_store.get(newestKey(process))));
    }
    return news;
}

ClockLine::ClockLine(const ClockOffset& offset) : m_offsets{offset} {}

void ClockLine::add(const ClockOffset& offset)
{
    const std::lock_guard lock(m_mutex);
    if (offset.takenNs <= m_offsets.back().takenNs)
        return;
    m_offsets.push_back(offset);
    if (m_offsets.size() > kKept)
        m_offsets.pop_front();
    const ClockOffset& oldest = m_offsets.front();
    const std::int64_t moved = offset.offsetNs - oldest.offsetNs;
    const bool isTold = std::abs(moved) > offset.uncertaintyNs + oldest.uncertaintyNs;
    m_drift = isTold ? static_cast<double>(moved) / static_cast<double>(offset.takenNs - oldest.takenNs) : 0;
}

std::int64_t ClockLine::offsetAt(std::int64_t timeNs) const
{
    const std::lock_guard lock(m_mutex);
    if (m_drift == 0) // the one that is known best
        return std::min_element(m_offsets.begin(), m_offsets.end(),
                                [](const ClockOffset& a, const ClockOffset& b) { return a.uncertaintyNs < b.uncertaintyNs; })
            ->offsetNs;
    const ClockOffset& newest = m_offsets.back();
    return newest.offsetNs + std::llround(m_drift * static_cast<double>(timeNs - newest.takenNs));
}

} // namespace live
