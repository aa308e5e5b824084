// How far this process's steady clock is from process 0's, so that spans of several machines fit on one time axis. Ping-pong over
// the store's connection; the sample with the shortest round trip bounds the error (Cristian 1989).
#pragma once

#include "live/comm/store.h"

#include <vector>

namespace live {

struct ClockOffset {
    std::int64_t offsetNs = 0;      ///< process 0's clock = this process's clock + offset
    std::int64_t uncertaintyNs = 0; ///< the true offset is within +- this: half the shortest round trip
    std::int64_t takenNs = 0;       ///< this process's clock when it was measured
};

/// Of this process. Can be repeated: clocks drift apart.
ClockOffset measureClock(Store&, int samples = 64);

/// Of all processes, by index; every process calls it with the same round. Each round's number is used once.
std::vector<ClockOffset> alignClocks(Store&, int round, int samples = 64);

} // namespace live
