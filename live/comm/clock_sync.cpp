#include "live/comm/clock_sync.h"

#include <limits>
#include <sstream>

namespace live {

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
    const ClockOffset own = measureClock(store, samples);
    std::ostringstream text;
    text << own.offsetNs << ' ' << own.uncertaintyNs << ' ' << own.takenNs;
    store.set(prefix + std::to_string(store.process()), text.str());
    std::vector<ClockOffset> all(static_cast<std::size_t>(store.processes()));
    for (int process = 0; process < store.processes(); ++process) {
        ClockOffset& offset = all[static_cast<std::size_t>(process)];
        std::istringstream(store.get(prefix + std::to_string(process))) >> offset.offsetNs >> offset.uncertaintyNs >>
            offset.takenNs;
    }
    return all;
}

} // namespace live
