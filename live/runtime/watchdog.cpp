#include "live/runtime/watchdog.h"

#include "live/comm/store.h"
#include "live/record/flight_record.h"
#include "live/runtime/run.h"
#include "sim/error.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace live {
namespace {

void watch(const std::stop_token& stop, Run& run, std::chrono::milliseconds deadline, Store* store)
{
    using Clock = std::chrono::steady_clock;
    const auto interval = std::clamp(deadline / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1000));
    std::vector<const FlightRecord*> records;
    for (Rank* rank : run.ranks())
        records.push_back(&rank->context().flight);
    std::mutex mutex;
    std::condition_variable_any sleep;
    std::unique_lock lock(mutex);
    std::uint64_t progress = 0;
    std::int64_t movedAnywhere = 0;
    auto lastMove = Clock::now();
    while (!sleep.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
        const Run::Pulse pulse = run.pulse();
        bool moves = pulse.computes || !pulse.waits || pulse.progress != progress;
        progress = pulse.progress;
        if (store) {
            const std::int64_t sum = store->add("watchdog", moves ? 1 : 0);
            moves = sum != movedAnywhere;
            movedAnywhere = sum;
        }
        if (moves)
            lastMove = Clock::now();
        if (Clock::now() - lastMove < deadline)
            continue;
        const std::string where =
            describeStall(records, std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
        run.abort("nothing moved for too long: " + where);
        return;
    }
}

} // namespace

Watchdog::Watchdog(Run& run, std::chrono::milliseconds deadline, Store* store)
    : m_thread([&run, deadline, store](const std::stop_token& stop) {
          try {
              watch(stop, run, deadline, store);
          } catch (const sim::Error&) { // NOLINT(bugprone-empty-catch): the store is gone, and with it the run
          }
      })
{
}

} // namespace live
