// How far this process's steady clock is from process 0's, so that spans of several machines fit on one time axis. Ping-pong over
// the store's connection; the sample with the shortest round trip bounds the error (Cristian 1989). Clocks drift apart by some
// millionths, milliseconds in minutes: so it is measured again and again.
#pragma once

#include "live/comm/store.h"

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace live {

struct ClockOffset {
    std::int64_t offsetNs = 0;      ///< process 0's clock = this process's clock + offset
    std::int64_t uncertaintyNs = 0; ///< the true offset is within +- this: half the shortest round trip
    std::int64_t takenNs = 0;       ///< this process's clock when it was measured
};

/// Of this process.
ClockOffset measureClock(Store&, int samples = 64);

/// Of all processes, by index; every process calls it with the same round. Each round's number is used once.
std::vector<ClockOffset> alignClocks(Store&, int round, int samples = 64);

/// What came later, now and then, for process 0. A thread of each process at a time.
class ClockRounds {
public:
    explicit ClockRounds(Store&, std::chrono::milliseconds every = std::chrono::minutes(1));
    /// Between steps: where it is time, measures this process's and leaves it, or on process 0 fetches what others have left
    /// since: (process, offset). Waits for nobody.
    std::vector<std::pair<int, ClockOffset>> next();

private:
    Store& m_store;
    const std::chrono::milliseconds m_every;
    std::chrono::steady_clock::time_point m_last;
    std::vector<std::int64_t> m_taken; ///< [process]: of its rounds
};

/// A clock that was measured several times. Any thread.
class ClockLine {
public:
    explicit ClockLine(const ClockOffset&);
    void add(const ClockOffset&);
    /// At a time of the clock that was measured: as it has drifted between the oldest that is kept and the newest, where they
    /// differ by more than their uncertainties.
    std::int64_t offsetAt(std::int64_t timeNs) const;

private:
    static constexpr std::size_t kKept = 16;
    mutable std::mutex m_mutex;
    std::deque<ClockOffset> m_offsets; ///< one or more
    double m_drift = 0;                ///< of the offset, by time
};

} // namespace live
